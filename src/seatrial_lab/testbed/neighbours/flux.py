"""The real Flux as processes beside a control plane: the controllers of sources, Kustomizations, Helm and webhooks.

Four programs with the definitions and the rights of their own manifests, read from the Go module cache; the two that
apply may do everything, as Flux's own installation has it. Nothing listens but on loopback, and nothing is written
outside the folder of the control plane. What Flux is told is a Kustomization or a HelmRelease each (flux_objects.py).
Tests: tests/gitops/test_flux.py.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import urllib.request
from pathlib import Path
from typing import Any, Final, Self

import yaml

from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.neighbours.running import Programs
from seatrial_lab.testbed.plane import control_plane, processes

Object = dict[str, Any]

NAMESPACE: Final = "flux-system"
SOURCE, KUSTOMIZE, HELM = "source-controller", "kustomize-controller", "helm-controller"
NOTIFICATION: Final = "notification-controller"
PROGRAMS: Final = (SOURCE, KUSTOMIZE, HELM, NOTIFICATION)
APPLYING: Final = (KUSTOMIZE, HELM)
EVERYTHING: Final[tuple[Object, ...]] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
SOURCES: Final[Object] = {"apiGroups": ["source.toolkit.fluxcd.io"], "resources": ["*"], "verbs": ["*"]}
"""What Flux's installation gives notification-controller besides: its own manifests name a group that is no more."""
NEWEST_FIRST: Final = "CancelHealthCheckOnNewRevision=true"
"""A gate of kustomize-controller: a new commit ends the wait for what the one before brought."""


class Flux(Programs):
    """A running Flux."""

    def __init__(self, plane: control_plane.ControlPlane) -> None:
        super().__init__()
        self.plane = plane
        self._ports = dict(zip((SOURCE, NOTIFICATION), processes.free_ports(2), strict=True))

    @classmethod
    def start(cls, plane: control_plane.ControlPlane, *, gates: str = "", say: build.Say = build.say_on_stderr) -> Self:
        """Start it, with these feature gates of kustomize-controller; it dies with this process at the latest."""
        binaries = build.flux(say=say)
        modules = {name: _module(name) for name in PROGRAMS}
        plane.define(each for name in PROGRAMS for each in definitions(name))
        started = cls(plane)
        home = plane.folder / "flux"
        shutil.rmtree(home, ignore_errors=True)  # of one that ran here before
        try:
            for name in PROGRAMS:
                for folder in ("tmp", "kept"):
                    (home / name / folder).mkdir(parents=True)
                rules = EVERYTHING if name in APPLYING else [*_rules(modules[name]), SOURCES]
                kubeconfig = plane.service_account(NAMESPACE, name, cluster_rules=rules)
                flags = _flags(name, home / name, gates, started._ports)
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

    def push_event(self, path: str, token: str, branch: str) -> None:
        """Send the webhook that GitHub sends after a push to where a Receiver waits for it."""
        body = json.dumps({"ref": f"refs/heads/{branch}"}).encode()
        signed = hmac.new(token.encode(), body, hashlib.sha256).hexdigest()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._ports[NOTIFICATION]}{path}",
            data=body,
            headers={
                "Content-Type": "application/json",
                "X-GitHub-Event": "push",
                "X-Hub-Signature-256": f"sha256={signed}",
            },
        )
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310  http, by the line above
            answer.read()

    def last_lines(self) -> str:
        """The end of every program's log, for an error message."""
        return "\n".join(f"{each.name}:\n{processes.last_lines(each, count=5)}" for each in self._programs)


def _module(name: str) -> Path:
    recipe = build.FLUX_NOTIFICATION if name == NOTIFICATION else build.FLUX
    return toolchain.module_folder(recipe.folder, f"github.com/fluxcd/{name}")


def definitions(name: str) -> list[Object]:
    """Return the definitions that come with one of the programs, which need none of them to run."""
    files = sorted((_module(name) / "config" / "crd" / "bases").glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def _rules(module: Path) -> list[Object]:
    text = (module / "config" / "rbac" / "role.yaml").read_text(encoding="utf-8")
    return [rule for each in yaml.safe_load_all(text) if each for rule in each["rules"]]


def _flags(name: str, home: Path, gates: str, ports: dict[str, int]) -> list[str]:
    flags = [
        # Port 0: the kernel picks a free one, and no other process can take it in between.
        "--metrics-addr=127.0.0.1:0",
        "--health-addr=127.0.0.1:0",
        "--watch-all-namespaces=true",
        "--enable-leader-election=false",
        "--log-level=info",
    ]
    if name == SOURCE:
        here = f"127.0.0.1:{ports[SOURCE]}"
        return [*flags, f"--storage-path={home / 'kept'}", f"--storage-addr={here}", f"--storage-adv-addr={here}"]
    if name == NOTIFICATION:
        return [*flags, "--events-addr=127.0.0.1:0", f"--receiverAddr=127.0.0.1:{ports[NOTIFICATION]}"]
    # Half a minute where nobody says otherwise: how soon one is looked at again that depends on another.
    flags.append("--requeue-dependency=1s")
    return [*flags, *([f"--feature-gates={gates}"] if gates and name == KUSTOMIZE else [])]
