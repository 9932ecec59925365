"""A real node beside simulated ones: a real kubelet runs a fleet's pods, our controller upgrades it, nothing is left.

It needs root; without it these tests are left out, and the last lines of the run say so.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial.sim.neighbours import SHIPPED
from seatrial_lab.testbed import controller_process, record, waiting
from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, is_ready
from seatrial_lab.testbed.plane import lifecycle, processes
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import cgroups, dressing, network, node, playing
from seatrial_lab.testbed.real_node.inside import hold
from tests import forked, real_nodes
from tests.e2e.light_stage import AT_ONCE, PolicyFollower, a_policy
from tests.pages import rules_of

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

real_nodes.needed()

PREFIX = "sea"
REAL = f"{PREFIX}-real-000"
OLD, NEW = "570.124.06", "580.105.08"
QUIET = {EVICTION: "false", DRAIN: "false"}
UNLOADING = "Unloading NVIDIA driver kernel modules..."
TIMEOUT_SECONDS = 60.0
API = "seatrial.dev/v1alpha1"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sea:
    """Two simulated nodes and a real one, on a control plane of their own."""

    plane: ControlPlane
    fleet: Fleet
    real: node.RealNode

    def driver_pod(self) -> Object:
        return self.fleet.driver_pods()[REAL]

    def wait_driver(self, is_so: Callable[[Object], bool], what: str) -> Object:
        def look() -> Object | None:
            pod = self.fleet.driver_pods().get(REAL)
            return pod if pod is not None and is_so(pod) else None

        return waiting.wait_for(
            look,
            what=f"the driver pod on {REAL} {what}",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: str(self.driver_pod()["status"]),
        )

    def log(self, container: str) -> str:
        name = self.driver_pod()["metadata"]["name"]
        return self.plane.kubectl("logs", "-n", self.fleet.spec.namespace, name, "-c", container)


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sea]:
    """Shared by the tests of this file: each leaves the nodes Ready, with the same driver on all of them."""
    with ControlPlane.start(tmp_path_factory.mktemp("real-node")) as plane:
        plane.load_nvidia_crds()
        controller_process.install(plane)
        real = node.start(plane, REAL, driver_versions=(OLD, NEW))
        spec = FleetSpec(
            prefix=PREFIX,
            node_count=2,
            driver_version=OLD,
            reload_seconds=1.0,
            has_device_plugin=True,
            has_feature_discovery=True,
            real_nodes=(REAL,),
        )
        fleet = make_fleet(plane, spec)
        yield Sea(plane=plane, fleet=fleet, real=real)
        fleet.remove()
        [left] = plane.get("nodes")["items"]
        assert left["metadata"]["name"] == REAL, "a real node stays, for the next fleet"
        assert manifests.FLEET_LABEL not in left["metadata"]["labels"]


def test_the_node_is_run_by_a_kubelet_of_the_control_planes_release(sea: Sea) -> None:
    seen = sea.real.object()
    assert seen["status"]["nodeInfo"]["kubeletVersion"] == build.KUBERNETES.version
    assert seen["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://")
    assert {each["type"]: each["status"] for each in seen["status"]["conditions"]}["Ready"] == "True"
    assert sea.fleet.allocatable() == dict.fromkeys(sea.fleet.nodes, 8)
    assert sea.fleet.driver_versions() == dict.fromkeys(sea.fleet.nodes, OLD)
    assert sea.real.loaded_driver == OLD


def test_only_simulated_nodes_have_the_taint_that_keeps_our_own_pods_away(sea: Sea) -> None:
    tainted = {
        each["metadata"]["name"]
        for each in sea.plane.get("nodes")["items"]
        if dressing.SIMULATED in each["spec"].get("taints", ())
    }
    assert tainted == set(sea.fleet.nodes) - {REAL}


def test_a_job_gets_its_gpus_runs_to_its_end_and_its_last_words_are_read(sea: Sea) -> None:
    says = 'echo "gave me $NVIDIA_VISIBLE_DEVICES" > /dev/termination-log'
    container = {
        "name": "main",
        "image": consumers.IMAGE,
        "command": ["/bin/sh", "-c", says],
        "resources": {"limits": {"nvidia.com/gpu": "2"}},
    }
    words = last_words(sea, container)
    assert words.startswith("gave me GPU-")
    assert words.count(f"GPU-{REAL}") == 2


def last_words(sea: Sea, container: Object) -> str:
    """Run a container as a Job that tolerates nothing, and return its termination message."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "words", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    sea.plane.apply([job])
    sea.plane.kubectl("wait", "--for=condition=Complete", "job/words", "-n", "default", f"--timeout={TIMEOUT_SECONDS}s")
    [done] = sea.plane.get("pods", "-n", "default", "-l", "batch.kubernetes.io/job-name=words")["items"]
    sea.plane.kubectl("delete", "job", "words", "-n", "default", "--cascade=foreground")
    ended = done["status"]["containerStatuses"][0]["state"]["terminated"]
    assert done["spec"]["nodeName"] == REAL, "a pod that tolerates nothing went where nothing runs it"
    assert ended["exitCode"] == 0
    return str(ended["message"])


def test_a_lost_gpu_is_counted_and_no_longer_given_away(sea: Sea) -> None:
    sea.real.lose_gpu()
    waiting.wait_for(lambda: sea.real.allocatable() == 7, what="a GPU to be lost", timeout_seconds=TIMEOUT_SECONDS)
    assert sea.real.object()["status"]["capacity"]["nvidia.com/gpu"] == "8"
    sea.real.restore_gpus()
    waiting.wait_for(lambda: sea.real.allocatable() == 8, what="it to be back", timeout_seconds=TIMEOUT_SECONDS)


def test_a_restricted_pod_is_probed_by_the_kubelet_and_reached_from_this_machine(sea: Sea) -> None:
    serves = "echo ahoy > /tmp/index.html; exec busybox httpd -f -p 8080 -h /tmp"
    container = {
        "name": "main",
        "image": consumers.IMAGE,
        "command": ["/bin/sh", "-c", serves],
        "readinessProbe": {"httpGet": {"port": 8080, "path": "/index.html"}, "periodSeconds": 1},
        "resources": {"limits": {"cpu": "100m", "memory": "32Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
    }
    spec = {
        "serviceAccountName": "strict",
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    strict = manifests.namespace("strict", PREFIX, labels={"pod-security.kubernetes.io/enforce": "restricted"})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "strict", "namespace": "strict"}, "spec": spec}
    sea.plane.apply([strict, manifests.service_account("strict", "strict"), pod])
    sea.plane.kubectl("wait", "--for=condition=Ready", "pod/strict", "-n", "strict", f"--timeout={TIMEOUT_SECONDS}s")
    address = sea.plane.get("pod", "strict", "-n", "strict")["status"]["podIP"]
    with urllib.request.urlopen(f"http://{address}:8080/", timeout=10) as answer:
        assert answer.read() == b"ahoy\n"
    events = sea.plane.get("events", "-n", "strict", "--field-selector", "type=Warning")["items"]
    assert [each["message"] for each in events if "probe" not in each["message"]] == []
    sea.plane.kubectl("delete", "pod", "strict", "-n", "strict")


def test_what_listens_on_this_machines_loopback_can_be_let_in(sea: Sea, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("aye\n")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = sea.real.open_way(server.server_port)
        container = {
            "name": "main",
            "image": consumers.IMAGE,
            "command": ["/bin/sh", "-c", f"wget -qO /dev/termination-log http://{where}/"],
        }
        assert last_words(sea, container) == "aye\n"
        server.shutdown()


def test_the_driver_manager_acts_on_its_node_by_the_rows_from_the_pod_network(sea: Sea) -> None:
    log = sea.log("k8s-driver-manager")
    assert "NVIDIA driver is not loaded" in log
    assert f"node/{REAL} already uncordoned" in log  # its answer came from the API server
    assert sea.driver_pod()["status"]["podIP"] != sea.real.link.node
    assert "LOADED CORDON ENABLE_GPU_POD_EVICTION\n" in playing.rows()


def assert_the_doctor_names_it(sea: Sea, pod: Object) -> None:
    """By the kubelet's own logs, with the rights of the how-to and no others."""
    account = sea.plane.service_account("default", "doctor", cluster_rules=rules_of("how-to/doctor.md"))
    said = forked.run("doctor", REAL, "-o", "json", "--kubeconfig", str(account))
    assert said.returncode == ExitCode.FINDINGS, said.stderr
    [found] = json.loads(said.stdout)["failures"]
    assert (found["name"], found["node"]) == ("module-in-use", REAL)
    logged = [each["line"] for each in found["evidence"] if each["about"].startswith("log of ")]
    assert logged[0].endswith("driver is in use")
    assert pod["metadata"]["name"] in found["evidence"][0]["about"]


def test_a_driver_that_fails_is_started_again_by_the_kubelet_until_it_is_mended(sea: Sea) -> None:
    before = sea.driver_pod()["metadata"]["uid"]
    sea.real.break_driver("in-use")
    sea.fleet.delete_driver_pod(REAL)

    def manager(pod: Object) -> Object:
        [status] = pod["status"].get("initContainerStatuses") or [{}]
        return dict(status)

    def ended(status: Object) -> Object:
        states = (status.get("lastState", {}), status.get("state", {}))
        return next((dict(state["terminated"]) for state in states if "terminated" in state), {})

    pod = sea.wait_driver(
        lambda pod: pod["metadata"]["uid"] != before and manager(pod).get("restartCount", 0) >= 1,
        "to have a driver manager that fails",
    )
    assert ended(manager(pod))["exitCode"] == 1
    assert ended(manager(pod))["message"].strip().endswith("driver is in use")
    assert sea.real.loaded_driver == OLD
    assert_the_doctor_names_it(sea, pod)

    sea.real.mend_driver()
    sea.real.break_driver("module-load", "No such device")
    pod = sea.wait_driver(
        lambda pod: pod["status"].get("containerStatuses", [{}])[0].get("restartCount", 0) >= 1,
        "to have a module that does not load",
    )
    [driver] = pod["status"]["containerStatuses"]
    assert ended(driver)["message"].strip() == "modprobe: ERROR: could not insert 'nvidia': No such device"
    assert not is_ready(pod)
    assert sea.real.allocatable() == 0
    # It was started again, and the driver manager, which was through before it began, was not.
    through = manager(pod)["state"]["terminated"]
    assert through["exitCode"] == 0
    assert through["finishedAt"] <= ended(driver)["startedAt"]

    sea.real.mend_driver()
    sea.wait_driver(is_ready, "to be mended")
    sea.fleet.wait_ready()
    waiting.wait_for(lambda: sea.real.allocatable() == 8, what="the GPUs to be back", timeout_seconds=TIMEOUT_SECONDS)


def test_the_controller_upgrades_it_beside_simulated_ones(
    sea: Sea, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    service = sea.fleet.add_workload("service", replicas=3, gpus_per_pod=8)
    assert {pod["spec"]["nodeName"] for pod in sea.fleet.pods_of(service)} == set(sea.fleet.nodes)
    history = upgraded(sea, tmp_path, NEW, manager_env=QUIET)
    assert history.states(REAL)[-3:] == ["validation-required", "uncordon-required", "upgrade-done"]
    assert opened_unproven(history) == []
    seconds = opened_after_seconds(history)
    record_property("driver_ready_to_uncordon_seconds", round(seconds, 2))
    print(f"driver pod Ready to uncordon on {REAL}: {seconds:.2f} s")
    assert seconds < TIMEOUT_SECONDS
    assert "Uncordoning" not in sea.log("k8s-driver-manager")  # it was told to leave that to us


def test_a_real_driver_manager_opens_the_node_and_the_controller_closes_it_again(sea: Sea, tmp_path: Path) -> None:
    (target,) = {OLD, NEW} - {sea.real.loaded_driver}
    history = upgraded(sea, tmp_path, target, manager_env=dict(SHIPPED))
    log = sea.log("k8s-driver-manager").splitlines()
    order = [log.index(line) for line in (f"Cordoning node {REAL}", UNLOADING, f"Uncordoning node {REAL}")]
    assert order == sorted(order)
    assert opened_unproven(history), "the driver manager opened the node too late to be seen"
    told = sea.plane.get("events", "-n", "default", "--field-selector", f"involvedObject.name={REAL}")["items"]
    assert any(each["message"].startswith("Cordoned the node again: it was uncordoned") for each in told)


def test_a_real_job_ends_by_itself_and_only_then_its_node_is_taken(sea: Sea, tmp_path: Path) -> None:
    service = sea.fleet.workload("service")  # of a story before this one, on every GPU
    gone = ("-n", service.namespace, "--cascade=foreground", "--ignore-not-found")
    sea.plane.kubectl("delete", "deployment", service.name, *gone)
    loaded = sea.real.loaded_driver
    (target,) = {OLD, NEW} - {loaded}
    work = {
        "name": "main",
        "image": consumers.IMAGE,
        "command": ["/bin/sh", "-c", "until [ -e /over ]; do sleep 0.2; done"],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    pod = {"restartPolicy": "Never", "nodeSelector": {"kubernetes.io/hostname": REAL}, "containers": [work]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work", "namespace": "default"}}
    sea.plane.apply([{**job, "spec": {"template": {"spec": pod}}}, a_policy(loaded)])
    where = ("job/work", "-n", "default")
    sea.plane.kubectl("wait", "--for=jsonpath={.status.ready}=1", *where, f"--timeout={TIMEOUT_SECONDS}s")
    spec = {
        **AT_ONCE,
        "target": {"driver": target},
        "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
        "canary": {"nodes": [sea.fleet.nodes[0]]},
        "publish": {"via": "direct"},
        "limits": {"maxParallelUpgrades": 2, "maxIdleGPUs": 16},
        "attrition": {"deadlineSeconds": 86_400},
    }
    sea.plane.apply([{"apiVersion": API, "kind": "GPURollout", "metadata": {"name": "patient"}, "spec": spec}])
    account = controller_process.identity(sea.plane, "patient", has_campaigns=True)
    controller = ControllerProcess(account, "patient", tmp_path)
    others = set(sea.fleet.nodes) - {REAL}
    with PolicyFollower(sea.fleet, manager_env=QUIET), History(sea.plane, PREFIX) as history, controller:

        def wait(is_so: Callable[[], bool], what: str) -> None:
            history.wait_for(is_so, what=what, timeout_seconds=2 * TIMEOUT_SECONDS, check=controller.check)

        wait(lambda: all(history.latest()[name].state == "upgrade-done" for name in others), "the others to be moved")
        wait(lambda: history.latest()[REAL].is_cordoned, "the real node to be closed")
        assert sea.real.loaded_driver == loaded, "its job still runs"
        sea.plane.kubectl("exec", *where, "--", "/bin/sh", "-c", ": > /over")
        wait(lambda: history.latest()[REAL].state == "upgrade-done", "the real node to be taken")
        assert controller.stop() == 0
    assert sea.plane.get("job", "work", "-n", "default")["status"]["succeeded"] == 1, "nobody was evicted"
    assert sea.real.loaded_driver == target
    controller_process.remove_rollouts(sea.plane, "patient")
    sea.plane.kubectl("delete", *where, "--cascade=foreground")
    sea.plane.kubectl("delete", "clusterpolicy", "--all")


def upgraded(sea: Sea, folder: Path, target: str, *, manager_env: dict[str, str]) -> History:
    """Let our controller bring every node to a driver; what was seen on the way."""
    spec = {
        "target": {"driver": target},
        "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
        "limits": {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 1},
    }
    name = f"to-{target.partition('.')[0]}"
    rollout = {"apiVersion": API, "kind": "GPURollout", "metadata": {"name": name}, "spec": spec}
    sea.plane.apply([rollout])
    controller = ControllerProcess(controller_process.identity(sea.plane, PREFIX), name, folder)
    with History(sea.plane, PREFIX) as history, controller:
        sea.fleet.set_driver_version(target, manager_env=manager_env)
        history.wait_for(
            lambda: all(
                "uncordon-required" in history.states(name) and history.latest()[name].state == "upgrade-done"
                for name in sea.fleet.nodes
            ),
            what="every node to be upgraded",
            timeout_seconds=2 * TIMEOUT_SECONDS,
            check=controller.check,
        )
        assert controller.stop() == 0
    controller_process.remove_rollouts(sea.plane, name)
    assert sea.fleet.driver_versions() == dict.fromkeys(sea.fleet.nodes, target)
    assert sea.fleet.found_versions() == dict.fromkeys(sea.fleet.nodes, target)
    assert sea.real.loaded_driver == target
    return history


def opened_unproven(history: History) -> list[str]:
    """The states in which the real node was seen open before its driver was proven."""
    unproven = ("pod-restart-required", "validation-required")
    return [
        each.state for each in history.nodes() if each.name == REAL and each.state in unproven and not each.is_cordoned
    ]


def opened_after_seconds(history: History) -> float:
    """How long the real node was closed after its new driver was Ready."""
    image = manifests.driver_image(NEW)
    ready_at = next(
        pod.at for pod in history.pods(manifests.DRIVER_APP) if pod.node == REAL and pod.image == image and pod.is_ready
    )
    return next(
        each.at - ready_at
        for each in history.nodes()
        if each.name == REAL and each.at > ready_at and not each.is_cordoned
    )


# ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────────


def machine_state() -> dict[str, object]:
    """What a kubelet or a CNI plugin would change for the whole machine: kernel settings and folders of theirs."""
    kernel = {name: Path("/proc/sys", name).read_text() for name in (*hold.TUNABLES, "net/ipv4/ip_forward")}
    places = ("/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/run/containerd", "/run/netns", "/run/nvidia")
    return kernel | {place: Path(place).exists() for place in places}


def members(holder: processes.Program) -> list[int]:
    """Every process in the PID namespace that a program holds, as the machine counts."""
    wanted = Path(f"/proc/{holder.pid}/ns/pid_for_children").readlink()
    found = []
    for each in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            is_member = each.readlink() == wanted
        except OSError:
            continue  # it ended, or was a zombie
        if is_member:
            found.append(int(each.parts[2]))
    return found


def assert_nothing_is_left(folder: Path, pids: list[int], devices: list[str]) -> None:
    def running() -> list[int]:
        return [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    # A network namespace goes a moment after its last process.
    waiting.wait_for(
        lambda: not running() and not [each for each in devices if Path("/sys/class/net", each).exists()],
        what="processes and network devices to be gone",
        timeout_seconds=10,
        describe=lambda: f"{running()}, {devices}",
    )
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()


@pytest.fixture
def node_programs() -> None:
    """They are built before a test has a cache of its own."""
    build.real_node()


@pytest.mark.usefixtures("node_programs", "own_cache")
def test_a_testbed_with_a_real_node_goes_down_without_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    before = machine_state()
    assert main.main(["testbed", "up", "--nodes", "1", "--real-nodes", "1", "--reload-seconds", "0.2"]) == 0
    assert main.main(["testbed", "status"]) == 0
    assert "kubelet-gpu-real-000" in capsys.readouterr().out
    known = record.load(lifecycle.running_folder())
    assert known is not None
    [holder] = [program for program in known.programs if program.name == "node-gpu-real-000"]
    pids, group = members(holder), cgroups.root_of(holder)
    names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]
    assert {"kubelet", "containerd", "containerd-shim", "device-plugin"} <= set(names)
    assert group in {each.name for each in cgroups.found()}
    address = ControlPlane(known).get("node", "gpu-real-000")["status"]["addresses"][0]["address"]
    device = network.Link(number=int(address.split(".")[2])).device
    assert Path("/sys/class/net", device).exists()

    assert main.main(["testbed", "down"]) == 0
    assert_nothing_is_left(known.folder, [holder.pid, *pids], [device])
    assert not known.folder.exists()
    assert group not in {each.name for each in cgroups.found()}
    assert machine_state() == before


def test_a_real_node_whose_testbed_was_killed_leaves_nothing_that_the_next_does_not_remove(tmp_path: Path) -> None:
    before = machine_state()
    script = textwrap.dedent(f"""\
        import pathlib, signal
        from seatrial_lab.testbed.plane.restoring import RestorablePlane
        from seatrial_lab.testbed.real_node import node
        started = RestorablePlane(pathlib.Path({str(tmp_path)!r}) / "plane")
        started.start()
        real = node.start(started.plane, "killed-real-000")
        print(real.holder.pid, real.holder.born_ticks, real.link.device, flush=True)
        signal.pause()
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        pid, born_ticks, device = killed.stdout.readline().split()
        holder = processes.Program(name="", pid=int(pid), born_ticks=int(born_ticks), log=tmp_path / "log")
        pids = members(holder)
        os.kill(killed.pid, signal.SIGKILL)
    assert_nothing_is_left(tmp_path, [holder.pid, *pids], [device])
    assert machine_state() == before
    cgroups.sweep()
    assert cgroups.root_of(holder) not in {each.name for each in cgroups.found()}
