"""What a rollout upgrades to: an entry of a matrix (a file, or a Git repository at its head), or a plain version.

Law of this file: nobody starts what was not judged. The same rules as `seatrial check` look at the entry; what fails is
refused, what nobody knows is refused until a person accepts it. Tests: tests/cli/test_rollout_source.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout.spec import MATRIX_FILE, CalledWrongly
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from datetime import date

    from seatrial.cli.matrix.report import Report
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Entry, Matrix
    from seatrial.core.compat.rules.checking import MoreRules

CANARY = "canary"
PINNED_SHOWN = 12


class EntryUnusable(SeatrialError):  # noqa: N818  the message says what to do
    """The entry a rollout is to be made from is not there, or names no driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to upgrade to, where that is written, and what was found about it."""

    driver: str
    report: Report
    entry: str = ""
    """The entry's key; empty without a matrix."""
    role: str = ""
    matrix: dict[str, Any] | None = None
    """As the resource's spec.matrix has it; None where no matrix stands behind the target."""
    canary_node: str = ""
    bad: str = ""
    """Why the entry was rejected before."""
    production: str = ""
    """The driver of the matrix's production entry."""

    @property
    def where(self) -> str:
        """Where it comes from, for people."""
        git = (self.matrix or {}).get("git")
        if git:
            pinned = git["commit"][:PINNED_SHOWN]
            return f"{git['url']} {git['branch']}@{pinned}, {git['path']}, entry {self.entry}"
        return f"{self.report.file}, entry {self.entry}" if self.entry else "no matrix: the version was given by hand"


def read(args: argparse.Namespace, spec: dict[str, Any] | None, name: str, on: date) -> Target:
    """What these options, or the spec of a file, want to upgrade to."""
    if spec is not None:
        return _of_spec(spec, name, on, args.facts)
    if args.driver:
        return _plain(args.driver, on, args.facts)
    if args.git:
        home = args.git, args.branch or "main", args.path or MATRIX_FILE
        return _of_git(*home, args.entry or CANARY, name, on, facts=args.facts)
    return _of_file(args.matrix, args.entry or CANARY, on, args.facts)


def verdict(target: Target, *, accepts_unknown: bool) -> ExitCode:
    """OK when a rollout may start; what is in the way is printed."""
    from seatrial.cli.matrix import report as paper
    from seatrial.core.compat.findings import Verdict

    if target.bad:
        print(
            f"seatrial: entry {target.entry} is marked bad: {target.bad}. "
            "Choose another version, or take the mark away in the matrix when it was wrong.",
            file=sys.stderr,
        )
        return ExitCode.FINDINGS
    failed = target.report.count(Verdict.FAIL)
    unknown = target.report.count(Verdict.UNKNOWN, is_accepted=False)
    if failed or unknown or target.report.count(Verdict.WARN, is_accepted=False):
        print(paper.as_table(target.report, is_coloured=False, shows_all=False), end="", file=sys.stderr)
    if failed:
        print("seatrial: no rollout is started with what fails.", file=sys.stderr)
        return ExitCode.FINDINGS
    if unknown and not accepts_unknown:
        print(
            "seatrial: unknown is not ok. Add facts (`seatrial facts`), accept it in the matrix with a reason, "
            "or start with --accept-unknown.",
            file=sys.stderr,
        )
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK


# ── the homes of a target ────────────────────────────────────────────────────────────────────────────────────────────


def _plain(driver: str, on: date, more_facts: Sequence[str]) -> Target:
    from seatrial.cli.matrix import check
    from seatrial.cli.matrix.report import Found, Report
    from seatrial.core.compat.matrix import Stack
    from seatrial.core.compat.rules import check_stack
    from seatrial.core.compat.versions import DriverVersion, VersionInvalid

    try:
        DriverVersion.parse(driver)
    except VersionInvalid as err:
        raise CalledWrongly(f"the driver to upgrade to: {err}") from err
    facts, unread = check.known(list(more_facts))
    judged = (*unread, *check_stack(Stack.of({"driver": driver}), facts, on))
    found = tuple(Found(entry="", finding=each) for each in judged)
    report = Report(
        file=f"driver {driver}",
        on=on,
        built_on=facts.built_on,
        known_until=facts.known_until,
        compared_with="",
        found=found,
    )
    return Target(driver=driver, report=report)


def _of_file(file: str, entry: str, on: date, facts: Sequence[str]) -> Target:
    """An entry of a file here: judged with the rules and facts beside it, as `seatrial check` does."""
    from seatrial.adapters.files.matrix_file import find_matrix, load_matrix
    from seatrial.cli.matrix import check

    path = find_matrix(file, Path())
    report = check.check(argparse.Namespace(file=str(path), base=None, on=on, rules=[], facts=list(facts)))
    return _of_entry(load_matrix(path).reading.matrix, entry, report)


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
) -> Target:
    """An entry at the head of a branch, or at the commit a person has pinned; either way the commit is pinned."""
    import tempfile

    from seatrial.adapters.files.matrix_yaml import read_matrix
    from seatrial.adapters.git.clone import Remote
    from seatrial.adapters.git.repository import Repository
    from seatrial.cli.matrix import check

    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        repository = Repository(Remote(url=url, branch=branch), Path(folder) / "clone")
        look = repository.look(rollout=name, pinned=commit)
        if look.is_pinned_kept is False:
            raise EntryUnusable(f"{url} has no commit {commit} on {branch} any more. Pin another, or none.")
        pinned = commit or look.head
        text = repository.text_at(pinned, path)
        beside = repository.text_at(pinned, str(PurePosixPath(path).parent / check.RULES_BESIDE))
        more, broken = _rules(beside, Path(folder), on)
    where = f"{path}@{pinned[:PINNED_SHOWN]}"
    if text is None:
        raise EntryUnusable(f"{url} has no {path} on {branch} ({pinned[:PINNED_SHOWN]}). Name the matrix with --path.")
    reading = read_matrix(text, where)
    known, unread = check.known(list(facts))
    report = check.report_of(reading, where, known, on, more=more, besides=(*unread, *broken))
    target = _of_entry(reading.matrix, entry, report)
    git = {"url": url, "branch": branch, "path": path, "commit": pinned}
    return replace(target, matrix={"git": git, "entry": target.role})


def _rules(text: str | None, folder: Path, on: date) -> tuple[MoreRules | None, tuple[Finding, ...]]:
    """The rules of the user's own that lie beside the matrix in the repository."""
    from seatrial.cli.matrix import check

    if text is None:
        return None, ()
    file = folder / check.RULES_BESIDE
    file.write_text(text, encoding="utf-8")
    return check.more_rules([str(file)], on)


def _of_spec(spec: dict[str, Any], name: str, on: date, facts: Sequence[str]) -> Target:
    """What a GPURollout in a file wants: its matrix is read, and its target has to be the entry's."""
    driver = str((spec.get("target") or {}).get("driver") or "")
    matrix = spec.get("matrix") or {}
    git = matrix.get("git")
    if not git:
        target = _plain(driver, on, facts)
        return replace(target, matrix=matrix or None)
    entry = matrix.get("entry") or CANARY
    home = git.get("branch") or "main", git.get("path") or MATRIX_FILE
    target = _of_git(git["url"], *home, entry, name, on, facts=facts, commit=git.get("commit") or "")
    if driver and driver != target.driver:
        raise EntryUnusable(
            f"spec.target.driver is {driver}, and entry {entry} of {target.where} says {target.driver}. "
            "Make them the same, or leave the target out."
        )
    return target


def _of_entry(matrix: Matrix | None, named: str, report: Report) -> Target:
    from seatrial.core.compat.matrix import Component, Role

    if matrix is None:
        return Target(driver="", report=report)  # it cannot be read, and the findings say why
    entry = _find(matrix.entries.values(), named, report.file)
    value = entry.stack[Component.GPU_DRIVER]
    if value is None:
        raise EntryUnusable(f"entry {named} of {report.file} names no gpu_driver, and that is what a rollout moves.")
    key = entry.key or entry.role.value
    production = matrix.entries.get(Role.PRODUCTION)
    now = production.stack[Component.GPU_DRIVER] if production is not None else None
    return Target(
        driver=value.text,
        report=replace(report, found=tuple(each for each in report.found if each.entry in ("", key))),
        entry=key,
        role=entry.role.value,
        canary_node=entry.canary_node,
        bad=entry.bad,
        production=now.text if now is not None else "",
    )


def _find(entries: Iterable[Entry], named: str, file: str) -> Entry:
    all_ = list(entries)
    for entry in all_:
        if named in (entry.key, entry.role.value):
            return entry
    there = ", ".join(entry.key or entry.role.value for entry in all_) or "none"
    raise EntryUnusable(f"{file} has no entry {named}; it has {there}. Name one with --entry.")
