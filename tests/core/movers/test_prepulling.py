"""The new driver's image is brought to a node before the node is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.holds import HoldCode
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.gates.gate import PREPULL, GateVerdict, Measurement
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.movers import prepulling
from seatrial.core.movers.view import Start, View
from tests.builders import NOW, a_campaign, a_campaign_record, a_done_node, a_rebuff, a_snapshot, a_view, an_old_node

IMAGE = "nvcr.io/nvidia/driver:580.105.08-ubuntu22.04"


def with_image(node: NodeSeen) -> NodeSeen:
    assert node.facts.wanted is not None
    return replace(node, facts=replace(node.facts, wanted=replace(node.facts.wanted, image=IMAGE)))


def measured(name: str, verdict: GateVerdict, attempt: int = 1, number: int = 0) -> Measurement:
    return Measurement(gate=PREPULL, node=name, round=number, attempt=attempt, verdict=verdict)


def viewing(*nodes: NodeSeen, measurements: tuple[Measurement, ...] = (), now: float = NOW, **record: Any) -> View:
    seen = a_snapshot(*nodes, campaign=a_campaign_record(**record), measurements=measurements)
    return a_view(seen, now=now)


def seeing(*tried: Measurement, **changes: Any) -> View:
    """One node on the old driver whose DaemonSet names the new image."""
    return viewing(with_image(an_old_node("n1")), measurements=tried, **changes)


USED_UP = tuple(measured("n1", GateVerdict.UNKNOWN, attempt) for attempt in range(1, TRIES_MAX + 1))


def test_a_node_without_the_image_gets_a_job_of_it_and_waits() -> None:
    pull = prepulling.bring(seeing(), ["n1"])
    assert pull.ready == frozenset()
    assert [act.gate.image for act in pull.acts if isinstance(act, StartProbe)] == [IMAGE]
    assert [held.code for held in pull.holds] == [HoldCode.PREPULLING]


def test_how_the_job_ends_does_not_matter_only_that_it_ran() -> None:
    for verdict in (GateVerdict.PASSED, GateVerdict.FAILED):
        view = seeing(measured("n1", verdict))
        assert prepulling.bring(view, ["n1"]) == Start(record=view.record, ready=frozenset({"n1"}))


def test_a_job_that_runs_is_waited_for_and_not_started_again() -> None:
    pull = prepulling.bring(seeing(measured("n1", GateVerdict.PENDING)), ["n1"])
    assert (pull.ready, pull.acts) == (frozenset(), ())
    assert [held.code for held in pull.holds] == [HoldCode.PREPULLING]


def test_a_job_whose_pod_is_not_let_in_is_told_at_once() -> None:
    refused = replace(measured("n1", GateVerdict.PENDING), detail="violates PodSecurity", kept_out_of="trials")
    pull = prepulling.bring(seeing(refused), ["n1"])
    assert (pull.ready, pull.acts) == (frozenset(), ())
    assert [held.code for held in pull.holds] == [HoldCode.GATE_REFUSED]
    assert dict(pull.holds[0].params)["namespace"] == "trials"


def test_a_job_that_is_itself_turned_down_is_told_with_the_reason_and_when_it_is_tried_again() -> None:
    due = seeing()
    (probe,) = prepulling.bring(due, ["n1"]).acts
    refused = replace(due, seen=replace(due.seen, rebuffs={probe.subject: a_rebuff(detail="exceeded quota")}))
    pull = prepulling.bring(refused, ["n1"])
    assert (pull.ready, pull.acts) == (frozenset(), ())
    assert [held.code for held in pull.holds] == [HoldCode.PREPULLING, HoldCode.WRITE_REFUSED]
    assert (pull.holds[1].until, dict(pull.holds[1].params)) == (
        refused.again_at(probe.subject),
        {"why": "exceeded quota"},
    )


def test_an_image_that_cannot_be_started_is_asked_for_a_few_times_and_then_holds_the_node() -> None:
    pull = prepulling.bring(seeing(*USED_UP[:1]), ["n1"])
    assert [act.attempt for act in pull.acts if isinstance(act, StartProbe)] == [2]
    pull = prepulling.bring(seeing(*USED_UP), ["n1"])
    assert (pull.ready, pull.acts) == (frozenset(), ())
    assert [held.code for held in pull.holds] == [HoldCode.IMAGE_NOT_PULLED]


def test_a_node_that_could_not_get_the_image_is_asked_again_after_a_pause_that_grows_and_the_hold_says_when() -> None:
    noted = prepulling.bring(seeing(*USED_UP), ["n1"])
    assert (noted.record.pull_round, noted.record.unpulled_at) == (0, NOW)
    waits = prepulling.bring(seeing(*USED_UP, unpulled_at=NOW, now=NOW + 899), ["n1"])
    assert [(held.code, held.until) for held in waits.holds] == [(HoldCode.IMAGE_NOT_PULLED, NOW + 900)]
    assert waits.record.pull_round == 0
    again = prepulling.bring(seeing(*USED_UP, unpulled_at=NOW, now=NOW + 900), ["n1"])
    assert (again.record.pull_round, again.record.unpulled_at) == (1, 0.0)
    asked = prepulling.bring(seeing(*USED_UP, pull_round=1), ["n1"])
    assert [(act.round, act.attempt) for act in asked.acts if isinstance(act, StartProbe)] == [(1, 1)]
    record = a_campaign_record(unpulled_at=NOW)
    pauses = [prepulling.again_at(replace(record, pull_round=number)) - NOW for number in (0, 1, 2, 3, 4, 99)]
    assert pauses == [900, 1800, 3600, 7200, 7200, 7200]


def test_a_node_that_got_the_image_in_an_earlier_round_is_not_asked_again() -> None:
    view = seeing(measured("n1", GateVerdict.PASSED), pull_round=3)
    assert prepulling.bring(view, ["n1"]) == Start(record=view.record, ready=frozenset({"n1"}))


def test_one_node_without_the_image_keeps_nobody_else_waiting() -> None:
    other = measured("n2", GateVerdict.PASSED)
    view = viewing(with_image(an_old_node("n1")), with_image(an_old_node("n2")), measurements=(*USED_UP, other))
    assert prepulling.bring(view, ["n1", "n2"]).ready == frozenset({"n2"})


def test_who_asks_for_no_prepull_gets_none() -> None:
    view = seeing()
    view = replace(view, campaign=a_campaign(prepull=False))
    assert prepulling.bring(view, ["n1"]) == Start(record=view.record, ready=frozenset({"n1"}))


def test_a_node_that_runs_the_driver_already_or_names_no_image_needs_nothing() -> None:
    view = viewing(with_image(a_done_node("n1")), an_old_node("n2"))
    assert prepulling.bring(view, ["n1", "n2"]) == Start(record=view.record, ready=frozenset({"n1", "n2"}))


def test_only_so_many_nodes_begin_to_pull_in_one_pass() -> None:
    nodes = [with_image(an_old_node(f"n{number:02}")) for number in range(prepulling.STARTS_MAX + 5)]
    pull = prepulling.bring(viewing(*nodes), [node.name for node in nodes])
    assert len(pull.acts) == prepulling.STARTS_MAX
