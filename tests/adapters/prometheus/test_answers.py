"""Answers of a Prometheus: read whole, or not at all."""

from __future__ import annotations

import msgspec
import pytest

from seatrial.adapters.prometheus import answers
from seatrial.adapters.prometheus.answers import Strand
from seatrial.adapters.prometheus.errors import PrometheusUnclear


def samples(*values: tuple[float, str], **more: object) -> bytes:
    data = {"resultType": "matrix", "result": [{"metric": {"gpu": "0"}, "values": values}]}
    return msgspec.json.encode({"status": "success", "data": data, **more})


def test_samples_keep_their_moments() -> None:
    [found] = answers.strands(samples((1.25, "90"), (2.5, "9.5e1")))
    assert found == Strand(labels={"gpu": "0"}, points=((1.25, 90.0), (2.5, 95.0)))


@pytest.mark.parametrize(
    "text",
    [
        *("NaN", "+Inf", "-Inf"),
        *(str(first + why) for first in (0x7FFFFFF0, 0x7FFFFFFFFFFFFFF0, 2**47) for why in range(4)),
    ],
)
def test_what_is_no_number_and_what_dcgm_says_for_not_told_is_no_sample(text: str) -> None:
    [found] = answers.strands(samples((1.0, "90"), (2.0, text)))
    assert found.points == ((1.0, 90.0),)


@pytest.mark.parametrize("text", ["2147483631", "2147483636", "140737488355327", "140737488355332"])
def test_a_number_beside_those_that_dcgm_has_for_not_told_is_a_sample(text: str) -> None:
    [found] = answers.strands(samples((1.0, text)))
    assert found.points == ((1.0, float(text)),)


def test_labels_are_fit_to_be_shown() -> None:
    said = {"metric": {"UUID": "GPU-1\x1b[2J", "no\nde": "x" * 5000}, "value": [1.0, "1"]}

    def answer(data: object) -> bytes:
        return msgspec.json.encode({"status": "success", "data": data})

    [strand] = answers.strands(answer({"resultType": "matrix", "result": [said]}))
    [sample] = answers.samples(answer({"resultType": "vector", "result": [said]}))
    [listed] = answers.series(answer([said["metric"]]))
    assert strand.labels == sample.labels == listed
    assert listed["UUID"] == "GPU-1"
    assert len(listed["no de"]) == answers.LABEL_LENGTH_MAX


def test_an_answer_with_a_warning_is_not_all_there_is() -> None:
    with pytest.raises(PrometheusUnclear, match=r"does not answer in full: store 10\.0\.0\.7 timed out"):
        answers.strands(samples((1.0, "90"), warnings=["store 10.0.0.7\ntimed out"]))


@pytest.mark.parametrize(
    "body", [b"", b"<html>Sign in</html>", b"[]", b"{}", b'{"status":"success","data":{"resultType":"vector"}}']
)
def test_another_shape_is_not_read(body: bytes) -> None:
    with pytest.raises(PrometheusUnclear, match="does not answer"):
        answers.strands(body)


def test_an_instant_where_samples_were_asked_for_is_not_taken_for_one() -> None:
    body = msgspec.json.encode({"status": "success", "data": {"resultType": "vector", "result": []}})
    with pytest.raises(PrometheusUnclear, match="answers with a vector"):
        answers.strands(body)


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("15s", 15.0), ("1m", 60.0), ("1m30s", 90.0), ("1h", 3600.0), ("x", 0.0)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert answers.duration(text) == seconds


def test_the_shortest_interval_of_a_job_counts() -> None:
    targets = [
        {"labels": {"job": "dcgm"}, "scrapeInterval": "30s", "health": "up"},
        {"labels": {"job": "dcgm"}, "scrapeInterval": "15s"},
        {"labels": {"job": "old"}},
    ]
    body = msgspec.json.encode({"status": "success", "data": {"activeTargets": targets, "droppedTargets": []}})
    assert answers.intervals(body) == {"dcgm": 15.0}
