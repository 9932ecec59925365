"""A control plane of its own with the chart in it, since the definition is the chart's there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client, PatchKind
from seatrial_lab.testbed.plane import credentials
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.chart import post
from tests.chart.charts import CHART, NAMESPACE, helm


@contextmanager
def charted(folder: Path, *flags: str) -> Iterator[ControlPlane]:
    """The control plane, with the chart installed by the real helm."""
    with ControlPlane.start(folder) as plane:
        for name in (NAMESPACE, "gpu-operator", "people", post.DRA):
            plane.kubectl("create", "namespace", name)
        plane.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
        on(plane, "install", "seatrial", CHART, "--dry-run=server", *flags)
        assert "/seatrial-" not in plane.kubectl("get", "clusterroles,namespaces", "-o", "name"), "it was a dry run"
        on(plane, "install", "seatrial", CHART, *flags)
        yield plane


def on(plane: ControlPlane, *arguments: Any) -> str:
    """Run helm there."""
    return helm(*arguments, "--namespace", NAMESPACE, "--kubeconfig", plane.kubeconfig)


def a_rollout(name: str = "spring") -> dict[str, Any]:
    """A rollout that asks for approval at its waves."""
    return {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": name},
        "spec": {
            "target": {"driver": "580.105.08"},
            "canary": {},
            "after": "winter",
            "approvals": {"manual": ["waves"]},
        },
    }


def client_of(plane: ControlPlane, account: str, token: str = "") -> Client:
    """A client as NAMESPACE/NAME, with that token or one of its own."""
    namespace, name = account.split("/")
    token = token or plane.kubectl("create", "token", name, "-n", namespace).strip()
    kubeconfig = credentials.write_kubeconfig(
        plane.folder / f"{namespace}-{name}.kubeconfig",
        url=plane.url,
        authority=plane.authority,
        user=name,
        token=token,
    )
    return Client(configs.load_config(kubeconfig=str(kubeconfig), environ={}), user_agent="tests")


def as_account(plane: ControlPlane, account: str, path: str, body: Any, *, token: str = "") -> dict[str, Any]:
    """Patch an object at once, as NAMESPACE/NAME: kubectl would want to read it first."""
    made = client_of(plane, account, token)

    async def patched() -> dict[str, Any]:
        async with made as client:
            found: dict[str, Any] = await client.patch(path, body, dict, kind=PatchKind.MERGE)
            return found

    return asyncio.run(patched())
