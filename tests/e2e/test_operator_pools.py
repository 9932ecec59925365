"""Pools as GPU Operator v26.7 has them: each NVIDIADriver with an upgrade policy of its own, each node with its owner.

The operator that the testbed builds is older: it gets a definition with the new field, which it never looks at, and we
write the owners on the nodes in its stead. What is shown is what *we* make of such a cluster, not what v26.7 does;
that is shown beside an operator which has those policies itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.core.decision.stops import why_stopped
from seatrial.core.holds import HoldCode
from seatrial.core.model.owners import OWNER_LABEL
from seatrial.core.model.policy import NO_LIMITS, Limits, Share
from seatrial.ports import Sight
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.neighbours import operator, operator_drivers
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.promises import is_under_way
from tests.e2e.sights import is_unavailable, look, most

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.long]

OLD, NEW = "570.124.06", "570.172.08"
PREFIX, ROLLOUT = "operator", "pools"
FLEET, CANARY = "fleet", "canary"
# Both are held to these, whatever the ClusterPolicy allows: it would let everybody go at once.
FLEET_POLICY: dict[str, Any] = {"autoUpgrade": False, "maxParallelUpgrades": 2, "maxUnavailable": "50%"}
CANARY_POLICY: dict[str, Any] = {"autoUpgrade": False, "maxParallelUpgrades": 1, "podDeletion": {"timeoutSeconds": 42}}
SPEC = operator.OperatorSpec(
    auto_upgrade=False,
    prefix=PREFIX,
    node_count=7,
    driver_version=OLD,
    parallel_upgrades_max=0,
    ready_seconds=1.0,
    drivers=(
        operator_drivers.NvidiaDriver(name=FLEET, node_count=5, version=OLD, upgrade_policy=FLEET_POLICY),
        operator_drivers.NvidiaDriver(name=CANARY, node_count=2, version=OLD, upgrade_policy=CANARY_POLICY),
    ),
)
TIMEOUT_SECONDS = 90.0


@pytest.fixture(scope="module")
def lone_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that no other test uses, with everything of ours installed."""
    with ControlPlane.start(tmp_path_factory.mktemp("operator-pools")) as started:
        controller_process.install(started)
        yield started


@pytest.fixture(scope="module")
def beside(lone_plane: ControlPlane) -> Iterator[operator.GpuOperator]:
    """The operator with two pools, and a rollout over both; the tests go on where the one before left it."""
    with operator.GpuOperator.start(lone_plane, SPEC) as started:
        started.wait_ready()
        kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
        lone_plane.apply([{**kind, "metadata": {"name": ROLLOUT}, "spec": {"target": {"driver": NEW}}}])
        yield started


def test_the_cluster_policy_governs_every_pool_unless_the_operator_itself_names_owners(
    lone_plane: ControlPlane, beside: operator.GpuOperator
) -> None:
    sight = look(lone_plane, ROLLOUT)
    named = {CANARY, FLEET} if beside.habits.has_policy_by_driver else set()
    assert {pool.name for pool in sight.seen.operator.pools} == named
    assert sight.intent.pools.keys() == named
    assert named or sight.seen.operator.kind == f"ClusterPolicy/{operator.CLUSTER_POLICY}"
    assert sight.intent.limits == NO_LIMITS
    assert owners(sight) == expected_owners(beside)  # by the selectors of the NVIDIADrivers, or the operator's word


def test_with_owners_on_the_nodes_each_nvidia_driver_has_a_policy_of_its_own(
    lone_plane: ControlPlane, beside: operator.GpuOperator
) -> None:
    name_owners(lone_plane, beside)
    sight = look(lone_plane, ROLLOUT)
    assert [(pool.name, pool.is_auto_upgrading, pool.driver_version) for pool in sight.seen.operator.pools] == [
        (CANARY, False, OLD),
        (FLEET, False, OLD),
    ]
    assert owners(sight) == expected_owners(beside)
    half, quarter = Share(amount=50, is_percent=True), Share(amount=25, is_percent=True)
    assert {name: policy.limits for name, policy in sight.intent.pools.items()} == {
        FLEET: Limits(parallel_max=2, unavailable_max=half),
        CANARY: Limits(parallel_max=1, unavailable_max=quarter),
    }
    assert {name: policy.eviction.timeout_seconds for name, policy in sight.intent.pools.items()} == {
        FLEET: 300.0,
        CANARY: 42.0,
    }
    assert sight.intent.limits == NO_LIMITS  # over all of them only where the rollout itself says so


def test_a_pool_that_nvidias_controller_moves_stops_a_rollout_over_it(
    lone_plane: ControlPlane, beside: operator.GpuOperator
) -> None:
    name_owners(lone_plane, beside)
    beside.set_auto_upgrade(is_on=True, driver=CANARY)
    sight = look(lone_plane, ROLLOUT)
    stop = why_stopped(sight.seen, sight.intent, time.time())
    assert stop is not None
    assert (stop.code, dict(stop.params)["owner"]) == (HoldCode.MODE_CONTRADICTION, f"NVIDIADriver/{CANARY}")

    select_pool(lone_plane, FLEET)
    sight = look(lone_plane, ROLLOUT)
    guarded = replace(sight.seen, is_guarded=True)  # no controller ran here that could have set its finalizer
    stop = why_stopped(guarded, sight.intent, time.time())
    assert stop is not None
    assert stop.code is HoldCode.TARGET_NOT_PUBLISHED  # the other pool is no concern of this rollout

    select_pool(lone_plane, None)
    beside.set_auto_upgrade(is_on=False, driver=CANARY)


def test_each_pool_keeps_its_own_limits_and_they_move_side_by_side(
    lone_plane: ControlPlane, beside: operator.GpuOperator, tmp_path: Path
) -> None:
    name_owners(lone_plane, beside)
    account = controller_process.identity(lone_plane, ROLLOUT)
    with History(lone_plane, PREFIX) as history, ControllerProcess(account, ROLLOUT, tmp_path) as controller:
        for driver in (FLEET, CANARY):
            beside.set_driver_version(NEW, driver=driver)
        history.wait_for(
            lambda: all(history.states(node)[-2:] == ["uncordon-required", "upgrade-done"] for node in beside.nodes),
            what="every node to be upgraded",
            timeout_seconds=TIMEOUT_SECONDS,
            check=controller.check,
        )
        assert controller.stop() == 0
    assert beside.driver_versions() == dict.fromkeys(beside.nodes, NEW)
    fleet, canary = beside.nodes_of(FLEET), beside.nodes_of(CANARY)
    assert most(history, is_under_way, fleet) == FLEET_POLICY["maxParallelUpgrades"]
    assert most(history, is_under_way, canary) == CANARY_POLICY["maxParallelUpgrades"]
    assert most(history, is_unavailable, fleet) <= 3  # half of five, rounded up
    assert most(history, is_unavailable, canary) <= 1
    assert most(history, is_under_way, beside.nodes) > FLEET_POLICY["maxParallelUpgrades"]
    assert beside.upgrade_states() == {}


def name_owners(plane: ControlPlane, beside: operator.GpuOperator) -> None:
    """Write on each node which NVIDIADriver owns it, as the operator does since v26.7."""
    for driver in (FLEET, CANARY):
        plane.kubectl("label", "node", *beside.nodes_of(driver), f"{OWNER_LABEL}={driver}", "--overwrite")


def select_pool(plane: ControlPlane, driver: str | None) -> None:
    """Have the rollout concern one pool only, or all GPU nodes."""
    label = "null" if driver is None else f'"{driver}"'
    patch = f'{{"spec": {{"nodeSelector": {{"{operator_drivers.POOL_LABEL}": {label}}}}}}}'
    plane.kubectl("patch", "gpurollout", ROLLOUT, "--type=merge", "-p", patch)


def owners(sight: Sight) -> dict[str, str]:
    return {name: node.facts.owner for name, node in sight.seen.nodes.items()}


def expected_owners(beside: operator.GpuOperator) -> dict[str, str]:
    return {node: driver for driver in (FLEET, CANARY) for node in beside.nodes_of(driver)}
