"""Layers and archives: the same bytes whatever order files came in, and every digest where it belongs."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime

from seatrial_lab.image import oci, recipe
from seatrial_lab.image.files import File, Folder, Link, Tree

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
TREE: Tree = {"tmp": Folder(mode=0o1777), "usr/bin/x": File(content=b"x", mode=0o755), "bin": Link(target="usr/bin")}


def a_layer() -> oci.Layer:
    return oci.layer(TREE, when=NOON, made_by="a test")


def an_image() -> oci.Image:
    return oci.image(recipe.CONTROLLER, "arm64", [a_layer()], when=NOON, labels={"a": "label"})


def test_the_order_of_files_does_not_show() -> None:
    backwards = dict(reversed(list(TREE.items())))
    assert oci.layer(backwards, when=NOON, made_by="a test") == a_layer()


def test_a_layer_has_every_folder_and_everything_is_roots_and_as_old_as_it_is_told() -> None:
    with tarfile.open(fileobj=io.BytesIO(a_layer().blob.content)) as tar:
        members = tar.getmembers()
    assert [(member.name, member.mode) for member in members] == [
        ("bin", 0o777),
        ("tmp", 0o1777),
        ("usr", 0o755),
        ("usr/bin", 0o755),
        ("usr/bin/x", 0o755),
    ]
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members} == {
        (0, 0, "", NOON.timestamp())
    }


def test_a_layer_is_known_by_both_its_digests() -> None:
    layer = a_layer()
    assert layer.blob.digest == f"sha256:{hashlib.sha256(layer.blob.content).hexdigest()}"
    assert layer.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(layer.blob.content)).hexdigest()}"
    assert layer.blob.content[4:8] == b"\0\0\0\0"  # no time


def test_a_manifest_names_its_configuration_and_layers() -> None:
    image = an_image()
    manifest, configuration = json.loads(image.manifest.content), json.loads(image.configuration.content)
    assert manifest["config"]["digest"] == image.configuration.digest
    assert [layer["digest"] for layer in manifest["layers"]] == [a_layer().blob.digest]
    assert configuration["rootfs"]["diff_ids"] == [a_layer().diff_id]
    assert configuration["created"] == "2026-11-16T12:00:00Z"
    assert (configuration["architecture"], configuration["variant"]) == ("arm64", "v8")
    assert configuration["config"]["Labels"] == {"a": "label"}


def test_an_archive_holds_all_of_it_under_its_name() -> None:
    image = an_image()
    with tarfile.open(fileobj=io.BytesIO(oci.archive(image, name="example.com/x", tag="1", when=NOON))) as tar:
        names = tar.getnames()
        index = json.loads(tar.extractfile("index.json").read())  # type: ignore[union-attr]
    (described,) = index["manifests"]
    assert described["digest"] == image.digest
    assert described["platform"] == {"architecture": "arm64", "os": "linux", "variant": "v8"}
    assert described["annotations"]["io.containerd.image.name"] == "example.com/x:1"
    for blob in (image.manifest, image.configuration, a_layer().blob):
        assert f"blobs/sha256/{blob.digest.removeprefix('sha256:')}" in names


def test_its_size_is_what_has_to_be_downloaded() -> None:
    image = an_image()
    assert image.size == sum(len(blob.content) for blob in (image.manifest, image.configuration, a_layer().blob))
