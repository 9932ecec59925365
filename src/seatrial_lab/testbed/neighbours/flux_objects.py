"""What the real Flux is told: a Kustomization or a HelmRelease that follows a place, as engines.py asks for it.

    Receiver ──▶ GitRepository ──▶ Kustomization              the folder's manifests, applied by kustomize-controller
                               └─▶ HelmChart ──▶ HelmRelease  the folder's chart, released by helm-controller

What they say is what their status says; nothing is known from inside. A Receiver takes the forge's webhook and asks the
GitRepository for a look now. Tests: tests/gitops/test_flux.py.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours import engines
from seatrial_lab.testbed.neighbours.flux import NAMESPACE, Flux

Object = dict[str, Any]

REPOSITORY: Final = "gitrepositories.source.toolkit.fluxcd.io"
RECEIVER: Final = "receivers.notification.toolkit.fluxcd.io"
REQUESTED: Final = "reconcile.fluxcd.io/requestedAt"
TOKEN: Final = "a-secret-of-the-forge"  # noqa: S105  of this Receiver alone
RARELY: Final = "1h"
"""How often is looked where nobody says otherwise: never while a test lasts, so that what waits for it pokes."""
OFTEN: Final = "1s"
PAUSE_SECONDS: Final = 0.2


class Follower:
    """Has Flux follow a place while its context lasts; which way is for those below."""

    kind = ""

    def __init__(
        self,
        flux: Flux,
        name: str,
        place: engines.Place,
        *,
        is_healing: bool = False,
        interval: str = RARELY,
        **spec: Any,
    ) -> None:
        """With `interval` the repository is looked at that often; `spec` is what else the object says."""
        self.name = name
        self.is_healing = is_healing
        self._flux = flux
        self._place = place
        self._interval = interval
        self._spec = spec
        self._applied: list[str] = []

    def __enter__(self) -> Self:
        # One that finds no source yet would look again a little later, and undo what a story wrote meanwhile.
        self._flux.plane.apply([self._login(), self._repository(), *self._receiver()])
        self._wait(
            lambda: "artifact" in self.source().get("status", {}), f"Flux to fetch the repository of {self.name}"
        )
        self._flux.plane.apply([self._object()])
        self._wait(lambda: bool(self.applied), f"Flux to bring the first commit of {self.name}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What it brought into the cluster stays: an object that is suspended takes nothing along.
        self._patch(self.kind, {"spec": {"suspend": True}})
        self._flux.plane.kubectl("delete", self.kind, self.name, "-n", NAMESPACE, "--wait=false")
        for each in (REPOSITORY, RECEIVER):
            self._flux.plane.kubectl("delete", each, self.name, "-n", NAMESPACE, "--wait=false")

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self) -> Object:
        """The object as it is now."""
        self._flux.check()
        return self._flux.plane.get(self.kind, self.name, "-n", NAMESPACE)

    def source(self) -> Object:
        """The GitRepository as it is now."""
        return self._flux.plane.get(REPOSITORY, self.name, "-n", NAMESPACE)

    @property
    def applied(self) -> tuple[str, ...]:
        """The commits that were brought in whole, as far as was looked."""
        commit = self._newest()
        if commit and (not self._applied or self._applied[-1] != commit):
            self._applied.append(commit)
        return tuple(self._applied)

    @property
    def trouble(self) -> str:
        """What it says where it failed, though it may try again; that of the source where that cannot be had."""
        for each in (self.get(), self.source()):
            ready = condition(each, "Ready")
            if ready.get("status") == "False":  # while it is at it, it is Unknown
                return f"{ready['reason']}: {ready['message']}"
        return ""

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def suspend(self) -> None:
        """Suspend the object, as `flux suspend` does; what is under way ends first."""
        self._patch(self.kind, {"spec": {"suspend": True}})
        self._wait(lambda: condition(self.get(), "Reconciling").get("status") != "True", f"{self.name} to rest")

    def resume(self) -> None:
        """Have it follow again."""
        self._patch(self.kind, {"spec": {"suspend": False}})

    def poke(self) -> None:
        """Tell Flux of a push, as the forge does; returns when the repository was looked at since."""
        before = self._handled()
        self.push()
        self._wait(lambda: self._handled() != before, f"Flux to look at the repository of {self.name}")

    def push(self) -> None:
        """Tell Flux of a push and return at once, as a forge does."""
        self._wait(lambda: bool(self._hook()), f"the Receiver of {self.name} to say where it is")
        self._flux.push_event(self._hook(), TOKEN, self._place.branch)

    def change(self, **spec: Any) -> None:
        """Have the object say something else, too."""
        self._patch(self.kind, {"spec": spec})

    def restore(self) -> None:
        """Have it put back what it brought last."""
        raise NotImplementedError

    # ── underneath ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _handled(self) -> str:
        return str(self.source().get("status", {}).get("lastHandledReconcileAt", ""))

    def _hook(self) -> str:
        found = self._flux.plane.get(RECEIVER, self.name, "-n", NAMESPACE)
        return str(found.get("status", {}).get("webhookPath", ""))

    def _newest(self) -> str:
        raise NotImplementedError

    def _object(self) -> Object:
        raise NotImplementedError

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        waiting.wait_for(
            is_so,
            what=what,
            timeout_seconds=engines.TIMEOUT_SECONDS,
            pause_seconds=PAUSE_SECONDS,
            describe=lambda: f"{condition(self.source(), 'Ready')}\n{self._flux.last_lines()}",
        )

    def _patch(self, kind: str, body: Object) -> None:
        self._flux.plane.kubectl("patch", kind, self.name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(body))

    def _login(self) -> Object:
        return _secret(self.name, username=self._place.username, password=self._place.password)

    def _receiver(self) -> tuple[Object, Object]:
        watched = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": self.name}
        secret = f"{self.name}-hook"
        return _secret(secret, token=TOKEN), {
            "apiVersion": "notification.toolkit.fluxcd.io/v1",
            "kind": "Receiver",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {"type": "github", "events": ["push"], "secretRef": {"name": secret}, "resources": [watched]},
        }

    def _repository(self) -> Object:
        return {
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "url": self._place.url,
                "ref": {"branch": self._place.branch},
                "interval": self._interval,
                **({"secretRef": {"name": self.name}} if self._place.username else {}),
            },
        }


class Kustomization(Follower):
    """Follows by kustomize-controller; one that heals looks at the cluster every second, others with a commit only."""

    kind = "kustomizations.kustomize.toolkit.fluxcd.io"

    def restore(self) -> None:
        # As `flux reconcile` does.
        self._patch(self.kind, {"metadata": {"annotations": {REQUESTED: f"{time.time():.3f}"}}})

    def _newest(self) -> str:
        return commit_of(self.get().get("status", {}).get("lastAppliedRevision", ""))

    def _object(self) -> Object:
        return {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "sourceRef": {"kind": "GitRepository", "name": self.name},
                "path": f"./{self._place.path}",
                "interval": OFTEN if self.is_healing else RARELY,
                # Objects in the repository name a few fields of what others made, who would not like them gone.
                "prune": False,
                **self._spec,
            },
        }


class HelmRelease(Follower):
    """Follows by helm-controller: the folder is a chart, and a new commit is a new version of it."""

    kind = "helmreleases.helm.toolkit.fluxcd.io"

    def restore(self) -> None:
        # A forced upgrade does not: Helm compares a custom resource with its last release, and not with the cluster.
        self.change(driftDetection={"mode": "enabled"})

    def _newest(self) -> str:
        status = self.get().get("status", {})
        newest: Object = next(iter(status.get("history", ())), {})
        commit = commit_of(self.source().get("status", {}).get("artifact", {}).get("revision", ""))
        # The version of the chart ends with the beginning of the commit.
        is_here = commit and newest.get("chartVersion", "").partition("+")[2].startswith(commit[:12])
        return commit if is_here and newest.get("status") == "deployed" else ""

    def _object(self) -> Object:
        return {
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "interval": OFTEN if self.is_healing else RARELY,
                "driftDetection": {"mode": "enabled" if self.is_healing else "disabled"},
                "chart": {
                    "spec": {
                        "chart": f"./{self._place.path}",
                        "sourceRef": {"kind": "GitRepository", "name": self.name},
                        "reconcileStrategy": "Revision",
                    }
                },
                **self._spec,
            },
        }


def _secret(name: str, **entries: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "stringData": entries,
    }


def condition(found: Object, kind: str) -> Object:
    """One condition of an object; empty where it says nothing of the kind."""
    conditions: list[Object] = found.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def commit_of(revision: str) -> str:
    """The commit of `main@sha1:…`."""
    return revision.rpartition(":")[2]
