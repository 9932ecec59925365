"""Compiles what Python would compile at its first start, since nobody can write into the image then.

The compiler is the image's own Python, started through its own loader, so that neither the Python of the machine that
builds nor its version gets into the digest. Bytecode is the same on every architecture. It carries the checksum of its
source and is never compared with it: files of an image do not change, and their times mean nothing.
Tests: tests/image/test_image.py
"""

from __future__ import annotations

import platform
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from seatrial_lab.image import files, recipe
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import Entry, File, Part, Tree

INTERPRETER: Final = (
    "libc6",
    "libexpat1",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "python3.11-minimal",
    "zlib1g",
)
"""The packages that a Python needs to compile something."""
LOADERS: Final = {"amd64": "ld-linux-x86-64.so.2", "arm64": "ld-linux-aarch64.so.1"}
COMPILE_SECONDS: Final = 300.0

# One process, in the order of the paths: what was compiled before changes which objects marshal writes by reference.
_PROGRAM: Final = """
import py_compile, sys
root = sys.argv[1]
for path in sys.stdin.read().split("\\0"):
    try:
        py_compile.compile(root + path, root + path + "c", "/" + path, doraise=True,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    except (py_compile.PyCompileError, ValueError):
        pass  # a template, or code for another Python: it is never imported
"""


def host() -> str:
    """The architecture of the machine that builds, as the recipe names it."""
    found = next((name for name, machine in recipe.MACHINES.items() if machine == platform.machine()), None)
    if found is None:
        raise ImageFailure(f"Images are built on {' or '.join(recipe.MACHINES.values())}, not on {platform.machine()}.")
    return found


def lay_out(parts: Iterable[Part], folder: Path) -> None:
    """Put what compiles into a folder, and nothing else of these packages."""
    files.write(files.merge(part.tree for part in parts if part.component.name in INTERPRETER), folder)


def compiled(tree: Tree, interpreter: Path) -> dict[str, Entry]:
    """The bytecode of every Python file of a tree, where Python looks for it; `interpreter` has a Python for here."""
    sources = {path: entry for path, entry in sorted(tree.items()) if path.endswith(".py") and isinstance(entry, File)}
    with tempfile.TemporaryDirectory(prefix="seatrial-bytecode-") as folder:
        workshop = Path(folder)
        files.write(sources, workshop)
        _compile(interpreter, workshop, sources)
        found = {path: workshop / f"{path}c" for path in sources}
        return {_cached(path): File(content=at.read_bytes()) for path, at in found.items() if at.is_file()}


def _compile(interpreter: Path, workshop: Path, sources: Iterable[str]) -> None:
    libraries = interpreter / "usr" / "lib" / f"{recipe.MACHINES[host()]}-linux-gnu"
    loader: list[str | Path] = [libraries / LOADERS[host()], "--library-path", libraries]
    done = subprocess.run(
        [*loader, interpreter / "usr/bin/python3.11", "-S", "-s", "-B", "-c", _PROGRAM, f"{workshop}/"],
        env={"PYTHONHOME": str(interpreter / "usr"), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        input="\0".join(sources),
        capture_output=True,
        text=True,
        timeout=COMPILE_SECONDS,
    )
    if done.returncode != 0:
        raise ImageFailure(f"The image's Python could not compile its modules: {done.stderr.strip()[-500:]}")


def _cached(path: str) -> str:
    at = PurePosixPath(path)
    return str(at.parent / "__pycache__" / f"{at.stem}.cpython-311.pyc")
