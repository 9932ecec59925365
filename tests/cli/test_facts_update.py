"""`seatrial facts update` from the command line to the exit code, and what check and plan make of a bundle."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli.main import main
from seatrial.core.compat.facts.bundles import Bundle
from tests.adapters.ssh.keys import signer
from tests.app.matrix.test_updating import FACTS, allow, sign

DIGEST = Bundle.of({"operators.yaml": FACTS}, "x").digest
MATRIX = "versions:\n  current:\n    gpu_operator: v26.7.0\n  next_planned:\n    gpu_operator: v26.10.0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A matrix in no repository, and a bundle beside its folder."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    here = tmp_path / "fleet"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "gpu-version-matrix.yaml").write_text(MATRIX)
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "operators.yaml").write_bytes(FACTS)
    return here


def vendored(folder: Path) -> Path:
    (found,) = (folder / "seatrial-facts" / "bundles").glob("acme-*/operators.yaml")
    return found


def status(capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert main(["facts", "status", "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_pinned_unsigned_not_allowed_tampered_and_too_new_have_exit_codes_of_their_own(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["facts", "update", "../acme"]) == 11
    assert f"Nobody vouches for ../acme: it is not signed, and no digest was given for it. {''}" in (
        capsys.readouterr().err
    )
    assert main(["facts", "update", "../acme", "--digest", f"sha256:{'0' * 64}"]) == 8
    ada = signer(tmp_path)
    sign(tmp_path / "acme", ada)
    assert main(["facts", "update", "../acme"]) == 12
    allow(folder, ada)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["facts", "update", "../acme"]) == 1
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert main(["facts", "update", "https://git.example.com/acme.git"]) == 2
    assert not (folder / "seatrial-facts" / "bundles").exists()
    capsys.readouterr()
    assert main(["facts", "update", "../acme"]) == 0
    assert f"bundle acme, {DIGEST}, signed by facts@acme.example; `seatrial check` reads it" in capsys.readouterr().out
    assert main(["facts", "update", "../acme", "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["changed"], data["name"], data["signer"], data["pin"]) == (False, "acme", "facts@acme.example", None)
    (tmp_path / "acme" / "operators.yaml").write_text("schema_version: 2\n")
    sign(tmp_path / "acme", ada)
    assert main(["facts", "update", "../acme"]) == 1
    assert "Update seatrial." in capsys.readouterr().err
    assert vendored(folder).read_bytes() == FACTS


def test_check_reads_a_bundle_marks_what_rests_on_it_and_asks_nobody(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "gpu-version-matrix.yaml").write_text("versions:\n  current:\n    gpu_operator: v26.10.0\n")
    assert main(["check"]) == 11
    assert main(["facts", "update", "../acme", "--digest", DIGEST]) == 0
    (tmp_path / "acme" / "operators.yaml").unlink()
    monkeypatch.setenv("PATH", "")
    capsys.readouterr()
    main(["check", "-o", "json"])
    data = json.loads(capsys.readouterr().out)
    assert data["knowledge"]["own"] == ["bundle acme/operators.yaml"]
    found = {each["rule"]: each for each in data["findings"]}
    assert (found["exists"]["verdict"], found["exists"]["ownFacts"]) == ("ok", ["bundle acme/operators.yaml"])
    main(["check"])
    assert "own facts in bundle acme/operators.yaml: " in capsys.readouterr().out


def test_check_and_plan_refuse_a_bundle_that_was_tampered_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["facts", "update", "../acme", "--digest", DIGEST]) == 0
    file = vendored(folder)
    file.write_bytes(FACTS.replace(b"v26.10.0", b"v26.11.0"))
    capsys.readouterr()
    assert main(["check"]) == 8
    assert f"{file.relative_to(folder)}:1:1: fail facts" in capsys.readouterr().out
    assert main(["plan", "--to", "next_planned"]) == 8
    assert "was changed after bundle acme was taken over" in capsys.readouterr().err
    assert main(["facts", "list"]) == 8
    assert "was changed after bundle acme was taken over" in capsys.readouterr().err


def test_status_tells_bundles_from_own_and_shipped_facts_and_remove_removes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["facts", "update", "../acme", "--digest", DIGEST]) == 0
    data = status(capsys)
    (bundle,) = data["bundles"]
    assert (bundle["name"], bundle["digest"], bundle["pin"], bundle["source"]) == ("acme", DIGEST, DIGEST, "../acme")
    (source,) = [each for each in data["sources"] if each["from"] == "bundle acme/operators.yaml"]
    assert (source["source"], source["known"], source["day"]) == ("release notes", "by", bundle["on"])
    assert main(["facts", "status"]) == 0
    assert f"Bundle acme: {DIGEST}, pinned, taken over on {bundle['on']} from ../acme." in capsys.readouterr().out
    assert main(["facts", "search", "release notes"]) == 0
    assert main(["facts", "remove", "none"]) == 1
    assert main(["facts", "remove", "acme"]) == 0
    assert status(capsys)["bundles"] == []
    assert not (folder / "seatrial-facts" / "bundles").exists()


def test_status_verifies_who_vouches_and_does_not_repeat_what_the_lock_says(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = signer(tmp_path)
    sign(tmp_path / "acme", ada)
    allow(folder, ada)
    assert main(["facts", "update", "../acme"]) == 0
    assert main(["facts", "status"]) == 0
    assert "signed by facts@acme.example, taken over" in capsys.readouterr().out
    lock, allowed = (folder / "seatrial-facts" / name for name in ("bundles.lock.json", "allowed-signers"))
    honest, keys = lock.read_text(), allowed.read_text()

    def doubted() -> str:
        assert main(["facts", "status"]) == 11
        told = capsys.readouterr().out
        assert "signed by facts@acme.example, taken" not in told
        return told

    lock.write_text(honest.replace("facts@acme.example", "security@nvidia.example"))
    assert "NOT VERIFIED (bundles.lock.json says that security@nvidia.example signed it, and facts@acme" in doubted()
    lock.write_text(honest)
    allowed.write_text("")
    assert "NOT VERIFIED (allowed-signers does not have the key that it is signed with)" in doubted()
    allowed.write_text(keys)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tmp_path))
        assert "NOT VERIFIED (ssh-keygen is not installed here)" in doubted()
    (signature,) = vendored(folder).parent.glob("*.sig")
    signature.unlink()
    assert "signed it, and there is no signature)" in doubted()
    lock.write_text(re.sub(r',?\s*"signer": "[^"]*"', "", honest))
    assert "NOT VERIFIED (bundles.lock.json names neither a signer nor a digest" in doubted()


def test_a_plan_says_how_far_knowledge_reaches_and_what_rests_on_a_bundle(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "gpu-version-matrix.yaml").write_text(
        'versions:\n  current:\n    gpu_operator: v26.7.0\n    gpu_driver: "580.173.02"\n'
        '  next_planned:\n    gpu_operator: v26.10.0\n    gpu_driver: "580.173.02"\n'
    )
    assert main(["facts", "update", "../acme", "--digest", DIGEST]) == 0
    capsys.readouterr()
    main(["plan", "--to", "next_planned"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "knowledge up to 2026-08-22, own facts in bundle acme/operators.yaml." in shown
    main(["plan", "--to", "next_planned", "-o", "json"])
    data = json.loads(capsys.readouterr().out)
    assert data["knowledge"] == {
        "builtOn": "2026-11-16",
        "knownUntil": "2026-08-22",
        "own": ["bundle acme/operators.yaml"],
    }
    (step,) = data["steps"]
    assert any(each["ownFacts"] == ["bundle acme/operators.yaml"] for each in step["findings"])
