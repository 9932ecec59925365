"""Gets Prometheus and its checker, promtool, without installing anything: one package of Debian, fetched once for both.

    $XDG_CACHE_HOME/seatrial/testbed/prometheus-<version>/usr/bin/    the server and promtool
    $XDG_CACHE_HOME/seatrial/testbed/promtool-<version>/bin/          a promtool that was kept without the server

Any version will do for us, so one that is there is never fetched again. How a package is fetched is in debian.py.
Tests: tests/testbed/test_promtool.py.
"""

import shutil
from pathlib import Path

from seatrial_lab.testbed.building import build, debian, toolchain


def find_or_get(*, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> Path:
    """Return a promtool that runs, fetching one where this machine has none."""
    if on_path := shutil.which("promtool"):
        return Path(on_path)
    kept = sorted((cache or toolchain.cache_folder()).glob("promtool-*/bin/promtool"))
    alone = next((program for program in kept if debian.runs(program, ["--version"])), None)
    return alone or debian.unpacked(debian.PROMETHEUS, cache=cache, say=say) / debian.PROMETHEUS.program


def server(*, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> Path:
    """Return the server, fetching it where the cache has none."""
    return (debian.unpacked(debian.PROMETHEUS, cache=cache, say=say) / debian.PROMETHEUS.program).with_name(
        "prometheus"
    )
