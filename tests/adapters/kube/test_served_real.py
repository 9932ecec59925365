"""A real API server that has DRA under an older version alone: its claims and slices are seen as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import served
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.driver_manager.node import ManagedNode
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.streams.row import Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.core.node.driver_manager.settings import Settings
from seatrial_lab.testbed.plane import boot
from seatrial_lab.testbed.plane.control_plane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

GROUP = "resource.k8s.io"
KINDS = ("resourceclaims", "resourceslices")


@pytest.fixture(scope="module", params=["v1beta2", "v1beta1"])
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, str]]:
    """An API server, with nobody who acts on it, that has DRA under one version."""
    version: str = request.param
    folder = tmp_path_factory.mktemp(version)
    boot.prepare(folder)
    started = boot.Boot(folder, is_leashed=True, say=lambda _: None)
    # Under v1 it keeps device classes, which it reads itself.
    lacks = ",".join(f"{GROUP}/v1/{kind}=false" for kind in KINDS)
    try:
        started.start_api(f"--runtime-config={GROUP}/{version}=true,{lacks}")
        plane = ControlPlane(started.record)
        account = {"name": "default", "namespace": "default"}  # that nobody makes here
        plane.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}])
        plane.apply([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}])
        plane.apply([a_slice(version), a_claim(version), a_pod()])
        given = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
        allocated = json.dumps({"status": {"allocation": {"devices": {"results": [given]}}}})
        claim = ("resourceclaims", "train", "-n", "default", "--subresource=status", "--type=merge")
        plane.kubectl("patch", *claim, "-p", allocated)
        yield plane, version
    finally:
        boot.stop(started.record)


def a_slice(version: str) -> dict[str, Any]:
    attributes = {"attributes": {"driverVersion": {"version": "580.105.8"}}}
    device = {"name": "gpu-0", **({"basic": attributes} if version == "v1beta1" else attributes)}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "ResourceSlice", "metadata": {"name": "n1"}, "spec": spec}


def a_claim(version: str) -> dict[str, Any]:
    wanted = {"deviceClassName": "gpu.nvidia.com"}
    request = {"name": "gpu", **(wanted if version == "v1beta1" else {"exactly": wanted})}
    metadata = {"name": "train", "namespace": "default"}
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def a_pod() -> dict[str, Any]:
    spec = {
        "nodeName": "n1",
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "train", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "train"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": "default"}, "spec": spec}


def client_of(plane: ControlPlane) -> Client:
    config = configs.load_config(kubeconfig=str(plane.kubeconfig), environ={})
    return Client(config, user_agent="test-served")


async def test_claims_and_slices_are_seen_under_the_version_that_there_is(old: tuple[ControlPlane, str]) -> None:
    plane, _ = old
    where = Where(namespace="gpu-operator", home="seatrial")
    async with client_of(plane) as client, Streams(client, (table.CLAIMS, table.SLICES), where) as streams:
        assert (await served.new_enough(client)).startswith("v1.")
        await streams.wait_synced(30)
        (claim,), (piece,) = streams[table.CLAIMS].store, streams[table.SLICES].store
        assert (claim.claim.name, claim.claim.results) == ("train", (("gpu.nvidia.com", False),))
        assert (piece.node, piece.versions) == ("n1", ("580.105.8",))


async def test_a_driver_manager_sees_who_holds_a_claim_there(old: tuple[ControlPlane, str]) -> None:
    plane, _ = old
    async with client_of(plane) as client:
        _, (pod,) = await ManagedNode(client, Settings(node="n1")).look()
    assert (pod.name, pod.holds_gpu, pod.holds_claim) == ("train", True, True)
