"""The real GPU Operator keeps its DaemonSets and leaves the nodes to us: everything that happens to a fleet, at once.

One story per kind of fleet, drivers by the ClusterPolicy or by NVIDIADrivers, each on a control plane of its own. It is
told once; each test looks at one promise in what the watches and the API server's audit log recorded of it. The rollout
says nothing but its target: how it is done is the operator's upgradePolicy, the ClusterPolicy's for all nodes, or where
the operator has them each NVIDIADriver's for its own.

    node 0  a budget that never allows an eviction, until it is loosened
    node 1  cordoned by an admin before its turn; its image comes while the rollout is paused
    node 2  a pod that holds a GPU by a claim
    node 3  a driver that does not load; retried
    node 4  skipped, until it is not any more
    others  nothing
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History, NodeMoment, PodMoment
from seatrial_lab.testbed.neighbours import operator, operator_drivers
from seatrial_lab.testbed.nodes import consumers, dra, fleet_spec, manifests
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.e2e.promises import PATH, is_under_way
from tests.e2e.sights import is_unavailable, look, most

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.long]

OLD, NEW, NEWER = "570.124.06", "570.172.08", "580.105.08"
PREFIX, ROLLOUT, CANARIES = "operator", "fleet", "canaries"
FLEET, CANARY = "fleet", "canary"
NODES, CANARY_NODES = 8, 3
BY_POOL = (
    operator_drivers.NvidiaDriver(name=FLEET, node_count=NODES - CANARY_NODES, version=OLD),
    operator_drivers.NvidiaDriver(name=CANARY, node_count=CANARY_NODES, version=OLD),
)
KINDS: dict[str, tuple[operator_drivers.NvidiaDriver, ...]] = {"cluster-policy": (), "nvidia-driver": BY_POOL}

CLOSED: dict[str, Any] = {"maxParallelUpgrades": 1, "maxUnavailable": 0}
NARROW: dict[str, Any] = {"maxParallelUpgrades": 1, "maxUnavailable": 2}
WIDE: dict[str, Any] = {
    "maxParallelUpgrades": 3,
    "maxUnavailable": 4,
    "podDeletion": {"timeoutSeconds": 240},
    "drain": {"enable": True, "timeoutSeconds": 77},
}
LIMITS = ("maxParallelUpgrades", "maxUnavailable")
RENEWALS = 2
"""How long a pause lasts, in renewals of the lease: longer than the five seconds between two tries at an eviction."""
CRASHES_BEFORE = 5
"""What the broken driver's first crash counts: given up at eleven, so that after a retry some seconds are left."""
WRITES_MAX = 12
TOO_MANY_REQUESTS = 429
"""What the API server answers to an eviction that a budget does not allow."""
TIMEOUT_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the story plays, and everything that was seen of it."""

    plane: ControlPlane
    beside: operator.GpuOperator
    history: History
    controller: ControllerProcess
    user: str
    rollout: str = ROLLOUT

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.beside.nodes

    def state(self, node: str) -> str:
        return self.history.latest()[node].state

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something that the watches show."""
        try:
            self.history.wait_for(is_so, what=what, timeout_seconds=TIMEOUT_SECONDS, check=self.controller.check)
        except TimeoutError as err:
            raise TimeoutError(f"{err} {self.run('node', 'list', '-o', 'wide').stdout}") from err

    def wait_upgraded(self, *nodes: str) -> None:
        self.wait(
            lambda: all(self.history.states(node)[-2:] == ["uncordon-required", "upgrade-done"] for node in nodes),
            f"{', '.join(nodes)} to be upgraded",
        )

    def wait_status(self, is_so: Callable[[dict[str, Any]], bool], what: str) -> None:
        """Wait for something that the rollout says of itself."""
        waiting.wait_for(
            lambda: is_so(self.status()),
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: str(self.status()),
        )

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", self.rollout).get("status", {})
        return found

    def patch_rollout(self, **spec: Any) -> None:
        self.plane.kubectl("patch", "gpurollout", self.rollout, "--type=merge", "-p", json.dumps({"spec": spec}))

    def publish(self, version: str, *, drivers: tuple[str | None, ...]) -> None:
        """Raise the version where it is asked for: in the ClusterPolicy (None) or in NVIDIADrivers."""
        for driver in drivers:
            self.beside.set_driver_version(version, driver=driver)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Our command as a person runs it beside this rollout."""
        named = (self.rollout,) if arguments[0] == "status" else ("--rollout", self.rollout)
        return forked.run(*arguments, *named, "--kubeconfig", str(self.plane.kubeconfig))

    def requests(self) -> list[AuditedRequest]:
        """Everything that our controller asked of the API server."""
        return [each for each in self.plane.requests("seatrial") if each.user == self.user]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """The story as it went: when what was done, and what the cluster looked like then."""

    stage: Stage
    guarded: fleet_spec.Workload
    holder: fleet_spec.Workload
    closed: dict[str, NodeMoment]
    """The fleet when everybody wanted a turn and the limits allowed nobody's."""
    narrow: dict[str, NodeMoment]
    """The fleet when they had allowed one node to begin, and no more."""
    widened_at: float
    paused_at: float
    paused: dict[str, NodeMoment]
    resumed: dict[str, NodeMoment]
    resumed_at: float
    reloaded: frozenset[str]
    """Where the new driver was Ready when the pause ended."""
    held: dict[str, NodeMoment]
    """The fleet when all were upgraded but those that something kept."""
    driver_pods_held: dict[str, str]
    why_blocked: str
    retried: subprocess.CompletedProcess[str]
    loosened_at: float
    ended: dict[str, NodeMoment]
    ended_at: float


@pytest.fixture(scope="module", params=list(KINDS))
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A control plane with the operator, eight nodes and our controller; nobody else uses it."""
    folder = tmp_path_factory.mktemp(f"operator-{request.param}")
    drivers = KINDS[request.param]
    spec = operator.OperatorSpec(
        auto_upgrade=False, prefix=PREFIX, node_count=NODES, driver_version=OLD, ready_seconds=1.0, drivers=drivers
    )
    with ControlPlane.start(folder) as plane:
        controller_process.install(plane)
        with operator.GpuOperator.start(plane, spec) as beside:
            beside.wait_ready()
            beside.fleet.start_dra()
            limit(beside, CLOSED)
            make_rollout(plane, ROLLOUT, target=NEW)
            account = controller_process.identity(plane, ROLLOUT)
            controller = ControllerProcess(account, ROLLOUT, folder)
            with History(plane, PREFIX) as history, controller:
                yield Stage(
                    plane=plane,
                    beside=beside,
                    history=history,
                    controller=controller,
                    user=f"system:serviceaccount:seatrial:{ROLLOUT}",
                )


@pytest.fixture(scope="module")
def tale(stage: Stage) -> Tale:
    """The whole story."""
    blocked, cordoned, claimed, broken, skipped, *_ = stage.nodes
    beside, history = stage.beside, stage.history
    owners: tuple[str | None, ...] = tuple(each.name for each in beside.spec.drivers) or (None,)
    stage.wait(lambda: all(stage.state(node) == "upgrade-done" for node in stage.nodes), "every node to be seen")

    guarded = consumers.add_pod(beside.fleet, blocked, name="guarded", gpus=1)
    allow(stage.plane, guarded, min_available=1)
    holder = consumers.add_claim_pod(beside.fleet, claimed, name="holder")
    beside.fleet.break_driver(broken, "module-load", restart_count=CRASHES_BEFORE)
    beside.fleet.break_driver(cordoned, "image-pull")
    assert stage.run("node", "skip", skipped).returncode == 0

    stage.publish(NEW, drivers=owners)
    # So that all ask for their turn at the same time, and get it by name.
    stage.wait(lambda: {stage.state(node) for node in stage.nodes} == {"upgrade-required"}, "everybody to want a turn")
    closed = history.latest()
    limit(beside, NARROW, only=blocked)
    stage.wait(lambda: stage.state(blocked) == "pod-deletion-required", "the first node to be under way")
    beside.fleet.cordon(cordoned)  # not before: it costs nobody's availability, so even closed limits let it begin
    wait_asked(stage, guarded, count=2)
    narrow = history.latest()

    widened_at = time.time()
    limit(beside, WIDE)
    # Not before its old driver is gone: between its record and the delete it may wait for word of its pods.
    stage.wait(lambda: has_lost_driver(history, cordoned), "a node to be in the middle of its upgrade")
    stage.patch_rollout(paused=True)
    stage.wait_status(lambda said: "paused" in said["holds"], "the rollout to say that it is paused")
    paused_at, written = time.time(), written_states(stage)
    stage.wait(lambda: states(history.latest()) == written, "what was written before the pause to be seen")
    paused = history.latest()
    beside.fleet.mend(cordoned)
    stage.wait(lambda: cordoned in reloaded_nodes(history), "a driver to be Ready while we are paused")
    wait_renewed(stage, paused_at)
    resumed, resumed_at = history.latest(), time.time()
    reloaded = reloaded_nodes(history)
    stage.patch_rollout(paused=False)

    others = [node for node in stage.nodes if node not in (blocked, broken, skipped)]
    stage.wait_upgraded(*others)
    stage.wait(lambda: stage.state(broken) == "upgrade-failed", "the broken node to be given up")
    held, driver_pods_held = history.latest(), driver_pods(stage)
    why_blocked = stage.run("why", blocked).stdout

    retried = stage.run("node", "retry", broken)
    failed_pod = driver_pods_held[broken]
    stage.wait(lambda: is_gone(history, failed_pod), "the driver pod that failed to be gone")
    beside.fleet.mend(broken)
    stage.wait_upgraded(broken)

    loosened_at = time.time()
    allow(stage.plane, guarded, min_available=0)
    stage.wait_upgraded(blocked)

    assert stage.run("node", "unskip", skipped).returncode == 0
    stage.wait_upgraded(skipped)
    stage.wait_status(lambda said: said["state"] == "done", "the rollout to be done")
    return Tale(
        stage=stage,
        guarded=guarded,
        holder=holder,
        closed=closed,
        narrow=narrow,
        widened_at=widened_at,
        paused_at=paused_at,
        paused=paused,
        resumed=resumed,
        resumed_at=resumed_at,
        reloaded=reloaded,
        held=held,
        driver_pods_held=driver_pods_held,
        why_blocked=why_blocked,
        retried=retried,
        loosened_at=loosened_at,
        ended=history.latest(),
        ended_at=time.time(),
    )


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_operators_limits_hold_at_every_moment_and_a_change_of_them_counts_at_once(tale: Tale) -> None:
    first, *others = tale.stage.nodes
    assert not any(map(is_under_way, tale.closed.values()))
    assert {node for node, moment in tale.narrow.items() if is_under_way(moment)} == {first}
    assert {tale.narrow[node].state for node in others} == {"upgrade-required"}
    history, nodes = tale.stage.history, tale.stage.nodes
    assert most(history, is_under_way, nodes, until=tale.widened_at) == NARROW["maxParallelUpgrades"]
    assert most(history, is_unavailable, nodes, until=tale.widened_at) <= NARROW["maxUnavailable"]
    under_way, unavailable = (
        {who: most(history, each, pool, since=tale.widened_at) for who, pool in tale.stage.beside.governed.items()}
        for each in (is_under_way, is_unavailable)
    )
    assert under_way == dict.fromkeys(under_way, WIDE["maxParallelUpgrades"])
    if len(unavailable) == 1:
        assert unavailable == dict.fromkeys(unavailable, WIDE["maxUnavailable"])
    assert max(unavailable.values()) <= WIDE["maxUnavailable"]  # a pool alone is too small to be held up by it


def test_how_pods_are_evicted_and_nodes_drained_is_the_operators_word_too(tale: Tale) -> None:
    intent = look(tale.stage.plane, ROLLOUT).intent
    governors = set(tale.stage.beside.governed)
    assert set(intent.pools) == governors - {None}
    for policy in intent.pools.values() or [intent.policy]:
        limits = (policy.limits.parallel_max, policy.limits.unavailable_max.amount)
        assert limits == tuple(WIDE[each] for each in LIMITS)
        assert policy.eviction.timeout_seconds == WIDE["podDeletion"]["timeoutSeconds"]
        assert (policy.drain.is_enabled, policy.drain.rules.timeout_seconds) == (True, WIDE["drain"]["timeoutSeconds"])


# ── a pause ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_while_paused_we_write_to_no_node_and_no_pod(tale: Tale) -> None:
    requests = [each for each in tale.stage.requests() if tale.paused_at <= instant(each) < tale.resumed_at]
    assert [each for each in requests if each.resource in ("nodes", "pods") and is_write(each)] == []
    # It was there all the while, and had reason to go on: a driver that it had restarted was Ready.
    assert Counter(each.resource for each in requests if is_write(each))["leases"] >= RENEWALS
    assert any(is_under_way(tale.resumed[node]) for node in tale.reloaded)
    assert states(tale.paused) == states(tale.resumed)


def test_a_resumed_rollout_goes_on_where_it_was(tale: Tale) -> None:
    broken = tale.stage.nodes[3]
    paths = {node: tuple(tale.stage.history.states(node)) for node in tale.stage.nodes}
    assert {node for node, path in paths.items() if path != PATH} == {broken}


# ── single nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_eviction_that_a_budget_refuses_is_asked_for_once_in_five_seconds(tale: Tale) -> None:
    blocked = tale.stage.nodes[0]
    assert tale.held[blocked].state == "pod-deletion-required"
    assert f"PodDisruptionBudget {tale.guarded.namespace}/{tale.guarded.name}" in tale.why_blocked
    asked = [each for each in tale.stage.requests() if each.namespace == tale.guarded.namespace]
    refused = [each for each in asked if instant(each) < tale.loosened_at]
    assert {(each.verb, each.resource, each.subresource, each.code) for each in refused} == {
        ("create", "pods", "eviction", TOO_MANY_REQUESTS)
    }
    by_pod: dict[str, list[float]] = defaultdict(list)
    for each in asked:
        by_pod[each.name].append(instant(each))
    gaps = [after - before for times in by_pod.values() for before, after in pairwise(times)]
    assert len(gaps) > 2
    assert min(gaps) >= 4.9  # the audit log's clock starts when a request arrives, ours when its answer does


def test_a_pod_behind_a_budget_leaves_when_the_budget_is_loosened_and_not_before(tale: Tale) -> None:
    first = tale.stage.history.pods(tale.guarded.name)[0]
    leaving = [pod.at for pod in tale.stage.history.pods(tale.guarded.name) if pod.uid == first.uid and pod.is_leaving]
    assert min(leaving) > tale.loosened_at
    assert_gone_before_its_driver(tale, tale.guarded)


def test_who_holds_a_gpu_by_a_claim_is_gone_before_the_driver_goes(tale: Tale) -> None:
    assert_gone_before_its_driver(tale, tale.holder)
    assert [
        (each.verb, each.subresource, each.code)
        for each in tale.stage.requests()
        if each.namespace == tale.holder.namespace
    ] == [("create", "eviction", 201)]


def test_a_node_that_an_admin_cordoned_is_upgraded_and_stays_cordoned(tale: Tale) -> None:
    cordoned = tale.stage.nodes[1]
    moments = [moment for moment in tale.stage.history.nodes() if moment.name == cordoned]
    since = next(position for position, moment in enumerate(moments) if moment.is_cordoned)
    assert all(moment.is_cordoned for moment in moments[since:])
    assert [node for node, moment in tale.ended.items() if moment.is_cordoned] == [cordoned]


def test_a_node_whose_driver_does_not_load_keeps_its_cordon_until_a_retry_has_mended_it(tale: Tale) -> None:
    broken = tale.stage.nodes[3]
    assert tale.held[broken].state == "upgrade-failed"
    assert (tale.retried.returncode, tale.retried.stdout) == (0, f"{broken} is tried again.\n")
    assert tuple(tale.stage.history.states(broken)) == (*PATH[:6], "upgrade-failed", *PATH[1:])
    moments = [moment for moment in tale.stage.history.nodes() if moment.name == broken]
    since = next(position for position, moment in enumerate(moments) if moment.is_cordoned)
    assert all(moment.is_cordoned for moment in moments[since:] if moment.state != "upgrade-done")


def test_a_skipped_node_is_left_alone_until_it_is_not_skipped_any_more(tale: Tale) -> None:
    skipped = tale.stage.nodes[4]
    assert tale.held[skipped].state == "upgrade-required"
    moments = [
        moment for moment in tale.stage.history.nodes() if moment.name == skipped and moment.at <= tale.loosened_at
    ]
    assert not any(moment.is_cordoned for moment in moments)
    assert [
        pod
        for pod in tale.stage.history.pods()
        if pod.node == skipped and pod.is_leaving and pod.at <= tale.loosened_at
    ] == []
    assert tale.ended[skipped].state == "upgrade-done"


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_in_the_end_every_node_runs_the_new_driver_and_the_operator_is_content(tale: Tale) -> None:
    beside = tale.stage.beside
    assert states(tale.ended) == dict.fromkeys(tale.stage.nodes, "upgrade-done")
    beside.wait_ready()
    assert beside.driver_versions() == dict.fromkeys(tale.stage.nodes, NEW)
    assert beside.fleet.found_versions() == dict.fromkeys(tale.stage.nodes, NEW)
    assert beside.fleet.published_versions() == dict.fromkeys(tale.stage.nodes, dra.semantic_version(NEW))
    assert beside.fleet.allocatable() == dict.fromkeys(tale.stage.nodes, beside.spec.gpus_per_node)
    assert beside.upgrade_states() == {}


def test_every_request_of_ours_is_allowed_and_reads_are_lists_and_watches(tale: Tale) -> None:
    requests = [each for each in tale.stage.requests() if instant(each) <= tale.ended_at]
    assert [each for each in requests if each.code in (401, 403)] == []
    assert {each.verb for each in requests} == {"list", "watch", "create", "patch", "update", "delete"}


def test_an_upgrade_costs_twelve_writes_to_nodes_and_pods_at_most(tale: Tale) -> None:
    requests = [each for each in tale.stage.requests() if instant(each) <= tale.ended_at and is_write(each)]
    refused = [each for each in requests if each.subresource == "eviction" and each.code == TOO_MANY_REQUESTS]
    writes = [each for each in requests if each.resource in ("nodes", "pods")]
    upgrades = sum(tale.stage.history.states(node).count("cordon-required") for node in tale.stage.nodes)
    assert upgrades == NODES + 1  # one was tried twice
    assert (len(writes) - len(refused)) / upgrades <= WRITES_MAX


# ── pools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_rollout_over_some_nodes_moves_those_alone(tale: Tale, tmp_path: Path) -> None:
    """An NVIDIADriver offers its pool alone the new version; a ClusterPolicy everybody, and only the members move."""
    stage, beside = tale.stage, tale.stage.beside
    owner = CANARY if beside.spec.drivers else None
    assert stage.controller.stop() == 0
    before, canaries = driver_pods(stage), beside.nodes_of(CANARY) if owner else stage.nodes[-2:]
    stage.plane.kubectl("label", "node", *canaries, f"{operator_drivers.POOL_LABEL}={CANARY}", "--overwrite")
    selector = {operator_drivers.POOL_LABEL: CANARY}
    make_rollout(stage.plane, CANARIES, target=NEWER, nodeSelector=selector)
    account = controller_process.identity(stage.plane, CANARIES)
    controller = ControllerProcess(account, CANARIES, tmp_path)
    with History(stage.plane, PREFIX) as history, controller:
        alone = Stage(
            plane=stage.plane,
            beside=beside,
            history=history,
            controller=controller,
            user=f"system:serviceaccount:seatrial:{CANARIES}",
            rollout=CANARIES,
        )
        alone.publish(NEWER, drivers=(owner,))
        alone.wait_upgraded(*canaries)
        alone.wait_status(lambda said: said["state"] == "done", "the rollout to be done")
        assert controller.stop() == 0
    assert beside.driver_versions() == {**dict.fromkeys(stage.nodes, NEW), **dict.fromkeys(canaries, NEWER)}
    after = driver_pods(stage)
    assert {node for node in stage.nodes if before[node] != after[node]} == set(canaries)
    touched = {each.name for each in alone.requests() if each.resource == "nodes" and is_write(each)}
    assert touched == set(canaries)
    assert most(history, is_under_way, stage.nodes) <= WIDE["maxParallelUpgrades"]
    assert beside.upgrade_states() == {}


# ── what the story and the tests ask ─────────────────────────────────────────────────────────────────────────────────


def make_rollout(plane: ControlPlane, name: str, *, target: str, **spec: Any) -> None:
    """Make a rollout that leaves every rule to the operator's own resources."""
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    plane.apply([{**kind, "metadata": {"name": name}, "spec": {"target": {"driver": target}, **spec}}])


def limit(beside: operator.GpuOperator, policy: dict[str, Any], *, only: str = "") -> None:
    """Change the upgrade policies that count, or only the one that counts for a node."""
    for driver, nodes in beside.governed.items():
        if not only or only in nodes:
            beside.set_upgrade_policy(driver=driver, **policy)


def allow(plane: ControlPlane, workload: fleet_spec.Workload, *, min_available: int) -> None:
    """Give a workload of one pod a budget, and return when it is in force."""
    plane.apply([manifests.disruption_budget(workload.name, workload.namespace, min_available=min_available)])

    def allowed() -> object:
        status = plane.get("pdb", workload.name, "-n", workload.namespace).get("status", {})
        return (status.get("currentHealthy"), status.get("disruptionsAllowed"))

    waiting.wait_for(
        lambda: allowed() == (1, 1 - min_available),
        what=f"the budget of {workload.name} to count",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: str(allowed()),
    )


def wait_asked(stage: Stage, workload: fleet_spec.Workload, *, count: int) -> None:
    """Return when our controller has asked a workload to leave so many times."""
    waiting.wait_for(
        lambda: sum(each.namespace == workload.namespace for each in stage.requests()) >= count,
        what=f"the controller to ask {workload.name} to leave",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.5,
        describe=lambda: str(stage.status()),
    )


def wait_renewed(stage: Stage, since: float) -> None:
    """Return when our controller has renewed its lease a few times, and so has had time to do what it must not do."""
    waiting.wait_for(
        lambda: (
            sum(each.resource == "leases" and is_write(each) and instant(each) > since for each in stage.requests())
            >= RENEWALS
        ),
        what="the controller to renew its lease",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.5,
    )


def driver_pods(stage: Stage) -> dict[str, str]:
    """The uid of each node's driver pod."""
    return {node: pod["metadata"]["uid"] for node, pod in stage.beside.fleet.driver_pods().items()}


def is_driver(pod: PodMoment) -> bool:
    return pod.namespace == operator.NAMESPACE and "nvidia/driver:" in pod.image


def has_lost_driver(history: History, node: str) -> bool:
    """Whether a driver pod of a node was seen to go."""
    return any(pod.is_leaving or pod.is_gone for pod in history.pods() if pod.node == node and is_driver(pod))


def reloaded_nodes(history: History) -> frozenset[str]:
    """The nodes on which the new driver is Ready now."""
    latest = {pod.uid: pod for pod in history.pods() if is_driver(pod)}
    return frozenset(
        pod.node for pod in latest.values() if NEW in pod.image and pod.is_ready and not (pod.is_leaving or pod.is_gone)
    )


def is_gone(history: History, uid: str) -> bool:
    return any(pod.uid == uid and pod.is_gone for pod in history.pods())


def states(nodes: dict[str, NodeMoment]) -> dict[str, str]:
    return {node: moment.state for node, moment in nodes.items()}


def written_states(stage: Stage) -> dict[str, str]:
    """The states as the API server has them now; a watch tells of them a moment later."""
    nodes = {each["metadata"]["name"]: each["metadata"]["labels"] for each in stage.plane.get("nodes")["items"]}
    return {node: nodes[node].get(keys.STATE_LABEL, "") for node in stage.nodes}


def instant(request: AuditedRequest) -> float:
    return datetime.fromisoformat(request.at).timestamp()


def is_write(request: AuditedRequest) -> bool:
    return request.verb not in ("list", "watch")


def assert_gone_before_its_driver(tale: Tale, workload: fleet_spec.Workload) -> None:
    """The first pod of a workload was gone when the driver pod of its node was told to go."""
    pods = tale.stage.history.pods()
    first = next(pod for pod in pods if pod.namespace == workload.namespace)
    gone = [position for position, pod in enumerate(pods) if pod.uid == first.uid and pod.is_gone]
    driver_told = [
        position for position, pod in enumerate(pods) if is_driver(pod) and pod.node == first.node and pod.is_leaving
    ]
    assert gone, f"{first.name} never left"
    assert min(gone) < min(driver_told)
