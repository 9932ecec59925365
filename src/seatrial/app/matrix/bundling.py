"""A bundle of a matrix entry, made, written and compared.

    matrix entry + wishes ──▶ Stack ──▶ files ──▶ DIR          written as a whole, never over what is not ours
                                            └───▶ DIR?         compared: what would be written now, and what is there

Law of this file: an entry that fails is not bundled, and nothing is written before everything is known. The clock says
only which day the entry is judged by, and is not in the bundle. Tests: tests/cli/test_bundle.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.app.errors import CalledWrongly
from seatrial.app.matrix.planning import EntryMissing
from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.bundles.values import CHART, POST_CHART, Asked, BundleRefused, Deployer
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.adapters.bundles.charts import ChartFiles
    from seatrial.adapters.bundles.folder import Found
    from seatrial.adapters.bundles.texts import Content
    from seatrial.core.compat.bundles.values import Stack
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Entry, Matrix

ADDRESSES: Final = ("https://", "http://", "oci://")


class EntryFails(SeatrialError):  # noqa: N818  the message says what to do
    """The rules say that the entry cannot work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOptions:
    """Which entry of which matrix, for whom, and how."""

    file: str | None
    """The matrix, or the folder it is in; None looks for it upwards from here."""
    entry: str
    on: date
    asked: Asked
    """Without charts of a folder and values of files, which are read from what follows."""
    charts: str = ""
    """An address that has all charts, or a folder of them."""
    values: tuple[str, ...] = ()
    """RELEASE=FILE: values of one's own."""
    is_unchecked: bool = False
    """The rules are not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Everything that a bundle is, before it is written."""

    stack: Stack
    asked: Asked
    files: Mapping[str, Content]
    """With the mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """One file that is not what would be written now; None on the side where it is not."""

    path: str
    here: Content | None
    wanted: Content | None


def make(options: BundleOptions) -> Made:
    """The bundle of an entry; nothing is written."""
    return _made(options, _with_charts(_with_values(options), _charts_of(options.charts)))


def write(options: BundleOptions, folder: Path, *, is_forced: bool = False) -> tuple[Made, bool]:
    """Write it, and say whether anything changed."""
    from seatrial.adapters.bundles import folder as folders

    made = make(options)
    return made, folders.write(folder, made.files, is_forced=is_forced)


def compare(options: BundleOptions, folder: Path) -> tuple[Made, tuple[Differing, ...]]:
    """What would be written now, with the wishes that the folder was written with, and which files differ."""
    from seatrial.adapters.bundles import folder as folders

    found = folders.read(folder)
    asked = _wished(found.wishes, folder)
    entry = options.entry or str(found.wishes.get("entry", ""))
    given = replace(options, entry=entry, asked=asked)
    charts = _charts_of(options.charts) if options.charts else _charts_of_bundle(found, folder, asked)
    made = _made(given, _with_charts(asked, charts))
    there = {**found.files, folders.MARK: folders.mark_of(folder)}
    paths = sorted({*there, *made.files})
    return made, tuple(
        Differing(path=path, here=there.get(path), wanted=made.files.get(path))
        for path in paths
        if there.get(path) != made.files.get(path)
    )


# ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _made(options: BundleOptions, asked_with: tuple[Asked, tuple[ChartFiles, ...]]) -> Made:
    from seatrial.adapters.bundles import folder as folders
    from seatrial.adapters.bundles.texts import contents_of
    from seatrial.core.compat.bundles.bundling import files_of
    from seatrial.core.compat.bundles.stack import stack_of

    asked, charts = asked_with
    matrix, entry = _entry(options)
    stack = stack_of(entry, asked, had_old_dra=_had_old_dra(matrix, entry))
    files = contents_of(files_of(stack, asked))
    for release in stack.releases:
        if release.chart.is_local:
            (chart,) = [each for each in charts if each.chart.name == release.chart.name]
            files |= {f"{release.folder}/{CHART}/{path}": each for path, each in chart.contents.items()}
    wishes = {"entry": stack.entry, **_wishes(asked)}
    return Made(stack=stack, asked=asked, files=folders.marked(wishes, files))


def _entry(options: BundleOptions) -> tuple[Matrix, Entry]:
    """The entry, which the rules let through."""
    from seatrial.adapters.files import matrix_file

    path = matrix_file.find_matrix(options.file, Path())
    reading = matrix_file.load_matrix(path).reading
    if reading.matrix is None:
        raise EntryFails(f"{path} cannot be read:\n{_told(reading.findings)}")
    entry = _named(reading.matrix, options.entry)
    if not options.is_unchecked:
        from seatrial.app.matrix.judging import failing

        found = failing(str(path), entry.role, options.on)
        if found:
            raise EntryFails(
                f"the entry {entry.key} fails, and nothing was written:\n{_told(found)}\nCorrect it (`seatrial check` "
                "says more), or bundle it as it is with --unchecked."
            )
    return reading.matrix, entry


def _named(matrix: Matrix, name: str) -> Entry:
    from seatrial.core.compat.matrix import role_of

    for role, entry in matrix.entries.items():
        if name == entry.key or role_of(name) is role:
            return entry
    there = ", ".join(entry.key or role.value for role, entry in matrix.entries.items()) or "none"
    raise EntryMissing(f"{matrix.file} has no entry {name}; it has {there}. Name one with --entry.")


def _told(findings: Sequence[Finding]) -> str:
    return "\n".join(f"  {each.spans[0] if each.spans else ''} {each.message}" for each in findings)


def _had_old_dra(matrix: Matrix, entry: Entry) -> bool:
    """Whether another entry has a DRA driver of the chart that had another name."""
    from seatrial.core.compat.bundles.stack import is_new_chart
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.versions import DraDriverVersion

    versions = [
        value.version
        for other in matrix.entries.values()
        if other is not entry and (value := other.stack[Component.DRA_DRIVER]) is not None
    ]
    return any(isinstance(each, DraDriverVersion) and each.numbers and not is_new_chart(each) for each in versions)


# ── charts and values ────────────────────────────────────────────────────────────────────────────────────────────────


def _charts_of(charts: str) -> tuple[ChartFiles, ...]:
    """Our own chart, and those of a folder."""
    from seatrial.adapters.bundles.charts import in_folder, our_own

    own = our_own()
    if not charts or charts.startswith(ADDRESSES):
        return (own,)
    # Whoever has the chart of the hook in the folder has another release of it than this one.
    return (own, *(each for each in in_folder(Path(charts)) if each.chart.name != POST_CHART))


def _charts_of_bundle(found: Found, folder: Path, asked: Asked) -> tuple[ChartFiles, ...]:
    """Our own chart as it is now, and the others as they are in the bundle."""
    from seatrial.adapters.bundles.charts import in_bundle, our_own

    own = our_own()
    if not asked.is_offline:
        return (own,)
    return (own, *(each for each in in_bundle(folder, found.files) if each.chart.name != POST_CHART))


def _with_charts(asked: Asked, charts: tuple[ChartFiles, ...]) -> tuple[Asked, tuple[ChartFiles, ...]]:
    is_offline = asked.is_offline or any(each.chart.name != POST_CHART for each in charts)
    return replace(asked, local=tuple(each.chart for each in charts), is_offline=is_offline), charts


def _with_values(options: BundleOptions) -> Asked:
    from seatrial.adapters.bundles.texts import values_in

    own: dict[str, Any] = {}
    for each in options.values:
        release, _, file = each.partition("=")
        if not release or not file:
            raise CalledWrongly(f"--values {each}: write it as RELEASE=FILE, such as gpu-operator=values.yaml.")
        if release in own:
            raise CalledWrongly(f"--values names {release} twice; put both into one file.")
        own[release] = values_in(Path(file))
    charts = options.charts if options.charts.startswith(ADDRESSES) else ""
    return replace(options.asked, own=own, charts=charts.rstrip("/"))


# ── what a bundle was written with ───────────────────────────────────────────────────────────────────────────────────


def _wishes(asked: Asked) -> dict[str, Any]:
    """What is needed to write it anew, without what is as usual."""
    said: dict[str, Any] = {
        "deployer": asked.deployer.value,
        "onDelete": asked.is_on_delete,
        "draGpus": asked.allocates_gpus,
        "draNames": {None: "", True: "old", False: "new"}[asked.keeps_dra_names],
        "repo": asked.repository,
        "repoSecret": asked.repository_secret,
        "revision": asked.revision,
        "path": asked.path,
        "charts": asked.charts,
        "offline": asked.is_offline,
        "image": asked.image,
        "nodes": asked.node_count,
        "parallel": asked.parallel,
        "values": dict(asked.own),
    }
    return {key: value for key, value in said.items() if value}


def _wished(said: Mapping[str, Any], folder: Path) -> Asked:
    try:
        return Asked(
            deployer=Deployer(said["deployer"]),
            is_on_delete=bool(said.get("onDelete", False)),
            allocates_gpus=bool(said.get("draGpus", False)),
            keeps_dra_names={"": None, "old": True, "new": False}[said.get("draNames", "")],
            repository=str(said.get("repo", "")),
            repository_secret=str(said.get("repoSecret", "")),
            revision=str(said.get("revision", "")),
            path=str(said.get("path", "")),
            charts=str(said.get("charts", "")),
            is_offline=bool(said.get("offline", False)),
            image=str(said.get("image", "")),
            node_count=int(said.get("nodes", 0)),
            parallel=int(said.get("parallel", 0)),
            own=dict(said.get("values", {})),
        )
    except (KeyError, ValueError, TypeError) as err:
        raise BundleRefused(f"{folder} does not say with which options it was written. Write it again.") from err
