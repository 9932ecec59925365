"""`seatrial facts`: looking into the knowledge base, and adding to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.cli.main import main


def test_list_says_what_there_is_and_of_which_day(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts", "list"]) == 0
    shown = capsys.readouterr()
    assert "gpu_operator" in shown.out
    assert "built on 2026-11-16; its sources end on 2026-08-22" in shown.err


def test_list_goes_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts", "list", "openshift.releases", "-o", "json"]) == 0
    paths = [each["path"] for each in json.loads(capsys.readouterr().out)["facts"]]
    assert "openshift.releases.4.16" in paths


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("gpu_operator.releases.v24.9.0", "550.127.05"),
        ("gpu_operator.releases.v24.9.0.documented.drivers.0.version", "565.57.01"),
        ("known_issues.0.effect", "ibverbs"),
    ],
)
def test_show_prints_a_fact_with_its_source(capsys: pytest.CaptureFixture[str], path: str, word: str) -> None:
    assert main(["facts", "show", path]) == 0
    assert word in capsys.readouterr().out
    assert main(["facts", "show", path, "-o", "json"]) == 0
    assert word in capsys.readouterr().out


@pytest.mark.parametrize("path", ["nonsense", "known_issues.999", "known_issues.x"])
def test_a_path_that_leads_nowhere_is_said(capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert main(["facts", "show", path]) == 1
    assert "there is no fact" in capsys.readouterr().err


def test_search_finds_texts_and_paths_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts", "search", "ocpbugs-60663"]) == 0
    shown = capsys.readouterr().out
    assert "openshift.known_bad_z_streams.1.ref" in shown
    assert "source: github:rh-ecosystem-edge/nvidia-ci" in shown


def test_a_search_that_finds_too_much_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    main(["facts", "search", "driver"])
    assert "more; ask more narrowly" in capsys.readouterr().err
    main(["facts", "search", "driver", "-o", "json"])
    assert len(json.loads(capsys.readouterr().out)["found"]) > 40


def test_add_refuses_what_does_not_fit_and_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("driver: {livecycle: {}}\n")
    assert main(["facts", "add", str(file), "--dir", str(tmp_path)]) == 1
    assert "mine.yaml:1:10" in capsys.readouterr().err
    file.write_text("driver: {}\n")
    assert main(["facts", "add", str(file), "--dir", str(tmp_path)]) == 0
    assert main(["facts", "add", str(file), "--dir", str(tmp_path)]) == 1
    assert main(["facts", "add", str(file), "--dir", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "seatrial-facts" / "mine.yaml").read_text() == "driver: {}\n"


def test_facts_of_your_own_are_shown_among_the_others(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("gpu_operator:\n  releases:\n    v26.10.0: {source: our mirror, confidence: secondary}\n")
    assert main(["facts", "add", str(mine), "--dir", str(tmp_path)]) == 0
    assert main(["facts", "show", "gpu_operator.releases.v26.10.0", "--dir", str(tmp_path)]) == 0
    assert "our mirror" in capsys.readouterr().out
    assert main(["facts", "search", "our mirror", "--facts", str(mine)]) == 0
    assert "gpu_operator.releases.v26.10.0" in capsys.readouterr().out
    assert main(["facts", "show", "gpu_operator.releases.v24.9.0", "--dir", str(tmp_path)]) == 0


def test_status_lists_sources_by_age_and_says_whose_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "generated: {on: 2026-12-24}\n"
        "gpu_operator:\n  releases:\n    v26.10.0: {source: our mirror, confidence: secondary}\n"
    )
    assert main(["facts", "status", "--dir", str(tmp_path), "--facts", str(mine)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["READ", "FACTS", "SOURCE"]
    assert lines[1].startswith("not read")
    assert lines[-3] == f"by 2026-12-24         1  our mirror  ({mine})"
    assert lines[-2:] == ["Knowledge up to 2026-08-22, built on 2026-11-16.", f"Own facts, over ours: {mine}."]
    assert main(["facts", "status", "--dir", str(tmp_path), "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["knownUntil"], data["own"]) == ("2026-08-22", [])
    days = [each["day"] or "" for each in data["sources"]]
    assert days == sorted(days)
    assert {each["from"] for each in data["sources"]} == {"shipped"}


def test_schema_prints_the_published_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts", "schema"]) == 0
    published = Path(__file__).parents[2] / "docs" / "reference" / "facts.schema.json"
    assert capsys.readouterr().out == published.read_text(encoding="utf-8")


def test_the_day_of_a_file_of_your_own_is_not_taken_for_ours(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("schema_version: 1\ngenerated: {on: 2026-12-24}\nsources: {x: {read: 2026-12-23}}\n")
    assert main(["facts", "list", "--facts", str(mine), "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["builtOn"] == "2026-11-16"
    assert main(["facts", "list", "sources", "--facts", str(mine), "-o", "json"]) == 0
    assert "sources.x" not in {each["path"] for each in json.loads(capsys.readouterr().out)["facts"]}
