"""Everything we can do: each act has an id that follows from what it is, and a subject."""

from __future__ import annotations

import typing

import pytest

from seatrial.core.actions import (
    Action,
    Cordon,
    EvictPods,
    RestartDriverPod,
    Uncordon,
    WriteNodeRecord,
    WriteRolloutRecord,
    is_disruptive,
    rollout_subject,
)
from seatrial.core.snapshot import NodePhase
from tests.builders import a_gpu_pod, a_node, a_snapshot, written

NODE = a_node(phase=NodePhase.UPGRADE_REQUIRED)
EVICT = EvictPods(node="n1", attempt=2, pods=(a_gpu_pod(1), a_gpu_pod(0)))
RESTART = RestartDriverPod(node="n1", attempt=2, namespace="gpu-operator", pod="driver-x", uid="u-7")
LEDGER = WriteRolloutRecord(record=a_snapshot().rollout)

ACTS: list[tuple[Action, str, str, bool]] = [
    (written(NODE, NodePhase.CORDON_REQUIRED), "n1/cordon-required/1@7", "n1", False),
    (written(NODE, NodePhase.WAIT_FOR_JOBS_REQUIRED, Cordon), "n1/wait-for-jobs-required/1@7", "n1", True),
    (written(NODE, NodePhase.UPGRADE_DONE, Uncordon), "n1/upgrade-done/1@7", "n1", False),
    (EVICT, "n1/evict/2/pod-0+pod-1", "n1", True),
    (RESTART, "n1/restart-driver/2/u-7", "n1", True),
    (LEDGER, "spring/ledger/40", "rollout/spring", False),
]


@pytest.mark.parametrize(("act", "id_", "subject", "disrupts"), ACTS)
def test_an_act_is_known_by_its_id_and_its_subject(act: Action, id_: str, subject: str, disrupts: bool) -> None:
    assert (act.id, act.subject, is_disruptive(act)) == (id_, subject, disrupts)


def test_every_kind_of_act_is_in_the_list_above() -> None:
    assert {type(act) for act, *_ in ACTS} == set(typing.get_args(Action))


def test_the_order_in_which_pods_were_found_does_not_change_the_act() -> None:
    other = EvictPods(node="n1", attempt=2, pods=(a_gpu_pod(0), a_gpu_pod(1)))
    assert other.id == EVICT.id


def test_a_phase_opened_twice_in_one_attempt_is_two_acts() -> None:
    first = written(NODE, NodePhase.VALIDATION_REQUIRED)
    again = written(a_node(phase=NodePhase.POD_RESTART_REQUIRED, resource_version="9"), NodePhase.VALIDATION_REQUIRED)
    assert (first.id, again.id) == ("n1/validation-required/1@7", "n1/validation-required/1@9")


def test_a_rollout_and_a_node_of_the_same_name_are_two_subjects() -> None:
    assert rollout_subject("n1") != WriteNodeRecord.subject.fget(written(NODE, NodePhase.CORDON_REQUIRED))  # type: ignore[attr-defined]
