"""A query of somebody's own: the name of the node gets into its texts and nowhere else, and answers become figures."""

from __future__ import annotations

import json
import math

import pytest

from seatrial.adapters.prometheus import answers, asking
from seatrial.adapters.prometheus.answers import Sample
from seatrial.adapters.prometheus.errors import PrometheusError, PrometheusRefused, PrometheusTooMuch, PrometheusUnclear
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import Gate, Metric

RATE = Gate(name="rate", prometheus=Metric(query="rate", unit="1/s", at_most=1.0))


@pytest.mark.parametrize(
    ("query", "node", "asked"),
    [
        ('up{node="$node"}', "gpu-1", 'up{node="gpu-1"}'),
        ("up{node='$node'}", "gpu-1", "up{node='gpu-1'}"),
        ("up{node=`$node`}", "gpu-1", "up{node=`gpu-1`}"),
        ('up{node=~"$node:.*"}', "gpu.1", 'up{node=~"gpu\\\\.1:.*"}'),
        ("up{node!~`$node`}", "gpu.1", "up{node!~`gpu\\.1`}"),
        ('up{node="$node"}', 'a"} or vector(1) #', 'up{node="a\\"} or vector(1) #"}'),
        ("up{node='$node'}", "a'\\", "up{node='a\\'\\\\'}"),
        ('up{node="$node"}', "a\nb", 'up{node="a\\nb"}'),
        ('a{n="$node"} / on () b{n="$node",x="\\"$"}', "g", 'a{n="g"} / on () b{n="g",x="\\"$"}'),
        ('max(up) # of $node, "quoted', "gpu-1", 'max(up) # of $node, "quoted'),
        ("max(up)", "gpu-1", "max(up)"),
    ],
)
def test_a_name_stands_in_a_text_and_cannot_end_it(query: str, node: str, asked: str) -> None:
    assert asking.put_in(query, node) == asked


@pytest.mark.parametrize(
    ("query", "node"),
    [("up{node=$node}", "gpu-1"), ('up{node="$node}', "gpu-1"), ("$node", "gpu-1"), ("up{node=`$node`}", "a`b")],
)
def test_a_name_that_would_stand_elsewhere_is_refused(query: str, node: str) -> None:
    with pytest.raises(PrometheusRefused):
        asking.put_in(query, node)


def test_every_series_is_a_figure_of_its_gpu_under_the_gates_name() -> None:
    samples = (
        Sample(labels={"UUID": "GPU-1", "GPU_I_ID": "2"}, value=0.5),
        Sample(labels={"gpu": "3"}, value=0.25),
        Sample(labels={}, value=0.0),
    )
    found = asking.figures_of(RATE, "gpu-1", samples, 7.0)
    assert found[0] == Figure(name="rate", value=0.5, unit="1/s", node="gpu-1", gpu="GPU-1/2", at=7.0)
    assert [each.gpu for each in found] == ["GPU-1/2", "index 3", ""]


def test_no_series_and_one_that_is_no_number_are_told_as_not_measured() -> None:
    (empty,) = asking.figures_of(RATE, "gpu-1", (), 7.0)
    assert isinstance(empty, Unmeasured)
    assert empty.why.startswith("there is no series")
    strange = (Sample(labels={"UUID": "GPU-1"}, value=math.nan), Sample(labels={}, value=9223372036854775792.0))
    assert all(isinstance(each, Unmeasured) for each in asking.figures_of(RATE, "gpu-1", strange, 7.0))


def test_more_series_than_a_node_can_have_are_no_answer() -> None:
    with pytest.raises(PrometheusTooMuch, match="sum them up"):
        asking.figures_of(RATE, "gpu-1", (Sample(labels={}, value=1.0),) * (asking.SERIES_MAX + 1), 7.0)


def an_answer(kind: str, result: object, **more: object) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more}).encode()


def test_a_vector_and_a_scalar_are_read() -> None:
    vector = an_answer("vector", [{"metric": {"a": "b"}, "value": [1.0, "2.5"]}, {"metric": {}, "value": [1.0, "NaN"]}])
    first, second = answers.samples(vector)
    assert first == Sample(labels={"a": "b"}, value=2.5)
    assert math.isnan(second.value)
    assert answers.samples(an_answer("scalar", [1.0, "3"])) == (Sample(labels={}, value=3.0),)


@pytest.mark.parametrize(
    "body",
    [
        an_answer("matrix", []),
        an_answer("string", [1.0, "a"]),
        an_answer("scalar", [1.0, "a"]),
        an_answer("vector", [], warnings=["a store is away"]),
        b"<html>",
    ],
    ids=["a matrix", "a text", "no number", "less than all", "a page"],
)
def test_an_answer_of_another_shape_is_none(body: bytes) -> None:
    with pytest.raises(PrometheusUnclear):
        answers.samples(body)
    assert issubclass(PrometheusUnclear, PrometheusError)
