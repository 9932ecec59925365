"""Campaigns whose commits the real Argo CD brings in, beside the real GPU Operator: to the tag, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.neighbours.engines import Engine, Place
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import BAD, MATRIX, NEW, OLD, Stage, left_behind, matrix_of, staged

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.operator]

POLICY = "cluster-policy"
POLL_SECONDS = 5


@contextmanager
def followed(plane: ControlPlane, place: Place) -> Iterator[Engine]:
    """An Argo CD of this plane's own that looks often, so that a campaign needs no webhook."""
    with (
        ArgoCd.start(plane, poll_seconds=POLL_SECONDS, jitter_seconds=0) as argo,
        Application(argo, "gpu", place) as app,
    ):
        yield app


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The real operator, and the real Argo CD."""
    with staged(tmp_path_factory.mktemp("argo"), "cluster-policy", follow=followed) as made:
        yield made


def test_a_matrix_commit_goes_to_the_tag_by_argo_cd(campaign: Stage) -> None:
    commit = campaign.commit(f"Try driver {NEW} on the canary", **{MATRIX: matrix_of(OLD, NEW)})
    campaign.start("first", NEW, commit)
    campaign.wait_phase("Done")

    assert set(campaign.beside.driver_versions().values()) == {NEW}
    assert campaign.remote_log()[-2:] == [
        f"Driver {NEW} for the canary {campaign.beside.nodes[0]}",
        f"Promote driver {NEW} to production",
    ]
    assert [tag.rpartition("-")[2] for tag in campaign.tags()] == ["stable"]
    assert not left_behind(campaign)
    policy = campaign.plane.get("clusterpolicy", POLICY, "--show-managed-fields")
    assert "argocd-controller" in {each["manager"] for each in policy["metadata"]["managedFields"]}


def test_a_gate_that_fails_takes_it_back_by_a_revert_that_argo_cd_brings(campaign: Stage) -> None:
    head, canary_key, rest = campaign.matrix().partition("canary:")
    wanted = head + canary_key + rest.replace(f'"{NEW}"', f'"{BAD}"', 1)
    commit = campaign.commit(f"Try driver {BAD} on the canary", **{MATRIX: wanted})
    campaign.gates.answer = lambda run: "loss of 3 %" if run.gate == "smoke-train" and run.round >= 2 else ""
    campaign.start("second", BAD, commit)
    campaign.wait_phase("Reverted")

    assert set(campaign.beside.driver_versions().values()) == {NEW}
    canary = campaign.beside.nodes[0]
    assert campaign.remote_log()[-3:] == [
        f"Driver {BAD} for the canary {canary}",
        f'Revert "Driver {BAD} for the canary {canary}"',
        f"Mark driver {BAD} as bad",
    ]
    assert campaign.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == NEW
    assert not left_behind(campaign)
