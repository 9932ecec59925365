"""What people are told of an act, as Events on the node: in the words of NVIDIA's upgrade controller where it has some.

Dashboards and habits match these texts, so they are copied to the letter and never improved; what NVIDIA's controller
does not tell (why a node was given up, and what to do) is told in our own. An act that was stale is not told: nothing
happened. What is told of an act that failed stands with its other words, in acts.py. English for users; sending is
elsewhere.

A node upgraded without trouble is told of nine times: eight states, and the pods that were moved away. The phases of a
campaign are told as Events on the rollout, in our own words.

Tests: tests/core/words/test_announce.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.actions.on_nodes import Cordon, NodeAct, Request, WriteNodeRecord
from seatrial.core.base.values import dataclass
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Turn
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.node.writing import told
from seatrial.core.text.names import number_of
from seatrial.core.words import conditions, explain
from seatrial.core.words.acts import EVICTION_FAILED, on_node

PHASE_REASON: Final = "GPURolloutPhase"
"""The reason of Events about a campaign's phases; those about nodes have NVIDIA's."""


class Tone(StrEnum):
    """How loud it is told."""

    NORMAL = "normal"
    WARNING = "warning"


class About(StrEnum):
    """What it is told of."""

    NODE = "node"
    POD = "pod"
    """The pod of the act."""
    ROLLOUT = "rollout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """One thing to tell."""

    text: str
    tone: Tone = Tone.NORMAL
    about: About = About.NODE


def announce(
    before: NodeSeen | None,
    action: NodeAct,
    error: str = "",
    *,
    annotations: Mapping[Request, str],
    has_moved_pods: bool = False,
) -> tuple[Announcement, ...]:
    """What to tell of an act that was done, or that failed with this error.

    `before` is the node as it was when the act was decided; None where nobody remembers. `annotations` are the keys
    under which others ask; `has_moved_pods` says whether this attempt made pods leave.
    """
    if not isinstance(action, WriteNodeRecord):
        return (_failed(action, error),) if error else ()
    if error:
        return tuple(_failed_write(before, action, error, annotations))
    return (*_write(before, action, annotations), *_passage(before, action, has_moved_pods))


def announce_phase(before: CampaignRecord | None, after: CampaignRecord) -> tuple[Announcement, ...]:
    """What to tell of a campaign's record that took the place of another: the turn it took, if it took one.

    A new wave and a new canary are turns as well, within their phase.
    """
    if not after.history or (before is not None and before.history == after.history):
        return ()
    turn = after.history[-1]
    is_resumed = before is not None and before.phase is RolloutPhase.PAUSED
    text = "resumed after a pause" if is_resumed else turn.why or _PHASES[turn.phase].format(**_names(after))
    tone = Tone.WARNING if _is_setback(turn, is_resumed) else Tone.NORMAL
    return (Announcement(text=f"{turn.phase}: {text}", tone=tone, about=About.ROLLOUT),)


def announce_state(before: str, record: RolloutRecord) -> tuple[Announcement, ...]:
    """What to tell of a rollout without a campaign: that it goes on, waits, or is done, when that has changed."""
    summary = record.summary
    if record.campaign is not None or summary is None or summary.state == before:
        return ()
    done = f"{summary.done:,} of {number_of(summary.total, 'node runs', 'nodes run')} the target"
    why = conditions.why_of(record)
    text = f"{summary.state.capitalize()}: {done}" + (f"; {why}" if why else "")
    return (Announcement(text=text, tone=Tone.NORMAL, about=About.ROLLOUT),)


_PHASES: Final[Mapping[RolloutPhase, str]] = {
    RolloutPhase.PROPOSED: "checking whether it can begin",
    RolloutPhase.CANARY: "{canaries} {go} first",
    RolloutPhase.GATING: "{canaries} {run} the new driver, and the gates run",
    RolloutPhase.BAKING: "every gate passed, and {canaries} {bake}",
    RolloutPhase.WAVING: "{canaries} passed, and the fleet follows in waves",
    RolloutPhase.PROMOTING: "the last wave is over, and the version becomes production",
    RolloutPhase.DONE: "every node had its turn",
    RolloutPhase.PAUSED: "while it was at {paused_in}; every node keeps its place",
    RolloutPhase.REVERTING: "it is being rolled back",
    RolloutPhase.REVERTED: "everything is back as it was before",
}


def _names(record: CampaignRecord) -> dict[str, str]:
    one = len(record.canaries) <= 1
    verbs = {"go": "goes" if one else "go", "run": "runs" if one else "run", "bake": "bakes" if one else "bake"}
    canaries = ", ".join(record.canaries) or "no node"
    return {"canaries": canaries, "paused_in": record.paused_in or RolloutPhase.PROPOSED, **verbs}


def _is_setback(turn: Turn, is_resumed: bool) -> bool:
    """Whether a turn is bad news: undone, or the canary is lost and everything begins anew."""
    is_undone = turn.phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED)
    return not is_resumed and (is_undone or (turn.phase is RolloutPhase.CANARY and bool(turn.why)))


def announce_bug(subject: str, why: str) -> str:
    """What a bug of ours was about, and what it costs; it is about the rollout where no other subject is known."""
    if not subject:
        return f"seatrial ran into a bug over this rollout and sets it aside for a minute: {why}"
    return f"seatrial ran into a bug over {subject}; what depends on it waits: {why}"


def announce_left(left: tuple[str, ...], *, is_deleted: bool = True) -> Announcement:
    """What is told of a rollout that was deleted, or that we leave since we go ourselves, before it is let go."""
    why = "Deleted" if is_deleted else "Seatrial was uninstalled"
    if not left:
        record = " and record" if is_deleted else ""
        return Announcement(text=f"{why}; nothing is left half-way, and nodes keep their driver{record}")
    return Announcement(text=f"{why}; this stays: {'; '.join(left)}", tone=Tone.WARNING)


# ── done ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write(
    before: NodeSeen | None, action: WriteNodeRecord, annotations: Mapping[Request, str]
) -> Iterator[Announcement]:
    if _opens_phase(before, action):
        yield Announcement(text=f"Successfully updated node state label to {action.record.phase}")
    elif isinstance(action, Cordon) and action.record.reopened_count:
        count = action.record.reopened_count
        times = "" if count == 1 else f" ({count} times so far)"
        yield _warning(f"Cordoned the node again: it was uncordoned{times} before its new driver was validated")
    for request in action.answers:
        yield Announcement(text=f"Successfully updated node annotation to {annotations[request]}=null")


def _opens_phase(before: NodeSeen | None, action: WriteNodeRecord) -> bool:
    """Whether the label changes: a repair of the record, a pause or an answer within a phase leaves it as it is."""
    if before is None or before.record is None or before.is_label_lost or before.is_retry_asked:
        return True
    return before.record.phase is not action.record.phase or before.record.attempt != action.record.attempt


def _passage(before: NodeSeen | None, action: WriteNodeRecord, has_moved_pods: bool) -> Iterator[Announcement]:
    """What the way from one phase to the next means."""
    left = before.record.phase if before is not None and before.record is not None else None
    record = action.record
    match (left, record.phase):
        case (NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED) if has_moved_pods:
            yield Announcement(text="Deleted workload pods on the node for the driver upgrade")
        case (NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED):
            yield _warning("Pod deletion failed but drain is enabled in spec. Will attempt a node drain")
            yield Announcement(text="Scheduling drain of the node")
        case (NodePhase.DRAIN_REQUIRED, NodePhase.POD_RESTART_REQUIRED):
            yield Announcement(text="Successfully drained the node")
        case (NodePhase.POD_DELETION_REQUIRED, NodePhase.UPGRADE_FAILED):
            yield _warning(f"{EVICTION_FAILED}, {_why(record)}")
        case (NodePhase.DRAIN_REQUIRED, NodePhase.UPGRADE_FAILED):
            yield _warning(f"Failed to drain the node, {_why(record)}")
        case _:
            pass  # the state says it all
    if record.phase is NodePhase.UPGRADE_FAILED and left is not NodePhase.UPGRADE_FAILED:
        yield _given_up(before, action)


def _given_up(before: NodeSeen | None, action: WriteNodeRecord) -> Announcement:
    """Why a node was given up, and what to do: NVIDIA's controller is silent here."""
    params = told(before.facts) if before is not None and action.record.trouble else {}
    params |= {"why": action.record.reason, "diagnosis": action.record.trouble}
    held = hold(action.node, HoldCode.FAILED, params)
    why = explain.why(held)
    return _warning(f"{why[0].upper()}{why[1:]}. {explain.next_step(held)}")


# ── failed ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _failed_write(
    before: NodeSeen | None, action: WriteNodeRecord, error: str, annotations: Mapping[Request, str]
) -> Iterator[Announcement]:
    if _opens_phase(before, action) or not action.answers:
        yield _failed(action, error)
    for request in action.answers:
        yield _warning(f"Failed to update node annotation {annotations[request]}=null: {error}")


def _failed(action: NodeAct, error: str) -> Announcement:
    words = on_node(action)
    about = About.POD if words.is_told_of_pod else About.NODE
    return Announcement(text=f"{words.failed}{error}", tone=Tone.WARNING, about=about)


def _why(record: NodeRecord) -> str:
    return explain.FAILURES.get(record.reason, record.reason)


def _warning(text: str) -> Announcement:
    return Announcement(text=text, tone=Tone.WARNING)
