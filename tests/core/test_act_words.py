"""Every act has a line that says what is written, and where; and that line is written once."""

from __future__ import annotations

import typing
from dataclasses import replace

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    PauseClients,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout, WriteRolloutRecord
from seatrial.core.model.campaign import PublishStep, RolloutPhase, Switch, Via
from seatrial.core.model.gates.gate import PREPULL, Gate, GateResult, GateVerdict
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.marks import NEIGHBOURS
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord
from seatrial.core.words import acts as words
from seatrial.core.words.announce import announce
from tests.builders import NEW, POLICY, a_campaign_record, a_gpu_pod

RECORD = NodeRecord(phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, entered_at=0.0, attempt=1)
AUTOSCALER, _, NVSENTINEL = NEIGHBOURS
KEY = AUTOSCALER.mark.key
PODS = (a_gpu_pod(0), a_gpu_pod(1))
ASK = AskCheckpoint(node="n1", attempt=1, pods=PODS, token="t")
REQUEST = RequestMaintenance(
    node="n1", attempt=1, namespace="ns", name="seatrial-n1", requestor="seatrial", policy=Policy()
)
RELEASE = ReleaseMaintenance(
    node="n1",
    attempt=1,
    namespace="ns",
    name="seatrial-n1",
    requestor="seatrial",
    uid="u",
    resource_version="9",
    is_ours=True,
)
LEDGER = RolloutRecord(name="spring", resource_version="1", admitted=(Admission(node="n1", attempt=1),))
GATES = (GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED),)
CAMPAIGN = a_campaign_record(RolloutPhase.GATING, gates=GATES)
SMOKE = Gate(name="smoke", image="example.com/smoke:1", command=("all_reduce", "-b"))
END = EndProbe(rollout="spring", gate="smoke", node="n1", round=1, attempt=1, job="gates/gate-smoke")
PROBE = StartProbe(rollout="spring", gate=SMOKE, node="n1", round=1, attempt=1)
PUBLISH = Publish(rollout="spring", step=PublishStep.CANARY, versions=((POLICY, NEW.version),), via=Via.DIRECT)
QUIET = "driver manager DRAIN=false: otherwise it uncordons nodes before they are validated"
MARK = MarkNode(node="n1", rollout="spring", expect="7")

STATE_FAILED = "Failed to update node state label to wait-for-jobs-required, no"

LINES: list[tuple[Action, str]] = [
    (WriteNodeRecord(node="n1", record=RECORD, expect="7"), "node/n1: state wait-for-jobs-required"),
    (
        WriteNodeRecord(node="n1", record=replace(RECORD, attempt=2), expect="7", answers=(Request.ACCEPT_LOSS,)),
        "node/n1: state wait-for-jobs-required (attempt 2), accept-loss answered",
    ),
    (Cordon(node="n1", record=RECORD, expect="7"), "node/n1: cordon, state wait-for-jobs-required"),
    (Uncordon(node="n1", record=RECORD, expect="7"), "node/n1: uncordon, state wait-for-jobs-required"),
    (
        Cordon(node="n1", record=RECORD, expect="7", marks=(AUTOSCALER.mark,), lifted=(NVSENTINEL.mark,)),
        f"node/n1: cordon, state wait-for-jobs-required, annotation {KEY}=true, remove label {NVSENTINEL.mark.key}",
    ),
    (
        PauseClients(node="n1", record=RECORD, expect="7", labels=(("gpu.deploy.client", "paused"),)),
        "node/n1: state wait-for-jobs-required, label gpu.deploy.client=paused",
    ),
    (ASK, "pods of node/n1: ask to save their work: jobs/train-0, jobs/train-1"),
    (
        replace(ASK, webhook="http://saver"),
        "pods of node/n1: ask to save their work through http://saver: jobs/train-0, jobs/train-1",
    ),
    (EvictPods(node="n1", attempt=1, pods=PODS), "pods of node/n1: evict jobs/train-0, jobs/train-1"),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.DRA_PLUGIN, namespace="ns", pod="dra", uid="u"),
        "pod/ns/dra: delete, so that its DaemonSet starts a new dra-plugin",
    ),
    (REQUEST, "nodemaintenance/seatrial-n1: ask the maintenance operator to drain node/n1"),
    (
        replace(REQUEST, joins="9"),
        "nodemaintenance/seatrial-n1: join the request to the maintenance operator to drain node/n1",
    ),
    (RELEASE, "nodemaintenance/seatrial-n1: tell the maintenance operator that node/n1 may return to service"),
    (WriteRolloutRecord(record=LEDGER), "gpurollout/spring status: its record, may be disrupted: n1"),
    (
        WriteRolloutRecord(record=replace(LEDGER, admitted=(Admission(node="n1", attempt=2),), campaign=CAMPAIGN)),
        "gpurollout/spring status: phase Gating, may be disrupted: n1 (attempt 2), gates: smoke on n1 passed",
    ),
    (
        GuardRollout(rollout="spring", expect="1"),
        "gpurollout/spring: add our finalizer, so that a delete waits for us",
    ),
    (ReleaseRollout(rollout="spring", expect="1"), "gpurollout/spring: remove our finalizer"),
    (
        replace(MARK, canary=True, skip=False),
        f"node/n1: label {keys.CANARY_LABEL}=spring, remove label {keys.SKIP_LABEL}",
    ),
    (replace(MARK, is_retry=True), f"node/n1: label {keys.NVIDIA_STATE_LABEL}=upgrade-required"),
    (replace(MARK, is_handed_over=True), f"node/n1: remove our name from label {keys.SKIP_LABEL}"),
    (PUBLISH, f"{POLICY}: {POLICY} driver version {NEW.version} (step canary)"),
    (
        replace(PUBLISH, via=Via.GIT, switches=(Switch(resource=POLICY, name="DRAIN", value="false"),)),
        f"git commit: {POLICY} driver version {NEW.version} (step canary), {QUIET}",
    ),
    (RevertCommits(rollout="spring", commits=("c2", "c1"), driver=NEW.version), "git commit: revert c2, c1"),
    (
        RevertCommits(rollout="spring", commits=("c1",), driver=NEW.version, on_delete=(POLICY,)),
        "git commit: revert c1; update strategy of DaemonSets stays OnDelete",
    ),
    (MarkBad(rollout="spring", driver=NEW.version, why="Xid 79"), "git commit: mark the entry as bad: Xid 79"),
    (
        Promote(rollout="spring", date="2026-10-01", tag_base="v2026-10-stable"),
        "git commit: promote the entry on 2026-10-01, tag v2026-10-stable",
    ),
    (AskToMerge(rollout="spring", step=PublishStep.FLEET), "pull request: ask for a merge of the step fleet"),
    (CloseRequest(rollout="spring", step=PublishStep.FLEET), "pull request: close the one for the step fleet"),
    (PROBE, "job for gate smoke: on node/n1, image example.com/smoke:1, 1 GPU, command all_reduce -b"),
    (
        replace(PROBE, by_claim=True),
        "job for gate smoke: on node/n1, image example.com/smoke:1, 1 GPU by a ResourceClaim, command all_reduce -b",
    ),
    (
        replace(PROBE, gang=("n1", "n2")),
        "job for gate smoke: on node/n1, node/n2 at once, image example.com/smoke:1, 1 GPU, command all_reduce -b",
    ),
    (replace(PROBE, gate=Gate(name=PREPULL, image="i")), "job to pull the image: on node/n1, image i"),
    (END, "job gates/gate-smoke: delete: gate smoke on node/n1 is not waited for any more"),
    (
        SetAutoUpgrade(rollout="spring", resource=POLICY, value=False),
        f"{POLICY}: driver.upgradePolicy.autoUpgrade false",
    ),
    (MakePool(rollout="spring", name="gpu"), "machineconfigpool/gpu: create, for the canary"),
    (PausePool(rollout="spring", name="worker", value=True, expect="5"), "machineconfigpool/worker: paused true"),
    (RemovePool(rollout="spring", name="gpu", expect="3"), "machineconfigpool/gpu: delete"),
]


@pytest.mark.parametrize(("act", "line"), LINES)
def test_an_act_says_what_it_writes_and_where(act: Action, line: str) -> None:
    assert words.told(act) == line


def test_every_kind_of_act_is_in_the_list_above() -> None:
    assert {type(act) for act, _ in LINES} == set(typing.get_args(Action))


FAILURES: list[tuple[NodeAct, str]] = [
    (WriteNodeRecord(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (Cordon(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (Uncordon(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (PauseClients(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (ASK, "Failed to ask pods on the node to save their work, no"),
    (
        EvictPods(node="n1", attempt=1, pods=PODS),
        "Failed to delete workload pods on the node for the driver upgrade, no",
    ),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.DRIVER, namespace="ns", pod="driver", uid="u"),
        "Failed to restart driver pod no",
    ),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.VALIDATOR, namespace="ns", pod="validator", uid="u"),
        "Failed to restart validator pod validator, no",
    ),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.DRA_PLUGIN, namespace="ns", pod="dra", uid="u"),
        "Failed to restart dra-plugin pod dra, no",
    ),
    (REQUEST, "Failed to request maintenance of the node, no"),
    (RELEASE, "Failed to release the node from maintenance, no"),
]


@pytest.mark.parametrize(("act", "text"), FAILURES)
def test_an_act_on_a_node_that_failed_is_told_in_one_sentence(act: NodeAct, text: str) -> None:
    assert [each.text for each in announce(None, act, "no", annotations={})] == [text]


def test_every_kind_of_act_on_a_node_has_such_a_sentence() -> None:
    assert {type(act) for act, _ in FAILURES} == set(typing.get_args(NodeAct))


def test_a_switch_that_nobody_set_is_called_so() -> None:
    assert words.switched((Switch(resource=POLICY, name="DRAIN", value=None),)) == "DRAIN=(not set)"
