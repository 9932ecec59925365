"""Every sentence that core can say, and every help text, word for word.

To write them again after a change that was meant: `SEATRIAL_GOLDEN=write pytest tests/words/test_sentences.py`. Then
read every line that changed, as somebody would who is called at three in the morning.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.holds import HoldCode
from seatrial.core.movers.dra import words as dra_words
from seatrial.core.movers.dra.values import Why
from seatrial.core.movers.pace import words as pace_words
from seatrial.core.movers.pace.values import WaitCode
from seatrial.core.survey.audit import findings
from tests.cli.test_help import PARSERS, WIDTH_MAX
from tests.core.words import test_announce
from tests.words import collecting, surveying

GOLDEN = Path(__file__).parent / "golden"


def approved(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SEATRIAL_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_sentence_reads_as_it_was_approved() -> None:
    approved("sentences", collecting.text())


def test_every_help_text_reads_as_it_was_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH_MAX))
    pages = (f"# seatrial {name}\n\n{parser.format_whole_help().strip()}\n" for name, parser in PARSERS.items())
    approved("commands", "\n".join("\n".join(line.rstrip() for line in page.splitlines()) + "\n" for page in pages))


def test_every_hold_is_in_the_list_with_every_count_in_it() -> None:
    lines = list(collecting.holds())
    assert [code for code in HoldCode if not any(line.startswith(f"{code}: ") for line in lines)] == []
    assert "evicting: waiting for pod jobs/train-0 to leave" in lines
    assert "evicting: waiting for 2 pods (first: jobs/train-0) to leave" in lines


def test_every_act_and_every_row_of_a_table_is_in_the_list() -> None:
    assert {type(action) for action, _ in test_announce.LINES} >= set(get_args(Action))
    assert set(dra_words.SENTENCES) == set(Why)
    assert set(pace_words.SENTENCES) == set(WaitCode)
    assert set(findings.MEANINGS) == set(findings.FindingKind)
    assert {each.kind for each in surveying.cases()} | surveying.RULED == set(findings.FindingKind)
