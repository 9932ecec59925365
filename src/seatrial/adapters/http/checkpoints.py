"""Asks a webhook to have the work of pods saved, and reads its answer.

    {"node": …, "token": …, "pods": [{"namespace": …, "name": …, "uid": …}, …]}
    200    the work of all of them is saved
    202    it is being saved; asked again later
    else   a no; what is answered beside the status is not read

Tests: tests/adapters/http/test_checkpoints.py
"""

from __future__ import annotations

from typing import Final

import msgspec

from seatrial.adapters.http.webhook import Webhooks
from seatrial.core.actions.on_nodes import AskCheckpoint
from seatrial.ports import Outcome, Result

SAVED, SAVING = 200, 202
STILL_SAVING: Final = "the webhook says the work is still being saved"


class HttpCheckpoints:
    """The webhooks that rollouts name."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    async def ask(self, act: AskCheckpoint, /) -> Outcome:
        pods = [{"namespace": pod.namespace, "name": pod.name, "uid": pod.uid} for pod in act.pods]
        body = msgspec.json.encode({"node": act.node, "token": act.token, "pods": pods})
        status, said = await self._webhooks.post(act.webhook, body)
        if status == SAVED:
            return Outcome(action=act, result=Result.DONE)
        why = STILL_SAVING
        if status != SAVING:
            why = f"the webhook says {status}" if status else said
        blocked = tuple((pod.uid, why) for pod in act.pods)
        return Outcome(action=act, result=Result.BLOCKED, detail=why, blocked=blocked)
