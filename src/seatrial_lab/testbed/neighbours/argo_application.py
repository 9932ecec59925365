"""One Application of the real Argo CD, as the laboratory speaks to every GitOps engine (engines.py).

What it says is what its status says; nothing is known from inside. Tests: tests/gitops/test_argo_cd.py.
"""

from __future__ import annotations

import json
import time
from types import TracebackType
from typing import Any, Final, Self

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours import engines
from seatrial_lab.testbed.neighbours.argo_cd import NAMESPACE, ArgoCd

Object = dict[str, Any]

KIND: Final = "applications.argoproj.io"
SKIP: Final = "argocd.argoproj.io/skip-reconcile"
REFRESH: Final = "argocd.argoproj.io/refresh"
FAILED: Final = ("Failed", "Error")
# Objects in the repository name a few fields of what others made.
OPTIONS: Final = ("ServerSideApply=true", "Validate=false")


class Application:
    """Has Argo CD follow a place while its context lasts."""

    def __init__(
        self,
        argo: ArgoCd,
        name: str,
        place: engines.Place,
        *,
        is_healing: bool = False,
        namespace: str = "default",
        retries: int = 0,
    ) -> None:
        """Argo CD itself would repeat a failed sync five times, for minutes, before it takes the next commit."""
        self.name = name
        self.is_healing = is_healing
        self._argo = argo
        self._place = place
        self._namespace = namespace
        self._retries = retries
        self._applied: list[str] = []

    def __enter__(self) -> Self:
        self._argo.plane.apply([self._credentials(), self._application()])
        waiting.wait_for(
            lambda: bool(self.applied),
            what=f"Argo CD to bring the first commit of {self.name}",
            timeout_seconds=engines.TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: f"{json.dumps(self.status(), indent=1)}\n{self._argo.last_lines()}",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What it brought into the cluster stays, as nothing of ours asks Argo CD to take it along.
        self._argo.plane.kubectl("delete", KIND, self.name, "-n", NAMESPACE, "--ignore-not-found")

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def status(self) -> Object:
        """What Argo CD says of it."""
        self._argo.check()
        found: Object = self._argo.plane.get(KIND, self.name, "-n", NAMESPACE).get("status", {})
        return found

    @property
    def applied(self) -> tuple[str, ...]:
        """The commits that were synced, and the one that needed no sync since nothing in the folder changed."""
        status = self.status()
        seen = [each["revision"] for each in status.get("history", ())]
        sync = status.get("sync", {})
        seen += [sync["revision"]] if sync.get("status") == "Synced" and sync.get("revision") else []
        self._applied += [each for each in dict.fromkeys(seen) if each not in self._applied]
        return tuple(self._applied)

    @property
    def trouble(self) -> str:
        """What its last operation says where that failed, and what it could not compare."""
        status = self.status()
        operation = status.get("operationState", {})
        has_failed = operation.get("phase") in FAILED or operation.get("retryCount")
        said = [operation.get("message", "")] if has_failed and not _is_done(operation) else []
        said += [each["message"] for each in status.get("conditions", ()) if each["type"].endswith("Error")]
        return " ".join(each for each in said if each)

    def health(self, kind: str, name: str) -> Object:
        """What Argo CD says of the health of one object: status and message."""
        resources: list[Object] = self.status().get("resources", [])
        found: Object = next((each for each in resources if (each["kind"], each["name"]) == (kind, name)), {})
        return dict(found.get("health", {}))

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def suspend(self) -> None:
        """Switch its automated sync off."""
        self._patch({"spec": {"syncPolicy": {"automated": {"enabled": False}}}})
        self.refresh()

    def resume(self) -> None:
        """Switch its automated sync on."""
        self._patch({"spec": {"syncPolicy": {"automated": {"enabled": True}}}})

    def sync(self) -> None:
        """Have it synced once, as the button does."""
        self._patch({"operation": {"sync": {"revision": self._place.branch, "syncOptions": list(OPTIONS)}}})

    def skip(self, *, is_skipped: bool = True) -> None:
        """Have Argo CD not look at it at all, or look again."""
        self._patch({"metadata": {"annotations": {SKIP: "true" if is_skipped else None}}})

    def poke(self) -> None:
        """Tell Argo CD of a push, as the forge does."""
        self.push()

    def push(self) -> None:
        """The same: Argo CD says nothing of when it has looked."""
        self._argo.push_event(self._place.url, self._place.branch)

    def refresh(self) -> None:
        """Have it compared anew, as the button does; returns when that is done, and whatever was under way before."""
        began = time.monotonic()
        self._patch({"metadata": {"annotations": {REFRESH: "normal"}}})
        waiting.wait_for(
            lambda: REFRESH not in self._annotations(),
            what=f"{self.name} to be refreshed since {began:.0f}",
            timeout_seconds=engines.TIMEOUT_SECONDS,
            pause_seconds=0.2,
        )

    def _annotations(self) -> dict[str, str]:
        meta = self._argo.plane.get(KIND, self.name, "-n", NAMESPACE)["metadata"]
        found: dict[str, str] = meta.get("annotations", {})
        return found

    def _patch(self, body: Object) -> None:
        self._argo.plane.kubectl("patch", KIND, self.name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(body))

    # ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _credentials(self) -> Object:
        place = self._place
        login = {"username": place.username, "password": place.password} if place.username else {}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": f"{self.name}-repository",
                "namespace": NAMESPACE,
                "labels": {"argocd.argoproj.io/secret-type": "repository"},
            },
            "stringData": {"type": "git", "url": place.url, **login},
        }

    def _application(self) -> Object:
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "project": "default",
                "source": {
                    "repoURL": self._place.url,
                    "path": self._place.path,
                    "targetRevision": self._place.branch,
                },
                "destination": {"server": "https://kubernetes.default.svc", "namespace": self._namespace},
                "syncPolicy": {
                    "automated": {"enabled": True, "selfHeal": self.is_healing},
                    "syncOptions": list(OPTIONS),
                    "retry": {"limit": self._retries},
                },
            },
        }


def _is_done(operation: Object) -> bool:
    return bool(operation.get("phase") == "Succeeded")
