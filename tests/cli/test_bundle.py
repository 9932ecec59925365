"""`seatrial bundle`: an entry becomes a folder, and `bundle diff` says what would be written otherwise now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode

MATRIX = """\
versions:
  current:
    kubernetes: "1.34.2"
    gpu_operator: "v25.10.1"
    gpu_driver: "580.105.08"
    dra_driver: "25.12.0"
    status: "production"
  canary:
    kubernetes: "1.34.2"
    gpu_operator: "v25.10.1"
    gpu_driver: "580.126.20"
    dra_driver: "25.12.0"
    status: "testing"
"""
GIT = ("--repo", "https://git.example.com/fleet.git", "--path", "gpu/")
DEPLOYERS = ("helm", "helmfile", "flux", "argocd", "argocd-helm")


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "gpu-version-matrix.yaml"
    path.write_text(MATRIX)
    monkeypatch.chdir(tmp_path)
    return path


def bundle(*words: str, entry: str = "current", deployer: str = "helm", folder: str = "stack") -> int:
    """Unchecked: what the rules say of these versions changes with what vendors publish."""
    return checked("--unchecked", *words, entry=entry, deployer=deployer, folder=folder)


def checked(*words: str, entry: str = "current", deployer: str = "helm", folder: str = "stack") -> int:
    return main.main(["bundle", "--entry", entry, "--deployer", deployer, "-o", folder, *GIT, *words])


def diff(*words: str) -> int:
    return main.main(["bundle", "diff", "stack", "--unchecked", *words])


def below(folder: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


@pytest.mark.parametrize("deployer", DEPLOYERS)
def test_an_entry_is_written_and_written_anew_it_is_the_same(
    matrix: Path, deployer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bundle(deployer=deployer) == ExitCode.OK
    said = capsys.readouterr()
    assert said.out == ""
    assert f"Wrote stack, for {deployer}: gpu-operator v25.10.1, nvidia-dra-driver-gpu 25.12.0" in said.err
    before = below("stack")
    assert bundle(deployer=deployer) == ExitCode.OK
    assert "Nothing to change in stack" in capsys.readouterr().err
    assert bundle(deployer=deployer, folder="other") == ExitCode.OK
    assert [*before.values()] == [*below("other").values()]
    assert str(matrix.parent).encode() not in b"".join(before.values())  # nothing of this machine


def test_own_values_are_laid_over_ours(matrix: Path) -> None:
    Path("mine.yaml").write_text("driver:\n  rdma: {enabled: true}\n")
    assert bundle("--values", "gpu-operator=mine.yaml") == ExitCode.OK
    values = yaml.safe_load(Path("stack/001-gpu-operator/values.yaml").read_text())
    assert values == {"driver": {"version": "580.105.08", "rdma": {"enabled": True}}}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bundle"], "bundle needs --entry"),
        (["bundle", "--entry", "current", "--deployer", "helm"], "bundle needs --output"),
        (["bundle", "--entry", "current", "--deployer", "flux", "-o", "stack"], "--repo URL"),
        (["bundle", "--entry", "current", "--deployer", "fleet", "-o", "stack"], "there is no 'fleet' here"),
        (["bundle", "--entry", "current", "--deployer", "helm", "-o", "stack", "--values", "a"], "RELEASE=FILE"),
        (["bundle", "--entry", "current", "--deployer", "helm", "-o", "stack", "--path", "../x"], "not a folder of a"),
        (["bundle", "--entry", "current", "--deployer", "helm", "-o", "stack", "--nodes", "-1"], "not a number"),
    ],
)
def test_a_wrong_call_writes_nothing(
    matrix: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main.main(words)
    except SystemExit as end:
        code = int(str(end.code))
    assert code == ExitCode.USAGE
    assert says in capsys.readouterr().err
    assert not Path("stack").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--entry", "next"], "has no entry next; it has current, canary"),
        (["--charts", "nowhere"], "neither a folder nor an address"),
        (["--file", "absent.yaml"], "cannot be read"),
        (["--values", "gpu-operator=absent.yaml"], "absent.yaml cannot be read"),
        (["--charts", "https://me:secret@example.com/"], "has a login in it"),
    ],
)
def test_what_cannot_be_bundled_is_an_error_and_nothing_is_written(
    matrix: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bundle(*words) == ExitCode.ERROR
    assert says in capsys.readouterr().err
    assert not Path("stack").exists()


def test_an_entry_that_fails_the_rules_is_bundled_only_unchecked(
    matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    current, canary, failing = MATRIX.partition("  canary:")
    sound = (
        current.replace("v25.10.1", "v26.7.0").replace("580.105.08", "595.91.07").replace("    dra_driver", "    # ")
    )
    matrix.write_text(sound + canary + failing)
    assert checked(entry="canary") == ExitCode.FINDINGS
    said = capsys.readouterr().err
    assert "the entry canary fails, and nothing was written" in said
    assert "gpu-version-matrix.yaml:" in said
    assert not Path("stack").exists()
    assert checked() == ExitCode.OK  # what is wrong with another entry is not its business
    assert bundle(entry="canary", folder="other") == ExitCode.OK


def test_a_folder_of_somebody_else_is_left_alone(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("stack").mkdir()
    Path("stack/mine.txt").write_text("precious")
    assert bundle("--force") == ExitCode.ERROR
    assert "not a bundle of seatrial" in capsys.readouterr().err
    assert below("stack") == {"stack/mine.txt": b"precious"}


def test_a_dra_driver_of_the_renamed_chart_asks_which_names_are_meant(
    matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, tail = MATRIX.rpartition('"25.12.0"')
    matrix.write_text(f'{head}"0.4.1"{tail}')
    assert bundle(entry="canary") == ExitCode.ERROR
    assert "--dra-names old" in capsys.readouterr().err
    assert bundle("--dra-names", "old", entry="canary") == ExitCode.OK
    assert diff() == ExitCode.OK  # it remembers


# ── diff ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bundle_that_is_as_it_would_be_written_differs_in_nothing(
    matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.yaml").write_text("driver:\n  rdma: {enabled: true}\n")
    options = ("--on-delete", "--dra-gpus", "--image", "r.io/seatrial:1", "--nodes", "40", "--parallel", "4")
    assert bundle(*options, "--values", "gpu-operator=mine.yaml", deployer="flux") == ExitCode.OK
    Path("mine.yaml").unlink()  # what was asked for is in the bundle
    capsys.readouterr()
    assert diff("--entry", "current") == ExitCode.OK
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "stack, current for flux: all as it would be written now.\n")


def test_another_entry_differs_and_how_is_shown(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle() == ExitCode.OK
    capsys.readouterr()
    assert diff("--entry", "canary") == ExitCode.DRIFT
    said = capsys.readouterr()
    assert '-  version: "580.105.08"\n+  version: "580.126.20"\n' in said.out
    assert "--- 001-gpu-operator/values.yaml (there)\n+++ 001-gpu-operator/values.yaml (now)\n" in said.out
    assert "4 differ" in said.err  # the values of both, the page and the mark


def test_edited_missing_and_added_files_are_each_called_so(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle() == ExitCode.OK
    Path("stack/deploy.sh").unlink()
    Path("stack/mine.txt").write_text("x")
    Path("stack/001-gpu-operator/values.yaml").write_text("driver: {}\n")
    capsys.readouterr()
    assert diff("-o", "json") == ExitCode.DRIFT
    found = json.loads(capsys.readouterr().out)
    assert {each["path"]: each["change"] for each in found["differences"]} == {
        "001-gpu-operator/values.yaml": "differs",
        "deploy.sh": "missing",
        "mine.txt": "unknown",
    }
    assert (found["folder"], found["entry"]) == ("stack", "current")


def test_a_folder_that_is_no_bundle_cannot_be_compared(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["bundle", "diff", ".", "--entry", "current"]) == ExitCode.ERROR
    assert "not a bundle of seatrial" in capsys.readouterr().err


def test_charts_that_came_with_a_bundle_are_taken_from_there(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, version in (("gpu-operator", "v25.10.1"), ("nvidia-dra-driver-gpu", "25.12.0")):
        Path("charts", name).mkdir(parents=True)
        Path("charts", name, "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: {version}\n")
    assert bundle("--charts", "charts", deployer="helmfile") == ExitCode.OK
    assert Path("stack/001-gpu-operator/chart/Chart.yaml").read_text().endswith("version: v25.10.1\n")
    assert diff() == ExitCode.OK
    Path("stack/001-gpu-operator/chart/values.yaml").write_text("a: 1\n")
    capsys.readouterr()
    assert diff() == ExitCode.DRIFT  # the mark has its digest
    matrix.write_text(MATRIX.replace("v25.10.1", "v25.10.0"))
    assert diff() == ExitCode.ERROR
    assert "is of version v25.10.1, and the entry says v25.10.0" in capsys.readouterr().err
