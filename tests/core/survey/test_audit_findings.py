"""What is found: every kind of it, none on a clean cluster, each with its evidence, its nodes and the next command."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from seatrial.core.compat.matrix import Accept, Component, Role
from seatrial.core.model.seen.nodes import Loaded, NodePhase, NodeRecord
from seatrial.core.survey.adoption.traces import Trace, Traces
from seatrial.core.survey.audit.auditing import State
from seatrial.core.survey.audit.findings import MEANINGS, WEIGHTS, FindingKind, Weight
from seatrial.core.survey.audit.objects import (
    DaemonSetObject,
    DriverResource,
    NicObject,
    OpenShiftObject,
    PoolObject,
    SubscriptionObject,
)
from seatrial.core.survey.sources import Gap, Source, Why
from tests.core.survey.surveyed import (
    DRIVER,
    NAMESPACE,
    NOT_SERVED,
    OPERANDS,
    STARTED_AT,
    a_cluster,
    a_node,
    a_pod,
    an_entry,
    audited,
    forbidden,
    found,
    only,
    pods_of,
)

OLD = "580.95.05"
NAMES = ("gpu-1", "gpu-2", "gpu-3")
CLEAN = {
    "kubernetes": "v1.33.5",
    "os": "ubuntu22.04",
    "kernel": "5.15.0-142-generic",
    "gpu_operator": "25.10.1",
    "driver": "580.105.8",
    "device_plugin": "0.18.1",
    "container_toolkit": "v1.18.1-ubuntu20.04",
    "dcgm": "4.4.2-4.7.0",
}


def with_driver(*versions: str, **changed: Any) -> Any:
    """A cluster whose nodes have these drivers, one after the other."""
    nodes = [
        a_node(f"gpu-{number}", loaded=Loaded(version=version, seen_at=STARTED_AT + 1))
        for number, version in enumerate(versions, 1)
    ]
    pods = tuple(
        pod
        for node, version in zip(nodes, versions, strict=True)
        for pod in pods_of(node.name, driver=f"nvcr.io/nvidia/driver:{version}-ubuntu22.04")
    )
    return a_cluster(*nodes, pods=pods, **changed)


def kinds(objects: Any, entry: Any = None) -> list[str]:
    return [each.kind.value for each in found(objects, entry)]


def test_nothing_is_found_on_a_clean_cluster_with_a_matrix_or_without() -> None:
    assert found(a_cluster()) == ()
    assert found(a_cluster(), an_entry(**CLEAN)) == ()


def test_every_kind_has_a_weight_and_a_meaning() -> None:
    assert set(WEIGHTS) == set(MEANINGS) == set(FindingKind)


# ── drift ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_version_that_the_matrix_does_not_name_is_drift_on_exactly_those_nodes() -> None:
    drift = only(with_driver(DRIVER, OLD, OLD), FindingKind.DRIFT, an_entry(driver=DRIVER))
    assert drift.message == f"gpu_driver is {OLD}, and current says {DRIVER}."
    assert drift.nodes == ("gpu-2", "gpu-3")
    assert drift.evidence == ("Node label nvidia.com/cuda.driver-version.full", "matrix.yaml:3:7")
    assert drift.next_step == (
        "`seatrial why gpu-2` says what the node waits for; where the cluster is right, "
        f"`seatrial matrix set current gpu_driver {OLD} matrix.yaml` corrects the matrix."
    )


def test_each_version_found_instead_is_a_finding_of_its_own() -> None:
    drifts = found(with_driver(DRIVER, OLD, "580.82.07"), an_entry(driver=DRIVER))
    assert [(each.kind.value, each.nodes) for each in drifts if each.kind is FindingKind.DRIFT] == [
        ("drift", ("gpu-2",)),
        ("drift", ("gpu-3",)),
    ]


def test_a_version_that_was_read_in_two_places_is_one_finding_with_both() -> None:
    objects = with_driver(OLD, OLD)
    nodes = (objects.nodes[0], replace(objects.nodes[1], loaded=None))
    drift = only(replace(objects, nodes=nodes), FindingKind.DRIFT, an_entry(driver=DRIVER))
    assert drift.nodes == ("gpu-1", "gpu-2")
    assert [each.partition(",")[0] for each in drift.evidence] == [
        "Node label nvidia.com/cuda.driver-version.full",
        "Pod in gpu-operator",
        "matrix.yaml:3:7",
    ]


def test_what_the_matrix_names_and_the_node_does_not_have_is_drift() -> None:
    objects = a_cluster(
        pods=tuple(
            pod
            for name in NAMES
            for pod in pods_of(name, dcgm="" if name == "gpu-2" else OPERANDS["nvidia-dcgm-exporter"])
        )
    )
    drift = only(objects, FindingKind.DRIFT, an_entry(dcgm="4.4.2-4.7.0"))
    assert drift.message == "dcgm is not there, and current says 4.4.2-4.7.0."
    assert (drift.nodes, drift.evidence[0]) == (("gpu-2",), "no pod on the node brings dcgm")
    assert "`seatrial matrix set current dcgm VERSION matrix.yaml`" in drift.next_step


def test_drift_of_what_the_cluster_has_once_names_no_node() -> None:
    drift = only(a_cluster(), FindingKind.DRIFT, an_entry(gpu_operator="v25.3.4"))
    assert drift.nodes == ()
    assert drift.message == "gpu_operator is v25.10.1, and current says v25.3.4."
    assert drift.next_step.startswith("`seatrial facts search v25.3.4`")
    found_there = a_cluster(openshift=(OpenShiftObject(completed="4.18.36", desired="4.18.36"),))
    drifts = [each for each in found(found_there, an_entry(openshift="4.18.37")) if each.kind is FindingKind.DRIFT]
    assert [each.next_step.partition(";")[0] for each in drifts] == ["`oc adm upgrade --to 4.18.37` is the way there"]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("gpu_operator", "v25.10.1"),
        ("gpu_operator", "25.10.1"),
        ("os", "ubuntu22.04"),
        ("os", "Ubuntu 22"),
        ("driver", "580.105.8"),
        ("kubernetes", "v1.33.5-gke.1000"),
        ("container_toolkit", "v1.18.1-ubuntu20.04"),
    ],
)
def test_versions_are_compared_by_what_they_mean(part: str, text: str) -> None:
    assert found(a_cluster(), an_entry(**{part: text})) == ()


def test_another_point_release_of_the_system_is_drift_only_where_the_matrix_names_one() -> None:
    assert kinds(a_cluster(), an_entry(os="ubuntu22.04.3")) == ["drift"]
    assert kinds(a_cluster(), an_entry(os="ubuntu24.04")) == ["drift"]
    assert kinds(a_cluster(), an_entry(os="rhel9.4")) == ["drift"]


def test_a_network_driver_is_compared_by_three_digits_since_labels_drop_the_fourth() -> None:
    nodes = [a_node(name, mofed="25.07-0.9.7") for name in NAMES]
    assert "drift" not in kinds(a_cluster(*nodes), an_entry(mofed="25.07-0.9.7.0"))
    assert "drift" in kinds(a_cluster(*nodes), an_entry(mofed="25.07-0.9.8.0"))


def test_one_adapter_with_another_firmware_is_drift_although_the_others_are_right() -> None:
    nics = tuple(NicObject(node="gpu-1", firmware=text) for text in ("28.45.1020", "28.43.1014"))
    drift = only(a_cluster(a_node(), nics=nics), FindingKind.DRIFT, an_entry(firmware="28.45.1020"))
    assert drift.message.startswith("firmware_cx7 is 28.43.1014 and 28.45.1020")
    assert "set current firmware_cx7 VERSION" in drift.next_step


def test_what_was_not_observed_is_neither_drift_nor_as_wanted() -> None:
    result = audited(a_cluster(), an_entry(nccl="2.27.3"))
    assert [each.kind.value for each in result.findings] == ["not-observable"]
    row = next(each for each in result.rows if each.component is Component.NCCL)
    assert (row.state, row.wanted, row.unseen_count) == (State.NOT_OBSERVABLE, "2.27.3", 3)


def test_a_canary_is_compared_with_its_own_entry_by_its_label_or_by_its_name() -> None:
    production = an_entry(driver=DRIVER, gpu_operator="v25.10.1")
    canary = replace(an_entry(driver=OLD, gpu_operator="v26.3.3"), role=Role.CANARY, key="canary")
    objects = with_driver(DRIVER, OLD, OLD)
    marked = replace(
        objects,
        nodes=tuple(replace(each, canary_of="spring" if each.name == "gpu-2" else "") for each in objects.nodes),
    )
    by_label = audited(marked, production, canary).findings
    assert [(each.kind.value, each.nodes) for each in by_label] == [("drift", ("gpu-3",))]
    by_name = audited(marked, production, replace(canary, canary_node="gpu-3")).findings
    assert by_name == ()
    wrong = audited(marked, production, replace(canary, stack=an_entry(driver=DRIVER).stack)).findings
    assert [(each.nodes, each.message.endswith(f"canary says {DRIVER}.")) for each in wrong] == [
        (("gpu-3",), False),
        (("gpu-2",), True),
    ]


def test_without_a_matrix_a_canary_that_differs_is_named_as_such() -> None:
    objects = with_driver(DRIVER, OLD, DRIVER)
    nodes = tuple(replace(each, canary_of="spring" if each.name == "gpu-2" else "") for each in objects.nodes)
    assert only(replace(objects, nodes=nodes), FindingKind.MIXED).message.endswith(
        "Canaries among them: gpu-2 (of spring)."
    )


# ── mixed ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_matrix_the_most_common_stack_is_the_reference_and_outliers_are_found() -> None:
    mixed = only(with_driver(DRIVER, OLD, DRIVER), FindingKind.MIXED)
    assert mixed.nodes == ("gpu-2",)
    assert mixed.message == (
        "gpu_driver is mixed over the nodes with NVIDIA-H100-80GB-HBM3, ubuntu22.04: "
        f"{DRIVER} on 2, {OLD} on 1; the most common stack has {DRIVER}."
    )
    assert "`seatrial why gpu-2`" in mixed.next_step


def test_where_no_stack_is_the_most_common_all_are_named_and_none_is_called_right() -> None:
    mixed = next(each for each in found(with_driver(DRIVER, OLD)) if each.kind is FindingKind.MIXED)
    assert mixed.nodes == ("gpu-1", "gpu-2")
    assert mixed.message.endswith("no stack is the most common.")


def done_on(objects: Any, *names: str) -> Any:
    """The same cluster, where our label says that the upgrade of these nodes is done."""
    nodes = (replace(each, our_state="upgrade-done" if each.name in names else "") for each in objects.nodes)
    return replace(objects, nodes=tuple(nodes))


def test_a_node_whose_upgrade_is_done_is_not_asked_what_it_waits_for() -> None:
    half = with_driver(DRIVER, OLD)
    mixed = next(each for each in found(done_on(half, "gpu-1")) if each.kind is FindingKind.MIXED)
    assert mixed.next_step.startswith("`seatrial why gpu-2` says what the node waits for; ")
    mixed = next(each for each in found(done_on(half, "gpu-1", "gpu-2")) if each.kind is FindingKind.MIXED)
    assert mixed.next_step.startswith("`seatrial node get gpu-1` shows the node; ")
    old = done_on(with_driver(DRIVER, OLD, OLD), "gpu-2")
    assert "`seatrial why gpu-3`" in only(old, FindingKind.DRIFT, an_entry(driver=DRIVER)).next_step


def test_the_reference_is_a_whole_stack_and_not_a_patchwork_of_majorities() -> None:
    """Two nodes share a stack; three others differ in one part each, so that no part alone decides."""
    objects = with_driver(DRIVER, DRIVER, OLD, OLD, OLD)
    changed = {"gpu-3": "v0.17.1", "gpu-4": "v0.17.2", "gpu-5": "v0.17.3"}
    pods = tuple(
        replace(pod, images=((pod.images[0][0], f"nvcr.io/nvidia/k8s-device-plugin:{changed[pod.node]}"),))
        if pod.node in changed and pod.images[0][0] == "nvidia-device-plugin"
        else pod
        for pod in objects.pods
    )
    by_part = {each.component: each for each in found(replace(objects, pods=pods)) if each.kind is FindingKind.MIXED}
    assert by_part[Component.GPU_DRIVER].nodes == ("gpu-3", "gpu-4", "gpu-5")
    assert by_part[Component.DEVICE_PLUGIN].nodes == ("gpu-3", "gpu-4", "gpu-5")


def test_nodes_with_another_gpu_or_another_system_are_not_compared_with_each_other() -> None:
    nodes = (
        a_node("a"),
        a_node("b", product="NVIDIA-L40S", kernel="5.15.0-130-generic"),
        a_node("c", os_version="24.04", kernel="6.8.0-60-generic"),
    )
    assert "mixed" not in kinds(a_cluster(*nodes))
    row = next(each for each in audited(a_cluster(*nodes)).rows if each.component is Component.KERNEL)
    assert row.state is State.BY_KIND


def test_a_component_that_the_matrix_names_is_told_as_drift_and_not_again_as_mixed() -> None:
    entry = an_entry(driver=DRIVER)
    assert kinds(with_driver(DRIVER, OLD, DRIVER), entry) == ["drift"]
    assert kinds(with_driver(DRIVER, OLD, DRIVER), an_entry(gpu_operator="v25.10.1")) == ["mixed"]


def test_a_node_that_nobody_could_read_is_no_outlier() -> None:
    nodes = (a_node("gpu-1"), a_node("gpu-2"), a_node("gpu-3", runtime=""))
    assert kinds(a_cluster(*nodes)) == ["not-observable", "not-observable"]


def test_mixed_kernels_are_explained_by_a_paused_pool() -> None:
    nodes = (a_node("gpu-1"), a_node("gpu-2"), a_node("gpu-3", kernel="5.15.0-130-generic"))
    pools = (PoolObject(name="gpu", is_paused=True, machine_count=3),)
    mixed, _ = found(a_cluster(*nodes, pools=pools))
    assert mixed.message.endswith("A paused MachineConfigPool explains this.")


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_rule_forbids_is_found_on_what_really_runs() -> None:
    nodes = [a_node(name, product="NVIDIA-B200") for name in NAMES]
    resources = (DriverResource(name="ClusterPolicy/x", modules="proprietary"),)
    wrong = [
        each for each in found(a_cluster(*nodes, driver_resources=resources)) if each.kind is FindingKind.INCOMPATIBLE
    ]
    assert wrong
    assert all(each.nodes == NAMES and "`seatrial check --explain " in each.next_step for each in wrong)
    assert any(each.message.startswith("arch-driver: ") for each in wrong)


def test_what_no_fact_covers_is_unproven_unless_the_matrix_accepts_it() -> None:
    nodes = [a_node(name, product="NVIDIA-X999") for name in NAMES]
    assert set(kinds(a_cluster(*nodes))) == {"unproven"}
    rules = {each.message.partition(":")[0] for each in found(a_cluster(*nodes))}
    accept = tuple(Accept(rule=rule, reason="tried it") for rule in rules)
    assert kinds(a_cluster(*nodes), an_entry(accept, driver=DRIVER)) == []
    ended = tuple(replace(each, until=date(2026, 1, 1)) for each in accept)
    assert set(kinds(a_cluster(*nodes), an_entry(ended, driver=DRIVER))) == {"unproven"}


def test_what_is_out_of_support_is_said_to_be_so() -> None:
    late = audited(a_cluster(), on=date(2030, 1, 1))
    told = [each for each in late.findings if each.message.startswith("lifecycle: ")]
    assert {each.kind.value for each in told} == {"expired-support"}
    assert all("out of support" in each.message for each in told)


def unpulled(node: str = "gpu-2") -> Any:
    """The usual three nodes, and the driver's image of one cannot be pulled; its label is that of the driver before."""
    objects = a_cluster()
    pods = [
        replace(pod, is_ready=False, started_at=None, trouble="ImagePullBackOff")
        if (pod.node, pod.images[0][0]) == (node, "nvidia-driver-ctr")
        else pod
        for pod in objects.pods
    ]
    return replace(objects, pods=tuple(pods))


def test_a_driver_whose_image_cannot_be_pulled_is_found_as_not_running_and_not_as_drift_or_an_old_label() -> None:
    finding = only(unpulled(), FindingKind.NOT_RUNNING)
    assert (finding.nodes, finding.component) == (("gpu-2",), Component.GPU_DRIVER)
    assert finding.message.startswith(
        f"Driver {DRIVER} does not run: the image of its pod cannot be pulled (ImagePullBackOff)."
    )
    assert finding.next_step == "`seatrial doctor gpu-2` says why, and what to do."
    assert kinds(unpulled()) == ["not-running"]


@pytest.mark.parametrize("entry", [None, an_entry(gpu_driver=DRIVER)])
def test_a_cluster_with_a_driver_that_does_not_run_is_not_as_wanted_and_counts_it_apart(entry: Any) -> None:
    row = next(each for each in audited(unpulled(), entry).rows if each.component is Component.GPU_DRIVER)
    assert (row.state, row.found, row.down_count) == (State.NOT_RUNNING, ((DRIVER, 2),), 1)


def test_a_template_that_pods_do_not_follow_yet_is_pending_with_what_any_restart_will_bring() -> None:
    name = "nvidia-driver-daemonset"
    newer = "nvcr.io/nvidia/driver:580.126.09-ubuntu22.04"
    asked = DaemonSetObject(namespace=NAMESPACE, name=name, images=(("nvidia-driver-ctr", newer),), strategy="OnDelete")
    owned = tuple(
        replace(pod, owner=name) if pod.images[0][0] == "nvidia-driver-ctr" else pod for pod in a_cluster().pods
    )
    finding = only(a_cluster(daemon_sets=(asked,), pods=owned), FindingKind.PENDING)
    assert finding.nodes == NAMES
    assert f"DaemonSet {NAMESPACE}/{name} asks for {newer}, and its pods have {OPERANDS['nvidia-driver-ctr']}" in (
        finding.message
    )
    assert "pending" not in kinds(a_cluster(daemon_sets=(replace(asked, name="another"),), pods=owned))


def test_every_firmware_of_a_node_is_judged_and_not_the_first_alone() -> None:
    versions = {"mofed": "25.07-0.9.7.0", "firmware": "28.46.1006"}
    told = {Component(key if key == "mofed" else "firmware_cx7"): text for key, text in versions.items()}
    right, wrong = (NicObject(node="gpu-1", firmware=text) for text in ("28.46.1006", "28.30.1000"))
    node = a_node(told=told)
    before = {each.message for each in found(a_cluster(node, nics=(right,)))}
    after = {each.message for each in found(a_cluster(node, nics=(right, wrong)))}
    assert any("28.30.1000" in each for each in after - before)


def test_a_rule_is_told_once_for_all_nodes_that_it_is_about() -> None:
    nodes = [a_node(name, product="NVIDIA-X999") for name in NAMES]
    by_rule = [each.message for each in found(a_cluster(*nodes))]
    assert len(by_rule) == len(set(by_rule))


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_label_that_is_older_than_the_driver_and_differs_is_stale() -> None:
    nodes = [a_node("gpu-1", loaded=Loaded(version=OLD, seen_at=STARTED_AT - 5)), a_node("gpu-2"), a_node("gpu-3")]
    stale = only(a_cluster(*nodes), FindingKind.STALE_LABEL)
    assert stale.nodes == ("gpu-1",)
    assert OLD in stale.message
    assert "--field-selector spec.nodeName=gpu-1" in stale.next_step


def test_a_driver_that_stayed_loaded_under_a_new_pod_is_leaked() -> None:
    nodes = [a_node(name, loaded=Loaded(version=OLD, seen_at=STARTED_AT + 5)) for name in NAMES]
    leaked = [each for each in found(a_cluster(*nodes)) if each.kind is FindingKind.LEAKED_DRIVER]
    assert [each.nodes for each in leaked] == [NAMES]
    assert f"Driver {OLD} is loaded" in leaked[0].message
    assert f"brings {DRIVER}" in leaked[0].message


def test_a_network_driver_for_another_kernel_is_a_stale_build() -> None:
    image = "nvcr.io/nvidia/mellanox/doca-driver:25.07-0.9.7.0-0"
    pods = (*pods_of("gpu-1"), a_pod("mofed-container", image=image, kernel="5.15.0-130-generic"))
    stale = [each for each in found(a_cluster(a_node(), pods=pods)) if each.kind is FindingKind.STALE_BUILD]
    assert [each.message for each in stale] == [
        "The network driver was built for kernel 5.15.0-130-generic, and the node runs 5.15.0-142-generic."
    ]
    good = (*pods_of("gpu-1"), a_pod("mofed-container", image=image, kernel="5.15.0-142-generic"))
    assert "stale-build" not in kinds(a_cluster(a_node(), pods=good))


@pytest.mark.parametrize("phase", NodePhase)
def test_an_upgrade_between_its_start_and_its_end_is_half_done_whoever_wrote_the_state(phase: NodePhase) -> None:
    is_at_rest = phase in (NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE)
    for state in ({"nvidia_state": phase.value}, {"our_state": phase.value}):
        objects = a_cluster(a_node("gpu-1", **state), a_node("gpu-2"), a_node("gpu-3"))
        assert kinds(objects) == ([] if is_at_rest else ["half-done"])


def test_a_state_that_nobody_knows_is_half_done_and_not_at_rest() -> None:
    half = only(a_cluster(a_node(nvidia_state="pod-restart-requird")), FindingKind.HALF_DONE)
    assert half.evidence == ("Node label nvidia.com/gpu-driver-upgrade-state=pod-restart-requird",)


def test_our_state_that_is_mirrored_under_nvidias_key_is_told_once() -> None:
    state = NodePhase.DRAIN_REQUIRED.value
    half = only(a_cluster(a_node(nvidia_state=state, our_state=state)), FindingKind.HALF_DONE)
    assert half.message == f"A driver upgrade is half-way: our state is {state}."


def test_a_record_whose_label_is_lost_is_half_done_all_the_same() -> None:
    record = NodeRecord(phase=NodePhase.VALIDATION_REQUIRED, attempt=1, entered_at=0.0)
    assert kinds(a_cluster(a_node(record=record))) == ["half-done"]


def test_a_failed_upgrade_says_so() -> None:
    half = only(a_cluster(a_node(nvidia_state="upgrade-failed")), FindingKind.HALF_DONE)
    assert half.message.startswith("A driver upgrade has failed")


def test_a_cordon_that_a_person_set_is_foreign_and_names_who() -> None:
    node = a_node(is_cordoned=True, traces=Traces(cordoned_by="kubectl-cordon"))
    cordon = only(a_cluster(node), FindingKind.FOREIGN_CORDON)
    assert "kubectl-cordon set the cordon" in cordon.message
    assert "`kubectl uncordon gpu-1`" in cordon.next_step


def test_a_cordon_of_an_upgrade_is_not_foreign() -> None:
    ours = NodeRecord(phase=NodePhase.DRAIN_REQUIRED, attempt=1, entered_at=0.0, is_cordon_ours=True)
    for node in (
        a_node(is_cordoned=True, record=ours),
        a_node(is_cordoned=True, traces=Traces(cordoned_by="gpu-operator")),
        a_node(is_cordoned=True, nvidia_state="drain-required"),
    ):
        assert "foreign-cordon" not in kinds(a_cluster(node))


def test_a_cordon_that_was_there_before_nvidias_upgrade_stays_foreign() -> None:
    traces = Traces(found=frozenset({Trace.INITIAL_STATE}))
    node = a_node(is_cordoned=True, nvidia_state="drain-required", traces=traces)
    assert set(kinds(a_cluster(node))) == {"half-done", "foreign-cordon"}


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_paused_pool_with_machines_is_found_and_an_empty_one_is_not() -> None:
    pools = (
        PoolObject(name="gpu", is_paused=True, machine_count=3),
        PoolObject(name="empty", is_paused=True),
        PoolObject(name="worker", is_paused=False, machine_count=3),
    )
    paused = only(a_cluster(pools=pools), FindingKind.PAUSED_POOL)
    assert paused.message.startswith("MachineConfigPool gpu is paused: 3 nodes")
    assert """`oc patch machineconfigpool gpu --type merge -p '{"spec": {"paused": false}}'`""" in paused.next_step


def test_a_pool_that_a_rollout_paused_is_left_to_it() -> None:
    pools = (PoolObject(name="gpu", is_paused=True, machine_count=3, paused_by="spring"),)
    paused = only(a_cluster(pools=pools), FindingKind.PAUSED_POOL)
    assert paused.next_step == "`seatrial status --rollout spring` says when it is resumed."


def test_a_driver_that_rolls_by_itself_is_found_and_other_operands_may() -> None:
    def of(container: str) -> DaemonSetObject:
        return DaemonSetObject(namespace="x", name=container, images=((container, ""),), strategy="RollingUpdate")

    rolling = only(
        a_cluster(daemon_sets=(of("nvidia-driver-ctr"), of("nvidia-device-plugin"))), FindingKind.SELF_ROLLING
    )
    assert rolling.evidence == ("DaemonSet x/nvidia-driver-ctr spec.updateStrategy.type=RollingUpdate",)
    assert kinds(a_cluster(daemon_sets=(of("mofed-container"),))) == ["self-rolling"]
    assert kinds(a_cluster(daemon_sets=(replace(of("nvidia-driver-ctr"), strategy="OnDelete"),))) == []


@pytest.mark.parametrize(
    ("package", "channel", "is_automatic", "is_found"),
    [
        ("gpu-operator-certified", "stable", True, True),
        ("gpu-operator-certified", "", True, True),
        ("nvidia-network-operator", "stable", True, True),
        ("gpu-operator-certified", "v25.10", True, False),
        ("gpu-operator-certified", "stable", False, False),
        ("sriov-network-operator", "stable", True, False),  # cut once per OpenShift minor
    ],
)
def test_automatic_approval_on_a_channel_that_moves_is_found(
    package: str, channel: str, is_automatic: bool, is_found: bool
) -> None:
    followed = SubscriptionObject(
        namespace="x", name="sub", package=package, channel=channel, is_automatic=is_automatic
    )
    assert kinds(a_cluster(subscriptions=(followed,))) == (["moving-channel"] if is_found else [])


def test_the_channel_to_stay_on_is_that_of_the_version_that_runs() -> None:
    followed = SubscriptionObject(
        namespace="x", name="sub", package="gpu-operator-certified", channel="stable", is_automatic=True
    )
    moving = only(a_cluster(subscriptions=(followed,)), FindingKind.MOVING_CHANNEL)
    assert '"channel": "v25.10", "installPlanApproval": "Manual"' in moving.next_step


# ── not observable ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_right_is_one_finding_that_names_it_and_what_it_costs() -> None:
    objects = a_cluster(pods=(), gaps=forbidden(Source.PODS))
    told = only(objects, FindingKind.NOT_OBSERVABLE)
    assert told.message.startswith("We may not list pods, which would show what pods bring to nodes")
    assert "device_plugin, container_toolkit, dcgm" in told.message
    assert told.next_step == (
        "`kubectl auth can-i list pods -A` has to say yes: grant it by the ClusterRole of docs/how-to/audit.md."
    )
    assert told.nodes == NAMES


def test_a_kind_that_did_not_answer_is_told_with_what_was_said() -> None:
    gap = Gap(source=Source.SLICES, why=Why.FAILED, said="no endpoints available")
    told = only(a_cluster(gaps={**NOT_SERVED, Source.SLICES: gap}), FindingKind.NOT_OBSERVABLE)
    assert "did not list resourceslices.resource.k8s.io: no endpoints available" in told.message
    assert "`kubectl get resourceslices.resource.k8s.io -A`" in told.next_step


def test_what_no_object_shows_is_asked_for_only_by_a_matrix() -> None:
    assert kinds(a_cluster()) == []
    told = only(a_cluster(), FindingKind.NOT_OBSERVABLE, an_entry(cuda="13.0"))
    assert told.component is Component.CUDA
    assert "`seatrial rollout observed cuda VERSION gpu-1`" in told.next_step
    nodes = [a_node(name, told={Component.CUDA: "13.0"}) for name in NAMES]
    assert kinds(a_cluster(*nodes), an_entry(cuda="13.0")) == []
    assert kinds(a_cluster(*nodes), an_entry(cuda="13.1")) == ["drift"]


def test_a_matrix_value_that_cannot_be_read_is_not_compared_and_told() -> None:
    result = audited(a_cluster(), an_entry(kernel="6.x TBD"))
    assert [each.kind.value for each in result.findings] == ["not-observable"]
    assert "cannot be compared" in result.findings[0].message
    row = next(each for each in result.rows if each.component is Component.KERNEL)
    assert row.state is State.NOT_OBSERVABLE


def test_a_cluster_in_which_no_node_shows_a_gpu_is_not_in_order() -> None:
    node = a_node(shows_gpu=False, loaded=None)
    told = only(a_cluster(node, pods=()), FindingKind.NOT_OBSERVABLE)
    assert told.message.startswith("No node shows a GPU (1 node looked at)")


# ── together ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_heaviest_findings_come_first() -> None:
    objects = replace(
        with_driver(DRIVER, OLD, DRIVER),
        pools=(PoolObject(name="gpu", is_paused=True, machine_count=3),),
        gaps=forbidden(Source.SUBSCRIPTIONS),
    )
    assert [each.weight for each in found(objects)] == [Weight.DRIFT, Weight.WRONG, Weight.UNKNOWN]


def test_a_row_counts_versions_and_says_how_the_component_stands() -> None:
    rows = {row.component: row for row in audited(with_driver(DRIVER, OLD, DRIVER), an_entry(driver=DRIVER)).rows}
    driver = rows[Component.GPU_DRIVER]
    assert (driver.state, driver.found) == (State.DRIFT, ((DRIVER, 2), (OLD, 1)))
    assert rows[Component.KERNEL].state is State.ONE_VERSION
    assert rows[Component.CRI_O].state is State.ABSENT
    assert rows[Component.NCCL].is_by_nature
    assert {row.component for row in rows.values()} == set(Component)


def test_asked_again_an_audit_says_the_same() -> None:
    objects = replace(with_driver(DRIVER, OLD, DRIVER), openshift=(OpenShiftObject(completed="4.18.36", desired=""),))
    first, again = audited(objects), audited(replace(objects, nodes=objects.nodes[::-1], pods=objects.pods[::-1]))
    assert (first.findings, first.rows) == (again.findings, again.rows)


def test_what_is_known_to_be_bad_is_warned_of() -> None:
    old = "570.124.06"
    nodes = [a_node(name, loaded=Loaded(version=old, seen_at=STARTED_AT + 60)) for name in NAMES]
    pods = tuple(pod for name in NAMES for pod in pods_of(name, driver=f"nvcr.io/nvidia/driver:{old}-ubuntu22.04"))
    told = [each for each in found(a_cluster(*nodes, pods=pods)) if each.message.startswith("known-bad: ")]
    assert {each.kind for each in told} == {FindingKind.WARNED}


def test_a_cordon_is_told_with_since_when() -> None:
    node = a_node(is_cordoned=True, traces=Traces(cordoned_by="kubectl-cordon"), cordoned_at=1234.0)
    assert only(a_cluster(node), FindingKind.FOREIGN_CORDON).since == 1234.0
