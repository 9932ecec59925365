"""What an API server serves: too old a Kubernetes is told at the start, and DRA is read under the version it has."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from seatrial.adapters.kube.api import errors, served
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.driver_manager.node import ManagedNode
from seatrial.adapters.kube.probing import Prober
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.streams.row import Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.core.node.driver_manager.settings import Settings
from tests.adapters.kube import objects, standin

ROOT = Path(__file__).parents[3]
HERE = Where(namespace=objects.NAMESPACE, home="ours")
GIVEN = ({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"},)


def is_version(major: str, minor: str, text: str) -> standin.Reply:
    return standin.gives({"major": major, "minor": minor, "gitVersion": text})


# ── the oldest Kubernetes ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("major", "minor", "text"), [("1", "34", "v1.34.0"), ("1", "34+", "v1.34.1-gke.7"), ("1", "40", "v1.40.2")]
)
async def test_a_kubernetes_that_is_new_enough_is_named(
    server: standin.StandIn, to_server: Client, major: str, minor: str, text: str
) -> None:
    server.will(is_version(major, minor, text))
    assert await served.new_enough(to_server) == text


async def test_a_kubernetes_that_is_too_old_is_refused_with_what_is_needed(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(is_version("1", "33", "v1.33.5"))
    with pytest.raises(errors.TooOld, match=r"is Kubernetes v1\.33\.5, and seatrial needs 1\.34 or later; upgrade"):
        await served.new_enough(to_server)


@pytest.mark.parametrize("answer", [standin.refuses(403), standin.refuses(404), is_version("", "", "")])
async def test_a_server_that_does_not_tell_its_version_is_not_taken_for_an_old_one(
    server: standin.StandIn, to_server: Client, answer: standin.Reply
) -> None:
    server.will(answer)
    assert await served.new_enough(to_server) == ""


def test_the_oldest_kubernetes_is_the_same_wherever_it_is_said() -> None:
    text = ".".join(map(str, served.OLDEST))
    chart = yaml.safe_load((ROOT / "charts/seatrial/Chart.yaml").read_text(encoding="utf-8"))
    assert chart["kubeVersion"] == f">={text}.0-0"
    assert f"Needs Kubernetes {text} or later" in (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8")
    built = ROOT / "src/seatrial_lab/testbed/building/go/kubernetes-oldest/go.mod"
    assert re.search(rf"k8s\.io/kubernetes v{re.escape(text)}\.", built.read_text(encoding="utf-8"))


async def test_a_controller_ends_at_once_beside_a_kubernetes_that_is_too_old(
    server: standin.StandIn, tmp_path: Path
) -> None:
    server.will(is_version("1", "33", "v1.33.5"))
    config = tmp_path / "kubeconfig"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
        f"clusters: [{{name: a, cluster: {{server: '{server.url}'}}}}], users: [{{name: a, user: {{}}}}]}}",
        encoding="utf-8",
    )
    command = ("-m", "seatrial", "controller", "--once", "--kubeconfig", str(config))
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stderr=asyncio.subprocess.PIPE)
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, "seatrial needs 1.34 or later" in said.decode()) == (1, True)
    assert [seen.path for seen in server.seen] == ["/version"], "nothing else was asked"


# ── DRA under the version that is there ──────────────────────────────────────────────────────────────────────────────


class Cluster:
    """An API server that has the kinds of DRA under some versions, and pods and nodes."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions
        self.asked: list[str] = []

    def lists(self) -> dict[str, list[dict[str, Any]]]:
        piece = objects.a_slice("n1", objects.NEW)
        piece["spec"]["pool"] = {"name": "n1"}
        if self.versions == ("v1beta1",):
            piece["spec"]["devices"] = [
                {"name": each["name"], "basic": {"attributes": each["attributes"]}} for each in piece["spec"]["devices"]
            ]
        claim = objects.a_claim("train", *GIVEN)
        found = {f"/apis/resource.k8s.io/{version}/resourceclaims": [claim] for version in self.versions}
        found |= {f"/apis/resource.k8s.io/{version}/resourceslices": [piece] for version in self.versions}
        return {
            **found,
            keys.NODES: [objects.a_node("n1")],
            keys.PODS: [objects.a_claimant("train", node="n1")],
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        lists = self.lists()
        self.asked.append(request.path)
        if request.query.get("watch") == "true":
            response = web.StreamResponse()
            await response.prepare(request)
            await self.over.wait()
        if request.path in lists:
            return await standin.gives({"metadata": {"resourceVersion": "9"}, "items": lists[request.path]})(request)
        for path, items in lists.items():
            kind = path.rsplit("/", 1)[-1]
            for item in items:
                inside = path.replace(f"/{kind}", f"/namespaces/{item['metadata'].get('namespace')}/{kind}")
                if request.path in (f"{inside}/{item['metadata']['name']}", f"{path}/{item['metadata']['name']}"):
                    return await standin.gives(item)(request)
        return web.Response(status=404, text="404 page not found")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Client]:
        async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
            self.over = server.over
            server.will(self.answer)
            yield client


VERSIONS = [("v1", "v1beta2", "v1beta1"), ("v1beta2", "v1beta1"), ("v1beta1",)]


@pytest.mark.parametrize("versions", VERSIONS)
async def test_claims_and_slices_are_watched_under_the_version_that_the_server_has(versions: tuple[str, ...]) -> None:
    """Under v1 alone, a claim of an older server could not be read: whoever named one was in doubt for ever."""
    cluster = Cluster(*versions)
    async with cluster.running() as client, Streams(client, (table.CLAIMS, table.SLICES), HERE) as streams:
        await streams.wait_synced(20)
        (claim,), (piece,) = streams[table.CLAIMS].store, streams[table.SLICES].store
        assert (claim.claim.name, claim.claim.is_allocated) == ("train", True)
        assert (piece.node, piece.versions) == ("n1", (objects.NEW,))
        assert (streams[table.CLAIMS].is_absent, streams[table.SLICES].is_absent) == (False, False)


async def test_dra_is_absent_only_where_the_server_has_it_under_no_version() -> None:
    cluster = Cluster()
    async with cluster.running() as client, Streams(client, (table.CLAIMS,), HERE) as streams:
        await streams.wait_synced(20)
        assert streams[table.CLAIMS].is_absent
    assert cluster.asked[:3] == list(keys.RESOURCE_CLAIMS)


async def test_a_server_that_is_upgraded_is_asked_under_its_new_version() -> None:
    cluster = Cluster("v1beta1")
    async with cluster.running() as client, Streams(client, (table.CLAIMS,), HERE) as streams:
        async with asyncio.timeout(20):
            while not streams[table.CLAIMS].state.is_connected:
                await asyncio.sleep(0)
            cluster.versions = ("v1", "v1beta1")
            cluster.asked.clear()
            streams.list_anew({"resourceclaims"})
            while len(cluster.asked) < 2:
                await asyncio.sleep(0)
    assert set(cluster.asked) == {keys.RESOURCE_CLAIMS[0]}


@pytest.mark.parametrize("versions", VERSIONS)
async def test_a_driver_manager_finds_the_claims_of_its_pods_under_any_version(versions: tuple[str, ...]) -> None:
    """Under v1 alone, a claim of an older server counted as gone, and its GPU as free."""
    async with Cluster(*versions).running() as client:
        _, (pod,) = await ManagedNode(client, Settings(node="n1")).look()
    assert (pod.holds_gpu, pod.holds_claim) == (True, True)


@pytest.mark.parametrize("versions", VERSIONS)
async def test_a_gate_by_hand_sees_the_devices_under_any_version(versions: tuple[str, ...]) -> None:
    async with Cluster(*versions).running() as client:
        prober = Prober(client, home="gates", level=Level.BASELINE)
        offer = await prober.offer("n1")
    assert (offer.by_claim, offer.gpu_count, offer.free_count) == (True, 1, 0)
