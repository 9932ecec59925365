"""Saved snapshots: what was seen comes back, and a file that is none says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial import __version__, codec
from seatrial.adapters.files import snapshot_file
from seatrial.adapters.files.snapshot_file import Saved, SnapshotInvalid, load_snapshot
from tests import builders

SAVED = Saved(
    at=1_750_000_000.25,
    seen=builders.a_snapshot(*builders.a_fleet(3, labels={"rack": "é"})),
    intent=builders.an_intent(),
)


def test_a_document_says_what_it_is_who_wrote_it_and_when() -> None:
    data = json.loads(snapshot_file.text_of(SAVED))
    assert {key: data[key] for key in data if key not in ("seen", "intent")} == {
        "kind": "snapshot",
        "schema": codec.SCHEMA,
        "version": __version__,
        "taken": "2025-06-15T15:06:40Z",
        "at": 1_750_000_000.25,
    }


def test_a_saved_snapshot_is_loaded_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(snapshot_file.text_of(SAVED), encoding="utf-8")
    assert load_snapshot(path) == SAVED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "List"}, "is not a snapshot: it does not say so. Write it with `seatrial snapshot > FILE`."),
        ({"schema": 7}, "is a snapshot of schema 7, written by seatrial"),
        ({"at": "noon"}, "fleet.json: at: expected float, found 'noon'. Write it with"),
        ({"seen": {"nodes": {"n1": {}}}}, "fleet.json: seen.nodes.n1: a NodeSeen has to have facts. Write it with"),
        ({"intent": {"rollout": "r", "target": "soon"}}, "fleet.json: intent.target: GPU driver 'soon' is unreadable"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(json.loads(snapshot_file.text_of(SAVED)) | change), encoding="utf-8")
    with pytest.raises(SnapshotInvalid) as refused:
        load_snapshot(path)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '"snapshot"'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match=r"fleet\.json is not a snapshot: .* Write it with"):
        load_snapshot(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=r"nowhere\.json cannot be read: No such file or directory"):
        load_snapshot(tmp_path / "nowhere.json")
