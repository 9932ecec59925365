"""What a notice says in each format; and those that cannot be sent: told, and never in the way."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from seatrial.adapters.http.webhook import Reply
from seatrial.controller.log import Log
from seatrial.controller.notices import Format, Notifier, notice_of
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.words.announce import About, Announcement, Tone
from seatrial.supervision import Ending
from tests import builders

SPRING = RolloutRecord(name="spring", campaign=builders.a_campaign_record(RolloutPhase.BAKING))
ANNOUNCED = Announcement(text="The canary passed; it bakes for 48 h.", tone=Tone.WARNING, about=About.ROLLOUT)
PLAIN: dict[str, str | bool] = {
    "rollout": "spring",
    "phase": "Baking",
    "level": "warning",
    "text": "The canary passed; it bakes for 48 h.",
}
BODIES: dict[Format, dict[str, str | bool]] = {
    Format.PLAIN: PLAIN,
    Format.SLACK: {"text": "spring: The canary passed; it bakes for 48 h.", "mrkdwn": False},
}


@pytest.mark.parametrize("wanted", Format)
def test_every_format_has_its_body(wanted: Format) -> None:
    assert json.loads(notice_of(SPRING, ANNOUNCED, wanted)) == BODIES[wanted]


def test_what_others_wrote_is_no_markup_to_slack() -> None:
    loud = replace(ANNOUNCED, text="gate <!channel> & <https://evil.example|log in> *failed*")
    body = json.loads(notice_of(SPRING, loud, "slack"))
    assert body["text"] == "spring: gate &lt;!channel&gt; &amp; &lt;https://evil.example|log in&gt; *failed*"
    assert body["mrkdwn"] is False


def test_a_plain_rollout_has_no_phase_to_tell() -> None:
    assert json.loads(notice_of(RolloutRecord(name="spring"), ANNOUNCED, "plain")) == PLAIN | {"phase": ""}


def test_a_format_that_only_a_later_release_knows_becomes_the_plain_one_and_says_so() -> None:
    note = "format 'pigeon' is not known to this release of seatrial, so this is the plain one"
    assert json.loads(notice_of(SPRING, ANNOUNCED, "pigeon")) == PLAIN | {"note": note}


@pytest.mark.parametrize(("status", "is_told"), [(200, False), (299, False), (300, True), (500, True), (0, True)])
async def test_a_notice_that_was_turned_down_is_told_in_the_log(status: int, is_told: bool) -> None:
    async def post(_url: str, _body: bytes) -> Reply:
        return Reply(status, "no thanks")

    out = io.StringIO()
    notifier = Notifier(post, Log(out), tell=print)
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
