"""Small values for tests: a node, a fleet, an intent, a campaign, a snapshot; healthy and at rest, unless told so.

A node runs the OLD driver and is wanted to run the NEW one. Times on the cluster's clock: the old driver and its
validator were Ready at 100; `a_new_driver` is Ready at 200, and a validator that proves it (`proving`) at 300.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.model.campaign import (
    Campaign,
    CampaignRecord,
    Mode,
    PublishStep,
    RolloutPhase,
    SourceFacts,
    Turn,
    Via,
    Watched,
)
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.model.seen.operators import Carrier, MachinePool, OperatorFacts
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, DriverRevision, Pod, ValidatorPod
from seatrial.core.model.seen.rollouts import Admission, Rebuff, RolloutRecord, Summary
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.core.model.target import Target, parts_of
from seatrial.core.movers import driver_manager
from seatrial.core.movers.mover import view_of
from seatrial.core.movers.view import View
from seatrial.core.node.writing import Orders, Step
from seatrial.run.loop import Report
from seatrial.sim import operand_pods
from seatrial.sim.outside import Outside

OLD: Final = DriverRevision(hash="old", version="570.124.06")
NEW: Final = DriverRevision(hash="new", version="580.105.08")
TARGET: Final = Target.of(NEW.version)
MOVED_BY_HAND: Final = {Component.FIRMWARE_CX7: "28.43.2026", Component.KERNEL: "5.14.0-427.40.1.el9_4.x86_64"}
"""What people are to bring, where a campaign asks them to."""
NOW: Final = 1000.0
POLICY: Final = "ClusterPolicy/gpu"


def a_driver(name: str = "n1", **changes: Any) -> DriverPod:
    """The old driver pod, Ready."""
    pod = DriverPod(
        namespace="gpu-operator",
        name=f"driver-{name}",
        uid=f"driver-{name}-0",
        revision=OLD.hash,
        version=OLD.version,
        is_ready=True,
        ready_since=100.0,
    )
    return replace(pod, **changes)


def a_new_driver(name: str = "n1", **changes: Any) -> DriverPod:
    """The new driver pod, Ready."""
    is_new = {"uid": f"driver-{name}-1", "revision": NEW.hash, "version": NEW.version, "ready_since": 200.0}
    return a_driver(name, **(is_new | changes))


def a_starting_driver(name: str = "n1", **changes: Any) -> DriverPod:
    """The new driver pod, not Ready yet."""
    return a_new_driver(name, **({"is_ready": False, "ready_since": None} | changes))


def a_validator(name: str = "n1", **changes: Any) -> ValidatorPod:
    """A validator that was Ready with the old driver, so that it proves nothing about the new one."""
    pod = ValidatorPod(
        namespace="gpu-operator",
        name=f"validator-{name}",
        uid=f"validator-{name}-0",
        is_ready=True,
        ready_since=100.0,
    )
    return replace(pod, **changes)


def proving(name: str = "n1") -> ValidatorPod:
    """A validator that proves the new driver."""
    return a_validator(name, ready_since=300.0)


def a_dra_plugin(name: str = "n1", **changes: Any) -> DraPlugin:
    """A DRA plugin that started with the old driver, so that it is stale with the new one."""
    plugin = DraPlugin(namespace="dra", name=f"plugin-{name}", uid=f"plugin-{name}-0", is_ready=True, started_at=101.0)
    return replace(plugin, **changes)


def a_pod(number: int = 0, **changes: Any) -> Pod:
    """A pod that holds no GPU."""
    return replace(Pod(namespace="web", name=f"web-{number}", uid=f"web-{number}"), **changes)


def a_gpu_pod(number: int = 0, **changes: Any) -> Pod:
    """A pod of a job that holds a GPU."""
    pod = Pod(namespace="jobs", name=f"train-{number}", uid=f"pod-{number}", gpu=GpuUse.RESOURCE)
    return replace(pod, **changes)


_MISSING: Final = object()


def a_node(
    name: str = "n1",
    phase: NodePhase | None = None,
    *,
    attempt: int = 1,
    entered_at: Instant = 900.0,
    is_cordon_ours: bool = False,
    is_cordoned: bool | None = None,
    driver: DriverPod | object | None = _MISSING,
    validator: ValidatorPod | object | None = _MISSING,
    pods: tuple[Pod, ...] = (),
    record: Mapping[str, Any] | None = None,
    is_retry_asked: bool = False,
    is_label_lost: bool = False,
    fault: RecordFault | None = None,
    fault_text: str = "",
    **facts: Any,
) -> NodeSeen:
    """One node; our cordon is on it when it is called ours, unless told otherwise.

    `record` are further fields of the record, and whatever else is given are further facts.
    """
    plain: dict[str, Any] = {"resource_version": "7", "wanted": NEW}
    seen = NodeFacts(
        name=name,
        is_cordoned=is_cordon_ours if is_cordoned is None else is_cordoned,
        driver=a_driver(name) if driver is _MISSING else driver,  # type: ignore[arg-type]
        validator=a_validator(name) if validator is _MISSING else validator,  # type: ignore[arg-type]
        pods=pods,
        **(plain | facts),
    )
    written = None
    if phase is not None:
        notes: dict[str, Any] = {
            "phase": phase,
            "attempt": attempt,
            "entered_at": entered_at,
            "is_cordon_ours": is_cordon_ours,
        }
        written = NodeRecord(**(notes | _pod_on_record(seen, phase) | dict(record or {})))
    return NodeSeen(
        facts=seen,
        record=written,
        is_retry_asked=is_retry_asked,
        is_label_lost=is_label_lost,
        fault=fault,
        fault_text=fault_text,
    )


def _pod_on_record(facts: NodeFacts, phase: NodePhase) -> dict[str, Any]:
    """A pod that is about to be deleted has been written down before."""
    driver = facts.driver if phase is NodePhase.POD_RESTART_REQUIRED else None
    is_old = driver is not None and (driver.is_orphaned or not facts.is_in_sync)
    return {"old_pod": driver.uid} if driver is not None and is_old else {}


def a_well_node(name: str = "n1", phase: NodePhase | None = None, **changes: Any) -> NodeSeen:
    """A node with the new driver, proven."""
    fields: dict[str, Any] = {"driver": a_new_driver(name), "validator": proving(name)}
    return a_node(name, phase, **(fields | changes))


def an_old_node(name: str = "n1", phase: NodePhase | None = None, **changes: Any) -> NodeSeen:
    """A node at rest on the OLD driver, which its DaemonSet still wants."""
    return a_node(name, phase, **({"wanted": OLD} | changes))


def a_done_node(name: str = "n1", **changes: Any) -> NodeSeen:
    """A node that we have upgraded."""
    return a_well_node(name, NodePhase.UPGRADE_DONE, **changes)


def a_fleet(size: int, phase: NodePhase | None = None, **changes: Any) -> tuple[NodeSeen, ...]:
    """Nodes n1, n2, … that are all alike."""
    return tuple(a_node(f"n{number}", phase, **changes) for number in range(1, size + 1))


def an_operator(version: str = OLD.version, *, writer: str = "", **changes: Any) -> OperatorFacts:
    """A GPU Operator whose ClusterPolicy carries a version, and that leaves the nodes to us."""
    # As a way back since 900 leaves it; a campaign on its way forward does not look at the note.
    carrier = Carrier(name=POLICY, version=version, writer=writer, note="spring/revert/900")
    return replace(OperatorFacts(kind=POLICY, driver_version=version, carriers=(carrier,)), **changes)


def published(step: PublishStep, *versions: tuple[str, str], note: str = "") -> Publish:
    """The write of these versions into resources as `an_operator` and its like show them."""
    expects = tuple((name, "") for name, _ in versions)
    note = note or f"spring/{step}"
    return Publish(rollout="spring", step=step, versions=versions, via=Via.DIRECT, expects=expects, note=note)


SMOKE: Final = Gate(name="smoke", image="example.com/smoke:1")


def a_campaign(**changes: Any) -> Campaign:
    """One canary, one gate, two days of bake, waves that double; nobody has to say yes."""
    return replace(Campaign(gates=(SMOKE,)), **changes)


SEEN_DONE: Final[Mapping[str, Any]] = {"driver": "driver-n1-1", "loaded_at": 200.0}
"""What a bake has noted of n1 as `a_done_node` shows it."""
BEFORE_BAKING: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING})


def a_campaign_record(phase: RolloutPhase = RolloutPhase.PROPOSED, **changes: Any) -> CampaignRecord:
    """A record in a phase since 900; past the proposal n1 is the canary, we move the nodes, and OLD is the way back."""
    turns: tuple[Turn, ...] = (Turn(phase=RolloutPhase.PROPOSED, at=500.0),)
    begun: dict[str, Any] = {}
    if phase is not RolloutPhase.PROPOSED:
        turns += (Turn(phase=RolloutPhase.CANARY, at=600.0),)
        begun = {"mode": Mode.DIRECT, "canaries": ("n1",), "baseline": ((POLICY, OLD.version),)}
        begun["watched"] = (Watched(node="n1", **(SEEN_DONE if phase not in BEFORE_BAKING else {})),)
    return replace(CampaignRecord(phase=phase, entered_at=900.0, history=turns), **(begun | changes))


def a_source(**changes: Any) -> SourceFacts:
    """A matrix that stands behind the target."""
    return replace(SourceFacts(head="abc1234", driver=NEW.version, since=900.0), **changes)


def with_repository(outside: Outside, target: str) -> Outside:
    """The same, with a repository whose matrix asks for the target and whose files say what is carried now."""
    switches = tuple(each for carrier in outside.operator.carriers for each in driver_manager.standing(carrier))
    driver, parts = parts_of(target)
    source = SourceFacts(head="c0", driver=driver, parts=parts)
    return replace(outside, files=operand_pods.files_of(outside.operator), switches=switches, source=source)


def a_measurement(verdict: GateVerdict = GateVerdict.PASSED, **changes: Any) -> Measurement:
    """The answer of the gate `smoke` on n1, at the first try of the first round."""
    found = Measurement(gate=SMOKE.name, node="n1", round=1, attempt=1, verdict=verdict, drivers=(NEW.version,))
    return replace(found, **changes)


def an_intent(
    *,
    parallel_max: int = 1,
    unavailable_max: int | str = "25%",
    idle_gpus_max: int | str | None = None,
    jobs: JobWait | None = None,
    eviction: Eviction | None = None,
    drain: Drain | None = None,
    **changes: Any,
) -> Intent:
    """A wish for the NEW driver, and for what people are asked to bring."""
    policy = Policy(
        limits=Limits(
            parallel_max=parallel_max,
            unavailable_max=Share.parse(unavailable_max),
            idle_gpus_max=None if idle_gpus_max is None else Share.parse(idle_gpus_max),
        ),
        jobs=jobs or JobWait(),
        eviction=eviction or Eviction(),
        drain=drain or Drain(),
    )
    campaign = changes.get("campaign")
    step = campaign.by_hand if campaign is not None else None
    target = TARGET if step is None else Target.of(NEW.version, (step.component, MOVED_BY_HAND[step.component]))
    return replace(Intent(rollout="spring", target=target, policy=policy), **changes)


def some_orders(
    *,
    intent: Intent | None = None,
    admitted: Mapping[str, int] | None = None,
    recalled: Iterable[str] = (),
    rebuffs: Mapping[str, Rebuff] | None = None,
    attentive_since: Instant = 0.0,
) -> Orders:
    """Orders under which n1 is admitted for its first attempt."""
    return Orders(
        intent=intent or an_intent(),
        admitted={"n1": 1} if admitted is None else admitted,
        recalled=frozenset(recalled),
        rebuffs=rebuffs or {},
        attentive_since=attentive_since,
    )


def a_ledger(*names: str, attempt: int = 1) -> tuple[Admission, ...]:
    """Who is admitted."""
    return tuple(Admission(node=name, attempt=attempt) for name in names)


def a_snapshot(
    *nodes: NodeSeen,
    admitted: tuple[Admission, ...] = (),
    summary: Summary | None = None,
    summarised_at: Instant = 0.0,
    freshness: tuple[Freshness, ...] = (),
    operator: OperatorFacts | None = None,
    rebuffs: Mapping[str, Rebuff] | None = None,
    busy: Mapping[str, Instant | None] | None = None,
    attentive_since: Instant = 0.0,
    campaign: CampaignRecord | None = None,
    source: SourceFacts | None = None,
    measurements: tuple[Measurement, ...] = (),
    others: tuple[str, ...] = (),
    denied: tuple[str, ...] = (),
    machine_pools: tuple[MachinePool, ...] = (),
) -> Snapshot:
    """Everything that is seen."""
    return Snapshot(
        nodes={node.name: node for node in nodes},
        rollout=RolloutRecord(
            name="spring",
            resource_version="40",
            admitted=admitted,
            summary=summary,
            summarised_at=summarised_at,
            campaign=campaign,
        ),
        freshness=freshness,
        operator=operator or OperatorFacts(),
        rebuffs=rebuffs or {},
        busy=busy or {},
        attentive_since=attentive_since,
        source=source,
        measurements=measurements,
        others=others,
        denied=denied,
        machine_pools=machine_pools,
    )


def a_view(seen: Snapshot, intent: Intent | None = None, now: Instant = NOW) -> View:
    """One pass of a campaign over a snapshot that has its record."""
    intent = intent or an_intent(campaign=a_campaign())
    if intent.campaign is None or seen.rollout.campaign is None:
        raise ValueError("a view is of a campaign that was written down")
    return view_of(seen, intent, intent.campaign, seen.rollout.campaign, now)


def a_rebuff(*, at: Instant = NOW, count: int = 1, code: str = "failed", detail: str = "denied") -> Rebuff:
    """A write that was turned down just now."""
    return Rebuff(at=at, count=count, code=code, detail=detail)


def is_as_without_memory(report: Report) -> bool:
    """Whether a pass has decided what one decides that remembers nothing of the nodes."""
    if report.sight is None:
        return report.decision is None
    return report.decision == decide(report.sight.seen, report.sight.intent, report.at)


def a_decision(*actions: Action, **changes: Any) -> Decision:
    """A decision made up for the occasion."""
    return Decision(actions=actions, **changes)


def written(
    node: NodeSeen, phase: NodePhase, by: type[WriteNodeRecord] = WriteNodeRecord, **changes: Any
) -> WriteNodeRecord:
    """The write that opens a phase of a node now."""
    blank = NodeRecord(phase=phase, attempt=0, entered_at=NOW)
    fields: dict[str, Any] = {"phase": phase, "entered_at": NOW} | _pod_on_record(node.facts, phase)
    is_ours = node.record is not None and node.record.is_cordon_ours
    if phase is NodePhase.POD_RESTART_REQUIRED and node.facts.is_cordoned and not is_ours:
        fields["is_cordon_theirs"] = True  # whose cordon it is goes on record with the pod
    record = replace(node.record or blank, **(fields | changes))
    return by(node=node.name, record=record, expect=node.facts.resource_version)


def opening(node: NodeSeen, phase: NodePhase, by: type[WriteNodeRecord] = WriteNodeRecord, **changes: Any) -> Step:
    """The step that opens a phase of a node now."""
    return Step(action=written(node, phase, by, **changes))
