"""What strangers say and where they point: an address that nobody named, and last words that are no words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial_lab.testbed.neighbours import gate_runs
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import PUBLISHED
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "strangers"
ONE_GATE = [{"name": "smoke", "image": "example.invalid/smoke:1", "gpus": 1}]
LAST_WORDS = "\x1b[31mXid 79\x1b[0m\0\0 on GPU 3 \u202e\x9b2J" + "x" * 3000


@pytest.fixture(scope="module")
def stage(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX) as made:
        yield made


@pytest.mark.long
def test_a_rollout_that_names_an_address_of_its_own_waits_and_nobody_is_asked(stage: LightStage) -> None:
    stage.open()
    stage.lay_out()
    with GitServer(root=stage.remote.parent) as server:
        spec = stage.by_git()
        spec["matrix"]["git"]["url"] = f"{server.url}/{stage.remote.name}"
        stage.begin("elsewhere", **spec)
        told = stage.wait_held("source-barred")
        assert server.url in told
        assert stage.wait_holds("source-barred")["phase"] == "Proposed"
        assert "--git-credentials PREFIX=DIR" in stage.run("why", "elsewhere").stdout
        assert server.requests == []
    assert not stage.touched()


def test_a_gate_whose_last_words_are_no_words_is_taken_back_and_marked(stage: LightStage) -> None:
    stage.open()
    stage.lay_out()
    gates = gate_runs.GateRuns(stage.plane, namespace="seatrial", answer=lambda _: LAST_WORDS)
    with stage.synced(), gates:
        stage.begin("garbled", gates=ONE_GATE, **stage.by_git())
        stage.wait_phase("Reverted")
    assert stage.campaign()["places"]["published"] == {"url": str(stage.remote), "branch": "main", "path": PUBLISHED}
    assert "Mark driver" in stage.remote_log()[-1]
    for text in (
        stage.campaign()["why"],
        stage.matrix(),
        *stage.log_lines(),
        stage.run("rollout", "history", "garbled").stdout,
    ):
        assert text.replace("\n", "").isprintable(), text
