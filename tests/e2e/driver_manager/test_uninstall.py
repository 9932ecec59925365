"""`seatrial driver-manager` on a real API server, under exactly the rights of its manifest: each step of its plan.

The node is simulated, so its DaemonSets, its scheduler and its evictions are real; the host is a prepared tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.adapters.kube.driver_manager.node import RIGHTS
from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.node.driver_manager import labels
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import consumers, dra, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.driver_manager.manager import APPS, Berth, berth, by_its_label, ended, ends_on_term, rules

pytestmark = pytest.mark.cluster

PREFIX = "manager"
AGENT = "seatrial/"
PLUGIN = f"{labels.PREFIX}device-plugin"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(prefix=PREFIX, node_count=1, has_device_plugin=True, has_feature_discovery=True, has_dra=True)
    made = by_its_label(make_fleet(cluster, spec))
    yield made
    made.remove()


@pytest.fixture
def ship(fleet: Fleet, tmp_path: Path) -> Iterator[Berth]:
    with berth(fleet, fleet.nodes[0], tmp_path) as made:
        yield made


def in_order(said: str, *texts: str) -> None:
    places = [said.find(text) for text in texts]
    assert -1 not in places, f"{texts[places.index(-1)]!r} is missing in:\n{said}"
    assert places == sorted(places), said


def test_another_driver_is_taken_out_and_the_node_is_as_it_was(ship: Berth) -> None:
    job = ship.fleet.add_job_pod(ship.node, name="train")
    (pod,) = ship.fleet.pods_of(job)
    code, said = ship.run()
    assert code == ExitCode.OK, said
    in_order(
        said,
        "another driver is loaded",
        "pausing operator-validator, device-plugin, gpu-feature-discovery",
        "cordoning the node",
        f"evicting {job.namespace}/{pod['metadata']['name']}",
        "unloading nvidia_uvm",
        "unloading nvidia",
        "unmounting /run/nvidia/driver/dev",
        "unmounting /run/nvidia/driver",
        "removing the pid file",
        "taking our cordon away",
        "giving back operator-validator",
        "done: the new driver may be loaded",
    )
    ship.check_put_back()
    assert not ship.is_cordoned
    assert ship.modules() == set()
    ship.wait_operands()
    uids = {each["metadata"]["uid"] for each in ship.fleet.pods_of(job)}
    assert pod["metadata"]["uid"] not in uids, "the pod that held a GPU was evicted"
    ship.fleet.plane.kubectl("delete", "namespace", job.namespace, "--wait=false")


def test_all_rights_of_the_manifest_are_used_and_waits_are_watches(ship: Berth) -> None:
    holder = consumers.add_claim_pod(ship.fleet, ship.node, name="claimed")
    # One that takes its time to leave: whoever finds all gone at the first look waits for nobody.
    slow = ship.fleet.add_job_pod(ship.node, name="slow", termination_seconds=3.0)
    asked = len(requests(ship))
    try:
        code, said = ship.run()
    finally:
        ship.fleet.plane.kubectl("delete", "namespace", holder.namespace, slow.namespace, "--wait=false")
    assert code == ExitCode.OK, said
    granted = {(each.verb, "/".join(filter(None, (each.resource, each.subresource)))) for each in RIGHTS}

    def used() -> set[tuple[str, str]]:
        return {(verb, kind) for verb, kind in requests(ship)[asked:] if kind != "selfsubjectaccessreviews"}

    waiting.wait_for(
        lambda: used() >= granted, what="every right to be used", timeout_seconds=30, describe=lambda: str(used())
    )
    assert used() == granted


def requests(ship: Berth) -> list[tuple[str, str]]:
    found = [each for each in ship.fleet.plane.requests(AGENT) if "(driver-manager)" in each.user_agent]
    return [(each.verb, "/".join(filter(None, (each.resource, each.subresource)))) for each in found]


def test_the_manifest_grants_what_is_asked_for_and_nothing_else() -> None:
    granted = {
        (verb, group, resource)
        for rule in rules()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted == {
        (each.verb, each.group, "/".join(filter(None, (each.resource, each.subresource)))) for each in RIGHTS
    }


@pytest.mark.parametrize("missing", RIGHTS, ids=str)
def test_a_missing_right_is_named_before_anything_is_written(ship: Berth, missing: object) -> None:
    left = [each for each in RIGHTS if each != missing]
    less = [
        {
            "apiGroups": [each.group],
            "resources": ["/".join(filter(None, (each.resource, each.subresource)))],
            "verbs": [each.verb],
        }
        for each in left
    ]
    name = f"less-{RIGHTS.index(missing)}"
    kubeconfig = ship.fleet.plane.service_account("seatrial", name, cluster_rules=less)
    code, said = ship.run("preflight", KUBECONFIG=str(kubeconfig))
    assert code in (ExitCode.FINDINGS, ExitCode.ERROR), said
    assert (f"missing: {missing}" in said) if code == ExitCode.FINDINGS else ("forbidden" in said), said
    ship.check_put_back()


def test_preflight_says_what_would_be_done_and_writes_nothing(ship: Berth) -> None:
    version = ship.object()["metadata"]["labels"]
    job = ship.fleet.add_job_pod(ship.node, name="looked-at")
    code, said = ship.run("preflight")
    assert code == ExitCode.OK, said
    assert "another one is loaded, and would be unloaded" in said
    assert f"1 pod would be evicted: {job.namespace}/" in said
    assert ship.object()["metadata"]["labels"] == version
    assert ship.modules() == {"nvidia", "nvidia_uvm"}
    ship.fleet.plane.kubectl("delete", "namespace", job.namespace, "--wait=false")


def test_with_no_driver_loaded_nobody_is_evicted_and_what_an_earlier_run_left_is_put_back(ship: Berth) -> None:
    job = ship.fleet.add_job_pod(ship.node, name="kept")
    (pod,) = ship.fleet.pods_of(job)
    for module in ("nvidia_uvm", "nvidia"):
        ship.host.delete_module(module)
    ship.label(PLUGIN, labels.MARK)
    ship.fleet.cordon(ship.node)
    ship.annotate(keys.MANAGER_CORDON_ANNOTATION, "2026-11-17T21:00:00Z")
    code, said = ship.run()
    assert code == ExitCode.OK, said
    assert "no driver is loaded" in said
    ship.check_put_back()
    assert not ship.is_cordoned
    assert [each["metadata"]["uid"] for each in ship.fleet.pods_of(job)] == [pod["metadata"]["uid"]]
    ship.fleet.plane.kubectl("delete", "namespace", job.namespace, "--wait=false")


def test_the_same_driver_stays_loaded_and_workloads_run_on(ship: Berth) -> None:
    job = ship.fleet.add_job_pod(ship.node, name="same")
    (pod,) = ship.fleet.pods_of(job)
    code, said = ship.run(DRIVER_CONFIG_DIGEST="old")
    assert code == ExitCode.OK, said
    in_order(said, "the driver that is wanted is loaded", "pausing operator-validator", "unmounting", "giving back")
    assert ship.modules() == {"nvidia", "nvidia_uvm"}
    assert "cordoning" not in said
    ship.check_put_back()
    assert [each["metadata"]["uid"] for each in ship.fleet.pods_of(job)] == [pod["metadata"]["uid"]]
    ship.fleet.plane.kubectl("delete", "namespace", job.namespace, "--wait=false")


def test_an_admins_cordon_stands_at_the_end(ship: Berth) -> None:
    ship.fleet.cordon(ship.node)
    code, said = ship.run()
    assert code == ExitCode.OK, said
    assert ship.is_cordoned
    ship.check_put_back()


def test_a_budget_that_says_no_is_named_until_it_says_yes(ship: Berth) -> None:
    made = consumers.add_pod(ship.fleet, ship.node, name="guarded", gpus=1)
    ship.fleet.plane.apply([manifests.disruption_budget(made.name, made.namespace, min_available=1)])
    ship.wait(
        lambda: ship.fleet.plane.get("pdb", "-n", made.namespace)["items"][0].get("status"), "the budget to count"
    )
    process = ship.start(DRAIN_TIMEOUT_SECONDS="12s")
    code, said = ended(process)
    assert code == ExitCode.TIMEOUT, said
    assert f"PodDisruptionBudget {made.namespace}/" in said
    ship.check_put_back()
    assert not ship.is_cordoned
    assert ship.modules() == {"nvidia", "nvidia_uvm"}
    ship.fleet.plane.kubectl("delete", "pdb", "--all", "-n", made.namespace)
    code, said = ship.run()
    assert code == ExitCode.OK, said
    ship.fleet.plane.kubectl("delete", "namespace", made.namespace, "--wait=false")


def test_a_pod_without_a_controller_fails_the_run_unless_force_is_used(ship: Berth) -> None:
    made = consumers.add_pod(ship.fleet, ship.node, name="bare", gpus=1, is_bare=True)
    code, said = ship.run()
    assert code == ExitCode.ERROR, said
    assert "DRAIN_USE_FORCE" in said
    ship.check_put_back()
    assert not ship.is_cordoned
    code, said = ship.run(DRAIN_USE_FORCE="true")
    assert code == ExitCode.OK, said
    ship.fleet.plane.kubectl("delete", "namespace", made.namespace, "--wait=false")


def test_where_nvidias_controller_empties_nodes_nobody_is_evicted_and_a_driver_in_use_stays_whole(ship: Berth) -> None:
    ship.annotate(keys.UPGRADE_ENABLED_ANNOTATION, "true")
    job = ship.fleet.add_job_pod(ship.node, name="users")
    ship.host.load("nvidia_uvm", use_count=2)
    code, said = ship.run(ENABLE_AUTO_DRAIN="true")
    assert code == ExitCode.ERROR, said
    assert "the driver is in use (nvidia_uvm by 2 open handles)" in said
    assert "cordoning" not in said
    assert "evicting" not in said
    assert ship.modules() == {"nvidia", "nvidia_uvm"}
    ship.check_put_back()
    assert len(ship.fleet.pods_of(job)) == 1
    ship.annotate(keys.UPGRADE_ENABLED_ANNOTATION, "")
    ship.fleet.plane.kubectl("delete", "namespace", job.namespace, "--wait=false")


def test_claims_are_given_back_before_the_dra_plugin_is_paused(ship: Berth) -> None:
    ship.label(labels.DRA_DRIVER, "true")
    holder = consumers.add_claim_pod(ship.fleet, ship.node, name="holder", driver=dra.GPU_DRIVER)
    code, said = ship.run()
    assert code == ExitCode.OK, said
    in_order(
        said, "pausing operator-validator", f"evicting {holder.namespace}/", "pausing dra-driver", "unloading nvidia"
    )
    assert ship.labels() == {**ship.before, labels.DRA_DRIVER: "true"}
    code, said = ship.run(ENABLE_GPU_POD_EVICTION="false")
    assert code == ExitCode.OK, said
    ship.fleet.plane.kubectl("delete", "namespace", holder.namespace, "--wait=false")


def test_the_dra_plugin_is_not_stopped_under_somebody_who_holds_a_claim(ship: Berth) -> None:
    ship.label(labels.DRA_DRIVER, "true")
    holder = consumers.add_claim_pod(ship.fleet, ship.node, name="staying")
    code, said = ship.run(ENABLE_GPU_POD_EVICTION="false")
    assert code == ExitCode.ERROR, said
    assert "still holding GPU claims" in said
    assert "pausing dra-driver" not in said
    assert ship.labels() == {**ship.before, labels.DRA_DRIVER: "true"}
    assert ship.modules() == {"nvidia", "nvidia_uvm"}
    ship.fleet.plane.kubectl("delete", "namespace", holder.namespace, "--wait=false")


def test_a_drain_takes_what_is_selected_where_the_driver_is_used_by_somebody_unknown(ship: Berth) -> None:
    made = consumers.add_pod(ship.fleet, ship.node, name="web", labels={"tier": "web"})
    other = consumers.add_pod(ship.fleet, ship.node, name="other")
    (kept,) = ship.fleet.pods_of(other)
    ship.host.load("nvidia_uvm", use_count=1)
    code, said = ship.run(
        ENABLE_GPU_POD_EVICTION="false", ENABLE_AUTO_DRAIN="true", DRAIN_POD_SELECTOR_LABEL="tier=web"
    )
    assert code == ExitCode.ERROR, "whoever uses it is no pod of this node"
    in_order(said, "the driver is in use", "The node is drained", "cordoning the node", f"evicting {made.namespace}/")
    assert f"evicting {other.namespace}/" not in said
    assert [each["metadata"]["uid"] for each in ship.fleet.pods_of(other)] == [kept["metadata"]["uid"]]
    ship.check_put_back()
    assert not ship.is_cordoned
    for each in (made, other):
        ship.fleet.plane.kubectl("delete", "namespace", each.namespace, "--wait=false")


def test_who_is_asked_to_end_puts_everything_back_first(ship: Berth) -> None:
    made = consumers.add_pod(ship.fleet, ship.node, name="slow", gpus=1, stays=True)
    process = ship.start()
    ship.wait(lambda: ship.is_cordon_ours, "it to be in the middle of its work")
    code, said = ends_on_term(process)
    assert code == ExitCode.ERROR, said
    assert "Somebody ended this before it was done" in said
    ship.check_put_back()
    assert not ship.is_cordoned
    consumers.release(ship.fleet, made)
    ship.fleet.plane.kubectl("delete", "namespace", made.namespace, "--wait=false")


def test_preflight_prints_a_document(ship: Berth) -> None:
    code, said = ship.run("preflight", "-o", "json")
    assert code == ExitCode.OK, said
    told = json.loads(said)
    assert told["node"] == ship.node
    assert {each["check"]: each["verdict"] for each in told["checks"]} == dict.fromkeys(
        ("settings", "rights", "host", "driver", "pods"), "ok"
    )
    assert ship.operands() == set(APPS)


def test_a_driver_of_the_host_is_told_by_a_label(ship: Berth) -> None:
    """The pod is not wanted any more: it waits to be removed, and is."""
    process = ship.start(PLAYED_SMI="580.105.08")
    ship.wait(lambda: ship.labels()[labels.DRIVER] == labels.PREINSTALLED, "the label")
    code, said = ends_on_term(process)
    assert code == ExitCode.ERROR, said
    assert "the host brings driver 580.105.08" in said
    assert ship.modules() == {"nvidia", "nvidia_uvm"}
    assert ship.labels() == {**ship.before, labels.DRIVER: labels.PREINSTALLED}
