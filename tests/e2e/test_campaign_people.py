"""What people say to a campaign: yes, not yet, only at night, stop, undo it, and after that one the next.

Each story has a rollout of its own, on one stage; what is looked at is what the controller says, and what it leaves
alone until it is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.app.headline import CONTROLLERS
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LONG_BAKE, POLICY, LightStage, a_policy, light_stage
from tests.voices import live

pytestmark = pytest.mark.cluster

PREFIX = "people"
LATER = "590.44.01"
WATCHED = {"growth": "fixed", "first": 1, "pauseSeconds": 3600}
"""Waves of one node; each is watched for an hour."""


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of all stories."""
    pages = ("--metrics-bind-address", "127.0.0.1:0")
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, arguments=pages) as made:
        yield made


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before."""
    shared.open()
    return shared


# ── yes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_moves_at_any_point_before_a_person_says_yes(stage: LightStage) -> None:
    stage.begin("asked", approvals={"manual": ["canary", "waves", "promotion"]})
    stage.wait_held("approval-pending", saying="before the canary is touched")
    assert stage.wait_holds("approval-pending")["phase"] == "Proposed"
    assert stage.condition("Progressing") == ("False", "ApprovalPending")
    assert stage.run("status").returncode == 12
    assert "`seatrial rollout approve asked canary`" in stage.run("why", "asked").stdout
    assert not stage.touched()
    assert not stage.marks()
    assert not stage.writes("clusterpolicies")
    check_voices(stage, "Proposed")

    stage.do("rollout", "approve", "asked", "canary")
    stage.wait_held("approval-pending", saying="before the fleet follows the canary")
    assert stage.phases()[-1] == "Baking"
    assert stage.touched() == {stage.canary}

    stage.do("rollout", "approve", "asked", "waves")
    stage.wait_held("approval-pending", saying="before the matrix is promoted")
    assert stage.phases()[-1] == "Waving"
    check_voices(stage, "Waving")
    assert stage.touched() == set(stage.fleet.nodes)
    assert stage.do("rollout", "promote", "asked").startswith("asked: promotion is approved.")
    stage.wait_phase("Done")
    assert not stage.marks()
    check_voices(stage, "Done")


def check_voices(stage: LightStage, phase: str) -> None:
    """Commands, `kubectl get`, conditions, the report and the metrics say the same of this moment."""
    log = stage.controller.log.read_text(encoding="utf-8")
    found = live.check(stage.plane, stage.run, log, stage.rollout)
    assert found.columns["PHASE"] == phase
    assert f'seatrial_rollout_phase{{phase="{phase}"}} 1.0' in found.metrics


def test_queued_nodes_name_the_approval_and_rounds_of_gates_do_not_take_its_place(stage: LightStage) -> None:
    stage.begin("asked-steadily", approvals={"manual": ["waves"]})
    stage.wait_held("approval-pending", saying="before the fleet follows the canary")
    stage.wait_holds("approval-pending", "not-its-turn")
    for name in sorted(set(stage.fleet.nodes) - {stage.canary})[:2]:
        said = stage.run("why", name).stdout
        assert f"Answer    {name}: its turn has not come yet" in said
        assert "`seatrial rollout approve asked-steadily waves`" in said
        assert "on its own" not in said
    (queued,) = [each for each in stage.status()["nodesWaiting"] if each["code"] == "not-its-turn"]
    assert queued["next"] == "Approve with `seatrial rollout approve asked-steadily waves`."

    first, seen = stage.campaign()["round"], set()

    def look() -> bool:
        status = stage.status()
        reason = next(each["reason"] for each in status["conditions"] if each["type"] == "Progressing")
        seen.add((reason, status["why"]))
        return bool(status["campaign"]["round"] >= first + 4)

    stage.wait(look, "gates to be asked four times more")
    assert seen == {("ApprovalPending", "somebody has to approve before the fleet follows the canary")}


def test_a_failed_canary_waits_for_a_yes_before_it_is_undone(stage: LightStage) -> None:
    name = stage.fleet.nodes[0]
    stage.fleet.break_driver(name, "module-load", restart_count=11)
    try:
        stage.begin("asked-back", canary={"nodes": [name]}, approvals={"manual": ["rollback"]})
        told = stage.wait_held("rollback-pending")
        assert f"canary {name} failed" in told
        assert stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == stage.target
        assert stage.phases()[-1] == "Canary"
        stage.do("rollout", "approve", "asked-back", "rollback")
        stage.wait_phase("Reverting")
    finally:
        stage.fleet.mend(name)
    stage.wait_phase("Reverted")
    assert stage.touched() == {name}
    assert not stage.marks()
    assert not stage.cordoned()


# ── requested until it is done ───────────────────────────────────────────────────────────────────────────────────────


def first_line(stage: LightStage) -> str:
    return stage.run("status").stdout.partition("\n")[0]


def lose_controller(stage: LightStage) -> None:
    """The controller is killed, and its Lease has run out: what minutes of silence do, without the minutes."""
    stage.controller.kill()
    _lease(stage, {"renewTime": f"{datetime.now(UTC) - timedelta(minutes=3):%Y-%m-%dT%H:%M:%S.%fZ}"})


def bring_back(stage: LightStage) -> None:
    """Another controller begins, and need not wait for the Lease of the dead one."""
    _lease(stage, {"holderIdentity": ""})
    stage.controller.start()


def _lease(stage: LightStage, spec: dict[str, str]) -> None:
    body = json.dumps({"spec": spec})
    stage.plane.kubectl("-n", "seatrial", "patch", "lease", "seatrial", "--type=merge", "-p", body)


def test_a_pause_is_done_when_the_controller_has_done_it_and_its_reason_is_told_everywhere(stage: LightStage) -> None:
    stage.begin("reasoned", **LONG_BAKE)
    stage.wait_phase("Baking")
    assert first_line(stage).startswith("OK  Baking, ")
    said = stage.do("rollout", "pause", "reasoned", "--reason", "the storage is down", "--timeout", "1m")
    assert said.startswith("reasoned is paused: every node keeps its place")
    why = "the rollout is paused: the storage is down; every node keeps its place"
    assert stage.status()["phase"] == "Paused"
    assert stage.status()["why"] == f"{why[:59]}…"
    assert first_line(stage) == "NEEDS YOU  it is paused: seatrial rollout resume reasoned"
    assert why in " ".join(stage.run("status").stdout.split())
    assert why in stage.run("why").stdout, "the only rollout is meant"
    history = stage.run("rollout", "history", "reasoned").stdout
    assert "asked for a pause: the storage is down" in history
    assert stage.campaign()["history"][-1]["why"] == "the storage is down"
    stage.wait(lambda: "the storage is down" in json.dumps(stage.plane.get("events", "-A")), "an Event with the reason")
    assert stage.do("rollout", "resume", "reasoned", "--timeout", "1m").startswith("reasoned continues in Baking.")
    assert "pausedBecause" not in stage.plane.get("gpurollout", "reasoned")["spec"]
    undone = stage.do("rollout", "abort", "reasoned", "--reason", "seen enough", "-y", "--timeout", "1m")
    assert undone.startswith("reasoned is being undone.")
    stage.wait_phase("Reverted")
    assert first_line(stage) == "STUCK  it was undone: seatrial why reasoned"


def test_without_a_controller_that_is_the_first_line_and_a_pause_is_only_requested(stage: LightStage) -> None:
    stage.begin("unled", **LONG_BAKE)
    stage.wait_phase("Baking")
    lose_controller(stage)
    try:
        assert first_line(stage).startswith("NO CONTROLLER  nothing moves; ")
        assert "was last seen 3 min " in first_line(stage)
        assert stage.run("status").returncode == 12
        doctor = " ".join(stage.run("doctor", "--no-logs").stdout.split())
        assert "Rollout unled is open. No controller is in charge: " in doctor
        assert doctor.endswith("`seatrial status unled` says what it waits for.")
        said = stage.run("rollout", "pause", "unled", "--timeout", "1m")
        assert said.stdout.startswith("unled: pause requested; no controller is in charge (")
        assert said.stdout.endswith("so it takes effect when one runs. `seatrial status unled` shows when it has.\n")
        assert said.returncode == 12
        assert stage.do("rollout", "pause", "unled").startswith("unled: pause requested; no controller")
        assert stage.status()["phase"] == "Baking"
        assert first_line(stage).endswith("; pause requested, not done yet: " + CONTROLLERS)
    finally:
        bring_back(stage)
    stage.wait_phase("Paused")
    assert first_line(stage) == "NEEDS YOU  it is paused: seatrial rollout resume unled"
    assert stage.do("rollout", "pause", "unled") == "unled is already paused.\n"
    stage.controller.freeze()
    try:
        slow = stage.run("rollout", "resume", "unled", "--timeout", "1s")
        assert (slow.returncode, slow.stdout.partition(" within")[0]) == (
            13,
            "unled: resume requested, not yet done: the controller has not confirmed it",
        )
        assert "resume requested, not done yet" in first_line(stage)
    finally:
        stage.controller.thaw()
    stage.wait_phase("Baking")


@pytest.mark.long
def test_outside_of_its_window_nothing_starts(stage: LightStage) -> None:
    soon = datetime.now(UTC) + timedelta(hours=3)
    closed = {"open": [{"start": f"{soon:%H:%M}", "minutes": 60}]}
    stage.begin("at-night", windows=closed)
    stage.wait_holds("outside-window")
    (held,) = json.loads(stage.run("status", "-o", "json").stdout)["holds"]
    assert held["code"] == "outside-window"
    assert datetime.fromisoformat(held["until"]).strftime("%H:%M") == f"{soon:%H:%M}"
    assert not stage.touched()
    assert not stage.writes("clusterpolicies")

    stage.patch(windows={"open": [{"start": "00:00", "minutes": 1440}]}, **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.patch(windows=closed, bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Waving")
    stage.wait_held("outside-window", count=2)
    assert stage.touched() == {stage.canary}, "the canary bakes at any hour, and nobody follows it now"
    stage.patch(windows=None)
    stage.wait_phase("Done")


def test_a_pause_freezes_the_bake_and_counts_for_nothing(stage: LightStage) -> None:
    stage.begin("paused", **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.do("rollout", "pause", "paused")
    stage.wait_phase("Paused")
    baked, number = stage.campaign().get("bakedSeconds", 0), stage.campaign()["round"]
    assert stage.condition("Progressing") == ("False", "Paused")
    assert "seatrial rollout resume paused" in stage.run("why", "paused").stdout
    stage.do("rollout", "resume", "paused")
    stage.wait_phase("Baking")
    began = next(turn["at"] for turn in reversed(stage.campaign()["history"]) if turn["phase"] == "Paused")
    ended = stage.campaign()["enteredAt"]
    away_seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    stage.wait(lambda: stage.campaign()["round"] > number + 1, "another round")
    now = datetime.now(UTC) - datetime.fromisoformat(ended)
    assert stage.campaign()["bakedSeconds"] <= baked + now.total_seconds() + 1.5, f"{away_seconds} s are no evidence"
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")


# ── no ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_abort_before_the_beginning_writes_nothing(stage: LightStage) -> None:
    stage.begin("unbegun", approvals={"manual": ["canary"]})
    stage.wait_held("approval-pending")
    stage.do("rollout", "abort", "unbegun", "--reason", "not this one", "-y")
    stage.wait_phase("Reverted")
    assert stage.campaign()["why"] == "not this one"
    assert not stage.touched()
    assert not stage.writes("clusterpolicies")
    assert not stage.writes("nodes")


def test_an_abort_while_the_canary_is_at_work_takes_it_back(stage: LightStage) -> None:
    name = stage.fleet.nodes[0]
    stage.fleet.break_driver(name, "image-pull")
    try:
        stage.begin("from-canary", canary={"nodes": [name]})
        stage.wait_held("driver-starting", name)
        stage.do("rollout", "abort", "from-canary", "--reason", "wrong image", "-y")
        stage.wait_phase("Reverting")
        stage.wait_held("nodes-going-back")
    finally:
        stage.fleet.mend(name)
    stage.wait_phase("Reverted")
    assert_all_back(stage, touched={name})


def test_an_abort_during_the_bake_takes_the_canary_back(stage: LightStage) -> None:
    stage.begin("from-bake", **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.do("rollout", "abort", "from-bake", "--reason", "another time", "-y")
    stage.wait_phase("Reverted")
    assert_all_back(stage, touched={stage.fleet.nodes[0]})
    assert stage.condition("Ended") == ("True", "Reverted")
    assert stage.condition("Healthy") == ("False", "Undone")


@pytest.mark.long
def test_an_abort_between_two_waves_takes_back_who_went_and_leaves_the_rest(stage: LightStage) -> None:
    stage.begin("from-waves", waves=WATCHED)
    stage.wait_held("wave-pause")
    went = stage.touched()
    assert len(went) == 2
    stage.do("rollout", "abort", "from-waves", "--reason", "slower in the wave", "-y")
    stage.wait_phase("Reverted")
    assert_all_back(stage, touched=went)


# ── the next ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_a_second_rollout_waits_for_the_first_and_goes_on_when_it_ended(stage: LightStage) -> None:
    stage.begin("one", **LONG_BAKE)
    stage.wait_phase("Baking")
    before = stage.running
    stage.target, stage.running = "575.57.08", stage.target
    stage.begin("two")
    told = stage.run("why", "two").stdout
    assert "one" in told
    assert "is under way" in told
    assert stage.touched() == {stage.fleet.nodes[0]}
    assert not stage.campaign()

    stage.rollout = "one"
    stage.do("rollout", "abort", "one", "--reason", "the other first", "-y")
    stage.wait_phase("Reverted")
    stage.rollout = "two"
    stage.wait_phase("Done")
    assert set(stage.fleet.driver_versions().values()) == {"575.57.08"}
    assert stage.campaign()["baseline"] == [{"resource": f"ClusterPolicy/{POLICY}", "version": before}]
    assert not stage.marks()


@pytest.mark.long
def test_what_was_done_can_be_rolled_back_after_a_later_one_was_undone(stage: LightStage) -> None:
    stage.begin("good")
    stage.wait_phase("Done")
    good, stage.target = stage.target, "580.105.08"
    stage.begin("bad", **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.do("rollout", "abort", "bad", "--reason", "worse", "-y")
    stage.wait_phase("Reverted")
    assert set(stage.fleet.driver_versions().values()) == {good}
    stage.rollout = "good"
    said = stage.do("rollout", "rollback", "--reason", "that one too", "-y")
    assert said.startswith("good is being undone.")
    stage.wait_phase("Reverted")
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert not stage.marks()


def test_undoing_a_rollout_leaves_the_version_that_a_person_published_after_it(stage: LightStage) -> None:
    stage.begin("over")
    stage.wait_phase("Done")
    stage.set_version(LATER)
    before = {node: pod["metadata"]["uid"] for node, pod in stage.fleet.driver_pods().items()}
    stage.do("rollout", "rollback", "--reason", "too late", "-y")
    stage.wait_phase("Reverted")
    assert stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == LATER
    assert {node: pod["metadata"]["uid"] for node, pod in stage.fleet.driver_pods().items()} == before
    assert not stage.marks()


# ── where NVIDIA's controller moves the nodes ────────────────────────────────────────────────────────────────────────


def test_a_skip_label_of_ours_that_somebody_takes_away_comes_back_and_a_persons_stays(stage: LightStage) -> None:
    name, other, persons = stage.fleet.nodes
    stage.plane.apply([a_policy(stage.running, auto_upgrade=True)])
    stage.label(persons, f"{keys.SKIP_LABEL}=true")
    stage.begin("delegated", mode="delegated", canary={"nodes": [name]})
    stage.wait_held("canary-at-work")
    assert keys.SKIPPED_BY_ANNOTATION not in stage.node(persons)["annotations"]
    stage.label(other, f"{keys.SKIP_LABEL}-")
    stage.wait(lambda: stage.node(other)["labels"].get(keys.SKIP_LABEL) == "true", "the label to come back")
    assert stage.node(other)["annotations"][keys.SKIPPED_BY_ANNOTATION] == "delegated"
    assert not stage.touched(), "we move nobody where NVIDIA's controller does"
    stage.do("rollout", "abort", "delegated", "--reason", "enough seen", "-y")
    stage.wait_phase("Reverted")
    assert stage.marks() == [f"{persons}: {keys.SKIP_LABEL}"]
    stage.label(persons, f"{keys.SKIP_LABEL}-")


def assert_all_back(stage: LightStage, *, touched: set[str]) -> None:
    """Everything is as it was, and nobody else was touched on the way."""
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == stage.running
    assert stage.touched() == touched
    assert not stage.cordoned()
    assert not stage.marks()
