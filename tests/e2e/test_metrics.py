"""What a live rollout tells the outside: pages for Prometheus and the kubelet, Events for people."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.building import promtool
from seatrial_lab.testbed.nodes import consumers
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play, Stage

pytestmark = pytest.mark.cluster

NODES = 4
STATE = (
    "(upgrade-(required|done|failed)|(cordon|wait-for-jobs|pod-deletion|drain|node-maintenance|pod-restart"
    "|validation|uncordon)-required)"
)
KEY = r"[a-z.-]+/[a-z.-]+"
NVIDIA = (
    ("Normal", rf"Successfully updated node state label to {STATE}"),
    ("Warning", rf"Failed to update node state label to {STATE}, .+"),
    ("Normal", rf"Successfully updated node annotation to {KEY}=.+"),
    ("Warning", rf"Failed to update node annotation (to )?{KEY}=.+: .+"),
    ("Normal", "Deleted workload pods on the node for the driver upgrade"),
    ("Warning", "Failed to delete workload pods on the node for the driver upgrade, .+"),
    ("Warning", "Pod deletion failed but drain is enabled in spec. Will attempt a node drain"),
    ("Normal", "Scheduling drain of the node"),
    ("Normal", "Successfully drained the node"),
    ("Warning", "Failed to (cordon|drain) the node, .+"),
    ("Warning", "Failed to handle timeout for job completions, .+"),
    ("Warning", "Failed to remove annotation used to track job completions: .+"),
    ("Warning", "Failed to handle timeout for validation state: .+"),
    ("Warning", ".+, will retry"),
)
"""What NVIDIA's controller tells of a node, as patterns."""
OURS = (("Warning", r"The upgrade of this node failed: .+`seatrial node retry \S+`.+"),)
"""What it is silent about: why a node was given up, and what to do."""
SEEN = (0, 2, 4, 5, 6, 7, 8)
"""Of NVIDIA's patterns, those that this rollout has to show."""


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """A fleet for one rollout."""
    spec = FleetSpec(prefix="meter", node_count=NODES, driver_version=DRIVERS[0], reload_seconds=0.5)
    made = make_fleet(cluster, spec)
    yield made
    made.remove()


def address(stage: Stage) -> str:
    """Where the controller serves its pages, as its log says."""
    said = re.compile(r"serving health and metrics address=(\S+)")
    match = waiting.wait_for(
        lambda: said.search(stage.controller.log.read_text(encoding="utf-8")),
        what="the controller to serve its pages",
        timeout_seconds=TIMEOUT_SECONDS,
    )
    return match[1]


def page(stage: Stage, path: str) -> str:
    """One of the pages; an answer other than 200 is an error."""
    with urllib.request.urlopen(f"http://{address(stage)}{path}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def gauges(text: str) -> dict[tuple[str, str], float]:
    """What the page says, by name and by the value of the only label, where there is one."""
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(each.name, next(iter(each.labels.values()), "")): each.value for each in samples if len(each.labels) < 2}


def nodes_by_state(text: str) -> dict[str, int]:
    return {state: int(count) for (name, state), count in gauges(text).items() if name == "seatrial_nodes" and count}


def check(text: str) -> None:
    """promtool has nothing to say."""
    command = (promtool.find_or_get(), "check", "metrics")
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_live_rollout_is_told_in_pages_and_events(play: Play, fleet: Fleet) -> None:
    moved, drained, stubborn, crashing = fleet.nodes
    consumers.add_pod(fleet, moved, name="moved", gpus=1)
    consumers.add_pod(fleet, drained, name="bare", gpus=1, is_bare=True)
    static = consumers.add_static_pod(fleet, stubborn, name="static", gpus=1)
    fleet.break_driver(crashing, "module-load", restart_count=10)
    spec = {"drain": {"enable": True, "force": True}}
    with play("meter", limits={"maxFailed": 2}, pages="127.0.0.1:0", **spec) as stage:
        stage.do("node", "skip", stubborn)
        fleet.set_driver_version(stage.target)
        stage.wait_upgraded(moved, drained)
        stage.wait_state(crashing, "upgrade-failed")
        # Where no drain is allowed, a pod that must not be evicted gives its node up.
        stage.patch(drain={"enable": False}, podDeletion={"timeoutSeconds": 2})
        stage.do("node", "unskip", stubborn)
        stage.wait_state(stubborn, "upgrade-failed")
        # What a node is stands there with the write; what holds it, with the next look at it.
        waiting.wait_for(
            lambda: gauges(page(stage, "/metrics")).get(("seatrial_holds", "failed")) == 2,
            what="the page to say that two are held because they failed",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: str(gauges(page(stage, "/metrics"))),
        )
        midway = page(stage, "/metrics")
        check(midway)
        said = gauges(midway)
        assert said["gpu_operator_nodes_upgrades_failed", ""] == 2
        assert said["gpu_operator_nodes_upgrades_done", ""] == 2
        assert said["gpu_operator_nodes_upgrades_in_progress", ""] == 2  # NVIDIA counts the failed as in progress
        assert nodes_by_state(midway) == {"upgrade-done": 2, "upgrade-failed": 2}
        assert said["seatrial_leader", ""] == 1
        assert said["gpu_operator_driver_auto_upgrade_enabled", ""] == 1

        fleet.mend(crashing)  # its driver is proven after all, so the node comes back without being asked to
        stage.remove(static)
        stage.do("node", "retry", stubborn)
        stage.wait_upgraded(stubborn)
        stage.wait_state(crashing, "upgrade-done")
        waiting.wait_for(
            lambda: stage.status().get("state") == "done",
            what="the rollout to be done",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: str(stage.status()),
        )
        final = page(stage, "/metrics")
        check(final)
        assert nodes_by_state(final) == stage.status()["counts"] == {"upgrade-done": NODES}
        said = gauges(final)
        assert said["gpu_operator_nodes_upgrades_done", ""] == NODES
        for name in ("in_progress", "failed", "pending"):
            assert said[f"gpu_operator_nodes_upgrades_{name}", ""] == 0
        assert [key for key, value in said.items() if key[0] == "seatrial_holds" and value] == []
        assert [key for key, value in said.items() if key[0] == "seatrial_breaches_total" and value] == []
        assert page(stage, "/healthz")
        assert page(stage, "/readyz")
        stage.annotate(moved, "nvidia.com/gpu-driver-upgrade-requested=true")
        stage.wait(lambda: stage.history.states(moved).count("uncordon-required") == 2, "the last wish to be granted")
        assert stage.controller.stop() == 0  # with its last Event told
        told = {(kind, text) for _, kind, text in stage.events()}
    known = [*NVIDIA, *OURS]
    assert [one for one in sorted(told) if not any(is_like(one, pattern) for pattern in known)] == []
    for pattern in (*(NVIDIA[position] for position in SEEN), *OURS):
        assert any(is_like(one, pattern) for one in told), f"nobody was told {pattern}"


def is_like(told: tuple[str, str], pattern: tuple[str, str]) -> bool:
    return told[0] == pattern[0] and re.fullmatch(pattern[1], told[1]) is not None
