"""NVIDIA's own controller moves the nodes, and a campaign only opens and closes the tap: skip labels, versions, wakes.

Beside the real GPU Operator with automatic upgrades on; once with a ClusterPolicy (waves by skip labels), once with two
NVIDIADrivers (canary and fleet). First a rollout that goes through, then one whose gate fails during the bake.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial.adapters.kube.shapes import keys
from tests.e2e.campaigns import BAD, EACH_KIND, MATRIX, NEW, OLD, Stage, left_behind, matrix_of, staged

pytestmark = [pytest.mark.cluster, pytest.mark.operator]

ALLOWED = {
    ("patch", "nodes", ""),
    ("patch", "gpurollouts", "status"),
    ("patch", "gpurollouts", ""),  # our finalizer
    ("create", "jobs", ""),
    ("create", "events", ""),
    ("patch", "events", ""),
    ("create", "leases", ""),
    ("update", "leases", ""),
    ("patch", "clusterpolicies", ""),
    ("patch", "nvidiadrivers", ""),
    ("create", "selfsubjectaccessreviews", ""),
}
"""What a campaign may write in this mode: no pod is deleted or evicted by us."""
READS = {"get", "list", "watch"}


@pytest.fixture(scope="module", params=EACH_KIND)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Automatic upgrades are on: NVIDIA's controller moves the nodes, two at a time."""
    folder = tmp_path_factory.mktemp(f"delegated-{request.param}")
    with staged(folder, request.param, auto_upgrade=True, parallel_upgrades_max=2) as made:
        yield made


def test_a_campaign_goes_through_while_nvidias_controller_moves_the_nodes(stage: Stage) -> None:
    commit = stage.commit(f"Try driver {NEW} on the canary", **{MATRIX: matrix_of(OLD, NEW)})
    stage.start("first", NEW, commit, mode="delegated")
    stage.wait_phase("Done")

    assert set(stage.beside.driver_versions().values()) == {NEW}
    assert stage.beside.upgrade_states() == dict.fromkeys(stage.beside.nodes, "upgrade-done")
    assert stage.remote_log()[-1] == f"Promote driver {NEW} to production"
    assert len(stage.tags()) == 1
    assert not left_behind(stage)
    wait_unskipped(stage)
    canary = stage.beside.nodes[0]
    first = first_cordoned(stage)
    assert first[0] == canary
    assert {run.node for run in stage.gates.runs} == {canary}


def test_nothing_is_written_but_what_this_mode_allows(stage: Stage) -> None:
    asked = {
        (each.verb, each.resource, each.subresource)
        for each in stage.plane.requests("seatrial")
        if each.user.endswith(":campaign") and each.verb not in READS
    }
    assert asked <= ALLOWED, asked - ALLOWED


def test_a_failed_gate_takes_the_canary_back_and_empties_nobody_else(stage: Stage) -> None:
    head, canary_key, rest = stage.matrix().partition("canary:")
    commit = stage.commit(
        f"Try driver {BAD} on the canary", **{MATRIX: head + canary_key + rest.replace(f'"{NEW}"', f'"{BAD}"', 1)}
    )
    stage.gates.answer = lambda run: "3.1 % slower" if run.gate == "smoke-train" and run.round >= 2 else ""
    seen_before = len(stage.history.nodes())
    stage.start("second", BAD, commit, mode="delegated")
    stage.wait_phase("Reverted")

    canary = stage.beside.nodes[0]
    assert set(stage.beside.driver_versions().values()) == {NEW}
    moments = stage.history.nodes()[seen_before:]
    assert {moment.name for moment in moments if moment.is_cordoned} == {canary}
    assert stage.remote_log()[-1] == f"Mark driver {BAD} as bad"
    assert not left_behind(stage)
    wait_unskipped(stage)
    stage.wait(
        lambda: stage.beside.upgrade_states() == dict.fromkeys(stage.beside.nodes, "upgrade-done"),
        "NVIDIA's controller to find everybody in order",
    )


def first_cordoned(stage: Stage) -> list[str]:
    """The nodes in the order in which they were first cordoned."""
    return list(dict.fromkeys(moment.name for moment in stage.history.nodes() if moment.is_cordoned))


def wait_unskipped(stage: Stage) -> None:
    """No skip label stays: what woke NVIDIA's controller last is taken away right after the end, if not before."""
    stage.wait(lambda: not skipped(stage), "every skip label to be gone")


def skipped(stage: Stage) -> list[str]:
    """The nodes that carry NVIDIA's skip label."""
    labels = {name: stage.plane.get("node", name)["metadata"]["labels"] for name in stage.beside.nodes}
    return [name for name, found in labels.items() if found.get(keys.SKIP_LABEL) is not None]
