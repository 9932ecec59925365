"""Whatever the bytes: an answer, never a traceback; a refusal always has a place and an advice.

Short by default. `SEATRIAL_FUZZ_SECONDS=120` goes on that long, half the time on random texts and half on real files
with random damage; a failure prints the text that made it.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.adapters.files import matrix_file
from seatrial.adapters.files.matrix_edit import EditRefused, mark_bad, promote, set_value, unmark
from seatrial.adapters.files.matrix_fmt import formatted
from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.adapters.files.yaml_tree import BREAK
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import Component, Role
from tests.adapters.files.layouts import Layout, layouts

SECONDS = float(os.environ.get("SEATRIAL_FUZZ_SECONDS", "2"))
EXAMPLES = 100 if SECONDS <= 2 else int(SECONDS * 20)
REAL = [path.read_text() for path in sorted((Path(__file__).parents[2] / "data" / "matrices").glob("*.yaml"))]

WORDS = (
    *("versions:", "current:", "canary:", "rollback", "kind: ConfigMap\n", "data:\n", "matrix.yaml: |", "driver"),
    *("cuda: ", "accept:", "hardware:", "- ", "{", "}", "[", "]", ", ", ": ", "'", '"', "&a ", "*a", "<<: ", "!!str "),
    *("? ", "|", ">", "\n", "\r\n", "\r", "\n  ", "\n    ", "\t", "#", "---\n", "...\n", "%YAML 1.1\n", "\0", "\ufeff"),
    *("é", "\x85", "12.6", "'565.77'", "v24.9.0", "6.x TBD", "~", "null", "true", "0x1F", "1e3", "2026-01-01", ".inf"),
    *("0o7", "012", "1:30", "=", "<<"),
)  # fmt: skip
WOUNDS = (*"\t\0'\"{}[]:\n\r#|", ": ", "&x ", "*x", "- ", "<<: ", "🙂", "\ud800")


def answer(text: str) -> None:
    """Read a text, try every edit on it, and hold both to their promises."""
    reading = read_matrix(text, "m.yaml")
    line_count = len(BREAK.findall(text)) + 1
    for finding in reading.findings:
        assert finding.spans, finding
        assert finding.message, finding
        assert finding.next_step, finding
        for span in finding.spans:
            assert span.file == "m.yaml"
            assert 1 <= span.line <= line_count, finding
            assert 1 <= span.column <= len(text) + 1, finding
    if reading.matrix is None:
        assert any(finding.verdict is Verdict.FAIL for finding in reading.findings)
    edits: tuple[Callable[[], str], ...] = (
        lambda: set_value(text, Role.PRODUCTION, Component.GPU_DRIVER, "580.82.07", file="m.yaml"),
        lambda: set_value(text, Role.CANARY, Component.NCCL, "2.23.4", file="m.yaml"),
        lambda: promote(text, deployed="2026-03-01", file="m.yaml"),
        lambda: mark_bad(text, Role.CANARY, "slow", file="m.yaml"),
        lambda: unmark(text, Role.CANARY, file="m.yaml"),
    )
    for edit in edits:
        outcome = _outcome(edit)
        if isinstance(outcome, EditRefused):
            assert outcome.finding.spans[0].line >= 1, outcome.finding
        else:
            assert read_matrix(outcome, "m.yaml").matrix is not None
    outcome = _outcome(lambda: formatted(text, file="m.yaml"))
    if isinstance(outcome, str):
        assert formatted(outcome, file="m.yaml") == outcome
    else:
        assert outcome.finding.spans[0].line >= 1, outcome.finding


def _outcome(edit: Callable[[], str]) -> str | EditRefused:
    try:
        return edit()
    except EditRefused as refused:
        return refused


def damaged(text: str, chance: random.Random) -> str:
    """A text with a few wounds: pieces cut, doubled, swapped or put in."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 1, 1, 5, 40, 400]))
        piece = chance.choice(["", "", text[start:end] * 2, chance.choice(WOUNDS), chance.choice(WOUNDS) * 30])
        text = text[:start] + piece + text[end:]
        if chance.random() < 0.2:
            lines = text.split("\n")
            chance.shuffle(lines)
            text = "\n".join(lines)
    return text


@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_words_of_yaml_in_any_order_get_an_answer(text: str) -> None:
    answer(text)


@given(st.text(max_size=200))
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    answer(text)


@given(layouts(), st.randoms(use_true_random=False))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_drawn_file_with_damage_gets_an_answer(layout: Layout, chance: random.Random) -> None:
    answer(damaged(layout.text, chance))


@given(layouts(), st.randoms(use_true_random=False), st.sampled_from([None, 2]))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_drawn_matrix_in_a_damaged_json_text_gets_an_answer(
    layout: Layout, chance: random.Random, indent: int | None
) -> None:
    whole = json.dumps({"kind": "ConfigMap", "data": {"matrix.yaml": layout.text}}, indent=indent)
    answer(whole)
    answer(damaged(whole, chance))


def test_real_files_with_damage_get_an_answer() -> None:
    until = time.monotonic() + SECONDS / 2
    seed = 0
    while time.monotonic() < until:
        chance = random.Random(seed)  # noqa: S311  damage, not secrets
        text = damaged(chance.choice(REAL), chance)
        try:
            answer(text)
        except Exception as err:
            raise AssertionError(f"seed {seed}: {text!r}") from err
        seed += 1
    assert seed > 10


def test_any_bytes_on_disk_get_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    for seed in range(100):
        chance = random.Random(seed)  # noqa: S311  damage, not secrets
        content = bytearray(chance.choice(REAL).encode())
        for _ in range(chance.randint(1, 20)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)
        loaded = matrix_file.load_matrix(path)
        assert loaded.reading.matrix is not None or loaded.reading.findings
