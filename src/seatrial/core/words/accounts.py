"""A rollout in a few sentences: what was seen of the canary, how many nodes came along, who said yes, how it stands.

    It began on 2026-09-29 at 08:00 UTC and reached Promoting 2 d 2 h later.           when
    22 of 24 nodes run 580.105.08, 1 failed and 1 was left out.                         how many
    node-3 passed rdma and smoke-train and was healthy on it for 48 hours.                 why one may believe it
    The fleet continued without node-7 (failed).                                          who was left behind
    alice (claimed) approved waves.                                                     who said yes

Law of this file: nothing is claimed that is not in the record, the wish or the count that was handed in. Commits, pull
requests, the page of `seatrial report` and its text in the terminal all take their sentences from here.

Tests: tests/core/words/test_accounts.py, tests/core/words/test_commit_messages.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Spoken
from seatrial.core.model.gates.gate import READINESS, GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.rollouts import Cost
from seatrial.core.text.moments import dated
from seatrial.core.text.names import number_of
from seatrial.core.text.spans import span

NAMES_MAX: Final = 3
HOUR_SECONDS: Final = 3600
MINUTE_SECONDS: Final = 60
SPOKEN_MAX: Final = 5
"""How many of those who said something are named in a sentence; the page has all of them."""
CLAIMED: Final = "(claimed)"
CLAIMED_MEANS: Final = f"{CLAIMED}: it was signed with that name, and no policy of the cluster checks who signs."
DRIVER: Final = "driver "
"""How a goal begins that is a driver; what people move is named by its component."""
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_PLAIN: Final = re.compile(r"https?://[^\s{}<>\"']+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many nodes stand where, towards what a rollout is after."""

    done: int = 0
    failed: int = 0
    skipped: int = 0
    total: int = 0


def summary(
    intent: Intent, record: CampaignRecord | None, tally: Tally | None, *, is_held: bool = False
) -> tuple[str, ...]:
    """A rollout in a few sentences; with `is_held` a policy holds people to the names under which they spoke."""
    said = intent.campaign.said if intent.campaign is not None else ()
    seen = record or CampaignRecord()
    return _told(began(seen), nodes(tally, intent), evidence(seen), left(seen), spoken(said, is_held=is_held))


def short(intent: Intent, record: CampaignRecord, tally: Tally | None) -> str:
    """What a commit says besides its evidence: where the report is; or, where that is nowhere, when, how many, who."""
    campaign = intent.campaign
    if campaign is not None and campaign.report:
        return f"Report: {campaign.report}"
    said = campaign.said if campaign is not None else ()
    return " ".join(_told(began(record), nodes(tally, intent), spoken(said)))


def _told(*sentences: str) -> tuple[str, ...]:
    return tuple(sentence for sentence in sentences if sentence)


# ── where the report is ──────────────────────────────────────────────────────────────────────────────────────────────


def link(pattern: str, rollout: str, target: str) -> str:
    """The address of a rollout's report; a ValueError says what is wrong with the pattern."""
    known = {"rollout": rollout, "target": target}
    for name in _PLACEHOLDER.findall(pattern):
        if name not in known:
            raise ValueError(f"{{{name}}} is not a placeholder; there are {listed(f'{{{each}}}' for each in known)}.")
    filled = _PLACEHOLDER.sub(lambda found: known[found[1]], pattern)
    if not _PLAIN.fullmatch(filled):
        raise ValueError("it has to be an address that begins with https:// or http://, without blanks and quotes.")
    return filled


def check_pattern(pattern: str) -> None:
    """Refuse a pattern by which reports could not be told apart; a ValueError says why."""
    link(pattern, "rollout", "580.105.08")
    if "{rollout}" not in pattern:
        raise ValueError("it names no {rollout}, so every rollout would have the same report.")


# ── sentences ────────────────────────────────────────────────────────────────────────────────────────────────────────


def began(record: CampaignRecord) -> str:
    """When it began, and how long it took to where it stands; nothing where the beginning is not remembered."""
    if not record.history or record.history[0].phase is not RolloutPhase.PROPOSED:
        return ""
    first, last = record.history[0], record.history[-1]
    told = f"It began on {day_and_time(first.at)}"
    if last is first:
        return f"{told}."
    # After a pause, or at a later wave, it is where it was before: what counts is when it first came there.
    reached = next(each for each in record.history if each.phase is last.phase)
    return f"{told} and reached {last.phase} {span(reached.at - first.at)} later."


def nodes(tally: Tally | None, intent: Intent) -> str:
    """How many nodes came along."""
    if tally is None or not tally.total:
        return ""
    told = f"{tally.done:,} of {number_of(tally.total, 'node is', 'nodes are')} upgraded to {_version(intent)}"
    more = [f"{tally.failed:,} failed"] if tally.failed else []
    more += [f"{tally.skipped:,} {'was' if tally.skipped == 1 else 'were'} left out"] if tally.skipped else []
    return f"{told}{', ' if more else ''}{' and '.join(more)}."


def evidence(record: CampaignRecord) -> str:
    """What was seen of the canary; that it is ready is asked of every node, so it is no gate to be named."""
    if not record.canaries:
        return ""
    names, be = named(record.canaries), "was" if len(record.canaries) == 1 else "were"
    gates = sorted({each.gate for each in record.gates if each.verdict is GateVerdict.PASSED} - {READINESS})
    passed = f"passed {listed(gates)}" if gates else ""
    held = f"{be} healthy on it for {hours(record.baked_seconds)}" if record.baked_seconds >= 1 else ""
    return f"{names} {' and '.join(part for part in (passed, held) if part) or f'{be} upgraded first'}."


def left(record: CampaignRecord) -> str:
    """Who did not come along, as it was written down when the last wave ended."""
    told = next((turn.why for turn in reversed(record.history) if turn.phase is RolloutPhase.PROMOTING), "")
    return f"The fleet continued {told}." if told.startswith("without ") else ""


def spoken(said: Sequence[Spoken], *, is_held: bool = False) -> str:
    """Who told it what, the latest of them."""
    told = [f"{who(each.by, is_held=is_held)} {each.what}" for each in said[-SPOKEN_MAX:]]
    return f"{_capital(listed(told))}.{' ' if any(map(is_claimed, told)) else ''}{explained(told)}" if told else ""


def is_claimed(told: str) -> bool:
    """Whether a text names a person by a name that nothing checks."""
    return CLAIMED in told


def explained(told: Iterable[str]) -> str:
    """What the mark behind a name means, where any of these texts has it."""
    return CLAIMED_MEANS if any(map(is_claimed, told)) else ""


def who(name: str, *, is_held: bool) -> str:
    """Who said something: by their own name where a policy holds them to it, else as they claim."""
    return name if name and is_held else f"{name} {CLAIMED}" if name else "somebody"


def verdict(intent: Intent, record: CampaignRecord | None, tally: Tally, *, state: str, waits: str = "") -> str:
    """How a rollout stands, in one sentence; `waits` is what it waits for, where that is somebody's to end."""
    wait = f"; it waits: {waits}" if waits else ""
    if record is None:
        words = {"over": "Done", "waiting": "Not over", "progressing": "Under way", "": "Not begun"}
        return f"{words.get(state, state)}: {_came(intent, tally)}{wait if state != 'over' else ''}."
    match record.phase:
        case RolloutPhase.DONE:
            return f"Done: {_came(intent, tally)}."
        case RolloutPhase.REVERTED:
            return _because("Reverted", record.ending)
        case RolloutPhase.REVERTING:
            return _because("Being reverted", record.why)
        case RolloutPhase.PAUSED:
            return f"Paused in {record.paused_in or RolloutPhase.PROPOSED}: {_came(intent, tally)}."
        case _:
            return f"Under way, at {record.phase}: {_came(intent, tally)}{wait}."


def _came(intent: Intent, tally: Tally) -> str:
    return nodes(tally, intent).removesuffix(".") or "no node is in it"


def _because(said: str, why: str) -> str:
    return f"{said}: {why.strip().rstrip('.')}." if why.strip() else f"{said}."


def _version(intent: Intent) -> str:
    return intent.goal.removeprefix(DRIVER)


def day_and_time(at: Instant) -> str:
    """A day and a time of it, for a sentence."""
    return f"{dated(at):%Y-%m-%d at %H:%M} UTC"


def named(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    if len(names) <= NAMES_MAX + 1:  # "and 1 more" says less than the name
        return listed(names)
    return listed((*names[:NAMES_MAX], f"{len(names) - NAMES_MAX} more"))


def listed(texts: Iterable[str]) -> str:
    """Texts in a row, as people write them."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def hours(seconds: float) -> str:
    """A length of time in the unit that a person would take."""
    if seconds >= HOUR_SECONDS:
        return _counted(seconds / HOUR_SECONDS, "hour")
    if seconds >= 2 * MINUTE_SECONDS:
        return _counted(seconds // MINUTE_SECONDS, "minute")
    return _counted(seconds // 1, "second")


def _counted(number: float, unit: str) -> str:
    text = f"{number:.1f}".removesuffix(".0")
    return f"{text} {unit}" if text == "1" else f"{text} {unit}s"


def _capital(text: str) -> str:
    return text if text[:1] != "s" or not text.startswith("somebody") else f"S{text[1:]}"


def by_cause(cost: Cost) -> str:
    """What a rollout by attrition has cost, in one line."""
    idle, thrown, reload, would = (
        f"{seconds / 3600:,.1f}"
        for seconds in (
            cost.idle_gpu_seconds,
            cost.thrown_gpu_seconds,
            cost.reload_gpu_seconds,
            cost.evicting_gpu_seconds,
        )
    )
    jobs = number_of(cost.evictions, "job")
    return f"idle {idle}, thrown away {thrown}, reload {reload}; {jobs} evicted; to evict all would have cost {would}"
