"""The system of the nodes decides: what the GPU Operator lists, which runtime it has, and whose kernel it is."""

from __future__ import annotations

import pytest

from tests.core.compat.knowledge import facts, judged

NEW = {"gpu_operator": "v26.7.0"}


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({**NEW, "os": "rhel9.6"}, "ok", "lists RHEL 9.6"),
        ({**NEW, "os": "rhel9.5"}, "unknown", "lists RHEL 10.0"),
        ({**NEW, "os": "rocky9.6"}, "unknown", "Rocky Linux 9.7"),
        ({**NEW, "os": "ubuntu20.04"}, "unknown", "Ubuntu 26.04"),
        ({"gpu_operator": "v25.10.1", "os": "ubuntu20.04"}, "ok", "Ubuntu 20.04"),
        ({"gpu_operator": "v25.10.1", "os": "rhel10.0"}, "unknown", "does not list RHEL 10.0"),
        ({**NEW, "os": "debian12"}, "unknown", "does not list debian 12"),
        ({**NEW, "os": "talos"}, "unknown", "Whether there is a driver image"),
        ({**NEW, "os": "amzn2"}, "fail", "does not support Amazon Linux 2"),
        ({**NEW, "os": "amzn2023"}, "unknown", "does not list amzn 2023"),
        ({**NEW, "os": "ol9.6"}, "unknown", "does not list ol 9.6"),
        ({**NEW, "os": "sles15.6"}, "warn", "a partner's configuration"),
        ({**NEW, "os": "cos", "kubernetes": "v1.34.4-gke.1000"}, "ok", "Google's installer"),
        ({**NEW, "os": "cos", "kubernetes": "v1.34.4"}, "unknown", "does not say that this is GKE"),
        ({**NEW, "os": "rhcos", "openshift": "4.20.30"}, "ok", "lists Red Hat CoreOS"),
        ({**NEW, "os": "rhcos", "kubernetes": "v1.34.4"}, "unknown", "does not list Red Hat CoreOS"),
        ({**NEW, "os": "rhel9.6", "openshift": "4.20.30"}, "warn", "OpenShift with Red Hat CoreOS"),
        ({**NEW, "kernel": "5.14.0-503.11.1.el9_5.x86_64"}, "unknown", "RHEL 9.5 or a rebuild"),
        ({**NEW, "kernel": "6.12.40-talos"}, "unknown", "does not list Talos"),
        ({"gpu_operator": "v24.6.2", "os": "ubuntu22.04"}, "unknown", "the systems of GPU Operator 24.6"),
    ],
)
def test_which_systems_the_gpu_operator_lists(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("gpuop-os", texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"network_operator": "v26.4.1", "os": "rhel9.7"}, "unknown", "does not list RHEL 9.7"),
        ({"network_operator": "v26.4.1", "os": "sles15.7"}, "ok", "SUSE Linux Enterprise Server 15.7"),
        ({"network_operator": "v25.10.0", "os": "rhel10.0"}, "ok", "RHEL 10.0"),
        ({"network_operator": "v25.7.0", "os": "rhel10.0"}, "unknown", "does not list RHEL 10.0"),
        ({"network_operator": "v26.4.1", "os": "ubuntu26.04"}, "unknown", "does not list Ubuntu 26.04"),
        ({"network_operator": "v26.4.1", "os": "ubuntu20.04"}, "fail", "removed with 25.1.0"),
        ({"network_operator": "v26.4.1", "os": "rhcos", "openshift": "4.20.30"}, "ok", "Red Hat CoreOS"),
    ],
)
def test_which_systems_the_network_operator_lists(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("netop-os", texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


def test_a_kernel_alone_never_makes_a_system_ok() -> None:
    for kernel in ("5.14.0-570.12.1.el9_6.x86_64", "6.8.0-60-generic", "4.18.0-553.50.1.el8_10.x86_64"):
        assert judged("gpuop-os", {**NEW, "kernel": kernel}) is None


@pytest.mark.parametrize(
    ("system", "kernel", "verdict"),
    [
        ("rhel9.6", "5.14.0-570.12.1.el9_6.x86_64", "ok"),
        ("rocky9.6", "5.14.0-570.12.1.el9_6.x86_64", "ok"),
        ("rhel9.6", "5.14.0-427.13.1.el9_4.x86_64", "warn"),
        ("rhel8.10", "5.14.0-427.13.1.el9_4.x86_64", "fail"),
        ("ubuntu24.04", "5.14.0-427.13.1.el9_4.x86_64", "fail"),
        ("ubuntu24.04", "6.8.0-60-generic", "ok"),
        ("rhel9.6", "6.8.0-60-generic", "fail"),
        ("cos", "6.6.113+", "ok"),
        ("ubuntu24.04", "6.6.113+", "fail"),
        ("talos", "6.12.40-talos", "ok"),
    ],
)
def test_whose_kernel_it_is(system: str, kernel: str, verdict: str) -> None:
    found = judged("os-kernel", {"os": system, "kernel": kernel})
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_a_name_that_tells_nothing_is_not_judged() -> None:
    assert judged("os-kernel", {"os": "debian12", "kernel": "6.99.1-custom"}) is None
    assert judged("os-kernel", {"os": "rhcos", "kernel": "5.14.0-570.12.1.el9_6.x86_64"}) is None


@pytest.mark.parametrize(
    ("rule", "texts", "verdict", "told"),
    [
        ("gpuop-runtime", {**NEW, "openshift": "4.20.30", "containerd": "2.2.7"}, "fail", "OpenShift runs CRI-O"),
        ("gpuop-runtime", {**NEW, "os": "ubuntu26.04", "cri_o": "1.34.1"}, "warn", "not validated with CRI-O"),
        ("gpuop-runtime", {**NEW, "os": "ubuntu24.04", "cri_o": "1.34.1"}, "ok", "CRI-O (1.34.1) on Ubuntu 24.04"),
        ("gpuop-runtime", {**NEW, "openshift": "4.20.30", "cri_o": "1.33.5"}, "ok", "on Red Hat CoreOS"),
        ("gpuop-runtime", {**NEW, "os": "ubuntu24.04", "containerd": "2.2.7"}, "ok", "on Ubuntu 24.04"),
        ("gpuop-runtime", {**NEW, "os": "rhel9.6", "containerd": "2.2.7"}, "ok", "on RHEL 9.6"),
        ("netop-runtime", {"network_operator": "v26.4.1", "os": "ubuntu24.04", "cri_o": "1.33.2"}, "fail", "says No"),
        ("netop-runtime", {"network_operator": "v26.4.1", "os": "sles15.7", "cri_o": "1.33.2"}, "fail", "says No"),
        ("gpuop-runtime", {**NEW, "os": "rhcos", "containerd": "2.2.7"}, "fail", "says No to containerd"),
        ("netop-runtime", {"network_operator": "v26.4.1", "os": "rhel9.6", "cri_o": "1.33.2"}, "ok", "RHEL 9.6"),
        ("netop-runtime", {"network_operator": "v24.7.0", "os": "rhel9.4", "cri_o": "1.33.2"}, "unknown", "24.7"),
    ],
)
def test_which_runtime_a_system_has(rule: str, texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged(rule, texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


@pytest.mark.parametrize(("kernel", "verdict"), [("6.5.0-45-generic", "ok"), ("6.11.0-29-generic", "unknown")])
def test_the_driver_containers_name_the_kernels_of_ubuntu_22_04(kernel: str, verdict: str) -> None:
    found = judged("driver-kernel", {**NEW, "os": "ubuntu22.04", "kernel": kernel, "gpu_driver": "580.173.02"})
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_every_line_that_lists_systems_says_which_runtimes_they_have() -> None:
    lines = {(row.operator.value, row.line) for row in facts().systems}
    assert lines == {(row.operator.value, row.line) for row in facts().runtime_systems}
    assert lines >= {("gpu_operator", "26.3"), ("gpu_operator", "26.7"), ("network_operator", "26.4")}
