"""What a vendor's table lists is right, what it leaves out is unknown, and what its page says no to fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.compat.rules import check_change, check_stack
from seatrial.core.compat.rules.distributions import distribution_of
from seatrial.core.compat.versions import KubernetesVersion
from tests.core.compat.knowledge import ON, facts, judged, judged_change, stack

NEW = {"gpu_operator": "v26.7.0"}
NET = {"network_operator": "v26.4.1"}


# ── distributions ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("v1.35.7", ""),
        ("1.35.7-1.1", ""),
        ("v1.36.0-rc.1", ""),
        ("v1.35.7+rke2r1", "Rancher RKE2"),
        ("v1.35.7+k3s1", "K3s"),
        ("v1.35.7+k0s.0", "Mirantis k0s"),
        ("v1.33.1+vmware.1-fips", "VMware VKS"),
        ("v1.31.5-mirantis-1", "Mirantis MKE"),
        ("v1.33.13-eks-3abbec1", "Amazon EKS"),
        ("v1.34.4-gke.1000", "Google GKE"),
        ("v1.31.4+IKS", "+IKS"),
    ],
)
def test_a_kubernetes_says_who_built_it(text: str, whose: str) -> None:
    assert distribution_of(KubernetesVersion.parse(text)) == whose


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"kubernetes": "v1.35.7+rke2r1", "os": "ubuntu24.04"}, "ok", "on Rancher RKE2 (1.33 to 1.36)"),
        ({"kubernetes": "v1.32.13+rke2r1", "os": "ubuntu24.04"}, "fail", "does not support Kubernetes 1.32 on Rancher"),
        ({"kubernetes": "v1.32.13", "os": "ubuntu24.04"}, "ok", "on Ubuntu 24.04"),
        ({"kubernetes": "v1.37.1+rke2r1", "os": "ubuntu24.04"}, "warn", "not for Kubernetes 1.37 on Rancher RKE2"),
        ({"kubernetes": "v1.35.7+rke2r1", "os": "rhel10.1"}, "ok", "on Rancher RKE2"),
        ({"kubernetes": "v1.35.7+rke2r1", "os": "rocky9.7"}, "unknown", "not on Rocky Linux 9.7"),
        ({"kubernetes": "v1.35.7+rke2r1"}, "ok", "on Rancher RKE2"),
        ({"kubernetes": "v1.35.7+k3s1", "os": "rhel9.6"}, "unknown", "lists K3s on Ubuntu"),
        ({"kubernetes": "v1.35.7+k0s.0", "os": "ubuntu22.04"}, "ok", "on Mirantis k0s"),
        ({"kubernetes": "v1.35.7+vmware.1", "os": "ubuntu22.04"}, "ok", "on VMware VKS"),
        ({"kubernetes": "v1.35.7+vmware.1", "os": "ubuntu24.04"}, "unknown", "lists VMware VKS on Ubuntu 22.04"),
        ({"kubernetes": "v1.35.7-eks-3abbec1", "os": "rhel9.6"}, "unknown", "lists Amazon EKS on Ubuntu"),
        ({"kubernetes": "v1.34.4-gke.1000", "os": "cos"}, "ok", "on Google GKE"),
        ({"kubernetes": "v1.35.7-mirantis-1", "os": "ubuntu22.04"}, "unknown", "its table has Rancher RKE2, K3s"),
        ({"kubernetes": "v1.35.7+IKS", "os": "ubuntu22.04"}, "unknown", "the Kubernetes of +IKS"),
    ],
)
def test_a_distribution_has_a_column_of_its_own(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("gpuop-kubernetes", {**NEW, **texts})
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        ({"kubernetes": "v1.34.9+rke2r1", "os": "sles15.7"}, "ok"),
        ({"kubernetes": "v1.34.9+rke2r1", "os": "ubuntu24.04"}, "unknown"),
        ({"kubernetes": "v1.34.9-eks-3abbec1", "os": "ubuntu24.04"}, "unknown"),
        ({"kubernetes": "v1.34.9", "os": "ubuntu24.04"}, "ok"),
    ],
)
def test_the_network_operator_has_a_column_for_rke2_alone(texts: dict[str, str], verdict: str) -> None:
    found = judged("netop-kubernetes", {**NET, **texts})
    assert found is not None
    assert found.verdict.value == verdict, found.message


# ── GPUs and CPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("product", "verdict"),
    [
        ("NVIDIA-A100-SXM4-80GB", "ok"),
        ("Tesla-T4", "ok"),
        ("HGX B200", "ok"),
        ("GB200 NVL72", "ok"),
        ("NVIDIA-GB10", "ok"),
        ("RTX PRO 6000 Blackwell Server Edition", "ok"),
        ("RTX PRO 6000 Blackwell Workstation Edition", "unknown"),
        ("A10G", "unknown"),
        ("M60", "unknown"),
        ("GeForce RTX 4090", "unknown"),
        ("Jetson AGX Orin", "fail"),
        ("AGX Thor", "fail"),
        ("Jetson Xavier NX", "fail"),
        ("IGX Orin", "warn"),
        ("IGX Orin (iGPU)", "fail"),
        ("IGX Orin dGPU", "ok"),
    ],
)
def test_which_gpus_the_gpu_operator_lists(product: str, verdict: str) -> None:
    found = judged("gpuop-gpu", NEW, {"product": product})
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_one_embedded_pool_fails_by_itself() -> None:
    pools = [{"pool": "training", "product": "H100"}, {"pool": "edge", "product": "Jetson AGX Orin"}]
    found = judged("gpuop-gpu", NEW, pools)
    assert found is not None
    assert found.verdict.value == "fail"
    assert found.message.startswith("edge: ")


def test_a_line_that_came_before_a_gpu_does_not_list_it() -> None:
    assert str(judged("gpuop-gpu", {"gpu_operator": "v24.9.2"}, {"product": "B200"}).verdict.value) == "unknown"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("texts", "hardware", "verdict"),
    [
        ({"os": "rhel9.6"}, {"product": "GB200"}, "fail"),
        ({"os": "rhel9.6"}, {"product": "GH200"}, "fail"),
        ({"os": "rhel9.6", "kernel": "5.14.0-570.12.1.el9_6.aarch64+64k"}, {}, "fail"),
        ({"os": "rhel10.1"}, {"product": "GB200"}, "ok"),
        ({"os": "ubuntu24.04"}, {"product": "GB300"}, "ok"),
        ({"os": "ubuntu24.04", "kernel": "6.8.0-1028-nvidia-64k"}, {}, "ok"),
        ({"openshift": "4.20.30"}, {"product": "GB200"}, "ok"),
        ({"kernel": "5.14.0-570.12.1.el9_6.aarch64"}, {}, "unknown"),
    ],
)
def test_driver_containers_of_rhel_9_are_for_x86_alone(
    texts: dict[str, str], hardware: dict[str, str], verdict: str
) -> None:
    found = judged("gpuop-cpu", {**NEW, **texts}, hardware)
    assert found is not None
    assert found.verdict.value == verdict, found.message


@pytest.mark.parametrize(
    ("texts", "hardware"),
    [
        ({"os": "rhel9.6"}, {"product": "H100"}),
        ({"os": "rhel9.6", "kernel": "5.14.0-570.12.1.el9_6.x86_64"}, {"product": "GB200"}),
        ({"os": "rhel9.6"}, {}),
    ],
)
def test_of_x86_there_is_nothing_to_ask(texts: dict[str, str], hardware: dict[str, str]) -> None:
    assert judged("gpuop-cpu", {**NEW, **texts}, hardware) is None


# ── runtimes, storage, adapters, discovery ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("system", ["rhel10.1", "rocky9.7"])
def test_a_system_that_the_table_of_runtimes_leaves_out_is_unknown(system: str) -> None:
    found = judged("gpuop-runtime", {**NEW, "containerd": "2.2.7", "os": system})
    assert found is not None
    assert found.verdict.value == "unknown", found.message
    assert "is none of them" in found.message


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        ({"os": "ubuntu22.04"}, "ok"),
        ({"openshift": "4.20.30"}, "ok"),
        ({"os": "rhel9.6"}, "unknown"),
        ({"os": "ubuntu26.04"}, "unknown"),
    ],
)
def test_gpudirect_storage_is_supported_on_fewer_systems(texts: dict[str, str], verdict: str) -> None:
    found = judged("gds-os", {**NEW, "gds": "2.29.4", **texts})
    assert found is not None
    assert found.verdict.value == verdict, found.message


@pytest.mark.parametrize(
    ("texts", "hardware", "verdict"),
    [
        ({"os": "ubuntu24.04"}, {"product": "GB200"}, "ok"),
        ({"openshift": "4.20.30"}, {"product": "GB200"}, "ok"),
        ({"os": "rhel9.6"}, {"product": "B200"}, "unknown"),
        ({"os": "ubuntu22.04"}, {"product": "GH200"}, "ok"),
        ({"os": "ubuntu24.04"}, {"product": "GH200"}, "unknown"),
        ({"os": "ubuntu22.04"}, {"product": "GH200", "rdma": "dmabuf"}, "fail"),
        ({"os": "ubuntu24.04"}, {"product": "GB200", "rdma": "dmabuf"}, "ok"),
    ],
)
def test_servers_have_systems_of_their_own_under_the_network_operator(
    texts: dict[str, str], hardware: dict[str, str], verdict: str
) -> None:
    found = judged("netop-server", {**NET, **texts}, hardware)
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_of_a_server_that_is_not_in_the_table_nothing_is_said() -> None:
    assert judged("netop-server", {**NET, "os": "ubuntu24.04"}, {"product": "H100"}) is None


def test_adapters_before_their_line_are_not_listed() -> None:
    (table,) = [row for row in facts().adapters if row.line == "25.10"]
    assert "ConnectX-9" not in table.families
    assert judged("netop-nic", {"network_operator": "v24.10.1", "firmware_cx7": "28.43.1014"}) is None


def test_the_node_feature_discovery_of_the_gpu_operator_is_right_beside_it() -> None:
    beside = {**NEW, **NET, "nfd": "v0.19.0"}
    assert judged("netop-nfd", beside).verdict.value == "ok"  # type: ignore[union-attr]
    assert judged("netop-nfd", {**NET, "nfd": "v0.19.0"}).verdict.value == "warn"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("ofed", "key", "firmware"),
    [
        ("doca3.2.2-25.10-2.4.1.0-4", "firmware_cx7", "28.47.2682"),
        ("25.10-2.4.1.0", "firmware_cx6", "20.43.8004"),
        ("25.10-2.4.1.0", "firmware_cx6", "26.47.2682"),
        ("26.01-1.0.0.0", "firmware_cx6", "20.43.8004"),
        ("25.07-0.9.7.0", "firmware_cx6", "26.46.1006"),
        ("24.10-3.2.5.0", "firmware_cx7", "28.43.3608"),
        ("24.10-4.1.4.0", "firmware_cx7", "28.43.4100"),
        ("23.10-6.1.6.1", "firmware_cx7", "28.39.5124"),
    ],
)
def test_long_term_drivers_have_a_partner(ofed: str, key: str, firmware: str) -> None:
    found = judged("firmware-mofed", {"mofed": ofed, key: firmware})
    assert found is not None
    assert found.verdict.value == "ok", found.message


@pytest.mark.parametrize("operator", ["v26.1.1", "v26.4.0", "v26.4.1"])
def test_the_long_term_driver_that_a_release_names_is_its_own(operator: str) -> None:
    found = judged("netop-mofed", {"network_operator": operator, "mofed": "doca3.2.2-25.10-2.4.1.0-4"})
    assert found is not None
    assert found.verdict.value == "ok", found.message


# ── GPUCluster ────────────────────────────────────────────────────────────────────────────────────────────────────────

MANAGED = {**NEW, "kubernetes": "v1.35.7", "gpu_driver": "595.91.07", "dra_driver": "managed"}


@pytest.mark.parametrize(
    ("before", "verdict", "told"),
    [
        ({"gpu_operator": "v26.3.3"}, "fail", "from ClusterPolicy to GPUCluster"),
        ({"gpu_operator": "v26.7.0"}, "unknown", "does not say whether it has a ClusterPolicy"),
        ({"gpu_operator": "v26.7.0", "device_plugin": "v0.20.0"}, "fail", "has a device plugin (v0.20.0)"),
        ({"gpu_operator": "v26.7.0", "dra_driver": "managed"}, "ok", "stays within a major"),
    ],
)
def test_from_a_clusterpolicy_there_is_no_way_to_gpucluster(before: dict[str, str], verdict: str, told: str) -> None:
    after = {**MANAGED, "gpu_operator": "v26.7.1"} if verdict == "ok" else MANAGED
    found = judged_change("upgrade-path", before, after)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


def test_a_new_installation_may_have_gpucluster() -> None:
    found = check_change(stack({"kubernetes": "v1.35.7"}), stack(MANAGED), facts(), ON)
    assert not any("GPUCluster" in finding.message for finding in found)


def test_gpucluster_and_a_device_plugin_exclude_each_other() -> None:
    found = judged("dra-driver", {**MANAGED, "device_plugin": "v0.20.0"})
    assert found is not None
    assert found.verdict.value == "fail"
    assert "cannot be in one cluster" in found.message


def test_on_gke_no_page_says_how_gpucluster_is_installed() -> None:
    found = judged("dra-driver", {**MANAGED, "kubernetes": "v1.35.7-gke.1222000"})
    assert found is not None
    assert found.verdict.value == "unknown"


# ── all of it ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_any_table_nothing_is_called_listed() -> None:
    bare = replace(facts(), distributions=(), operator_products=(), embedded=None, nfd_ranges=(), storage_systems=())
    texts = {**NEW, **NET, "kubernetes": "v1.35.7+rke2r1", "os": "ubuntu24.04", "nfd": "v0.16.4", "gds": "2.29.4"}
    told = {found.rule: found.verdict.value for found in check_stack(stack(texts, {"product": "H100"}), bare, ON)}
    listed = ("gpuop-kubernetes", "netop-kubernetes", "gpuop-gpu", "netop-nfd", "gds-os")
    assert {rule: told[rule] for rule in listed} == dict.fromkeys(listed, "unknown")


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        ({"mofed": "25.10-2.4.1.0"}, "ok"),
        ({"mofed": "27.10-1.0.0.0"}, "unknown"),
        ({"firmware_cx7": "28.47.2682"}, "ok"),
        ({"firmware_cx7": "28.99.1000"}, "unknown"),
        ({"mofed": "25.10-2.4.1.0", "firmware_cx7": "28.99.1000"}, None),
        ({**NET, "mofed": "27.10-1.0.0.0"}, "ok"),
    ],
)
def test_what_stands_alone_in_the_network_is_looked_up(texts: dict[str, str], verdict: str | None) -> None:
    found = judged("exists", texts)
    assert (found.verdict.value if found is not None else None) == verdict


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        ({"os": "ubuntu24.04", "kernel": "6.8.0-79-generic"}, "ok"),
        ({"os": "ubuntu24.04", "kernel": "6.14.0-29-generic"}, "unknown"),
        ({"os": "ubuntu24.04", "kernel": "6.8.0-1040-aws"}, "unknown"),
        ({"kernel": "6.8.0-79-generic"}, "unknown"),
    ],
)
def test_the_kernel_that_a_listed_ubuntu_came_with_is_right_for_the_network_driver(
    texts: dict[str, str], verdict: str
) -> None:
    found = judged("mofed-kernel", {**NET, **texts})
    assert found is not None
    assert found.verdict.value == verdict, found.message
