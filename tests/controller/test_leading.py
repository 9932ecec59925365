"""When a standby gives up; how one leads is told by tests/e2e."""

from __future__ import annotations

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.controller import leading


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
