"""Everything the rules say about a version matrix: read, looked up, judged, wherever it lives.

Law of this file: findings are values, and unknown is never a pass. What is shown of them, and which exit code that
makes, is said by who asked. Nothing heavy is imported: a check has to answer at once. Tests:
tests/app/matrix/test_judging.py, tests/cli/test_check.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.app.matrix.knowing import known
from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Finding, Verdict

if TYPE_CHECKING:
    from seatrial.adapters.files.matrix_yaml import Reading
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.matrix import Entry, Matrix, Note, Role, Span
    from seatrial.core.compat.rules.checking import MoreRules

RULES_BESIDE: Final = "seatrial-rules.yaml"
LAST_COMMIT: Final = "HEAD"
UNREADABLE: Final = "version-unreadable"
"""The reader's own word for a value that is no version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Which file is judged, as of which day, and by what besides our own rules and facts."""

    file: str | None
    """The matrix, or the folder it is in; None looks for it upwards from here."""
    on: date
    base: str | None = None
    """The revision that changes are judged against; None is the last commit, where there is one."""
    rules: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A finding and the entry it is about; empty for the file as a whole."""

    entry: str
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Everything a check has to say."""

    file: str
    on: date
    built_on: date
    known_until: date
    compared_with: str
    """The revision the changes were judged against; empty where there was none."""
    found: tuple[Found, ...]
    own: tuple[str, ...] = ()
    """The user's files and bundles of facts that were laid over ours."""
    notes: tuple[Note, ...] = ()
    """Rules of the file in words, for people: nothing here has judged by them."""
    unreadable: frozenset[Span] = frozenset()
    """Where values stand that cannot be read: whichever rule fails there, correcting the value comes first."""

    def by_cause(self, found: Iterable[Found]) -> tuple[tuple[Found, ...], ...]:
        """Findings of one cause together, in the order of the first of each."""
        groups: dict[object, list[Found]] = {}
        for each in found:
            unread = self.unreadable.intersection(each.finding.spans[:1])
            groups.setdefault(unread or each.finding.cause, []).append(each)
        return tuple(map(tuple, groups.values()))

    def count(self, verdict: Verdict, *, is_accepted: bool | None = None) -> int:
        """How many findings have this verdict."""
        return sum(
            each.finding.verdict is verdict and is_accepted in (None, each.finding.is_accepted) for each in self.found
        )

    @property
    def is_failing(self) -> bool:
        """Whether something fails, accepted or not."""
        return self.count(Verdict.FAIL) > 0

    @property
    def is_open(self) -> bool:
        """Whether unknowns or warnings remain that nobody accepted."""
        return any(self.count(verdict, is_accepted=False) for verdict in (Verdict.WARN, Verdict.UNKNOWN))


def judge(check: CheckOptions) -> CheckReport:
    """Everything there is to say about a file."""
    from seatrial.adapters.files.matrix_file import find_matrix, load_matrix

    path = find_matrix(check.file, Path())
    facts, found = known(check.facts, path.parent)
    reading = load_matrix(path).reading
    base, compared_with = _base(path, check.base)
    more, broken = more_rules([*rules_beside(path), *check.rules], check.on)
    return report_of(reading, str(path), facts, check.on, base, compared_with, more, (*found, *broken))


def failing(file: str | None, role: Role, on: date) -> list[Finding]:
    """What fails about the entry of a role."""
    from seatrial.core.compat.matrix import role_of

    report = judge(CheckOptions(file=file, on=on))
    return [
        each.finding for each in report.found if role_of(each.entry) is role and each.finding.verdict is Verdict.FAIL
    ]


def report_of(
    reading: Reading,
    file: str,
    facts: Facts,
    on: date,
    base: Matrix | None = None,
    compared_with: str = "",
    more: MoreRules | None = None,
    besides: Sequence[Finding] = (),
) -> CheckReport:
    """Everything there is to say about a matrix that was read, wherever it lives; `besides` was found on the way."""
    told = _by_entry(reading)
    found = [*(each for each in reading.findings if all(each not in those for those in told.values())), *besides]

    def both(entry: Entry) -> list[Finding]:
        return [*told.get(entry.role, ()), *(more(entry) if more is not None else ())]

    judged = _without_vain(_judged(reading.matrix, facts, on, base, both) if reading.matrix is not None else [])
    whole = [Found(entry="", finding=finding) for finding in _without_repeats(found, judged)]
    return CheckReport(
        file=file,
        on=on,
        built_on=facts.built_on,
        known_until=facts.known_until,
        compared_with=compared_with,
        found=(*whole, *judged),
        own=facts.own,
        notes=reading.matrix.notes if reading.matrix is not None else (),
        unreadable=frozenset(span for each in reading.findings if each.rule == UNREADABLE for span in each.spans),
    )


def _judged(matrix: Matrix, facts: Facts, on: date, base: Matrix | None, more: MoreRules | None) -> list[Found]:
    from seatrial.core.compat.rules import judge_entries, owned

    judged = judge_entries(matrix, facts, on, base, more=more)
    without = judge_entries(matrix, facts.beneath, on, base, more=more) if facts.beneath is not None else judged
    return [
        Found(entry=each.entry.key or each.entry.role.value, finding=finding)
        for each, other in zip(judged, without, strict=True)
        for finding in owned(each.findings, other.findings, facts.own)
    ]


def _by_entry(reading: Reading) -> dict[Role, list[Finding]]:
    """The reader's own warnings by the entry they are written in, so that they can be accepted there."""
    entries = sorted(reading.matrix.entries.values(), key=lambda entry: entry.span) if reading.matrix else []
    found: dict[Role, list[Finding]] = {}
    for finding in reading.findings:
        owners = [entry for entry in entries if finding.spans and entry.span <= finding.spans[0]]
        if owners and finding.verdict is not Verdict.FAIL:
            found.setdefault(owners[-1].role, []).append(finding)
    return found


def _without_repeats(found: list[Finding], judged: list[Found]) -> list[Finding]:
    """An unreadable value is told by a rule that needs it: the reader's own word is only for the others."""
    told = {span for each in judged if each.finding.verdict is Verdict.FAIL for span in each.finding.spans}
    return [finding for finding in found if finding.rule != UNREADABLE or not told.intersection(finding.spans)]


def _without_vain(judged: list[Found]) -> list[Found]:
    """Whether a way back is older than a version that does not exist is no question: correcting that comes first."""
    wrong = {
        span
        for each in judged
        if each.finding.rule == "exists" and each.finding.verdict is Verdict.FAIL
        for span in each.finding.spans
    }
    return [
        each for each in judged if each.finding.rule != "rollback-newer" or not wrong.intersection(each.finding.spans)
    ]


def rules_beside(path: Path) -> list[str]:
    """The file of the user's own rules that lies beside a matrix."""
    beside = path.parent / RULES_BESIDE
    return [str(beside)] if beside.is_file() else []


def more_rules(paths: Sequence[str], on: date) -> tuple[MoreRules | None, tuple[Finding, ...]]:
    """The user's own rules from these files, and what is wrong with them."""
    if not paths:
        return None, ()
    from seatrial.adapters.files.rules.cel_rules import load_rules

    loaded = load_rules(paths)
    return lambda entry: loaded.judge(entry, on), loaded.findings


def _base(path: Path, revision: str | None) -> tuple[Matrix | None, str]:
    """The matrix at a revision; outside of Git, or before the first commit, there is nothing to compare with."""
    from seatrial.adapters.files.matrix_yaml import read_matrix
    from seatrial.adapters.git.errors import GitUnavailable
    from seatrial.adapters.git.history import text_at

    try:
        text = text_at(path, revision or LAST_COMMIT)
    except GitUnavailable:
        if revision is not None:
            raise
        return None, ""
    if text is None:
        return None, ""
    named = revision or LAST_COMMIT
    return read_matrix(text, f"{path}@{named}").matrix, named
