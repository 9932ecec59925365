"""The canary compared: with itself before the upgrade, and with nodes like it in the same rounds of gates.

    before it is touched    three rounds of every gate that measures, on the canary and on up to four controls
    every round after       the same gates on the controls beside the canary; the figures are added to the sums
    a loss that is proven   ends the campaign, as a gate that fails does

Law of this file: nobody leaves a GPU for a measurement, and nobody waits for one without end. A node at work is left
out and named, and so is one on which a gate does not pass; each is asked once in a round, one gate after the other, and
has as long as its gates may take. What a control shows fails nobody. A round is added in the write that ends it.

Tests: tests/core/campaign/test_comparing.py; whole campaigns: tests/sim/test_comparing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.base.values import dataclass, replace
from seatrial.core.campaign.course import Course, remembered
from seatrial.core.campaign.proving import controls, starting
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.judging import comparing, evidence
from seatrial.core.judging.asked import Asked, asked_of
from seatrial.core.judging.comparing import Round
from seatrial.core.judging.findings import BASELINE_MIN, Against, Finding
from seatrial.core.judging.meanings import meaning
from seatrial.core.judging.together import judged
from seatrial.core.model.campaign import Campaign, CampaignRecord, Turn
from seatrial.core.model.gates.compared import (
    CANARIES_MAX,
    SILENCE,
    Compared,
    Comparison,
    Lens,
    Missing,
    Moments,
    Stream,
    Track,
)
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.model.gates.suite import BUILT_IN
from seatrial.core.model.instants import Instant
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress
from seatrial.core.text import foreign
from seatrial.core.text.names import a_few, number_of
from seatrial.core.words import speeds

FIGURES_MAX: Final = 24
"""How many figures of a canary are, the first by name: eight GPUs with all of their links have about twenty."""
BEGIN_SECONDS: Final = 180.0
"""How long a probe may take beyond its gate's limit: it has to be scheduled, and its end has to be seen."""
WHY_MAX: Final = 200
DIGITS: Final = 10
"""How many digits of a sum are kept: what is beyond them is less than a millionth of any spread."""


def gates_of(campaign: Campaign) -> tuple[Gate, ...]:
    """The gates whose figures are compared: those of our payloads that measure a rate or a time, each once."""
    found: dict[str, Gate] = {}
    for gate in campaign.gates:
        if gate.probe in BUILT_IN and BUILT_IN[gate.probe].measures:
            found.setdefault(gate.probe, gate)
    return tuple(found.values())


# ── how a round stands ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far the measurements of one round are, on nodes that have no verdict to give."""

    due: tuple[StartProbe, ...] = ()
    pending: tuple[tuple[str, str], ...] = ()
    """What is waited for: gates, and the node of each."""
    missing: tuple[Missing, ...] = ()
    until: Instant = 0.0
    """When nobody is waited for any more."""

    @property
    def named(self) -> str:
        return a_few(sorted(f"{gate} on {node}" for gate, node in self.pending))


def _stand(view: View, gates: tuple[Gate, ...], nodes: Iterable[str], *, is_open: bool = True) -> Standing:
    """How the current round stands on these nodes; who has not begun may do so while it is open."""
    number, until = view.record.round, _limit(view, gates)
    due: list[StartProbe] = []
    pending: list[tuple[str, str]] = []
    missing: dict[str, str] = {}
    for node in nodes:
        asked = [gate.on(controls.gpus_of(view, node)) for gate in gates if node not in gate.not_on]
        tries = {gate.name: _try(view, gate.name, node, number) for gate in asked}
        may_begin = is_open or any(tries.values())
        for gate in asked:
            tried = tries[gate.name]
            if tried is not None and tried.verdict is GateVerdict.PASSED:
                continue
            if tried is not None and tried.verdict is not GateVerdict.PENDING:
                missing.setdefault(node, f"gate {gate.name}: {tried.detail or tried.verdict}")
                continue
            unfit = controls.why_unfit(view, node, gate.gpus) if tried is None else ""
            if unfit or not may_begin or view.now >= until:
                late = f"gate {gate.name} was not measured in time"
                missing.setdefault(node, unfit or (late if may_begin else "its GPUs were not free in time"))
                break
            pending.append((gate.name, node))
            if tried is None:
                due.append(starting.probe(view, gate, node))
            break  # one at a time: they would wait for each other's GPUs, and the limit counts
    return Standing(
        due=tuple(due),
        pending=tuple(pending),
        missing=tuple(Missing(node=node, why=foreign.line(why, WHY_MAX)) for node, why in sorted(missing.items())),
        until=until,
    )


def _limit(view: View, gates: Iterable[Gate]) -> Instant:
    since = max(view.record.round_at, view.record.entered_at, view.seen.attentive_since)
    return since + sum(gate.timeout_seconds + BEGIN_SECONDS for gate in gates)


def _try(view: View, gate: str, node: str, number: int) -> Measurement | None:
    found = [each for each in view.seen.measurements if (each.gate, each.node, each.round) == (gate, node, number)]
    return max(found, key=lambda each: each.attempt, default=None)


# ── before the upgrade ───────────────────────────────────────────────────────────────────────────────────────────────


def step_baseline(view: View) -> Course | None:
    """The rounds before anything is done to a canary; None where they are over, or nothing is compared."""
    record, compared, gates = view.record, view.record.compared, gates_of(view.campaign)
    if compared is not None and compared.is_measured:
        return None
    if compared is None and not gates:
        return None
    marks = tuple((gate.name, gate.mark) for gate in gates)
    if compared is None or not compared.baseline_from or compared.gates != marks:
        return _next_round(view, _begun(view, marks))
    new = [each.canary for each in compared.comparisons if not each.round]
    stand = _stand(view, gates, (*new, *compared.controls))
    shown = {each.node for each in _figures(view, gates, record.round)}
    # Where no canary can be measured, nobody is waited for: controls alone say nothing.
    if stand.pending and (shown | {node for _, node in stand.pending}) & set(new):
        return Course(record=record, acts=probes(view, stand), holds=(_measuring(view, compared, stand),))
    is_enough = record.round + 1 >= compared.baseline_from + BASELINE_MIN
    if not is_enough and shown & set(new):
        return _next_round(view, compared)
    found = _with_baseline(view, compared, gates, stand.missing)
    turn = Turn(phase=record.phase, at=view.now, why=_told_before(found, new))
    return Course(record=replace(record, compared=found, history=remembered(record, turn)))


def _told_before(compared: Compared, canaries: Iterable[str]) -> str:
    """For people: who was measured, or why nobody was. How long an upgrade takes counts from here."""
    seen = [each for each in compared.comparisons if each.tracks and each.canary in canaries]
    if seen:
        count = len({name for each in seen for name in each.controls})
        beside = f", and {number_of(count, 'node')} like it" if count else ""
        return f"{a_few([each.canary for each in seen])} was measured before its upgrade{beside}"
    if not compared.missing_before:
        return "no gate measured a rate or a time before, so there is nothing to compare with"
    missing = a_few(f"{each.node} ({each.why})" for each in compared.missing_before)
    return f"nothing could be measured before the upgrade: {missing}"


def _next_round(view: View, compared: Compared) -> Course:
    """One more round before the upgrade. Its number is never used again, as with all rounds."""
    counted = replace(compared, baseline_rounds=compared.baseline_rounds + 1)
    return Course(record=replace(view.record, compared=counted, round=view.record.round + 1, round_at=view.now))


def _measuring(view: View, compared: Compared, stand: Standing) -> Hold:
    number = view.record.round - compared.baseline_from + 1
    told = view.hold(HoldCode.MEASURED_BEFORE, gates=stand.named, number=number, count=BASELINE_MIN, until=stand.until)
    return view.turned_down(stand.due) or told


def _begun(view: View, marks: tuple[tuple[str, str], ...]) -> Compared:
    """Nothing measured yet. Who was upgraded already keeps what is known of it; nothing can be measured any more."""
    record = view.record
    before = record.compared
    known = {each.canary: each for each in before.comparisons} if before is not None and before.gates == marks else {}
    found: list[Comparison] = []
    missing: list[Missing] = []
    for name in record.canaries[:CANARIES_MAX]:
        if view.progress(name) is Progress.AWAY:
            gpu_count = max(gate.on(controls.gpus_of(view, name)).gpus for gate in gates_of(view.campaign))
            found.append(Comparison(canary=name, controls=controls.free(view, name, gpu_count)))
        elif name in known:
            found.append(_held_to(known[name], [each for each in known[name].controls if each not in record.canaries]))
        else:
            missing.append(Missing(node=name, why="it has changed since"))
    missing += [Missing(node=name, why=f"at most {CANARIES_MAX} are") for name in record.canaries[CANARIES_MAX:]]
    return Compared(
        gates=marks,
        comparisons=tuple(found),
        baseline_from=record.round + 1,
        baseline_rounds=before.baseline_rounds if before is not None else 0,
        missing_before=tuple(missing),
    )


def _with_baseline(view: View, compared: Compared, gates: tuple[Gate, ...], missing: tuple[Missing, ...]) -> Compared:
    """With all rounds before the upgrade; who was not measured in each of them is no control."""
    numbers = range(compared.baseline_from, view.record.round + 1)
    rounds = [Round(number=each, is_baseline=True, figures=_figures(view, gates, each)) for each in numbers]
    found: list[Comparison] = []
    for each in compared.comparisons:
        if each.round:  # was measured before an earlier upgrade of it
            found.append(each)
            continue
        judgeable = _names(each.canary, rounds)
        wanted = frozenset(judgeable[:FIGURES_MAX])
        if len(judgeable) > FIGURES_MAX:
            why = f"{len(judgeable) - FIGURES_MAX} figures more than the {FIGURES_MAX} that are kept"
            missing = (*missing, Missing(node=each.canary, why=why))
        alike = [name for name in each.controls if all(_has(name, wanted, one) for one in rounds)]
        comparison = _held_to(each, alike)
        for one in rounds:
            chosen = tuple(figure for figure in one.figures if figure.name in wanted)
            comparison = comparing.added(comparison, replace(one, figures=chosen))
        found.append(_trimmed(comparison))
    told = {each.node: each for each in (*compared.missing_before, *missing)}
    return replace(compared, comparisons=tuple(found), is_measured=True, missing_before=tuple(told.values()))


def _names(canary: str, rounds: Iterable[Round]) -> list[str]:
    """The figures of a canary that can be judged, in the order in which they are kept."""
    found = {
        figure.name
        for each in rounds
        for figure in each.figures
        if figure.node == canary and meaning(figure.name, figure.unit) is not None
    }
    return sorted(found)


def _has(node: str, names: frozenset[str], seen: Round) -> bool:
    return names <= {figure.name for figure in seen.figures if figure.node == node}


def _held_to(comparison: Comparison, alike: Iterable[str]) -> Comparison:
    """Held against these controls only."""
    kept = tuple(alike)
    nodes = {comparison.canary, *kept}
    tracks = tuple(each for each in comparison.tracks if each.node in nodes)
    return replace(comparison, controls=kept, tracks=tracks)


def reopened(record: CampaignRecord) -> Compared | None:
    """What is compared when another node goes first: rounds before the upgrade are due once more."""
    return replace(record.compared, baseline_from=0, is_measured=False) if record.compared is not None else None


# ── rounds of gates ──────────────────────────────────────────────────────────────────────────────────────────────────


def beside(view: View, *, is_open: bool) -> Standing:
    """How the controls stand in a round of gates. None begins any more once the canaries are through with theirs."""
    compared = view.record.compared
    if compared is None or not compared.is_measured:
        return Standing()
    return _stand(view, _asked(view, compared), compared.controls, is_open=is_open)


def _asked(view: View, compared: Compared) -> tuple[Gate, ...]:
    """The gates that are what they were before the upgrade."""
    return tuple(gate for gate in gates_of(view.campaign) if (gate.name, gate.mark) in compared.gates)


def probes(view: View, stand: Standing) -> tuple[StartProbe, ...]:
    """Those of its measurements that may be begun in this pass."""
    return tuple(probe for probe in stand.due if view.may_act(probe.subject))


def running(view: View, stand: Standing) -> Hold:
    """That the canaries are through, and nodes like them are not."""
    return view.turned_down(stand.due) or view.hold(HoldCode.GATES_RUNNING, gates=stand.named, until=stand.until)


def after_round(view: View, stand: Standing) -> Compared | None:
    """What is compared, with a round of gates that has passed."""
    compared = view.record.compared
    if compared is None or not compared.is_measured:
        return compared
    number = view.record.round
    figures = _figures(view, _asked(view, compared), number)
    seen = Round(number=number, is_baseline=False, figures=figures)
    found = tuple(_trimmed(comparing.added(each, _known(each, seen))) for each in compared.comparisons)
    return replace(compared, comparisons=found, missing=stand.missing)


def _known(comparison: Comparison, seen: Round) -> Round:
    """Of a round the figures that were there before the upgrade: others can never be compared."""
    names = {each.figure for each in comparison.tracks}
    return replace(seen, figures=tuple(each for each in seen.figures if each.name in names))


def _figures(view: View, gates: Iterable[Gate], number: int) -> tuple[Figure, ...]:
    """What the gates of a round have measured, where they passed."""
    names = {gate.name for gate in gates}
    return tuple(
        figure
        for each in view.seen.measurements
        if each.round == number and each.gate in names and each.verdict is GateVerdict.PASSED
        for figure in each.figures
    )


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _trimmed(comparison: Comparison) -> Comparison:
    """Without what nobody reads again: of a control only how it stood, and how far it wandered from the others."""
    return replace(comparison, tracks=tuple(_trimmed_track(each, comparison.canary) for each in comparison.tracks))


def _trimmed_track(track: Track, canary: str) -> Track:
    track = replace(track, before=_cut(track.before), paired=_cut_stream(track.paired))
    if track.node != canary:
        return replace(track, after=SILENCE, paired_before=Moments())
    return replace(track, after=_cut_stream(track.after), paired_before=_cut(track.paired_before))


def _cut(moments: Moments) -> Moments:
    return replace(moments, mean=_digits(moments.mean), squares=_digits(moments.squares))


def _cut_stream(stream: Stream) -> Stream:
    waiting = _digits(stream.waiting) if stream.waiting is not None else None
    return replace(stream, moments=_cut(stream.moments), waiting=waiting)


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


# ── what it says ─────────────────────────────────────────────────────────────────────────────────────────────────────


def why_unproven(record: CampaignRecord, campaign: Campaign) -> str:
    """Why the loss that is asked to be excluded is not; empty where it is, or none is asked."""
    if not campaign.bake.exclude:
        return ""
    if not gates_of(campaign):
        return "no gate of the rollout measures anything"
    return speeds.lack(speeds.speeds_of(record, campaign), record)


def unproven(view: View) -> Hold | None:
    """That the fleet waits until the asked loss is excluded."""
    why = why_unproven(view.record, view.campaign)
    asked = f"{100 * view.campaign.bake.exclude:g}%"
    return view.hold(HoldCode.LOSS_NOT_EXCLUDED, asked=asked, why=why) if why else None


def unprovable(view: View) -> Hold | None:
    """The same before anything has begun, where it could never be otherwise."""
    return unproven(view) if not gates_of(view.campaign) else None


def why_failed(record: CampaignRecord, campaign: Campaign) -> str:
    """Which figures have lost more than is tolerated, by what was written down; empty where none has."""
    if record.compared is None or not record.compared.comparisons:
        return ""
    asked = asked_of(campaign.bake)
    spoke = judged(evidence.kept(record), asked).spoke
    return "; ".join(_told(each, record.compared, asked) for each in spoke)


def _told(found: Finding, compared: Compared, asked: Asked) -> str:
    low, high = found.interval(asked)
    clock = " per clock" if found.lens is Lens.PER_CLOCK else ""
    between = f", {low:.1%} to {high:.1%} at {asked.confidence:.0%}" if low is not None and high is not None else ""
    rounds = f"in {number_of(found.round_count, 'round')}"
    against = "against itself before the upgrade"
    if found.against is Against.CONTROLS:
        alike = next((each.controls for each in compared.comparisons if each.canary == found.node), ())
        against += f" and {number_of(len(alike), 'node')} like it"
    return f"{found.figure}{clock} of {found.node} lost {found.loss or 0.0:.1%} ({rounds}{between}) {against}"
