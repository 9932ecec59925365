"""What comparing proves of a canary's speed, in words and numbers: figure by figure, and what nobody compares.

Law of this file: it says what is not proven as loudly as what is, and against what a figure was held: itself alone, or
nodes like it, too. Tests: tests/core/words/test_speeds.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from seatrial.core.base.values import dataclass
from seatrial.core.judging import evidence, sequences
from seatrial.core.judging.asked import Asked, asked_of
from seatrial.core.judging.findings import BASELINE_MIN, Against, Finding, Why, growth
from seatrial.core.judging.together import judged
from seatrial.core.model.campaign import HOUR, Campaign, CampaignRecord
from seatrial.core.model.gates.compared import CANARIES_MAX, Compared, Lens, Missing
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.text import spans
from seatrial.core.text.names import a_few, number_of

UNPROVEN: Final = (
    "Nothing is proven about speed beyond the limits of gates: no figure is compared with its value before the upgrade."
)
_UNMEASURED: Final = "it was not measured before the upgrade, or has no rate or time"
ROUNDS_MIN: Final = BASELINE_MIN
"""How many rounds after the upgrade end a bake: as many as before it, and for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What is known of one figure of one canary."""

    name: str
    """With how it is looked at, where that is per clock."""
    node: str
    loss: float | None
    """The share that was lost; less than zero is a gain."""
    excluded: float | None
    """The smallest loss ruled out so far."""
    rounds: int
    """How many there were since the upgrade."""
    control_count: int
    """How many nodes like it were held beside it; 0 where it was held against itself alone."""
    needed_hours: float | None
    """How much longer until the asked loss is excluded, if it goes on like this; none where nobody can tell."""
    is_asked: bool
    """Whether it has to exclude a loss; one that need not may only speak of one."""
    verdict: GateVerdict
    why: str = ""
    """What it does not say, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """What is known of all figures."""

    asked_loss: float
    confidence: float
    false_alarms: float
    speeds: tuple[Speed, ...] = ()
    not_compared: tuple[str, ...] = ()
    """What nobody compares, and why, a sentence each."""

    @property
    def excluded(self) -> float | None:
        """The smallest loss that every asked figure excludes; none where one excludes nothing yet."""
        found = [each.excluded for each in self.speeds if each.is_asked]
        known = [each for each in found if each is not None]
        return max(known) if known and len(known) == len(found) else None

    @property
    def is_failed(self) -> bool:
        return any(each.verdict is GateVerdict.FAILED for each in self.speeds)


def speeds_of(record: CampaignRecord, campaign: Campaign) -> Speeds:
    """What the record of a campaign says of speed."""
    asked, compared = asked_of(campaign.bake), record.compared or Compared()
    counts = {each.canary: len(each.controls) for each in compared.comparisons}
    every_hours = campaign.bake.every_seconds / HOUR
    return Speeds(
        asked_loss=asked.exclude,
        confidence=asked.confidence,
        false_alarms=asked.false_alarms,
        speeds=tuple(
            _speed(each, asked, counts.get(each.node, 0), every_hours)
            for each in judged(evidence.kept(record), asked).figures
        ),
        not_compared=tuple(_not_compared(record, compared, campaign)) if campaign.gates else (),
    )


def _speed(found: Finding, asked: Asked, control_count: int, every_hours: float) -> Speed:
    return Speed(
        name=found.figure + (" per clock" if found.lens is Lens.PER_CLOCK else ""),
        node=found.node,
        loss=found.loss,
        excluded=found.excludes(asked),
        rounds=found.round_count,
        control_count=control_count if found.against is Against.CONTROLS else 0,
        needed_hours=_needed_hours(found, asked, every_hours),
        is_asked=found.is_asked,
        verdict=found.verdict,
        why=_why(found),
    )


def _needed_hours(found: Finding, asked: Asked, every_hours: float) -> float | None:
    if found.change is None:
        return None
    limit = growth(asked.exclude * found.slack - asked.wander)
    rounds = sequences.rounds_until(found.change, limit, asked.error_rate)
    return None if rounds is None else rounds * every_hours


def _why(found: Finding) -> str:
    match found.why:
        case Why.NONE:
            return ""
        case Why.NO_BASELINE:
            return "it was not measured before the upgrade"
        case Why.FEW_BASELINE:
            return f"it was measured in fewer than {BASELINE_MIN} rounds before the upgrade"
        case Why.NO_ROUNDS:
            return "no round since the upgrade counts yet"
        case Why.HELD_BACK:
            return "a limit, such as power, capped it before the upgrade, so a small loss would not show"
        case Why.CONTROLS_WANDER:
            return "a node like it that was not upgraded drifted nearly as far, so the cause of the loss is unclear"
        case _:
            assert_never(found.why)


def _not_compared(record: CampaignRecord, compared: Compared, campaign: Campaign) -> Iterator[str]:
    known = set(compared.gates)
    others = [gate.name for gate in campaign.gates if (gate.name, gate.mark) not in known]
    if others and compared.is_measured:
        yield f"Nothing of {a_few(others)} is compared: {_UNMEASURED}."
    canaries = set(record.canaries)
    lost = [each for each in compared.missing_before if each.node in canaries]
    if lost:
        yield f"Not measured before the upgrade, so not compared: {_named(lost)}."
    without = [each for each in compared.missing_before if each.node not in canaries]
    if without:
        yield f"Not measured before the upgrade, so not used for comparison: {_named(without)}."
    if compared.missing:
        yield f"Left out of the last round: {_named(compared.missing)}."


def _named(missing: Iterable[Missing]) -> str:
    return a_few(f"{each.node} ({each.why})" for each in missing)


def sentences(found: Speeds) -> tuple[str, ...]:
    """What is proven and what is not, a sentence each."""
    if not any(each.rounds for each in found.speeds):
        return (UNPROVEN, *(_sentence(each, found) for each in found.speeds), *found.not_compared)
    return (*(_sentence(each, found) for each in found.speeds), *found.not_compared)


def _sentence(speed: Speed, found: Speeds) -> str:
    name = f"{speed.name} of {speed.node}"
    if speed.loss is None:
        return f"{name}: {speed.why}, so nothing is known about it."
    against = "itself before the upgrade"
    if speed.control_count:
        against += f" and {number_of(speed.control_count, 'node')} like it"
    rounds = number_of(speed.rounds, "round")
    held = f"{rounds}, compared with {against}"
    if speed.verdict is GateVerdict.FAILED:
        return f"{name} lost {speed.loss:.1%} ({held}): the upgrade caused it."
    if speed.why:
        return f"{name}: {speed.why} ({held})."
    if speed.excluded is None:
        return f"{name}: no loss is ruled out yet ({held}){_left(speed, found)}."
    proven = f"a loss of more than {speed.excluded:.1%} is ruled out at {found.confidence:.0%}"
    return f"{name}: {proven} ({held}){_left(speed, found)}."


def _left(speed: Speed, found: Speeds) -> str:
    """How much longer it takes to exclude what is asked; empty where it does, or need not."""
    if not speed.is_asked or speed.verdict is GateVerdict.PASSED:
        return ""
    if speed.needed_hours is None:
        return f"; {found.asked_loss:.0%} never is at this pace"
    return f"; {found.asked_loss:.0%} in about {spans.hours(speed.needed_hours)}"


def lack(found: Speeds, record: CampaignRecord) -> str:
    """Which canary does not exclude the asked loss yet, and why; empty where all do that are compared."""
    for node in record.canaries[:CANARIES_MAX]:
        asked = [each for each in found.speeds if each.node == node and each.is_asked]
        if not asked:
            return f"nothing of {node} is compared"
        short = next((each for each in asked if each.verdict is not GateVerdict.PASSED), None)
        if short is not None:
            return _sentence(short, found).removesuffix(".")
        few = min(each.rounds for each in asked)
        if few < ROUNDS_MIN:  # quiet figures may exclude it by the first: then a level looks like an outlier's
            return f"{node} has {few} of at least {ROUNDS_MIN} rounds since its upgrade"
    return ""


def line(found: Speeds) -> str:
    """All of it in one line; empty where nothing is compared."""
    if not found.speeds:
        return ""
    nodes = len({each.node for each in found.speeds})
    of = number_of(len(found.speeds), "figure")
    of += f" of {nodes} canaries" if nodes > 1 else ""
    if found.is_failed:
        return f"{of} compared: a loss was found"
    if found.excluded is None:
        return f"{of} compared: no loss is ruled out yet"
    return f"{of} compared: a loss of more than {found.excluded:.1%} is ruled out"
