"""A protected branch: our steps wait on branches of their own until a person merges them, asked by a request or a text.

    Publish, … ─▶ a branch of ours ─ AskToMerge ─▶ a request ─ people merge ─▶ the commit, as if we had pushed it
                                                        └─ somebody closes it, or CloseRequest does ─▶ closed

Pure functions over the outside, like those of outside.py. Law of this file: who asks twice has one request, and one
that is merged is a commit and nothing else, as a look at a real repository and its forge shows it.

Tests: tests/adapters/test_matrix_homes.py, tests/sim/test_merging.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seatrial.core.actions.at_home import AskToMerge, CloseRequest, Promote, Publish, RequestAct, StepAct
from seatrial.core.actions.of_campaigns import OuterAct
from seatrial.core.model.campaign import PublishStep, SourceFacts, Via
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.requests import Request, RequestState, mark_in
from seatrial.sim import outside as outer
from seatrial.sim.acts import Refused
from seatrial.sim.outside import Outside

MERGED: Final = "people merge"


def apply(outside: Outside, act: OuterAct, now: Instant = 0.0) -> Outside | Refused:
    """The outside after one of our acts, or why it was turned down."""
    source = outside.source or SourceFacts(head="c0")
    if not outside.is_protected:
        return outer.apply(outside, act)
    if isinstance(act, RequestAct) and source.forge_trouble:
        return Refused(is_stale=False, why=source.forge_trouble)
    if isinstance(act, AskToMerge):
        return _asked(outside, source, act, now)
    if isinstance(act, CloseRequest):
        return _with_request(outside, source, act.step, RequestState.CLOSED)
    is_ours = isinstance(act, StepAct) and not (isinstance(act, Publish) and act.via is not Via.GIT)
    after = outer.apply(outside, act)
    if not isinstance(act, StepAct) or not is_ours or source.commit_of(act.step) or isinstance(after, Refused):
        return after
    is_needless = after.source is not None and after.source.head == source.head
    return after if is_needless else _pushed(outside, source, act)


def _pushed(outside: Outside, source: SourceFacts, act: StepAct) -> Outside:
    if act.step in {each.step for each in outside.waiting}:
        return outside
    unasked = (*source.unasked, act.step) if outside.has_forge else ()
    proposals = (*source.proposals, (act.step, act.message.subject or str(act.step)))
    source = replace(source, proposals=proposals, unasked=unasked)
    return replace(outside, waiting=(*outside.waiting, act), source=source)


def _asked(outside: Outside, source: SourceFacts, act: AskToMerge, now: Instant) -> Outside:
    step, mark = act.step, mark_in(act.message.body)
    if not outside.has_forge or step not in {each.step for each in outside.waiting}:
        return outside
    others = tuple(each for each in source.requests if each[0] is not step)
    opened = source.requests_of(step, RequestState.OPEN)
    number = len(source.requests) + 1
    fresh = Request(
        branch=f"seatrial/{act.rollout}/{step}",
        number=number,
        url=f"https://forge.example.test/{number}",
        state=RequestState.OPEN,
        opened_at=now,
    )
    asked = replace(opened[0] if opened else fresh, mark=mark)
    unasked = tuple(each for each in source.unasked if each is not step)
    return replace(outside, source=replace(source, requests=(*others, (step, asked)), unasked=unasked))


def _with_request(outside: Outside, source: SourceFacts, step: PublishStep, state: RequestState) -> Outside:
    requests = tuple(
        (each, replace(found, state=state) if each is step and found.state is RequestState.OPEN else found)
        for each, found in source.requests
    )
    return replace(outside, source=replace(source, requests=requests)) if outside.source is not None else outside


# ── what people do ───────────────────────────────────────────────────────────────────────────────────────────────────


def mergeable(outside: Outside) -> tuple[PublishStep, ...]:
    """Steps that a person was asked to merge."""
    source = outside.source or SourceFacts()
    asked = {each.step for each in outside.waiting}
    if outside.has_forge:
        asked = {step for step in asked if source.requests_of(step, RequestState.OPEN)}
    return tuple(step for step in PublishStep if step in asked)


def merged(outside: Outside, step: PublishStep) -> Outside:
    """A person merges a step: it is a commit now, and the tag of a promotion is still to come."""
    act = next((each for each in outside.waiting if each.step is step), None)
    if act is None or outside.source is None:
        return outside
    after = outer.commit(outside, step) if isinstance(act, Promote) else outer.apply(outside, act)
    if isinstance(after, Refused) or after.source is None:
        return outside
    source = replace(
        after.source,
        proposals=tuple(each for each in after.source.proposals if each[0] is not step),
        requests=tuple(each for each in after.source.requests if each[0] is not step),
        unasked=tuple(each for each in after.source.unasked if each is not step),
    )
    return replace(after, source=source, waiting=tuple(each for each in after.waiting if each.step is not step))


def declined(outside: Outside, step: PublishStep) -> Outside:
    """A person closes the request of a step without merging it."""
    return _with_request(outside, outside.source or SourceFacts(), step, RequestState.CLOSED)


def silent(outside: Outside, why: str) -> Outside:
    """The forge does not answer any more; empty: it answers again. What is in Git is seen all the same."""
    return replace(outside, source=replace(outside.source or SourceFacts(), forge_trouble=why))
