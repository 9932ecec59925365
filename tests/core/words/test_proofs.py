"""What a bake proves, in words: what counts, what was seen, what that excludes, and what nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.judging.evidence import exposed_of
from seatrial.core.model.campaign import Bake, Campaign, RolloutPhase
from seatrial.core.model.gates.compared import Compared
from seatrial.core.model.gates.exposed import Exposed, Exposure
from seatrial.core.words.proofs import Proven, proven, sentences
from tests.builders import a_campaign_record
from tests.core.judging.upgrades import an_upgrade

HOUR = 3600.0
NOW = 10 * HOUR
CAMPAIGN = Campaign(bake=Bake(seconds=48 * HOUR))


def seen(*, events: int = 0, hours: float = 64.0, load: float = 0.5) -> Exposed:
    begun = exposed_of(["n1"], ["n2"], at=0.0)
    canary = Exposure(node="n1", watched_seconds=8 * HOUR, watched_gpu_hours=hours, loaded_gpu_hours=load * hours)
    counted = begun.rare[0].counted(events=events, hours=hours, loaded_hours=load * hours, control_hours=2 * hours)
    return replace(begun, canaries=(canary,), rare=(counted, *begun.rare[1:]), waiting_seconds=HOUR, watched_until=NOW)


def explained(exposed: Exposed | None, **record: Any) -> Proven:
    changed = {"baked_seconds": 6 * HOUR, "exposed": exposed} | record
    return proven(a_campaign_record(RolloutPhase.BAKING, **changed), CAMPAIGN, NOW)


def test_hours_that_count_hours_with_data_and_hours_at_work_are_three_figures() -> None:
    found = explained(seen())
    assert (found.hours, found.asked_hours, found.watched_hours, found.clock_hours) == (6.0, 48.0, 8.0, 10.0)
    assert (found.waiting_hours, found.loaded_gpu_hours, found.load) == pytest.approx((1.0, 32.0, 0.5))
    told = sentences(found)
    assert told[0] == "6 h of 2 d count as evidence: every gate passed before and after."
    assert told[1] == "8 h of 10 h have data of every canary; time without data counts for nothing."
    assert told[2] == "1 h more with data will count once the next round of gates passes."
    assert told[3] == "The canary was busy for 32.0 GPU-hours, 50% of the time watched."


def test_what_is_excluded_is_said_with_how_sure_one_is() -> None:
    told = sentences(explained(seen()))[4]
    counts = "ecc-uncorrected-volatile: 0 in 64.0 GPU-hours, 0 in 128.0 on nodes like it; "
    assert told.startswith(f"{counts}more than one in ")
    assert told.endswith(" GPU-hours under load is ruled out at 99%.")


def test_an_idle_canary_proves_little_and_that_is_said() -> None:
    told = sentences(explained(seen(load=0.0)))
    assert any("was idle" in each for each in told)
    assert any("without load that rules out nothing" in each for each in told)


def test_a_kind_of_event_that_nobody_tells_is_unknown() -> None:
    assert "xid: no data, so nothing is known." in sentences(explained(seen()))


def test_events_that_came_too_often_are_told_as_such() -> None:
    found = explained(seen(events=9))
    assert [each.is_failed for each in found.events] == [True, False, False]
    assert any(each.endswith("too often.") for each in sentences(found))


def test_without_anybody_who_watches_it_says_what_is_not_seen() -> None:
    told = sentences(explained(None))
    assert "Nothing watches between the rounds" in told[1]
    assert "Nothing is proven about speed" in told[-1]


def test_a_loss_that_was_found_is_told_and_speaks_against_the_upgrade() -> None:
    (lossy,) = an_upgrade(losses={"c": 0.05}).comparisons
    found = explained(None, compared=Compared(comparisons=(lossy,), is_measured=True))
    assert found.is_failed
    *_, told, rate = sentences(found)
    assert rate == "At most 1% of good upgrades are rolled back for such losses, however often we look."
    assert told.startswith("matrix-fp32 of c lost 5.")
    assert told.endswith(
        "(6 rounds, compared with itself before the upgrade and 3 nodes like it): the upgrade caused it."
    )


@pytest.mark.parametrize(("rounds", "said"), [(20, "and is."), (1, "and is not yet.")])
def test_what_is_asked_to_be_excluded_is_told_and_is_part_of_enough(rounds: int, said: str) -> None:
    compared = Compared(comparisons=an_upgrade(rounds=rounds, spread=0.002).comparisons, is_measured=True)
    record = a_campaign_record(RolloutPhase.BAKING, canaries=("c",), baked_seconds=48 * HOUR, compared=compared)
    found = proven(record, replace(CAMPAIGN, bake=Bake(seconds=48 * HOUR, exclude=0.03)), NOW)
    assert sentences(found)[-2] == f"A loss of 3% has to be ruled out before the fleet follows, {said}"
    assert found.is_enough is (rounds == 20)


def test_after_the_end_the_clock_stands_still() -> None:
    done = proven(
        a_campaign_record(RolloutPhase.DONE, exposed=seen(), bake_asked_seconds=HOUR), CAMPAIGN, NOW + 100 * HOUR
    )
    assert done.clock_hours == 10.0
