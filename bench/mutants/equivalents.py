"""Mutants that nobody could tell from the code: listed by hand, each with its reason, and looked for by what they are.

An entry names the file, the function, the edit and both texts, so it lasts while the lines around it move; one that no
mutant answers to any more is refused, or the list would grow for ever. Tests: tests/mutants/test_equivalents.py
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from bench.mutants.edits import Mutant

LISTED: Final = Path(__file__).parent / "equivalents.toml"

Key: TypeAlias = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalent:
    """One entry."""

    file: str
    within: str
    edit: str
    before: str
    after: str
    why: str

    @property
    def key(self) -> Key:
        return self.file, self.within, self.edit, _flat(self.before), _flat(self.after)


def key_of(mutant: Mutant) -> Key:
    """What an entry has to say to mean this mutant."""
    return mutant.file, mutant.within, mutant.edit, _flat(mutant.before), _flat(mutant.after)


def listed(path: Path = LISTED) -> tuple[Equivalent, ...]:
    """All entries."""
    return tuple(Equivalent(**each) for each in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", ()))


def unanswered(entries: Iterable[Equivalent], mutants: Iterable[Mutant]) -> list[Equivalent]:
    """Entries that no mutant answers to."""
    known = {key_of(each) for each in mutants}
    return [each for each in entries if each.key not in known]


def _flat(text: str) -> str:
    return " ".join(text.split())
