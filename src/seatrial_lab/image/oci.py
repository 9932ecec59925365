"""Layers, configuration, manifest and archive as the OCI image specification has them, the same bytes every time.

The archive is an OCI layout (containerd, podman, skopeo) that Docker's older `load` understands as well.
Tests: tests/image/test_oci.py
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from seatrial_lab.image import files, recipe
from seatrial_lab.image.files import Entry, File, Folder, Link, Tree

LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIGURATION: Final = "application/vnd.oci.image.config.v1+json"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
Press = Callable[[bytes], bytes]

COMPRESSION: Final = 6
"""9 takes four times as long for one hundredth less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes with a type, known by their digest."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    @property
    def descriptor(self) -> dict[str, Any]:
        """How one blob speaks of another."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Files of one kind, packed; what is inside is also known by the digest of the tar."""

    blob: Blob
    diff_id: str
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image for one architecture."""

    architecture: str
    layers: tuple[Layer, ...]
    configuration: Blob
    manifest: Blob

    @property
    def digest(self) -> str:
        """What a registry would know it by."""
        return self.manifest.digest

    @property
    def size(self) -> int:
        """Bytes to download."""
        blobs = (self.configuration, self.manifest, *(layer.blob for layer in self.layers))
        return sum(len(blob.content) for blob in blobs)


def press(packed: bytes) -> bytes:
    """The same bytes, smaller, without a name or a time in them."""
    pressed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=pressed, mtime=0) as file:
        file.write(packed)
    return pressed.getvalue()


def layer(tree: Tree, *, when: datetime, made_by: str, pressed_by: Press = press) -> Layer:
    """A tree as one layer, everything owned by root and as old as `when`."""
    packed = _tar(files.with_folders(tree), when)
    return Layer(
        blob=Blob(media_type=LAYER, content=pressed_by(packed)),
        diff_id=f"sha256:{hashlib.sha256(packed).hexdigest()}",
        made_by=made_by,
    )


def image(
    one: recipe.Recipe, architecture: str, layers: Sequence[Layer], *, when: datetime, labels: Mapping[str, str]
) -> Image:
    """Layers with the settings of a recipe."""
    created = when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    configuration = _json(
        CONFIGURATION,
        {
            **_platform(architecture),
            "created": created,
            "config": {
                "User": f"{recipe.USER}:{recipe.USER}",
                "Env": [f"{name}={value}" for name, value in one.environment.items()],
                "Entrypoint": list(one.entrypoint),
                "Cmd": list(one.command),
                **({"ExposedPorts": {f"{one.port}/tcp": {}}} if one.port is not None else {}),
                "WorkingDir": "/",
                "Labels": dict(labels),
            },
            "rootfs": {"type": "layers", "diff_ids": [each.diff_id for each in layers]},
            "history": [{"created": created, "created_by": each.made_by} for each in layers],
        },
    )
    manifest = _json(
        MANIFEST,
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": configuration.descriptor,
            "layers": [each.blob.descriptor for each in layers],
            "annotations": dict(labels),
        },
    )
    return Image(architecture=architecture, layers=tuple(layers), configuration=configuration, manifest=manifest)


def archive(one: Image, *, name: str, tag: str, when: datetime) -> bytes:
    """An image in one file, which knows what it is called."""
    called = f"{name}:{tag}"
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            {
                **one.manifest.descriptor,
                "platform": _platform(one.architecture),
                "annotations": {"io.containerd.image.name": called, "org.opencontainers.image.ref.name": tag},
            }
        ],
    }
    docker = [
        {
            "Config": _place(one.configuration),
            "RepoTags": [called],
            "Layers": [_place(layer.blob) for layer in one.layers],
        }
    ]
    tree: dict[str, Entry] = {
        "oci-layout": File(content=b'{"imageLayoutVersion":"1.0.0"}'),
        "index.json": File(content=_json(INDEX, index).content),
        "manifest.json": File(content=json.dumps(docker, sort_keys=True, separators=(",", ":")).encode()),
        **{
            _place(blob): File(content=blob.content)
            for blob in (one.configuration, one.manifest, *(layer.blob for layer in one.layers))
        },
    }
    return _tar(files.with_folders(tree), when)


def _platform(architecture: str) -> dict[str, str]:
    return {"architecture": architecture, "os": "linux", **({"variant": "v8"} if architecture == "arm64" else {})}


def _place(blob: Blob) -> str:
    return f"blobs/{blob.digest.replace(':', '/')}"


def _json(media_type: str, value: Mapping[str, Any]) -> Blob:
    return Blob(media_type=media_type, content=json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def _tar(tree: Tree, when: datetime) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, entry in tree.items():
            header = tarfile.TarInfo(path)
            header.mtime = int(when.timestamp())
            match entry:
                case Folder(mode=mode):
                    header.type, header.mode = tarfile.DIRTYPE, mode
                    tar.addfile(header)
                case Link(target=target):
                    header.type, header.mode, header.linkname = tarfile.SYMTYPE, 0o777, target
                    tar.addfile(header)
                case File(content=content, mode=mode):
                    header.mode, header.size = mode, len(content)
                    tar.addfile(header, io.BytesIO(content))
    return packed.getvalue()
