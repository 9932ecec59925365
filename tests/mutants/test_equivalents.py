"""The list of mutants that change nothing: every entry has its reason, and means a mutant that there is."""

from __future__ import annotations

from pathlib import Path

from bench.mutants import equivalents
from bench.mutants.edits import mutants_of

ROOT = Path(__file__).resolve().parents[2]


def test_every_entry_has_a_reason_and_means_a_mutant_that_there_is() -> None:
    listed = equivalents.listed()
    files = {each.file for each in listed}
    there = [each for file in files for each in mutants_of(file, (ROOT / file).read_text(encoding="utf-8"))]
    assert equivalents.unanswered(listed, there) == []
    assert [each for each in listed if len(each.why.split()) < 4] == []


def test_an_entry_is_found_by_what_it_says_wherever_its_line_is_by_now(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text(
        '[[equivalent]]\nfile = "src/a.py"\nwithin = "f"\nedit = "comparison"\nbefore = "=="\nafter = "!="\n'
        'why = "both are the same here, since nobody asks"\n'
    )
    entry, *none = equivalents.listed(path)
    text = "def f(a):\n    return a == 1\n"
    for moved in (text, f"import b\n\n\n{text}"):
        assert equivalents.unanswered([entry], mutants_of("src/a.py", moved)) == []
    assert equivalents.unanswered([entry], mutants_of("src/a.py", text.replace("==", "<"))) == [entry]
    assert none == []
