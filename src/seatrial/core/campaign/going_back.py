"""The way back: what was published is taken back, the entry is marked, and the nodes walk the same machine again.

Law of this file: there is no rollback engine. The old version is wanted again, and whoever runs another goes there as
it came; who never left is not touched. A node that cannot go back any more, such as one that died, is taken out by a
person's skip label, and the end says in what state it was left. Tests: tests/core/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from seatrial.core.actions import CampaignAct, MarkBad, RevertCommits
from seatrial.core.campaign.course import Course, a_few, turn_to
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import PUBLISHING, Mode, PublishStep, RolloutPhase, SourceFacts, Via
from seatrial.core.model.snapshot import NodePhase, NodeSeen
from seatrial.core.movers import by_hand, letting_in, machine_pools, marks, publishing
from seatrial.core.movers import forgetting as delegating
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Standing, is_left_out, is_out_of_reach, is_same, wants

REFUSALS_MAX: Final = 5
"""How often a mark may be refused before the way back goes on without it: about a minute and a half."""


def step_reverting(view: View) -> Course:
    """Back to what was before: the same machine, with the old version wanted."""
    record = view.record
    # Before anything else: nobody is to be emptied who had not begun, and who comes back is let in by the budget.
    turn = _whose_turn(view)
    closing, pending = marks.close_out(view, turn)
    if closing or _is_closing(view, marks.unclosed(view, turn)):
        return Course(record=record, acts=closing, holds=pending)
    acts, holds = _unpublish(view)
    if not acts and view.campaign.has_source:
        source = view.source
        is_marked = source is not None and bool(source.bad or source.commit_of(PublishStep.BAD))
        if source is None or source.trouble:
            told = view.unreachable()
            holds = holds if is_marked or told in holds else (*holds, told)
        elif not is_marked and not _owes_revert(view, source):
            acts, pending = view.act(MarkBad(rollout=view.name, why=record.why), HoldCode.REVERT_PENDING)
            holds = (*holds, *pending)
    if view.mode is Mode.BY_HAND:
        return _revert_by_hand(view, acts, holds)
    away = _away(view)
    if away:
        open_ = _whose_turn(view)
        if view.mode is Mode.DELEGATED and not acts:
            acts = marks.let_in(view, open_)  # and NVIDIA's controller leaves a failed node alone until it is asked
        holds = (*holds, *pending, view.hold(HoldCode.NODES_GOING_BACK, nodes=a_few(sorted(away))))
        return Course(record=record, acts=acts, holds=holds, open=open_)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    if view.mode is Mode.DELEGATED:
        record = delegating.forgetting(view)
        acts, holds = delegating.forget(view)
        if record != view.record or acts or holds:
            return Course(record=record, acts=acts, holds=holds)
    acts, holds = marks.clear(view)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    return _end(view, sorted(name for name in _not_back(view) if _is_out(view, name)))


def _is_closing(view: View, unclosed: AbstractSet[str]) -> bool:
    """Whether one of these may yet be closed out; a mark that is refused again and again does not bar the way back."""
    rebuffs = (view.seen.rebuffs.get(name) for name in unclosed)
    is_refused = any(rebuff is not None and rebuff.count <= REFUSALS_MAX for rebuff in rebuffs)
    return is_refused or any(name in view.seen.busy for name in unclosed)


def _revert_by_hand(view: View, acts: tuple[CampaignAct, ...], holds: tuple[Hold, ...]) -> Course:
    """People take it back, or say that it stays where no way leads back."""
    pauses, pending = machine_pools.hold_still(view)  # whatever moves the nodes of a pool stops moving them
    acts, holds = (*pauses, *acts), (*pending, *holds)
    there = by_hand.still_there(view)
    out = [name for name in there if is_left_out(view.nodes[name].facts)]
    still = tuple(name for name in there if name not in out)
    if still:
        holds = (*holds, by_hand.going_back(view, still))
    if not acts and not holds:
        acts, holds = marks.clear(view)
    if acts or holds:
        return Course(record=view.record, acts=acts, holds=holds)
    return _end(view, out)


def _end(view: View, out: list[str]) -> Course:
    """Reverted; whoever was taken out is named, with what it was left as."""
    course = turn_to(view, RolloutPhase.REVERTED, why=view.record.why)
    if not out:
        return course
    *turns, last = course.record.history
    left = a_few([_left_as(view.nodes[name]) for name in out])
    last = replace(last, why=f"{last.why}; taken out by a person and left as they are: {left}")
    return replace(course, record=replace(course.record, history=(*turns, last)))


def _left_as(node: NodeSeen) -> str:
    facts, driver = node.facts, node.facts.driver
    found = (
        "" if facts.is_ready else "not Ready",
        f"driver {driver.version or 'of unknown version'}" if driver is not None else "no driver pod",
        "" if driver is None or driver.is_ready else "which is not Ready",
        "still cordoned by us" if node.record is not None and node.record.is_cordon_ours else "",
    )
    return f"{node.name} ({', '.join(filter(None, found))})"


def _unpublish(view: View) -> tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]:
    """Have every resource carry again what it carried before us, and the matrix say what it said."""
    if view.campaign.publish is Via.GIT:
        acts, holds = _take_back(view)
        return (
            (acts, holds) if acts or holds else publishing.await_carried(view, PublishStep.REVERT, view.record.baseline)
        )
    acts, holds = publishing.publish(view, PublishStep.REVERT, view.record.baseline)
    if acts or not _is_promoted(view.source):
        return acts, holds
    # The nodes do not wait for the matrix: what we write ourselves goes back even while its home cannot be reached.
    acts, told = _take_back(view)
    return acts, (*holds, *told)


def _take_back(view: View) -> tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]:
    """What is due so that our commits are reverted; nothing when there are none, or they are."""
    source = view.source
    if source is None or source.trouble:
        return (), (view.unreachable(),)
    commits = tuple(commit for step in reversed(PUBLISHING) if (commit := source.commit_of(step)))
    if not commits or source.commit_of(PublishStep.REVERT):
        return (), ()
    if source.conflict:
        is_back = not any(publishing.await_carried(view, PublishStep.REVERT, view.record.baseline))
        if is_back and not _is_promoted(source):
            return (), ()  # somebody has put the old version there by hand
        return (), (view.hold(HoldCode.REVERT_CONFLICT, why=source.conflict),)
    act = RevertCommits(rollout=view.name, commits=commits, why=view.record.why)
    return view.act(act, HoldCode.REVERT_PENDING)


def _owes_revert(view: View, source: SourceFacts) -> bool:
    """Whether commits of ours are still to be reverted; a mark that came first would stand in the way of that."""
    return (view.campaign.publish is Via.GIT or _is_promoted(source)) and any(_take_back(view))


def _is_promoted(source: SourceFacts | None) -> bool:
    return source is not None and bool(source.commit_of(PublishStep.PROMOTION))


def _away(view: View) -> frozenset[str]:
    """Who is not back yet, of those whom the way back concerns."""
    return frozenset(name for name in _not_back(view) if not _is_out(view, name))


def _not_back(view: View) -> set[str]:
    return {name for name, node in view.nodes.items() if _is_touched(node) and not _is_back(view, name)}


def _is_out(view: View, name: str) -> bool:
    return is_out_of_reach(view.nodes[name], view.way_back(name), view.mode)


def _whose_turn(view: View) -> frozenset[str]:
    """Who may go back now: their old version is wanted again. NVIDIA's controller gets those that failed last.

    One may fail once more, and nobody is to wait behind it who could go.
    """
    turn = frozenset(name for name in _away(view) if wants(view.nodes[name].facts, view.way_back(name)))
    if view.mode is not Mode.DELEGATED:
        return turn
    waiting = {
        name
        for name in turn
        if view.standing(name, view.way_back(name)) is Standing.AWAY
        and letting_in.why_not(view.nodes[name].facts) is None
    }
    failed = {name for name in turn if view.standing(name, view.way_back(name)) is Standing.FAILED}
    return turn - failed if waiting else turn


def _is_touched(node: NodeSeen) -> bool:
    """Whether the way back concerns a node: we have a record of it, or it does not run what is wanted."""
    return node.record is not None or bool(node.facts.nvidia_state) or not node.facts.is_in_sync


def _is_back(view: View, name: str) -> bool:
    """Whether a node runs what it ran before, and nothing is under way there."""
    node, version = view.nodes[name], view.way_back(name)
    how = view.standing(name, version)
    if how is Standing.DONE:
        return True
    # Who never left the old driver has nowhere to go back to, also while its DaemonSet still carries the new one.
    is_idle = node.record is None or node.record.phase is NodePhase.UPGRADE_DONE
    is_moving = how in (Standing.MOVING, Standing.FAILED)
    driver = node.facts.driver
    return is_idle and not is_moving and driver is not None and driver.is_ready and is_same(driver.version, version)
