"""`seatrial matrix` and `seatrial init`, as a person calls them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.adapters.files import matrix_edit
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.core.compat.matrix import Role

MATRICES = Path(__file__).parents[1] / "data" / "matrices"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the plain example in it, as the current folder."""
    (tmp_path / ".git").mkdir()
    shutil.copy(MATRICES / "plain.yaml", tmp_path / "gpu-version-matrix.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TODAY = {
    '"v24.9.0"': '"v26.3.3"',
    '"v24.9.2"': '"v26.7.0"',
    '"v24.7.0"': '"v26.1.0"',
    "560.35.03": "580.173.02",
    "565.57.01": "595.91.07",
    "12.6": "13.0",
    "28.42.1000": "28.48.1000",
    "4.16.0": "4.20.0",
    "4.16.23": "4.20.34",
}
"""The plain example in versions that may be promoted today: its own have been found vulnerable."""


@pytest.fixture
def today(here: Path) -> Path:
    """The same with versions of today."""
    path = here / "gpu-version-matrix.yaml"
    text = path.read_text(encoding="utf-8")
    for old, new in TODAY.items():
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return here


def test_show_prints_the_versions_side_by_side(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "show"]) == ExitCode.OK

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["current", "canary"]
    assert "gpu_driver        560.35.03   565.57.01" in lines


def test_show_finds_the_file_from_a_folder_below(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "clusters").mkdir()
    monkeypatch.chdir(here / "clusters")

    assert main(["matrix", "show", "-o", "json"]) == ExitCode.OK

    shown = json.loads(capsys.readouterr().out)
    assert shown["file"] == str(here / "gpu-version-matrix.yaml")
    assert shown["entries"][0]["versions"]["gpu_driver"] == {"text": "560.35.03", "line": 6, "column": 13}
    assert shown["findings"] == []


def test_show_says_what_is_wrong_and_where(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_text("versions:\n  current:\n    cuda: 12.10\n")

    assert main(["matrix", "show", "bad.yaml"]) == ExitCode.FINDINGS

    assert capsys.readouterr().err == (
        "bad.yaml:3:11: fail quote-versions: `cuda: 12.10` is the number 12.1 to YAML.\n"
        '    Quote it: `cuda: "12.10"`.\n'
    )


def test_show_of_a_file_that_is_no_matrix_is_no_traceback(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_bytes(b"\xff\xfe\x00")

    assert main(["matrix", "show", "bad.yaml"]) == ExitCode.FINDINGS
    assert "bad.yaml:1:1: fail not-utf-8" in capsys.readouterr().err
    assert main(["matrix", "show", "missing.yaml"]) == ExitCode.ERROR
    assert "missing.yaml cannot be read" in capsys.readouterr().err


def test_without_a_matrix_the_way_to_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    assert main(["matrix", "show"]) == ExitCode.ERROR
    assert "seatrial init" in capsys.readouterr().err


def test_set_writes_one_line_and_says_what_it_did(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "gpu-version-matrix.yaml"
    before = path.read_text()

    assert main(["matrix", "set", "canary", "driver", "570.124.06"]) == ExitCode.OK

    assert path.read_text() == before.replace("565.57.01", "570.124.06")
    assert "canary.gpu_driver 565.57.01 → 570.124.06" in capsys.readouterr().err


def test_set_answers_with_the_key_of_the_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "set", "production", "cuda", "12.8"]) == ExitCode.OK

    assert "current.cuda 12.6 → 12.8" in capsys.readouterr().err


def test_a_dry_run_prints_a_unified_diff_and_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "gpu-version-matrix.yaml"
    path.write_text(path.read_text().removesuffix("\n"))
    before = path.read_text()

    assert main(["matrix", "set", "canary", "gpu_driver", "570.124.06", "--dry-run"]) == ExitCode.OK

    shown = capsys.readouterr().out
    assert '-    driver: "565.57.01"\n+    driver: "570.124.06"\n' in shown
    assert shown.startswith("--- gpu-version-matrix.yaml\n+++ gpu-version-matrix.yaml\n@@ ")
    assert path.read_text() == before


def test_the_dry_run_is_a_patch_that_git_applies(today: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = today
    path = here / "gpu-version-matrix.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
    main(["matrix", "promote", "--dry-run"])
    patch = capsys.readouterr().out
    expected = here / "expected.yaml"
    shutil.copy(path, expected)
    main(["matrix", "promote", "expected.yaml"])

    subprocess.run(["git", "apply", "-p0", "-"], input=patch.encode(), cwd=here, check=True)

    assert path.read_bytes() == expected.read_bytes()


def test_setting_what_is_set_changes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "set", "current", "cuda", "12.6", "-o", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["written"] is False


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["set", "rolback", "cuda", "12.6"], ExitCode.USAGE, "did you mean rollback?"),
        (["set", "canary", "gpu-driver", "565.77"], ExitCode.USAGE, "did you mean gpu_driver?"),
        (["set", "canary", "driver", "R565"], ExitCode.ERROR, "gpu-version-matrix.yaml:12:3: GPU driver 'R565'"),
        (["set", "planned", "driver", "565.77"], ExitCode.ERROR, "no planned entry"),
        (["promote", "--date", "tomorrow"], ExitCode.USAGE, "YYYY-MM-DD"),
        (["frobnicate"], ExitCode.USAGE, "frobnicate"),
        ([], ExitCode.USAGE, "required"),
    ],
)
def test_a_wrong_call_says_what_to_do_and_writes_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: ExitCode, said: str
) -> None:
    before = (here / "gpu-version-matrix.yaml").read_bytes()

    with pytest.raises(SystemExit) as left:
        sys.exit(main(["matrix", *arguments]))

    assert left.value.code == code
    assert said in capsys.readouterr().err
    assert (here / "gpu-version-matrix.yaml").read_bytes() == before


def test_promote_moves_the_sets_and_diff_tells_how(today: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("gpu-version-matrix.yaml", "before.yaml")

    assert main(["matrix", "promote", "--date", "2026-03-01"]) == ExitCode.OK
    assert main(["matrix", "diff", "before.yaml"]) == ExitCode.OK

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "changed  current.gpu_operator v26.3.3 → v26.7.0  (before.yaml:4:19 → gpu-version-matrix.yaml:4:19)",
        "changed  current.gpu_driver 580.173.02 → 595.91.07  (before.yaml:6:13 → gpu-version-matrix.yaml:6:13)",
    ]
    assert lines[2].startswith("added    rollback.openshift (none) → 4.20.34")
    assert main(["matrix", "diff", "before.yaml", "before.yaml", "-o", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out) == {"differences": []}


def test_unmark_takes_the_mark_off_and_says_what_it_said(today: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = today / "gpu-version-matrix.yaml"
    before = path.read_text()
    path.write_text(matrix_edit.mark_bad(before, Role.CANARY, "gate nccl failed: 3 % slower"))

    assert main(["check", "--full", "--on", "2026-03-01"]) != ExitCode.OK
    told = capsys.readouterr().out
    assert "canary-bad" in told
    assert "is marked bad (gate nccl failed: 3 % slower): no rollout starts with it." in " ".join(told.split())
    assert "`seatrial matrix unmark canary`" in " ".join(told.split())
    assert main(["matrix", "unmark", "canary", "--dry-run"]) == ExitCode.OK
    assert '-    bad: "gate nccl failed: 3 % slower"' in capsys.readouterr().out
    assert main(["matrix", "unmark", "canary"]) == ExitCode.OK
    assert "canary is no longer marked bad; the mark said: gate nccl failed: 3 % slower" in capsys.readouterr().err
    assert path.read_text() == before
    assert main(["matrix", "unmark", "canary"]) == ExitCode.OK
    assert "nothing was changed" in capsys.readouterr().err


def test_schema_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "schema"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["title"] == "GPU version matrix"


def test_init_writes_a_matrix_without_findings_and_never_over_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"

    assert main(["init", str(folder)]) == ExitCode.OK
    assert sorted(path.name for path in folder.iterdir()) == ["gpu-version-matrix.yaml", "matrix.schema.json"]
    assert main(["matrix", "show", str(folder)]) == ExitCode.OK
    (folder / "gpu-version-matrix.yaml").write_text("mine")
    assert main(["init", str(folder)]) == ExitCode.ERROR
    assert "--force" in capsys.readouterr().err
    assert (folder / "gpu-version-matrix.yaml").read_text() == "mine"
    assert main(["init", str(folder), "--force"]) == ExitCode.OK
    assert main(["matrix", "show", str(folder)]) == ExitCode.OK


def test_asking_for_the_version_loads_no_yaml() -> None:
    code = "import sys; from seatrial.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass\n"
    code += "print([name for name in ('yaml', 'rich', 'seatrial.core.compat.matrix') if name in sys.modules])"

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown.splitlines()[-1] == "[]"


def test_promote_refuses_a_canary_that_fails(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "gpu-version-matrix.yaml"
    assert main(["matrix", "set", "canary", "gpu_operator", "v25.3.0"]) == ExitCode.OK
    before = path.read_bytes()

    assert main(["matrix", "promote"]) == ExitCode.FINDINGS

    said = capsys.readouterr().err
    assert "fail known-bad" in said
    assert "CVE-2025-23266" in said
    assert "nothing was changed" in said
    assert path.read_bytes() == before


# ── fmt ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

FETCHED = json.dumps({"kind": "ConfigMap", "data": {"matrix.yaml": "current:\n  driver: '565.77'\n"}})


def test_fmt_makes_a_fetched_configmap_one_that_can_be_edited(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "fetched.json"
    path.write_text(FETCHED)

    assert main(["matrix", "set", "current", "driver", "580.82.07", "fetched.json"]) == ExitCode.ERROR
    assert "`seatrial matrix fmt fetched.json`" in capsys.readouterr().err
    assert main(["matrix", "fmt", "--check", "fetched.json"]) == ExitCode.FINDINGS
    assert path.read_text() == FETCHED

    assert main(["matrix", "fmt", "fetched.json"]) == ExitCode.OK
    assert "give it another name" in capsys.readouterr().err
    written = path.read_text()
    assert written == "kind: ConfigMap\ndata:\n  matrix.yaml: |\n    current:\n      driver: '565.77'\n"

    assert main(["matrix", "fmt", "--check", "fetched.json"]) == ExitCode.OK
    assert main(["matrix", "fmt", "fetched.json"]) == ExitCode.OK
    assert path.read_text() == written
    assert main(["matrix", "set", "current", "driver", "580.82.07", "fetched.json"]) == ExitCode.OK
    assert "      driver: '580.82.07'" in path.read_text()


def test_fmt_leaves_alone_what_is_no_configmap_or_no_matrix(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("gpu-version-matrix.yaml").read_bytes()
    Path("bad.yaml").write_text("kind: ConfigMap\ndata: {matrix.yaml: '['}\n")

    assert main(["matrix", "fmt"]) == ExitCode.OK
    assert Path("gpu-version-matrix.yaml").read_bytes() == before
    assert main(["matrix", "fmt", "bad.yaml"]) == ExitCode.ERROR
    assert "bad.yaml:2:" in capsys.readouterr().err


def test_add_makes_an_entry_of_another_and_touches_no_other_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "gpu-version-matrix.yaml"
    before = (
        "versions:\n"
        "  current:  # what runs\n"
        '    gpu_operator: "v25.10.1"\n'
        '    gpu_driver: "580.105.08"  # since spring\n'
        '    status: "production"\n'
        '    deployed: "2026-01-01"\n'
    )
    file.write_text(before)
    assert main(["matrix", "add", "canary", "--from", "current"]) == ExitCode.OK
    text = file.read_text()
    assert text.startswith(before.rstrip("\n"))
    added = text[len(before) :]
    assert [line.split("#")[0].strip() for line in added.splitlines() if line.strip()] == [
        "canary:",
        'gpu_operator: "v25.10.1"',
        'gpu_driver: "580.105.08"',
        'status: "testing"',
    ]
    capsys.readouterr()
    assert main(["matrix", "add", "canary"]) == ExitCode.ERROR
    assert "There is already an entry canary. Change it with `seatrial matrix set canary" in capsys.readouterr().err
    assert main(["matrix", "add", "rollback", "--from", "planned"]) == ExitCode.ERROR
    assert file.read_text() == text
