"""The real Flux as processes beside a control plane: source-controller, kustomize-controller and helm-controller.

Three programs with the definitions and the rights of their own manifests, read from the Go module cache; the two that
apply may do everything, as Flux's own installation has it. Nothing listens but on loopback, and nothing is written
outside the folder of the control plane. What Flux is told is a Kustomization or a HelmRelease each (flux_objects.py).
Tests: tests/gitops/test_flux.py.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final, Self

import yaml

from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.neighbours.running import Programs
from seatrial_lab.testbed.plane import control_plane, processes

Object = dict[str, Any]

NAMESPACE: Final = "flux-system"
SOURCE, KUSTOMIZE, HELM = "source-controller", "kustomize-controller", "helm-controller"
PROGRAMS: Final = (SOURCE, KUSTOMIZE, HELM)
EVERYTHING: Final[tuple[Object, ...]] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
NEWEST_FIRST: Final = "CancelHealthCheckOnNewRevision=true"
"""A gate of kustomize-controller: a new commit ends the wait for what the one before brought."""


class Flux(Programs):
    """A running Flux."""

    def __init__(self, plane: control_plane.ControlPlane) -> None:
        super().__init__()
        self.plane = plane

    @classmethod
    def start(cls, plane: control_plane.ControlPlane, *, gates: str = "", say: build.Say = build.say_on_stderr) -> Self:
        """Start it, with these feature gates of kustomize-controller; it dies with this process at the latest."""
        binaries = build.flux(say=say)
        modules = {name: toolchain.module_folder(build.FLUX.folder, f"github.com/fluxcd/{name}") for name in PROGRAMS}
        plane.define(each for name in PROGRAMS for each in _definitions(modules[name]))
        started = cls(plane)
        home = plane.folder / "flux"
        shutil.rmtree(home, ignore_errors=True)  # of one that ran here before
        try:
            for name in PROGRAMS:
                for folder in ("tmp", "kept"):
                    (home / name / folder).mkdir(parents=True)
                rules = _rules(modules[name]) if name == SOURCE else EVERYTHING
                kubeconfig = plane.service_account(NAMESPACE, name, cluster_rules=rules)
                flags = _flags(name, home / name, gates)
                started._programs.append(
                    processes.start(
                        name,
                        [binaries[name], *flags],
                        folder=plane.folder,
                        is_leashed=True,
                        extra_env={
                            "KUBECONFIG": str(kubeconfig),
                            "RUNTIME_NAMESPACE": NAMESPACE,
                            "TMPDIR": str(home / name / "tmp"),
                            "HOME": str(home / name),
                        },
                    )
                )
        except BaseException:  # also on an interrupt: no process may stay behind
            started.stop()
            raise
        return started

    def last_lines(self) -> str:
        """The end of every program's log, for an error message."""
        return "\n".join(f"{each.name}:\n{processes.last_lines(each, count=5)}" for each in self._programs)


def _definitions(module: Path) -> list[Object]:
    files = sorted((module / "config" / "crd" / "bases").glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def _rules(module: Path) -> list[Object]:
    text = (module / "config" / "rbac" / "role.yaml").read_text(encoding="utf-8")
    return [rule for each in yaml.safe_load_all(text) if each for rule in each["rules"]]


def _flags(name: str, home: Path, gates: str) -> list[str]:
    flags = [
        # Port 0: the kernel picks a free one, and no other process can take it in between.
        "--metrics-addr=127.0.0.1:0",
        "--health-addr=127.0.0.1:0",
        "--watch-all-namespaces=true",
        "--enable-leader-election=false",
        "--log-level=info",
    ]
    if name == SOURCE:
        (port,) = processes.free_ports(1)
        here = f"127.0.0.1:{port}"
        return [*flags, f"--storage-path={home / 'kept'}", f"--storage-addr={here}", f"--storage-adv-addr={here}"]
    return [*flags, *([f"--feature-gates={gates}"] if gates and name == KUSTOMIZE else [])]
