"""One repository on a forge: the pull requests into one branch of it, and the statuses of its commits.

Law of this file: a try each, and nothing remembered. A request is found by its branch, so that one which is there is
never opened a second time, whoever opened it.

Tests: tests/adapters/forge/test_contract.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, TypeVar

import msgspec

from seatrial.adapters.forge.calling import TIMEOUT_SECONDS, Caller
from seatrial.adapters.forge.errors import ForgeRefused, ForgeUnclear
from seatrial.adapters.forge.gitlab import Gitlab
from seatrial.adapters.forge.places import Kind, Place
from seatrial.adapters.forge.pulls import Gitea, Github
from seatrial.adapters.forge.shape import PAGE, Call, Shape
from seatrial.core.model.seen.requests import CommitStatus, Request, RequestState

SHAPES: Final[Mapping[Kind, Shape]] = {Kind.GITEA: Gitea(), Kind.GITHUB: Github(), Kind.GITLAB: Gitlab()}

_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

Read = TypeVar("Read")
Given = TypeVar("Given")


class HttpForge:
    """Speaks to the API of a forge about one repository."""

    def __init__(self, place: Place, *, base: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._place = place
        self._base = base
        self._shape = SHAPES[place.kind]
        self._caller = Caller(place, self._shape, timeout_seconds=timeout_seconds)

    async def requests(self, branches: Collection[str]) -> tuple[Request, ...]:
        """The request of each of these branches into ours, whoever opened it; of several the open one, else the last.

        Reviews and checks are asked for where it is open, since nobody minds them afterwards.
        """
        found: dict[str, Request] = {}
        for each in await self._found(branches):
            before = found.get(each.branch)
            if before is None or _rank(before) < _rank(each):
                found[each.branch] = each
        return tuple([await self._in_full(found[each]) for each in branches if each in found])

    async def open(self, branch: str, *, title: str, text: str) -> Request:
        """Ask people to merge a branch. Where they are asked already, that request is the answer and stays as it is."""
        there = await self._opened(branch)
        if there is not None:
            return there
        call = self._shape.open(self._place, base=self._base, branch=branch, title=title, text=text)
        answer = await self._caller.ask(call)
        if self._shape.is_open_already(answer.status, answer.body):  # another controller, or a person, just now
            there = await self._opened(branch)
        return there or self._read(self._shape.request, self._caller.good(call, answer))

    async def write(self, number: int, *, title: str, text: str) -> None:
        """Write the title and the text of a request anew."""
        await self._caller.do(self._shape.edit(self._place, number, title=title, text=text, closes=False))

    async def close(self, number: int, *, title: str, text: str) -> None:
        """Close a request, with the reason in its text: one call, so that neither is without the other."""
        await self._caller.do(self._shape.edit(self._place, number, title=title, text=text, closes=True))

    async def post(self, commit: str, status: CommitStatus) -> None:
        """Have the forge show a status beside a commit, and so beside the requests that end in it."""
        if not _SHA.fullmatch(commit):
            raise ForgeRefused(f"{commit!r} is not a commit. Give all of its 40 or 64 digits.")
        await self._caller.do(self._shape.status(self._place, commit, status))

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _opened(self, branch: str) -> Request | None:
        found = await self._found((branch,))
        return next((each for each in found if each.state is RequestState.OPEN), None)

    async def _found(self, branches: Collection[str]) -> list[Request]:
        found: list[Request] = []
        for call in self._shape.find(self._place, base=self._base, branches=branches):
            for page in range(1, call.pages_max + 1):
                body = await self._caller.do(_at_page(call, page))
                found += self._read(self._shape.requests, body)
                if self._read(_count, body) < PAGE:
                    break
        return [each for each in found if each.branch in branches]

    async def _in_full(self, request: Request) -> Request:
        if request.state is not RequestState.OPEN:
            return request
        body = await self._caller.do(self._shape.reviews(self._place, request.number))
        request = replace(request, review=self._read(self._shape.review, body))
        if not _SHA.fullmatch(request.commit):
            return request
        bodies = [await self._caller.do(call) for call in self._shape.checks(self._place, request.commit)]
        return replace(request, checks=self._read(self._shape.checked, bodies))

    def _read(self, reading: Callable[[Given], Read], body: Given) -> Read:
        try:
            return reading(body)
        except msgspec.MsgspecError as err:
            raise ForgeUnclear(
                f"{self._caller.host} does not answer as a {self._place.kind} forge does: {err}. "
                "Look at the address, and at which forge it was said to be."
            ) from None


def _rank(request: Request) -> tuple[bool, bool, int]:
    return request.state is RequestState.OPEN, request.state is RequestState.MERGED, request.number


def _at_page(call: Call, page: int) -> Call:
    return replace(call, query={**call.query, "page": str(page)}) if page > 1 else call


def _count(body: bytes) -> int:
    return len(msgspec.json.decode(body, type=list[msgspec.Raw]))
