"""The writes of a driver manager that an API server turns down: which may succeed later, and which never will.

What it does where all is well is shown on a real API server, in tests/e2e/driver_manager.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.errors import Cause, Status
from seatrial.adapters.kube.driver_manager.node import ManagedNode
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import Cordon, Evict, Relabel, Turned

EVICT = Evict(namespace="team", name="train", uid="u")
RELABEL = Relabel(values=(("a", "b"),))
BUDGET = Cause(
    reason="DisruptionBudget", message="The disruption budget train needs 1 healthy pods and has 1 currently"
)
GOING = Cause(reason="NamespaceTerminating", message="namespace team is being terminated")


class Refusing:
    """An API server that says the same to everything."""

    def __init__(self, error: errors.ClusterError) -> None:
        self._error = error

    async def evict(self, *_: Any, **__: Any) -> None:
        raise self._error

    async def patch(self, *_: Any, **__: Any) -> None:
        raise self._error


def refused(code: int, *causes: Cause) -> errors.ClusterError:
    status = Status(code=code, reason="No", causes=causes)
    return errors.refusal(status, request="PATCH /x", where="here", renewal="log in")


async def told(step: Evict | Relabel | Cordon, error: errors.ClusterError) -> Turned | None:
    return await ManagedNode(cast(Client, Refusing(error)), Settings(node="n1")).do(step)


@pytest.mark.parametrize(
    ("step", "error", "is_passing"),
    [
        (EVICT, refused(429, BUDGET), True),
        (EVICT, refused(403, GOING), True),
        (EVICT, refused(403), False),
        (EVICT, refused(500), True),
        (RELABEL, refused(429), True),
        (RELABEL, refused(403), False),
        (RELABEL, refused(404), False),
        (RELABEL, refused(422), False),
        (RELABEL, errors.ClusterUnavailable("gone", "wait"), True),
        (Cordon(version="1", at=0.0), refused(409), True),
    ],
)
async def test_what_may_be_otherwise_in_a_moment_is_told_from_what_will_not(
    step: Evict | Relabel | Cordon, error: errors.ClusterError, is_passing: bool
) -> None:
    turned = await told(step, error)
    assert turned is not None
    assert turned.is_passing is is_passing


@pytest.mark.parametrize("code", [404, 409])
async def test_a_pod_that_is_gone_or_another_one_by_now_needs_no_eviction(code: int) -> None:
    assert await told(EVICT, refused(code)) is None


async def test_a_budget_is_named_in_full() -> None:
    turned = await told(EVICT, refused(429, BUDGET))
    assert turned is not None
    assert turned.why == "PodDisruptionBudget team/train needs 1 healthy pods and has 1 currently"
