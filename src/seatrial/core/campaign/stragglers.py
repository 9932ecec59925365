"""Members that cannot start: who they are and why, how long a wave waits for them, and who is left behind at the end.

    no GPU to be seen     no driver will ever come there: such a member is in no wave, and is told
    NotReady, no driver   a wave waits for it as long as its upgrade might have taken, and is told; then it goes on
    a canary that is so   likewise; then another node goes first, where one is fit for it
    marked skip           a person wants it left alone: nobody waits
    failed, and away      no more may be unavailable: nobody starts until somebody mends it, and that is told
    failed at the end     the promotion waits for a person: mended, left out, or approved without it

Law of this file: nobody is given up. Who is left behind stays open, and follows by itself when it can; waves that came
after do not wait for it again. Tests: tests/core/campaign/test_stragglers.py
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from seatrial.core.budget import capacity
from seatrial.core.campaign import canary
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.movers import publishing
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress, is_left_out, is_without_gpu
from seatrial.core.text.names import a_few

TELLING = frozenset(
    {
        RolloutPhase.PROPOSED,
        RolloutPhase.CANARY,
        RolloutPhase.GATING,
        RolloutPhase.BAKING,
        RolloutPhase.WAVING,
        RolloutPhase.PROMOTING,
        RolloutPhase.DONE,
    }
)
"""Phases in which members without a GPU are told of: on the way back they concern nobody."""


def is_outside(view: View, member: NodeSeen) -> bool:
    """Whether a member is in no wave: nothing tells of a GPU there. What people move by hand needs none."""
    return view.mover.moves_drivers and member.record is None and is_without_gpu(member.facts)


def patience_until(view: View) -> Instant:
    """Until when a wave waits for members that cannot start: as long as the upgrade of one might have taken."""
    seconds = view.intent.restart_timeout_seconds + view.intent.validation_timeout_seconds
    return max(view.record.entered_at, view.seen.attentive_since) + seconds


def waited_for(view: View, found: Mapping[str, HoldCode]) -> Hold:
    """That members of a wave cannot start, and until when that keeps it open."""
    until = patience_until(view)
    return view.hold(HoldCode.MEMBERS_STUCK, nodes=named(found), until=until if until > view.now else None)


def stuck_canaries(view: View) -> tuple[list[str], Hold | None]:
    """The canaries that cannot start and have had their time, and that there are some; people may take their time.

    A canary is chosen among nodes that are whole, and one may die between the choice and its start.
    """
    stuck = view.mover.why_stuck(view, view.record.canaries) if view.mover.is_automatic else {}
    if not stuck:
        return [], None
    until = patience_until(view)
    is_late = view.now >= until
    held = view.hold(HoldCode.CANARY_STUCK, nodes=named(stuck), until=None if is_late else until)
    return sorted(stuck) if is_late else [], held


def instead(view: View, lost: list[str]) -> tuple[str, ...]:
    """Who may go first in place of these canaries: it can start itself, or two dead nodes would take turns for ever."""
    if not lost:
        return ()
    others = view.nodes.keys() - {*view.record.canaries}
    others -= view.mover.why_stuck(view, others).keys()
    rest = {name: view.nodes[name] for name in others}
    # What is published is published: a node that another resource owns would need a step that is taken already.
    same = {name: node for name, node in rest.items() if publishing.is_published(view, name)}
    return canary.choose(same or rest, replace(view.campaign.canary, count=len(lost), nodes=()))


def blocked(view: View, waiting: Sequence[str], failed: Collection[str], where: Mapping[str, object]) -> Hold | None:
    """That nobody of those who wait in a wave may start, since nodes that failed are among all that may be unavailable.

    None where somebody is at work, or would get in: that ends by itself.
    """
    if not failed or not waiting or any(view.progress(name) is Progress.MOVING for name in waiting):
        return None
    nodes, ledger = view.mover.recorded(view.seen, view.intent), view.seen.rollout.admitted
    budget = capacity.budget_of(nodes, ledger, view.intent)
    tally = capacity.Tally(budget, (admission.node for admission in ledger))
    found = [tally.why_not([name]) for name in waiting]
    if budget.whole.under_way or any(why is None or why.code is not HoldCode.UNAVAILABLE_LIMIT for why in found):
        return None
    limit = {key: text for key, text in tally.told(waiting[:1]).params if key in ("limit", "scope")}
    gone = sorted(name for name in failed if capacity.is_away(nodes[name]))
    params = {**where, **limit, "nodes": a_few(gone)}
    return hold(view.name, HoldCode.WAVE_BLOCKED, params, since=view.record.entered_at or None) if gone else None


def failed(view: View) -> dict[str, HoldCode]:
    """The members that have failed, without those that a person has left out since."""
    return {
        name: HoldCode.FAILED
        for name, member in view.nodes.items()
        if view.progress(name) is Progress.FAILED and not is_left_out(member.facts)
    }


def tried_again(view: View) -> list[str]:
    """The members that have failed and are on their way once more, in order of name."""
    found = {name for name, member in view.nodes.items() if _is_tried_again(view, member)}
    return sorted(found - view.mover.why_stuck(view, found).keys())


def _is_tried_again(view: View, member: NodeSeen) -> bool:
    if view.progress(member.name) not in (Progress.AWAY, Progress.MOVING) or is_left_out(member.facts):
        return False
    if view.mover.starts_by_itself:  # NVIDIA's states do not remember a failure, so every node under way counts
        return member.facts.nvidia_state not in ("", NodePhase.UPGRADE_DONE.value)
    record = member.record
    return record is not None and record.phase is not NodePhase.UPGRADE_DONE and bool(record.failures)


def why_unpromoted(view: View, found: Collection[str]) -> Hold:
    """That these members have failed, and that a person decides whether to go on without them."""
    told = view.hold(HoldCode.NODES_FAILED, count=len(found), nodes=a_few(sorted(found)))
    records = (node.record for node in view.nodes.values() if node.record is not None)
    return replace(told, since=max((record.entered_at for record in records), default=told.since))


def named(found: Mapping[str, HoldCode]) -> str:
    return a_few([f"{name} ({code})" for name, code in sorted(found.items())])


def told(view: View) -> tuple[Hold, ...]:
    """Members that get no driver, and at the end who is left behind: members, and pools that nobody is in."""
    if view.record.phase not in TELLING or not view.mover.moves_drivers:
        return ()
    holds: list[Hold] = []
    bare = sorted(
        name for name, member in view.nodes.items() if is_outside(view, member) and not member.facts.is_skipped
    )
    if bare:
        holds.append(view.hold(HoldCode.MEMBERS_WITHOUT_GPU, count=len(bare), nodes=a_few(bare)))
    if view.record.phase in (RolloutPhase.PROMOTING, RolloutPhase.DONE):
        left = view.mover.why_stuck(view, set(view.nodes) - set(bare))
        if view.record.phase is RolloutPhase.DONE or view.campaign.accepts_failures:
            left |= failed(view)  # before that they are what the promotion waits for
        if left:
            holds.append(view.hold(HoldCode.MEMBERS_LEFT, count=len(left), nodes=named(left)))
        pools = publishing.left_out(view)
        if pools:
            holds.append(view.hold(HoldCode.POOLS_LEFT, pools=a_few(list(pools)), version=view.target))
    return tuple(holds)
