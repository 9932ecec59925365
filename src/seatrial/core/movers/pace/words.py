"""What `seatrial pace` tells: waits and holds as sentences, and what the waking was worth.

What polling would have cost is an estimate. The controller looks when it writes a node's state and again 120 s later,
so a node whose pod became Ready 10 s after that write would have waited 110 s, and its validator would have been Ready
by then. Looks for the sake of other nodes are left out. The nodes under way wait side by side, so the whole upgrade
would have taken longer by the sum of these waits, divided by how many were under way at once.

Tests: tests/core/movers/test_pace.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.movers.pace.values import POLL_SECONDS, Gain, PaceMemory, Wait, WaitCode, WakeHold
from seatrial.core.movers.pace.waking import DEAF_COUNT
from seatrial.core.text.commands import filled

SENTENCES: Final[Mapping[WaitCode, str]] = {
    WaitCode.TURN: "waits for its turn",
    WaitCode.SKIPPED: "is left out: somebody marked it with nvidia.com/gpu-driver-upgrade.skip=true",
    WaitCode.STEP: "waits for the controller's next step",
    WaitCode.JOBS: "waits for jobs that still run",
    WaitCode.PODS: "waits for its pods to leave",
    WaitCode.MAINTENANCE: "waits for the maintenance operator to drain it",
    WaitCode.DRIVER_STOPPING: "waits for a driver pod of the new revision",
    WaitCode.DRIVER_STARTING: "waits for its driver pod to become Ready",
    WaitCode.VALIDATOR_MISSING: "waits for a validator pod, but there is none",
    WaitCode.VALIDATOR_STARTING: "waits for its validator pod to become Ready",
    WaitCode.LOOK: "is ready: the controller has to look",
    WaitCode.FAILED: "failed, says the controller; fix it, then `seatrial node retry {node}`",
    WaitCode.STATE_UNKNOWN: "is stuck in a state that the controller does not know; correct the label",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGain:
    """What waking was worth for one node."""

    node: str
    waited_seconds: float
    polled_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What waking was worth in all."""

    wake_count: int
    under_way_most: int
    nodes: tuple[NodeGain, ...]

    @property
    def waited_seconds(self) -> float:
        return sum(node.waited_seconds for node in self.nodes)

    @property
    def polled_seconds(self) -> float:
        return sum(node.polled_seconds for node in self.nodes)

    @property
    def spared_seconds(self) -> float:
        """How much longer the upgrade would have taken."""
        return max(0.0, self.polled_seconds - self.waited_seconds) / max(1, self.under_way_most)


def worth(memory: PaceMemory) -> Worth:
    """What the wakes so far were worth."""
    names = sorted({gain.node for gain in memory.gains})
    nodes = tuple(_node_gain(name, (gain for gain in memory.gains if gain.node == name)) for name in names)
    return Worth(wake_count=memory.wake_count, under_way_most=memory.under_way_most, nodes=nodes)


def _node_gain(name: str, gains: Iterable[Gain]) -> NodeGain:
    found = list(gains)
    return NodeGain(
        node=name,
        waited_seconds=sum(gain.waited_seconds for gain in found),
        polled_seconds=sum(gain.polled_seconds for gain in found),
    )


def why_waits(wait: Wait) -> str:
    """What a node waits for."""
    sentence = filled(SENTENCES[wait.code], {"node": wait.node})
    if wait.code is WaitCode.LOOK:
        return f"{sentence}{_heard(wait.wake_count)}"
    if wait.wake_count >= DEAF_COUNT:
        return (
            f"{sentence}; no node moves, and the controller was woken {wait.wake_count} times: check its log, "
            "and whether "
            "cordoned or NotReady nodes use up maxUnavailable"
        )
    return f"{sentence} ({wait.what})" if wait.what else sentence


def _heard(wake_count: int) -> str:
    if wake_count < DEAF_COUNT:
        return ""
    return (
        f"; it was woken {wake_count} times and did not: check its log; it may be stopped, fail on another node, "
        "or be a release that does not react (--operator-release names it)"
    )


def why_held(hold: WakeHold, operator: OperatorFacts, release: OperatorVersion | None) -> str:
    """Why nobody is woken, and what to do."""
    match hold:
        case WakeHold.CONTROLLER_OFF if not operator.kind:
            return "there is no GPU Operator here: neither a ClusterPolicy nor an NVIDIADriver was found"
        case WakeHold.CONTROLLER_OFF:
            return (
                f"NVIDIA's upgrade controller is off ({operator.kind} does not have autoUpgrade: true), so there is "
                "nothing to wake"
            )
        case WakeHold.RELEASE_DEAF:
            return (
                f"GPU Operator {release} watches {pace_ways.Watched.STATE_LABEL} only, and we write no state unless "
                "asked: --reset-done-states wakes it by removing the state label of a done node, which it writes again"
            )
        case WakeHold.NO_CARRIER:
            return (
                f"no node can take the wake label: each has {pace_ways.WAKE_LABEL} already, or with "
                f"--reset-done-states none is done yet; until one can, the controller looks every {POLL_SECONDS:g} s"
            )


def assumption(release: OperatorVersion | None) -> str:
    """What is known or assumed about how the controller is woken."""
    if release is None:
        return (
            "the operator's release is unknown; assuming that it reacts to the skip label, as all but v26.3 do "
            "(--operator-release names it)"
        )
    return f"GPU Operator {release}: watches {pace_ways.watched_by(release)} of a node"
