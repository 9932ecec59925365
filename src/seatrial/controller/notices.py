"""What is sent to whoever wants to be notified of a rollout's turns: plain JSON, or the format that Slack reads.

Law of this file: one notice per turn, tried once; the Event and the rollout's status say the same and last longer. A
format that the definition allows is one of `Format`, and each has its body here.
Tests: tests/controller/test_notices.py
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from enum import StrEnum
from html import escape
from typing import assert_never

from seatrial import supervision
from seatrial.adapters.http.webhook import Reply
from seatrial.controller.log import Log
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.words.announce import Announcement

ACCEPTED = range(200, 300)


class Format(StrEnum):
    """How a notice is made up: `spec.notifications.format`."""

    PLAIN = "plain"
    SLACK = "slack"


def notice_of(record: RolloutRecord, announcement: Announcement, wanted: str) -> bytes:
    """The body of a notice; a format that only a later release knows becomes plain JSON, which says so."""
    if wanted not in frozenset(Format):
        note = f"format {wanted!r} is not known to this release of seatrial, so this is the plain one"
        return _body(**_plain(record, announcement), note=note)
    match Format(wanted):
        case Format.PLAIN:
            return _body(**_plain(record, announcement))
        case Format.SLACK:
            # What others wrote is in the text: a mention would ring in a whole channel, and a link could lie.
            return _body(text=escape(f"{record.name}: {announcement.text}", quote=False), mrkdwn=False)
        case unknown:
            assert_never(unknown)


def _plain(record: RolloutRecord, announcement: Announcement) -> dict[str, str]:
    return {
        "rollout": record.name,
        "phase": record.campaign.phase if record.campaign is not None else "",
        "level": announcement.tone,
        "text": announcement.text,
    }


def _body(**fields: str | bool) -> bytes:
    return json.dumps(fields).encode()


class Notifier:
    """Sends notices in the background; whoever does not answer is told of in the log, and not waited for."""

    def __init__(self, post: Callable[[str, bytes], Awaitable[Reply]], log: Log, *, tell: supervision.Tell) -> None:
        self._post = post
        self._log = log
        self._tell = tell
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, url: str, body: bytes) -> None:
        """Send one notice; a SeatrialError never comes of it."""
        task = asyncio.create_task(self._send(url, body), name="notice")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Wait for those under way, for so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _send(self, url: str, body: bytes) -> None:
        try:
            reply = await self._post(url, body)
        except Exception as err:  # noqa: BLE001  nobody waits for this task, so nobody else would tell
            self._tell(supervision.Ending(task="notices", why=supervision.told(err), pause_seconds=0.0))
            return
        if reply.status not in ACCEPTED:
            self._log.say("notice lost", status=reply.status, why=reply.text)
