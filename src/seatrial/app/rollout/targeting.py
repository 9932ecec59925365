"""What a rollout upgrades to: an entry of a matrix (a file, or a Git repository at its head), or a plain version.

Law of this file: nobody starts what was not judged. The same rules as `seatrial check` look at the entry; what fails is
refused, what nobody knows is refused until a person accepts it. A hole that runs already is told, and stops nobody.

Tests: tests/app/rollout/test_targeting.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from seatrial.app.errors import UNKNOWN, CalledWrongly, Objection
from seatrial.app.rollout.options import MATRIX_FILE
from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.findings import Verdict
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from datetime import date

    from seatrial.app.matrix.judging import CheckReport, Found
    from seatrial.app.rollout.options import Goal
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Entry, Matrix
    from seatrial.core.compat.rules.checking import MoreRules

CANARY: Final = "canary"
PINNED_SHOWN: Final = 12


class EntryUnusable(SeatrialError):  # noqa: N818  the message says what to do
    """The entry a rollout is to be made from is not there, or names no driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTarget:
    """What to upgrade to, where that is written, and what was found about it."""

    driver: str
    report: CheckReport
    beside: tuple[tuple[str, str], ...] = ()
    """Operands and releases that move with the driver, and the version of each."""
    entry: str = ""
    """The entry's key; empty without a matrix."""
    role: str = ""
    matrix: dict[str, Any] | None = None
    """As the resource's spec.matrix has it; None where no matrix stands behind the target."""
    canary_node: str = ""
    bad: str = ""
    """Why the entry was rejected before."""

    @property
    def is_doubtful(self) -> bool:
        """Whether a person should read what was found before anything begins."""
        return self.report.is_failing or self.report.is_open

    @property
    def where(self) -> str:
        """Where it comes from, for people."""
        git = (self.matrix or {}).get("git")
        if git:
            pinned = git["commit"][:PINNED_SHOWN]
            return f"{git['url']} {git['branch']}@{pinned}, {git['path']}, entry {self.entry}"
        return f"{self.report.file}, entry {self.entry}" if self.entry else "no matrix: the version was given directly"


def read(goal: Goal, spec: dict[str, Any] | None, name: str, on: date, facts: Sequence[str] = ()) -> RolloutTarget:
    """What these options, or the spec of a file, want to upgrade to."""
    if spec is not None:
        return _of_spec(spec, name, on, facts)
    if goal.driver:
        return _plain(goal.driver, on, facts, goal.component)
    if goal.git:
        home = goal.git, goal.branch or "main", goal.path or MATRIX_FILE
        target = _of_git(*home, goal.entry or CANARY, name, on, facts=facts)
    else:
        target = _of_file(goal.matrix, goal.entry or CANARY, on, facts)
    return replace(target, beside=()) if goal.driver_only else target


def objection(target: RolloutTarget, *, accepts_unknown: bool) -> Objection | None:
    """What is in the way of starting; None where nothing is."""
    if target.bad:
        return Objection(
            says=f"entry {target.entry} is marked bad: {target.bad}. "
            f"Choose another version; or, if the mark is wrong, `seatrial matrix unmark {quote(target.entry)}`."
        )
    if target.report.is_failing:
        return Objection(says="no rollout is started with what fails.")
    if target.report.count(Verdict.UNKNOWN, is_accepted=False) and not accepts_unknown:
        return UNKNOWN
    return None


# ── the homes of a target ────────────────────────────────────────────────────────────────────────────────────────────


def _plain(driver: str, on: date, more_facts: Sequence[str], beside: tuple[tuple[str, str], ...] = ()) -> RolloutTarget:
    from seatrial.app.matrix import knowing
    from seatrial.app.matrix.judging import CheckReport, Found
    from seatrial.core.compat.matrix import Stack
    from seatrial.core.compat.rules import check_stack
    from seatrial.core.compat.versions import DriverVersion, VersionInvalid
    from seatrial.core.model.target import PUBLISHED

    try:
        DriverVersion.parse(driver)
    except VersionInvalid as err:
        raise CalledWrongly(f"the driver to upgrade to: {err}") from err
    unknown = next((name for name, _ in beside if name not in PUBLISHED), "")
    if unknown:
        known = ", ".join(each.value for each in PUBLISHED)
        raise CalledWrongly(f"{unknown} does not move with a driver; what does: {known}.")
    facts, unread = knowing.known(more_facts)
    judged = (*unread, *check_stack(Stack.of({"driver": driver, **dict(beside)}), facts, on))
    found = tuple(Found(entry="", finding=each) for each in judged)
    report = CheckReport(
        file=", ".join((f"driver {driver}", *(f"{name} {version}" for name, version in beside))),
        on=on,
        built_on=facts.built_on,
        known_until=facts.known_until,
        compared_with="",
        found=found,
        own=facts.own,
    )
    return RolloutTarget(driver=driver, beside=beside, report=report)


def _of_file(file: str | None, entry: str, on: date, facts: Sequence[str]) -> RolloutTarget:
    """An entry of a file here: judged with the rules and facts beside it, as `seatrial check` does."""
    from seatrial.adapters.files.matrix_file import find_matrix, load_matrix
    from seatrial.app.matrix import judging, knowing

    path = find_matrix(file, Path())
    report = judging.judge(judging.CheckOptions(file=str(path), on=on, facts=tuple(facts)))
    known, _ = knowing.known(facts, path.parent)
    return _of_entry(load_matrix(path).reading.matrix, entry, report, known)


def _of_git(
    url: str,
    branch: str,
    path: str,
    entry: str,
    name: str,
    on: date,
    *,
    facts: Sequence[str] = (),
    commit: str = "",
) -> RolloutTarget:
    """An entry at the head of a branch, or at the commit a person has pinned; either way the commit is pinned."""
    import tempfile

    from seatrial.adapters.files.matrix_yaml import read_matrix
    from seatrial.adapters.git.clone import Remote
    from seatrial.adapters.git.repository import Repository
    from seatrial.app.matrix import judging, knowing

    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        repository = Repository(Remote(url=url, branch=branch), Path(folder) / "clone")
        look = repository.look(rollout=name, pinned=commit)
        if look.is_pinned_kept is False:
            raise EntryUnusable(f"{url} no longer has commit {commit} on {branch}. Pin another, or none.")
        pinned = commit or look.head
        text = repository.text_at(pinned, path)
        home, short = PurePosixPath(path).parent, pinned[:PINNED_SHOWN]
        more, broken = _rules(repository.text_at(pinned, str(home / judging.RULES_BESIDE)), Path(folder), on)
        _copy(repository.texts_under(pinned, str(home / knowing.FACTS_BESIDE)), home, Path(folder) / "beside")
        known, unread = knowing.known(facts, Path(folder) / "beside", at=short)
    where = f"{path}@{short}"
    if text is None:
        raise EntryUnusable(f"{url} has no {path} on {branch} ({short}). Name the matrix with --path.")
    reading = read_matrix(text, where)
    report = judging.report_of(reading, where, known, on, more=more, besides=(*unread, *broken))
    target = _of_entry(reading.matrix, entry, report, known)
    git = {"url": url, "branch": branch, "path": path, "commit": pinned}
    return replace(target, matrix={"git": git, "entry": target.role})


def _copy(texts: Mapping[str, str], home: PurePosixPath, beside: Path) -> None:
    """Lay files of a repository into a folder as they lie beside the matrix there."""
    for path, text in texts.items():
        there = beside / PurePosixPath(path).relative_to(home)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text, encoding="utf-8", newline="")


def _rules(text: str | None, folder: Path, on: date) -> tuple[MoreRules | None, tuple[Finding, ...]]:
    """The rules of the user's own that lie beside the matrix in the repository."""
    from seatrial.app.matrix import judging

    if text is None:
        return None, ()
    file = folder / judging.RULES_BESIDE
    file.write_text(text, encoding="utf-8")
    return judging.more_rules([str(file)], on)


def _of_spec(spec: dict[str, Any], name: str, on: date, facts: Sequence[str]) -> RolloutTarget:
    """What a GPURollout in a file wants: its matrix is read, and its target has to be the entry's."""
    said = {str(name): str(text) for name, text in (spec.get("target") or {}).items()}
    driver = said.pop("driver", "")
    matrix = spec.get("matrix") or {}
    git = matrix.get("git")
    if not git:
        target = _plain(driver, on, facts, tuple(said.items()))
        return replace(target, matrix=matrix or None)
    entry = matrix.get("entry") or CANARY
    home = git.get("branch") or "main", git.get("path") or MATRIX_FILE
    target = _of_git(git["url"], *home, entry, name, on, facts=facts, commit=git.get("commit") or "")
    if driver and driver != target.driver:
        raise EntryUnusable(
            f"spec.target.driver is {driver}, and entry {entry} of {target.where} says {target.driver}. "
            "Make them the same, or leave the target out."
        )
    return replace(target, beside=tuple(said.items())) if driver else target


def _of_entry(matrix: Matrix | None, named: str, report: CheckReport, facts: Facts) -> RolloutTarget:
    from seatrial.core.compat.matrix import Component, Role

    if matrix is None:
        return RolloutTarget(driver="", report=report)  # it cannot be read, and the findings say why
    entry = _find(matrix.entries.values(), named, report.file)
    value = entry.stack[Component.GPU_DRIVER]
    if value is None:
        raise EntryUnusable(f"entry {named} of {report.file} names no gpu_driver, and that is what a rollout moves.")
    key = entry.key or entry.role.value
    production = matrix.entries.get(Role.PRODUCTION)
    return RolloutTarget(
        driver=value.text,
        beside=_beside(entry, production) if production is not None else (),
        report=replace(report, found=tuple(_weighed(report, entry, production, facts))),
        entry=key,
        role=entry.role.value,
        canary_node=entry.canary_node,
        bad=entry.bad,
    )


def _beside(entry: Entry, production: Entry) -> tuple[tuple[str, str], ...]:
    """What an entry has in another version than production, as far as a rollout can publish it.

    A release is one where production names another; it brings the operands of the GPU Operator, so that they are not
    named beside it. The network driver is a rollout of its own, unless somebody names it.
    """
    from seatrial.core.compat.matrix import OPERANDS, Component
    from seatrial.core.model.seen.operands import FIELDS
    from seatrial.core.model.seen.releases import CHARTS

    released = [each for each in CHARTS if production.stack[each] is not None]
    moving = [each for each in released if entry.stack[each] and entry.stack.differs(production.stack, each)]
    brought = OPERANDS if Component.GPU_OPERATOR in moving else ()
    named = (*released, *(each for each in FIELDS if each not in brought))
    values = ((component, entry.stack[component]) for component in named)
    return tuple(
        (component.value, value.text)
        for component, value in values
        if value is not None and value.version is not None and entry.stack.differs(production.stack, component)
    )


def _weighed(report: CheckReport, entry: Entry, production: Entry | None, facts: Facts) -> Iterator[Found]:
    """What was found about an entry; a hole that runs already warns, since the rollout does not open it."""
    from seatrial.core.compat.rules import KNOWN_BAD, kept_holes

    key = entry.key or entry.role.value
    kept = kept_holes(production.stack, entry.stack, facts, report.on) if production is not None else None
    for each in report.found:
        if each.entry not in ("", key):
            continue
        is_old = kept is not None and each.finding.rule == KNOWN_BAD.id and each.finding.verdict is Verdict.FAIL
        yield replace(each, finding=kept) if is_old and kept is not None else each


def _find(entries: Iterable[Entry], named: str, file: str) -> Entry:
    all_ = list(entries)
    for entry in all_:
        if named in (entry.key, entry.role.value):
            return entry
    there = ", ".join(entry.key or entry.role.value for entry in all_) or "none"
    raise EntryUnusable(f"{file} has no entry {named}; it has {there}. Name one with --entry.")
