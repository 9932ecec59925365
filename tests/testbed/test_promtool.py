"""Getting promtool: once, whole, without root, and without leaving anything but the program."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import promtool

A_PROGRAM = "#!/bin/sh\necho promtool, version 9.9.9\n"


class Mirror:
    """A machine whose apt-get hands out a package of ours, and counts how often it is asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.shelf = folder / "shelf"
        self.said: list[str] = []
        self._folder = folder
        self._asked = folder / "asked"
        for name in ("dpkg-deb", "tar", "sh", "cp", "echo", "rm"):
            (self.bin / name).symlink_to(str(shutil.which(name)))
        monkeypatch.setenv("PATH", str(self.bin))

    def offer(self, program: str | None = A_PROGRAM, *, version: str = "2.42.0+ds-5") -> None:
        tree = self._folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN" / "control").write_text(
            f"Package: prometheus\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: x\n"
        )
        if program is not None:
            (tree / "usr" / "bin").mkdir(parents=True)
            (tree / "usr" / "bin" / "promtool").write_text(program)
            (tree / "usr" / "bin" / "promtool").chmod(0o755)
        package = self._folder / f"prometheus_{version}_all.deb"
        subprocess.run(["dpkg-deb", "-b", tree, package], check=True, capture_output=True)
        self.answer(f"cp {package} .")

    def answer(self, script: str) -> None:
        """What apt-get does when it is asked."""
        apt = self.bin / "apt-get"
        apt.write_text(f"#!/bin/sh\necho asked >> {self._asked}\n{script}\n")
        apt.chmod(0o755)

    @property
    def asked_count(self) -> int:
        return len(self._asked.read_text().splitlines()) if self._asked.exists() else 0

    def get(self) -> Path:
        return promtool.find_or_get(cache=self.shelf, say=self.said.append)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    return Mirror(tmp_path, monkeypatch)


def test_it_is_fetched_once_and_then_taken_from_the_cache(mirror: Mirror) -> None:
    mirror.offer()
    first = mirror.get()
    said = list(mirror.said)
    assert mirror.get() == first == mirror.shelf / "prometheus-2.42.0+ds-5" / "usr" / "bin" / "promtool"
    assert mirror.asked_count == 1
    assert mirror.said == said
    assert "once, not installed" in said[0]


def test_it_leaves_nothing_but_the_package_and_the_lock(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror.offer()
    here = mirror.bin.parent / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    program = mirror.get()
    assert list(here.iterdir()) == []
    assert {path for path in mirror.shelf.rglob("*") if path.is_file()} == {program, mirror.shelf / "prometheus.lock"}


def test_one_that_was_cut_short_is_fetched_again(mirror: Mirror) -> None:
    mirror.offer()
    program = mirror.get()
    program.write_bytes(b"\x7fELF")
    assert mirror.get() == program
    assert program.read_text() == A_PROGRAM
    assert mirror.asked_count == 2


def test_one_on_the_path_is_good_enough(mirror: Mirror) -> None:
    (mirror.bin / "promtool").write_text(A_PROGRAM)
    (mirror.bin / "promtool").chmod(0o755)
    assert mirror.get() == mirror.bin / "promtool"
    assert not mirror.shelf.exists()


def test_one_that_was_kept_without_its_server_is_good_enough(mirror: Mirror) -> None:
    kept = mirror.shelf / "promtool-2.42.0+ds-5" / "bin" / "promtool"
    kept.parent.mkdir(parents=True)
    kept.write_text(A_PROGRAM)
    kept.chmod(0o755)
    assert mirror.get() == kept


def test_the_server_comes_with_it_and_is_not_fetched_again(mirror: Mirror) -> None:
    mirror.offer()
    program = mirror.get()
    assert promtool.server(cache=mirror.shelf, say=mirror.said.append) == program.with_name("prometheus")
    assert mirror.asked_count == 1


def test_a_machine_without_apt_is_told_what_to_do(mirror: Mirror) -> None:
    with pytest.raises(errors.PartMissing, match=r"this machine has no apt-get to fetch it with\. Install the tools"):
        mirror.get()


def test_what_apt_complains_of_is_passed_on(mirror: Mirror) -> None:
    mirror.answer("echo 'E: Unable to locate package prometheus' >&2; exit 100")
    with pytest.raises(errors.PartMissing, match=r"failed: E: Unable to locate package prometheus.*apt-get update"):
        mirror.get()


@pytest.mark.parametrize("program", [None, "#!/bin/sh\nexit 1\n"])
def test_a_package_without_a_promtool_that_runs_is_refused(mirror: Mirror, program: str | None) -> None:
    mirror.offer(program)
    with pytest.raises(errors.PartMissing, match="does not run here"):
        mirror.get()
    assert [path.name for path in mirror.shelf.iterdir()] == ["prometheus.lock"]


def test_the_colon_of_an_epoch_does_not_get_into_a_path(mirror: Mirror) -> None:
    mirror.offer()
    mirror.answer(f"cp {mirror.bin.parent}/prometheus_2.42.0+ds-5_all.deb prometheus_1%3a3.0-1_all.deb")
    assert mirror.get() == mirror.shelf / "prometheus-1-3.0-1" / "usr" / "bin" / "promtool"


@pytest.mark.cluster
def test_the_real_one_tells_good_metrics_from_bad(tmp_path: Path) -> None:
    program = promtool.find_or_get()
    assert os.access(program, os.X_OK)
    good = "# HELP ships_total Ships.\n# TYPE ships_total counter\nships_total 1\n"
    command: list[str | Path] = [program, "check", "metrics"]
    assert subprocess.run(command, input=good, capture_output=True, text=True, cwd=tmp_path).returncode == 0
    bad = subprocess.run(
        command, input=good.replace("ships_total", "ships"), capture_output=True, text=True, cwd=tmp_path
    )
    assert bad.returncode != 0
    assert 'counter metrics should have "_total" suffix' in bad.stderr + bad.stdout
