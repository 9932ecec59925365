"""Worlds in which everything happens together: the first of them, and what their judge finds. All 5,000: `make faults`.

A seed that found something is kept here or in tests/scenarios/seeds_mixed.txt, with what it found.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.faults import begin

from seatrial.core.actions.on_nodes import Cordon, RestartPod
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Campaign, CampaignRecord, Canary, Mode, RolloutPhase
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord
from seatrial.core.model.target import Target
from seatrial.core.promises import invariants
from seatrial.ports import Outcome, Result
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside, cluster_policy
from seatrial.sim.world import World
from seatrial_lab.schedules import reasons
from seatrial_lab.schedules.judging import Judge
from seatrial_lab.schedules.mixed import MixedPlay, Way, run_mixed
from seatrial_lab.schedules.truths import HOUR, Truths
from tests.builders import NEW, OLD, an_intent

pytestmark = pytest.mark.slow

SEEDS = Path(__file__).parents[1] / "scenarios" / "seeds_mixed.txt"
KEPT = [int(line.split()[0]) for line in SEEDS.read_text().splitlines() if line and not line.startswith("#")]
PLAYED = (*range(10), 18, 36)
"""The last two leave the nodes to NVIDIA's controller."""
UNIT = Domain(label="clique", is_unit=True)


@pytest.mark.parametrize("seed", sorted({*PLAYED, *KEPT}))
def test_every_world_ends_or_waits_for_a_true_reason_that_somebody_can_end(seed: int) -> None:
    ending = run_mixed(seed, begin)
    assert ending.broken is None, f"\n{ending}"
    assert ending.how in ("done", "reverted", "held")


def test_every_way_is_drawn() -> None:
    assert {MixedPlay(seed, begin, 3).drawn.way for seed in PLAYED} == set(Way)


def test_limits_that_are_not_asked_are_found_by_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    scope_of = capacity.scope_of

    def unlimited(name: str, source: Policy | Domain, total: int, *rest: Any) -> capacity.Scope:
        return replace(scope_of(name, source, total, *rest), parallel_max=total, unavailable_max=total)

    monkeypatch.setattr(capacity, "scope_of", unlimited)
    monkeypatch.setattr(invariants, "PROMISES", ())
    found = [run_mixed(seed, begin).broken or "" for seed in range(10)]
    assert any("at a limit of" in why for why in found), found


# ── the truths ───────────────────────────────────────────────────────────────────────────────────────────────────────


def looking(*, count: int = 3, **intent: Any) -> tuple[World, Truths]:
    nodes = [new_node(f"n{number}", running=OLD, wanted=NEW, labels={"clique": "c1"}) for number in range(count)]
    world = World(nodes, an_intent(**intent))
    truths = Truths(Judge(world), is_calm=True)
    world.watchers.append(truths.on_change)
    world.watchers.append(truths.judge.on_change)
    return world, truths


def closed_and_restarted(world: World, truths: Truths, name: str) -> None:
    """Our cordon, and the delete of its driver, arrive at a node."""
    before = world.nodes[name]
    record = NodeRecord(phase=NodePhase.POD_RESTART_REQUIRED, attempt=1, entered_at=0.0)
    driver = before.facts.driver
    assert driver is not None
    acts = (
        Cordon(node=name, record=record, expect=before.facts.resource_version),
        RestartPod(
            node=name,
            attempt=1,
            operand=Operand.DRIVER,
            namespace=driver.namespace,
            pod=driver.name,
            uid=driver.uid,
        ),
    )
    for act in acts:
        found = world.nodes[name]
        outcome = world.execute(act)
        assert outcome.result is Result.DONE
        truths.on_landing(act, found, outcome)


def test_more_nodes_away_than_may_be_are_found() -> None:
    world, truths = looking(unavailable_max=1, parallel_max=0)
    closed_and_restarted(world, truths, "n0")
    assert truths.judge.broken is None
    closed_and_restarted(world, truths, "n1")
    assert truths.judge.broken == "2 nodes are away at a limit of 1: n0, n1"


def test_nodes_that_others_took_count_once_we_could_know() -> None:
    world, truths = looking(unavailable_max=1, parallel_max=0)
    world.change("n2", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True)))
    world.tick_to(HOUR)
    closed_and_restarted(world, truths, "n0")
    assert truths.judge.broken == "2 nodes are away at a limit of 1: n0, n2"


def test_more_drivers_away_at_once_than_may_be_are_found() -> None:
    world, truths = looking(unavailable_max=3, parallel_max=1)
    closed_and_restarted(world, truths, "n0")
    closed_and_restarted(world, truths, "n1")
    assert truths.judge.broken == "2 drivers are away at a limit of 1: n0, n1"


def test_a_unit_that_stays_torn_is_found() -> None:
    world, truths = looking(domains=(UNIT,))
    new = replace(world.nodes["n0"].facts.driver, version=NEW.version)  # type: ignore[type-var]
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, driver=new)))
    for hours in (0.0, 1.0, 2.5):
        world.time = hours * HOUR
        truths.look(Decision())
    assert truths.judge.broken == "clique c1 is torn for 2.5 h: n0 run the new driver and n1, n2 the old one"


def test_a_cordon_that_is_put_back_for_an_admin_is_not_ours() -> None:
    world, truths = looking(unavailable_max=1, parallel_max=0)
    truths.judge.theirs.add("n0")
    for name in ("n0", "n1"):
        closed_and_restarted(world, truths, name)
    assert set(truths.ours) == {"n1"}


def test_writes_without_anything_to_say_are_found() -> None:
    world, truths = looking()
    write = WriteRolloutRecord(record=RolloutRecord(name="spring", resource_version="1"))
    for each in range(100):
        world.time = 20.0 * each
        truths.on_landing(write, None, Outcome(action=write, result=Result.DONE))
    assert truths.judge.broken == "81 writes of its record in an hour in which nothing moved"


def test_a_world_in_which_there_is_something_to_do_has_not_ended_however_long_it_was_quiet() -> None:
    play = MixedPlay(0, begin, 3)
    play.truths.is_calm = True
    play._is_over(Decision())
    play.world.time += 90 * HOUR
    write = WriteRolloutRecord(record=RolloutRecord(name="spring", resource_version="1"))
    assert not play._is_over(Decision(actions=(write,)))
    assert play._is_over(Decision())


def test_looks_that_find_nothing_to_do_and_ask_for_another_at_once_are_found() -> None:
    _, truths = looking()
    for _ in range(30):
        truths.look(Decision(at=5.0, wake_at=5.2))
    assert truths.judge.broken == "21 passes in a row had nothing to do, and asked for another one at once"


# ── the reasons ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (HoldCode.SKIPPED, "n0 is held by skipped, and that is not true"),
        (HoldCode.LEFT_OPEN, "n0 is held by left-open, and nobody looks that up"),
        (HoldCode.LEDGER_PENDING, "n0 waits for ever: ledger-pending"),
    ],
)
def test_a_reason_that_is_not_true_or_that_nobody_can_end_is_found(code: HoldCode, why: str) -> None:
    world, truths = looking(count=1)
    found = reasons.why_unsettled(world, Decision(holds=(hold("n0", code),)), truths)
    assert found is not None
    assert found.startswith(why)


def test_a_wait_for_a_member_of_its_unit_that_does_not_say_why_it_waits_is_found() -> None:
    world, truths = looking(count=2, domains=(UNIT,))
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_skipped=True)))
    waits, skipped = hold("n0", HoldCode.UNIT_INCOMPLETE, nodes="n1"), hold("n1", HoldCode.SKIPPED)
    found = reasons.why_unsettled(world, Decision(holds=(waits,)), truths)
    assert found == "n0 waits for members of its unit, and no member says why it waits"
    assert reasons.why_unsettled(world, Decision(holds=(waits, skipped)), truths) is None


def test_a_member_at_which_the_sriov_operator_works_keeps_its_unit() -> None:
    world, truths = looking(count=2, domains=(UNIT,))
    waits = hold("n0", HoldCode.UNIT_UNFIT, nodes="n1 (sriov-at-work)")
    found = reasons.why_unsettled(world, Decision(holds=(waits,)), truths)
    assert found is not None
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, sriov="Draining")))
    at_work = hold("n1", HoldCode.SRIOV_AT_WORK)
    assert reasons.why_unsettled(world, Decision(holds=(waits, at_work)), truths) is None


def test_pods_that_slipped_in_are_looked_up() -> None:
    world, truths = looking(count=1)
    came = Pod(namespace="jobs", name="late", uid="late", gpu=GpuUse.RESOURCE, gpu_count=1)
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, pods=(came,))))
    held = hold("n0", HoldCode.SLIPPED_IN, pod="jobs/late", count=1)
    assert reasons.why_unsettled(world, Decision(holds=(held,)), truths) == (
        "n0 is held by slipped-in, and that is not true"
    )
    failed = NodeRecord(phase=NodePhase.UPGRADE_FAILED, attempt=1, entered_at=0.0)
    world.change("n0", lambda node: replace(node, record=failed))
    assert reasons.why_unsettled(world, Decision(holds=(held,)), truths) is None


def test_a_node_that_is_let_in_to_nvidias_controller_counts_as_away() -> None:
    world, truths = looking(count=2)
    kept_out: dict[str, Any] = {"nvidia_state": "upgrade-required", "is_skipped": True, "skipped_by": "spring"}
    for name in world.nodes:
        world.change(name, lambda node: replace(node, facts=replace(node.facts, **kept_out)))
    campaign = CampaignRecord(phase=RolloutPhase.WAVING, mode=Mode.DELEGATED)
    world.rollout = replace(world.rollout, campaign=campaign)
    held = hold("n0", HoldCode.UNAVAILABLE_LIMIT, limit=1, taken=1, nodes="n1")
    found = reasons.why_unsettled(world, Decision(holds=(held,)), truths)
    assert found is not None
    assert "is held by unavailable-limit, and that is not true" in found
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_skipped=False, skipped_by="")))
    assert reasons.why_unsettled(world, Decision(holds=(held,)), truths) is None


def test_who_waits_for_a_node_that_gets_no_further_needs_a_rollout_that_says_why() -> None:
    world, truths = looking(count=3, parallel_max=1)
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, nvidia_state="upgrade-failed")))
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, nvidia_state="upgrade-required")))
    world.rollout = replace(world.rollout, campaign=CampaignRecord(phase=RolloutPhase.WAVING, mode=Mode.DELEGATED))
    world.outside = Outside(operator=cluster_policy(NEW.version, is_auto_upgrading=True))
    failed, moved = hold("n0", HoldCode.FAILED), hold("n1", HoldCode.MOVED_BY_NVIDIA, state="upgrade-required")
    limit = hold("n2", HoldCode.PARALLEL_LIMIT, limit=1, nodes="n1")
    full = hold(world.intent.rollout, HoldCode.NVIDIA_FULL, setting="maxParallelUpgrades", nodes="n0")

    def why(*holds: Hold) -> str | None:
        return reasons.why_unsettled(world, Decision(holds=holds), truths)

    assert why(failed, full, moved, limit) is None
    assert why(failed, moved) == "n1 is upgrade-required for ever, and nobody says why"
    assert why(failed, limit) == "n2 waits for ever: parallel-limit, for n1"
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, nvidia_state="upgrade-done")))
    assert "is held by nvidia-full, and that is not true" in (why(full) or "")


def test_canaries_wait_for_each_other_only_where_the_rollout_says_that_they_are_crowded() -> None:
    campaign = Campaign(canary=Canary(count=2))
    world, truths = looking(count=2, parallel_max=1, campaign=campaign)
    world.rollout = replace(world.rollout, campaign=CampaignRecord(phase=RolloutPhase.CANARY, canaries=("n0", "n1")))
    closed = hold("n0", HoldCode.CANARY_CLOSED)
    limit = hold("n1", HoldCode.PARALLEL_LIMIT, limit=1, nodes="n0")
    crowded = hold(world.intent.rollout, HoldCode.CANARIES_CROWDED, count=2, limit=1)
    assert reasons.why_unsettled(world, Decision(holds=(crowded, closed, limit)), truths) is None
    found = reasons.why_unsettled(world, Decision(holds=(closed, limit)), truths)
    assert found == "n1 waits for ever: parallel-limit, for n0"


def test_a_node_that_failed_stays_closed_while_its_unit_cannot_start_and_no_other_does() -> None:
    world, truths = looking(count=2, domains=(UNIT,))
    given_up = NodeRecord(phase=NodePhase.UPGRADE_FAILED, attempt=1, entered_at=0.0)
    for name in world.nodes:
        world.change(name, lambda node: replace(node, record=given_up, facts=replace(node.facts, is_cordoned=True)))
    again = replace(given_up, phase=NodePhase.UPGRADE_REQUIRED, attempt=2)
    world.change("n0", lambda node: replace(node, record=again))
    truths.ours["n0"] = 0.0
    holds = hold("n0", HoldCode.UNIT_UNFIT, nodes="n1 (failed)"), hold("n1", HoldCode.FAILED)
    assert reasons.why_unsettled(world, Decision(holds=holds), truths) is None
    truths.given_up.clear()
    found = reasons.why_unsettled(world, Decision(holds=holds), truths)
    assert found == "at rest, and n0 is still closed by us, upgrade-required"


def test_a_node_that_failed_stays_closed_while_a_limit_keeps_it_from_its_next_try() -> None:
    world, truths = looking(count=2, domains=(UNIT,))
    again = NodeRecord(phase=NodePhase.UPGRADE_REQUIRED, attempt=2, entered_at=0.0)
    for name in world.nodes:
        world.change(name, lambda node: replace(node, record=again))
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True)))
    truths.ours["n0"] = 0.0
    limited = {"limit": 8, "taken": 8, "gpus": 16, "nodes": "n0", "together": "n0, n1"}
    holds = tuple(hold(name, HoldCode.IDLE_GPU_LIMIT, limited) for name in world.nodes)
    found = reasons.why_unsettled(world, Decision(holds=holds), truths)
    assert found == "at rest, and n0 is still closed by us, upgrade-required"
    truths.given_up.add("n0")
    assert reasons.why_unsettled(world, Decision(holds=holds), truths) is None


def test_a_gang_with_more_gpus_than_may_stand_idle_is_looked_up_as_one() -> None:
    world, truths = looking(count=2)
    limited = {"limit": 8, "taken": 0, "gpus": 16, "nodes": "none", "together": "n0, n1"}
    holds = tuple(hold(name, HoldCode.IDLE_GPU_LIMIT, limited) for name in world.nodes)
    found = reasons.why_unsettled(world, Decision(holds=holds), truths)
    assert found is not None
    assert "n0 is held by idle-gpu-limit, and that is not true" in found
    job = Pod(
        namespace="jobs", name="gang", uid="gang", gpu=GpuUse.RESOURCE, job=PodJob(gang="jobs/gang", line="jobs/gang")
    )
    for name in world.nodes:
        world.change(name, lambda node: replace(node, facts=replace(node.facts, pods=(job,))))
    assert reasons.why_unsettled(world, Decision(holds=holds), truths) is None


def test_a_pause_that_no_node_waits_for_is_looked_up_too() -> None:
    world, truths = looking(count=1, is_paused=True)
    paused = Decision(stop=hold("r", HoldCode.PAUSED))
    world.rollout = replace(world.rollout, campaign=CampaignRecord(phase=RolloutPhase.PAUSED))
    assert reasons.why_unsettled(world, paused, truths) is None
    world.intent = replace(world.intent, is_paused=False)
    found = reasons.why_unsettled(world, paused, truths)
    assert found == "r is held by paused, and that is not true: {}"


@pytest.mark.parametrize(
    ("told", "is_true"), [((1, 5), True), ((2, 5), False), ((1, 8), False)], ids=["true", "more nodes", "more GPUs"]
)
def test_what_stays_closed_in_a_pause_is_looked_up(told: tuple[int, int], is_true: bool) -> None:
    world, truths = looking(is_paused=True)
    pod = Pod(namespace="jobs", name="job", uid="job", gpu=GpuUse.RESOURCE, gpu_count=3)
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True, pods=(pod,))))
    truths.ours["n0"] = 0.0
    ledger = tuple(Admission(node=name, attempt=1, is_ahead=True) for name in ("n0", "n1"))
    world.rollout = replace(world.rollout, admitted=ledger, campaign=CampaignRecord(phase=RolloutPhase.PAUSED))
    closed = hold("r", HoldCode.CLOSED_IN_PAUSE, nodes=told[0], gpus=told[1])
    paused = Decision(stop=hold("r", HoldCode.PAUSED), holds=(closed,))
    found = reasons.why_unsettled(world, paused, truths)
    assert ("is held by closed-in-pause, and that is not true" not in (found or "")) is is_true


@pytest.mark.parametrize(("label", "is_true"), [("", True), ("nvidia.com/gpu.deploy.client", False)])
def test_a_pod_that_its_daemon_set_would_bring_back_is_looked_up(label: str, is_true: bool) -> None:
    world, truths = looking(count=1)
    pod = Pod(
        namespace="jobs",
        name="agent",
        uid="agent",
        gpu=GpuUse.RESOURCE,
        gpu_count=1,
        keeper=PodOwner.DAEMON_SET,
        deploy_label=label,
    )
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, pods=(pod,))))
    held = hold("n0", HoldCode.DAEMON_SET_HOLDS_GPU, pod="jobs/agent")
    found = reasons.why_unsettled(world, Decision(holds=(held,)), truths)
    assert found == (None if is_true else "n0 is held by daemon-set-holds-gpu, and that is not true")


def test_a_node_that_is_not_ready_is_truly_left() -> None:
    world, truths = looking(count=1)
    world.intent = replace(world.intent, target=Target.of(OLD.version))
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, wanted=OLD)))
    left = Decision(holds=(hold("r", HoldCode.MEMBERS_LEFT, nodes="n0"), hold("n0", HoldCode.NODE_NOT_READY)))
    found = reasons.why_unsettled(world, replace(left, holds=left.holds[:1]), truths)
    assert found is not None
    assert "is held by members-left, and that is not true" in found
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, is_ready=False)))
    assert reasons.why_unsettled(world, left, truths) is None


def test_only_nodes_whose_upgrade_is_unfinished_are_truly_left() -> None:
    world, truths = looking(count=2)
    world.intent = replace(world.intent, target=Target.of(OLD.version))
    asked = NodeRecord(phase=NodePhase.UPGRADE_REQUIRED, attempt=2, entered_at=0.0)
    done = replace(asked, phase=NodePhase.UPGRADE_DONE)
    for name in world.nodes:
        world.change(name, lambda node: replace(node, record=done, facts=replace(node.facts, wanted=OLD)))
    world.change("n0", lambda node: replace(node, record=asked))
    for names, is_true in (("n0 (sriov-at-work)", True), ("n0 (sriov-at-work), n1 (skipped)", False)):
        left = Decision(holds=(hold("r", HoldCode.MEMBERS_LEFT, nodes=names),))
        found = reasons.why_unsettled(world, left, truths)
        assert ("is held by members-left, and that is not true" not in (found or "")) is is_true


def test_a_true_reason_with_a_next_step_is_an_end() -> None:
    world, truths = looking(count=1)
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, is_skipped=True)))
    held = hold("n0", HoldCode.SKIPPED)
    assert reasons.why_unsettled(world, Decision(holds=(held,)), truths) is None
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True)))
    truths.ours["n0"] = 0.0
    found = reasons.why_unsettled(world, Decision(holds=(held,)), truths)
    assert found == "at rest, and n0 is still closed by us, None"
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, sriov="Draining")))
    assert reasons.why_unsettled(world, Decision(holds=(held,)), truths) is None


@pytest.mark.parametrize(("gpus", "is_true"), [(8, True), (7, False)], ids=["full", "one idle"])
def test_a_closed_node_waits_for_a_limit_only_as_long_as_it_costs_nothing(gpus: int, is_true: bool) -> None:
    world, truths = looking(unavailable_max=1)
    pod = Pod(namespace="jobs", name="job", uid="job", gpu=GpuUse.RESOURCE, gpu_count=gpus)
    world.change("n0", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True, pods=(pod,))))
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_cordoned=True)))
    truths.ours["n0"] = 0.0
    closed = hold("n0", HoldCode.CLOSED_AHEAD, idle=8 - gpus, jobs=1)
    limit = hold("n0", HoldCode.UNAVAILABLE_LIMIT, limit=1, taken=1, nodes="n1")
    assert "n0 is closed while" in (reasons.why_unsettled(world, Decision(holds=(closed,)), truths) or "")
    found = reasons.why_unsettled(world, Decision(holds=(closed, limit)), truths)
    assert ("n0 is closed while" not in (found or "")) is is_true
