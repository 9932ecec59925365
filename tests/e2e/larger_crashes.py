"""Six nodes whose controller is killed after every write: `make crashes` plays it, and keeps the count of its lives."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.machine import keep, machine

from tests.e2e.campaigns import KINDS
from tests.e2e.campaigns import NODES as SIX
from tests.e2e.crashes import check_promoted, mortal, play_through

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.slow]

LIVES_MAX = 300


@pytest.mark.parametrize("kind", KINDS)
def test_six_nodes_killed_after_every_write_come_to_the_same_end(kind: str, tmp_path: Path) -> None:
    started_on = machine()
    with mortal(tmp_path, kind, node_count=SIX) as (stage, lives):
        waves = {"growth": "percentages", "percentages": [40, 100]}
        seconds = play_through(stage, lives, lives_max=LIVES_MAX, waves=waves)
        check_promoted(stage, lives)
        result = {
            "machine": started_on,
            "kind": kind,
            "nodes": SIX,
            "lives": len(lives.deaths),
            "seconds": round(seconds),
            "died_of": lives.kinds(),
            "answers": {str(code): count for code, count in sorted(lives.answers.items())},
            "log": stage.remote_log(),
            "tags": stage.tags(),
        }
    keep(f"crashes-{kind}", result)
