"""Members that cannot start: who they are and why, how long a wave waits for them, and who is left behind at the end.

    no GPU to be seen     no driver will ever come there: such a member is in no wave, and is told
    NotReady, no driver   a wave waits for it as long as its upgrade might have taken, and is told; then it goes on
    marked skip           a person wants it left alone: nobody waits

Law of this file: nobody is given up. Who is left behind stays open, and follows by itself when it can; waves that came
after do not wait for it again. Tests: tests/core/test_stragglers.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from seatrial.core.budget import capacity, units
from seatrial.core.campaign.course import a_few
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.snapshot import NodeSeen
from seatrial.core.movers import publishing
from seatrial.core.movers.view import View
from seatrial.core.node import step as node
from seatrial.core.node.progress import Standing, is_without_gpu

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
    return view.campaign.by_hand is None and member.record is None and is_without_gpu(member.facts)


def stuck(view: View, names: Iterable[str]) -> dict[str, HoldCode]:
    """Which of these nodes are away from the target and cannot start, with the reason."""
    if view.mode is Mode.BY_HAND:
        return {}
    unit_of = capacity.budget_of(view.nodes, (), view.intent).unit_of if capacity.has_places(view.intent) else {}
    lame = units.unfit(view.nodes, unit_of) if view.mode is Mode.DIRECT else {}
    found: dict[str, HoldCode] = {}
    for name in sorted(names):
        if view.standing(name) is not Standing.AWAY:
            continue
        code = _why_stuck(view, view.nodes[name])
        if code is None and unit_of.get(name) in lame:
            code = HoldCode.UNIT_UNFIT
        if code is not None:
            found[name] = code
    return found


def _why_stuck(view: View, member: NodeSeen) -> HoldCode | None:
    facts = member.facts
    if facts.skipped_by == view.name:  # our own skip label is no obstacle: it goes when the wave opens
        member = replace(member, facts=replace(facts, is_skipped=False))
    unclear = node.why_unclear(member) if view.mode is Mode.DIRECT else None
    held = unclear or node.why_not_startable(member)
    return held.code if held is not None else None


def patience_until(view: View) -> Instant:
    """Until when a wave waits for members that cannot start: as long as the upgrade of one might have taken."""
    seconds = view.intent.restart_timeout_seconds + view.intent.validation_timeout_seconds
    return max(view.record.entered_at, view.seen.attentive_since) + seconds


def waited_for(view: View, found: Mapping[str, HoldCode]) -> Hold:
    """That members of a wave cannot start, and until when that keeps it open."""
    until = patience_until(view)
    return view.hold(HoldCode.MEMBERS_STUCK, nodes=named(found), until=until if until > view.now else None)


def named(found: Mapping[str, HoldCode]) -> str:
    return a_few([f"{name} ({code})" for name, code in sorted(found.items())])


def told(view: View) -> tuple[Hold, ...]:
    """Members that get no driver, and at the end who is left behind: members, and pools that nobody is in."""
    if view.record.phase not in TELLING or view.mode is Mode.BY_HAND:
        return ()
    holds: list[Hold] = []
    bare = sorted(
        name for name, member in view.nodes.items() if is_outside(view, member) and not member.facts.is_skipped
    )
    if bare:
        holds.append(view.hold(HoldCode.MEMBERS_WITHOUT_GPU, count=len(bare), nodes=a_few(bare)))
    if view.record.phase in (RolloutPhase.PROMOTING, RolloutPhase.DONE):
        left = stuck(view, set(view.nodes) - set(bare))
        left |= {name: HoldCode.FAILED for name in view.nodes if view.standing(name) is Standing.FAILED}
        if left:
            holds.append(view.hold(HoldCode.MEMBERS_LEFT, count=len(left), nodes=named(left)))
        pools = publishing.left_out(view)
        if pools:
            holds.append(view.hold(HoldCode.POOLS_LEFT, pools=a_few(list(pools)), version=view.target))
    return tuple(holds)
