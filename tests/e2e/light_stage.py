"""A stage for campaigns without the GPU Operator: a fleet with a driver DaemonSet, and a ClusterPolicy nobody owns.

What the operator would do is one deed here: it writes the ClusterPolicy's version into the DaemonSet. Who moves the
nodes, publishes and reverts is our controller, one process for all stories; each story wants the driver that the fleet
does not run, and leaves every node with the same one.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, errors, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History, NodeMoment, PodMoment
from seatrial_lab.testbed.neighbours import syncer
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import LEASE_SECONDS, MATRIX, NEW, OLD, PUBLISHED, Ground, make_remote, matrix_of, published_of

POLICY = "cluster-policy"
RESOURCE = f"ClusterPolicy/{POLICY}"
MARKS = (keys.CANARY_LABEL, keys.SKIPPED_BY_ANNOTATION, keys.SKIP_LABEL)
TIMEOUT_SECONDS = 120.0
AT_ONCE: dict[str, Any] = {
    "canary": {"count": 1},
    "prepull": False,
    "bake": {"durationSeconds": 1, "everySeconds": 1},
    "waves": {"growth": "percentages", "percentages": [100]},
    "limits": {"maxParallelUpgrades": 0, "maxUnavailable": "100%"},
}
"""A campaign that nothing holds up."""
LONG_BAKE: dict[str, Any] = {"bake": {"durationSeconds": 3600, "everySeconds": 1}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where the repository of a stage is, and what the controller is told of it."""

    remote: Path
    """As it lies on disk, for those who only look."""
    work: Path
    """A person's clone."""
    url: str
    told: tuple[str, ...]

    @classmethod
    def made(cls, folder: Path) -> Home:
        """A bare repository, with no server before it."""
        remote, work = folder / "gpu-cluster.git", folder / "work"
        make_remote(remote, work)
        return cls(remote=remote, work=work, url=str(remote), told=("--git-allow", "/"))


@dataclass(kw_only=True)
class LightStage(Ground):
    """Where the story plays."""

    url: str
    """The repository's, as a rollout names it."""
    timeout_seconds: float = TIMEOUT_SECONDS
    fleet: Fleet
    user: str
    folder: Path
    running: str = OLD
    target: str = NEW
    said_before: int = 0
    """How much of the controller's log is of stories before."""
    seen_before: int = 0
    asked_before: int = 0
    story: int = 0
    made: list[str] = field(default_factory=list)

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def open(self) -> None:
        """Begin a story: nothing of the one before is left."""
        if self.made:
            controller_process.remove_rollouts(self.plane, *self.made)
        self.made.clear()
        self.plane.kubectl("delete", "clusterpolicy", POLICY, "--ignore-not-found")
        versions = set(self.fleet.driver_versions().values())
        if len(versions) > 1 or self.marks() or self.cordoned():
            self._mend()
            versions = {OLD}
        (self.running,) = versions
        self.target = NEW if self.running == OLD else OLD
        self.plane.apply([a_policy(self.running)])
        self.fleet.set_driver_version(self.running)
        self.said_before = len(self.log_lines())
        self.seen_before = len(self.history.moments)
        self.asked_before = len(self.requests())
        self.story += 1

    def _mend(self) -> None:
        """After a story that went wrong: every node as it was."""
        self.fleet.set_driver_version(OLD)
        for name in self.fleet.nodes:
            self.plane.kubectl("label", "node", name, keys.STATE_LABEL + "-", *(f"{mark}-" for mark in MARKS))
            notes = (f"{keys.SKIPPED_BY_ANNOTATION}-", f"{keys.RECORD_ANNOTATION}-")
            self.plane.kubectl("annotate", "node", name, *notes)
            self.plane.kubectl("uncordon", name)
        self.fleet.wait_template_seen()
        for name, version in self.fleet.driver_versions().items():
            if version != OLD:
                self.fleet.delete_driver_pod(name)
        waiting.wait_for(
            lambda: set(self.fleet.driver_versions().values()) == {OLD},
            what="every node to run the old driver",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: str(self.fleet.driver_versions()),
        )
        self.fleet.wait_ready()

    def begin(self, name: str, **spec: Any) -> None:
        """Make a rollout of this fleet to the driver it does not run."""
        self.rollout = name
        self.made.append(name)
        selector = {manifests.FLEET_LABEL: self.fleet.spec.prefix}
        body = {"target": {"driver": self.target}, "nodeSelector": selector, **AT_ONCE, **spec}
        self.plane.apply(
            [{"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": name}, "spec": body}]
        )

    @contextmanager
    def synced(self, *, manager: str = syncer.MANAGER, is_healing: bool = False) -> Iterator[syncer.Syncer]:
        """What is published in the repository is brought into the cluster."""
        folder = self.folder / f"synced-{self.story}-{len(list(self.folder.iterdir()))}"
        made = syncer.Syncer(
            self.plane, remote=self.remote, folder=folder, path=PUBLISHED, manager=manager, is_healing=is_healing
        )
        with made:
            yield made

    @contextmanager
    def remote_away(self) -> Iterator[None]:
        """The remote cannot be reached."""
        away = self.remote.with_suffix(".away")
        self.remote.rename(away)
        try:
            yield
        finally:
            away.rename(self.remote)

    def by_git(self, **changes: Any) -> dict[str, Any]:
        """The part of a spec that names the matrix at its newest commit, and the published file."""
        place = {"url": self.url, "path": MATRIX, "commit": self.git("rev-parse", "HEAD").strip()}
        return {
            "matrix": {"git": place, "entry": "canary"},
            "publish": {"via": "git", "git": {"path": PUBLISHED}},
            **changes,
        }

    def lay_out(self) -> None:
        """The repository says what the cluster is, and what is next."""
        matrix = f"# Story {self.story}.\n{matrix_of(self.running, self.target)}"
        files = {MATRIX: matrix, PUBLISHED: published_of("cluster-policy", self.running)}
        self.commit(f"Try driver {self.target} on the canary", **files)

    def fetched(self) -> str:
        """The remote's newest commit, brought into the person's clone."""
        self.git("fetch", "--quiet", "origin", "main")
        return self.git("rev-parse", "origin/main").strip()

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def patch(self, **spec: Any) -> None:
        """Change the rollout."""
        self.plane.kubectl("patch", "gpurollout", self.rollout, "--type=merge", "-p", json.dumps({"spec": spec}))

    def do(self, *arguments: str) -> str:
        """Our command as a person runs it, when it has to work."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def set_version(self, version: str, manager: str = "kubectl-edit") -> None:
        """Somebody writes another version into the ClusterPolicy."""
        body = json.dumps({"spec": {"driver": {"version": version}}})
        self.plane.kubectl("patch", "clusterpolicy", POLICY, "--type=merge", f"--field-manager={manager}", "-p", body)

    def keep_validators(self) -> None:
        """Have validators wait for their visit, as the ClusterPolicy's OnDelete does."""
        self._patch_validators({"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}})

    def new_operator(self, version: str) -> None:
        """What the operator of a release does to its DaemonSets, here to the one that shows which release it is."""
        image = f"nvcr.io/nvidia/cloud-native/gpu-operator-validator:{version}"
        container = {"name": manifests.VALIDATOR_APP, "image": image}
        self._patch_validators({"template": {"spec": {"containers": [container]}}})

    def _patch_validators(self, spec: dict[str, Any]) -> None:
        where = (self.fleet.validator_daemon_set, "-n", self.fleet.spec.namespace)
        self.plane.kubectl("patch", "daemonset", *where, "--type=strategic", "-p", json.dumps({"spec": spec}))

    def validators(self) -> dict[str, str]:
        """Which release each node shows."""
        pods = self.fleet.validator_pods()
        return {node: pod["spec"]["containers"][0]["image"].rpartition(":")[2] for node, pod in pods.items()}

    def label(self, node: str, label: str) -> None:
        self.plane.kubectl("label", "node", node, label, "--overwrite")

    # ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait_held(self, code: str, subject: str = "", *, count: int = 1, saying: str = "") -> str:
        """Wait until the controller has said so many times in this story that it waits for this; its last sentence."""
        begin = f" held subject={subject or self.rollout} code={code} "
        found: list[str] = []

        def look() -> bool:
            found[:] = [line for line in self.log_lines()[self.said_before :] if begin in line and saying in line]
            return len(found) >= count

        self.wait(look, f"the controller to say {begin.strip()} {saying}".strip())
        return found[-1]

    def wait_holds(self, *codes: str) -> dict[str, Any]:
        """Wait until the rollout's status names these holds; the status."""
        self.wait(lambda: set(codes) <= set(self.status().get("holds") or {}), f"the status to name {codes}")
        return self.status()

    def wait_turned(self, phase: str, *, count: int) -> None:
        """Wait until a phase was opened so many times."""
        self.wait(lambda: self.phases().count(phase) >= count, f"{phase} to be opened {count} times")

    def wait_looked(self) -> None:
        """Wait until the controller has looked at the repository as it is now: it looks again only after that."""
        self._wait_fetched()
        self.commit("A note", **{"notes.md": f"Story {self.story}.\n"})
        self._wait_fetched()

    def _wait_fetched(self) -> None:
        head = self.fetched()
        clones = [found.parent for found in (self.folder / "git").rglob("HEAD") if (found.parent / "objects").is_dir()]
        assert clones, "the controller has no clone yet"
        shown = ("rev-parse", "refs/remotes/origin/main")

        def is_there() -> bool:
            commands = (["git", f"--git-dir={clone}", *shown] for clone in clones)
            answers = (subprocess.run(each, capture_output=True, text=True, check=False) for each in commands)
            return {answer.stdout.strip() for answer in answers} == {head}

        self.wait(is_there, "the controller to have looked at the repository")

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def campaign(self) -> dict[str, Any]:
        found: dict[str, Any] = self.status().get("campaign") or {}
        return found

    def phases(self) -> list[str]:
        """The phases of the rollout, in order."""
        return [turn["phase"] for turn in self.campaign().get("history", ())]

    @property
    def canary(self) -> str:
        (name,) = self.campaign()["canaries"]
        return str(name)

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.fleet.nodes if name != self.canary)

    def condition(self, kind: str) -> tuple[str, str]:
        """Status and reason of one of the rollout's conditions."""
        found = next(each for each in self.status()["conditions"] if each["type"] == kind)
        return found["status"], found["reason"]

    def node(self, name: str) -> dict[str, Any]:
        """A node's metadata, with every map there."""
        found: dict[str, Any] = self.plane.get("node", name)["metadata"]
        return {"labels": {}, "annotations": {}} | found

    def marks(self) -> list[str]:
        """What of a campaign is on the nodes."""
        found = []
        for each in self.plane.get("nodes", "-l", f"{manifests.FLEET_LABEL}={self.fleet.spec.prefix}")["items"]:
            meta = each["metadata"]
            present = {**meta.get("labels", {}), **meta.get("annotations", {})}
            found += [f"{meta['name']}: {mark}" for mark in MARKS if mark in present]
        return found

    def cordoned(self) -> list[str]:
        return [name for name, moment in self.history.latest().items() if moment.is_cordoned]

    def touched(self) -> set[str]:
        """Nodes that were cordoned, or lost their driver pod, since the story began."""
        since = self.history.moments[self.seen_before :]
        cordoned = {moment.name for moment in since if isinstance(moment, NodeMoment) and moment.is_cordoned}
        return cordoned | {pod.node for pod in since if isinstance(pod, PodMoment) and _is_lost_driver(pod)}

    def requests(self) -> list[AuditedRequest]:
        """What the controller asked of the API server, over all stories."""
        return [each for each in self.plane.requests("seatrial") if each.user == self.user]

    def writes(self, resource: str) -> list[AuditedRequest]:
        """What the controller wrote to a kind of resource in this story."""
        since = self.requests()[self.asked_before :]
        return [each for each in since if each.resource == resource and each.verb in ("patch", "create", "update")]

    def log_lines(self) -> list[str]:
        return self.controller.log.read_text(encoding="utf-8").splitlines()


def _is_lost_driver(pod: PodMoment) -> bool:
    return "/nvidia/driver:" in pod.image and (pod.is_leaving or pod.is_gone)


def a_policy(version: str, *, auto_upgrade: bool = False) -> dict[str, Any]:
    """A ClusterPolicy as the API server takes it, with no more in it than has to be."""
    return manifests.cluster_policy(POLICY, version, auto_upgrade=auto_upgrade)


class PolicyFollower:
    """Writes the ClusterPolicy's driver version into the fleet's DaemonSet, as the operator does; nothing else.

    Where driver managers really run, their switches come along as `manager_env`.
    """

    def __init__(self, fleet: Fleet, **template: Any) -> None:
        self._fleet, self._template = fleet, template
        # A policy that is deleted is told as well, with the version that it had: nobody wants that any more.
        text = '{.type} {.object.spec.driver.version}{"\\n"}'
        kubectl, where = str(fleet.plane.status().kubectl), f"--kubeconfig={fleet.plane.kubeconfig}"
        self._command = [kubectl, where, "get", "clusterpolicies", "--watch"]
        self._command += ["--output-watch-events", "-o", f"jsonpath={text}"]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> PolicyFollower:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self._follow, args=(self._process.stdout,), name="policy", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)

    def _follow(self, lines: Iterable[str]) -> None:
        for line in lines:
            kind, _, version = line.strip().partition(" ")
            if kind == "DELETED":
                continue
            with suppress(errors.KubectlFailed):  # the fleet is being removed
                self._fleet.set_driver_version(version, **self._template)


@contextmanager
def light_stage(
    plane: ControlPlane,
    folder: Path,
    prefix: str,
    *,
    node_count: int = 3,
    gates_namespace: str = keys.HOME,
    home: Home | None = None,
    arguments: tuple[str, ...] = (),
    has_olm: bool = False,
    has_releases: bool = False,
    **fleet_changes: Any,
) -> Iterator[LightStage]:
    """A fleet, a repository, and our controller, which may be given more arguments."""
    at = home or Home.made(folder)
    spec: dict[str, Any] = {"prefix": prefix, "node_count": node_count, "driver_version": OLD, "reload_seconds": 0.3}
    fleet = make_fleet(plane, FleetSpec(**(spec | fleet_changes)))
    account = controller_process.identity(
        plane,
        prefix,
        has_campaigns=True,
        has_olm=has_olm,
        has_releases=has_releases,
        gates_namespace=gates_namespace,
    )
    elsewhere = () if gates_namespace == keys.HOME else ("--gates-namespace", gates_namespace)
    said = (*elsewhere, *arguments)
    controller = ControllerProcess(account, "", folder, lease_seconds=LEASE_SECONDS, git=at.told, arguments=said)
    try:
        with PolicyFollower(fleet), History(plane, prefix) as history, controller:
            made = LightStage(
                plane=plane,
                fleet=fleet,
                history=history,
                controller=controller,
                remote=at.remote,
                work=at.work,
                url=at.url,
                kind="cluster-policy",
                user=f"system:serviceaccount:seatrial:{prefix}",
                folder=folder,
            )
            yield made
    finally:
        controller_process.remove_rollouts(plane)
        plane.kubectl("delete", "clusterpolicy", POLICY, "--ignore-not-found")
        fleet.remove()
