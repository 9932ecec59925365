"""From a matrix commit to the tag, and back: a campaign beside the real GPU Operator, with a real Git remote.

One fleet under a ClusterPolicy, one under two NVIDIADrivers; our controller moves the nodes (direct mode), publishes by
commits that a syncer brings into the cluster, and its gates are real Jobs whose pods kwok runs. First a rollout that
goes through, then one whose gate fails during the bake.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.campaigns import BAD, EACH_KIND, MATRIX, NEW, OLD, Stage, left_behind, matrix_of, staged

pytestmark = [pytest.mark.cluster, pytest.mark.operator]


@pytest.fixture(scope="module", params=EACH_KIND)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Automatic upgrades are off: our controller moves the nodes."""
    with staged(tmp_path_factory.mktemp(f"campaign-{request.param}"), request.param) as made:
        yield made


def test_a_matrix_commit_goes_through_canary_gates_bake_and_waves_to_the_tag(stage: Stage) -> None:
    commit = stage.commit(f"Try driver {NEW} on the canary", **{MATRIX: matrix_of(OLD, NEW)})
    stage.start("first", NEW, commit)
    stage.wait_phase("Done")

    assert set(stage.beside.driver_versions().values()) == {NEW}
    expected = [
        "The cluster as it is",
        f"Try driver {NEW} on the canary",
        f"Driver {NEW} for the canary {stage.beside.nodes[0]}",
        *([f"Driver {NEW} for the fleet"] if stage.kind == "nvidia-driver" else []),
        f"Promote driver {NEW} to production",
    ]
    assert stage.remote_log() == expected
    assert [tag.rpartition("-")[2] for tag in stage.tags()] == ["stable"]
    assert f'driver: "{NEW}"' in stage.matrix().partition("canary:")[0], "production has the new set"
    assert f'driver: "{OLD}"' in stage.matrix().partition("rollback")[2], "the set before it is the one to go back to"
    assert not left_behind(stage)
    canary = stage.beside.nodes[0]
    pulled = {run.node for run in stage.gates.runs if run.gate == "prepull"}
    assert pulled == set(stage.beside.nodes), "the image was brought to every node before it was touched"
    assert {run.node for run in stage.gates.runs if run.gate != "prepull"} == {canary}
    assert {run.gate for run in stage.gates.runs} == {"smoke-train", "rdma", "prepull"}
    assert max(run.round for run in stage.gates.runs) >= 2, "the bake asks the gates again"
    assert manager_switches(stage) == {("false", "false")}, "nobody opens a node before its driver is proven"


def test_a_gate_that_fails_in_the_bake_reverts_everything_and_touches_nobody_else(stage: Stage) -> None:
    head, canary_key, rest = stage.matrix().partition("canary:")
    wanted = head + canary_key + rest.replace(f'"{NEW}"', f'"{BAD}"', 1)
    commit = stage.commit(f"Try driver {BAD} on the canary", **{MATRIX: wanted})
    why = "loss of 3.1 % against the nodes beside it"
    stage.gates.answer = lambda run: why if run.gate == "smoke-train" and run.round >= 2 else ""
    seen_before = len(stage.history.nodes())
    pods_before = {pod.uid for pod in stage.history.pods()}
    stage.start("second", BAD, commit)
    stage.wait_phase("Reverted")

    assert set(stage.beside.driver_versions().values()) == {NEW}
    canary = stage.beside.nodes[0]
    log = stage.remote_log()
    assert log[-3:] == [
        f"Driver {BAD} for the canary {canary}",
        f'Revert "Driver {BAD} for the canary {canary}"',
        f"Mark driver {BAD} as bad",
    ]
    assert "bad:" in stage.matrix().partition("canary:")[2]
    assert "smoke-train failed" in stage.matrix()
    assert len(stage.tags()) == 1
    moments = stage.history.nodes()[seen_before:]
    assert {moment.name for moment in moments if moment.is_cordoned} == {canary}
    assert {moment.state for moment in moments if moment.name != canary} <= {"upgrade-done"}
    new_pods = {pod.node for pod in stage.history.pods() if "driver" in pod.name and pod.uid not in pods_before}
    assert new_pods == {canary}, "no other node ever got another driver pod"
    assert not left_behind(stage)
    assert stage.status()["campaign"]["why"].startswith("gate smoke-train failed")


def test_both_are_reported_with_their_nodes_their_commits_and_their_cost(stage: Stage, tmp_path: Path) -> None:
    journal = stage.controller.journal
    files = [str(each) for each in sorted(journal.parent.glob(f"{journal.stem}*.jsonl*"))]
    told = {
        name: stage.run("report", name, "-o", "json", "--html", str(tmp_path / f"{name}.html"), "--journal", *files)
        for name in ("first", "second")
    }
    assert [each.returncode for each in told.values()] == [0, 0], told
    first, second = (json.loads(each.stdout) for each in told.values())
    nodes, canary = set(stage.beside.nodes), stage.beside.nodes[0]

    assert first["verdict"] == f"Done: {len(nodes)} of {len(nodes)} nodes are upgraded to {NEW}."
    assert [each["what"] for each in first["timeline"]["phases"]][:4] == ["Proposed", "Canary", "Gating", "Baking"]
    works = {each["name"]: [work["what"] for work in each["works"]] for each in first["timeline"]["nodes"]}
    assert set(works) == nodes
    assert all({"driver", "proving"} <= set(each) and each[-1] == "done" for each in works.values()), works
    commits = {each["step"]: each["commit"] for each in first["git"]["commits"]}
    assert commits["promotion"] == stage.git("ls-remote", "origin", f"{first['git']['tag']}^{{}}").split()[0]
    assert first["cost"]["gpuHours"] is not None
    assert first["cost"]["evictions"] is not None
    assert {each["verdict"] for each in first["gates"]["said"]} == {"passed"}

    assert second["verdict"].startswith("Reverted: gate smoke-train failed")
    assert (second["outcome"], second["exitCode"]) == ("reverted", 10)
    assert {each["name"] for each in second["timeline"]["nodes"]} == {canary}
    assert {"canary", "revert", "bad"} <= {each["step"] for each in second["git"]["commits"]}
    for name in told:
        assert name in (tmp_path / f"{name}.html").read_text(encoding="utf-8").partition("</h1>")[0]
    stage.git("fetch", "--quiet", "origin")
    promoted = stage.git("log", "-1", "--format=%b", commits["promotion"])
    assert f"{len(nodes)} of {len(nodes)} nodes are upgraded to {NEW}." in " ".join(promoted.split())


def manager_switches(stage: Stage) -> set[tuple[str | None, str | None]]:
    """What the operator tells the driver managers in its driver DaemonSets about evictions and drains."""
    found = set()
    for item in stage.plane.get("daemonsets", "--all-namespaces")["items"]:
        for container in item["spec"]["template"]["spec"].get("initContainers", []):
            if container["name"] == "k8s-driver-manager":
                env = {each["name"]: each.get("value") for each in container.get("env", [])}
                found.add((env.get("ENABLE_GPU_POD_EVICTION"), env.get("ENABLE_AUTO_DRAIN")))
    return found
