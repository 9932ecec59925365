"""What is advised, and what never is: a setting that stops. Why it stops, and what to do, by the cause."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from seatrial.core.budget.capacity import Why
from seatrial.core.holds import HoldCode
from seatrial.core.model.policy import Share
from seatrial.sim.forecast import stopping
from seatrial.sim.forecast.advice import Advice, Kind, advise
from seatrial.sim.forecast.stopping import Outset
from seatrial.sim.forecast.sweep import Result, Sample, Setting

FAILING = Why(HoldCode.FAILURE_BUDGET)
BLOCKED = Why(HoldCode.UNAVAILABLE_LIMIT)
WELL = Outset(moving_count=8)


def a_result(parallel: int, share: str, *, seconds: Sequence[float], least: float, stop: Why = FAILING) -> Result:
    """Runs of these durations; what has none stops."""
    samples = tuple(
        Sample(
            seconds=each,
            gpu_hours_lost=10.0,
            least_share=least,
            evicted=5,
            stop=None if math.isfinite(each) else stop,
        )
        for each in seconds
    )
    return Result(setting=Setting(parallel, Share.parse(share)), samples=samples)


SLOW = a_result(1, "5%", seconds=[7200, 7300], least=0.99)
MIDDLE = a_result(10, "10%", seconds=[720, 800], least=0.9)
QUICK = a_result(25, "25%", seconds=[300, 320], least=0.75)
WHOLE = a_result(0, "100%", seconds=[200, 260], least=0.0)


def text(advice: Advice) -> str:
    return " ".join(part for part in (f"{advice.head}: {advice.figures}", advice.besides) if part)


def test_the_fastest_within_the_buffer_is_taken() -> None:
    advice = advise([SLOW, MIDDLE, QUICK], WHOLE, 0.1, WELL)
    assert (advice.kind, advice.setting) == (Kind.SETTING, MIDDLE.setting)
    assert text(advice) == (
        "Take maxParallelUpgrades 10 with maxUnavailable 10%: 12 min in half of the runs, 13 min 20 s in nine of ten, "
        "never less than 90.0% of the capacity, 10 GPU-hours lost. 25 at a time with 25% would take 5 min, "
        "but leaves 75.0%, and you can spare 10%."
    )


def test_of_two_equally_fast_the_gentler_is_taken() -> None:
    gentler = a_result(9, "10%", seconds=[722, 800], least=0.92)
    assert advise([MIDDLE, gentler], WHOLE, 0.1, WELL).setting == gentler.setting


def test_without_a_buffer_a_window_is_advised() -> None:
    advice = advise([SLOW, MIDDLE], WHOLE, 0.0, WELL)
    assert (advice.kind, advice.setting) == (Kind.WINDOW, None)
    assert text(advice) == (
        "Take a maintenance window: all nodes at once, without canary or waves, need 3 min 20 s in half of the runs, "
        "4 min 20 s in nine of ten; plan the latter. With a buffer of 0 every rolling upgrade takes capacity from "
        "somebody. Could you spare 1%, 1 at a time with 5% unavailable would do it in 2 h."
    )


def test_when_no_setting_is_gentle_enough_the_gentlest_is_named() -> None:
    advice = advise([MIDDLE, QUICK], WHOLE, 0.05, WELL)
    assert advice.kind is Kind.WINDOW
    assert "No setting stays within 5%: the gentlest, 10 at a time with 10% unavailable, leaves 90.0%." in text(advice)


# ── what stops is never recommended ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("stopping_count", "kind"), [(0, Kind.SETTING), (1, Kind.SETTING), (2, Kind.WAIT)])
def test_a_setting_is_recommended_only_where_nine_runs_of_ten_come_to_their_end(
    stopping_count: int, kind: Kind
) -> None:
    seconds = [500.0] * (10 - stopping_count) + [math.inf] * stopping_count
    advice = advise([a_result(4, "10%", seconds=seconds, least=0.95)], WHOLE, 0.1, WELL)
    assert advice.kind is kind
    assert (advice.setting is None) is (kind is Kind.WAIT)


def test_the_few_runs_that_stop_are_told_with_their_cause() -> None:
    rarely = a_result(4, "10%", seconds=[500.0] * 19 + [math.inf], least=0.95)
    told = advise([rarely], WHOLE, 0.1, WELL).besides
    assert told == "In 5% of the runs it stops half way. More nodes fail than maxFailed 1 allows."


def test_a_slower_setting_that_ends_goes_before_a_faster_one_that_stops() -> None:
    gambling = a_result(8, "10%", seconds=[100.0, math.inf], least=0.95)
    assert advise([gambling, SLOW], WHOLE, 0.1, WELL).setting == SLOW.setting


def test_where_every_setting_stops_nothing_is_named_and_the_cause_is() -> None:
    stuck = a_result(1, "10%", seconds=[math.inf] * 4, least=1.0, stop=BLOCKED)
    at_once = a_result(0, "100%", seconds=[math.inf] * 4, least=0.0)
    outset = replace(WELL, cordoned=("gpu-7",))
    advice = advise([stuck], at_once, 0.1, outset)
    assert (advice.kind, advice.setting) == (Kind.WAIT, None)
    assert text(advice) == (
        "Do not start yet: every setting stops. gpu-7 is cordoned by somebody else, and that uses up maxUnavailable. "
        "Uncordon gpu-7, take gpu-7 out of the rollout by its nodeSelector, or allow maxUnavailable 2 or more. To mark "
        "a node skip does not help: it counts as unavailable all the same."
    )


def test_a_setting_beyond_the_buffer_that_would_end_is_told_of_but_not_recommended() -> None:
    stuck = a_result(1, "10%", seconds=[math.inf] * 4, least=1.0, stop=BLOCKED)
    advice = advise([stuck, QUICK], WHOLE, 0.1, replace(WELL, cordoned=("gpu-7",)))
    assert advice.setting is None
    assert advice.figures == "every setting that stays within 10% stops."
    assert "Could you spare 25%, 25 at a time with 25% unavailable would do it in 5 min." in advice.besides


def test_a_window_is_not_advised_where_all_at_once_stops() -> None:
    at_once = a_result(0, "100%", seconds=[200, math.inf, math.inf], least=0.0)
    advice = advise([QUICK], at_once, 0.1, WELL)
    assert (advice.kind, advice.setting) == (Kind.WAIT, None)


def test_where_nobody_can_be_moved_there_is_nothing_to_do() -> None:
    nobody = a_result(1, "10%", seconds=[0.0], least=1.0)
    outset = Outset(moving_count=0, left_out=(("driver-pod-missing", ("n1", "n2")),))
    advice = advise([nobody], nobody, 0.1, outset)
    assert (advice.kind, advice.setting) == (Kind.NOTHING, None)
    assert "Held are 2 nodes by driver-pod-missing (n1, n2)." in text(advice)


# ── by the cause ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("stop", "outset", "failure", "why", "next_step"),
    [
        (
            FAILING,
            replace(WELL, failed_max=3),
            "validation-timeout",
            "More nodes fail than maxFailed 3 allows (the new driver was not validated in time)",
            "raise maxFailed",
        ),
        (
            BLOCKED,
            replace(WELL, cordoned=("a", "b"), not_ready=("c",)),
            "",
            "2 nodes are cordoned by somebody else (a, b) and c is not Ready, and that uses up maxUnavailable",
            "Uncordon them, make c Ready, take them out of the rollout by its nodeSelector, or allow maxUnavailable 4",
        ),
        (
            BLOCKED,
            replace(WELL, cordoned=("a",), failed=("b",)),
            "",
            "a is cordoned by somebody else and b is cordoned after it failed, and that uses up maxUnavailable",
            "Uncordon a, fix b, take them out of the rollout by its nodeSelector, or allow maxUnavailable 3",
        ),
        (
            BLOCKED._replace(scope="NVIDIADriver a100"),
            replace(WELL, cordoned=("a",)),
            "driver-crash-loop",
            (
                "a is cordoned by somebody else, and that uses up maxUnavailable of NVIDIADriver a100; so does every "
                "node that fails (a container of the driver pod keeps crashing)"
            ),
            "or raise that limit",
        ),
        (
            BLOCKED,
            WELL,
            "",
            "A node that fails stays cordoned, and that uses up maxUnavailable",
            "raise maxUnavailable",
        ),
        (
            Why(HoldCode.UNIT_UNFIT, "rack a"),
            WELL,
            "",
            "The nodes of rack a move together or not at all, and one of them cannot be moved",
            "seatrial why NODE",
        ),
        (
            Why(HoldCode.UNIT_TOO_LARGE, "", 4),
            WELL,
            "",
            "4 nodes move together or not at all, and the limits are smaller",
            "Allow 4 at a time and 4 unavailable.",
        ),
        (
            Why(HoldCode.FAILED),
            WELL,
            "driver-timeout",
            "The canary fails, and the rollout is undone (the driver pod did not become Ready in time)",
            "allow retries",
        ),
        (
            Why(HoldCode.CANARY_CLOSED, "", 2),
            WELL,
            "",
            "Canaries stay closed until their gates have passed, and the limits let in fewer than there are",
            "Allow 2 at a time and 2 unavailable, or take fewer canaries.",
        ),
        (
            Why(HoldCode.NO_CANARY),
            WELL,
            "",
            "Too few nodes will do as canaries: Ready, not cordoned, not marked skip, with a driver that is Ready",
            "spec.canary",
        ),
        (
            Why(HoldCode.OUTSIDE_WINDOW),
            WELL,
            "",
            "The windows of the next two weeks end before every node has started",
            "Widen the windows",
        ),
        (
            Why(HoldCode.PARALLEL_LIMIT),
            WELL,
            "",
            "Nodes under way do not finish, and use up maxParallelUpgrades",
            "seatrial why NODE",
        ),
    ],
)
def test_why_it_stops_is_told_by_its_cause_with_what_to_do(
    stop: Why, outset: Outset, failure: str, why: str, next_step: str
) -> None:
    assert stopping.why(stop, outset, failure) == why
    assert next_step in stopping.what_next(stop, outset)
