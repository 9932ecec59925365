"""The rules of compat on what was observed: the stacks that really run, each judged once.

Law of this file: only versions that were seen are judged; a warning that the matrix accepts is not told again. Tests:
tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from shlex import quote
from typing import Final

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import COMPONENTS, Accept, Hardware, Stack
from seatrial.core.compat.rules import check_stack
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.observing import UNKNOWN, NodeStack, Observed
from seatrial.core.survey.audit.readings import Seen

LIFECYCLE: Final = "lifecycle"
"""The rule about vendors' dates."""
KINDS: Final = {
    Verdict.FAIL: FindingKind.INCOMPATIBLE,
    Verdict.UNKNOWN: FindingKind.UNPROVEN,
    Verdict.WARN: FindingKind.WARNED,
}


def stacks_of(observed: Observed, node: NodeStack) -> Iterator[Stack]:
    """What a node runs, as a matrix would have it; of a component with several versions there, each is looked at."""
    shown = {part: each for part in COMPONENTS if isinstance(each := observed.reading(node, part), Seen)}
    first = {part: each.value for part, each in shown.items()}
    product = "" if node.like.product == UNKNOWN else node.like.product
    hardware = Hardware(product=product, kernel_module=observed.modules)
    yield Stack(values=first, hardware=hardware)
    for part, each in shown.items():
        yield from (Stack(values={**first, part: value}, hardware=hardware) for value in each.more)


def incompatibilities(
    observed: Observed, facts: Facts, on: date, accept: Sequence[Accept] = ()
) -> Iterator[AuditFinding]:
    """What the rules say of the stacks that run, each thing once, with all nodes that it is about."""
    accepted = {each.rule for each in accept if each.until is None or on <= each.until}
    told: dict[tuple[str, str], tuple[Finding, set[str]]] = {}
    for stack, names in _stacks(observed):
        for finding in check_stack(stack, facts, on):
            if finding.verdict is Verdict.OK or (finding.verdict is not Verdict.FAIL and finding.rule in accepted):
                continue
            told.setdefault((finding.rule, finding.message), (finding, set()))[1].update(names)
    for finding, about in told.values():
        yield AuditFinding(
            kind=_kind(finding),
            message=f"{finding.rule}: {finding.message}",
            evidence=finding.sources,
            nodes=tuple(sorted(about)),
            next_step=f"{finding.next_step} `seatrial check --explain {quote(finding.rule)}` says more.".strip(),
        )


def _kind(finding: Finding) -> FindingKind:
    if finding.rule == LIFECYCLE and finding.verdict is Verdict.WARN:
        return FindingKind.EXPIRED_SUPPORT
    return KINDS[finding.verdict]


def _stacks(observed: Observed) -> Iterator[tuple[Stack, list[str]]]:
    """The distinct stacks, and the nodes that run each."""
    alike: dict[tuple[object, ...], list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        texts = ((part, each.text) for part, each in node.readings.items() if isinstance(each, Seen))
        alike[(node.like.product, *texts)].append(node)
    for nodes in alike.values():
        for stack in stacks_of(observed, nodes[0]):
            yield stack, [node.name for node in nodes]
