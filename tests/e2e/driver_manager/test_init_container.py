"""Our image as the init container of a DaemonSet on a real node: host and API in one, in a pod, by its own account.

The host is a prepared tree on the node, since nobody has a module to spare: the first init container works on it with
a played kernel, the second is called as the GPU Operator calls it, and finds no driver. Needs root: left out without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial import __version__
from seatrial import manifests as shipped
from seatrial.adapters.kube.shapes import keys
from seatrial.core.node.driver_manager import labels
from seatrial_lab import played_kernel
from seatrial_lab.image import build, bytecode, recipe
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, is_ready
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import node
from tests import real_nodes
from tests.e2e.driver_manager.manager import by_its_label, deploy_labels

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

real_nodes.needed()

PREFIX, NAMESPACE = "dock", "gpu-operator"
REAL = f"{PREFIX}-real-000"
PREPARED = "/run/prepared"
IMAGE = f"{recipe.CONTROLLER.name}:{__version__}"
TIMEOUT_SECONDS = 180.0


@dataclass(frozen=True, kw_only=True)
class Dock:
    """A real node with a prepared host and our image on it."""

    plane: ControlPlane
    fleet: Fleet
    host: Path

    def pod(self) -> dict[str, Any] | None:
        found = self.plane.get("pods", "-n", NAMESPACE, "-l", "app=dock")["items"]
        return found[0] if found else None

    def log(self, container: str) -> str:
        pod = self.pod()
        name = pod["metadata"]["name"] if pod else ""
        try:
            return self.plane.kubectl("logs", "-n", NAMESPACE, name, "-c", container)
        except errors.KubectlFailed as err:
            return str(err)

    def node(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("node", REAL)
        return found


@pytest.fixture(scope="module")
def dock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dock]:
    folder = tmp_path_factory.mktemp("dock")
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        real = node.start(plane, REAL, driver_versions=("570.124.06",))
        assert build.main(["--arch", bytecode.host(), "--out", str(folder)]) == 0
        real.import_archive(folder / f"seatrial-{__version__}-{bytecode.host()}.tar")
        spec = FleetSpec(prefix=PREFIX, node_count=0, has_device_plugin=True, real_nodes=(REAL,))
        fleet = by_its_label(make_fleet(plane, spec))
        host = Path(f"/proc/{real.holder.pid}/root{PREPARED}")
        played_kernel.PlayedHost(root=host).prepare()
        yield Dock(plane=plane, fleet=fleet, host=host)
        plane.kubectl("delete", "daemonset", "dock", "-n", NAMESPACE, "--ignore-not-found")
        fleet.remove()


def a_daemon_set() -> list[dict[str, Any]]:
    """A driver's DaemonSet whose init containers are ours."""
    environment = [
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "OPERATOR_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "ENABLE_AUTO_DRAIN", "value": "false"},
        {"name": "DRIVER_CONFIG_DIGEST", "value": "new"},
    ]
    common = {
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "env": environment,
        "securityContext": {"runAsUser": 0},
        "volumeMounts": [{"name": "host", "mountPath": PREPARED}, {"name": "play", "mountPath": "/play"}],
    }
    played = [f"{recipe.HOME}/bin/python", "/play/played_kernel.py", "uninstall", "--root", PREPARED]
    whole = ["uninstall_driver", "--root", PREPARED, "--host-root", f"{PREPARED}/host"]
    spec = {
        "serviceAccountName": "nvidia-driver",
        "nodeSelector": {"kubernetes.io/hostname": REAL},
        "initContainers": [
            {"name": "played", "command": played, **common},
            {"name": "as-the-operator-calls-it", "command": ["driver-manager"], "args": whole, **common},
        ],
        "containers": [{"name": "main", "image": consumers.IMAGE}],
        "volumes": [
            {"name": "host", "hostPath": {"path": PREPARED}},
            {"name": "play", "configMap": {"name": "play"}},
        ],
    }
    source = Path(played_kernel.__file__).read_text(encoding="utf-8")
    template = {"metadata": {"labels": {"app": "dock"}}, "spec": spec}
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "dock", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": "dock"}}, "template": template},
    }
    return [
        manifests.service_account("nvidia-driver", NAMESPACE) | {"automountServiceAccountToken": True},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "play", "namespace": NAMESPACE},
            "data": {"played_kernel.py": source},
        },
        *yaml.safe_load_all(shipped.driver_manager()),
        daemon_set,
    ]


def test_an_init_container_of_ours_takes_the_driver_off_its_node(dock: Dock) -> None:
    before = deploy_labels(dock.node())
    job = dock.fleet.add_job_pod(REAL, name="train")
    (held,) = dock.fleet.pods_of(job)
    dock.plane.apply(a_daemon_set())

    def is_up() -> bool:
        pod = dock.pod()
        return pod is not None and is_ready(pod)

    waiting.wait_for(
        is_up,
        what="both init containers to end with 0",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.5,
        describe=lambda: dock.log("played") + dock.log("as-the-operator-calls-it"),
    )
    said = dock.log("played")
    for text in ("pausing operator-validator", "cordoning the node", f"evicting {job.namespace}/", "unloading nvidia"):
        assert text in said, said
    assert "done: the new driver may be loaded" in said
    assert "no driver is loaded" in dock.log("as-the-operator-calls-it")
    found = dock.node()
    assert deploy_labels(found) == before
    assert labels.MARK not in str(found["metadata"]["labels"])
    assert keys.MANAGER_CORDON_ANNOTATION not in found["metadata"].get("annotations", {})
    assert not found["spec"].get("unschedulable")
    assert list((dock.host / "sys/module").iterdir()) == []
    assert held["metadata"]["uid"] not in {pod["metadata"]["uid"] for pod in dock.fleet.pods_of(job)}
