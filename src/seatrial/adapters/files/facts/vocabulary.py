"""The words of the trade, from files of the package: what failures are known by, and a list.

A word that is in neither is left out of a snapshot's texts (core/survey/portable/words.py). Tests:
tests/core/survey/test_portable_words.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from seatrial.adapters.files.facts import failures

WORDS: Final = Path(__file__).parents[3] / "knowledge" / "vocabulary.txt"


def texts() -> tuple[str, ...]:
    """All texts whose words may be told."""
    return tuple(path.read_text(encoding="utf-8") for path in (failures.OWN, WORDS))
