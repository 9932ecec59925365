"""Errors as what has grown, and Xids as the kernel tells them."""

from __future__ import annotations

from typing import Any

from seatrial.probes.payloads import gpu_errors
from seatrial.probes.payloads.report import Notes

LINES = [
    "4,1207,8412,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "6,1208,8413,-;usb 1-1: new device",
    "4,1209,8414,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=python",
    "4,1210,8415,-;NVRM: Xid (PCI:0000:5e:00): 48, pid=1, name=python, DBE (double bit error)",
]


def noted(**values: float) -> Notes:
    notes = Notes()
    for name, value in values.items():
        notes.measure(name.replace("_", "-"), value, "errors", gpu="GPU-1")
    return notes


def earlier(**values: float) -> dict[str, Any]:
    return noted(**values).report("gpu-errors", "", 0.0).document()


def grown(notes: Notes, since: dict[str, Any]) -> dict[str, float]:
    gpu_errors._tell_growth(since, notes)
    return {each.name: each.value for each in notes.measured if each.name.endswith("-since")}


def test_xids_are_counted_by_gpu_and_number() -> None:
    assert gpu_errors.xids(LINES) == {("0000:3b:00", "79"): 2, ("0000:5e:00", "48"): 1}


def test_an_old_count_is_no_growth() -> None:
    assert grown(noted(ecc_uncorrected_aggregate=40), earlier(ecc_uncorrected_aggregate=40)) == {
        "ecc-uncorrected-aggregate-since": 0
    }


def test_growth_is_told() -> None:
    assert grown(noted(ecc_corrected_volatile=7), earlier(ecc_corrected_volatile=4)) == {
        "ecc-corrected-volatile-since": 3
    }


def test_a_counter_that_a_reload_has_cleared_counts_from_nought() -> None:
    assert grown(noted(ecc_corrected_volatile=2), earlier(ecc_corrected_volatile=9)) == {
        "ecc-corrected-volatile-since": 2
    }


def test_a_first_xid_is_growth_although_the_earlier_report_names_none() -> None:
    assert grown(noted(xid_79=1), earlier(ecc_corrected_volatile=0))["xid-79-since"] == 1


def test_a_figure_that_the_earlier_report_lacks_is_unknown() -> None:
    notes = noted(rows_remapped=1)
    assert grown(notes, earlier(ecc_corrected_volatile=0)) == {}
    assert [each.name for each in notes.unknown] == ["rows-remapped-since"]


def test_a_gpu_that_is_gone_since_the_earlier_look_is_broken() -> None:
    notes = Notes()
    notes.measure("ecc-corrected-volatile", 0, "errors", gpu="GPU-2")
    gpu_errors._tell_growth(earlier(ecc_corrected_volatile=0), notes)
    assert [(each.gpu, each.why) for each in notes.broken] == [
        ("GPU-1", "it was there at the earlier look, and is gone")
    ]
