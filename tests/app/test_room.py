"""The law of the room: nothing is printed, and nobody is asked."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import seatrial.app

FILES = sorted(Path(seatrial.app.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_use_case_prints_nothing_and_asks_nobody(file: Path) -> None:
    names = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name | ast.Attribute)
    }
    assert not names & {"print", "input", "stdout", "stderr", "isatty"}
