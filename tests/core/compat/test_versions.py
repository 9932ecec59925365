"""Every scheme reads the versions that exist, orders them by meaning, and refuses what it cannot know."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.compat import versions
from seatrial.core.compat.ranges import RangeInvalid, VersionRange
from seatrial.core.compat.versions import Scheme, Version

# Real versions, oldest first, as the vendors print them.
RISING: dict[Scheme, list[list[str]]] = {
    Scheme.OPERATOR: [
        ["v23.9.0", "v23.9.2", "v24.3.0", "v24.6.2", "v24.9.0", "v24.9.1", "v25.3.0", "v25.3.4", "v25.10.1", "v26.3.3"],
        ["v24.7.0", "v24.10.0", "v24.10.1", "v25.1.0", "v26.4.1", "v26.7.0-rc.2", "v26.7.0-rc.10", "v26.7.0"],
    ],
    Scheme.DRIVER: [
        [
            "470.223.02",
            "525.147.05",
            "535.54.03",
            "535.98",
            "535.104.05",
            "550.54.14",
            "550.67",
            "550.90.07",
            "550.100",
        ],
        ["555.52.04", "555.58", "555.58.02", "560.35.03", "560.35.05", "565.57.01", "565.77", "570.26", "570.86.15"],
        ["570.133.07", "570.133.20", "570.144", "580.82.07", "580.105.08", "580.142", "595.45.04", "610.57.04"],
    ],
    Scheme.CUDA: [
        [
            "11.8.0",
            "12.0.1",
            "12.2.2",
            "12.4.0",
            "12.4.1",
            "12.6",
            "12.6.1",
            "12.6.3",
            "12.8.0",
            "12.9.1",
            "13.0",
            "13.3.1",
        ]
    ],
    Scheme.OFED: [
        ["5.7-0.1.2.0", "23.07-0.5.1.2", "23.10-0.5.5.0", "24.01-0.3.3.1", "24.04-0.6.6.0", "24.04-0.7.0.0"],
        ["24.07-0.6.1.0-0", "24.10-0.7.0.0", "24.10-1.0.0.0", "25.01-0.6.0.0", "25.04-0.6.1.0-2"],
        ["doca3.1.0-25.07-0.9.7.0-0", "doca3.2.0-25.10-1.2.8.0-2", "doca3.2.2-25.10-2.4.1.0-4", "26.01-1.0.0.0"],
        ["doca3.4.0-26.04-0.8.6.0-0", "doca3.4.1-26.04-1.1.0.0-1", "26.07-0.3.5.0", "doca3.5.0-26.07-0.7.1.0-0"],
    ],
    Scheme.FIRMWARE: [
        ["28.40.1000", "28.42.1000", "28.43.1014", "28.43.2026", "28.45.1020", "28.47.1026", "28.48.1000"],
        ["20.43.1014", "20.43.2026", "20.43.2566"],
        ["22.40.1000", "22.42.1000", "22.43.1014", "22.48.1000"],
    ],
    Scheme.KERNEL: [
        ["5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.40.1.el9_4.x86_64", "5.14.0-427.87.1.el9_4.x86_64"],
        ["5.14.0-570.12.1.el9_6.aarch64+64k", "5.14.0-570.19.1.el9_6.aarch64+64k"],
        ["5.14.0-284.9.1.rt14.294.el9_2.x86_64", "5.14.0-284.36.1.rt14.321.el9_2.x86_64"],
        ["5.15.0-94-generic", "5.15.0-105-generic"],
        ["6.8.0-1012-nvidia", "6.8.0-1021-nvidia"],
    ],
    Scheme.DCGM_EXPORTER: [
        [
            "3.1.3-3.1.2",
            "3.2.6-3.1.9-ubuntu20.04",
            "3.3.5-3.4.0",
            "3.3.5-3.4.1",
            "3.3.8-3.6.0-ubuntu22.04",
            "3.3.9-3.6.1",
        ],
        [
            "4.2.3-4.1.3",
            "4.2.3-4.2.0",
            "4.4.1-4.6.0-distroless",
            "4.4.2-4.7.0",
            "4.4.2-4.7.1",
            "4.6.0-4.8.3-distroless",
        ],
    ],
    Scheme.DCGM: [
        ["3.2.6-1-ubuntu20.04", "3.3.9-1-ubuntu22.04", "4.1.1-2-ubuntu22.04", "4.4.1-2-ubuntu22.04", "4.6.0-1"]
    ],
    Scheme.OPERAND: [
        [
            "v0.8.2-ubi8",
            "v0.14.2-ubi8",
            "v0.16.2-ubi8",
            "v0.17.0-ubi9",
            "v0.17.1",
            "v0.18.0-rc.2",
            "v0.18.0",
            "v0.20.0",
        ],
        ["v1.14.3-ubuntu20.04", "v1.17.0-ubuntu20.04", "v1.17.8-ubuntu20.04", "v1.18.0", "v1.20.0"],
    ],
    Scheme.OPENSHIFT: [
        ["4.9.0", "4.11.12", "4.16.23", "4.16.58", "4.18.22", "4.20.0-0.nightly-2025-08-01-120000", "4.20.0-ec.2"],
        ["4.20.0-ec.2", "4.20.0-rc.0", "4.20.0-rc.2", "4.20.0-rc.10", "4.20.0", "4.20.34", "4.22.0-rc.5", "5.0.0"],
    ],
    Scheme.SRIOV_OPERATOR: [["4.9.0", "4.12.0", "v4.16.0", "4.18.0-202502260503", "4.20.0"]],
    Scheme.KUBERNETES: [
        ["v1.9.11", "v1.29.3-eks-ae9a62a", "v1.29.9+5865c5b", "v1.30.4-gke.1000", "v1.30.10", "v1.32.0-alpha.0.12+abc"],
        ["v1.32.0-rc.1", "v1.32.0+k3s1", "v1.35.8"],
    ],
    Scheme.SYSTEM: [
        ["ubuntu20.04", "ubuntu 22.04", "Ubuntu-24.04"],
        ["rhel8.10", "rhel9.6", "rhel10.0"],
        ["rocky9.7", "rocky10.1"],
    ],
    Scheme.DRA_DRIVER: [["v25.3.0", "25.3.2", "25.8.0-rc.1"], ["managed"]],
    Scheme.PART: [["1.6.36", "1.7.27", "v2.0", "2.1.4", "2.29.4-1"]],
    Scheme.NCCL: [["2.18.6", "2.19.1", "v2.21.5-1", "2.22.3-1+cuda12.6", "2.30.7"]],
    Scheme.LINE: [["1.9", "1.30", "4.9", "4.16", "9.4", "10.0", "24.9", "v24.10", "25.3"]],
}

ALIKE = [
    (Scheme.OPERATOR, "v24.9.0", "24.9.0"),
    (Scheme.OPERATOR, "24.7.0", "24.07.0"),
    (Scheme.DRIVER, "560.35.03", "560.35.3"),
    (Scheme.DRIVER, "565.77", "565.77.00"),
    (Scheme.CUDA, "12.6", "12.6.0"),
    (Scheme.OFED, "24.01-0.3.3.1", "24.01-0.3.3.0"),
    (Scheme.OFED, "24.01-0.3.3.1-0", "24.01-0.3.3.1-10"),
    (Scheme.OFED, "24.07-0.6.1.0", "24.07-0.6.1"),
    (Scheme.OFED, "24.07-0.6.1.0", "24.7-0.6.1.0"),
    (Scheme.OFED, "doca3.1.0-25.07-0.9.7.0-0", "25.07-0.9.7.0"),
    (Scheme.OFED, "24.10-0.7.0.0-0-rhcos4.16-amd64", "24.10-0.7.0.0"),
    (Scheme.OFED, "doca3.1.0-25.07-0.9.7.0-0-5.15.0-25-generic-ubuntu22.04-amd64", "25.07-0.9.7.0"),
    (Scheme.DCGM_EXPORTER, "3.3.8-3.6.0-ubuntu22.04", "3.3.8-3.6.0"),
    (Scheme.DCGM, "3.3.8-1-ubuntu22.04", "3.3.8-1"),
    (Scheme.OPERAND, "v0.17.0-ubi9", "v0.17.0"),
    (Scheme.OPERAND, "v1.17.0-ubuntu20.04", "1.17.0"),
    (Scheme.SRIOV_OPERATOR, "4.18.0-202502260503", "4.18.0"),
    (Scheme.KUBERNETES, "v1.30.4-gke.1000", "1.30.4"),
    (Scheme.KUBERNETES, "v1.30.4-eks-ae9a62a", "v1.30.4+k3s1"),
    (Scheme.NCCL, "2.22.3-1", "2.22.3"),
    (Scheme.LINE, "24.07", "v24.7"),
]

UNREADABLE = [
    (Scheme.OPERATOR, "24.9"),
    (Scheme.OPERATOR, "v1.11.1"),
    (Scheme.OPERATOR, "v24.9.0-ubi9"),
    (Scheme.OPERATOR, "v24.9.x"),
    (Scheme.DRIVER, "560"),
    (Scheme.DRIVER, "560.35.03.01"),
    (Scheme.DRIVER, "v560.35.03"),
    (Scheme.DRIVER, "560.35.03-ubuntu22.04"),
    (Scheme.DRIVER, "12.6.3"),
    (Scheme.DRIVER, "415.92.202402130021-0"),
    (Scheme.DRIVER, "415.92.202402130021"),
    (Scheme.CUDA, "12"),
    (Scheme.CUDA, "cu126"),
    (Scheme.OFED, "24.07"),
    (Scheme.OFED, "24.07.0"),
    (Scheme.OFED, "24.07-0.6"),
    (Scheme.OFED, "doca-24.07-0.6.1.0"),
    (Scheme.FIRMWARE, "28.40"),
    (Scheme.FIRMWARE, "8.40.1000"),
    (Scheme.FIRMWARE, "28.40.1000 (MT_0000000838)"),
    (Scheme.KERNEL, "6.x TBD"),
    (Scheme.KERNEL, "6.x"),
    (Scheme.KERNEL, "5.14.0-427.40.1.el9_4"),
    (Scheme.KERNEL, "560.35.03"),
    (Scheme.KERNEL, "24.9.0"),
    (Scheme.DCGM_EXPORTER, "3.3.8"),
    (Scheme.DCGM_EXPORTER, "3.3.8-1-ubuntu22.04"),
    (Scheme.DCGM, "3.3.8-3.6.0"),
    (Scheme.OPERAND, "v0.17"),
    (Scheme.OPERAND, "v0.17.0-rc1"),
    (Scheme.OPENSHIFT, "4.16"),
    (Scheme.OPENSHIFT, "4.16.23-"),
    (Scheme.OPENSHIFT, "4.20.0-rc..1"),
    (Scheme.SRIOV_OPERATOR, "4.18"),
    (Scheme.SRIOV_OPERATOR, "network-operator-24.7.0"),
    (Scheme.KUBERNETES, "1.30"),
    (Scheme.KUBERNETES, "v1.30.4-rc1"),
    (Scheme.NCCL, "2.22"),
    (Scheme.LINE, "24.9.0"),
]

EVERY_TEXT = [(scheme, text) for scheme, rows in RISING.items() for row in rows for text in row]
EVERY_SCHEME = pytest.mark.parametrize("scheme", list(Scheme), ids=lambda scheme: scheme.name)


def of(scheme: Scheme, text: str) -> Version:
    return versions.parse(scheme, text)


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("scheme", "text"), EVERY_TEXT)
def test_a_version_keeps_the_text_it_was_read_from(scheme: Scheme, text: str) -> None:
    version = of(scheme, text)
    assert (version.text, str(version), version.scheme) == (text, text, scheme)


@EVERY_SCHEME
def test_every_scheme_has_a_parser_and_real_examples(scheme: Scheme) -> None:
    assert of(scheme, RISING[scheme][0][0]).scheme is scheme


@EVERY_SCHEME
def test_the_example_in_a_message_can_be_read(scheme: Scheme) -> None:
    for example in versions.VALUES[scheme].form.example.split(" or "):
        assert of(scheme, example).text == example


@pytest.mark.parametrize(("scheme", "text"), UNREADABLE)
def test_text_that_does_not_fit_is_refused(scheme: Scheme, text: str) -> None:
    with pytest.raises(versions.VersionInvalid) as caught:
        of(scheme, text)
    assert (caught.value.scheme, caught.value.text) == (scheme, text)


@EVERY_SCHEME
@pytest.mark.parametrize("text", ["", " ", "latest", "TBD", "٢٤.٩.٠", "sha256:698e602773287c649b7ef329dca3fcfb"])
def test_no_scheme_reads_what_is_no_version(scheme: Scheme, text: str) -> None:
    with pytest.raises(versions.VersionInvalid):
        of(scheme, text)


@pytest.mark.parametrize(("scheme", "text"), EVERY_TEXT)
def test_nothing_around_a_version_is_skipped(scheme: Scheme, text: str) -> None:
    for spoilt in (f" {text}", f"{text} ", f"{text}\n", f"={text}"):
        with pytest.raises(versions.VersionInvalid):
            of(scheme, spoilt)


def test_a_refusal_says_what_was_read_as_what_and_what_to_do() -> None:
    with pytest.raises(ValueError) as caught:
        versions.KernelVersion.parse("6.x TBD")
    assert str(caught.value) == (
        "kernel '6.x TBD' is unreadable: expected base-release[.z].dist.arch[+flavour] or base-build-flavour, "
        "as `uname -r` prints it, e.g. 5.14.0-427.40.1.el9_4.x86_64 or 5.15.0-105-generic. "
        "Copy Node status.nodeInfo.kernelVersion; leave the kernel out until it is known exactly."
    )


def test_a_text_without_end_is_refused_and_not_repeated() -> None:
    with pytest.raises(versions.VersionInvalid) as caught:
        versions.CudaVersion.parse("12." + "6" * 5000)
    assert "666…' is unreadable" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_version_cannot_be_changed_or_extended() -> None:
    driver = versions.DriverVersion.parse("560.35.03")
    with pytest.raises(dataclasses.FrozenInstanceError):
        driver.branch = 570  # type: ignore[misc]
    assert not hasattr(driver, "__dict__")


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@EVERY_SCHEME
def test_real_versions_rise_in_the_order_of_their_release(scheme: Scheme) -> None:
    for row in RISING[scheme]:
        for older, newer in pairwise(of(scheme, text) for text in row):
            assert older < newer
            assert older <= newer
            assert newer > older
            assert newer >= older
            assert older != newer


@pytest.mark.parametrize(("scheme", "one", "other"), ALIKE)
def test_two_spellings_of_one_version_are_equal(scheme: Scheme, one: str, other: str) -> None:
    left, right = of(scheme, one), of(scheme, other)
    assert left == right
    assert hash(left) == hash(right)
    assert left <= right <= left
    assert left.text != right.text


def test_versions_of_different_schemes_are_not_equal_and_have_no_order() -> None:
    operand, nccl = of(Scheme.OPERAND, "2.21.5"), of(Scheme.NCCL, "2.21.5")
    assert operand != nccl
    assert len({operand, nccl}) == 2
    with pytest.raises(versions.NotComparable) as caught:
        _ = operand < nccl
    assert str(caught.value) == (
        "device plugin or container toolkit 2.21.5 and NCCL 2.21.5 have no order: their schemes differ. "
        "Compare each with versions of its own scheme."
    )


@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__"])
def test_no_comparison_across_schemes_answers(compare: str) -> None:
    with pytest.raises(TypeError):
        getattr(of(Scheme.DRIVER, "560.35.03"), compare)(of(Scheme.CUDA, "12.6"))


def test_a_version_is_not_compared_with_text() -> None:
    operator = versions.OperatorVersion.parse("v24.9.0")
    assert operator != "v24.9.0"
    with pytest.raises(versions.NotComparable, match="the second is str, not a version"):
        _ = operator < "v24.10.0"  # type: ignore[operator]


# ── the traps of each scheme ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("scheme", "text", "line"),
    [
        (Scheme.OPERATOR, "v24.9.0", "24.9"),
        (Scheme.OPERATOR, "v25.10.1", "25.10"),
        (Scheme.OPERATOR, "24.07.0", "24.7"),
        (Scheme.CUDA, "12.6.3", "12.6"),
        (Scheme.OPENSHIFT, "4.20.0-rc.2", "4.20"),
        (Scheme.SRIOV_OPERATOR, "4.18.0-202502260503", "4.18"),
        (Scheme.KUBERNETES, "v1.30.4-gke.1000", "1.30"),
        (Scheme.KERNEL, "5.14.0-427.40.1.el9_4.x86_64", "5.14"),
        (Scheme.LINE, "v24.09", "24.9"),
    ],
)
def test_a_version_names_its_release_line(scheme: Scheme, text: str, line: str) -> None:
    version = of(scheme, text)
    assert isinstance(version, versions.LinedVersion)
    assert version.line == line
    assert versions.Line.of(version) == of(Scheme.LINE, line)


def test_the_year_alone_is_nobodys_major_version() -> None:
    assert not hasattr(versions.OperatorVersion.parse("v24.9.0"), "major")


@pytest.mark.parametrize(("text", "branch"), [("560.35.03", 560), ("565.77", 565), ("580.142", 580)])
def test_the_first_field_of_a_driver_is_its_branch(text: str, branch: int) -> None:
    assert versions.DriverVersion.parse(text).branch == branch


@pytest.mark.parametrize(
    ("text", "is_developer_build"),
    [
        ("535.43.28", True),
        ("550.40.07", True),
        ("570.123.19", True),
        ("580.94.02", True),
        ("595.44.03", True),
        ("535.54.03", False),
        ("570.124.06", False),
        ("580.95.05", False),
        ("595.45.04", False),
        ("565.77", False),
    ],
)
def test_developer_builds_are_recognised(text: str, is_developer_build: bool) -> None:
    assert versions.DriverVersion.parse(text).is_developer_build is is_developer_build


def test_the_month_of_ofed_is_printed_as_firmware_tables_print_it() -> None:
    assert versions.OfedVersion.parse("doca3.1.0-25.07-0.9.7.0-0").train == "25.07"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("20.43.1014", "ConnectX-6"),
        ("22.40.1000", "ConnectX-6 Dx"),
        ("26.43.1014", "ConnectX-6 Lx"),
        ("28.40.1000", "ConnectX-7"),
        ("32.43.2402", "BlueField-3"),
        ("40.45.1020", "ConnectX-8"),
        ("82.40.1000", "ConnectX-9"),
        ("84.40.1000", "NIC family 84"),
    ],
)
def test_the_leading_number_of_firmware_names_the_device(text: str, name: str) -> None:
    firmware = versions.FirmwareVersion.parse(text)
    assert (firmware.family, firmware.family_name) == (int(text[:2]), name)


def test_firmware_of_two_families_has_no_order() -> None:
    dx, cx7 = versions.FirmwareVersion.parse("22.40.1000"), versions.FirmwareVersion.parse("28.40.1000")
    assert dx != cx7
    with pytest.raises(versions.NotComparable) as caught:
        _ = dx < cx7
    assert str(caught.value) == (
        "NIC firmware 22.40.1000 and NIC firmware 28.40.1000 have no order: "
        "one is ConnectX-6 Dx, the other ConnectX-7. Compare only inside one of them."
    )


def test_the_train_of_firmware_is_its_middle_number() -> None:
    assert versions.FirmwareVersion.parse("28.43.1014").train == 43


@pytest.mark.parametrize(
    ("text", "stream", "dist", "z", "flavour"),
    [
        ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-427", "el9_4", (40, 1), None),
        ("4.18.0-372.71.1.el8_6.x86_64", "4.18.0-372", "el8_6", (71, 1), None),
        ("6.12.0-55.9.1.el10_0.x86_64", "6.12.0-55", "el10_0", (9, 1), None),
        ("5.14.0-437.el9.x86_64", "5.14.0-437", "el9", (), None),
        ("6.1.79-99.167.amzn2023.x86_64", "6.1.79-99", "amzn2023", (167,), None),
        ("5.14.0-427.40.1.el9_4.x86_64+rt", "5.14.0-427", "el9_4", (40, 1), "rt"),
        ("5.14.0-284.36.1.rt14.321.el9_2.x86_64", "5.14.0-284", "el9_2", (36, 1, 14, 321), "rt"),
        ("5.14.0-570.19.1.el9_6.aarch64+64k", "5.14.0-570", "el9_6", (19, 1), "64k"),
        ("5.14.0-570.19.1.el9_6.aarch64+rt-64k", "5.14.0-570", "el9_6", (19, 1), "rt-64k"),
        ("5.15.0-105-generic", "5.15.0", None, (105,), "generic"),
        ("6.8.0-1021-nvidia", "6.8.0", None, (1021,), "nvidia"),
        ("6.8.0-1021-nvidia-64k", "6.8.0", None, (1021,), "nvidia-64k"),
    ],
)
def test_a_kernel_is_taken_apart(
    text: str, stream: str, dist: str | None, z: tuple[int, ...], flavour: str | None
) -> None:
    kernel = versions.KernelVersion.parse(text)
    assert (kernel.stream, kernel.dist, kernel.z, kernel.flavour) == (stream, dist, z, flavour)


@pytest.mark.parametrize(
    ("text", "line", "system"),
    [
        ("6.6.113+", "6.6", "Container-Optimized OS"),
        ("6.4.0-150600.23.47-default", "6.4", "SUSE Linux Enterprise"),
        ("6.12.40-talos", "6.12", "Talos"),
        ("6.6.95-flatcar", "6.6", "Flatcar"),
        ("6.6.92.2-2.azl3", "6.6", "Azure Linux"),
        ("6.12.40", "6.12", ""),
        ("6.8.0-100", "6.8", ""),
    ],
)
def test_a_kernel_we_cannot_take_apart_is_a_kernel_all_the_same(text: str, line: str, system: str) -> None:
    kernel = versions.KernelVersion.parse(text)
    assert kernel.is_foreign
    assert (kernel.line, kernel.system, kernel.stream) == (line, system, text)
    with pytest.raises(versions.NotComparable):
        _ = kernel < versions.KernelVersion.parse("6.99.0")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-570.19.1.el9_6.x86_64"),
        ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-427.40.1.el9_5.x86_64"),
        ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-427.40.1.el9_4.x86_64+rt"),
        ("5.14.0-427.40.1.el9_4.aarch64", "5.14.0-427.40.1.el9_4.aarch64+64k"),
        ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-427.40.1.el9_4.aarch64"),
        ("5.14.0-427.40.1.el9_4.x86_64", "6.8.0-1021-nvidia"),
        ("6.8.0-100-generic", "6.8.0-1021-nvidia"),
        ("5.15.0-105-generic", "6.8.0-31-generic"),
    ],
)
def test_kernels_of_different_streams_have_no_order(one: str, other: str) -> None:
    left, right = versions.KernelVersion.parse(one), versions.KernelVersion.parse(other)
    assert left != right
    with pytest.raises(versions.NotComparable):
        _ = left < right


def test_the_halves_of_an_exporter_can_be_compared_with_a_standalone_dcgm() -> None:
    exporter = versions.DcgmExporterVersion.parse("3.3.8-3.6.0")
    dcgm = versions.DcgmVersion.parse("3.3.8-1-ubuntu22.04")
    assert (exporter.dcgm, exporter.exporter) == ((3, 3, 8), (3, 6, 0))
    assert (dcgm.dcgm, dcgm.packaging) == (exporter.dcgm, 1)


@pytest.mark.parametrize(
    ("text", "pre_release"),
    [("4.16.23", None), ("4.20.0-rc.2", "rc.2"), ("4.19.0-0.nightly-2025-02-11", "0.nightly-2025-02-11")],
)
def test_an_openshift_pre_release_is_told_from_a_release(text: str, pre_release: str | None) -> None:
    assert versions.OpenShiftVersion.parse(text).pre_release == pre_release


# ── images ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("image", "driver"),
    [
        ("nvcr.io/nvidia/driver:570.124.06-ubuntu22.04", "570.124.06"),
        ("nvcr.io/nvidia/driver:560.35.03-rhcos4.16", "560.35.03"),
        ("nvcr.io/nvidia/driver:580.173.02-rhel9", "580.173.02"),
        ("nvcr.io/nvidia/driver:580.105.08", "580.105.08"),
        ("registry.example:5000/mirror/driver:565.77-ubuntu24.04", "565.77"),
        ("560.35.03-rhcos4.16", "560.35.03"),
        ("580.142", "580.142"),
        ("570.124.06-5.15.0-1068-aws-ubuntu22.04", "570.124.06"),
    ],
)
def test_an_image_tag_names_its_driver(image: str, driver: str) -> None:
    found = versions.driver_version_of_image(image)
    assert found == versions.DriverVersion.parse(driver)
    assert str(found) == driver


@pytest.mark.parametrize(
    "image",
    [
        "570-5.15.0-1068-aws-ubuntu22.04",
        "nvcr.io/nvidia/driver:570-5.15.0-1068-aws-ubuntu22.04",
        "nvcr.io/nvidia/driver@sha256:7c2df95df9ed4d16ad3b3c84079ccdd161f3639527ac1d90b106217f9f0a3aad",
        "nvcr.io/nvidia/driver:570.124.06-ubuntu22.04@sha256:7c2df95df9ed4d16ad3b3c84079ccdd161f3639527ac1d90b106217f9f0a3aad",
        "sha256:7c2df95df9ed4d16ad3b3c84079ccdd161f3639527ac1d90b106217f9f0a3aad",
        "nvcr.io/nvidia/driver",
        "nvcr.io/nvidia/driver:latest",
        "registry.example:5000/nvidia/driver",
        "nvcr.io/nvidia/cuda:12.6.3-base-ubuntu22.04",
        "nvcr.io/nvidia/gpu-operator:v24.9.0",
        "nvcr.io/nvidia/driver:570.124.06_patched",
        "",
    ],
)
def test_an_image_that_does_not_name_its_driver_is_unknown(image: str) -> None:
    assert versions.driver_version_of_image(image) is None


# ── ranges ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def span(scheme: Scheme, low: str | None, high: str | None) -> VersionRange:
    return VersionRange(min=None if low is None else of(scheme, low), max=None if high is None else of(scheme, high))


@pytest.mark.parametrize(
    ("low", "high", "inside", "outside"),
    [
        ("v24.9.0", "v25.3.4", ["24.9.0", "v24.9.2", "v25.3.4"], ["v24.6.2", "v25.10.0"]),
        ("v24.9.0", None, ["24.9.0", "v24.10.0", "v26.7.0"], ["v24.9.0-rc.1", "v24.3.0"]),
        (None, "v24.9.0", ["24.9.0", "v24.9.0-rc.1", "v23.9.0"], ["v24.10.0", "v24.9.1"]),
    ],
)
def test_a_range_includes_both_its_ends(
    low: str | None, high: str | None, inside: list[str], outside: list[str]
) -> None:
    supported = span(Scheme.OPERATOR, low, high)
    assert [text for text in inside + outside if supported.contains(of(Scheme.OPERATOR, text))] == inside


@pytest.mark.parametrize(
    ("low", "high", "scheme", "text", "is_inside"),
    [
        ("4.12", "4.16", Scheme.OPENSHIFT, "4.16.23", True),
        ("4.12", "4.16", Scheme.OPENSHIFT, "4.12.0-rc.1", True),
        ("4.12", "4.16", Scheme.OPENSHIFT, "4.9.0", False),
        ("4.12", "4.16", Scheme.LINE, "4.14", True),
        ("1.25", "1.28", Scheme.KUBERNETES, "v1.28.9-gke.1000", True),
        ("1.25", "1.28", Scheme.KUBERNETES, "v1.29.0", False),
        ("24.3", None, Scheme.OPERATOR, "v24.10.1", True),
        ("25.3", None, Scheme.OPERATOR, "v24.10.1", False),
        ("4.15", None, Scheme.KERNEL, "5.14.0-427.40.1.el9_4.x86_64", True),
        ("5.12", None, Scheme.KERNEL, "4.18.0-372.71.1.el8_6.x86_64", False),
        (None, "12.6", Scheme.CUDA, "12.6.3", True),
    ],
)
def test_a_range_of_lines_judges_a_version_by_its_line(
    low: str | None, high: str | None, scheme: Scheme, text: str, is_inside: bool
) -> None:
    assert span(Scheme.LINE, low, high).contains(of(scheme, text)) is is_inside


@pytest.mark.parametrize(
    ("scheme", "low", "stranger_scheme", "stranger"),
    [
        (Scheme.DRIVER, "450.80.02", Scheme.CUDA, "12.6"),
        (Scheme.LINE, "24.3", Scheme.DRIVER, "560.35.03"),
        (Scheme.FIRMWARE, "28.40.1000", Scheme.FIRMWARE, "22.43.1014"),
        (Scheme.KERNEL, "6.8.0-100-generic", Scheme.KERNEL, "6.8.0-1021-nvidia"),
    ],
)
def test_a_range_does_not_answer_about_strangers(
    scheme: Scheme, low: str, stranger_scheme: Scheme, stranger: str
) -> None:
    with pytest.raises(versions.NotComparable):
        span(scheme, low, None).contains(of(stranger_scheme, stranger))


def test_a_range_open_at_both_ends_is_refused() -> None:
    with pytest.raises(RangeInvalid, match="found neither"):
        VersionRange()


def test_a_range_upside_down_is_refused() -> None:
    with pytest.raises(RangeInvalid, match=r"from v24\.10\.0 to v24\.9\.0 is empty"):
        span(Scheme.OPERATOR, "v24.10.0", "v24.9.0")


def test_a_range_of_two_schemes_is_refused() -> None:
    with pytest.raises(versions.NotComparable):
        VersionRange(min=of(Scheme.LINE, "4.12"), max=of(Scheme.OPENSHIFT, "4.16.23"))


@pytest.mark.parametrize(
    ("low", "high", "text"), [("4.12", "4.16", "4.12 to 4.16"), ("4.12", None, "≥ 4.12"), (None, "4.16", "≤ 4.16")]
)
def test_a_range_prints_as_its_ends(low: str | None, high: str | None, text: str) -> None:
    assert str(span(Scheme.LINE, low, high)) == text


# ── properties ────────────────────────────────────────────────────────────────────────────────────────────────────────

# Few numbers, so that equal versions in different spelling are drawn often.
number = st.sampled_from(["0", "1", "01", "2", "9", "09", "10", "40"])
three = st.builds("{}.{}.{}".format, number, number, number)
two_digits = st.sampled_from(["05", "24", "25"])
v = st.sampled_from(["", "v"])
pre_release = st.sampled_from(["", "-rc.1", "-rc.01", "-rc.2", "-rc.10", "-beta.1"])
os_suffix = st.sampled_from(["", "-ubi9", "-ubuntu22.04", "-distroless"])
vendor = st.sampled_from(["", "-gke.1000", "-eks-ae9a62a", "+k3s1"])
nightly = st.sampled_from(["-0.nightly-2025-02-11-120000", "-ec.2", "-ec.2.1", "-ec"])

# One lineage each: inside it the order must be total.
TEXTS: dict[Scheme, st.SearchStrategy[str]] = {
    Scheme.OPERATOR: st.builds("{}{}.{}.{}{}".format, v, two_digits, number, number, pre_release),
    Scheme.DRIVER: st.builds("5{}.{}{}".format, two_digits, number, st.sampled_from(["", ".00", ".03", ".3", ".123"])),
    Scheme.CUDA: st.builds("{}.{}{}".format, number, number, st.sampled_from(["", ".0", ".1", ".01"])),
    Scheme.OFED: st.builds(
        "{}{}.{}-{}{}{}".format,
        st.sampled_from(["", "doca3.1.0-"]),
        two_digits,
        number,
        three,
        st.sampled_from(["", ".0", ".1"]),
        st.sampled_from(["", "-0", "-10", "-0-rhcos4.16-amd64"]),
    ),
    Scheme.FIRMWARE: st.builds("28.{}.{}".format, number, number),
    Scheme.KERNEL: st.builds(
        "5.14.0-427{}.el9_4.x86_64".format, st.lists(number.map(".{}".format), max_size=6).map("".join)
    ),
    Scheme.DCGM_EXPORTER: st.builds("{}-{}{}".format, three, three, os_suffix),
    Scheme.DCGM: st.builds("{}-{}{}".format, three, number, os_suffix),
    Scheme.OPERAND: st.builds("{}{}{}{}".format, v, three, pre_release, os_suffix),
    Scheme.OPENSHIFT: st.builds("{}{}".format, three, pre_release | nightly),
    Scheme.SRIOV_OPERATOR: st.builds("{}{}{}".format, v, three, st.sampled_from(["", "-202502260503"])),
    Scheme.KUBERNETES: st.builds("{}{}{}{}".format, v, three, pre_release, vendor),
    Scheme.SYSTEM: st.builds("ubuntu{}.{}".format, number, number),
    Scheme.DRA_DRIVER: st.builds("{}{}".format, v, three),
    Scheme.PART: st.builds("{}{}{}".format, v, three, st.sampled_from(["", "-1"])),
    Scheme.NCCL: st.builds("{}{}{}".format, v, three, st.sampled_from(["", "-1", "-1+cuda12.6"])),
    Scheme.LINE: st.builds("{}{}.{}".format, v, number, number),
}

three_of_one_scheme = st.sampled_from(list(Scheme)).flatmap(
    lambda scheme: st.lists(TEXTS[scheme].map(lambda text: of(scheme, text)), min_size=3, max_size=3)
)
any_version = st.sampled_from(list(Scheme)).flatmap(lambda scheme: TEXTS[scheme].map(lambda text: of(scheme, text)))


@given(three_of_one_scheme)
def test_the_order_inside_a_scheme_is_total(drawn: list[Version]) -> None:
    a, b, c = drawn
    assert [a < b, a == b, a > b].count(True) == 1
    assert (a <= b) is (not a > b)
    assert (a >= b) is (not a < b)
    if a <= b and b <= c:
        assert a <= c


@given(any_version)
def test_a_printed_version_reads_back_as_itself(version: Version) -> None:
    again = versions.parse(version.scheme, str(version))
    assert again == version
    assert again.text == version.text


@given(three_of_one_scheme)
def test_equal_versions_have_equal_hashes(drawn: list[Version]) -> None:
    a, b, _ = drawn
    if a == b:
        assert hash(a) == hash(b)


@given(three_of_one_scheme)
def test_a_range_contains_exactly_what_lies_between_its_ends(drawn: list[Version]) -> None:
    low, middle, high = sorted(drawn)
    closed = VersionRange(min=low, max=high)
    assert all(closed.contains(version) for version in (low, middle, high))
    assert VersionRange(min=high).contains(low) is (low == high)
    assert VersionRange(max=low).contains(high) is (low == high)


@given(st.sampled_from(list(Scheme)), st.text(max_size=40))
def test_any_text_is_either_read_or_refused(scheme: Scheme, text: str) -> None:
    try:
        version = versions.parse(scheme, text)
    except versions.VersionInvalid as refused:
        assert refused.text == text  # noqa: PT017 -- either outcome is right, nothing else is
    else:
        assert version.text == text
