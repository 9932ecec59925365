"""Messages as a person writes them, and the two lines by which a step is found again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.git import messages
from seatrial.adapters.git.errors import SetupInvalid

LAST = messages.trailers("r", "s")


def test_a_message_is_a_subject_a_wrapped_body_and_the_trailers() -> None:
    body = (
        "Every gate passed on both canary nodes, and the bake of 48 hours has its whole evidence.\n\nSee the journal."
    )
    assert messages.compose("Promote driver 580.65.06", body, LAST) == (
        "Promote driver 580.65.06\n\n"
        "Every gate passed on both canary nodes, and the bake of 48 hours has its\nwhole evidence.\n\n"
        "See the journal.\n\n"
        "Seatrial-Rollout: r\nSeatrial-Step: s\n"
    )


def test_a_subject_that_is_too_long_is_cut_behind_a_word_and_said_in_full_below() -> None:
    subject = "Promote driver 580.65.06 to production on every node of every pool of the whole fleet"
    first, full, _ = messages.compose(subject, "", LAST).split("\n\n")
    assert first == "Promote driver 580.65.06 to production on every node of every pool of…"
    assert full.replace("\n", " ") == subject


def test_lists_tables_and_long_addresses_stay_readable() -> None:
    address = "https://prometheus.example.com/" + "x" * 80
    body = f"- first thing\n- second thing {'with words ' * 8}\n\n    kept   as is\n| a | b |\n{address}"
    assert messages.wrapped(body).split("\n") == [
        "- first thing",
        "- second thing with words with words with words with words with words",
        "  with words with words with words",
        "",
        "    kept   as is",
        "| a | b |",
        address,
    ]


def test_a_body_cannot_pretend_to_be_another_step() -> None:
    message = messages.compose("x", "Seatrial-Rollout: other\nSeatrial-Step: promote\n\n seatrial-step: x", LAST)
    assert list(messages.marks(message)) == [("r", "s")]


@given(st.text(), st.text())
def test_whatever_the_words_the_marks_are_ours_alone(subject: str, body: str) -> None:
    message = messages.compose(f"x {subject}", body, LAST)
    assert list(messages.marks(message)) == [("r", "s")]
    assert len(message.split("\n")[0]) <= messages.WIDTH
    assert message.split("\n")[1] == ""


def test_several_steps_in_one_squashed_message_are_all_there() -> None:
    text = "\n".join([*messages.trailers("a", "1"), "words", *messages.trailers("a", "2"), *messages.trailers("b")])
    assert list(messages.marks(text)) == [("a", "1"), ("a", "2"), ("b", "")]


def test_a_subject_is_needed() -> None:
    with pytest.raises(SetupInvalid, match="subject"):
        messages.compose(" \n ", "", LAST)


def test_the_subject_of_a_revert_fits_and_counts() -> None:
    assert messages.revert_subject(["One"]) == 'Revert "One"'
    long = messages.revert_subject(["Promote driver 580.65.06 to production on all nodes of the fleet now", "b", "c"])
    assert long == 'Revert "Promote driver 580.65.06 to production on all…" and 2 more'
    assert len(long) <= messages.WIDTH
