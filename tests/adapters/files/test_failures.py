"""The failures that are known: the package's own, and a user's over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.budget import BudgetSpent
from seatrial.adapters.files.facts import failures as failures_file
from seatrial.adapters.files.facts.failures import FailuresFileInvalid
from seatrial.adapters.files.facts.knowledge import FactsFileInvalid

OURS = """\
failures:
- name: nouveau
  title: Ours
  means: Ours.
  blocks: Ours.
  next: Ours.
  explains: [cuda-dead]
  patterns:
  - {in: log, text: boom, example: boom, source: our wiki}
"""


def test_what_the_package_knows_can_be_read_and_says_where_everything_was_seen() -> None:
    known = failures_file.known()
    assert len({each.name for each in known}) == len(known)
    assert all(pattern.source for each in known for pattern in each.patterns)
    assert all(each.next.endswith(".") for each in known)


def test_a_failure_of_the_same_name_takes_the_place_of_ours_and_stands_first(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(OURS)
    first, *others = failures_file.known([str(path)])
    assert first.title == "Ours"
    assert "nouveau" not in {each.name for each in others}
    assert len(others) == len(failures_file.known()) - 1


def test_a_file_that_is_wrong_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(OURS.replace("in: log", "in: dmesg"))
    with pytest.raises(FailuresFileInvalid, match=r"ours\.yaml:9:6: 'dmesg' is none of"):
        failures_file.known([str(path)])


def test_a_file_that_is_no_yaml_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FactsFileInvalid, match="cannot be read"):
        failures_file.known([str(tmp_path / "nowhere.yaml")])
    path = tmp_path / "ours.yaml"
    path.write_text("failures: [")
    with pytest.raises(FactsFileInvalid, match="not YAML"):
        failures_file.known([str(path)])


def test_a_pattern_without_an_end_is_refused_within_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures_file, "READ_SECONDS", 0.2)
    path = tmp_path / "ours.yaml"
    path.write_text(OURS.replace("text: boom, example: boom", f'text: "(a+)+$", example: "{"a" * 64}!"'))
    with pytest.raises(BudgetSpent, match=r"ours\.yaml took more than 0\.2 s"):
        failures_file.known([str(path)])
