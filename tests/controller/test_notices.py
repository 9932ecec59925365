"""Notices that cannot be sent: told, and never in the way."""

from __future__ import annotations

import io

import pytest

from seatrial.adapters.http.webhook import Reply
from seatrial.controller.log import Log
from seatrial.controller.notices import Notifier
from seatrial.supervision import Ending


@pytest.mark.parametrize(("status", "is_told"), [(200, False), (204, False), (500, True), (0, True)])
async def test_a_notice_that_was_turned_down_is_told_in_the_log(status: int, is_told: bool) -> None:
    async def post(_url: str, _body: bytes) -> Reply:
        return Reply(status, "no thanks")

    out = io.StringIO()
    notifier = Notifier(post, Log(out))
    notifier.send("https://chat.example", b"{}")
    await notifier.drain(5)

    assert ("notice lost" in out.getvalue()) is is_told


async def test_what_ends_a_notice_is_told() -> None:
    async def post(_url: str, _body: bytes) -> Reply:
        raise MemoryError("no room for a notice")

    told: list[Ending] = []
    notifier = Notifier(post, Log(io.StringIO()), tell=told.append)
    notifier.send("https://chat.example", b"{}")
    await notifier.drain(5)

    assert told == [Ending(task="notices", why="MemoryError: no room for a notice", pause_seconds=0.0)]
