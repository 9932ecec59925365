"""rdma: the links of InfiniBand and RoCE devices as the kernel shows them.

Where there is no device, that is told as unknown: whether one should be there, a node's own past says. Who knows it
says so (`--expected`), and then a device that is gone is a failure.
Bandwidth is not measured here. Tests: tests/probes/test_rdma.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

NAMESPACED: Final = "sys/module/ib_core/parameters/netns_mode"
"""Y where every pod sees every device (the kernel's default), N where each belongs to one network namespace."""
ACTIVE: Final = "4: ACTIVE"
LINK_UP: Final = "5: LinkUp"
COUNTERS: Final = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)
HARDWARE_COUNTERS: Final = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err")


def look(options: Options, notes: Notes) -> None:
    folder = options.root / "sys/class/infiniband"
    devices = sorted(folder.iterdir()) if folder.is_dir() else []
    if not devices and _read(options.root / NAMESPACED) == "N":
        raise Unmeasurable("InfiniBand and RoCE devices belong to network namespaces here, and none is in the pod's")
    if not devices and options.expected:
        notes.breaks("link", "the InfiniBand or RoCE devices that this node has shown before are gone")
    elif not devices:
        raise Unmeasurable("this node shows no InfiniBand or RoCE device")
    for device in devices:
        for port in sorted((device / "ports").iterdir(), key=lambda each: int(each.name)):
            _look_at(port, f"{device.name}/{port.name}", notes)


def _look_at(port: Path, name: str, notes: Notes) -> None:
    state, physical = _read(port / "state"), _read(port / "phys_state")
    notes.measure("link-active", int(state == ACTIVE), gpu=name)
    if state != ACTIVE:
        notes.breaks("link", f"the port is {state or 'unreadable'}, its line {physical or 'unreadable'}", gpu=name)
    elif physical not in (LINK_UP, ""):
        notes.breaks("link", f"the port is active, its line {physical}", gpu=name)
    rate = _read(port / "rate").partition(" ")[0]
    if rate:
        notes.measure("link-rate", float(rate), "Gb/s", gpu=name)
    else:
        notes.misses("link-rate", "the kernel reports no rate", gpu=name)
    for folder, counters in (("counters", COUNTERS), ("hw_counters", HARDWARE_COUNTERS)):
        for counter in counters:
            text = _read(port / folder / counter)
            if text.isdecimal():
                notes.measure(counter.replace("_", "-"), int(text), "errors", gpu=name)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:  # a counter that this device does not keep
        return ""
