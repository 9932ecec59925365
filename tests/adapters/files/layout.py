"""A real OCI layout with one artifact, as `oras push --oci-layout` writes it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def blob(folder: Path, content: bytes) -> dict[str, Any]:
    """Put bytes among the blobs; gives their descriptor."""
    name = sha256(content).hexdigest()
    (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
    (folder / "blobs" / "sha256" / name).write_bytes(content)
    return {"digest": f"sha256:{name}", "size": len(content)}


def layout(folder: Path, files: dict[str, bytes]) -> str:
    """Write the layout of an artifact with these files; gives the digest of its manifest."""
    layers = [
        {
            **blob(folder, content),
            "mediaType": "application/yaml",
            "annotations": {"org.opencontainers.image.title": name},
        }
        for name, content in files.items()
    ]
    empty = {**blob(folder, b"{}"), "mediaType": "application/vnd.oci.empty.v1+json"}
    body = {"schemaVersion": 2, "mediaType": MANIFEST, "config": empty, "layers": layers}
    manifest = {**blob(folder, json.dumps(body).encode()), "mediaType": MANIFEST}
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    return str(manifest["digest"])
