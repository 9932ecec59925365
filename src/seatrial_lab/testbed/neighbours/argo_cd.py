"""The real Argo CD as processes beside a control plane: application controller, repo server, API server and redis.

One program that is each of its parts by name, with the rights and the definitions of its own manifests, read from the
Go module cache. Nothing listens but on loopback, and nothing is written outside the folder of the control plane and one
of its own. Its API server is here for one thing: it takes the webhooks of a forge.
What Argo CD is told is an Application each (argo_application.py). Tests: tests/gitops/test_argo_cd.py.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Final, Self

import yaml

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.building import build, redis, toolchain
from seatrial_lab.testbed.neighbours.operator_chart import find_helm
from seatrial_lab.testbed.neighbours.running import Programs
from seatrial_lab.testbed.plane import control_plane, processes

Object = dict[str, Any]

NAMESPACE: Final = "argocd"
CONTROLLER, REPO_SERVER, SERVER = "argocd-application-controller", "argocd-repo-server", "argocd-server"
REDIS: Final = "argocd-redis"
PART_OF: Final = {"app.kubernetes.io/part-of": "argocd"}
POLL_SECONDS: Final = 120
"""What Argo CD does where nobody says otherwise: a look every two minutes, and up to one more by chance."""
JITTER_SECONDS: Final = 60
START_TIMEOUT_SECONDS: Final = 90.0


class ArgoCd(Programs):
    """A running Argo CD."""

    def __init__(self, plane: control_plane.ControlPlane, home: Path) -> None:
        super().__init__()
        self.plane = plane
        self._home = home
        self._ports = dict(
            zip(
                ("redis", "repo", "repo-metrics", "metrics", "api", "api-metrics"), processes.free_ports(6), strict=True
            )
        )

    @classmethod
    def start(
        cls,
        plane: control_plane.ControlPlane,
        *,
        poll_seconds: int = POLL_SECONDS,
        jitter_seconds: int = JITTER_SECONDS,
        settings: dict[str, str] | None = None,
        is_telling_health: bool = False,
        say: build.Say = build.say_on_stderr,
    ) -> Self:
        """Start it with these entries of argocd-cm; it dies with this process at the latest.

        With `is_telling_health` it writes how well every object is into the Application, and not into redis alone."""
        binary = build.argo_cd(say=say)
        redis_server, environment = redis.find_or_get(say=say)
        # Not in the folder of the control plane: the path of a socket may have 107 characters.
        started = cls(plane, Path(tempfile.mkdtemp(prefix="seatrial-argocd-")))
        try:
            started._install(settings or {})
            started._lay_out(binary, redis_server)
            started._run(poll_seconds, jitter_seconds, environment, is_telling_health=is_telling_health)
        except BaseException:  # also on an interrupt: no process may stay behind
            started.stop()
            raise
        return started

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def push_event(self, url: str, branch: str) -> None:
        """Send the webhook that GitHub sends after a push."""
        body = {
            "ref": f"refs/heads/{branch}",
            "repository": {"html_url": url.removesuffix(".git"), "default_branch": branch},
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._ports['api']}/api/webhook",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "X-GitHub-Event": "push"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310  http, by the line above
            answer.read()

    def last_lines(self) -> str:
        """The end of the controller's log, for an error message."""
        return "\n".join(processes.last_lines(each) for each in self._programs if each.name == CONTROLLER)

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _install(self, settings: dict[str, str]) -> None:
        self.plane.define(definitions())
        named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self.plane.apply([named, *_configuration(settings), _everything_allowed()])

    def _lay_out(self, binary: Path, redis_server: Path) -> None:
        for name in ("bin", "tmp", "gpg", "gpg-source", "tls", "ssh", "plugins", "home"):
            (self._home / name).mkdir()
        (self._home / "gpg").chmod(0o700)
        (self._home / "ssh" / "ssh_known_hosts").touch()
        for name in ("argocd", CONTROLLER, REPO_SERVER, SERVER):
            (self._home / "bin" / name).symlink_to(binary)
        (self._home / "bin" / "redis-server").symlink_to(redis_server)
        (self._home / "bin" / "helm").symlink_to(find_helm())  # it renders charts by calling it

    def _run(
        self, poll_seconds: int, jitter_seconds: int, redis_environment: dict[str, str], *, is_telling_health: bool
    ) -> None:
        ports = {name: str(port) for name, port in self._ports.items()}
        cache = f"--redis=127.0.0.1:{ports['redis']}"
        manifests = ("--repo-server", f"127.0.0.1:{ports['repo']}", "--repo-server-plaintext")
        self._begin(
            "redis-server",
            *("--port", ports["redis"], "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"),
            environment=redis_environment,
        )
        self._begin(
            REPO_SERVER,
            *("--address", "127.0.0.1", "--port", ports["repo"], "--disable-tls", cache),
            *("--metrics-address", "127.0.0.1", "--metrics-port", ports["repo-metrics"]),
            # It remembers what a branch is at for three minutes, unless `timeout.reconciliation` says otherwise.
            *(("--revision-cache-expiration", f"{poll_seconds}s") if poll_seconds != POLL_SECONDS else ()),
        )
        account = self._account(CONTROLLER)
        self._begin(
            CONTROLLER,
            *("--kubeconfig", str(account), "--namespace", NAMESPACE, cache, *manifests),
            *("--metrics-port", ports["metrics"], "--app-resync", str(poll_seconds)),
            *("--app-resync-jitter", str(jitter_seconds)),
            *(("--persist-resource-health",) if is_telling_health else ()),
            environment={"KUBECONFIG": str(account)},
        )
        account = self._account(SERVER)
        self._begin(
            SERVER,
            *("--kubeconfig", str(account), "--namespace", NAMESPACE, cache, *manifests),
            *("--address", "127.0.0.1", "--port", ports["api"], "--metrics-port", ports["api-metrics"]),
            *("--insecure", "--disable-auth", "--staticassets", str(self._home / "home")),
            environment={"KUBECONFIG": str(account)},
        )
        waiting.wait_for(
            self._is_serving,
            what="Argo CD to take webhooks",
            timeout_seconds=START_TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: "\n".join(processes.last_lines(each, count=5) for each in self._programs),
        )

    def _begin(self, name: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
        at = {
            "ARGOCD_GNUPGHOME": "gpg",
            "ARGOCD_GPG_DATA_PATH": "gpg-source",
            "ARGOCD_TLS_DATA_PATH": "tls",
            "ARGOCD_SSH_DATA_PATH": "ssh",
            "ARGOCD_PLUGINSOCKFILEPATH": "plugins",
            "ARGOCD_ASK_PASS_SOCK": "ask.sock",
            "TMPDIR": "tmp",
            "HOME": "home",
        }
        program = processes.start(
            name,
            [self._home / "bin" / name, *arguments],
            folder=self.plane.folder,
            is_leashed=True,
            extra_env={
                **{variable: str(self._home / folder) for variable, folder in at.items()},
                # Git asks a program called argocd for the password.
                "PATH": f"{self._home / 'bin'}{os.pathsep}{os.environ['PATH']}",
                "ARGOCD_GPG_ENABLED": "false",
                "ARGOCD_FAKE_IN_CLUSTER": "true",  # its own cluster is that of its kubeconfig
                **(environment or {}),
            },
        )
        self._programs.append(program)
        self.plane.add_program(program)

    def _account(self, name: str) -> Path:
        module = toolchain.module_folder(build.ARGO_CD.folder, build.ARGO_CD.module) / "manifests"
        short = name.removeprefix("argocd-")
        (cluster,) = _read(module / "cluster-rbac" / short / f"{name}-clusterrole.yaml")
        within = "application-controller-roles" if name == CONTROLLER else short
        (own,) = _read(module / "base" / within / f"{name}-role.yaml")
        return self.plane.service_account(
            NAMESPACE, name, cluster_rules=cluster["rules"], namespaced_rules={NAMESPACE: own["rules"]}
        )

    def _is_serving(self) -> bool:
        self.check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports['api']}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def definitions() -> list[Object]:
    """Return Argo CD's own definitions, which need no Argo CD."""
    module = toolchain.module_folder(build.ARGO_CD.folder, build.ARGO_CD.module)
    files = ("application-crd.yaml", "appproject-crd.yaml", "applicationset-crd.yaml")
    return [each for name in files for each in _read(module / "manifests" / "crds" / name)]


def _read(file: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def _configuration(settings: dict[str, str]) -> list[Object]:
    """What its manifests call argocd-cm, argocd-rbac-cm and argocd-secret; the first is what its users change."""
    rows: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("ConfigMap", "argocd-cm", settings),
        ("ConfigMap", "argocd-rbac-cm", {}),
        ("Secret", "argocd-secret", {}),
    )
    return [
        {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": PART_OF},
            "data": data,
        }
        for kind, name, data in rows
    ]


def _everything_allowed() -> Object:
    """The project that Argo CD's API server makes where there is none."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        },
    }
