"""An audit for other programs and readers: they say what the table says, and unknown is never a pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

import pytest
from aiohttp import web

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.core.survey.audit.findings import FindingKind
from tests import audited
from tests.cli.served import serving
from tests.cli.test_audit import DAY, drifted

Told = Callable[..., str]


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Told]:
    """What an audit of a cluster prints in a form."""
    with ExitStack() as stack:

        def tell(form: str, cluster: audited.Recorded, code: ExitCode, **refusing: tuple[str, ...]) -> str:
            where = stack.enter_context(serving(audited.serves(cluster, **refusing), tmp_path / "kubeconfig"))
            assert main(["audit", *where, "--on", DAY["helm"], "-o", form]) == code
            return capsys.readouterr().out

        yield tell


def outcomes(text: str) -> dict[str, str]:
    """Cases by name, with the tag that says how they ended."""
    root = ElementTree.fromstring(text)  # noqa: S314  written by ourselves a moment ago
    return {case.attrib["name"]: case[0].tag if len(case) else "" for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_component_and_each_kind_of_finding(told: Told) -> None:
    well = outcomes(told("junit", audited.recorded("helm"), ExitCode.OK))
    assert set(well.values()) == {""}
    assert {each.value for each in FindingKind} <= set(well)
    ill = outcomes(told("junit", drifted(), ExitCode.DRIFT))
    assert {name: tag for name, tag in ill.items() if tag} == {
        "gpu_driver": "failure",
        "mixed": "failure",
        "foreign-cordon": "failure",
        "pending": "failure",
    }


def test_in_junit_what_may_not_be_read_is_an_error_and_no_pass(told: Told) -> None:
    blind = outcomes(told("junit", audited.recorded("helm"), ExitCode.INCONCLUSIVE, forbidden=("deployments.apps",)))
    assert (blind["gpu_operator"], blind["not-observable"]) == ("error", "error")


def test_sarif_names_the_nodes_as_places_and_each_rule_once(told: Told) -> None:
    (run,) = json.loads(told("sarif", drifted(), ExitCode.DRIFT))["runs"]
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert sorted(rules) == ["foreign-cordon", "mixed", "pending"]
    by_rule = {each["ruleId"]: each for each in run["results"]}
    assert rules[by_rule["mixed"]["ruleIndex"]] == "mixed"
    (place,) = by_rule["mixed"]["locations"][0]["logicalLocations"]
    assert (place["fullyQualifiedName"], by_rule["mixed"]["level"]) == ("nodes/gpu-3", "error")


def test_a_line_for_a_chat_is_one_line_and_begins_with_the_heaviest(told: Told) -> None:
    assert told("brief", audited.recorded("helm"), ExitCode.OK) == "GPU audit of 3 GPU nodes: nothing found.\n"
    line = told("brief", drifted(), ExitCode.DRIFT)
    assert line.count("\n") == 1
    assert line.startswith("GPU audit of 3 GPU nodes: 1 drift, 2 wrong. mixed on gpu-3: gpu_driver is mixed")


def test_watched_it_is_told_again_when_something_has_changed_and_not_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[str] = []

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.path == "/apis/apps/v1/daemonsets" and "continue" not in request.query:
            looks.append(request.path)
        cluster = drifted() if len(looks) > 2 else audited.recorded("helm")
        return await audited.serves(cluster)(request)

    with serving(reply, tmp_path / "kubeconfig") as where:
        called = ["audit", *where, "--on", DAY["helm"], "-o", "brief", "-w", "--every", "1s", "--timeout", "4s"]
        assert main(called) == ExitCode.TIMEOUT
    assert len(looks) > 2
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2][:13] for line in told] == ["nothing found", "1 drift, 2 wr"]
