"""Facts from files: the package's own, and a user's, whose errors are findings with a place."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from seatrial.adapters.files.facts.knowledge import FactsFileInvalid, load_knowledge, load_user_facts
from seatrial.core.compat.matrix import Span
from seatrial.core.compat.versions import Line, OperatorVersion

GOOD = """\
gpu_operator:
  releases:
    v26.10.0:
      source: our mirror
      confidence: secondary
"""


def test_the_packages_own_facts_are_read_without_yaml() -> None:
    program = (
        "import sys; from seatrial.adapters.files.facts.knowledge import load_knowledge; "
        "print(len(load_knowledge().gpu_operators), 'yaml' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["22", "False"]


def test_a_users_file_is_laid_over_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD)
    row = load_knowledge([file]).gpu_operator(OperatorVersion.parse("v26.10.0"))
    assert row is not None
    assert row.cite.source == "our mirror"


def test_of_two_files_the_last_is_on_top(tmp_path: Path) -> None:
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for file in files:
        file.write_text(GOOD.replace("our mirror", file.name))
    row = load_knowledge(files).gpu_operator(OperatorVersion.parse("v26.10.0"))
    assert row is not None
    assert row.cite.source == "b.yaml"


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        (GOOD.replace("secondary", "sure"), 5, 7, "expected one of"),
        (GOOD.replace("      confidence: secondary\n", ""), 3, 5, "confidence"),
        (GOOD.replace("releases", "relases"), 2, 3, "Did you mean 'releases'"),
        (GOOD.replace("v26.10.0", "26.10"), 3, 5, "unreadable"),
        ("known_issues:\n- effect: x\n- effect: y\n", 2, 3, "confidence"),
        ("gpu_operator: [1,\n", 2, 1, "not YAML"),
        ("- 1\n", 1, 1, "a mapping"),
    ],
)
def test_a_broken_file_is_a_finding_that_points_at_the_place(
    tmp_path: Path, text: str, line: int, column: int, word: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(FactsFileInvalid) as refused:
        load_user_facts(file)
    found = refused.value.finding
    assert found.spans == (Span(file=str(file), line=line, column=column),)
    assert word in found.message


def test_a_file_that_is_not_there_or_not_text_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("absent.yaml", "binary.yaml"):
        with pytest.raises(FactsFileInvalid, match="cannot be read"):
            load_user_facts(tmp_path / name)


def test_a_version_without_quotes_is_not_taken_for_a_fraction(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    row = "{source: x, confidence: memory, gpu_operator_min: 25.10}"
    file.write_text(
        f"network_operator: {{releases: {{v26.10.0: {{source: x, confidence: memory, documented: {row}}}}}}}\n"
    )
    row_read = load_user_facts(file).network_operator(OperatorVersion.parse("v26.10.0"))
    assert row_read is not None
    assert row_read.gpu_operator_min == Line.parse("25.10")


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing yet\n")
    assert load_knowledge([file]).gpu_operators == load_knowledge().gpu_operators


def test_on_is_a_word_and_not_a_truth(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("generated: {on: 2026-12-24}\n")
    assert load_user_facts(file).built_on == date(2026, 12, 24)
