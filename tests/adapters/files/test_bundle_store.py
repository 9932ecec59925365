"""Vendored bundles: the lock says what counts, one step at a time, and whatever was changed is named."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from seatrial.adapters.files import matrix_file
from seatrial.adapters.files.facts import store as bundle_store
from seatrial.adapters.files.facts.store import Locked, files_of, locked_in, store
from seatrial.core.compat.facts.bundles import Bundle, BundleTampered, BundleUnreadable

FILES = {"a.yaml": b"driver: {}\n", "b.yaml": b"cuda: {}\n"}
ROW = Locked(source="somewhere", digest="", files={}, on=date(2026, 11, 16), signer="facts@acme.example")


def put(facts: Path, files: dict[str, bytes] | None = None, name: str = "acme") -> Locked:
    return store(facts, name, ROW, Bundle.of(files or FILES, "x"))


def everything(facts: Path) -> dict[str, bytes]:
    return {str(each.relative_to(facts)): each.read_bytes() for each in sorted(facts.rglob("*")) if each.is_file()}


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    row = put(tmp_path)
    assert locked_in(tmp_path) == {"acme": row}
    assert files_of(tmp_path, "acme", row) == FILES
    assert list(everything(tmp_path)) == [
        f"bundles/acme-{row.digest[7:19]}/.gitattributes",
        f"bundles/acme-{row.digest[7:19]}/a.yaml",
        f"bundles/acme-{row.digest[7:19]}/b.yaml",
        "bundles.lock.json",
    ]


def test_a_newer_one_takes_the_place_of_the_old_and_leaves_the_others(tmp_path: Path) -> None:
    other = put(tmp_path, {"c.yaml": b""}, "other")
    put(tmp_path)
    row = put(tmp_path, {"a.yaml": b"driver: {}\n# newer\n"})
    assert locked_in(tmp_path) == {"acme": row, "other": other}
    assert len(list((tmp_path / "bundles").iterdir())) == 2


def test_a_run_that_ends_before_the_lock_is_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = put(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(matrix_file, "_write_beside_and_rename", full)
    with pytest.raises(matrix_file.MatrixFileError, match="No space left"):
        put(tmp_path, {"a.yaml": b"driver: {}\n# newer\n"})
    monkeypatch.undo()
    assert locked_in(tmp_path) == {"acme": row}
    assert files_of(tmp_path, "acme", row) == FILES
    put(tmp_path, FILES)  # the next run sweeps what that one left
    assert len(list((tmp_path / "bundles").iterdir())) == 1


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("seatrial.adapters.files.facts.store.os.fsync", full)
    with pytest.raises(matrix_file.MatrixFileError, match="No space left"):
        put(tmp_path)
    assert everything(tmp_path) == {}
    assert list((tmp_path / "bundles").iterdir()) == []


@pytest.mark.parametrize(("name", "word"), [("a.yaml", "was changed after bundle acme"), (None, "cannot be read")])
def test_a_file_that_was_changed_or_lost_is_named(tmp_path: Path, name: str | None, word: str) -> None:
    row = put(tmp_path)
    file = tmp_path / row.folder("acme") / "a.yaml"
    if name:
        file.write_bytes(b"driver: {x: y}\n")
    else:
        file.unlink()
    with pytest.raises(BundleTampered, match=word) as refused:
        files_of(tmp_path, "acme", row)
    assert refused.value.place == str(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(digest="sha256:" + "0" * 64),
        lambda row: row["files"].update({"a.yaml": "0" * 64}),
        lambda row: row.update(files={"../../x.yaml": "0" * 64}),
        lambda row: row.update(on="soon"),
        lambda row: row.update(unknown=1),
        lambda row: row.pop("source"),
    ],
)
def test_a_lock_that_was_edited_is_refused(tmp_path: Path, change: object) -> None:
    put(tmp_path)
    lock = tmp_path / bundle_store.LOCK
    data = json.loads(lock.read_text())
    assert callable(change)
    change(data["bundles"]["acme"])
    lock.write_text(json.dumps(data))
    with pytest.raises(BundleTampered, match="not what seatrial wrote"):
        locked_in(tmp_path)


def test_a_lock_of_a_later_seatrial_says_so(tmp_path: Path) -> None:
    (tmp_path / bundle_store.LOCK).write_text('{"version": 2, "bundles": {}}')
    with pytest.raises(BundleUnreadable, match="Update seatrial"):
        locked_in(tmp_path)


def test_a_bundle_is_removed_with_its_files(tmp_path: Path) -> None:
    put(tmp_path)
    with pytest.raises(BundleUnreadable, match="it has acme"):
        bundle_store.remove(tmp_path, "acne")
    bundle_store.remove(tmp_path, "acme")
    assert locked_in(tmp_path) == {}
    assert list(everything(tmp_path)) == ["bundles.lock.json"]
