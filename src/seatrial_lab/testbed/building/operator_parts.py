"""Where the GPU Operator comes from: the Go module that the testbed builds, or a folder that somebody gives.

    SEATRIAL_GPU_OPERATOR=DIR        as a checkout lays it out              or as the image does
        the program                  gpu-operator                           usr/bin/gpu-operator
        what its operands look like  assets/                                opt/gpu-operator/
        a driver's DaemonSets        manifests/                             opt/gpu-operator/manifests/
        chart and definitions        deployments/gpu-operator/, crds/       (the image has no chart)
        which release                versions.mk                            the chart's appVersion

The release is told in results and decides nothing. What differs from one operator to the next is read from its
definitions: see neighbours/operator_drivers.py. Tests: tests/testbed/test_operator_parts.py.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build, toolchain

Object = dict[str, Any]

VARIABLE: Final = "SEATRIAL_GPU_OPERATOR"
NEEDED: Final = frozenset({"clusterpolicies.nvidia.com", "nvidiadrivers.nvidia.com"})

_PROGRAM: Final = ("gpu-operator", "usr/bin/gpu-operator")
_ASSETS: Final = ("assets", "opt/gpu-operator")
_MANIFESTS: Final = ("manifests", "opt/gpu-operator/manifests")
_CHART: Final = "deployments/gpu-operator"
_RELEASE: Final = re.compile(r"^VERSION\s*[?:]?=\s*(\S+)", re.MULTILINE)
# Where the header of an ELF file names its loader, if it has one; it is one of the first things in the file.
_LOADER: Final = b"/ld-"
_HEADER_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorParts:
    """The folders of one GPU Operator, and which release they are of."""

    release: str
    assets: Path
    manifests: Path
    chart: Path
    # The program of a folder; None where it is ours to build.
    given_program: Path | None = None

    def program(self, *, say: build.Say = build.say_on_stderr) -> Path:
        """Return the operator itself, building ours where it is missing."""
        return self.given_program or build.gpu_operator(say=say)

    def definitions(self) -> list[Object]:
        """Return the CustomResourceDefinitions that come with the chart."""
        files = sorted((self.chart / "crds").glob("*.yaml"))
        return [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def find() -> OperatorParts:
    """Return the operator that the environment names, else the one that the testbed builds."""
    if named := os.environ.get(VARIABLE):
        return given(Path(named))
    module = toolchain.module_folder(build.GPU_OPERATOR.folder, build.GPU_OPERATOR.module)
    return OperatorParts(
        release=build.GPU_OPERATOR.version,
        assets=module / _ASSETS[0],
        manifests=module / _MANIFESTS[0],
        chart=module / _CHART,
    )


def given(folder: Path) -> OperatorParts:
    """Return the operator in a folder, or say what the folder lacks."""
    if not folder.is_dir():
        _refuse(folder, "is no folder", "Name the folder that holds the operator, or unset it to have ours built")
    program = _one_of(folder, _PROGRAM, "program", "Put it there, built without shared libraries")
    _check_program(folder, program)
    chart = _one_of(folder, (f"{_CHART}/Chart.yaml",), "chart", "Copy it from its checkout, or unpack it there").parent
    parts = OperatorParts(
        release=_release(folder, chart),
        assets=_one_of(folder, _ASSETS, "assets", "Copy them from its checkout, or /opt/gpu-operator of its image"),
        manifests=_one_of(folder, _MANIFESTS, "manifests", "Copy them from where its assets come from"),
        chart=chart.resolve(),
        given_program=program.resolve(),
    )
    _check_definitions(folder, parts)
    return parts


def _one_of(folder: Path, places: tuple[str, ...], what: str, next_step: str) -> Path:
    found = next((folder / each for each in places if (folder / each).exists()), None)
    if found is None:
        _refuse(folder, f"has no {what}: no {' and no '.join(places)}", next_step)
    return found


def _check_program(folder: Path, program: Path) -> None:
    where = program.relative_to(folder)
    if not (program.is_file() and os.access(program, os.X_OK)):
        _refuse(folder, f"has a {where} that cannot be run", f"Make it executable: chmod +x {program}")
    with program.open("rb") as file:
        is_dynamic = _LOADER in file.read(_HEADER_BYTES)
    if is_dynamic:
        # It gets a root folder of its own, which has no libraries.
        _refuse(folder, f"has a {where} that needs shared libraries", "Build it with CGO_ENABLED=0")


def _check_definitions(folder: Path, parts: OperatorParts) -> None:
    next_step = f"Copy crds/ of its chart to {parts.chart / 'crds'}"
    try:
        found = {each["metadata"]["name"] for each in parts.definitions()}
    except (yaml.YAMLError, KeyError, TypeError, UnicodeDecodeError) as err:
        _refuse(folder, f"has definitions that cannot be read: {' '.join(str(err).split())}", next_step)
    if missing := sorted(NEEDED - found):
        _refuse(folder, f"has no definition of {' and '.join(missing)} in {_CHART}/crds", next_step)


def _release(folder: Path, chart: Path) -> str:
    """Return which release a folder says that it is, "unknown" where it does not say."""
    said = folder / "versions.mk"
    if said.is_file() and (found := _RELEASE.search(said.read_text(encoding="utf-8"))):
        return found[1]
    named: Object = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8")) or {}
    return str(named.get("appVersion", "unknown"))


def _refuse(folder: Path, why: str, next_step: str) -> NoReturn:
    raise errors.PartMissing(f"{VARIABLE}={folder} {why}. {next_step}; docs/how-to/testbed.md shows such a folder.")
