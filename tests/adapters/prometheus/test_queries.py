"""Queries: samples of named nodes and nothing computed; and the table of DCGM exporter's names."""

from __future__ import annotations

from seatrial.adapters.prometheus import dcgm, queries
from seatrial.core.model.gates.signals import SIGNALS
from tests.adapters.prometheus.stage import a_query


def test_a_selector_names_its_nodes_and_a_dot_is_a_dot() -> None:
    query = a_query("DCGM_FI_DEV_GPU_UTIL")
    assert query.selector("Hostname", {"b.example", "a"}, 'job="dcgm"') == (
        '{__name__=~"(DCGM_FI_DEV_GPU_UTIL)",Hostname=~"(a|b\\\\.example)",job="dcgm"}'
    )


def test_an_address_may_have_a_port() -> None:
    assert 'instance=~"(a)(:[0-9]+)?"' in a_query("x").selector("instance", {"a"})


def test_samples_are_asked_for_by_the_millisecond() -> None:
    assert queries.over("{}", 90.0) == "{}[90000ms]"
    assert queries.over("{}", 0.0) == "{}[1ms]"


def test_every_signal_is_told_by_dcgm_exporter_and_by_one_row() -> None:
    assert [each.signal for each in dcgm.METRICS] == list(SIGNALS)
    told = [name for each in dcgm.METRICS for name in each.names]
    assert len(told) == len({*told})
    assert all(name.startswith("DCGM_FI_") for name in told)
