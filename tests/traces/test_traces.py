"""Recorded journals as a regression suite: today's release decides every pass of them as it was decided then.

A difference that is meant is recorded anew: `python -m tests.traces.record`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.journal import reading
from seatrial.sim.replay import replay
from tests.traces import record

JOURNALS = sorted(record.FOLDER.glob("*.jsonl.gz"))
SIZE_BYTES_MAX = 200_000


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.name)
def test_a_recorded_journal_is_replayed_without_difference(path: Path) -> None:
    found = replay(reading.entries(reading.check(path)))
    assert found.difference is None, (
        f"{found.difference}\nIf this is meant, record the journals anew: `python -m tests.traces.record`."
    )
    assert found.pass_count > 50


def test_every_rollout_of_the_recorder_has_its_journal_and_none_is_large() -> None:
    assert [path.name.removesuffix(".jsonl.gz") for path in JOURNALS] == sorted(record.WORLDS)
    assert max(path.stat().st_size for path in JOURNALS) < SIZE_BYTES_MAX


def acts_of(name: str) -> set[object]:
    file = reading.check(record.FOLDER / f"{name}.jsonl.gz")
    return {entry.fields["act"] for entry in reading.entries(file) if entry.kind == "act"}


def phases_of(name: str) -> set[str]:
    file = reading.check(record.FOLDER / f"{name}.jsonl.gz")
    ids = [str(entry.fields["id"]) for entry in reading.entries(file) if entry.kind == "act"]
    return {id_.split("/")[1] for id_ in ids}


def test_the_journals_hold_what_they_are_kept_for() -> None:
    assert {"Cordon", "EvictPods", "RestartPod", "Uncordon", "WriteRolloutRecord"} <= acts_of("a-plain-upgrade")
    assert "upgrade-failed" in phases_of("failures-and-a-revert")
    assert {"PauseClients", "AskCheckpoint"} <= acts_of("drain-and-dra")
    assert {"drain-required", "restart-dra-plugin", "restart-validator", "checkpoint"} <= phases_of("drain-and-dra")


def test_a_run_journal_is_small(tmp_path: Path) -> None:
    """About 16 kB for each upgraded node, uncompressed; a journal that grows tenfold fills disks."""
    path = tmp_path / "journal.jsonl"
    world = record.a_fleet(50)
    record.roll(world, path)
    upgraded_count = sum(node.facts.is_in_sync for node in world.nodes.values())
    assert upgraded_count == 50
    assert path.stat().st_size / upgraded_count < 24_000
    assert replay(reading.entries(reading.check(path))).difference is None
