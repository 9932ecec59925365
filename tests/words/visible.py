"""The texts of the program that people may read: string literals of two words and more; no docstrings, no patterns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "src" / "seatrial"
ROOMS: Final = ("adapters", "app", "cli", "controller", "core", "probes", "sim/forecast")
INNER: Final = "promises"
"""What is said of a bug of ours, in the log alone."""
GAP: Final = "{}"
_NOT_PROSE: Final = re.compile(r"\\[bdsSw.]|\(\?|\)\?|\]\+|</|<\w+ |;\s*\}|#!/|\n.*\n.*\n")
"""Regular expressions, HTML, CSS, scripts."""


@cache
def literals() -> tuple[tuple[str, str], ...]:
    """Where a text stands, and the text; what is filled in reads as `{}`."""
    return tuple(_literals())


def _literals() -> Iterator[tuple[str, str]]:
    for path in sorted(path for room in ROOMS for path in (SOURCE / room).rglob("*.py") if INNER not in path.parts):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        hidden = {id(each) for each in _hidden(tree)}
        for node in ast.walk(tree):
            if id(node) in hidden or not isinstance(node, ast.Constant | ast.JoinedStr):
                continue
            text = _text(node)
            if len(re.findall(r"[a-z]{2,}", text)) >= 2 and " " in text.strip() and not _NOT_PROSE.search(text):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def _hidden(tree: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the parts of f-strings, which are read with the whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        if isinstance(node, ast.JoinedStr):
            yield from (each for each in ast.walk(node) if each is not node)


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(each) if isinstance(each, ast.Constant) else GAP for each in node.values)
