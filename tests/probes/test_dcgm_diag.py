"""What dcgmi's documents say, in the two shapes it has had. The documents are written after NVIDIA's description."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads import dcgm_diag
from seatrial.probes.payloads.report import Notes


def read(document: dict[str, Any], before: str = "") -> Notes:
    notes = Notes()
    dcgm_diag.read(before + json.dumps(document), "", notes)
    return notes


def four(*results: dict[str, Any], name: str = "memory") -> dict[str, Any]:
    tests = [{"name": name, "results": [{"entity_group": "GPU", **each} for each in results]}]
    return {"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": tests}]}}


def three(status: str) -> dict[str, Any]:
    tests = [{"name": "Denylist", "results": [{"gpu_ids": "0,1", "status": status}]}, None]
    return {"DCGM GPU Diagnostic": {"test_categories": [{"category": "Deployment", "tests": tests}]}}


def test_passes_are_counted_in_both_shapes() -> None:
    for document in (four({"entity_id": 0, "status": "Pass"}), three("PASS")):
        notes = read(document)
        assert [(each.name, each.value) for each in notes.measured] == [("tests-passed", 1)]
        assert not notes.broken


def test_a_failure_is_broken_with_its_words_and_its_gpu() -> None:
    warnings = [{"error_id": 29, "warning": "2 uncorrectable errors"}]
    notes = read(four({"entity_id": 3, "status": "Fail", "warnings": warnings}, {"entity_id": 0, "status": "Pass"}))
    assert [(each.name, each.gpu, each.why) for each in notes.broken] == [("memory", "GPU 3", "2 uncorrectable errors")]


def test_a_warning_is_no_pass() -> None:
    assert [each.name for each in read(three("WARN")).unknown] == ["Denylist"]


def test_a_status_nobody_knows_is_no_pass() -> None:
    assert read(four({"entity_id": 0, "status": "Excellent"})).unknown[0].why == "its status is excellent"


def test_a_run_in_which_everything_was_skipped_ran_no_test() -> None:
    with pytest.raises(Unmeasurable, match="ran no test"):
        read(four({"entity_id": 0, "status": "Skip"}))


def test_a_document_after_a_warning_line_is_read() -> None:
    assert read(three("PASS"), before="Warning: something\n").measured


def test_no_document_tells_what_dcgmi_said_instead() -> None:
    with pytest.raises(Unmeasurable, match="unable to connect to host engine"):
        dcgm_diag.read("", "Error: unable to connect to host engine\n", Notes())


def test_an_error_of_the_run_is_unknown() -> None:
    document = four({"entity_id": 0, "status": "Pass"})
    document["DCGM Diagnostic"]["runtime_error"] = "nvvs is not installed"
    assert [each.why for each in read(document).unknown] == ["nvvs is not installed"]
