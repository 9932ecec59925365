"""How a rollout stands, in one word, for whoever asks with a script: the same from every command.

    reverted   it was taken back, by a verdict or by a person, or a gate has failed and it is about to be
    refused    a write of the controller is refused
    left       it is over, and some of its nodes failed or were left out
    held       it is paused, waits for somebody, or nobody is in charge
    unsure     whether anybody is in charge cannot be known here, and it is not over
    well       it moves, waits on its own, or is done

Law of this file: the first that is true, in this order; what cannot be known is never better than it looks.
Tests: tests/app/test_outcome.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from seatrial.app import waits
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.progress import Progress, for_people
from seatrial.core.words import causes
from seatrial.core.words.causes import NEEDS_SOMEBODY

if TYPE_CHECKING:
    from seatrial.app.looking import Look
    from seatrial.app.waits import Waits
    from seatrial.ports import Sight

_LEFT: Final = frozenset({HoldCode.FAILED, HoldCode.SKIPPED, HoldCode.LEADERLESS})
"""What is told of a rollout that is over, as far as it goes by itself."""


class Outcome(StrEnum):
    """How it stands."""

    REVERTED = "reverted"
    REFUSED = "refused"
    LEFT = "left"
    HELD = "held"
    UNSURE = "unsure"
    WELL = "well"


MEANS: Final = {
    Outcome.REVERTED: "it was rolled back, by a verdict or by somebody; or a gate has failed, and it is about to be",
    Outcome.REFUSED: "a write of the controller is refused",
    Outcome.LEFT: "it is over, and some of its nodes failed or were left out: `status` names them",
    Outcome.HELD: "it is paused, waits for somebody, or no controller is in charge",
    Outcome.UNSURE: "it is not over, and whether a controller is in charge is not known: its Lease cannot be "
    "read, or has a time that is ahead",
    Outcome.WELL: "it moves, waits on its own, or is done",
}
"""What each means, for people; the first that is true counts."""


def outcome_of(found: Look) -> Outcome:
    """How the rollout stands that was looked at; well where there is none."""
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        return Outcome.WELL
    campaign = found.sight.seen.rollout.campaign
    if campaign is not None and campaign.phase is RolloutPhase.REVERTED:
        return Outcome.REVERTED
    if campaign is not None and any(each.verdict is GateVerdict.FAILED for each in campaign.gates):
        return Outcome.REVERTED
    codes = {each.code for each in (*waiting.rollout, *waiting.nodes)}
    if HoldCode.WRITE_REFUSED in codes:
        return Outcome.REFUSED
    if is_over(found) and any(left_behind(found.sight)):
        return Outcome.LEFT
    if _is_held(found.sight, waiting):
        return Outcome.HELD
    return Outcome.UNSURE if waits.is_unknown_who_leads(found) else Outcome.WELL


def done_of(sight: Sight) -> tuple[int, int]:
    """How many nodes run what this rollout is after, of how many."""
    mover = mover_seen(sight.seen, sight.intent)
    found = mover.standings(sight.seen.nodes, mover.target(sight.intent))
    return len(found.get(Progress.DONE, ())), len(sight.seen.nodes)


def is_over(found: Look) -> bool:
    """Whether nothing more will move: a campaign has ended, or every node is done, failed or left out."""
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        return True
    record = found.sight.seen.rollout
    if found.sight.intent.campaign is not None:
        return record.campaign is not None and record.campaign.phase in ENDED
    if waiting.state == "done":
        return True
    failed, skipped = left_behind(found.sight)
    if not failed and not skipped:
        return False  # that it is done is the controller's word, and comes with its next write
    done, total = done_of(found.sight)
    is_settled = done + len(failed) + len(skipped) == total
    return is_settled and {each.code for each in (*waiting.rollout, *waiting.nodes)} <= _LEFT


def standings_of(sight: Sight) -> Mapping[Progress, tuple[str, ...]]:
    """The nodes by how they stand, in order of name."""
    mover, nodes = mover_seen(sight.seen, sight.intent), sight.seen.nodes
    found: dict[Progress, list[str]] = defaultdict(list)
    for how, names in mover.standings(nodes, mover.target(sight.intent)).items():
        for name in names:
            found[for_people(how, nodes[name].facts)].append(name)
    return {how: tuple(sorted(names)) for how, names in found.items()}


def left_behind(sight: Sight) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes that failed, and those that people left out."""
    found = standings_of(sight)
    return found.get(Progress.FAILED, ()), found.get(Progress.SKIPPED, ())


def _is_held(sight: Sight, waiting: Waits) -> bool:
    """Whether only a person can end a wait, of the rollout or of nodes; the condition Progressing says the same."""
    campaign = sight.seen.rollout.campaign
    if campaign is not None and campaign.phase in ENDED:
        return False
    is_paused = campaign is not None and campaign.phase is RolloutPhase.PAUSED
    told = (*waiting.rollout, *waiting.nodes)
    is_stuck = sight.intent.campaign is None and waiting.state == "waiting" and causes.is_stuck(told)
    return is_paused or is_stuck or any(each.code in NEEDS_SOMEBODY for each in told)
