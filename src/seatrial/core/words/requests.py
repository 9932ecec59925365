"""What a pull request of ours says: what changes, the plan, the evidence so far, and what comes of a yes or a no.

    Driver 580.105.08 for the canary node-3                 title: the subject of the commit

    It replaces 570.124.06. Only node-3 moves …   the body of the commit
    ### The plan                                            who goes first, what is asked of them, how the others follow
    ### The evidence                                        every verdict, and how long the canary has been well
    ### What happens then                                   on a merge, and when it is closed

Law of this file: nothing is claimed that the record and the count of nodes do not show; the same ones give the same
words at any time, so a text is written anew only when there is something else to say.

Tests: tests/core/campaign/test_asking_to_merge.py
"""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import Final

from seatrial.core.actions.at_home import Message, Publish, RevertCommits, StepAct
from seatrial.core.model.campaign import Campaign, CampaignRecord, PublishStep, Via
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.requests import Request, marked
from seatrial.core.text import spans
from seatrial.core.words import commits
from seatrial.core.words.accounts import Tally

_THEN: Final = {
    PublishStep.CANARY: "the canary is upgraded, and no other node",
    PublishStep.FLEET: "the others follow, wave by wave",
    PublishStep.PROMOTION: "the promotion is tagged, and the rollout is done",
    PublishStep.REVERT: "the nodes return to the driver they ran before",
    PublishStep.BAD: "this version is not offered again",
}
_KEEP: Final = "Keep the Seatrial-Rollout and Seatrial-Step lines of the commit when merging: they identify the change."


def message_of(act: StepAct, intent: Intent, record: CampaignRecord, tally: Tally | None = None) -> Message:
    """The title and the text of the request for a step; `tally` is how many nodes stand where."""
    said = commits.message_of(act, intent, record, tally)
    target = str(intent.target.driver)
    title = said.subject or f"Revert driver {target}"
    parts = (
        said.body,
        _report(said.body, intent.campaign),
        _section("The plan", _plan(act, intent, record)),
        _section("The evidence", _evidence(record, intent.campaign)),
        _section("What happens then", _then(act, intent)),
    )
    return Message(subject=title, body=marked("\n\n".join(part for part in parts if part)))


def closed(request: Request, step: PublishStep, intent: Intent, record: CampaignRecord) -> Message:
    """What a request says that we close."""
    why = f" {record.why}" if record.why else ""
    body = f"Closed by seatrial, since the rollout {intent.rollout} was undone or deleted.{why}"
    return Message(
        subject=f"Driver {intent.target.driver}: {step} (withdrawn)", body=marked(f"{body}\n\n{request.url}")
    )


def _report(body: str, campaign: Campaign | None) -> str:
    """Where the report is, in a request whose commit does not say it."""
    link = campaign.report if campaign is not None else ""
    return f"Report: {link}" if link and link not in body else ""


def _section(title: str, lines: Iterable[str]) -> str:
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"### {title}\n\n{listed}" if listed else ""


def _plan(act: StepAct, intent: Intent, record: CampaignRecord) -> Iterable[str]:
    yield f"rollout `{intent.rollout}`, driver {intent.target.driver}, this is its step `{act.step}`"
    if isinstance(act, Publish):
        yield from (f"`{resource}` gets {version}" for resource, version in act.versions)
    if isinstance(act, RevertCommits):
        yield from (f"commit {commit} is undone" for commit in act.commits)
    yield f"first: {', '.join(record.canaries)}" if record.canaries else ""
    yield from _asked(intent.campaign) if intent.campaign is not None else ()
    yield from (f"before: `{resource}` had {version}" for resource, version in record.baseline)


def _asked(campaign: Campaign) -> Iterable[str]:
    yield f"then gates: {', '.join(gate.name for gate in campaign.gates)}" if campaign.gates else ""
    yield f"then it has to stay healthy for {spans.span(campaign.bake.seconds)}" if campaign.bake.seconds else ""
    yield f"and to rule out a loss of {100 * campaign.bake.exclude:g}%" if campaign.bake.exclude else ""
    waves = campaign.waves
    yield f"then the others in waves ({waves.growth}, first {waves.first})"
    yield f"somebody approves: {', '.join(campaign.manual)}" if campaign.manual else ""


def _evidence(record: CampaignRecord, campaign: Campaign | None) -> Iterable[str]:
    for each in record.gates:
        # What is being measured is no evidence, and would have the text written anew with every round.
        if each.verdict is not GateVerdict.PENDING:
            yield f"{each.gate} on {each.node}: {each.said}" + (f" ({each.detail})" if each.detail else "")
    if record.baked_seconds >= 1:
        yield f"{', '.join(record.canaries)} healthy for {spans.span(record.baked_seconds)}"
    if campaign is not None and record.compared is not None:
        from seatrial.core.words import speeds  # it brings all of judging, which a look can do without

        found = speeds.speeds_of(record, campaign)
        yield speeds.line(found) if found.excluded is not None or found.is_failed else ""
    yield f"why it is reverted: {record.why}" if record.why else ""
    if not record.gates and record.baked_seconds < 1 and not record.why:
        yield "none yet: the canary gathers it"


def _then(act: StepAct, intent: Intent) -> Iterable[str]:
    is_synced = isinstance(act, Publish) and act.via is Via.GIT
    yield f"merged: {'your GitOps engine applies it, and ' if is_synced else ''}{_THEN[act.step]}"
    yield f"closed: the rollout waits and says so; end it with `seatrial rollout abort {quote(intent.rollout)}`"
    yield _KEEP
