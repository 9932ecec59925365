"""The words of every act: what it writes, and where, in one line; of an act on a node also what is told when it fails.

The line is the same in a trial, in `seatrial why` and in the laboratory's stories:

    node/n1                          cordon, state wait-for-jobs-required
    pods of node/n1                  evict jobs/train-0, jobs/train-1
    git commit                       promote the entry on 2026-10-01, tag v2026-10-stable

Law of this file: every act has its words in one place, and mypy asks for those of an act that is new. What is told on a
failure is NVIDIA's where its controller tells it (announce.py says why, and tells it); what a commit says is
commits.py's.

Tests: tests/core/words/test_announce.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, HomeAct, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    OuterAct,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.actions.on_nodes import (
    KUEUE,
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout, WriteRolloutRecord
from seatrial.core.base.values import dataclass
from seatrial.core.model.campaign import Switch, Via
from seatrial.core.model.gates.gate import PREPULL, in_words
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import ON_DELETE
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.releases import is_holder
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.subscriptions import is_plan

CANARY_LABEL: Final = "seatrial.dev/canary"
SKIP_LABEL: Final = "nvidia.com/gpu-driver-upgrade.skip"
NVIDIA_STATE_LABEL: Final = "nvidia.com/gpu-driver-upgrade-state"
EVICTION_FAILED: Final = "Failed to delete workload pods on the node for the driver upgrade"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One write, as people read it."""

    where: str
    """The object, such as `node/n1`."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OnNode(Written):
    """One write that is about a node, and what is told there when it fails."""

    failed: str
    """What stands before the error, with what is between the two."""
    is_told_of_pod: bool = False
    """Whether a failure is told of the act's pod, and not of its node."""


def told(action: Action) -> str:
    """An act in one line."""
    write = written(action)
    return f"{write.where}: {write.what}"


def written(action: Action) -> Written:
    """The object an act writes, and what it writes there."""
    match action:
        case WriteRolloutRecord(record=record):
            return Written(where=f"gpurollout/{record.name} status", what=_record(record))
        case GuardRollout(rollout=name):
            return Written(where=f"gpurollout/{name}", what="add our finalizer, so that a delete waits for us")
        case ReleaseRollout(rollout=name):
            return Written(where=f"gpurollout/{name}", what="remove our finalizer")
        case MarkNode(node=node):
            return Written(where=f"node/{node}", what=", ".join(_marks(action)))
        case _:
            return _outside(action) if isinstance(action, OuterAct) else on_node(action)


def switched(switches: Iterable[Switch]) -> str:
    """What a driver manager is told, as people write it."""
    texts = [f"{each.name}={each.value if each.value is not None else '(not set)'}" for each in switches]
    return ", ".join(dict.fromkeys(texts))


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def on_node(action: NodeAct) -> OnNode:
    """What an act writes for a node, and what is told there when it fails."""
    match action:
        case WriteNodeRecord(node=node, record=record):  # Cordon, Uncordon and PauseClients are of it
            failed = f"Failed to update node state label to {record.phase}, "
            return OnNode(where=f"node/{node}", what=", ".join(_opened(action)), failed=failed)
        case EvictPods(node=node, pods=pods):
            return OnNode(where=f"pods of node/{node}", what=f"evict {_names(pods)}", failed=f"{EVICTION_FAILED}, ")
        case AskCheckpoint(node=node, pods=pods, webhook=webhook):
            if webhook == KUEUE:
                return OnNode(
                    where=f"workloads of node/{node}",
                    what=f"suspend {', '.join(sorted({f'{pod.namespace}/{pod.workload}' for pod in pods}))}",
                    failed="Failed to suspend Workloads of pods on the node, ",
                )
            by = f" through {webhook}" if webhook else ""
            return OnNode(
                where=f"pods of node/{node}",
                what=f"ask to save their work{by}: {_names(pods)}",
                failed="Failed to ask pods on the node to save their work, ",
            )
        case RestartPod(namespace=namespace, pod=pod, operand=operand):
            is_driver = operand is Operand.DRIVER  # the one that NVIDIA's controller restarts and tells of
            return OnNode(
                where=f"pod/{namespace}/{pod}",
                what=f"delete, so that its DaemonSet starts a new {operand}",
                failed="Failed to restart driver pod " if is_driver else f"Failed to restart {operand} pod {pod}, ",
                is_told_of_pod=is_driver,
            )
        case RequestMaintenance(name=name, node=node, joins=joins):
            how = "join the request to" if joins else "ask"
            return OnNode(
                where=f"nodemaintenance/{name}",
                what=f"{how} the maintenance operator to drain node/{node}",
                failed="Failed to request maintenance of the node, ",
            )
        case ReleaseMaintenance(name=name, node=node):
            return OnNode(
                where=f"nodemaintenance/{name}",
                what=f"tell the maintenance operator that node/{node} may return to service",
                failed="Failed to release the node from maintenance, ",
            )
        case _:
            assert_never(action)


def _opened(action: WriteNodeRecord) -> Iterator[str]:
    """What one PATCH of a node says."""
    if isinstance(action, Cordon | Uncordon):
        yield "cordon" if isinstance(action, Cordon) else "uncordon"
    again = f" (attempt {action.attempt})" if action.attempt > 1 else ""
    yield f"state {action.record.phase}{again}"
    yield from (f"label {key}={value}" for key, value in action.labels)
    yield from (f"{mark.place} {mark.key}={mark.value}" for mark in action.marks)
    yield from (f"remove {mark.place} {mark.key}" for mark in action.lifted)
    yield from (f"{request} answered" for request in action.answers)


def _marks(action: MarkNode) -> Iterator[str]:
    for key, value, is_set in ((CANARY_LABEL, action.rollout, action.canary), (SKIP_LABEL, "true", action.skip)):
        if is_set is not None:
            yield f"label {key}={value}" if is_set else f"remove label {key}"
    if action.is_retry:
        yield f"label {NVIDIA_STATE_LABEL}={NodePhase.UPGRADE_REQUIRED}"
    if action.is_handed_over:
        yield f"remove our name from label {SKIP_LABEL}"


def _names(pods: Iterable[Pod]) -> str:
    return ", ".join(pod.full_name for pod in pods)


# ── the rollout, and what it does outside of the nodes ───────────────────────────────────────────────────────────────


def _record(record: RolloutRecord) -> str:
    """What a record says: its phase, who is let in, how the gates stand."""
    admitted = ", ".join(
        f"{each.node} (attempt {each.attempt})" if each.attempt > 1 else each.node for each in record.admitted
    )
    gates = record.campaign.gates if record.campaign is not None else ()
    verdicts = ", ".join(f"{each.gate} on {each.node} {each.said}" for each in gates)
    parts = (
        f"phase {record.campaign.phase}" if record.campaign is not None else "its record",
        f"may be disrupted: {admitted}" if admitted else "",
        f"gates: {verdicts}" if verdicts else "",
    )
    return ", ".join(part for part in parts if part)


def _outside(action: OuterAct) -> Written:
    match action:
        case StartProbe(gate=gate, node=node) if gate.name == PREPULL:
            return Written(where="job to pull the image", what=f"on node/{node}, image {gate.image}")
        case StartProbe(gate=gate, node=node) if not gate.is_job:
            return Written(where=f"question for gate {gate.name}", what=f"about node/{node}, to {gate.means}")
        case StartProbe(gate=gate, node=node, by_claim=by_claim, gang=gang):
            command = f", command {' '.join(gate.command)}" if gate.command else ""
            where = f"on {', '.join(f'node/{each}' for each in gang)} at once" if gang else f"on node/{node}"
            what = f"{where}, image {gate.image}, {in_words(gate.gpus, by_claim=by_claim)}{command}"
            return Written(where=f"job for gate {gate.name}", what=what)
        case EndProbe(gate=name, node=node, job=job):
            return Written(where=f"job {job}", what=f"delete: gate {name} on node/{node} is not waited for any more")
        case SetAutoUpgrade(resource=resource, value=value):
            return Written(where=resource, what=f"driver.upgradePolicy.autoUpgrade {str(value).lower()}")
        case MakePool(name=name):
            return Written(where=f"machineconfigpool/{name}", what="create, for the canary")
        case PausePool(name=name, value=value):
            return Written(where=f"machineconfigpool/{name}", what=f"paused {str(value).lower()}")
        case RemovePool(name=name):
            return Written(where=f"machineconfigpool/{name}", what="delete")
        case _:
            return _at_home(action)


def _at_home(action: HomeAct) -> Written:
    match action:
        case Publish(versions=versions, via=via):
            where = "git commit" if via is Via.GIT else ", ".join(name for name, _ in versions)
            return Written(where=where, what=_published(action))
        case RevertCommits(commits=commits):
            kept = f"; update strategy of DaemonSets stays {ON_DELETE}" if action.on_delete else ""
            return Written(where="git commit", what=f"revert {', '.join(commits)}{kept}")
        case MarkBad(why=why):
            return Written(where="git commit", what=f"mark the entry as bad: {why}")
        case Promote(date=date, tag_base=tag):
            return Written(where="git commit", what=f"promote the entry on {date}, tag {tag}")
        case AskToMerge(step=step):
            return Written(where="pull request", what=f"ask for a merge of the step {step}")
        case CloseRequest(step=step):
            return Written(where="pull request", what=f"close the one for the step {step}")
        case _:
            assert_never(action)


def _published(action: Publish) -> str:
    carried = ", ".join(
        f"{name} approved, which installs {version}"
        if is_plan(name)
        else f"{name} {'chart' if is_holder(name) else 'driver'} version {version}"
        for name, version in action.versions
    )
    quiet = f", driver manager {switched(action.switches)}: otherwise it uncordons nodes before they are validated"
    strategy = f", update strategy of DaemonSets {ON_DELETE}" if action.on_delete else ""
    return f"{carried} (step {action.step}){quiet if action.switches else ''}{strategy}"
