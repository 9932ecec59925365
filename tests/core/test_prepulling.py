"""The new driver's image is brought to a node before the node is touched."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core import prepulling
from seatrial.core.actions import StartProbe
from seatrial.core.gates import TRIES_MAX, Measurement, Verdict
from seatrial.core.holds import HoldCode
from seatrial.core.snapshot import NodeSeen
from seatrial.core.views import View
from tests.builders import a_campaign, a_campaign_record, a_done_node, a_snapshot, a_view, an_old_node

IMAGE = "nvcr.io/nvidia/driver:580.105.08-ubuntu22.04"


def with_image(node: NodeSeen) -> NodeSeen:
    assert node.facts.wanted is not None
    return replace(node, facts=replace(node.facts, wanted=replace(node.facts.wanted, image=IMAGE)))


def measured(name: str, verdict: Verdict, attempt: int = 1) -> Measurement:
    return Measurement(gate=prepulling.NAME, node=name, round=prepulling.ROUND, attempt=attempt, verdict=verdict)


def viewing(*nodes: NodeSeen, measurements: tuple[Measurement, ...] = ()) -> View:
    return a_view(a_snapshot(*nodes, campaign=a_campaign_record(), measurements=measurements))


def seeing(*tried: Measurement) -> View:
    """One node on the old driver whose DaemonSet names the new image."""
    return viewing(with_image(an_old_node("n1")), measurements=tried)


def test_a_node_without_the_image_gets_a_job_of_it_and_waits() -> None:
    ready, acts, holds = prepulling.bring(seeing(), ["n1"])
    assert ready == frozenset()
    assert [act.id for act in acts if isinstance(act, StartProbe) and act.gate.image == IMAGE] == [acts[0].id]
    assert [held.code for held in holds] == [HoldCode.PREPULLING]


def test_how_the_job_ends_does_not_matter_only_that_it_ran() -> None:
    for verdict in (Verdict.PASSED, Verdict.FAILED):
        assert prepulling.bring(seeing(measured("n1", verdict)), ["n1"]) == (frozenset({"n1"}), (), ())


def test_a_job_that_runs_is_waited_for_and_not_started_again() -> None:
    ready, acts, holds = prepulling.bring(seeing(measured("n1", Verdict.PENDING)), ["n1"])
    assert (ready, acts) == (frozenset(), ())
    assert [held.code for held in holds] == [HoldCode.PREPULLING]


def test_an_image_that_cannot_be_started_is_asked_for_a_few_times_and_then_holds_the_node() -> None:
    tried = [measured("n1", Verdict.UNKNOWN, attempt) for attempt in range(1, TRIES_MAX + 1)]
    _, acts, _ = prepulling.bring(seeing(*tried[:1]), ["n1"])
    assert [act.attempt for act in acts if isinstance(act, StartProbe)] == [2]
    ready, acts, holds = prepulling.bring(seeing(*tried), ["n1"])
    assert (ready, acts) == (frozenset(), ())
    assert [held.code for held in holds] == [HoldCode.IMAGE_NOT_PULLED]


def test_who_asks_for_no_prepull_gets_none() -> None:
    view = seeing()
    view = replace(view, campaign=a_campaign(prepull=False))
    assert prepulling.bring(view, ["n1"]) == (frozenset({"n1"}), (), ())


def test_a_node_that_runs_the_driver_already_or_names_no_image_needs_nothing() -> None:
    view = viewing(with_image(a_done_node("n1")), an_old_node("n2"))
    assert prepulling.bring(view, ["n1", "n2"]) == (frozenset({"n1", "n2"}), (), ())


def test_only_so_many_nodes_begin_to_pull_in_one_pass() -> None:
    nodes = [with_image(an_old_node(f"n{number:02}")) for number in range(prepulling.STARTS_MAX + 5)]
    _, acts, _ = prepulling.bring(viewing(*nodes), [node.name for node in nodes])
    assert len(acts) == prepulling.STARTS_MAX
