"""Asks apt which packages the recipe means today, and writes debian.lock.json: `python -m seatrial_lab.image.locking`.

apt works in a folder of its own and installs nothing. It checks Debian's signatures, which is why nobody else is asked.
What the recipe leaves out is told to it as installed, in the version that it would have taken: then it follows no
dependency of these. Only this step needs apt; a build needs the file alone.
Tests: tests/image/test_locking.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from seatrial_lab.image import lock, recipe
from seatrial_lab.image.errors import ImageFailure

KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES: Final = (
    ("debian", "bookworm"),
    ("debian", "bookworm-updates"),
    ("debian-security", "bookworm-security"),
)
APT_SECONDS: Final = 300.0

_PLANNED: Final = re.compile(r"^'(?P<url>[^']+)' (?P<file>[^_ ]+)_\S+ \d+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apt:
    """An apt that knows one architecture, and nothing of this machine."""

    folder: Path
    mirror: str
    architecture: str

    def prepare(self) -> None:
        """Make its folders, and read the lists of the archives."""
        for name in ("state/lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/apt.conf.d"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.tell_installed({})
        sources = "".join(
            f"deb [signed-by={KEYRING}] {self.mirror}/{archive} {suite} main\n" for archive, suite in SUITES
        )
        (self.folder / "etc" / "sources.list").write_text(sources, encoding="utf-8")
        (self.folder / "apt.conf").write_text(self._settings(), encoding="utf-8")
        self.run("apt-get", "update")

    def tell_installed(self, versions: Mapping[str, str]) -> None:
        """Have it believe that these are there."""
        stanzas = (
            f"Package: {name}\nStatus: install ok installed\nArchitecture: {self.architecture}\nVersion: {version}\n"
            "Multi-Arch: allowed\nProvides: awk, debconf-2.0\nMaintainer: nobody\nDescription: left out\n\n"
            for name, version in versions.items()
        )
        (self.folder / "status").write_text("".join(stanzas), encoding="utf-8")

    def _settings(self) -> str:
        return (
            f'Dir::Etc "{self.folder}/etc";\nDir::Etc::parts "apt.conf.d";\nDir::State "{self.folder}/state";\n'
            f'Dir::State::status "{self.folder}/status";\nDir::Cache "{self.folder}/cache";\n'
            f'APT::Architecture "{self.architecture}";\nAPT::Architectures {{ "{self.architecture}"; }};\n'
            'APT::Install-Recommends "false";\nAcquire::Languages "none";\n'
        )

    def run(self, *command: str) -> str:
        """What it answers."""
        done = subprocess.run(
            command,
            env={**os.environ, "APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=APT_SECONDS,
        )
        if done.returncode != 0:
            raise ImageFailure(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
        return done.stdout

    def show(self, name: str, version: str = "") -> dict[str, str]:
        """What the archive says of the version that would be taken, or of the one that is named."""
        text = self.run("apt-cache", "show", "--no-all-versions", f"{name}={version}" if version else name)
        return dict(re.findall(r"^([\w-]+): (.*)$", text.split("\n\n", 1)[0], re.MULTILINE))


def resolve(mirror: str = lock.MIRROR) -> lock.Lock:
    """The packages of the recipe as the archives have them now."""
    if shutil.which("apt-get") is None or not KEYRING.is_file():
        raise ImageFailure(f"Locking needs apt and {KEYRING}: run it on Debian. Building needs neither.")
    packages, dates = {}, []
    for architecture in recipe.MACHINES:
        with tempfile.TemporaryDirectory(prefix="seatrial-apt-") as folder:
            apt = Apt(folder=Path(folder), mirror=mirror, architecture=architecture)
            apt.prepare()
            # A little newer than the archive's, or apt would bring one of them up to date.
            apt.tell_installed({name: apt.show(name)["Version"] + "+left.out" for name in recipe.LEFT_OUT})
            packages[architecture] = _chosen(apt)
            dates += _dates(Path(folder) / "state" / "lists")
    return lock.Lock(as_of=max(dates), packages=packages)


def _chosen(apt: Apt) -> tuple[lock.Package, ...]:
    planned = apt.run("apt-get", "install", "--print-uris", "-qq", *sorted(recipe.PACKAGES))
    chosen = []
    for url, name in _PLANNED.findall(planned):
        said = apt.show(name)
        archive = url.removeprefix(f"{apt.mirror}/").split("/", 1)[0]
        chosen.append(
            lock.Package(
                name=name,
                version=said["Version"],
                architecture=said["Architecture"],
                source=said.get("Source", name),
                archive=archive,
                path=said["Filename"],
                size=int(said["Size"]),
                sha256=said["SHA256"],
            )
        )
    return tuple(sorted(chosen, key=lambda package: package.name))


def _dates(lists: Path) -> list[datetime]:
    """When the archives were last written; a build may be no older than what is in it."""
    texts = [path.read_text(encoding="utf-8") for path in lists.glob("*InRelease")]
    return [parsedate_to_datetime(found) for text in texts for found in re.findall(r"^Date: (.*)$", text, re.MULTILINE)]


def main() -> int:
    """Write the lock anew, and say what is different."""
    before = lock.load() if lock.FILE.is_file() else None
    after = resolve(os.environ.get("SEATRIAL_DEBIAN_MIRROR", lock.MIRROR))
    lock.FILE.write_text(lock.write(after), encoding="utf-8")
    for architecture, packages in after.packages.items():
        known = {package.name: package.version for package in before.packages[architecture]} if before else {}
        for package in packages:
            if known.pop(package.name, None) != package.version:
                print(f"{architecture}  {package.name} {package.version}")
        for name in known:
            print(f"{architecture}  {name} is gone")
    print(f"{lock.FILE.name}: the archives as of {after.as_of:%Y-%m-%d %H:%M} UTC.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
