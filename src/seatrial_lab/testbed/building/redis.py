"""Gets the redis that Argo CD keeps its manifests in, without installing anything: Debian's, with its two libraries.

How a package is fetched is in debian.py. Tests: tests/gitops/test_argo_cd.py.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from seatrial_lab.testbed.building import build, debian

LIBRARIES: Final = (
    debian.Package(name="liblzf1", program="usr/lib/*/liblzf.so.1", question=None),
    debian.Package(name="libjemalloc2", program="usr/lib/*/libjemalloc.so.2", question=None),
)
# The package redis-server has a link to this one alone: the server is whoever is called by that name.
SERVER: Final = debian.Package(name="redis-tools", program="usr/bin/redis-check-rdb")


def find_or_get(*, cache: Path | None = None, say: build.Say = build.say_on_stderr) -> tuple[Path, dict[str, str]]:
    """Return the program, to be called as `redis-server`, and the environment that it finds its libraries by."""
    folders = [(each, debian.unpacked(each, cache=cache, say=say)) for each in LIBRARIES]
    places = [str(found.parent) for package, folder in folders for found in folder.glob(package.program)]
    environment = {"LD_LIBRARY_PATH": os.pathsep.join(places)}
    server = replace(SERVER, environment=tuple(environment.items()))
    return debian.unpacked(server, cache=cache, say=say) / server.program, environment
