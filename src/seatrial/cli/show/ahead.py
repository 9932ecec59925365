"""What a campaign has before it, as one sentence: "what happens next, and when?"

    Ahead     2 more waves (4, 8 nodes), then the promotion, once somebody says yes (`seatrial rollout approve …`).

Law of this file: what stands in the table of phases and in the wish, nothing that is guessed; how long it takes is the
outlook's to say, with what it rests on. Tests: tests/cli/test_ahead.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from seatrial.core.campaign.course import WAY_FORWARD
from seatrial.core.campaign.outlook import Outlook
from seatrial.core.model.campaign import Campaign, CampaignRecord, Point, RolloutPhase
from seatrial.core.text.names import a_few
from seatrial.core.text.spans import span

NAMED_MAX = 4
ANOTHER = "To try again, start another rollout under another name: `seatrial rollout start NAME`."
ASKED_BEFORE = {
    RolloutPhase.CANARY: Point.CANARY,
    RolloutPhase.WAVING: Point.WAVES,
    RolloutPhase.PROMOTING: Point.PROMOTION,
}
"""Where a person may have to say yes before a phase is opened."""


def ahead(
    name: str,
    campaign: Campaign,
    record: CampaignRecord,
    *,
    canaries: Sequence[str],
    waves: Sequence[int],
    to_go_back: Sequence[str] = (),
    entry: str = "",
    failed: Sequence[str] = (),
) -> str:
    """What comes after what it does now; empty where nothing does."""
    phase = record.paused_in or record.phase
    if phase is RolloutPhase.REVERTED:
        return _again(entry if campaign.rejects(record) else "")
    if phase not in WAY_FORWARD:
        return (
            f"{_many(len(to_go_back), 'node')} still to go back ({a_few(to_go_back, NAMED_MAX)})." if to_go_back else ""
        )
    parts = [*_rest_of(phase, record, waves)]
    coming = WAY_FORWARD[WAY_FORWARD.index(phase) + (phase is not RolloutPhase.PROMOTING) : -1]
    for later in coming:
        told = _opened(later, campaign, record, canaries, waves)
        point = ASKED_BEFORE.get(later)
        is_asked = point in campaign.manual and point not in campaign.approved
        if failed and later is RolloutPhase.PROMOTING and not campaign.accepts_failures:
            decided = _without(failed) if is_asked else _fixed(failed)
            told += f", once {decided} (`seatrial rollout promote {quote(name)}`)"
        elif is_asked and point is not None:
            told += f", once somebody says yes (`seatrial rollout approve {quote(name)} {point.value}`)"
        parts.append(told)
    if not parts:
        return ""
    windows = "; nodes start inside its windows only" if campaign.openings is not None else ""
    return f"{', then '.join(parts)}{windows}."


def _again(marked: str) -> str:
    """What is left to a person after an undo; `marked` is the entry that was marked bad."""
    if not marked:
        return f"nothing: it is over. {ANOTHER}"
    return (
        f"nothing: it is over. Entry {marked} of the matrix was marked bad, and no rollout takes it while it is. In a "
        f"checkout of the matrix, give it another version or remove the mark (`seatrial matrix unmark {quote(marked)}`"
        f"), commit and push. {ANOTHER}"
    )


def plain(to_come: int, parallel_max: int) -> str:
    """The same of a rollout without a canary: nobody is asked, and nothing is published."""
    if not to_come:
        return ""
    at_once = f"{parallel_max} at a time" if parallel_max else "as many at a time as the limits allow"
    return f"{_many(to_come, 'node')} to come, {at_once}; then it is done."


def left(outlook: Outlook) -> str:
    """How long it will take yet."""
    if outlook.seconds is None:
        return "unknown"
    return f"{'at least' if outlook.is_floor else 'about'} {span(outlook.seconds)}"


def _rest_of(phase: RolloutPhase, record: CampaignRecord, waves: Sequence[int]) -> Iterator[str]:
    """What is left of the phase that it is in, where it has parts."""
    if phase is RolloutPhase.WAVING and record.wave + 1 < len(waves):
        later = waves[record.wave + 1 :]
        yield f"{_many(len(later), 'more wave')} ({', '.join(map(str, later[:NAMED_MAX]))}{_and_on(later)} nodes)"


def _opened(
    phase: RolloutPhase, campaign: Campaign, record: CampaignRecord, canaries: Sequence[str], waves: Sequence[int]
) -> str:
    match phase:
        case RolloutPhase.CANARY:
            return f"the canary ({a_few(canaries, NAMED_MAX)})" if canaries else "the canary"
        case RolloutPhase.GATING:
            return "its gates"
        case RolloutPhase.BAKING:
            return f"a bake of {span(max(0.0, campaign.bake.seconds - record.baked_seconds))}"
        case RolloutPhase.WAVING:
            return f"{_many(len(waves), 'wave')} ({', '.join(map(str, waves[:NAMED_MAX]))}{_and_on(waves)} nodes)"
        case _:
            return "the promotion" if campaign.has_source else "the end"


def _fixed(failed: Sequence[str]) -> str:
    """What has to become of failed nodes before the promotion."""
    verbs, them = ("works or is", "it") if len(failed) == 1 else ("work or are", "them")
    return f"{a_few(failed, NAMED_MAX)} {verbs} left out, or a person approves it without {them}"


def _without(failed: Sequence[str]) -> str:
    """What a person approves who is asked in any case."""
    works = "it works" if len(failed) == 1 else "they work"
    return f"a person approves it, without {a_few(failed, NAMED_MAX)} unless {works} by then"


def _and_on(waves: Sequence[int]) -> str:
    return ", …" if len(waves) > NAMED_MAX else ""


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
