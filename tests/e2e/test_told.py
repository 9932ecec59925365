"""What people are told of a live upgrade: Events in NVIDIA's words and few of them, and the pages of the controller."""

from __future__ import annotations

import re
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes.fleet import make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import RolloutMaker
from tests.e2e.promises import PATH

pytestmark = pytest.mark.cluster

OLD, NEW = "570.124.06", "580.105.08"
SERVING = re.compile(r"serving health and metrics address=(\S+)")


def told(cluster: ControlPlane, node: str) -> Counter[str]:
    """How often each thing was told of a node."""
    chosen = f"reason=GPUDriverUpgrade,involvedObject.kind=Node,involvedObject.name={node}"
    events = cluster.get("events", "-n", "default", "--field-selector", chosen)["items"]
    return Counter({event["message"]: event["count"] for event in events})


def page(controller: ControllerProcess, path: str) -> str:
    found = SERVING.search(controller.log.read_text(encoding="utf-8"))
    assert found is not None
    with urllib.request.urlopen(f"http://{found[1]}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def test_an_upgrade_that_was_asked_for_is_told_in_nvidias_words(
    cluster: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path
) -> None:
    fleet = make_fleet(cluster, FleetSpec(prefix="told", node_count=1, driver_version=NEW, reload_seconds=0.5))
    (node,) = fleet.nodes
    fleet.add_workload("told-service", replicas=1, gpus_per_pod=8, termination_seconds=0.2)
    make_rollout("told", fleet="told", target=NEW, limits={"maxUnavailable": 1})
    account = controller_process.identity(cluster, "told")
    with (
        History(cluster, "told") as history,
        ControllerProcess(account, "told", tmp_path, pages="127.0.0.1:0") as controller,
    ):
        history.wait_for(
            lambda: history.states(node) == ["upgrade-done"],
            what="the controller to have seen the node",
            timeout_seconds=60,
            check=controller.check,
        )
        cluster.kubectl("annotate", "node", node, f"{keys.REQUESTED_ANNOTATION}=true")
        history.wait_for(
            lambda: tuple(history.states(node)) == PATH,
            what="the node to be upgraded although nothing is new",
            timeout_seconds=120,
            check=controller.check,
        )
        metrics = page(controller, "/metrics")
        assert "seatrial_leader 1.0" in metrics
        assert 'seatrial_acts_total{act="EvictPods",result="done"} 1.0' in metrics
        assert page(controller, "/healthz").startswith("the last pass was ")
        assert page(controller, "/readyz") == "passes are made\n"
        assert controller.stop() == 0
    assert keys.REQUESTED_ANNOTATION not in cluster.get("node", node)["metadata"]["annotations"]
    states = Counter(f"Successfully updated node state label to {state}" for state in PATH)
    others = Counter(
        [
            f"Successfully updated node annotation to {keys.REQUESTED_ANNOTATION}=null",
            "Deleted workload pods on the node for the driver upgrade",
        ]
    )
    waiting.wait_for(lambda: told(cluster, node) == states + others, what="every event to be there", timeout_seconds=60)
    fleet.remove()
