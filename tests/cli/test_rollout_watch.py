"""A campaign that is watched: drawn in place on a real terminal, told in blocks to everybody else."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
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
from tests.cli.test_rollout_tree import a_picture

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
            elif what == "J":
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
    screen.take(a_picture(RolloutPhase.WAVING, nodes=(canary, *moving)))
    screen.take(a_picture(RolloutPhase.DONE, nodes=(canary,)))
    shown = terminal.shown()
    assert shown[0] == "spring  driver 570.124.06 → 580.105.08"
    assert shown[1].endswith("✔ Promoting ▸ ✔ Done")
    assert "pod-restart-required" not in "\n".join(shown)
    assert len([line for line in shown if "spring" in line and "driver" in line]) == 1


def test_a_window_that_is_too_low_says_how_much_is_missing(terminal: Terminal) -> None:
    fcntl.ioctl(terminal.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 6, terminal.columns, 0, 0))
    rollout_watch.InPlace(terminal.stream).take(a_picture(RolloutPhase.BAKING))
    shown = [line for line in terminal.shown() if line]
    assert len(shown) == 5
    assert "more lines" in shown[-1]


def test_no_colour_is_used_where_it_is_not_wanted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    rollout_watch.InPlace(terminal.stream).take(a_picture(RolloutPhase.BAKING))
    terminal.shown()
    assert b"\033[32m" not in b"".join(terminal.read)


def test_a_pipe_gets_a_block_for_every_change_and_no_escapes() -> None:
    pipe = io.StringIO()
    blocks = rollout_watch.Blocks(pipe)
    for phase in (RolloutPhase.CANARY, RolloutPhase.CANARY, RolloutPhase.BAKING):
        blocks.take(a_picture(phase))
    text = pipe.getvalue()
    assert len([line for line in text.splitlines() if line.startswith("spring  driver")]) == 2
    assert "\033" not in text


def test_a_script_gets_one_document_for_every_change(capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("json", "yaml"):
        blocks = rollout_watch.Blocks(sys.stdout, output=output)
        for phase in (RolloutPhase.CANARY, RolloutPhase.CANARY, RolloutPhase.BAKING):
            blocks.take(a_picture(phase))
        told = capsys.readouterr().out
        documents = map(json.loads, told.splitlines()) if output == "json" else yaml.safe_load_all(told)
        assert [document["phase"] for document in documents] == ["Canary", "Baking"]


def test_ascii_is_used_where_the_stream_can_show_nothing_else() -> None:
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    rollout_watch.Blocks(plain).take(a_picture(RolloutPhase.BAKING))
