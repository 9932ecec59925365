"""The way back: what was published is taken back, the nodes walk the same machine again, a rejected entry is marked.

Law of this file: there is no rollback engine. The old version is wanted again, and whoever runs another goes there as
it came; who never left is not touched. A node that cannot go back any more, such as one that died, is taken out by a
person's skip label, and the end says in what state it was left. Tests: tests/core/campaign/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from seatrial.core.actions.at_home import MarkBad, RevertCommits
from seatrial.core.actions.of_campaigns import EndProbe
from seatrial.core.campaign import requests
from seatrial.core.campaign.course import Course, turn_to
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import PUBLISHING, PublishStep, RolloutPhase, SourceFacts, Via
from seatrial.core.model.gates.gate import PREPULL, GateVerdict
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.requests import RequestState
from seatrial.core.movers import marks, publishing
from seatrial.core.movers.view import Outcome, View
from seatrial.core.text.commands import filled
from seatrial.core.text.names import a_few

REFUSALS_MAX: Final = 5
"""How often a mark may be refused before the way back goes on without it: about a minute and a half."""


def step_reverting(view: View) -> Course:
    """Back to what was before: the same machine, with the old version wanted."""
    record = view.record
    ending = _end_probes(view)
    # Before anything else: nobody is to be emptied who had not begun, and who comes back is let in by the budget.
    turn = view.mover.whose_turn_back(view)
    closing, pending = marks.close_out(view, turn)
    if closing or ending or _is_closing(view, marks.unclosed(view, turn)):
        return Course(record=record, acts=(*ending, *closing), holds=pending)
    acts, holds = _unpublish(view)
    withdrawn, told = requests.withdraw(view)
    acts, holds = (*withdrawn, *acts), (*holds, *told)
    if not acts and view.campaign.rejects(view.record):
        acts, told = _mark_bad(view)
        holds = (*holds, *(each for each in told if each not in holds))
    way = view.mover.undo(view, acts, holds)
    if way.away:
        going = view.hold(HoldCode.NODES_GOING_BACK, nodes=a_few(list(way.away)))
        holds = (*way.holds, *pending, view.mover.at_work(view, way.away, going))
        return Course(record=record, acts=way.acts, holds=holds, open=way.open)
    if way.record != record or way.acts or way.holds:
        return Course(record=way.record, acts=way.acts, holds=way.holds)
    acts, holds = marks.clear(view)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    return _end(view, way.out)


def _end_probes(view: View) -> tuple[EndProbe, ...]:
    """What is due so that no gate starts late on a node that goes back; one that cannot be ended is not waited for."""
    waiting = (each for each in view.seen.measurements if each.verdict is GateVerdict.PENDING and each.gate != PREPULL)
    acts = (
        EndProbe(
            rollout=view.name,
            gate=each.gate,
            node=each.node,
            round=each.round,
            attempt=each.attempt,
            job=each.job,
        )
        for each in waiting
    )
    return tuple(act for act in acts if view.may_act(act.subject))


def _is_closing(view: View, unclosed: AbstractSet[str]) -> bool:
    """Whether one of these may yet be closed out; a mark that is refused again and again does not bar the way back."""
    rebuffs = (view.seen.rebuffs.get(name) for name in unclosed)
    is_refused = any(rebuff is not None and rebuff.count <= REFUSALS_MAX for rebuff in rebuffs)
    return is_refused or any(name in view.seen.busy for name in unclosed)


def _end(view: View, out: tuple[str, ...]) -> Course:
    """Reverted; what stays as it is is named: nodes that were taken out, and versions that somebody wrote after us."""
    course = turn_to(view, RolloutPhase.REVERTED, why=view.record.why)
    *turns, last = course.record.history
    why = last.why
    if out:
        left = a_few([_left_as(view.nodes[name]) for name in out])
        why = f"{why}; skipped by somebody and left as they are: {left}"
    if view.taken_over:
        later = a_few([f"{resource} stays at {version}" for resource, version in view.taken_over])
        why = f"{why}; written by somebody after this rollout, and not overwritten: {later}"
    tag = _standing_tag(view)
    why = f"{why}; {tag}" if tag else why
    return replace(course, record=replace(course.record, history=(*turns, replace(last, why=why))))


TAG_STANDS: Final = (
    "tag {tag} in {url} still stands on this version: delete it with `git push {url} :refs/tags/{tag}`, or move it "
    "with `git push --force {url} COMMIT:refs/tags/{tag}`"
)


def _standing_tag(view: View) -> str:
    """That the tag of the promotion stays, with the commands to take it away; empty where there is none in Git."""
    place = (view.record.places or view.campaign.places).matrix
    tag = view.source.tag if view.source is not None and _is_promoted(view.source) else ""
    return filled(TAG_STANDS, {"tag": tag, "url": place.url}) if tag and place is not None else ""


def _left_as(node: NodeSeen) -> str:
    facts, driver = node.facts, node.facts.driver
    found = (
        "" if facts.is_ready else "not Ready",
        f"driver {driver.version or 'of unknown version'}" if driver is not None else "no driver pod",
        "" if driver is None or driver.is_ready else "which is not Ready",
        "still cordoned by us" if node.record is not None and node.record.is_cordon_ours else "",
    )
    return f"{node.name} ({', '.join(filter(None, found))})"


def _unpublish(view: View) -> Outcome:
    """Have every resource carry again what it carried before us, and the matrix say what it said."""
    if view.campaign.publish is Via.GIT:
        acts, holds = _take_back(view)
        is_cut = view.source is not None and bool(view.source.conflict)  # the file goes on from what came later
        back = view.back_to if is_cut else view.record.baseline
        return (acts, holds) if acts or holds else publishing.await_carried(view, PublishStep.REVERT, back)
    is_ours = view.campaign.publish is Via.DIRECT
    back = view.back_to if is_ours else view.record.baseline
    acts, holds = view.mover.publish(view, PublishStep.REVERT, back)
    if acts or not _is_promoted(view.source):
        return acts, holds
    # The nodes do not wait for the matrix: what we write ourselves goes back even while its home cannot be reached.
    acts, told = _take_back(view)
    return acts, (*holds, *told)


def _take_back(view: View) -> Outcome:
    """What is due so that our commits are reverted; nothing when there are none, or they are."""
    source = view.source
    if source is None or source.trouble:
        return (), (view.unreachable(),)
    commits = tuple(commit for step in reversed(PUBLISHING) if (commit := source.commit_of(step)))
    if not commits or source.commit_of(PublishStep.REVERT):
        return (), ()
    if source.conflict:
        is_back = not any(publishing.await_carried(view, PublishStep.REVERT, view.back_to))
        if is_back and not _is_promoted(source):
            return (), ()  # somebody has put the old version there by hand
        return (), (view.hold(HoldCode.REVERT_CONFLICT, why=source.conflict),)
    act = RevertCommits(
        rollout=view.name,
        commits=commits,
        driver=str(view.intent.target.driver),
        on_delete=publishing.kept_on_delete(view),
    )
    return view.act(act, HoldCode.REVERT_PENDING)


def _owes_revert(view: View, source: SourceFacts) -> bool:
    """Whether commits of ours are still to be reverted; a mark that came first would stand in the way of that."""
    return (view.campaign.publish is Via.GIT or _is_promoted(source)) and any(_take_back(view))


def _mark_bad(view: View) -> Outcome:
    """What is due so that the entry says that nobody is to try it again."""
    source = view.source
    if source is not None and (source.bad or source.commit_of(PublishStep.BAD) or _is_mark_declined(source)):
        return (), ()
    if source is None or source.trouble:
        return (), (view.unreachable(),)
    if _owes_revert(view, source):
        return (), ()
    act = MarkBad(rollout=view.name, driver=view.intent.target.published, why=view.record.rejected or view.record.why)
    return view.act(act, HoldCode.REVERT_PENDING)


def _is_mark_declined(source: SourceFacts) -> bool:
    """Whether somebody closed the request for the mark: they want none, and nothing waits for it."""
    is_asked = bool(source.requests_of(PublishStep.BAD, RequestState.OPEN))
    return not is_asked and bool(source.requests_of(PublishStep.BAD, RequestState.CLOSED))


def _is_promoted(source: SourceFacts | None) -> bool:
    return source is not None and bool(source.commit_of(PublishStep.PROMOTION))
