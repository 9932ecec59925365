"""What a rollout upgrades to: read from files and from real Git remotes, and judged before anything begins."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from seatrial.app.errors import UNKNOWN, CalledWrongly, Objection
from seatrial.app.rollout import targeting
from seatrial.app.rollout.options import Goal
from seatrial.app.rollout.targeting import EntryUnusable, RolloutTarget
from tests.adapters.git.remotes import bare

DAY = date(2026, 3, 1)
FILE = "gpu-version-matrix.yaml"


def a_matrix(driver: str = "580.105.08", *, bad: str = "", more: str = "") -> str:
    rejected = f'    bad: "{bad}"\n' if bad else ""
    return (
        "versions:\n"
        '  current:\n    gpu_driver: "580.95.05"\n'
        f'  canary:\n    gpu_driver: "{driver}"\n    canary_node: "gpu-7"\n{rejected}{more}'
    )


def read(spec: dict[str, Any] | None = None, **changes: Any) -> RolloutTarget:
    return targeting.read(Goal(**changes), spec, "spring", DAY)


def says(found: RolloutTarget) -> str:
    """Why nothing is started with it, even by somebody who accepts what is unknown."""
    objection = targeting.objection(found, accepts_unknown=True)
    assert objection is not None
    assert not objection.is_unknown
    return objection.says


def test_the_entry_of_a_file_gives_the_driver_and_who_goes_first(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(a_matrix())
    found = read(matrix=str(tmp_path / FILE))
    assert (found.driver, found.entry, found.canary_node) == ("580.105.08", "canary", "gpu-7")
    assert found.matrix is None  # a file of this machine is no home the controller could look at
    assert targeting.objection(found, accepts_unknown=False) is None


OPERANDS = "    container_toolkit: v1.18.1\n    device_plugin: v0.17.0\n    gpu_operator: v25.10.0\n"


def test_operands_that_are_not_what_production_runs_move_with_the_driver(tmp_path: Path) -> None:
    text = a_matrix(more=OPERANDS).replace('"580.95.05"\n', '"580.95.05"\n    device_plugin: v0.17.0\n')
    (tmp_path / FILE).write_text(text)
    assert read(matrix=str(tmp_path / FILE)).beside == (("container_toolkit", "v1.18.1"),)
    assert read(matrix=str(tmp_path / FILE), driver_only=True).beside == ()
    assert read(matrix=str(tmp_path / FILE), entry="current").beside == ()


def test_a_release_that_is_not_what_production_runs_is_taken_and_brings_its_operands(tmp_path: Path) -> None:
    text = a_matrix(more=OPERANDS).replace('"580.95.05"\n', '"580.95.05"\n    gpu_operator: v25.3.4\n')
    (tmp_path / FILE).write_text(text)
    assert read(matrix=str(tmp_path / FILE)).beside == (("gpu_operator", "v25.10.0"),)


def test_the_network_driver_of_an_entry_is_a_rollout_of_its_own_and_the_dra_driver_goes_along(tmp_path: Path) -> None:
    now = '"580.95.05"\n    mofed: 24.10-0.7.0.0\n    dra_driver: 25.8.0\n'
    text = a_matrix(more="    mofed: 25.04-0.6.0.0\n    dra_driver: 25.12.0\n").replace('"580.95.05"\n', now)
    (tmp_path / FILE).write_text(text)
    assert read(matrix=str(tmp_path / FILE)).beside == (("dra_driver", "25.12.0"),)


def test_without_a_matrix_operands_are_those_that_were_named_and_they_are_judged_too() -> None:
    found = read(driver="580.105.08", component=(("container_toolkit", "v1.18.1"),))
    assert found.beside == (("container_toolkit", "v1.18.1"),)
    assert found.report.file == "driver 580.105.08, container_toolkit v1.18.1"
    spec = {"target": {"driver": "580.105.08", "kernel": "6.8"}}
    with pytest.raises(CalledWrongly, match="kernel does not move with a driver; what does: gpu_operator"):
        read(spec)


def test_a_dra_driver_of_its_own_chart_is_a_component_like_others() -> None:
    found = read({"target": {"driver": "580.105.08", "dra_driver": "25.12.0"}})
    assert found.beside == (("dra_driver", "25.12.0"),)


def test_a_file_that_names_its_target_names_all_of_it(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    remote.person().write(FILE, a_matrix(more=OPERANDS))
    matrix = {"git": {"url": str(remote.path)}, "entry": "canary"}
    assert read({"matrix": matrix}).beside == (("container_toolkit", "v1.18.1"), ("device_plugin", "v0.17.0"))
    assert read({"matrix": matrix, "target": {"driver": "580.105.08"}}).beside == ()
    one = {"driver": "580.105.08", "gfd": "v0.18.0"}
    assert read({"matrix": matrix, "target": one}).beside == (("gfd", "v0.18.0"),)


def test_the_head_of_a_git_remote_is_read_and_pinned(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    commit = remote.person().write(FILE, a_matrix())
    found = read(git=str(remote.path), entry="canary")
    assert found.driver == "580.105.08"
    git = {"url": str(remote.path), "branch": "main", "path": FILE, "commit": commit}
    assert found.matrix == {"git": git, "entry": "canary"}
    assert commit[:12] in found.where


def test_the_resource_names_the_role_even_where_the_file_has_a_key_of_its_own(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    remote.person().write(
        "m.yaml", a_matrix().replace("  canary:", "  canary_testing:").replace("current:", "production:")
    )
    found = read(git=str(remote.path), path="m.yaml", entry="canary_testing")
    assert found.entry == "canary_testing"
    assert found.matrix is not None
    assert found.matrix["entry"] == "canary"


def test_rules_that_lie_beside_the_matrix_in_the_repository_are_heard(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    person = remote.person()
    rules = "rules:\n- id: no-580\n  expression: '!stack.gpu_driver.startsWith(\"580.\")'\n  message: We left 580.\n"
    person.write("seatrial-rules.yaml", rules)
    person.write(FILE, a_matrix())
    found = read(git=str(remote.path))
    assert says(found) == "no rollout is started with what fails."
    assert "We left 580." in {each.finding.message for each in found.report.found}


@pytest.mark.parametrize("folder", ["", "gpu/"])
def test_facts_that_lie_beside_the_matrix_in_the_repository_are_heard(tmp_path: Path, folder: str) -> None:
    remote = bare(tmp_path)
    person = remote.person()
    ours = "driver: {known_versions: {source: our lab, confidence: secondary, from_gpu_operator_docs: ['999.1.2']}}\n"
    person.write(f"{folder}seatrial-facts/ours.yaml", ours)
    commit = person.write(f"{folder}{FILE}", a_matrix("999.1.2"))
    found = read(git=str(remote.path), path=f"{folder}{FILE}")
    assert found.report.own == (f"seatrial-facts/ours.yaml@{commit[:12]}",)
    assert "Driver 999.1.2 exists." in " ".join(each.finding.message for each in found.report.found)


def test_broken_facts_beside_the_matrix_in_the_repository_stop_a_start(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    person = remote.person()
    person.write("seatrial-facts/ours.yaml", "drivre: {}\n")
    commit = person.write(FILE, a_matrix())
    found = read(git=str(remote.path))
    assert says(found) == "no rollout is started with what fails."
    (told,) = [each.finding for each in found.report.found if each.finding.rule == "facts"]
    assert told.spans[0].file == f"seatrial-facts/ours.yaml@{commit[:12]}"


@pytest.mark.parametrize(
    ("driver", "accepts", "objection"),
    [("580.105.08", False, None), ("999.1.2", False, UNKNOWN), ("999.1.2", True, None)],
)
def test_what_nobody_knows_is_refused_until_a_person_accepts_it(
    driver: str, accepts: bool, objection: Objection | None
) -> None:
    assert targeting.objection(read(driver=driver), accepts_unknown=accepts) == objection


def test_a_matrix_that_fails_is_refused_whatever_is_accepted(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(a_matrix(more='    gpu_operatr: "v26.7.0"\n'))
    found = read(matrix=str(tmp_path / FILE))
    assert says(found) == "no rollout is started with what fails."
    assert any("gpu_operatr" in each.finding.message for each in found.report.found)


def test_an_entry_that_was_rejected_before_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(a_matrix(bad="lost 3 % of throughput"))
    found = read(matrix=str(tmp_path / FILE))
    assert says(found).startswith("entry canary is marked bad: lost 3 % of throughput.")


def test_an_entry_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(a_matrix())
    with pytest.raises(EntryUnusable, match="has no entry spring; it has current, canary"):
        read(matrix=str(tmp_path / FILE), entry="spring")


def test_a_remote_without_the_file_says_where_it_looked(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    with pytest.raises(EntryUnusable, match=r"has no nowhere\.yaml on main"):
        read(git=str(remote.path), path="nowhere.yaml")


def test_a_version_that_is_none_is_called_wrongly() -> None:
    with pytest.raises(CalledWrongly, match="the driver to upgrade to"):
        read(driver="latest")


def test_a_file_whose_target_is_not_the_entrys_is_refused(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    remote.person().write(FILE, a_matrix())
    spec = {"target": {"driver": "570.124.06"}, "matrix": {"git": {"url": str(remote.path)}, "entry": "canary"}}
    with pytest.raises(EntryUnusable, match=r"spec.target.driver is 570.124.06, and entry canary .* says 580.105.08"):
        read(spec)


def test_a_file_that_pins_a_commit_is_read_there(tmp_path: Path) -> None:
    remote = bare(tmp_path)
    person = remote.person()
    first = person.write(FILE, a_matrix("580.95.05"))
    person.write(FILE, a_matrix())
    spec = {"matrix": {"git": {"url": str(remote.path), "commit": first}, "entry": "canary"}}
    assert read(spec).driver == "580.95.05"


@pytest.mark.parametrize(("running", "is_refused"), [("v25.3.2", False), ("v26.3.3", True)])
def test_a_hole_that_runs_already_keeps_nobody_from_starting_and_one_that_opens_does(
    tmp_path: Path, running: str, is_refused: bool
) -> None:
    matrix = a_matrix("580.159.03", more='    gpu_operator: "v25.3.2"\n')
    text = matrix.replace('gpu_driver: "580.95.05"', f'gpu_driver: "580.95.05"\n    gpu_operator: "{running}"')
    (tmp_path / FILE).write_text(text)
    found = targeting.read(Goal(matrix=str(tmp_path / FILE)), None, "spring", date(2026, 11, 1))
    assert found.report.is_failing is is_refused
    assert any("CVE-2026-24260" in each.finding.message for each in found.report.found)
