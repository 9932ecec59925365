"""Links as the kernel shows them, in a folder laid out like /sys."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads import rdma
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes


def port(root: Path, device: str = "mlx5_0", **files: str) -> None:
    folder = root / "sys/class/infiniband" / device / "ports/1"
    written = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"} | files
    for name, text in written.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


def look(root: Path) -> Notes:
    notes = Notes()
    rdma.look(Options(root=root), notes)
    return notes


def test_an_active_link_tells_its_rate_and_its_errors(tmp_path: Path) -> None:
    port(tmp_path, counters__symbol_error="3", hw_counters__out_of_sequence="1")
    found = {each.name: each.value for each in look(tmp_path).measured}
    assert found == {"link-active": 1, "link-rate": 400.0, "symbol-error": 3, "out-of-sequence": 1}


def test_a_link_that_is_down_is_broken_and_hides_no_other(tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0", state="1: DOWN", phys_state="3: Disabled")
    port(tmp_path, "mlx5_1")
    notes = look(tmp_path)
    assert [(each.gpu, each.why) for each in notes.broken] == [
        ("mlx5_0/1", "the port is 1: DOWN, its line 3: Disabled")
    ]
    assert ("mlx5_1/1", 1) in [(each.gpu, each.value) for each in notes.measured if each.name == "link-active"]


def test_no_device_is_unmeasurable(tmp_path: Path) -> None:
    with pytest.raises(Unmeasurable, match="no InfiniBand or RoCE device"):
        look(tmp_path)


def test_a_rate_that_the_kernel_does_not_tell_is_unknown(tmp_path: Path) -> None:
    port(tmp_path, rate="")
    assert [each.name for each in look(tmp_path).unknown] == ["link-rate"]


def test_a_device_that_was_there_and_is_gone_is_broken(tmp_path: Path) -> None:
    notes = Notes()
    rdma.look(Options(root=tmp_path, expected=True), notes)
    assert [each.why for each in notes.broken] == [
        "the InfiniBand or RoCE devices that this node has shown before are gone"
    ]


def test_devices_that_belong_to_network_namespaces_are_not_said_to_be_gone(tmp_path: Path) -> None:
    mode = tmp_path / rdma.NAMESPACED
    mode.parent.mkdir(parents=True)
    mode.write_text("N\n")
    with pytest.raises(Unmeasurable, match="belong to network namespaces here"):
        rdma.look(Options(root=tmp_path, expected=True), Notes())
