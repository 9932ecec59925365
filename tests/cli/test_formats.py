"""How things are printed: json and yaml are one document, names are kubectl's, and nobody else writes documents."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main

CLI = Path(formats.__file__).parent


class Ship(StrEnum):
    """Something that is text in JSON."""

    FERRY = "ferry"


AWKWARD = {
    "version": "1.10",
    "day": "2026-01-02",
    "word": "on",
    "nothing": None,
    "much": [1, 2.5, True],
    "pair": ("a", "b"),
    "ship": Ship.FERRY,
    "text": "≥ 580: – “see” `seatrial why`\nand more",
    "empty": {"list": [], "map": {}, "text": ""},
}


def test_json_and_yaml_are_the_same_document(capsys: pytest.CaptureFixture[str]) -> None:
    formats.print_document(AWKWARD, "json")
    as_json = json.loads(capsys.readouterr().out)
    formats.print_document(AWKWARD, "yaml")
    assert yaml.safe_load(capsys.readouterr().out) == as_json
    assert as_json == AWKWARD | {"pair": ["a", "b"]}


def test_documents_that_come_one_after_the_other_can_be_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for data in (AWKWARD, {"last": 1}):
        formats.print_next(data, "json")
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    for data in (AWKWARD, {"last": 1}):
        formats.print_next(data, "yaml")
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == [first, last]


def test_names_are_what_kubectl_prints(capsys: pytest.CaptureFixture[str]) -> None:
    formats.print_names(formats.ROLLOUT, ["spring", "autumn"])
    assert capsys.readouterr().out == "gpurollout.seatrial.dev/spring\ngpurollout.seatrial.dev/autumn\n"


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a matrix, where commands without a cluster have something to say."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == ExitCode.OK
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["matrix", "show"],
        ["matrix", "diff", "gpu-version-matrix.yaml"],
        ["check", "--on", "2026-01-02"],
        ["plan", "--from", "rollback", "--to", "current", "--on", "2026-01-02"],
        ["facts", "list"],
        ["facts", "show", "gpu_operator.releases.v25.3.4"],
        ["facts", "search", "580.105.08"],
        ["facts", "status"],
        ["forecast", "--nodes", "4", "--samples", "1", "--parallel", "1", "--unavailable", "1", "--seed", "1"],
    ],
    ids=" ".join,
)
def test_a_command_prints_the_same_document_both_ways(
    command: list[str], matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del matrix
    capsys.readouterr()

    def told(output: str) -> Any:
        main([*command, "-o", output])
        return yaml.safe_load(capsys.readouterr().out)  # JSON is YAML, too

    found = told("json")
    assert found
    assert told("yaml") == found


def test_nobody_else_writes_documents_or_offers_formats() -> None:
    strangers = [
        str(path.relative_to(CLI))
        for path in CLI.rglob("*.py")
        if path.name != "formats.py" and re.search(r"json\.dumps|yaml\.(safe_)?dump\(|\"--output\"", path.read_text())
    ]
    assert sorted(strangers) == [
        "gates/bake_html.py",  # a page carries its data
        "matrix/bundle.py",  # --output is a folder there
        "matrix/facts.py",  # a fact is YAML for people, too
        "run/forecasts/html.py",
        "show/report/page.py",
        "survey/audit_reports.py",  # a ConfigMap keeps a document
    ]
