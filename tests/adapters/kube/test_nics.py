"""What a Job tells of a node's network adapters: the script in a real shell over a prepared /sys, and its reading."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.adapters.kube.surveying import nics
from seatrial.core.survey.audit.objects import SYSFS, NicObject

NVIDIA, INTEL = "0x15b3", "0x8086"
ETHERNET, INFINIBAND, DMA = "0x020000", "0x020700", "0x080100"


def device(
    root: Path, at: str, vendor: str, what: str, firmware: str | None = None, *, is_virtual: bool = False
) -> None:
    """A PCI function as the kernel shows it."""
    folder = root / "sys/bus/pci/devices" / at
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{what}\n")
    if is_virtual:
        (folder / "physfn").symlink_to("..")
    if firmware is not None:
        (folder / "infiniband/mlx5_0").mkdir(parents=True)
        (folder / "infiniband/mlx5_0/fw_ver").write_text(f"{firmware}\n")


def told(root: Path, shell: str = "sh") -> str:
    """What the Job's own command leaves, in this shell."""
    _, *rest = nics.command(str(root), str(root / "said"))
    subprocess.run([shell, *rest], check=False, timeout=20, capture_output=True)
    return (root / "said").read_text()


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_adapters_of_nvidia_are_told_by_their_place_and_everything_else_is_left_out(tmp_path: Path, shell: str) -> None:
    device(tmp_path, "0000:18:00.0", NVIDIA, INFINIBAND, "28.43.1014")
    device(tmp_path, "0000:18:00.1", NVIDIA, ETHERNET, "28.43.1014")
    device(tmp_path, "0000:18:00.2", NVIDIA, ETHERNET, "28.43.1014", is_virtual=True)
    device(tmp_path, "0000:29:00.0", NVIDIA, ETHERNET)
    device(tmp_path, "0000:2a:00.0", NVIDIA, DMA)
    device(tmp_path, "0000:00:1f.6", INTEL, ETHERNET, "28.1.1000")
    said = told(tmp_path, shell)
    assert said == "0000:18:00.0 28.43.1014\n0000:18:00.1 28.43.1014\n0000:29:00.0 -\nend\n"
    found = nics.adapters("gpu-1", said)
    assert found is not None
    assert [each.firmware for each in found] == ["28.43.1014", "28.43.1014", ""]
    assert {each.evidence for each in found} == {SYSFS}


def test_a_bus_without_an_adapter_is_an_answer_and_a_machine_without_a_bus_is_none(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    assert nics.adapters("gpu-1", told(tmp_path)) == ()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert nics.adapters("gpu-1", told(empty)) is None


@pytest.mark.parametrize(
    "text", ["", "0000:18:00.0 28.43.1014", "hello\nend", "0000:18:00.0 28.43\nend", '{"measured": []}', "end\nend"]
)
def test_what_is_no_whole_list_is_not_believed(text: str) -> None:
    assert nics.adapters("gpu-1", text) is None


def test_a_wide_bus_address_is_read_too() -> None:
    assert nics.adapters("n", "10000:e1:00.0 40.48.1000\nend") == (
        NicObject(node="n", firmware="40.48.1000", evidence=SYSFS),
    )
