"""What takes long says so on stderr: a line that renews itself on a terminal, and lines now and then elsewhere."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from seatrial.cli.run import progress
from tests.cli.test_terminal import Terminal


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told of at once, and often."""
    for name in ("QUIET_SECONDS", "RENEWED_SECONDS", "TOLD_SECONDS"):
        monkeypatch.setattr(progress, name, 0.01)
    monkeypatch.setenv("TERM", "xterm")


def told(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, work: Callable[[progress.Doing], str]) -> str:
    """What is told of work until a text has been seen."""
    monkeypatch.setattr(sys, "stderr", stream)
    deadline = time.monotonic() + 20
    with progress.doing("making nodes") as doing:
        until = work(doing)
        while until not in stream.getvalue():
            assert time.monotonic() < deadline, stream.getvalue()
            time.sleep(0.005)
    return stream.getvalue()


@pytest.mark.usefixtures("soon")
def test_on_a_terminal_one_line_is_renewed_and_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(doing: progress.Doing) -> str:
        doing.now("3 of 20 nodes", 90.0)
        return "3 of 20 nodes"

    printed = told(monkeypatch, Terminal(), work)

    assert "\n" not in printed
    assert f"{progress.CLEAR}seatrial: 3 of 20 nodes, 0 s so far, about 1 min 30 s left" in printed
    assert printed.endswith(progress.CLEAR)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("soon")
def test_elsewhere_there_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = told(monkeypatch, io.StringIO(), lambda _: "making nodes, 0 s so far\n")

    assert set(printed.splitlines()) == {"seatrial: making nodes, 0 s so far"}


@pytest.mark.usefixtures("soon")
def test_of_two_things_the_inner_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(_: progress.Doing) -> str:
        with progress.doing("building kwok"):
            while "building kwok" not in sys.stderr.getvalue():  # type: ignore[union-attr]
                time.sleep(0.005)
        return "making nodes"

    assert "building kwok" in told(monkeypatch, io.StringIO(), work)


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_what_is_over_soon_is_not_told(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]) -> None:
    assert told(monkeypatch, stream(), lambda _: "") == ""


def test_five_seconds_are_soon() -> None:
    assert progress.QUIET_SECONDS == 5
