"""The nodes of a stage, and whoever obeys the ClusterPolicy: a stand-in in direct mode, else the real GPU Operator.

Where our controller moves the nodes, all that the operator would do is to write the policy's version into its
DaemonSet: that is done here, again and again, whatever becomes of the API server. Where NVIDIA's controller moves them
it is the real one. Tests: bench/torture.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.again import Again
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.torture.table import Mode

PREFIX: Final = "torture"
POLICY: Final = operator.CLUSTER_POLICY
OLD, NEW = "570.124.06", "580.105.08"
PARALLEL_MAX: Final = 4
RELOAD_SECONDS: Final = 0.4
READY_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The nodes, and how they are asked about."""

    nodes: tuple[str, ...]
    state_label: str
    versions: Callable[[], dict[str, str]]
    """The driver of each node."""


@contextmanager
def moved(plane: ControlPlane, mode: Mode, node_count: int) -> Iterator[Moved]:
    """The nodes of this mode, each with its driver."""
    plane.load_nvidia_crds()
    with _by_us(plane, node_count) if mode is Mode.DIRECT else _by_nvidia(plane, node_count) as made:
        yield made


@contextmanager
def _by_us(plane: ControlPlane, node_count: int) -> Iterator[Moved]:
    spec = FleetSpec(prefix=PREFIX, node_count=node_count, driver_version=OLD, reload_seconds=RELOAD_SECONDS)
    fleet = make_fleet(plane, spec)
    plane.apply([manifests.cluster_policy(POLICY, OLD)])
    with Again("policy", lambda: _obey(plane, fleet)):
        yield Moved(nodes=fleet.nodes, state_label=keys.STATE_LABEL, versions=fleet.driver_versions)


def _obey(plane: ControlPlane, fleet: Fleet) -> None:
    wanted = plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"]
    found = plane.get("daemonset", fleet.driver_daemon_set, "-n", fleet.spec.namespace)
    image = found["spec"]["template"]["spec"]["containers"][0]["image"]
    if manifests.driver_version(image) != wanted:
        fleet.set_driver_version(wanted)


@contextmanager
def _by_nvidia(plane: ControlPlane, node_count: int) -> Iterator[Moved]:
    spec = operator.OperatorSpec(
        auto_upgrade=True,
        driver_version=OLD,
        prefix=PREFIX,
        node_count=node_count,
        parallel_upgrades_max=PARALLEL_MAX,
        ready_seconds=RELOAD_SECONDS,
    )
    beside = operator.GpuOperator.start(plane, spec)
    try:
        beside.wait_ready(READY_SECONDS)
        yield Moved(nodes=beside.nodes, state_label=keys.NVIDIA_STATE_LABEL, versions=beside.driver_versions)
    finally:
        beside.stop()  # what it made goes with the control plane
