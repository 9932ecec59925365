"""Gets promtool, the checker of Prometheus, without installing anything: from the PATH, from our cache, or from Debian.

    $XDG_CACHE_HOME/seatrial/testbed/promtool-<version of the package>/bin/promtool
    $XDG_CACHE_HOME/seatrial/testbed/promtool.lock    held while fetching, so that two runs do not fetch at once

Any version will do for us, so one that is there is never fetched again. How a package is fetched is in debian.py.
Tests: tests/testbed/test_promtool.py.
"""

import shutil
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, debian, toolchain

PACKAGE: Final = "prometheus"
"""The Debian package that brings promtool along; about 19 MB."""


def find_or_get(*, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> Path:
    """Return a promtool that runs, fetching one where this machine has none."""
    if on_path := shutil.which("promtool"):
        return Path(on_path)
    shelf = cache or toolchain.cache_folder()
    found = _cached(shelf)
    if found is not None:
        return found
    shelf.mkdir(parents=True, exist_ok=True)
    with build.lock(shelf / "promtool.lock", "fetches promtool into", say=say):
        return _cached(shelf) or _fetch(shelf, say)  # another run may have fetched it while we waited


def _cached(shelf: Path) -> Path | None:
    return next((program for program in sorted(shelf.glob("promtool-*/bin/promtool")) if _runs(program)), None)


def _runs(program: Path) -> bool:
    return debian.runs(program, ["--version"])


def _fetch(shelf: Path, say: build.Say) -> Path:
    say(f"Fetching promtool from the Debian package {PACKAGE} (about 19 MB, once) into {shelf}")
    with debian.brought(PACKAGE, shelf, _missing) as (folder, version):
        unpacked = folder / "usr" / "bin" / "promtool"
        if not _runs(unpacked):
            raise _missing(f"the promtool in the package {PACKAGE} does not run here")
        program = shelf / f"promtool-{version}" / "bin" / "promtool"
        program.parent.mkdir(parents=True, exist_ok=True)
        unpacked.replace(program)
    say(f"  promtool is at {program}")
    return program


def _missing(why: str) -> errors.PartMissing:
    return errors.PartMissing(
        f"No promtool on the PATH nor in the cache, and {why}. Install the tools of Prometheus so that promtool is on "
        "the PATH; where there is apt, `apt-get update` may be all that is missing."
    )
