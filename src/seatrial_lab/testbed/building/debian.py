"""Programs from Debian packages, downloaded and unpacked into our cache without installing anything.

    $XDG_CACHE_HOME/seatrial/testbed/<package>-<version>/    what the package holds, as it lies under /
    $XDG_CACHE_HOME/seatrial/testbed/<package>.lock          held while fetching, so that two runs do not fetch at once

`apt-get download` and `dpkg-deb -x` need no root and touch nothing of the system. Any version will do for us, so one
that is there is never fetched again. Tests: tests/testbed/test_debian.py, tests/testbed/test_promtool.py.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, toolchain

FETCH_SECONDS: Final = 300.0
ANSWER_SECONDS: Final = 20.0
POLITE: Final = ("-q", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package, and how a program of it shows that it is whole."""

    name: str
    program: str
    """Where the program lies in the package."""
    question: tuple[str, ...] | None = ("--version",)
    """None for a library, which is whole when it is there; its place may have a star in it."""
    environment: tuple[tuple[str, str], ...] = ()
    instead: str = ""
    """What a person may do where it cannot be fetched."""


CONTAINERD: Final = Package(name="containerd", program="usr/bin/containerd")
RUNC: Final = Package(name="runc", program="usr/sbin/runc")
CNI: Final = Package(
    name="containernetworking-plugins",
    program="usr/lib/cni/ptp",
    question=(),
    environment=(("CNI_COMMAND", "VERSION"),),
)
BUSYBOX: Final = Package(name="busybox-static", program="bin/busybox", question=("true",))
PROMETHEUS: Final = Package(
    name="prometheus",
    program="usr/bin/promtool",
    instead="Install the tools of Prometheus so that promtool is on the PATH; the server is this package's alone.",
)
"""About 19 MB; the server lies beside its checker."""
REAL_NODE: Final = (CONTAINERD, RUNC, CNI, BUSYBOX)
"""What a real node needs of Debian."""


def unpacked(package: Package, *, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> Path:
    """Return the folder with what a package holds, fetching it where the cache has none that runs."""
    shelf = cache or toolchain.cache_folder()
    found = _cached(shelf, package)
    if found is not None:
        return found
    shelf.mkdir(parents=True, exist_ok=True)
    with build.lock(shelf / f"{package.name}.lock", f"fetches {package.name} into", say=say):
        return _cached(shelf, package) or _fetch(shelf, package, say)  # another run may have fetched it meanwhile


def _cached(shelf: Path, package: Package) -> Path | None:
    # By its first digit: `containerd-…` must not find the shelf of `containerd-stress-…`.
    found = sorted(shelf.glob(f"{package.name}-[0-9]*"))
    return next((folder for folder in found if _is_whole(folder, package)), None)


def _is_whole(folder: Path, package: Package) -> bool:
    if package.question is None:
        return any(folder.glob(package.program))
    return runs(folder / package.program, package.question, dict(package.environment))


def _fetch(shelf: Path, package: Package, say: build.Say) -> Path:
    def missing(why: str) -> errors.PartMissing:
        return errors.PartMissing(
            f"The Debian package {package.name} is not in the cache, and {why}. "
            f"{package.instead or 'Real nodes and GitOps engines need it.'} "
            "Where there is apt, `apt-get update` may be all that is missing."
        )

    say(f"Fetching the Debian package {package.name} (once, not installed) into {shelf}")
    with brought(package.name, shelf, missing) as (folder, version):
        if not _is_whole(folder, package):
            raise missing(f"its {package.program} does not run here")
        home = shelf / f"{package.name}-{version}"
        shutil.rmtree(home, ignore_errors=True)  # of one that was cut short
        folder.replace(home)
    return home


def runs(program: Path, question: Sequence[str], environment: dict[str, str] | None = None) -> bool:
    """Tell whether a program answers a simple question."""
    try:
        done = subprocess.run(
            [program, *question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_SECONDS,
            env=os.environ | (environment or {}),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False  # cut short, or for another machine: fetched again
    return done.returncode == 0


@contextlib.contextmanager
def brought(name: str, shelf: Path, missing: Callable[[str], errors.PartMissing]) -> Iterator[tuple[Path, str]]:
    """Download and unpack a package; yields where, and its version. What is not taken away by then is gone."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise missing(f"this machine has no {tool} to fetch it with")
    # Beside its final place, so that taking it over is one rename: a killed run leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(prefix=f".fetching-{name}-", dir=shelf) as workshop:
        folder = Path(workshop)
        _do(["apt-get", *POLITE, "download", name], cwd=folder, missing=missing)
        package = next(folder.glob(f"{name}_*.deb"), None)
        if package is None:
            raise missing(f"apt-get brought no package {name}")
        _do(["dpkg-deb", "-x", package.name, "unpacked"], cwd=folder, missing=missing)
        yield folder / "unpacked", _version(package)


def _version(package: Path) -> str:
    return package.name.split("_")[1].replace("%3a", "-")  # apt writes the colon of an epoch so


def _do(command: Sequence[str], *, cwd: Path, missing: Callable[[str], errors.PartMissing]) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired as err:
        raise missing(f"`{' '.join(command)}` did not end within {FETCH_SECONDS:.0f} s") from err
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise missing(f"`{' '.join(command)}` failed: {last}")
