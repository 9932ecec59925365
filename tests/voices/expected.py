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


EXPECTED: Final = (
    Expected(
        claim=Claim.PERSON,
        voice="why ",
        words="It follows on its own",
        scene="mixed-1649",
        mended_by="queued nodes inherit what their rollout waits for",
    ),
    Expected(
        claim=Claim.OVER,
        voice="status",
        words="▶ Reverted",
        scene="mixed-87",
        mended_by="a phase that is finished has no ▶",
    ),
    Expected(
        claim=Claim.GREEN,
        voice="condition Ready",
        words="nodes run the target",
        scene="mixed-251",
        mended_by="a rollout with failed nodes is not Ready",
    ),
    Expected(
        claim=Claim.LEFT_KNOWN,
        voice="kubectl get, FAILED",
        words="",
        scene="the-first-of-a-wave-crashes",
        mended_by="how long it takes is not known where a node has failed",
    ),
    Expected(
        claim=Claim.FAILED,
        voice="kubectl get, FAILED",
        words="",
        scene="mixed-4254",
        mended_by="the column FAILED counts nodes that failed on the way that the rollout takes now",
    ),
)


def unexpected(found: list[Contradiction]) -> list[Contradiction]:
    """Those that no entry knows."""
    return [each for each in found if not any(entry.fits(each) for entry in EXPECTED)]
