"""Findings on paper: for people, for scripts (JSON), for code scanners (SARIF 2.1.0) and for test reports (JUnit).

What is found is decided elsewhere; here it is only shown. Nothing heavy is imported: a check has to answer at once.

Tests: tests/cli/test_check.py
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from seatrial.app.matrix.judging import CheckReport, Found
from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.formats import Case, Outcome
from seatrial.cli.terminal import wrapped
from seatrial.core.compat.findings import BADNESS, Finding, Verdict
from seatrial.core.compat.matrix import Note, Span
from seatrial.core.compat.rules import RULES
from seatrial.core.text.names import number_of

WIDTH: Final = 110
MARGIN: Final = "    "
_COLOURS: Final = {Verdict.OK: "32", Verdict.WARN: "33", Verdict.UNKNOWN: "35", Verdict.FAIL: "31;1"}
_LEVELS: Final = {Verdict.OK: "none", Verdict.WARN: "warning", Verdict.UNKNOWN: "warning", Verdict.FAIL: "error"}


def exit_code(report: CheckReport) -> ExitCode:
    """0 when all is ok or accepted, 8 when something fails, 11 when only unknowns or unaccepted warnings remain."""
    if report.is_failing:
        return ExitCode.FINDINGS
    return ExitCode.INCONCLUSIVE if report.is_open else ExitCode.OK


# ── for people ────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_lines(report: CheckReport, *, is_coloured: bool, shows_all: bool, width: int = 0) -> str:
    """A line for each cause, as compilers print them: place, verdict, rule, what, and what to do next.

    On a terminal that is too narrow for one, it is wrapped and what to do has a line of its own.
    """
    shown = _shown(report, shows_all=shows_all)
    causes = report.by_cause(shown)
    lines = [line for cause in causes for line in _lines_of(cause, width, is_coloured)]
    for note in report.notes:
        text = f"{note.span}: note: {': '.join(part for part in (note.name, note.rule) if part)}"
        lines += wrapped(text, width, then=MARGIN)
    end = wrapped(summary(report), width)
    if lines:
        many = f"{len(shown)} findings of {number_of(len(causes), 'cause')}. " if len(causes) < len(shown) else ""
        hint = f"{many}Reasons and sources: `--full`; what a rule means: `--explain RULE`."
        end = ["", *end, *wrapped(hint, width)]
    return "\n".join([*lines, *end]) + "\n"


def _lines_of(cause: Sequence[Found], width: int, is_coloured: bool) -> list[str]:
    """What has one cause, with every rule that says so and every entry that it is about."""
    finding = cause[0].finding
    place, verdict = _place(finding), finding.verdict.value
    accepted = ", accepted" if finding.is_accepted else ""
    rules = ", ".join(dict.fromkeys(each.finding.rule for each in cause))
    what = f"{place}{verdict}{accepted} {rules}{_entries(cause)}: {gist(finding.message)}"
    then = f"→ {gist(finding.next_step)}" if finding.next_step and not finding.is_accepted else ""
    whole = f"{what} {then}".rstrip()
    lines = [whole]
    if width and len(whole) > width:
        lines = [*wrapped(what, width, then=MARGIN), *(wrapped(then, width, first=MARGIN, then=MARGIN) if then else ())]
    if is_coloured and lines[0].startswith(f"{place}{verdict}"):
        lines[0] = place + _painted(finding.verdict) + lines[0].removeprefix(f"{place}{verdict}")
    return lines


def _entries(cause: Sequence[Found]) -> str:
    """The entries that it is about: the place of the first is at the head of the line, the others' are here."""
    named: dict[tuple[str, tuple[Span, ...]], str] = {}
    for each in cause:
        spans = each.finding.spans[:1]
        at = f"at {spans[0].line}:{spans[0].column}" if named and spans else ""
        named.setdefault((each.entry, spans), f"{each.entry} {at}".strip())
    told = ", ".join(filter(None, named.values()))
    return f" ({told})" if told else ""


def gist(text: str) -> str:
    """The first sentence, without brackets and what follows a colon: those are reasons, and `--full` has them."""
    bare = text
    while (shorter := _BRACKETED.sub("", bare)) != bare:
        bare = shorter
    return _REASONS.split(bare, maxsplit=1)[0].rstrip(".:")


_BRACKETED: Final = re.compile(r" ?\([^()]*\)")
_REASONS: Final = re.compile(r":\s|\.\s+(?=\S)")


def _shown(report: CheckReport, *, shows_all: bool) -> list[Found]:
    """What fails first, what is accepted last, and within that as the file has it."""
    shown = [each for each in report.found if shows_all or each.finding.verdict is not Verdict.OK]
    return sorted(
        shown, key=lambda each: (each.finding.is_accepted, -BADNESS[each.finding.verdict], each.finding.spans[:1])
    )


def as_table(report: CheckReport, *, is_coloured: bool, shows_all: bool) -> str:
    """In full: place, verdict, rule; then what, what to do, and who says so."""
    blocks = ["\n".join(_block(each, is_coloured)) for each in _shown(report, shows_all=shows_all)]
    blocks += ["\n".join(_note_lines(note)) for note in report.notes]
    return "\n".join([*blocks, *([""] if blocks else []), summary(report)]) + "\n"


def _head(found: Found, is_coloured: bool) -> str:
    finding = found.finding
    verdict = _painted(finding.verdict) if is_coloured else finding.verdict.value
    accepted = ", accepted" if finding.is_accepted else ""
    about = f" ({found.entry})" if found.entry else ""
    return f"{_place(finding)}{verdict}{accepted} {finding.rule}{about}"


def _place(finding: Finding) -> str:
    return f"{finding.spans[0]}: " if finding.spans else ""


def _painted(verdict: Verdict) -> str:
    return f"\033[{_COLOURS[verdict]}m{verdict.value}\033[0m"


def _block(found: Found, is_coloured: bool) -> Iterator[str]:
    finding = found.finding
    yield _head(found, is_coloured)
    yield from _wrapped(finding.message, "")
    if finding.next_step:
        yield from _wrapped(finding.next_step, "→ ")
    for source in finding.sources:
        yield from _wrapped(source, "source: ")
    if finding.own:
        yield from _wrapped(", ".join(finding.own), "own facts: ")


def _note_lines(note: Note) -> Iterator[str]:
    """A rule of the file, in its own words; it has no verdict, since nobody judged by it."""
    yield f"{note.span}: note{f' ({note.name})' if note.name else ''}"
    for text, mark in ((note.rule, ""), (note.check, "check: "), (note.rationale, "why: ")):
        if text:
            yield from _wrapped(text, mark)


def _wrapped(text: str, mark: str) -> Iterator[str]:
    lines = textwrap.wrap(text, WIDTH - 4 - len(mark), break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield f"    {mark if number == 0 else ' ' * len(mark)}{line}"


def summary(report: CheckReport) -> str:
    accepted = report.count(Verdict.WARN, is_accepted=True) + report.count(Verdict.UNKNOWN, is_accepted=True)
    parts = [
        f"{report.count(Verdict.FAIL)} fail",
        f"{report.count(Verdict.UNKNOWN, is_accepted=False)} unknown",
        f"{report.count(Verdict.WARN, is_accepted=False)} warn",
        *([f"{accepted} accepted"] if accepted else []),
        f"{report.count(Verdict.OK)} ok",
    ]
    against = f", changes against {report.compared_with}" if report.compared_with else ""
    known = f"knowledge up to {report.known_until}{_own(report)}"
    return f"{report.file}: {', '.join(parts)} (on {report.on}, {known}{against})."


def _own(report: CheckReport) -> str:
    """Which facts are the user's own, and how much rests on them."""
    if not report.own:
        return ""
    count = sum(bool(each.finding.own) for each in report.found)
    resting = f"{count or 'no'} {'finding rests' if count == 1 else 'findings rest'} on them"
    return f", own facts in {', '.join(report.own)}: {resting}"


# ── for scripts ───────────────────────────────────────────────────────────────────────────────────────────────────────


def as_json(report: CheckReport) -> dict[str, Any]:
    """Everything, the ok findings included."""
    return {
        "file": report.file,
        "on": report.on.isoformat(),
        "knowledge": {
            "builtOn": report.built_on.isoformat(),
            "knownUntil": report.known_until.isoformat(),
            "own": list(report.own),
        },
        "comparedWith": report.compared_with or None,
        "exitCode": int(exit_code(report)),
        "summary": {
            **{verdict.value: report.count(verdict, is_accepted=False) for verdict in Verdict},
            "accepted": sum(each.finding.is_accepted for each in report.found),
        },
        "findings": [_finding_data(each) for each in report.found],
        "notes": [_note_data(note) for note in report.notes],
    }


def _note_data(note: Note) -> dict[str, Any]:
    return {
        **{name: getattr(note, name) or None for name in ("name", "rule", "check", "rationale")},
        "places": [{"file": note.span.file, "line": note.span.line, "column": note.span.column}],
    }


def _finding_data(found: Found) -> dict[str, Any]:
    finding = found.finding
    return {
        "rule": finding.rule,
        "verdict": finding.verdict.value,
        "entry": found.entry or None,
        "message": finding.message,
        "nextStep": finding.next_step or None,
        "isAccepted": finding.is_accepted,
        "confidence": finding.confidence.value,
        "sources": list(finding.sources),
        "ownFacts": list(finding.own),
        "places": [{"file": span.file, "line": span.line, "column": span.column} for span in finding.spans],
    }


# ── for code scanners ─────────────────────────────────────────────────────────────────────────────────────────────────


def as_sarif(report: CheckReport) -> dict[str, Any]:
    """One run; ok findings are left out, accepted ones are suppressed results."""
    shown = [each for each in report.found if each.finding.verdict is not Verdict.OK]
    rules = _sarif_rules(shown)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    return formats.sarif(rules, [_result(each, index[each.finding.rule]) for each in shown])


def _sarif_rules(shown: Sequence[Found]) -> list[dict[str, Any]]:
    known = {rule.id: rule for rule in RULES}
    found = []
    for rule_id in dict.fromkeys(each.finding.rule for each in shown):
        rule = known.get(rule_id)
        title = rule.title if rule else rule_id.replace("-", " ")
        entry: dict[str, Any] = {"id": rule_id, "shortDescription": {"text": title}}
        if rule is not None:
            entry["fullDescription"] = {"text": rule.meaning.replace("\n", " ")}
        found.append(entry)
    return found


def _result(found: Found, index: int) -> dict[str, Any]:
    finding = found.finding
    text = " ".join(part for part in (finding.message, finding.next_step) if part)
    sources = f" Source: {'; '.join(finding.sources)}" if finding.sources else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.verdict],
        "message": {"text": text + sources},
        "locations": [_location(span) for span in finding.spans[:1]],
        "properties": {
            "verdict": finding.verdict.value,
            "entry": found.entry,
            "confidence": finding.confidence.value,
            "sources": list(finding.sources),
            "ownFacts": list(finding.own),
        },
    }
    if len(finding.spans) > 1:
        result["relatedLocations"] = [_location(span) for span in finding.spans[1:]]
    if finding.is_accepted:
        result["suppressions"] = [{"kind": "inSource"}]
    return result


def _location(span: Span) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(span.file)}}
    if span.line:
        place["region"] = {"startLine": span.line, "startColumn": max(span.column, 1)}
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.replace("\\", "/").removeprefix("./"))


# ── for test reports ──────────────────────────────────────────────────────────────────────────────────────────────────


def as_junit(report: CheckReport) -> str:
    """One suite per entry, one case per finding; accepted ones are skipped, everything else that is not ok fails."""
    suites: dict[str, list[Case]] = {}
    for each in report.found:
        entry = each.entry or "matrix"
        suites.setdefault(entry, []).append(_case(report, entry, each.finding))
    return formats.junit("seatrial check", suites)


def _case(report: CheckReport, suite: str, finding: Finding) -> Case:
    span = finding.spans[0] if finding.spans else None
    case = Case(
        place=f"{report.file}.{suite}",
        name=finding.rule,
        more={"file": span.file, "line": str(span.line)} if span else {},
    )
    if finding.is_accepted:
        return replace(case, outcome=Outcome.SKIPPED, message=f"accepted: {finding.message}")
    if finding.verdict is Verdict.OK:
        return case
    text = "\n".join(_lines(finding))
    return replace(case, outcome=Outcome.FAILED, kind=finding.verdict.value, message=finding.message, text=text)


def _lines(finding: Finding) -> Iterator[str]:
    yield from (str(span) for span in finding.spans)
    yield finding.message
    yield from ([finding.next_step] if finding.next_step else [])
    yield from (f"source: {source}" for source in finding.sources)
    yield from ([f"own facts: {', '.join(finding.own)}"] if finding.own else [])
