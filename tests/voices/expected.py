"""Contradictions that are known and being mended: what contradicts what, where it shows, and what mends it.

Law of this file: it becomes empty. An entry that no longer shows where it says so fails its test and is taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.voices.comparing import Contradiction
from tests.voices.said import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Contradictions of one kind."""

    claim: Claim
    voice: str
    """How one of the two voices begins."""
    words: str
    """What stands in its words."""
    scene: str
    """Where it shows."""
    mended_by: str

    def fits(self, found: Contradiction) -> bool:
        sides = (found.one, found.other)
        return found.claim is self.claim and any(
            each.voice.startswith(self.voice) and self.words in each.words for each in sides
        )


EXPECTED: Final[tuple[Expected, ...]] = ()


def unexpected(found: list[Contradiction]) -> list[Contradiction]:
    """Those that no entry knows."""
    return [each for each in found if not any(entry.fits(each) for entry in EXPECTED)]
