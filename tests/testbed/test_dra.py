"""NVIDIA's DRA driver on simulated nodes: what its plugin publishes, and claims that the real scheduler allocates."""

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import consumers, dra, fleet, fleet_spec
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster

OLD = "580.95.05"
NEW = "580.105.08"


@pytest.fixture(scope="module")
def made(plane: control_plane.ControlPlane) -> Iterator[fleet.Fleet]:
    """Three nodes with the DRA driver, shared by all tests; each takes a node of its own."""
    spec = fleet_spec.FleetSpec(
        prefix="dra",
        node_count=3,
        driver_version=OLD,
        reload_seconds=0.1,
        validator_seconds=0.1,
        gpus_per_node=4,
        has_dra=True,
    )
    yours = fleet.make_fleet(plane, spec)
    yield yours
    yours.remove()


def test_driver_versions_are_published_as_semantic_versions() -> None:
    assert dra.semantic_version("580.105.08") == "580.105.8"
    assert dra.semantic_version("570.26") == "570.26.0"


def test_each_node_publishes_its_gpus(plane: control_plane.ControlPlane, made: fleet.Fleet) -> None:
    node = made.nodes[0]
    spec = plane.get("resourceslice", dra.slice_name(node, dra.GPU_DRIVER))["spec"]
    assert (spec["driver"], spec["nodeName"], spec["pool"]["name"]) == (dra.GPU_DRIVER, node, node)
    assert [each["name"] for each in spec["devices"]] == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    assert {each["attributes"]["driverVersion"]["version"] for each in spec["devices"]} == {"580.95.5"}


def test_the_plugins_of_a_new_fleet_are_younger_than_its_drivers(made: fleet.Fleet) -> None:
    plugins, drivers = made.dra_pods(), made.driver_pods()
    assert set(plugins) == set(made.nodes)
    for node in made.nodes:
        started = started_at(plugins[node])
        assert set(started) == {"compute-domains", "gpus"}
        assert min(started.values()) > ready_at(drivers[node])


def test_a_plugin_publishes_the_old_driver_until_it_is_restarted(made: fleet.Fleet) -> None:
    node = made.nodes[2]
    before = made.driver_pods()[node]["metadata"]["uid"]
    made.set_driver_version(NEW)
    made.delete_driver_pod(node)
    driver = wait_for_other(made.driver_pods, node, before)
    plugin = made.dra_pods()[node]
    assert min(started_at(plugin).values()) <= ready_at(driver)  # whole seconds: the same one is no proof of youth
    assert made.published_versions()[node] == "580.95.5"

    made.delete_dra_pod(node)
    plugin = wait_for_other(made.dra_pods, node, plugin["metadata"]["uid"])
    assert min(started_at(plugin).values()) > ready_at(driver)
    waiting.wait_for(
        lambda: made.published_versions()[node] == "580.105.8", what=f"new slices of {node}", timeout_seconds=30
    )
    assert {made.published_versions()[each] for each in made.nodes[:2]} == {"580.95.5"}


def test_a_claim_is_allocated_on_the_node_of_its_pod(plane: control_plane.ControlPlane, made: fleet.Fleet) -> None:
    workload = consumers.add_claim_pod(made, made.nodes[0], name="claim")
    [claim] = claims_of(plane, workload)
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"]) == (dra.GPU_DRIVER, made.nodes[0])
    [pod] = made.pods_of(workload)
    assert pod["spec"]["resourceClaims"] == [{"name": "gpus", "resourceClaimName": claim["metadata"]["name"]}]
    assert [each["uid"] for each in claim["status"]["reservedFor"]] == [pod["metadata"]["uid"]]


def test_a_claim_made_from_a_template_is_named_in_the_status_of_its_pod(
    plane: control_plane.ControlPlane, made: fleet.Fleet
) -> None:
    workload = consumers.add_claim_pod(made, made.nodes[0], name="template", is_template=True)
    [claim] = claims_of(plane, workload)
    [pod] = made.pods_of(workload)
    assert pod["status"]["resourceClaimStatuses"] == [{"name": "gpus", "resourceClaimName": claim["metadata"]["name"]}]
    assert claim["status"]["allocation"]["devices"]["results"][0]["pool"] == made.nodes[0]


def test_admin_access_takes_nothing_from_others(plane: control_plane.ControlPlane, made: fleet.Fleet) -> None:
    node = made.nodes[1]
    everything = consumers.add_claim_pod(made, node, name="everything", devices=4)
    watching = consumers.add_claim_pod(made, node, name="watching", devices=2, has_admin_access=True)
    held = [result for claim in claims_of(plane, everything) for result in results_of(claim)]
    watched = [result for claim in claims_of(plane, watching) for result in results_of(claim)]
    assert [each.get("adminAccess") for each in watched] == [True, True]
    assert {each["device"] for each in watched} < {each["device"] for each in held}


def test_a_channel_is_claimed_from_the_other_driver(plane: control_plane.ControlPlane, made: fleet.Fleet) -> None:
    workload = consumers.add_claim_pod(made, made.nodes[0], name="channel", driver=dra.COMPUTE_DOMAIN_DRIVER)
    [claim] = claims_of(plane, workload)
    [result] = results_of(claim)
    assert (result["driver"], result["device"].partition("-")[0]) == (dra.COMPUTE_DOMAIN_DRIVER, "channel")


def test_a_claim_is_free_again_when_its_pod_is_gone(plane: control_plane.ControlPlane, made: fleet.Fleet) -> None:
    workload = consumers.add_claim_pod(made, made.nodes[2], name="short", is_bare=True)
    plane.kubectl("delete", "pod", workload.name, "-n", workload.namespace)
    waiting.wait_for(
        lambda: not any(claim.get("status", {}).get("reservedFor") for claim in claims_of(plane, workload)),
        what="the claim to be free",
        timeout_seconds=30,
    )


def claims_of(plane: control_plane.ControlPlane, workload: fleet_spec.Workload) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plane.get("resourceclaims", "-n", workload.namespace)["items"]
    return found


def results_of(claim: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = claim["status"]["allocation"]["devices"]["results"]
    return found


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def ready_at(pod: dict[str, Any]) -> datetime.datetime:
    since = next(each["lastTransitionTime"] for each in pod["status"]["conditions"] if each["type"] == "Ready")
    return datetime.datetime.fromisoformat(since)


def started_at(pod: dict[str, Any]) -> dict[str, datetime.datetime]:
    statuses = pod["status"]["containerStatuses"]
    return {each["name"]: datetime.datetime.fromisoformat(each["state"]["running"]["startedAt"]) for each in statuses}


def wait_for_other(look: Any, node: str, uid: str) -> dict[str, Any]:
    def find() -> dict[str, Any] | None:
        pod = look().get(node)
        return pod if pod is not None and pod["metadata"]["uid"] != uid and is_ready(pod) else None

    return waiting.wait_for(find, what=f"another pod on {node}", timeout_seconds=30)
