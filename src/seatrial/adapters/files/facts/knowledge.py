"""The knowledge base from files: the package's own (JSON, a few milliseconds), and what users lay over it (YAML).

What a fact must look like is core/compat/facts/reading.py; here is only where facts come from and, for a user's file
that is wrong, which line to look at.

Tests: tests/adapters/files/test_knowledge.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat import facts
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Span
from seatrial.core.errors import SeatrialError

OWN = Path(__file__).parents[3] / "knowledge" / "facts.json"
RULE = "facts"
"""The id under which a broken file of facts is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Facts to lay over ours: a user's file, or one of a bundle, whose bytes were compared with its checksum."""

    path: str
    content: bytes | None = None
    """What is in it; None where it is yet to be read."""
    origin: str = ""
    """How its facts are called; empty is by the path."""
    by: date | None = None
    """The day it came, where that is known."""


class FactsFileInvalid(SeatrialError):  # noqa: N818 — like FactInvalid
    """A user's file of facts that cannot be used; `finding` points at the place."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.spans[0]}: {finding.message} {finding.next_step}".strip())
        self.finding = finding


class FactsFileTooNew(FactsFileInvalid):
    """A file of facts in a form that only a later seatrial reads."""


def load_knowledge(user_files: Sequence[str | Path | Layer] = ()) -> Facts:
    """The knowledge base with the users' files laid over it, the last one on top."""
    known = facts.read(load_own())
    for path in user_files:
        known = known.under(load_user_facts(path))
    return known


def load_own() -> Any:
    """The package's own data, as it was built."""
    return json.loads(OWN.read_bytes())


def load_data(user_files: Sequence[str | Path | Layer] = ()) -> Any:
    """The same as plain data, for looking into; each file is checked before it is laid over."""
    data = load_own()
    for path in user_files:
        load_user_facts(path)
        said = load_user_data(path)[1]
        data = _laid_over(data, {name: each for name, each in said.items() if name not in _ABOUT_THE_FILE})
    return data


_ABOUT_THE_FILE: Final = ("schema_version", "generated", "sources")
"""What a file says of itself, which is not true of ours."""


def _laid_over(below: Any, above: Any) -> Any:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: _laid_over(below.get(key), value) for key, value in above.items()}


def load_user_facts(layer: str | Path | Layer) -> Facts:
    """One user's file, or FactsFileInvalid with the place that is wrong; its facts say that they are of this file."""
    node, data = load_user_data(layer)
    path, origin = (layer.path, layer.origin) if isinstance(layer, Layer) else (layer, "")
    try:
        return facts.marked(facts.read(data), origin or str(path))
    except facts.FactInvalid as err:
        refused = FactsFileTooNew if isinstance(err, facts.SchemaNewer) else FactsFileInvalid
        raise refused(
            _finding(f"{err}", _span(str(path), node, err.path), "The form is that of `seatrial facts show`.")
        ) from None


def load_user_data(layer: str | Path | Layer) -> tuple[Any, Any]:
    """The YAML nodes of a file, which know their places, and the plain data in it."""
    import yaml  # only for a user's file: the package's own facts are JSON

    path, content = (layer.path, layer.content) if isinstance(layer, Layer) else (layer, None)
    try:
        text = (Path(path).read_bytes() if content is None else content).decode("utf-8")
    except (OSError, UnicodeDecodeError) as err:
        why = err.strerror if isinstance(err, OSError) else "it is not UTF-8"
        raise FactsFileInvalid(_finding(f"{path} cannot be read: {why}.", Span(file=str(path)), "")) from err
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        data = yaml.load(text, Loader=_loader())  # noqa: S506  it is the safe one
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        span = Span(file=str(path), line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1)
        problem = getattr(err, "problem", None) or str(err)
        raise FactsFileInvalid(_finding(f"This is not YAML: {problem}.", span, "Correct the line.")) from err
    return node, data if data is not None else {}


@cache
def _loader() -> Any:
    """The safe loader without fractions and dates (as a number, 4.20 would be the version 4.2), and where `on` is a
    word: a day is written `generated: {on: 2026-11-15}`."""
    import yaml

    class Loader(yaml.CSafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012  it is the library's
            letter: [
                (tag, pattern)
                for tag, pattern in rows
                if tag.rpartition(":")[2] not in ("float", "timestamp", *(() if letter in "tTfF" else ("bool",)))
            ]
            for letter, rows in yaml.CSafeLoader.yaml_implicit_resolvers.items()
        }

    return Loader


def spot_of(path: str, node: Any, way: Sequence[str | int]) -> Span:
    """Where a path of the data is written."""
    return _span(path, node, way)


def _span(path: str, node: Any, way: Sequence[str | int]) -> Span:
    mark = node.start_mark if node is not None else None
    for step in way:
        below = next(iter(_below(node, step)), None)
        if below is None:
            break  # the path names something that is missing here: the place that lacks it is the answer
        key, node = below
        mark = key.start_mark
    return Span(file=path, line=mark.line + 1, column=mark.column + 1) if mark else Span(file=path, line=1, column=1)


def _below(node: Any, step: str | int) -> Iterator[tuple[Any, Any]]:
    if isinstance(node.value, list):
        for index, each in enumerate(node.value):
            if isinstance(each, tuple):
                if each[0].value == str(step):
                    yield each
            elif index == step:
                yield each, each


def _finding(message: str, span: Span, next_step: str) -> Finding:
    return Finding(rule=RULE, verdict=Verdict.FAIL, message=message, next_step=next_step, spans=(span,))
