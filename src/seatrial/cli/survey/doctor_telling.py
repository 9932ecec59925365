"""What `seatrial doctor` prints: each failure with its nodes, what was seen, what it means, and what to do.

Law of this file: all forms come from one diagnosis, so they cannot differ; "nothing found" says what was looked at.
Tests: tests/cli/test_doctor.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from seatrial.core.survey.sources import DIAGNOSED
from seatrial.core.text.names import a_few, number_of

if TYPE_CHECKING:
    from seatrial.app.survey.diagnosing import Diagnosed
    from seatrial.cli.exit_codes import ExitCode
    from seatrial.core.survey.doctor.diagnosing import Case, Evidence
    from seatrial.core.survey.doctor.objects import PodTold

WIDTH: Final = 110
NODES_TOLD: Final = 3
"""Of nodes with the same failure, how many show their evidence."""


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def as_text(found: Diagnosed) -> str:
    """Every failure as a paragraph, then what was looked at."""
    diagnosis = found.diagnosis
    lines: list[str] = []
    for _, group in groupby(diagnosis.cases, key=lambda case: case.failure.name):
        lines += [*_failure([*group]), ""]
    for pod in diagnosis.unexplained:
        lines += [*_unexplained(pod), ""]
    if diagnosis.under_way:
        named = f"{a_few(diagnosis.under_way)} (`seatrial why NODE` says how far it is)"
        lines += [f"In the middle of an upgrade, and not judged here: {named}.", ""]
    if diagnosis.cordoned:
        named = f"{a_few(diagnosis.cordoned)} (`kubectl uncordon NODE` opens a node again)"
        lines += [f"Cordoned, so that no new pod starts there: {named}.", ""]
    return "\n".join([*lines, *_end(found)])


def _failure(cases: list[Case]) -> Iterator[str]:
    failure, nodes = cases[0].failure, [case.node for case in cases]
    yield f"{failure.name} ({number_of(len(nodes), 'node')}: {a_few(nodes)})"
    yield from _wrapped(f"{failure.title}. {failure.means}", "")
    for case in cases[:NODES_TOLD]:
        for each in case.evidence:
            yield from _wrapped(_seen(each), "seen: ")
    behind = [*dict.fromkeys(name for case in cases for name in case.behind)]
    if behind:
        yield from _wrapped(f"{', '.join(behind)}, seen there as well", "explains: ")
    yield from _wrapped(failure.blocks, "blocks: ")
    yield from _wrapped(cases[0].next_step, "→ ")


def _seen(each: Evidence) -> str:
    times = f" ({each.count} times)" if each.count > 1 else ""
    return f"{each.about}: {each.line}{times}"


def _unexplained(pod: PodTold) -> Iterator[str]:
    yield f"unexplained (node {pod.node})"
    yield from _wrapped(
        f"Pod {pod.key} ({pod.part.value}) has not been up for a while, and nothing known was found.", ""
    )
    for container in pod.containers:
        if container.is_failing:
            why = container.waiting_message or container.waiting or container.ended or "not ready"
            yield from _wrapped(f"container {container.name}: {why}", "seen: ")
    yield from _wrapped(
        f"`kubectl -n {quote(pod.namespace)} logs {quote(pod.name)} --all-containers --prefix` has its words.", "→ "
    )


def _end(found: Diagnosed) -> Iterator[str]:
    diagnosis, sight = found.diagnosis, found.diagnosis.sight
    if not diagnosis.cases and not diagnosis.unexplained:
        where = f" on {found.options.node}" if found.options.node else ""
        yield f"Nothing found{where}: none of {found.known_count} known failures."
    read = sum(not each.why_not for each in sight.logs)
    yield (
        f"Looked at {number_of(len(sight.nodes), 'node')}, {number_of(len(sight.pods), 'pod')} with GPUs or of the GPU "
        f"stack, {number_of(len(sight.events), 'warning')}, {number_of(read, 'log')}."
    )
    for each in not_looked_at(found):
        yield from _wrapped(each, "not looked at: ", indent="")
    if found.rollouts:
        yield from _wrapped(_rollouts(found), "", indent="")
    elif found.unled:
        look = "`kubectl get pods -A -l app.kubernetes.io/name=seatrial` shows whether it runs"
        yield from _wrapped(f"No controller of seatrial is in charge: {found.unled}. {look}.", "", indent="")


def _rollouts(found: Diagnosed) -> str:
    """Which rollouts are open, whether a controller is in charge, and which command shows what they wait for."""
    names, unled = found.rollouts, f" No controller is in charge: {found.unled}." if found.unled else ""
    if len(names) == 1:
        return f"Rollout {names[0]} is open.{unled} `seatrial status {quote(names[0])}` says what it waits for."
    return f"Rollouts {a_few(names)} are open.{unled} `seatrial status NAME` says what each waits for."


def not_looked_at(found: Diagnosed) -> Iterator[str]:
    """What nobody knows, and what would show it."""
    sight = found.diagnosis.sight
    for source in DIAGNOSED:
        gap = sight.gaps.get(source)
        if gap is not None and gap.is_blind:
            yield f"{source.value}s: we may not {gap.right}." if not gap.said else f"{source.value}s: {gap.said}"
    if sight.metrics is not None and sight.metrics.why_not:
        yield f"Xids in metrics: {sight.metrics.why_not}"
    if not found.options.with_logs:
        yield "logs, as was asked; many failures show only there."
    refused = [each for each in sight.logs if each.why_not and not each.asked.is_previous]
    if refused:
        names = [f"{each.asked.namespace}/{each.asked.pod}" for each in refused]
        yield f"{number_of(len(refused), 'log')} ({a_few(dict.fromkeys(names))}): {refused[0].why_not}"
    if found.logs_left_out:
        yield f"{number_of(found.logs_left_out, 'log')} more than are read at once; name a node to read its own."


def _wrapped(text: str, mark: str, indent: str = "    ") -> Iterator[str]:
    width = WIDTH - len(indent) - len(mark)
    for number, line in enumerate(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]):
        yield f"{indent}{mark if number == 0 else ' ' * len(mark)}{line}"


# ── for scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def as_data(found: Diagnosed, code: ExitCode) -> dict[str, Any]:
    """Everything there is to say."""
    diagnosis, sight = found.diagnosis, found.diagnosis.sight
    return {
        "failures": [
            {
                "name": case.failure.name,
                "node": case.node,
                "title": case.failure.title,
                "means": case.failure.means,
                "blocks": case.failure.blocks,
                "next": case.next_step,
                "evidence": [
                    {"about": each.about, "line": each.line, "count": each.count, "source": each.source}
                    for each in case.evidence
                ],
                "explains": list(case.behind),
            }
            for case in diagnosis.cases
        ],
        "unexplained": [
            {"namespace": pod.namespace, "pod": pod.name, "node": pod.node, "part": pod.part.value}
            for pod in diagnosis.unexplained
        ],
        "underWay": list(diagnosis.under_way),
        "cordoned": list(diagnosis.cordoned),
        "lookedAt": {
            "nodes": len(sight.nodes),
            "pods": len(sight.pods),
            "warnings": len(sight.events),
            "logs": sum(not each.why_not for each in sight.logs),
            "knownFailures": found.known_count,
        },
        "notLookedAt": [*not_looked_at(found)],
        "exitCode": int(code),
    }
