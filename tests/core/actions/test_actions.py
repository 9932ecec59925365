"""Everything we can do: each act has an id that follows from what it is, and a subject."""

from __future__ import annotations

import typing

import pytest

from seatrial.core.actions.action import Action, is_disruptive
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
    PauseClients,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout, WriteRolloutRecord, rollout_subject
from seatrial.core.model.campaign import PublishStep, Via
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operands import Operand
from seatrial.core.node.visiting import VISITS
from seatrial.core.promises.of_nodes import FOLLOWING
from tests.builders import NEW, POLICY, SMOKE, a_gpu_pod, a_node, a_snapshot, written

NODE = a_node(phase=NodePhase.UPGRADE_REQUIRED)
EVICT = EvictPods(node="n1", attempt=2, pods=(a_gpu_pod(1), a_gpu_pod(0)))
ASK = AskCheckpoint(node="n1", attempt=2, pods=(a_gpu_pod(1), a_gpu_pod(0)), token="spring.n1.2")
LEDGER = WriteRolloutRecord(record=a_snapshot().rollout)
RELEASE = ReleaseMaintenance(
    node="n1",
    attempt=2,
    namespace="default",
    name="seatrial-n1",
    requestor="seatrial",
    uid="m-1",
    resource_version="9",
    is_ours=True,
)


def restart(operand: Operand) -> RestartPod:
    return RestartPod(node="n1", attempt=2, operand=operand, namespace="gpu-operator", pod="pod-x", uid="u-7")


def request(joins: str = "") -> RequestMaintenance:
    return RequestMaintenance(
        node="n1",
        attempt=2,
        namespace="default",
        name="seatrial-n1",
        requestor="seatrial",
        policy=Policy(),
        joins=joins,
    )


PUBLISH = Publish(rollout="spring", step=PublishStep.CANARY, versions=((POLICY, NEW.version),), via=Via.DIRECT)
END = EndProbe(rollout="spring", gate="smoke", node="n1", round=2, attempt=1, job="gates/gate-smoke")
PROBE = StartProbe(rollout="spring", gate=SMOKE, node="n1", round=2, attempt=1)
REMOVE = RemovePool(rollout="spring", name="gpu", expect="3")
SWITCH = SetAutoUpgrade(rollout="spring", resource=POLICY, value=False)

ACTS: list[tuple[Action, str, str, bool]] = [
    (written(NODE, NodePhase.CORDON_REQUIRED), "n1/cordon-required/1@7", "n1", False),
    (written(NODE, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon), "n1/wait-for-jobs-required/1@7", "n1", True),
    (written(NODE, NodePhase.UPGRADE_DONE, Uncordon), "n1/upgrade-done/1@7", "n1", False),
    (written(NODE, NodePhase.POD_DELETION_REQUIRED, PauseClients), "n1/pod-deletion-required/1@7", "n1", True),
    (ASK, "n1/checkpoint/2/pod-0+pod-1", "n1", False),
    (EVICT, "n1/evict/2/pod-0+pod-1", "n1", True),
    (restart(Operand.DRIVER), "n1/restart-driver/2/u-7", "n1", True),
    *((restart(each), f"n1/restart-{each}/2/u-7", "n1", True) for each in VISITS if each not in FOLLOWING),
    (restart(Operand.VALIDATOR), "n1/restart-validator/2/u-7", "n1", False),
    (restart(Operand.DRA_PLUGIN), "n1/restart-dra-plugin/2/u-7", "n1", False),
    (request(), "n1/request-maintenance/2@new", "n1", True),
    (request(joins="9"), "n1/request-maintenance/2@9", "n1", True),
    (RELEASE, "n1/release-maintenance/2/m-1@9", "n1", False),
    (LEDGER, "spring/ledger/40", "rollout/spring", False),
    (GuardRollout(rollout="spring", expect="40"), "spring/guard@40", "rollout/spring/guard", False),
    (ReleaseRollout(rollout="spring", expect="40"), "spring/release@40", "rollout/spring/guard", False),
    (MarkNode(node="n1", rollout="spring", expect="7", canary=True), "n1/mark@7", "n1", False),
    (PUBLISH, "spring/publish-canary/ClusterPolicy/gpu=580.105.08", "rollout/spring/canary", False),
    (
        RevertCommits(rollout="spring", commits=("b", "a"), driver=""),
        "spring/revert/b+a",
        "rollout/spring/revert",
        False,
    ),
    (MarkBad(rollout="spring", driver="", why="Xid 79"), "spring/bad", "rollout/spring/bad", False),
    (Promote(rollout="spring", date="", tag_base="v1"), "spring/promotion/v1", "rollout/spring/promotion", False),
    (
        AskToMerge(rollout="spring", step=PublishStep.FLEET),
        "spring/ask-to-merge/fleet",
        "rollout/spring/fleet-request",
        False,
    ),
    (
        CloseRequest(rollout="spring", step=PublishStep.FLEET),
        "spring/close-request/fleet",
        "rollout/spring/fleet-request",
        False,
    ),
    (PROBE, "spring/gate/smoke/n1/2.1", "rollout/spring/gate/smoke/n1", False),
    (END, "spring/end-gate/smoke/n1/2.1", "rollout/spring/gate/smoke/n1", False),
    (SWITCH, "spring/auto-upgrade/ClusterPolicy/gpu=False@", "rollout/spring/auto-upgrade/ClusterPolicy/gpu", False),
    (MakePool(rollout="spring", name="gpu"), "spring/make-pool/gpu", "rollout/spring/pool/gpu", False),
    (
        PausePool(rollout="spring", name="worker", value=True, expect="5"),
        "spring/pause-pool/worker=True@5",
        "rollout/spring/pool/worker",
        False,
    ),
    (
        RemovePool(rollout="spring", name="gpu", expect="3"),
        "spring/remove-pool/gpu@3",
        "rollout/spring/pool/gpu",
        False,
    ),
]


@pytest.mark.parametrize(("act", "id_", "subject", "disrupts"), ACTS)
def test_an_act_is_known_by_its_id_and_its_subject(act: Action, id_: str, subject: str, disrupts: bool) -> None:
    assert (act.id, act.subject, is_disruptive(act)) == (id_, subject, disrupts)


def test_every_kind_of_act_is_in_the_list_above() -> None:
    assert {type(act) for act, *_ in ACTS} == set(typing.get_args(Action))


def test_every_operand_is_in_the_list_above() -> None:
    assert {act.operand for act, *_ in ACTS if isinstance(act, RestartPod)} == set(Operand)


def test_the_order_in_which_pods_were_found_does_not_change_the_act() -> None:
    other = EvictPods(node="n1", attempt=2, pods=(a_gpu_pod(0), a_gpu_pod(1)))
    assert other.id == EVICT.id


def test_a_phase_opened_twice_in_one_attempt_is_two_acts() -> None:
    first = written(NODE, NodePhase.VALIDATION_REQUIRED)
    again = written(a_node(phase=NodePhase.POD_RESTART_REQUIRED, resource_version="9"), NodePhase.VALIDATION_REQUIRED)
    assert (first.id, again.id) == ("n1/validation-required/1@7", "n1/validation-required/1@9")


def test_a_write_belongs_to_the_attempt_of_its_record() -> None:
    assert written(NODE, NodePhase.CORDON_REQUIRED, attempt=3).attempt == 3


def test_a_rollout_and_a_node_of_the_same_name_are_two_subjects() -> None:
    assert rollout_subject("n1") != WriteNodeRecord.subject.fget(written(NODE, NodePhase.CORDON_REQUIRED))  # type: ignore[attr-defined]
