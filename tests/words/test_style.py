"""What people read has no slips: counts and nouns agree, units are natural, phrases are those that people use.

The list of what we do not say is odd.txt; it is looked for in everything that the program may print, and in the pages
for people who use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.words.visible import ROOT, literals

HERE: Final = Path(__file__).parent
NOUNS: Final = (
    "act|canarie|canary|day|error|failure|figure|finding|GPU|hour|member|minute|node|pod|replica|restart|round"
)
SLIPS: Final = {
    "one of many": rf"(?<![\d.,/:-])1 (?:{NOUNS})s\b",
    "many of one": rf"(?<![\d.,/:-])(?:0|[2-9]|\d{{2,}}) (?:{NOUNS})(?![\w-])",
    "a plural in brackets": r"(?<!http)\(s\)",
    "a unit nobody uses": r"\b0\.0\d+ ?(?:h|hours?|min)\b|\b\d{4,} ?(?:s|seconds?|minutes?)\b",
    "a word said twice": r"\b([a-z]+) \1\b(?!-)(?<!\bthat that)(?<!\bhad had)",
    "two spaces": r"[^\s|:]  +[^\s|]",
    "a space before the end": r" [,.;](?=\s|$)|\s$",
    "another spelling": (
        r"\b(?:recogni|organi|anonymi|normali|authori|summari|reali)z(?![a-z]*\.k8s)|\b(?:behavi|col)or\b"
    ),
}
EXAMPLES: Final = {
    "one of many": "n1: 1 nodes failed",
    "many of one": "n1: 2 node failed",
    "a plural in brackets": "2 node(s) failed",
    "a unit nobody uses": "healthy for 0.0333 h",
    "a word said twice": "it is is done",
    "two spaces": "it is  done",
    "a space before the end": "it is done .",
    "another spelling": "it is recognized",
}
WORDS_MAX: Final = 35
LONG: Final[dict[str, str]] = {}
"""Who may say it in more words, and why."""
DOCUMENTS: Final = ("README.md", "docs/how-to/*.md", "docs/tutorial/*.md", "docs/concepts/safety.md")


def odd() -> dict[str, str]:
    rows = (line.partition(" => ") for line in (HERE / "odd.txt").read_text(encoding="utf-8").splitlines())
    return {phrase: instead for phrase, _, instead in rows if instead}


def spoken() -> list[str]:
    """The lines of the list, without their headings."""
    lines = (HERE / "golden" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def said_in(pattern: str, lines: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{where}: {text.strip()}" for where, text in lines if re.search(pattern, text, re.IGNORECASE)]


def test_every_slip_is_found_where_there_is_one() -> None:
    assert [slip for slip in SLIPS if not re.search(SLIPS[slip], EXAMPLES[slip])] == []
    assert said_in(next(iter(odd())), [("here", "It is written ANEW.")]) == ["here: It is written ANEW."]


@pytest.mark.parametrize("slip", SLIPS)
def test_no_sentence_has_a_slip(slip: str) -> None:
    assert [line for line in spoken() if re.search(SLIPS[slip], line)] == []


@pytest.mark.parametrize("slip", ["a plural in brackets", "a word said twice", "another spelling"])
def test_no_text_of_the_program_has_a_slip(slip: str) -> None:
    assert [f"{where}: {text}" for where, text in literals() if re.search(SLIPS[slip], text)] == []


@pytest.mark.parametrize("phrase", odd())
def test_what_we_do_not_say_is_said_nowhere(phrase: str) -> None:
    assert said_in(phrase, (("the list", line) for line in spoken())) == [], odd()[phrase]
    assert said_in(phrase, literals()) == [], odd()[phrase]
    assert said_in(phrase, pages()) == [], odd()[phrase]


def pages() -> Iterator[tuple[str, str]]:
    for path in sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def test_no_sentence_is_too_long_but_those_with_a_reason() -> None:
    long = {line.partition(":")[0] for line in spoken() for each in sentences(line) if len(each.split()) > WORDS_MAX}
    assert long == set(LONG)


def sentences(line: str) -> list[str]:
    """The sentences of a line, without its code and its times; a command counts as one word."""
    plain = re.sub(r"^\S+: | \((?:for|looks again) [^)]*\)", "", line)
    return re.split(r"(?<=[.|])\s", re.sub(r"`[^`]*`", "`…`", plain))


def test_what_to_do_begins_with_a_capital_and_ends_with_a_full_stop() -> None:
    from seatrial.core.words.explain import EXPLANATIONS

    for code, said in EXPLANATIONS.items():
        assert not said.why.endswith("."), code
        assert not re.match(r"[A-Z][a-z]+ [a-z]", said.why) or re.match(r"[A-Z][A-Za-z]*'?s? ", said.why), code
        assert re.match(r"[A-Z`{]", said.next_step), code
        assert said.next_step.endswith((".", "}")), code
