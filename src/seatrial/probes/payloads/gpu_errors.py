"""gpu-errors: what went wrong inside the GPUs, as increases since an earlier look where there is one.

A counter that stands at 40 since last year says nothing about an upgrade; one that has grown since the baseline does.
What is bad at any height (a remapping that failed, one that waits for a reset) is told at once.
Tests: tests/probes/test_gpu_errors.py; results of a real GPU in bench/results
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from seatrial.probes.measuring import nvml
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

KMSG_BYTES_MAX: Final = 8192
XID: Final = re.compile(r"NVRM: Xid \(PCI:(?P<bus>[^)]+)\): (?P<number>\d+)")
COUNTERS: Final = (
    ("ecc-corrected-volatile", "CORRECTED", "VOLATILE"),
    ("ecc-uncorrected-volatile", "UNCORRECTED", "VOLATILE"),
    ("ecc-corrected-aggregate", "CORRECTED", "AGGREGATE"),
    ("ecc-uncorrected-aggregate", "UNCORRECTED", "AGGREGATE"),
)
RETIRED: Final = (
    ("pages-retired-single-bit", "NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS"),
    ("pages-retired-double-bit", "NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR"),
)
SINCE: Final = "-since"


def look(options: Options, notes: Notes) -> None:
    with nvml.opened() as machine:
        for gpu in machine.gpus:
            _look_at_counters(gpu, notes)
            _look_at_rows(gpu, notes)
            _look_at_clocks(gpu, notes)
    _look_for_xids(options, notes)
    if options.since is not None:
        _tell_growth(options.since, notes)


def _look_at_counters(gpu: nvml.Gpu, notes: Notes) -> None:
    library = gpu.nvml
    for name, kind, span in COUNTERS:
        which = getattr(library, f"NVML_MEMORY_ERROR_TYPE_{kind}"), getattr(library, f"NVML_{span}_ECC")
        found = gpu.ask("nvmlDeviceGetTotalEccErrors", *which)
        if found is None:
            notes.misses(name, "this GPU does not report it: ECC is off, or the product has none", gpu=gpu.uuid)
        else:
            notes.measure(name, found, "errors", gpu=gpu.uuid)
    for name, cause in RETIRED:
        pages = gpu.ask("nvmlDeviceGetRetiredPages", getattr(library, cause))
        if pages is not None:  # products that remap rows retire no pages
            notes.measure(name, len(pages), "pages", gpu=gpu.uuid)


def _look_at_rows(gpu: nvml.Gpu, notes: Notes) -> None:
    rows = gpu.ask("nvmlDeviceGetRemappedRows")
    if rows is None:
        return  # before Ampere rows are not remapped; pages are retired instead
    corrected, uncorrected, is_pending, has_failed = rows
    notes.measure("rows-remapped-corrected", corrected, "rows", gpu=gpu.uuid)
    notes.measure("rows-remapped-uncorrected", uncorrected, "rows", gpu=gpu.uuid)
    if is_pending:
        notes.breaks("rows-remapped", "a row waits to be remapped; the GPU has to be reset", gpu=gpu.uuid)
    if has_failed:
        notes.breaks("rows-remapped", "a row could not be remapped; the GPU has to be exchanged", gpu=gpu.uuid)


def _look_at_clocks(gpu: nvml.Gpu, notes: Notes) -> None:
    held = gpu.held_back()
    if held is None:
        notes.misses("held-back", "this GPU does not report what holds its clocks back", gpu=gpu.uuid)
        return
    for word in ("hardware-slowdown", "hardware-thermal", "power-brake"):
        if word in held:
            notes.breaks("held-back", f"the clocks are held back: {word}", gpu=gpu.uuid)


def _look_for_xids(options: Options, notes: Notes) -> None:
    file = options.root / "dev/kmsg"
    try:
        lines = _kernel_log(str(file))
    except OSError as err:
        notes.misses("xid", f"{file} cannot be read ({err.strerror}); it needs the host's kernel log")
        return
    for (bus, number), count in sorted(xids(lines).items()):
        notes.measure(f"xid-{number}", count, "errors", gpu=bus)
    notes.measure("xid", sum(xids(lines).values()), "errors")


def xids(lines: list[str]) -> Counter[tuple[str, str]]:
    """How often the kernel has told which Xid, by GPU."""
    return Counter((found["bus"], found["number"]) for line in lines if (found := XID.search(line)))


def _kernel_log(path: str) -> list[str]:
    """What the kernel's ring buffer holds: every read gives one record, until there is none."""
    import os

    handle, lines = os.open(path, os.O_RDONLY | os.O_NONBLOCK), list[str]()
    try:
        while record := os.read(handle, KMSG_BYTES_MAX):
            lines += record.decode(errors="replace").splitlines()
    except BlockingIOError:
        pass
    finally:
        os.close(handle)
    return lines


def _tell_growth(since: dict[str, Any], notes: Notes) -> None:
    """What has grown since an earlier report; a counter that fell was cleared by a reload, and counts from nought."""
    before = {(each["name"], each.get("gpu", "")): each["value"] for each in since.get("measured", ())}
    for each in list(notes.measured):
        if each.unit not in ("errors", "rows", "pages"):
            continue
        earlier = before.get((each.name, each.gpu), 0 if each.name.startswith("xid") else None)
        if earlier is None:
            notes.misses(each.name + SINCE, "the earlier report has no such figure", gpu=each.gpu)
            continue
        grown = each.value - earlier if each.value >= earlier else each.value
        notes.measure(each.name + SINCE, grown, each.unit, gpu=each.gpu)
    gone = {gpu for name, gpu in before if gpu} - {each.gpu for each in notes.measured}
    for gpu in sorted(name for name in gone if name.startswith("GPU-")):
        notes.breaks("gpu", "it was there at the earlier look, and is gone", gpu=gpu)
