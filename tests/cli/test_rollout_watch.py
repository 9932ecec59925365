"""A rollout that is watched: drawn in place on a real terminal, told line by line to everybody else."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

import pytest
import yaml

from seatrial.cli.show import watch as rollout_watch
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.nodes import NodePhase
from tests import builders
from tests.cli.test_rollout_tree import a_look
from tests.cli.test_status import a_look as a_plain_look

_ESCAPE = re.compile(r"\033\[(\??[\d;]*)([A-Za-z])")


def screen_of(text: str, columns: int) -> list[str]:
    """What a terminal of that width shows after these characters: as much of one as the drawing uses."""
    rows, row, column, place = [""], 0, 0, 0
    while place < len(text):
        found = _ESCAPE.match(text, place)
        if found is not None:
            number, what = found[1], found[2]
            if what == "F":
                row, column = row - int(number), 0
            elif what == "K":
                rows[row] = rows[row][:column]
            elif what == "H":
                row, column = 0, 0
            elif what == "J":
                if number == "2":
                    rows, row, column = [""], 0, 0
                rows[row] = rows[row][:column]
                del rows[row + 1 :]
            else:
                assert what in "mhl", found[0]
            place = found.end()
            continue
        letter = text[place]
        place += 1
        if letter == "\r":
            column = 0
        elif letter == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        else:
            assert column < columns, "a line that wraps would spoil the next drawing"
            rows[row] = rows[row][:column].ljust(column) + letter + rows[row][column + 1 :]
            column += 1
    return rows


@dataclass
class Terminal:
    """A real terminal: what is written to `stream` arrives in `seen`."""

    stream: TextIO
    columns: int
    read: list[bytes]
    reader: threading.Thread

    def shown(self) -> list[str]:
        """What stands on the screen, once everything has arrived."""
        self.stream.close()
        self.reader.join(10)
        return screen_of(b"".join(self.read).decode(), self.columns)


@pytest.fixture(params=[(80, 24), (160, 48)], ids=["80 columns", "160 columns"])
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    columns, lines = request.param
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    read: list[bytes] = []

    def pump() -> None:
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # the other end was closed
                return
            if not data:
                return
            read.append(data)

    reader = threading.Thread(target=pump)
    reader.start()
    stream = os.fdopen(slave, "w", encoding="utf-8")
    yield Terminal(stream=stream, columns=columns, read=read, reader=reader)
    stream.close()
    reader.join(10)
    os.close(master)


@pytest.mark.parametrize("count", [5, 500])
def test_each_drawing_replaces_the_one_before(terminal: Terminal, count: int) -> None:
    moving = tuple(builders.a_node(f"n{number}", NodePhase.POD_RESTART_REQUIRED) for number in range(2, count + 1))
    canary = builders.a_well_node("n1", NodePhase.UPGRADE_DONE)
    screen = rollout_watch.InPlace(terminal.stream)
    screen.take(a_look(RolloutPhase.WAVING, nodes=(canary, *moving)))
    screen.take(a_look(RolloutPhase.DONE, nodes=(canary,)))
    shown = terminal.shown()
    assert shown[0] == "OK  the rollout is over, 1 of 1 node done"
    assert shown[1] == "spring  driver 570.124.06 → 580.105.08"
    assert shown[2].endswith("✔ Promoting ▸ ✔ Done")
    assert "pod-restart-required" not in "\n".join(shown)
    assert len([line for line in shown if "spring" in line and "driver" in line]) == 1


def test_a_window_that_is_too_low_says_how_much_is_missing(terminal: Terminal) -> None:
    fcntl.ioctl(terminal.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 6, terminal.columns, 0, 0))
    rollout_watch.InPlace(terminal.stream).take(a_look(RolloutPhase.BAKING))
    shown = [line for line in terminal.shown() if line]
    assert len(shown) == 5
    assert "more lines" in shown[-1]


def test_no_colour_is_used_where_it_is_not_wanted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    rollout_watch.InPlace(terminal.stream).take(a_look(RolloutPhase.BAKING))
    terminal.shown()
    assert b"\033[32m" not in b"".join(terminal.read)


def test_a_pipe_gets_one_line_for_every_change_and_no_escapes() -> None:
    pipe = io.StringIO()
    lines = rollout_watch.Lines(pipe)
    for phase in (RolloutPhase.CANARY, RolloutPhase.CANARY, RolloutPhase.BAKING):
        lines.take(a_look(phase))
    told = pipe.getvalue().splitlines()
    assert [re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ spring (\w+) 1/5 .*", line)[1] for line in told] == [  # type: ignore[index]
        "Canary",
        "Baking",
    ]
    assert "\033" not in pipe.getvalue()


def test_a_rollout_without_a_canary_is_watched_as_well(terminal: Terminal) -> None:
    fleet = builders.a_fleet(3, NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    found = a_plain_look(builders.a_snapshot(*fleet))
    rollout_watch.InPlace(terminal.stream).take(found)
    shown = "\n".join(terminal.shown())
    assert "Rollout   spring to driver 580.105.08: waiting" in shown
    assert "Done      0/3" in shown
    pipe = io.StringIO()
    rollout_watch.Lines(pipe).take(found)
    assert " spring Waiting 0/3 skipped (n1, n2 and 1 more): " in pipe.getvalue()


def test_a_window_that_changes_its_size_is_drawn_anew(terminal: Terminal) -> None:
    screen = rollout_watch.InPlace(terminal.stream)
    screen.take(a_look(RolloutPhase.BAKING))
    fcntl.ioctl(terminal.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 40, 50, 0, 0))
    screen.take(a_look(RolloutPhase.BAKING))
    terminal.shown()
    last = b"".join(terminal.read).decode().rpartition("\033[2J\033[H")
    assert last[1], "the old lines may be wrapped now, so everything is wiped"
    shown = screen_of(last[2], 50)
    assert [line for line in shown if len(line) > 49] == []
    assert shown[:2] == ["NEEDS YOU  whether a controller is in charge is", "           not known:"]
    path = shown.index("spring  driver 570.124.06 → 580.105.08") + 1
    assert "▶ Baking" in shown[path]


def test_a_script_gets_one_document_for_every_change(capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("json", "yaml"):
        documents_of = rollout_watch.Documents(output)
        for phase in (RolloutPhase.CANARY, RolloutPhase.CANARY, RolloutPhase.BAKING):
            documents_of.take(a_look(phase))
        told = capsys.readouterr().out
        documents = map(json.loads, told.splitlines()) if output == "json" else yaml.safe_load_all(told)
        assert [document["phase"] for document in documents] == ["Canary", "Baking"]


def test_who_watches_changes_only_is_not_told_how_it_stands_now(capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("table", "json"):
        take = rollout_watch.screen(output, is_only=True)
        for phase in (RolloutPhase.CANARY, RolloutPhase.CANARY, RolloutPhase.BAKING):
            take(a_look(phase))
        (told,) = capsys.readouterr().out.splitlines()
        assert ("Canary" in told.split('"history"')[0], "Baking" in told) == (False, True)


def test_ascii_is_used_where_the_stream_can_show_nothing_else() -> None:
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    page = rollout_watch.page_of(a_look(RolloutPhase.BAKING), rollout_watch.ink_of(plain), 0)
    assert "> Baking" in page[2]
    assert "\n".join(page).isascii()
