"""One real control plane on loopback, and what a test or a user does with it. Blocking on purpose.

How it is started is in boot.py, the command lines in components.py, the kubelets in kubelet.py.
Tests: tests/testbed/test_control_plane.py.
"""

import itertools
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from seatrial_lab.testbed import errors, record, waiting
from seatrial_lab.testbed.building import build, operator_parts
from seatrial_lab.testbed.neighbours import operands
from seatrial_lab.testbed.nodes import kubelet
from seatrial_lab.testbed.plane import audit, boot, credentials, processes, reading

Object = dict[str, Any]

APPLY_BATCH_COUNT: Final = 200
KUBECTL_TIMEOUT_SECONDS: Final = 300.0
ESTABLISHED_TIMEOUT_SECONDS: Final = 30.0
FIELD_MANAGER: Final = "testbed"
TOKEN_HOURS: Final = 24 * 365
"""A person's testbed may stand for weeks, and nobody renews the tokens of what runs beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStatus:
    """One program of the control plane, now."""

    name: str
    pid: int
    is_alive: bool
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneStatus:
    """A control plane, now."""

    url: str
    kubeconfig: Path
    kubectl: Path
    versions: Mapping[str, str]
    programs: tuple[ProgramStatus, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every program still runs."""
        return all(program.is_alive for program in self.programs)

    @property
    def memory_bytes(self) -> int:
        """The memory of all programs together."""
        return sum(program.memory_bytes for program in self.programs)


class ControlPlane:
    """A running control plane."""

    def __init__(self, known: record.Record) -> None:
        self._record = known

    @classmethod
    def start(cls, folder: Path, *, say: build.Say = build.say_on_stderr, is_leashed: bool = True) -> Self:
        """Start a control plane in a folder; on a leash it dies with the thread that calls this."""
        folder = folder.resolve()
        for attempt in itertools.count(1):
            boot.prepare(folder)
            try:
                return cls._start_once(folder, say=say, is_leashed=is_leashed)
            except errors.ProcessDied as err:
                if attempt == boot.ATTEMPTS_MAX or not boot.is_port_clash(err):
                    raise
                say("A port was taken in between; starting once more.")
        raise AssertionError("unreachable: the loop returns or raises")

    @classmethod
    def _start_once(cls, folder: Path, *, say: build.Say, is_leashed: bool) -> Self:
        started = boot.Boot(folder, is_leashed=is_leashed, say=say)
        try:
            started.start_api()
            kubelet.load_stages(cls(started.record))
            started.start_controllers()
            plane = cls(started.record)
            kubelet.settle(plane)
            operands.ensure_running(plane)
        except BaseException:  # also on an interrupt: nothing may stay behind
            boot.stop(started.record)
            raise
        return plane

    @classmethod
    def attach(cls, folder: Path) -> Self | None:
        """Return the control plane of a folder that was started by somebody else, None where none was."""
        known = record.load(folder.resolve())
        return cls(known) if known is not None else None

    def stop(self) -> None:
        """End every program; the folder stays for those who want to read the logs."""
        # Another process may have added a program meanwhile, so the note on disk is the one to follow.
        boot.stop(record.load(self.folder) or self._record)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where the API server answers."""
        return self._record.url

    @property
    def folder(self) -> Path:
        """The folder with logs, credentials and the database."""
        return self._record.folder

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of somebody who may do everything."""
        return self.folder / boot.ADMIN_KUBECONFIG

    @property
    def authority(self) -> Path:
        """The certificate that signs the API server's."""
        return self.folder / "credentials" / "ca.crt"

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl as administrator and return what it printed."""
        command: list[str | Path] = [
            self._record.kubectl,
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.folder / 'kubectl-cache'}",
            *arguments,
        ]
        limit = KUBECTL_TIMEOUT_SECONDS
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired as err:  # an API server that comes back may let somebody wait for ever
            raise errors.KubectlFailed(f"kubectl {' '.join(arguments)}: no answer within {limit:g} s") from err
        if done.returncode != 0:
            raise errors.KubectlFailed(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> Object:
        """Return what `kubectl get` finds, decoded."""
        question = reading.understood(arguments)
        found: Object | None = self._reader.get(question) if question is not None else None
        if found is None:
            found = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return found

    @cached_property
    def _reader(self) -> reading.Reader:
        token = credentials.read_token(self.folder / "credentials", credentials.ADMIN)
        return reading.Reader(self.url, authority=self.authority, token=token)

    def apply(self, objects: Iterable[Object]) -> None:
        """Apply objects server-side, in their order."""
        for batch in _batches(objects, APPLY_BATCH_COUNT):
            bundle = {"apiVersion": "v1", "kind": "List", "items": batch}
            self.kubectl(
                "apply",
                "--server-side",
                "--force-conflicts",
                f"--field-manager={FIELD_MANAGER}",
                "-f",
                "-",
                stdin=json.dumps(bundle),
            )

    def load_nvidia_crds(self) -> None:
        """Load the real ClusterPolicy and NVIDIADriver definitions, of the operator that this run stands beside."""
        self.define(operator_parts.find().definitions())

    def define(self, definitions: Iterable[Object]) -> None:
        """Apply CustomResourceDefinitions and return when the API server serves them."""
        wanted = list(definitions)
        self.apply(wanted)
        names = [each["metadata"]["name"] for each in wanted]
        # Not `kubectl wait`: it gives up on a definition that is too new to have any conditions.
        waiting.wait_for(
            lambda: all(_is_established(self.get("crd", name)) for name in names),
            what=f"{', '.join(names)} to be established",
            timeout_seconds=ESTABLISHED_TIMEOUT_SECONDS,
        )

    def service_account(
        self,
        namespace: str,
        name: str,
        *,
        cluster_rules: Sequence[Object] = (),
        namespaced_rules: Mapping[str, Sequence[Object]] | None = None,
    ) -> Path:
        """Return a kubeconfig with a real token of a ServiceAccount that may do exactly this."""
        self.apply(_account_objects(namespace, name, cluster_rules, namespaced_rules or {}))
        token = self.kubectl("create", "token", name, "-n", namespace, f"--duration={TOKEN_HOURS}h").strip()
        return credentials.write_kubeconfig(
            self.folder / "accounts" / f"{namespace}-{name}.kubeconfig",
            url=self.url,
            authority=self.authority,
            user=f"{namespace}-{name}",
            token=token,
        )

    def requests(self, user_agent: str) -> list[audit.AuditedRequest]:
        """Return the requests of every client whose user agent begins so."""
        return audit.read_requests(self.folder / boot.AUDIT_LOG, user_agent=user_agent)

    def ensure_program(
        self, name: str, command: Sequence[str | Path], *, extra_env: Mapping[str, str] | None = None
    ) -> processes.Program:
        """Return a further program that belongs to this control plane and ends with it, started if need be."""
        known = record.load(self.folder) or self._record
        running = next((program for program in known.alive if program.name == name), None)
        if running is not None:
            return running
        program = processes.start(name, command, folder=self.folder, is_leashed=known.is_leashed, extra_env=extra_env)
        self.add_program(program)
        return program

    def add_program(self, program: processes.Program) -> None:
        """Take note of a further program, so that it is seen and ended with the others."""
        self._record = (record.load(self.folder) or self._record).with_program(program)
        record.save(self._record)

    def program(self, name: str) -> processes.Program:
        """Return a program that belongs to this control plane, the youngest of that name."""
        known = record.load(self.folder) or self._record
        found = [program for program in known.programs if program.name == name]
        if not found:
            raise errors.TestbedFailure(f"The control plane in {self.folder} has no program {name}.")
        return found[-1]

    def status(self) -> PlaneStatus:
        """Return what runs."""
        programs = tuple(
            ProgramStatus(
                name=program.name,
                pid=program.pid,
                is_alive=processes.is_alive(program),
                memory_bytes=processes.memory_bytes(program),
            )
            for program in self._record.programs
        )
        return PlaneStatus(
            url=self.url,
            kubeconfig=self.kubeconfig,
            kubectl=self._record.kubectl,
            versions={recipe.name: recipe.version for recipe in (build.kubernetes(), build.KWOK)},
            programs=programs,
        )


def _is_established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _batches(objects: Iterable[Object], count: int) -> Iterator[list[Object]]:
    rest = iter(objects)
    while batch := list(itertools.islice(rest, count)):
        yield batch


def _account_objects(
    namespace: str, name: str, cluster_rules: Sequence[Object], namespaced_rules: Mapping[str, Sequence[Object]]
) -> list[Object]:
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    whole = f"{namespace}-{name}"
    objects: list[Object] = [
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}}
            for each in {namespace, *namespaced_rules}
        ),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
    ]
    if cluster_rules:
        objects += _role("ClusterRole", {"name": whole}, cluster_rules, subject)
    for where, rules in namespaced_rules.items():
        objects += _role("Role", {"name": whole, "namespace": where}, rules, subject)
    return objects


def _role(kind: str, metadata: Object, rules: Sequence[Object], subject: Object) -> list[Object]:
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, "kind": kind, "name": metadata["name"]}
    return [
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)},
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        },
    ]
