"""Which charts Helm has deployed: what can be read of its Secrets, and that nothing else is kept."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import helm_releases
from seatrial.core.survey.audit.objects import ReleaseObject
from tests.adapters.kube import standin

RELEASE = {
    "name": "gpu",
    "config": {"password": "hunter2"},
    "chart": {"metadata": {"name": "gpu-operator", "version": "v25.10.1"}, "values": {"token": "s3cr3t"}},
}


def packed(release: Any, *, is_zipped: bool = True) -> str:
    text = json.dumps(release).encode()
    inner = base64.b64encode(gzip.compress(text) if is_zipped else text)
    return base64.b64encode(inner).decode()


def a_secret(release: str, what: str = "helm.sh/release.v1") -> dict[str, Any]:
    return {"type": what, "metadata": {"name": "sh.helm.release.v1.gpu.v1"}, "data": {"release": release}}


async def read(*secrets: dict[str, Any]) -> tuple[ReleaseObject, ...]:
    async with standin.running() as server:
        server.will(standin.gives({"metadata": {}, "items": list(secrets)}))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            found = await helm_releases.read(client, ("gpus",))
        (asked,) = server.seen
    assert (asked.path, asked.query["labelSelector"]) == (
        "/api/v1/namespaces/gpus/secrets",
        "owner=helm,status=deployed",
    )
    return found


@pytest.mark.parametrize("is_zipped", [True, False])
async def test_of_a_release_the_chart_and_its_version_are_kept_and_nothing_else(is_zipped: bool) -> None:
    found = await read(a_secret(packed(RELEASE, is_zipped=is_zipped)))
    assert found == (ReleaseObject(namespace="gpus", name="gpu", chart="gpu-operator", version="v25.10.1"),)
    assert "hunter2" not in repr(found)
    assert "s3cr3t" not in repr(found)


@pytest.mark.parametrize(
    "release",
    ["", "!", base64.b64encode(b"!").decode(), base64.b64encode(base64.b64encode(b"\x1f\x8bno")).decode(), packed([1])],
    ids=["nothing", "no base64", "base64 once", "no gzip", "no release"],
)
async def test_a_release_that_cannot_be_read_tells_nothing(release: str) -> None:
    assert await read(a_secret(release)) == ()


async def test_a_secret_of_another_kind_is_no_release() -> None:
    assert await read(a_secret(packed(RELEASE), "Opaque")) == ()
