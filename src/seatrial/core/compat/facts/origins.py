"""Whose facts they are: every Cite of a user's file or bundle says so, and with it every answer that quotes one.

Law of this file: nothing is known here about sections, so no section can be forgotten.
Tests: tests/core/compat/test_facts_own.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.rows import Cite


def marked(facts: Facts, origin: str) -> Facts:
    """The same facts, as those of a file or a bundle of the user's."""
    rows = {each.name: _marked(getattr(facts, each.name), origin) for each in fields(facts) if each.name != "beneath"}
    return replace(facts, **{**rows, "own": (origin,)})


def _marked(value: Any, origin: str) -> Any:
    match value:
        case Cite():
            return replace(value, origin=origin)
        case tuple():
            return tuple(_marked(each, origin) for each in value)
        case Mapping():
            return {key: _marked(each, origin) for key, each in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    found = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
    changed = {name: _marked(each, origin) for name, each in found.items()}
    return value if changed == found else replace(value, **changed)
