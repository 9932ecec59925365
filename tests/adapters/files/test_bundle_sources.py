"""Bundles from a file, a folder and an OCI layout; what is no plain file is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.adapters.files.facts import sources
from seatrial.adapters.files.facts.sources import from_layout, from_path
from seatrial.core.compat.facts.bundles import Bundle, BundleTampered, BundleUnreadable
from tests.adapters.files.layout import blob, layout

FILES = {"a.yaml": b"driver: {}\n", "b.yaml": b"cuda: {}\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "acme"
    made.mkdir()
    for name, content in FILES.items():
        (made / name).write_bytes(content)
    (made / "README.md").write_text("for people")
    return made


def test_a_folder_a_file_and_an_artifact_are_read(folder: Path, tmp_path: Path) -> None:
    digest = layout(tmp_path / "oci", {**FILES, "README.md": b"x"})
    assert from_path(folder) == from_layout(tmp_path / "oci", digest) == Bundle.of(FILES, "x")
    assert dict(from_path(folder / "a.yaml").files) == {"a.yaml": FILES["a.yaml"]}
    (folder / "a.yaml.sig").write_bytes(b"sig")
    assert from_path(folder / "a.yaml").signature == b"sig"


def test_links_and_what_is_not_there_are_refused(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("a.yaml")
    with pytest.raises(BundleUnreadable, match=r"link\.yaml is not a plain file"):
        from_path(folder)
    with pytest.raises(BundleUnreadable, match="No such file"):
        from_path(folder / "none.yaml")
    with pytest.raises(BundleUnreadable, match=r"is no \.yaml"):
        from_path(folder / "README.md")


def test_a_blob_that_was_changed_is_named(tmp_path: Path) -> None:
    digest = layout(tmp_path, FILES)
    (changed,) = [each for each in (tmp_path / "blobs/sha256").iterdir() if each.read_bytes() == FILES["a.yaml"]]
    changed.write_bytes(b"driver: {x: y}\n")
    with pytest.raises(BundleTampered, match=changed.name):
        from_layout(tmp_path, digest)


def test_a_layout_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    with pytest.raises(BundleUnreadable, match="not an OCI layout"):
        from_layout(tmp_path, f"sha256:{'0' * 64}")
    layout(tmp_path, FILES)
    for body, word in (
        (b"[]", "not a manifest"),
        (b"x", "not JSON"),
        (b'{"manifests": []}', "an index"),
        (b'{"layers": []}', "with layers"),
        (json.dumps({"layers": [{"digest": "sha256:0"}]}).encode(), "Push files"),
        (
            json.dumps(
                {"layers": [{"digest": "md5:0", "annotations": {"org.opencontainers.image.title": "a.yaml"}}]}
            ).encode(),
            "is not a digest",
        ),
    ):
        with pytest.raises(BundleUnreadable, match=word):
            from_layout(tmp_path, blob(tmp_path, body)["digest"])


def test_a_file_may_be_as_long_as_the_limit_and_no_longer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(FILES["a.yaml"])
    monkeypatch.setattr(sources, "BYTES_MAX", size)
    assert dict(from_path(folder / "a.yaml").files) == {"a.yaml": FILES["a.yaml"]}
    monkeypatch.setattr(sources, "BYTES_MAX", size - 1)
    with pytest.raises(BundleUnreadable, match=f"has more than {size - 1} bytes"):
        from_path(folder / "a.yaml")
