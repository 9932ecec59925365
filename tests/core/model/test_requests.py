"""What says which text of ours a request bears."""

from __future__ import annotations

import pytest

from seatrial.core.model.seen.requests import mark_in, marked


def test_a_text_bears_its_mark_and_another_text_another() -> None:
    first, second = marked("48 hours, every gate passed."), marked("49 hours, every gate passed.")
    assert mark_in(first) != mark_in(second)
    assert mark_in(first) == mark_in(marked("  48 hours, every gate passed.\n"))
    assert first.startswith("48 hours, every gate passed.\n\n<!-- ")


def test_what_people_add_around_it_does_not_change_the_mark() -> None:
    text = marked("48 hours.")
    assert mark_in(f"Dear Ada,\r\n\r\n{text}\r\n- [x] looked at it") == mark_in(text)


@pytest.mark.parametrize("text", ["", "Please merge.", "<!-- seatrial: -->", "<!-- seatrial: 48 -->"])
def test_a_text_of_somebody_else_has_none(text: str) -> None:
    assert mark_in(text) == ""
