"""Wherever a hold is made, it says what its sentences need: read from the code itself, call by call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.core.holds import HoldCode, hold
from seatrial.core.words.explain import EXPLANATIONS, UNKNOWN, next_step, why
from tests.core.words.explained import MADE_OF, needs, unsaid
from tests.core.words.test_explain import OUTSIDE, SITUATIONS, is_finished, real_hold

SOURCE = Path(__file__).resolve().parents[3] / "src" / "seatrial"
MAKERS = {"hold", "wait", "act", "Lack"}
"""What makes a hold of a code and its parameters, or hands both on to what does."""
ELSEWHERE = {
    ("core/campaign/step.py", HoldCode.WAVE_AT_WORK),
    ("core/campaign/stragglers.py", HoldCode.WAVE_BLOCKED),
    ("core/decision/turns.py", HoldCode.DRIVER_NOT_READY),
    ("core/movers/publishing.py", HoldCode.WRITTEN_BY_ANOTHER),
    ("core/movers/publishing.py", HoldCode.TAKEN_OVER),
    ("core/movers/publishing.py", HoldCode.PUBLISH_PENDING),
    ("core/movers/publishing.py", HoldCode.SYNC_STOPPED),
    ("core/movers/publishing.py", HoldCode.SYNC_FAILED),
    ("core/movers/publishing.py", HoldCode.SYNC_WAITING),
    ("core/movers/publishing.py", HoldCode.SYNC_OVERWRITTEN),
    ("core/movers/releases.py", HoldCode.WRITTEN_BY_ANOTHER),
    ("core/movers/releases.py", HoldCode.TAKEN_OVER),
    ("core/movers/releases.py", HoldCode.PUBLISH_PENDING),
    ("core/movers/releases.py", HoldCode.SYNC_STOPPED),
    ("core/movers/releases.py", HoldCode.SYNC_FAILED),
    ("core/movers/view.py", HoldCode.SOURCE_STALE),
    ("core/movers/nvidia.py", HoldCode.DRIVER_NOT_READY),
    ("core/node/clearing.py", HoldCode.EVICTION_BLOCKED),
    ("core/node/step.py", HoldCode.DRIVER_NOT_READY),
    ("core/node/step.py", HoldCode.DRIVER_STARTING),
    ("core/node/step.py", HoldCode.SLIPPED_IN),
}
"""Calls that hand on parameters which were put together before; the situations of test_explain.py go through them."""


def made() -> Iterator[tuple[str, HoldCode, frozenset[str]]]:
    """Every call that makes a hold of a code it names: where, which, and the parameters that the call spells out."""
    for path in sorted(SOURCE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or _name(call.func) not in MAKERS:
                continue
            names = {each.arg for each in call.keywords if each.arg}
            for given in call.args:
                if isinstance(given, ast.Dict):
                    names |= {str(key.value) for key in given.keys if isinstance(key, ast.Constant)}
            for code in (code for given in call.args for code in _codes(given)):
                yield path.relative_to(SOURCE).as_posix(), code, frozenset(names)


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _codes(given: ast.expr) -> Iterator[HoldCode]:
    """The codes that an argument may be; one within a call of its own belongs to that call."""
    if isinstance(given, ast.IfExp):
        yield from (*_codes(given.body), *_codes(given.orelse))
    elif isinstance(given, ast.Attribute) and _name(given.value) == "HoldCode":
        yield HoldCode[given.attr]


def test_every_call_that_makes_a_hold_gives_what_its_sentences_need() -> None:
    lacking = {(place, code): needs(code) - names for place, code, names in made() if not needs(code) <= names}
    assert set(lacking) == ELSEWHERE, lacking


@pytest.mark.parametrize("code", HoldCode)
def test_a_hold_that_core_makes_leaves_nothing_unsaid(code: HoldCode) -> None:
    assert unsaid(real_hold(code)) == ()
    assert code in SITUATIONS or code in OUTSIDE


def test_calls_are_found_in_every_form() -> None:
    found = {code for _, code, _ in made()}
    assert HoldCode.NO_WAY_BACK_BY_HAND in found  # one of two codes
    assert HoldCode.VALIDATOR_STALE in found  # a Lack, with a dict
    assert HoldCode.DRIVER_STOPPING in found  # handed on by wait
    assert HoldCode.POOL_MISSING in found  # a method


def test_what_fills_a_gap_from_others_is_used_by_a_sentence() -> None:
    texts = [text for each in EXPLANATIONS.values() for text in (each.why, each.next_step)]
    assert [gap for gap in MADE_OF if not any(f"{{{gap}}}" in text for text in texts)] == []


@pytest.mark.parametrize("code", HoldCode)
def test_a_hold_that_forgot_everything_still_reads_and_says_what_is_missing(code: HoldCode) -> None:
    """The controller writes these sentences while it decides: a bug in one must not stop the others."""
    bare = hold("n1", code)
    said = f"{why(bare)}. {next_step(bare)}"
    assert set(unsaid(bare)) == needs(code)
    assert "{" not in said.replace("""'{"spec":{"paused":false}}'""", "")
    is_told = any(name not in ("via", "names", "point", "before", "component") for name in needs(code))
    assert (UNKNOWN in said) or not is_told, said


def test_a_trouble_that_only_a_later_release_knows_is_left_out_of_the_sentence() -> None:
    held = hold("n1", HoldCode.FAILED, why="driver-timeout", diagnosis="a-word-of-tomorrow")
    assert why(held) == "the upgrade of this node failed: the driver pod did not become Ready in time"
    assert is_finished(f"{why(held)}. {next_step(held)}")
