"""The images, built once for a whole run: for this machine, and the controller's for the other one, too; and where
somebody asks whether that gives the same bytes, once more under different circumstances."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from seatrial_lab.image import bytecode, recipe

BUILD_SECONDS: Final = 600.0
BUILD: Final = """
import os, sys
from seatrial_lab.image import build
os.umask(int(sys.argv[1], 8))
sys.exit(build.main(sys.argv[2:]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What differs between machines, and must not show."""

    image: str
    architecture: str
    folder: str
    umask: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """An image as it lies in its archive."""

    members: Mapping[str, bytes]
    bill: Mapping[str, Any]
    headers: dict[str, tarfile.TarInfo]  # every path, as the last layer has it that speaks of it
    files: dict[str, bytes]

    @property
    def index(self) -> Any:
        return self.read("index.json")

    @property
    def manifest(self) -> Any:
        return self.blob(self.index["manifests"][0])

    @property
    def configuration(self) -> Any:
        return self.blob(self.manifest["config"])

    def read(self, name: str) -> Any:
        return json.loads(self.members[name])

    def blob(self, descriptor: Mapping[str, Any]) -> Any:
        return json.loads(self.content(descriptor))

    def content(self, descriptor: Mapping[str, Any]) -> bytes:
        """The bytes that a descriptor speaks of, with the digest it speaks of."""
        content = self.members[f"blobs/{descriptor['digest'].replace(':', '/')}"]
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == descriptor["digest"]
        assert len(content) == descriptor["size"]
        return content

    def layers(self) -> list[tarfile.TarFile]:
        return [tarfile.open(fileobj=io.BytesIO(self.content(each))) for each in self.manifest["layers"]]

    def unpack(self, root: Path) -> None:
        """Lay the image out as a runtime does, with its owners where we may."""
        for layer in self.layers():
            layer.extractall(root, numeric_owner=True, filter="tar")


def _circumstances() -> tuple[tuple[Circumstances, ...], tuple[Circumstances, ...]]:
    """For a first build, and for a second."""
    here = bytecode.host()
    other = next(name for name in recipe.MACHINES if name != here)
    elsewhere = {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C", "HOSTNAME": "elsewhere"}
    of_images = [("here", recipe.CONTROLLER), ("probes", recipe.PROBES)]
    first = [
        Circumstances(image=one.title, architecture=here, folder=folder, umask="022", environment={"TZ": "UTC"})
        for folder, one in of_images
    ]
    again = tuple(replace(each, folder=f"{each.folder}-again", umask="077", environment=elsewhere) for each in first)
    return (*first, replace(first[0], architecture=other, folder="other", environment={})), again


def _start(one: Circumstances, folder: Path) -> subprocess.Popen[str]:
    arguments = [one.umask, one.image, "--arch", one.architecture, "--out", str(folder / one.folder)]
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, *arguments],
        env={**os.environ, **one.environment},
        cwd=folder if one.folder.endswith("again") else None,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _build_all(folder: Path, circumstances: Sequence[Circumstances]) -> str:
    """Build side by side; what went wrong, in the words of the build."""
    running = [_start(one, folder) for one in circumstances]
    wrong = []
    for process in running:
        _, said = process.communicate(timeout=BUILD_SECONDS)
        if process.returncode != 0:
            wrong.append(said.strip().splitlines()[-1] if said.strip() else "the build ended and said nothing")
    return "\n".join(wrong)


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with what was built; the workers of one run share it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "image"
    shared.mkdir(exist_ok=True)
    _built_once(shared, "first", _circumstances()[0])
    return shared


@pytest.fixture(scope="session")
def built_twice(archives: Path) -> Path:
    """The same folder, in which everything for this machine lies twice."""
    _built_once(archives, "again", _circumstances()[1])
    return archives


def _built_once(shared: Path, name: str, circumstances: Sequence[Circumstances]) -> None:
    with (shared / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        verdict = shared / f"verdict-{name}"
        if not verdict.exists():
            verdict.write_text(_build_all(shared, circumstances), encoding="utf-8")
        if wrong := verdict.read_text(encoding="utf-8"):
            pytest.fail(wrong, pytrace=False)


def _opened(folder: Path) -> Unpacked:
    (path,) = folder.glob("*.tar")
    with tarfile.open(path) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]
    (bill,) = folder.glob("*.spdx.json")
    one = Unpacked(members=members, bill=json.loads(bill.read_text(encoding="utf-8")), headers={}, files={})
    for layer in one.layers():
        for member in layer:
            one.headers[member.name] = member
            if (content := layer.extractfile(member) if member.isfile() else None) is not None:
                one.files[member.name] = content.read()
    return one


@pytest.fixture(scope="session")
def image(archives: Path) -> Unpacked:
    """The image for this machine."""
    return _opened(archives / "here")


@pytest.fixture(scope="session")
def other_image(archives: Path) -> Unpacked:
    """The image for the other architecture."""
    return _opened(archives / "other")


@pytest.fixture(scope="session")
def probes_image(archives: Path) -> Unpacked:
    """The image of the payloads, for this machine."""
    return _opened(archives / "probes")


@pytest.fixture(params=["image", "other_image", "probes_image"])
def any_image(request: pytest.FixtureRequest) -> Unpacked:
    found: Unpacked = request.getfixturevalue(request.param)
    return found
