"""A rule that remembers answers as it would without, and is asked only about what is new to it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Hardware, Stack, Value
from seatrial.core.compat.plan.memory import AnswerCache

A, B, C = Component.GPU_OPERATOR, Component.OPENSHIFT, Component.MOFED
TEXTS = {A: ("v24.9.0", "v25.3.0"), B: ("4.16.1", "4.17.1"), C: ("24.07-0.6.1.0", "24.10-0.7.0.0")}
VALUES = {part: tuple(Value.read(part, text) for text in texts) for part, texts in TEXTS.items()}


def told(message: str) -> Finding:
    return Finding(rule="test", verdict=Verdict.OK, message=message)


class Counting:
    """Reads A; B only where A is old; C only where B is absent."""

    def __init__(self) -> None:
        self.asked_count = 0

    def __call__(self, stack: Stack) -> Iterator[Finding]:
        self.asked_count += 1
        a = stack[A]
        if a is None or a.text == "v25.3.0":
            yield told("a new one needs nothing")
        elif B in stack.values:
            yield told(f"{a.text} on {stack.values[B].text}")
        else:
            c = stack[C]
            yield told(f"{a.text} alone, {c.text if c else 'nothing'} beside it")


stacks = st.fixed_dictionaries({}, optional={part: st.sampled_from(values) for part, values in VALUES.items()})


@given(st.lists(stacks))
def test_a_memory_answers_as_the_rule_does(asked: list[dict[Component, Value]]) -> None:
    memory = AnswerCache(Counting(), Hardware())
    for values in asked:
        assert memory.ask(values) == tuple(Counting()(Stack(values=values)))


def test_what_a_rule_does_not_read_is_not_asked_about_again() -> None:
    rule = Counting()
    memory = AnswerCache(rule, Hardware())
    old, new = VALUES[A]
    for b in VALUES[B]:
        for c in VALUES[C]:
            memory.ask({A: new, B: b, C: c})
    assert rule.asked_count == 1
    for b in VALUES[B]:
        for c in VALUES[C]:
            memory.ask({A: old, B: b, C: c})
    assert rule.asked_count == 3
    assert memory.reads == {A, B}


def test_a_rule_that_looks_at_everything_is_still_right() -> None:
    memory = AnswerCache(lambda stack: [told(",".join(sorted(stack.values)))], Hardware())
    assert memory.ask({A: VALUES[A][0]}) == (told("gpu_operator"),)
    assert memory.ask({A: VALUES[A][0], B: VALUES[B][0]}) == (told("gpu_operator,openshift"),)
    assert memory.ask({A: VALUES[A][0]}) == (told("gpu_operator"),)
    assert memory.reads == set(Component)


def test_a_rule_about_two_stacks_tells_them_apart() -> None:
    memory = AnswerCache(lambda old, new: [told(f"{old.values[A].text} {new.values[A].text}")], Hardware())
    one, other = ({A: value} for value in VALUES[A])
    assert memory.ask(one, other) == (told("v24.9.0 v25.3.0"),)
    assert memory.ask(other, one) == (told("v25.3.0 v24.9.0"),)
