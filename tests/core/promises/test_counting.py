"""What the promises count by themselves, and that whatever the rules let in or cordon keeps within it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.decision.decide import decide
from seatrial.core.model.campaign import Campaign, CampaignRecord, Growth, Mode, RolloutPhase, Waves
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.policy import Attrition, Limits, Policy, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.counting import Counted, goes_along, places, units
from seatrial.core.promises.of_fleets import capacity_kept, whole
from seatrial.sim import outside as outer
from tests.builders import NEW, NOW, a_done_node, a_ledger, a_node, a_snapshot, an_intent

RACK, CLIQUE = "example.com/rack", "nvidia.com/gpu.clique"
HOUR = 3600.0


def a_job(name: str) -> Pod:
    told = PodJob(gang=f"jobs/job/{name}", line=f"jobs/{name}", started_at=NOW - 9 * HOUR)
    return Pod(namespace="jobs", name=name, uid=name, gpu=GpuUse.RESOURCE, gpu_count=8, job=told)


def ahead(*names: str) -> tuple[Admission, ...]:
    return tuple(Admission(node=name, attempt=1, is_ahead=True) for name in names)


def waiting(name: str, *pods: Pod, **changes: Any) -> NodeSeen:
    return a_node(name, NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True, pods=pods, **changes)


def by_name(*nodes: NodeSeen) -> dict[str, NodeSeen]:
    return {node.name: node for node in nodes}


# ── who is counted ───────────────────────────────────────────────────────────────────────────────────────────────────

PATIENT = an_intent(attrition=Attrition())


def test_a_node_is_gone_that_is_cordoned_not_ready_without_its_driver_or_at_work() -> None:
    nodes = by_name(
        a_node("n1", is_cordoned=True),
        a_node("n2", is_ready=False),
        a_node("n3", NodePhase.POD_RESTART_REQUIRED, driver=None),
        a_node("n4", NodePhase.UPGRADE_FAILED, is_cordoned=False, record={"has_lost_driver": True}),
        a_node("n5", NodePhase.UPGRADE_REQUIRED),
        a_node("n6", NodePhase.UPGRADE_REQUIRED),
    )
    counted = Counted(nodes, a_ledger("n5"), an_intent())
    assert counted.gone == {"n1", "n2", "n3", "n4", "n5"}
    assert counted.at_work == {"n3", "n5"}


def test_a_deleted_node_counts_nowhere() -> None:
    counted = Counted(by_name(a_node("n1")), (*a_ledger("n8"), *ahead("n9")), PATIENT)
    assert not counted.gone | counted.at_work | counted.waiting
    assert counted.idle_gpus == 0


def test_a_closed_node_counts_when_its_last_job_has_ended_and_its_idle_gpus_all_along() -> None:
    nodes = by_name(waiting("n1", a_job("j"), labels={COUNT_LABEL: "10"}), waiting("n2", labels={COUNT_LABEL: "8"}))
    counted = Counted(nodes, ahead("n1", "n2"), PATIENT)
    assert counted.waiting == {"n1", "n2"}
    assert counted.gone == {"n2"}
    assert not counted.at_work
    assert counted.idle_gpus == 2 + 8
    assert Counted(nodes, (), PATIENT).waiting == {"n1", "n2"}, "a ledger that was lost will name it again"


def test_a_node_that_is_emptied_does_not_wait_whatever_the_ledger_says() -> None:
    emptied = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(a_job("j"),))
    counted = Counted(by_name(emptied), ahead("n1"), PATIENT)
    assert not counted.waiting
    assert counted.at_work == counted.gone == {"n1"}


def test_an_attempt_that_has_ended_takes_nothing_any_more() -> None:
    nodes = by_name(a_done_node("n1"), a_node("n2", NodePhase.UPGRADE_REQUIRED, attempt=2))
    assert Counted(nodes, a_ledger("n1", "n2"), an_intent()).gone == frozenset()


def test_every_pool_and_every_domain_with_a_floor_is_a_place() -> None:
    nodes = by_name(
        a_node("n1", labels={RACK: "r1", CLIQUE: "c1"}, owner="blue"),
        a_node("n2", labels={RACK: "r1", CLIQUE: "c1"}),
        a_node("n3", labels={RACK: "r2"}),
        a_node("n4"),
    )
    domains = (Domain(label=RACK, unavailable_max=Share.parse("50%")), Domain(label=CLIQUE, is_unit=True))
    pools = {"blue": Policy(limits=Limits(parallel_max=3)), "red": Policy()}
    intent = an_intent(parallel_max=0, unavailable_max=2, domains=domains, pools=pools)
    found = {each.name: (sorted(each.members), each.at_work_max, each.gone_max) for each in places(nodes, intent)}
    assert found == {
        "": (["n1", "n2", "n3", "n4"], 4, 2),
        "NVIDIADriver blue": (["n1"], 3, 1),
        f"{RACK} r1": (["n1", "n2"], 2, 1),
        f"{RACK} r2": (["n3"], 1, 1),
    }
    clique = (f"{CLIQUE} c1", frozenset({"n1", "n2"}))
    assert units(nodes, intent) == {"n1": clique, "n2": clique}


@pytest.mark.parametrize(
    ("member", "goes"),
    [
        (a_node("n1", NodePhase.UPGRADE_REQUIRED), False),
        (waiting("n1", a_job("j")), False),
        (a_node("n1", NodePhase.POD_RESTART_REQUIRED, driver=None), True),
        (a_done_node("n1"), True),
        (a_node("n1", driver=None), True),
    ],
    ids=["waits for its turn", "waits for its jobs", "has begun", "is through", "has no GPU"],
)
def test_a_unit_is_complete_with_a_member_that_has_begun_or_needs_nothing(member: NodeSeen, goes: bool) -> None:
    nodes = by_name(member)
    admitted = ahead("n1") if member.record and member.record.phase is NodePhase.WAIT_FOR_JOBS_REQUIRED else ()
    assert goes_along(member, Counted(nodes, admitted, PATIENT)) is goes


# ── whatever the fleet ───────────────────────────────────────────────────────────────────────────────────────────────

STANDS: dict[str, tuple[NodePhase | None, dict[str, Any], bool | None]] = {
    "open": (NodePhase.UPGRADE_REQUIRED, {}, None),
    "admitted": (NodePhase.UPGRADE_REQUIRED, {}, False),
    "to be closed": (NodePhase.CORDON_REQUIRED, {}, True),
    "to be cordoned": (NodePhase.CORDON_REQUIRED, {}, False),
    "closed": (NodePhase.WAIT_FOR_JOBS_REQUIRED, {"is_cordon_ours": True}, True),
    "taken": (NodePhase.WAIT_FOR_JOBS_REQUIRED, {"is_cordon_ours": True}, False),
    "restarting": (NodePhase.POD_RESTART_REQUIRED, {"is_cordon_ours": True, "driver": None}, False),
    "failed": (
        NodePhase.UPGRADE_FAILED,
        {"is_cordon_ours": True, "record": {"failed_revision": NEW.hash, "has_lost_driver": True}},
        False,
    ),
    "an admin's": (NodePhase.UPGRADE_REQUIRED, {"is_cordoned": True}, None),
    "an admin's, closed": (NodePhase.WAIT_FOR_JOBS_REQUIRED, {"is_cordoned": True}, True),
    "not ready": (NodePhase.UPGRADE_REQUIRED, {"is_ready": False}, None),
    "closed and lost": (NodePhase.WAIT_FOR_JOBS_REQUIRED, {"is_cordon_ours": True, "is_ready": False}, True),
    "deleted": (None, {}, False),
}
"""How a node stands, and whether the ledger names it to be closed alone; None where it does not name it."""
FLEETS = st.lists(
    st.tuples(
        st.sampled_from([*sorted(STANDS), "closed", "closed", "open"]),
        st.booleans(),
        st.sampled_from(["", "r1", "r2"]),
        st.sampled_from(["", "", "c1", "c2"]),
        st.sampled_from(["", "blue"]),
    ),
    min_size=1,
    max_size=9,
)
WISHES = st.builds(
    lambda parallel, out, floor, pool, idle, failed: an_intent(
        parallel_max=parallel,
        unavailable_max=out,
        idle_gpus_max=idle,
        failed_max=failed,
        domains=(Domain(label=RACK, unavailable_max=Share(amount=floor)), Domain(label=CLIQUE, is_unit=True)),
        pools={"blue": Policy(limits=Limits(parallel_max=0, unavailable_max=Share(amount=pool)))},
    ),
    st.integers(0, 4),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([0, 9]),
)
WAVING = CampaignRecord(
    phase=RolloutPhase.WAVING,
    mode=Mode.DIRECT,
    waving_since=NOW - HOUR,
    baseline=(("*", "570.124.06"), ("NVIDIADriver/blue", "570.124.06")),
)
ALL = Waves(growth=Growth.FIXED, first=Share(amount=100, is_percent=True))


def drawn(rows: list[tuple[str, bool, str, str, str]], *, by_attrition: bool) -> Snapshot:
    nodes: list[NodeSeen] = []
    admitted: list[Admission] = []
    for number, (stand, is_at_work, rack, clique, owner) in enumerate(rows):
        phase, changes, is_ahead = STANDS[stand]
        name = f"n{number}"
        if is_ahead is not None:
            admitted.append(Admission(node=name, attempt=1, is_ahead=is_ahead and by_attrition))
        if phase is not None:
            labels = {COUNT_LABEL: "8", RACK: rack, CLIQUE: clique}
            pods = (a_job(name),) if is_at_work else ()
            nodes.append(a_node(name, phase, labels=labels, pods=pods, owner=owner, **changes))
    operator = outer.cluster_policy(NEW.version)
    operator = replace(operator, carriers=(*operator.carriers, *outer.driver_pools(NEW.version, "blue").carriers))
    campaign = WAVING if by_attrition else None
    return a_snapshot(*nodes, admitted=tuple(admitted), campaign=campaign, operator=operator)


def refused(seen: Snapshot, intent: Intent) -> list[str]:
    decision = decide(seen, intent, NOW)
    return [str(each) for promise in (capacity_kept, whole) for each in promise(seen, intent, decision)]


@settings(max_examples=200)
@given(FLEETS, WISHES)
def test_whoever_is_let_in_or_cordoned_keeps_within_every_limit_and_every_unit(
    rows: list[tuple[str, bool, str, str, str]], intent: Intent
) -> None:
    assert refused(drawn(rows, by_attrition=False), replace(intent, policy=_without_idle(intent))) == []


@settings(max_examples=200)
@given(FLEETS, WISHES, st.booleans())
def test_by_attrition_whatever_is_taken_or_closed_keeps_within_every_limit_and_every_unit(
    rows: list[tuple[str, bool, str, str, str]], intent: Intent, is_late: bool
) -> None:
    seen = drawn(rows, by_attrition=True)
    way = Attrition(deadline_seconds=600.0 if is_late else 86_400.0)
    assert refused(seen, replace(intent, attrition=way, campaign=Campaign(waves=ALL))) == []


def _without_idle(intent: Intent) -> Policy:
    return replace(intent.policy, limits=replace(intent.limits, idle_gpus_max=None))
