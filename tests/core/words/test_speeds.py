"""What comparing proves, in words: what is excluded, what is not, what nobody compares, and how long it takes yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.model.campaign import Campaign, RolloutPhase
from seatrial.core.model.gates.compared import Compared, Missing
from seatrial.core.model.gates.gate import Gate, GateVerdict
from seatrial.core.text import spans
from seatrial.core.words.speeds import UNPROVEN, Speeds, line, sentences, speeds_of
from tests.builders import a_campaign_record
from tests.core.judging.upgrades import an_upgrade

SPEED = Gate(name="speed", image="probes:1", probe="performance")
OWN = Gate(name="own", image="theirs:1")
CAMPAIGN = Campaign(gates=(SPEED,))


def told_of(compared: Compared | None, campaign: Campaign = CAMPAIGN) -> Speeds:
    return speeds_of(a_campaign_record(RolloutPhase.BAKING, canaries=("c",), compared=compared), campaign)


def compared(**upgrade: Any) -> Compared:
    gates = ((SPEED.name, SPEED.mark),)
    return Compared(gates=gates, comparisons=an_upgrade(**upgrade).comparisons, is_measured=True)


def test_a_figure_says_what_it_excludes_and_against_what_it_was_held() -> None:
    found = told_of(compared(rounds=20))
    (told,) = sentences(found)
    assert told.startswith("matrix-fp32 of c: a loss of more than 0.")
    assert told.endswith(
        "% is ruled out at 99% (20 rounds, compared with itself before the upgrade and 3 nodes like it)."
    )
    assert found.excluded == pytest.approx(0.006, abs=0.004)
    assert line(found) == f"1 figure compared: a loss of more than {found.excluded:.1%} is ruled out"


def test_a_figure_that_does_not_exclude_enough_says_how_long_it_takes_yet() -> None:
    (speed,) = told_of(compared(rounds=2, spread=0.01)).speeds
    assert speed.needed_hours is not None
    assert speed.needed_hours >= 1.0
    (told,) = sentences(told_of(compared(rounds=2, spread=0.01)))
    assert told.endswith(f"; 3% in about {spans.hours(speed.needed_hours)}.")


def test_a_loss_that_is_near_the_asked_one_is_never_excluded_and_that_is_said() -> None:
    (told,) = sentences(told_of(compared(losses={"c": 0.029}, rounds=2, spread=0.01)))
    assert told.endswith("; 3% never is at this pace.")


def test_without_nodes_like_it_a_figure_is_held_against_itself_alone() -> None:
    (told,) = sentences(told_of(compared(controls=())))
    assert "compared with itself before the upgrade)" in told


@pytest.mark.parametrize(
    ("upgrade", "said"),
    [
        ({"baseline": 2}, "fewer than 3 rounds before the upgrade"),
        ({"rounds": 0}, "no round since the upgrade counts yet"),
    ],
)
def test_what_cannot_be_known_is_said_with_its_reason(upgrade: dict[str, Any], said: str) -> None:
    found = told_of(compared(**upgrade))
    assert sentences(found)[0] == UNPROVEN
    assert said in sentences(found)[1]
    assert found.excluded is None
    assert line(found) == "1 figure compared: no loss is ruled out yet"


def test_a_figure_that_was_held_back_before_says_that_it_is_blind() -> None:
    held = told_of(compared(held_back="power-limit", under={"sm_mhz": 1455.0}))
    plain, clock = sentences(held)
    assert "a limit, such as power, capped it before the upgrade" in plain
    assert clock.startswith("matrix-fp32 per clock of c: a loss of more than ")
    assert [each.is_asked for each in held.speeds] == [False, True]


def test_a_loss_beside_nodes_that_wander_as_far_is_nobodys() -> None:
    found = told_of(compared(losses={"c": 0.05, "k1": 0.04}, rounds=12))
    (told,) = sentences(found)
    assert "drifted nearly as far" in told
    assert not found.is_failed


def test_a_loss_that_was_found_is_told() -> None:
    found = told_of(compared(losses={"c": 0.05}))
    assert [each.verdict for each in found.speeds] == [GateVerdict.FAILED]
    assert line(found) == "1 figure compared: a loss was found"


def test_who_is_left_out_is_named_and_so_are_gates_that_nobody_compares() -> None:
    left = replace(
        compared(),
        missing_before=(Missing(node="c", why="its GPUs are in use by ml/train"), Missing(node="k9", why="it is gone")),
        missing=(Missing(node="k1", why="it is cordoned"),),
    )
    assert told_of(left, Campaign(gates=(SPEED, OWN))).not_compared == (
        "Nothing of own is compared: it was not measured before the upgrade, or has no rate or time.",
        "Not measured before the upgrade, so not compared: c (its GPUs are in use by ml/train).",
        "Not measured before the upgrade, so not used for comparison: k9 (it is gone).",
        "Left out of the last round: k1 (it is cordoned).",
    )


def test_where_nothing_is_compared_that_is_the_one_thing_said() -> None:
    assert sentences(told_of(None)) == (UNPROVEN,)
    assert line(told_of(None)) == ""
