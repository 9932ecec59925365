"""What `seatrial audit` prints: the components first, then the findings; for people, for scripts and for tickets.

Law of this file: all forms come from one audit, so they cannot differ. Tests: tests/cli/test_audit.py
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli.terminal import columns
from seatrial.core.survey.audit.auditing import Row, State
from seatrial.core.survey.audit.readings import Absent, NotObservable, NotRunning, Seen
from seatrial.core.survey.audit.settings import told
from seatrial.core.text.moments import dated, moment
from seatrial.core.text.names import NAMED_MAX, a_few, number_of

if TYPE_CHECKING:
    from seatrial.app.survey.auditing import Audited
    from seatrial.cli.exit_codes import ExitCode
    from seatrial.core.survey.audit.findings import AuditFinding
    from seatrial.core.survey.audit.observing import NodeStack

WIDTH: Final = 110
NOTHING: Final = "-"
ALL_MAX: Final = 60


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def as_table(found: Audited, *, is_wide: bool) -> str:
    """A line for each component, then each finding with what to do."""
    lines = [_head(found), "", columns(_table(found, is_wide=is_wide)), *_besides(found)]
    for finding in found.audit.findings:
        lines += ["", *_block(finding, is_wide=is_wide)]
    return "\n".join([*lines, "", _end(found)])


def _head(found: Audited) -> str:
    """Which nodes there are, and what they are compared with."""
    observed = found.audit.observed
    kinds = Counter(str(node.like) for node in observed.nodes)
    of = "; ".join(f"{count} with {kind}" for kind, count in kinds.most_common())
    with_gpus = f"{len(observed.nodes)} with GPUs{f': {of}' if of else ''}"
    compared = f"compared with {found.entry} of {found.file}" if found.entry else "compared with each other"
    return f"{number_of(len(observed.objects.nodes), 'node')}, {with_gpus}; {compared}."


def _table(found: Audited, *, is_wide: bool) -> Iterator[tuple[str, ...]]:
    """A row for each component, and its header first."""
    yield ("COMPONENT", "STATE", *(("WANTED",) if found.entry else ()), "FOUND", *(("READ FROM",) if is_wide else ()))
    for row in found.audit.rows:
        if is_shown(row):
            wanted = (row.wanted or NOTHING,) if found.entry else ()
            read = (a_few(row.evidence, 3) or NOTHING,) if is_wide else ()
            yield (row.component.value, row.state.value, *wanted, _found(row), *read)


def is_shown(row: Row) -> bool:
    """Whether somebody asks for it, or there is something to say."""
    return bool(row.wanted or row.found) or not (row.state is State.ABSENT or row.is_by_nature)


def _found(row: Row) -> str:
    parts = [f"{text} ({count})" for text, count in row.found]
    parts += [f"not running ({row.down_count})"] if row.down_count else []
    parts += [f"not there ({row.absent_count})"] if row.absent_count else []
    parts += [f"not observable ({row.unseen_count})"] if row.unseen_count else []
    return ", ".join(parts) or NOTHING


def _besides(found: Audited) -> Iterator[str]:
    """What is true of the cluster and is no row of the table."""
    left = [row for row in found.audit.rows if not is_shown(row)]
    absent = [row.component.value for row in left if row.state is State.ABSENT]
    hidden = [row.component.value for row in left if row.state is not State.ABSENT]
    observed = found.audit.observed
    if absent:
        yield f"Not there: {a_few(absent, ALL_MAX)}."
    if hidden:
        yield f"No object of this cluster shows, and no matrix asks for: {a_few(hidden, ALL_MAX)}."
    if observed.modules:
        yield f"Kernel modules: {observed.modules}, as the driver's resource asks."
    yield from (f"{told(each)}." for each in observed.objects.subscriptions)
    yield from (
        f"MachineConfigPool {pool.name}: {'paused' if pool.is_paused else 'not paused'}, "
        f"{number_of(pool.machine_count, 'node')}."
        for pool in observed.objects.pools
    )


def _block(finding: AuditFinding, *, is_wide: bool) -> Iterator[str]:
    about = f" {finding.component.value}" if finding.component is not None else ""
    named_max = len(finding.nodes) if is_wide else NAMED_MAX
    yield f"{finding.kind.value}{about}{_nodes(finding, named_max)}{_since(finding)}"
    yield from _wrapped(finding.message, "")
    for each in finding.evidence:
        yield from _wrapped(each, "evidence: ")
    yield from _wrapped(finding.next_step, "→ ")


def _since(finding: AuditFinding) -> str:
    """From when on, where an object tells."""
    if finding.since is None:
        return ""
    return f", since {dated(finding.since):%Y-%m-%d %H:%M} UTC"


def _nodes(finding: AuditFinding, named_max: int = NAMED_MAX) -> str:
    return f" ({number_of(len(finding.nodes), 'node')}: {a_few(finding.nodes, named_max)})" if finding.nodes else ""


def _wrapped(text: str, mark: str) -> Iterator[str]:
    lines = textwrap.wrap(text, WIDTH - 4 - len(mark), break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield f"    {mark if number == 0 else ' ' * len(mark)}{line}"


def _end(found: Audited) -> str:
    """How many findings, of which kinds, as of when."""
    kinds = Counter(each.kind.value for each in found.audit.findings)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    told_of = f"{number_of(len(found.audit.findings), 'finding')}: {counted}" if kinds else "No findings"
    return f"{told_of} (on {found.on}, knowledge up to {found.known_until})."


# ── for tickets ──────────────────────────────────────────────────────────────────────────────────────────────────────


def as_markdown(found: Audited) -> str:
    """The same as a page: tables that a forge or a wiki shows."""
    header, *rows = _table(found, is_wide=True)
    lines = ["# GPU cluster audit", "", _head(found), "", _line(header), _line("---" for _ in header)]
    lines += [*map(_line, rows), *([""] if [*_besides(found)] else []), *(f"- {each}" for each in _besides(found))]
    lines += ["", f"## {_end(found)}"]
    for finding in found.audit.findings:
        about = f" {finding.component.value}" if finding.component is not None else ""
        lines += ["", f"### {finding.kind.value}{about}{_nodes(finding)}", "", finding.message, ""]
        lines += [f"- Evidence: {each}" for each in finding.evidence]
        lines += [f"- Next: {finding.next_step}"]
    return "\n".join(lines)


def _line(cells: Any) -> str:
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


# ── for scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def as_data(found: Audited, code: ExitCode) -> dict[str, Any]:
    """Everything there is to say."""
    observed = found.audit.observed
    kinds = Counter(node.like for node in observed.nodes)
    return {
        "on": found.on.isoformat(),
        "knownUntil": found.known_until.isoformat(),
        "matrix": {"file": found.file, "entry": found.entry} if found.entry else None,
        "exitCode": int(code),
        "nodeCount": len(observed.objects.nodes),
        "gpuNodeCount": len(observed.nodes),
        "kinds": [{"product": like.product, "os": like.system, "nodeCount": count} for like, count in kinds.items()],
        "kernelModules": observed.modules or None,
        "components": [_row_data(row) for row in found.audit.rows],
        "findings": [_finding_data(each) for each in found.audit.findings],
        "subscriptions": [
            {
                "namespace": each.namespace,
                "name": each.name,
                "package": each.package,
                "channel": each.channel,
                "approval": "Automatic" if each.is_automatic else "Manual",
            }
            for each in observed.objects.subscriptions
        ],
        "machineConfigPools": [
            {"name": each.name, "paused": each.is_paused, "pausedBy": each.paused_by, "nodeCount": each.machine_count}
            for each in observed.objects.pools
        ],
        "notRead": [{"right": gap.right, "why": gap.why.value} for gap in observed.objects.gaps.values()],
        "nodes": [_node_data(node) for node in observed.nodes],
    }


def _row_data(row: Row) -> dict[str, Any]:
    return {
        "component": row.component.value,
        "state": row.state.value,
        "wanted": row.wanted or None,
        "found": [{"version": text, "nodeCount": count} for text, count in row.found],
        "notRunningCount": row.down_count,
        "absentCount": row.absent_count,
        "notObservableCount": row.unseen_count,
        "readFrom": list(row.evidence),
    }


def _finding_data(finding: AuditFinding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "weight": finding.weight.value,
        "component": finding.component.value if finding.component is not None else None,
        "message": finding.message,
        "evidence": list(finding.evidence),
        "nodeCount": len(finding.nodes),
        "nodes": list(finding.nodes),
        "since": moment(finding.since),
        "next": finding.next_step,
    }


def _node_data(node: NodeStack) -> dict[str, Any]:
    subject, readings = node.around.node, node.readings.items()
    return {
        "name": node.name,
        "product": node.like.product,
        "os": node.like.system,
        "osImage": subject.os_image,
        "cudaLevelOfDriver": subject.cuda_level or None,
        "versions": {part.value: each.text for part, each in readings if isinstance(each, Seen)},
        "notRunning": {part.value: each.why for part, each in readings if isinstance(each, NotRunning)},
        "absent": [part.value for part, each in readings if isinstance(each, Absent)],
        "notObservable": [part.value for part, each in readings if isinstance(each, NotObservable)],
    }
