"""What a wake writes, as a real API server takes or refuses it, and where the operator's release is read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from seatrial.adapters.kube import pacing
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.core.movers.pace.values import Lower, Raise, Reset
from seatrial.core.movers.pace.ways import STATE_LABEL, WAKE_LABEL, WAKE_VALUE
from seatrial_lab.testbed.plane.control_plane import ControlPlane

pytestmark = pytest.mark.cluster

NAMESPACE = "kube-pacing"
NODE, OTHER = "kube-pacing-1", "kube-pacing-2"


@pytest.fixture(scope="module")
def world(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Two nodes and a namespace of our own."""
    metas = [{"name": name, "labels": {STATE_LABEL: "upgrade-done"}} for name in (NODE, OTHER)]
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": meta} for meta in metas]
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *nodes])
    yield plane
    plane.kubectl("delete", "node", NODE, OTHER)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(autouse=True)
def unlabelled(world: ControlPlane) -> None:
    """No skip label to begin with."""
    world.kubectl("label", "node", NODE, OTHER, f"{WAKE_LABEL}-", f"{STATE_LABEL}=upgrade-done", "--overwrite")


@pytest.fixture
async def client(world: ControlPlane) -> AsyncIterator[Client]:
    config = configs.load_config(kubeconfig=str(world.kubeconfig), environ={})
    async with Client(config, user_agent="seatrial/test") as opened:
        yield opened


def labels(world: ControlPlane, node: str) -> dict[str, str]:
    found: dict[str, str] = world.get("node", node)["metadata"]["labels"]
    return found


def version(world: ControlPlane, node: str) -> str:
    return str(world.get("node", node)["metadata"]["resourceVersion"])


async def raise_label(world: ControlPlane, client: Client) -> kinds.Node:
    """Put our label on, on the node as it is: who watches young nodes taints them at a moment of its own."""
    for _ in range(10):
        with suppress(errors.Conflict):
            return await pacing.do(client, Raise(node=NODE, resource_version=version(world, NODE)))
    raise AssertionError(f"somebody writes to {NODE} all the time")


async def test_our_label_is_put_and_taken_away(world: ControlPlane, client: Client) -> None:
    written = await raise_label(world, client)
    assert written.metadata.labels[WAKE_LABEL] == WAKE_VALUE
    assert WAKE_LABEL not in (await pacing.do(client, Lower(node=NODE))).metadata.labels


async def test_a_node_that_somebody_wrote_to_since_is_not_written_to(world: ControlPlane, client: Client) -> None:
    seen = version(world, NODE)
    world.kubectl("label", "node", NODE, f"{WAKE_LABEL}=true")
    with pytest.raises(errors.Conflict):
        await pacing.do(client, Raise(node=NODE, resource_version=seen))
    assert labels(world, NODE)[WAKE_LABEL] == "true"


@pytest.mark.parametrize("value", ["true", "false"])
async def test_what_a_person_wrote_over_our_label_stays(world: ControlPlane, client: Client, value: str) -> None:
    await raise_label(world, client)
    world.kubectl("label", "node", NODE, f"{WAKE_LABEL}={value}", "--overwrite")
    with pytest.raises(errors.Invalid):
        await pacing.do(client, Lower(node=NODE))
    await pacing.sweep(client)
    assert labels(world, NODE)[WAKE_LABEL] == value


async def test_a_label_that_is_gone_already_cannot_be_taken_away(world: ControlPlane, client: Client) -> None:
    with pytest.raises(errors.Invalid):
        await pacing.do(client, Lower(node=NODE))


async def test_only_the_state_of_a_done_node_is_taken_away(world: ControlPlane, client: Client) -> None:
    world.kubectl("label", "node", NODE, f"{STATE_LABEL}=upgrade-required", "--overwrite")
    with pytest.raises(errors.Invalid):
        await pacing.do(client, Reset(node=NODE))
    assert STATE_LABEL not in (await pacing.do(client, Reset(node=OTHER))).metadata.labels


async def test_a_sweep_takes_our_label_from_every_node_and_no_other(world: ControlPlane, client: Client) -> None:
    world.kubectl("label", "node", NODE, OTHER, f"{WAKE_LABEL}={WAKE_VALUE}")
    await pacing.sweep(client)
    assert WAKE_LABEL not in labels(world, NODE)
    assert WAKE_LABEL not in labels(world, OTHER)
    await pacing.sweep(client)  # nothing to do


@pytest.mark.parametrize(
    ("image", "labelled", "release"),
    [
        ("nvcr.io/nvidia/gpu-operator:v26.3.1", {}, "v26.3.1"),
        ("nvcr.io/nvidia/gpu-operator@sha256:" + "0" * 64, {"helm.sh/chart": "gpu-operator-v25.10.0"}, "v25.10.0"),
        ("nvcr.io/nvidia/gpu-operator:latest", {"olm.owner": "gpu-operator-certified.v24.9.2"}, "v24.9.2"),
        ("nvcr.io/nvidia/gpu-operator:latest", {}, ""),
    ],
)
async def test_the_release_is_read_from_the_operators_deployment(
    world: ControlPlane, client: Client, image: str, labelled: dict[str, str], release: str
) -> None:
    world.kubectl("apply", "-f", "-", stdin=json.dumps(a_deployment(image, labelled)))
    try:
        async with pacing.PaceObserver(client, namespace=NAMESPACE, on_fault=pytest.fail) as observer:
            await observer.wait_synced(30)
            await observer.read_release()
            assert str(observer.release() or "") == release
            seen = observer.look(None, may_reset=True)
            assert (str(seen.release or ""), seen.may_reset, NODE in seen.nodes) == (release, True, True)
            assert observer.blind_spots() == ()
    finally:
        world.kubectl("delete", "deployment", "gpu-operator", "-n", NAMESPACE)


def a_deployment(image: str, labelled: dict[str, str]) -> dict[str, Any]:
    """The operator's, of which nothing runs."""
    app = {"app": "gpu-operator"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "gpu-operator", "namespace": NAMESPACE, "labels": app | labelled},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": app},
            "template": {
                "metadata": {"labels": app},
                "spec": {"containers": [{"name": "gpu-operator", "image": image}]},
            },
        },
    }


def test_the_labels_are_those_of_the_adapters_keys() -> None:
    assert (WAKE_LABEL, STATE_LABEL) == (keys.SKIP_LABEL, keys.NVIDIA_STATE_LABEL)
