"""A driver manager at work on a stand-in, with a played host: what it does in which order, and that it puts all back.

The same on a real API server, under the rights of its manifest, is tests/e2e/driver_manager.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.driver_manager.node import ManagedNode
from seatrial.adapters.kube.driver_manager.running import Manager
from seatrial.adapters.kube.shapes import keys
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import Cordon, End, Ending, Uncordon
from seatrial_lab.played_kernel import PlayedHost
from tests.adapters.kube import objects, standin
from tests.adapters.kube.versioned import Objects

NODE = f"{keys.NODES}/n1"
PLUGIN = "nvidia.com/gpu.deploy.device-plugin"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/jobs/resourceclaims"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SETTINGS = Settings(node="n1", is_draining=False, digest="new")
SECONDS_MAX = 20.0


class Cluster(Objects):
    """A node whose operand goes and comes with its label, as its DaemonSet has it."""

    def put(self, path: str, thing: dict[str, Any]) -> str:
        version = super().put(path, thing)
        if path == NODE:
            operand = f"/api/v1/namespaces/{objects.NAMESPACE}/pods/plugin"
            is_wanted = thing["metadata"].get("labels", {}).get(PLUGIN) == "true"
            if not is_wanted:
                self.remove(operand)
            elif not self.has(operand):
                spec = {"nodeName": "n1", "containers": [{"name": "main"}], "nodeSelector": {PLUGIN: "true"}}
                owner = {"kind": "DaemonSet", "name": "plugin", "uid": "ds", "controller": True}
                app = {"app": "nvidia-device-plugin-daemonset"}
                pod = objects.a_pod("plugin", namespace=objects.NAMESPACE, owner=owner, labels=app, spec=spec)
                super().put(operand, pod)
        return version

    def pod(self, pod: dict[str, Any]) -> str:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        super().put(path, pod)
        return path


@dataclass(kw_only=True)
class Berth:
    """One node, its host, and what its manager says."""

    cluster: Cluster
    client: Client
    host: PlayedHost
    said: list[str] = field(default_factory=list)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def manager(self, settings: Settings = SETTINGS) -> Manager:
        node = ManagedNode(self.client, settings)
        return Manager(node, self.host.tree(), settings, tell=self.said.append, stopping=self.stopping)

    async def run(self, settings: Settings = SETTINGS) -> End:
        async with asyncio.timeout(SECONDS_MAX):
            return await self.manager(settings).uninstall()

    async def until_said(self, words: str) -> None:
        async with asyncio.timeout(SECONDS_MAX):
            while not any(words in text for text in self.said):
                await asyncio.sleep(0.01)

    @property
    def node(self) -> dict[str, Any]:
        return self.cluster.get(NODE)

    def check_put_back(self) -> None:
        assert self.node["metadata"]["labels"][PLUGIN] == "true"
        assert not self.node["spec"].get("unschedulable")
        assert keys.MANAGER_CORDON_ANNOTATION not in self.node["metadata"].get("annotations", {})


@pytest.fixture
def berth(server: standin.StandIn, to_server: Client, tmp_path: Path) -> Berth:
    there = Cluster(keys.PODS)
    there.put(NODE, objects.a_node("n1", labels={PLUGIN: "true"}))
    server.will(there.answer)
    host = PlayedHost(root=tmp_path)
    host.prepare()
    return Berth(cluster=there, client=to_server, host=host)


def in_order(said: list[str], *texts: str) -> None:
    everything = "\n".join(said)
    places = [everything.find(text) for text in texts]
    assert -1 not in places, f"{texts[places.index(-1)]!r} is missing in:\n{everything}"
    assert places == sorted(places), everything


# ── a whole run ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_another_driver_is_taken_out_and_the_node_is_as_it_was(berth: Berth) -> None:
    job = berth.cluster.pod(objects.a_gpu_pod("train"))
    bystander = berth.cluster.pod(objects.a_pod("web"))
    elsewhere = berth.cluster.pod(objects.a_gpu_pod("other", node="n2"))
    end = await berth.run()
    assert end.ending is Ending.DONE, berth.said
    in_order(
        berth.said,
        "another driver is loaded",
        "pausing device-plugin",
        "cordoning the node",
        "evicting jobs/train",
        "unloading nvidia_uvm",
        "unmounting /run/nvidia/driver/dev",
        "removing the pid file",
        "taking our cordon away",
        "giving back device-plugin",
    )
    assert not berth.cluster.has(job)
    assert berth.cluster.has(bystander)
    assert berth.cluster.has(elsewhere)
    assert berth.host.calls[-1].startswith("unmount")
    berth.check_put_back()


async def test_the_driver_that_is_wanted_stays_and_nobody_is_evicted(berth: Berth, server: standin.StandIn) -> None:
    job = berth.cluster.pod(objects.a_gpu_pod("train"))
    berth.host.write("run/nvidia/nvidia-driver.state", "new\n")
    end = await berth.run()
    assert end.ending is not Ending.FAILED
    assert berth.cluster.has(job)
    assert "delete_module nvidia" not in berth.host.calls
    berth.check_put_back()


async def test_a_host_with_a_driver_of_its_own_is_left_alone(berth: Berth, server: standin.StandIn) -> None:
    berth.host.smi = "580.105.08"
    running = asyncio.create_task(berth.run())
    await berth.until_said("which has a driver of its own")
    berth.stopping.set()
    assert (await running).ending is Ending.STOPPED, "it rests there until its pod is taken away"
    assert berth.node["metadata"]["labels"]["nvidia.com/gpu.deploy.driver"] == "pre-installed"
    assert {seen.verb for seen in server.seen if seen.path != NODE} <= {"GET"}
    assert berth.host.calls == ["nvidia-smi in host"]


async def test_a_pod_that_takes_its_time_is_waited_for_by_a_watch_and_what_is_waited_for_is_said_once(
    berth: Berth, server: standin.StandIn
) -> None:
    slow = objects.a_gpu_pod("slow", metadata={"deletionTimestamp": objects.AT})
    path = berth.cluster.pod(slow)
    running = asyncio.create_task(berth.run())
    await berth.until_said("slow")
    async with asyncio.timeout(SECONDS_MAX):
        while not any(seen.is_watch for seen in server.seen):
            await asyncio.sleep(0.01)
    assert "spec.nodeName=n1" in next(seen.query["fieldSelector"] for seen in server.seen if seen.is_watch)
    berth.cluster.remove(path)
    assert (await running).ending is Ending.DONE
    assert len([text for text in berth.said if "waiting" in text and "slow" in text]) == 1
    berth.check_put_back()


async def test_whoever_ends_it_has_everything_put_back(berth: Berth) -> None:
    berth.cluster.pod(objects.a_gpu_pod("slow", metadata={"deletionTimestamp": objects.AT}))
    running = asyncio.create_task(berth.run())
    await berth.until_said("slow")
    berth.stopping.set()
    end = await running
    assert end.ending is not Ending.DONE
    assert "somebody ended this before it was done" in end.why
    in_order(berth.said, "giving up, and putting back what was changed: somebody ended this", "giving back")
    assert len([text for text in berth.said if text.startswith("giving up")]) == 1
    berth.check_put_back()


async def test_where_pods_cannot_be_watched_they_are_looked_at_now_and_then(
    berth: Berth, server: standin.StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.adapters.kube.driver_manager.running.BLIND_SECONDS", 0.05)
    path = berth.cluster.pod(objects.a_gpu_pod("slow", metadata={"deletionTimestamp": objects.AT}))
    watches = 0

    async def answer(request: Any) -> Any:
        nonlocal watches
        if request.query.get("watch") != "true":
            return await berth.cluster.answer(request)
        watches += 1
        if watches == 3:
            berth.cluster.remove(path)
        return await standin.refuses(403, "Forbidden", "not for you")(request)

    server.will(answer)
    assert (await berth.run()).ending is Ending.DONE
    assert len([text for text in berth.said if text.startswith("pods cannot be watched")]) == 1


async def test_a_look_that_fails_in_passing_is_tried_again_and_said(berth: Berth, server: standin.StandIn) -> None:
    asked = 0

    async def answer(request: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 1:
            return await standin.says("busy", code=503)(request)
        return await berth.cluster.answer(request)

    server.will(answer)
    assert (await berth.run()).ending is Ending.DONE
    assert any(text.startswith("cannot look at the node, so that is tried again in 1 s") for text in berth.said)


async def test_what_is_refused_is_said_in_the_servers_words(berth: Berth, server: standin.StandIn) -> None:
    async def answer(request: Any) -> Any:
        if request.method == "PATCH":
            return await standin.refuses(403, "Forbidden", "nodes n1 is forbidden")(request)
        return await berth.cluster.answer(request)

    server.will(answer)
    end = await berth.run()
    assert end.ending is not Ending.DONE
    assert any(text.startswith("refused: ") and "nodes n1 is forbidden" in text for text in berth.said)
    assert "nodes n1 is forbidden" in end.why
    assert "delete_module nvidia" not in berth.host.calls


# ── what is seen, and what is written ────────────────────────────────────────────────────────────────────────────────


async def test_a_pod_is_seen_with_all_that_decides_whether_it_goes(berth: Berth) -> None:
    holder = objects.a_claimant("held", node="n1")
    holder["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}, {"name": "other"}]
    berth.cluster.pod(holder)
    berth.cluster.pod(objects.a_claimant("hidden", node="n1"))
    berth.cluster.pod(objects.a_claimant("gone", node="n1"))
    berth.cluster.pod(objects.a_gpu_pod("ended", phase="Succeeded"))
    berth.cluster.pod(objects.a_gpu_pod("leaving", metadata={"deletionTimestamp": objects.AT}))
    berth.cluster.pod(
        objects.a_pod("by-class", spec={"nodeName": "n1", "containers": [], "runtimeClassName": "nvidia"})
    )
    given = {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
    berth.cluster.put(f"{CLAIMS}/held", objects.a_claim("held", given))

    async def answer(request: Any) -> Any:
        if request.path == f"{CLAIMS}/hidden":
            return await standin.refuses(403, "Forbidden", "not for you")(request)
        return await berth.cluster.answer(request)

    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(answer)
        node, pods = await ManagedNode(client, SETTINGS).look()
    assert (node.name, node.is_cordoned, node.is_cordon_ours, node.is_superseded) == ("n1", False, False, False)
    by = {pod.name: pod for pod in pods}
    assert {name for name, pod in by.items() if pod.holds_gpu} == {"pod-held", "pod-hidden", "leaving", "by-class"}
    assert {name for name, pod in by.items() if pod.holds_claim} >= {"pod-held"}
    assert not by["pod-gone"].holds_claim
    assert [name for name, pod in by.items() if pod.has_empty_dir] == ["pod-held"]
    assert [name for name, pod in by.items() if pod.is_leaving] == ["leaving"]
    assert [name for name, pod in by.items() if pod.is_finished] == ["ended"]
    assert by["plugin"].selects == (PLUGIN,)
    assert (by["leaving"].namespace, by["leaving"].uid) == ("jobs", "uid-leaving")


@pytest.mark.parametrize(
    ("annotation", "value", "field"),
    [
        (keys.MANAGER_CORDON_ANNOTATION, "2026-01-02T03:04:05Z", "is_cordon_ours"),
        (keys.UPGRADE_ENABLED_ANNOTATION, "true", "is_superseded"),
    ],
)
async def test_who_has_the_node_in_hand_is_seen(berth: Berth, annotation: str, value: str, field: str) -> None:
    node = objects.a_node("n1", unschedulable=True)
    node["metadata"]["annotations"] = {annotation: value}
    berth.cluster.put(NODE, node)
    seen, _ = await ManagedNode(berth.client, SETTINGS).look()
    both = ("is_cordon_ours", "is_superseded")
    assert seen.is_cordoned
    assert [name for name in both if getattr(seen, name)] == [field]
    assert (seen.version, dict(seen.labels)) == (
        berth.node["metadata"]["resourceVersion"],
        {"nvidia.com/gpu.present": "true"},
    )


async def test_a_cordon_and_its_owner_are_one_write_bound_to_what_was_seen(berth: Berth) -> None:
    managed = ManagedNode(berth.client, SETTINGS)
    old = berth.node["metadata"]["resourceVersion"]
    assert await managed.do(Cordon(version=old, at=0.0)) is None
    assert berth.node["spec"]["unschedulable"] is True
    assert berth.node["metadata"]["annotations"][keys.MANAGER_CORDON_ANNOTATION].startswith("1970-01-01")
    for step in (Cordon(version=old, at=1.0), Uncordon(version=old)):
        turned = await managed.do(step)
        assert turned is not None
        assert turned.is_passing
    assert berth.node["spec"]["unschedulable"] is True, "somebody may have closed it meanwhile"
    assert await managed.do(Uncordon(version=berth.node["metadata"]["resourceVersion"])) is None
    berth.check_put_back()


async def test_what_would_keep_it_from_working_is_told_and_nothing_is_written(
    berth: Berth, server: standin.StandIn
) -> None:
    async def answer(request: Any) -> Any:
        if request.path == REVIEWS:
            asked = (await request.json())["spec"]["resourceAttributes"]
            return await standin.gives({"status": {"allowed": asked["verb"] != "patch"}}, code=201)(request)
        return await berth.cluster.answer(request)

    server.will(answer)
    found = await berth.manager().preflight()
    assert any("patch nodes" in str(check) for check in found), found
    assert [seen.path for seen in server.seen if seen.verb not in ("GET", "POST")] == []
    assert {seen.path for seen in server.seen if seen.verb == "POST"} == {REVIEWS}
