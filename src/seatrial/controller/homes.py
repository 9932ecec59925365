"""Where a matrix lives, as the controller uses it: looked at from time to time, and written to when a campaign says so.

    GitHome        git_home.py         a branch of a repository: every step is one commit, promotion brings a tag
    ConfigMapHome  config_map_home.py  an object of the cluster: every step is one write that notes itself
    Apart          here                the matrix in one of them, the file that is brought into the cluster in another

Law of this file: a home tries once and says how it went; whether and when to try again is decided elsewhere. What a
look shows are facts: what they mean is decided elsewhere too.

Tests: tests/controller/test_homes.py, tests/e2e/
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from seatrial.core.actions.at_home import AskToMerge, CloseRequest, HomeAct, Publish, RevertCommits
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import PUBLISHING, PublishStep, SourceFacts
from seatrial.core.model.instants import Instant


class Home(Protocol):
    """Where a matrix lives."""

    async def look(self, now: Instant) -> SourceFacts:
        """What is there; a SeatrialError when it cannot be looked at."""
        ...

    async def do(self, act: HomeAct, /) -> None:
        """Write once; a SeatrialError says why not. A step that is there already is not written again."""
        ...


class CannotWrite(SeatrialError):  # noqa: N818
    """A home that has no place for what is to be written, or must not write it."""


class Apart:
    """The matrix at one home, and the file that is brought into the cluster at another."""

    def __init__(self, *, matrix: Home, files: Home) -> None:
        self._matrix = matrix
        self._files = files

    async def look(self, now: Instant) -> SourceFacts:
        return _joined(matrix=await self._matrix.look(now), files=await self._files.look(now))

    async def do(self, act: HomeAct, /) -> None:
        match act:
            case Publish():
                await self._files.do(act)
            case RevertCommits() | AskToMerge() | CloseRequest():
                await self._at_both(act)
            case _:
                await self._matrix.do(act)

    async def _at_both(self, act: HomeAct) -> None:
        """Each takes back, or asks for, what it has; what one of them cannot do does not keep the other from it."""
        failures: list[Exception] = []
        for home in (self._files, self._matrix):
            try:
                await home.do(act)
            except MemoryError:
                raise
            except Exception as err:  # noqa: BLE001  the other home must still get its turn
                failures.append(err)
        if failures:
            raise failures[0]


def _joined(*, matrix: SourceFacts, files: SourceFacts) -> SourceFacts:
    """The facts of both; a revert is done where each of them has taken back what it had."""
    both = (files, matrix)
    steps = [each for facts in both for each in facts.steps if each[0] is not PublishStep.REVERT]
    reverts = [facts.commit_of(PublishStep.REVERT) for facts in both if any(map(facts.commit_of, PUBLISHING))]
    if reverts and all(reverts):
        steps.append((PublishStep.REVERT, reverts[0]))
    proposals: dict[PublishStep, str] = {}
    for step, text in (*files.proposals, *matrix.proposals):
        proposals[step] = f"{proposals[step]}\n{text}" if step in proposals else text
    return replace(
        matrix,
        steps=tuple(steps),
        proposals=tuple(proposals.items()),
        requests=(*files.requests, *matrix.requests),
        unasked=tuple(dict.fromkeys((*files.unasked, *matrix.unasked))),
        forge_trouble="; ".join(facts.forge_trouble for facts in both if facts.forge_trouble),
        conflict="\n".join(facts.conflict for facts in both if facts.conflict),
    )
