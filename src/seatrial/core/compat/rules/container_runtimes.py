"""The container runtime and Kubernetes: does the one go with the other? What operators say of it is in operators/.

Tests: tests/core/compat/test_rules_parts.py, and test_rules_verdicts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import RuntimePair
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, warn
from seatrial.core.compat.versions import Line, PartVersion

RUNTIMES: Final = (Component.CONTAINERD, Component.CRI_O)


def judge_runtime_kubernetes(case: Case) -> Iterator[Answer]:
    """Is this runtime one for this minor of Kubernetes?"""
    yield from case.unreadable(*RUNTIMES)
    cri_o = case.stack[Component.CRI_O]
    if case.kubernetes is None:
        return
    minor = Line.of(case.kubernetes)
    if case.containerd is not None:
        yield _containerd(case, minor, case.containerd)
    if cri_o is not None and isinstance(cri_o.version, PartVersion):
        yield _cri_o(case, minor, cri_o.version)


def _containerd(case: Case, minor: Line, containerd: PartVersion) -> Answer:
    spans, last = case.spans(Component.CONTAINERD, Component.KUBERNETES), case.facts.last_for_containerd_1
    row = case.facts.runtime_pairs.get(minor.line)
    if last is not None and containerd.numbers[0] < 2 and minor > Line.parse(last.text):
        return fail(
            f"Kubernetes {last.text} is the last that runs on containerd 1.x, and this is {minor} with {containerd}.",
            "Take containerd 2.0 or newer before Kubernetes.",
            last.cite,
            spans=spans,
        )
    if row is None:
        known = max(case.facts.runtime_pairs, key=lambda line: Line.parse(line).rank, default="")
        return nothing_known(f"the containerd for Kubernetes {minor}", known, case.facts, spans)
    if _is_recommended(row, containerd):
        return ok(f"containerd {containerd} is recommended for Kubernetes {minor} ({_told(row)}).", row.cite)
    return warn(
        f"For Kubernetes {minor} containerd recommends {_told(row)}, found {containerd}.",
        "Take one of those, or accept the rule with a reason.",
        row.cite,
        spans=spans,
    )


def _is_recommended(row: RuntimePair, containerd: PartVersion) -> bool:
    """At or after the first release of its own line, or of a line after the newest that the table has."""
    own = next((first for first in row.firsts if first.line == containerd.line), None)
    return containerd >= own if own is not None else containerd > max(row.firsts)


def _told(row: RuntimePair) -> str:
    return ", ".join(f"{first}+" for first in row.firsts)


def _cri_o(case: Case, minor: Line, version: PartVersion) -> Answer:
    cite = case.facts.cite("container_runtimes.cri_o_minor")
    if Line.of(version) == minor:
        return ok(f"CRI-O {version} is of Kubernetes' own minor, {minor}.", cite)
    return warn(
        f"CRI-O {version} is made for Kubernetes {version.line}, and this is {minor}.",
        f"Take CRI-O {minor}, or accept the rule while nodes are being upgraded.",
        cite,
        spans=case.spans(Component.CRI_O, Component.KUBERNETES),
    )


RUNTIME_KUBERNETES: Final = Rule(
    id="runtime-kubernetes",
    title="The container runtime goes with Kubernetes",
    meaning="""\
containerd recommends for each minor of Kubernetes the releases of its lines from which on they were tested with it:
those are ok, others warn. Kubernetes 1.35 is the last that runs on containerd 1.x; after it that fails. A minor that
the table does not have is unknown. CRI-O has a minor for each of Kubernetes, and another one warns.""",
    inputs=(Component.KUBERNETES, *RUNTIMES),
    needs=(Component.KUBERNETES,),
    applies=lambda case: any(case.has(part) for part in RUNTIMES),
    sources=("container_runtimes.kubernetes", "container_runtimes.containerd_1", "container_runtimes.cri_o_minor"),
    judge=judge_runtime_kubernetes,
)
