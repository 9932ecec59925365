"""What a payload says, in full and in a kubelet's four kilobytes."""

from __future__ import annotations

import json

from seatrial.probes.payloads.report import TERMINATION_BYTES_MAX, Notes, Verdict


def test_nothing_measured_is_unknown() -> None:
    report = Notes().report("rdma", "2026-11-16T12:00:00+00:00", 0.0)
    assert report.verdict is Verdict.UNKNOWN
    assert report.why == "nothing was measured"


def test_one_missing_figure_makes_the_whole_unknown() -> None:
    notes = Notes()
    notes.measure("hbm-copy", 4200.0, "GB/s")
    notes.misses("matrix-fp8", "this PyTorch multiplies no fp8")
    assert notes.report("performance", "", 1.0).verdict is Verdict.UNKNOWN


def test_what_is_broken_outweighs_what_is_unknown() -> None:
    notes = Notes()
    notes.misses("xid", "no kernel log")
    notes.breaks("cuda", "CUDA error 802", gpu="device 3")
    report = notes.report("deep-readiness", "", 1.0)
    assert report.verdict is Verdict.FAILED
    assert report.why == "cuda on device 3: CUDA error 802"


def test_a_termination_message_fits_and_keeps_what_is_broken() -> None:
    notes = Notes()
    for number in range(200):
        notes.measure(f"figure-{number}", 1.0, "GB/s", gpu="GPU-1", under={"sm_mhz": 1980.0})
    notes.breaks("rows-remapped", "a row could not be remapped", gpu="GPU-1")
    message = notes.report("gpu-errors", "", 1.0).termination_message()
    found = json.loads(message)
    assert len(message.encode()) <= TERMINATION_BYTES_MAX
    assert found["cut"] is True
    assert found["verdict"] == "failed"
    assert [each["name"] for each in found["broken"]] == ["rows-remapped"]


def test_a_report_that_fits_is_not_cut() -> None:
    notes = Notes()
    notes.measure("gpus", 8)
    message = notes.report("deep-readiness", "", 0.0).termination_message()
    assert "cut" not in json.loads(message)
    assert json.loads(message)["seconds"] == 0.0


def test_a_value_of_nought_is_a_value() -> None:
    notes = Notes()
    notes.measure("answers-wrong", 0, "numbers")
    assert notes.report("smoke-infer", "", 1.0).document()["measured"] == [
        {"name": "answers-wrong", "value": 0, "unit": "numbers", "count": 1}
    ]


def test_of_many_gpus_the_lowest_and_the_highest_figure_stay_in_a_termination_message() -> None:
    notes = Notes()
    for name in ("hbm-copy", "matrix-bf16", "host-to-device"):
        for number in range(16):
            uuid = f"GPU-00000000-0000-0000-0000-0000000000{number:02}"
            notes.measure(name, 100.0 + number, "GB/s", gpu=uuid, low=99.0, high=120.0)
    found = json.loads(notes.report("performance", "", 1.0).termination_message())
    assert [each["value"] for each in found["measured"] if each["name"] == "hbm-copy"] == [100.0, 115.0]
    assert "cut" not in found
    assert found["summarised"] is True
