"""How an act ended, in the words of a port: what an API server's answer means for whoever tried."""

# Tests: tests/adapters/kube/test_execute.py

from __future__ import annotations

from collections.abc import Awaitable

from seatrial.adapters.kube.api import errors
from seatrial.core.actions.action import Action
from seatrial.ports import Outcome, Result


async def tried(action: Action, trying: Awaitable[Outcome]) -> Outcome:
    """The outcome of a try: who finds the object changed or gone was too late, and any other answer is a failure."""
    try:
        return await trying
    except (errors.Conflict, errors.NotFound) as err:
        return stale(action, err.message or str(err))
    except errors.ClusterError as err:
        return failed(action, str(err))


def done(action: Action) -> Outcome:
    return Outcome(action=action, result=Result.DONE)


def stale(action: Action, why: str) -> Outcome:
    return Outcome(action=action, result=Result.STALE, detail=why)


def failed(action: Action, why: str) -> Outcome:
    return Outcome(action=action, result=Result.FAILED, detail=why)
