"""The client against a real API server: what only the real one knows how to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial_lab.testbed.plane import control_plane
from tests.adapters.kube.models import ConfigMap, Item

pytestmark = pytest.mark.cluster

MAPS = clients.api_path("v1", "configmaps", namespace="kube-client")
PODS = clients.api_path("v1", "pods", namespace="kube-client")


def config_of(kubeconfig: Path) -> configs.Config:
    return configs.load_config(kubeconfig=str(kubeconfig), environ={})


def a_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def a_pod(name: str, **labels: str) -> dict[str, Any]:
    """A pod that no scheduler binds: nodes of other tests would run it, and a pod that runs takes its time to go."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "example.invalid/image"}]},
    }


@pytest.fixture(scope="module")
def namespace(plane: control_plane.ControlPlane) -> Iterator[str]:
    name = "kube-client"
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}])
    # The admission of pods wants the account that a controller makes a moment later.
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=30s")
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def client(plane: control_plane.ControlPlane, namespace: str) -> AsyncIterator[clients.Client]:
    async with clients.Client(config_of(plane.kubeconfig), user_agent="test-client") as opened:
        yield opened


async def test_a_list_of_several_pages_is_whole(client: clients.Client) -> None:
    for number in range(7):
        await client.create(
            MAPS, {**a_map(f"page-{number}"), "metadata": {"name": f"page-{number}", "labels": {"a": "b"}}}
        )

    listing = await client.list(MAPS, Item, label_selector="a=b", page_size=3)

    assert [item.metadata.name for item in listing.items] == [f"page-{number}" for number in range(7)]
    assert listing.resource_version.isdecimal()


async def test_a_field_selector_finds_one_object_by_name(client: clients.Client) -> None:
    await client.create(MAPS, a_map("chosen"))

    listing = await client.list(MAPS, Item, field_selector="metadata.name=chosen")

    assert [item.metadata.name for item in listing.items] == ["chosen"]


async def test_a_watch_sees_what_happens_after_the_list(client: clients.Client) -> None:
    listing = await client.list(MAPS, Item)
    made = await client.create(MAPS, a_map("seen"), Item)
    await client.delete(f"{MAPS}/seen", uid=made.metadata.uid)

    kinds = []
    async with aclosing(client.watch(MAPS, Item, resource_version=listing.resource_version)) as events:
        async for event in events:
            assert isinstance(event, clients.WatchEvent)
            kinds.append((event.kind, event.object.metadata.name))
            if event.kind is clients.EventKind.DELETED:
                break

    assert kinds == [(clients.EventKind.ADDED, "seen"), (clients.EventKind.DELETED, "seen")]


async def test_an_unknown_field_is_refused_and_named(client: clients.Client) -> None:
    with pytest.raises(errors.Invalid, match='unknown field "sepc"'):
        await client.create(MAPS, {**a_map("typo"), "sepc": {}})

    await client.create(MAPS, a_map("strict"))
    with pytest.raises(errors.Invalid, match='unknown field "dta"'):
        await client.patch(f"{MAPS}/strict", {"dta": {}}, kind=clients.PatchKind.MERGE)


async def test_the_three_kinds_of_patch_change_what_they_say(client: clients.Client) -> None:
    path = f"{MAPS}/patched"
    await client.create(MAPS, a_map("patched", first="1"))

    await client.patch(path, {"data": {"merge": "m"}}, kind=clients.PatchKind.MERGE)
    await client.patch(path, [{"op": "add", "path": "/data/json", "value": "j"}], kind=clients.PatchKind.JSON)
    applied = await client.patch(
        path, a_map("patched", first="2"), ConfigMap, kind=clients.PatchKind.APPLY, field_manager="other", force=True
    )

    assert applied.data == {"first": "2", "merge": "m", "json": "j"}


async def test_an_apply_without_force_names_the_other_manager(client: clients.Client) -> None:
    await client.create(MAPS, a_map("contested", first="1"))

    with pytest.raises(errors.Conflict, match='conflict with "seatrial"'):
        await client.patch(
            f"{MAPS}/contested", a_map("contested", first="2"), kind=clients.PatchKind.APPLY, field_manager="other"
        )


async def test_a_json_patch_whose_test_fails_is_invalid(client: clients.Client) -> None:
    await client.create(MAPS, a_map("tested", first="1"))
    body = [{"op": "test", "path": "/data/first", "value": "2"}, {"op": "remove", "path": "/data/first"}]

    with pytest.raises(errors.Invalid):
        await client.patch(f"{MAPS}/tested", body, kind=clients.PatchKind.JSON)


async def test_the_status_of_a_node_is_patched_as_a_subresource(client: clients.Client) -> None:
    nodes = clients.api_path("v1", "nodes")
    await client.create(nodes, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "kube-client-1"}})

    await client.patch(
        f"{nodes}/kube-client-1",
        {"status": {"capacity": {"nvidia.com/gpu": "8"}}},
        kind=clients.PatchKind.MERGE,
        subresource="status",
    )

    await client.delete(f"{nodes}/kube-client-1")


async def test_a_replace_with_an_old_version_is_a_conflict(client: clients.Client) -> None:
    made = await client.create(MAPS, a_map("raced"), Item)
    await client.patch(f"{MAPS}/raced", {"data": {"a": "b"}}, kind=clients.PatchKind.MERGE)
    body = a_map("raced")
    body["metadata"]["resourceVersion"] = made.metadata.resource_version

    with pytest.raises(errors.Conflict) as caught:
        await client.replace(f"{MAPS}/raced", body)

    assert not caught.value.is_name_taken


async def test_a_name_that_is_taken_is_told_apart_from_a_lost_race(client: clients.Client) -> None:
    await client.create(MAPS, a_map("taken"))

    with pytest.raises(errors.Conflict) as caught:
        await client.create(MAPS, a_map("taken"))

    assert caught.value.is_name_taken


async def test_a_delete_meant_for_another_object_of_the_same_name_is_refused(client: clients.Client) -> None:
    await client.create(MAPS, a_map("kept"))

    with pytest.raises(errors.Conflict):
        await client.delete(f"{MAPS}/kept", uid="00000000-0000-0000-0000-000000000000")

    assert (await client.get(f"{MAPS}/kept", Item)).metadata.name == "kept"


async def test_a_missing_object_and_a_missing_kind_are_told_apart(client: clients.Client) -> None:
    with pytest.raises(errors.NotFound) as no_object:
        await client.get(f"{MAPS}/nothing", Item)
    with pytest.raises(errors.NotFound) as no_kind:
        await client.list("/apis/example.invalid/v1/things", Item)

    assert (no_object.value.is_kind_missing, no_kind.value.is_kind_missing) == (False, True)


async def test_an_eviction_blocked_by_a_budget_names_the_budget(client: clients.Client) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "never"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    await client.create(clients.api_path("policy/v1", "poddisruptionbudgets", namespace="kube-client"), budget)
    # Pending pods may always be evicted, so it must look as if it ran.
    await client.create(PODS, a_pod("guarded", app="guarded"))
    await client.patch(
        f"{PODS}/guarded",
        {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        kind=clients.PatchKind.MERGE,
        subresource="status",
    )

    with pytest.raises(errors.TooManyRequests, match="disruption budget never") as caught:
        await client.evict("kube-client", "guarded")

    assert caught.value.is_blocked_by_budget


async def test_an_eviction_meant_for_another_pod_of_the_same_name_is_refused(client: clients.Client) -> None:
    made = await client.create(PODS, a_pod("moving"), Item)

    with pytest.raises(errors.Conflict):
        await client.evict("kube-client", "moving", uid="00000000-0000-0000-0000-000000000000")
    await client.evict("kube-client", "moving", uid=made.metadata.uid)

    with pytest.raises(errors.NotFound):
        await client.get(f"{PODS}/moving", Item)


async def test_a_missing_right_is_named_with_the_rule_that_grants_it(
    plane: control_plane.ControlPlane, namespace: str
) -> None:
    kubeconfig = plane.service_account(namespace, "powerless")
    async with clients.Client(config_of(kubeconfig), user_agent="test-client") as powerless:
        with pytest.raises(errors.Forbidden) as cluster_wide:
            await powerless.list("/api/v1/nodes", Item)
        with pytest.raises(errors.Forbidden) as namespaced:
            await powerless.evict(namespace, "any")

    assert cluster_wide.value.denial == errors.Denial(
        user="system:serviceaccount:kube-client:powerless", verb="list", resource="nodes", group="", namespace=""
    )
    assert 'a Role in namespace kube-client (apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"])' in str(
        namespaced.value
    )


async def test_a_bad_token_is_unauthorized(plane: control_plane.ControlPlane) -> None:
    good = config_of(plane.kubeconfig)
    bad = configs.Config(
        server=good.server,
        context="bad",
        source="a test",
        identity=configs.StaticToken(token="nonsense"),
        authority=good.authority,
    )
    async with clients.Client(bad, user_agent="test-client") as unknown:
        with pytest.raises(errors.Unauthorized, match="log in again"):
            await unknown.list("/api/v1/nodes", Item)


async def test_a_server_that_our_authority_did_not_sign_is_not_spoken_to(plane: control_plane.ControlPlane) -> None:
    good = config_of(plane.kubeconfig)
    stranger = configs.Config(server=good.server, context="stranger", source="a test")
    async with clients.Client(stranger, user_agent="test-client") as client:
        with pytest.raises(errors.ClusterUnavailable, match="certificate we do not trust"):
            await client.list("/api/v1/nodes", Item)
