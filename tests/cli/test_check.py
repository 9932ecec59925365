"""`seatrial check` from the command line to the exit code, in all four forms of output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from seatrial.cli.main import main
from tests.docs.terminal import on_terminal

DATA = Path(__file__).parents[1] / "data"
GOOD = """\
versions:
  current:
    openshift: "4.16.23"
    gpu_operator: v24.9.0
    gpu_driver: "550.127.05"
    cuda: "12.4"
    device_plugin: v0.17.0
"""
ON = ["--on", "2025-01-10"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in no repository."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str = GOOD, name: str = "gpu-version-matrix.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def git(folder: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["check", *ON, "-o", "json", *arguments])
    return code, json.loads(capsys.readouterr().out)


# ── exit codes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_ok_exits_0_and_prints_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    assert main(["check", *ON]) == 0
    assert capsys.readouterr().out == (
        "gpu-version-matrix.yaml: 0 fail, 0 unknown, 0 warn, 7 ok (on 2025-01-10, knowledge up to 2026-08-22).\n"
    )


RULES = """\
rules:
- name: CUDA and driver
  rule: the driver is at least as new as CUDA asks for
  check: nvidia-smi
  rationale: libraries of CUDA need their driver
- one major component at a time
"""


def test_rules_in_words_are_shown_as_notes_and_judge_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD + RULES)
    assert main(["check", *ON]) == 0
    assert capsys.readouterr().out == (
        "gpu-version-matrix.yaml:9:3: note: CUDA and driver: the driver is at least as new as CUDA asks for\n"
        "gpu-version-matrix.yaml:13:3: note: one major component at a time\n"
        "\n"
        "gpu-version-matrix.yaml: 0 fail, 0 unknown, 0 warn, 7 ok (on 2025-01-10, knowledge up to 2026-08-22).\n"
        "Reasons and sources: `--full`; what a rule means: `--explain RULE`.\n"
    )
    assert main(["check", *ON, "--full"]) == 0
    assert capsys.readouterr().out.startswith(
        "gpu-version-matrix.yaml:9:3: note (CUDA and driver)\n"
        "    the driver is at least as new as CUDA asks for\n"
        "    check: nvidia-smi\n"
        "    why: libraries of CUDA need their driver\n"
    )
    _, told = as_json(capsys)
    assert [(note["name"], note["rationale"]) for note in told["notes"]] == [
        ("CUDA and driver", "libraries of CUDA need their driver"),
        (None, None),
    ]


def test_something_that_fails_exits_8(folder: Path) -> None:
    write(folder, GOOD.replace("v24.9.0", "v24.12.0"))
    assert main(["check", *ON]) == 8


def test_a_warning_alone_exits_11_and_8_when_strict(folder: Path) -> None:
    write(folder, GOOD.replace("v0.17.0", "v0.16.2"))
    assert main(["check", *ON]) == 11
    assert main(["check", *ON, "--strict"]) == 8


def test_an_unknown_alone_exits_11(folder: Path) -> None:
    write(folder, GOOD.replace('"12.4"', '"12.4.9"'))
    assert main(["check", *ON]) == 11


def test_an_accepted_warning_exits_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accept = "    accept:\n    - rule: gpuop-operands\n      reason: we pin it\n      until: 2025-01-12\n"
    write(folder, GOOD.replace("v0.17.0", "v0.16.2") + accept)
    assert main(["check", *ON]) == 0
    assert "warn, accepted gpuop-operands" in capsys.readouterr().out
    assert main(["check", "--on", "2025-01-13"]) == 11, "an acceptance ends"


def test_a_warning_of_the_reader_is_accepted_in_its_entry_too(folder: Path) -> None:
    rollback = GOOD.split("\n", 1)[1].replace("current", "rollback")
    write(folder, GOOD + rollback)
    assert main(["check", *ON]) == 11, "the way back is where we are"
    write(
        folder, GOOD + rollback + "    accept:\n    - rule: rollback-equals-production\n      reason: a new cluster\n"
    )
    assert main(["check", *ON]) == 0


def test_a_file_that_is_not_yaml_exits_8(folder: Path) -> None:
    write(folder, "versions: [")
    assert main(["check", *ON]) == 8


def test_no_file_exits_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 1
    assert "gpu-version-matrix.yaml" in capsys.readouterr().err


def test_a_day_that_is_none_exits_2(folder: Path) -> None:
    with pytest.raises(SystemExit) as left:
        main(["check", "--on", "tomorrow"])
    assert left.value.code == 2


# ── output ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_finding_is_one_line_with_place_verdict_rule_reason_and_next_step(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, GOOD.replace('"12.4"', '"13.0"'))
    main(["check", *ON])
    assert capsys.readouterr().out.splitlines()[0] == (
        "gpu-version-matrix.yaml:5:17: fail driver-cuda (current): CUDA 13.0 needs driver 580.65.06 or newer, "
        "as all of CUDA 13 does; found 550.127.05 → Take a driver of branch 580 or newer, or an older toolkit"
    )


def test_what_fails_is_listed_first_and_what_is_accepted_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accept = "    accept:\n    - rule: gpuop-operands\n      reason: we pin it\n"
    write(folder, GOOD.replace("v0.17.0", "v0.16.2").replace('"12.4"', '"13.0.9"') + accept)
    later = "  canary:\n    gpu_operator: v24.12.0\n    device_plugin: v0.16.2\n"
    with (folder / "gpu-version-matrix.yaml").open("a", encoding="utf-8") as file:
        file.write(later)
    main(["check", *ON])
    lines = capsys.readouterr().out.splitlines()
    verdicts = [line.split(": ")[1].split(" (")[0].rsplit(" ", 1)[0] for line in lines[: lines.index("")]]
    assert verdicts == sorted(verdicts, key=["fail", "unknown", "warn", "warn, accepted"].index)
    assert {"fail", "warn, accepted"} <= set(verdicts)


def test_two_components_that_one_rule_objects_to_are_two_findings_at_their_own_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, GOOD.replace("v0.17.0", "v0.16.2") + "    container_toolkit: v1.16.2\n")
    _, data = as_json(capsys)
    found = [each for each in data["findings"] if each["rule"] == "gpuop-operands" and each["verdict"] == "warn"]
    assert [each["places"][0]["line"] for each in found] == [7, 8]
    assert [each["message"].split(", not ")[0].rsplit(" ", 2)[1:] for each in found] == [
        ["device_plugin", "v0.17.0"],
        ["container_toolkit", "v1.17.0"],
    ]


def test_a_matrix_with_errors_on_every_line_is_told_in_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "matrix-with-errors-configmap.yaml")
    main(["check", *ON, file])
    lines = capsys.readouterr().out.splitlines()
    main(["check", *ON, "--full", file])
    assert len(lines) * 3 < len(capsys.readouterr().out.splitlines())
    findings = lines[: lines.index("")]
    assert all(line.startswith(f"{file}:") for line in findings)
    assert " fail " in findings[0]
    assert max(len(line) - len(file) for line in findings) < 300


def test_one_cause_in_several_entries_is_one_line_that_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "matrix-with-errors-configmap.yaml")
    main(["check", *ON, file])
    lines = capsys.readouterr().out.removeprefix(f"{file}:").split(f"\n{file}:")
    (never,) = [line for line in lines if "GPU Operator v24.12.0 was never released" in line]
    assert never.startswith("30:21: fail exists (canary_testing, next_planned at 49:21): ")
    assert len([line for line in lines if "SR-IOV operator 4.18.0 does not belong on OpenShift 4.16" in line]) == 1
    _, data = as_json(capsys, file)
    told = [each for each in data["findings"] if "v24.12.0 was never released" in each["message"]]
    assert [each["entry"] for each in told] == ["canary_testing", "next_planned"]  # scripts get each by itself
    open_ = [each for each in data["findings"] if each["verdict"] != "ok"]
    assert f"\n{len(open_)} findings of {len(lines) - 1} causes. " in lines[-1]


def test_a_value_that_cannot_be_read_is_one_line_whatever_rules_need_it(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "matrix-with-errors-configmap.yaml")
    main(["check", *ON, file])
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{file}:48:15: ")]
    assert " fail driver-kernel, openshift-kernel (next_planned): kernel '6.x TBD' is unreadable → Correct " in told


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_on_a_terminal_a_line_is_wrapped_and_nothing_of_it_is_lost(
    columns: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, GOOD.replace('"12.4"', '"13.0"'))
    main(["check", *ON])
    piped = capsys.readouterr().out
    shown, code = on_terminal(
        [sys.executable, "-m", "seatrial", "check", *ON], columns=columns, environment={"NO_COLOR": "1"}
    )
    assert code == 8
    assert shown.split() == piped.split()
    lines = shown.splitlines()
    assert max(map(len, lines)) < columns
    assert lines[0].startswith("gpu-version-matrix.yaml:5:17: fail ")
    is_narrow = columns < len(piped.splitlines()[0])
    assert any(line.startswith("    → Take a driver of branch 580") for line in lines) is is_narrow


def test_the_full_form_of_a_finding_says_why_and_names_its_source(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, GOOD.replace('"12.4"', '"13.0"'))
    main(["check", *ON, "--full"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gpu-version-matrix.yaml:5:17: fail driver-cuda (current)"
    assert lines[1].startswith("    CUDA 13.0 needs driver 580.65.06 or newer")
    assert lines[2].startswith("    → Take a driver of branch 580")
    assert lines[3].startswith("    source: docs.nvidia.com")


def test_all_shows_what_is_ok_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    main(["check", *ON, "--all"])
    assert "ok gpuop-driver (current)" in capsys.readouterr().out


def test_an_unreadable_value_is_told_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD.replace('"12.4"', '"12,4"'))
    code, data = as_json(capsys)
    rules = [each["rule"] for each in data["findings"] if each["verdict"] != "ok"]
    assert (code, rules) == (8, ["exists"])


def test_a_version_that_was_never_released_is_told_once_at_its_own_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "."]) == 0
    assert main(["matrix", "set", "current", "gpu_operator", "v24.12.0"]) == 0
    written = (folder / "gpu-version-matrix.yaml").read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(written, 1) if "v24.12.0" in text)
    capsys.readouterr()
    assert main(["check"]) == 8
    told = [text for text in capsys.readouterr().out.splitlines() if text.startswith("gpu-version-matrix.yaml")]
    assert told[0].startswith(
        f"gpu-version-matrix.yaml:{line}:19: fail exists (current): GPU Operator v24.12.0 was never"
    )
    assert told[1].startswith("gpu-version-matrix.yaml: 1 fail, 0 unknown, 0 warn")


def test_json_has_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD.replace("v24.9.0", "v24.12.0"))
    code, data = as_json(capsys)
    assert (code, data["exitCode"], data["comparedWith"]) == (8, 8, None)
    assert data["knowledge"] == {"builtOn": "2026-11-16", "knownUntil": "2026-08-22", "own": []}
    assert sum(data["summary"].values()) == len(data["findings"])
    found = next(each for each in data["findings"] if each["rule"] == "exists")
    assert found["places"] == [{"file": "gpu-version-matrix.yaml", "line": 4, "column": 19}]
    assert found["entry"] == "current"
    assert found["sources"]


def test_sarif_has_the_structure_of_2_1_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accept = "    accept:\n    - rule: gpuop-operands\n      reason: we pin it\n"
    text = GOOD.replace("v0.17.0", "v0.16.2").replace('"12.4"', '"13.0"') + accept
    write(folder, text, "a matrix.yaml")
    assert main(["check", *ON, "-o", "sarif", "a matrix.yaml"]) == 8
    data = json.loads(capsys.readouterr().out)
    assert (data["version"], len(data["runs"])) == ("2.1.0", 1)
    run = data["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "seatrial"
    assert all(rule["shortDescription"]["text"] for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a%20matrix.yaml"
        assert place["region"]["startLine"] >= 1
        assert place["region"]["startColumn"] >= 1
    by_rule = {result["ruleId"]: result for result in run["results"]}
    assert by_rule["driver-cuda"]["level"] == "error"
    assert by_rule["gpuop-operands"]["suppressions"] == [{"kind": "inSource"}]


def test_junit_has_a_suite_per_entry_and_counts_that_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "matrix-with-errors-configmap.yaml")
    assert main(["check", "--on", "2026-03-01", "-o", "junit", file]) == 8
    root = ElementTree.fromstring(capsys.readouterr().out)  # noqa: S314  our own output
    assert root.tag == "testsuites"
    names = [suite.get("name") for suite in root]
    assert names == ["current_production", "canary_testing", "next_planned", "rollback"]
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(sum(case.find("failure") is not None for case in cases))
        assert all(case.get("name") and case.get("classname") for case in cases)


def test_junit_survives_what_xml_cannot_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD.replace('"12.4"', '"12\\a.4 <&>"'))
    main(["check", *ON, "-o", "junit"])
    ElementTree.fromstring(capsys.readouterr().out)  # noqa: S314  our own output


def test_explain_says_what_a_rule_means(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--explain", "bridge"]) == 0
    assert "both sides" in capsys.readouterr().out
    assert main(["check", "--explain", "brigde"]) == 1


# ── changes, rules and facts of one's own ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    write(folder, GOOD.replace("v24.9.0", "v24.3.0"))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "first")
    write(folder, GOOD.replace("v24.9.0", "v24.6.2"))
    git(folder, "commit", "-qam", "two")
    write(folder)
    return folder


def path_verdict(data: Any) -> str | None:
    return next((each["verdict"] for each in data["findings"] if each["rule"] == "upgrade-path"), None)


def test_changes_are_judged_against_the_last_commit(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = as_json(capsys)
    assert (data["comparedWith"], path_verdict(data)) == ("HEAD", "ok")


def test_changes_are_judged_against_the_base_that_is_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, data = as_json(capsys, "--base", "first")
    assert (code, data["comparedWith"], path_verdict(data)) == (8, "first", "fail")


def test_a_base_that_is_not_there_is_an_error(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--base", "nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_a_file_that_is_new_has_no_change(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(repository, name="other.yaml")
    _, data = as_json(capsys, "other.yaml")
    assert (data["comparedWith"], path_verdict(data)) == (None, None)


RULE = "rules:\n- id: no-550\n  expression: '!stack.gpu_driver.startsWith(\"550.\")'\n  message: We left 550.\n"


def test_rules_beside_the_matrix_are_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    write(folder, RULE, "seatrial-rules.yaml")
    code, data = as_json(capsys)
    assert code == 8
    assert [each["message"] for each in data["findings"] if each["rule"] == "no-550"] == ["We left 550."]


def test_a_broken_file_of_rules_or_facts_is_a_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    write(folder, "rules: 5", "r.yaml")
    write(folder, "gpu_operator: {releases: {x: {}}}", "f.yaml")
    code, data = as_json(capsys, "--rules", "r.yaml", "--facts", "f.yaml")
    failed = {each["rule"]: each["places"][0]["file"] for each in data["findings"] if each["verdict"] == "fail"}
    assert (code, failed) == (8, {"facts": "f.yaml", "user-rules": "r.yaml"})


def test_facts_of_ones_own_answer_what_was_unknown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD.replace('"12.4"', '"12.4.9"'))
    fact = (
        "cuda:\n  toolkit:\n    source: our registry\n    confidence: verified-in-source\n"
        '    linux_x86_64_min_driver: {"12.4.9": "550.90.07"}\n'
    )
    write(folder, fact, "mine.yaml")
    assert main(["check", *ON]) == 11
    assert main(["facts", "add", "mine.yaml"]) == 0
    capsys.readouterr()
    code, data = as_json(capsys)
    found = next(each for each in data["findings"] if each["rule"] == "driver-cuda")
    assert (code, found["verdict"], found["sources"]) == (0, "ok", ["our registry"])


# ── own facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

OWN = """\
gpu_operator:
  releases:
    v26.10.0:
      source: our mirror
      confidence: secondary
      operands: {driver: "620.70.06"}
"""


def test_findings_and_summary_say_what_rests_on_own_facts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, 'versions:\n  current:\n    gpu_operator: v26.10.0\n    gpu_driver: "620.70.06"\n')
    (folder / "seatrial-facts").mkdir()
    (folder / "seatrial-facts" / "mine.yaml").write_text(OWN)
    main(["check", *ON, "--all", "--full"])
    shown = capsys.readouterr().out
    assert "    own facts: seatrial-facts/mine.yaml\n" in shown
    assert "knowledge up to 2026-08-22, own facts in seatrial-facts/mine.yaml: " in shown
    _, data = as_json(capsys)
    marked = {each["rule"] for each in data["findings"] if each["ownFacts"] == ["seatrial-facts/mine.yaml"]}
    assert "exists" in marked
    assert data["knowledge"]["own"] == ["seatrial-facts/mine.yaml"]
    assert all(each["ownFacts"] for each in data["findings"] if "our mirror" in each["sources"])


def test_own_facts_that_nothing_rests_on_are_named_all_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder)
    (folder / "seatrial-facts").mkdir()
    (folder / "seatrial-facts" / "mine.yaml").write_text(OWN)
    main(["check", *ON])
    assert "own facts in seatrial-facts/mine.yaml: no findings rest on them" in capsys.readouterr().out
