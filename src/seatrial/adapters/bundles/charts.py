"""Charts that are copied into a bundle: our own, and those of a folder, unpacked or as archives.

Law of this file: a chart is read as data. Nothing is written outside of where it goes, whatever an archive says, and no
link is followed out of a chart. Tests: tests/adapters/test_bundles.py
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from seatrial.adapters.bundles.texts import Content, yaml_text
from seatrial.core.base.values import dataclass
from seatrial.core.compat.bundles.stack import post_version
from seatrial.core.compat.bundles.values import CHART, POST_CHART, BundleRefused, LocalChart

CHART_FILE: Final = "Chart.yaml"
BYTES_MAX: Final = 32 * 1024 * 1024
"""Of one chart. Those of NVIDIA have less than three million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartFiles:
    """A chart with all its files, by their path in it."""

    chart: LocalChart
    files: Mapping[str, bytes]

    @property
    def contents(self) -> dict[str, Content]:
        return {path: Content(data=data) for path, data in self.files.items()}


def our_own() -> ChartFiles:
    """The chart of the hook, with the version that it has in bundles."""
    root = resources.files("seatrial.manifests").joinpath(POST_CHART)
    if not root.is_dir():
        raise BundleRefused(f"The chart {POST_CHART}, which comes with seatrial, is missing. Reinstall seatrial.")
    found = _chart(dict(_walked(Path(str(root)))), POST_CHART)
    named = yaml.safe_load(found.files[CHART_FILE])
    named["version"] = post_version(found.chart.version, found.chart.digest)
    return ChartFiles(chart=found.chart, files={**found.files, CHART_FILE: yaml_text(named).encode()})


def in_folder(folder: Path) -> tuple[ChartFiles, ...]:
    """Every chart of a folder, unpacked or as .tgz; BundleRefused where there is none, or one is there twice."""
    if not folder.is_dir():
        raise BundleRefused(f"--charts {folder} is neither a folder nor an address (https://…, oci://…).")
    found: dict[str, ChartFiles] = {}
    for each in sorted(folder.iterdir()):
        chart = _read(each)
        if chart is None:
            continue
        name = chart.chart.name
        if name in found:
            raise BundleRefused(f"{folder} has the chart {name} twice; which one counts? Keep one of the two.")
        found[name] = chart
    if not found:
        raise BundleRefused(f"{folder} has no chart: neither a folder with a {CHART_FILE} nor a .tgz.")
    return tuple(found.values())


def in_bundle(folder: Path, files: Mapping[str, Content]) -> tuple[ChartFiles, ...]:
    """The charts that came with a bundle, as they are there now."""
    found: dict[str, dict[str, bytes]] = {}
    for path, content in files.items():
        release, is_chart, inside = path.partition(f"/{CHART}/")
        if is_chart and "/" not in release:
            found.setdefault(release, {})[inside] = content.data
    return tuple(_chart(each, f"{folder}/{release}/{CHART}") for release, each in sorted(found.items()))


def _read(path: Path) -> ChartFiles | None:
    try:
        if (path / CHART_FILE).is_file():
            return _chart(dict(_walked(path)), str(path))
        if path.is_file() and path.name.endswith((".tgz", ".tar.gz")):
            return _chart(_unpacked(path), str(path))
    except OSError as err:
        raise BundleRefused(f"{path} cannot be read: {err.strerror or err}.") from err
    return None


def _chart(files: Mapping[str, bytes], where: str) -> ChartFiles:
    if CHART_FILE not in files:
        raise BundleRefused(f"{where} is not a chart: it has no {CHART_FILE}.")
    if sum(map(len, files.values())) > BYTES_MAX:
        raise BundleRefused(f"{where} has more than {BYTES_MAX:,} bytes, which no chart needs. Is it the right one?")
    named = _named(files[CHART_FILE], where)
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{len(files[path])}\0".encode() + files[path])
    chart = LocalChart(name=named["name"], version=str(named["version"]), digest=digest.hexdigest())
    return ChartFiles(chart=chart, files=dict(sorted(files.items())))


def _named(text: bytes, where: str) -> dict[str, Any]:
    try:
        named = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        raise BundleRefused(f"{where}: its {CHART_FILE} is not YAML: {' '.join(str(err).split())}") from err
    if not isinstance(named, dict) or not isinstance(named.get("name"), str) or not named.get("version"):
        raise BundleRefused(f"{where}: its {CHART_FILE} has no name or no version.")
    return named


def _walked(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a folder; a link inside of it would be another file elsewhere, or somebody's secret."""
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            raise BundleRefused(f"{path} is a link. Put the file itself there.")
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(root).as_posix(), path.read_bytes()


def _unpacked(archive: Path) -> dict[str, bytes]:
    """The files of a packed chart, without the folder around them."""
    files: dict[str, bytes] = {}
    size = 0
    try:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                parts = PurePosixPath(member.name).parts
                if member.isdir():
                    continue
                size += member.size
                if not member.isfile() or len(parts) < 2 or ".." in parts or parts[0] == "/" or size > BYTES_MAX:
                    raise BundleRefused(f"{archive} is not a packed chart: {member.name!r} cannot be in one.")
                stream = opened.extractfile(member)
                files["/".join(parts[1:])] = stream.read() if stream is not None else b""
    except (tarfile.TarError, EOFError) as err:
        raise BundleRefused(f"{archive} cannot be unpacked: {err}. Fetch it again.") from err
    return files
