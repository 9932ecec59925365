"""Python's part: the locked dependencies of uv.lock and our own wheel, as files of one environment.

No second list of versions: what a checkout is tested with is what goes in. Wheels are chosen as pip would choose them
on the image's own Python and glibc, whatever machine builds. Their console scripts stay away, but for ours.
Tests: tests/image/test_wheels.py
"""

from __future__ import annotations

import configparser
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from seatrial_lab.image import recipe
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import Component, Entry, File, Link, Part

PYTHON: Final = ".".join(map(str, recipe.PYTHON))
SITE: Final = f"{recipe.HOME.lstrip('/')}/lib/python{PYTHON}/site-packages"
BUILD_SECONDS: Final = 300.0
OLD_NAMES: Final = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel, and where it comes from."""

    name: str
    version: str
    url: str
    sha256: str

    @property
    def file(self) -> str:
        return self.url.rsplit("/", 1)[-1]


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def chosen(
    lock_text: str, architecture: str, python: tuple[int, int] = recipe.PYTHON, *, extra: str = ""
) -> tuple[Wheel, ...]:
    """The wheels that seatrial needs on an architecture, or one extra of it alone, sorted by name."""
    packages = {package["name"]: package for package in tomllib.loads(lock_text)["package"]}
    machine = recipe.MACHINES[architecture]
    ranks = {tag: rank for rank, tag in enumerate(_tags(machine, python))}
    needed = _needed(packages, extra, _environment(machine, python)) - {"seatrial"}
    return tuple(
        _best(packages[name], ranks, f"{architecture} and Python {_dotted(python)}") for name in sorted(needed)
    )


def _needed(packages: Mapping[str, Mapping[str, Any]], extra: str, environment: Mapping[str, str]) -> set[str]:
    seen: set[tuple[str, str]] = set()
    waiting = [("seatrial", extra)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        package = packages[name]
        listed = package.get("optional-dependencies", {}).get(extra, []) if extra else package.get("dependencies", [])
        for each in listed:
            if "marker" not in each or Marker(each["marker"]).evaluate(dict(environment)):
                waiting += [(each["name"], wanted) for wanted in ("", *each.get("extra", ()))]
    return {name for name, _ in seen}


def _best(package: Mapping[str, Any], ranks: Mapping[Tag, int], where: str) -> Wheel:
    ranked = []
    for wheel in package.get("wheels", ()):
        tags = parse_wheel_filename(wheel["url"].rsplit("/", 1)[-1])[3]
        fitting = [ranks[tag] for tag in tags if tag in ranks]
        if fitting:
            ranked.append((min(fitting), wheel["url"], wheel["hash"].removeprefix("sha256:")))
    if not ranked:
        raise ImageFailure(f"{package['name']} {package['version']} has no wheel for {where}.")
    _, url, sha256 = min(ranked)
    return Wheel(name=package["name"], version=package["version"], url=url, sha256=sha256)


def _dotted(python: tuple[int, int]) -> str:
    return ".".join(map(str, python))


def _environment(machine: str, python: tuple[int, int]) -> dict[str, str]:
    """What markers ask for, of the image and not of this machine."""
    return {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{_dotted(python)}.2",
        "python_version": _dotted(python),
        "sys_platform": "linux",
    }


def _tags(machine: str, python: tuple[int, int]) -> Iterator[Tag]:
    platforms = list(_platforms(machine))
    short = f"cp{python[0]}{python[1]}"
    yield from cpython_tags(python, abis=[short], platforms=platforms)
    yield from compatible_tags(python, interpreter=short, platforms=platforms)


def _platforms(machine: str) -> Iterator[str]:
    major, newest = recipe.GLIBC
    for minor in range(newest, 4, -1):
        yield f"manylinux_{major}_{minor}_{machine}"
        if (major, minor) in OLD_NAMES:
            yield f"{OLD_NAMES[major, minor]}_{machine}"
    yield f"linux_{machine}"


# ── our own ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def build_own(checkout: Path, epoch: int) -> tuple[Wheel, bytes]:
    """The wheel of this checkout, with the time of its commit, built by the tool that uv.lock has."""
    _check_tool((checkout / "uv.lock").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="seatrial-wheel-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
            cwd=checkout,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
        )
        built = next(Path(folder).glob("seatrial-*.whl"), None)
        if done.returncode != 0 or built is None:
            raise ImageFailure(f"Our own wheel could not be built; hatchling said: {done.stderr.strip()[-500:]}")
        content = built.read_bytes()
    version, sha256 = str(parse_wheel_filename(built.name)[1]), hashlib.sha256(content).hexdigest()
    return Wheel(name="seatrial", version=version, url=built.name, sha256=sha256), content


def _check_tool(lock_text: str) -> None:
    """Refuse a hatchling that is not the locked one: it writes its own version into what it builds."""
    locked = next(each["version"] for each in tomllib.loads(lock_text)["package"] if each["name"] == "hatchling")
    try:
        here = metadata.version("hatchling")
    except metadata.PackageNotFoundError:
        here = "none"
    if here != locked:
        raise ImageFailure(
            f"uv.lock has hatchling {locked}, and here is {here}: our wheel would not be the same. `make .venv/.ready` "
            "brings the environment up to date."
        )


# ── unpacking ────────────────────────────────────────────────────────────────────────────────────────────────────────


def unpack(wheel: Wheel, content: bytes, architecture: str) -> Part:
    """What a wheel installs."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        tree = dict(_entries(archive, wheel))
        said = Parser().parsestr(_read(archive, "METADATA"))
    component = Component(
        kind="pypi",
        name=wheel.name,
        version=wheel.version,
        architecture="all" if wheel.file.endswith("-any.whl") else architecture,
        url=wheel.url,
        sha256=wheel.sha256,
        license=said["License-Expression"] or "NOASSERTION",
    )
    return Part(component=component, tree=tree)


def _entries(archive: zipfile.ZipFile, wheel: Wheel) -> Iterator[tuple[str, Entry]]:
    for name in sorted(archive.namelist()):
        if name.endswith("/"):
            continue
        inside = re.fullmatch(r"[^/]+\.data/(?P<scheme>\w+)/(?P<path>.*)", name)
        if inside and inside["scheme"] not in ("purelib", "platlib"):
            raise ImageFailure(f"{wheel.file} brings {name}, and we know no place for it in the image.")
        path = inside["path"] if inside else name
        if not path or ".." in path.split("/") or path.startswith("/"):
            raise ImageFailure(f"{wheel.file} brings {name}, which leads out of its folder.")
        yield f"{SITE}/{path}", File(content=archive.read(name))


def _read(archive: zipfile.ZipFile, name: str) -> str:
    inside = next((each for each in archive.namelist() if re.fullmatch(rf"[^/]+\.dist-info/{name}", each)), None)
    return archive.read(inside).decode("utf-8") if inside else ""


def environment() -> dict[str, Entry]:
    """What makes a folder a Python environment of its own."""
    home = recipe.HOME.lstrip("/")
    return {
        f"{home}/pyvenv.cfg": File(
            content=f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON}\n".encode()
        ),
        f"{home}/bin/python3": Link(target=f"/usr/bin/python{PYTHON}"),
        f"{home}/bin/python": Link(target="python3"),
    }


def scripts(content: bytes, wanted: Container[str]) -> dict[str, Entry]:
    """The programs that a wheel names and that are wanted, as pip would write them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = configparser.ConfigParser(delimiters=("=",))
        entries.read_string(_read(archive, "entry_points\\.txt"))
    return {
        f"{recipe.HOME.lstrip('/')}/bin/{name}": script
        for name, script in _scripts(entries.items("console_scripts"))
        if name in wanted
    }


def _scripts(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, File]]:
    for name, target in named:
        module, _, function = target.partition(":")
        text = f"#!{recipe.HOME}/bin/python3\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        yield name, File(content=text.encode(), mode=0o755)
