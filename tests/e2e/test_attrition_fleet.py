"""By attrition over twenty nodes: some jobs end by themselves, some tell when they saved, and some would never end.

Law of these stories: nobody is evicted before the deadline without both costs told, and where that is not wanted,
nobody is. Jobs are real Jobs whose pods kwok plays; none of them is timed, each ends when the story says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.budget.attrition.evicting import JUST_SAVED_SECONDS
from seatrial_lab.testbed.history import NodeMoment, PodMoment
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.nodes.fleet_spec import Workload
from seatrial_lab.testbed.plane.audit import AuditedRequest
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "attrition"
NODES = 20
FULL = 8
HOUR = 3600
LIMITS = {"maxParallelUpgrades": 4, "maxUnavailable": 6, "maxIdleGPUs": "50%"}


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of all stories."""
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, node_count=NODES) as made:
        yield made


@pytest.fixture
def stage(shared: LightStage) -> Iterator[LightStage]:
    """The stage, with nothing left of the story before."""
    shared.open()
    yield shared
    jobs = shared.plane.get("jobs", "--all-namespaces", "-l", f"{manifests.FLEET_LABEL}={PREFIX}")["items"]
    for each in jobs:
        where = ("-n", each["metadata"]["namespace"], each["metadata"]["name"])
        shared.plane.kubectl("delete", "job", *where, "--cascade=foreground")


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_job(stage: LightStage, name: str, nodes: Sequence[str], *, gpus: int = FULL) -> Workload:
    """An indexed Job that runs for ever with one pod on each of these nodes; returned when all of them run."""
    made = stage.fleet.workload(name)
    job = manifests.job(made.name, made.namespace, nodes[0], gpus=gpus, runs_seconds=None, termination_seconds=0.0)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    template = job["spec"]["template"]
    template["spec"] |= {"affinity": affinity, "nodeSelector": {}}
    job["metadata"]["labels"] = {manifests.FLEET_LABEL: PREFIX}
    job["spec"] = {
        "completions": len(nodes),
        "parallelism": len(nodes),
        "completionMode": "Indexed",
        "template": template,
    }
    account = manifests.service_account(made.name, made.namespace)
    stage.plane.apply([manifests.namespace(made.namespace, PREFIX), account, job])
    stage.wait(lambda: placed(stage, made) == sorted(nodes), f"{name} to run")
    return made


def pods(stage: LightStage, job: Workload) -> list[dict[str, Any]]:
    """Those of a job that are not on their way out."""
    return [pod for pod in stage.fleet.pods_of(job) if "deletionTimestamp" not in pod["metadata"]]


def placed(stage: LightStage, job: Workload) -> list[str]:
    """The nodes on which a job runs."""
    return sorted(pod["spec"]["nodeName"] for pod in pods(stage, job) if pod["status"]["phase"] == "Running")


def annotate(stage: LightStage, job: Workload, text: str) -> None:
    for pod in pods(stage, job):
        where = ("-n", job.namespace, pod["metadata"]["name"])
        stage.plane.kubectl("annotate", "pod", *where, text, "--overwrite")


def end(stage: LightStage, *jobs: Workload) -> None:
    """Let jobs come to their end, as kwok plays it."""
    for job in jobs:
        annotate(stage, job, f"{stages.DONE_AFTER}=0s")


def save(stage: LightStage, job: Workload) -> datetime:
    """A job saves its work, and says so on each of its pods."""
    now = datetime.now(UTC)
    annotate(stage, job, f"{keys.CHECKPOINT_SAVED_AT_ANNOTATION}={now:%Y-%m-%dT%H:%M:%SZ}")
    return now


def make_old(stage: LightStage, *jobs: Workload) -> None:
    """What has run for two days is taken to run on."""
    began = f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}"
    for job in jobs:
        for pod in pods(stage, job):
            body = json.dumps({"status": {"startTime": began}})
            where = ("-n", job.namespace, pod["metadata"]["name"])
            stage.plane.kubectl("patch", "pod", *where, "--subresource=status", "--type=merge", "-p", body)


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def begin(stage: LightStage, name: str, limits: dict[str, Any] | None = None, **attrition: Any) -> None:
    asked = {"deadlineSeconds": HOUR, **attrition}
    stage.begin(name, publish={"via": "direct"}, limits={**LIMITS, **(limits or {})}, attrition=asked)


def evictions(stage: LightStage, *jobs: Workload) -> list[AuditedRequest]:
    """What was evicted of these jobs in this story; of anybody where none is named."""
    since = [each for each in stage.requests()[stage.asked_before :] if each.subresource == "eviction"]
    places = {job.namespace for job in jobs}
    return [each for each in since if each.code < 300 and (not places or each.namespace in places)]


def is_closed(stage: LightStage, nodes: Sequence[str]) -> bool:
    return set(nodes) <= set(stage.cordoned())


def is_moved(stage: LightStage, nodes: Sequence[str]) -> bool:
    versions = stage.fleet.driver_versions()
    return {versions.get(node) for node in nodes} == {stage.target}


COSTS = re.compile(r"evicted early: to wait costs ([\d.]+) GPU-hours, to evict costs ([\d.]+) GPU-hours")


def costs_told(stage: LightStage, nodes: Sequence[str]) -> list[tuple[float, float]]:
    """What waiting and evicting were said to cost when nodes were emptied early.

    A node whose pod is gone before the next pass was never seen to wait, and says nothing.
    """
    begins = [f" held subject={node} code=evicting " for node in nodes]
    lines = [line for line in stage.log_lines()[stage.said_before :] if any(begin in line for begin in begins)]
    found = [match for line in lines if (match := COSTS.search(line)) is not None]
    assert len(found) == len(lines), "each of them says both"
    return [(float(match[1]), float(match[2])) for match in found]


# ── stories ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_jobs_end_save_or_are_evicted_early_with_both_costs_told_and_a_gang_starts_again_once(
    stage: LightStage,
) -> None:
    names = stage.fleet.nodes
    ending, shared, saving, ganged = names[1:5], names[5:8], names[8:9], names[9:11]
    ends = [run_job(stage, f"ends-{node}", [node]) for node in ending]
    stays = [run_job(stage, f"stays-{node}", [node], gpus=1) for node in shared]
    saver, gang = run_job(stage, "saver", saving), run_job(stage, "gang", ganged)
    make_old(stage, *stays)
    begin(stage, "busy")
    stage.wait(partial(is_closed, stage, [*ending, *saving, *ganged]), "full nodes to be closed while their jobs run")
    stage.wait(partial(is_moved, stage, shared), "nodes with one small job each to be emptied early")
    assert len(evictions(stage)) == len(evictions(stage, *stays)) == len(stays), "nobody else has to go yet"
    told = costs_told(stage, shared)
    assert told
    assert all(waiting >= evicting > 0 for waiting, evicting in told)

    saved_at = save(stage, saver)
    stage.wait(lambda: bool(evictions(stage, saver)), "who has just saved to be evicted")
    evicted_at = datetime.fromisoformat(evictions(stage, saver)[0].at)
    assert timedelta(0) < evicted_at - saved_at < timedelta(seconds=JUST_SAVED_SECONDS)

    before = len(stage.history.moments)
    save(stage, gang)
    stage.wait(partial(is_moved, stage, ganged), "both nodes of the gang to be moved")
    seen = [each for each in stage.history.moments[before:] if isinstance(each, PodMoment) and each.node in ganged]
    left = max(
        next(pod.at for pod in seen if pod.namespace == gang.namespace and pod.is_leaving and pod.node == node)
        for node in ganged
    )
    assert left <= min(pod.at for pod in seen if pod.app == manifests.DRIVER_APP and pod.is_leaving)
    assert len(evictions(stage, gang)) == len(ganged), "each of its pods leaves once"

    end(stage, *ends)
    stage.wait_phase("Done")
    assert is_moved(stage, names)
    assert not evictions(stage, *ends)
    assert stage.status()["cost"]["evictions"] == len(stays) + 2, "a gang counts once"
    stage.wait(lambda: placed(stage, gang) == sorted(ganged), "the gang to run again")


def test_nobody_is_evicted_early_where_that_is_not_wanted(stage: LightStage) -> None:
    names = stage.fleet.nodes
    shared = names[1:4]
    stays = [run_job(stage, f"stays-{node}", [node], gpus=1) for node in shared]
    make_old(stage, *stays)
    begin(stage, "patient", earlyEviction=False)
    rest = [name for name in names if name not in shared]
    # Were jobs to end while the last of the others are still closed, more nodes than may would be unavailable at once,
    # and one would be given back for ten minutes.
    stage.wait(
        lambda: is_moved(stage, rest) and set(stage.cordoned()) == set(shared),
        "everybody else to be moved and open, and these to be closed",
    )
    assert "waits for 1 job" in stage.run("why", shared[0], "--rollout", "patient").stdout
    end(stage, *stays)
    stage.wait_phase("Done")
    assert not evictions(stage)
    assert stage.status()["cost"]["evictions"] == 0
    assert stage.status()["cost"].get("thrownGpuSeconds", 0) == 0


def test_what_the_ends_of_jobs_put_above_the_idle_budget_is_given_back_and_told(
    stage: LightStage, record_property: Callable[[str, object], None]
) -> None:
    busy = stage.fleet.nodes[1:5]
    jobs = [run_job(stage, f"ends-{node}", [node]) for node in busy]
    begin(stage, "over", {"maxParallelUpgrades": 1, "maxIdleGPUs": FULL}, deadlineSeconds=24 * HOUR)
    stage.wait(partial(is_closed, stage, busy), "nodes at work to be closed")
    before = len(stage.history.moments)
    end(stage, *jobs)

    def opened() -> list[NodeMoment]:
        since = stage.history.moments[before:]
        return [each for each in since if isinstance(each, NodeMoment) and each.name in busy and not each.is_cordoned]

    stage.wait(lambda: bool(opened()), "who is too many to be given back")
    first = opened()[0]
    assert "more than 8 GPUs stood idle" in stage.wait_held("given-back", first.name)
    ended = ended_at(stage.history.moments[before:], busy)
    seconds = first.at - ended[1]  # the second that ended was one too many
    record_property("above_the_budget_to_given_back_seconds", round(seconds, 2))
    print(f"above the idle budget to given back: {seconds:.2f} s")
    assert not evictions(stage)


def ended_at(moments: Sequence[object], nodes: Sequence[str]) -> list[float]:
    """When the pods of jobs were first seen to be at work no more."""
    seen = [each for each in moments if isinstance(each, PodMoment) and each.node in nodes and not each.is_ready]
    first = {each.uid: each.at for each in reversed(seen) if each.app.startswith("ends-")}
    return sorted(first.values())


def test_a_pause_tells_what_closed_nodes_cost_and_the_next_leader_gives_them_back_after_an_abort(
    stage: LightStage,
) -> None:
    names = stage.fleet.nodes
    busy = names[1:5]
    jobs = [run_job(stage, f"ends-{node}", [node]) for node in busy]
    begin(stage, "halted")
    stage.wait(partial(is_closed, stage, busy), "nodes at work to be closed")
    stage.do("rollout", "pause", "halted")
    stage.wait_held("closed-in-pause")
    stage.controller.kill()
    stage.do("rollout", "abort", "halted", "--reason", "another time", "-y")
    stage.do("rollout", "resume", "halted")
    stage.controller.start()
    stage.wait_phase("Reverted")
    assert not stage.cordoned()
    assert not evictions(stage)
    assert {node for job in jobs for node in placed(stage, job)} == set(busy)
