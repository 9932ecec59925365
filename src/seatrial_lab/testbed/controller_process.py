"""Our own controller as a process beside a testbed, under a ServiceAccount with exactly the rights of the manifests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from seatrial import manifests
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.plane import control_plane

ROLES = ("ClusterRole", "Role")

PROGRAM: Final = ("-m", "seatrial")
PATIENT_SECONDS: Final = 30
"""How long the lease of a controller is that nobody kills: on a machine that is busy it may wait long for its turn."""


def controller_rules(
    *,
    has_campaigns: bool = False,
    has_network: bool = False,
    has_olm: bool = False,
    has_releases: bool = False,
    gates_namespace: str = manifests.HOME,
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """The rules of the shipped manifests: those for the whole cluster, and those per namespace."""
    rights = manifests.rbac(
        dra_namespaces=[dra.NAMESPACE],
        has_campaigns=has_campaigns,
        has_network=has_network,
        has_olm=has_olm,
        has_releases=has_releases,
        has_machine_pools=has_campaigns,
        has_gitops=has_campaigns,
        maintenance_namespaces=["default"],
        gates_namespace=gates_namespace,
    )
    objects = [item for item in yaml.safe_load_all(rights) if item and item["kind"] in ROLES]
    cluster = [rule for item in objects if item["kind"] == "ClusterRole" for rule in item["rules"]]
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    for item in objects:
        if item["kind"] == "Role":
            by_namespace.setdefault(item["metadata"]["namespace"], []).extend(item["rules"])
    return cluster, by_namespace


def install(plane: control_plane.ControlPlane) -> None:
    """Install our resource definition and the namespaces the rights are about."""
    plane.define(yaml.safe_load_all(manifests.crd()))
    names = ("seatrial", manifests.OPERATOR_NAMESPACE, keys.NETWORK_NAMESPACE, dra.NAMESPACE)
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names])


def remove_rollouts(plane: control_plane.ControlPlane, *names: str) -> None:
    """Remove these rollouts, or all, without waiting for a controller that may not run; nothing is tidied up."""
    found = [item["metadata"]["name"] for item in plane.get("gpurollouts")["items"]]
    for name in (name for name in found if name in names or not names):
        plane.kubectl("delete", "gpurollout", name, "--ignore-not-found", "--wait=false")
        with suppress(errors.KubectlFailed):  # nothing held it, and it is gone
            body = '{"metadata": {"finalizers": null}}'
            plane.kubectl("patch", "gpurollout", name, "--type=merge", "-p", body)


def identity(
    plane: control_plane.ControlPlane,
    name: str,
    *,
    has_campaigns: bool = False,
    has_network: bool = False,
    has_olm: bool = False,
    has_releases: bool = False,
    gates_namespace: str = manifests.HOME,
) -> Path:
    """A kubeconfig of a ServiceAccount that may do what the shipped manifests say, and nothing else."""
    cluster, by_namespace = controller_rules(
        has_campaigns=has_campaigns,
        has_network=has_network,
        has_olm=has_olm,
        has_releases=has_releases,
        gates_namespace=gates_namespace,
    )
    return plane.service_account("seatrial", name, cluster_rules=cluster, namespaced_rules=by_namespace)


def let_ask(plane: control_plane.ControlPlane, name: str, *namespaces: str) -> None:
    """Let an account of `identity` ask the jobs of these namespaces to save their work, as the shipped manifests do."""
    granted = yaml.safe_load_all(manifests.rbac(checkpoint_namespaces=namespaces))
    objects = [item for item in granted if item["metadata"]["name"] == "seatrial-controller-checkpoint"]
    for item in objects:
        if item["kind"] == "RoleBinding":
            item["subjects"] = [{"kind": "ServiceAccount", "name": name, "namespace": "seatrial"}]
    plane.apply(objects)


class ControllerProcess:
    """`seatrial controller --forever`; killed or stopped with its context."""

    def __init__(
        self,
        kubeconfig: Path,
        rollout: str,
        folder: Path,
        *,
        lease_seconds: int = PATIENT_SECONDS,
        pages: str = "",
        environment: Mapping[str, str] | None = None,
        git: Sequence[str] = ("--git-allow", "/"),
        arguments: Sequence[str] = (),
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """Serves no pages unless told where: many controllers share one machine here. Repositories are folders."""
        self._environment = environment or {}
        self.journal = folder / f"{rollout or 'controller'}.jsonl"
        self.log = folder / f"{rollout or 'controller'}.log"
        self._command = [
            *(sys.executable, *program, "controller", "--forever"),
            *("--kubeconfig", str(kubeconfig), *(("--rollout", rollout) if rollout else ())),
            *("--journal", str(self.journal), "--lease-seconds", str(lease_seconds)),
            *("--metrics-bind-address", pages),
            *("--git-folder", str(folder / "git"), "--git-look-seconds", "1", *git),
            *arguments,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, behind what its log already holds."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env={**os.environ, **self._environment}
            )

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)

    def wait_dead(self, timeout_seconds: float) -> None:
        """Return when it has ended, or after so long."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_seconds)

    def freeze(self) -> None:
        """Stop its clock: nothing of it runs until it is thawed, and it does not know."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on where it was."""
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> int | None:
        """Ask it to end, and say with which exit code it did."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(40)
        except subprocess.TimeoutExpired:  # one that is busy for ever would keep a core after its test
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise when it has ended by itself, with what it said last."""
        if not self.is_running:
            tail = self.log.read_text(encoding="utf-8").splitlines()[-5:]
            raise RuntimeError("\n".join(["The controller ended by itself:", *tail]))
