"""A plan as rollouts: one for each step, in a chain, under names that are the same tomorrow. Live: tests/e2e/."""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.matrix import plan_document
from seatrial.app.matrix.plan_document import PlanUnusable
from seatrial.app.picking import Rollout, meant
from seatrial.app.rollout import chaining, options
from seatrial.app.rollout.chaining import Chain
from seatrial.app.rollout.options import StartOptions
from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout import plan as rollout_plan
from seatrial.cli.rollout import rollout
from seatrial.cli.rollout import spec as rollout_spec
from tests.adapters.git.remotes import bare

ON = date(2026, 9, 1)
RUNS = {
    "openshift": "4.16.40",
    "kernel": "5.14.0-427.40.1.el9_4.x86_64",
    "gpu_operator": "v24.9.2",
    "driver": "550.144.03",
    "network_operator": "v24.10.1",
    "mofed": "24.10-0.7.0.0",
    "firmware": "28.43.1014",
    "sriov": "4.16.0",
}
WANTED = RUNS | {
    "gpu_operator": "v25.3.4",
    "driver": "580.82.07",
    "network_operator": "v25.1.0",
    "mofed": "25.01-0.6.0.0",
    "firmware": "28.44.1036",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a matrix, as the current folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    lines = ["versions:"]
    for key, stack in (("current", RUNS), ("canary", WANTED)):
        lines += [f"  {key}:", *(f'    {part}: "{text}"' for part, text in stack.items())]
    (tmp_path / "gpu-version-matrix.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def plan(here: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `seatrial plan -o json` writes, in plan.json."""
    assert main(["plan", "--on", ON.isoformat(), "-o", "json"]) == ExitCode.INCONCLUSIVE
    text = capsys.readouterr().out
    (here / "plan.json").write_text(text, encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def asked(*words: str) -> StartOptions:
    parser = argparse.ArgumentParser()
    rollout.add_arguments(parser)
    return rollout_spec.asked(parser.parse_args(["start", *words]))


def chain(plan: dict[str, Any], *words: str) -> Chain:
    wanted = asked("--plan", "plan.json", *words)
    options.check(wanted)
    return chaining.chain_of(wanted, plan, None, ON)


def test_every_step_is_a_rollout_that_waits_for_the_one_before_it(plan: dict[str, Any]) -> None:
    found = chain(plan, "spring")
    assert found.names == (
        "spring-1-gpu-operator",
        "spring-2-driver",
        "spring-3-network-operator",
        "spring-4-mofed",
        "spring-5-firmware-cx7",
    )
    assert [each["spec"].get("after") for each in found.resources] == [None, *found.names[:-1]]
    assert [each["spec"]["target"]["driver"] for each in found.resources] == ["550.144.03", *["580.82.07"] * 4]


def test_what_we_do_not_move_is_a_step_by_hand_with_the_words_of_the_plan(plan: dict[str, Any]) -> None:
    specs = [each["spec"] for each in chain(plan, "--bake", "2h").resources]
    operator, driver, network, mofed, firmware = specs
    assert [spec.get("byHand", {}).get("component") for spec in specs] == [None] * 4 + ["firmware_cx7"]
    assert operator["target"] == {"driver": "550.144.03", "gpu_operator": "v25.3.4"}
    assert driver["target"] == {"driver": "580.82.07"}
    assert network["target"]["network_operator"] == "v25.1.0"
    assert mofed["target"] == {"driver": "580.82.07", "mofed": "25.01-0.6.0.0"}
    assert "oneWay" not in firmware["byHand"], "one train up: NVIDIA tests going back that far"
    assert firmware["publish"] == {"via": "none"}
    assert all(spec["bake"] == {"durationSeconds": 7200} for spec in specs)


def test_how_versions_are_published_and_who_moves_nodes_is_said_of_what_we_publish(plan: dict[str, Any]) -> None:
    url = "https://git.example/gpu.git"
    way = ("--publish", "git", "--publish-path", "cluster/gpu.yaml", "--publish-url", url, "--mode", "direct")
    found = chain(plan, *way, "--no-prepull", "--set-on-delete").resources
    operator, driver, *_, firmware = (each["spec"] for each in found)
    where = {"via": "git", "git": {"path": "cluster/gpu.yaml", "url": url}}
    assert (operator["publish"], driver["publish"]) == ({**where, "setOnDelete": True}, where)
    assert (driver["mode"], driver["prepull"]) == ("direct", False)
    assert not {"mode", "prepull"} & set(firmware)


def test_operands_without_a_release_are_a_rollout_of_ours(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operands = {"container_toolkit": "v1.17.4", "device_plugin": "v0.17.1"}
    newer = operands | {"container_toolkit": "v1.17.8"}
    lines = ["versions:"]
    for key, stack in (("current", RUNS | operands), ("canary", RUNS | newer | {"firmware": "28.44.1036"})):
        lines += [f"  {key}:", *(f'    {part}: "{text}"' for part, text in stack.items())]
    (here / "gpu-version-matrix.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    main(["plan", "--on", ON.isoformat(), "-o", "json"])
    plan = json.loads(capsys.readouterr().out)
    toolkit, firmware = chain(plan, "spring", "--set-on-delete").resources
    assert toolkit["metadata"]["name"] == "spring-1-container-toolkit"
    assert toolkit["spec"]["target"] == {"driver": "550.144.03", "container_toolkit": "v1.17.8"}
    assert toolkit["spec"]["publish"] == {"setOnDelete": True}
    assert "byHand" not in toolkit["spec"]
    assert (firmware["spec"]["byHand"]["component"], firmware["spec"]["publish"]) == ("firmware_cx7", {"via": "none"})


def test_only_the_first_step_begins_paused(plan: dict[str, Any]) -> None:
    assert [each["spec"].get("paused") for each in chain(plan, "--paused").resources] == [True, *[None] * 4]


def test_the_same_plan_has_the_same_names_and_another_plan_has_others(plan: dict[str, Any]) -> None:
    again, other = json.loads(json.dumps(plan)), json.loads(json.dumps(plan))
    other["steps"] = other["steps"][:1]
    assert chain(again).names == chain(plan).names
    assert chain(plan).names[0].startswith("canary-")
    assert chain(other).names[0] != chain(plan).names[0]


def test_numbers_are_as_wide_as_the_longest_so_that_names_sort_in_order(plan: dict[str, Any]) -> None:
    firmware = next(step for step in plan["steps"] if step["group"] == "firmware")
    many = plan | {"steps": [firmware | {"number": number} for number in range(1, 13)]}
    names = chain(many, "spring").names
    assert names[0] == "spring-01-firmware-cx7"
    assert list(names) == sorted(names)


def test_a_name_that_would_be_too_long_is_refused(plan: dict[str, Any]) -> None:
    with pytest.raises(CalledWrongly, match="63 at most; give a shorter --name"):
        chain(plan, "a" * 55)


def test_everything_is_shown_before_anything_is_created(plan: dict[str, Any]) -> None:
    found = chain(plan, "spring")
    told = list(rollout_plan.preview(found, plan, frozenset(found.names[1:]), has_source=False))
    assert told[0] == "Plan      current to canary: 5 rollouts, one after the other"
    assert "spring-1-gpu-operator  (there already)" in told
    assert "  moves   gpu_operator v24.9.2 to v25.3.4, by seatrial, published: direct" in told
    assert any("Subscribe to channel v25.3 with manual approval" in line for line in told)
    assert "  moves   gpu_driver 550.144.03 to 580.82.07, by seatrial, published: direct" in told
    assert "  moves   firmware_cx7 28.43.1014 to 28.44.1036, by hand" in told
    assert told[-1].startswith("Promotes  nothing")


def test_an_entry_is_planned_as_seatrial_plan_does(here: Path, plan: dict[str, Any]) -> None:
    wanted = asked("--to", "canary", "spring")
    target = chaining.target_of(wanted, ON)
    assert target is not None
    planned = chaining.plan_of(wanted, target, ON)
    assert planned == plan
    assert chaining.chain_of(wanted, planned, target, ON).resources == chain(plan, "spring").resources


def test_from_a_repository_the_last_step_promotes_and_every_commit_knows_where_to_go(here: Path) -> None:
    remote = bare(here)
    text = (here / "gpu-version-matrix.yaml").read_text(encoding="utf-8")
    commit = remote.person().write("gpu-version-matrix.yaml", text)
    url = str(remote.path)
    wanted = asked("--to", "canary", "--git", url, "--publish", "git", "--publish-path", "cluster/gpu.yaml")
    options.check(wanted)
    target = chaining.target_of(wanted, ON)
    found = chaining.chain_of(wanted, chaining.plan_of(wanted, target, ON), target, ON)
    git = {"url": url, "branch": "main", "path": "gpu-version-matrix.yaml", "commit": commit}
    assert [each["spec"].get("matrix") for each in found.resources] == [None] * 4 + [{"git": git, "entry": "canary"}]
    driver = found.resources[1]["spec"]
    assert driver["publish"] == {"via": "git", "git": {"path": "cluster/gpu.yaml", "url": url}}


def test_a_plan_is_read_from_either_form(plan: dict[str, Any], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("json", "yaml"):
        formats.print_document(plan, output)
        (here / "plan").write_text(capsys.readouterr().out, encoding="utf-8")
        assert plan_document.read_plan("plan") == plan


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_that_is_none_is_refused_with_what_to_do(here: Path) -> None:
    for text, said in (("{", "is not YAML"), ("[]", "has no plan"), ('{"a": 1}', "has no plan")):
        (here / "plan.json").write_text(text, encoding="utf-8")
        with pytest.raises(PlanUnusable, match=said):
            plan_document.read_plan("plan.json")
    with pytest.raises(PlanUnusable, match="cannot be read"):
        plan_document.read_plan("nowhere.json")


def test_a_step_that_cannot_be_read_is_refused(plan: dict[str, Any]) -> None:
    del plan["steps"][0]["rollback"]
    with pytest.raises(PlanUnusable, match="a step of the plan cannot be read: KeyError"):
        chain(plan)


def test_a_refusal_and_an_unknown_are_no_plan_to_start(
    plan: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {"refusal": "no-path", "conflict": ["driver-operator"], "suggestion": "Raise it."}
    assert rollout_plan.verdict(refused, accepts_unknown=True) is ExitCode.FINDINGS
    assert "there is no plan (no-path: driver-operator). Raise it." in capsys.readouterr().err
    doubt = {"rule": "r", "verdict": "unknown", "message": "nobody knows", "accepted": False}
    doubtful = plan | {"findings": [doubt]}
    assert rollout_plan.verdict(doubtful, accepts_unknown=False) is ExitCode.INCONCLUSIVE
    assert rollout_plan.verdict(doubtful, accepts_unknown=True) is ExitCode.OK
    assert rollout_plan.verdict(plan, accepts_unknown=False) is ExitCode.OK


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--plan", "p.json", "--to", "canary"), "give one of them"),
        (("--plan", "p.json", "--driver", "580.82.07"), "--plan says what is upgraded to, and --driver"),
        (("--to", "canary", "--git", "u", "--entry", "canary"), "--to says what is upgraded to, and --entry"),
        (("-f", "r.yaml", "--plan", "p.json"), "-f says it all"),
    ],
)
def test_options_that_cannot_be_meant_together_are_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(CalledWrongly, match=said):
        options.check(asked(*words))


def test_what_is_there_under_the_name_has_to_say_the_same(plan: dict[str, Any]) -> None:
    resource = chain(plan, "--manual", "waves").resources[0]
    there = json.loads(json.dumps(resource))
    there["spec"] |= {"paused": True, "mode": "auto", "abort": ""}
    there["spec"]["approvals"]["approved"] = ["waves"]
    chaining.check_same(resource, Rollout(raw=there))
    there["spec"]["target"]["gpu_operator"] = "v25.3.5"
    with pytest.raises(PlanUnusable, match=r"its spec\.target\.gpu_operator differs"):
        chaining.check_same(resource, Rollout(raw=there))


def test_without_a_name_the_step_that_waits_for_no_other_is_meant(plan: dict[str, Any]) -> None:
    steps = [Rollout(raw=each) for each in chain(plan, "spring").resources]
    assert meant(steps).name == "spring-1-gpu-operator"
    done = Rollout(raw={**steps[0].raw, "status": {"phase": "Done"}})
    assert meant([done, *steps[1:]]).name == "spring-2-driver"
