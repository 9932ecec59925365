"""Pacing beside a stand-in: the one label, put as a node was seen and taken while it is ours, and never left behind.

What a real API server says to the same writes is test_pacing_real.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from seatrial.adapters.kube import pacing
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.pacing import PaceObserver, TraceLeft
from seatrial.adapters.kube.shapes import keys
from seatrial.core.movers.pace.values import Lower, Pacing, Raise, Reset
from seatrial.core.movers.pace.ways import STATE_LABEL, WAKE_LABEL, WAKE_VALUE
from tests.adapters.kube import objects, standin
from tests.adapters.kube.versioned import Objects

DEPLOYMENTS = api_path("apps/v1", "deployments", namespace=objects.NAMESPACE)
REVISIONS = keys.revisions_path(objects.NAMESPACE)
POLICY = f"{keys.CLUSTER_POLICIES}/gpu"


@pytest.fixture
def cluster(server: standin.StandIn) -> Objects:
    """A node whose new driver waits for nothing but a look of NVIDIA's controller, and one that is done."""
    there = Objects(keys.PODS, keys.NODES)
    there.put(f"{keys.NODES}/n1", objects.a_node("n1", labels={STATE_LABEL: "pod-restart-required"}))
    there.put(f"{keys.NODES}/n2", objects.a_node("n2", labels={STATE_LABEL: "upgrade-done"}))
    for name in ("n1", "n2"):
        pod = objects.a_driver_pod(name, revision="new", driver=objects.NEW)
        there.put(f"/api/v1/namespaces/{objects.NAMESPACE}/pods/{pod['metadata']['name']}", pod)
    there.put(f"{REVISIONS}/new", objects.a_revision("new", number=2, driver=objects.NEW))
    policy = objects.a_cluster_policy("gpu", driver={"upgradePolicy": {"autoUpgrade": True}})
    policy["metadata"]["labels"] = {"helm.sh/chart": "gpu-operator-v25.10.0"}
    there.put(POLICY, policy)
    server.will(there.answer)
    return there


@pytest.fixture
async def observer(cluster: Objects, to_server: Client) -> AsyncIterator[PaceObserver]:
    async with PaceObserver(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as opened:
        await opened.wait_synced(10)
        yield opened


def labels(cluster: Objects, node: str) -> dict[str, str]:
    found: dict[str, str] = cluster.get(f"{keys.NODES}/{node}")["metadata"]["labels"]
    return found


def version(cluster: Objects, node: str) -> str:
    return str(cluster.get(f"{keys.NODES}/{node}")["metadata"]["resourceVersion"])


# ── single writes ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_our_label_is_put_on_a_node_as_it_was_seen_and_taken_away(cluster: Objects, to_server: Client) -> None:
    seen = version(cluster, "n1")
    written = await pacing.do(to_server, Raise(node="n1", resource_version=seen))
    assert written.metadata.labels[WAKE_LABEL] == labels(cluster, "n1")[WAKE_LABEL] == WAKE_VALUE
    with pytest.raises(errors.Conflict):
        await pacing.do(to_server, Raise(node="n1", resource_version=seen))
    await pacing.do(to_server, Lower(node="n1"))
    assert labels(cluster, "n1") == {"nvidia.com/gpu.present": "true", STATE_LABEL: "pod-restart-required"}


async def test_what_a_person_wrote_over_it_stays(cluster: Objects, to_server: Client) -> None:
    cluster.put(f"{keys.NODES}/n1", objects.a_node("n1", labels={WAKE_LABEL: "true"}))
    with pytest.raises(errors.Invalid):
        await pacing.do(to_server, Lower(node="n1"))
    await pacing.sweep(to_server)
    assert labels(cluster, "n1")[WAKE_LABEL] == "true"


async def test_only_the_state_of_a_done_node_is_taken_away(cluster: Objects, to_server: Client) -> None:
    with pytest.raises(errors.Invalid):
        await pacing.do(to_server, Reset(node="n1"))
    await pacing.do(to_server, Reset(node="n2"))
    assert (STATE_LABEL in labels(cluster, "n1"), STATE_LABEL in labels(cluster, "n2")) == (True, False)


# ── a run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_run_wakes_the_controller_and_leaves_no_label(
    cluster: Objects, observer: PaceObserver, to_server: Client, server: standin.StandIn
) -> None:
    told: list[tuple[str, str]] = []

    def note(found: Pacing, refusal: str) -> None:
        told.append((type(found.act).__name__, refusal))

    async with asyncio.timeout(20):
        memory = await pacing.run(
            to_server,
            observer,
            release=None,
            may_reset=False,
            on_pacing=note,
            is_over=lambda _: ("Raise", "") in told and ("Lower", "") in told,
        )
    assert memory is not None
    assert [act for act, _ in told if act != "NoneType"][:2] == ["Raise", "Lower"]
    assert all(WAKE_LABEL not in labels(cluster, node) for node in ("n1", "n2"))
    assert server.seen[-1].query["labelSelector"] == pacing.SELECTOR, "at the end it is looked whether one is left"


async def test_a_run_ends_when_its_time_is_up_and_one_that_is_stopped_leaves_nothing_either(
    cluster: Objects, observer: PaceObserver, to_server: Client
) -> None:
    def nothing(_: Pacing, __: str) -> None: ...

    said: dict[str, Any] = {"release": None, "may_reset": False, "on_pacing": nothing, "is_over": lambda _: False}
    async with asyncio.timeout(20):
        await pacing.run(to_server, observer, **said, until=time.time() - 1)
        assert all(WAKE_LABEL not in labels(cluster, node) for node in ("n1", "n2"))
        running = asyncio.create_task(pacing.run(to_server, observer, **said))
        while not any(WAKE_LABEL in labels(cluster, node) for node in ("n1", "n2")):
            await asyncio.sleep(0.001)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while any(WAKE_LABEL in labels(cluster, node) for node in ("n1", "n2")):
            await asyncio.sleep(0.001)


async def test_a_node_that_somebody_wrote_to_is_told_and_what_is_forbidden_ends_the_run(
    cluster: Objects, observer: PaceObserver, to_server: Client, server: standin.StandIn
) -> None:
    answers = iter([standin.refuses(409, "Conflict", "it has been modified"), standin.refuses(403, "Forbidden", "no")])

    async def answer(request: Any) -> Any:
        if request.method == "PATCH":
            return await next(answers)(request)
        return await cluster.answer(request)

    server.will(answer)
    told: list[str] = []
    async with asyncio.timeout(20):
        with pytest.raises(errors.Forbidden):
            await pacing.run(
                to_server,
                observer,
                release=None,
                may_reset=False,
                on_pacing=lambda _, refusal: told.append(refusal),
                is_over=lambda _: False,
            )
    assert "it has been modified" in told


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_sweep_takes_our_label_from_every_node(cluster: Objects, to_server: Client) -> None:
    for name in ("n1", "n2"):
        cluster.put(f"{keys.NODES}/{name}", objects.a_node(name, labels={WAKE_LABEL: WAKE_VALUE}))
    await pacing.sweep(to_server)
    assert all(WAKE_LABEL not in labels(cluster, node) for node in ("n1", "n2"))


async def test_a_sweep_that_is_refused_is_tried_again_and_in_the_end_says_what_may_be_left(
    cluster: Objects, to_server: Client, server: standin.StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "SWEEP_PAUSE_SECONDS", 0.01)
    server.will(standin.says("busy", code=503), cluster.answer)
    await pacing.sweep(to_server)
    assert len(server.seen) == 2

    monkeypatch.setattr(pacing, "SWEEP_SECONDS", 0.2)
    server.will(standin.says("busy", code=503))
    with pytest.raises(TraceLeft, match="kubectl label nodes -l"):
        await pacing.sweep(to_server)
    assert len(server.seen) > 4


# ── what is seen ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_release_is_what_the_deployment_says_or_else_the_chart_of_the_policy(
    cluster: Objects, observer: PaceObserver
) -> None:
    assert str(observer.release()) == "v25.10.0"
    await observer.read_release()
    assert str(observer.release()) == "v25.10.0", "there is no Deployment, and that is fine"
    for app, tag in (("gpu-operator", "v26.3.1"), ("another", "v1.0.0")):
        template = {"spec": {"containers": [{"name": "main", "image": f"nvcr.io/nvidia/gpu-operator:{tag}"}]}}
        cluster.put(f"{DEPLOYMENTS}/{app}", {"metadata": {"labels": {"app": app}}, "spec": {"template": template}})
    await observer.read_release()
    assert str(observer.release()) == "v26.3.1"
    seen = observer.look(None, may_reset=True)
    assert (str(seen.release), seen.may_reset, set(seen.nodes)) == ("v26.3.1", True, {"n1", "n2"})
    said = observer.look(observer.release(), may_reset=False)
    assert (said.may_reset, said.operator.is_auto_upgrading) == (False, True)


async def test_what_cannot_be_seen_is_named_and_what_is_not_installed_is_not(
    cluster: Objects, to_server: Client, server: standin.StandIn
) -> None:
    async def answer(request: Any) -> Any:
        if request.path == keys.CLUSTER_POLICIES:
            return await standin.refuses(403, "Forbidden", "not for you")(request)
        return await cluster.answer(request)

    server.will(answer)
    async with PaceObserver(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as observer:
        async with asyncio.timeout(10):
            while not observer.blind_spots():
                await asyncio.sleep(0.01)
        assert [text.partition(":")[0] for text in observer.blind_spots()] == ["clusterpolicies"]
