"""Text of others, as it may be shown: what is left of escapes, controls and length."""

from __future__ import annotations

import pytest

from seatrial.core.text import foreign

ESC = "\x1b"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("NCCL 2.27 — passed ✓", "NCCL 2.27 — passed ✓"),
        (f"{ESC}[31mred{ESC}[0m", "red"),
        (f"{ESC}]0;a title\x07words", "words"),
        (f"{ESC}]8;;http://evil.example{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"{ESC}]52;c;never ended", "52;c;never ended"),
        ("\x9b2Jgone", "gone"),
        (f"a{ESC}c{ESC}(Bb", "ab"),
        ("NUL\0inside", "NUL�inside"),
        ("over\x08written\x7f", "over�written�"),
        ("runs \u202ebackwards\u2066", "runs �backwards�"),
        ("two\r\nlines\tand a tab", "two lines and a tab"),
        ("no\u00a0break", "no break"),
        ("half \ud800 a character", "half � a character"),
        ("\n the middle \n", " the middle "),
    ],
)
def test_one_line_of_what_somebody_said(said: str, shown: str) -> None:
    assert foreign.line(said) == shown


def test_several_lines_keep_their_breaks_and_nothing_else() -> None:
    said = f"first\r\nsecond\rthird\u2028fourth\x0b{ESC}[2Jfifth\0"
    assert foreign.lines(said) == "first\nsecond\nthird\nfourth\nfifth�"


def test_what_is_longer_than_allowed_ends_with_a_sign_of_it() -> None:
    assert foreign.line("x" * 20, 10) == "x" * 9 + "…"
    assert len(foreign.lines("x\n" * foreign.LINES_MAX)) == foreign.LINES_MAX


def test_a_megabyte_of_unfinished_escapes_is_read_in_one_go() -> None:
    """Each of them begins a string that never ends: whoever looks for its end from each would look for hours."""
    for begun in (f"{ESC}]", f"{ESC}P", "\x9d", "\x90", f"{ESC}[", f"{ESC} "):
        assert len(foreign.line(begun * 500_000)) <= foreign.LINE_MAX


def test_a_text_of_megabytes_is_cut_before_it_is_cleaned() -> None:
    class Counted(str):
        """A text that nothing may go through as a whole."""

        __slots__ = ()

        def isprintable(self) -> bool:
            raise AssertionError("all of it is looked at")

    assert foreign.line(Counted("\x1b[31m" * 1_000_000)) == ""
    assert len(foreign.lines(Counted("words\n" * 1_000_000))) == foreign.LINES_MAX
