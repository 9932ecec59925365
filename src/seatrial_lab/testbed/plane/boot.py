"""Starting one control plane: in which order, and how each program shows that it is ready.

    etcd ──► kube-apiserver ──► Stage definition and stages ──┬► kube-controller-manager
                                                              ├► kube-scheduler
                                                              └► kwok ──► operands

Using a started control plane is in control_plane.py.
"""

import http.client
import json
import shutil
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors, record, waiting
from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.plane import audit, components, credentials, processes
from seatrial_lab.testbed.real_node import cgroups

ADMIN_KUBECONFIG: Final = "admin.kubeconfig"
AUDIT_LOG: Final = "audit.log"
START_TIMEOUT_SECONDS: Final = 120.0
STOP_GRACE_SECONDS: Final = 3.0
ATTEMPTS_MAX: Final = 3


class Boot:
    """One attempt to start a control plane; its record grows with every program."""

    def __init__(self, folder: Path, *, is_leashed: bool, say: build.Say) -> None:
        self._folder = folder
        self._say = say
        self._binaries = build.control_plane(say=say)
        self._ports = components.Ports(**dict(zip(components.Ports.__slots__, processes.free_ports(5), strict=True)))
        self._made = credentials.make(folder / "credentials")
        self.record = record.Record(
            folder=folder,
            url=f"https://127.0.0.1:{self._ports.api_server}",
            kubectl=self._binaries["kubectl"],
            is_leashed=is_leashed,
        )

    def start_api(self, *more: str) -> None:
        """Start etcd and the API server, and wait until they answer; `more` are further arguments of the latter."""
        self.start_etcd()
        self.start_api_server(*more)

    def start_etcd(self) -> None:
        """Start etcd on the data that is there, and wait until it answers."""
        etcd = self._start("etcd", components.etcd(toolchain.find_etcd(), folder=self._folder, ports=self._ports))
        self._wait(etcd, lambda: _answers(self._ports.etcd_client, "/health"))

    def start_api_server(self, *more: str) -> None:
        """Start the API server, and wait until it answers."""
        policy = self._folder / "audit-policy.json"
        policy.write_text(json.dumps(audit.POLICY), encoding="utf-8")
        command = components.api_server(
            self._binaries["kube-apiserver"],
            folder=self._folder,
            ports=self._ports,
            made=self._made,
            audit_policy=policy,
            audit_log=self._folder / AUDIT_LOG,
        )
        api_server = self._start("kube-apiserver", [*command, *more])
        self._kubeconfig(credentials.ADMIN, self._folder / ADMIN_KUBECONFIG)
        self._wait(api_server, lambda: self._is_healthy(self._ports.api_server, "/readyz"))

    def start_controllers(self) -> None:
        """Start what acts on the API, and wait until the two of Kubernetes say they are healthy."""
        manager = self._start(
            "kube-controller-manager",
            components.controller_manager(
                self._binaries["kube-controller-manager"],
                kubeconfig=self._kubeconfig("kube-controller-manager"),
                ports=self._ports,
                made=self._made,
            ),
        )
        scheduler = self._start(
            "kube-scheduler",
            components.scheduler(
                self._binaries["kube-scheduler"],
                kubeconfig=self._kubeconfig("kube-scheduler"),
                ports=self._ports,
                made=self._made,
            ),
        )
        settings = self._folder / "kwok.json"
        settings.write_text(json.dumps(components.kwok_settings()), encoding="utf-8")
        kubeconfig = self._kubeconfig("kwok")
        self._start("kwok", components.kwok(self._binaries["kwok"], kubeconfig=kubeconfig, settings=settings))
        self._wait(manager, lambda: self._is_healthy(self._ports.controller_manager, "/healthz"))
        self._wait(scheduler, lambda: self._is_healthy(self._ports.scheduler, "/readyz"))

    @property
    def ports(self) -> components.Ports:
        """Where everything listens."""
        return self._ports

    def _start(self, name: str, command: components.Command) -> processes.Program:
        program = processes.start(name, command, folder=self._folder, is_leashed=self.record.is_leashed)
        # Somebody may have added a program meanwhile; one that is started again takes its own place.
        known = record.load(self._folder) or self.record
        self.record = known.without(name).with_program(program)
        record.save(self.record)
        return program

    def _wait(self, program: processes.Program, is_ready: Callable[[], bool]) -> None:
        def look() -> bool:
            ensure_alive(program)
            return is_ready()

        waiting.wait_for(
            look,
            what=f"{program.name} to be ready",
            timeout_seconds=START_TIMEOUT_SECONDS,
            describe=lambda: f"\n{processes.last_lines(program)}",
        )

    def _is_healthy(self, port: int, path: str) -> bool:
        return _answers(port, path, authority=self._made.authority, token=self._made.tokens[credentials.ADMIN])

    def _kubeconfig(self, user: str, path: Path | None = None) -> Path:
        return credentials.write_kubeconfig(
            path or self._folder / "credentials" / f"{user}.kubeconfig",
            url=self.record.url,
            authority=self._made.authority,
            user=user,
            token=self._made.tokens[user],
        )


def prepare(folder: Path) -> None:
    """Make room: a folder of a control plane that no longer runs is emptied, one that runs is refused."""
    if sys.platform != "linux":
        raise errors.PartMissing("The testbed needs Linux: it follows its processes through /proc.")
    old = record.load(folder)
    if old is not None and old.alive:
        raise errors.TestbedFailure(f"A control plane already runs in {folder} ({old.url}). Stop it first.")
    if old is not None:
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)


def stop(known: record.Record) -> None:
    """End every program of a control plane, the last started first to be asked."""
    etcd = [program for program in known.programs if program.name == "etcd"]
    others = [program for program in reversed(known.programs) if program.name != "etcd"]
    processes.end(others, grace_seconds=STOP_GRACE_SECONDS)  # etcd last, or the others only complain while they end
    processes.end(etcd, grace_seconds=STOP_GRACE_SECONDS)
    cgroups.sweep()  # a real node leaves nothing else


def ensure_alive(program: processes.Program) -> None:
    """Raise with the end of its log where a program no longer runs."""
    if not processes.is_alive(program):
        raise errors.ProcessDied(f"{program.name} ended; the end of {program.log}:\n{processes.last_lines(program)}")


def is_port_clash(err: errors.ProcessDied) -> bool:
    """Tell whether somebody took one of our ports between choosing and listening."""
    return "address already in use" in str(err)


def _answers(port: int, path: str, *, authority: Path | None = None, token: str = "") -> bool:
    if authority is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    else:
        trust = ssl.create_default_context(cafile=str(authority))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=trust)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False  # not listening yet
    finally:
        connection.close()
