"""What `seatrial doctor` prints, exits with and refuses, against clusters that a stand-in API server serves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.files.facts import failures as failures_file
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.core.survey.sources import DIAGNOSED, KINDS
from tests import doctored
from tests.cli.served import serving
from tests.core.knowledge import ROOT
from tests.pages import blocks_of, granted_by, rules_of

Serve = Callable[..., list[str]]
ILL = next(name for name in doctored.NAMES if "kernel-mismatch" in doctored.expected(name))
WELL = next(name for name in doctored.NAMES if not doctored.expected(name))


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve a recorded cluster beside the test, and say how to call the command for it."""
    with ExitStack() as stack:

        def start(name: str, *forbidden: str) -> list[str]:
            reply = doctored.serves(doctored.recorded(name), forbidden)
            return ["doctor", *stack.enter_context(serving(reply, tmp_path / "kubeconfig"))]

        yield start


def test_a_failure_is_told_with_its_node_its_evidence_and_the_next_command(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(serve(ILL)) == ExitCode.FINDINGS
    out = capsys.readouterr().out
    (node, *_) = doctored.expected(ILL)["kernel-mismatch"]
    assert out.startswith("kernel-mismatch (")
    assert node in out.splitlines()[0]
    assert "    seen: " in out
    assert "    → " in out


def test_nothing_found_says_what_was_looked_at(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(serve(WELL)) == ExitCode.OK
    out = capsys.readouterr().out
    assert f"Nothing found: none of {len(failures_file.known())} known failures." in out
    assert "Looked at " in out


def test_a_node_in_the_middle_of_an_upgrade_is_named_without_a_word_of_what_takes_care_of_it(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(serve("11-quiet-upgrade-under-way")) == ExitCode.OK
    out = capsys.readouterr().out
    assert out.startswith(
        "In the middle of an upgrade, and not judged here: gpu-02 (`seatrial why NODE` says how far it is).\n"
    )


def test_a_document_says_the_same(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*serve(ILL), "-o", "json"]) == ExitCode.FINDINGS
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert {(each["name"], each["node"]) for each in said["failures"]} == {
        (failure, node) for failure, nodes in doctored.expected(ILL).items() for node in nodes
    }
    assert all(each["evidence"] and each["next"] for each in said["failures"])
    assert said["exitCode"] == ExitCode.FINDINGS


def test_one_node_is_looked_at_alone_and_one_that_is_not_there_is_refused(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    (node, *_) = doctored.expected(ILL)["kernel-mismatch"]
    called = serve(ILL)
    assert main([*called, node]) == ExitCode.FINDINGS
    capsys.readouterr()
    assert main([*called, "gpu-nowhere"]) == ExitCode.ERROR
    assert "There is no node gpu-nowhere." in capsys.readouterr().err


@pytest.mark.parametrize("right", ["nodes", "pods", "events", "pods/log"])
def test_what_may_not_be_read_is_named_and_nothing_found_is_not_well(
    serve: Serve, capsys: pytest.CaptureFixture[str], right: str
) -> None:
    assert main(serve(WELL, right)) == ExitCode.INCONCLUSIVE
    out = capsys.readouterr().out
    assert "not looked at: " in out
    assert right in out


def test_without_logs_it_says_so(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*serve(WELL), "--no-logs"]) == ExitCode.INCONCLUSIVE
    assert "not looked at: logs, as was asked" in capsys.readouterr().out


def test_a_person_can_add_a_failure_and_one_that_is_wrong_is_refused_with_its_line(
    serve: Serve, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ours = tmp_path / "ours.yaml"
    (block,) = [each for each in blocks_of("how-to/doctor.md") if each.startswith("failures:")]
    ours.write_text(block)
    assert main([*serve(WELL), "--failures", str(ours)]) == ExitCode.OK
    assert f"none of {len(failures_file.known()) + 1} known failures" in capsys.readouterr().out
    ours.write_text(block.replace("in: log", "in: dmesg"))
    assert main(["doctor", "--kubeconfig", "/nowhere", "--failures", str(ours)]) == ExitCode.ERROR
    assert "ours.yaml:" in (said := capsys.readouterr().err)
    assert "'dmesg' is none of container, event, condition, log, metric, node." in said


def test_a_prometheus_that_cannot_be_asked_leaves_something_unknown(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*serve(WELL), "--prometheus", "http://127.0.0.1:9"]) == ExitCode.INCONCLUSIVE
    assert "not looked at: Xids in metrics: 127.0.0.1:9 was not reached" in capsys.readouterr().out


def test_a_file_and_a_prometheus_are_of_different_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--snapshot", "x.json", "--prometheus", "http://127.0.0.1:9"]) == ExitCode.USAGE
    assert "--snapshot and --prometheus show different times" in capsys.readouterr().err


def test_every_failure_is_in_the_how_to_and_its_role_is_what_is_read() -> None:
    text = (ROOT / "docs/how-to/doctor.md").read_text(encoding="utf-8")
    assert [each.name for each in failures_file.known() if f"| `{each.name}` |" not in text] == []
    granted = granted_by(rules_of("how-to/doctor.md"))
    lists = {(KINDS[source].group, KINDS[source].resource, "list") for source in DIAGNOSED}
    assert granted == lists | {("", "pods/log", "get")}
