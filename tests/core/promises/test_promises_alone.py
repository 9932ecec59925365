"""Each promise notices by itself that a rule it guards is broken: every other promise is switched off.

Without the mistake the same story breaks no promise at all.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seatrial.core.promises.invariants import PROMISES
from tests.core.promises.alone import campaigns, fleets, nodes
from tests.core.promises.alone.rules import Row, Story, breaches_in, breaches_with

ROWS = (*fleets.ROWS, *nodes.ROWS, *campaigns.ROWS)
STORIES = tuple(dict.fromkeys(row.story for row in ROWS))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.promise.__name__}: {row.wrong}" for row in ROWS])
def test_a_promise_alone_notices_that(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    assert breaches_with(monkeypatch, row) == {row.promise.__name__.removesuffix("_kept")}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_without_a_mistake_no_promise_is_broken_in(story: Callable[[], Story]) -> None:
    assert breaches_in(story()) == ()


def test_every_promise_has_a_broken_rule_that_it_notices() -> None:
    assert {row.promise for row in ROWS} == set(PROMISES)
