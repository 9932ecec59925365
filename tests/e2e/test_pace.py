"""`seatrial pace` beside the real GPU Operator, under exactly the rights of its manifest.

Feature discovery is off: its labels would wake an operator of the age that we build by themselves. Without us the
operator looks every two minutes, so an upgrade in three rounds that ends within one was woken by us. It would take the
nodes of every other test for its own, so it gets a control plane to itself. The tests go on where the one before left
it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from seatrial import manifests
from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.movers.pace.ways import WAKE_LABEL, WAKE_VALUE
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.plane.write_proxy import Write, WriteProxy
from tests.e2e.promises import PATH

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.long]

OLD, NEW = "570.124.06", "570.172.08"
PREFIX, ACCOUNT = "operator", "pace"
NODE_COUNT, PARALLEL = 6, 2
TIMEOUT_SECONDS = 90.0
"""Less than the operator's own two minutes."""
LOOK_SECONDS = 0.05


@pytest.fixture(scope="module")
def lone_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that no other test uses."""
    with ControlPlane.start(tmp_path_factory.mktemp("pace")) as started:
        controller_process.install(started)
        yield started


@pytest.fixture(scope="module")
def beside(lone_plane: ControlPlane) -> Iterator[operator.GpuOperator]:
    """The operator, at rest, moving its nodes itself when there is something to move them to."""
    spec = operator.OperatorSpec(
        auto_upgrade=True,
        prefix=PREFIX,
        node_count=NODE_COUNT,
        parallel_upgrades_max=PARALLEL,
        ready_seconds=2,
    )
    with operator.GpuOperator.start(lone_plane, spec) as started:
        off = json.dumps({"spec": {"gfd": {"enabled": False}}})
        lone_plane.kubectl("patch", "clusterpolicy", operator.CLUSTER_POLICY, "--type=merge", "-p", off)
        started.wait_ready()
        wait_states(started, dict.fromkeys(started.nodes, "upgrade-done"), lambda: wake(lone_plane, started.nodes[0]))
        yield started


@pytest.fixture(scope="module")
def account(lone_plane: ControlPlane) -> Path:
    """A kubeconfig of a ServiceAccount with the rights that are shipped."""
    rules = {item["kind"]: item["rules"] for item in yaml.safe_load_all(manifests.pace()) if "rules" in item}
    return lone_plane.service_account(
        "seatrial",
        ACCOUNT,
        cluster_rules=rules["ClusterRole"],
        namespaced_rules={manifests.OPERATOR_NAMESPACE: rules["Role"]},
    )


class Pace:
    """`seatrial pace` as a person runs it."""

    def __init__(self, account: Path, folder: Path, *options: str) -> None:
        self._log = folder / f"pace-{time.monotonic_ns()}.log"
        command = (sys.executable, "-m", "seatrial", "pace", "-o", "json", "--kubeconfig", str(account), *options)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.communicate(timeout=10)

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def wait_killed(self) -> None:
        """Wait until it has died of a signal that nobody can hear."""
        self._process.communicate(timeout=TIMEOUT_SECONDS)
        assert self._process.returncode == -signal.SIGKILL, self.log

    def stop(self) -> dict[str, Any]:
        """Ask it to end, and give what it said."""
        self.send(signal.SIGTERM)
        return self.wait(ExitCode.OK)

    def wait(self, code: int) -> dict[str, Any]:
        """Wait for its end with this exit code, and give what it said."""
        said, _ = self._process.communicate(timeout=TIMEOUT_SECONDS)
        assert self._process.returncode == code, self.log
        found: dict[str, Any] = json.loads(said)
        return found

    def check(self) -> None:
        assert self._process.poll() is None, self.log

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")


def test_the_operators_upgrade_is_woken_without_a_state_of_ours_and_people_keep_their_labels(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    wished, skipped, *others = beside.nodes
    lone_plane.kubectl("label", "node", wished, f"{WAKE_LABEL}=false")
    lone_plane.kubectl("label", "node", skipped, f"{WAKE_LABEL}=true")
    before = time.time()
    with (
        History(lone_plane, PREFIX, state_label=keys.NVIDIA_STATE_LABEL) as history,
        Pace(account, tmp_path, "--until-done") as idle,
    ):
        assert idle.wait(ExitCode.OK)["wakes"] == 0  # nothing to do yet
        with Pace(account, tmp_path) as pace:
            beside.set_driver_version(NEW)
            wanted = dict.fromkeys([wished, *others], "upgrade-done") | {skipped: "upgrade-required"}
            history.wait_for(
                lambda: (
                    {name: node.state for name, node in history.latest().items()} == wanted
                    and all(tuple(history.states(name)) == PATH for name in (wished, *others))
                ),
                what="every node but the skipped one to be upgraded",
                timeout_seconds=TIMEOUT_SECONDS,
                check=pace.check,
            )
            said = pace.stop()

    assert said["wakes"] > 0
    assert {node["name"] for node in said["nodes"]} <= {wished, *others}
    assert {wait["node"]: wait["code"] for wait in said["waits"]} == {skipped: "skipped"}
    assert said["sparedSecondsEstimate"] > TIMEOUT_SECONDS
    assert people_labels(lone_plane) == {wished: "false", skipped: "true"}
    assert marks_of_ours(lone_plane) == []
    writes = [each for each in requests(lone_plane, before) if each.verb not in ("list", "watch")]
    assert {(each.verb, each.resource, each.subresource) for each in writes} == {("patch", "nodes", "")}
    assert not {wished, skipped} & {each.name for each in writes}
    lone_plane.kubectl("label", "nodes", wished, skipped, f"{WAKE_LABEL}-")
    # The label of the skipped one was what it waited for; the operator sees that, or is made to look.
    wait_states(beside, dict.fromkeys(beside.nodes, "upgrade-done"), lambda: wake(lone_plane, wished))


def test_whatever_ends_it_no_label_is_left_and_the_upgrade_ends(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    beside.set_driver_version(OLD)
    wait_begun(lone_plane, beside)
    with signalled(lone_plane, account, tmp_path, signal.SIGKILL) as pace:
        pace.wait_killed()
    assert traces(lone_plane) != []

    # The next one takes that trace away, and is interrupted while a label of its own stands.
    with signalled(lone_plane, account, tmp_path, signal.SIGINT) as pace:
        assert pace.wait(ExitCode.OK)["wakes"] > 0
    assert marks_of_ours(lone_plane) == []

    with Pace(account, tmp_path, "--until-done") as pace:
        said = pace.wait(ExitCode.OK)
    assert said["waits"] == []
    assert beside.driver_versions() == dict.fromkeys(beside.nodes, OLD)
    assert beside.upgrade_states() == dict.fromkeys(beside.nodes, "upgrade-done")
    assert marks_of_ours(lone_plane) == []


def test_a_release_that_hears_its_state_alone_is_woken_by_a_done_node_when_asked(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    v26_3 = ("--operator-release", "v26.3.0")
    beside.set_driver_version(NEW)
    wait_begun(lone_plane, beside)
    before = time.time()
    with Pace(account, tmp_path, *v26_3, "--until-done") as pace:
        assert "--reset-done-states" in pace.wait(ExitCode.HELD)["hold"]
    assert [each for each in requests(lone_plane, before) if each.verb == "patch"] == []

    with Pace(account, tmp_path, *v26_3, "--reset-done-states") as pace:
        # Nobody is done yet, so the first round is woken by hand.
        wait_for(
            lambda: "upgrade-done" in beside.upgrade_states().values(),
            "a first node to be done",
            pace,
            meanwhile=lambda: wake(lone_plane, beside.nodes[0]),
        )
        wait_states(beside, dict.fromkeys(beside.nodes, "upgrade-done"))
        assert pace.stop()["wakes"] > 0
    assert beside.driver_versions() == dict.fromkeys(beside.nodes, NEW)
    assert marks_of_ours(lone_plane) == []


def test_a_dry_run_tells_and_writes_nothing(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    beside.set_driver_version(OLD)
    wait_begun(lone_plane, beside)
    before = time.time()
    with Pace(account, tmp_path, "--dry-run") as pace:
        said = pace.wait(ExitCode.OK)
    assert {wait["node"] for wait in said["waits"]} == set(beside.nodes)
    with Pace(account, tmp_path, "--until-done", "--duration", "0") as pace:
        pace.wait(ExitCode.TIMEOUT)
    assert [each for each in requests(lone_plane, before) if each.verb == "patch"] == []


def test_where_the_controller_is_off_it_says_so_and_writes_nothing(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    beside.set_auto_upgrade(is_on=False)
    before = time.time()
    with Pace(account, tmp_path, "--until-done") as pace:
        said = pace.wait(ExitCode.HELD)
    assert said["hold"].startswith("NVIDIA's upgrade controller is off (ClusterPolicy/cluster-policy")
    assert [each for each in requests(lone_plane, before) if each.verb == "patch"] == []


# ── looking and acting ───────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def signalled(plane: ControlPlane, account: Path, folder: Path, number: int) -> Iterator[Pace]:
    """It gets a signal when its label stands, before it hears so."""
    started: list[Pace] = []

    def after(_write: Write) -> None:
        if traces(plane):
            way.after = lambda _: None
            started[0].send(number)

    with WriteProxy(account, authority=plane.authority, after=after) as way, Pace(way.kubeconfig, folder) as pace:
        started.append(pace)
        yield pace


def traces(plane: ControlPlane) -> list[str]:
    return plane.kubectl("get", "nodes", "-l", f"{WAKE_LABEL}={WAKE_VALUE}", "-o", "name").split()


def marks_of_ours(plane: ControlPlane) -> list[str]:
    """Labels, annotations and fields on nodes that are ours; the API server remembers who wrote what."""
    found = []
    for node in plane.get("nodes", "--show-managed-fields")["items"]:
        meta = node["metadata"]
        keys_there = (*meta.get("labels", {}).items(), *meta.get("annotations", {}).items())
        found += [f"{meta['name']}: {key}={value}" for key, value in keys_there if "seatrial-pace" in key + value]
        owned = [entry["fieldsV1"] for entry in meta["managedFields"] if entry["manager"] == "seatrial"]
        found += [f"{meta['name']}: {fields}" for fields in owned if "f:nvidia.com" in json.dumps(fields)]
    return found


def people_labels(plane: ControlPlane) -> dict[str, str]:
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in plane.get("nodes")["items"]}
    return {name: found[WAKE_LABEL] for name, found in labels.items() if WAKE_LABEL in found}


def requests(plane: ControlPlane, since: float) -> list[AuditedRequest]:
    """What it asked of the API server, by the server's own account."""
    ours = (each for each in plane.requests("seatrial") if each.user.endswith(f":{ACCOUNT}"))
    return [each for each in ours if datetime.fromisoformat(each.at).timestamp() >= since]


def wake(plane: ControlPlane, node: str) -> None:
    """Let the operator look, as a person would: by the label that all but v26.3 hear; this value skips nobody."""
    plane.kubectl("label", "node", node, f"{WAKE_LABEL}=false", "--overwrite")
    plane.kubectl("label", "node", node, f"{WAKE_LABEL}-")


def wait_for(is_so: Callable[[], bool], what: str, pace: Pace, *, meanwhile: Callable[[], None] = lambda: None) -> None:
    def look() -> bool:
        pace.check()
        meanwhile()
        return is_so()

    waiting.wait_for(
        look,
        what=what,
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=LOOK_SECONDS,
        describe=lambda: pace.log,
    )


def wait_begun(plane: ControlPlane, beside: operator.GpuOperator) -> None:
    """Wait until every node has begun or waits for its turn.

    The operator looks when its DaemonSet changes, which may be too early; by itself it looks again in two minutes.
    """
    wait_states(beside, None, lambda: wake(plane, beside.nodes[0]))


def wait_states(
    beside: operator.GpuOperator, wanted: dict[str, str] | None, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Wait until the nodes are in these states; None: until none is done any more."""

    def look() -> bool:
        meanwhile()
        states = beside.upgrade_states()
        return "upgrade-done" not in states.values() if wanted is None else states == wanted

    waiting.wait_for(
        look,
        what=f"the operator's states: {wanted or 'all under way'}",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.5,
        describe=lambda: str(beside.upgrade_states()),
    )
