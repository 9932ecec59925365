"""What a campaign's commits say: what a person would have written, had they done the work by hand.

    Driver 580.105.08 for the canary node-3                 subject: what changes

    It replaces 570.124.06. Only node-3 moves     body: why one may believe that it is right
    now; the others follow once it has passed smoke-train
    and has been healthy for 48 hours.

Law of this file: nothing is claimed that the record does not show; the same record gives the same words at any time.
Wrapping, and the lines that say whose a commit is, are Git's (adapters/git/messages.py).

Tests: tests/core/words/test_commit_messages.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, assert_never

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import (
    UNSAID,
    AskToMerge,
    CloseRequest,
    MarkBad,
    Message,
    Promote,
    Publish,
    RevertCommits,
    StepAct,
)
from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.model.campaign import Campaign, CampaignRecord, PublishStep, Via
from seatrial.core.model.intent import Intent
from seatrial.core.words import accounts
from seatrial.core.words.accounts import Tally


def worded(
    action: CampaignAct, intent: Intent, record: CampaignRecord, tally: Callable[[], Tally] = Tally
) -> CampaignAct:
    """An act with the words of the commit it makes; one that makes none is as it was. `tally` counts the nodes."""
    match action:
        case Promote():
            message = message_of(action, intent, record, tally())
            return replace(action, message=message, tag_message=tag_message(intent, record))
        case RevertCommits():
            return replace(action, message=message_of(action, intent, record, tally()))
        case Publish(via=Via.GIT) | MarkBad():
            return replace(action, message=message_of(action, intent, record))
        case _:
            return action


def unworded(action: Action) -> Action:
    """An act without these words: what it does, and no more."""
    match action:
        case Promote():
            return replace(action, message=UNSAID, tag_message="")
        case Publish() | MarkBad() | RevertCommits() | AskToMerge() | CloseRequest():
            return replace(action, message=UNSAID)
        case _:
            return action


def message_of(action: StepAct, intent: Intent, record: CampaignRecord, tally: Tally | None = None) -> Message:
    """The text of the commit that an act makes; what ends a rollout, well or not, says where its report is."""
    target = intent.target.published
    match action:
        case Publish(step=PublishStep.CANARY):
            return Message(
                subject=f"Driver {target} for {_canaries(record)}",
                body=_joined(_replaced(action, record), _what_follows(intent, record), _switched(action)),
            )
        case Publish():
            return Message(
                subject=f"Driver {target} for the fleet",
                body=_joined(
                    _replaced(action, record),
                    accounts.evidence(record),
                    "The others follow now, wave by wave.",
                    _switched(action),
                ),
            )
        case Promote(date=date):
            return Message(
                subject=f"Promote driver {target} to production",
                body=_parts(
                    _joined(f"The last wave finished on {date}.", accounts.evidence(record), accounts.left(record)),
                    accounts.short(intent, record, tally),
                ),
            )
        case MarkBad(why=why):
            return Message(subject=f"Mark driver {target} as bad", body=_because("Rejected", why))
        case RevertCommits(on_delete=kept):
            return Message(
                body=_parts(
                    _joined(_because("Reverted", record.why), _mark(intent.campaign, record)),
                    _KEPT if kept else "",
                    accounts.short(intent, record, tally),
                )
            )
        case _:
            assert_never(action)


def tag_message(intent: Intent, record: CampaignRecord) -> str:
    """The text of the tag: a subject, and what stands behind it."""
    head = f"Driver {intent.target.published} in production since {record.date}"
    return _parts(head, _joined(accounts.evidence(record), accounts.left(record)))


_KEPT: Final = "DaemonSets stay OnDelete: with RollingUpdate they would restart the operands of every node that moved."


def _what_follows(intent: Intent, record: CampaignRecord) -> str:
    """Who moves now, and when the others do."""
    names, campaign = record.canaries, intent.campaign
    if not names or campaign is None:
        return ""
    one = len(names) == 1
    who, have = ("it", "has") if one else ("they", "have")
    asked = [f"passed {accounts.listed(gate.name for gate in campaign.gates)}"] if campaign.gates else []
    if campaign.bake.seconds >= 1:
        asked.append(f"been healthy for {accounts.hours(campaign.bake.seconds)}")
    when = f"{who} {have} {f' and {have} '.join(asked)}" if asked else f"{who} {'runs' if one else 'run'} it"
    return f"Only {accounts.named(names)} {'moves' if one else 'move'} now; the others follow once {when}."


def _replaced(action: Publish, record: CampaignRecord) -> str:
    """What the resources of this commit carried before."""
    before = dict(record.baseline)
    versions = sorted({before[resource] for resource, _ in action.versions if resource in before})
    return f"It replaces {accounts.listed(versions)}." if versions else ""


def _switched(action: Publish) -> str:
    """What the driver manager is told, and what for."""
    if not action.switches:
        return ""
    names = dict.fromkeys(each.name for each in action.switches)
    told = f"{accounts.listed(names)} {'is' if len(names) == 1 else 'are'} false"
    return f"{told}, so that the driver manager does not uncordon nodes before their new driver is validated."


def _canaries(record: CampaignRecord) -> str:
    names = record.canaries
    return f"{len(names)} canaries" if len(names) > 1 else " ".join(("the canary", *names))


def _mark(campaign: Campaign | None, record: CampaignRecord) -> str:
    """What becomes of the entry when its commits are taken back."""
    if campaign is None or not campaign.has_source:
        return ""
    if not campaign.rejects(record):
        return "The entry is not marked bad: seatrial found nothing wrong with the version."
    is_said = record.rejected in ("", record.why)
    return "The entry is marked bad." if is_said else _because("The entry is marked bad", record.rejected)


def _because(said: str, why: str) -> str:
    whole = why.strip()
    if not whole:
        return ""
    return f"{said}: {whole}" if whole.endswith((".", "!", "?", "…")) else f"{said}: {whole}."


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _parts(*paragraphs: str) -> str:
    return "\n\n".join(text for text in paragraphs if text)
