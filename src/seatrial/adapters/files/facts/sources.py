"""Bundles of facts where they are published: a file, a folder, or an artifact in an OCI layout. Reads only.

    oci:DIR@sha256:…    DIR has index.json, oci-layout and blobs/sha256; the digest is that of a manifest in it. Each
                        layer is one file, named by its title, as `oras push --oci-layout` writes it; every blob is
                        compared with its digest, so who names the manifest has pinned the files.

Law of this file: what is no plain file is refused by name, and no more is read than a bundle may have.
Tests: tests/adapters/files/test_bundle_sources.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from seatrial.core.compat.facts.bundles import (
    BYTES_MAX,
    FILES_MAX,
    SIGNATURE,
    Bundle,
    BundleTampered,
    BundleUnreadable,
    belongs,
)

TITLE: Final = "org.opencontainers.image.title"
_INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)


def from_path(path: Path) -> Bundle:
    """The bundle that is a file, or a folder of files."""
    if path.is_dir():
        try:
            names = sorted(each.name for each in path.iterdir() if belongs(each.name))
        except OSError as err:
            raise _unread(path, err) from err
        return Bundle.of({name: _bytes(path / name) for name in names[: 3 * FILES_MAX]}, str(path))
    signature = path.with_name(path.name + SIGNATURE)
    raw = {path.name: _bytes(path)}
    if path.suffix != ".yaml":
        raise BundleUnreadable(f"{path} is no .yaml. Name a file of facts, or a folder with some.", str(path))
    if signature.exists():
        raw[signature.name] = _bytes(signature)
    return Bundle.of(raw, str(path))


def from_layout(folder: Path, digest: str) -> Bundle:
    """The bundle whose manifest has this digest, out of an OCI layout."""
    if not (folder / "oci-layout").is_file():
        raise BundleUnreadable(
            f"{folder} is not an OCI layout: it has no file oci-layout. Name its folder.", str(folder)
        )
    place = f"{folder}@{digest}"
    manifest = _json(_blob(folder, digest), place)
    if manifest.get("mediaType") in _INDEXES or "manifests" in manifest:
        raise BundleUnreadable(f"{place} is an index of manifests. Name the digest of one of them.", str(folder))
    layers = manifest.get("layers")
    if not isinstance(layers, list) or not layers:
        raise BundleUnreadable(f"{place} is not a manifest with layers. Name the digest of the artifact.", str(folder))
    raw: dict[str, bytes] = {}
    for layer in layers[: 3 * FILES_MAX]:
        told = layer if isinstance(layer, Mapping) else {}
        name = (told.get("annotations") or {}).get(TITLE)
        if not isinstance(name, str):
            raise BundleUnreadable(
                f"{place} has a layer without {TITLE}. Push files, not folders: oras push … *.yaml", str(folder)
            )
        if belongs(name):
            raw[name] = _blob(folder, str(told.get("digest")))
    return Bundle.of(raw, place)


def _blob(folder: Path, digest: str) -> bytes:
    algorithm, _, name = digest.partition(":")
    if algorithm != "sha256" or len(name) != 64 or set(name) - set("0123456789abcdef"):
        raise BundleUnreadable(
            f"{digest!r} is not a digest. Write it as sha256: and 64 hexadecimal digits.", str(folder)
        )
    path = folder / "blobs" / "sha256" / name
    content = _bytes(path)
    found = sha256(content).hexdigest()
    if found != name:
        raise BundleTampered(
            f"{path} was changed: its name says {name}, it has {found}. Nothing was taken over. Copy the layout again.",
            str(path),
        )
    return content


def _json(content: bytes, place: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as err:
        raise BundleUnreadable(f"{place} is not a manifest: it is not JSON. Name the digest of the artifact.") from err
    if not isinstance(found, dict):
        raise BundleUnreadable(f"{place} is not a manifest. Name the digest of the artifact.")
    return found


def _bytes(path: Path) -> bytes:
    """A plain file, up to one byte more than allowed: enough to tell that it is too much."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise BundleUnreadable(
            f"{path} is not a plain file. A bundle has its files in it, not links to them.", str(path)
        )
    try:
        with path.open("rb") as stream:
            content = stream.read(BYTES_MAX + 1)
    except OSError as err:
        raise _unread(path, err) from err
    if len(content) > BYTES_MAX:
        raise BundleUnreadable(f"{path} has more than {BYTES_MAX} bytes; facts have some thousands.", str(path))
    return content


def _unread(path: Path, err: OSError) -> BundleUnreadable:
    return BundleUnreadable(f"{path} cannot be read: {err.strerror or err}. Check the name and its rights.", str(path))
