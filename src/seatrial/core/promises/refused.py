"""What a pass does that would break a promise: nothing, but to tell people which promise and what it was about to do.

Law of this file: of the record only what is for people changes. The ledger and the campaign are written as they were
seen, bound to the version that was seen, and at most every SUMMARY_SECONDS. Tests: tests/core/promises/test_refused.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.campaign import leaving
from seatrial.core.decision import stops, summary
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.rollouts import Summary
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mover_seen
from seatrial.core.promises.breach import Breach
from seatrial.core.text.names import a_few
from seatrial.core.words import acts as words

NAMED_MAX = 2
"""How many promises, and how many acts, are told in full."""


def refused(seen: Snapshot, intent: Intent, decision: Decision, breaches: Sequence[Breach], now: Instant) -> Decision:
    """What is done in place of a decision that would break promises: every member is held, and people are told."""
    stop = _hold(seen, intent, decision, breaches, now)
    return Decision(
        actions=_told(seen, intent, stop, now),
        holds=(stop, *(stops.like(stop, name) for name in sorted(seen.nodes))),
        stop=stop,
        at=now,
    )


def _hold(seen: Snapshot, intent: Intent, decision: Decision, breaches: Sequence[Breach], now: Instant) -> Hold:
    said = list(dict.fromkeys(f"{each.promise} at {each.subject}, {each.detail}" for each in breaches))
    about = {each.subject for each in breaches}
    due = tuple(act for act in decision.actions if not isinstance(act, WriteRolloutRecord))
    acts = tuple(act for act in due if act.subject in about) or due or decision.actions
    return hold(
        intent.rollout,
        HoldCode.PROMISE_BROKEN,
        since=_since(seen.rollout.summary, now),
        promises=a_few(said, NAMED_MAX),
        acts=a_few([words.told(act) for act in acts], NAMED_MAX, none="leave a node without a reason"),
    )


def _since(before: Summary | None, now: Instant) -> Instant:
    """Since when it is told."""
    told = (*before.told, *before.waiting) if before is not None else ()
    return next((each.since for each in told if each.code == HoldCode.PROMISE_BROKEN and each.since is not None), now)


def _told(seen: Snapshot, intent: Intent, stop: Hold, now: Instant) -> tuple[WriteRolloutRecord, ...]:
    """The rollout's status with the reason, and nothing else that is new."""
    before = seen.rollout
    if leaving.is_leaving(seen, intent) and not seen.is_guarded:
        return ()
    if before.summary is not None and before.summarised_at <= now < before.summarised_at + summary.SUMMARY_SECONDS:
        return ()
    nodes = mover_seen(seen, intent).recorded(seen, intent)
    shown = summary.summarise(replace(seen, nodes=nodes), (stop,), stop, intent)
    told = summary.told_of((stop,))
    if intent.campaign is None:
        shown = replace(shown, waiting=summary.waiting_of((stop,)))
    elif before.campaign is None:
        shown = replace(shown, told=told)
    else:
        shown = replace(shown, state=summary.state_of(before.campaign, stop, is_moving=False), told=told)
    return summary.write_rollout(seen, before.admitted, shown, now, before.campaign, before.cost)[0]
