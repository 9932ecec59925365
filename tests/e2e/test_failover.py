"""Leaders that are killed or frozen in the middle of a campaign, and woken when another one leads: who writes, counts.

A candidate is a controller with an account and a way to the API server of its own, so that the audit log tells whose
write was whose, and a write can be held up after its sender has checked that it leads. That is the worst moment to
freeze: on waking, nothing of the old leader stands between the write and the cluster but what the write itself demands.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from seatrial.testbed import controller_process, waiting
from seatrial.testbed.audit import AuditedRequest
from seatrial.testbed.controller_process import ControllerProcess
from seatrial.testbed.history import LedgerMoment
from seatrial.testbed.write_proxy import Write, WriteProxy
from tests.e2e.campaigns import BAD, MATRIX, NEW, OLD, Stage, left_behind, matrix_of, staged
from tests.e2e.promises import driver_restarts, is_under_way, most_unavailable, most_under_way

pytestmark = [pytest.mark.cluster, pytest.mark.operator]

NODES = 5
LEASE_SECONDS = 4
PARALLEL, UNAVAILABLE = 2, 2
TIMEOUT_SECONDS = 90.0
SPEC: dict[str, Any] = {
    "publish": {"via": "direct"},
    "gates": [{"name": "smoke", "image": "nvcr.io/nvidia/pytorch:24.03-py3", "command": ["python", "train.py"]}],
    "bake": {"durationSeconds": 1, "everySeconds": 60},
    "waves": {"growth": "percentages", "percentages": [50, 100]},
    "limits": {"maxParallelUpgrades": PARALLEL, "maxUnavailable": UNAVAILABLE},
}
HELD = (
    "PATCH clusterpolicies",
    "POST pods/eviction",
    "DELETE pods",
    "POST jobs",
    "PATCH gpurollouts/status",
    "PATCH nodes",
)
"""Every kind of write of a campaign, in the order in which leaders are frozen with one of them on its way."""
QUIET = ("leases", "events", "selfsubjectaccessreviews")
READING = ("get", "list", "watch")


@dataclass(kw_only=True)
class Candidate:
    """A controller that leads or stands by, and what it wrote."""

    name: str
    user: str
    controller: ControllerProcess
    done: list[Write] = field(default_factory=list)
    """Its writes that the API server has answered, in order."""
    held: Write | None = None
    """The write that is held up on its way."""
    _wanted: str = ""
    _release: threading.Event = field(default_factory=threading.Event)

    def hold_up(self, kind: str) -> None:
        """Hold up the next write of this kind."""
        self._wanted = kind

    def release(self) -> Write:
        """Let the held write go on, and say how it was answered."""
        held = self.held
        assert held is not None
        self._release.set()
        return waiting.wait_for(
            lambda: next((each for each in self.done if each.body is held.body), None),
            what=f"the answer to {held}",
            timeout_seconds=30,  # an eviction of a pod that is gone is tried for ten seconds
        )

    def before(self, write: Write) -> bool:
        if self._wanted == write.kind and self.held is None:
            self.held = write
            self._release.wait()
        return True

    def has_said(self, what: str) -> bool:
        return f" {what} " in self.said()

    def said(self) -> str:
        return self.controller.log.read_text(encoding="utf-8")


@dataclass(kw_only=True)
class Cast:
    """Makes candidates, one after the other."""

    stage: Stage
    folder: Path
    stack: ExitStack
    all: list[Candidate] = field(default_factory=list)

    def enter(self) -> Candidate:
        """A further candidate; returns when it leads, or stands by."""
        name = f"candidate-{len(self.all)}"
        folder = self.folder / name
        folder.mkdir()
        account = controller_process.identity(self.stage.plane, name, has_campaigns=True)
        proxy = self.stack.enter_context(WriteProxy(account, authority=self.stage.plane.authority))
        controller = ControllerProcess(proxy.kubeconfig, "", folder, lease_seconds=LEASE_SECONDS)
        made = Candidate(name=name, user=f"system:serviceaccount:seatrial:{name}", controller=controller)
        proxy.before, proxy.after = made.before, made.done.append
        self.all.append(made)
        controller.start()
        self.stack.callback(controller.kill)
        what = "standing by" if len(self.all) > 1 else "leading"
        self.wait(lambda: made.has_said(what) or made.has_said("leading"), f"{name} to be {what}")
        return made

    def wait(self, is_so: Any, what: str) -> None:
        waiting.wait_for(
            is_so,
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.1,
            describe=lambda: f"{self.stage.status()}\n{self.all[-1].said()[-1500:]}",
        )

    def wait_leads(self, candidate: Candidate, writes: int) -> None:
        """Wait until a candidate leads and has written so many times."""
        self.wait(
            lambda: sum(each.code < 300 for each in candidate.done) >= writes,
            f"{candidate.name} to lead and to write",
        )


@pytest.fixture
def cast(tmp_path: Path) -> Iterator[Cast]:
    with staged(tmp_path, "cluster-policy", node_count=NODES, is_synced=False) as stage:
        stage.controller.stop()
        stage.beside.fleet.add_workload("service", replicas=NODES, gpus_per_pod=7, termination_seconds=0.2)
        with ExitStack() as stack:
            yield Cast(stage=stage, folder=tmp_path, stack=stack)


def begin(cast: Cast, name: str, running: str, target: str) -> None:
    commit = cast.stage.commit(f"Try driver {target} on the canary", **{MATRIX: matrix_of(running, target)})
    cast.stage.start(name, target, commit, **SPEC)


def wait_phase(cast: Cast, phase: str) -> None:
    cast.wait(lambda: cast.stage.status().get("phase") == phase, f"{cast.stage.rollout} to be {phase}")


def writes_after_losing(cast: Cast) -> dict[str, list[AuditedRequest]]:
    """By candidate: what it asked the API server to change after another one had taken the Lease from it."""
    requests = cast.stage.plane.requests("seatrial")
    taken = {
        each.name: next((_at(one) for one in requests if one.user == each.user and _is_claim(one)), None)
        for each in cast.all
    }
    found: dict[str, list[AuditedRequest]] = {}
    for each, after in zip(cast.all, cast.all[1:], strict=False):
        lost_at = taken[after.name]
        found[each.name] = [
            one
            for one in requests
            if one.user == each.user
            and lost_at is not None
            and _at(one) > lost_at
            and one.verb not in READING
            and one.resource not in QUIET
        ]
    return found


def _is_claim(request: AuditedRequest) -> bool:
    return request.resource == "leases" and request.verb in ("create", "update") and request.code < 300


def _at(request: AuditedRequest) -> float:
    return datetime.fromisoformat(request.at).timestamp()


def check_end(cast: Cast, version: str, *, restarts: int) -> None:
    stage, names = cast.stage, cast.stage.beside.nodes
    assert stage.beside.driver_versions() == dict.fromkeys(names, version)
    latest = stage.history.latest()
    assert {(latest[name].state, latest[name].is_cordoned) for name in names} == {("upgrade-done", False)}
    assert {name: len(driver_restarts(stage.history, name)) for name in names} == dict.fromkeys(names, restarts)
    assert not left_behind(stage)
    assert most_under_way(stage.history) <= PARALLEL
    assert most_unavailable(stage.history) <= UNAVAILABLE
    ledgers = [moment.admitted for moment in stage.history.moments if isinstance(moment, LedgerMoment)]
    assert max(map(len, ledgers)) <= PARALLEL
    assert ledgers[-1] == ()


def is_mid_wave(cast: Cast) -> bool:
    """Whether a node beside the canary is under way, and another one still waits."""
    _, *others = cast.stage.beside.nodes
    latest = cast.stage.history.latest()
    runs = {version for node, version in cast.stage.beside.driver_versions().items() if node in others}
    return any(is_under_way(latest[name]) for name in others) and len(runs) > 1


def test_leaders_frozen_with_a_write_on_its_way_change_nothing_once_another_leads(cast: Cast) -> None:
    leader = cast.enter()
    answers: dict[str, int] = {}
    begin(cast, "frozen", OLD, NEW)
    for kind in HELD:
        if kind == HELD[-2]:
            wait_phase(cast, "Waving")
        leader.hold_up(kind)
        follower = cast.enter()
        cast.wait(lambda: leader.held is not None, f"{leader.name} to send {kind}")  # noqa: B023
        leader.controller.freeze()
        cast.wait_leads(follower, 2)
        answers[kind] = leader.release().code
        leader.controller.thaw()
        leader.controller.wait_dead(TIMEOUT_SECONDS)
        assert not leader.controller.is_running, "whoever has lost the Lease ends, and begins anew as a standby"
        leader = follower
    wait_phase(cast, "Done")
    late = writes_after_losing(cast)
    print(
        answers,
        {
            name: [(one.verb, one.resource, one.subresource, one.name, one.code) for one in some]
            for name, some in late.items()
        },
    )
    check_end(cast, NEW, restarts=1)


def test_a_leader_killed_and_one_frozen_mid_wave_spend_no_node_twice(cast: Cast) -> None:
    killed, frozen = cast.enter(), cast.enter()
    begin(cast, "killed", OLD, BAD)
    cast.wait(lambda: is_mid_wave(cast), "a wave to be under way")
    killed.controller.kill()
    cast.wait_leads(frozen, 2)
    last = cast.enter()
    frozen.controller.freeze()
    cast.wait_leads(last, 3)
    frozen.controller.thaw()
    frozen.controller.wait_dead(TIMEOUT_SECONDS)
    assert not frozen.controller.is_running
    wait_phase(cast, "Done")
    late = writes_after_losing(cast)
    assert {name: [one for one in some if one.code < 300] for name, some in late.items()} == {
        killed.name: [],
        frozen.name: [],
    }
    check_end(cast, BAD, restarts=1)
