"""An audit for other programs and other readers: JUnit, SARIF, a report to keep, and one line for a chat.

Law of this file: made of the same audit as the table, so they cannot differ; unknown is never a pass in any of them.
Tests: tests/cli/test_audit_reports.py
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli import formats
from seatrial.cli.formats import Case, Outcome
from seatrial.cli.survey import audit_telling
from seatrial.core.survey.audit.auditing import Row, State
from seatrial.core.survey.audit.findings import MEANINGS, WEIGHTS, AuditFinding, FindingKind, Weight
from seatrial.core.text import foreign
from seatrial.core.text.names import a_few, number_of

if TYPE_CHECKING:
    from seatrial.app.survey.auditing import Audited
    from seatrial.cli.exit_codes import ExitCode

DOCUMENT_MAX: Final = 600_000
PAGE_MAX: Final = 200_000
"""An object has at most a mebibyte and a half, and a ConfigMap one."""
WORDS: Final = {Weight.DRIFT: "drift", Weight.WRONG: "wrong", Weight.UNKNOWN: "to check"}
_OUTCOMES: Final = {
    State.DRIFT: Outcome.FAILED,
    State.MIXED: Outcome.FAILED,
    State.NOT_RUNNING: Outcome.FAILED,
    State.NOT_OBSERVABLE: Outcome.UNKNOWN,
}


def as_line(found: Audited) -> str:
    """For a chat: how many of what, and the heaviest in a few words."""
    findings = found.audit.findings
    nodes = number_of(len(found.audit.observed.nodes), "GPU node")
    if not findings:
        return f"GPU audit of {nodes}: nothing found."
    counts = Counter(each.weight for each in findings)
    told = ", ".join(f"{counts[weight]} {WORDS[weight]}" for weight in Weight if counts[weight])
    first = findings[0]
    on = f" on {a_few(first.nodes, 2)}" if first.nodes else ""
    return f"GPU audit of {nodes}: {told}. {first.kind.value}{on}: {first.message}"


def kept(found: Audited, code: ExitCode, at: datetime) -> dict[str, str]:
    """For a ConfigMap: the line, the page for tickets and the document, within what an API server takes."""
    data = audit_telling.as_data(found, code)
    document = json.dumps(data)
    if len(document) > DOCUMENT_MAX:
        document = json.dumps({**data, "nodes": [], "nodesLeftOut": len(data["nodes"])})
    return {
        "at": at.isoformat(timespec="seconds"),
        "exitCode": str(int(code)),
        "brief": as_line(found),
        "report.md": foreign.lines(audit_telling.as_markdown(found), PAGE_MAX),
        "report.json": document if len(document) <= DOCUMENT_MAX else json.dumps({"tooLong": len(document)}),
    }


# ── for whoever collects test results ────────────────────────────────────────────────────────────────────────────────


def as_junit(found: Audited) -> str:
    """A case for each component that there is something to say of, and one for each kind of finding."""
    components = [_component(row) for row in found.audit.rows if audit_telling.is_shown(row)]
    kinds = [_kind(kind, [each for each in found.audit.findings if each.kind is kind]) for kind in FindingKind]
    return formats.junit("seatrial audit", {"components": components, "findings": kinds})


def _component(row: Row) -> Case:
    outcome = _OUTCOMES.get(row.state, Outcome.PASSED)
    versions = ", ".join(f"{text} ({count})" for text, count in row.found) or row.state.value
    wanted = f", wanted {row.wanted}" if row.wanted else ""
    return Case(
        place="audit.components",
        name=row.component.value,
        outcome=outcome,
        kind=row.state.value,
        message=f"{versions}{wanted}",
        text="\n".join(row.evidence),
    )


def _kind(kind: FindingKind, findings: list[AuditFinding]) -> Case:
    case = Case(place="audit.findings", name=kind.value)
    if not findings:
        return case
    unknown = WEIGHTS[kind] is Weight.UNKNOWN
    lines = [line for each in findings for line in (each.message, *each.evidence, f"→ {each.next_step}", "")]
    return Case(
        place=case.place,
        name=case.name,
        outcome=Outcome.UNKNOWN if unknown else Outcome.FAILED,
        kind=WEIGHTS[kind].value,
        message=findings[0].message,
        text="\n".join(lines).rstrip(),
    )


# ── for code scanners ────────────────────────────────────────────────────────────────────────────────────────────────


def as_sarif(found: Audited) -> dict[str, Any]:
    """A result for each finding; nodes are places in the cluster, and the matrix the file where there is one."""
    kinds = [*dict.fromkeys(each.kind for each in found.audit.findings)]
    rules = [{"id": kind.value, "shortDescription": {"text": MEANINGS[kind]}} for kind in kinds]
    return formats.sarif(rules, [_result(found, each, kinds.index(each.kind)) for each in found.audit.findings])


def _result(found: Audited, finding: AuditFinding, index: int) -> dict[str, Any]:
    places = [{"name": name, "fullyQualifiedName": f"nodes/{name}", "kind": "resource"} for name in finding.nodes]
    location: dict[str, Any] = {"logicalLocations": places} if places else {}
    if found.file:
        location["physicalLocation"] = {"artifactLocation": {"uri": found.file.replace("\\", "/").removeprefix("./")}}
    return {
        "ruleId": finding.kind.value,
        "ruleIndex": index,
        "level": "warning" if finding.weight is Weight.UNKNOWN else "error",
        "message": {"text": f"{finding.message} {finding.next_step}"},
        "locations": [location] if location else [],
        "properties": {"weight": finding.weight.value, "evidence": list(finding.evidence)},
    }
