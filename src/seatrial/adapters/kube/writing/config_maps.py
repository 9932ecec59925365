"""A ConfigMap that holds a matrix: read whole, written back under the version it was read at.

Tests: tests/controller/test_homes.py
"""

from __future__ import annotations

from collections.abc import Mapping

from seatrial.adapters.kube.api.client import Client, PatchKind, api_path
from seatrial.adapters.kube.shapes.models import Model, ObjectMeta


class ConfigMap(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}  # noqa: RUF012  msgspec copies defaults


async def read(client: Client, namespace: str, name: str) -> ConfigMap:
    """Read one; errors.NotFound where there is none."""
    return await client.get(api_path("v1", "configmaps", namespace=namespace, name=name), ConfigMap)


async def write(
    client: Client, found: ConfigMap, data: Mapping[str, str], annotations: Mapping[str, str | None]
) -> None:
    """Change keys and annotations (None removes one), unless somebody else did since it was read: errors.Conflict."""
    meta = found.metadata
    # The uid as well: versions of another object of this name, made since, say nothing about ours.
    body = {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": dict(annotations)},
        "data": dict(data),
    }
    path = api_path("v1", "configmaps", namespace=meta.namespace, name=meta.name)
    await client.patch(path, body, ConfigMap, kind=PatchKind.MERGE)
