"""A rollout on trial: every write up to the first verdict, in every mode, and what it would wait for."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from seatrial.app.matrix.judging import CheckReport
from seatrial.app.rollout import rehearsing
from seatrial.app.rollout.outset import Outset
from seatrial.app.rollout.targeting import RolloutTarget
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ByHand, Canary, Mode, Point, Via
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.marks import NEIGHBOURS
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import MachinePool, OperatorFacts
from seatrial.core.model.target import Target
from seatrial.sim.operand_pods import operand_of
from tests import builders

NOW = 1_700_000_000.0
DAY = date(2026, 3, 1)
REPORT = CheckReport(file="m.yaml", on=DAY, built_on=DAY, known_until=DAY, compared_with="", found=())
TARGET = RolloutTarget(driver=builders.NEW.version, report=REPORT)


def live(name: str, **changes: Any) -> NodeSeen:
    """A node as a real cluster shows it: the ids of pods are no counters."""
    driver = builders.a_driver(name, uid="0b9d2c1e-77aa-4e0f-9a55-435eb5e0bf44", ready_since=NOW - 9000)
    validator = builders.a_validator(name, uid="5f1d2c1e-77aa-4e0f-9a55-435eb5e0bf44", ready_since=NOW - 9000)
    plain: dict[str, Any] = {"driver": driver, "validator": validator}
    return builders.an_old_node(name, **(plain | changes))


def around(
    *nodes: NodeSeen, operator: OperatorFacts | None = None, others: tuple[str, ...] = (), **campaign: Any
) -> Outset:
    members = nodes or tuple(live(f"n{number}") for number in range(1, 6))
    return Outset(
        at=NOW,
        resource={},
        made={"apiVersion": "v", "kind": "GPURollout", "spec": {}},
        intent=builders.an_intent(campaign=builders.a_campaign(**campaign)),
        members={node.name: node for node in members},
        operator=operator or builders.an_operator(),
        others=others,
    )


BEGUN = "may be disrupted: n1"
AUTOSCALER = NEIGHBOURS[0].mark.key
QUIET = (
    "driver manager ENABLE_GPU_POD_EVICTION=false, ENABLE_AUTO_DRAIN=false: "
    "otherwise it uncordons nodes before they are validated"
)


def lines(trial: rehearsing.Trial) -> list[str]:
    return [f"{each.what}: {each.content}" for each in trial.writes]


def is_judged(trial: rehearsing.Trial) -> bool:
    return trial.record.phase not in rehearsing.BEFORE_VERDICT


def test_the_canary_alone_is_touched_and_every_write_comes_in_order() -> None:
    trial = rehearsing.rehearse(around(), TARGET)
    assert is_judged(trial)
    assert lines(trial) == [
        "gpurollout/spring status: phase Proposed",
        "gpurollout/spring status: phase Canary",
        "node/n1: label seatrial.dev/canary=spring",
        f"{builders.POLICY}: {builders.POLICY} driver version {builders.NEW.version} (step canary), {QUIET}",
        "node/n1: state upgrade-required",
        "gpurollout/spring status: phase Canary, may be disrupted: n1",
        "node/n1: state cordon-required",
        f"node/n1: cordon, state wait-for-jobs-required, annotation {AUTOSCALER}=true",
        "node/n1: state pod-deletion-required",
        "node/n1: state pod-restart-required",
        "pod/gpu-operator/driver-n1: delete, so that its DaemonSet starts a new driver",
        "node/n1: state validation-required",
        "node/n1: state uncordon-required",
        "gpurollout/spring status: phase Gating, may be disrupted: n1",
        f"gpurollout/spring status: phase Gating, {BEGUN}, gates: readiness on n1 passed, smoke on n1 pending",
        "job for gate smoke: on node/n1, image example.com/smoke:1, 1 GPU",
        f"gpurollout/spring status: phase Baking, {BEGUN}, gates: readiness on n1 passed, smoke on n1 passed",
        f"node/n1: uncordon, state upgrade-done, remove annotation {AUTOSCALER}",
    ]


def test_the_suite_is_announced_for_as_many_gpus_as_the_canary_has() -> None:
    eight = GpuOffer(resources=(("nvidia.com/gpu", 8),))
    outset = around(live("n1", offer=eight), gates=(), suite_image="example.com/probes:1")
    jobs = [line for line in lines(rehearsing.rehearse(outset, TARGET)) if line.startswith("job for gate")]
    assert {job.split(":")[0].split()[-1] for job in jobs} == {"smoke-train", "smoke-infer", "gpu-errors", "multi-gpu"}
    assert jobs[0].startswith("job for gate smoke-train: on node/n1, image example.com/probes:1, 8 GPUs")


def test_users_of_the_canary_are_named_in_what_would_be_evicted() -> None:
    nodes = [live("n1", pods=(builders.a_gpu_pod(0), builders.a_gpu_pod(1)))]
    found = lines(rehearsing.rehearse(around(*nodes, canary=Canary(nodes=("n1",))), TARGET))
    assert "pods of node/n1: evict jobs/train-0, jobs/train-1" in found


def test_the_job_that_brings_the_image_is_announced_too() -> None:
    wanted = replace(builders.OLD, image=f"nvcr.io/nvidia/driver:{builders.OLD.version}-ubuntu24.04")
    found = lines(rehearsing.rehearse(around(live("n1", wanted=wanted)), TARGET))
    image = f"nvcr.io/nvidia/driver:{builders.NEW.version}-ubuntu24.04"
    brought = found.index(f"job to pull the image: on node/n1, image {image}")
    assert brought < found.index(f"node/n1: cordon, state wait-for-jobs-required, annotation {AUTOSCALER}=true")


def test_what_is_published_by_commit_is_told_as_one() -> None:
    found = lines(rehearsing.rehearse(around(publish=Via.GIT, has_source=True), TARGET))
    assert any(line.startswith(f"git commit: {builders.POLICY} driver version") for line in found)


def test_pools_that_are_to_stand_still_are_paused_first_and_a_missing_one_holds_it() -> None:
    still: dict[str, Any] = {"pool": "gpu-canary", "still": ("worker",)}
    there = replace(around(**still), machine_pools=(MachinePool(name="worker", resource_version="41"),))
    assert lines(rehearsing.rehearse(there, TARGET))[2:5] == [
        "machineconfigpool/worker: paused true",
        "machineconfigpool/gpu-canary: create, for the canary",
        "node/n1: label seatrial.dev/canary=spring",
    ]
    held = rehearsing.rehearse(around(**still), TARGET)
    assert (lines(held), [each.code for each in held.holds]) == (
        ["gpurollout/spring status: phase Proposed"],
        ["pool-missing"],
    )


def test_where_nvidias_controller_moves_nodes_only_our_marks_and_versions_are_written() -> None:
    given = around(operator=builders.an_operator(is_auto_upgrading=True), mode=Mode.DELEGATED)
    found = lines(rehearsing.rehearse(given, TARGET))
    assert "node/n2: label nvidia.com/gpu-driver-upgrade.skip=true" in found
    assert not [line for line in found if "cordon" in line or "delete" in line]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"manual": (Point.CANARY,)}, "approval-pending"),
        ({"others": ("winter",)}, "other-rollout"),
        ({"openings": ((NOW + 3600, NOW + 7200),)}, None),
        ({"openings": ()}, "outside-window"),
        ({"canary": Canary(nodes=("nobody",))}, "no-canary"),
    ],
)
def test_what_it_would_wait_for_is_said_and_nothing_is_waited_for_in_vain(
    changes: dict[str, Any], code: str | None
) -> None:
    trial = rehearsing.rehearse(around(**changes), TARGET)
    assert [held.code.value for held in trial.holds] == ([code] if code else [])
    assert is_judged(trial) is (code is None)


def test_operands_of_a_live_node_are_not_taken_for_clients() -> None:
    labels = {"nvidia.com/gpu.deploy.device-plugin": "true", "nvidia.com/gpu.present": "true"}
    found = lines(rehearsing.rehearse(around(live("n1", labels=labels)), TARGET))
    assert not [line for line in found if "gpu.deploy" in line]


def test_operands_are_restarted_on_the_canary_alone_once_they_are_published() -> None:
    def of(name: str) -> NodeSeen:
        node = live(name, driver=builders.a_driver(name, version=builders.NEW.version, revision=builders.NEW.hash))
        seen = operand_of(name, Operand.TOOLKIT, "v1.17.8", NOW - 9000)
        assert seen.pod is not None
        # As a real cluster shows it: a revision is no version.
        operand = replace(seen, wanted="6d5f", pod=replace(seen.pod, uid="7e-1", revision="6d5f"))
        return replace(node, facts=replace(node.facts, wanted=builders.NEW, operands=(operand,)))

    operator = builders.an_operator(builders.NEW.version, rolling=(Operand.TOOLKIT,))
    parts = (("container_toolkit", "v1.17.8"),)
    operator = replace(operator, carriers=(replace(operator.carriers[0], parts=parts),))
    target = Target.of(builders.NEW.version, (Component.CONTAINER_TOOLKIT, "v1.18.1"))
    outset = around(*map(of, ("n1", "n2", "n3")), operator=operator, sets_on_delete=True)
    trial = rehearsing.rehearse(replace(outset, intent=replace(outset.intent, target=target)), TARGET)
    assert is_judged(trial), trial.holds
    said = lines(trial)
    assert any(f"{target.published} (step canary), update strategy of DaemonSets OnDelete" in each for each in said)
    assert [each for each in said if "delete" in each] == [
        "pod/gpu-operator/container-toolkit-n1: delete, so that its DaemonSet starts a new container-toolkit",
        "pod/gpu-operator/validator-n1: delete, so that its DaemonSet starts a new validator",
    ]
    unasked = around(*map(of, ("n1", "n2")), operator=operator)
    held = rehearsing.rehearse(replace(unasked, intent=replace(unasked.intent, target=target)), TARGET)
    assert [each.code for each in held.holds] == [HoldCode.ROLLS_BY_ITSELF]


def test_a_fleet_of_500_is_tried_within_seconds() -> None:
    nodes = [live(f"n{number:03}") for number in range(500)]
    began = time.process_time()
    trial = rehearsing.rehearse(around(*nodes), TARGET)
    assert is_judged(trial)
    assert time.process_time() - began < 20


def test_a_step_by_hand_marks_its_canary_and_then_waits_for_people() -> None:
    firmware = ByHand(component=Component.FIRMWARE_CX7)
    trial = rehearsing.rehearse(around(by_hand=firmware, publish=Via.NOBODY), TARGET)
    assert [held.code for held in trial.holds] == [HoldCode.BY_HAND_PENDING]
    assert trial.is_held
    assert {each.what.partition("/")[0] for each in trial.writes} <= {"gpurollout", "GPURollout", "Node", "node"}
