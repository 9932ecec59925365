"""Small stories on a real control plane: what goes wrong with a node, who holds it back, and how it goes on.

They share one fleet, one after the other: each story wants the driver that the fleet does not run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube import keys
from seatrial.testbed import controller_process, waiting
from seatrial.testbed.control_plane import ControlPlane
from seatrial.testbed.controller_process import ControllerProcess
from seatrial.testbed.fleet import Fleet, FleetSpec, make_fleet
from seatrial.testbed.history import History
from tests.e2e.conftest import RolloutMaker
from tests.e2e.promises import PATH

pytestmark = pytest.mark.cluster

PREFIX = "story"
DRIVERS = ("570.124.06", "580.105.08")
NODES = 4
ANY = {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 1}
TIMEOUT_SECONDS = 60.0


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """The fleet of all stories."""
    made = make_fleet(
        cluster, FleetSpec(prefix=PREFIX, node_count=NODES, driver_version=DRIVERS[0], reload_seconds=0.5)
    )
    yield made
    made.remove()


@pytest.fixture(scope="module")
def account(cluster: ControlPlane) -> Path:
    """The controller's kubeconfig."""
    return controller_process.identity(cluster, PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a story plays: the fleet, who moves it, and everything that was seen."""

    cluster: ControlPlane
    fleet: Fleet
    history: History
    controller: ControllerProcess
    rollout: str
    running: str
    target: str

    def wait(self, is_so: Callable[[], bool], what: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.history.wait_for(is_so, what=what, timeout_seconds=timeout_seconds, check=self.controller.check)

    def state(self, node: str) -> str:
        return self.history.latest()[node].state

    def wait_upgraded(self, *nodes: str) -> None:
        """Wait until these nodes, or all, have gone the whole way."""
        names = nodes or self.fleet.nodes
        self.wait(
            lambda: all(
                self.state(name) == "upgrade-done" and "uncordon-required" in self.history.states(name)
                for name in names
            ),
            f"{', '.join(names)} to be upgraded",
        )

    def was_cordoned(self, node: str) -> bool:
        return any(moment.is_cordoned for moment in self.history.nodes() if moment.name == node)

    def patch(self, **spec: Any) -> None:
        """Change the rollout."""
        body = json.dumps({"spec": spec})
        self.cluster.kubectl("patch", "gpurollout", self.rollout, "--type=merge", "-p", body)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.get("gpurollout", self.rollout).get("status", {})
        return found

    def wait_holds(self, **counts: int) -> None:
        """Wait until the controller has said that it holds these, and nothing else."""
        wanted = {code.replace("_", "-"): count for code, count in counts.items()}
        waiting.wait_for(
            lambda: self.status().get("holds") == wanted,
            what=f"the rollout to say {wanted}",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: str(self.status()),
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Our command as a person runs it beside this rollout."""
        where = ("--kubeconfig", str(self.cluster.kubeconfig), "--rollout", self.rollout)
        command = [sys.executable, "-m", "seatrial", *arguments, *where]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def label(self, node: str, label: str) -> None:
        self.cluster.kubectl("label", "node", node, label, "--overwrite")


@pytest.fixture
def play(
    cluster: ControlPlane, fleet: Fleet, account: Path, make_rollout: RolloutMaker, tmp_path: Path
) -> Callable[..., Any]:
    """Open a story: its rollout, its controller, its history."""

    @contextmanager
    def opened(name: str, *, limits: dict[str, Any] | None = None, **spec: Any) -> Iterator[Stage]:
        (running,) = set(fleet.driver_versions().values())
        (target,) = set(DRIVERS) - {running}
        make_rollout(name, fleet=PREFIX, target=target, limits=ANY | (limits or {}), **spec)
        controller = ControllerProcess(account, name, tmp_path, lease_seconds=4)
        with History(cluster, PREFIX) as history, controller:
            yield Stage(
                cluster=cluster,
                fleet=fleet,
                history=history,
                controller=controller,
                rollout=name,
                running=running,
                target=target,
            )

    return opened


def states_from(stage: Stage, node: str, state: str) -> list[str]:
    """The states of a node since it was first in this one; whether it was recorded before depends on other stories."""
    states = stage.history.states(node)
    return states[states.index(state) :]


def test_a_module_that_does_not_load_fails_one_node_and_a_retry_takes_a_fresh_pod(play: Callable[..., Any]) -> None:
    with play("module") as stage:
        broken, others = stage.fleet.nodes[1], (*stage.fleet.nodes[:1], *stage.fleet.nodes[2:])
        stage.fleet.break_driver(broken, "module-load")
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        stage.wait(lambda: stage.state(broken) == "upgrade-failed", "the broken node to be given up")
        assert stage.history.latest()[broken].is_cordoned
        assert [name for name in others if stage.history.latest()[name].is_cordoned] == []

        answer = stage.run("why", broken)
        assert "the upgrade of this node failed: a container of the driver pod keeps crashing" in answer.stdout
        assert f"kubectl label node {broken} {keys.STATE_LABEL}=upgrade-required --overwrite" in answer.stdout
        assert answer.returncode == 0

        failed = stage.fleet.driver_pods()[broken]["metadata"]["uid"]
        stage.label(broken, f"{keys.STATE_LABEL}=upgrade-required")
        stage.wait(
            lambda: any(pod.node == broken and pod.uid == failed and pod.is_gone for pod in stage.history.pods()),
            "the driver pod that failed to be gone",
        )
        stage.fleet.mend(broken)
        stage.wait_upgraded(broken)
        assert not stage.history.latest()[broken].is_cordoned
        assert stage.fleet.driver_pods()[broken]["metadata"]["uid"] != failed
        assert states_from(stage, broken, "upgrade-required") == [*PATH[1:6], "upgrade-failed", *PATH[1:]]
    assert set(stage.fleet.driver_versions().values()) == {stage.target}


def test_a_budget_that_allows_nothing_is_honoured_named_and_outwaited(play: Callable[..., Any]) -> None:
    with play("budget", podDeletion={"timeoutSeconds": 22}) as stage:
        workload = stage.fleet.add_workload("service", replicas=1, gpus_per_pod=8, min_available=1)
        (pod,) = stage.fleet.pods_of(workload)
        node, others = pod["spec"]["nodeName"], [name for name in stage.fleet.nodes if name != pod["spec"]["nodeName"]]
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        said = waiting.wait_for(
            lambda: next(
                (text for text in [stage.run("why", node).stdout] if "disruption budget service" in text), None
            ),
            what="`seatrial why` to name the budget",
            timeout_seconds=20,
            pause_seconds=0.5,
        )
        assert f"{workload.namespace}/{pod['metadata']['name']}" in said

        stage.wait(lambda: stage.state(node) == "upgrade-failed", "the node to be given up")
        assert stage.history.latest()[node].is_cordoned
        assert "GPU pods did not leave in time; nothing was deleted by force" in stage.run("why", node).stdout
        assert [each.uid for each in stage.history.pods("service") if each.is_leaving or each.is_gone] == []
        assert_patient(stage.cluster, workload.namespace)
        # The way out: somebody makes room, and asks for another try.
        stage.cluster.kubectl("delete", "deployment", workload.name, "-n", workload.namespace, "--cascade=foreground")
        stage.label(node, f"{keys.STATE_LABEL}=upgrade-required")
        stage.wait_upgraded(node)
        assert not stage.history.latest()[node].is_cordoned


def assert_patient(cluster: ControlPlane, namespace: str) -> None:
    """No pod was asked to leave more than once in five seconds, every one was refused, and nothing was deleted."""
    requests = [each for each in cluster.requests("seatrial") if each.namespace == namespace]
    assert {(each.verb, each.resource, each.subresource, each.code) for each in requests} == {
        ("create", "pods", "eviction", 429)
    }
    asked: dict[str, list[float]] = defaultdict(list)
    for each in requests:
        asked[each.name].append(datetime.fromisoformat(each.at).timestamp())
    gaps = [after - before for times in asked.values() for before, after in pairwise(times)]
    assert gaps
    assert min(gaps) >= 4.9  # the audit log's clock starts when a request arrives, ours when its answer does


def test_a_skip_label_holds_a_node_until_it_is_removed(play: Callable[..., Any]) -> None:
    with play("skip") as stage:
        skipped, others = stage.fleet.nodes[0], stage.fleet.nodes[1:]
        stage.label(skipped, f"{keys.SKIP_LABEL}=true")
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        stage.wait_holds(skipped=1)
        assert not stage.was_cordoned(skipped)
        assert stage.state(skipped) == "upgrade-required"

        answer = stage.run("status", "-o", "json")
        said = json.loads(answer.stdout)
        assert answer.returncode == 12
        assert said["rollout"] == {"name": "skip", "target": stage.target, "state": "waiting"}
        assert [(held["subject"], held["code"]) for held in said["holds"]] == [(skipped, "skipped")]
        assert {node["name"]: (node["state"], node["driver"]) for node in said["nodes"]} == {
            skipped: ("upgrade-required", stage.running),
            **dict.fromkeys(others, ("upgrade-done", stage.target)),
        }

        stage.label(skipped, f"{keys.SKIP_LABEL}-")
        stage.wait_upgraded(skipped)
        waiting.wait_for(
            lambda: stage.status().get("state") == "done",
            what="the rollout to be done",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
        )
        answer = stage.run("status", "-o", "json")
        assert (answer.returncode, json.loads(answer.stdout)["rollout"]["state"]) == (0, "done")


def test_a_paused_rollout_moves_nothing_and_a_resumed_one_finishes(play: Callable[..., Any]) -> None:
    with play("paused", paused=True) as stage:
        before = {name: moment.state for name, moment in stage.history.latest().items()}
        stage.fleet.set_driver_version(stage.target)
        stage.wait_holds(paused=NODES)
        assert stage.run("status").returncode == 12
        assert {name: moment.state for name, moment in stage.history.latest().items()} == before
        assert [name for name in stage.fleet.nodes if stage.was_cordoned(name)] == []
        assert set(stage.fleet.driver_versions().values()) == {stage.running}
        stage.patch(paused=False)
        stage.wait_upgraded()
    for name in stage.fleet.nodes:
        assert states_from(stage, name, "upgrade-required") == [*PATH[1:]]


def test_a_version_that_is_taken_back_releases_nodes_that_have_not_started(play: Callable[..., Any]) -> None:
    with play("revert", limits={"maxUnavailable": 0}) as stage:
        stage.fleet.set_driver_version(stage.target)
        stage.wait(
            lambda: all(stage.state(name) == "upgrade-required" for name in stage.fleet.nodes),
            "every node to wait for its turn",
        )
        stage.patch(paused=True)
        stage.fleet.set_driver_version(stage.running)
        stage.patch(paused=False, target={"driver": stage.running}, limits={"maxUnavailable": "100%"})
        stage.wait(
            lambda: all(stage.state(name) == "upgrade-done" for name in stage.fleet.nodes), "every node to be let go"
        )
        assert stage.controller.stop() == 0
    assert {tuple(stage.history.states(name)[-2:]) for name in stage.fleet.nodes} == {
        ("upgrade-required", "upgrade-done")
    }
    assert [name for name in stage.fleet.nodes if stage.was_cordoned(name)] == []
    assert [pod for pod in stage.history.pods("nvidia-driver-daemonset") if pod.is_leaving] == []


def test_a_second_controller_stands_by_and_takes_over_when_the_first_is_killed(
    play: Callable[..., Any], account: Path, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    with play("pair", limits={"maxParallelUpgrades": 1}) as stage:
        first = stage.controller
        wait_said(first, "leading", count=1)
        with ControllerProcess(account, "pair", tmp_path / "second", lease_seconds=4) as second:
            wait_said(second, "standing by", count=1)
            assert second.stop() == 0
            second.start()
            wait_said(second, "standing by", count=2)
            stage.fleet.set_driver_version(stage.target)
            stage.wait(lambda: any(map(stage.was_cordoned, stage.fleet.nodes)), "the first node to be cordoned")
            assert " leading " not in second.log.read_text(encoding="utf-8")
            first.kill()
            stage.history.wait_for(
                lambda: all(
                    moment.state == "upgrade-done" and "uncordon-required" in stage.history.states(name)
                    for name, moment in stage.history.latest().items()
                ),
                what="the second controller to finish",
                timeout_seconds=TIMEOUT_SECONDS,
                check=second.check,
            )
            assert second.stop() == 0
        assert " leading " in second.log.read_text(encoding="utf-8")
    for name in stage.fleet.nodes:
        assert states_from(stage, name, "upgrade-required") == [*PATH[1:]]


def wait_said(controller: ControllerProcess, what: str, *, count: int) -> None:
    """Wait until a controller's log has said something so many times."""
    waiting.wait_for(
        lambda: controller.log.read_text(encoding="utf-8").count(f" {what} ") >= count,
        what=f"{controller.log.name} to say {what!r}",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.1,
    )
