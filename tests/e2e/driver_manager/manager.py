"""A driver manager of ours as a process, on a prepared host, for one node of a simulated fleet."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seatrial import manifests as shipped
from seatrial.adapters.kube.shapes import keys
from seatrial.core.node.driver_manager import labels
from seatrial_lab.played_kernel import KILL_AFTER, PlayedHost
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.nodes.fleet import Fleet

TIMEOUT_SECONDS = 60.0
APPS = (manifests.VALIDATOR_APP, manifests.DEVICE_PLUGIN_APP, manifests.FEATURE_DISCOVERY_APP)


def rules() -> list[dict[str, Any]]:
    """What the manifest grants."""
    (role,) = [each for each in yaml.safe_load_all(shipped.driver_manager()) if each["kind"] == "ClusterRole"]
    found: list[dict[str, Any]] = role["rules"]
    return found


@dataclass(frozen=True, kw_only=True)
class Berth:
    """One node, its prepared host, and who manages its driver."""

    fleet: Fleet
    node: str
    host: PlayedHost
    kubeconfig: Path
    before: Mapping[str, str]
    """The labels that were there first."""

    # ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, *words: str, kill_after: int = 0, **environment: str) -> subprocess.Popen[str]:
        """Start it, as a kubelet starts an init container."""
        told = {
            "KUBECONFIG": str(self.kubeconfig),
            "NODE_NAME": self.node,
            "OPERATOR_NAMESPACE": self.fleet.spec.namespace,
            "ENABLE_AUTO_DRAIN": "false",
            "DRIVER_CONFIG_DIGEST": "new",
            **({KILL_AFTER: str(kill_after)} if kill_after else {}),
            **environment,
        }
        what = words or ("uninstall",)
        command = (sys.executable, "-m", "seatrial_lab.played_kernel", *what, "--root", str(self.host.root))
        return subprocess.Popen(
            command,
            env={**os.environ, **told},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, kill_after: int = 0, **environment: str) -> tuple[int, str]:
        """Run it to its end: its exit code, and what it said."""
        return ended(self.start(*words, kill_after=kill_after, **environment))

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = self.fleet.plane.get("node", self.node)
        return found

    def labels(self) -> dict[str, str]:
        """The labels by which operands choose the node."""
        return deploy_labels(self.object())

    @property
    def is_cordoned(self) -> bool:
        return bool(self.object()["spec"].get("unschedulable"))

    @property
    def is_cordon_ours(self) -> bool:
        return keys.MANAGER_CORDON_ANNOTATION in self.object()["metadata"].get("annotations", {})

    def operands(self) -> set[str]:
        """The operands that have a pod on the node."""
        where = ("-n", self.fleet.spec.namespace, "--field-selector", f"spec.nodeName={self.node}")
        pods = self.fleet.plane.get("pods", *where)["items"]
        return {pod["metadata"]["labels"].get("app", "") for pod in pods} & set(APPS)

    def modules(self) -> set[str]:
        return {path.name for path in (self.host.root / "sys/module").iterdir()}

    def check_put_back(self) -> None:
        """Nothing is left of a run on the node."""
        assert self.labels() == self.before
        assert not self.is_cordon_ours

    def wait(self, is_so: Any, what: str) -> None:
        waiting.wait_for(is_so, what=what, timeout_seconds=TIMEOUT_SECONDS, pause_seconds=0.1)

    def wait_operands(self) -> None:
        self.wait(lambda: self.operands() == set(APPS), f"the operands to be back on {self.node}")

    def annotate(self, key: str, value: str) -> None:
        self.fleet.plane.kubectl("annotate", "node", self.node, f"{key}={value}" if value else f"{key}-", "--overwrite")

    def label(self, key: str, value: str) -> None:
        self.fleet.plane.kubectl("label", "node", self.node, f"{key}={value}" if value else f"{key}-", "--overwrite")


def deploy_labels(node: Mapping[str, Any]) -> dict[str, str]:
    found = node["metadata"]["labels"]
    return {key: value for key, value in found.items() if key.startswith(labels.PREFIX)}


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for its end."""
    try:
        out, said = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
        raise AssertionError(f"it did not end, and said:\n{said}") from None
    return process.returncode, f"{said}{out}"


def ends_on_term(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Ask it to end, as a kubelet does, and wait for that."""
    process.send_signal(signal.SIGTERM)
    return ended(process)


def by_its_label(fleet: Fleet) -> Fleet:
    """Have the validator choose nodes by its own label, as the operator's does; a fleet's is everywhere."""
    name, where = manifests.validator_daemon_set_name(fleet.spec.prefix), ("-n", fleet.spec.namespace)
    selector = {"nodeSelector": {f"{manifests.DEPLOY}.operator-validator": "true"}}
    body = json.dumps({"spec": {"template": {"spec": selector}}})
    fleet.plane.kubectl("patch", "daemonset", name, *where, "--type=merge", "-p", body)
    fleet.plane.kubectl("rollout", "status", f"daemonset/{name}", *where, f"--timeout={TIMEOUT_SECONDS:g}s")
    return fleet


@contextmanager
def berth(fleet: Fleet, node: str, folder: Path) -> Iterator[Berth]:
    """A node with its operands up and a host with a driver loaded; put in order again afterwards."""
    host = PlayedHost(root=folder / f"{node}-{time.monotonic_ns()}")
    host.prepare()
    kubeconfig = fleet.plane.service_account("seatrial", "driver-manager", cluster_rules=rules())
    before = deploy_labels(fleet.plane.get("node", node))
    made = Berth(fleet=fleet, node=node, host=host, kubeconfig=kubeconfig, before=before)
    made.wait_operands()
    yield made
    for key, value in before.items():
        made.label(key, value)
    for key in set(made.labels()) - set(before):
        made.label(key, "")
    made.annotate(keys.MANAGER_CORDON_ANNOTATION, "")
    fleet.uncordon(node)
