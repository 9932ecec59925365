"""Who uses the GPUs of a node, and how they leave it: every kind of consumer, jobs, checkpoints, budgets, drains.

The stories share one fleet. Whoever came in an earlier story stays, is moved again by each later one, and comes back.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.node.writing import PAUSED
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes import consumers, dra, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, Workload
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play, Stage
from tests.e2e.promises import PATH, driver_restarts, has_left, running_on, shortest_pauses

pytestmark = pytest.mark.cluster

NODES = 6
MIG = "nvidia.com/mig-1g.10gb"
EXTENDED = f"deviceclass.resource.kubernetes.io/{dra.GPU_DRIVER}"
DRAIN_SKIP = "nvidia.com/gpu-driver-upgrade-drain.skip"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """The fleet of all stories; its nodes hand out GPUs by resources and by claims."""
    spec = FleetSpec(prefix="user", node_count=NODES, driver_version=DRIVERS[0], reload_seconds=0.5, has_dra=True)
    made = make_fleet(cluster, spec)
    yield made
    made.remove()


def is_back(stage: Stage, workload: Workload) -> bool:
    """Whether a pod of a workload runs, on whichever node."""
    return any(pod["status"]["phase"] == "Running" for pod in stage.fleet.pods_of(workload))


def wait_back(stage: Stage, *workloads: Workload) -> None:
    """Wait until these run again."""
    for workload in workloads:
        waiting.wait_for(
            lambda workload=workload: is_back(stage, workload),  # type: ignore[misc]
            what=f"{workload.name} to be back",
            timeout_seconds=TIMEOUT_SECONDS,
        )


def name_of(stage: Stage, workload: Workload) -> str:
    """The only pod of a workload, as people are told of it."""
    (pod,) = stage.fleet.pods_of(workload)
    return f"{workload.namespace}/{pod['metadata']['name']}"


def annotate(stage: Stage, workload: Workload, annotation: str) -> None:
    stage.cluster.kubectl("annotate", "pod", "--all", "-n", workload.namespace, annotation, "--overwrite")


def left_at(history: History, workload: Workload) -> float:
    """When the pod of a workload was told to go."""
    return next(pod.at for pod in history.pods(workload.name) if pod.is_leaving or pod.is_gone)


def entered_at(history: History, node: str, state: str) -> float:
    """When a node was first seen in a state."""
    return next(moment.at for moment in history.nodes() if moment.name == node and moment.state == state)


def test_every_kind_of_consumer_is_gone_before_the_driver_and_comes_back(play: Play, fleet: Fleet) -> None:
    first, second, third, *_ = fleet.nodes
    fleet.set_mig(third, {MIG: 7}, gpus=7)
    moved = {
        first: (
            consumers.add_pod(fleet, first, name="main", gpus=1),
            consumers.add_pod(fleet, first, name="init", gpus=1, asker="init"),
            consumers.add_pod(fleet, first, name="sidecar", gpus=1, asker="sidecar"),
            consumers.add_pod(fleet, first, name="runtime", runtime_class="nvidia"),
        ),
        second: (
            consumers.add_claim_pod(fleet, second, name="claim"),
            consumers.add_claim_pod(fleet, second, name="template", is_template=True),
            consumers.add_claim_pod(fleet, second, name="channel", driver=dra.COMPUTE_DOMAIN_DRIVER),
            consumers.add_pod(fleet, second, name="extended", gpus=1, resource=EXTENDED),
        ),
        third: (
            consumers.add_pod(fleet, third, name="mig", gpus=1, resource=MIG),
            consumers.add_pod(fleet, third, name="hanging", gpus=1, stays=True),
        ),
    }
    hanging = moved[third][1]
    kept = (
        consumers.add_claim_pod(fleet, third, name="monitor", has_admin_access=True),
        consumers.add_pod(fleet, third, name="processor"),
    )
    consumers.add_daemon_set(fleet, name="client", is_pausable=True)
    with play("kinds") as stage:
        stuck, clients = name_of(stage, hanging), running_on(stage.history, "client")
        fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*(name for name in fleet.nodes if name != third))
        stage.wait_held({third: "evicting"})
        assert f"waiting for pod {stuck} to leave" in stage.why(third)
        assert stage.node(third)["labels"][consumers.CLIENT_LABEL] == PAUSED
        assert driver_restarts(stage.history, third) == []
        consumers.release(fleet, hanging)
        stage.wait_upgraded(third)
        wait_back(stage, *(workload for some in moved.values() for workload in some))
        stage.wait(
            lambda: running_on(stage.history, "client").keys() == clients.keys() == set(fleet.nodes),
            "the client to be back everywhere",
        )
        assert running_on(stage.history, "client").items() & clients.items() == set()
        stage.remove(hanging)  # or its next pod would hang as well
    for node, workloads in moved.items():
        (here,) = driver_restarts(stage.history, node)
        assert {workload.name for workload in workloads} & here == set()
        assert all(has_left(stage.history, workload.name) for workload in workloads)
    (here,) = driver_restarts(stage.history, third)
    assert {workload.name for workload in kept} <= here
    assert [workload.name for workload in kept if has_left(stage.history, workload.name)] == []
    for node in fleet.nodes:
        (here,) = driver_restarts(stage.history, node)
        assert "client" not in here
        assert stage.node(node)["labels"][consumers.CLIENT_LABEL] == "true"
        assert stage.states_from(node, "upgrade-required") == [*PATH[1:]]
    assert {each.namespace for each in stage.evictions()} == {
        workload.namespace for some in moved.values() for workload in some
    }, "a pod of a DaemonSet was evicted, or one that holds no GPU"


def test_jobs_end_by_themselves_or_are_outwaited_and_save_their_work_scenarios_14_16_17(
    play: Play, fleet: Fleet
) -> None:
    ended, ending, endless, saving, *_ = fleet.nodes
    over = fleet.add_job_pod(ended, runs_seconds=0.1)
    waiting.wait_for(
        lambda: [pod["status"]["phase"] for pod in fleet.pods_of(over)] == ["Succeeded"],
        what="the first job to be over",
        timeout_seconds=TIMEOUT_SECONDS,
    )
    endure = consumers.add_pod(fleet, endless, name="endless", gpus=1)
    saver = consumers.add_pod(fleet, saving, name="saver", gpus=1)
    waited_for = f"app in (job-{ended},job-{ending},{endure.name})"
    # While the test looks, nobody is outwaited: how long that takes is the machine's affair.
    with play("jobs", waitForCompletion={"podSelector": waited_for, "timeoutSeconds": 600}) as stage:
        annotate(stage, saver, f"{keys.CHECKPOINT_ANNOTATION}=true")
        short = fleet.add_job_pod(ending, runs_seconds=4)
        fleet.set_driver_version(stage.target)
        # Nobody may patch pods anywhere by default: who offers to save work has to be let be asked, and is told so.
        stage.wait_told(saving, "may not be asked to save their work", f"--checkpoint-namespace {saver.namespace}")
        assert not has_left(stage.history, saver.name)
        controller_process.let_ask(stage.cluster, fleet.spec.prefix, saver.namespace)
        stage.wait_held({endless: "jobs-running", saving: "checkpoint-pending"})
        assert f"waiting for pod {name_of(stage, endure)} to finish (limit: 10 min)" in stage.why(endless)

        (pod,) = fleet.pods_of(saver)
        token = pod["metadata"]["annotations"][keys.CHECKPOINT_REQUESTED_ANNOTATION]
        assert not has_left(stage.history, saver.name)
        annotate(stage, saver, f"{keys.CHECKPOINT_SAVED_ANNOTATION}={token}")
        stage.wait_upgraded(*(name for name in fleet.nodes if name != endless))
        assert stage.state(endless) == "wait-for-jobs-required"
        assert not has_left(stage.history, endure.name)

        # A limit that is over by now, as long as the node has waited at least.
        waited = int(time.time() - entered_at(stage.history, endless, "wait-for-jobs-required")) + 5
        stage.patch(waitForCompletion={"timeoutSeconds": waited})
        stage.wait_upgraded()
    assert not has_left(stage.history, short.name), "a job that ends by itself was evicted"
    assert left_at(stage.history, endure) - entered_at(stage.history, endless, "wait-for-jobs-required") > waited - 1
    for workload, node in ((endure, endless), (saver, saving)):
        (here,) = driver_restarts(stage.history, node)
        assert workload.name not in here
    for node in (ended, ending, endless):
        assert stage.states_from(node, "upgrade-required") == [*PATH[1:]]


@dataclass(slots=True)
class Webhook:
    """Somebody who saves the work of jobs: busy the first time, done the second."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    saved_at: float = 0.0


@contextmanager
def webhook() -> Iterator[Webhook]:
    """Serve one."""
    hook = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            is_saved = len(hook.asked) > 1
            hook.saved_at = time.time() if is_saved else 0.0
            self.send_response(200 if is_saved else 202)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing: the test does."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="webhook", daemon=True)
        thread.start()
        hook.url = f"http://127.0.0.1:{server.server_address[1]}/save"
        yield hook
        server.shutdown()
        thread.join(10)


def add_daemon_set_on(fleet: Fleet, node: str, *, name: str) -> Workload:
    """Start a DaemonSet that holds a GPU on one node only, and cannot be asked to leave it."""
    made = consumers.add_daemon_set(fleet, name=name, is_pausable=False)
    there_only = {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": node}}}}}
    patch = ("--type=merge", "-p", json.dumps(there_only))
    fleet.plane.kubectl("patch", "daemonset", made.name, "-n", made.namespace, *patch)
    fleet.plane.kubectl("rollout", "status", f"daemonset/{made.name}", "-n", made.namespace)
    waiting.wait_for(
        lambda: len(fleet.pods_of(made)) == 1,
        what=f"{name} to be on {node} only",
        timeout_seconds=TIMEOUT_SECONDS,
    )
    return made


@pytest.mark.long
def test_who_must_not_be_evicted_holds_the_node_and_is_named_until_somebody_acts(play: Play, fleet: Fleet) -> None:
    under, static, bare, scratch, budgeted, saving = fleet.nodes
    daemon = add_daemon_set_on(fleet, under, name="agent")
    holders = {
        static: consumers.add_static_pod(fleet, static, name="static", gpus=1),
        bare: consumers.add_pod(fleet, bare, name="bare", gpus=1, is_bare=True),
        scratch: consumers.add_pod(fleet, scratch, name="scratch", gpus=1, has_empty_dir=True),
        budgeted: consumers.add_pod(fleet, budgeted, name="budgeted", gpus=1),
        saving: consumers.add_pod(fleet, saving, name="hooked", gpus=1),
    }
    guarded = holders[budgeted]
    fleet.plane.apply([manifests.disruption_budget(guarded.name, guarded.namespace, min_available=1)])
    with (
        webhook() as hook,
        play(
            "held",
            arguments=("--webhook-allow", hook.url.removesuffix("/save")),
            checkpoint={"webhook": hook.url, "timeoutSeconds": 60},
        ) as stage,
    ):
        controller_process.let_ask(stage.cluster, fleet.spec.prefix, holders[saving].namespace)
        annotate(stage, holders[saving], f"{keys.CHECKPOINT_ANNOTATION}=true")
        named = {node: name_of(stage, workload) for node, workload in holders.items()}
        fleet.set_driver_version(stage.target)
        why = stage.wait_held(
            {
                under: "daemon-set-holds-gpu",
                static: "static-pod-holds-gpu",
                bare: "pod-without-controller",
                scratch: "pod-with-empty-dir",
            }
        )
        assert why[under].startswith(f"pod {name_of(stage, daemon)} of a DaemonSet holds a GPU")
        for node in (static, bare, scratch):
            assert named[node] in why[node]
        stage.wait_told(budgeted, named[budgeted], f"PodDisruptionBudget {guarded.namespace}/{guarded.name}")
        stage.wait_upgraded(saving)
        held = (daemon, *(workload for node, workload in holders.items() if node != saving))
        assert [workload.name for workload in held if has_left(stage.history, workload.name)] == []

        # The ways out, as `seatrial why` names them.
        stage.remove(daemon)
        stage.remove(holders[static])
        stage.patch(podDeletion={"force": True})
        stage.wait_upgraded(under, static, bare)
        assert stage.state(scratch) == "pod-deletion-required"
        stage.patch(podDeletion={"deleteEmptyDir": True})
        stage.wait_upgraded(scratch)
        stage.remove(holders[scratch])  # or it would be back, and hold the next story as well
        # Long enough blocked to be asked more than twice.
        waiting.wait_for(
            lambda: len([each for each in stage.evictions() if each.namespace == guarded.namespace]) > 2,
            what="the third eviction",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=TIMEOUT_SECONDS / 100,
        )
        stage.cluster.kubectl("delete", "pdb", guarded.name, "-n", guarded.namespace)
        stage.wait_upgraded()
    for node, workload in holders.items():
        (here,) = driver_restarts(stage.history, node)
        assert workload.name not in here
    asked = [each for each in stage.evictions() if each.namespace == guarded.namespace]
    assert [each.code for each in asked][-1] == 201
    assert {each.code for each in asked[:-1]} == {429}
    assert min(shortest_pauses(asked).values()) >= 4.9  # the log's clock starts with the request, ours with its answer

    assert [question["node"] for question in hook.asked] == [saving, saving]
    assert {question["token"] for question in hook.asked} == {f"held.{saving}.{stage.record(saving)['attempt']}"}
    assert [f"{pod['namespace']}/{pod['name']}" for pod in hook.asked[0]["pods"]] == [named[saving]]
    assert left_at(stage.history, holders[saving]) >= hook.saved_at > 0


@pytest.mark.long
def test_who_is_not_evicted_is_drained_where_a_drain_is_allowed_scenarios_19_20_22_23(play: Play, fleet: Fleet) -> None:
    lonely, scratch, *others = fleet.nodes
    with play("drain", limits={"maxFailed": 2}, podDeletion={"timeoutSeconds": 10}) as stage:
        bare = consumers.add_pod(fleet, lonely, name="lonely", gpus=1, is_bare=True)
        keeper = consumers.add_pod(fleet, scratch, name="keeper", gpus=1, is_bare=True, has_empty_dir=True)
        plain = consumers.add_pod(fleet, lonely, name="plain")
        spared = consumers.add_pod(fleet, lonely, name="spared", labels={DRAIN_SKIP: "true"})
        chosen = consumers.add_pod(fleet, lonely, name="unselected", labels={"tier": "storage"})
        stage.do("node", "skip", scratch)
        fleet.set_driver_version(stage.target)
        # Neither force nor drain: the node is given up, and nobody is touched.
        stage.wait_state(lonely, "upgrade-failed")
        # Force, but data that nobody may delete, and no drain: the same.
        stage.patch(podDeletion={"force": True})
        stage.do("node", "unskip", scratch)
        stage.wait_state(scratch, "upgrade-failed")
        assert not has_left(stage.history, bare.name)
        assert not has_left(stage.history, keeper.name)
        assert driver_restarts(stage.history, lonely) + driver_restarts(stage.history, scratch) == []
        stage.wait_upgraded(*others)

        # With a drain that may do both, each goes on to the drain at once.
        stage.patch(drain={"enable": True, "force": True, "deleteEmptyDir": True, "podSelector": "tier!=storage"})
        stage.do("node", "retry", scratch)
        stage.wait_upgraded(scratch)
        stage.patch(podDeletion={"force": False})
        stage.do("node", "retry", lonely)
        stage.wait_upgraded(lonely)
    retried = [*PATH[1:5], "drain-required", *PATH[5:]]
    for node, workload in ((lonely, bare), (scratch, keeper)):
        assert stage.states_from(node, "upgrade-required") == [*PATH[1:5], "upgrade-failed", *retried]
        (here,) = driver_restarts(stage.history, node)
        assert workload.name not in here
    assert has_left(stage.history, plain.name)
    assert not has_left(stage.history, spared.name)
    assert not has_left(stage.history, chosen.name)
