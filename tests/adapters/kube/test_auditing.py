"""What an audit reads of a cluster: once, page by page, with the right to list alone; and what becomes of a refusal."""

from __future__ import annotations

from datetime import date
from typing import Final

import pytest
from aiohttp import web

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import auditing
from seatrial.core.compat.matrix import Component
from seatrial.core.survey.audit.auditing import Audit, audit
from seatrial.core.survey.audit.findings import FindingKind
from seatrial.core.survey.audit.readings import Absent, NotObservable, Seen
from seatrial.core.survey.sources import AUDITED, KINDS, Source, Why
from tests import audited
from tests.adapters.kube import standin
from tests.core.compat.knowledge import facts
from tests.pages import granted_by, rules_of

ON: Final = {"helm": date(2026, 2, 1), "openshift": date(2025, 11, 1), "dra": date(2026, 2, 1)}
"""Days on which nobody warned of what these clusters run."""
RESOURCES: Final = {source: KINDS[source].right.removeprefix("list ") for source in AUDITED}


async def found_in(name: str, **more: tuple[str, ...]) -> Audit:
    return audit(await audited.read(audited.recorded(name), **more), facts(), ON[name])


def versions(found: Audit) -> dict[str, str]:
    """What the first GPU node, and the cluster, are seen to run."""
    readings = {**found.observed.cluster, **found.observed.nodes[0].readings}
    return {part.value: each.text for part, each in readings.items() if isinstance(each, Seen)}


# ── what is seen ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_cluster_that_helm_installed_is_read_from_labels_pods_and_charts() -> None:
    found = await found_in("helm")
    assert versions(found) == {
        "kubernetes": "v1.33.5",
        "kernel": "5.15.0-142-generic",
        "os": "ubuntu22.04",
        "containerd": "1.7.27",
        "gpu_operator": "v25.10.1",
        "gpu_driver": "580.105.08",
        "device_plugin": "v0.18.1",
        "container_toolkit": "v1.18.1",
        "dcgm": "4.4.2-4.7.0-distroless",
        "gfd": "v0.18.1",
        "nfd": "v0.18.2",
    }
    assert [node.name for node in found.observed.nodes] == ["gpu-1", "gpu-2", "gpu-3"]
    assert str(found.observed.nodes[0].like) == "NVIDIA-H100-80GB-HBM3, ubuntu22.04"
    assert isinstance(found.observed.cluster[Component.OPENSHIFT], Absent)


async def test_openshift_is_read_although_its_images_have_no_tags_and_its_labels_are_the_older_ones() -> None:
    found = await found_in("openshift")
    assert versions(found) == {
        "openshift": "4.18.36",
        "kubernetes": "v1.31.14",
        "kernel": "5.14.0-427.112.1.el9_4.x86_64",
        "os": "rhcos4.18",
        "cri_o": "1.31.13-3.rhaos4.18.git1234567.el9",
        "gpu_operator": "25.3.4",
        "gpu_driver": "580.82.07",
        "device_plugin": "v0.17.4",
        "container_toolkit": "v1.17.8-ubuntu20.04",
        "dcgm": "4.3.1-4.4.0-ubuntu22.04",
        "network_operator": "25.4.0",
        "mofed": "25.04-0.6.1",
        "firmware_cx7": "28.45.1020",
        "sriov_operator": "4.18.0-202511010000",
    }
    assert found.observed.modules == "open"


async def test_where_gpus_are_given_out_by_claim_the_slices_tell_the_product_and_pods_the_driver() -> None:
    found = await found_in("dra")
    assert versions(found) == {
        "kubernetes": "v1.34.5",
        "kernel": "6.8.0-1028-nvidia",
        "os": "ubuntu24.04.3",
        "containerd": "2.1.4",
        "gpu_operator": "v25.10.1",
        "gpu_driver": "580.105.08",
        "container_toolkit": "v1.18.1",
        "dra_driver": "25.12.0",
    }
    assert found.observed.nodes[0].like.product == "NVIDIA-H100-80GB-HBM3"
    assert isinstance(found.observed.nodes[0].readings[Component.DEVICE_PLUGIN], Absent)


@pytest.mark.parametrize("name", audited.NAMES)
async def test_nothing_is_found_on_a_clean_cluster(name: str) -> None:
    assert [each.message for each in (await found_in(name)).findings] == []


async def test_an_older_api_server_has_slices_under_another_version(server: standin.StandIn, to_server: Client) -> None:
    del to_server
    cluster = audited.recorded("dra")
    for each in cluster["resourceslices.resource.k8s.io"]:
        for device in each["spec"]["devices"]:
            device["basic"] = {"attributes": device.pop("attributes")}
    asked: list[str] = []
    newest = audited.serves(cluster)

    async def reply(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        if request.path.endswith(("/v1/resourceslices", "/v1beta2/resourceslices")):
            return await standin.says("404 page not found", code=404)(request)
        return await newest(request)

    server.will(reply)
    async with Client(server.config(), user_agent="seatrial/test") as client:
        objects = await auditing.read(client, namespace="gpu-operator")
    assert Source.SLICES not in objects.gaps
    assert {each.drivers for each in objects.slices} == {("580.105.8",)}
    assert "/apis/resource.k8s.io/v1beta1/resourceslices" in asked


async def test_only_lists_are_asked_for_and_no_kind_is_asked_for_twice(server: standin.StandIn) -> None:
    server.will(audited.serves(audited.recorded("openshift")))
    async with Client(server.config(), user_agent="seatrial/test") as client:
        await auditing.read(client, namespace="gpu-operator")
    assert {(each.verb, each.is_watch) for each in server.seen} == {("GET", False)}
    first = [each.path for each in server.seen if "continue" not in each.query]
    assert len(first) == len(set(first))
    pods = [path for path in first if path.endswith("/pods")]
    assert pods == [
        "/api/v1/namespaces/nvidia-gpu-operator/pods",
        "/api/v1/namespaces/nvidia-network-operator/pods",
    ]


@pytest.mark.parametrize(("count", "shows"), [("8", True), ("0", False)])
async def test_a_node_without_labels_shows_a_gpu_where_it_offers_one(count: str, shows: bool) -> None:
    node = {"metadata": {"name": "bare"}, "status": {"allocatable": {"nvidia.com/gpu": count, "cpu": "64"}}}
    found = await audited.read({**audited.recorded("helm"), "nodes": [node]})
    assert [each.shows_gpu for each in found.nodes] == [shows]


@pytest.mark.parametrize("told", [{"enabled": False}, {"useNvidiaDriverCRD": True}])
async def test_a_policy_wants_no_driver_that_the_host_has_or_others_say(told: dict[str, bool]) -> None:
    cluster = audited.recorded("helm")
    assert (await audited.read(cluster)).driver_resources
    (policy,) = cluster[RESOURCES[Source.POLICIES]]
    policy["spec"]["driver"] |= told
    assert (await audited.read(cluster)).driver_resources == ()


async def test_a_copied_csv_is_no_operator() -> None:
    cluster = audited.recorded("helm")
    cluster["clusterserviceversions.operators.coreos.com"] = [
        {
            "metadata": {"namespace": "x", "name": "gpu-operator-certified.v24.9.0", "labels": labels},
            "spec": {"version": "24.9.0"},
            "status": {"phase": "Succeeded", "reason": reason},
        }
        for labels, reason in (({"olm.copiedFrom": "y"}, ""), ({}, "Copied"))
    ]
    found = audit(await audited.read(cluster), facts(), ON["helm"])
    assert versions(found)["gpu_operator"] == "v25.10.1"


async def test_a_pod_that_has_failed_or_leaves_brings_nothing() -> None:
    cluster = audited.recorded("helm")
    for each in cluster["pods"]:
        if each["metadata"]["name"] == "nvidia-dcgm-exporter-gpu-1":
            each["status"]["phase"] = "Failed"
        if each["metadata"]["name"] == "nvidia-dcgm-exporter-gpu-2":
            each["metadata"]["deletionTimestamp"] = "2026-01-20T08:00:00Z"
    found = audit(await audited.read(cluster), facts(), ON["helm"])
    readings = [node.readings[Component.DCGM] for node in found.observed.nodes]
    assert [type(each) for each in readings] == [Absent, Absent, Seen]


async def test_a_list_that_took_too_long_is_begun_anew_and_nothing_counts_twice(
    server: standin.StandIn, to_server: Client
) -> None:
    served = audited.serves(audited.recorded("helm"))
    expired: list[str] = []

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.path == "/api/v1/nodes" and request.query.get("continue") == "2" and not expired:
            expired.append(request.path)
            return await standin.refuses(410, "Expired", "too old resource version")(request)
        return await served(request)

    server.will(reply)
    objects = await auditing.read(to_server, namespace="gpu-operator")
    assert expired
    assert [each.name for each in objects.nodes] == ["cpu-1", "gpu-1", "gpu-2", "gpu-3"]
    assert Source.NODES not in objects.gaps


async def test_a_list_that_never_ends_in_time_is_a_gap(server: standin.StandIn, to_server: Client) -> None:
    served = audited.serves(audited.recorded("helm"))

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.path == "/api/v1/nodes" and "continue" in request.query:
            return await standin.refuses(410, "Expired", "too old resource version")(request)
        return await served(request)

    server.will(reply)
    objects = await auditing.read(to_server, namespace="gpu-operator")
    assert (objects.nodes, objects.gaps[Source.NODES].why) == ((), Why.FAILED)


async def test_pods_that_may_be_read_in_some_namespaces_only_are_a_gap_and_not_half_a_list(
    server: standin.StandIn, to_server: Client
) -> None:
    served = audited.serves(audited.recorded("openshift"))

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.path == "/api/v1/namespaces/nvidia-network-operator/pods":
            return await standin.refuses(403, "Forbidden", "no")(request)
        return await served(request)

    server.will(reply)
    objects = await auditing.read(to_server, namespace="gpu-operator")
    assert (objects.pods, objects.gaps[Source.PODS].why) == ((), Why.FORBIDDEN)


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", audited.NAMES)
@pytest.mark.parametrize("source", AUDITED)
async def test_a_right_that_is_missing_is_named_and_nothing_else_is_made_up(name: str, source: Source) -> None:
    whole, found = await found_in(name), await found_in(name, forbidden=(RESOURCES[source],))
    gap = found.observed.objects.gaps[source]
    assert (gap.why, gap.right) == (Why.FORBIDDEN, f"list {RESOURCES[source]}")
    told = [each for each in found.findings if each.kind is FindingKind.NOT_OBSERVABLE and gap.right in each.evidence]
    assert len(told) == 1
    assert f"We may not list {RESOURCES[source]}" in told[0].message
    assert f"kubectl auth can-i list {RESOURCES[source]}" in told[0].next_step
    # Nothing is seen that was not there, and nothing that was there is now said to be absent.
    assert {each.kind for each in found.findings} <= {FindingKind.NOT_OBSERVABLE, FindingKind.UNPROVEN}
    before = {node.name: node for node in whole.observed.nodes}
    for node in found.observed.nodes:
        for part, reading in node.readings.items():
            _is_no_invention(before[node.name].readings[part], reading)
    for part, reading in found.observed.cluster.items():
        _is_no_invention(whole.observed.cluster[part], reading)


def _is_no_invention(before: object, after: object) -> None:
    if isinstance(after, Seen):
        assert isinstance(before, Seen)
        assert after.value.version == before.value.version
    if isinstance(after, Absent):
        assert isinstance(before, Absent)


@pytest.mark.parametrize("source", AUDITED)
async def test_a_kind_that_does_not_answer_is_not_taken_for_an_empty_one(source: Source) -> None:
    found = await found_in("openshift", failing=(RESOURCES[source],))
    assert found.observed.objects.gaps[source].why is Why.FAILED
    assert any("currently unable to answer" in each.message for each in found.findings)


async def test_without_any_right_everything_is_not_observable_and_nothing_fails() -> None:
    found = await found_in("openshift", forbidden=tuple(RESOURCES.values()))
    assert {each.kind for each in found.findings} == {FindingKind.NOT_OBSERVABLE}
    assert len(found.findings) == len(AUDITED)
    assert found.observed.nodes == ()
    assert all(isinstance(each, NotObservable) for each in found.observed.cluster.values())


async def test_who_is_not_known_is_told_so(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.refuses(401, "Unauthorized"))
    with pytest.raises(errors.Unauthorized):
        await auditing.read(to_server, namespace="gpu-operator")


def test_the_role_of_the_how_to_is_what_is_read_and_no_more() -> None:
    granted = granted_by(rules_of("how-to/audit.md"))
    assert granted == {(kind.group, kind.resource, "list") for kind in map(KINDS.__getitem__, AUDITED)}
