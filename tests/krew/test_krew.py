"""The kubectl plugin for krew: a launcher that finds a Python, and a manifest that invents nothing."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from seatrial import __version__
from seatrial_lab.image.build import CHECKOUT
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import Entry, File
from seatrial_lab.krew import archive, manifest

RELEASE = "https://downloads.example.com/seatrial/v1.2.3/"
HOME = "https://example.com/seatrial"


# ── the launcher ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """An archive as krew unpacks it, with this environment's packages in place of the wheels."""
    store = tmp_path / "store"
    site = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    (store / "lib").mkdir(parents=True)
    (store / "lib" / f"cp{sys.version_info[0]}{sys.version_info[1]}").symlink_to(site)
    (store / "lib" / "any").symlink_to(CHECKOUT / "src")
    program = store / archive.PROGRAM
    program.write_bytes(archive.launcher())
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    for name in (archive.PROGRAM, "kubectl_complete-seatrial"):
        (tmp_path / "bin" / name).symlink_to(program)  # as krew does, and as the caveats say
    return tmp_path / "bin"


def run(program: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "SEATRIAL_PYTHON": sys.executable, "HOME": "/nowhere", **environ}
    return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_launcher_starts_the_plugin_and_its_completion_through_links(unpacked: Path) -> None:
    assert run(unpacked / "kubectl-seatrial", "--version").stdout == f"seatrial {__version__}\n"
    helped = run(unpacked / "kubectl-seatrial", "node", "--help")
    assert helped.stdout.startswith("usage: seatrial node ")
    offered = run(unpacked / "kubectl_complete-seatrial", "rollout", "st")
    assert offered.stdout.splitlines() == [
        "start\tstart a rollout: canary first, then waves",
        ":4",
    ]


def test_a_python_that_does_not_fit_is_passed_over_and_none_at_all_is_one_sentence(unpacked: Path) -> None:
    several = f"no-such-python /bin/false {sys.executable}"
    assert run(unpacked / "kubectl-seatrial", "--version", SEATRIAL_PYTHON=several).returncode == 0
    none = run(unpacked / "kubectl-seatrial", "--version", SEATRIAL_PYTHON="no-such-python")
    assert none.returncode == 1
    assert none.stderr.startswith("seatrial: no Python is on the PATH that it works with (3.11, 3.12, ")


def test_what_we_start_does_not_see_our_packages(unpacked: Path) -> None:
    assert "PYTHONPATH" not in (unpacked / "kubectl-seatrial").read_text()


# ── the archive ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("architecture", archive.ARCHITECTURES)
def test_every_python_has_every_compiled_wheel_of_the_lock(architecture: str) -> None:
    found: dict[str, set[str]] = {}
    for folder, wheel in archive._chosen(architecture):
        found.setdefault(folder, set()).add(wheel.name)
    compiled = [found[f"lib/cp{major}{minor}"] for major, minor in archive.PYTHONS]
    assert {"aiohttp", "msgspec", "pyyaml"} <= compiled[0]
    assert all(each >= compiled[0] - found["lib/any"] for each in compiled)
    assert "rich" in found["lib/any"]


def test_the_same_files_give_the_same_bytes() -> None:
    tree: dict[str, Entry] = {"lib/any/a.py": File(content=b"1"), "kubectl-seatrial": File(content=b"2", mode=0o755)}
    assert archive._pressed(tree, 1) == archive._pressed(dict(reversed(tree.items())), 1)


# ── the manifest ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_manifest_names_the_archives_of_a_release_by_address_and_checksum() -> None:
    archives = {each: each.encode() for each in archive.ARCHITECTURES}
    text = manifest.filled("1.2.3", archives, release_url=RELEASE, homepage=HOME)
    made = yaml.safe_load(text)
    assert (made["apiVersion"], made["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert made["metadata"] == {"name": "seatrial"}
    assert re.fullmatch(r"v\d+\.\d+\.\d+", made["spec"]["version"])
    assert len(made["spec"]["shortDescription"]) <= 50
    assert "$HOME/.krew" in made["spec"]["caveats"]
    assert made["spec"]["platforms"] == [
        {
            "selector": {"matchLabels": {"os": "linux", "arch": each}},
            "uri": f"https://downloads.example.com/seatrial/v1.2.3/kubectl-seatrial-1.2.3-linux-{each}.tar.gz",
            "sha256": hashlib.sha256(each.encode()).hexdigest(),
            "bin": "kubectl-seatrial",
        }
        for each in archive.ARCHITECTURES
    ]


def test_nothing_is_written_down_before_there_is_a_release() -> None:
    text = manifest.TEMPLATE.read_text()
    assert re.findall(r"[0-9a-f]{64}|https?://", text) == []
    assert set(re.findall(r"(?<!\$)\$([a-z]\w+)", text)) == {
        *("version", "homepage"),
        *(f"{what}_linux_{each}" for what in ("uri", "sha256") for each in archive.ARCHITECTURES),
    }


@pytest.mark.parametrize(("release", "home"), [("", HOME), (RELEASE, ""), ("http://example.com", HOME)])
def test_a_manifest_without_addresses_is_refused(release: str, home: str) -> None:
    archives = dict.fromkeys(archive.ARCHITECTURES, b"")
    with pytest.raises(ImageFailure, match="has to be an https address"):
        manifest.filled("1.2.3", archives, release_url=release, homepage=home)
