"""A cache of the testbed for one test: the built programs are everybody's, and what runs is its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seatrial_lab.testbed.building import build, operator_parts, toolchain
from seatrial_lab.testbed.plane import lifecycle


@contextmanager
def cache_in(folder: Path, monkeypatch: pytest.MonkeyPatch, *, has_operator: bool = False) -> Iterator[Path]:
    """A cache below a folder; the testbed that was started there is gone afterwards."""
    build.control_plane()
    if has_operator:
        operator_parts.find().program(say=build.say_on_stderr)
    shared, own = toolchain.cache_folder(), folder / "seatrial" / "testbed"
    own.mkdir(parents=True)
    for built in shared.iterdir():
        if built.name != lifecycle.running_folder().name:
            (own / built.name).symlink_to(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    try:
        yield own
    finally:
        lifecycle.down()


def go_modules() -> dict[str, str]:
    """Where Go's modules are, for a shell whose home is another."""
    asked = [str(toolchain.find_go()), "env", "GOMODCACHE"]
    return {"GOMODCACHE": subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()}
