"""What the end-to-end tests share: our definitions on the run's control plane, rollouts by name, and the stage.

A module that plays stories gives a fixture `fleet` of its own; its stories share the fleet, one after the other, and
each wants the driver that the fleet does not run.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from seatrial.adapters.journal.reading import first_broken_line
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import PATIENT_SECONDS, ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes import consumers
from seatrial_lab.testbed.nodes.fleet import Fleet
from seatrial_lab.testbed.nodes.fleet_spec import Workload
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.e2e.light_stage import LightStage, light_stage

RolloutMaker = Callable[..., None]

DRIVERS = ("570.124.06", "580.105.08")
ANY = {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 1}
"""Limits that hold nobody up."""
TIMEOUT_SECONDS = 120.0
TOLD_SECONDS = 0.3
"""Between two looks through our own command, which costs a process each."""


@pytest.fixture(scope="session")
def cluster(plane: ControlPlane) -> ControlPlane:
    """The control plane with everything of ours installed."""
    controller_process.install(plane)
    return plane


@pytest.fixture
def make_rollout(cluster: ControlPlane) -> Iterator[RolloutMaker]:
    """Create a GPURollout over one fleet; removed after the test."""
    made: list[str] = []

    def make(
        name: str,
        *,
        fleet: str,
        target: str,
        limits: dict[str, Any],
        components: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        made.append(name)
        cluster.apply(
            [
                {
                    "apiVersion": "seatrial.dev/v1alpha1",
                    "kind": "GPURollout",
                    "metadata": {"name": name},
                    "spec": {
                        "target": {"driver": target, **(components or {})},
                        "nodeSelector": {"testbed.seatrial.dev/fleet": fleet},
                        "limits": limits,
                        **spec,
                    },
                }
            ]
        )

    yield make
    if made:
        controller_process.remove_rollouts(cluster, *made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a story plays: the fleet, who moves it, and everything that was seen."""

    cluster: ControlPlane
    fleet: Fleet
    history: History
    controller: ControllerProcess
    user: str
    began_at: float
    rollout: str
    running: str
    target: str

    # ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, is_so: Callable[[], bool], what: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        try:
            self.history.wait_for(is_so, what=what, timeout_seconds=timeout_seconds, check=self.controller.check)
        except TimeoutError as error:
            states = {name: seen.state for name, seen in self.history.latest().items() if name in self.fleet.nodes}
            log = self.controller.log.read_text()[-4000:]
            shown = self.run("status").stdout
            raise TimeoutError(f"{error} The nodes are at {states}.\n{shown}\n{log}") from None

    def wait_state(self, node: str, state: str) -> None:
        self.wait(lambda: self.state(node) == state, f"{node} to be in {state}")

    def wait_upgraded(self, *nodes: str) -> None:
        """Wait until these nodes, or all, have gone the whole way."""
        names = nodes or self.fleet.nodes
        self.wait(
            lambda: all(
                self.state(name) == "upgrade-done" and "uncordon-required" in self.history.states(name)
                for name in names
            ),
            f"{', '.join(names)} to be upgraded",
        )

    def wait_holds(self, **counts: int) -> None:
        """Wait until the controller has said that it holds these, and nothing else."""
        wanted = {code.replace("_", "-"): count for code, count in counts.items()}
        waiting.wait_for(
            lambda: self.status().get("holds") == wanted,
            what=f"the rollout to say {wanted}",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: str(self.status()),
        )

    def wait_held(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Wait until `seatrial node get` says that these nodes are held by these codes; why, by node."""
        seen: list[dict[str, str]] = [{}]

        def look() -> dict[str, str] | None:
            self.controller.check()
            nodes = json.loads(self.run("node", "get", "-o", "json").stdout)
            holds = {node["name"]: node["hold"] for node in nodes if node["hold"]}
            seen[0] = {name: held["code"] for name, held in holds.items()}
            is_so = all(seen[0].get(node) == code for node, code in wanted.items())
            return {name: held["why"] for name, held in holds.items()} if is_so else None

        return waiting.wait_for(
            look,
            what=f"the nodes to be held: {dict(wanted)}",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=TOLD_SECONDS,
            describe=lambda: str(seen[0]),
        )

    def wait_told(self, node: str, *parts: str) -> str:
        """Wait until `seatrial why` says all these about a node."""
        seen = [""]

        def look() -> str | None:
            seen[0] = self.why(node)
            return seen[0] if all(part in seen[0] for part in parts) else None

        return waiting.wait_for(
            look,
            what=f"`seatrial why {node}` to say {parts}",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=TOLD_SECONDS,
            describe=lambda: seen[0],
        )

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def state(self, node: str) -> str:
        return self.history.latest()[node].state

    def states_from(self, node: str, state: str) -> list[str]:
        """The states of a node since it was first in this one; what it was before depends on other stories."""
        states = self.history.states(node)
        return states[states.index(state) :]

    def was_cordoned(self, node: str) -> bool:
        return any(moment.is_cordoned for moment in self.history.nodes() if moment.name == node)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.get("gpurollout", self.rollout).get("status", {})
        return found

    def node(self, name: str) -> dict[str, Any]:
        """A node's metadata, with every map there."""
        found: dict[str, Any] = self.cluster.get("node", name)["metadata"]
        return {"labels": {}, "annotations": {}} | found

    def record(self, name: str) -> dict[str, Any]:
        """Our record of a node, as it is written there."""
        found: dict[str, Any] = json.loads(self.node(name)["annotations"][keys.RECORD_ANNOTATION])
        return found

    def events(self) -> set[tuple[str, str, str]]:
        """What was told about the nodes of the fleet: node, type and text."""
        found = self.cluster.get("events", "-n", "default", "--field-selector", "reason=GPUDriverUpgrade")["items"]
        told = {(each["involvedObject"]["name"], each["type"], each["message"]) for each in found}
        return {each for each in told if each[0] in self.fleet.nodes}

    def requests(self) -> list[AuditedRequest]:
        """What the controller asked of the API server since the story began."""
        ours = (each for each in self.cluster.requests("seatrial") if each.user == self.user)
        return [each for each in ours if datetime.fromisoformat(each.at).timestamp() >= self.began_at]

    def evictions(self) -> list[AuditedRequest]:
        return [each for each in self.requests() if each.subresource == "eviction"]

    def why(self, node: str) -> str:
        return self.run("why", node).stdout

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Our command as a person runs it beside this rollout."""
        named = (self.rollout,) if arguments[0] == "status" else ("--rollout", self.rollout)
        return forked.run(*arguments, *named, "--kubeconfig", str(self.cluster.kubeconfig))

    def do(self, *arguments: str) -> str:
        """Our command as a person runs it, when it has to work."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def patch(self, **spec: Any) -> None:
        """Change the rollout."""
        body = json.dumps({"spec": spec})
        self.cluster.kubectl("patch", "gpurollout", self.rollout, "--type=merge", "-p", body)

    def label(self, node: str, label: str) -> None:
        self.cluster.kubectl("label", "node", node, label, "--overwrite")

    def annotate(self, node: str, annotation: str) -> None:
        self.cluster.kubectl("annotate", "node", node, annotation, "--overwrite")

    def remove(self, workload: Workload) -> None:
        """Take a workload off its node for good; its namespace goes with the fleet."""
        where = ("-n", workload.namespace, "--wait=false")
        self.cluster.kubectl("delete", "deployment,daemonset,job,pod", "--all", *where, "--cascade=foreground")

        def is_gone() -> bool:
            # A pod made while its controller was about to go may stay Terminating like the one before it.
            left = self.cluster.get("pods", "-n", workload.namespace)["items"]
            if left:
                consumers.release(self.fleet, workload)
            return not left

        waiting.wait_for(
            is_gone,
            what=f"the pods of {workload.name} to be gone",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: self.cluster.kubectl("get", "pods", "-n", workload.namespace),
        )


Play: TypeAlias = Callable[..., AbstractContextManager[Stage]]


@pytest.fixture(scope="module")
def account(cluster: ControlPlane, fleet: Fleet) -> Path:
    """The kubeconfig of a module's controllers."""
    return controller_process.identity(cluster, fleet.spec.prefix)


@pytest.fixture
def play(cluster: ControlPlane, fleet: Fleet, account: Path, make_rollout: RolloutMaker, tmp_path: Path) -> Play:
    """Open a story: its rollout, its controller, its history. Whatever happens in it, the journal stays whole."""

    @contextmanager
    def opened(
        name: str,
        *,
        limits: dict[str, Any] | None = None,
        target: str = "",
        components: Mapping[str, str] | None = None,
        pages: str = "",
        arguments: Sequence[str] = (),
        lease_seconds: int = PATIENT_SECONDS,
        **spec: Any,
    ) -> Iterator[Stage]:
        (running,) = set(fleet.driver_versions().values())
        (other,) = set(DRIVERS) - {running}
        wanted = target or other
        limits = ANY | (limits or {})
        make_rollout(name, fleet=fleet.spec.prefix, target=wanted, limits=limits, components=components, **spec)
        controller = ControllerProcess(
            account, name, tmp_path, lease_seconds=lease_seconds, pages=pages, arguments=arguments
        )
        began_at = time.time()
        with History(cluster, fleet.spec.prefix) as history, controller:
            yield Stage(
                cluster=cluster,
                fleet=fleet,
                history=history,
                controller=controller,
                user=f"system:serviceaccount:seatrial:{fleet.spec.prefix}",
                began_at=began_at,
                rollout=name,
                running=running,
                target=wanted,
            )
        assert first_broken_line(controller.journal) is None

    return opened


@pytest.fixture(scope="module")
def shared(
    cluster: ControlPlane, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LightStage]:
    """The light stage of all stories of a module, named by its PREFIX."""
    prefix: str = request.module.PREFIX
    with light_stage(cluster, tmp_path_factory.mktemp(prefix), prefix) as made:
        yield made


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before."""
    shared.open()
    return shared
