"""Every hold that core really makes reads as a sentence with nothing left open."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import ACTIONS_MAX, decide
from seatrial.core.decision.leading import leaderless
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.judging.evidence import exposed_of
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import (
    Bake,
    ByHand,
    Canary,
    GitPlace,
    Mode,
    Places,
    Point,
    PublishStep,
    RolloutPhase,
    Via,
    Waves,
)
from seatrial.core.model.deployers import Follower, Mark, Stop
from seatrial.core.model.gates.compared import Compared, Comparison
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.gate import READINESS, Attest, Gate, GateResult, GateVerdict, Tenant
from seatrial.core.model.intent import Checkpoint, Domain, Intent, Requestor
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import Attrition, JobWait, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import Loaded, Maintenance, NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.operands import Operand, OperandSeen
from seatrial.core.model.seen.operators import Carrier, MachinePool, OperatorFacts, Pool
from seatrial.core.model.seen.pods import DriverRevision, Pod, PodOwner
from seatrial.core.model.seen.problems import Problem, UnreadableObject
from seatrial.core.model.seen.releases import Holder, Release
from seatrial.core.model.seen.requests import Request, RequestState
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.core.model.seen.subscriptions import Plan, Subscription
from seatrial.core.model.seen.work import PodBudget, WorkSeen
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target
from seatrial.core.model.troubles import Symptom, Trouble
from seatrial.core.movers.view import MERGE_SECONDS
from seatrial.core.node.phases import FailureCode
from seatrial.core.words.explain import EXPLANATIONS, FAILURES, next_step, why
from seatrial.sim.operand_pods import with_network
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_dra_plugin,
    a_driver,
    a_gpu_pod,
    a_ledger,
    a_measurement,
    a_new_driver,
    a_node,
    a_rebuff,
    a_snapshot,
    a_source,
    a_starting_driver,
    a_validator,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
    proving,
)
from tests.core.words.explained import sentence


def waiting(**changes: Any) -> NodeSeen:
    return a_node(phase=NodePhase.UPGRADE_REQUIRED, **changes)


def admitted(phase: NodePhase, **changes: Any) -> Snapshot:
    changes = {"is_cordon_ours": True} | changes
    return a_snapshot(a_node(phase=phase, **changes), admitted=a_ledger("n1"))


def evicting(*pods: Pod) -> Snapshot:
    return admitted(NodePhase.POD_DELETION_REQUIRED, pods=pods)


def validating(**changes: Any) -> Snapshot:
    changes = {"driver": a_new_driver()} | changes
    return admitted(NodePhase.VALIDATION_REQUIRED, **changes)


def proven(before: GpuOffer | None = None, **changes: Any) -> Snapshot:
    """A node at validation with everything in order but these changes."""
    return validating(validator=proving(), record={"before": before}, **changes)


ALONE = an_intent(unavailable_max=1)
A_POOL = Pool(name="h100", claim=DriverClaim(name="h100"))
RELEASE = Target.of("580.105.08", (Component.CONTAINER_TOOLKIT, "v1.18.1"))
NETWORK = Target.of(NEW.version, (Component.MOFED, "25.04-0.6.0.0"))
TIMED_OUT = {"failed_revision": "new", "reason": "driver-timeout", "failures": 1}
FAILED = a_node("n2", NodePhase.UPGRADE_FAILED, record=TIMED_OUT)
BLOCKED = a_rebuff(detail="Cannot evict pod as it would violate the pod's disruption budget.")

IN_R1 = {"example.com/rack": "r1"}
UNITED = an_intent(parallel_max=2, unavailable_max=1, domains=(Domain(label="example.com/rack", is_unit=True),))
MAINTENANCE = Maintenance(
    namespace="default", name="nvidia-operator-n1", uid="u", resource_version="1", requestor="seatrial"
)

CAREFUL = an_intent(campaign=a_campaign())
SPEED = Gate(name="speed", image="probes:1", probe="performance")
CANARY_DONE = (a_done_node(), an_old_node("n2", wanted=NEW))
FORWARD = an_operator(NEW.version)
DELEGATED = {"mode": Mode.DELEGATED}
ASKED_OFTEN = tuple(
    a_measurement(GateVerdict.UNKNOWN, attempt=number + 1, detail="no GPU.") for number in range(TRIES_MAX)
)
STUCK = a_measurement(
    GateVerdict.PENDING,
    job="seatrial/gate-smoke-n1-1-1-ab",
    pod="gate-smoke-n1-1-1-ab-x7",
    stuck="ImagePullBackOff: no",
)
REFUSED = a_measurement(GateVerdict.PENDING, detail="violates PodSecurity", kept_out_of="trials")
EMPTY_POOL = Pool(name="spare", claim=DriverClaim(name="spare"), is_auto_upgrading=False)
NAMED = replace(NEW, image="nvcr.io/nvidia/driver:580.105.08-ubuntu22.04")
PULLED_OFTEN = tuple(replace(each, gate="prepull", node="n1", round=0) for each in ASKED_OFTEN)
FIRMWARE = ByHand(component=Component.FIRMWARE_CX7, before="28.39.1002", instructions="By the BMC.")
SHOWN = a_done_node(canary_of="spring", components=(("firmware_cx7", "28.43.2026"),))
PAUSING = an_intent(campaign=a_campaign(waves=Waves(first=Share(amount=1), pause_seconds=600.0)))


AT_RELEASE = Release(component=Component.GPU_OPERATOR, version="v25.3.4", name="gpu", namespace="nvidia")
HOLDING = Holder(component=Component.GPU_OPERATOR, resource="HelmRelease/nvidia/gpu", version="v25.3.4")
PINNING = Carrier(name=POLICY, version=OLD.version, parts=(("validator", "v24.9.2"), ("gpu_operator", "v25.3.4")))


def released(**changes: Any) -> Intent:
    """A rollout that brings a release of the GPU Operator."""
    asked = careful(**changes) if changes else CAREFUL
    return replace(asked, target=Target.of(OLD.version, (Component.GPU_OPERATOR, "v25.10.0")))


OFFERED = Plan(resource="InstallPlan/nvidia/install-a", names=("gpu-operator-certified.v25.10.0",))
FOLLOWED = Subscription(
    component=Component.GPU_OPERATOR,
    resource="Subscription/nvidia/gpu",
    package="gpu-operator-certified",
    installed="gpu-operator-certified.v25.3.4",
    plan=OFFERED,
)


def by_olm(**changes: Any) -> OperatorFacts:
    """A GPU Operator that OLM installs."""
    return an_operator(OLD.version, releases=(AT_RELEASE,), subscriptions=(replace(FOLLOWED, **changes),))


def careful(**changes: Any) -> Intent:
    return an_intent(campaign=a_campaign(**changes))


def proposed(*nodes: NodeSeen, **changes: Any) -> Snapshot:
    fields: dict[str, Any] = {"operator": an_operator(), "campaign": a_campaign_record()}
    return a_snapshot(*(nodes or (an_old_node(),)), **(fields | changes))


def at(phase: RolloutPhase, *nodes: NodeSeen, record: dict[str, Any] | None = None, **changes: Any) -> Snapshot:
    """A campaign in a phase, its target published."""
    fields: dict[str, Any] = {"operator": FORWARD, "campaign": a_campaign_record(phase, **(record or {}))}
    return a_snapshot(*(nodes or CANARY_DONE), **(fields | changes))


ATTRITIVE = replace(careful(), attrition=Attrition(), policy=an_intent(parallel_max=0, idle_gpus_max=8).policy)
PATIENT = replace(ATTRITIVE, attrition=Attrition(evicts_early=False))
ONE_JOB = (a_gpu_pod(gpu_count=8),)
SERVING = a_gpu_pod(
    gpu_count=8, is_running=True, job=PodJob(gang="jobs/replica/a", line="jobs/chat", replica_of="jobs/ReplicaSet/chat")
)
NONE_ALLOWED = PodBudget(namespace=SERVING.namespace, name="chat", selector=Selector(), allowed=0)
OLD_JOBS = tuple(
    replace(a_gpu_pod(each, gpu_count=1), job=PodJob(gang=f"g{each}", line="train", started_at=-100_000.0))
    for each in range(8)
)
OF_EIGHT = {"nvidia.com/gpu.count": "8"}
CLOSED = a_node(
    phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, pods=ONE_JOB, labels=OF_EIGHT, is_cordoned=True, is_cordon_ours=True
)


def attritive(node: NodeSeen, **changes: Any) -> Snapshot:
    """A wave by attrition in which one node of eight GPUs is left."""
    left = replace(node, facts=replace(node.facts, labels=OF_EIGHT))
    record = {"canaries": ("n9",), "waving_since": 900.0}
    return at(RolloutPhase.WAVING, left, a_done_node("n9", canary_of="spring"), record=record, **changes)


MARK = (Mark(kind="Application", name="gpu"),)


def in_git(writer: str = "", **changes: Any) -> tuple[Snapshot, Intent]:
    """Our commit is in Git, and whoever brings it into the cluster says this."""
    operator = an_operator(writer=writer)
    operator = replace(operator, carriers=tuple(replace(each, marks=MARK) for each in operator.carriers))
    follower = replace(Follower(kind="Application", namespace="argocd", name="gpu"), **changes)
    source = a_source(steps=((PublishStep.CANARY, "c1"),))
    seen = at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=operator, source=source)
    return replace(seen, followers=(follower,)), careful(publish=Via.GIT)


REQUEST = Request(
    branch="seatrial/spring/canary",
    number=7,
    url="https://git.example.com/gpu/cluster/pulls/7",
    state=RequestState.OPEN,
    opened_at=NOW - MERGE_SECONDS,
)


def by_request(**source: Any) -> Snapshot:
    """The canary's version waits for a person to merge it."""
    asked = a_source(proposals=((PublishStep.CANARY, "the text"),), **source)
    return at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=an_operator(), source=asked)


HERE = Places(published=GitPlace(url="https://git.example/here", branch="main", path="gpu.yaml"))
THERE = Places(published=GitPlace(url="https://git.example/there", branch="main", path="gpu.yaml"))

OUTSIDE = {
    HoldCode.LEADERLESS: leaderless("spring", "seatrial-5d8f-x2", NOW - 45),
    HoldCode.PROMISE_BROKEN: hold(
        "spring",
        HoldCode.PROMISE_BROKEN,
        promises="hands_off at n1, the cordon of an admin is lifted",
        acts="node/n1: uncordon",
    ),
}
"""What no controller says of itself, or what no decision says."""
SITUATIONS: dict[HoldCode, tuple[Snapshot, Intent]] = {
    HoldCode.PAUSED: (a_snapshot(waiting()), an_intent(is_paused=True)),
    HoldCode.STALE_VIEW: (
        a_snapshot(waiting(), freshness=(Freshness(source="pods", is_synced=False, heard_at=NOW),)),
        ALONE,
    ),
    HoldCode.JOURNAL_UNWRITABLE: (
        replace(a_snapshot(waiting()), journal_trouble="/var/lib/seatrial/a.jsonl: No space left on device"),
        ALONE,
    ),
    HoldCode.MODE_CONTRADICTION: (
        a_snapshot(waiting(), operator=OperatorFacts(kind="ClusterPolicy/gpu", is_auto_upgrading=True)),
        ALONE,
    ),
    HoldCode.TARGET_NOT_PUBLISHED: (
        a_snapshot(waiting(wanted=DriverRevision(hash="x", version="550.54.15"))),
        ALONE,
    ),
    HoldCode.ROLLS_BY_ITSELF: (
        a_snapshot(waiting(), operator=OperatorFacts(kind="ClusterPolicy/gpu", rolling=(Operand.TOOLKIT,))),
        replace(ALONE, target=RELEASE),
    ),
    HoldCode.OPERANDS_DELEGATED: (
        a_snapshot(waiting(), operator=an_operator(is_auto_upgrading=True)),
        replace(careful(), target=RELEASE),
    ),
    HoldCode.ATTRITION_DELEGATED: (
        a_snapshot(waiting(), operator=an_operator(is_auto_upgrading=True)),
        replace(careful(), attrition=Attrition()),
    ),
    HoldCode.NETWORK_DELEGATED: (
        a_snapshot(waiting(), operator=with_network(an_operator(), "24.07-0.6.1.0", is_auto_upgrading=True)),
        replace(careful(), target=NETWORK),
    ),
    HoldCode.NETWORK_UNSEEN: (a_snapshot(waiting(), operator=an_operator()), replace(careful(), target=NETWORK)),
    HoldCode.DRA_BY_OPERATOR: (
        a_snapshot(waiting(dra=a_dra_plugin(is_operators=True)), operator=an_operator()),
        replace(ALONE, target=Target.of(NEW.version, (Component.DRA_DRIVER, "25.12.0"))),
    ),
    HoldCode.OPERANDS_BY_POOL: (
        a_snapshot(waiting(), operator=replace(an_operator(), pools=(A_POOL,))),
        replace(ALONE, target=RELEASE),
    ),
    HoldCode.KUEUE_UNSEEN: (
        replace(a_snapshot(waiting()), kueue_trouble="the controller was not told to watch them"),
        replace(ALONE, checkpoint=Checkpoint(kueue=True)),
    ),
    HoldCode.UNGUARDED: (replace(a_snapshot(waiting()), is_guarded=False), ALONE),
    HoldCode.LEAVING: (replace(a_snapshot(waiting()), is_deleting=True), ALONE),
    HoldCode.NOBODY_MOVES: (a_snapshot(waiting(), operator=an_operator()), careful(mode=Mode.DELEGATED)),
    HoldCode.ROLLOUT_UNREADABLE: (
        replace(a_snapshot(waiting()), unreadable=(("spring", "spec.order: 'loudest' is none of name, priority."),)),
        careful(),
    ),
    HoldCode.SET_ASIDE: (
        replace(a_snapshot(waiting()), set_aside=(("spring", "ZeroDivisionError: division by zero"),)),
        careful(),
    ),
    HoldCode.UNREADABLE_OBJECT: (
        a_snapshot(
            waiting(unreadable=(UnreadableObject(kind="pods", namespace="team-a", name="train-0", why="a date"),))
        ),
        ALONE,
    ),
    HoldCode.SANDBOXED: (a_snapshot(waiting(), operator=an_operator(is_sandboxed=True)), ALONE),
    HoldCode.MANAGER_OPENS_NODES: (proposed(), careful(publish=Via.NOBODY)),
    HoldCode.OTHER_ROLLOUT: (proposed(others=("winter",)), CAREFUL),
    HoldCode.AFTER_PENDING: (replace(proposed(), predecessor=RolloutPhase.BAKING), careful(after="winter")),
    HoldCode.AFTER_UNDONE: (replace(proposed(), predecessor=RolloutPhase.REVERTED), careful(after="winter")),
    HoldCode.ACCESS_DENIED: (proposed(denied=("patch clusterpolicies.nvidia.com",)), CAREFUL),
    HoldCode.NO_CANARY: (proposed(), careful(canary=Canary(nodes=("n9",)))),
    HoldCode.NO_WAY_BACK: (proposed(an_old_node(driver=a_driver(version="")), operator=an_operator("")), CAREFUL),
    HoldCode.RELEASE_UNSEEN: (proposed(), released()),
    HoldCode.RELEASE_PINNED: (
        proposed(operator=an_operator(OLD.version, releases=(AT_RELEASE,), carriers=(PINNING,))),
        released(),
    ),
    HoldCode.RELEASE_ONE_WAY: (proposed(operator=by_olm()), released()),
    HoldCode.RELEASE_AUTOMATIC: (proposed(operator=by_olm(is_automatic=True)), released(is_one_way=True)),
    HoldCode.RELEASE_UNPLANNED: (
        proposed(operator=by_olm(plan=replace(OFFERED, names=("gpu-operator-certified.v25.10.1",)))),
        released(is_one_way=True),
    ),
    HoldCode.RELEASE_FAILED: (
        at(
            RolloutPhase.CANARY,
            an_old_node(canary_of="spring"),
            operator=by_olm(plan=replace(OFFERED, is_approved=True, trouble="no such image")),
        ),
        released(is_one_way=True),
    ),
    HoldCode.RELEASE_STAYS: (
        at(
            RolloutPhase.REVERTING,
            an_old_node(),
            operator=by_olm(installed="gpu-operator-certified.v25.10.0", plan=None),
        ),
        released(is_one_way=True),
    ),
    HoldCode.RELEASE_BY_HAND: (
        at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=an_operator(releases=(AT_RELEASE,))),
        released(),
    ),
    HoldCode.RELEASE_UNCLEAR: (
        at(
            RolloutPhase.CANARY,
            an_old_node(canary_of="spring"),
            operator=an_operator(
                releases=(AT_RELEASE,), holders=(HOLDING, replace(HOLDING, resource="Application/argocd/gpu"))
            ),
        ),
        released(),
    ),
    HoldCode.NOTHING_TO_PUBLISH: (proposed(operator=OperatorFacts()), CAREFUL),
    HoldCode.NOBODY_MAY_START: (proposed(an_old_node()), replace(CAREFUL, policy=an_intent(unavailable_max=0).policy)),
    HoldCode.CANARIES_CROWDED: (
        proposed(an_old_node(), an_old_node("n2"), an_old_node("n3")),
        replace(
            careful(canary=Canary(count=2), gates=(SPEED,)), policy=an_intent(parallel_max=1, unavailable_max=3).policy
        ),
    ),
    HoldCode.IDLE_GPUS_TOO_FEW: (
        proposed(an_old_node(labels=OF_EIGHT)),
        replace(CAREFUL, policy=an_intent(idle_gpus_max="10%").policy),
    ),
    HoldCode.UNIT_NEVER_FITS: (
        proposed(an_old_node(labels=IN_R1), an_old_node("n2", labels=IN_R1)),
        replace(CAREFUL, domains=UNITED.domains),
    ),
    HoldCode.DEADLINE_TOO_SHORT: (
        proposed(*(an_old_node(f"n{each}") for each in range(1, 9))),
        replace(ATTRITIVE, attrition=Attrition(deadline_seconds=600.0)),
    ),
    HoldCode.HALF_DONE: (proposed(an_old_node(), a_node("n2", NodePhase.CORDON_REQUIRED)), CAREFUL),
    HoldCode.SOURCE_UNREACHABLE: (proposed(source=a_source(trouble="connection refused.")), careful(has_source=True)),
    HoldCode.SOURCE_STALE: (
        proposed(source=a_source(every_seconds=30, seen_at=NOW - 3600)),
        careful(has_source=True),
    ),
    HoldCode.SOURCE_BARRED: (
        proposed(source=a_source(trouble="https://git.example/x is not behind any address", is_barred=True)),
        careful(has_source=True),
    ),
    HoldCode.MATRIX_PROBLEM: (proposed(source=a_source(problem="line 3: no canary.")), careful(has_source=True)),
    HoldCode.MATRIX_CHANGED: (proposed(source=a_source(driver="")), careful(has_source=True)),
    HoldCode.HISTORY_REWRITTEN: (proposed(source=a_source(is_rewritten=True)), careful(has_source=True)),
    HoldCode.ENTRY_BAD: (proposed(source=a_source(bad="Xid 79 on two nodes.")), careful(has_source=True)),
    HoldCode.APPROVAL_PENDING: (proposed(), careful(manual=(Point.CANARY,))),
    HoldCode.OUTSIDE_WINDOW: (proposed(), careful(openings=((NOW + 60, NOW + 3600),))),
    HoldCode.WINDOW_CLOSING: (
        at(
            RolloutPhase.CANARY,
            a_node(nvidia_state="upgrade-required", canary_of="spring", is_skipped=True, skipped_by="spring"),
            record=DELEGATED,
            operator=an_operator(NEW.version, is_auto_upgrading=True),
        ),
        careful(openings=((0.0, NOW + 60), (NOW + 3600, NOW + 7200))),
    ),
    HoldCode.PLACES_CHANGED: (
        at(RolloutPhase.CANARY, waiting(), record={"places": HERE}, source=a_source()),
        careful(publish=Via.GIT, places=THERE),
    ),
    HoldCode.MARKS_PENDING: (at(RolloutPhase.CANARY, waiting()), CAREFUL),
    HoldCode.POOL_PENDING: (at(RolloutPhase.CANARY, waiting()), careful(pool="gpu-canary")),
    HoldCode.POOL_MISSING: (proposed(), careful(still=("worker",))),
    HoldCode.POOL_RESUMED: (
        at(RolloutPhase.CANARY, waiting(), machine_pools=(MachinePool(name="gpu", paused_by="spring"),)),
        careful(still=("gpu",)),
    ),
    HoldCode.POOL_PAUSED: (
        proposed(machine_pools=(MachinePool(name="gpu", is_paused=True, certificate_at=NOW + 7200),)),
        CAREFUL,
    ),
    HoldCode.MERGE_PENDING: (
        at(
            RolloutPhase.CANARY,
            an_old_node(canary_of="spring"),
            operator=an_operator(),
            source=a_source(proposals=((PublishStep.CANARY, "https://git.example.com/fleet/pulls/7"),)),
        ),
        careful(publish=Via.GIT),
    ),
    HoldCode.REQUEST_PENDING: (by_request(unasked=(PublishStep.CANARY,)), careful(publish=Via.GIT)),
    HoldCode.MERGE_OVERDUE: (by_request(requests=((PublishStep.CANARY, REQUEST),)), careful(publish=Via.GIT)),
    HoldCode.REQUEST_DECLINED: (
        by_request(requests=((PublishStep.CANARY, replace(REQUEST, state=RequestState.CLOSED)),)),
        careful(publish=Via.GIT),
    ),
    HoldCode.FORGE_UNREACHABLE: (by_request(forge_trouble="no route to host"), careful(publish=Via.GIT)),
    HoldCode.PUBLISH_PENDING: (
        at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=an_operator()),
        CAREFUL,
    ),
    HoldCode.SYNC_STOPPED: in_git(stop=Stop.BY_HAND),
    HoldCode.SYNC_OVERWRITTEN: in_git(writer="kubectl-edit", commit="c1"),
    HoldCode.SYNC_FAILED: in_git(trouble="one or more objects failed to apply."),
    HoldCode.SYNC_WAITING: in_git(waits_for="waiting for completion of hook batch/Job/pre"),
    HoldCode.WRITTEN_BY_ANOTHER: (
        at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=an_operator(writer="argocd-controller")),
        CAREFUL,
    ),
    HoldCode.TAKEN_OVER: (
        at(
            RolloutPhase.CANARY,
            an_old_node(canary_of="spring"),
            operator=an_operator("575.57.08", writer="kubectl-edit"),
            record={"baseline": ((POLICY, OLD.version),)},
        ),
        CAREFUL,
    ),
    HoldCode.PREPULLING: (at(RolloutPhase.CANARY, waiting(canary_of="spring", wanted=NAMED)), CAREFUL),
    HoldCode.IMAGE_NOT_PULLED: (
        at(RolloutPhase.CANARY, waiting(canary_of="spring", wanted=NAMED), measurements=PULLED_OFTEN),
        CAREFUL,
    ),
    HoldCode.BY_HAND_PENDING: (
        at(RolloutPhase.CANARY, a_done_node(canary_of="spring"), record={"mode": Mode.BY_HAND}),
        careful(by_hand=FIRMWARE, publish=Via.NOBODY),
    ),
    HoldCode.BY_HAND_BACK: (
        at(RolloutPhase.REVERTING, SHOWN, record={"mode": Mode.BY_HAND}),
        careful(by_hand=FIRMWARE, publish=Via.NOBODY),
    ),
    HoldCode.NO_WAY_BACK_BY_HAND: (
        at(RolloutPhase.REVERTING, SHOWN, record={"mode": Mode.BY_HAND}),
        careful(by_hand=replace(FIRMWARE, is_one_way=True), publish=Via.NOBODY),
    ),
    HoldCode.CANARY_AT_WORK: (at(RolloutPhase.CANARY, waiting(canary_of="spring")), CAREFUL),
    HoldCode.CANARY_STUCK: (at(RolloutPhase.CANARY, waiting(canary_of="spring", is_ready=False)), CAREFUL),
    HoldCode.CANARY_CLOSED: (
        at(
            RolloutPhase.GATING,
            a_well_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, canary_of="spring"),
            record={"round": 1, "round_at": 900.0},
            admitted=a_ledger("n1"),
        ),
        CAREFUL,
    ),
    HoldCode.MEASURED_BEFORE: (
        at(
            RolloutPhase.CANARY,
            a_node(canary_of="spring"),
            record={
                "round": 1,
                "round_at": 900.0,
                "compared": Compared(
                    gates=((SPEED.name, SPEED.mark),), comparisons=(Comparison(canary="n1"),), baseline_from=1
                ),
            },
        ),
        careful(gates=(SPEED,)),
    ),
    HoldCode.GATES_RUNNING: (at(RolloutPhase.GATING, record={"round": 1, "round_at": 900.0}), CAREFUL),
    HoldCode.GATE_UNKNOWN: (
        at(RolloutPhase.GATING, record={"round": 1, "round_at": 900.0}, measurements=ASKED_OFTEN),
        CAREFUL,
    ),
    HoldCode.GATE_UNATTESTED: (
        at(RolloutPhase.GATING, record={"round": 1, "round_at": 900.0}),
        careful(gates=(Gate(name="signed", attest=Attest(asks="the tenants are content")),)),
    ),
    HoldCode.TENANTS_AWAITED: (
        at(RolloutPhase.GATING, record={"round": 1, "round_at": 900.0}),
        careful(gates=(Gate(name="vision", tenant=Tenant(pod_selector="team=vision")),)),
    ),
    HoldCode.GATE_STUCK: (
        at(RolloutPhase.GATING, record={"round": 1, "round_at": 900.0}, measurements=(STUCK,)),
        CAREFUL,
    ),
    HoldCode.GATE_REFUSED: (
        at(RolloutPhase.GATING, record={"round": 1, "round_at": 900.0}, measurements=(REFUSED,)),
        CAREFUL,
    ),
    HoldCode.TELEMETRY_MISSING: (
        replace(
            at(RolloutPhase.BAKING, record={"baked_until": 900.0, "exposed": exposed_of(["n1"], (), at=700.0)}),
            telemetry=TelemetryFacts(),
        ),
        CAREFUL,
    ),
    HoldCode.CANARY_IDLE: (
        replace(
            at(
                RolloutPhase.BAKING,
                record={
                    "round": 1,
                    "round_at": 950.0,
                    "baked_until": 960.0,
                    "baked_seconds": 1e6,
                    "gates": (GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED, at=960.0),),
                    "exposed": exposed_of(["n1"], (), at=990.0),
                },
            ),
            telemetry=TelemetryFacts(),
        ),
        careful(bake=Bake(load_min=0.2)),
    ),
    HoldCode.LOSS_NOT_EXCLUDED: (
        at(
            RolloutPhase.BAKING,
            record={
                "round": 1,
                "round_at": 950.0,
                "baked_until": 960.0,
                "baked_seconds": 1e6,
                "gates": (GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED, at=960.0),),
            },
        ),
        careful(bake=Bake(exclude=0.03)),
    ),
    HoldCode.BAKING: (at(RolloutPhase.BAKING, record={"baked_until": 900.0, "baked_seconds": 3600.0}), CAREFUL),
    HoldCode.CANARY_UNWELL: (
        at(RolloutPhase.BAKING, a_done_node(is_ready=False), record={"baked_until": 900.0}),
        CAREFUL,
    ),
    HoldCode.WAVE_AT_WORK: (
        at(RolloutPhase.WAVING, a_done_node(canary_of="spring"), a_node("n2", NodePhase.UPGRADE_REQUIRED)),
        CAREFUL,
    ),
    HoldCode.WAVE_BLOCKED: (
        at(
            RolloutPhase.WAVING,
            a_done_node(canary_of="spring"),
            a_node("n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, is_cordoned=True, record=TIMED_OUT),
            a_node("n3"),
            record={"wave": 1},
        ),
        replace(CAREFUL, failed_max=1),
    ),
    HoldCode.MEMBERS_STUCK: (
        at(RolloutPhase.WAVING, a_done_node(canary_of="spring"), a_node("n2", is_ready=False)),
        CAREFUL,
    ),
    HoldCode.MEMBERS_WITHOUT_GPU: (
        at(RolloutPhase.WAVING, a_done_node(canary_of="spring"), a_node("n2", driver=None)),
        CAREFUL,
    ),
    HoldCode.MEMBERS_LEFT: (at(RolloutPhase.DONE, a_done_node(), a_node("n2", is_ready=False)), CAREFUL),
    HoldCode.NODES_FAILED: (
        at(RolloutPhase.PROMOTING, a_done_node(), a_node("n2", NodePhase.UPGRADE_FAILED, record=TIMED_OUT)),
        CAREFUL,
    ),
    HoldCode.POOLS_LEFT: (
        at(RolloutPhase.DONE, a_done_node(owner="a"), operator=an_operator(NEW.version, pools=(EMPTY_POOL,))),
        careful(publish=Via.GIT),
    ),
    HoldCode.WAVE_PAUSE: (
        at(RolloutPhase.WAVING, a_done_node(), a_done_node("n2"), a_node("n3"), record={"settled_at": 950.0}),
        PAUSING,
    ),
    HoldCode.CLOSED_IN_PAUSE: (
        attritive(CLOSED, admitted=(Admission(node="n1", attempt=1, is_ahead=True),)),
        replace(ATTRITIVE, is_paused=True),
    ),
    HoldCode.PROMOTION_PENDING: (
        at(RolloutPhase.PROMOTING, record={"tag_base": "v2026-11-stable"}, source=a_source()),
        careful(has_source=True),
    ),
    HoldCode.ROLLBACK_PENDING: (
        at(RolloutPhase.CANARY, a_node(phase=NodePhase.UPGRADE_FAILED, record=TIMED_OUT)),
        careful(manual=(Point.ROLLBACK,)),
    ),
    HoldCode.REVERT_PENDING: (
        at(RolloutPhase.REVERTING, source=a_source(steps=((PublishStep.CANARY, "c0ffee"),))),
        careful(publish=Via.GIT),
    ),
    HoldCode.REVERT_CONFLICT: (
        at(
            RolloutPhase.REVERTING,
            source=a_source(steps=((PublishStep.CANARY, "c0ffee"),), conflict="values.yaml was changed by 1234abc."),
        ),
        careful(publish=Via.GIT),
    ),
    HoldCode.NODES_GOING_BACK: (at(RolloutPhase.REVERTING, operator=an_operator()), CAREFUL),
    HoldCode.STATES_PENDING: (
        at(
            RolloutPhase.REVERTING,
            an_old_node(nvidia_state="upgrade-required", is_skipped=True, skipped_by="spring"),
            record=DELEGATED | {"is_forgetting": True},
            operator=an_operator(is_auto_upgrading=True),
        ),
        CAREFUL,
    ),
    HoldCode.NVIDIA_STALLED: (
        at(
            RolloutPhase.CANARY,
            an_old_node(is_ready=False),
            record=DELEGATED,
            operator=an_operator(is_auto_upgrading=True),
        ),
        CAREFUL,
    ),
    HoldCode.NOT_ITS_TURN: (
        at(RolloutPhase.GATING, a_node(), a_done_node("n2"), record={"canaries": ("n2",)}),
        CAREFUL,
    ),
    HoldCode.UNDONE: (at(RolloutPhase.REVERTED, a_node()), CAREFUL),
    HoldCode.MOVED_BY_NVIDIA: (
        at(
            RolloutPhase.CANARY,
            a_node(nvidia_state="drain-required", canary_of="spring"),
            record=DELEGATED,
            operator=an_operator(NEW.version, is_auto_upgrading=True),
        ),
        CAREFUL,
    ),
    HoldCode.NVIDIA_FULL: (
        at(
            RolloutPhase.WAVING,
            a_well_node(nvidia_state="upgrade-done", canary_of="spring"),
            a_node("n2", nvidia_state="upgrade-failed"),
            a_node("n3", nvidia_state="upgrade-required"),
            record=DELEGATED | {"wave": 1},
            operator=an_operator(NEW.version, is_auto_upgrading=True),
            admitted=a_ledger("n3", attempt=0),
        ),
        replace(CAREFUL, failed_max=1),
    ),
    HoldCode.LEAKED: (
        at(RolloutPhase.GATING, a_well_node(), a_done_node("n2"), record={"canaries": ("n2",)}),
        CAREFUL,
    ),
    HoldCode.PARALLEL_LIMIT: (
        a_snapshot(a_node("n0", NodePhase.CORDON_REQUIRED), waiting(), admitted=a_ledger("n0")),
        an_intent(unavailable_max=2),
    ),
    HoldCode.UNAVAILABLE_LIMIT: (a_snapshot(waiting()), an_intent(unavailable_max=0)),
    HoldCode.IDLE_GPU_LIMIT: (a_snapshot(waiting()), an_intent(unavailable_max=1, idle_gpus_max=0)),
    HoldCode.CLOSE_AHEAD_LIMIT: (
        attritive(waiting(pods=ONE_JOB)),
        replace(ATTRITIVE, attrition=Attrition(close_ahead=0.0)),
    ),
    HoldCode.LEFT_OPEN: (replace(attritive(waiting(pods=OLD_JOBS)), work=WorkSeen(waiting=((1, 1),))), PATIENT),
    HoldCode.DISRUPTION_LIMIT: (
        replace(attritive(waiting(pods=(SERVING,))), work=WorkSeen(budgets=(NONE_ALLOWED,))),
        ATTRITIVE,
    ),
    HoldCode.GIVEN_BACK: (attritive(waiting(pods=ONE_JOB, record={"returned_at": 990.0})), ATTRITIVE),
    HoldCode.UNIT_UNFIT: (a_snapshot(waiting(labels=IN_R1), a_node("n2", labels=IN_R1, is_skipped=True)), UNITED),
    HoldCode.UNIT_INCOMPLETE: (a_snapshot(waiting(labels=IN_R1), a_node("n2", labels=IN_R1)), UNITED),
    HoldCode.UNIT_TOO_LARGE: (
        a_snapshot(waiting(labels=IN_R1), a_node("n2", NodePhase.UPGRADE_REQUIRED, labels=IN_R1)),
        UNITED,
    ),
    HoldCode.FAILURE_BUDGET: (a_snapshot(waiting(), FAILED), an_intent(failed_max=0)),
    HoldCode.LEDGER_PENDING: (a_snapshot(waiting()), ALONE),
    HoldCode.PASS_FULL: (a_snapshot(*(a_node(f"a{n:04}") for n in range(ACTIONS_MAX)), a_node()), ALONE),
    HoldCode.SKIPPED: (a_snapshot(waiting(is_skipped=True)), ALONE),
    HoldCode.NODE_NOT_READY: (a_snapshot(waiting(is_ready=False)), ALONE),
    HoldCode.SRIOV_AT_WORK: (a_snapshot(waiting(sriov="Draining")), ALONE),
    HoldCode.NETWORK_SKIPPED: (a_snapshot(waiting(is_skipped=True, is_network_skipped=True)), ALONE),
    HoldCode.DRIVER_POD_MISSING: (a_snapshot(waiting(driver=None)), ALONE),
    HoldCode.DRIVER_ORPHANED: (a_snapshot(a_node(driver=a_driver(is_orphaned=True), wanted=None)), ALONE),
    HoldCode.OWNER_UNCLEAR: (a_snapshot(waiting(owner_conflict="NVIDIADrivers a and b both select it.")), ALONE),
    HoldCode.REVISION_UNKNOWN: (a_snapshot(waiting(wanted=None)), ALONE),
    HoldCode.RECORD_UNREADABLE: (
        a_snapshot(a_node(fault=RecordFault.UNREADABLE, fault_text="JSON is malformed.")),
        ALONE,
    ),
    HoldCode.RECORD_EDITED: (a_snapshot(a_node(fault=RecordFault.EDITED, fault_text="upgrade-done")), ALONE),
    HoldCode.WRITE_IN_FLIGHT: (a_snapshot(waiting(), busy={"n1": NOW + 5}), ALONE),
    HoldCode.WRITE_REFUSED: (a_snapshot(waiting(), rebuffs={"n1": a_rebuff(detail="nodes is forbidden.")}), ALONE),
    HoldCode.CORDON_LOST: (admitted(NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=False), ALONE),
    HoldCode.PODS_UNHEARD: (
        replace(
            admitted(NodePhase.POD_RESTART_REQUIRED, is_cordoned=True, record={"old_pod": "driver-n1-0"}),
            freshness=(Freshness(source="pods", is_synced=True, heard_at=NOW - 149),),
        ),
        ALONE,
    ),
    HoldCode.OPERAND_NOT_READY: (
        validating(operands=(OperandSeen(operand=Operand.TOOLKIT, wanted="new"),)),
        ALONE,
    ),
    HoldCode.JOBS_RUNNING: (
        admitted(NodePhase.WAIT_FOR_JOBS_REQUIRED, pods=(a_gpu_pod(),)),
        an_intent(unavailable_max=1, jobs=JobWait(selector=Selector())),
    ),
    HoldCode.CLOSED_AHEAD: (
        attritive(CLOSED, admitted=(Admission(node="n1", attempt=1, is_ahead=True),)),
        ATTRITIVE,
    ),
    HoldCode.CHECKPOINT_PENDING: (
        admitted(
            NodePhase.POD_DELETION_REQUIRED,
            pods=(a_gpu_pod(offers_checkpoint=True, checkpoint_asked="spring.n1.1"),),
            record={"is_saving": True},
        ),
        ALONE,
    ),
    HoldCode.KUEUE_PENDING: (
        admitted(
            NodePhase.POD_DELETION_REQUIRED,
            pods=(a_gpu_pod(workload="job-train", suspended_for="spring.n1.1"),),
            record={"is_saving": True},
        ),
        replace(ALONE, checkpoint=Checkpoint(kueue=True)),
    ),
    HoldCode.EVICTING: (evicting(a_gpu_pod(is_terminating=True)), ALONE),
    HoldCode.SLIPPED_IN: (
        admitted(
            NodePhase.VALIDATION_REQUIRED,
            driver=a_new_driver(),
            pods=(a_gpu_pod(is_terminating=True),),
            record={"has_lost_driver": True, "reopened_count": 1},
        ),
        ALONE,
    ),
    HoldCode.EVICTION_BLOCKED: (
        a_snapshot(*evicting(a_gpu_pod()).nodes.values(), admitted=a_ledger("n1"), rebuffs={"pod-0": BLOCKED}),
        ALONE,
    ),
    HoldCode.POD_WITHOUT_CONTROLLER: (evicting(a_gpu_pod(keeper=PodOwner.NOBODY)), ALONE),
    HoldCode.POD_WITH_EMPTY_DIR: (evicting(a_gpu_pod(has_empty_dir=True)), ALONE),
    HoldCode.DAEMON_SET_HOLDS_GPU: (evicting(a_gpu_pod(keeper=PodOwner.DAEMON_SET)), ALONE),
    HoldCode.STATIC_POD_HOLDS_GPU: (evicting(a_gpu_pod(keeper=PodOwner.KUBELET)), ALONE),
    HoldCode.MAINTENANCE_PENDING: (
        admitted(NodePhase.NODE_MAINTENANCE_REQUIRED, maintenance=MAINTENANCE),
        an_intent(unavailable_max=1, requestor=Requestor(id="seatrial")),
    ),
    HoldCode.DRIVER_STOPPING: (admitted(NodePhase.POD_RESTART_REQUIRED, driver=a_driver(is_terminating=True)), ALONE),
    HoldCode.DRIVER_STARTING: (
        admitted(NodePhase.POD_RESTART_REQUIRED, driver=a_starting_driver(trouble="ImagePullBackOff")),
        ALONE,
    ),
    HoldCode.DRIVER_NOT_READY: (validating(driver=a_starting_driver()), ALONE),
    HoldCode.VALIDATOR_MISSING: (validating(validator=None), ALONE),
    HoldCode.VALIDATOR_NOT_READY: (validating(validator=a_validator(is_ready=False)), ALONE),
    HoldCode.VALIDATOR_STALE: (validating(entered_at=NOW - 10), ALONE),
    HoldCode.LOADED_VERSION_UNKNOWN: (proven(loaded=Loaded(version=OLD.version)), ALONE),
    HoldCode.LOADED_VERSION_WRONG: (proven(loaded=Loaded(version=OLD.version, seen_at=250.0)), ALONE),
    HoldCode.OPERANDS_PAUSED: (proven(paused_labels=("nvidia.com/gpu.deploy.dcgm",)), ALONE),
    HoldCode.OFFER_REDUCED: (proven(GpuOffer(resources=(("nvidia.com/gpu", 8),))), ALONE),
    HoldCode.MIG_NOT_SETTLED: (proven(mig_state="pending", offer=GpuOffer(mig_config="all-1g.5gb")), ALONE),
    HoldCode.RUNTIME_HANDLER_MISSING: (proven(GpuOffer(runtime_handlers=("nvidia",))), ALONE),
    HoldCode.DRA_PLUGIN_MISSING: (proven(GpuOffer(has_dra_plugin=True)), ALONE),
    HoldCode.DRA_PLUGIN_NOT_READY: (proven(dra=a_dra_plugin(is_terminating=True)), ALONE),
    HoldCode.DRA_PLUGIN_STALE: (
        proven(dra=a_dra_plugin(), pods=(a_gpu_pod(is_terminating=True, holds_claim=True),)),
        ALONE,
    ),
    HoldCode.DRA_SLICES_MISSING: (proven(GpuOffer(has_slices=True), dra=a_dra_plugin(started_at=250.0)), ALONE),
    HoldCode.DRA_VERSION_WRONG: (
        proven(dra=a_dra_plugin(started_at=250.0), published=(OLD.version,)),
        ALONE,
    ),
    HoldCode.NODE_PROBLEM: (
        proven(problems=(Problem(type="KernelDeadlock", message="task nvidia-modprobe blocked", since=250.0),)),
        ALONE,
    ),
    HoldCode.FAILED: (
        a_snapshot(a_node(phase=NodePhase.UPGRADE_FAILED, record=TIMED_OUT)),
        ALONE,
    ),
}


def real_hold(code: HoldCode) -> Hold:
    """The hold of this code that node n1 has, or else the rollout as a whole."""
    if code in OUTSIDE:
        return OUTSIDE[code]
    seen, intent = SITUATIONS[code]
    found = decide(seen, intent, NOW).waits
    of_n1 = (held for held in found if held.subject == "n1" and (held.code is code or intent.campaign is None))
    return next(of_n1, None) or next(held for held in found if held.code is code)


def is_finished(text: str) -> bool:
    """Nothing left open, nothing doubled, nothing empty."""
    return not re.search(r"\{|\}\}|\.\.|,,|::| \.| ,|  |\(\)|: \.|None", text)


def test_every_code_has_a_situation_and_an_explanation() -> None:
    assert set(SITUATIONS) | set(OUTSIDE) == set(EXPLANATIONS) == set(HoldCode)


@pytest.mark.parametrize("code", HoldCode)
def test_every_hold_that_core_makes_reads_as_a_sentence(code: HoldCode) -> None:
    held = real_hold(code)
    told = sentence(held, NOW + 2)
    assert held.code is code
    assert told.startswith(("n1: ", "spring: "))
    assert told.endswith(".")
    typed = told.replace("--reason ...", "--reason").replace("""'{"spec":{"paused":false}}'""", "PATCH")
    assert is_finished(typed), told


IN_USE = "rmmod: ERROR: Module nvidia is in use by: nvidia_uvm"


@pytest.mark.parametrize("code", FailureCode)
@pytest.mark.parametrize("trouble", ["", *Trouble])
def test_every_failure_reads_as_a_sentence(code: FailureCode, trouble: str) -> None:
    told = sentence(hold("n1", HoldCode.FAILED, since=NOW - 60, why=code, diagnosis=trouble), NOW)
    assert FAILURES[code] in told
    assert is_finished(told), told
    assert re.search(r"\. Then: `seatrial node retry n1`", told), told


def test_every_failure_is_explained_and_nothing_else() -> None:
    assert set(FAILURES) == set(FailureCode)


def test_a_recognised_trouble_is_told_with_its_own_cause_and_cure() -> None:
    driver = a_starting_driver(symptoms=(Symptom(source="container", reason="Error", message=IN_USE),))
    seen = admitted(NodePhase.POD_RESTART_REQUIRED, driver=driver)
    held = decide(seen, ALONE, NOW).holds[0]
    assert why(held).startswith("driver pod driver-n1 is starting; something on n1 still uses the driver")
    assert IN_USE in why(held)
    assert next_step(held).startswith("Find the holder with `kubectl get pods")
    assert is_finished(sentence(held, NOW)), sentence(held, NOW)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (hold("n1", HoldCode.PARALLEL_LIMIT, limit=2, nodes="n2, n3"), "at most 2 nodes may be upgraded at once"),
        (
            hold("n1", HoldCode.PARALLEL_LIMIT, scope="NVIDIADriver blue", limit=2, nodes="n2, n3"),
            "at most 2 nodes of NVIDIADriver blue may be upgraded at once",
        ),
        (
            hold("n1", HoldCode.UNAVAILABLE_LIMIT, scope="rack r1", limit=1, taken=1, nodes="n2"),
            "at most 1 node of rack r1 may be unavailable",
        ),
    ],
)
def test_a_limit_says_of_which_nodes_it_is(held: Hold, told: str) -> None:
    assert why(held).startswith(told)


def test_a_limit_of_a_domain_is_kept_from_being_taken_for_that_of_the_rollout() -> None:
    floor = an_intent(unavailable_max=4, domains=(Domain(label="example.com/rack", unavailable_max=Share(amount=0)),))
    held = decide(a_snapshot(waiting(labels=IN_R1)), floor, NOW).holds[0]
    assert why(held) == "at most 0 nodes of example.com/rack r1 may be unavailable, and 0 are: none"


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (
            real_hold(HoldCode.EVICTION_BLOCKED),
            (
                "n1: Cannot evict pod as it would violate the pod's disruption budget, so pod jobs/train-0 cannot be "
                "evicted (for 1 min 40 s, looks again or gives up within 5 s). Give the PodDisruptionBudget room: more "
                "replicas, or a looser budget. Eviction is retried automatically."
            ),
        ),
        (
            real_hold(HoldCode.PAUSED),
            ("n1: the rollout is paused; every node keeps its place. Resume with `seatrial rollout resume spring`."),
        ),
        (
            real_hold(HoldCode.DRIVER_STARTING),
            (
                "n1: driver pod driver-n1 is starting (ImagePullBackOff) (for 1 min 40 s, looks again or "
                "gives up within 28 min 20 s). See `kubectl logs` and `kubectl describe pod` of driver-n1 "
                "if it takes longer than usual."
            ),
        ),
        (
            hold("NODE-7", HoldCode.FAILED, why=""),
            (
                "NODE-7: the upgrade of this node failed: no reason was recorded. Fix the cause. Then: `seatrial node "
                "retry NODE-7` (or set its label seatrial.dev/gpu-driver-upgrade-state to upgrade-required)."
            ),
        ),
    ],
)
def test_a_whole_answer_says_who_and_why_and_how_long_and_what_next(held: Hold, told: str) -> None:
    assert sentence(held, NOW) == told


def test_the_two_halves_of_an_answer_can_be_asked_for() -> None:
    held = hold("n1", HoldCode.SKIPPED)
    assert (why(held), next_step(held)) == (
        "somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true",
        "Let it be upgraded with `seatrial node unskip n1`.",
    )


@pytest.mark.parametrize(
    ("since", "until", "told"),
    [
        (None, None, ""),
        (NOW - 0.5, NOW, ""),
        (NOW - 1, NOW - 1, " (for 1 s)"),
        (NOW, NOW + 60, " (looks again or gives up within 1 min)"),
    ],
)
def test_only_times_that_say_something_are_told(since: float | None, until: float | None, told: str) -> None:
    held = hold("n1", HoldCode.WRITE_IN_FLIGHT, since=since, until=until)
    assert sentence(held, NOW) == f"n1: {why(held)}{told}. {next_step(held)}"
