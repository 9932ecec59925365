"""What core says, collected from its tables and from the situations of its tests: a heading for each part, then lines.

Law of this file: it walks along enums and tables, so that a new hold, act or phase has its line without anybody asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from string import Formatter
from typing import Final

from seatrial.app import outcome
from seatrial.cli.exit_codes import MEANINGS as EXIT_CODES
from seatrial.core.actions.at_home import StepAct
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model import deployers, edits, troubles
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates import suite
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary
from seatrial.core.movers.dra import words as dra_words
from seatrial.core.movers.dra.values import Stand, Standing
from seatrial.core.movers.pace import words as pace_words
from seatrial.core.survey.audit import findings
from seatrial.core.words import acts, announce, conditions, explain, proofs, requests, speeds
from seatrial.core.words.commits import message_of, tag_message
from tests.builders import NOW, a_campaign_record
from tests.core.words import test_announce, test_commit_messages, test_conditions, test_proofs, test_speeds
from tests.core.words.explained import sentence
from tests.core.words.test_explain import real_hold
from tests.words import surveying

COUNTS: Final = ("0", "1", "2")
COUNTED: Final = frozenset({"pods_text"})
"""Gaps that count without saying so in their spelling."""
Lines = Iterator[str]


def holds() -> Lines:
    """Why each hold waits and what to do, and the same with every count in it at 0, 1 and 2."""
    for code in HoldCode:
        held = real_hold(code)
        yield f"{code}: {sentence(held, NOW + 2)}"
        yield from (f"{code}: {explain.why(each)}" for each in _counted(held))


def _counted(held: Hold) -> Iterator[Hold]:
    said = explain.EXPLANATIONS[held.code]
    gaps = [(gap, spec) for text in (said.why, said.next_step) for _, gap, spec, _ in Formatter().parse(text)]
    names = {gap for gap, spec in gaps if gap and spec} | {"count" for gap, _ in gaps if gap in COUNTED}
    for number in COUNTS if names else ():
        params = dict(held.params) | dict.fromkeys(names & dict(held.params).keys(), number)
        yield replace(held, params=tuple(params.items()))


def failures() -> Lines:
    """Why a node fails, and what is recognised in what its pods say."""
    yield from (f"{code}: {text}" for code, text in explain.FAILURES.items())
    for trouble in troubles.Trouble:
        found = troubles.Diagnosis(trouble=trouble, found="the words of others")
        yield f"{trouble}: {' | '.join(troubles.advice(found, pod='driver-n1', node='n1', kernel='5.15'))}"


def followers() -> Lines:
    """How a GitOps engine is stopped, and what makes it go."""
    for kind, following in deployers.FOLLOWING.items():
        whole = deployers.Follower(kind=kind, namespace="gitops", name="gpu")
        yield f"{kind}: {whole.title}: {whole.look} | {whole.restore} | {whole.mend}"
        stopped = (replace(whole, stop=stop) for stop in following.resume)
        yield from (f"{kind}: because {each.stop}: {each.resume}" for each in stopped)


def acted() -> Lines:
    """Every act in one line, and what is told of it when it fails."""
    for action, _ in test_announce.LINES:
        yield f"{type(action).__name__}: {acts.told(action)}"
    for action, _ in test_announce.OTHERS:
        (said,) = announce.announce(None, action, "no", annotations=test_announce.KEYS)
        yield f"{type(action).__name__} failed: {said.text}"


def phases() -> Lines:
    """What an Event says of each phase of a campaign."""
    for phase in RolloutPhase:
        for canaries in ((), ("n1",), ("n1", "n2")):
            record = test_announce.turned(a_campaign_record(canaries=canaries), phase)
            yield from (said.text for said in announce.announce_phase(None, record))


def conditioned() -> Lines:
    """What the conditions of a rollout say, with 0, 1 and 2 nodes."""
    for phase in RolloutPhase:
        yield from _messages(test_conditions.a_record(phase, why="gate smoke failed on n1"))
    for total in range(3):
        for state in ("progressing", "waiting", "done"):
            counts = (("upgrade-failed", total),) if total else ()
            summary = Summary(state=state, done=total, total=total, counts=counts, holds=(("parallel-limit", total),))
            record = replace(test_conditions.a_record(), summary=summary)
            yield from _messages(record)
            yield from (said.text for said in announce.announce_state("", record))


def _messages(record: RolloutRecord) -> Lines:
    yield from (f"{each.type} {each.status.value}: {each.message}" for each in conditions.conditions_of(record))


def committed() -> Lines:
    """Commits, the tag and the pull request, with one canary and with two."""
    intent = test_commit_messages.asking()
    for names in (("node-1",), ("node-1", "node-2")):
        record = test_commit_messages.showing(*names, why="gate smoke failed on node-1")
        for action, _ in test_announce.LINES:
            if isinstance(action, StepAct):
                said = message_of(action, intent, record)
                yield f"commit: {said.subject or '(of Git)'} | {said.body}"
        yield f"tag: {' | '.join(filter(None, tag_message(intent, record).splitlines()))}"
        asked = requests.message_of(test_commit_messages.FIRST, intent, record)
        yield from (f"request: {line}" for line in asked.body.splitlines() if line.startswith(("-", "#")))
    for left in ((), ("nodes stay cordoned, since their driver is not validated: n1",)):
        for is_deleted in (True, False):
            yield f"left: {announce.announce_left(left, is_deleted=is_deleted).text}"


def proven() -> Lines:
    """What a bake proves, with no error, one and two, and without anybody who watches."""
    for events in range(3):
        yield from proofs.sentences(test_proofs.explained(test_proofs.seen(events=events)))
    yield from proofs.sentences(test_proofs.explained(test_proofs.seen(load=0.0)))
    yield from proofs.sentences(test_proofs.explained(None))
    for rounds in (1, 2, 20):
        found = test_speeds.told_of(test_speeds.compared(rounds=rounds))
        yield from (*speeds.sentences(found), speeds.line(found))


def beside() -> Lines:
    """DRA plugins and NVIDIA's controller: why each node waits, and what comes next."""
    for why in dra_words.SENTENCES:
        standing = Standing(node="n1", stand=Stand.WAITING, why=why, about="x")
        yield f"{why}: {dra_words.why(standing)}; next: {dra_words.what_next(standing)}"
    yield from (f"{code}: n1 {text.format(node='n1')}" for code, text in pace_words.SENTENCES.items())


def tables() -> Lines:
    """What is looked up: kinds of findings, edits, gates, exit codes, ends."""
    yield from (f"{kind}: {text}" for kind, text in findings.MEANINGS.items())
    yield from (f"{name}: {each.says}" for name, each in suite.BUILT_IN.items())
    yield from (f"exit {int(code)}: {text}" for code, text in EXIT_CODES.items())
    yield from (f"{end}: {text}" for end, text in outcome.MEANS.items())
    yield from (f"{point}: {text}" for point, text in explain.POINTS.items())
    yield from (f"{via}: {text}" for via, text in explain.PUBLISHING.items())
    yield from sorted({each.means for each in edits.EDITS.values()})


PARTS: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "Holds": holds,
    "Failures": failures,
    "GitOps engines": followers,
    "Acts": acted,
    "Phases": phases,
    "Conditions": conditioned,
    "Commits and requests": committed,
    "Proofs": proven,
    "DRA plugins and NVIDIA's controller": beside,
    "Audit": surveying.audited,
    "Doctor": surveying.doctored,
    "Tables": tables,
}


def text() -> str:
    """The whole list; a line that is said twice in one part stands there once."""
    parts = (f"# {title}\n\n" + "\n".join(dict.fromkeys(collect())) + "\n" for title, collect in PARTS.items())
    return "\n".join(parts)
