"""What a gate's container leaves as termination message, and what is made of it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.kube.reading.gates import reports as gate_reports
from seatrial.adapters.kube.reading.gates.reports import GateReport, Unreadable
from seatrial.core.model.gates.figures import Unmeasured
from seatrial.probes.payloads.report import Notes


def read(text: str) -> GateReport | Unreadable | None:
    return gate_reports.read(text, node="n1", at=5.0)


def test_what_a_payload_of_ours_writes_is_read_whole() -> None:
    notes = Notes()
    notes.measure("hbm-copy", 4240.0, "GB/s", gpu="GPU-1", spread=0.0026, low=4230.0, high=4250.0, count=60)
    notes.breaks("cuda", "CUDA error 802", gpu="GPU-3")
    notes.misses("xid", "no kernel log")
    found = read(notes.report("performance", "2026-11-16T12:00:00+00:00", 1.0).termination_message())
    assert isinstance(found, GateReport)
    (figure,) = found.measured
    assert (figure.name, figure.gpu, figure.value, figure.unit, figure.low, figure.at) == (
        "hbm-copy",
        "GPU-1",
        4240.0,
        "GB/s",
        4230.0,
        5.0,
    )
    assert found.broken == (Unmeasured(name="cuda", node="n1", gpu="GPU-3", why="CUDA error 802"),)
    assert found.unknown == (Unmeasured(name="xid", node="n1", why="no kernel log"),)


def test_the_driver_that_nvml_reports_is_read_also_where_nothing_was_measured() -> None:
    found = read(Notes().report("smoke-train", "", 1.0, driver="580.105.08").termination_message())
    assert isinstance(found, GateReport)
    assert found.driver == "580.105.08"
    assert isinstance(read('{"driver": ""}'), Unreadable)


def test_circumstances_are_kept() -> None:
    notes = Notes()
    notes.measure("hbm-copy", 1.0, under={"sm_mhz": 1980.0, "held_back": "power"})
    found = read(json.dumps(notes.report("performance", "", 1.0).document()))
    assert isinstance(found, GateReport)
    assert found.measured[0].under == {"sm_mhz": 1980.0}
    assert found.measured[0].held_back == "power"


@pytest.mark.parametrize("text", ["", "all well", "[1, 2]", "null", "42"])
def test_what_is_no_document_is_no_report(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"measured": 4}',
        '{"more": ' + "[" * 1500 + "]" * 1500 + "}",
        '{"measured": [{"name": "x"}]}',
        '{"measured": [{"name": "x", "value": "fast"}]}',
        '{"broken": ["x"]}',
        '{"verdict": "measured"}',
        json.dumps({"measured": [{"name": f"f{number}", "value": 1} for number in range(300)]}),
    ],
)
def test_what_began_as_a_report_and_is_none_says_why(text: str) -> None:
    found = read(text)
    assert isinstance(found, Unreadable)
    assert found.why.startswith("its result ")


def a_long_report(**more: object) -> str:
    """A report that a kubelet does not keep whole."""
    measured = [{"name": f"figure-{number}", "value": number} for number in range(200)]
    return json.dumps({"broken": [{"name": "nvlink", "why": "link 3 is down"}], "measured": measured, **more})


@pytest.mark.parametrize("text", [a_long_report(), a_long_report(at="é" * 40), a_long_report() + "\n"])
def test_a_report_that_lost_its_beginning_is_no_report_of_a_success(text: str) -> None:
    kept = text.encode()[-gate_reports.BYTES_MAX :].decode(errors="replace")
    assert read(kept) == Unreadable(why="its result is longer than the 4096 bytes that a kubelet keeps")


def test_one_that_was_cut_where_an_entry_begins_is_too_long_as_well() -> None:
    kept = '{"name": "figure", "value": 1}, ' * 200 + "]}"
    assert read(kept) == Unreadable(why="its result is longer than the 4096 bytes that a kubelet keeps")


def test_a_long_text_is_no_report() -> None:
    assert read("all well. " * 1000) is None


def test_words_of_others_cannot_do_harm() -> None:
    found = read(json.dumps({"measured": [{"name": "a\x1b[31m\nb", "value": 1, "unit": "x" * 500}]}))
    assert isinstance(found, GateReport)
    assert "\x1b" not in found.measured[0].name
    assert len(found.measured[0].unit) <= gate_reports.NAME_MAX
    told = read(json.dumps({"broken": [{"name": "a\nb", "why": "\x1b]0;t\x07" + "w" * 900}]}))
    assert isinstance(told, GateReport)
    assert "\n" not in told.broken[0].name
    assert "\x1b" not in told.broken[0].why
    assert len(told.broken[0].why) <= gate_reports.TEXT_MAX


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["measured", "broken", "name", "value"]), inner),
)


@given(st.text() | ANYTHING.map(json.dumps))
def test_whatever_is_there_is_read_or_refused(text: str) -> None:
    found = read(text)
    assert found is None or isinstance(found, GateReport | Unreadable)
    if isinstance(found, GateReport):
        assert all(math.isfinite(each.value) for each in found.measured)
