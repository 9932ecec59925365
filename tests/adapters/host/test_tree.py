"""A host as a tree of files: what is read of it, and what each step of a driver manager does to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seatrial.core.node.driver_manager.values import (
    ForgetDigest,
    HostSeen,
    Module,
    RemovePidFile,
    Turned,
    Unbind,
    Unload,
    Unmount,
)
from tests.adapters.host.trees import GPU, Prepared


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return Prepared(root=tmp_path / "root")


def test_a_loaded_driver_is_seen_with_its_users_its_mounts_and_its_files(prepared: Prepared) -> None:
    assert prepared.tree().look() == HostSeen(
        modules=(
            Module(name="nvidia_uvm"),
            Module(name="nvidia", use_count=1, holders=("nvidia_uvm",)),
        ),
        digest="old",
        mounts=("/run/nvidia/driver/dev", "/run/nvidia/driver"),
        has_pid_file=True,
    )


def test_an_empty_host_has_nothing_of_a_driver(tmp_path: Path, prepared: Prepared) -> None:
    shutil.rmtree(prepared.root)
    assert prepared.tree().look() == HostSeen()


def test_a_built_in_module_has_no_count_and_is_not_counted_as_loaded(prepared: Prepared) -> None:
    (prepared.root / "sys/module/nouveau").mkdir()
    assert prepared.tree().look().module("nouveau") is None


def test_modules_are_unloaded_one_by_one(prepared: Prepared) -> None:
    host = prepared.tree()
    assert host.do(Unload(module="nvidia_uvm")) is None
    assert host.look().modules == (Module(name="nvidia"),)
    assert host.do(Unload(module="nvidia")) is None
    assert not host.look().is_loaded


def test_a_module_in_use_stays_and_it_is_told_how_to_find_its_users(prepared: Prepared) -> None:
    told = prepared.tree().do(Unload(module="nvidia"))
    assert told is not None
    assert told.why.startswith("the kernel keeps module nvidia: the driver is in use")
    assert "fuser -v /dev/nvidia*" in told.why


def test_what_is_gone_already_is_no_failure(prepared: Prepared) -> None:
    host = prepared.tree()
    assert host.do(Unload(module="gdrdrv")) is None
    for step in (RemovePidFile(), ForgetDigest(), RemovePidFile(), ForgetDigest()):
        assert host.do(step) is None
    assert (host.look().digest, host.look().has_pid_file) == ("", False)


def test_mounts_go_from_the_deepest_up_also_where_two_are_at_one_place(prepared: Prepared) -> None:
    prepared.mount("/run/nvidia/driver", "/run/nvidia/driver/a b", "/run/nvidia/driver", "/run/nvidia/drivers")
    host = prepared.tree()
    assert host.look().mounts == ("/run/nvidia/driver/a b", "/run/nvidia/driver", "/run/nvidia/driver")
    for _ in range(3):
        assert host.do(Unmount(path=host.look().mounts[0])) is None
    assert host.look().mounts == ()


def test_a_busy_mount_stays_and_it_is_told_who_to_look_for(prepared: Prepared) -> None:
    prepared.busy.add(str(prepared.root / "run/nvidia/driver"))
    told = prepared.tree().do(Unmount(path="/run/nvidia/driver"))
    assert told == Turned(
        why="/run/nvidia/driver could not be unmounted: Device or resource busy. "
        "`fuser -vm /run/nvidia/driver` on the node says who uses it."
    )


def test_gpus_and_switches_are_taken_from_their_driver_and_nobody_else(prepared: Prepared) -> None:
    card = prepared.device(GPU, driver="vfio-pci")
    switch = prepared.device("0000:18:00.0", kind="0x068000", driver="nvidia")
    prepared.device("0000:19:00.0")
    disk = prepared.device("0000:20:00.0", vendor="0x144d", kind="0x010802", driver="nvme")
    host = prepared.tree()
    assert host.look().bound == (GPU, "0000:18:00.0")
    assert host.do(Unbind(devices=host.look().bound)) is None
    assert (card / "driver" / "unbind").read_text() == GPU
    assert (switch / "driver" / "unbind").read_text() == "0000:18:00.0"
    assert (card / "driver_override").read_text() == "\n"
    assert (disk / "driver" / "unbind").read_text() == ""


def test_the_sound_of_a_graphics_card_goes_where_its_card_goes(prepared: Prepared) -> None:
    card = prepared.device(GPU, kind="0x030000", driver="vfio-pci")
    prepared.device("0000:17:00.1", kind="0x040300", driver="vfio-pci")
    (card / "consumer:pci:0000:17:00.1").touch()
    assert prepared.tree().look().bound == (GPU, "0000:17:00.1")


def test_a_device_that_nobody_has_is_left_alone(prepared: Prepared) -> None:
    prepared.device(GPU)
    assert prepared.tree().look().bound == ()
    assert prepared.tree().do(Unbind(devices=(GPU, "0000:99:00.0"))) is None


def test_the_network_driver_is_seen_by_its_card_its_file_and_its_module(prepared: Prepared) -> None:
    prepared.device("0000:21:00.0", vendor="0x15b3", kind="0x020000", driver="mlx5_core")
    seen = prepared.tree().look()
    assert (seen.has_mellanox, seen.has_mofed, seen.has_host_mofed) == (True, False, False)
    prepared.write("run/mellanox/drivers/.driver-ready", "")
    prepared.write("proc/modules", "mlx5_core_odd 1 0 - Live 0x0\n")
    assert prepared.tree().look().has_mofed
    assert not prepared.tree().look().has_host_mofed
    prepared.write("proc/modules", "mlx5_ib 1 0 - Live 0x0\nmlx5_core 1 1 mlx5_ib, Live 0x0\n")
    assert prepared.tree().look().has_host_mofed


def test_the_hosts_own_driver_is_asked_for_where_its_programs_are(prepared: Prepared) -> None:
    prepared.smi = "580.105.08"
    assert prepared.tree().host_driver() == "580.105.08"
    assert prepared.calls == ["nvidia-smi in host"]


def test_what_is_not_mounted_is_told(prepared: Prepared) -> None:
    assert prepared.tree().lacking() == ()
    for folder in ("run/nvidia", "sys/module", "host"):
        shutil.rmtree(prepared.root / folder)
    told = prepared.tree().lacking()
    assert len(told) == 3
    assert "mountPropagation Bidirectional" in told[0]
    assert "--host-root" in told[2]
