"""Gates: what is asked of a canary, what came of one try, and the verdict that is kept. Unknown is never a pass.

First what some gates ask for beside a figure: a share of real work (Tenant), a word of a person or a system (Attest),
GPUs by a counted resource or by a ResourceClaim, and several nodes at once (Ganged). Then the gate itself.

    nvidia.com/gpu in allocatable                        the device plugin gives GPUs out, and the scheduler counts them
    none, and ResourceSlices of gpu.nvidia.com           the DRA driver does: a claim of that device class
    neither                                              as a resource, which the scheduler does not find: told so

Laws of this file: values only; what counts as well is judged in core/judging. An attested word has an end: with the
chart's policy the API server holds the name to the person who is signed in, and keeps other people's words.

Tests: tests/core/judging/ (test_gates.py, test_attesting.py, test_ganging.py), tests/core/campaign/test_asking.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.fields import kept
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.instants import Instant
from seatrial.core.text.names import number_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """Whose pods, how many of them, and for how long without a break."""

    pod_selector: str
    """By their labels, as Kubernetes writes it."""
    pods: int = 1
    seconds: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attest:
    """What somebody has to say of every canary."""

    asks: str
    """What is to be so, in words for whoever is asked."""


class Said(StrEnum):
    """The two things that can be said."""

    GOOD = "pass"
    BAD = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What somebody said for a gate."""

    gate: str
    node: str = ""
    """The canary it is about; empty for all of them."""
    is_pass: bool
    because: str
    by: str = ""
    """Who said it, by the name under which the API server knows them; empty where nobody knows."""
    at: Instant
    until: Instant
    """From then on it counts no more."""

    def is_about(self, gate: str, node: str) -> bool:
        return self.gate == gate and self.node in ("", node)


GPU_RESOURCE: Final = "nvidia.com/gpu"
DEVICE_CLASS: Final = "gpu.nvidia.com"
"""Whole GPUs of the DRA driver of the same name; its MIG devices are of a class of their own."""


def is_by_claim(resources: Iterable[str], *, has_slices: bool) -> bool:
    """Whether a node's GPUs are had by a ResourceClaim only; `resources` are the names it has something of."""
    return has_slices and GPU_RESOURCE not in resources


def in_words(gpu_count: int, *, by_claim: bool) -> str:
    """What is asked for, and which way."""
    counted = number_of(gpu_count, "GPU")
    return f"{counted} by a ResourceClaim" if by_claim and gpu_count else counted


GANG_MIN: Final = 2
"""Fewer nodes are no gang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """The canaries of a round, as a gate that needs several of them finds them."""

    nodes: tuple[str, ...] = ()
    """Those that have room, the first of them speaks for all."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Nodes without room, and why."""
    may_be_left_out: bool = False
    """Whether a round may do without: it can never be had here, or it was had before."""

    @property
    def is_formed(self) -> bool:
        return len(self.nodes) >= GANG_MIN

    def why_not(self, node: str) -> str:
        """Why a node is in no gang."""
        found = dict(self.left_out).get(node)
        return found or f"a sum over nodes needs {GANG_MIN}, and {node} is alone"


NOBODY: Final = Gang(may_be_left_out=True)


PREPULL: Final = "prepull"
"""The Job that brings a driver's image to a node before it is moved: measured like a gate, and no gate of anybody's."""
PROBE_LABEL: Final = "seatrial.dev/gate"
"""The label by which a pod is known that measures a gate."""
GANG: Final = "distributed"
"""The payload that runs on several nodes at once."""
SOAK: Final = "soak"
"""The payload that works for a given time: no question of its own, it makes an idle canary work."""
READINESS: Final = "readiness"
"""The gate that every canary has: it runs the new driver, and is proven as any other node."""


class GateVerdict(StrEnum):
    """A gate's answer, the worst last."""

    PASSED = "passed"
    PENDING = "pending"
    UNKNOWN = "unknown"
    FAILED = "failed"


_ORDER: Final = tuple(GateVerdict)


def worst(verdicts: Iterable[GateVerdict]) -> GateVerdict:
    """The worst of these; of none, unknown: nobody was asked."""
    return max(verdicts, key=_ORDER.index, default=GateVerdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a figure has to be, on every GPU that has it."""

    name: str
    """The figure's."""
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure that a monitoring system works out, and what it has to be in every series."""

    query: str
    """In its own language; `$node` in a quoted text stands for the canary's name."""
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A check that the canary has to pass: a Job of any image, a query, somebody's word, or what follows from those.

    A Job passes when it completes and every figure that is asked for was measured and keeps its limits."""

    name: str
    image: str = ""
    """What the Job runs; empty where the gate is no Job."""
    probe: str = ""
    """The payload of ours that is run in the image; empty where the image brings its own."""
    command: tuple[str, ...] = ()
    gpus: int = 1
    all_gpus: bool = False
    """As many as the node has, whatever `gpus` says; which that is, is known where it is asked."""
    not_on: tuple[str, ...] = ()
    """Nodes that cannot show what it looks for, and are not asked."""
    timeout_seconds: float = 600.0
    figures: tuple[Limit, ...] = ()
    attest: Attest | None = None
    """What somebody has to say; None where the gate is measured."""
    prometheus: Metric | None = None
    """What the controller's Prometheus is asked."""
    expression: str = ""
    """What has to be true of what the other gates of the round have said, in CEL."""
    tenant: Tenant | None = None
    """Whose work has to run well there."""
    webhook: str = ""
    """The address that is asked, where the controller may ask there."""

    @property
    def is_job(self) -> bool:
        """Whether a Job on the node answers it."""
        return bool(self.image)

    def runs_one_of(self, prefixes: Iterable[str]) -> bool:
        """Whether its image is below one of these: a whole registry, path or image, and not a name that begins so."""
        return any(_is_below(self.image, prefix) for prefix in prefixes)

    @property
    def wants_gpus(self) -> bool:
        """Whether it takes GPUs of the node for itself."""
        return self.is_job and (self.all_gpus or self.gpus != 0)

    def on(self, gpu_count: int) -> Gate:
        """As it is asked of a node with so many GPUs. Without one it still asks for one: that is the answer then."""
        return replace(self, gpus=max(1, gpu_count)) if self.all_gpus else self

    @property
    def is_gang(self) -> bool:
        """Whether it is asked of several nodes at once."""
        return self.is_job and self.probe == GANG

    @property
    def is_soak(self) -> bool:
        """Whether it fills the time of the bake: asked last, left to whoever wants the GPUs, and missed by nobody."""
        return self.is_job and self.probe == SOAK

    @property
    def means(self) -> str:
        """How it is answered, in a few words."""
        if self.attest is not None:
            return "somebody's word"
        if self.expression:
            return "an expression"
        if self.webhook:
            return "a webhook"
        if self.tenant is not None:
            return "the work of tenants"
        return "the controller's Prometheus" if self.prometheus is not None else self.image

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What its figures have to be; that of a query bears the gate's name."""
        if self.prometheus is None:
            return self.figures
        return (Limit(name=self.name, at_least=self.prometheus.at_least, at_most=self.prometheus.at_most),)

    @property
    def mark(self) -> str:
        """What tells it from another gate under the same name; how long it may take does not."""
        told = ascii((self.image, self.command, "all" if self.all_gpus else self.gpus))
        if self.probe or self.figures:
            told += ascii((self.probe, [(each.name, each.at_least, each.at_most) for each in self.figures]))
        if self.attest is not None:
            told += ascii(("attest", self.attest.asks))
        if self.prometheus is not None:
            asked = self.prometheus
            told += ascii(("prometheus", asked.query, asked.unit, asked.at_least, asked.at_most))
        if self.expression:
            told += ascii(("expression", self.expression))
        if self.webhook:
            told += ascii(("webhook", self.webhook))
        if self.tenant is not None:
            told += ascii(("tenant", self.tenant.pod_selector, self.tenant.pods, self.tenant.seconds))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured for a gate on a node, in one try of one round."""

    gate: str
    node: str
    round: int
    attempt: int
    verdict: GateVerdict
    detail: str = ""
    """What it said; for a failure the evidence, and for one that is pending why its pod is not let in."""
    figures: tuple[Figure, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    drivers: tuple[str, ...] = ()
    """The driver that is loaded, by the report of each of its pods; an empty text where one does not say."""
    kept_out_of: str = ""
    """The namespace that does not let its pod in, where that is so."""
    gang: tuple[str, ...] = ()
    """The nodes that it was measured on together; none where it was one alone."""
    job: str = ""
    """While it is pending, the Job that measures it, as namespace/name; empty where nobody was sent."""
    pod: str = ""
    stuck: str = ""
    """Why the pod does not start, and will not before somebody changes something; empty where it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A gate's verdict on a node, as it is kept."""

    gate: str
    node: str
    round: int
    verdict: GateVerdict
    detail: str = field(default="", metadata=kept(is_long=True))
    at: Instant = 0.0
    asked: str = field(
        default="", metadata=kept("A mark of the gate as it was asked; another image or command has another one.")
    )
    is_left_out: bool = field(
        default=False, metadata=kept("It was not asked there, and the verdict counts for nothing; detail says why.")
    )

    @property
    def said(self) -> str:
        """The verdict, for people."""
        return "left out" if self.is_left_out else self.verdict.value


def _is_below(image: str, prefix: str) -> bool:
    if not image.startswith(prefix):
        return False
    rest = image[len(prefix) :]
    # A colon begins a tag, or a port, which is another registry.
    return not rest or prefix.endswith(("/", ":", "@")) or rest[0] in "/@" or (rest[0] == ":" and "/" not in rest)
