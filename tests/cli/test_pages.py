"""Pages one after the other: told when something has changed, and as documents that can be told apart."""

from __future__ import annotations

import json

import pytest
import yaml

from seatrial.cli.show.pages import Page, Screen, show


def a_page(state: str, clock: str = "1 s") -> Page:
    data = [{"name": "n1", "state": state}]
    return Page(lines=[f"n1 {state} for {clock}"], data=data, key=data, names=["n1"], notes=["Look elsewhere, too."])


def told(output: str, capsys: pytest.CaptureFixture[str]) -> str:
    screen = Screen(output)
    for page in (a_page("waiting"), a_page("waiting", "2 s"), a_page("done")):
        screen.take(page)
    return capsys.readouterr().out


def test_a_page_is_told_again_when_something_has_changed_but_the_clock(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("table", capsys) == "n1 waiting for 1 s\n\nn1 done for 1 s\n"
    assert [json.loads(line)[0]["state"] for line in told("json", capsys).splitlines()] == ["waiting", "done"]
    assert [page[0]["state"] for page in yaml.safe_load_all(told("yaml", capsys))] == ["waiting", "done"]
    assert told("name", capsys) == "node/n1\nnode/n1\n"


def test_a_note_is_for_people_and_beside_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    show(a_page("done"), "table")
    assert capsys.readouterr() == ("n1 done for 1 s\n", "Look elsewhere, too.\n")
    show(a_page("done"), "json")
    assert capsys.readouterr().err == ""
