"""Patterns on signs: which failures a cluster has, on which nodes, and which of them follows from which.

    signs of a node ─▶ every failure whose pattern is seen often enough
                    ─▶ weak ones go where a strong one was found; what another explains stands behind it
                    ─▶ pods of the stack that are not up although nothing known was found are told as they are

Law of this file: a node's failure has evidence in its own words, and a cause stands before what follows from it.
Tests: tests/core/survey/test_doctor_diagnosing.py, tests/doctored/test_recorded.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.survey.doctor import looks, signs
from seatrial.core.survey.doctor.failures import Failure, Pattern
from seatrial.core.survey.doctor.objects import NodeTold, PodTold, Sight
from seatrial.core.survey.doctor.parts import STACK
from seatrial.core.survey.doctor.signs import Sign

EVIDENCE_MAX: Final = 3
PATIENCE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen, and where."""

    about: str
    line: str
    count: int = 1
    source: str = ""
    """Where the pattern was seen before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A failure on a node."""

    failure: Failure
    node: str
    evidence: tuple[Evidence, ...]
    is_weak: bool = False
    behind: tuple[str, ...] = ()
    """Failures that were seen as well, and follow from this one."""
    namespace: str = ""
    pod: str = ""
    """The pod that showed it first, where one did."""

    @property
    def next_step(self) -> str:
        names = {"{node}": self.node, "{namespace}": self.namespace or "NAMESPACE", "{pod}": self.pod or "POD"}
        text = self.failure.next
        for key, value in names.items():
            text = text.replace(key, value)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything a doctor has to say."""

    sight: Sight
    cases: tuple[Case, ...]
    """Those on most nodes first."""
    unexplained: tuple[PodTold, ...] = ()
    """Pods of the stack that have not been up for a while, on nodes without a case."""
    under_way: tuple[str, ...] = ()
    """Nodes that are being upgraded, without a case so far."""
    cordoned: tuple[str, ...] = ()
    """Nodes that take no new pods, and are not being upgraded."""


def diagnose(sight: Sight, failures: Sequence[Failure], node: str = "") -> Diagnosis:
    """What is wrong; on one node where it is named."""
    by_node: dict[str, list[Sign]] = defaultdict(list)
    without = {each.name for each in sight.nodes if not looks.has_gpu(sight, each)}
    for sign in (*signs.told(sight), *looks.looked(sight)):
        # A node without GPUs may run an operator; what its tenants say is not about GPUs.
        if node in ("", sign.node) and (sign.node not in without or sign.part in STACK):
            by_node[sign.node].append(sign)
    cases = [case for name in sorted(by_node) for case in _cases(name, by_node[name], failures)]
    counts: dict[str, int] = defaultdict(int)
    for case in cases:
        counts[case.failure.name] += 1
    order = {each.name: number for number, each in enumerate(failures)}
    cases.sort(key=lambda case: (-counts[case.failure.name], order[case.failure.name], case.node))
    ill = {case.node for case in cases}
    under_way = tuple(each.name for each in sight.nodes if looks.is_upgraded(each) and node in ("", each.name))
    return Diagnosis(
        sight=sight,
        cases=tuple(cases),
        unexplained=tuple(_unexplained(sight, ill, under_way, node)),
        under_way=tuple(name for name in under_way if name not in ill),
        cordoned=tuple(
            each.name
            for each in sight.nodes
            if _is_closed(sight, each) and node in ("", each.name) and each.name not in ill
        ),
    )


def _is_closed(sight: Sight, node: NodeTold) -> bool:
    """Whether a node with GPUs is cordoned, and not for its upgrade."""
    return node.is_cordoned and looks.has_gpu(sight, node) and not looks.is_upgraded(node)


def _cases(node: str, found: Sequence[Sign], failures: Sequence[Failure]) -> Iterable[Case]:
    cases = [case for each in failures if (case := _case(node, found, each)) is not None]
    if any(not case.is_weak for case in cases):
        weak = [case for case in cases if case.is_weak]
        cases = [case for case in cases if not case.is_weak]
    else:
        weak = []
    names = {case.failure.name for case in cases}
    behind: Mapping[str, list[str]] = {name: [] for name in names}
    roots = [
        case
        for case in cases
        if not any(case.failure.name in other.failure.explains for other in cases if other is not case)
    ] or cases
    for case in cases:
        if case not in roots:
            root = next(other for other in cases if case.failure.name in other.failure.explains and other is not case)
            behind[root.failure.name].append(case.failure.name)
    for case in weak:
        root = next((each for each in roots if case.failure.name in each.failure.explains), roots[0])
        behind[root.failure.name].append(case.failure.name)
    for case in roots:
        yield replace(case, behind=tuple(behind[case.failure.name]))


def _case(node: str, found: Sequence[Sign], failure: Failure) -> Case | None:
    evidence: list[Evidence] = []
    first: Sign | None = None
    is_weak = True
    for pattern in failure.patterns:
        seen = _seen(found, pattern)
        if sum(each.count for _, each in seen) < pattern.at_least:
            continue
        is_weak = is_weak and pattern.is_weak
        first = first or (seen[0][0] if seen else None)
        told = {(each.about, each.line) for each in evidence}
        evidence += [each for _, each in seen if (each.about, each.line) not in told]
    if first is None:
        return None
    return Case(
        failure=failure,
        node=node,
        evidence=tuple(evidence[:EVIDENCE_MAX]),
        is_weak=is_weak,
        namespace=first.namespace,
        pod=first.pod,
    )


def _seen(found: Sequence[Sign], pattern: Pattern) -> list[tuple[Sign, Evidence]]:
    seen = []
    for sign in found:
        lines = pattern.matched(sign)
        if lines:
            count = len(lines) if sign.where is signs.Where.LOG else sign.count
            seen.append((sign, Evidence(about=sign.about, line=lines[-1], count=count, source=pattern.source)))
    return seen


def _unexplained(sight: Sight, nodes: set[str], under_way: Sequence[str], node: str) -> Iterable[PodTold]:
    for pod in sight.pods:
        if not pod.is_stack or pod.is_well or pod.is_over or pod.deleted_at is not None or node not in ("", pod.node):
            continue
        if pod.node in nodes or pod.node in under_way or not pod.node:
            continue
        if pod.created_at is not None and sight.at - pod.created_at > PATIENCE_SECONDS:
            yield pod
