"""The stage of the Helm hook that restarts DRA plugins: a real node, a simulated one, and a plugin on each.

The hook's Job is a pod of our image on the real node, with a token of its own ServiceAccount and no rights but those of
the chart. What it asked of the API server is in the audit log. Here helm brings the chart alone, into a namespace that
enforces the level `restricted`; whole bundles, by every deployer, are in tests/gitops/bundle_stage.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from seatrial import __version__
from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial_lab.image import build, bytecode, recipe
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.nodes import dra, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import node
from tests.chart import charts, post
from tests.e2e.campaigns import NEW, OLD

PREFIX, NAMESPACE, HOME = "quay", "gpu-hooks", "seatrial"
REAL = f"{PREFIX}-real-000"
QUIET = {EVICTION: "false", DRAIN: "false"}
BASE = (f"image.repository={recipe.CONTROLLER.name}", "stability=2s", "deadlineSeconds=300")
TIMEOUT_SECONDS = 100.0
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


@dataclass(frozen=True, kw_only=True)
class Voyage:
    """One call of helm: what the Job's account was granted, and what it asked for."""

    rights: set[post.Right]
    asked: list[AuditedRequest]

    @property
    def pods(self) -> list[str]:
        """The pods that did it, in order."""
        return list(dict.fromkeys(each.pod for each in self.asked))

    @property
    def written(self) -> list[tuple[str, str, str]]:
        """What was changed: how, where and what."""
        reads = ("get", "list", "watch")
        return [(each.verb, each.namespace, each.name) for each in self.asked if each.verb not in reads]

    @property
    def denied(self) -> set[post.Right]:
        return {right_of(each) for each in self.asked if each.code in (401, 403)}

    def assert_within_rights(self) -> None:
        """Nothing was asked for without a right, but for claims: without the right to see them the Job goes on."""
        asked = {right_of(each) for each in self.asked}
        assert asked, "a Job ran"
        beyond = {each for each in asked if not {each, each.anywhere} & self.rights}
        assert beyond == self.denied == {each for each in post.CLAIMS if each.verb == "list"} - self.rights


def right_of(request: AuditedRequest) -> post.Right:
    """The right that a request needs."""
    resource = "/".join(filter(None, (request.resource, request.subresource)))
    return post.Right(request.verb, request.group, resource, request.namespace)


@dataclass(kw_only=True)
class Quay:
    """Where it plays."""

    plane: ControlPlane
    fleet: Fleet
    namespace: str = NAMESPACE
    """Where the hook is."""
    voyages: list[Voyage] = field(default_factory=list)

    # ── helm ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def helm(self, *arguments: str | Path, namespace: str = "") -> str:
        where = namespace or self.namespace
        return charts.helm(*arguments, "--namespace", where, "--kubeconfig", self.plane.kubeconfig)

    def sail(self, verb: str, *settings: str) -> Voyage:
        """Install or upgrade with these settings, and return when the hook has ended well."""
        return self._sailed(verb, "post", post.CHART, *post.flags_of((*BASE, *settings)))

    def sail_back(self, revision: int) -> Voyage:
        """Roll back, and return when the hook of that has ended well."""
        return self._sailed("rollback", "post", str(revision))

    @contextmanager
    def sailing(self, verb: str, *settings: str) -> Iterator[Future[Voyage]]:
        """The same while something else goes on; the context ends with helm."""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(self.sail, verb, *settings)
            yield future
            future.result(TIMEOUT_SECONDS)

    def _sailed(self, *arguments: str | Path) -> Voyage:
        before = len(self.asked())
        try:
            self.helm(*arguments, f"--timeout={TIMEOUT_SECONDS:.0f}s")
        finally:
            manifest = yaml.safe_load_all(self.helm("get", "manifest", "post"))
            rights = post.granted((item for item in manifest if item), self.namespace)
            self.voyages.append(Voyage(rights=rights, asked=self.asked()[before:]))
        return self.voyages[-1]

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def asked(self, account: str = "") -> list[AuditedRequest]:
        """What the pods of an account, else the hook's, have asked of the API server so far, as seatrial."""
        user = f"system:serviceaccount:{account or f'{self.namespace}:{post.ACCOUNT}'}"
        return [each for each in self.plane.requests("seatrial") if each.user == user]

    def plugins(self) -> dict[str, str]:
        """The plugin pod of every node."""
        return {name: str(pod["metadata"]["name"]) for name, pod in self.fleet.dra_pods().items()}

    def are_fresh(self) -> bool:
        """Whether every plugin's containers started after their node's driver was Ready, by the kubelet's own times."""
        drivers, plugins = self.fleet.driver_pods(), self.fleet.dra_pods()
        return all(_started(plugins[name]) > _ready(drivers[name]) for name in self.fleet.nodes)

    def said(self, job: str = post.JOB) -> str:
        """What the pod of a Job has said so far; nothing as long as none has begun."""
        try:
            return self.plane.kubectl("logs", f"job/{job}", "-n", self.namespace)
        except errors.KubectlFailed:
            return ""

    def job_pods(self, job: str = post.JOB) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.plane.get(
            "pods", "-n", self.namespace, "-l", f"batch.kubernetes.io/job-name={job}"
        )["items"]
        return found

    # ── waiting and doing ────────────────────────────────────────────────────────────────────────────────────────────

    def wait_said(self, words: str) -> str:
        """Wait until the Job has said this, and return the pod that did."""
        waiting.wait_for(
            lambda: words in self.said(), what=f"the Job to say `{words}`", timeout_seconds=60, describe=self.said
        )
        (pod,) = [each for each in self.job_pods() if "deletionTimestamp" not in each["metadata"]]
        return str(pod["metadata"]["name"])

    def wait_rerolled(self, name: str, before: str) -> None:
        """Wait until a node has another plugin than before."""
        waiting.wait_for(
            lambda: self.plugins().get(name, before) != before,
            what=f"another plugin on {name}",
            timeout_seconds=60,
            pause_seconds=0.2,
            describe=self.said,
        )

    def evict(self, pod: str) -> None:
        """Take a pod off its node, as whoever drains it does."""
        about = {"name": pod, "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction"
        self.plane.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))

    def reload_driver(self, name: str) -> None:
        """Restart the driver of a node, and return when it is Ready: from then on the plugin is stale."""
        before = self.fleet.driver_pods()[name]["metadata"]["uid"]
        self.fleet.delete_driver_pod(name)
        waiting.wait_for(
            lambda: self.fleet.driver_pods().get(name, {"metadata": {"uid": before}})["metadata"]["uid"] != before,
            what=f"another driver pod on {name}",
            timeout_seconds=60,
        )
        self.fleet.wait_ready()

    def start_job(self, name: str, **changes: Any) -> None:
        """Make the hook's Job by hand, under another name, with these fields of its spec and of its container."""
        hooks = [each for each in yaml.safe_load_all(self.helm("get", "hooks", "post")) if each]
        job = charts.one(hooks, "Job", post.JOB)
        pod = job["spec"]["template"]["spec"]
        pod["nodeSelector"] = changes.pop("nodeSelector", {})
        pod["containers"][0]["args"] += changes.pop("args", [])
        job["metadata"] = {"name": name, "namespace": self.namespace}
        job["spec"] |= changes
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps(job))

    def failure(self, job: str) -> tuple[str, str]:
        """Wait until a Job has failed, and return why, in a word and in a sentence."""
        self.plane.kubectl("wait", "--for=condition=Failed", f"job/{job}", "-n", self.namespace, "--timeout=60s")
        found = self.plane.get("job", job, "-n", self.namespace)["status"]["conditions"]
        (failed,) = [each for each in found if each["type"] == "Failed"]
        return str(failed["reason"]), str(failed["message"])


def _started(pod: dict[str, Any]) -> str:
    return min(str(each["state"]["running"]["startedAt"]) for each in pod["status"]["containerStatuses"])


def _ready(pod: dict[str, Any]) -> str:
    return next(
        str(each["lastTransitionTime"])
        for each in pod["status"]["conditions"]
        if (each["type"], each["status"]) == ("Ready", "True")
    )


@contextmanager
def quay_of(folder: Path) -> Iterator[Quay]:
    """Everything is there, every plugin is fresh, and the chart is not installed yet."""
    spec = FleetSpec(prefix=PREFIX, node_count=1, driver_version=OLD, has_dra=True, real_nodes=(REAL,))
    with fleet_of(folder, spec, drivers=(OLD, NEW)) as fleet:
        fleet.plane.load_nvidia_crds()
        fleet.plane.apply([manifests.namespace(each, PREFIX, labels=RESTRICTED) for each in (NAMESPACE, HOME)])
        assert set(fleet.dra_pods()) == set(fleet.nodes), dra.NAMESPACE
        yield Quay(plane=fleet.plane, fleet=fleet)


@contextmanager
def fleet_of(folder: Path, spec: FleetSpec, *, drivers: tuple[str, ...]) -> Iterator[Fleet]:
    """A control plane of its own with this fleet, whose one real node has our image and these drivers."""
    (name,) = spec.real_nodes
    with ControlPlane.start(folder / "plane") as plane:
        real = node.start(plane, name, driver_versions=drivers)
        real.import_archive(_image(folder.parent / "image"))
        yield make_fleet(plane, spec)


def _image(folder: Path) -> Path:
    """Our image as a file, built once for all stages of a run."""
    archive = folder / f"seatrial-{__version__}-{bytecode.host()}.tar"
    if not archive.is_file():
        assert build.main(["--arch", bytecode.host(), "--out", str(folder)]) == 0
    return archive
