"""Every reachable state of a small rollout by attrition: it ends, and whoever was closed is somebody's and is opened.

A canary and a node with a job, which ends at any moment, as another starts wherever a node is open. Time stands still,
so the deadline is a change of what is asked: it comes at any moment. Crashes, lost answers and old views are those of
every exploration. What people ask for on the way, and gangs, begin with the waves: what is before them is walked
without attrition. One mutation takes a protection away, and the story is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.attrition import urgency
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Attrition, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.sim import outside as outer
from seatrial.sim.nodes import JOB_LABEL, new_node
from seatrial.sim.outside import Outside
from seatrial_lab.explore.coarse import BUSY, ENDING
from seatrial_lab.explore.explore import Exploration, explore
from seatrial_lab.explore.model import LISTING
from tests.builders import OLD, an_intent

pytestmark = pytest.mark.slow

DAY = 86_400.0


def at_work(gang: str, name: str) -> NodeSeen:
    """A node whose one GPU a job holds."""
    job = PodJob(gang=f"jobs/job/{gang}", line=f"jobs/{gang}")
    pod = Pod(
        namespace="jobs",
        name=f"{gang}-{name}",
        uid=f"{gang}-{name}-0",
        gpu=GpuUse.RESOURCE,
        is_running=True,
        labels=((JOB_LABEL, gang),),
        job=job,
    )
    return new_node(name, running=OLD, wanted=OLD, pods=(pod,))


def a_fleet(gang: str) -> tuple[NodeSeen, ...]:
    """The canary, which is empty, and a node with a job."""
    return (new_node("n1", running=OLD, wanted=OLD), at_work(gang, "n2"))


def a_wish(idle: int = 2, **way: Any) -> Intent:
    campaign = Campaign(
        canary=Canary(nodes=("n1",)),
        bake=Bake(seconds=0.0),
        waves=Waves(growth=Growth.FIXED, first=Share(amount=100, is_percent=True)),
    )
    attrition = Attrition(deadline_seconds=DAY, **way)
    return an_intent(parallel_max=0, unavailable_max="100%", idle_gpus_max=idle, campaign=campaign, attrition=attrition)


def late(intent: Intent) -> tuple[str, Intent]:
    """The deadline has come: what is left of it is what the last evictions need. With less, nothing would begin."""
    assert intent.attrition is not None
    left = urgency.seconds_for(1, at_once=1)
    return "the deadline comes", replace(intent, attrition=replace(intent.attrition, deadline_seconds=left))


def walk(nodes: tuple[NodeSeen, ...], wish: Intent, *changes: tuple[str, Intent], **settings: Any) -> Exploration:
    outside = Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=False))
    defaults: dict[str, Any] = {"outside": outside, "restarts": frozenset({LISTING}), "world": BUSY}
    return explore(nodes, wish, changes=changes, **(defaults | settings))


def assert_all_is_well(found: Exploration, *, states_min: int) -> None:
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0
    assert found.state_count >= states_min


def test_a_job_ends_at_any_moment_or_is_evicted_at_the_deadline() -> None:
    wish = a_wish()
    assert_all_is_well(walk(a_fleet("one"), wish, late(wish)), states_min=10_000)


def test_a_pause_at_any_moment_freezes_whoever_is_closed_and_all_end_well_when_it_is_over() -> None:
    wish = a_wish()
    pause = (("somebody pauses", replace(wish, is_paused=True)), ("somebody resumes", wish))
    found = walk(a_fleet("one"), wish, *pause, since=RolloutPhase.WAVING)
    assert_all_is_well(found, states_min=50_000)


def test_an_abort_at_any_moment_gives_back_whoever_is_closed() -> None:
    wish = a_wish()
    assert wish.campaign is not None
    abort = replace(wish, campaign=replace(wish.campaign, abort="somebody thought better of it"))
    found = walk(a_fleet("one"), wish, ("somebody aborts", abort), since=RolloutPhase.WAVING, world=ENDING)
    assert_all_is_well(found, states_min=45_000)


def test_a_gang_over_two_nodes_ends_at_any_moment_or_is_evicted_at_the_deadline() -> None:
    wish = a_wish(idle=3)
    fleet = (new_node("n1", running=OLD, wanted=OLD), at_work("gang", "n2"), at_work("gang", "n3"))
    found = walk(fleet, wish, late(wish), since=RolloutPhase.WAVING, world=ENDING)
    assert_all_is_well(found, states_min=45_000)


def forgetful(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """As `decide`, with a ledger that forgets who is closed and waits for its jobs."""
    decision = decide(seen, intent, now)

    def is_kept(name: str) -> bool:
        record = seen.nodes[name].record
        return record is None or record.phase is not NodePhase.WAIT_FOR_JOBS_REQUIRED

    def kept(act: WriteRolloutRecord) -> WriteRolloutRecord:
        admitted = tuple(each for each in act.record.admitted if is_kept(each.node))
        return replace(act, record=replace(act.record, admitted=admitted))

    acts = (kept(act) if isinstance(act, WriteRolloutRecord) else act for act in decision.actions)
    return replace(decision, actions=tuple(acts))


def test_a_ledger_that_forgets_closed_nodes_leaves_one_that_nobody_owns() -> None:
    found = walk(a_fleet("one"), a_wish(), decider=forgetful, promises=(), restarts_max=0)
    assert found.counterexample is not None
    assert found.counterexample.broken == "n1 is closed by us, and nobody owns it"
