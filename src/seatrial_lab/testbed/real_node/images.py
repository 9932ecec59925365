"""The images of a real node's containers, written from files: one layer with busybox and what containers play.

They bear the names that the fleet's manifests use, NVIDIA's included, so that a fleet's pods run unchanged; nothing is
pulled. The format is that of `docker save`: every tool that imports images reads it.
Tests: tests/testbed/test_images.py
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PLAY: Final = Path(__file__).parent / "play"
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A program or text in a layer; a text of ours or a file of this machine."""

    path: str
    content: bytes
    mode: int = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer as it is stored, and its digest, which takes a while to work out."""

    content: bytes
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image: its name, its layers, and what its containers start."""

    name: str
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def layer(files: Iterable[File], links: Mapping[str, str] | None = None) -> Layer:
    """Return a layer: the same bytes for the same files."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as archive:
        for each in files:
            header = tarfile.TarInfo(each.path)
            header.size, header.mode = len(each.content), each.mode
            archive.addfile(header, io.BytesIO(each.content))
        for path, target in (links or {}).items():
            header = tarfile.TarInfo(path)
            header.type, header.linkname = tarfile.SYMTYPE, target
            archive.addfile(header)
    return Layer(content=output.getvalue(), digest=_digest(output.getvalue()))


def write(path: Path, images: Sequence[Image], *, machine: str) -> Path:
    """Write images into one archive that `ctr images import` reads."""
    layers = {each.digest: each.content for image in images for each in image.layers}
    configs = {image.name: _config(image, machine) for image in images}
    entries = [
        {
            "Config": f"{_digest(configs[image.name])}.json",
            "RepoTags": [image.name],
            "Layers": [f"{each.digest}.tar" for each in image.layers],
        }
        for image in images
    ]
    with tarfile.open(path, "w") as archive:
        for name, content in (
            *((f"{digest}.tar", each) for digest, each in layers.items()),
            *((f"{_digest(each)}.json", each) for each in configs.values()),
            ("manifest.json", json.dumps(entries).encode()),
        ):
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    return path


def _config(image: Image, machine: str) -> bytes:
    document = {
        "architecture": ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {
            "Entrypoint": list(image.entrypoint),
            "Env": ["PATH=/bin", *(f"{name}={value}" for name, value in image.environment)],
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{each.digest}" for each in image.layers]},
    }
    return json.dumps(document, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
