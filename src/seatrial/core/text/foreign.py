"""Text that we did not write, made fit to be shown, stored and committed: nothing in it can act, and it has an end.

    a gate's last words, events, conditions ─┐
    what git, a hook or a remote said       ─┤─▶ line()    one line
    what an API server or a webhook said    ─┤─▶ lines()   several, as a log or a text to paste has
    what people wrote into a matrix         ─┘

Law of this file: text is cleaned once, by whoever lets it in, so that nobody behind has to think of it. A terminal
obeys escapes, a reader is misled by text that runs backwards, git refuses a message with a NUL, and an API server a
status of megabytes. Escapes go as a whole; of what else cannot be seen a sign stays, so that two texts that differ in
it do not become the same. What is clean comes back as it is.

Tests: tests/core/text/test_foreign.py, tests/properties/test_foreign_text.py
"""

from __future__ import annotations

import re
from typing import Final

LINE_MAX: Final = 2_000
LINES_MAX: Final = 16_000
RAW_MAX: Final = 64_000
"""Of a text, so much is looked at: it is cut before it is cleaned, or a megabyte would cost what cleaning one costs."""
UNSEEN: Final = "\N{REPLACEMENT CHARACTER}"
CUT: Final = "…"

_ESCAPE: Final = re.compile(
    # A control sequence: colours, the cursor, what is erased.
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    # A string for the terminal, up to its end: titles, links, the clipboard.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\n\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"
    # Whatever else an escape begins; without an end to the string, its beginning.
    r"|\x1b[ -/]*[0-~]"
)
_BREAK: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def line(words: str, limit: int = LINE_MAX) -> str:
    """The text on one line, of at most so many characters."""
    words = words[: max(RAW_MAX, limit + 1)]
    if not words.isprintable():
        words = _seen(_BREAK.sub("\n", _ESCAPE.sub("", words)).strip("\n").replace("\n", " "))
    return _cut(words, limit)


def lines(words: str, limit: int = LINES_MAX) -> str:
    """The text on as many lines as it has, of at most so many characters in all."""
    words = words[: max(RAW_MAX, limit + 1)]
    if not words.isprintable():
        broken = _BREAK.sub("\n", _ESCAPE.sub("", words))
        words = "\n".join(_seen(each) for each in broken.split("\n"))
    return _cut(words, limit)


def _seen(words: str) -> str:
    # Python counts as printable what Unicode calls neither control, format, surrogate, private, unassigned nor space.
    if words.isprintable():
        return words
    return "".join(char if char.isprintable() else " " if char.isspace() else UNSEEN for char in words)


def _cut(words: str, limit: int) -> str:
    return words if len(words) <= limit else words[: limit - len(CUT)] + CUT
