"""A coroutine is run to its end, and nobody makes a text of what it returns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest

import seatrial
from seatrial.app.awaiting import finished

ROOT = Path(seatrial.__file__).parent


class Huge:
    """What takes long to write down."""

    def __repr__(self) -> NoReturn:
        raise AssertionError("somebody makes a text of it")


async def read() -> Huge:
    return Huge()


async def fail() -> Huge:
    raise LookupError("needs a terminal")


def test_what_it_returns_is_handed_on_as_it_is() -> None:
    assert isinstance(finished(read()), Huge)


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(LookupError, match="needs a terminal"):
        finished(fail())


def test_nobody_else_runs_coroutines_of_commands() -> None:
    runs = re.compile(r"\basyncio\.run\(")
    files = [*(ROOT / "cli").rglob("*.py"), *(ROOT / "app").rglob("*.py")]
    assert [path.name for path in files if runs.search(path.read_text(encoding="utf-8"))] == ["awaiting.py"]
