"""Snapshots in files: what was recorded comes back, and a file that is none says what is wrong with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from seatrial.adapters.files.snapshot_file import SCHEMA, SnapshotInvalid, lines_of, load_snapshot
from seatrial.core.survey.portable.recorded import LogOf, Recorded, Refused
from tests import portable

LOG = LogOf(namespace="gpu-operator", pod="driver-x", container="driver", is_previous=True)
RECORDED = Recorded(
    taken_at=1_750_000_000.25,
    namespace="gpu-operator",
    version="1.2.3",
    is_anonymous=True,
    lists={portable.NODES: [portable.a_node("n1", rack="é\u2028x")], portable.PODS: []},
    refused={"/apis/nvidia.com/v1/clusterpolicies": Refused(code=403, said="forbidden")},
    logs={
        LOG: "one\ntwo",
        LogOf(namespace="a", pod="b", container="c"): Refused(code=403, said="may not"),
    },
)


def test_a_file_says_what_it_is_who_wrote_it_and_when() -> None:
    first, *_, last = [json.loads(line) for line in lines_of(RECORDED)]
    assert first == {
        "kind": "snapshot",
        "schema": SCHEMA,
        "version": "1.2.3",
        "taken": "2025-06-15T15:06:40.250000Z",
        "namespace": "gpu-operator",
        "anonymous": True,
    }
    assert last == {"kind": "end", "lines": 6}


@pytest.mark.parametrize("is_packed", [False, True])
def test_what_was_recorded_comes_back_as_it_was(tmp_path: Path, is_packed: bool) -> None:
    path = portable.saved(tmp_path / "fleet.json", RECORDED)
    if is_packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert load_snapshot(path) == RECORDED


@pytest.mark.parametrize(
    ("number", "line", "said"),
    [
        (0, '{"kind":"List"}', "is not a snapshot: it does not say so. Write it with `seatrial snapshot > FILE`."),
        (0, '{"kind":"snapshot","schema":1,"version":"0.1"}', "of schema 1, written by seatrial 0.1, and this release"),
        (0, '{"kind":"snapshot","schema":2,"taken":"noon"}', "fleet.json:1: it does not say when it was taken."),
        (1, '{"of":"/api/v1/nodes","object":7}', "fleet.json:2: this is not a line of a snapshot:"),
        (1, "[]", "fleet.json:2: this is not a line of a snapshot:"),
        (4, "{", "fleet.json:5: this is not a line of a snapshot:"),
        (5, '{"log":{"pod":"x"},"text":""}', "fleet.json:6: this is not a line of a snapshot: 'namespace'"),
        (6, '{"kind":"end","lines":9}', "is not whole: it has 7 lines, and its end is missing."),
        (6, '{"of":"/api/v1/pods"}', "is not whole: it has 7 lines, and its end is missing."),
    ],
)
def test_a_file_that_cannot_be_used_says_why_and_where(tmp_path: Path, number: int, line: str, said: str) -> None:
    path = portable.saved(tmp_path / "fleet.json", RECORDED)
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[number] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SnapshotInvalid) as refused:
        load_snapshot(path)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'"snapshot"', b"\xff\xfe", b"\x1f\x8bxx"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "fleet.json"
    path.write_bytes(text)
    with pytest.raises(SnapshotInvalid, match=r"(?:is not a snapshot|cannot be unpacked): .* Write it with"):
        load_snapshot(path)


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_file_that_was_cut_off_is_no_smaller_cluster(tmp_path: Path, cut: int) -> None:
    path = portable.saved(tmp_path / "fleet.json", RECORDED)
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:cut]), encoding="utf-8")
    with pytest.raises(SnapshotInvalid, match="is not whole"):
        load_snapshot(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=r"nowhere\.json cannot be read: No such file or directory"):
        load_snapshot(tmp_path / "nowhere.json")
