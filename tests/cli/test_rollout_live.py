"""The rollout commands against a real API server with the shipped definition: what they create, change and refuse."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.adapters.git.remotes import bare
from tests.app.rollout.test_targeting import FILE, a_matrix
from tests.cli.test_rollout_watch import screen_of

pytestmark = pytest.mark.cluster

OLD, NEW = "570.124.06", "580.105.08"
PREFIX = "climb"
MEMBERS = f"testbed.seatrial.dev/fleet={PREFIX}"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture(scope="module")
def fleet(plane: ControlPlane) -> Iterator[Fleet]:
    """Five nodes with the old driver, and a ClusterPolicy that says so."""
    controller_process.install(plane)
    plane.kubectl("-n", keys.HOME, "delete", "lease", "seatrial", "--ignore-not-found")  # of stories before this one
    made = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=5, driver_version=OLD, reload_seconds=0.5))
    plane.apply([a_policy()])
    yield made
    plane.kubectl("delete", "clusterpolicy", "climb", "--ignore-not-found")


def a_policy() -> dict[str, Any]:
    some: dict[str, Any] = {"enabled": True}
    driver = {"enabled": True, "version": OLD, "image": "driver", "upgradePolicy": {"autoUpgrade": False}}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "climb"},
        "spec": {
            "operator": {"defaultRuntime": "containerd"},
            "daemonsets": {},
            "driver": driver,
            "toolkit": some,
            "devicePlugin": some,
            "dcgm": some,
            "dcgmExporter": some,
            "nodeStatusExporter": {},
            "gfd": some,
        },
    }


@pytest.fixture
def run(plane: ControlPlane, fleet: Fleet) -> Iterator[Run]:
    """Run our command as a person does; every rollout is gone afterwards."""

    def call(*arguments: str, stdin: str | None = None) -> Said:
        done = forked.run(*arguments, "--kubeconfig", str(plane.kubeconfig), stdin=stdin or "")
        return Said(code=done.returncode, out=done.stdout, err=done.stderr)

    yield call
    controller_process.remove_rollouts(plane)  # where a controller ran, it has put its finalizer on


def start(run: Run, *arguments: str, name: str = "spring") -> Said:
    said = run("rollout", "start", name, "--driver", NEW, "--selector", MEMBERS, "-y", *arguments)
    assert said.code == 12, said.err
    assert "It does not begin yet: no controller is in charge" in said.err
    return said


def write_status(plane: ControlPlane, name: str, **campaign: Any) -> None:
    """Say for the controller where the campaign stands."""
    patch = json.dumps({"status": {"phase": campaign["phase"], "campaign": campaign}})
    plane.kubectl("patch", "gpurollout", name, "--subresource=status", "--type=merge", "-p", patch)


def writes(plane: ControlPlane) -> list[AuditedRequest]:
    """What our command asked to have written, by the API server's own account."""
    return [each for each in plane.requests("seatrial") if "(cli)" in each.user_agent and each.verb in WRITES]


# ── start ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_start_shows_what_will_happen_and_creates_it(run: Run, plane: ControlPlane) -> None:
    said = start(run, "--bake", "24h", "--wave", "1", "--gate", "smoke=example.com/smoke:1 run --fast")
    assert said.out == "gpurollout.seatrial.dev/spring created\n"
    for line in (
        f"Rollout   spring: driver {NEW}, now {OLD} on 5 of 5 nodes",
        "Gates     readiness, smoke (example.com/smoke:1)",
        "Bake      24 h with evidence, gates asked every 1 h",
        "Waves     1, 2, 1 nodes",
        "Publish   by writing ClusterPolicy/climb",
        "Nodes     moved by seatrial (direct)",
        "Watch it with `seatrial status spring -w`.",
    ):
        assert line in said.err
    spec = plane.get("gpurollout", "spring")["spec"]
    assert spec["target"] == {"driver": NEW}
    assert spec["bake"] == {"durationSeconds": 86_400, "everySeconds": 3_600}
    assert spec["waves"]["first"] == "1"
    (gate,) = spec["gates"]
    assert gate == {
        "name": "smoke",
        "image": "example.com/smoke:1",
        "command": ["run", "--fast"],
        "gpus": 1,
        "timeoutSeconds": 600,
    }


def test_a_start_from_git_pins_the_commit_it_read(run: Run, plane: ControlPlane, tmp_path: Path) -> None:
    remote = bare(tmp_path)
    commit = remote.person().write(FILE, a_matrix(NEW).replace("gpu-7", "climb-1"))
    said = run("rollout", "start", "fromgit", "--git", str(remote.path), "--selector", MEMBERS, "-y")
    assert said.code == 12, said.err
    spec = plane.get("gpurollout", "fromgit")["spec"]
    assert spec["matrix"] == {
        "git": {"url": str(remote.path), "branch": "main", "path": FILE, "commit": commit},
        "entry": "canary",
    }
    assert spec["canary"] == {"count": 1, "nodes": ["climb-1"]}


def test_a_file_is_started_as_it_is_and_checked_like_the_rest(run: Run, plane: ControlPlane, tmp_path: Path) -> None:
    file = tmp_path / "rollout.yaml"
    body = {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "filed"},
        "spec": {"target": {"driver": NEW}, "canary": {"count": 2}, "nodeSelector": dict([MEMBERS.split("=")])},
    }
    file.write_text(json.dumps(body))
    assert run("rollout", "start", "-f", str(file), "-y", "-o", "name").out == "gpurollout.seatrial.dev/filed\n"
    assert plane.get("gpurollout", "filed")["spec"]["canary"]["count"] == 2
    body["spec"]["canray"] = {}  # type: ignore[index]
    file.write_text(json.dumps(body | {"metadata": {"name": "typo"}}))
    said = run("rollout", "start", "-f", str(file), "-y")
    assert said.code == 8
    assert 'unknown field "spec.canray"' in said.err


def test_where_nobody_can_be_asked_nothing_is_created(run: Run, plane: ControlPlane) -> None:
    said = run("rollout", "start", "--driver", NEW, "--selector", MEMBERS)
    assert said.code == 2
    assert "add -y" in said.err
    assert plane.get("gpurollouts")["items"] == []


def test_a_file_to_publish_to_that_is_not_there_is_told_before_anything_is_created(
    run: Run, plane: ControlPlane, tmp_path: Path
) -> None:
    remote = bare(tmp_path)
    remote.person().write(FILE, a_matrix(NEW).replace("gpu-7", "climb-1"))
    where = ("--git", str(remote.path), "--publish", "git", "--publish-path", "clusters/nowhere.yaml")
    for more in ("--dry-run", "-y"):
        said = run("rollout", "start", "lost", *where, "--selector", MEMBERS, more)
        assert said.code == 1, said.err
        assert "has no clusters/nowhere.yaml on main" in said.err
    assert plane.get("gpurollouts")["items"] == []


@pytest.mark.parametrize(("answer", "code"), [("y", 12), ("n", 1), ("", 1)])
def test_a_person_is_asked_and_only_a_yes_is_one(run: Run, plane: ControlPlane, answer: str, code: int) -> None:
    master, slave = pty.openpty()
    where = ("--kubeconfig", str(plane.kubeconfig))
    command = [sys.executable, "-m", "seatrial", "rollout", "start", "--driver", NEW, "--selector", MEMBERS, *where]
    os.write(master, f"{answer}\n".encode())  # the terminal keeps it until it is read
    done = subprocess.run(command, stdin=slave, capture_output=True, text=True, timeout=60, check=False)
    os.close(slave)
    os.close(master)
    assert done.returncode == code, done.stderr
    assert "Start it? [y/N]" in done.stderr
    assert len(plane.get("gpurollouts")["items"]) == (1 if code == 12 else 0)


def test_what_nobody_knows_is_refused_before_anything_is_created(run: Run, plane: ControlPlane) -> None:
    said = run("rollout", "start", "--driver", "999.1.2", "-y")
    assert said.code == 11
    assert "--accept-unknown" in said.err
    assert plane.get("gpurollouts")["items"] == []


def test_a_second_one_is_created_and_told_to_be_held(run: Run, plane: ControlPlane) -> None:
    start(run)
    said = start(run, name="summer")
    assert "It is held until spring has ended" in said.err
    assert {each["metadata"]["name"] for each in plane.get("gpurollouts")["items"]} == {"spring", "summer"}


def test_a_trial_tells_every_write_up_to_the_first_verdict_and_makes_none(run: Run, plane: ControlPlane) -> None:
    before = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in plane.get("nodes")["items"]}
    policy = plane.get("clusterpolicy", "climb")["metadata"]["resourceVersion"]
    asked_before = writes(plane)
    arguments = ("--driver", NEW, "--selector", MEMBERS, "--gate", "smoke=example.com/smoke:1", "trial")
    said = run("rollout", "start", *arguments, "--dry-run")
    assert said.code == 0, said.out + said.err
    rows = said.out.splitlines()
    told = [
        next((number for number, row in enumerate(rows) if part in row), None)
        for part in (
            "gpurollout/trial           ",
            "label seatrial.dev/canary=trial",
            f"ClusterPolicy/climb driver version {NEW}",
            "cordon, state",
            "delete, so that its DaemonSet starts a new driver",
            "phase Gating",
            "job for gate smoke",
            "phase Baking",
            "uncordon, state",
            "then: gates readiness, smoke asked again every 1 h, bake 2 d with evidence, waves of 1, 2, 1 nodes",
        )
    ]
    assert None not in told, said.out
    assert told == sorted(told, key=lambda place: place or 0), said.out
    assert plane.get("gpurollouts")["items"] == []
    assert {
        each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in plane.get("nodes")["items"]
    } == before
    assert plane.get("clusterpolicy", "climb")["metadata"]["resourceVersion"] == policy
    since = [each for each in writes(plane)[len(asked_before) :] if each.resource != "subjectaccessreviews"]
    asked = [("dryRun=All" in each.request_uri, each.resource) for each in since]
    assert asked == [(True, "gpurollouts"), (True, "clusterpolicies")]


def test_a_trial_says_what_it_would_wait_for(run: Run) -> None:
    said = run("rollout", "start", "--driver", NEW, "--selector", MEMBERS, "--manual", "canary", "--dry-run")
    assert said.code == 12
    assert "It would wait in Proposed:" in said.out
    assert "approval-pending" in said.out


# ── what a person says ───────────────────────────────────────────────────────────────────────────────────────────────


def test_pause_and_resume_change_one_field_and_say_so(run: Run, plane: ControlPlane) -> None:
    start(run)
    requested = "requested; no controller is in charge (no controller has ever run here), so it takes effect when"
    assert run("rollout", "pause").out.startswith(f"spring: pause {requested}")
    assert plane.get("gpurollout", "spring")["spec"]["paused"] is True
    version = plane.get("gpurollout", "spring")["metadata"]["resourceVersion"]
    assert run("rollout", "pause", "spring").out.startswith(f"spring: pause {requested}")
    assert plane.get("gpurollout", "spring")["metadata"]["resourceVersion"] == version
    write_status(plane, "spring", phase="Paused", pausedIn="Proposed")
    assert run("rollout", "pause").out == "spring is already paused.\n", "a controller has done it"
    assert run("rollout", "resume").out.startswith(f"spring: resume {requested}")
    assert plane.get("gpurollout", "spring")["spec"]["paused"] is False


def test_who_said_what_is_kept_and_told_and_without_the_policy_as_claimed(run: Run, plane: ControlPlane) -> None:
    start(run, "--manual", "waves")
    run("rollout", "pause")
    run("rollout", "pause")
    run("rollout", "resume")
    run("rollout", "approve", "spring", "waves")
    run("rollout", "abort", "--reason", "too slow", "-y")
    said = plane.get("gpurollout", "spring")["spec"]["said"]
    assert [each["what"] for each in said] == [
        "asked for a pause",
        "asked to resume it",
        "approved waves",
        "aborted it: too slow",
    ]
    (name,) = {each["by"] for each in said}
    page = run("rollout", "describe", "spring").out
    assert f"   {name} (claimed) approved waves" in page
    for each in (page, run("rollout", "history", "spring").out):
        assert "(claimed): it was signed with that name, and no policy of the cluster checks who signs." in each


def test_approvals_add_up(run: Run, plane: ControlPlane) -> None:
    start(run, "--manual", "canary,waves")
    assert run("rollout", "approve", "spring", "canary").code == 0
    assert run("rollout", "approve", "spring", "waves").code == 0
    assert run("rollout", "approve", "spring", "waves").out == "spring: waves is already approved.\n"
    assert plane.get("gpurollout", "spring")["spec"]["approvals"] == {
        "manual": ["canary", "waves"],
        "approved": ["canary", "waves"],
    }
    assert run("rollout", "approve", "spring", "lunch").code == 2


def test_promotion_is_refused_with_the_evidence_that_is_missing(run: Run, plane: ControlPlane) -> None:
    start(run, "--manual", "promotion")
    write_status(
        plane, "spring", phase="Baking", canaries=["climb-0"], bakedSeconds=3600, enteredAt="2026-03-01T00:00:00Z"
    )
    said = run("rollout", "promote")
    assert said.code == 12, said
    assert "spring is not promoted: it is in Baking" in said.err
    assert "approved" not in plane.get("gpurollout", "spring")["spec"]["approvals"]


def test_an_abort_is_explained_asked_for_and_written_once(run: Run, plane: ControlPlane) -> None:
    start(run)
    baseline = [{"resource": "ClusterPolicy/climb", "version": OLD}]
    write_status(plane, "spring", phase="Canary", canaries=["climb-0"], baseline=baseline)
    rehearsed = run("rollout", "abort", "--dry-run")
    assert rehearsed.code == 0, rehearsed.err
    assert "It would begin when a controller runs: no controller is in charge (none has ever run" in rehearsed.out
    assert "Nothing was written. Do it with `seatrial rollout abort spring --reason …`." in rehearsed.out
    assert "abort" not in plane.get("gpurollout", "spring")["spec"]
    unasked = run("rollout", "abort", "--reason", "too slow")
    assert unasked.code == 2
    assert f"ClusterPolicy/climb gets {OLD} again" in unasked.err
    assert "abort" not in plane.get("gpurollout", "spring")["spec"]
    assert "spring: undo requested; no controller" in run("rollout", "abort", "--reason", "too slow", "-y").out
    assert plane.get("gpurollout", "spring")["spec"]["abort"] == "too slow"
    assert "spring: undo requested" in run("rollout", "rollback", "--reason", "again", "-y").out
    write_status(plane, "spring", phase="Reverting", canaries=["climb-0"], baseline=baseline)
    assert "already being undone: too slow" in run("rollout", "rollback", "--reason", "again", "-y").out


def test_who_undoes_it_is_told_whether_the_entry_is_marked_and_may_ask_for_it(run: Run, plane: ControlPlane) -> None:
    start(run)
    write_status(plane, "spring", phase="Canary", canaries=["climb-0"])
    refused = run("rollout", "abort", "spring", "--reason", "too slow", "--mark-bad", "-y")
    assert (refused.code, "was not made from a matrix" in refused.err) == (1, True)
    start(run, name="summer")
    matrix = {"git": {"url": "https://git.example/gpu.git", "path": "m.yaml", "commit": "0" * 40}, "entry": "canary"}
    plane.kubectl("patch", "gpurollout", "summer", "--type=merge", "-p", json.dumps({"spec": {"matrix": matrix}}))
    write_status(plane, "summer", phase="Canary", canaries=["climb-0"])
    plain = run("rollout", "abort", "summer", "--reason", "too slow")
    assert "entry canary of the matrix is not marked bad; --mark-bad marks it" in plain.err
    marked = run("rollout", "abort", "summer", "--reason", "too slow", "--mark-bad", "-y")
    how = "by a commit of its own to main of https://git.example/gpu.git"
    assert f"entry canary of the matrix is marked bad {how}, with your reason" in marked.err
    found = plane.get("gpurollout", "summer")["spec"]
    assert (found["abort"], found["markBad"]) == ("too slow", True)


def test_one_that_is_done_is_undone_by_rollback_alone(run: Run, plane: ControlPlane) -> None:
    start(run)
    write_status(plane, "spring", phase="Done", canaries=["climb-0"])
    assert "seatrial rollout rollback spring" in run("rollout", "abort", "--reason", "late", "-y").err
    assert run("rollout", "rollback", "--reason", "late", "-y").code == 0
    assert plane.get("gpurollout", "spring")["spec"]["abort"] == "late"


def test_which_one_is_meant_has_to_be_said_when_it_is_unclear(run: Run) -> None:
    start(run)
    start(run, name="summer")
    said = run("rollout", "pause")
    assert said.code == 2
    assert "spring (new), summer (new) have not ended; say which one you mean" in said.err


def test_a_change_that_came_too_late_looks_again(run: Run, plane: ControlPlane) -> None:
    from seatrial.app import picking
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout import wishing

    start(run)
    cluster = Cluster(kubeconfig=str(plane.kubeconfig), environ={})
    tries: list[str] = []

    def wish(found: picking.Rollout) -> picking.Wish:
        tries.append(found.version)
        if len(tries) == 1:  # somebody writes between our look and our write
            plane.kubectl("label", "gpurollout", "spring", "seen=1")
        return wishing.pause(found)

    asyncio.run(picking.change(cluster, "spring", wish))
    assert len(set(tries)) == 2
    assert plane.get("gpurollout", "spring")["spec"]["paused"] is True


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_status_why_and_history_tell_of_a_campaign(run: Run, plane: ControlPlane) -> None:
    start(run, "--manual", "canary")
    history = [{"phase": "Proposed", "at": "2026-03-01T00:00:00Z"}]
    write_status(plane, "spring", phase="Proposed", enteredAt="2026-03-01T00:00:00Z", history=history)
    shown = run("status")
    assert shown.code == 12
    assert "Proposed" in shown.out
    assert "approval-pending" in shown.out
    data = json.loads(run("status", "-o", "json").out)["campaign"]
    assert (data["name"], data["phase"], data["nodes"]["total"]) == ("spring", "Proposed", 5)
    assert "\n  approval-pending (spring)" in run("status").out.partition("Waiting:")[2]
    why = run("why", "spring")
    assert why.code == 12
    assert "Rollout   spring to driver" in why.out
    assert "seatrial rollout approve spring canary" in why.out
    assert "2026-03-01T00:00:00Z   spring" in run("rollout", "history").out


def test_status_is_watched_in_place_on_a_terminal(run: Run, plane: ControlPlane) -> None:
    start(run)
    write_status(plane, "spring", phase="Canary", canaries=["climb-0"], enteredAt="2026-03-01T00:00:00Z")
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    where = ("--kubeconfig", str(plane.kubeconfig))
    command = [sys.executable, "-m", "seatrial", "status", "-w", "--timeout", "4s", *where]
    env = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        seen += data
    os.close(master)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 13, err
    shown = screen_of(seen.decode(), 100)
    assert seen.count(b"\033[J") > 1  # it was drawn more than once
    assert [line for line in shown if line.startswith("spring")] == [f"spring  driver {NEW}"]
    assert shown[0] == "NO CONTROLLER  nothing moves; no controller has ever run here:"
    assert "▶ Canary" in "\n".join(shown)


def test_a_watch_that_has_nothing_to_show_says_so(run: Run) -> None:
    said = run("status", "-w")
    assert said.code == 1
    assert "Begin with `seatrial rollout start`" in said.err


# ── beside a real controller ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_a_campaign_is_watched_from_its_start_to_its_end(run: Run, plane: ControlPlane, tmp_path: Path) -> None:
    plane.kubectl("delete", "clusterpolicy", "climb")  # nobody follows it here: the drivers are a DaemonSet of our own
    fleet = make_fleet(plane, FleetSpec(prefix="peak", node_count=4, driver_version=OLD, reload_seconds=0.3))
    members = ("--selector", "testbed.seatrial.dev/fleet=peak")
    said = run(
        *("rollout", "start", "peak", "--driver", NEW, "-y", "--publish", "none", "--no-prepull", *members),
        *("--bake", "1s", "--bake-every", "1s", "--wave", "1", "--manual", "promotion"),
        *("--max-unavailable", "100%", "--max-parallel", "0"),
    )
    assert said.code == 12, said.err
    account = controller_process.identity(plane, "peak", has_campaigns=True)
    with controller_process.ControllerProcess(account, "peak", tmp_path) as controller:
        waiting.wait_for(
            lambda: "publish-pending" in run("status", "peak").out,
            what="the rollout to wait for somebody to publish",
            timeout_seconds=30,
            describe=lambda: controller.log.read_text(),
        )
        assert run("rollout", "promote", "peak").code == 12
        fleet.set_driver_version(NEW)
        waiting.wait_for(
            lambda: run("rollout", "promote", "peak").code == 0,
            what="the evidence to be complete",
            timeout_seconds=60,
            describe=lambda: run("status", "peak").out + controller.log.read_text(),
        )
        watched = run("status", "peak", "-w", "--timeout", "30s", "-o", "json")
    assert watched.code == 0, watched.err + controller.log.read_text()
    last = json.loads(watched.out.splitlines()[-1])
    assert (last["phase"], last["nodes"]["done"], last["waves"]["sizes"]) == ("Done", 4, [1, 2])
    *rows, footnote = run("rollout", "history", "peak").out.splitlines()[1:]
    assert footnote.startswith("(claimed): ")
    assert list(dict.fromkeys(row.split()[3] for row in rows)) == [
        "Proposed",
        "Canary",
        "Gating",
        "Baking",
        "Waving",
        "–",
        "Promoting",
        "Done",
    ]
    assert set(fleet.driver_versions().values()) == {NEW}
