"""The archive of one platform: a launcher, what is the same for every Python, and what is compiled for one.

    kubectl-seatrial     finds a Python of the machine, and starts us with it
    LICENSE
    lib/any/             seatrial and wheels without compiled code
    lib/cp311/ …         the others, for each Python

Wheels are those of uv.lock, chosen as for the image. Nothing is installed, and nothing of the user's Python is changed
or seen; nor does what we start (git, a credential plugin) see ours. The same commit gives the same bytes.
Tests: tests/krew/test_krew.py
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from typing import Final

from seatrial_lab.image import build, recipe, wheels
from seatrial_lab.image.files import Entry, File, with_folders
from seatrial_lab.image.shelf import Shelf, Wanted

PROGRAM: Final = "kubectl-seatrial"
PYTHONS: Final = ((3, 11), (3, 12), (3, 13), (3, 14))
"""Newest last. A Python is here once every locked wheel is there for it."""
SYSTEM: Final = "linux"

LAUNCHER: Final = r"""#!/bin/sh
# Starts seatrial with a Python of this machine; SEATRIAL_PYTHON names another one. Written by `make krew`.
home=$(dirname "$(readlink -f "$0")")
case $(basename "$0") in
    kubectl_complete-*) set -- __complete "$@" ;;
esac
for python in ${SEATRIAL_PYTHON:-python3 @PYTHONS@}; do
    tag=$("$python" -I -c 'import sys; print("cp%d%d" % sys.version_info[:2])' 2>/dev/null) || continue
    if [ -d "$home/lib/$tag" ]; then
        exec "$python" -I -c '
import sys

home, tag = sys.argv[1:3]
sys.path[:0] = [f"{home}/lib/{tag}", f"{home}/lib/any"]
sys.argv[:] = ["kubectl-seatrial", *sys.argv[3:]]
from seatrial.cli.main import main

sys.exit(main())' "$home" "$tag" "$@"
    fi
done
echo "seatrial: no Python is on the PATH that it works with (@NAMES@); SEATRIAL_PYTHON can name one." >&2
exit 1
"""


def file_name(version: str, architecture: str) -> str:
    """How the archive of a platform is called."""
    return f"{PROGRAM}-{version}-{SYSTEM}-{architecture}.tar.gz"


def launcher() -> bytes:
    """What kubectl starts."""
    names = [".".join(map(str, python)) for python in PYTHONS]
    newest_first = " ".join(f"python{name}" for name in reversed(names))
    return LAUNCHER.replace("@PYTHONS@", newest_first).replace("@NAMES@", ", ".join(names)).encode()


def pack(architecture: str, source: build.Source, store: Shelf) -> tuple[str, bytes]:
    """The version, and the archive of this checkout for one architecture."""
    epoch = int(source.when.timestamp())
    own, content = wheels.build_own(build.CHECKOUT, epoch)
    tree: dict[str, Entry] = {
        PROGRAM: File(content=launcher(), mode=0o755),
        "LICENSE": File(content=(build.CHECKOUT / "LICENSE").read_bytes()),
        **_below("lib/any", own, content, architecture),
    }
    for folder, wheel in _chosen(architecture):
        wanted = Wanted(name=wheel.file, sha256=wheel.sha256, urls=(wheel.url,))
        tree |= _below(folder, wheel, store.get(wanted), architecture)
    return own.version, _pressed(tree, epoch)


def _chosen(architecture: str) -> Iterator[tuple[str, wheels.Wheel]]:
    """Every wheel, and the folder it belongs into; one that fits all Pythons comes once."""
    text = (build.CHECKOUT / "uv.lock").read_text(encoding="utf-8")
    seen = set()
    for python in PYTHONS:
        for wheel in wheels.chosen(text, architecture, python):
            folder = "lib/any" if wheel.file.endswith("-any.whl") else f"lib/cp{python[0]}{python[1]}"
            if (folder, wheel) not in seen:
                seen.add((folder, wheel))
                yield folder, wheel


def _below(folder: str, wheel: wheels.Wheel, content: bytes, architecture: str) -> dict[str, Entry]:
    unpacked = wheels.unpack(wheel, content, architecture).tree
    return {f"{folder}{path.removeprefix(wheels.SITE)}": entry for path, entry in unpacked.items()}


def _pressed(tree: dict[str, Entry], epoch: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, entry in with_folders(tree).items():
            member = tarfile.TarInfo(path)
            member.mtime = epoch
            if isinstance(entry, File):
                member.mode, member.size = entry.mode, len(entry.content)
                archive.addfile(member, io.BytesIO(entry.content))
            else:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
    return gzip.compress(packed.getvalue(), mtime=0)


ARCHITECTURES: Final = tuple(recipe.MACHINES)
