"""What is kept of the objects and logs that a diagnosis reads.

Law of this file: values as they were read, foreign text already cleaned, and nothing concluded from them; what was not
read is a Gap. Tests: tests/adapters/kube/test_diagnosing.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from seatrial.core.model.instants import ApiInstant
from seatrial.core.survey.doctor.parts import STACK, Part, part_of_container
from seatrial.core.survey.sources import Gap, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionTold:
    """What somebody says of a node."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: ApiInstant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTold:
    """A node, as far as GPUs are concerned."""

    name: str
    has_gpu: bool = False
    """A label says that it has one; whether it is offered is another thing."""
    product: str = ""
    gpu_count: int | None = None
    """What feature discovery counted."""
    offered: int = 0
    """GPUs, and slices of GPUs, that the kubelet offers; the healthy ones."""
    capacity: int = 0
    """The same with those that the device plugin calls unhealthy."""
    upgrade_state: str = ""
    """Of NVIDIA's upgrade controller, or of ours."""
    mig_state: str = ""
    paused: tuple[str, ...] = ()
    """Deploy labels that stand at paused."""
    without_plugin: bool = False
    """A label keeps the device plugin away on purpose."""
    conditions: tuple[ConditionTold, ...] = ()
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerTold:
    """A container and how it stands."""

    name: str
    image: str = ""
    is_init: bool = False
    is_ready: bool = False
    is_running: bool = False
    restarts: int = 0
    waiting: str = ""
    """Why it waits, in the kubelet's one word."""
    waiting_message: str = ""
    ended: str = ""
    """Why it ended the last time: the reason, or the exit code."""
    exit_code: int | None = None
    ended_message: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether it is not up, and not by having done its work."""
        if self.is_init:
            return bool(self.waiting and self.waiting != "PodInitializing") or self.exit_code not in (None, 0)
        return not self.is_ready


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTold:
    """A pod that belongs to the GPU stack, or wants GPUs, or is on a node that has some."""

    namespace: str
    name: str
    node: str = ""
    part: Part = Part.OTHER
    phase: str = ""
    is_ready: bool = False
    created_at: ApiInstant | None = None
    deleted_at: ApiInstant | None = None
    """When it should have been gone; None while nobody deletes it."""
    containers: tuple[ContainerTold, ...] = ()
    asks_gpus: bool = False
    """For an extended resource; claims are told apart."""
    claims: tuple[str, ...] = ()
    """Names of the ResourceClaims it holds or waits for."""
    unscheduled: str = ""
    """Why the scheduler finds no node for it."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_well(self) -> bool:
        return self.is_ready or self.phase == "Succeeded"

    @property
    def is_stack(self) -> bool:
        return self.part in STACK

    def part_of(self, container: str) -> Part:
        return part_of_container(self.part, container)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTold:
    """What somebody wrote about an object."""

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    count: int = 1
    is_warning: bool = True
    host: str = ""
    """The node whose kubelet wrote it."""
    at: ApiInstant | None = None
    """When it was seen last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceTold:
    """What a DRA driver offers of a node."""

    node: str
    device_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTold:
    """A ResourceClaim, for GPUs or something else."""

    namespace: str
    name: str
    drivers: tuple[str, ...] = ()
    """Who allocated its devices; empty while nobody has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAsked:
    """A log that is worth reading."""

    namespace: str
    pod: str
    container: str
    is_previous: bool = False
    """Of the container before the one that runs now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTold:
    """The end of a container's log; what could not be read says why."""

    asked: LogAsked
    lines: tuple[str, ...] = ()
    why_not: str = ""
    is_denied: bool = False
    """Whether it is a right that is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class XidTold:
    """An error that a GPU reported within the last hour, by its metrics."""

    node: str
    gpu: str
    number: int
    count: int = 1
    """How often the number changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What a monitoring system tells, as far as it could be asked."""

    xids: tuple[XidTold, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sight:
    """Everything that was read; one big object, which keeps what it worked out."""

    at: ApiInstant
    nodes: tuple[NodeTold, ...] = ()
    pods: tuple[PodTold, ...] = ()
    events: tuple[EventTold, ...] = ()
    slices: tuple[SliceTold, ...] = ()
    claims: tuple[ClaimTold, ...] = ()
    logs: tuple[LogTold, ...] = ()
    metrics: Metrics | None = None
    """None where nobody was asked."""
    gaps: Mapping[Source, Gap] = field(default_factory=dict)

    @cached_property
    def node_of(self) -> Mapping[str, NodeTold]:
        return {each.name: each for each in self.nodes}

    @cached_property
    def pod_of(self) -> Mapping[str, PodTold]:
        return {each.key: each for each in self.pods}

    @cached_property
    def pods_of(self) -> Mapping[str, tuple[PodTold, ...]]:
        found: dict[str, list[PodTold]] = {}
        for pod in self.pods:
            found.setdefault(pod.node, []).append(pod)
        return {node: tuple(pods) for node, pods in found.items()}

    @cached_property
    def _others_claims(self) -> frozenset[str]:
        """Claims whose devices are nobody's GPUs."""
        return frozenset(
            f"{each.namespace}/{each.name}"
            for each in self.claims
            if each.drivers and not any(driver.endswith("nvidia.com") for driver in each.drivers)
        )

    def concerns(self, pod: PodTold) -> bool:
        """Whether a pod has to do with GPUs: one with claims for other devices alone has not."""
        if pod.is_stack or pod.asks_gpus or not pod.claims:
            return True
        return any(f"{pod.namespace}/{name}" not in self._others_claims for name in pod.claims)

    def of_part(self, node: str, part: Part) -> tuple[PodTold, ...]:
        """The pods of a part on a node that are not over."""
        return tuple(each for each in self.pods_of.get(node, ()) if each.part is part and not each.is_over)
