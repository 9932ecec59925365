"""Names in a sentence: the first few of them, and how many more there are.

Law of this file: whoever tells of several nodes, pools or pods says it like this, however many there are.
Tests: tests/core/test_names.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

NAMED_MAX: Final = 5


def a_few(names: Iterable[str], named_max: int = NAMED_MAX, *, none: str = "", count: int | None = None) -> str:
    """The first names, and how many more there are; `none` where there are none. `count` is all of them."""
    known = list(names)
    shown = ", ".join(known[:named_max]) or none
    more = (len(known) if count is None else count) - named_max
    return f"{shown} and {more} more" if more > 0 else shown


def number_of(count: int, noun: str, many: str = "") -> str:
    """How many there are, with the noun in the right number: `1 node`, `1,000 nodes`; `many` where it is irregular."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"
