"""A gate that runs on several canaries at once: who takes part, who is left out and told, and whose answer it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.proving import gangs
from seatrial.core.holds import HoldCode
from seatrial.core.judging.kinds.ganging import shared
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Watched
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.gate import READINESS, Gang, Gate, GateVerdict, Measurement
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeSeen
from tests.builders import NEW, NOW, SMOKE, a_campaign_record, a_done_node, a_gpu_pod, a_node, a_view
from tests.core.campaign.test_evidence import careful, codes, course_of, seen_at

RING = Gate(name="ring", image="probes:1", probe="distributed", gpus=8)
THREE = ("n1", "n2", "n3")
PASSED, FAILED, UNKNOWN, PENDING = (
    GateVerdict.PASSED,
    GateVerdict.FAILED,
    GateVerdict.UNKNOWN,
    GateVerdict.PENDING,
)
BUSY = {"pods": (a_gpu_pod(1),)}
IN_USE = f"its GPUs are in use by {a_gpu_pod(1).full_name}"


def canaries(*names: str, busy: tuple[str, ...] = (), **changes: Any) -> tuple[NodeSeen, ...]:
    return tuple(
        a_done_node(name, **({"canary_of": "spring"} | changes | (BUSY if name in busy else {}))) for name in names
    )


def a_round(
    phase: RolloutPhase = RolloutPhase.GATING, names: tuple[str, ...] = THREE, **changes: Any
) -> CampaignRecord:
    watched = tuple(Watched(node=name, driver=f"driver-{name}-1", loaded_at=200.0) for name in names)
    begun: dict[str, Any] = {"round": 2, "round_at": 900.0, "canaries": names, "watched": watched}
    return a_campaign_record(phase, **(begun | changes))


def measured(verdict: GateVerdict = PASSED, *, on: tuple[str, ...] = THREE, **changes: Any) -> Measurement:
    said = Measurement(gate="ring", node=on[0], round=2, attempt=1, verdict=verdict, gang=on, drivers=(NEW.version,))
    return replace(said, **changes)


def stepped(record: CampaignRecord, nodes: tuple[NodeSeen, ...], *told: Measurement, **asked: Any) -> Course:
    """The pass after its record was written down."""
    intent = careful(**({"gates": (RING,)} | asked))
    seen = seen_at(record, *nodes, a_node("n9"), measurements=told)
    course = course_of(seen, intent)
    if course.acts or course.record.phase is not record.phase:
        return course
    return course_of(seen_at(course.record, *nodes, a_node("n9"), measurements=told), intent)


def rows(course: Course) -> dict[str, tuple[str, str]]:
    return {each.node: (each.said, each.detail) for each in course.record.gates if each.gate == "ring"}


def probes(course: Course) -> list[StartProbe]:
    return [act for act in course.acts if isinstance(act, StartProbe)]


# ── who takes part ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_canaries_are_asked_at_once_by_one_probe() -> None:
    (probe,) = probes(stepped(a_round(), canaries(*THREE)))
    assert (probe.gate, probe.node, probe.gang, probe.attempt) == (RING, "n1", THREE, 1)


def test_a_canary_at_work_is_left_out_and_named_and_the_others_go_on() -> None:
    course = stepped(a_round(), canaries(*THREE, busy=("n2",)))
    (probe,) = probes(course)
    assert probe.gang == ("n1", "n3")
    assert rows(course) == {"n1": ("pending", ""), "n2": ("left out", IN_USE), "n3": ("pending", "")}


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"is_ready": False}, "it is not Ready"),
        ({"offer": GpuOffer(resources=(("nvidia.com/gpu", 7),))}, "it offers 7 of 8 GPUs"),
        (
            {"published": ("580.105.8",), "offer": GpuOffer()},
            "its GPUs are allocated differently from those of the others",
        ),
    ],
)
def test_why_a_canary_has_no_room_is_told(facts: dict[str, Any], why: str) -> None:
    nodes = (*canaries("n1", "n3"), *canaries("n2", **facts))
    view = a_view(seen_at(a_round(), *nodes), careful(gates=(RING,)))
    found = gangs.gang_of(view)
    assert (found.nodes, found.left_out) == (("n1", "n3"), (("n2", why),))


def test_it_waits_until_every_other_job_on_these_gpus_is_through() -> None:
    done = [replace(measured(), gate="smoke", node=name, gang=()) for name in THREE]
    asked = {"gates": (RING, SMOKE)}
    assert {act.gate.name for act in probes(stepped(a_round(), canaries(*THREE), **asked))} == {"smoke"}
    assert probes(stepped(a_round(), canaries(*THREE), *done[:2], replace(done[2], verdict=PENDING), **asked)) == []
    assert [act.gate.name for act in probes(stepped(a_round(), canaries(*THREE), *done, **asked))] == ["ring"]


def test_two_such_gates_are_asked_one_after_the_other() -> None:
    other = replace(RING, name="again")
    asked = {"gates": (RING, other)}
    assert [act.gate.name for act in probes(stepped(a_round(), canaries(*THREE), **asked))] == ["ring"]
    assert [act.gate.name for act in probes(stepped(a_round(), canaries(*THREE), measured(), **asked))] == ["again"]


# ── whose answer it is ───────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_gang_says_is_said_of_everybody_in_it() -> None:
    course = stepped(a_round(), canaries(*THREE), measured())
    assert course.record.phase is RolloutPhase.BAKING
    assert rows(course) == dict.fromkeys(THREE, ("passed", "over n1, n2, n3"))


def test_a_wrong_sum_ends_the_campaign() -> None:
    course = stepped(a_round(), canaries(*THREE), measured(FAILED, detail="sums: 3 numbers are wrong"))
    assert course.record.phase is RolloutPhase.REVERTING
    assert "gate ring failed on n1: over n1, n2, n3: sums: 3 numbers are wrong" in course.record.why


def test_who_was_left_out_has_no_part_in_the_answer_and_stays_left_out() -> None:
    record = stepped(a_round(), canaries(*THREE, busy=("n2",))).record
    course = stepped(record, canaries(*THREE), measured(on=("n1", "n3")))
    assert course.record.phase is RolloutPhase.BAKING
    assert rows(course) == {
        "n1": ("passed", "over n1, n3"),
        "n2": ("left out", IN_USE),
        "n3": ("passed", "over n1, n3"),
    }


def test_tries_are_counted_over_the_gang_whoever_speaks_for_it() -> None:
    first = measured(UNKNOWN, detail="1 of its 3 members started")
    (probe,) = probes(stepped(a_round(), canaries(*THREE, busy=("n1",)), first))
    assert (probe.node, probe.gang, probe.attempt) == ("n2", ("n2", "n3"), 2)
    tries = [replace(first, attempt=number) for number in range(1, TRIES_MAX + 1)]
    course = stepped(a_round(), canaries(*THREE), *tries)
    assert probes(course) == []
    assert codes(course) == [HoldCode.GATE_UNKNOWN]
    assert rows(course)["n2"] == ("unknown", "over n1, n2, n3: 1 of its 3 members started")


def test_an_expression_sees_what_was_measured_together_on_every_node_of_it() -> None:
    rate = Figure(name="all-reduce", value=391.4, node="n1", at=0.0)
    even = Gate(name="even", expression="true")
    told = measured(figures=(rate,), on=("n1", "n3"))
    given = {
        act.node: act.given
        for act in probes(stepped(a_round(), canaries(*THREE, busy=("n2",)), told, gates=(RING, even)))
    }
    seen = {node: (each.figures, dict(each.verdicts)) for node, each in given.items() if each is not None}
    assert seen["n3"] == seen["n1"] == ((("ring", rate),), {"readiness": "passed", "ring": "passed"})
    assert seen["n2"] == ((), {"readiness": "passed"}), "it was left out, and has no part in it"


# ── where there is no gang ───────────────────────────────────────────────────────────────────────────────────────────


def test_one_canary_is_no_gang_and_the_gate_is_left_out_and_told() -> None:
    course = stepped(a_round(names=("n1",)), canaries("n1"))
    assert course.record.phase is RolloutPhase.BAKING
    assert rows(course) == {"n1": ("left out", "a sum over nodes needs 2, and n1 is alone")}


def test_before_the_bake_canaries_at_work_are_waited_for() -> None:
    course = stepped(a_round(), canaries(*THREE, busy=("n1", "n2")))
    assert (probes(course), codes(course)) == ([], [HoldCode.GATE_UNKNOWN])
    assert rows(course) == {
        "n1": ("unknown", IN_USE),
        "n2": ("unknown", IN_USE),
        "n3": ("unknown", "a sum over nodes needs 2, and n3 is alone"),
    }
    assert probes(stepped(course.record, canaries(*THREE, busy=("n2",)))), "it begins as soon as there is room"


def test_in_a_round_of_the_bake_they_are_left_out_and_the_round_counts() -> None:
    record = a_round(RolloutPhase.BAKING, baked_until=800.0, round_at=900.0)
    course = stepped(record, canaries(*THREE, busy=THREE))
    assert {said for said, _ in rows(course).values()} == {"left out"}
    assert course.record.baked_seconds == NOW - 800.0


def test_a_round_of_nobody_but_those_left_out_is_no_pass() -> None:
    left_out = shared(RING, 2, ("n1",), (), Gang(nodes=("n1",), may_be_left_out=True), is_open=True)
    assert left_out.left_out == {"n1"}
    assert left_out.by_node["n1"].verdict is UNKNOWN


def test_readiness_is_asked_of_who_is_left_out_as_of_anybody() -> None:
    course = stepped(a_round(names=("n1",)), canaries("n1"))
    assert [(each.gate, each.said) for each in course.record.gates if each.gate == READINESS] == [(READINESS, "passed")]
