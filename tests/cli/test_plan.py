"""`seatrial plan`, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main

ON = ("--on", "2026-09-01")

RUNS = """\
    openshift: "4.16.40"
    kernel: "5.14.0-427.40.1.el9_4.x86_64"
    gpu_operator: "v24.9.2"
    driver: "550.144.03"
    network_operator: "v24.10.1"
    mofed: "24.10-0.7.0.0"
    firmware: "28.43.1014"
    sriov: "4.16.0"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, as the current folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(here: Path, **entries: str) -> None:
    texts = [f"  {key}:\n{entry}" for key, entry in entries.items()]
    (here / "gpu-version-matrix.yaml").write_text("versions:\n" + "".join(texts), encoding="utf-8")


def changed(entry: str, **versions: str) -> str:
    for key, version in versions.items():
        old = next(line for line in entry.splitlines() if line.startswith(f"    {key}:"))
        entry = entry.replace(old, f'    {key}: "{version}"')
    return entry


def test_a_plan_is_printed_step_by_step_in_a_hundred_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))

    assert main(["plan", *ON]) == ExitCode.INCONCLUSIVE

    out = capsys.readouterr().out
    assert out.startswith("From current to canary: 2 steps, 1 with a way back to rehearse.")
    assert " 1. GPU Operator  (REHEARSE THE WAY BACK)" in out
    assert " 2. GPU driver\n" in out
    assert "gpu_operator v24.9.2 → v25.3.4" in out
    assert "Subscribe to channel v25.3 with manual approval" in out
    assert "GPU pods, node by node" in out
    assert "to what runs today" in out
    assert "Judged as of 2026-09-01" in out
    assert max(map(len, out.splitlines())) <= 100


def test_json_carries_every_step_with_its_stack(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = changed(RUNS, openshift="4.17.40", network_operator="v25.1.0", mofed="25.01-0.6.0.0", sriov="4.17.0")
    write(here, current=RUNS, canary=target)

    assert main(["plan", "-o", "json", *ON]) == ExitCode.INCONCLUSIVE

    told = json.loads(capsys.readouterr().out)
    assert (told["from"], told["to"], told["on"]) == ("current", "canary", "2026-09-01")
    assert [step["group"] for step in told["steps"]] == ["network", "platform", "sriov"]
    assert told["steps"][1]["oneWay"] is True
    assert told["steps"][1]["rollback"] == {
        "way": "closed",
        "toStep": 2,
        "farthestStep": 2,
        "sentence": "OpenShift does not go back: from here on only forward",
    }
    assert told["steps"][-1]["stack"]["openshift"] == "4.17.40"
    assert {each["reason"] for each in told["steps"][0]["why"]} == {"wanted", "bridge"}
    assert told["steps"][0]["order"].startswith("before OpenShift")
    assert told["between"].startswith("let it bake")


def test_impact_adds_a_table_to_each_step_in_a_hundred_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = changed(RUNS, openshift="4.17.40", network_operator="v25.1.0", mofed="25.01-0.6.0.0", sriov="4.17.0")
    write(here, current=RUNS, canary=changed(target, gpu_operator="v25.3.4", driver="580.82.07"))

    assert main(["plan", "--impact", *ON]) == ExitCode.INCONCLUSIVE

    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.split() == ["Component", "Action", "Impact", "on", "workloads"]]) == 5
    assert "       cordon-required" in lines
    cordoning = lines[lines.index("       cordon-required") + 1]
    assert cordoning == "    ●    upgrade controller         Cordons the node                 No new pods"
    assert any("node loses    the node itself, every running pod" in line for line in lines)
    assert any("● while this lasts, the node's GPUs are out of service." in line for line in lines)
    assert not any("…" in line for line in lines)  # nothing is cut off
    assert max(map(len, lines)) <= 100


def test_a_mark_that_no_row_has_is_not_explained(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = RUNS + '    cuda: "12.4"\n'
    write(here, current=images, canary=changed(images, cuda="12.2"))
    main(["plan", "--impact", *ON])
    shown = capsys.readouterr().out
    assert "Impact on workloads" in shown
    assert "●" not in shown


def test_without_impact_the_plan_reads_as_before(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))

    main(["plan", *ON])
    plain = capsys.readouterr().out.splitlines()
    main(["plan", "--impact", *ON])
    told = capsys.readouterr().out.splitlines()

    assert "Impact on workloads" not in "".join(plain)
    start = next(number for number, line in enumerate(told) if line.startswith("    node loses"))
    assert told[:start] == plain[:start]
    same = [line for line in told if line and line in plain]
    assert same == [line for line in plain if line]  # the same lines, and what is added comes after its step


def test_json_carries_the_impact_of_each_step_when_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))

    assert main(["plan", "--impact", "-o", "json", *ON]) == ExitCode.INCONCLUSIVE
    steps = json.loads(capsys.readouterr().out)["steps"]
    impact = [step.pop("impact") for step in steps][-1]
    assert main(["plan", "-o", "json", *ON]) == ExitCode.INCONCLUSIVE
    assert json.loads(capsys.readouterr().out)["steps"] == steps

    assert (impact["reboot"], impact["oneWay"]) == (False, False)
    assert impact["loses"][:2] == ["running GPU pods", "new pods"]
    assert {
        "phase": "cordon-required",
        "component": "upgrade controller",
        "action": "Cordons the node",
        "impact": "No new pods",
        "capacityLost": True,
        "loses": ["new pods"],
    } in impact["rows"]


def test_a_plan_without_steps_has_no_impact_to_tell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=RUNS)
    assert main(["plan", "--impact", *ON]) == ExitCode.OK
    assert "●" not in capsys.readouterr().out


def test_the_legend_names_only_marks_that_a_row_carries(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=changed(RUNS, gpu_operator="v24.9.1"), canary=RUNS)
    main(["plan", "--impact", *ON])
    told = capsys.readouterr().out
    assert "Impact on workloads" in told
    assert "●" not in told


def test_a_refusal_shows_which_rules_fight_and_exits_with_findings(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, current=RUNS, canary=changed(RUNS, firmware="28.40.1000"))

    assert main(["plan", *ON]) == ExitCode.FINDINGS

    out = capsys.readouterr().out
    assert "there is no plan: the target is sound, but no way leads there" in out
    assert "What stands in the way: rule one-way" in out
    assert "What cannot be done, and why:" in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_target_that_fails_exits_with_findings_and_says_where(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v24.12.0"))

    assert main(["plan", "-o", "json", *ON]) == ExitCode.FINDINGS

    told = json.loads(capsys.readouterr().out)
    assert (told["refusal"], told["conflict"]) == ("target-fails", ["exists"])
    assert told["findings"][0]["places"][0].startswith(str(here / "gpu-version-matrix.yaml"))


def test_unknowns_make_a_plan_inconclusive(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without_firmware = "\n".join(line for line in RUNS.splitlines() if "firmware" not in line) + "\n"
    write(here, current=without_firmware, canary=RUNS)

    assert main(["plan", *ON]) == ExitCode.INCONCLUSIVE

    out = " ".join(capsys.readouterr().out.split())
    assert "firmware_cx7 should become 28.43.1014, but what runs today is unknown" in out
    assert "firmware_cx7 (unknown) → 28.43.1014" in out


def test_nothing_to_do_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=RUNS)
    assert main(["plan", *ON]) == ExitCode.OK
    assert "nothing to do, what is wanted is what runs" in capsys.readouterr().out


def test_a_target_that_was_rejected_before_is_pointed_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=RUNS + '    bad: "lost 3 % of throughput"\n')
    assert main(["plan", *ON]) == ExitCode.OK
    assert "canary is marked bad: lost 3 % of throughput" in capsys.readouterr().err


def test_entries_are_named_by_key_or_role(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=RUNS, next=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))

    assert main(["plan", "--from", "production", "--to", "planned", *ON]) == ExitCode.INCONCLUSIVE
    assert "From current to next: 2 steps" in capsys.readouterr().out
    assert main(["plan", "--to", "rollback", *ON]) == ExitCode.ERROR
    assert "has no entry rollback; it has current, canary, next" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_no_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "gpu-version-matrix.yaml").write_text("versions: {current: {gpu_opertor: v24.9.0}}\n", encoding="utf-8")
    assert main(["plan", *ON]) == ExitCode.FINDINGS
    assert "gpu_opertor" in capsys.readouterr().err


def test_a_day_that_is_none_is_a_wrong_call(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["plan", "--on", "soon"])
    assert stopped.value.code == ExitCode.USAGE
    assert "write it as YYYY-MM-DD" in capsys.readouterr().err


def test_what_is_wrong_with_another_entry_does_not_stop_a_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    canary = changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07")
    write(here, current=RUNS, canary=canary, next=changed(RUNS, kernel="6.x TBD"))

    assert main(["plan", *ON]) == ExitCode.INCONCLUSIVE
    assert "From current to canary: 2 steps" in capsys.readouterr().out
    assert main(["plan", "--to", "next", *ON]) == ExitCode.FINDINGS
    assert "6.x TBD" in capsys.readouterr().err


def test_facts_beside_the_matrix_count_in_a_plan_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))
    main(["plan", *ON])
    before = capsys.readouterr().out
    (here / "seatrial-facts").mkdir()
    (here / "seatrial-facts" / "ours.yaml").write_text(
        "openshift:\n  known_bad_z_streams:\n  - {openshift: '4.16.40', breaks: our storage, source: us, "
        "confidence: verified-in-source}\n",
        encoding="utf-8",
    )
    main(["plan", *ON])
    assert capsys.readouterr().out != before


def test_a_plan_with_a_warning_that_nobody_accepted_does_not_exit_0(here: Path) -> None:
    accepted = changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07")
    rules = ("gpuop-driver", "firmware-mofed", "lifecycle", "known-bad", "driver-kernel", "preconditions", "bridge")
    accept = "    accept:\n" + "".join(f"    - {{rule: {rule}, reason: seen}}\n" for rule in rules)
    write(here, current=RUNS, canary=accepted)
    assert main(["plan", *ON]) == ExitCode.INCONCLUSIVE
    write(here, current=RUNS, canary=accepted + accept)
    assert main(["plan", *ON]) == ExitCode.OK


RULES = """\
rules:
- id: five-eighty-from-25
  when: at_least("gpu_operator", "v25.3.0")
  expression: at_least("gpu_driver", "580.0.0")
  message: On GPU Operator 25 we run branch 580.
"""


def test_rules_of_the_users_own_decide_about_every_step(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))
    (here / "seatrial-rules.yaml").write_text(RULES, encoding="utf-8")

    assert main(["plan", *ON]) == ExitCode.INCONCLUSIVE
    out = capsys.readouterr().out
    assert out.index("GPU driver") < out.index("GPU Operator  (REHEARSE"), "the other way round the rule forbids it"
    assert "five-eighty-from-25" in out

    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="570.172.08"))
    assert main(["plan", *ON]) == ExitCode.FINDINGS
    assert "On GPU Operator 25 we run branch 580." in capsys.readouterr().out


def test_rules_that_cannot_be_read_are_no_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))
    (here / "ours.yaml").write_text("rules: [{id: a}]\n", encoding="utf-8")
    assert main(["plan", "--rules", "ours.yaml", *ON]) == ExitCode.FINDINGS
    assert "A rule needs 'expression'" in capsys.readouterr().err


# ── how long ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_with_a_fleet_a_driver_says_how_long_it_takes_and_the_rest_that_nobody_forecasts_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))

    main(["plan", *ON, "--nodes", "20"])
    out = " ".join(capsys.readouterr().out.split())
    assert "takes not forecast: only a driver's way over the nodes is." in out
    assert "over 20 nodes, in nine of ten runs at most" in out
    assert "Canary, gates and bake come on top." in out
    main(["plan", *ON, "--nodes", "20"])
    assert " ".join(capsys.readouterr().out.split()) == out, "a plan is the same every time"


def test_scripts_get_the_seconds_of_each_driver_step(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))

    main(["plan", *ON, "--nodes", "20", "-o", "json"])
    first, second = json.loads(capsys.readouterr().out)["steps"]
    assert first["expected"] is None
    assert second["expected"]["nodes"] == 20
    assert 0 < second["expected"]["seconds_p50"] <= second["expected"]["seconds_p90"]


def test_without_a_fleet_or_without_a_driver_nothing_is_forecast(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4"))
    main(["plan", *ON, "--nodes", "20"])
    assert "takes" not in capsys.readouterr().out
    write(here, current=RUNS, canary=changed(RUNS, gpu_operator="v25.3.4", driver="580.82.07"))
    main(["plan", *ON])
    assert "takes  " not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["0", "-3", "many", "100001"])
def test_a_count_of_nodes_that_is_none_is_told(here: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    write(here, current=RUNS, canary=RUNS)
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--nodes", text])
    assert ended.value.code == ExitCode.USAGE
    assert "--nodes" in capsys.readouterr().err
