"""Of the same moment nothing that we say contradicts anything else that we say, in every recorded scenario.

`status`, `why`, the columns of `kubectl get`, conditions, the report and the metrics are asked about moments of every
scenario that tests keep: schedules of faults by their seeds, journals, and stories of a night shift.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from tests.voices import scenes
from tests.voices.comparing import contradictions, said
from tests.voices.said import Claim
from tests.voices.scenes import Moment
from tests.voices.voices import voices_of

pytestmark = pytest.mark.slow

SCENES = dict(scenes.scenarios())


@pytest.mark.parametrize("scene", SCENES)
def test_no_two_voices_contradict_each_other(scene: str) -> None:
    found = [f"{moment}: {each}" for moment in SCENES[scene]() for each in contradictions(voices_of(moment.look))]
    assert not found, "\n" + "\n".join(found)


def told(scene: Callable[[], Iterator[Moment]]) -> dict[Claim, set[str]]:
    """The voices that make each claim; those of nodes count once."""
    voices: dict[Claim, set[str]] = defaultdict(set)
    for moment in scene():
        for each in said(voices_of(moment.look)):
            voices[each.claim].add(each.voice.replace(each.of, "NODE") if each.of else each.voice)
    return voices


def test_every_claim_is_made_by_two_voices_at_least() -> None:
    claimed: dict[Claim, set[str]] = defaultdict(set)
    for name in (
        "the-last-node-crashes",
        "a-gate-fails",
        "an-approval-is-outstanding",
        "mixed-1649",
        "a-plain-upgrade",
    ):
        for claim, voices in told(SCENES[name]).items():
            claimed[claim] |= voices
    compared = set(Claim) - {Claim.NODE_WAITS}  # of which there are several for a node: comparing.py looks at them all
    assert {claim for claim in compared if len(claimed[claim]) < 2} == set(), claimed
