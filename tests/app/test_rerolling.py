"""Looking at DRA plugins and restarting them, on a stand-in cluster: what is deleted, what is told, how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.shapes import keys
from seatrial.app import rerolling
from seatrial.app.rerolling import Asked, End, Ended, Looked
from seatrial.core.movers.dra.values import Stand, Target, Why
from tests.adapters.kube import objects
from tests.adapters.kube.dra_cluster import (
    AFTER,
    HOME,
    OLD_CHART,
    TARGET,
    DraCluster,
    a_driver_set,
    a_plugin,
    a_set,
    pods_of,
    served,
    sets_of,
)

DELETED = [("DELETE", f"{pods_of(HOME)}/plugin-n1-0")]


async def stand(cluster: DraCluster, folder: Path, *namespaces: str) -> Looked:
    async with served(cluster, folder) as found:
        return await rerolling.stand(found, namespaces)


async def reroll(cluster: DraCluster, folder: Path, told: list[str] | None = None, **asked: Any) -> Ended:
    fields: dict[str, Any] = {"still_seconds": 0.0, "deadline_seconds": 30.0}
    async with served(cluster, folder) as found:
        return await rerolling.reroll(found, Asked(**(fields | asked)), (told if told is not None else []).append)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)


def stands(looked: Looked) -> dict[str, tuple[Stand, Why]]:
    return {each.node: (each.stand, each.why) for each in looked.standings}


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_look_says_how_every_node_stands_and_writes_nothing(tmp_path: Path) -> None:
    cluster = DraCluster("n1", "n2")
    cluster.restart(cluster.plugin_of("n2"))
    looked = await stand(cluster, tmp_path)
    assert stands(looked) == {"n1": (Stand.STALE, Why.OLDER), "n2": (Stand.FRESH, Why.YOUNGER)}
    assert (looked.note, looked.unseen, cluster.writes) == ("", (), [])


@pytest.mark.parametrize(
    ("namespace", "labels"),
    [
        (HOME, OLD_CHART),
        ("nvidia-dra-driver", OLD_CHART),
        ("dra-driver-nvidia-gpu", {"app.kubernetes.io/name": "dra-driver-nvidia-gpu", "x-component": "kubelet-plugin"}),
        (objects.NAMESPACE, {"app": "nvidia-dra-driver-kubelet-plugin"}),
    ],
)
async def test_plugins_are_found_by_their_labels_where_charts_put_them(
    tmp_path: Path, namespace: str, labels: dict[str, str]
) -> None:
    cluster = DraCluster("n1")
    cluster.lists[pods_of(HOME)] = []
    cluster.lists[pods_of(namespace)].append(a_plugin("n1", namespace=namespace, labels=labels))
    assert stands(await stand(cluster, tmp_path)) == {"n1": (Stand.STALE, Why.OLDER)}


async def test_openshifts_driver_is_found_by_its_label_and_its_daemonset_by_the_pod(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    owner = {"kind": "DaemonSet", "name": "nvidia-driver-daemonset-417.94", "uid": "ds-9", "controller": True}
    labels = {"openshift.driver-toolkit": "true", "controller-revision-hash": "ocp"}
    pod = objects.a_driver_pod("n1", labels=labels, driver=objects.NEW, owner=owner)
    cluster.lists[pods_of(objects.NAMESPACE)] = [pod, objects.a_validator_pod("n1")]
    cluster.lists[keys.revisions_path(objects.NAMESPACE)].append(
        objects.a_revision("ocp", number=1, driver=objects.NEW, owner=owner)
    )
    image = f"nvcr.io/nvidia/driver:{objects.NEW}-rhcos4.17"
    cluster.lists[sets_of(objects.NAMESPACE)].append(a_set("nvidia-driver-daemonset-417.94", "ds-9", image=image))
    assert stands(await stand(cluster, tmp_path)) == {"n1": (Stand.STALE, Why.OLDER)}


async def test_a_plugin_in_a_namespace_that_nobody_named_is_not_ours_to_restart(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.lists[pods_of("team")] = [a_plugin("n1", namespace="team")]
    cluster.lists[keys.PODS] = cluster.lists[pods_of("team")]
    cluster.lists[pods_of(HOME)], cluster.lists[sets_of(HOME)] = [], []
    looked = await stand(cluster, tmp_path)
    assert looked.standings == ()
    assert looked.note.startswith("There is no DRA driver in nvidia-dra-driver-gpu, ")
    assert stands(await stand(cluster, tmp_path, "team")) == {"n1": (Stand.STALE, Why.OLDER)}


async def test_a_daemonset_whose_newest_template_nobody_has_taken_up_is_seen(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.lists[sets_of(objects.NAMESPACE)] = [a_driver_set(generation=2, observed=1)]
    assert stands(await stand(cluster, tmp_path)) == {"n1": (Stand.PENDING, Why.TEMPLATE_UNSEEN)}


async def test_a_driver_of_the_chart_before_is_not_settled_although_its_labels_match_no_template(
    tmp_path: Path,
) -> None:
    """The GPU Operator up to v26.3 does not see such pods, and calls itself ready with them."""
    cluster = DraCluster("n1")
    cluster.restart(cluster.plugin_of("n1"))
    chart = {"helm.sh/chart": "gpu-operator-v25.10.1", "controller-revision-hash": "old"}
    kept = objects.a_driver_pod("n1", labels={"app": "nvidia-driver-daemonset", **chart})
    cluster.lists[pods_of(objects.NAMESPACE)] = [kept, objects.a_validator_pod("n1")]
    cluster.lists[sets_of(objects.NAMESPACE)] = [a_driver_set(labels={"helm.sh/chart": "gpu-operator-v26.3.1"})]
    cluster.lists[keys.revisions_path(objects.NAMESPACE)].append(
        objects.a_revision("old", number=1, driver=objects.OLD)
    )
    assert stands(await stand(cluster, tmp_path)) == {"n1": (Stand.PENDING, Why.NOT_MIGRATED)}


async def test_what_may_not_be_read_is_told_and_not_taken_for_nothing(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.forbidden = {keys.RESOURCE_SLICES[0], keys.PODS, pods_of("nvidia-dra-driver")}
    looked = await stand(cluster, tmp_path)
    assert stands(looked) == {"n1": (Stand.STALE, Why.OLDER)}
    assert [text.partition(":")[0] for text in looked.unseen] == [
        "pods in nvidia-dra-driver",
        "resourceslices",
        "pods",
    ]


async def test_no_plugin_where_we_may_not_look_is_an_error_and_not_a_success(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.lists[sets_of(HOME)] = []
    cluster.forbidden = {pods_of(HOME)}
    with pytest.raises(rerolling.PluginsUnseen, match=f"pods in {HOME}: .*--dra-namespace"):
        await stand(cluster, tmp_path)


async def test_a_namespace_that_was_named_has_to_be_readable(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.forbidden = {pods_of(HOME)}
    with pytest.raises(errors.Forbidden):
        await stand(cluster, tmp_path, HOME)


# ── restarting ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_stale_plugin_is_deleted_as_it_was_seen_and_awaited(tmp_path: Path) -> None:
    cluster, told = DraCluster("n1"), list[str]()
    ended = await reroll(cluster, tmp_path, told)
    assert (ended.end, stands(ended.looked)) == (End.FRESH, {"n1": (Stand.FRESH, Why.YOUNGER)})
    assert cluster.writes == DELETED
    assert cluster.preconditions == [{"uid": "uid-plugin-n1-0", "resourceVersion": "8"}]
    assert told[0] == (f"n1: deletes DRA plugin {HOME}/plugin-n1-0, and its DaemonSet starts a new one")


async def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    cluster = DraCluster("n1", "n2")
    await reroll(cluster, tmp_path, is_waiting=True)
    assert len(cluster.writes) == 2
    cluster.writes.clear()
    ended = await reroll(cluster, tmp_path, is_waiting=True)
    assert (ended.end, ended.deleted, cluster.writes) == (End.FRESH, (), [])


async def test_without_a_dra_driver_there_is_nothing_to_do(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.lists[pods_of(HOME)], cluster.lists[sets_of(HOME)] = [], []
    ended = await reroll(cluster, tmp_path)
    assert ended.end is End.NO_DRIVER
    assert "There is no DRA driver in" in ended.looked.note
    with pytest.raises(rerolling.DraMissing, match="--require"):
        await reroll(cluster, tmp_path, is_required=True)


async def test_a_node_that_has_not_settled_is_left_unless_somebody_waits(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.lists[keys.NODES] = [
        objects.a_node("n1", labels={"nvidia.com/gpu-driver-upgrade-state": "pod-restart-required"})
    ]
    ended = await reroll(cluster, tmp_path)
    assert (ended.end, cluster.writes) == (End.LEFT, [])
    ended = await reroll(cluster, tmp_path, is_waiting=True, deadline_seconds=0.5)
    assert (ended.end, cluster.writes) == (End.LATE, [])


async def test_who_waits_restarts_each_node_when_it_settles(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    busy = objects.a_node("n1", labels={"nvidia.com/gpu-driver-upgrade-state": "pod-restart-required"})
    cluster.lists[keys.NODES] = [busy]
    told: list[str] = []
    running = asyncio.create_task(reroll(cluster, tmp_path, told, is_waiting=True))
    async with asyncio.timeout(20):
        while not any("pod-restart-required" in text for text in told):
            await asyncio.sleep(0.01)
    assert cluster.writes == []
    cluster.tell("MODIFIED", keys.NODES, objects.a_node("n1"))
    assert (await running).end is End.FRESH
    assert cluster.writes == DELETED


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ({"nvidia.com/gpu-driver-upgrade-state": "upgrade-failed"}, Why.UPGRADE_FAILED),
        ({"nvidia.com/gpu-driver-upgrade.skip": "true"}, Why.LEFT_OUT),
    ],
)
async def test_nobody_waits_for_a_node_that_failed_or_is_left_out(
    tmp_path: Path, label: dict[str, str], why: Why
) -> None:
    cluster = DraCluster("n1", "n2")
    cluster.lists[keys.NODES] = [objects.a_node("n1"), objects.a_node("n2", labels=label)]
    ended = await reroll(cluster, tmp_path, is_waiting=True)
    assert (ended.end, cluster.writes) == (End.FRESH, DELETED)
    assert stands(ended.looked) == {"n1": (Stand.FRESH, Why.YOUNGER), "n2": (Stand.SKIPPED, why)}


async def test_a_node_that_goes_meanwhile_is_not_waited_for_and_one_that_comes_is(tmp_path: Path) -> None:
    cluster, told = DraCluster("n1", "n2"), list[str]()
    busy = {"nvidia.com/gpu-driver-upgrade-state": "pod-restart-required"}
    cluster.lists[keys.NODES] = [objects.a_node(name, labels=busy) for name in ("n1", "n2")]
    running = asyncio.create_task(reroll(cluster, tmp_path, told, is_waiting=True))
    await until(lambda: len(told) >= 2)
    late = DraCluster("n3")
    for path in (pods_of(objects.NAMESPACE), pods_of(HOME), keys.RESOURCE_SLICES[0], keys.NODES):
        for each in late.lists[path]:
            cluster.tell("ADDED", path, each)
    await until(lambda: ("DELETE", f"{pods_of(HOME)}/plugin-n3-0") in cluster.writes)
    cluster.tell("DELETED", keys.NODES, objects.a_node("n2", labels=busy))
    cluster.tell("MODIFIED", keys.NODES, objects.a_node("n1"))
    ended = await running
    assert (ended.end, [act.node for act in ended.deleted]) == (End.FRESH, ["n3", "n1"])
    assert set(stands(ended.looked)) == {"n1", "n3"}


async def test_only_the_named_node_is_restarted(tmp_path: Path) -> None:
    cluster = DraCluster("n1", "n2")
    ended = await reroll(cluster, tmp_path, nodes=("n1",))
    assert (ended.end, cluster.writes) == (End.FRESH, DELETED)
    with pytest.raises(rerolling.NodeUnknown, match="no node n9"):
        await reroll(cluster, tmp_path, nodes=("n9",))


async def test_a_trial_says_what_would_be_deleted_and_writes_nothing(tmp_path: Path) -> None:
    cluster = DraCluster("n1", "n2")
    cluster.restart(cluster.plugin_of("n2"))
    ended = await reroll(cluster, tmp_path, is_trial=True, still_seconds=30.0)
    assert (ended.end, [act.pod for act in ended.deleted], cluster.writes) == (End.TRIAL, ["plugin-n1-0"], [])


async def test_a_plugin_that_does_not_come_back_ends_with_the_deadline(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.is_restarting = False
    ended = await reroll(cluster, tmp_path, deadline_seconds=1.0)
    assert (ended.end, cluster.writes) == (End.LATE, DELETED)
    assert stands(ended.looked) == {"n1": (Stand.REROLLING, Why.PLUGIN_LEAVING)}


async def test_a_pod_that_changed_since_it_was_seen_is_decided_anew(tmp_path: Path) -> None:
    """The list is older than what the server has by now, as a watch that lags behind is."""
    cluster, told = DraCluster("n1"), list[str]()
    stored = cluster.lists[pods_of(HOME)]
    running = asyncio.create_task(reroll(cluster, tmp_path, told, still_seconds=0.5))
    async with asyncio.timeout(20):
        while not told:
            await asyncio.sleep(0.01)
    meta = stored[0]["metadata"]
    cluster.lists[pods_of(HOME)] = [{**stored[0], "metadata": {**meta, "resourceVersion": "9"}}]
    async with asyncio.timeout(20):
        while not any("was not deleted" in text for text in told):
            await asyncio.sleep(0.01)
    cluster.tell("MODIFIED", pods_of(HOME), cluster.lists[pods_of(HOME)][0])
    assert (await running).end is End.FRESH
    assert cluster.preconditions[-1] == {"uid": "uid-plugin-n1-0", "resourceVersion": str(1001)}


async def test_a_deletion_that_is_forbidden_ends_it_with_the_reason(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.forbidden = {f"DELETE {pods_of(HOME)}/plugin-n1-0"}
    with pytest.raises(errors.Forbidden):
        await reroll(cluster, tmp_path)


@pytest.mark.parametrize("code", [429, 500, 410])
async def test_trouble_of_the_server_that_passes_is_waited_out(tmp_path: Path, code: int) -> None:
    cluster = DraCluster("n1")
    cluster.faults = {pods_of(HOME): [code], keys.NODES: [code]}
    ended = await reroll(cluster, tmp_path, namespaces=(HOME,))
    assert (ended.end, cluster.writes) == (End.FRESH, DELETED)


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_deletion_that_the_server_has_no_time_for_is_tried_again(tmp_path: Path, code: int) -> None:
    cluster = DraCluster("n1")
    cluster.faults = {f"DELETE {DELETED[0][1]}": [code]}
    ended = await reroll(cluster, tmp_path)
    assert (ended.end, [act.pod for act in ended.deleted], cluster.writes) == (End.FRESH, ["plugin-n1-0"], DELETED)


async def test_a_watch_whose_history_is_gone_is_listed_anew_and_nothing_is_called_done_meanwhile(
    tmp_path: Path,
) -> None:
    """n1 gets another driver while nobody hears of it, and n2 settles: what was seen before says that all is done."""
    cluster, told = DraCluster("n1", "n2"), list[str]()
    for name in ("n1", "n2"):
        cluster.restart(cluster.plugin_of(name))
    busy = objects.a_node("n2", labels={"nvidia.com/gpu-driver-upgrade-state": "pod-restart-required"})
    cluster.lists[keys.NODES] = [objects.a_node("n1"), busy]
    running = asyncio.create_task(reroll(cluster, tmp_path, told, is_waiting=True, namespaces=(HOME,)))
    await until(lambda: any("pod-restart-required" in text for text in told))

    drivers = pods_of(objects.NAMESPACE)
    cluster.faults = {drivers: [500] * 1000}
    cluster.cut(drivers)
    await until(lambda: len(cluster.faults[drivers]) < 1000)
    later = objects.a_driver_pod("n1", revision="new", driver=objects.NEW)
    later["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-04T00:00:00Z"
    cluster.tell("MODIFIED", drivers, later)
    cluster.tell("MODIFIED", keys.NODES, objects.a_node("n2"))
    await until(lambda: any(text.startswith("n2: fresh") for text in told))
    assert (running.done(), cluster.writes) == (False, [])

    cluster.is_restarting = False  # no plugin here starts after this driver
    cluster.faults = {}
    await until(lambda: bool(cluster.writes))
    running.cancel()
    assert cluster.writes == [("DELETE", f"{pods_of(HOME)}/plugin-n1-1")]


async def test_until_the_target_is_to_be_seen_nobody_is_called_done(tmp_path: Path) -> None:
    cluster, told = DraCluster("n1"), list[str]()
    cluster.restart(cluster.plugin_of("n1"))
    target = Target(driver="590.10.01")
    running = asyncio.create_task(reroll(cluster, tmp_path, told, is_waiting=True, target=target))
    async with asyncio.timeout(20):
        while not any("590.10.01" in text for text in told):
            await asyncio.sleep(0.01)
    cluster.tell("MODIFIED", sets_of(objects.NAMESPACE), a_driver_set("590.10.01"))
    assert (await running).end is End.FRESH
    assert cluster.writes == []


# ── beside a controller of ours ──────────────────────────────────────────────────────────────────────────────────────

LEASE: dict[str, Any] = {
    "metadata": {"annotations": {"seatrial.dev/rerolls-dra": HOME}},
    "spec": {"holderIdentity": "seatrial-0", "renewTime": "2026-01-02T03:04:05.000000Z"},
}


async def test_beside_a_controller_nothing_is_deleted_and_the_target_is_published_once(tmp_path: Path) -> None:
    cluster, told = DraCluster("n1"), list[str]()
    cluster.leases = [LEASE]
    target = Target(driver=objects.NEW)
    ended = await reroll(cluster, tmp_path, told, target=target)
    assert (ended.end, ended.is_left_to_controller, ended.deleted) == (End.REQUESTED, True, ())
    assert [verb for verb, _ in cluster.writes] == ["POST"]
    assert cluster.maps[TARGET]["data"]["driver"] == objects.NEW
    assert told[0].startswith("a controller of seatrial restarts the plugins")
    cluster.writes.clear()
    await reroll(cluster, tmp_path, target=target)
    assert cluster.writes == []
    await reroll(cluster, tmp_path, target=Target(driver=objects.NEW, chart="gpu-operator-v26.3.1"))
    assert [verb for verb, _ in cluster.writes] == ["PATCH"]


async def test_beside_a_controller_who_waits_ends_when_the_controller_has_done_it(tmp_path: Path) -> None:
    cluster, told = DraCluster("n1"), list[str]()
    cluster.leases = [LEASE]
    running = asyncio.create_task(reroll(cluster, tmp_path, told, is_waiting=True))
    async with asyncio.timeout(20):
        while not any(text.startswith("n1: stale") for text in told):
            await asyncio.sleep(0.01)
    cluster.restart(cluster.plugin_of("n1"))
    ended = await running
    assert (ended.end, cluster.writes) == (End.FRESH, [])


@pytest.mark.parametrize(
    "lease",
    [
        {**LEASE, "spec": {**LEASE["spec"], "holderIdentity": ""}},
        {**LEASE, "metadata": {}},
    ],
    ids=["given up", "does not restart plugins"],
)
async def test_a_controller_that_restarts_no_plugins_keeps_nobody_from_it(
    tmp_path: Path, lease: dict[str, Any]
) -> None:
    cluster = DraCluster("n1")
    cluster.leases = [lease]
    assert (await reroll(cluster, tmp_path)).end is End.FRESH
    assert cluster.writes == DELETED


async def test_a_plugin_of_a_later_start_needs_no_restart_whatever_else_runs(tmp_path: Path) -> None:
    cluster = DraCluster("n1")
    cluster.lists[pods_of(HOME)] = [a_plugin("n1", started=AFTER)]
    assert (await reroll(cluster, tmp_path, is_waiting=True)).end is End.FRESH
    assert cluster.writes == []
