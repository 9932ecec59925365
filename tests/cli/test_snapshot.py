"""`seatrial snapshot`: what it prints can be loaded again, and half a look is never printed."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from seatrial.adapters.files.snapshot_file import Saved, load_snapshot
from seatrial.app import looking
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import look, snapshot
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.ports import Sight
from tests import builders

OPERATOR = OperatorFacts(kind="ClusterPolicy/cluster-policy", driver_version="580.105.08", state="ready")
SEEN = builders.a_snapshot(
    builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, labels={"rack": "1"}, pods=(builders.a_gpu_pod(),)),
    builders.a_well_node("n2", NodePhase.UPGRADE_DONE),
    operator=OPERATOR,
)


def a_look(sight: Sight | None, *faults: str) -> looking.Look:
    return looking.Look(at=1_750_000_000.5, sight=sight, nodes=dict(SEEN.nodes), operator=OPERATOR, faults=faults)


def saved(
    found: looking.Look, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: Path
) -> Saved:
    monkeypatch.setattr(look, "look", lambda _: found)
    assert snapshot.run(argparse.Namespace()) == ExitCode.OK
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return load_snapshot(path)


def test_what_is_seen_and_wanted_can_be_loaded_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    intent = builders.an_intent(parallel_max=4)
    found = saved(a_look(Sight(seen=SEEN, intent=intent)), monkeypatch, capsys, tmp_path / "fleet.json")
    assert found == Saved(at=1_750_000_000.5, seen=SEEN, intent=intent)
    assert found.seen.nodes["n1"].facts.labels == {"rack": "1"}


def test_without_a_rollout_every_node_is_saved_and_nothing_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = saved(a_look(None), monkeypatch, capsys, tmp_path / "fleet.json")
    nobody = Snapshot(nodes=SEEN.nodes, rollout=RolloutRecord(name=""), operator=OPERATOR)
    assert found == Saved(at=1_750_000_000.5, seen=nobody)


def test_half_a_look_is_an_error_and_nothing_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(look, "look", lambda _: a_look(None, "There are 2 GPURollouts: a, b."))
    assert snapshot.run(argparse.Namespace()) == ExitCode.ERROR
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "seatrial: There are 2 GPURollouts: a, b.\n")
