"""The driver of the lines in between: reloaded seldom."""

from __future__ import annotations

from seatrial.core.compat.facts import Cite, GpuOperatorRelease
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.plan.drivers import lasting
from seatrial.core.compat.versions import DriverVersion, OperatorVersion

CITE = Cite(source="a test", confidence=Confidence.VERIFIED)


def release(version: str, *drivers: str) -> GpuOperatorRelease:
    """A release whose default is the last driver given."""
    listed = [DriverVersion.parse(text) for text in drivers]
    return GpuOperatorRelease(
        version=OperatorVersion.parse(version),
        cite=CITE,
        driver=listed[-1],
        operands={},
        drivers=dict.fromkeys(listed, CITE),
    )


LINES = [
    release("v24.3.0", "560.1.01", "550.1.01"),
    release("v24.6.0", "550.1.01", "560.1.01"),
    release("v24.9.0", "570.1.01", "560.1.01"),
    release("v25.3.0", "570.1.01", "580.1.01"),
]


def chosen(*ends: str) -> dict[str, str]:
    found = lasting(LINES, [DriverVersion.parse(text) for text in ends])
    return {line: str(driver) for line, driver in found.items()}


def test_a_driver_that_serves_three_lines_is_loaded_once() -> None:
    assert chosen("535.1.01", "595.1.01") == {
        "24.3": "560.1.01",
        "24.6": "560.1.01",
        "24.9": "560.1.01",
        "25.3": "580.1.01",
    }


def test_a_line_that_lists_what_runs_or_what_is_wanted_needs_no_other() -> None:
    assert chosen("550.1.01", "570.1.01") == {}
    assert chosen("550.1.01", "595.1.01") == {"24.9": "570.1.01", "25.3": "570.1.01"}


def test_where_nothing_lasts_longer_the_default_is_taken() -> None:
    assert chosen("560.1.01", "595.1.01") == {"25.3": "580.1.01"}


def test_a_line_that_lists_nothing_gets_nothing() -> None:
    bare = GpuOperatorRelease(version=OperatorVersion.parse("v25.3.0"), cite=CITE, operands={}, drivers={})
    assert lasting([bare], []) == {}
