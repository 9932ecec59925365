"""What `seatrial doctor` prints, exits with and refuses, against clusters that a stand-in API server serves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.files.facts import failures as failures_file
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.core.survey.sources import DIAGNOSED, KINDS
from tests import audited, doctored
from tests.cli.served import serving
from tests.core.compat.knowledge import ROOT
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


@contextmanager
def with_rollouts(tmp_path: Path, *phases: str) -> Iterator[list[str]]:
    """A well cluster with a rollout in each of these phases, and a Lease that was renewed an hour ago."""
    quiet = doctored.serves(doctored.recorded(WELL))
    rollouts = [
        {"metadata": {"name": f"to-{number}"}, "spec": {"canary": {}}, "status": {"campaign": {"phase": phase}}}
        for number, phase in enumerate(phases)
    ]
    lease = {
        "metadata": {"name": "seatrial", "namespace": "seatrial"},
        "spec": {
            "holderIdentity": "seatrial-0",
            "renewTime": "2026-10-01T08:30:00.000000Z",
            "leaseDurationSeconds": 15,
        },
    }
    ours = audited.serves({"gpurollouts.seatrial.dev": rollouts, "leases.coordination.k8s.io": [lease]})

    async def reply(request: web.Request) -> web.StreamResponse:
        is_ours = "seatrial.dev" in request.path or "/leases" in request.path
        answer = await (ours if is_ours else quiet)(request)
        answer.headers["Date"] = doctored.NOW
        return answer

    with serving(reply, tmp_path / "kubeconfig") as called:
        yield ["doctor", *called]


def test_the_page_ends_with_the_open_rollout_and_that_its_controller_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with with_rollouts(tmp_path, "Done", "Waving") as called:
        assert main(called) == ExitCode.OK
    assert " ".join(capsys.readouterr().out.splitlines()[-2:]).endswith(
        "Rollout to-1 is open. No controller is in charge: seatrial-0 was last seen 1 h ago. `seatrial status to-1` "
        "says what it waits for."
    )


def test_several_open_rollouts_are_named_and_ended_ones_are_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with with_rollouts(tmp_path, "Baking", "Waving") as called:
        main(called)
    assert "Rollouts to-0, to-1 are open." in capsys.readouterr().out
    with with_rollouts(tmp_path, "Done") as called:
        main(called)
    said = capsys.readouterr().out
    assert "ollout" not in said
    assert "No controller of seatrial is in charge: seatrial-0 was last seen 1 h ago." in said


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
