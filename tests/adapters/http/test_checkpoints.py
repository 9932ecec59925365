"""Asking for a checkpoint over HTTP: what is sent, and what each answer means."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.http.checkpoints import HttpCheckpoints
from seatrial.adapters.http.webhook import Webhooks, origin_of
from seatrial.core.actions.on_nodes import AskCheckpoint
from seatrial.ports import Outcome, Result
from tests.adapters.http.test_webhook import serving
from tests.builders import a_gpu_pod


def asking(url: str) -> AskCheckpoint:
    return AskCheckpoint(node="n1", attempt=1, pods=(a_gpu_pod(0), a_gpu_pod(1)), token="spring.n1.1", webhook=url)


async def ask(act: AskCheckpoint, *, is_allowed: bool = True) -> Outcome:
    """As a controller does that may ask there, or not."""
    origin = origin_of(act.webhook)
    return await HttpCheckpoints(Webhooks([origin] if origin and is_allowed else [])).ask(act)


async def test_the_node_the_token_and_every_pod_are_named() -> None:
    asked: list[Any] = []

    async def save(request: web.Request) -> web.Response:
        asked.append(json.loads(await request.read()))
        return web.Response()

    async with serving(save) as url:
        assert await ask(asking(url)) == Outcome(action=asking(url), result=Result.DONE)
    pods = [{"namespace": "jobs", "name": f"train-{number}", "uid": f"pod-{number}"} for number in (0, 1)]
    assert asked == [{"node": "n1", "token": "spring.n1.1", "pods": pods}]


@pytest.mark.parametrize(
    ("status", "text", "why"),
    [
        (202, "", "the webhook says the work is still being saved"),
        (404, "", "the webhook says 404"),
        (500, "disk full", "the webhook says 500"),
        (302, "elsewhere", "the webhook says 302"),
    ],
)
async def test_any_other_answer_blocks_every_pod_and_its_words_are_not_read(status: int, text: str, why: str) -> None:
    async def save(_: web.Request) -> web.Response:
        return web.Response(status=status, text=text)

    async with serving(save) as url:
        assert await ask(asking(url)) == Outcome(
            action=asking(url), result=Result.BLOCKED, detail=why, blocked=(("pod-0", why), ("pod-1", why))
        )


async def test_nobody_at_the_address_is_a_no_with_the_reason() -> None:
    outcome = await ask(asking("ftp://saver.invalid"))
    assert outcome.result is Result.BLOCKED
    assert outcome.detail.startswith("the webhook was not asked")


async def test_a_saver_whom_no_administrator_allows_is_not_asked_and_the_pods_say_so() -> None:
    heard: list[str] = []

    async def save(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response()

    async with serving(save) as url:
        outcome = await ask(asking(url), is_allowed=False)
    assert (outcome.result, heard) == (Result.BLOCKED, [])
    assert "an administrator allows it (--webhook-allow)" in outcome.blocked[0][1]
