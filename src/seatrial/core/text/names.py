"""Names in a sentence: the first few of them, and how many more there are.

Law of this file: whoever tells of several nodes, pools or pods says it like this, however many there are.
Tests: tests/core/text/test_names.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

NAMED_MAX: Final = 5
DNS_MAX: Final = 253
_DNS: Final = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*")


def dns(text: str) -> str:
    """The text where an object could have it as its name (DNS-1123); else nothing.

    A label or an annotation may say anything, and what is said to be a name ends up in a command.
    """
    return text if len(text) <= DNS_MAX and _DNS.fullmatch(text) else ""


def a_few(names: Iterable[str], named_max: int = NAMED_MAX, *, none: str = "", count: int | None = None) -> str:
    """The first names, and how many more there are; `none` where there are none. `count` is all of them."""
    known = list(names)
    shown = ", ".join(known[:named_max]) or none
    more = (len(known) if count is None else count) - named_max
    return f"{shown} and {more} more" if more > 0 else shown


def number_of(count: int, noun: str, many: str = "") -> str:
    """How many there are, with the noun in the right number: `1 node`, `1,000 nodes`; `many` where it is irregular."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"
