"""Two matrices as published documents have them: each error in them that a rule can see, by its number in their list.

The list: 1 an operator that never existed, 2 a kernel OpenShift does not have, 6 SR-IOV of another minor, 7 a Network
Operator outside of its OpenShift, 8 MOFED no release ships, 9 firmware of another MOFED, 10 firmware of another card,
11 operands of another release, 12 and 14 drivers and their lists, 13 CUDA above the driver, 15 out of support, 16 three
groups at once. The other numbers are about commands and canaries, which no matrix shows.
"""

from __future__ import annotations

from datetime import date
from functools import cache

import pytest

from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import Matrix, Role
from seatrial.core.compat.rules import judge_entries
from tests.core.compat.knowledge import ROOT, facts

ON = date(2026, 3, 1)
PLAIN, CONFIGMAP = "matrix-with-errors-plain.yaml", "matrix-with-errors-configmap.yaml"


@cache
def matrix(name: str) -> Matrix:
    path = ROOT / "tests" / "data" / name
    found = read_matrix(path.read_text(encoding="utf-8"), name).matrix
    assert found is not None
    return found


@cache
def judged(name: str) -> dict[tuple[Role, str], list[Finding]]:
    found: dict[tuple[Role, str], list[Finding]] = {}
    for each in judge_entries(matrix(name), facts(), ON):
        for finding in each.findings:
            found.setdefault((each.entry.role, finding.rule), []).append(finding)
    return found


def findings(name: str) -> dict[tuple[Role, str], Finding]:
    """The first finding of each rule about each entry."""
    return {key: found[0] for key, found in judged(name).items()}


def told(name: str, role: Role, rule: str, verdict: str, *words: str, line: int, source: str) -> None:
    """One finding with its verdict, its words, the line it points at, and who says so."""
    of_rule = judged(name)[role, rule]
    found = next((each for each in of_rule if line in {span.line for span in each.spans}), of_rule[0])
    assert line in {span.line for span in found.spans}
    assert found.verdict.value == verdict
    assert [word for word in words if word not in found.message] == []
    assert any(source in each for each in found.sources), found.sources


@pytest.mark.parametrize(
    ("name", "role", "line"),
    [(PLAIN, Role.CANARY, 13), (CONFIGMAP, Role.CANARY, 30), (CONFIGMAP, Role.PLANNED, 49)],
)
def test_1_gpu_operator_24_12_never_existed(name: str, role: Role, line: int) -> None:
    told(
        name,
        role,
        "exists",
        "fail",
        "v24.12.0 was never released",
        "v24.9.2 → v25.3.0",
        line=line,
        source="gpu-operator@",
    )


def test_2_openshift_4_17_brings_no_6_x_kernel() -> None:
    told(
        CONFIGMAP,
        Role.PLANNED,
        "openshift-kernel",
        "fail",
        "5.14.0-427",
        "el9_4",
        "6.x TBD",
        line=48,
        source="release_24_07",
    )


def test_2_what_cannot_be_read_fails_the_rules_that_need_it() -> None:
    found = findings(CONFIGMAP)[Role.PLANNED, "driver-kernel"]
    assert (found.verdict.value, found.spans[0].line) == ("fail", 48)


@pytest.mark.parametrize(
    ("name", "role", "line", "minor"),
    [
        (PLAIN, Role.PRODUCTION, 9, "4.16"),
        (CONFIGMAP, Role.PRODUCTION, 19, "4.16"),
        (CONFIGMAP, Role.PLANNED, 55, "4.17"),
    ],
)
def test_6_the_sriov_operator_is_of_another_minor(name: str, role: Role, line: int, minor: str) -> None:
    told(name, role, "sriov-openshift", "fail", f"OpenShift {minor}", line=line, source=f"release-{minor}")


def test_7_network_operator_24_10_does_not_know_openshift_4_17() -> None:
    told(
        CONFIGMAP,
        Role.PLANNED,
        "netop-openshift",
        "fail",
        "v24.10.0",
        "4.14 to 4.16",
        line=52,
        source="docs@v24.10.0",
    )
    assert "v25.1.0" in findings(CONFIGMAP)[Role.PLANNED, "netop-openshift"].next_step


def test_7_the_way_back_is_itself_outside_of_support() -> None:
    told(
        CONFIGMAP,
        Role.ROLLBACK,
        "netop-openshift",
        "fail",
        "v24.4.0",
        "4.12 to 4.15",
        line=64,
        source="docs@v24.4.0",
    )


def test_8_no_release_ships_mofed_24_10_1_0() -> None:
    told(
        CONFIGMAP,
        Role.PLANNED,
        "netop-mofed",
        "warn",
        "24.10-0.7.0.0",
        "24.10-1.0.0.0",
        line=53,
        source="operator@v24.10.0",
    )


def test_8_network_operator_24_4_ships_another_mofed() -> None:
    told(
        CONFIGMAP,
        Role.ROLLBACK,
        "netop-mofed",
        "warn",
        "24.04-0.6.6.0",
        "24.04-0.7.0.0",
        line=65,
        source="v24.4",
    )


def test_9_firmware_28_40_is_not_the_partner_of_24_07() -> None:
    told(
        CONFIGMAP,
        Role.PRODUCTION,
        "firmware-mofed",
        "warn",
        "28.42.1000",
        "28.40.1000",
        "inside the window",
        line=17,
        source="DPDK",
    )


def test_9_firmware_28_42_is_not_the_partner_of_24_10() -> None:
    told(
        PLAIN,
        Role.CANARY,
        "firmware-mofed",
        "warn",
        "28.43.1014",
        "28.42.1000",
        "v24.10.0's own",
        line=17,
        source="doca",
    )


def test_10_firmware_22_40_is_that_of_a_connectx_6_dx() -> None:
    found = findings(CONFIGMAP)[Role.PRODUCTION, "firmware-family"]
    assert "firmware_cx6 22.40.1000 is for ConnectX-6 Dx" in found.message
    assert found.verdict.value == "ok", "the key stands for three cards, and the answer says for which"
    assert any("mlxup" in source for source in found.sources)


def test_11_plugin_and_toolkit_belong_to_another_operator() -> None:
    parts = {21: "device_plugin v0.17.0", 22: "container_toolkit v1.17.0"}
    for line, part in parts.items():
        told(
            CONFIGMAP,
            Role.PRODUCTION,
            "gpuop-operands",
            "warn",
            part,
            "v24.6.2",
            line=line,
            source="gpu-operator@v24.9.0",
        )
    assert len(judged(CONFIGMAP)[Role.PRODUCTION, "gpuop-operands"]) == 2, "the exporter is the right one"


def test_12_driver_565_is_listed_for_the_operator_that_runs_already() -> None:
    assert "565.57.01" in _drivers_of("v24.9.0")


def test_13_cuda_12_8_on_branch_565_is_minor_version_compatibility() -> None:
    told(
        CONFIGMAP,
        Role.CANARY,
        "driver-cuda",
        "warn",
        "570.26",
        "minor-version",
        "reports CUDA 12.7",
        line=31,
        source="cuda-toolkit-release-notes",
    )


def test_14_the_driver_to_go_back_to_is_not_listed() -> None:
    told(
        CONFIGMAP,
        Role.ROLLBACK,
        "gpuop-driver",
        "warn",
        "555.42.06",
        "560.35.03, 550.90.07, 535.183.06",
        "confidence 'secondary'",
        line=62,
        source="gpu-operator-v24.6.0",
    )


def test_15_what_runs_is_out_of_support() -> None:
    for line, part, source in (
        (12, "GPU Operator 24.9", "life-cycle-policy"),
        (15, "Network Operator 24.7", "life-cycle-management"),
        (13, "branch 560", "endoflife"),
        (10, "extended update support", "endoflife"),
    ):
        told(CONFIGMAP, Role.PRODUCTION, "lifecycle", "warn", part, line=line, source=source)


def test_16_the_canary_moves_three_groups_at_once() -> None:
    found = findings(PLAIN)[Role.CANARY, "one-at-a-time"]
    assert found.verdict.value == "fail"
    assert "3 groups move at once (gpu, network, firmware)" in found.message
    assert {span.line for span in found.spans} == {13, 14, 15, 16, 17}


def _drivers_of(version: str) -> list[str]:
    row = next(row for row in facts().gpu_operators.values() if row.version.text == version)
    return [driver.text for driver in row.drivers]
