"""Renewals of the Lease that are slow, contested or lost, on the real API server: who leads does so to the deadline.

The way to the API server is a proxy that meets the writes of Leases too, so that one of them can take its time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seatrial import supervision
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.lease import Election
from seatrial.controller import leading
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.plane.write_proxy import COURTESIES, LEASES, Write, WriteProxy
from tests.e2e.light_stage import light_stage

pytestmark = pytest.mark.cluster

SLOW_SECONDS = 5.0
LEASE_SECONDS = 15
SHORT_LEASE_SECONDS = 3
RULE = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "create", "update"]}
CONFLICT = 409


@dataclass(kw_only=True)
class Way:
    """What happens to writes on their way to the API server."""

    slow: int = 0
    """So many renewals from now on take SLOW_SECONDS."""
    is_cut: bool = False
    """Whether no renewal arrives any more."""
    begun: list[tuple[float, Write]] = field(default_factory=list)
    """Every write, and when it was begun."""
    done: list[Write] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def before(self, write: Write) -> bool:
        self.begun.append((time.monotonic(), write))
        if not write.kind.endswith(LEASES):
            return True
        if self.is_cut:
            self.over.wait()
            return False
        if self.slow:
            self.slow -= 1
            self.over.wait(SLOW_SECONDS)
        return True

    def answered(self, code: int, count: int = 1) -> bool:
        """Whether so many renewals were answered so."""
        return sum(each.code == code for each in self.done) >= count


@pytest.fixture
def way() -> Iterator[Way]:
    made = Way()
    yield made
    made.over.set()


@contextmanager
def proxied(plane: ControlPlane, account: Path, way: Way) -> Iterator[Path]:
    """The same account on a way of its own."""
    proxy = WriteProxy(
        account, authority=plane.authority, before=way.before, after=way.done.append, unmet=COURTESIES - {LEASES}
    )
    with proxy:
        yield proxy.kubeconfig
        way.over.set()


@contextmanager
def standing(plane: ControlPlane, namespace: str, way: Way) -> Iterator[Election]:
    """A candidate as the controller makes it, leading."""
    account = plane.service_account(namespace, "candidate", namespaced_rules={namespace: [RULE]})
    told: list[supervision.Ending] = []
    with proxied(plane, account, way) as kubeconfig:
        election = leading.candidate(
            configs.load_config(kubeconfig=str(kubeconfig), environ={}),
            namespace=namespace,
            seconds=LEASE_SECONDS,
            identity="me",
            user_agent="seatrial/lease",
            tell=told.append,
        )
        election.start()
        try:
            assert election.wait_until_leader(30)
            yield election
        finally:
            way.over.set()
            election.release()
    assert told == []


def wait_leading(election: Election, is_so: object, what: str) -> None:
    """Wait for something, and see us lead all the while."""

    def look() -> bool:
        assert election.is_leader(), f"leadership was lost while waiting for {what}"
        return bool(is_so()) if callable(is_so) else bool(is_so)

    waiting.wait_for(look, what=what, timeout_seconds=30, pause_seconds=0.02)


def test_one_renewal_that_takes_five_seconds_does_not_end_the_leadership(plane: ControlPlane, way: Way) -> None:
    with standing(plane, "slow-lease", way) as election:
        before = len(way.done)
        way.slow = 1

        wait_leading(election, lambda: len(way.done) >= before + 2, "the slow renewal, and the one after it")

        assert election.standing().transition_count == 0
    assert {each.code for each in way.done} == {200, 201}


def test_a_label_on_the_lease_does_not_end_the_leadership(plane: ControlPlane, way: Way) -> None:
    with standing(plane, "labelled-lease", way) as election:
        plane.kubectl("label", "lease", leading.LEASE, "-n", "labelled-lease", "team=gpu")

        wait_leading(election, lambda: way.answered(CONFLICT), "the renewal that meets the label")
        renewed = len(way.done)
        wait_leading(election, lambda: len(way.done) >= renewed + 2, "two renewals after it")

    found = plane.get("lease", leading.LEASE, "-n", "labelled-lease")
    assert found["metadata"]["labels"] == {"team": "gpu"}
    assert found["spec"].get("leaseTransitions", 0) == 0


def test_a_leader_that_cannot_renew_stops_at_the_deadline_and_writes_nothing_after_it(
    plane: ControlPlane, tmp_path: Path, way: Way
) -> None:
    controller_process.install(plane)
    timing = leading.timing_of(SHORT_LEASE_SECONDS)
    with ExitStack() as stack:
        stage = stack.enter_context(light_stage(plane, tmp_path, "lost-lease", node_count=6))
        stage.controller.stop()
        stage.open()
        account = controller_process.identity(plane, "lost-lease-proxied", has_campaigns=True)
        kubeconfig = stack.enter_context(proxied(plane, account, way))
        (tmp_path / "proxied").mkdir()
        controller = stack.enter_context(
            ControllerProcess(kubeconfig, "", tmp_path / "proxied", lease_seconds=SHORT_LEASE_SECONDS)
        )
        stage.controller = controller
        one_by_one = {"maxParallelUpgrades": 1, "maxUnavailable": 1}
        stage.begin("lost-lease", publish={"via": "direct"}, limits=one_by_one)
        stage.wait(lambda: any(each.kind == "PATCH nodes" for each in way.done), "the first node to be marked")

        way.is_cut = True
        confirmed_at = max(at for at, each in way.begun if each.kind.endswith(LEASES))
        controller.wait_dead(30)

        assert not controller.is_running
        assert "The lease was lost" in controller.log.read_text(encoding="utf-8")
        writes = [(at, each) for at, each in way.begun if not each.kind.endswith(LEASES)]
        assert max(at for at, _ in writes) < confirmed_at + timing.deadline_seconds
        assert stage.campaign()["phase"] not in ("Done", "Promoting")
