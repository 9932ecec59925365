"""Gets promtool, the checker of Prometheus, without installing anything: from the PATH, from our cache, or from Debian.

    $XDG_CACHE_HOME/seatrial/testbed/promtool-<version of the package>/bin/promtool
    $XDG_CACHE_HOME/seatrial/testbed/promtool.lock    held while fetching, so that two runs do not fetch at once

`apt-get download` and `dpkg-deb -x` need no root and touch nothing of the system. Any version will do for us, so one
that is there is never fetched again.
Tests: tests/testbed/test_promtool.py.
"""

import contextlib
import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, toolchain

PACKAGE: Final = "prometheus"
"""The Debian package that brings promtool along; about 19 MB."""
FETCH_SECONDS: Final = 300.0
ANSWER_SECONDS: Final = 20.0
POLITE: Final = ("-q", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30")


def find_or_get(*, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> Path:
    """Return a promtool that runs, fetching one where this machine has none."""
    if on_path := shutil.which("promtool"):
        return Path(on_path)
    shelf = cache or toolchain.cache_folder()
    found = _cached(shelf)
    if found is not None:
        return found
    shelf.mkdir(parents=True, exist_ok=True)
    with _lock(shelf / "promtool.lock", say):
        return _cached(shelf) or _fetch(shelf, say)  # another run may have fetched it while we waited


def _cached(shelf: Path) -> Path | None:
    return next((program for program in sorted(shelf.glob("promtool-*/bin/promtool")) if _runs(program)), None)


def _runs(program: Path) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, timeout=ANSWER_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False  # cut short, or for another machine: fetched again


@contextlib.contextmanager
def _lock(path: Path, say: build.Say) -> Iterator[None]:
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another run fetches promtool into {path.parent}; waiting for it.")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fetch(shelf: Path, say: build.Say) -> Path:
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise _missing(f"this machine has no {tool} to fetch it with")
    say(f"Fetching promtool from the Debian package {PACKAGE} (about 19 MB, once) into {shelf}")
    # Beside its final place, so that taking it over is one rename: a killed run leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(prefix=".fetching-promtool-", dir=shelf) as workshop:
        folder = Path(workshop)
        _do(["apt-get", *POLITE, "download", PACKAGE], cwd=folder)
        package = next(folder.glob(f"{PACKAGE}_*.deb"), None)
        if package is None:
            raise _missing(f"apt-get brought no package {PACKAGE}")
        _do(["dpkg-deb", "-x", package.name, "unpacked"], cwd=folder)
        unpacked = folder / "unpacked" / "usr" / "bin" / "promtool"
        if not _runs(unpacked):
            raise _missing(f"the promtool in {package.name} does not run here")
        program = shelf / f"promtool-{_version(package)}" / "bin" / "promtool"
        program.parent.mkdir(parents=True, exist_ok=True)
        unpacked.replace(program)
    say(f"  promtool is at {program}")
    return program


def _version(package: Path) -> str:
    return package.name.split("_")[1].replace("%3a", "-")  # apt writes the colon of an epoch so


def _do(command: Sequence[str], *, cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired as err:
        raise _missing(f"`{' '.join(command)}` did not end within {FETCH_SECONDS:.0f} s") from err
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise _missing(f"`{' '.join(command)}` failed: {last}")


def _missing(why: str) -> errors.PartMissing:
    return errors.PartMissing(
        f"No promtool on the PATH nor in the cache, and {why}. Install the tools of Prometheus so that promtool is on "
        "the PATH; where there is apt, `apt-get update` may be all that is missing."
    )
