"""When a standby gives up; how one leads is told by tests/e2e."""

from __future__ import annotations

import asyncio
import io

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.lease import Election, Leadership
from seatrial.controller import leading
from seatrial.controller.log import Log
from tests.adapters.kube import standin


def refused(code: int, kind: str = "leases") -> errors.ClusterError:
    status = errors.Status(code=code, name="seatrial", kind=kind)
    return errors.refusal(status, request="PUT lease", where="the server", renewal="log in again")


@pytest.mark.parametrize(
    "error",
    [
        refused(401),
        refused(403),
        refused(422),
        refused(404, kind="namespaces"),
        errors.ConfigInvalid("the token file is gone", "mount it"),
    ],
)
def test_a_standby_gives_up_only_when_somebody_has_to_mend_something(error: errors.ClusterError) -> None:
    assert leading.is_ours_to_mend(error)


@pytest.mark.parametrize(
    "error",
    [refused(404), refused(409), refused(429), refused(503), errors.ClusterUnavailable("no answer", "wait")],
)
def test_a_standby_outlives_what_passes(error: errors.ClusterError) -> None:
    assert not leading.is_ours_to_mend(error)


@pytest.mark.parametrize(
    ("holder", "is_us", "error", "why"),
    [
        ("seatrial-1", False, refused(409), "seatrial-1 leads by now"),
        ("seatrial-0", True, errors.ClusterUnavailable("the API server does not answer", "wait"), "does not answer"),
        ("seatrial-0", True, None, "no renewal was answered within 10 s"),
    ],
)
def test_who_loses_the_lease_says_why(holder: str, *, is_us: bool, error: errors.ClusterError | None, why: str) -> None:
    standing = Leadership(holder=holder, is_us=is_us, seconds_left=0.0, transition_count=1, last_error=error)
    assert why in str(leading.lost(standing, leading.timing_of(15)))


async def test_who_will_not_wait_long_says_what_is_wrong_and_not_that_another_leads() -> None:
    async with standin.running() as server:
        server.will(standin.refuses(403, "Forbidden", "not for you"))
        election = Election(
            server.config(), namespace="n", name="l", identity="me", user_agent="t", timing=leading.timing_of(15)
        )
        try:
            with pytest.raises(errors.Forbidden, match="not for you"):
                await leading.lead(election, Log(io.StringIO()), patience_seconds=0.0, is_stopping=lambda: False)
        finally:
            await asyncio.to_thread(election.release)
