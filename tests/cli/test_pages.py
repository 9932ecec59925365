"""Pages one after the other: told when something has changed, and as documents that can be told apart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
import yaml

from seatrial.app import looking
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.show import look, pages
from seatrial.cli.show.pages import Page, Screen, show
from seatrial.core.model.seen.nodes import NodePhase
from tests import builders
from tests.cli.test_status import a_look


def a_page(state: str, clock: str = "1 s") -> Page:
    data = [{"name": "n1", "state": state}]
    return Page(lines=[f"n1 {state} for {clock}"], data=data, key=data, names=["n1"], notes=["Look elsewhere, too."])


def told(output: str, capsys: pytest.CaptureFixture[str], *, skips_first: bool = False) -> str:
    screen = Screen(output, skips_first=skips_first)
    for page in (a_page("waiting"), a_page("waiting", "2 s"), a_page("done")):
        screen.take(page)
    return capsys.readouterr().out


def test_a_page_is_told_again_when_something_has_changed_but_the_clock(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("table", capsys) == "n1 waiting for 1 s\n\nn1 done for 1 s\n"
    assert [json.loads(line)[0]["state"] for line in told("json", capsys).splitlines()] == ["waiting", "done"]
    assert [page[0]["state"] for page in yaml.safe_load_all(told("yaml", capsys))] == ["waiting", "done"]
    assert told("name", capsys) == "node/n1\nnode/n1\n"


def test_who_watches_changes_only_is_not_told_what_is_there_already(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("table", capsys, skips_first=True) == "n1 done for 1 s\n"
    assert [json.loads(line)[0]["state"] for line in told("json", capsys, skips_first=True).splitlines()] == ["done"]
    assert told("name", capsys, skips_first=True) == "node/n1\n"


def test_a_note_is_for_people_and_beside_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    show(a_page("done"), "table")
    assert capsys.readouterr() == ("n1 done for 1 s\n", "Look elsewhere, too.\n")
    show(a_page("done"), "json")
    assert capsys.readouterr().err == ""


# ── watching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Eyes:
    """Looks at what was made by hand, one after the other, until somebody presses Ctrl-C."""

    def __init__(self, *looks: looking.Look) -> None:
        self._looks = list(looks)

    def look(self) -> looking.Look:
        if not self._looks:
            raise KeyboardInterrupt
        return self._looks.pop(0)

    async def wait(self, seconds: float) -> None:
        del seconds


@pytest.fixture
def seeing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let commands see these looks."""

    def see(*looks: looking.Look) -> None:
        @asynccontextmanager
        async def looking_at(*_: object, **__: object) -> AsyncIterator[Eyes]:
            yield Eyes(*looks)

        monkeypatch.setattr(looking, "looking", looking_at)
        monkeypatch.setattr(look, "look", lambda *_, **__: looks[0])

    return see


def a_look_at(phase: NodePhase) -> looking.Look:
    return a_look(builders.a_snapshot(builders.a_node("n1", phase), admitted=builders.a_ledger("n1")))


@pytest.mark.parametrize("words", [("node", "get"), ("node", "get", "n1"), ("why", "n1")], ids=" ".join)
def test_whoever_watches_is_told_of_every_change_until_ctrl_c(
    words: tuple[str, ...], seeing: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED
    seeing(*map(a_look_at, (before, before, after)))
    assert main([*words, "-w", "-o", "json"]) == ExitCode.OK
    first, last = capsys.readouterr().out.splitlines()
    assert before.value in first
    assert after.value in last
    seeing(*map(a_look_at, (before, after)))
    assert main([*words, "-w"]) == ExitCode.OK
    blocks = capsys.readouterr().out.split("\n\n")
    assert [before.value in blocks[0], after.value in blocks[1]] == [True, True]


def test_a_watch_ends_when_its_time_is_up(
    seeing: Callable[..., None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(100))
    seeing(*[a_look_at(NodePhase.POD_RESTART_REQUIRED)] * 9)
    monkeypatch.setattr(pages, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert main(["node", "get", "-w", "--timeout", "2s", "-o", "name"]) == ExitCode.TIMEOUT
    assert capsys.readouterr() == ("node/n1\n", "seatrial: 2 s are over; it continues without us.\n")
