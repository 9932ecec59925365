"""What everybody promises who is asked to have work saved: a webhook on the network, and the simulated one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.http.checkpoints import HttpCheckpoints
from seatrial.adapters.http.webhook import Webhooks, allowed
from seatrial.core.actions.on_nodes import AskCheckpoint
from seatrial.ports import CheckpointWebhook, Outcome, Result
from seatrial.sim.nodes import Fate
from seatrial.sim.world import Delay, World
from tests.adapters.http.test_webhook import serving
from tests.builders import a_gpu_pod, a_node, an_intent

PODS = (a_gpu_pod(0), a_gpu_pod(1))
ASK = AskCheckpoint(node="n1", attempt=1, pods=PODS, token="spring.n1.1", webhook="http://saver.invalid")


@dataclass(slots=True)
class Stage:
    """Somebody who saves work, or does not yet."""

    webhook: CheckpointWebhook
    act: AskCheckpoint
    asked: list[Any] = field(default_factory=list)
    answer: tuple[int, str] = (200, "")


@pytest.fixture(params=["world", "http"])
async def stages(request: pytest.FixtureRequest) -> AsyncIterator[dict[bool, Stage]]:
    """By whether the work is saved."""
    if request.param == "world":
        yield {
            is_saved: Stage(
                webhook=World(
                    [a_node("n1", pods=PODS)],
                    an_intent(),
                    fates={"n1": Fate(is_work_unsaved=not is_saved)},
                    delays={"work is saved": Delay(seconds=0)},
                ),
                act=ASK,
            )
            for is_saved in (True, False)
        }
        return
    made: dict[bool, Stage] = {}

    async def save(request: web.Request) -> web.Response:
        stage = made[request.path.startswith("/save")]
        stage.asked.append(json.loads(await request.read()))
        return web.Response(status=stage.answer[0], text=stage.answer[1])

    async with serving(save) as url:
        asker = HttpCheckpoints(Webhooks(allowed([url.removesuffix("/save")])))
        made[True] = Stage(webhook=asker, act=replace(ASK, webhook=url), answer=(200, ""))
        elsewhere = f"{url.removesuffix('/save')}/not"
        made[False] = Stage(webhook=asker, act=replace(ASK, webhook=elsewhere), answer=(202, ""))
        yield made


async def test_work_that_is_saved_is_a_yes(stages: dict[bool, Stage]) -> None:
    stage = stages[True]
    assert await stage.webhook.ask(stage.act) == Outcome(action=stage.act, result=Result.DONE)


async def test_work_that_is_not_saved_yet_blocks_every_pod_with_the_reason(stages: dict[bool, Stage]) -> None:
    stage = stages[False]
    outcome = await stage.webhook.ask(stage.act)
    assert outcome.result is Result.BLOCKED
    assert outcome.detail
    assert outcome.blocked == tuple((pod.uid, outcome.detail) for pod in PODS)
