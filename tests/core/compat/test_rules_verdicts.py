"""Every rule has a case that passes, one that fails and one that is unknown; where it cannot, the table says why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.rules import CHANGE_RULES, RULES, STACK_RULES
from tests.core.compat.knowledge import judged, judged_change

OK, WARN, UNKNOWN, FAIL = "ok", "warn", "unknown", "fail"

B200 = {"arch": "Blackwell", "product": "B200", "kernel_module": "open"}

STACKS: dict[str, dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "exists": {
        OK: ({"gpu_operator": "v24.9.0", "gpu_driver": "560.35.03", "cuda": "12.6"}, {}),
        UNKNOWN: ({"gpu_operator": "v27.1.0"}, {}),
        FAIL: ({"gpu_operator": "v24.12.0"}, {}),
    },
    "gpuop-driver": {
        OK: ({"gpu_operator": "v24.9.0", "gpu_driver": "565.57.01"}, {}),
        WARN: ({"gpu_operator": "v26.7.0", "gpu_driver": "580.105.08"}, {}),
        UNKNOWN: ({"gpu_operator": "v24.9.0", "gpu_driver": "620.10"}, {}),
        FAIL: ({"gpu_operator": "v24.9.0", "gpu_driver": "535.54.03"}, {}),
    },
    "gpuop-openshift": {
        OK: ({"gpu_operator": "v24.9.0", "openshift": "4.16.23"}, {}),
        WARN: ({"gpu_operator": "v23.9.0", "openshift": "4.14.1"}, {}),
        UNKNOWN: ({"gpu_operator": "v24.9.0", "openshift": "4.99.1"}, {}),
        FAIL: ({"gpu_operator": "v26.7.0", "openshift": "4.16.68"}, {}),
    },
    "gpuop-kubernetes": {
        OK: ({"gpu_operator": "v25.3.4", "kubernetes": "v1.31.5"}, {}),
        WARN: ({"gpu_operator": "v25.3.4", "kubernetes": "v1.34.0"}, {}),
        UNKNOWN: ({"gpu_operator": "v27.1.0", "kubernetes": "v1.34.0"}, {}),
        FAIL: ({"gpu_operator": "v25.3.4", "kubernetes": "v1.28.0"}, {}),
    },
    "gpuop-operands": {
        OK: ({"gpu_operator": "v24.9.0", "device_plugin": "v0.17.0"}, {}),
        WARN: ({"gpu_operator": "v24.9.0", "device_plugin": "v0.16.2"}, {}),
        UNKNOWN: ({"gpu_operator": "v24.12.0", "device_plugin": "v0.17.0"}, {}),
    },
    "gpuop-os": {
        OK: ({"gpu_operator": "v26.7.0", "os": "ubuntu24.04"}, {}),
        WARN: ({"gpu_operator": "v26.7.0", "os": "sles15.6"}, {}),
        UNKNOWN: ({"gpu_operator": "v26.7.0", "os": "rhel9.5"}, {}),
        FAIL: ({"gpu_operator": "v26.7.0", "os": "amzn2"}, {}),
    },
    "gpuop-gpu": {
        OK: ({"gpu_operator": "v26.7.0"}, {"product": "H200"}),
        WARN: ({"gpu_operator": "v26.7.0"}, {"product": "IGX Orin"}),
        UNKNOWN: ({"gpu_operator": "v26.7.0"}, {"product": "GeForce RTX 4090"}),
        FAIL: ({"gpu_operator": "v26.7.0"}, {"product": "Jetson AGX Orin"}),
    },
    "gpuop-cpu": {
        OK: ({"gpu_operator": "v26.7.0", "os": "ubuntu24.04"}, {"product": "GB200"}),
        UNKNOWN: ({"gpu_operator": "v26.7.0", "kernel": "5.14.0-570.12.1.el9_6.aarch64"}, {}),
        FAIL: ({"gpu_operator": "v26.7.0", "os": "rhel9.6"}, {"product": "GB200"}),
    },
    "netop-os": {
        OK: ({"network_operator": "v26.4.1", "os": "rhel9.6"}, {}),
        WARN: ({"network_operator": "v26.4.1", "os": "rhel9.6", "openshift": "4.20.30"}, {}),
        UNKNOWN: ({"network_operator": "v26.4.1", "os": "ubuntu26.04"}, {}),
        FAIL: ({"network_operator": "v26.4.1", "os": "ubuntu20.04"}, {}),
    },
    "gpuop-runtime": {
        OK: ({"gpu_operator": "v26.7.0", "containerd": "2.1.4"}, {}),
        WARN: ({"gpu_operator": "v26.7.0", "containerd": "1.7.27"}, {}),
        UNKNOWN: ({"gpu_operator": "v26.7.0", "cri_o": "1.33.2"}, {}),
        FAIL: ({"gpu_operator": "v26.7.0", "containerd": "2.1.4", "openshift": "4.20.30"}, {}),
    },
    "netop-runtime": {
        OK: ({"network_operator": "v26.4.1", "containerd": "2.1.4", "os": "ubuntu24.04"}, {}),
        UNKNOWN: ({"network_operator": "v26.4.1", "containerd": "2.1.4"}, {}),
        FAIL: ({"network_operator": "v26.4.1", "cri_o": "1.33.2", "os": "ubuntu24.04"}, {}),
    },
    "gpuop-vgpu": {
        OK: ({"gpu_operator": "v26.7.0", "vgpu": "17.4"}, {}),
        FAIL: ({"gpu_operator": "v26.7.0", "vgpu": "11.13"}, {}),
    },
    "dra-driver": {
        OK: (
            {"dra_driver": "managed", "gpu_operator": "v26.7.0", "kubernetes": "v1.34.2", "gpu_driver": "580.173.02"},
            {},
        ),
        UNKNOWN: ({"dra_driver": "25.8.0", "gpu_operator": "v25.10.1", "kubernetes": "v1.34.2"}, {}),
        FAIL: (
            {"dra_driver": "managed", "gpu_operator": "v26.7.0", "kubernetes": "v1.33.6", "gpu_driver": "580.173.02"},
            {},
        ),
    },
    "fabric-manager": {
        OK: ({"fabric_manager": "580.173.02", "gpu_driver": "580.173.02"}, {}),
        FAIL: ({"fabric_manager": "580.167.08", "gpu_driver": "580.173.02"}, {}),
    },
    "gds-modules": {
        OK: ({"gds": "2.29.4"}, {"kernel_module": "open"}),
        UNKNOWN: ({"gds": "2.29.4"}, {}),
        FAIL: ({"gds": "2.29.4"}, {"kernel_module": "proprietary"}),
    },
    "gds-os": {
        OK: ({"gpu_operator": "v26.7.0", "gds": "2.29.4", "os": "ubuntu24.04"}, {}),
        UNKNOWN: ({"gpu_operator": "v26.7.0", "gds": "2.29.4", "os": "rhel9.6"}, {}),
    },
    "os-kernel": {
        OK: ({"os": "rhel9.6", "kernel": "5.14.0-570.12.1.el9_6.x86_64"}, {}),
        WARN: ({"os": "rhel9.6", "kernel": "5.14.0-427.13.1.el9_4.x86_64"}, {}),
        FAIL: ({"os": "ubuntu24.04", "kernel": "5.14.0-570.12.1.el9_6.x86_64"}, {}),
    },
    "driver-kernel": {
        OK: ({"gpu_driver": "560.35.03", "kernel": "5.14.0-427.40.1.el9_4.x86_64"}, {}),
        UNKNOWN: ({"gpu_driver": "580.82.07", "kernel": "6.14.0-1012-gcp"}, {}),
        FAIL: ({"gpu_driver": "560.35.03", "kernel": "3.10.0-1160.el7.x86_64"}, {}),
    },
    "openshift-kernel": {
        OK: ({"openshift": "4.17.5", "kernel": "5.14.0-427.40.1.el9_4.x86_64"}, {}),
        UNKNOWN: ({"openshift": "4.23.0", "kernel": "5.14.0-427.40.1.el9_4.x86_64"}, {}),
        FAIL: ({"openshift": "4.17.5", "kernel": "6.12.0-55.9.1.el10_0.x86_64"}, {}),
    },
    "runtime-kubernetes": {
        OK: ({"kubernetes": "v1.35.7", "containerd": "2.2.7"}, {}),
        WARN: ({"kubernetes": "v1.35.7", "containerd": "2.0.11"}, {}),
        UNKNOWN: ({"kubernetes": "v1.52.0", "containerd": "2.3.4"}, {}),
        FAIL: ({"kubernetes": "v1.36.2", "containerd": "1.7.34"}, {}),
    },
    "openshift-kubernetes": {
        OK: ({"openshift": "4.20.30", "kubernetes": "v1.33.6"}, {}),
        UNKNOWN: ({"openshift": "4.99.1", "kubernetes": "v1.33.6"}, {}),
        FAIL: ({"openshift": "4.20.30", "kubernetes": "v1.31.2"}, {}),
    },
    "mofed-kernel": {
        OK: ({"network_operator": "v24.10.0", "openshift": "4.16.23"}, {}),
        WARN: ({"network_operator": "v26.1.0", "kernel": "6.8.0-101-generic"}, {}),
        UNKNOWN: ({"network_operator": "v26.1.0", "openshift": "4.22.2"}, {}),
        FAIL: ({"network_operator": "v25.4.0", "openshift": "4.19.10"}, {}),
    },
    "netop-openshift": {
        OK: ({"network_operator": "v25.7.0", "openshift": "4.19.10"}, {}),
        WARN: ({"network_operator": "v25.1.0", "openshift": "4.15.3"}, {}),
        UNKNOWN: ({"network_operator": "v24.4.1", "openshift": "4.14.3"}, {}),
        FAIL: ({"network_operator": "v24.10.0", "openshift": "4.17.5"}, {}),
    },
    "netop-kubernetes": {
        OK: ({"network_operator": "v25.4.0", "kubernetes": "v1.30.1"}, {}),
        WARN: ({"network_operator": "v25.4.0", "kubernetes": "v1.33.1"}, {}),
        UNKNOWN: ({"network_operator": "v24.1.0-rc.1", "kubernetes": "v1.33.1"}, {}),
        FAIL: ({"network_operator": "v25.4.0", "kubernetes": "v1.20.1"}, {}),
    },
    "netop-mofed": {
        OK: ({"network_operator": "v25.4.0", "mofed": "24.10-0.7.0.0"}, {}),
        WARN: ({"network_operator": "v24.10.0", "mofed": "24.10-1.0.0.0"}, {}),
        UNKNOWN: ({"network_operator": "v26.10.0", "mofed": "26.10-1.0.0.0"}, {}),
        FAIL: ({"network_operator": "v26.4.1", "mofed": "5.4-3.7.5.0"}, {}),
    },
    "netop-gpuop": {
        OK: ({"network_operator": "v25.4.0", "gpu_operator": "v25.3.0"}, {}),
        UNKNOWN: ({"network_operator": "v23.10.0", "gpu_operator": "v24.3.0"}, {}),
        FAIL: ({"network_operator": "v25.4.0", "gpu_operator": "v24.9.2"}, {}),
    },
    "netop-server": {
        OK: ({"network_operator": "v26.4.1", "os": "ubuntu24.04"}, {"product": "GB200"}),
        UNKNOWN: ({"network_operator": "v26.4.1", "os": "ubuntu22.04"}, {"product": "GB200"}),
        FAIL: ({"network_operator": "v26.4.1", "os": "ubuntu22.04"}, {"product": "GH200", "rdma": "dmabuf"}),
    },
    "netop-nfd": {
        OK: ({"network_operator": "v26.4.1", "nfd": "v0.16.4"}, {}),
        WARN: ({"network_operator": "v26.4.1", "nfd": "v0.14.2"}, {}),
        UNKNOWN: ({"network_operator": "v26.10.0", "nfd": "v0.16.4"}, {}),
    },
    "netop-nic": {
        OK: ({"network_operator": "v26.4.1", "firmware_cx7": "28.48.1000"}, {}),
        UNKNOWN: ({"network_operator": "v26.4.1", "firmware_cx6": "26.48.1000"}, {}),
    },
    "firmware-family": {
        OK: ({"firmware_cx7": "28.43.1014", "firmware_cx6": "26.43.1014"}, {}),
        UNKNOWN: ({"firmware_cx7": "36.43.1014"}, {}),
        FAIL: ({"firmware_cx7": "22.45.1020"}, {}),
    },
    "firmware-mofed": {
        OK: ({"mofed": "24.10-0.7.0.0", "firmware_cx7": "28.43.1014"}, {}),
        WARN: ({"mofed": "24.10-0.7.0.0", "firmware_cx7": "28.44.1036"}, {}),
        UNKNOWN: ({"mofed": "24.10-1.0.0.0", "firmware_cx7": "28.42.1000"}, {}),
        FAIL: ({"mofed": "24.10-2.1.8.0", "firmware_cx8": "40.47.1026"}, {}),
    },
    "driver-cuda": {
        OK: ({"gpu_driver": "560.35.03", "cuda": "12.6"}, {}),
        WARN: ({"gpu_driver": "565.57.01", "cuda": "12.8"}, {}),
        UNKNOWN: ({"gpu_driver": "610.57.04", "cuda": "14.0"}, {}),
        FAIL: ({"gpu_driver": "550.127.05", "cuda": "13.0"}, {}),
    },
    "arch-driver": {
        OK: ({"gpu_driver": "580.105.08"}, B200),
        WARN: ({"gpu_driver": "580.65.06"}, {"product": "GB300"}),
        UNKNOWN: ({"gpu_driver": "580.105.08"}, {"arch": "Rubin"}),
        FAIL: ({"gpu_driver": "550.163.01"}, B200),
    },
    "arch-cuda": {
        OK: ({"cuda": "12.8"}, B200),
        WARN: ({"cuda": "12.6"}, B200),
        UNKNOWN: ({"cuda": "13.0"}, {"arch": "Rubin"}),
        FAIL: ({"cuda": "13.0"}, {"product": "V100"}),
    },
    "rdma": {
        OK: ({"openshift": "4.16.23", "cuda": "12.6"}, {"arch": "Hopper", "kernel_module": "open", "rdma": "dmabuf"}),
        UNKNOWN: ({"openshift": "4.16.23", "cuda": "12.6"}, {"arch": "Hopper", "rdma": "dmabuf"}),
        FAIL: ({"cuda": "12.6"}, {"arch": "Hopper", "rdma": "peermem"}),
    },
    "sriov-openshift": {
        OK: ({"sriov_operator": "4.16.0", "openshift": "4.16.23"}, {}),
        WARN: ({"sriov_operator": "4.16.0", "openshift": "4.17.5"}, {}),
        UNKNOWN: ({"sriov_operator": "4.23.0", "openshift": "4.23.1"}, {}),
        FAIL: ({"sriov_operator": "4.18.0", "openshift": "4.16.23"}, {}),
    },
    "dcgm-driver": {
        OK: ({"dcgm": "3.3.8-3.6.0", "gpu_driver": "560.35.03"}, {}),
        FAIL: ({"dcgm": "3.3.8-3.6.0", "gpu_driver": "418.197.02"}, {}),
    },
    "nccl": {
        OK: ({"nccl": "2.22.3+cuda12.6", "cuda": "12.8"}, {}),
        WARN: ({"nccl": "2.22.3+cuda12.6", "cuda": "13.0"}, {}),
        UNKNOWN: ({"nccl": "2.99.1"}, {}),
    },
    "known-bad": {
        OK: ({"openshift": "4.16.23", "gpu_driver": "580.173.02"}, {}),
        WARN: ({"gpu_driver": "570.148.08"}, {}),
        FAIL: ({"openshift": "4.18.22"}, {}),
    },
    "lifecycle": {
        OK: ({"gpu_operator": "v26.7.0", "gpu_driver": "580.105.08", "openshift": "4.20.34"}, {}),
        WARN: ({"gpu_operator": "v24.9.0"}, {}),
        UNKNOWN: ({"gpu_driver": "620.10"}, {}),
    },
}

CHANGES: dict[str, dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "one-at-a-time": {
        OK: (
            {"gpu_operator": "v24.9.2", "nccl": "2.22.3"},
            {"gpu_operator": "v25.3.4", "nccl": "2.23.4"},
        ),
        WARN: (
            {"openshift": "4.16.23", "kernel": "5.14.0-427.40.1.el9_4.x86_64"},
            {"openshift": "4.16.23", "kernel": "5.14.0-427.50.1.el9_4.x86_64"},
        ),
        UNKNOWN: (
            {"gpu_operator": "v24.9.2"},
            {"gpu_operator": "v25.3.4", "network_operator": "v25.1.0"},
        ),
        FAIL: (
            {"gpu_operator": "v24.9.2", "network_operator": "v24.10.1"},
            {"gpu_operator": "v25.3.4", "network_operator": "v25.1.0"},
        ),
    },
    "upgrade-path": {
        OK: ({"gpu_operator": "v24.9.2"}, {"gpu_operator": "v25.3.4"}),
        WARN: ({"openshift": "4.16.23"}, {"openshift": "4.16.20"}),
        UNKNOWN: ({"gpu_operator": "v25.3.4"}, {"gpu_operator": "v24.9.2"}),
        FAIL: ({"gpu_operator": "v24.6.2"}, {"gpu_operator": "v25.3.4"}),
    },
    "bridge": {
        OK: (
            {"openshift": "4.16.40", "gpu_operator": "v25.3.4", "network_operator": "v25.1.0"},
            {"openshift": "4.17.20", "gpu_operator": "v25.3.4", "network_operator": "v25.1.0"},
        ),
        WARN: (
            {"openshift": "4.14.40", "network_operator": "v25.1.0"},
            {"openshift": "4.15.20", "network_operator": "v25.1.0"},
        ),
        UNKNOWN: (
            {"openshift": "4.22.1", "gpu_operator": "v26.7.0"},
            {"openshift": "4.23.1", "gpu_operator": "v26.7.0"},
        ),
        FAIL: (
            {"openshift": "4.16.40", "network_operator": "v24.10.1"},
            {"openshift": "4.17.20", "network_operator": "v24.10.1"},
        ),
    },
    "order": {
        OK: (
            {"gpu_operator": "v24.9.2", "network_operator": "v25.1.0"},
            {"gpu_operator": "v25.3.4", "network_operator": "v25.4.0"},
        ),
        WARN: (
            {"mofed": "24.07-0.6.1.0", "firmware_cx7": "28.42.1000"},
            {"mofed": "24.10-0.7.0.0", "firmware_cx7": "28.43.1014"},
        ),
        UNKNOWN: (
            {"gpu_operator": "v25.3.4", "network_operator": "v26.10.0"},
            {"gpu_operator": "v25.10.1", "network_operator": "v26.10.1"},
        ),
        FAIL: (
            {"gpu_operator": "v24.3.0", "network_operator": "v25.4.0"},
            {"gpu_operator": "v24.6.2", "network_operator": "v25.7.0"},
        ),
    },
    "preconditions": {
        OK: ({"openshift": "4.18.20"}, {"openshift": "4.18.24"}),
        WARN: (
            {"openshift": "4.18.20", "network_operator": "v25.7.0"},
            {"openshift": "4.19.10", "network_operator": "v25.7.0"},
        ),
        FAIL: ({"openshift": "4.18.20"}, {"openshift": "4.18.22"}),
    },
}

CANNOT: dict[tuple[str, str], str] = {
    ("gpuop-operands", FAIL): "an operand can be overridden, so no document says that another one cannot work",
    ("gds-os", FAIL): "the page lists where it is supported, and says no to nothing",
    ("netop-nfd", FAIL): "the page gives a range, and does not say what happens outside of it",
    ("netop-nic", FAIL): "the page lists what was validated, and says no to nothing",
    ("gpuop-vgpu", UNKNOWN): "a version that can be read is below the oldest one or it is not",
    ("os-kernel", UNKNOWN): "a kernel whose name tells nothing is not judged",
    ("fabric-manager", UNKNOWN): "two versions that can be read are the same or they are not",
    ("dcgm-driver", UNKNOWN): "a driver that can be read has a branch, and the floor is one number",
    ("nccl", FAIL): "that packages are built per CUDA major is a second-hand fact, and only verified ones may block",
    ("known-bad", UNKNOWN): "no report about a version is no news, not a gap in a table",
    ("lifecycle", FAIL): "software past its end of support still runs",
    ("preconditions", UNKNOWN): "it lists what is known to be needed; a gap in that list cannot be seen",
}
"""Verdicts a rule cannot give, and why; a value that cannot be read fails all of them all the same."""


def _cases(table: dict[str, dict[str, tuple[dict[str, str], dict[str, str]]]]) -> Iterator[object]:
    for rule, verdicts in table.items():
        for verdict, (one, other) in verdicts.items():
            yield pytest.param(rule, verdict, one, other, id=f"{rule}-{verdict}")


@pytest.mark.parametrize(("rule", "verdict", "texts", "hardware"), [*_cases(STACKS)])
def test_a_rule_on_a_stack(rule: str, verdict: str, texts: dict[str, str], hardware: dict[str, str]) -> None:
    found = judged(rule, texts, hardware)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert bool(found.next_step) == (found.verdict is not Verdict.OK), "what is not ok says what to do"


@pytest.mark.parametrize(("rule", "verdict", "before", "after"), [*_cases(CHANGES)])
def test_a_rule_on_a_change(rule: str, verdict: str, before: dict[str, str], after: dict[str, str]) -> None:
    found = judged_change(rule, before, after)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert bool(found.next_step) == (found.verdict is not Verdict.OK), "what is not ok says what to do"


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
@pytest.mark.parametrize("verdict", [OK, UNKNOWN, FAIL])
def test_every_rule_has_a_case_for_every_verdict_or_a_reason(rule: str, verdict: str) -> None:
    has_case = verdict in (STACKS | CHANGES)[rule]
    assert has_case != ((rule, verdict) in CANNOT)


@pytest.mark.parametrize("rule", STACK_RULES, ids=lambda rule: rule.id)
def test_a_rule_says_nothing_about_a_stack_without_its_inputs(rule: object) -> None:
    assert judged(getattr(rule, "id", ""), {}) is None


@pytest.mark.parametrize("rule", STACK_RULES, ids=lambda rule: rule.id)
def test_a_value_that_cannot_be_read_fails_every_rule_that_needs_it(rule: object) -> None:
    name = getattr(rule, "id", "")
    texts, hardware = next(iter(STACKS[name].values()))
    broken = {**texts, next(iter(texts)): "6.x TBD"}
    found = judged(name, broken, hardware)
    if name == "rdma":
        # It reads OpenShift only where no kernel is written, so this breaks another input.
        found = judged(name, {**texts, "kernel": "6.x TBD"}, hardware)
    assert found is not None
    assert found.verdict is Verdict.FAIL


def test_there_are_40_rules_on_stacks_and_5_on_changes() -> None:
    assert (len(STACK_RULES), len(CHANGE_RULES)) == (40, 5)
    assert len({rule.id for rule in RULES}) == 45
