"""Failures as data: what the package knows is whole, and what a person writes wrongly is refused with its place."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from seatrial.core.survey.doctor import failures
from seatrial.core.survey.doctor.failures import FailureInvalid
from seatrial.core.survey.doctor.parts import Part
from seatrial.core.survey.doctor.signs import Sign, Where

GOOD: dict[str, Any] = {
    "failures": [
        {
            "name": "our-own",
            "title": "A title",
            "means": "What it means.",
            "blocks": "Whom it blocks.",
            "next": "What to do.",
            "patterns": [{"in": "log", "text": "boom", "example": "it went boom", "source": "our wiki"}],
        }
    ]
}


def changed(path: tuple[str | int, ...], value: Any) -> Any:
    data: Any = copy.deepcopy(GOOD)
    at = data
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


ONE = ("failures", 0)
PATTERN = (*ONE, "patterns", 0)


@pytest.mark.parametrize(
    ("path", "value", "said", "where"),
    [
        (("failures",), "x", "one key, failures", ()),
        ((*ONE, "title"), None, "title is missing", ONE),
        ((*ONE, "title"), "", "title has to be a text", (*ONE, "title")),
        ((*ONE, "name"), "Our Own", "small letters", (*ONE, "name")),
        ((*ONE, "cure"), "x", "'cure' is not a key here", (*ONE, "cure")),
        ((*ONE, "explains"), ["nobody"], "nobody is not a failure", (*ONE, "explains")),
        ((*ONE, "explains"), "all", "explains is a list", (*ONE, "explains")),
        ((*ONE, "patterns"), [], "at least one pattern", (*ONE, "patterns")),
        ((*PATTERN, "in"), "dmesg", "'dmesg' is none of container", (*PATTERN, "in")),
        ((*PATTERN, "of"), "kubelet", "'kubelet' is none of driver", (*PATTERN, "of")),
        ((*PATTERN, "text"), "(", "not a regular expression", (*PATTERN, "text")),
        ((*PATTERN, "text"), "x" * 501, "up to 500 characters", (*PATTERN, "text")),
        ((*PATTERN, "text"), None, "would match everything", PATTERN),
        ((*PATTERN, "example"), "success", "has an example, which it matches", PATTERN),
        ((*PATTERN, "example"), None, "has an example, which it matches", PATTERN),
        ((*PATTERN, "at_least"), 0, "a number from 1 on", (*PATTERN, "at_least")),
        ((*PATTERN, "weak"), "perhaps", "weak is true or false", (*PATTERN, "weak")),
        ((*PATTERN, "source"), None, "source is missing", PATTERN),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    path: tuple[str | int, ...], value: Any, said: str, where: tuple[str | int, ...]
) -> None:
    with pytest.raises(FailureInvalid, match=re.escape(said)) as refused:
        failures.read(changed(path, value))
    assert refused.value.path == where


def test_a_failure_that_is_there_twice_is_refused() -> None:
    data = copy.deepcopy(GOOD)
    data["failures"] *= 2
    with pytest.raises(FailureInvalid, match="there twice"):
        failures.read(data)


def test_a_pattern_speaks_of_whom_it_names_and_of_everybody_but_tenants_otherwise() -> None:
    def matches(part: Part, **more: Any) -> bool:
        (failure,) = failures.read(changed(PATTERN, {**GOOD["failures"][0]["patterns"][0], **more}))
        sign = Sign(where=Where.LOG, node="n1", about="a log", part=part, lines=("Boom!",))
        return bool(failure.patterns[0].matched(sign))

    assert matches(Part.DRIVER)
    assert not matches(Part.TENANT)
    assert matches(Part.TENANT, of="anybody")
    assert matches(Part.DRA, of=["dra", "driver"])
    assert not matches(Part.TOOLKIT, of="driver")
    assert not matches(Part.DRIVER, **{"in": "event"})


def test_lines_that_do_not_count_are_left_out() -> None:
    pattern = {**GOOD["failures"][0]["patterns"][0], "but": "such as"}
    (failure,) = failures.read(changed(PATTERN, pattern))
    sign = Sign(where=Where.LOG, node="n1", about="a log", part=Part.DRIVER, lines=("such as boom", "boom", "well"))
    assert failure.patterns[0].matched(sign) == ("boom",)
