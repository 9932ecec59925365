"""When NVIDIA's controller is woken, by what, for whom, and what is told of it; a small story of looks and writes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import PolicyWish
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from seatrial.core.movers.pace import remembering
from seatrial.core.movers.pace import values as pace_values
from seatrial.core.movers.pace import waking as pace
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.movers.pace import words as pace_told
from seatrial.core.movers.pace.values import (
    Lower,
    PaceMemory,
    Pacing,
    Raise,
    Reset,
    Seen,
    Wait,
    WaitCode,
    WakeHold,
)
from seatrial.core.movers.pace.ways import WAKE_LABEL, WAKE_VALUE, Watched, Way
from seatrial.core.node import phases
from tests import builders

ON = OperatorFacts(kind="ClusterPolicy/cluster-policy", is_auto_upgrading=True)
OURS = {WAKE_LABEL: WAKE_VALUE}
T = builders.NOW


def a_node(name: str, state: str, **facts: Any) -> NodeFacts:
    """A node in a state of its controller's, running the old driver."""
    return builders.a_node(name, nvidia_state=state, **facts).facts


def done(name: str, **facts: Any) -> NodeFacts:
    return a_node(name, "upgrade-done", driver=builders.a_new_driver(name), **facts)


def restarting(name: str, *, is_ready: bool, **facts: Any) -> NodeFacts:
    driver = builders.a_new_driver(name) if is_ready else builders.a_starting_driver(name)
    return a_node(name, "pod-restart-required", **({"driver": driver} | facts))


def validating(name: str, *, is_ready: bool, **facts: Any) -> NodeFacts:
    validator = builders.a_validator(name, is_ready=is_ready)
    return a_node(name, "validation-required", driver=builders.a_new_driver(name), validator=validator, **facts)


class Story:
    """Looks and writes in order; a write is done and seen at once unless told otherwise."""

    def __init__(self, *nodes: NodeFacts, release: str = "v26.7.0", may_reset: bool = False) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.operator = ON
        self.release = OperatorVersion.parse(release) if release else None
        self.may_reset = may_reset
        self.memory = PaceMemory()
        self.gains: list[pace_values.Gain] = []

    def change(self, *nodes: NodeFacts) -> None:
        """Nodes as they are now; a label of ours stays where it is."""
        for node in nodes:
            labels = dict(self.nodes[node.name].labels) if node.name in self.nodes else {}
            self.nodes[node.name] = replace(node, labels=labels | dict(node.labels))

    def look(self, at: float, *, is_done: bool = True) -> Pacing:
        seen = Seen(nodes=self.nodes, operator=self.operator, release=self.release, may_reset=self.may_reset)
        pacing = pace.decide_pace(seen, self.memory, at)
        self.memory = pace.noted(pacing, at, is_done=is_done)
        self.gains += pacing.gains
        if is_done and pacing.act is not None:
            self._write(pacing.act)
        return pacing

    def _write(self, act: pace_values.Act) -> None:
        node = self.nodes[act.node]
        if isinstance(act, Reset):
            self.nodes[act.node] = replace(node, nvidia_state="")
        else:
            self.nodes[act.node] = replace(node, labels=OURS if isinstance(act, Raise) else {})


def a_ready_story(*others: NodeFacts, **options: Any) -> Story:
    """A driver became Ready a moment ago, and we saw it start."""
    story = Story(restarting("n1", is_ready=False), *(others or (done("n2"),)), **options)
    assert story.look(T).act is None
    story.change(restarting("n1", is_ready=True))
    return story


# ── whom we wake for ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_driver_that_becomes_ready_wakes_the_controller_by_a_label_on_a_node_at_rest() -> None:
    story = a_ready_story()
    gathering = story.look(T + 10)
    assert (gathering.act, gathering.wake_at) == (None, T + 10 + pace.GATHER_SECONDS)
    woken = story.look(T + 10.5)
    assert woken.act == Raise(node="n2", resource_version="7")
    assert woken.woken_for == ("n1",)


def test_a_validator_that_becomes_ready_wakes_it_too() -> None:
    story = Story(validating("n1", is_ready=False), done("n2"))
    story.look(T)
    story.change(validating("n1", is_ready=True))
    story.look(T + 5)
    assert story.look(T + 5.5).woken_for == ("n1",)


@pytest.mark.parametrize("owner", ["", "pool"])
def test_the_end_of_the_last_job_wakes_it_too(owner: str) -> None:
    wish = PolicyWish(jobs_selector="app=train")
    job = builders.a_gpu_pod(labels=(("app", "train"),))
    story = Story(a_node("n1", "wait-for-jobs-required", pods=(job,), owner=owner), done("n2"))
    pools = (Pool(name="pool", claim=DriverClaim(name="pool"), policy=wish),)
    story.operator = replace(ON, pools=pools) if owner else replace(ON, policy=wish)
    assert story.look(T).waits[0].code is WaitCode.JOBS
    story.change(a_node("n1", "wait-for-jobs-required", pods=(builders.a_gpu_pod(),), owner=owner))
    story.look(T + 5)
    assert story.look(T + 5.5).woken_for == ("n1",)


@pytest.mark.parametrize("selector", [None, "", "a ==== b"])
def test_without_a_selector_that_can_be_read_no_job_is_waited_for(selector: str | None) -> None:
    story = Story(a_node("n1", "wait-for-jobs-required"), done("n2"))
    story.operator = replace(ON, policy=PolicyWish(jobs_selector=selector))
    assert story.look(T).waits[0].code is WaitCode.STEP
    assert story.look(T + 5).act is None


def test_pods_that_become_ready_together_are_served_by_one_wake() -> None:
    story = Story(*(restarting(f"n{number}", is_ready=False) for number in range(1, 9)), done("n9"))
    story.look(T)
    for number in range(1, 9):
        story.change(restarting(f"n{number}", is_ready=True))
        story.look(T + 10 + number / 100)
    woken = story.look(T + 10.52)
    assert len(woken.woken_for) == 8
    assert story.memory.wake_count == 1


def test_two_wakes_are_never_closer_than_the_gap() -> None:
    story = a_ready_story(restarting("n2", is_ready=False), done("n3"))
    story.look(T + 10)
    assert story.look(T + 10.5).act is not None
    story.change(validating("n1", is_ready=False), restarting("n2", is_ready=True))
    assert story.look(T + 10.6).wake_at == T + 10.5 + pace.GAP_SECONDS
    assert story.look(T + 11.4).act is None
    assert story.look(T + 11.5).woken_for == ("n2",)


def test_a_node_that_lacks_nothing_from_the_start_is_left_to_the_controllers_own_look() -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.look(T + 10.5)
    story.change(validating("n1", is_ready=True))
    assert story.look(T + 10.8).wake_at == T + 10.5 + pace.RAISED_SECONDS  # only to take the label away
    story.look(T + 12.5)
    assert story.look(T + 15.7).act is None
    assert story.look(T + 15.81).woken_for == ("n1",)


def test_what_is_ready_when_we_begin_is_woken_for_at_once() -> None:
    story = Story(restarting("n1", is_ready=True), done("n2"))
    story.look(T)
    assert story.look(T + 0.5).woken_for == ("n1",)


def test_a_change_that_the_controller_overlooked_is_woken_for_when_it_had_time_to_see_it_itself() -> None:
    """It looks when the DaemonSet changes, maybe before the new revision is there; then it would sleep two minutes."""
    story = Story(done("n1"), done("n2"), done("n3"))
    assert story.look(T).is_over
    story.change(a_node("n1", "upgrade-done"), a_node("n2", "upgrade-done", is_skipped=True))
    seen = story.look(T + 10)
    assert not seen.is_over
    assert {wait.node: wait.code for wait in seen.waits} == {"n1": WaitCode.LOOK, "n2": WaitCode.SKIPPED}
    assert (seen.act, seen.wake_at) == (None, T + 10 + pace.OWN_LOOK_SECONDS)
    assert story.look(T + 15).woken_for == ("n1",)
    story.change(a_node("n1", "upgrade-required"))
    assert [wait.code for wait in story.look(T + 16).waits if wait.node == "n1"] == [WaitCode.TURN]


def test_a_wake_that_moves_nobody_is_repeated_later_each_time() -> None:
    story = a_ready_story()
    woken_at = [second for second in range(10, 250) if story.look(T + second).woken_for]
    assert [after - before for before, after in pairwise(woken_at)] == [5, 10, 20, 40, 60, 60]


def test_a_driver_that_is_lost_again_is_not_woken_for() -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.change(restarting("n1", is_ready=False))
    assert story.look(T + 10.5).act is None


@pytest.mark.parametrize(
    "node",
    [
        a_node("n1", "upgrade-required", is_skipped=True),
        a_node("n1", "pod-deletion-required", pods=(builders.a_gpu_pod(),)),
        a_node("n1", "upgrade-failed", driver=builders.a_new_driver()),
        a_node("n1", "pod-restart-required"),
        a_node("n1", "pod-restart-required", driver=builders.a_new_driver(is_terminating=True)),
        a_node("n1", "validation-required", validator=None),
        a_node("n1", "validation-required", validator=builders.a_validator(is_terminating=True)),
        a_node("n1", "some-typo"),
        a_node("n1", ""),
        a_node("n1", "upgrade-done", is_skipped=True),
        a_node("n1", "upgrade-done", wanted=None),
        a_node("n1", "upgrade-done", driver=builders.a_driver(is_orphaned=True)),
        a_node("n1", "upgrade-done", driver=builders.a_driver(is_terminating=True)),
        restarting("n1", is_ready=True, is_skipped=True, labels={WAKE_LABEL: "true"}),
    ],
    ids=lambda node: node.nvidia_state or "none",
)
def test_nobody_is_woken_for_a_node_that_a_look_would_not_move_or_that_is_to_be_left_alone(node: NodeFacts) -> None:
    story = Story(node, done("n2"))
    assert [story.look(T + second).act for second in range(0, 300, 10)] == [None] * 30


@pytest.mark.parametrize(
    "node",
    [
        a_node("n1", "upgrade-required"),
        a_node("n1", "cordon-required"),
        a_node("n1", "pod-deletion-required"),
        a_node("n1", "uncordon-required", driver=builders.a_new_driver()),
    ],
    ids=lambda node: node.nvidia_state,
)
def test_a_fleet_in_which_nobody_moves_although_somebody_could_is_woken_again_and_again(node: NodeFacts) -> None:
    """Its controller looked while the API server still showed it a node as it was, and would sleep for two minutes."""
    story = Story(node, done("n2"))
    woken_at = [second for second in range(250) if story.look(T + second).woken_for]
    assert woken_at == [10, 30, 70, 130, 190]
    (wait,) = story.look(T + 250).waits
    assert "no node moves, and the controller was woken 5 times" in pace_told.why_waits(wait)


def test_nobody_is_woken_for_a_turn_that_the_limit_does_not_allow() -> None:
    waiting, busy = a_node("n1", "upgrade-required"), restarting("n2", is_ready=False)
    assert [Story(waiting, busy).look(T + second).act for second in range(0, 300, 10)] == [None] * 30
    story = Story(waiting, busy, done("n3"))
    story.operator = replace(ON, policy=PolicyWish(parallel_max=2))
    story.look(T)
    assert story.look(T + 10).woken_for == ("n1",)


def test_whenever_somebody_moves_the_patience_with_the_others_begins_anew() -> None:
    story = Story(a_node("n1", "upgrade-required"), done("n2"))
    for second in range(131):
        story.look(T + second)
    story.change(a_node("n2", "upgrade-required"))
    story.look(T + 131)
    assert [second for second in range(131, 180) if story.look(T + second).woken_for] == [141, 161]


@pytest.mark.parametrize("step_seconds", [-900.0, -3.0, 10_000.0])
def test_a_clock_that_is_put_back_does_not_stop_the_waking(step_seconds: float) -> None:
    story = a_ready_story()
    story.look(T + 10)
    assert story.look(T + 10.5).woken_for == ("n1",)
    now = T + 11 + step_seconds
    woken_at = [second for second in range(60) if story.look(now + second).woken_for]
    assert woken_at
    assert woken_at[0] <= pace.AGAIN_SECONDS[0] + 1
    story.look(now + 60)
    assert not any(stay.since > now + 60 for stay in story.memory.stays.values())


def test_a_wake_waits_a_little_for_a_deleted_driver_pod_to_have_a_successor() -> None:
    gone = restarting("n2", is_ready=False, driver=None)
    story = a_ready_story(gone, done("n3"))
    story.look(T + 10)
    assert story.look(T + 10.6).wake_at == pytest.approx(T + 10.5 + pace.SETTLE_SECONDS)
    story.change(restarting("n2", is_ready=False))
    assert story.look(T + 10.7).woken_for == ("n1",)
    story = a_ready_story(gone, done("n3"))
    story.look(T + 10)
    assert story.look(T + 12.5).woken_for == ("n1",)  # but not for ever


# ── what is written, and what is left ────────────────────────────────────────────────────────────────────────────────


def test_the_next_wake_takes_the_label_away_again() -> None:
    story = a_ready_story(restarting("n2", is_ready=False), done("n3"))
    story.look(T + 10)
    story.look(T + 10.5)
    story.change(validating("n1", is_ready=False), restarting("n2", is_ready=True))
    story.look(T + 11)
    woken = story.look(T + 11.6)
    assert (woken.act, woken.woken_for) == (Lower(node="n3"), ("n2",))
    assert not any(pace_ways.is_trace(node.labels) for node in story.nodes.values())


def test_a_label_that_no_wake_takes_away_is_gone_after_two_seconds() -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.look(T + 10.5)
    story.change(done("n1"))
    assert story.look(T + 11).wake_at == T + 10.5 + pace.RAISED_SECONDS
    lowered = story.look(T + 12.5)
    assert (lowered.act, lowered.woken_for) == (Lower(node="n2"), ())
    assert story.look(T + 20).wake_at is None


def test_what_a_killed_pace_left_is_taken_away_on_sight_whatever_else_is_so() -> None:
    story = Story(done("n1", labels=OURS), a_node("n2", "upgrade-required", labels=OURS))
    story.operator = OperatorFacts()
    assert story.look(T).act == Lower(node="n1")
    assert story.look(T + 0.5).wake_at == T + pace.GAP_SECONDS
    assert story.look(T + 1).act == Lower(node="n2")
    assert story.look(T + 2).act is None


@pytest.mark.parametrize("value", ["true", "false", ""])
def test_a_node_that_a_person_labelled_carries_no_wake(value: str) -> None:
    labels = {WAKE_LABEL: value}
    story = a_ready_story(done("n2", labels=labels), done("n3"))
    story.look(T + 10)
    assert story.look(T + 10.5).act == Raise(node="n3", resource_version="7")
    story = Story(restarting("n1", is_ready=True, labels=labels), done("n2", labels=labels))
    story.look(T)
    held = story.look(T + 1)
    assert (held.act, held.hold) == (None, WakeHold.NO_CARRIER)
    assert all(node.labels == labels for node in story.nodes.values())


def test_a_person_who_writes_over_our_label_keeps_theirs() -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.look(T + 10.5)
    story.nodes["n2"] = done("n2", labels={WAKE_LABEL: "true"}, is_skipped=True)
    assert story.look(T + 12.6).act is None
    assert story.memory.carrier == ""


def test_where_all_are_under_way_one_of_them_carries_the_wake() -> None:
    story = a_ready_story(restarting("n2", is_ready=False))
    story.look(T + 10)
    assert story.look(T + 10.5).act == Raise(node="n1", resource_version="7")


def test_nodes_that_the_controller_does_not_know_carry_no_wake() -> None:
    story = a_ready_story(a_node("cpu", "", driver=None))
    story.look(T + 10)
    assert story.look(T + 10.5).act == Raise(node="n1", resource_version="7")


def test_a_write_that_was_turned_down_is_tried_again_soon_and_counts_as_no_wake() -> None:
    story = a_ready_story()
    story.look(T + 10)
    assert story.look(T + 10.5, is_done=False).act is not None
    assert story.look(T + 10.6).wake_at == T + 10.5 + pace.RETRY_SECONDS[0]
    assert story.look(T + 10.71).act == Raise(node="n2", resource_version="7")
    assert story.memory.wake_count == 1


def test_a_server_that_does_not_answer_is_asked_less_and_less_often() -> None:
    story = a_ready_story()
    story.look(T + 9)
    tenths = range(100, 900)
    tried_at = [tenth for tenth in tenths if story.look(T + tenth / 10, is_done=False).act is not None]
    assert [after - before for before, after in pairwise(tried_at)] == [2, 4, 10, 20, 50, *[100] * 7]


def test_a_label_of_ours_whose_answer_was_lost_is_taken_away() -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.look(T + 10.5, is_done=False)
    story.change(done("n2", labels=OURS))
    assert story.look(T + 10.8).act == Lower(node="n2")


# ── releases ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("release", "watched", "way"),
    [
        ("v24.9.2", Watched.ANY_LABEL, Way.FLIP),
        ("v25.3.4", Watched.ANY_LABEL, Way.FLIP),
        ("v25.10.1", Watched.ANY_LABEL, Way.FLIP),
        ("v26.3.0", Watched.STATE_LABEL, Way.NONE),
        ("v26.3.2", Watched.STATE_LABEL, Way.NONE),
        ("v26.7.0", Watched.STATE_OR_SKIP_LABEL, Way.FLIP),
        ("v27.1.0", Watched.STATE_OR_SKIP_LABEL, Way.FLIP),
    ],
)
def test_each_release_is_woken_by_what_it_watches(release: str, watched: Watched, way: Way) -> None:
    version = OperatorVersion.parse(release)
    assert pace_ways.watched_by(version) is watched
    assert pace_ways.way_of(version, may_reset=False) is way
    assert pace_ways.way_of(version, may_reset=True) is (Way.RESET if way is Way.NONE else Way.FLIP)


def test_a_release_that_is_not_known_is_woken_by_the_skip_label() -> None:
    assert pace_ways.way_of(None, may_reset=True) is Way.FLIP


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("nvcr.io/nvidia/gpu-operator:v25.10.0", "v25.10.0"),
        ("10.20.30.40:5000/nvidia/gpu-operator:v26.3.1-rc.1", "v26.3.1-rc.1"),
        ("gpu-operator-v26.7.0", "v26.7.0"),
        ("gpu-operator-certified.v24.9.2", "v24.9.2"),
        ("v24.6.1", "v24.6.1"),
        ("gpu-operator-v1.0.0-devel", ""),
        ("devel-ubi8", ""),
        ("nvcr.io/nvidia/gpu-operator@sha256:0af3", ""),
        ("10.20.30.40", ""),
        ("", ""),
    ],
)
def test_the_release_is_read_off_image_tags_and_labels(text: str, release: str) -> None:
    assert str(pace_ways.release_in(["", text]) or "") == release


def test_v26_3_is_left_alone_and_told_why() -> None:
    story = a_ready_story(release="v26.3.0")
    held = [story.look(T + 10 + second) for second in range(30)]
    assert {(pacing.act, pacing.hold, pacing.is_in_vain) for pacing in held} == {(None, WakeHold.RELEASE_DEAF, True)}
    assert "--reset-done-states" in pace_told.why_held(WakeHold.RELEASE_DEAF, ON, story.release)


def test_v26_3_is_woken_by_the_state_of_a_done_node_only_when_asked() -> None:
    others = (
        done("n2", labels={WAKE_LABEL: "false"}),
        a_node("n3", "upgrade-done"),  # out of date: it would begin instead
        done("n4"),
    )
    story = a_ready_story(*others, release="v26.3.0", may_reset=True)
    woken = story.look(T + 10)
    assert (woken.act, woken.woken_for) == (Reset(node="n4"), ("n1", "n3"))
    assert story.memory.carrier == ""
    story = a_ready_story(restarting("n2", is_ready=False), release="v26.3.0", may_reset=True)
    story.look(T + 10)
    assert story.look(T + 10.5).hold is WakeHold.NO_CARRIER


@pytest.mark.parametrize("operator", [OperatorFacts(), replace(ON, is_auto_upgrading=False)])
def test_a_controller_that_is_off_is_not_woken_and_our_label_is_taken_away(operator: OperatorFacts) -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.look(T + 10.5)
    story.operator = operator
    assert story.look(T + 11).hold is WakeHold.CONTROLLER_OFF
    assert story.look(T + 12.5).act == Lower(node="n2")
    assert [story.look(T + 13 + second).act for second in range(60)] == [None] * 60


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_wait_has_a_sentence() -> None:
    assert set(pace_told.SENTENCES) == set(WaitCode)
    for operator in (ON, OperatorFacts()):
        for hold in WakeHold:
            assert pace_told.why_held(hold, operator, OperatorVersion.parse("v26.3.0"))


def test_what_each_node_waits_for() -> None:
    pods = tuple(builders.a_gpu_pod(number) for number in range(3))
    story = Story(
        a_node("n1", "upgrade-required"),
        a_node("n2", "upgrade-required", is_skipped=True),
        a_node("n3", "pod-deletion-required", pods=pods),
        a_node("n4", "pod-restart-required", driver=builders.a_starting_driver(trouble="ImagePullBackOff")),
        a_node("n5", "node-maintenance-required"),
        a_node("n6", "upgrade-failed"),
        a_node("n7", "some-typo"),
        restarting("n8", is_ready=True),
        done("n9"),
    )
    assert {wait.node: pace_told.why_waits(wait) for wait in story.look(T).waits} == {
        "n1": "waits for its turn",
        "n2": "is left out: somebody marked it with nvidia.com/gpu-driver-upgrade.skip=true",
        "n3": "waits for its pods to leave (jobs/train-0 and 2 more)",
        "n4": "waits for its driver pod to become Ready (ImagePullBackOff)",
        "n5": "waits for the maintenance operator to drain it",
        "n6": "failed, says the controller; fix it, then `seatrial node retry n6`",
        "n7": "is stuck in a state that the controller does not know; correct the label",
        "n8": "is ready: the controller has to look",
    }


def test_a_controller_that_does_not_hear_is_told_of() -> None:
    wait = Wait(node="n1", state="validation-required", code=WaitCode.LOOK, wake_count=pace.DEAF_COUNT)
    assert "woken 3 times and did not" in pace_told.why_waits(wait)


def test_it_is_over_when_the_controller_has_nothing_left_to_move() -> None:
    failed, skipped = a_node("n1", "upgrade-failed"), a_node("n2", "upgrade-required", is_skipped=True)
    assert Story(failed, skipped, done("n3")).look(T).is_over
    for state in (NodePhase.UPGRADE_REQUIRED, *phases.UNDER_WAY):
        assert not Story(failed, a_node("n4", state)).look(T).is_over


def test_what_polling_would_have_cost_is_the_rest_of_its_two_minutes() -> None:
    story = a_ready_story()
    story.look(T + 10)
    story.look(T + 10.5)
    story.change(validating("n1", is_ready=False))
    story.look(T + 11)
    story.change(validating("n1", is_ready=True))
    story.look(T + 12)
    story.look(T + 12.5)
    story.change(a_node("n1", "uncordon-required"))
    story.look(T + 13)
    first, second = story.gains
    assert (first.state, first.waited_seconds, first.polled_seconds) == ("pod-restart-required", 1.0, 110.0)
    # By then the validator would have been Ready, and its own write makes the controller look.
    assert (second.state, second.waited_seconds, second.polled_seconds) == ("validation-required", 1.0, 0.0)
    worth = pace_told.worth(story.memory)
    assert (worth.wake_count, worth.under_way_most) == (2, 1)
    assert worth.nodes == (pace_told.NodeGain(node="n1", waited_seconds=2.0, polled_seconds=110.0),)
    assert worth.spared_seconds == pytest.approx(108.0)


@pytest.mark.parametrize(
    ("entered_at", "ready_at", "seen_at"),
    [(0, 10, 120), (0, 120, 120), (0, 121, 240), (50, 50, 50), (50, 40, 50)],
)
def test_a_controller_that_polls_looks_when_it_writes_and_every_two_minutes(
    entered_at: float, ready_at: float, seen_at: float
) -> None:
    assert remembering.polled_at(entered_at, ready_at) == seen_at


def test_a_wait_that_nobody_had_to_end_costs_nothing() -> None:
    story = Story(a_node("n1", "pod-deletion-required"), done("n2"))
    story.look(T)
    story.change(validating("n1", is_ready=True))
    story.look(T + 1)
    story.change(done("n1"))
    story.look(T + 2)
    assert story.gains == []
    assert pace_told.worth(story.memory).spared_seconds == 0.0


def test_what_is_known_of_the_release_is_said() -> None:
    assert pace_told.assumption(None).startswith(
        "the operator's release is unknown; assuming that it reacts to the skip"
    )
    assert pace_told.assumption(OperatorVersion.parse("v25.3.1")) == "GPU Operator v25.3.1: watches any label of a node"
