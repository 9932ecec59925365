"""Programs from Debian packages: fetched once, whole, and without installing anything."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import debian

SHIP = debian.Package(name="ship", program="usr/bin/ship", question=("--version",))
SAILS = "#!/bin/sh\necho ship 1.0\n"


class Mirror:
    """A machine whose apt-get hands out a package of ours, and notes that it was asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.shelf, self.said = folder / "bin", folder / "shelf", list[str]()
        self._folder, self._asked = folder, folder / "asked"
        self.bin.mkdir()
        for name in ("dpkg-deb", "tar", "sh", "cp", "echo", "rm"):
            (self.bin / name).symlink_to(str(shutil.which(name)))
        monkeypatch.setenv("PATH", str(self.bin))

    def offer(self, program: str = SAILS) -> None:
        tree = self._folder / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN" / "control").write_text(
            "Package: ship\nVersion: 1:1.0-2\nArchitecture: all\nMaintainer: nobody\nDescription: x\n"
        )
        (tree / "usr" / "bin").mkdir(parents=True)
        (tree / "usr" / "bin" / "ship").write_text(program)
        (tree / "usr" / "bin" / "ship").chmod(0o755)
        package = self._folder / "ship_1%3a1.0-2_all.deb"
        subprocess.run(["dpkg-deb", "-b", tree, package], check=True, capture_output=True)
        apt = self.bin / "apt-get"
        apt.write_text(f"#!/bin/sh\necho asked >> {self._asked}\ncp {package} .\n")
        apt.chmod(0o755)

    @property
    def asked_count(self) -> int:
        return len(self._asked.read_text().splitlines()) if self._asked.exists() else 0

    def get(self) -> Path:
        return debian.unpacked(SHIP, cache=self.shelf, say=self.said.append)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    return Mirror(tmp_path, monkeypatch)


def test_a_package_is_fetched_once_and_then_taken_from_the_cache(mirror: Mirror) -> None:
    mirror.offer()
    first = mirror.get()
    assert mirror.get() == first == mirror.shelf / "ship-1-1.0-2"
    assert mirror.asked_count == 1
    assert mirror.said == [f"Fetching the Debian package ship (once, not installed) into {mirror.shelf}"]
    assert sorted(path.name for path in mirror.shelf.iterdir()) == ["ship-1-1.0-2", "ship.lock"]


def test_one_whose_program_was_cut_short_is_fetched_again(mirror: Mirror) -> None:
    mirror.offer()
    program = mirror.get() / SHIP.program
    program.write_bytes(b"\x7fELF")
    assert mirror.get() / SHIP.program == program
    assert program.read_text() == SAILS


def test_the_package_of_another_with_the_same_beginning_is_not_taken_for_it(mirror: Mirror) -> None:
    other = mirror.shelf / "ship-wreck-2.0" / SHIP.program
    other.parent.mkdir(parents=True)
    other.write_text(SAILS)
    other.chmod(0o755)
    mirror.offer()
    assert mirror.get().name == "ship-1-1.0-2"


def test_a_package_whose_program_does_not_run_is_refused(mirror: Mirror) -> None:
    mirror.offer("#!/bin/sh\nexit 1\n")
    with pytest.raises(errors.PartMissing, match=r"its usr/bin/ship does not run here\. Real nodes and GitOps"):
        mirror.get()
    assert [path.name for path in mirror.shelf.iterdir()] == ["ship.lock"]


def test_a_machine_without_apt_is_told_so(mirror: Mirror) -> None:
    with pytest.raises(errors.PartMissing, match="no apt-get to fetch it with"):
        mirror.get()


@pytest.mark.cluster
@pytest.mark.parametrize("package", debian.REAL_NODE)
def test_the_programs_of_a_real_node_run_from_the_cache(package: debian.Package) -> None:
    assert os.access(debian.unpacked(package) / package.program, os.X_OK)
