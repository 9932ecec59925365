"""A matrix, or the file that is brought into the cluster, on a branch of a repository.

    look    one fetch: the entry, our commits by their steps, what waits for a merge, the tag
    do      one commit, pushed; on a protected branch one branch of ours for a person to merge, and the tag afterwards
    forge   where one is known, people are asked to merge by a pull request; whether they have is seen in Git alone

Law of this file: the remote is the memory. What is kept here besides is an answer that only a try can give (a revert
that conflicts, a step with nothing left to do), and it counts for the head it was given at: whoever pushes has it asked
anew. Blocking work runs in a thread.

Tests: tests/controller/test_homes.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final, assert_never

from seatrial.adapters.files import switched
from seatrial.adapters.git.errors import FileUnusable, NothingToChange, RevertConflict
from seatrial.adapters.git.proposals import branch_of
from seatrial.adapters.git.repository import Edit, Look, NewTag, Repository
from seatrial.controller import matrix_text
from seatrial.controller.homes import CannotWrite
from seatrial.controller.matrix_text import EntrySeen, MatrixPlace
from seatrial.core.actions.at_home import (
    CloseRequest,
    HomeAct,
    MarkBad,
    Promote,
    Publish,
    RequestAct,
    RevertCommits,
    StepAct,
)
from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import PublishStep, SourceFacts
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.requests import Request, RequestState, mark_in
from seatrial.ports import Forge

_STEPS: Final = frozenset(PublishStep)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlaces:
    """Where things are in a repository."""

    matrix: str = ""
    """The matrix's path; empty where the target does not come from a matrix here."""
    entry: str = ""
    published: str = ""
    """The path of the file, or the folder, that is brought into the cluster; empty where nothing is committed here."""
    pinned: str = ""
    is_by_request: bool = False
    """Whether the branch is protected, and changes are proposed for a person to merge."""


class GitHome:
    """A branch of a repository."""

    def __init__(self, repository: Repository, *, rollout: str, places: GitPlaces, forge: Forge | None = None) -> None:
        self._repository = repository
        self._rollout = rollout
        self._places = places
        self._entry = MatrixPlace(file=places.matrix, entry=places.entry)
        self._needless: dict[PublishStep, str] = {}
        """Steps with nothing left to do, and the head at which that was found."""
        self._forge = forge if places.is_by_request else None
        self._requests: tuple[Request, ...] = ()
        """As they were last seen; a forge that does not answer takes nothing away."""
        self._conflict = ("", "")
        """Why our commits cannot be reverted, and the head at which that was found."""

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def look(self, now: Instant) -> SourceFacts:
        facts = await asyncio.to_thread(self._look, now)
        return facts if self._forge is None else await self._with_requests(facts, self._forge)

    async def _with_requests(self, facts: SourceFacts, forge: Forge) -> SourceFacts:
        """What Git shows, and what became of the requests for steps that it does not show."""
        branches = {branch_of(self._rollout, step): step for step in PublishStep if not facts.commit_of(step)}
        try:
            self._requests, trouble = await forge.requests(tuple(branches)), ""
        except SeatrialError as err:
            trouble = str(err)
        requests = tuple((branches[each.branch], each) for each in self._requests if each.branch in branches)
        asked = {step for step, _ in requests}
        unasked = () if trouble else tuple(step for step, _ in facts.proposals if step not in asked)
        return replace(facts, requests=requests, unasked=unasked, forge_trouble=trouble)

    def _look(self, now: Instant) -> SourceFacts:
        seen = self._seen(self._places.pinned)
        entry, steps = self._entry_at(seen.head), self._steps(seen)
        why, at = self._conflict
        is_conflict = at == seen.head and PublishStep.REVERT not in steps
        return SourceFacts(
            since=now,
            head=seen.head,
            problem=entry.problem,
            driver=entry.driver,
            parts=entry.parts,
            bad=entry.bad,
            is_rewritten=seen.is_pinned_kept is False,
            steps=tuple(steps.items()),
            proposals=tuple((PublishStep(step), each.text) for step, each in seen.proposals if step in _STEPS),
            conflict=why if is_conflict else "",
            tag=seen.tags[-1].name if seen.tags else "",
        )

    def _seen(self, pinned: str = "") -> Look:
        """What the remote has; a tag where production does not say the entry is no tag of a promotion."""
        seen = self._repository.look(rollout=self._rollout, pinned=pinned)
        return replace(seen, tags=tuple(each for each in seen.tags if self._is_promoted(each.sha)))

    def _entry_at(self, head: str) -> EntrySeen:
        if not self._places.matrix:
            return EntrySeen()
        try:
            return matrix_text.look_at(self._repository.text_at(head, self._places.matrix), self._entry)
        except FileUnusable as err:  # the remote answers well; it is the file that a person has to mend
            return EntrySeen(problem=str(err))

    def _steps(self, seen: Look) -> dict[PublishStep, str]:
        """Our steps, those that need nothing any more, and a promotion by somebody else that bears our tag."""
        steps = _ours(seen)
        steps = {step: head for step, head in self._needless.items() if head == seen.head} | steps
        if PublishStep.PROMOTION not in steps and seen.tags and self._is_promoted(seen.head):
            steps[PublishStep.PROMOTION] = seen.tags[-1].sha
        return steps

    def _is_promoted(self, head: str) -> bool:
        try:
            text = self._repository.text_at(head, self._places.matrix) if self._places.matrix else None
        except FileUnusable:  # told by the entry's problem
            return False
        return matrix_text.is_promoted(text, self._entry)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def do(self, act: HomeAct, /) -> None:
        if isinstance(act, RequestAct):
            await self._request(act)
        else:
            await asyncio.to_thread(self._do, act)

    async def _request(self, act: RequestAct) -> None:
        """Ask people, or do not ask them any more; where nothing of this step waits here, there is nothing to do."""
        if self._forge is None:
            return
        branch, title, text = branch_of(self._rollout, act.step), act.message.subject, act.message.body
        if isinstance(act, CloseRequest):
            for each in await self._forge.requests((branch,)):
                if each.state is RequestState.OPEN:
                    await self._forge.close(each.number, title=title, text=text)
            return
        seen = await asyncio.to_thread(self._repository.look, rollout=self._rollout)
        if act.step.value not in dict(seen.proposals):
            return  # merged meanwhile, or it waits at the other home
        found = await self._forge.open(branch, title=title, text=text)
        if found.mark not in ("", mark_in(text)):  # a text that a person wrote is theirs
            await self._forge.write(found.number, title=title, text=text)

    def _do(self, act: StepAct) -> None:
        seen = self._seen()
        match act:
            case Publish():
                self._write(act, seen, self._edits(act, seen.head))
            case Promote():
                self._promote(act, seen)
            case MarkBad():
                self._mark(act, seen)
            case RevertCommits():
                self._revert(act, seen)
            case _:
                assert_never(act)

    def _edits(self, act: Publish, head: str) -> Mapping[str, Edit]:
        """How the published file changes, or those of a folder that say something of it."""
        path = self._published()
        texts = self._repository.texts_under(head, path, switched.ENDINGS)
        if not texts:
            return {path: partial(switched.carrying, act, path)}
        # Where nothing changes, whoever commits finds out with any of them.
        changed = switched.changed_by(act, texts) or dict(list(texts.items())[:1])
        return {each: partial(switched.carrying_beside, act, texts, each) for each in changed}

    def _promote(self, act: Promote, seen: Look) -> None:
        tag = NewTag(base=act.tag_base, message=act.tag_message)
        # Merged by a person, or production says it already: what is missing is the tag.
        done = _ours(seen).get(PublishStep.PROMOTION) or (seen.head if self._is_promoted(seen.head) else "")
        if done and seen.tags:
            return
        if done:
            self._repository.tag(rollout=self._rollout, base=tag.base, commit=done, message=tag.message)
            return
        edits: Mapping[str, Edit] = {
            self._places.matrix: lambda text: matrix_text.promoted(text or "", act.date, self._entry)
        }
        self._write(act, seen, edits, tag)

    def _mark(self, act: MarkBad, seen: Look) -> None:
        path = self._places.matrix
        if self._repository.text_at(seen.head, path) is None:
            self._needless[act.step] = seen.head  # who removed the matrix wants nothing written into it
            return
        edits: Mapping[str, Edit] = {
            path: lambda text: matrix_text.marked_bad(text or "", act.why, act.driver, self._entry)
        }
        try:
            self._write(act, seen, edits)
        except NothingToChange:  # the entry is gone, or another driver has taken its place
            self._needless[act.step] = seen.head

    def _revert(self, act: RevertCommits, seen: Look) -> None:
        ours = {each.sha for each in seen.commits}
        commits = tuple(sha for sha in act.commits if sha in ours)
        if not commits:
            self._needless[act.step] = seen.head
            return
        is_by_request = self._places.is_by_request and act.step not in _ours(seen)
        revert = self._repository.propose_revert if is_by_request else self._repository.revert
        try:
            revert(
                rollout=self._rollout, step=act.step.value, commits=commits, kept=self._kept(act, seen.head),
                subject=act.message.subject, body=act.message.body,
            )  # fmt: skip
        except NothingToChange:  # somebody has reverted them by hand
            self._needless[act.step] = seen.head
        except RevertConflict as err:
            self._conflict = (str(err), seen.head)
            raise

    def _kept(self, act: RevertCommits, head: str) -> Mapping[str, Edit]:
        """How files keep, after a revert, what is to stay of it."""
        path = self._places.published
        if not act.on_delete or not path:
            return {}
        texts = self._repository.texts_under(head, path, switched.ENDINGS)
        paths = switched.files_keeping(act, texts) if texts else (path,)
        return {each: partial(switched.keeping, act, each) for each in paths}

    def _write(self, act: StepAct, seen: Look, edits: Mapping[str, Edit], tag: NewTag | None = None) -> None:
        """Commit, or propose; NothingToChange where the files say it already."""
        rollout, step, subject, body = self._rollout, act.step.value, act.message.subject, act.message.body
        if self._places.is_by_request and act.step not in _ours(seen):
            self._repository.propose(rollout=rollout, step=step, subject=subject, body=body, edits=edits)
        else:
            self._repository.commit(rollout=rollout, step=step, subject=subject, body=body, edits=edits, tag=tag)

    def _published(self) -> str:
        if not self._places.published:
            raise CannotWrite("The rollout names no file to publish to here. Set spec.publish.git.path.")
        return self._places.published


def _ours(seen: Look) -> dict[PublishStep, str]:
    """Our commits by their steps; of two with one step, as after a cherry-pick, the first."""
    found: dict[PublishStep, str] = {}
    for each in seen.commits:
        if each.step in _STEPS:
            found.setdefault(PublishStep(each.step), each.sha)
    return found
