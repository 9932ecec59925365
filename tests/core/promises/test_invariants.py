"""Each promise has a decision that breaks it and one that keeps it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from seatrial.core.actions.at_home import MarkBad, Promote, Publish
from seatrial.core.actions.of_campaigns import MarkNode, PausePool
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import ACTIONS_MAX, Decision, decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import ByHand, CampaignRecord, Mode, Point, PublishStep, RolloutPhase, Via
from seatrial.core.model.gates.gate import READINESS, GateResult, GateVerdict
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.core.node.writing import record_of
from seatrial.core.promises.breach import Breach
from seatrial.core.promises.invariants import PROMISES, broken
from seatrial.sim.operand_pods import carrying, remade_with_driver, with_operands
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_decision,
    a_done_node,
    a_driver,
    a_fleet,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_pod,
    a_snapshot,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
    written,
)


class Case(NamedTuple):
    """A decision about a snapshot, and the promises it breaks."""

    story: str
    seen: Snapshot
    decision: Decision
    breaches: tuple[Breach, ...] = ()
    intent: Intent = an_intent(parallel_max=2, unavailable_max=2, failed_max=0)


def ledger(seen: Snapshot, *admitted: Admission) -> WriteRolloutRecord:
    return WriteRolloutRecord(record=replace(seen.rollout, admitted=admitted))


def held(*names: str) -> Decision:
    return Decision(holds=tuple(hold(name, HoldCode.SKIPPED) for name in names))


def evict(attempt: int = 1) -> EvictPods:
    return EvictPods(node="n1", attempt=attempt, pods=(a_gpu_pod(),))


def restart(operand: Operand = Operand.DRIVER) -> RestartPod:
    return RestartPod(
        node="n1", attempt=1, operand=operand, namespace="gpu-operator", pod="driver-n1", uid="driver-n1-0"
    )


ASK = AskCheckpoint(node="n1", attempt=1, pods=(a_gpu_pod(),), token="spring.n1.1")
REQUEST = RequestMaintenance(node="n1", attempt=1, namespace="default", name="m", requestor="seatrial", policy=Policy())
RELEASE = ReleaseMaintenance(
    node="n1",
    attempt=1,
    namespace="default",
    name="m",
    requestor="seatrial",
    uid="u",
    resource_version="1",
    is_ours=True,
)
RESTART = restart()
FLEET = a_fleet(4, NodePhase.UPGRADE_DONE)
WAITING = a_snapshot(*FLEET)
OF_EIGHT = a_snapshot(
    *(a_node(f"n{number}", NodePhase.UPGRADE_DONE, labels={COUNT_LABEL: "8"}) for number in range(1, 5))
)
ONE_OUT = a_snapshot(a_node("n1", NodePhase.UPGRADE_DONE, is_ready=False), *FLEET[1:])
FULL = a_snapshot(
    a_node("n1", NodePhase.UPGRADE_DONE, is_ready=False),
    a_node("n2", NodePhase.UPGRADE_DONE, is_cordoned=True),
    *FLEET[2:],
)
FAILED = a_snapshot(a_node("n1", NodePhase.UPGRADE_FAILED), *FLEET[1:])
LOST_LEDGER = a_snapshot(*a_fleet(3, NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True))
CORDONING = a_node("n1", NodePhase.CORDON_REQUIRED)
LIFTED = a_node("n1", NodePhase.CORDON_REQUIRED, record={"is_cordon_theirs": True})
CLOSED_BY_AN_ADMIN = a_node("n1", NodePhase.CORDON_REQUIRED, is_cordoned=True)
EVICTING = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(a_gpu_pod(),))
RESTARTING = a_node("n1", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
ENDING = a_well_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
SLIPPED = replace(ENDING.record, has_lost_driver=True, reopened_count=1)  # type: ignore[type-var]
OPENED = a_node(
    "n1", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, is_cordoned=False, record={"has_lost_driver": True}
)
CLOSED_AGAIN = replace(record_of(OPENED), reopened_count=1, closed_at=NOW)
UNRECORDED = a_node("n1", NodePhase.UPGRADE_REQUIRED, is_cordoned=True, pods=(a_gpu_pod(),))
THIRD = DriverRevision(hash="third", version="590.44.01")
N1 = a_ledger("n1")
RACK = "example.com/rack"
RACKED = a_snapshot(*a_fleet(4, NodePhase.UPGRADE_DONE, labels={RACK: "r1"}, owner="blue"))
FLOOR = an_intent(parallel_max=4, unavailable_max=4, domains=(Domain(label=RACK, unavailable_max=Share.parse("25%")),))
POOLED = an_intent(
    parallel_max=4,
    unavailable_max=4,
    pools={"blue": Policy(limits=Limits(parallel_max=1, unavailable_max=Share(amount=4)))},
)
SAME = DriverRevision(hash="new", version="580.105.08", digest="d1")
OTHER = DriverRevision(hash="new", version="580.105.08", digest="d2")
DIGESTED = a_driver(digest="d1")
RESTART_ONLY = a_node(
    "n1",
    NodePhase.POD_RESTART_REQUIRED,
    is_cordon_ours=True,
    driver=DIGESTED,
    wanted=SAME,
    pods=(a_gpu_pod(),),
    record={"is_restart_only": True},
)
NO_LONGER = replace(RESTART_ONLY, facts=replace(RESTART_ONLY.facts, wanted=OTHER))
WAITS_SAME = a_node("n1", NodePhase.UPGRADE_REQUIRED, driver=DIGESTED, wanted=SAME)
MAINTAINED = a_node("n1", NodePhase.NODE_MAINTENANCE_REQUIRED)
VALIDATING = a_node("n1", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True)

CAREFUL = an_intent(parallel_max=2, unavailable_max=2, failed_max=0, campaign=a_campaign())
TOGETHER = replace(CAREFUL, domains=(Domain(label=RACK, is_unit=True),))
PASSED = GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED)
BAKED: dict[str, Any] = {"gates": (PASSED,), "baked_seconds": 48 * 3600.0}
BEGUN = a_campaign_record(RolloutPhase.BAKING, round=3, wave=1, **BAKED)
UNMEASURED = "it is opened, and a gate that wants its GPUs has not passed"
GATED = a_campaign_record(RolloutPhase.GATING, round=1)
PROPOSED = a_campaign_record()
PROMOTING = a_campaign_record(RolloutPhase.PROMOTING, date="2026-11-15", tag_base="v2026-11-stable", **BAKED)
CRASHED = a_node("n2", NodePhase.UPGRADE_FAILED, record={"failed_revision": NEW.hash, "failures": 1})
GIVEN_UP = hold("n2", HoldCode.FAILED, why="driver-timeout")
UNACCEPTED = "n2 has failed, and no person has accepted that"
UNDOING = a_campaign_record(RolloutPhase.REVERTING, why="Xid 79")
WITH_A_MATRIX = replace(CAREFUL, campaign=a_campaign(has_source=True))
UNREJECTED = "the entry is marked bad, and nobody has rejected the version"
UNDOING_BY_HAND = replace(UNDOING, mode=Mode.BY_HAND)
WAVING = a_campaign_record(RolloutPhase.WAVING, **BAKED)
LEFT_TO_NVIDIA = replace(WAVING, mode=Mode.DELEGATED)
LEFT_TO_NVIDIA_BACK = replace(LEFT_TO_NVIDIA, phase=RolloutPhase.REVERTING)
SKIPPED: dict[str, Any] = {"is_skipped": True, "skipped_by": "spring"}
KEPT_OUT = a_node(nvidia_state="upgrade-required", **SKIPPED)
LET_IN = MarkNode(node="n1", rollout="spring", expect="7", skip=False)
NAMED = a_ledger("n1", attempt=0)
HAND = ByHand(component=Component.KERNEL)
FREE = MachinePool(name="worker", resource_version="5")
THEIRS = replace(FREE, is_paused=True)
HELD = replace(THEIRS, paused_by="spring")
LEFT = replace(THEIRS, paused_by="winter")
PROMOTION = Promote(rollout="spring", date="2026-11-15", tag_base="v2026-11-stable")


def at(record: CampaignRecord | None, *nodes: Any, operator_version: str = OLD.version, **changes: Any) -> Snapshot:
    """A campaign with this record; its nodes have had their turn, or have nothing to wait for."""
    operator = an_operator(operator_version)
    return a_snapshot(*(nodes or (a_done_node(), an_old_node("n2"))), campaign=record, operator=operator, **changes)


def in_window(closes_at: float) -> Intent:
    """The same careful rollout, with a window that opened long ago."""
    return replace(CAREFUL, campaign=a_campaign(openings=((0.0, closes_at),)))


def recorded(before: CampaignRecord | None, after: CampaignRecord | None) -> Decision:
    return a_decision(WriteRolloutRecord(record=replace(at(before).rollout, campaign=after)))


def publish(step: PublishStep, resource: str = POLICY) -> Publish:
    return Publish(rollout="spring", step=step, versions=((resource, NEW.version),), via=Via.DIRECT)


def back() -> Publish:
    return replace(publish(PublishStep.REVERT), versions=((POLICY, OLD.version),))


def mark(**changes: Any) -> MarkNode:
    return MarkNode(node="n1", rollout="spring", expect="7", **changes)


def pool(story: str, found: MachinePool, record: CampaignRecord, *, value: bool, **expected: Any) -> Case:
    """What is done to a pool in this state of a campaign, and which promise breaks."""
    act = PausePool(rollout="spring", name="worker", value=value, expect="5")
    breaches = tuple(Breach(promise=key, subject=act.subject, detail=text) for key, text in expected.items())
    still = a_campaign(still=("worker",), by_hand=HAND if record is UNDOING_BY_HAND else None)
    return Case(story, at(record, machine_pools=(found,)), a_decision(act), breaches, an_intent(campaign=still))


def turned(story: str, before: CampaignRecord | None, after: CampaignRecord | None, detail: str = "") -> Case:
    breaches = (Breach(promise="turn", subject="spring", detail=detail),) if detail else ()
    return Case(story, at(before), recorded(before, after), breaches, CAREFUL)


def unbaked(story: str, record: CampaignRecord, detail: str) -> Case:
    breach = Breach(promise="bake", subject="rollout/spring/fleet", detail=detail)
    return Case(story, at(record), a_decision(publish(PublishStep.FLEET)), (breach,), CAREFUL)


TOOL: tuple[Operand, str] = (Operand.TOOLKIT, "v1.17.8")
MONITOR: tuple[Operand, str] = (Operand.EXPORTER, "4.2.3-4.1.1-ubuntu22.04")
NEWER = {"container_toolkit": "v1.18.1", "mofed": "25.04-0.6.0.0", "dcgm": "4.4.2-4.7.0-ubuntu22.04"}


def a_visit(*operands: tuple[Operand, str], users: int = 0, **changes: Any) -> NodeSeen:
    """A closed node whose driver stays, and whose operands are old."""
    node = a_well_node(
        "n1", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, pods=tuple(map(a_gpu_pod, range(users)))
    )
    facts = carrying(with_operands(node.facts, operands), NEWER)
    old = tuple(replace(each, **changes) for each in facts.operands)
    return replace(node, facts=replace(facts, operands=old), record=replace(record_of(node), is_restart_only=True))


def opened(node: NodeSeen, **changes: Any) -> NodeSeen:
    """The same, and nobody has closed it, or somebody opened it again."""
    record = replace(record_of(node), is_cordon_ours=False, **changes)
    return replace(node, facts=replace(node.facts, is_cordoned=False), record=record)


def renewed(node: NodeSeen) -> RestartPod:
    """The restart of the first operand of a node."""
    operand, pod = node.facts.operands[0].operand, node.facts.operands[0].pod
    assert pod is not None
    return RestartPod(node="n1", attempt=1, operand=operand, namespace=pod.namespace, pod=pod.name, uid=pod.uid)


VISITED, MONITORED = a_visit(TOOL), a_visit(MONITOR)
RETOOLED, REMONITORED = renewed(VISITED), renewed(MONITORED)
NETWORKED = a_visit((Operand.NETWORK_DRIVER, "24.07-0.6.1.0"))
RENETWORKED = renewed(NETWORKED)
UNPROVEN = NodeSeen(
    facts=remade_with_driver(VISITED.facts, NOW),
    record=replace(record_of(VISITED), phase=NodePhase.UNCORDON_REQUIRED),
)


def unvisited(story: str, node: NodeSeen, *, detail: str, **changes: Any) -> Case:
    """The restart of a toolkit, and why it may not be."""
    breach = Breach(promise="visited", subject="n1", detail=f"container-toolkit {detail}")
    return Case(story, a_snapshot(node, admitted=N1), a_decision(RETOOLED), (breach,), **changes)


def closing_of(closed_at: float | None) -> Decision:
    node = opened(MONITORED, closed_at=closed_at)
    record = replace(record_of(node), is_cordon_ours=True, closed_at=NOW)
    return a_decision(Cordon(node="n1", record=record, expect=node.facts.resource_version))


CASES = [
    # capacity
    Case("two are admitted at a limit of two", WAITING, a_decision(ledger(WAITING, *a_ledger("n1", "n2")))),
    Case(
        "three are admitted at limits of two",
        WAITING,
        a_decision(ledger(WAITING, *a_ledger("n1", "n2", "n3"))),
        (
            Breach(promise="capacity", subject="spring", detail="3 nodes under way, limit 2"),
            Breach(promise="capacity", subject="spring", detail="3 unavailable, limit 2"),
        ),
    ),
    Case(
        "nodes of 16 GPUs are admitted where 8 may stand idle",
        OF_EIGHT,
        a_decision(ledger(OF_EIGHT, *a_ledger("n1", "n2"))),
        (Breach(promise="capacity", subject="spring", detail="16 GPUs taken, limit 8"),),
        an_intent(parallel_max=2, unavailable_max=2, failed_max=0, idle_gpus_max=8),
    ),
    Case("one is admitted beside a node that is out", ONE_OUT, a_decision(ledger(ONE_OUT, *a_ledger("n2")))),
    Case(
        "two are admitted beside a node that is out",
        ONE_OUT,
        a_decision(ledger(ONE_OUT, *a_ledger("n2", "n3"))),
        (Breach(promise="capacity", subject="spring", detail="3 unavailable, limit 2"),),
    ),
    Case("nodes that are out already cost nothing", FULL, a_decision(ledger(FULL, *a_ledger("n1", "n2")))),
    Case(
        "a node is admitted although too many failed",
        FAILED,
        a_decision(ledger(FAILED, *a_ledger("n2")), holds=held("n1").holds),
        (Breach(promise="capacity", subject="spring", detail="1 failed, limit 0"),),
    ),
    Case(
        "who is under way is put back whatever the limits say",
        LOST_LEDGER,
        a_decision(ledger(LOST_LEDGER, *a_ledger("n1", "n2", "n3")), holds=held("n1", "n2", "n3").holds),
    ),
    Case(
        "who is through is let go",
        a_snapshot(*FLEET, admitted=a_ledger("n1", "n2", "n3")),
        a_decision(ledger(WAITING, *a_ledger("n1"))),
    ),
    Case(
        "an admitted node is cordoned",
        a_snapshot(CORDONING, *FLEET[1:], admitted=N1),
        a_decision(written(CORDONING, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon)),
    ),
    Case(
        "an admitted node is cordoned although others were lost meanwhile",
        a_snapshot(CORDONING, *a_fleet(4, NodePhase.UPGRADE_DONE, is_ready=False)[1:], admitted=N1),
        a_decision(written(CORDONING, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon)),
        (Breach(promise="capacity", subject="n1", detail="4 unavailable, limit 2"),),
    ),
    Case(
        "a node is admitted in place of one that was deleted under way",
        a_snapshot(*FLEET[1:], admitted=a_ledger("n1")),
        a_decision(ledger(WAITING, *a_ledger("n2", "n3"))),
    ),
    Case("one of a rack is admitted where one may be", RACKED, a_decision(ledger(RACKED, *N1)), intent=FLOOR),
    Case(
        "two of a rack are admitted where one may be",
        RACKED,
        a_decision(ledger(RACKED, *a_ledger("n1", "n2"))),
        (Breach(promise="capacity", subject="spring", detail="2 unavailable, limit 1 in example.com/rack r1"),),
        FLOOR,
    ),
    Case("one of a pool is admitted where one may be", RACKED, a_decision(ledger(RACKED, *N1)), intent=POOLED),
    Case(
        "two of a pool are admitted where one may be",
        RACKED,
        a_decision(ledger(RACKED, *a_ledger("n1", "n2"))),
        (Breach(promise="capacity", subject="spring", detail="2 nodes under way, limit 1 in NVIDIADriver blue"),),
        POOLED,
    ),
    Case(
        "a node of a rack is cordoned although another was lost meanwhile",
        a_snapshot(
            a_node("n1", NodePhase.CORDON_REQUIRED, labels={RACK: "r1"}),
            a_node("n2", NodePhase.UPGRADE_DONE, labels={RACK: "r1"}, is_ready=False),
            admitted=N1,
        ),
        a_decision(written(CORDONING, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon)),
        (Breach(promise="capacity", subject="n1", detail="2 unavailable, limit 1 in example.com/rack r1"),),
        FLOOR,
    ),
    # recorded
    Case("jobs are asked to save their work", a_snapshot(EVICTING, admitted=N1), a_decision(ASK)),
    Case(
        "jobs are asked to save their work on a node that waits",
        a_snapshot(UNRECORDED, admitted=N1),
        a_decision(ASK),
        (
            Breach(
                promise="recorded", subject="n1", detail=f"AskCheckpoint while the record seen is {UNRECORDED.record}"
            ),
        ),
    ),
    Case(
        "clients are paused while the node is cleared",
        a_snapshot(EVICTING, admitted=N1),
        a_decision(
            written(
                EVICTING, NodePhase.POD_DELETION_REQUIRED, PauseClients, entered_at=900.0, paused=(("deploy", "true"),)
            )
        ),
    ),
    Case(
        "a maintenance is asked for once the record is seen", a_snapshot(MAINTAINED, admitted=N1), a_decision(REQUEST)
    ),
    Case(
        "a maintenance is asked for in another phase",
        a_snapshot(CORDONING, admitted=N1),
        a_decision(REQUEST),
        (
            Breach(
                promise="recorded",
                subject="n1",
                detail=f"RequestMaintenance while the record seen is {CORDONING.record}",
            ),
        ),
    ),
    Case(
        "a maintenance is released without an admission",
        a_snapshot(a_node("n1", NodePhase.UPGRADE_DONE)),
        a_decision(RELEASE),
    ),
    Case(
        "a node is cordoned with its restart where nothing that is loaded changes",
        a_snapshot(WAITS_SAME, admitted=N1),
        a_decision(written(WAITS_SAME, NodePhase.POD_RESTART_REQUIRED, Cordon, is_cordon_ours=True)),
    ),
    Case(
        "a validator is restarted during validation",
        a_snapshot(VALIDATING, admitted=N1),
        a_decision(restart(Operand.VALIDATOR)),
    ),
    Case("pods are evicted once the record is seen", a_snapshot(EVICTING, admitted=N1), a_decision(evict())),
    Case(
        "pods are evicted before the record is seen",
        a_snapshot(UNRECORDED, admitted=N1),
        a_decision(evict()),
        (Breach(promise="recorded", subject="n1", detail=f"EvictPods while the record seen is {UNRECORDED.record}"),),
    ),
    Case("the driver is stopped once the record is seen", a_snapshot(RESTARTING, admitted=N1), a_decision(RESTART)),
    Case(
        "the driver is stopped a phase too early",
        a_snapshot(EVICTING, admitted=N1),
        a_decision(RESTART),
        (
            Breach(promise="recorded", subject="n1", detail=f"RestartPod while the record seen is {EVICTING.record}"),
            Breach(promise="held_off", subject="n1", detail="driver restart under jobs/train-0"),
        ),
    ),
    # admitted
    Case(
        "an admitted node starts",
        a_snapshot(UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
    ),
    Case(
        "a node starts that the ledger does not name",
        a_snapshot(UNRECORDED),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        (Breach(promise="admitted", subject="n1", detail="WriteNodeRecord of attempt 1 is not in the ledger"),),
    ),
    Case(
        "pods are evicted on the admission of another attempt",
        a_snapshot(EVICTING, admitted=a_ledger("n1", attempt=2)),
        a_decision(evict()),
        (Breach(promise="admitted", subject="n1", detail="EvictPods of attempt 1 is not in the ledger"),),
    ),
    Case(
        "a label that was lost is no start",
        a_snapshot(replace(CORDONING, is_label_lost=True)),
        a_decision(written(CORDONING, NodePhase.CORDON_REQUIRED, entered_at=900.0)),
    ),
    # hands off
    Case(
        "our cordon is lifted",
        a_snapshot(ENDING, admitted=N1),
        a_decision(written(ENDING, NodePhase.UPGRADE_DONE, Uncordon, is_cordon_ours=False)),
    ),
    Case(
        "a node whose cordon an admin has lifted is closed as ours",
        a_snapshot(LIFTED, admitted=N1),
        a_decision(written(LIFTED, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon, is_cordon_ours=True)),
    ),
    Case(
        "the cordon of an admin is called ours",
        a_snapshot(CLOSED_BY_AN_ADMIN, admitted=N1),
        a_decision(written(CLOSED_BY_AN_ADMIN, NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True)),
        (Breach(promise="hands_off", subject="n1", detail="a cordon of somebody else's is taken for ours"),),
    ),
    Case(
        "the cordon of an admin is lifted",
        a_snapshot(a_well_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordoned=True), admitted=N1),
        a_decision(written(ENDING, NodePhase.UPGRADE_DONE, Uncordon, is_cordon_ours=False)),
        (Breach(promise="hands_off", subject="n1", detail="uncordon of a node that somebody else cordoned"),),
    ),
    Case(
        "a node marked skip starts",
        a_snapshot(a_node("n1", NodePhase.UPGRADE_REQUIRED, is_skipped=True), admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        (Breach(promise="hands_off", subject="n1", detail="start of a node marked skip"),),
    ),
    Case(
        "a node marked skip at the last moment is cordoned",
        a_snapshot(replace(CORDONING, facts=replace(CORDONING.facts, is_skipped=True)), *FLEET[1:], admitted=N1),
        a_decision(written(CORDONING, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon)),
        (Breach(promise="hands_off", subject="n1", detail="start of a node marked skip"),),
    ),
    Case(
        "who has ended but is still in the ledger takes no room",
        a_snapshot(CORDONING, *FLEET[1:], admitted=a_ledger("n1", "n2", "n3")),
        a_decision(written(CORDONING, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon)),
    ),
    Case(
        "a node marked skip on the way is brought to its end",
        a_snapshot(replace(RESTARTING, facts=replace(RESTARTING.facts, is_skipped=True)), admitted=N1),
        a_decision(RESTART),
    ),
    # closed
    Case(
        "a node that was opened before its driver is proven is closed again, although the ledger lost it",
        a_snapshot(OPENED),
        a_decision(Cordon(node="n1", record=CLOSED_AGAIN, expect="7")),
    ),
    Case(
        "a node that was opened before its driver is proven is left open",
        a_snapshot(OPENED),
        held("n1"),
        (Breach(promise="closed", subject="n1", detail=f"left open on an unproven driver, record {OPENED.record}"),),
    ),
    Case(
        "a node is uncordoned over a pod that slipped in",
        a_snapshot(replace(ENDING, facts=replace(ENDING.facts, pods=(a_gpu_pod(),)), record=SLIPPED), admitted=N1),
        a_decision(
            written(
                replace(ENDING, record=SLIPPED),
                NodePhase.UPGRADE_DONE,
                Uncordon,
                is_cordon_ours=False,
                has_lost_driver=False,
                reopened_count=0,
            )
        ),
        (Breach(promise="proven", subject="n1", detail="uncordon over jobs/train-0, which slipped in"),),
    ),
    # no lost node
    Case("a node waits with a reason", a_snapshot(a_node("n1")), held("n1")),
    Case("a done node needs no reason", WAITING, a_decision()),
    Case(
        "a node neither moves nor waits with a reason",
        a_snapshot(a_node("n1")),
        a_decision(),
        (Breach(promise="no_lost_node", subject="n1", detail="neither moving nor held, record None"),),
    ),
    # one act
    Case(
        "two acts on one node",
        a_snapshot(RESTARTING, admitted=N1),
        a_decision(RESTART, evict()),
        (Breach(promise="one_act", subject="n1", detail="2 acts in one pass"),),
    ),
    # table
    Case(
        "a phase is skipped",
        a_snapshot(UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.UNCORDON_REQUIRED)),
        (Breach(promise="table", subject="n1", detail="upgrade-required → uncordon-required"),),
    ),
    Case(
        "a lifted cordon is written down",
        a_snapshot(a_node("n1", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True, is_cordoned=False), admitted=N1),
        a_decision(
            written(
                a_node("n1", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True),
                NodePhase.VALIDATION_REQUIRED,
                entered_at=900.0,
                is_cordon_ours=False,
            )
        ),
    ),
    Case(
        "a pause rewrites when the phase was entered",
        a_snapshot(EVICTING, admitted=N1),
        a_decision(written(EVICTING, NodePhase.POD_DELETION_REQUIRED, PauseClients, paused=(("deploy", "true"),))),
        (Breach(promise="table", subject="n1", detail="pod-deletion-required → pod-deletion-required"),),
    ),
    # held off
    Case(
        "the driver is restarted under its users where nothing that is loaded changes",
        a_snapshot(RESTART_ONLY, admitted=N1),
        a_decision(RESTART),
    ),
    Case(
        "the driver is restarted under its users although something that is loaded changes after all",
        a_snapshot(NO_LONGER, admitted=N1),
        a_decision(RESTART),
        (Breach(promise="held_off", subject="n1", detail="driver restart under jobs/train-0"),),
    ),
    Case(
        "the driver is stopped on word of pods from before its node was closed",
        a_snapshot(
            replace(RESTARTING, record=replace(record_of(RESTARTING), closed_at=NOW - 5)),
            admitted=N1,
            freshness=(Freshness(source="pods", is_synced=True, heard_at=NOW - 6),),
        ),
        a_decision(RESTART),
        (
            Breach(
                promise="held_off",
                subject="n1",
                detail="driver restart, and pods were last heard of before it was closed",
            ),
        ),
    ),
    # whole
    Case(
        "one of a unit is let in while another cannot start",
        a_snapshot(
            a_node("n1", NodePhase.UPGRADE_REQUIRED, labels={"clique": "c1"}),
            a_node("n2", NodePhase.UPGRADE_REQUIRED, labels={"clique": "c1"}, is_ready=False),
        ),
        a_decision(
            WriteRolloutRecord(record=RolloutRecord(name="spring", admitted=N1)),
            holds=(hold("n1", HoldCode.LEDGER_PENDING), hold("n2", HoldCode.NODE_NOT_READY)),
        ),
        (Breach(promise="whole", subject="n1", detail="let in without n2 of clique c1"),),
        intent=an_intent(unavailable_max="100%", domains=(Domain(label="clique", is_unit=True),)),
    ),
    # aimed
    Case(
        "pods are evicted for a version that the rollout does not want",
        a_snapshot(replace(EVICTING, facts=replace(EVICTING.facts, wanted=THIRD)), admitted=N1),
        a_decision(evict()),
        (Breach(promise="aimed", subject="n1", detail="EvictPods, and 580.105.08 is not what is published"),),
    ),
    Case(
        "pods are evicted though nobody would bring a new driver",
        a_snapshot(
            replace(EVICTING, facts=replace(EVICTING.facts, wanted=None, driver=a_driver(is_orphaned=True))),
            admitted=N1,
        ),
        a_decision(evict()),
        (Breach(promise="aimed", subject="n1", detail="EvictPods, and no new driver would come"),),
    ),
    # proven
    Case(
        "an unproven node is given back",
        a_snapshot(a_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True), admitted=N1),
        a_decision(written(ENDING, NodePhase.UPGRADE_DONE, Uncordon, is_cordon_ours=False)),
        (Breach(promise="proven", subject="n1", detail="uncordon in spite of driver-not-ready"),),
    ),
    # hands off, of a campaign
    Case(
        "our marks are taken away",
        at(BEGUN, a_done_node(is_skipped=True, skipped_by="spring", canary_of="spring")),
        a_decision(mark(skip=False, canary=False)),
        intent=CAREFUL,
    ),
    Case(
        "the skip label of a person is taken away",
        at(BEGUN, a_done_node(is_skipped=True)),
        a_decision(mark(skip=False)),
        (Breach(promise="hands_off", subject="n1", detail="a skip label of a person is taken away"),),
        CAREFUL,
    ),
    Case(
        "the skip label of another campaign is taken away",
        at(BEGUN, a_done_node(is_skipped=True, skipped_by="winter")),
        a_decision(mark(skip=False)),
        (Breach(promise="hands_off", subject="n1", detail="a skip label of winter is taken away"),),
        CAREFUL,
    ),
    Case(
        "the skip label of a person is made ours",
        at(BEGUN, a_done_node(is_skipped=True)),
        a_decision(mark(skip=True)),
        (Breach(promise="hands_off", subject="n1", detail="a skip label that is there already is made ours"),),
        CAREFUL,
    ),
    Case(
        "the skip label of another rollout that is under way is made ours",
        at(BEGUN, a_done_node(is_skipped=True, skipped_by="winter"), others=("winter",)),
        a_decision(mark(skip=True)),
        (Breach(promise="hands_off", subject="n1", detail="a skip label that is there already is made ours"),),
        CAREFUL,
    ),
    Case(
        "the skip label that an earlier rollout left is made ours",
        at(BEGUN, a_done_node(is_skipped=True, skipped_by="winter")),
        a_decision(mark(skip=True)),
        intent=CAREFUL,
    ),
    Case(
        "the canary of another campaign is made ours",
        at(BEGUN, a_done_node(canary_of="winter")),
        a_decision(mark(canary=True)),
        (Breach(promise="hands_off", subject="n1", detail="the mark of winter is changed"),),
        CAREFUL,
    ),
    pool("a pool is paused", FREE, BEGUN, value=True),
    pool("a pause that another rollout left is taken over", LEFT, BEGUN, value=True),
    pool("a person's pause is made ours", THEIRS, BEGUN, value=True, hands_off="a pause of a person is made ours"),
    pool(
        "a pool that somebody resumed is paused again",
        replace(FREE, paused_by="spring"),
        BEGUN,
        value=True,
        hands_off="a pool that somebody resumed is paused again",
    ),
    pool("a pool of ours is resumed for the waves", HELD, WAVING, value=False),
    pool("a person's pause is ended", THEIRS, WAVING, value=False, hands_off="a pause of a person is ended"),
    pool("another rollout's pause is ended", LEFT, WAVING, value=False, hands_off="a pause of winter is ended"),
    pool("a pool is resumed while the canary bakes", HELD, BEGUN, value=False, bake="the campaign is at Baking"),
    pool("a pool is resumed when everything was taken back", HELD, UNDOING, value=False),
    pool(
        "a pool is resumed although people cannot take it back",
        HELD,
        UNDOING_BY_HAND,
        value=False,
        bake="the campaign is at Reverting",
    ),
    # measured, before it takes work
    Case(
        "a canary is opened although no gate has looked at its GPUs",
        at(GATED, ENDING, admitted=N1),
        a_decision(written(ENDING, NodePhase.UPGRADE_DONE, Uncordon)),
        (Breach(promise="measured", subject="n1", detail=UNMEASURED),),
        CAREFUL,
    ),
    Case(
        "a canary is opened once the gates have passed there",
        at(BEGUN, ENDING, admitted=N1),
        a_decision(written(ENDING, NodePhase.UPGRADE_DONE, Uncordon)),
        intent=CAREFUL,
    ),
    # no lost node, of a campaign
    Case("a node that nobody has touched yet needs no reason", at(BEGUN, an_old_node()), a_decision(), intent=CAREFUL),
    Case(
        "a node out of sync neither moves nor waits with a reason",
        at(BEGUN, a_node()),
        a_decision(),
        (Breach(promise="no_lost_node", subject="n1", detail="neither moving nor held, record None"),),
        CAREFUL,
    ),
    # turn
    turned("a campaign is written down as proposed", None, PROPOSED),
    turned("a campaign begins in the middle", None, BEGUN, "it begins as Baking"),
    turned("a campaign takes the next step", PROPOSED, a_campaign_record(RolloutPhase.CANARY)),
    turned("a phase is left out", PROPOSED, BEGUN, "Proposed → Baking"),
    turned("the record of a campaign is lost", BEGUN, None, "the campaign's record is lost"),
    turned("the next round begins", BEGUN, replace(BEGUN, round=4)),
    turned(
        "a round is asked twice",
        BEGUN,
        replace(BEGUN, round=1),
        "round 3 → 1: what was measured for it would be taken for new",
    ),
    turned("a wave is taken back", BEGUN, replace(BEGUN, wave=0), "wave 1 → 0"),
    turned(
        "the way back is changed on the way",
        BEGUN,
        replace(BEGUN, baseline=((POLICY, NEW.version),)),
        "who moves the nodes, or the way back, is changed on the way",
    ),
    turned(
        "who moves the nodes is changed on the way",
        BEGUN,
        replace(BEGUN, mode=Mode.DELEGATED),
        "who moves the nodes, or the way back, is changed on the way",
    ),
    turned(
        "a pause ends where it began",
        replace(BEGUN, phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.BAKING),
        replace(BEGUN, paused_in=None),
    ),
    turned(
        "a pause ends elsewhere",
        replace(BEGUN, phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.BAKING),
        replace(BEGUN, phase=RolloutPhase.WAVING),
        "paused in Baking, resumed in Waving",
    ),
    turned(
        "a promotion gets a second name",
        PROMOTING,
        replace(PROMOTING, tag_base="v2026-12-stable"),
        "the promotion gets a second name",
    ),
    turned("why it is undone is changed", UNDOING, replace(UNDOING, why=""), "why it is undone is changed"),
    # record first
    Case(
        "nodes are marked while only the ledger changes",
        at(BEGUN),
        a_decision(WriteRolloutRecord(record=replace(at(BEGUN).rollout, admitted=())), mark(canary=True)),
        intent=CAREFUL,
    ),
    Case(
        "a node is marked in the pass that changes the record",
        at(BEGUN),
        a_decision(*recorded(BEGUN, replace(BEGUN, round=4)).actions, mark(canary=True)),
        (Breach(promise="record_first", subject="spring", detail="MarkNode before its record is seen"),),
        CAREFUL,
    ),
    # bake
    Case(
        "the fleet follows a canary that has held",
        at(a_campaign_record(RolloutPhase.WAVING, **BAKED)),
        a_decision(publish(PublishStep.FLEET)),
        intent=CAREFUL,
    ),
    unbaked("the fleet follows while the canary bakes", BEGUN, "the campaign is at Baking"),
    unbaked("the fleet follows without a gate", a_campaign_record(RolloutPhase.WAVING), "no gate was asked"),
    unbaked(
        "the fleet follows a gate that could not be measured",
        a_campaign_record(
            RolloutPhase.WAVING, gates=(replace(PASSED, verdict=GateVerdict.UNKNOWN),), baked_seconds=1e6
        ),
        "gate readiness is unknown",
    ),
    unbaked(
        "the fleet follows too early",
        a_campaign_record(RolloutPhase.WAVING, gates=(PASSED,), baked_seconds=60.0),
        "baked 60.0 of 172800.0 s",
    ),
    Case("the matrix is promoted after the waves", at(PROMOTING), a_decision(PROMOTION), intent=CAREFUL),
    Case(
        "the matrix is promoted by a rollout that is no campaign",
        a_snapshot(a_done_node()),
        a_decision(PROMOTION),
        (Breach(promise="bake", subject="rollout/spring/promotion", detail="there is no record of a canary"),),
    ),
    # accepted
    Case(
        "the matrix is promoted with a failed node that a person has accepted",
        at(PROMOTING, a_done_node(), CRASHED, operator_version=NEW.version),
        a_decision(PROMOTION, holds=(GIVEN_UP,)),
        intent=replace(CAREFUL, campaign=a_campaign(approved=(Point.PROMOTION,))),
    ),
    Case(
        "the matrix is promoted with a failed node that a person has left out",
        at(PROMOTING, a_done_node(), replace(CRASHED, facts=replace(CRASHED.facts, is_skipped=True))),
        a_decision(PROMOTION, holds=(GIVEN_UP,)),
        intent=CAREFUL,
    ),
    Case(
        "the matrix is promoted with a failed node",
        at(PROMOTING, a_done_node(), CRASHED),
        a_decision(PROMOTION, holds=(GIVEN_UP,)),
        (Breach(promise="accepted", subject="rollout/spring/promotion", detail=UNACCEPTED),),
        CAREFUL,
    ),
    Case(
        "a campaign without a matrix is done with a failed node",
        at(PROMOTING, a_done_node(), CRASHED),
        replace(recorded(PROMOTING, replace(PROMOTING, phase=RolloutPhase.DONE)), holds=(GIVEN_UP,)),
        (Breach(promise="accepted", subject="rollout/spring", detail=UNACCEPTED),),
        CAREFUL,
    ),
    # way back
    Case(
        "a version is published where one to return to is on record",
        at(a_campaign_record(RolloutPhase.CANARY)),
        a_decision(publish(PublishStep.CANARY)),
        intent=CAREFUL,
    ),
    Case(
        "a version is published where everybody runs it",
        at(a_campaign_record(RolloutPhase.CANARY, baseline=()), a_done_node()),
        a_decision(publish(PublishStep.CANARY)),
        intent=CAREFUL,
    ),
    Case(
        "the way back replaces our version",
        at(UNDOING, operator_version=NEW.version),
        a_decision(back()),
        intent=CAREFUL,
    ),
    Case(
        "the way back replaces what somebody published after us",
        at(UNDOING, operator_version="590.44.01"),
        a_decision(back()),
        (
            Breach(
                promise="overwritten",
                subject="spring",
                detail=f"{POLICY} has 590.44.01, not ours, and gets {OLD.version}",
            ),
        ),
        CAREFUL,
    ),
    Case(
        "a version is published with nothing to return to",
        at(a_campaign_record(RolloutPhase.CANARY, baseline=())),
        a_decision(publish(PublishStep.CANARY)),
        (
            Breach(
                promise="way_back", subject="spring", detail=f"{POLICY} gets {NEW.version} with nothing to return to"
            ),
        ),
        CAREFUL,
    ),
    Case(
        "the old version needs no way back",
        at(replace(UNDOING, baseline=())),
        a_decision(back()),
        intent=CAREFUL,
    ),
    # unopened
    Case(
        "the canary starts",
        at(a_campaign_record(RolloutPhase.CANARY), UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        intent=CAREFUL,
    ),
    Case(
        "another node starts before the canary has held",
        at(replace(BEGUN, canaries=("n2",)), UNRECORDED, a_done_node("n2"), admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        (Breach(promise="unopened", subject="n1", detail="WriteNodeRecord while the campaign is at Baking"),),
        CAREFUL,
    ),
    Case(
        "a node starts before the campaign is written down",
        at(None, UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        (Breach(promise="unopened", subject="n1", detail="WriteNodeRecord while the campaign is at nowhere yet"),),
        CAREFUL,
    ),
    Case(
        "who goes with the canary as one starts with it",
        at(
            a_campaign_record(RolloutPhase.CANARY, canaries=("n2",)),
            a_node("n1", NodePhase.UPGRADE_REQUIRED, labels={RACK: "r1"}),
            a_done_node("n2", labels={RACK: "r1"}),
            admitted=N1,
        ),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        intent=TOGETHER,
    ),
    Case(
        "who is under way goes on in any phase",
        at(replace(BEGUN, canaries=("n2",)), RESTARTING, admitted=N1),
        a_decision(RESTART),
        intent=CAREFUL,
    ),
    Case(
        "a node starts in its wave",
        at(a_campaign_record(RolloutPhase.WAVING, canaries=("n2",)), UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        intent=CAREFUL,
    ),
    # on time
    Case(
        "a node starts in an open window",
        at(WAVING, UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED), at=NOW),
        intent=in_window(NOW + 60),
    ),
    Case(
        "a node starts outside of a window",
        at(WAVING, UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED), at=NOW),
        (Breach(promise="on_time", subject="n1", detail="it is started while the rollout is outside of every window"),),
        in_window(NOW - 60),
    ),
    Case(
        "a node starts while the rollout is paused",
        at(WAVING, UNRECORDED, admitted=N1),
        a_decision(written(UNRECORDED, NodePhase.CORDON_REQUIRED)),
        (Breach(promise="on_time", subject="n1", detail="it is started while the rollout is paused"),),
        replace(CAREFUL, is_paused=True),
    ),
    Case(
        "a node is let in to NVIDIA's controller shortly before a window closes",
        at(LEFT_TO_NVIDIA, KEPT_OUT, admitted=NAMED),
        a_decision(LET_IN, at=NOW),
        (Breach(promise="on_time", subject="n1", detail="it is started while the rollout is outside of every window"),),
        in_window(NOW + 60),
    ),
    Case(
        "a node is let in to NVIDIA's controller while the rollout is paused",
        at(LEFT_TO_NVIDIA, KEPT_OUT, admitted=NAMED),
        a_decision(LET_IN),
        (Breach(promise="on_time", subject="n1", detail="it is started while the rollout is paused"),),
        replace(CAREFUL, is_paused=True),
    ),
    Case(
        "a failed node is tried again while the rollout is paused",
        at(LEFT_TO_NVIDIA_BACK, a_node(nvidia_state="upgrade-failed"), admitted=NAMED),
        a_decision(replace(LET_IN, skip=None, is_retry=True)),
        (Breach(promise="on_time", subject="n1", detail="it is started while the rollout is paused"),),
        replace(CAREFUL, is_paused=True),
    ),
    Case(
        "a node goes back outside of every window",
        at(LEFT_TO_NVIDIA_BACK, a_well_node(wanted=OLD, **SKIPPED), admitted=NAMED),
        a_decision(LET_IN, at=NOW),
        intent=in_window(NOW - 60),
    ),
    Case(
        "our label goes from a node that is done, at any time",
        at(LEFT_TO_NVIDIA, a_well_node(nvidia_state="upgrade-done", **SKIPPED)),
        a_decision(LET_IN, at=NOW),
        intent=in_window(NOW - 60),
    ),
    # let in
    Case(
        "a node is let in that the ledger names",
        at(LEFT_TO_NVIDIA, KEPT_OUT, admitted=NAMED),
        a_decision(LET_IN),
        intent=CAREFUL,
    ),
    Case(
        "a node is let in that the ledger does not name",
        at(LEFT_TO_NVIDIA, KEPT_OUT),
        a_decision(LET_IN),
        (Breach(promise="let_in", subject="n1", detail="it is let in, and the ledger does not name it"),),
        CAREFUL,
    ),
    Case(
        "a node is let in after more failures than are tolerated",
        at(LEFT_TO_NVIDIA, KEPT_OUT, *(a_node(f"n{n}", nvidia_state="upgrade-failed") for n in (2, 3)), admitted=NAMED),
        a_decision(LET_IN, holds=held("n2", "n3").holds),
        (Breach(promise="let_in", subject="n1", detail="it is let in after 2 failures, limit 1"),),
        replace(CAREFUL, failed_max=1),
    ),
    Case(
        "NVIDIA's controller has one more at work than the ledger may name",
        at(LEFT_TO_NVIDIA, a_node(nvidia_state="cordon-required"), a_node("n2", nvidia_state="upgrade-required")),
        a_decision(ledger(at(LEFT_TO_NVIDIA), *a_ledger("n1", "n2", attempt=0)), holds=held("n1", "n2").holds),
        (Breach(promise="capacity", subject="spring", detail="2 nodes under way, limit 1"),),
        replace(CAREFUL, policy=an_intent(parallel_max=1, unavailable_max=2).policy),
    ),
    # one thing
    Case(
        "a version is published while another campaign is under way",
        at(a_campaign_record(RolloutPhase.CANARY), others=("winter",)),
        a_decision(publish(PublishStep.CANARY)),
        (Breach(promise="one_thing", subject="rollout/spring/canary", detail="winter is under way as well"),),
        CAREFUL,
    ),
    Case(
        "a campaign goes back while another is under way",
        at(UNDOING, others=("winter",)),
        a_decision(back()),
        intent=CAREFUL,
    ),
    # rejected
    Case(
        "an entry is marked for a verdict of ours",
        at(replace(UNDOING, rejected="Xid 79")),
        a_decision(MarkBad(rollout="spring", driver=NEW.version, why="Xid 79")),
        intent=WITH_A_MATRIX,
    ),
    Case(
        "an entry is marked because somebody changed their mind",
        at(UNDOING),
        a_decision(MarkBad(rollout="spring", driver=NEW.version, why="a typo")),
        (Breach(promise="rejected", subject="spring", detail=UNREJECTED),),
        WITH_A_MATRIX,
    ),
    # visited
    Case("an operand restarts under a cordon", a_snapshot(VISITED, admitted=N1), a_decision(RETOOLED)),
    unvisited("an operand restarts on an open node", opened(VISITED), detail="restarts without a cordon"),
    unvisited(
        "an operand restarts that is as it should be",
        replace(VISITED, facts=with_operands(VISITED.facts, ((Operand.TOOLKIT, "v1.17.8"),))),
        detail="restarts, and runs what is wanted",
    ),
    Case("a monitor restarts on an open node", a_snapshot(opened(MONITORED), admitted=N1), a_decision(REMONITORED)),
    Case("the runtime restarts under its users", a_snapshot(a_visit(TOOL, users=1), admitted=N1), a_decision(RETOOLED)),
    unvisited(
        "the runtime restarts under users who were to leave first",
        a_visit(TOOL, users=1, settings="other"),
        detail="restarts under jobs/train-0",
        intent=replace(an_intent(), evicts_for_runtime=True),
    ),
    Case(
        "a validator restarts on a node that nobody visits",
        a_snapshot(a_done_node(), admitted=N1),
        a_decision(restart(Operand.VALIDATOR)),
        (Breach(promise="visited", subject="n1", detail="validator restarts outside a visit"),),
    ),
    Case(
        "a validator restarts in a visit that the ledger does not name",
        a_snapshot(VALIDATING),
        a_decision(restart(Operand.VALIDATOR)),
        (Breach(promise="visited", subject="n1", detail="validator restarts outside a visit"),),
    ),
    Case(
        "a node is opened before its operand is up",
        a_snapshot(UNPROVEN, admitted=N1),
        a_decision(written(UNPROVEN, NodePhase.UPGRADE_DONE, Uncordon)),
        (Breach(promise="proven", subject="n1", detail="uncordon in spite of operand-not-ready"),),
    ),
    Case("a network driver restarts on an empty node", a_snapshot(NETWORKED, admitted=N1), a_decision(RENETWORKED)),
    Case(
        "a network driver restarts under a pod without a GPU",
        a_snapshot(replace(NETWORKED, facts=replace(NETWORKED.facts, pods=(a_pod(),))), admitted=N1),
        a_decision(RENETWORKED),
        (Breach(promise="visited", subject="n1", detail="network-driver restarts under web/web-0"),),
    ),
    Case(
        "a network driver restarts when the GPU's was taken away",
        a_snapshot(replace(NETWORKED, facts=replace(NETWORKED.facts, driver=None)), admitted=N1),
        a_decision(RENETWORKED),
        (Breach(promise="visited", subject="n1", detail="the network driver restarts after the GPU's was taken away"),),
    ),
    # aside
    Case(
        "an operand restarts while the SR-IOV operator is at work",
        a_snapshot(replace(VISITED, facts=replace(VISITED.facts, sriov="Draining")), admitted=N1),
        a_decision(RETOOLED),
        (Breach(promise="aside", subject="n1", detail="RestartPod while the SR-IOV operator is at work"),),
    ),
    # until when
    Case(
        "a node is closed for its jobs, and its rollout waits for none",
        a_snapshot(VISITED, admitted=N1),
        a_decision(holds=(hold("n1", HoldCode.CLOSED_AHEAD, jobs=1, idle=0, limit=8),)),
        (Breach(promise="until_when", subject="n1", detail="closed for its jobs, and nobody waits for them"),),
    ),
    # one cordon
    Case("a visit that was for monitors closes its node", a_snapshot(opened(MONITORED), admitted=N1), closing_of(None)),
    Case(
        "a visit closes a node that somebody opened",
        a_snapshot(opened(MONITORED, closed_at=900.0), admitted=N1),
        closing_of(900.0),
        (Breach(promise="one_cordon", subject="n1", detail="attempt 1 closes it a second time"),),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.story for case in CASES])
def test_a_promise_is_kept_or_broken_when(case: Case) -> None:
    assert broken(case.seen, case.intent, case.decision) == case.breaches


@pytest.mark.parametrize(("count", "is_broken"), [(ACTIONS_MAX, False), (ACTIONS_MAX + 1, True)])
def test_a_pass_has_no_more_acts_than_it_may(count: int, is_broken: bool) -> None:
    nodes = [a_node(f"n{number:04}") for number in range(count)]
    acts: list[WriteNodeRecord] = [written(node, NodePhase.UPGRADE_REQUIRED, attempt=1) for node in nodes]
    seen = a_snapshot(*nodes)
    breach = Breach(promise="bounded", subject="spring", detail="201 acts in one pass, limit 200")
    # The ledger is not an act on a node, and is always allowed.
    assert broken(seen, an_intent(), a_decision(ledger(seen), *acts)) == ((breach,) if is_broken else ())


def test_every_promise_has_a_case_that_breaks_it() -> None:
    breaking = {breach.promise for case in CASES for breach in case.breaches} | {"bounded"}
    assert breaking == {promise.__name__.removesuffix("_kept") for promise in PROMISES}


def test_a_breach_reads_as_a_sentence() -> None:
    assert str(Breach(promise="one_act", subject="n1", detail="2 acts in one pass")) == (
        "one_act broken at n1: 2 acts in one pass"
    )


@pytest.mark.parametrize("phase", [RolloutPhase.WAVING, RolloutPhase.REVERTED])
def test_what_nvidias_controller_begins_by_itself_is_noted_down_and_breaks_no_unit(phase: RolloutPhase) -> None:
    labels = {"clique": "c1"}
    begun = a_node(nvidia_state="cordon-required", labels=labels)
    seen = at(replace(LEFT_TO_NVIDIA, phase=phase), begun, a_node("n2", nvidia_state="upgrade-required", labels=labels))
    seen = replace(seen, operator=replace(seen.operator, is_auto_upgrading=True))
    intent = replace(CAREFUL, domains=(Domain(label="clique", is_unit=True),))
    decision = decide(seen, intent, NOW)
    assert [act.record.admitted for act in decision.actions if isinstance(act, WriteRolloutRecord)] == [
        a_ledger("n1", attempt=0)
    ]
    assert broken(seen, intent, decision) == ()
