"""Proof: what is excluded so far, how long it still takes, and that hours without data prove nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence, watched
from seatrial.core.judging.exposure import UTILISATION
from seatrial.core.judging.proof import proven
from seatrial.core.judging.stretches import stretch_of
from seatrial.core.model.gates.gate import GateVerdict
from tests.core.upgrades import a_series, an_upgrade, some_telemetry

ROUND_HOURS = 0.5


def baked(minutes: int, use: float = 80.0, *, hours: float = 2.0, rounds: int = 6) -> Evidence:
    """So many minutes with data, of so many hours."""
    seen = some_telemetry(a_series(UTILISATION, values=[use] * (minutes + 1)), until=hours * 3600)
    found = an_upgrade(rounds=rounds)
    return replace(found, exposed=watched(found.exposed, stretch_of(seen, ["c"]), with_pods=["c"]))


def test_a_proof_says_what_it_excludes_and_for_how_long_it_looked() -> None:
    found = proven(baked(60), Asked(), ROUND_HOURS)
    assert found.verdict is GateVerdict.PASSED
    assert found.excluded is not None
    assert 0.005 < found.excluded < 0.03
    assert (found.hours, found.loaded_gpu_hours, found.load) == pytest.approx((1.0, 1.0, 1.0))
    assert (found.needed_hours, found.spoke) == (0.0, ())


def test_two_hours_of_which_one_was_watched_do_not_pass_as_two() -> None:
    asked = replace(Asked(), hours=2.0)
    half, whole = proven(baked(60), asked, ROUND_HOURS), proven(baked(120), asked, ROUND_HOURS)
    assert half.verdict is GateVerdict.PENDING
    assert half.needed_hours == pytest.approx(1.0)
    assert (whole.verdict, whole.needed_hours) == (GateVerdict.PASSED, 0.0)


def test_an_idle_canary_does_not_pass_where_load_is_asked_for() -> None:
    asked = replace(Asked(), load_min=0.5)
    idle = proven(baked(60, use=1.0), asked, ROUND_HOURS)
    assert (idle.verdict, idle.needed_hours, idle.load) == (GateVerdict.PENDING, None, 0.0)
    assert proven(baked(60), asked, ROUND_HOURS).verdict is GateVerdict.PASSED
    assert proven(baked(60, use=1.0), Asked(), ROUND_HOURS).verdict is GateVerdict.PASSED


def test_hours_do_not_outweigh_a_loss_or_what_is_unknown() -> None:
    asked = replace(Asked(), hours=2.0)
    assert proven(an_upgrade(losses={"c": 0.03}), asked, ROUND_HOURS).verdict is GateVerdict.FAILED
    assert proven(an_upgrade(baseline=1), asked, ROUND_HOURS).verdict is GateVerdict.UNKNOWN
    assert proven(Evidence(), asked, ROUND_HOURS).verdict is GateVerdict.UNKNOWN


def test_the_time_still_needed_comes_true() -> None:
    """Projected from few rounds of which the noise is known, and played."""
    quiet: dict[str, Any] = {"spread": 0.008, "baseline": 12, "seed": 3}
    early = proven(an_upgrade(rounds=2, **quiet), Asked(), ROUND_HOURS)
    assert early.verdict is GateVerdict.PENDING
    assert early.needed_hours is not None
    further = round(early.needed_hours / ROUND_HOURS)
    assert 1 <= further <= 40
    later = proven(an_upgrade(rounds=2 + 2 * further, **quiet), Asked(), ROUND_HOURS)
    assert later.verdict is GateVerdict.PASSED


def test_what_a_bad_baseline_can_never_exclude_has_no_time() -> None:
    found = proven(an_upgrade(spread=0.05, rounds=30), Asked(), ROUND_HOURS)
    assert (found.verdict, found.needed_hours) == (GateVerdict.PENDING, None)


def test_a_longer_bake_excludes_more() -> None:
    found = [proven(an_upgrade(rounds=count), Asked(), ROUND_HOURS).excluded or 1.0 for count in (2, 6, 30)]
    assert found == sorted(found, reverse=True)
    assert proven(an_upgrade(rounds=0), Asked(), ROUND_HOURS).excluded is None
