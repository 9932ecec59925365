"""The canary under its gates: the first round, the bake, and when the evidence is enough.

Law of this file: a round that failed ends the campaign, whatever comes after it; one that cannot be measured proves
nothing; and evidence is of one canary: when it is another node than it was, everything begins anew. Counting is in
baking.py, judging in gates.py. Tests: tests/core/campaign/test_evidence.py, tests/core/campaign/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate
from shlex import quote
from typing import Final, assert_never

from seatrial.core.actions.of_campaigns import CampaignAct, StartProbe
from seatrial.core.campaign import baking, comparing
from seatrial.core.campaign import evidence as watching
from seatrial.core.campaign.course import Course, fail, remembered, turn_to
from seatrial.core.campaign.proving import controls, exposing, gangs, loaded, starting
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.judging.kinds import attesting, expressing, tenanting
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import CampaignRecord, Point, RolloutPhase, Turn
from seatrial.core.model.gates.figures import Given
from seatrial.core.model.gates.gate import READINESS, Gate, GateResult, GateVerdict, Measurement
from seatrial.core.model.instants import Instant
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress
from seatrial.core.text import spans
from seatrial.core.text.names import a_few
from seatrial.core.words import explain

EVIDENCE_MAX: Final = 2_000
"""How many characters of evidence are told, beyond what the first failure says."""
FRESH_SECONDS: Final = 600.0
"""How long ago the round may have ended on which the waves open."""
_UNSAID: Final = (GateVerdict.PENDING, GateVerdict.UNKNOWN)


def why_failed(record: CampaignRecord) -> str:
    """Which gates have failed, by what was written down: that stays when their Jobs are gone. Empty where none has.

    As far as it fits into one text: it is written down twice, committed and announced, and of a hundred canaries that
    fail alike a few say it all. The verdicts in the record have the rest.
    """
    told = [
        f"gate {each.gate} failed on {each.node}" + (f": {each.detail}" if each.detail else "")
        for each in record.gates
        if each.verdict is GateVerdict.FAILED
    ]
    shown = told[: max(1, sum(length <= EVIDENCE_MAX for length in accumulate(map(len, told))))]
    more = len(told) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def step_gating(view: View) -> Course:
    lost = _lost_canaries(view)
    if lost:
        return turn_to(view, RolloutPhase.CANARY, why=lost, gates=(), compared=comparing.reopened(view.record))
    if baking.is_outdated(view.record, view.campaign):
        return Course(record=baking.next_round(view.record, view.now))
    looked = _look(view)
    record = replace(view.record, gates=looked.results)
    match looked.verdict:
        case GateVerdict.FAILED:
            return fail(view, why_failed(record), is_final=True, gates=looked.results)
        case GateVerdict.PASSED:
            beside = comparing.beside(view, is_open=False)
            if beside.pending:
                return _wait_for_controls(view, record, beside)
            return turn_to(
                view,
                RolloutPhase.BAKING,
                gates=looked.results,
                compared=comparing.after_round(view, beside),
                baked_until=view.now,
                watched=watching.look(view),
                well_since=view.now,
                exposed=exposing.begun(view),
            )
        case GateVerdict.UNKNOWN:
            return _ask_again(view, record, looked)
        case GateVerdict.PENDING:
            holds, wake_at = _pending(view, looked), _enough_at(view, looked)
            return Course(record=record, acts=_with_controls(view, looked), holds=holds, wake_at=wake_at)
        case _:
            assert_never(looked.verdict)


def _wait_for_controls(view: View, record: CampaignRecord, beside: comparing.Standing) -> Course:
    """The canaries have passed, and nodes like them are still measured: the round is over when they are."""
    return Course(record=record, acts=comparing.probes(view, beside), holds=(comparing.running(view, beside),))


def _with_controls(view: View, looked: baking.Round) -> tuple[CampaignAct, ...]:
    """What is due in a round, on canaries and on nodes like them."""
    return (*_probes(view, looked), *comparing.probes(view, comparing.beside(view, is_open=True)))


def step_baking(view: View) -> Course:
    course = _standing(view, _bake(view))
    due_at = exposing.due_at(view)
    if due_at is None or course.record.phase is not RolloutPhase.BAKING:
        return course
    return replace(course, wake_at=min(due_at, course.wake_at or due_at))


def _standing(view: View, course: Course) -> Course:
    """With what the bake as a whole waits for, also while a round is asked: rounds come and go, and it stays."""
    if course.record.phase is not RolloutPhase.BAKING or course.record.unwell_since:
        return course
    view, told = replace(view, record=course.record), None
    if baking.is_ended(view.record, view.campaign):
        lacking = exposing.idle(view) or comparing.unproven(view)
        told = view.unapproved(Point.WAVES) if lacking is None else None
    elif not course.holds or any(held.code is HoldCode.GATES_RUNNING for held in course.holds):
        told = _bakes(view)
    known = {held.code for held in course.holds}
    return course if told is None or told.code in known else replace(course, holds=(told, *course.holds))


def _bake(view: View) -> Course:
    lost = _lost_canaries(view)
    if lost:
        return turn_to(view, RolloutPhase.CANARY, why=lost, gates=(), compared=comparing.reopened(view.record))
    view = replace(view, record=watching.noticed(view))
    view = replace(view, record=exposing.noticed(view))
    record, now = view.record, view.now
    if record.baked_until >= record.round_at:  # the last round is over and accounted for
        return _between_rounds(view)
    if baking.is_outdated(record, view.campaign):
        return Course(record=baking.next_round(record, now))
    looked = _look(view)
    record = replace(record, gates=looked.results)
    match looked.verdict:
        case GateVerdict.FAILED:
            return fail(view, why_failed(record), is_final=True, gates=looked.results)
        case GateVerdict.PASSED:
            beside = comparing.beside(view, is_open=False)
            if beside.pending:
                return _wait_for_controls(view, record, beside)
            record = replace(record, compared=comparing.after_round(view, beside))
            return Course(record=baking.counted(record, view.seen.attentive_since, now))
        case GateVerdict.UNKNOWN:
            return Course(record=baking.uncounted(record, now))
        case GateVerdict.PENDING:
            told = watching.told(view, _patience_until(view)) if record.unwell_since else ()
            holds, wake_at = (*told, *_pending(view, looked)), _enough_at(view, looked)
            return Course(record=record, acts=_with_controls(view, looked), holds=holds, wake_at=wake_at)
        case _:
            assert_never(looked.verdict)


def _between_rounds(view: View) -> Course:
    record, campaign = view.record, view.campaign
    if record.unwell_since:
        return _wait_until_well(view)
    # A round that a pause cut short has no verdicts, and those of nobody are no pass.
    has_passed = bool(record.gates) and all(
        each.verdict is GateVerdict.PASSED or each.is_left_out for each in record.gates
    )
    if baking.is_ended(record, campaign) and has_passed:
        waiting = exposing.idle(view) or comparing.unproven(view) or view.unapproved(Point.WAVES)
        if waiting is None and not _is_fresh(view):
            return Course(record=baking.next_round(record, view.now))
        if waiting is None:
            return turn_to(view, RolloutPhase.WAVING, wave=0, bake_asked_seconds=campaign.bake.seconds)
    else:
        waiting = None
    due_at = baking.round_due_at(record, campaign)
    if view.now >= due_at:
        return Course(record=baking.next_round(record, view.now))
    if waiting is not None:  # asked again all the same: who says yes in three days is to rest on today's evidence
        return Course(record=record, holds=(waiting,), wake_at=due_at)
    unknown = [each for each in record.gates if each.verdict is GateVerdict.UNKNOWN and not each.is_left_out]
    if unknown:
        return Course(record=record, holds=(_unmeasured(view, unknown[0], record.gates, due_at),))
    unseen = exposing.unseen(view, due_at)
    if unseen is not None:
        return Course(record=record, holds=(unseen,))
    return Course(record=record, holds=(_bakes(view, due_at),))


def _bakes(view: View, until: Instant | None = None) -> Hold:
    """How much of the bake is done."""
    record, asked_seconds = view.record, view.campaign.bake.seconds
    setback = {"setback": record.setback} if record.setback else {}
    return view.hold(
        HoldCode.BAKING,
        **setback,
        well=spans.span(record.baked_seconds),
        asked=spans.span(asked_seconds),
        left=spans.span(asked_seconds - record.baked_seconds),
        until=until,
    )


def _is_fresh(view: View) -> bool:
    """Whether the last round says how the canaries are today, and all that is asked of them.

    It was begun after we last looked away, ended a moment ago, and had every gate in it as it is asked for now.
    """
    record = view.record
    is_recent = record.round_at >= view.seen.attentive_since and view.now <= record.baked_until + FRESH_SECONDS
    return is_recent and not baking.why_incomplete(record, view.campaign)


def step_round_in_waves(view: View) -> Course | None:
    """The round that is asked before the waves continue after a pause; None where none is due, or it has passed."""
    record = view.record
    if record.baked_until >= record.round_at:
        return None
    left = tuple(name for name in record.canaries if name in view.nodes)
    if not left:
        return _stand_in(view)
    if baking.is_outdated(record, view.campaign):
        return Course(record=baking.next_round(record, view.now))
    looked = _look(replace(view, record=replace(record, canaries=left)))
    record = replace(record, gates=looked.results)
    match looked.verdict:
        case GateVerdict.FAILED:
            return fail(view, why_failed(record), is_final=True, gates=looked.results)
        case GateVerdict.PASSED:
            return Course(record=baking.uncounted(record, view.now))
        case GateVerdict.UNKNOWN:
            return _ask_again(view, record, looked)
        case GateVerdict.PENDING:
            holds, wake_at = _pending(view, looked), _enough_at(view, looked)
            return Course(record=record, acts=_probes(view, looked), holds=holds, wake_at=wake_at)
        case _:
            assert_never(looked.verdict)


def _stand_in(view: View) -> Course:
    """Every canary has left the cluster: a node that has followed is asked instead."""
    done = sorted(name for name in view.nodes if view.progress(name) is Progress.DONE)
    if not done:
        return Course(record=view.record, holds=(view.hold(HoldCode.NO_CANARY, wanted=1, found=0, why=""),))
    turn = Turn(phase=view.record.phase, at=view.now, why=f"no canary is left; {done[0]} takes its place")
    return Course(
        record=replace(
            view.record,
            canaries=(done[0],),
            watched=watching.begun(view, done[:1]),
            history=remembered(view.record, turn),
        )
    )


def _wait_until_well(view: View) -> Course:
    """A canary is not well between two rounds: it has its time to be again, and that is no evidence."""
    record, until = view.record, _patience_until(view)
    if view.now < until:
        return Course(record=record, holds=watching.told(view, until))
    results = tuple(each for each in _look(view).results if each.gate == READINESS)
    others = tuple(each for each in record.gates if each.gate != READINESS)
    failed = replace(record, gates=(*results, *others))
    return fail(view, why_failed(failed), is_final=True, gates=failed.gates)


def _lost_canaries(view: View) -> str:
    """Why the evidence so far is of another canary; empty while it is of this one."""
    for name in view.record.canaries:
        if name not in view.nodes:
            return f"canary {name} is gone"
        why = view.mover.why_lost(view, name)
        if why:
            return why
    return ""


def _look(view: View) -> baking.Round:
    """How the round stands."""
    unwell = {name: explain.why(lack) for name, lack in watching.why_unwell(view).items()}
    measured = (*_measured(view), *_attested(view), *_tenanted(view))
    until, gang = _patience_until(view), gangs.gang_of(view)
    return baking.look_at(view.record, view.campaign, measured, unwell, until, view.now, gang, partial(_why_busy, view))


def _measured(view: View) -> Iterator[Measurement]:
    """What was measured in this round, held to the driver that is to be proven: the target, else what the node runs."""
    gates = {gate.name: gate for gate in view.campaign.gates}
    target = view.intent.target.version_of(Component.GPU_DRIVER)  # people may move something else by hand
    for each in view.seen.measurements:
        if each.round == view.record.round and each.gate in gates and each.node in view.nodes:
            driver = view.nodes[each.node].facts.driver
            wanted = target or (driver.version if driver is not None else "")
            yield loaded.held_to(gates[each.gate], each, wanted)


def _why_busy(view: View, name: str, gate: Gate) -> str:
    """Who is at work on the GPUs that a gate wants, where telemetry speaks for it; in the first round it does not."""
    if view.record.phase is RolloutPhase.GATING or view.record.exposed is None:
        if gate.is_soak:
            is_early = view.record.phase is RolloutPhase.GATING
            return "it fills the time of the bake" if is_early else "nothing watches, so its work would not count"
        return ""  # its Job waits until the scheduler has room for it, for as long as the gate may take
    return controls.why_busy(view, name, gate.on(controls.gpus_of(view, name)).gpus)


def _attested(view: View) -> Iterator[Measurement]:
    """What was said where a gate asks for somebody's word."""
    record, since = view.record, attesting.stands_since(view.record)
    for gate in (each for each in view.campaign.gates if each.attest is not None):
        limit_at = _attentive_since(view) + gate.timeout_seconds
        for node in record.canaries:
            yield attesting.measured(
                gate, node, record.round, view.campaign.attested, since=since, limit_at=limit_at, now=view.now
            )


def _tenanted(view: View) -> Iterator[Measurement]:
    """How the work of tenants stands where a gate asks for it."""
    record = view.record
    known = {(each.gate, each.node): each for each in record.gates if each.round == record.round}
    for gate in view.campaign.gates:
        for node in record.canaries if gate.tenant is not None else ():
            seen, before = view.nodes[node], known.get((gate.name, node))
            opened_at = seen.record.entered_at if seen.record is not None else 0.0
            since = view.now if seen.facts.is_cordoned else max(_attentive_since(view), opened_at)
            yield tenanting.measured(gate, seen.facts, record.round, before, since=since, now=view.now)


def _enough_at(view: View, looked: baking.Round) -> Instant | None:
    """When the work of tenants has run for long enough, if it goes on as it does; None where none does."""
    asked = {gate.name: gate.tenant.seconds for gate in view.campaign.gates if gate.tenant is not None}
    waiting = (each for each in looked.of(GateVerdict.PENDING) if each.gate in asked)
    return min((each.at + asked[each.gate] for each in waiting), default=None)


def _patience_until(view: View) -> Instant:
    """Until when a canary that is not well may be so before it has failed.

    One that was just upgraded has as long as a validation may take. One that was well may be on its way up from a
    reboot, and loads its driver first.
    """
    record, intent = view.record, view.intent
    if not record.unwell_since:
        return _attentive_since(view) + intent.validation_timeout_seconds
    since = max(record.unwell_since, record.entered_at, view.seen.attentive_since)
    return since + intent.restart_timeout_seconds + intent.validation_timeout_seconds


def _attentive_since(view: View) -> Instant:
    """Since when a round has been ours to watch: no outage and no pause of ours fails anybody."""
    return max(view.record.round_at, view.record.entered_at, view.seen.attentive_since)


def _probes(view: View, looked: baking.Round) -> tuple[CampaignAct, ...]:
    return tuple(probe for probe in _due(view, looked) if view.may_act(probe.subject))


def _due(view: View, looked: baking.Round) -> Iterator[StartProbe]:
    gates = {gate.name: gate for gate in view.campaign.gates}
    for name, node, attempt in looked.due:
        together = gangs.gang_of(view).nodes if gates[name].is_gang else ()
        gate = gates[name].on(min(controls.gpus_of(view, each) for each in together or (node,)))
        given = _given(view, looked, node) if gate.expression else None
        yield starting.probe(view, gate, node, attempt, given, together)


def _given(view: View, looked: baking.Round, node: str) -> Given:
    expressions = frozenset(gate.name for gate in view.campaign.gates if gate.expression)
    facts, number = view.nodes[node].facts, view.record.round
    return expressing.given(facts, number, looked.results, view.seen.measurements, expressions)


def _pending(view: View, looked: baking.Round) -> tuple[Hold, ...]:
    """What a round waits for: the words of people, and what is measured."""
    asked = {gate.name for gate in view.campaign.gates if gate.attest is not None}
    working = {gate.name for gate in view.campaign.gates if gate.tenant is not None}
    waiting = looked.of(GateVerdict.PENDING)
    unsaid = dict.fromkeys(each.gate for each in waiting if each.gate in asked)
    holds = (
        *(_unattested(view, looked.results, name) for name in unsaid),
        *(_untenanted(view, looked, each) for each in waiting if each.gate in working),
    )
    is_all = all(each.gate in asked | working for each in waiting)
    return holds if holds and is_all else (*holds, _running(view, looked))


def _untenanted(view: View, looked: baking.Round, found: GateResult) -> Hold:
    """That the work of tenants has not run for long enough on a canary."""
    until = _enough_at(view, looked)
    until = until if until is not None and until > view.now else None
    return view.hold(HoldCode.TENANTS_AWAITED, gate=found.gate, node=found.node, why=found.detail, until=until)


def _unattested(view: View, results: Iterable[GateResult], name: str, until: Instant | None = None) -> Hold:
    """That a gate has nobody's word, and how it is given."""
    gate = next(each for each in view.campaign.gates if each.name == name)
    silent = [each for each in results if each.gate == name and each.verdict in _UNSAID]
    limit_at = _attentive_since(view) + gate.timeout_seconds
    return view.hold(
        HoldCode.GATE_UNATTESTED,
        gate=name,
        nodes=a_few([each.node for each in silent]),
        asks=gate.attest.asks if gate.attest is not None else "",
        reason=silent[0].detail,
        # Where others have been spoken of, the word is about one of those who have not.
        whom="" if len(silent) == len(view.record.canaries) else f" --node {quote(silent[0].node)}",
        until=until if until is not None else limit_at if limit_at > view.now else None,
    )


def _running(view: View, looked: baking.Round) -> Hold:
    turned_down = view.turned_down(_due(view, looked))
    if turned_down is not None:  # there is no Job to look at
        return turned_down
    # Everything that is measured has a limit of its own; the longest of them is when we know at the latest.
    gates = view.campaign.gates
    in_turn = sum(gate.timeout_seconds for gate in gates if gate.wants_gpus)
    seconds = TRIES_MAX * max((in_turn, *(gate.timeout_seconds for gate in gates)))
    latest = _attentive_since(view) + max(seconds, view.intent.validation_timeout_seconds)
    until = looked.again_at or (latest if latest > view.now else None)
    refused = _refused(view, looked)
    if refused is not None:
        return view.hold(
            HoldCode.GATE_REFUSED,
            gate=refused.gate,
            node=refused.node,
            why=refused.detail,
            namespace=refused.kept_out_of,
            until=until,
        )
    under_way = _under_way(view, looked)
    stuck = next((each for each in under_way if each.stuck), None)
    if stuck is not None:
        return view.hold(
            HoldCode.GATE_STUCK,
            gate=stuck.gate,
            node=stuck.node,
            why=stuck.stuck,
            pod=stuck.pod,
            job=stuck.job,
            namespace=stuck.job.partition("/")[0],
            until=until,
        )
    asked = {gate.name for gate in view.campaign.gates if gate.attest is not None or gate.tenant is not None}
    waiting = (each for each in looked.of(GateVerdict.PENDING) if each.gate not in asked)
    names = sorted({f"{each.gate} on {each.node}" for each in waiting})
    job = next((each.job for each in under_way if each.job), "")
    return view.hold(HoldCode.GATES_RUNNING, gates=a_few(names), job=job, until=until)


def _refused(view: View, looked: baking.Round) -> Measurement | None:
    """The first probe of this round whose pod is not let in: of those under way only such a one says anything."""
    return next((each for each in _under_way(view, looked) if each.detail), None)


def _under_way(view: View, looked: baking.Round) -> list[Measurement]:
    """The probes of this round that have not ended."""
    asked = {(each.gate, each.node, each.round) for each in looked.of(GateVerdict.PENDING)}
    waiting = (each for each in view.seen.measurements if each.verdict is GateVerdict.PENDING)
    return [each for each in waiting if (each.gate, each.node, each.round) in asked]


def _ask_again(view: View, record: CampaignRecord, looked: baking.Round) -> Course:
    """A first round without a verdict is asked anew after a while."""
    due_at = record.round_at + view.campaign.bake.every_seconds
    if view.now >= due_at:
        return Course(record=baking.next_round(record, view.now))
    unknown = looked.of(GateVerdict.UNKNOWN)[0]
    return Course(record=record, holds=(_unmeasured(view, unknown, looked.results, due_at),))


def _unmeasured(view: View, found: GateResult, results: Iterable[GateResult], until: Instant) -> Hold:
    if any(each.name == found.gate and each.attest is not None for each in view.campaign.gates):
        return _unattested(view, results, found.gate, until)
    return view.hold(HoldCode.GATE_UNKNOWN, gate=found.gate, node=found.node, why=found.detail, until=until)
