"""What is true at one moment, read from the API server and the repository; nothing of seatrial's own judgement is used.

Tests: tests/bench/test_night.py
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bench.night.faults import Struck

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.nodes import fleet_spec, manifests, stages
from tests.e2e.light_stage import LightStage

BACK: Final = ("Reverting", "Reverted")
GONE_LEASES: Final = 2.0
"""A leader that has been silent for so many of its leases is gone; before that its clock may only be late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node with its driver pod."""

    name: str
    is_ready: bool = True
    is_cordoned: bool = False
    is_skipped: bool = False
    gpus: int = 8
    capacity: int = 8
    version: str = ""
    """Of the image in the driver pod."""
    is_running: bool = True
    """Whether the driver pod is Ready."""
    pod: str = "Running"
    """Phase of the driver pod, or what its container waits for."""
    state: str = ""
    """The upgrade label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The cluster and the repository at one moment."""

    nodes: tuple[Node, ...]
    before: str
    target: str
    phase: str
    struck: tuple[Struck, ...] = ()
    generation: int = 1
    """Of the rollout: a write to its spec raises it."""
    is_pause_asked: bool = False
    awaits: str = ""
    """The approval that the rollout has come to and does not have."""
    approved: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    holder: str = ""
    lease_age_seconds: float = 0.0
    lease_seconds: float = 20.0
    commits: tuple[str, ...] = ()
    """Subjects on the remote's branch since the story began, oldest first."""
    tags: tuple[str, ...] = ()

    @property
    def is_led(self) -> bool:
        return bool(self.holder) and self.lease_age_seconds < GONE_LEASES * self.lease_seconds

    @property
    def is_back(self) -> bool:
        return self.phase in BACK

    @property
    def is_stopped(self) -> bool:
        """Whether nothing follows before a person does something."""
        return bool(self.awaits or self.is_pause_asked or not self.is_led or self.struck_by("matrix-changed"))

    def node(self, name: str) -> Node:
        return next(each for each in self.nodes if each.name == name)

    def running(self, version: str) -> frozenset[str]:
        """Nodes whose driver pod is Ready with this version."""
        return frozenset(each.name for each in self.nodes if each.is_running and each.version == version)

    def struck_by(self, *names: str) -> frozenset[str]:
        """Nodes with one of these faults; a fault of no node counts under an empty name."""
        return frozenset(each.node for each in self.struck if each.fault.name in names)

    @property
    def failed(self) -> frozenset[str]:
        """Nodes whose driver of this rollout crashes."""
        return frozenset(each.name for each in self.nodes if each.pod == "CrashLoopBackOff")

    @property
    def broken(self) -> frozenset[str]:
        """Nodes whose GPUs cannot be used, or not all of them."""
        return frozenset(
            each.name
            for each in self.nodes
            if not each.is_ready or not each.is_running or 0 < each.gpus < each.capacity
        )


def read(stage: LightStage, struck: tuple[Struck, ...], *, asked: str, commit_count: int) -> Facts:
    """The facts of now; `asked` is the approval that the story has come to."""
    rollout = stage.plane.get("gpurollout", stage.rollout)
    spec, lease = rollout["spec"], stage.plane.get("lease", "seatrial", "-n", keys.HOME)["spec"]
    approved = tuple(spec.get("approvals", {}).get("approved", ()))
    renewed = datetime.fromisoformat(lease["renewTime"])
    pods = stage.fleet.driver_pods()
    items = stage.plane.get("nodes", "-l", f"{manifests.FLEET_LABEL}={stage.fleet.spec.prefix}")["items"]
    return Facts(
        nodes=tuple(_node(each, pods.get(each["metadata"]["name"], {})) for each in items),
        before=stage.running,
        target=stage.target,
        phase=rollout.get("status", {}).get("phase", ""),
        struck=struck,
        generation=rollout["metadata"]["generation"],
        is_pause_asked=bool(spec.get("paused")),
        awaits="" if asked in approved else asked,
        approved=approved,
        approvers=tuple(each.get("by", "") for each in spec.get("said", ()) if "approved" in each["what"]),
        holder=lease.get("holderIdentity") or "",
        lease_age_seconds=(datetime.now(UTC) - renewed).total_seconds(),
        lease_seconds=float(lease["leaseDurationSeconds"]),
        commits=tuple(stage.remote_log()[commit_count:]),
        tags=tuple(stage.tags()),
    )


def _node(item: dict[str, Any], pod: dict[str, Any]) -> Node:
    meta, status = item["metadata"], item["status"]
    labels = meta.get("labels", {})
    image = pod["spec"]["containers"][0]["image"] if pod else ""
    return Node(
        name=meta["name"],
        is_ready=fleet_spec.is_ready(item),
        is_cordoned=bool(item["spec"].get("unschedulable")),
        is_skipped=labels.get(keys.SKIP_LABEL) == "true",
        gpus=int(status["allocatable"].get(stages.GPU, "0")),
        capacity=int(status["capacity"].get(stages.GPU, "0")),
        version=manifests.driver_version(image) if image else "",
        is_running=bool(pod) and fleet_spec.is_ready(pod),
        pod=_pod_state(pod),
        state=labels.get(keys.STATE_LABEL, ""),
    )


def _pod_state(pod: dict[str, Any]) -> str:
    status = pod.get("status", {})
    waiting = (each.get("state", {}).get("waiting", {}) for each in status.get("containerStatuses", ()))
    return str(next((each["reason"] for each in waiting if "reason" in each), status.get("phase", "no pod")))


# ── for the person who marks the answers ─────────────────────────────────────────────────────────────────────────────

COMMANDS: Final = (
    "kubectl get nodes",
    "kubectl get pods -n gpu-operator -l app.kubernetes.io/component=nvidia-driver -o wide",
    "kubectl get pdb -A",
    "kubectl get lease seatrial -n seatrial -o jsonpath={.spec}",
    "kubectl get gpurollouts -o jsonpath={.items[0].spec}",
    "kubectl get gpurollouts -o jsonpath={.items[0].status.campaign.history}",
)


def told(facts: Facts) -> list[str]:
    """The truth, as lines of a page."""
    rows = [
        f"| {each.name} | {'yes' if each.is_ready else 'NO'} | {'yes' if each.is_cordoned else ''} | "
        f"{'yes' if each.is_skipped else ''} | {each.gpus} of {each.capacity} | {each.version} | {each.pod} | "
        f"{'yes' if each.is_running else 'NO'} | {each.state} |"
        for each in facts.nodes
    ]
    leads = "leads" if facts.is_led else "is gone"
    run = {version: len(facts.running(version)) for version in (facts.before, facts.target)}
    age = f"{facts.lease_age_seconds:.0f} s ago, for {facts.lease_seconds:.0f} s"
    return [
        *(f"- {each}" for each in facts.struck),
        "",
        f"- Phase {facts.phase}, from driver {facts.before} to {facts.target}; Ready with them: {run}",
        f"- Controller {facts.holder} {leads}; its lease was renewed {age}",
        f"- spec.paused: {facts.is_pause_asked}; approved: {facts.approved}; waits for approval of: {facts.awaits!r}",
        f"- Commits since the rollout began: {facts.commits}; tags: {facts.tags}",
        "",
        "| Node | Ready | Cordoned | Skip label | GPUs | Driver image | Driver pod | Pod Ready | State label |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]


def shown(stage: LightStage) -> list[str]:
    """What plain kubectl and git print, as lines of a page."""
    lines = ["```console"]
    for command in COMMANDS:
        lines += [f"$ {command}", *stage.plane.kubectl(*command.split()[1:]).splitlines()]
    return [*lines, "$ git log --format=%s main", *stage.remote_log()[::-1], "$ git tag", *stage.tags(), "```"]
