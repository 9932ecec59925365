"""What is compared, pass by pass; whole campaigns are in tests/sim/test_comparing.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.shapes import forms
from seatrial.core.actions.of_campaigns import MarkNode, StartProbe
from seatrial.core.campaign import comparing
from seatrial.core.campaign.comparing import FIGURES_MAX
from seatrial.core.campaign.proving import controls
from seatrial.core.holds import HoldCode
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence, kept
from seatrial.core.judging.matching import CONTROLS_MAX
from seatrial.core.judging.together import judged
from seatrial.core.model.campaign import Bake, CampaignRecord, RolloutPhase
from seatrial.core.model.gates.compared import CANARIES_MAX, Compared, Comparison, Missing
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.gate import PROBE_LABEL, READINESS, Gate, GateResult, GateVerdict, Measurement
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.words.explain import why as why_of
from tests.builders import (
    NOW,
    a_campaign_record,
    a_done_node,
    a_gpu_pod,
    a_measurement,
    a_snapshot,
    a_view,
    an_operator,
)
from tests.builders import an_old_node as old_node
from tests.core.campaign.test_evidence import careful, course_of
from tests.core.judging.upgrades import an_upgrade

SPEED = Gate(name="speed", image="probes:1", probe="performance", timeout_seconds=600.0)
TRAIN = Gate(name="train", image="probes:1", probe="smoke-train")
MEASURED = careful(gates=(SPEED,))
FLEET = tuple(old_node(f"n{number}") for number in range(1, 7))


def measured(node: str, number: int, value: float = 50.0, *, gate: Gate = SPEED, **changes: Any) -> Measurement:
    figure = Figure(name="hbm-copy", value=value, node=node, at=0.0, unit="GB/s", gpu="g0")
    found: dict[str, Any] = {"gate": gate.name, "node": node, "round": number, "figures": (figure,)}
    return a_measurement(**(found | changes))


def after(record: CampaignRecord, *nodes: NodeSeen, intent: Any = MEASURED, now: float = NOW, **changes: Any) -> Any:
    """What a pass does next; who goes first is marked."""
    marked = (
        replace(node, facts=replace(node.facts, canary_of="spring")) if node.name in record.canaries else node
        for node in nodes or FLEET
    )
    seen = a_snapshot(*marked, campaign=record, operator=an_operator(), **changes)
    return course_of(seen, intent, now)


def at_first(*nodes: NodeSeen, intent: Any = MEASURED, **changes: Any) -> CampaignRecord:
    """The record with which the rounds before the upgrade begin."""
    course = after(a_campaign_record(RolloutPhase.CANARY, **changes), *nodes, intent=intent)
    assert course.acts == (), "record first"
    found = course.record
    assert isinstance(found, CampaignRecord)
    return found


def compared_of(record: CampaignRecord) -> Compared:
    assert record.compared is not None
    return record.compared


def asked(course: Any) -> list[tuple[str, str, int]]:
    assert all(isinstance(act, StartProbe) for act in course.acts)
    return [(act.gate.name, act.node, act.round) for act in course.acts]


# ── before the upgrade ───────────────────────────────────────────────────────────────────────────────────────────────


def test_before_anything_is_done_the_canary_and_four_nodes_like_it_are_measured() -> None:
    course = after(at_first())
    assert asked(course) == [("speed", name, 1) for name in ("n1", "n2", "n3", "n4", "n5")]
    assert course.open == frozenset()
    (held,) = course.holds
    assert (held.code, held.until) == (HoldCode.MEASURED_BEFORE, NOW + 600.0 + comparing.BEGIN_SECONDS)


def test_three_rounds_are_measured_and_added_in_one_write() -> None:
    record, told = at_first(), tuple[Measurement, ...]()
    for number in (1, 2, 3):
        told += tuple(measured(f"n{node}", number, 50.0 + node + number / 100) for node in range(1, 6))
        assert not compared_of(record).is_measured
        assert record.round == number
        record = after(record, measurements=told).record
    found = compared_of(record)
    assert found.is_measured
    (comparison,) = found.comparisons
    assert comparison.controls == ("n2", "n3", "n4", "n5")
    (canary,) = comparison.of("n1")
    assert (canary.before.count, canary.paired_before.count, found.baseline_rounds) == (3, 3, 3)
    assert after(record, measurements=told).record.compared == found, "the canary's turn has come"


def test_a_canary_at_work_is_not_measured_and_nobody_waits_for_it() -> None:
    busy = (old_node("n1", pods=(a_gpu_pod(1),)), *FLEET[1:])
    found = compared_of(after(at_first(*busy), *busy).record)
    assert found.is_measured
    assert found.missing_before == (Missing(node="n1", why=f"its GPUs are in use by {a_gpu_pod(1).full_name}"),)


def test_nodes_at_work_are_no_controls_and_others_take_their_place() -> None:
    busy = (FLEET[0], old_node("n2", pods=(a_gpu_pod(1),)), *FLEET[2:])
    assert compared_of(at_first(*busy)).controls == ("n3", "n4", "n5", "n6")


def test_a_node_with_fewer_gpus_than_a_gate_asks_for_is_no_control() -> None:
    eight = careful(gates=(replace(SPEED, gpus=8),))
    small = old_node("n2", offer=GpuOffer(resources=(("nvidia.com/gpu", 4),)))
    assert compared_of(at_first(FLEET[0], small, *FLEET[2:], intent=eight)).controls == ("n3", "n4", "n5", "n6")


def test_who_is_kept_out_is_marked_before_anybody_is_measured() -> None:
    seen = a_snapshot(*FLEET, campaign=a_campaign_record(RolloutPhase.CANARY), operator=an_operator())
    course = course_of(seen, MEASURED)
    assert [type(act) for act in course.acts] == [MarkNode]
    assert course.record.compared is None


def test_a_probe_of_ours_is_nobodys_work() -> None:
    ours = a_gpu_pod(1, labels=((PROBE_LABEL, "speed"),))
    assert controls.tenants(old_node(pods=(ours, a_gpu_pod(2))).facts) == (a_gpu_pod(2),)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"is_ready": False}, "it is not Ready"),
        ({"is_cordoned": True}, "it is cordoned"),
    ],
)
def test_a_control_that_somebody_works_on_is_left_out(change: dict[str, Any], why: str) -> None:
    record = at_first()
    told = tuple(measured(name, 1) for name in ("n1", "n3", "n4", "n5"))
    nodes = (FLEET[0], old_node("n2", **change), *FLEET[2:])
    assert controls.why_unfit(a_view(a_snapshot(*nodes, campaign=record), MEASURED), "n2") == why
    assert after(record, *nodes, measurements=told).record.round == 2, "it is not waited for"


def test_nobody_is_waited_for_beyond_the_limit_of_the_gates() -> None:
    record, late = at_first(), NOW + 600.0 + comparing.BEGIN_SECONDS
    pending = tuple(measured(f"n{number}", 1, verdict=GateVerdict.PENDING, figures=()) for number in range(1, 6))
    assert after(record, measurements=pending, now=late - 1.0).record == record
    found = compared_of(after(record, measurements=pending, now=late).record)
    assert found.is_measured
    assert {each.why for each in found.missing_before} == {"gate speed was not measured in time"}


def test_a_gate_that_fails_before_the_upgrade_is_named_and_fails_nobody() -> None:
    record = at_first()
    broken = measured("n1", 1, verdict=GateVerdict.FAILED, figures=(), detail="no CUDA device")
    found = after(record, measurements=(broken,)).record
    assert found.phase is RolloutPhase.CANARY
    assert Missing(node="n1", why="gate speed: no CUDA device") in compared_of(found).missing_before


def test_rounds_that_have_no_rate_and_no_time_leave_nothing_to_compare_with_and_say_so() -> None:
    record = replace(at_first(), round=3)
    count = Figure(name="steps", value=300.0, node="n1", at=NOW)
    told = tuple(
        measured(f"n{node}", number, figures=(replace(count, node=f"n{node}"),))
        for node in range(1, 6)
        for number in (1, 2, 3)
    )
    found = after(record, measurements=told).record
    assert found.history[-1].why == "no gate measured a rate or a time before, so there is nothing to compare with"


def test_who_was_not_measured_in_every_round_before_is_no_control() -> None:
    record = replace(at_first(), round=3)
    told = tuple(
        measured(f"n{node}", number) for node in range(1, 6) for number in (1, 2, 3) if (node, number) != (4, 2)
    )
    (comparison,) = compared_of(after(record, measurements=told).record).comparisons
    assert comparison.controls == ("n2", "n3", "n5")
    assert {track.node for track in comparison.tracks} == {"n1", "n2", "n3", "n5"}


def test_a_gate_that_is_edited_meanwhile_is_measured_anew() -> None:
    record = at_first()
    other = careful(gates=(replace(SPEED, image="probes:2"),))
    found = after(record, intent=other).record
    assert (found.round, compared_of(found).baseline_from) == (2, 2)
    assert compared_of(found).gates != compared_of(record).gates


def test_gates_that_measure_nothing_are_not_run_beforehand() -> None:
    plain = careful(gates=(Gate(name="errors", image="probes:1", probe="gpu-errors"),))
    assert after(a_campaign_record(RolloutPhase.CANARY), intent=plain).record.compared is None


def test_no_more_than_four_canaries_are_compared_and_the_others_are_named() -> None:
    names = tuple(f"n{number}" for number in range(1, 7))
    found = compared_of(at_first(canaries=names))
    assert tuple(each.canary for each in found.comparisons) == names[:CANARIES_MAX]
    assert [each.node for each in found.missing_before] == ["n5", "n6"]


def test_no_more_than_so_many_figures_are_kept_and_how_many_are_not_is_told() -> None:
    record = replace(at_first(), round=3)
    many = tuple(
        Figure(name=f"rate-{place:02}", value=50.0, node="n1", at=0.0, unit="GB/s") for place in range(FIGURES_MAX + 9)
    )
    told = tuple(measured("n1", number, figures=many) for number in (1, 2, 3))
    late = NOW + 10_000.0
    found = compared_of(after(record, measurements=told, now=late).record)
    (comparison,) = found.comparisons
    assert len(comparison.tracks) == FIGURES_MAX
    assert Missing(node="n1", why=f"9 figures more than the {FIGURES_MAX} that are kept") in found.missing_before


# ── rounds of gates ──────────────────────────────────────────────────────────────────────────────────────────────────

BAKED = (a_done_node(canary_of="spring"), *FLEET[1:])


def baking(number: int = 5, **changes: Any) -> CampaignRecord:
    """In a round of a bake, with three rounds before the upgrade and one after."""
    record = replace(at_first(), round=3)
    told = tuple(measured(f"n{node}", each, 50.0 + node + each / 100) for node in range(1, 6) for each in (1, 2, 3))
    known = compared_of(after(record, measurements=told).record)
    settled = {"round": number, "round_at": NOW - 100.0, "baked_until": NOW - 700.0, "well_since": 100.0}
    return a_campaign_record(RolloutPhase.BAKING, **(settled | {"compared": known} | changes))


def in_round(record: CampaignRecord, *told: Measurement, nodes: tuple[NodeSeen, ...] = BAKED, **changes: Any) -> Any:
    seen = a_snapshot(*nodes, campaign=record, operator=an_operator("580.105.08"), measurements=told)
    return course_of(replace(seen, **changes), changes.pop("intent", MEASURED))


def settled(record: CampaignRecord) -> CampaignRecord:
    """With the verdicts that the canary has earned in its round."""
    well = GateResult(gate=READINESS, node="n1", round=record.round, verdict=GateVerdict.PASSED, at=NOW)
    passed = replace(well, gate=SPEED.name, asked=SPEED.mark)
    return replace(record, gates=(well, passed))


def test_controls_are_asked_in_the_same_round() -> None:
    begun = in_round(baking()).record
    assert asked(in_round(begun)) == [("speed", f"n{number}", 5) for number in range(1, 6)]


def test_a_round_is_over_when_the_controls_are_and_is_added_in_the_write_that_ends_it() -> None:
    record = settled(baking())
    told = (measured("n1", 5, 51.0), *(measured(f"n{number}", 5, 50.0 + number) for number in (2, 3, 4)))
    waiting = in_round(record, *told, measured("n5", 5, verdict=GateVerdict.PENDING, figures=()))
    assert (waiting.record, [held.code for held in waiting.holds]) == (
        record,
        [HoldCode.BAKING, HoldCode.GATES_RUNNING],
    )
    ended = in_round(record, *told, measured("n5", 5, 55.0)).record
    (comparison,) = compared_of(ended).comparisons
    assert (comparison.round, comparison.of("n1")[0].paired.moments.count) == (5, 1)
    assert ended.baked_until == NOW
    assert compared_of(in_round(ended, *told).record) == compared_of(ended), "once only"


def test_no_control_begins_when_the_canary_is_through() -> None:
    record = settled(baking())
    ended = in_round(record, measured("n1", 5), measured("n2", 5))
    assert ended.acts == ()
    found = compared_of(ended.record)
    assert [each.node for each in found.missing] == ["n3", "n4", "n5"]
    assert found.comparisons[0].of("n1")[0].paired.moments.count == 1, "against the one that is left"


def test_a_control_that_fails_or_was_upgraded_is_left_out_and_named() -> None:
    record = settled(baking())
    nodes = (BAKED[0], a_done_node("n2"), *FLEET[2:])
    broken = measured("n3", 5, verdict=GateVerdict.FAILED, figures=(), detail="exit code 1")
    course = in_round(record, measured("n1", 5), broken, measured("n4", 5), measured("n5", 5), nodes=nodes)
    assert course.record.phase is RolloutPhase.BAKING
    assert compared_of(course.record).missing == (
        Missing(node="n2", why="it has changed since"),
        Missing(node="n3", why="gate speed: exit code 1"),
    )


def test_a_gate_that_is_another_one_than_before_is_not_compared() -> None:
    other = replace(SPEED, image="probes:2")
    record = settled(baking())
    record = replace(record, gates=(record.gates[0], replace(record.gates[1], asked=other.mark)))
    seen = a_snapshot(*BAKED, campaign=record, operator=an_operator("580.105.08"), measurements=(measured("n1", 5),))
    found = course_of(seen, careful(gates=(other,))).record
    assert compared_of(found).comparisons[0].of("n1")[0].after.moments.count == 0


def a_loss() -> Any:
    """What follows a loss of speed that the record proves."""
    (lossy,) = an_upgrade(losses={"c": 0.05}).comparisons
    named = {"c": "n1", "k1": "n2", "k2": "n3", "k3": "n4"}
    tracks = tuple(replace(each, node=named[each.node]) for each in lossy.tracks)
    comparison = replace(lossy, canary="n1", controls=("n2", "n3", "n4"), tracks=tracks)
    record = baking()
    record = replace(record, compared=replace(compared_of(record), comparisons=(comparison,)))
    return in_round(record)


def test_a_loss_that_is_proven_is_written_down_and_then_ends_the_campaign() -> None:
    undone = a_loss().record
    assert undone.phase is RolloutPhase.REVERTING
    assert undone.why.startswith("matrix-fp32 of n1 lost 5.")
    assert "at 99%) against itself before the upgrade and 3 nodes like it" in undone.why


def test_when_the_canary_is_another_node_it_is_measured_before_it_goes_and_who_stays_keeps_what_is_known() -> None:
    record = baking(canaries=("n1", "n9"), watched=())
    gone = in_round(record).record
    assert gone.phase is RolloutPhase.CANARY
    found = compared_of(gone)
    assert (found.is_measured, found.baseline_from) == (False, 0)
    nodes = (BAKED[0], old_node("n2", canary_of="spring"), *FLEET[2:])
    seen = a_snapshot(*nodes, campaign=replace(gone, canaries=("n1", "n2")), operator=an_operator("580.105.08"))
    anew = compared_of(course_of(seen, MEASURED).record)
    first, second = anew.comparisons
    assert (first.controls, bool(first.tracks)) == (("n3", "n4", "n5"), True), "who goes first is no control any more"
    assert (second.canary, second.tracks) == ("n2", ())


def test_telemetry_watches_the_nodes_that_are_measured() -> None:
    record = baking()
    (comparison,) = compared_of(record).comparisons
    chosen = replace(comparison, controls=("n5", "n6"))
    record = replace(record, compared=replace(compared_of(record), comparisons=(chosen,)))
    found = in_round(record, telemetry=TelemetryFacts()).record.exposed
    assert found is not None
    assert found.controls == ("n2", "n3", "n5", "n6"), "filled up to four"


# ── until it is proven ───────────────────────────────────────────────────────────────────────────────────────────────


def an_end(loss: float, rounds: int, spread: float = 0.001) -> CampaignRecord:
    """Baked for as long as is asked, with so many rounds compared."""
    (found,) = an_upgrade(losses={"c": loss}, rounds=rounds, spread=spread).comparisons
    named = {"c": "n1", "k1": "n2", "k2": "n3", "k3": "n4"}
    tracks = tuple(replace(each, node=named[each.node]) for each in found.tracks)
    comparison = replace(found, canary="n1", controls=("n2", "n3", "n4"), tracks=tracks)
    record = settled(baking(round_at=NOW - 20.0, baked_until=NOW - 10.0, baked_seconds=48 * 3600.0))
    return replace(record, compared=replace(compared_of(record), comparisons=(comparison,)))


def until(exclude: float = 0.03, confidence: float = 0.99, **bake: Any) -> Any:
    return careful(gates=(SPEED,), bake=Bake(exclude=exclude, confidence=confidence, **bake))


def ended(record: CampaignRecord, intent: Any) -> Any:
    return course_of(a_snapshot(*BAKED, campaign=record, operator=an_operator("580.105.08")), intent)


def test_the_fleet_follows_when_the_asked_loss_is_excluded() -> None:
    assert ended(an_end(0.0, 20), until()).record.phase is RolloutPhase.WAVING


@pytest.mark.parametrize(("rounds", "intent"), [(2, until()), (20, until(exclude=0.01, confidence=0.9999))])
def test_it_waits_until_that_is_proven_and_goes_on_measuring(rounds: int, intent: Any) -> None:
    record = an_end(0.004, rounds, spread=0.004)
    course = ended(record, intent)
    (held,) = course.holds
    assert held.code is HoldCode.LOSS_NOT_EXCLUDED
    assert "matrix-fp32 of n1: " in why_of(held)
    assert course.wake_at == record.baked_until + 3600.0, "when the next round is due"


def test_no_hours_are_waited_for_where_none_are_asked_and_a_proof_is() -> None:
    early, late = (replace(an_end(0.0, *how), baked_seconds=0.0) for how in ((2, 0.01), (20, 0.001)))
    assert ended(early, until(seconds=0.0)).holds[0].code is HoldCode.LOSS_NOT_EXCLUDED
    assert ended(late, until(seconds=0.0)).record.phase is RolloutPhase.WAVING


def test_three_rounds_are_asked_for_however_quiet_the_figures_are() -> None:
    (held,) = ended(replace(an_end(0.0, 2), baked_seconds=0.0), until(seconds=0.0)).holds
    assert "n1 has 2 of at least 3 rounds since its upgrade" in why_of(held)


def test_hours_that_are_asked_for_are_waited_for_also_when_it_is_proven() -> None:
    course = ended(replace(an_end(0.0, 20), baked_seconds=3600.0), until())
    assert [held.code for held in course.holds] == [HoldCode.BAKING]


def test_a_canary_of_which_nothing_is_compared_proves_nothing() -> None:
    (held,) = ended(replace(an_end(0.0, 20), compared=None), until()).holds
    assert held.code is HoldCode.LOSS_NOT_EXCLUDED
    assert "nothing of n1 is compared" in why_of(held)


def test_what_no_gate_could_ever_prove_is_said_before_anything_begins() -> None:
    asked = careful(bake=Bake(exclude=0.03))
    never, some = (after(a_campaign_record(), intent=intent) for intent in (asked, until()))
    assert HoldCode.LOSS_NOT_EXCLUDED in {held.code for held in never.holds}
    assert HoldCode.LOSS_NOT_EXCLUDED not in {held.code for held in some.holds}


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("loss", [0.0, 0.02, 0.05])
def test_what_is_left_out_of_the_record_changes_nothing(loss: float) -> None:
    upgrade = an_upgrade(losses={"c": loss})
    trimmed = tuple(comparing._trimmed(each) for each in upgrade.comparisons)
    whole, cut = (judged(Evidence(comparisons=each), Asked()) for each in (upgrade.comparisons, trimmed))
    assert cut.verdict is whole.verdict
    for one, other in zip(cut.figures, whole.figures, strict=True):
        assert one.verdict is other.verdict
        assert one.loss == pytest.approx(other.loss, abs=1e-8)
        assert one.interval(Asked()) == pytest.approx(other.interval(Asked()), abs=1e-8)


def test_four_canaries_with_sixteen_figures_fit_into_a_status_many_times() -> None:
    (one,) = an_upgrade(rounds=200, controls=("k1", "k2", "k3", "k4")).comparisons
    one = comparing._trimmed(one)
    long = "gpu-worker-node-with-a-long-name-0001.cluster.example.com"

    def named(place: int) -> Comparison:
        tracks = tuple(
            replace(track, figure=f"peer-to-peer-{figure:02}", node=f"{track.node}-{long}")
            for track in one.tracks
            for figure in range(16)
        )
        return replace(
            one, canary=f"c{place}-{long}", controls=tuple(f"{k}-{long}" for k in one.controls), tracks=tracks
        )

    compared = Compared(comparisons=tuple(named(place) for place in range(CANARIES_MAX)))
    size = len(msgspec.json.encode(forms.write(compared)))
    assert len(one.controls) == CONTROLS_MAX
    assert size < 100_000, size


def test_what_a_record_holds_is_what_is_judged() -> None:
    record = baking()
    assert kept(record).comparisons == compared_of(record).comparisons
    assert kept(replace(record, compared=None)).comparisons == ()
