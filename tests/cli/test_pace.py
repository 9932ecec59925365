"""What `seatrial pace` tells at the end, for people and for scripts, and how it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from seatrial import manifests
from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run import pace
from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.movers.pace import values as pace_values
from seatrial.core.movers.pace import waking as core
from tests import builders

ON = OperatorFacts(kind="ClusterPolicy/cluster-policy", is_auto_upgrading=True)


def a_run(*states: str, operator: OperatorFacts = ON, release: str = "v26.7.0", **changes: Any) -> pace.PaceResult:
    """One look at nodes n1, n2, … in these states, after n9 was woken for."""
    names = [f"n{number}" for number in range(1, len(states) + 1)]
    nodes = {
        name: builders.a_node(name, nvidia_state=state, driver=builders.a_starting_driver(name)).facts
        for name, state in zip(names, states, strict=True)
    }
    gain = pace_values.Gain(node="n9", state="pod-restart-required", waited_seconds=0.5, polled_seconds=110.0)
    memory = pace_values.PaceMemory(gains=(gain,), wake_count=1, under_way_most=2)
    version = OperatorVersion.parse(release) if release else None
    pacing = core.decide_pace(pace_values.Seen(nodes=nodes, operator=operator, release=version), memory, builders.NOW)
    fields: dict[str, Any] = {"pacing": pacing, "memory": memory, "operator": operator, "release": version}
    return pace.PaceResult(**(fields | changes))


def show(
    told: pace.PaceResult, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    async def ended(_: object) -> pace.PaceResult:
        return told

    monkeypatch.setattr(pace, "_pace", ended)
    main.main(["pace", "-o", output])
    return capsys.readouterr().out


def test_the_summary_says_who_waits_for_what_and_what_polling_would_have_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = a_run("pod-restart-required", "upgrade-required", "upgrade-done")
    assert show(told, "table", monkeypatch, capsys).splitlines() == [
        "NODE   STATE                  IT",
        "n1     pod-restart-required   waits for its driver pod to become Ready",
        "n2     upgrade-required       waits for its turn",
        "Wakes: 1, nodes: 1. Together they waited 0.5 s for the controller to look; by polling about 110 s.",
        "With up to 2 under way at once that spared about 55 s.",
    ]


def test_the_summary_for_scripts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(show(a_run("upgrade-failed"), "json", monkeypatch, capsys))
    assert said == {
        "operatorRelease": "v26.7.0",
        "assumed": "GPU Operator v26.7.0: watches its state label and the skip label of a node",
        "hold": "",
        "wakes": 1,
        "underWayMost": 2,
        "waitedSeconds": 0.5,
        "polledSecondsEstimate": 110.0,
        "sparedSecondsEstimate": 54.75,
        "nodes": [{"name": "n9", "waitedSeconds": 0.5, "polledSecondsEstimate": 110.0}],
        "waits": [
            {
                "node": "n1",
                "state": "upgrade-failed",
                "code": "failed",
                "why": "failed, says the controller; fix it, then `seatrial node retry n1`",
            }
        ],
        "faults": [],
    }


def test_without_anybody_under_way_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = a_run("upgrade-done", memory=pace_values.PaceMemory(), operator=OperatorFacts())
    assert show(told, "table", monkeypatch, capsys).splitlines() == [
        "No node is under way.",
        (
            "The controller is not woken: there is no GPU Operator here: neither a ClusterPolicy nor an NVIDIADriver "
            "was found."
        ),
    ]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (a_run("upgrade-done"), ExitCode.OK),
        (a_run("pod-restart-required", is_interrupted=True), ExitCode.OK),
        (a_run("upgrade-failed", is_interrupted=True), ExitCode.OK),
        (a_run("pod-restart-required", is_late=True), ExitCode.TIMEOUT),
        (a_run("upgrade-failed"), ExitCode.HELD),
        (a_run("some-typo"), ExitCode.HELD),
        (a_run("upgrade-required", operator=OperatorFacts()), ExitCode.HELD),
        (a_run("upgrade-required", release="v26.3.0"), ExitCode.HELD),
        (a_run("upgrade-done", faults=["unclear"]), ExitCode.ERROR),
    ],
)
def test_the_exit_code_tells_how_it_ended(told: pace.PaceResult, code: ExitCode) -> None:
    assert pace.exit_code(told) is code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--duration", "soon"), "'soon' is not a number of seconds"),
        (("--duration", "-1"), "'-1' is not a number of seconds"),
        (("--duration", "nan"), "'nan' is not a number of seconds"),
        (("--operator-release", "newest"), "newest"),
        (("--rollout", "spring"), "there is no option --rollout."),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["pace", *arguments])
    assert ended.value.code == ExitCode.USAGE
    assert words in capsys.readouterr().err


def test_the_tally_is_one_line() -> None:
    pacing = a_run("pod-restart-required", "upgrade-required", "upgrade-required").pacing
    assert pacing is not None
    assert pace.tally(pacing.waits) == "1 driver-starting, 2 turn"
    assert pace.tally(()) == "no node is under way"


def test_its_rights_are_to_look_and_to_change_nodes_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["manifests", "pace", "--operator-namespace", "nvidia"]) == 0
    text = capsys.readouterr().out
    assert text == manifests.pace(operator_namespace="nvidia")
    objects = list(yaml.safe_load_all(text))
    rules = [rule for item in objects for rule in item.get("rules", ())]
    changing = [rule for rule in rules if not set(rule["verbs"]) <= {"list", "watch"}]
    assert changing == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]}]
    subject = {"kind": "ServiceAccount", "name": "seatrial-pace", "namespace": "seatrial"}
    assert [item["subjects"] for item in objects if item["kind"].endswith("Binding")] == [[subject]] * 2
    assert {item["metadata"].get("namespace", "") for item in objects} == {"", "seatrial", "nvidia"}
