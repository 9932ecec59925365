"""What is told of a node and its DRA plugin."""

from __future__ import annotations

import pytest

from seatrial.core.movers.dra import words
from seatrial.core.movers.dra.values import DraSeen, PluginSet, Reroll, Stand, Standing, Why
from tests.core.dra_stage import look, settled


@pytest.mark.parametrize("why", Why)
def test_every_reason_has_a_sentence_and_a_next_step(why: Why) -> None:
    told = Standing(node="n1", stand=Stand.PENDING, why=why, about="it")
    for text in (words.why(told), words.what_next(told)):
        assert text
        assert "{" not in text
        assert not text.endswith(".")


def test_a_version_that_no_image_tells_is_called_so() -> None:
    assert words.why(Standing(node="n1", stand=Stand.FRESH, why=Why.YOUNGER)) == (
        "its plugin started after driver of unknown version"
    )


def test_a_deletion_is_announced_with_its_pod() -> None:
    act = Reroll(node="n1", namespace="dra", pod="plugin-n1", uid="1")
    assert words.announced(act) == "n1: deletes DRA plugin dra/plugin-n1, and its DaemonSet starts a new one"


def test_a_tally_counts_the_nodes() -> None:
    stands = (Stand.FRESH, Stand.STALE, Stand.FRESH)
    assert words.tally(Standing(node="n", stand=each, why=Why.OLDER) for each in stands) == "2 fresh, 1 stale"
    assert words.tally(()) == "no node with a DRA plugin"


def test_that_there_is_no_dra_driver_is_told_with_where_it_was_looked_for() -> None:
    assert words.no_driver(["a", "b"], DraSeen(nodes={})) == "There is no DRA driver in a, b. Nothing to restart."


def test_a_daemonset_that_chooses_no_node_is_named() -> None:
    seen = look(settled(dra=None), plugins=(PluginSet(namespace="dra", name="plugin"),))
    assert words.no_driver(["dra"], seen) == "No DRA plugin runs: dra/plugin selects no node. Nothing to restart."
