"""Leaders that are killed or frozen in the middle of a campaign, and woken when another one leads: who writes, counts.

A candidate is a controller with an account and a way to the API server of its own, so that the audit log tells whose
write was whose, and a write can be held up after its sender has checked that it leads. That is the worst moment to
freeze: on waking, nothing of the old leader stands between the write and the cluster but what the write itself demands.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import LedgerMoment
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.write_proxy import Write, WriteProxy
from tests.e2e.campaigns import BAD, MATRIX, NEW, OLD, Stage, left_behind, matrix_of, staged
from tests.e2e.promises import driver_restarts, is_under_way, most_unavailable, most_under_way

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.long]

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
HELD: dict[str, tuple[bytes, ...]] = {
    "PATCH clusterpolicies": (),
    "POST pods/eviction": (),
    "DELETE pods": (),
    "POST jobs": (b'"smoke"',),
    "PATCH gpurollouts/status": (b'"phase":"Waving"', b'"admitted":[{'),
    "PATCH nodes": (b'"unschedulable":true',),
}
"""Every kind of write, in the order in which leaders are frozen with one of them on its way, and what it has to say.

The last two are of a wave: nodes are admitted to the ledger, and one of them is cordoned.
"""
GONE, CONFLICT = 404, 409
FEW = 3
"""Writes after which a leader is in the middle of something."""
PUSH = "push"
PUSH_HOOK = """#!/bin/sh
touch {folder}/pushing
until [ -e {folder}/go ]; do sleep 0.1; done
"""
"""Git asks this before it pushes: by then the controller has looked, found nothing, and made its commit."""
QUIET = ("leases", "events", "selfsubjectaccessreviews")
READING = ("get", "list", "watch")


@dataclass(kw_only=True)
class Candidate:
    """A controller that leads or stands by, and what it wrote."""

    name: str
    user: str
    folder: Path
    controller: ControllerProcess
    frozen_by: str = ""
    """The kind of write at which it is frozen, once it has left and before it arrives."""
    frozen_after: int = 0
    """How many of its writes are answered before it is frozen; 0 for never."""
    done: list[Write] = field(default_factory=list)
    """Its writes that the API server has answered, in order."""
    held: Write | None = None
    _release: threading.Event = field(default_factory=threading.Event)

    def before(self, write: Write) -> bool:
        """Freeze it at the write that it is to be frozen by; whatever else is on its way then is held up too."""
        is_it = write.kind == self.frozen_by and all(part in write.body for part in HELD[self.frozen_by])
        if self.held is None and is_it:
            self.held = write
            self.controller.freeze()
        if self.held is not None:
            self._release.wait()
        return True

    def after(self, write: Write) -> None:
        self.done.append(write)
        if len(self.done) == self.frozen_after:
            self.controller.freeze()

    def release(self) -> Write:
        """Let what was held up go on, and say how the write was answered that it was frozen by."""
        held = self.held
        assert held is not None
        self._release.set()
        return waiting.wait_for(
            lambda: next((each for each in self.done if each.body is held.body), None),
            what=f"the answer to {held}",
            timeout_seconds=30,  # an eviction of a pod that is gone is tried for ten seconds
        )

    def has_done_too(self, write: Write) -> bool:
        return any((each.kind, each.name) == (write.kind, write.name) and each.code < 300 for each in self.done)

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

    def enter(self, *, frozen_by: str = "", frozen_after: int = 0) -> Candidate:
        """A further candidate; returns when it leads, or stands by."""
        name = f"candidate-{len(self.all)}"
        folder = self.folder / name
        folder.mkdir()
        account = controller_process.identity(self.stage.plane, name, has_campaigns=True)
        proxy = self.stack.enter_context(WriteProxy(account, authority=self.stage.plane.authority))
        environment = hook_pushes(folder) if frozen_by == PUSH else {}
        controller = ControllerProcess(
            proxy.kubeconfig, "", folder, lease_seconds=LEASE_SECONDS, environment=environment
        )
        user = f"system:serviceaccount:seatrial:{name}"
        made = Candidate(
            name=name,
            user=user,
            folder=folder,
            controller=controller,
            frozen_by=frozen_by,
            frozen_after=frozen_after,
        )
        proxy.before, proxy.after = made.before, made.after
        self.all.append(made)
        controller.start()
        self.stack.callback(controller.kill)
        self.wait(lambda: made.has_said("standing by") or made.has_said("leading"), f"{name} to stand by, or to lead")
        return made

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        waiting.wait_for(
            is_so,
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.1,
            describe=lambda: f"{self.stage.status()}\n{self.all[-1].said()[-1500:]}",
        )

    def wait_held(self, candidate: Candidate) -> Write:
        """Wait until a candidate is frozen with a write on its way."""
        self.wait(lambda: candidate.held is not None, f"{candidate.name} to send {candidate.frozen_by}")
        assert candidate.held is not None
        return candidate.held

    def wait_leads(self, candidate: Candidate, writes: int) -> None:
        """Wait until a candidate leads and has written so many times."""
        self.wait(
            lambda: sum(each.code < 300 for each in candidate.done) >= writes,
            f"{candidate.name} to lead and to write",
        )


def hook_pushes(folder: Path) -> dict[str, str]:
    """The environment of a controller whose pushes are held up until a file is there."""
    (folder / ".gitconfig").write_text(f"[core]\n\thooksPath = {folder / 'hooks'}\n", encoding="utf-8")
    (folder / "hooks").mkdir()
    hook = folder / "hooks" / "pre-push"
    hook.write_text(PUSH_HOOK.format(folder=folder), encoding="utf-8")
    hook.chmod(0o755)
    return {"HOME": str(folder)}


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


def policy_generation(cast: Cast) -> int:
    """Grows with every change of what the ClusterPolicy asks for."""
    return int(cast.stage.plane.get("clusterpolicy", "cluster-policy")["metadata"]["generation"])


def is_leaving(cast: Cast, write: Write) -> bool:
    """Whether a write is about a pod that is still to be seen."""
    parts = write.path.split("/")
    if "pods" not in parts:
        return False
    namespace, name = parts[parts.index("namespaces") + 1], parts[parts.index("pods") + 1]
    found = cast.stage.plane.get("pods", "-n", namespace, "--field-selector", f"metadata.name={name}")["items"]
    return bool(found)


def is_mid_wave(cast: Cast) -> bool:
    """Whether a node beside the canary is under way, and another one still waits."""
    _, *others = cast.stage.beside.nodes
    latest = cast.stage.history.latest()
    runs = {version for node, version in cast.stage.beside.driver_versions().items() if node in others}
    return any(is_under_way(latest[name]) for name in others) and len(runs) > 1


def test_leaders_frozen_with_a_write_on_its_way_change_nothing_once_another_leads(cast: Cast) -> None:
    leader = cast.enter(frozen_by=next(iter(HELD)))
    begin(cast, "frozen", OLD, NEW)
    answers: dict[str, int] = {}
    for kind, following in pairwise((*HELD, PUSH)):
        held = cast.wait_held(leader)
        follower = cast.enter(frozen_by=following)
        cast.wait(lambda: follower.has_done_too(held), f"{follower.name} to do {held}")  # noqa: B023  waited for here
        # Whoever deletes a pod that is on its way out is told yes, and nothing comes of it.
        cast.wait(lambda: not is_leaving(cast, held), f"the pod of {held} to be gone")  # noqa: B023  waited for here
        generation = policy_generation(cast)
        answers[kind] = leader.release().code
        leader.controller.thaw()
        leader.controller.wait_dead(TIMEOUT_SECONDS)
        assert not leader.controller.is_running, "whoever has lost the Lease ends, to begin anew as a standby"
        assert policy_generation(cast) == generation
        leader = follower
    cast.wait((leader.folder / "pushing").exists, f"{leader.name} to push")
    leader.controller.freeze()
    cast.enter()
    wait_phase(cast, "Done")
    (leader.folder / "go").touch()
    leader.controller.thaw()
    leader.controller.wait_dead(TIMEOUT_SECONDS)
    assert "Somebody else pushed" in leader.said()

    late = [one for some in writes_after_losing(cast).values() for one in some]
    assert [one.resource for one in late if one.code < 300] == []
    assert all(code in (GONE, CONFLICT) for code in answers.values()), answers
    check_end(cast, NEW, restarts=1)
    subjects = [f"Try driver {NEW} on the canary", f"Promote driver {NEW} to production"]
    assert cast.stage.remote_log()[1:] == subjects
    assert len(cast.stage.tags()) == 1


def test_a_leader_killed_and_one_frozen_mid_wave_spend_no_node_twice(cast: Cast) -> None:
    killed, frozen = cast.enter(), cast.enter(frozen_after=FEW)
    begin(cast, "killed", OLD, BAD)
    cast.wait(lambda: is_mid_wave(cast), "a wave to be under way")
    killed.controller.kill()
    cast.wait_leads(frozen, FEW)
    last = cast.enter()
    cast.wait_leads(last, FEW)
    frozen.controller.thaw()
    frozen.controller.wait_dead(TIMEOUT_SECONDS)
    assert not frozen.controller.is_running
    wait_phase(cast, "Done")
    late = [one for some in writes_after_losing(cast).values() for one in some]
    assert [one for one in late if one.code < 300] == []
    check_end(cast, BAD, restarts=1)


def test_a_publish_held_up_over_an_abort_does_not_take_effect(cast: Cast) -> None:
    leader = cast.enter(frozen_by="PATCH clusterpolicies")
    begin(cast, "aborted", OLD, NEW)
    cast.wait_held(leader)
    body = json.dumps({"spec": {"abort": "second thoughts"}})
    cast.stage.plane.kubectl("patch", "gpurollout", "aborted", "--type=merge", "-p", body)
    cast.enter()
    wait_phase(cast, "Reverted")
    assert leader.release().code == CONFLICT, "the way back has left its note, so the write is bound to what is gone"
    leader.controller.thaw()
    leader.controller.wait_dead(60)
    assert cast.stage.plane.get("clusterpolicy", "cluster-policy")["spec"]["driver"]["version"] == OLD
