"""What could not be observed, and the right or the object that would show it.

Law of this file: whatever was asked for and not seen is told here; unknown is never a pass. Tests:
tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Final

from seatrial.core.compat.matrix import COMPONENTS, Component, Entry
from seatrial.core.survey.audit.comparing import Wanted
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.observing import Observed
from seatrial.core.survey.audit.of_operators import OPERATORS
from seatrial.core.survey.audit.readings import Cause, NotObservable
from seatrial.core.survey.sources import AUDITED, Gap, Source, Why
from seatrial.core.text.names import a_few, number_of

BESIDES: Final[Mapping[Source, str]] = {
    Source.NODES: "anything about any node",
    Source.DAEMON_SETS: "whether a driver's DaemonSet rolls on its own",
    Source.PODS: "what pods bring to nodes, and whether driver labels are younger than drivers",
    Source.DEPLOYMENTS: "operators that Helm installed",
    Source.SLICES: "which driver the DRA plugin published",
    Source.POLICIES: "which kernel modules are asked for",
    Source.DRIVERS: "which kernel modules are asked for",
    Source.NIC_DEVICES: "the firmware of network adapters",
    Source.CSVS: "operators that OLM installed",
    Source.SUBSCRIPTIONS: "which channels OLM follows, and who approves",
    Source.CLUSTER_VERSIONS: "whether this is OpenShift, and which release",
    Source.MACHINE_POOLS: "whether pools are paused",
}
"""What nobody knows who may not read a kind."""

AT_WORK: Final[Mapping[Component, str]] = {
    Component.OPENSHIFT: "`oc get clusterversion` shows how far the installation is.",
    **dict.fromkeys(OPERATORS, "`kubectl get clusterserviceversions -A` shows what OLM is doing."),
}
"""Where to look for what a cluster has once."""


def not_observable(observed: Observed, wanted: Wanted | None) -> Iterator[AuditFinding]:
    """Everything that nobody can say."""
    blind = observed.objects.blind(*AUDITED)
    yield from (_of_gap(observed, gap) for gap in blind)
    if not observed.nodes and not observed.objects.blind(Source.NODES):
        yield AuditFinding(
            kind=FindingKind.NOT_OBSERVABLE,
            message=f"No node shows a GPU ({number_of(len(observed.objects.nodes), 'node')} looked at): no "
            "label of feature "
            "discovery, no resource nvidia.com/*, no ResourceSlice, no driver pod.",
            evidence=("Node labels and status.allocatable",),
            next_step="`kubectl get nodes -L nvidia.com/gpu.present` shows whether feature discovery has looked.",
        )
    named = frozenset(wanted.components if wanted is not None else ())
    for part in COMPONENTS:
        yield from _of_component(observed, part, is_named=part in named)
    for entry in wanted.entries if wanted is not None else ():
        yield from _unreadable(entry)


def _of_gap(observed: Observed, gap: Gap) -> AuditFinding:
    parts = [
        part.value
        for part in COMPONENTS
        if any(isinstance(each, NotObservable) and gap in each.gaps for _, each in observed.of(part))
    ]
    so = f"; so {a_few(parts, 5)} cannot be told" if parts else ""
    if gap.why is Why.FORBIDDEN:
        why, next_step = (
            f"We may not {gap.right}",
            f"`kubectl auth can-i {shlex.join(gap.right.split())} -A` has to say yes: grant it by",
        )
        next_step += " the ClusterRole of docs/how-to/audit.md."
    else:
        why = f"The API server did not {gap.right}{f': {gap.said}' if gap.said else ''}"
        asked = f"`kubectl get {quote(gap.right.removeprefix('list '))} -A`"
        next_step = f"{asked} shows whether it answers now; then run this again."
    return AuditFinding(
        kind=FindingKind.NOT_OBSERVABLE,
        message=f"{why}, which would show {BESIDES[gap.source]}{so}.",
        evidence=(gap.right,),
        nodes=tuple(node.name for node in observed.nodes),
        next_step=next_step,
    )


def _of_component(observed: Observed, part: Component, *, is_named: bool) -> Iterator[AuditFinding]:
    lacking: dict[str, list[str]] = defaultdict(list)
    for name, reading in observed.of(part):
        if isinstance(reading, NotObservable) and _is_told(reading, is_named=is_named):
            lacking[reading.missing].append(name)
    for missing, names in lacking.items():
        first = next((name for name in names if name), "NODE")
        yield AuditFinding(
            kind=FindingKind.NOT_OBSERVABLE,
            component=part,
            message=f"{part.value} is not observable: {missing}.",
            evidence=(missing,),
            nodes=tuple(name for name in names if name),
            next_step=AT_WORK.get(
                part,
                f"`seatrial rollout observed {part.value} VERSION {quote(first)}` notes on the node what people know.",
            ),
        )


def _is_told(reading: NotObservable, *, is_named: bool) -> bool:
    """A missing right is told once for all; what no object shows is asked for only by a matrix that names it."""
    return reading.cause is Cause.OBJECT or (reading.cause is Cause.NATURE and is_named)


def _unreadable(entry: Entry) -> Iterator[AuditFinding]:
    for part, wanted in entry.stack.values.items():
        if wanted.version is None:
            yield AuditFinding(
                kind=FindingKind.NOT_OBSERVABLE,
                component=part,
                message=f"{part.value} cannot be compared: {wanted.problem}",
                evidence=(str(wanted.span),),
                next_step="`seatrial check` says what is wrong with the matrix.",
            )
