"""Compares what runs with an entry of a matrix; and without one, nodes of one kind with each other.

    with an entry      every component that it names, on every node: other versions and missing ones are drift. A canary
                       runs another stack on purpose: it is compared with the canary's entry, where there is one
    without            within each group of equal GPU and system, the most common stack is the reference: outliers are
                       mixed; where no stack is the most common, all of them are told

Law of this file: versions are compared by what they mean (`v24.9.0` is `24.9.0`), and what was not observed is neither
the same nor another. Tests: tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component, Entry, Value
from seatrial.core.compat.versions import SystemVersion
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.observing import ONCE, PER_NODE, Likeness, NodeStack, Observed
from seatrial.core.survey.audit.readings import Absent, NotObservable, NotRunning, Reading, Seen
from seatrial.core.text.names import a_few

NOT_THERE: Final = "not there"
PLATFORM: Final = frozenset({Component.KERNEL, Component.OS, Component.KUBERNETES})
"""What a MachineConfigPool brings to its nodes."""


def is_as_wanted(wanted: Value, reading: Reading) -> bool | None:
    """Whether it is what the matrix says; None where that cannot be told, or none runs."""
    if isinstance(reading, NotRunning | NotObservable) or wanted.version is None:
        return None
    return isinstance(reading, Seen) and all(_is_same(wanted, each) for each in reading.values)


def _is_same(wanted: Value, found: Value) -> bool:
    ours, theirs = wanted.version, found.version
    if isinstance(ours, SystemVersion) and isinstance(theirs, SystemVersion):
        # `ubuntu22.04` means every point release of it, and `rhcos` every one there is.
        return ours.name == theirs.name and theirs.numbers[: len(ours.numbers)] == ours.numbers
    return ours == theirs


# ── with a matrix ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a cluster is compared with."""

    entry: Entry
    canary: Entry | None = None
    """What canaries are compared with instead."""
    file: str = ""

    def of(self, node: NodeStack) -> Entry:
        """The entry that a node is meant to run."""
        if self.canary is None:
            return self.entry
        is_canary = bool(node.around.node.canary_of) or node.name == self.canary.canary_node
        return self.canary if is_canary else self.entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (self.entry,) if self.canary is None else (self.entry, self.canary)

    @property
    def components(self) -> tuple[Component, ...]:
        """Everything that is named."""
        return tuple(dict.fromkeys(part for each in self.entries for part in each.stack.values))


def drifts(observed: Observed, wanted: Wanted) -> Iterator[AuditFinding]:
    """What differs from what is wanted: a finding for each component and each version that was found instead."""
    meant = {node.name: wanted.of(node) for node in observed.nodes}
    done = frozenset(node.name for node in observed.nodes if node.is_done)
    for entry in wanted.entries:
        names = {name for name, each in meant.items() if each is entry}
        for part in entry.stack.values:
            if part not in ONCE:
                readings = [(name, each) for name, each in observed.of(part) if name in names]
                yield from _drifts(readings, part, entry, wanted.file, done)
            elif entry is wanted.entry:  # a canary is a node: what a cluster has once is no part of it
                yield from _drifts([*observed.of(part)], part, entry, wanted.file, done)


def _drifts(
    readings: Sequence[tuple[str, Reading]], part: Component, entry: Entry, file: str, done: frozenset[str]
) -> Iterator[AuditFinding]:
    key, wanted = entry.key or entry.role.value, entry.stack.values[part]
    others: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, reading in readings:
        if is_as_wanted(wanted, reading) is False:
            found, evidence = _found(reading)
            others[found].append((name, evidence))
    for found, shown_by in others.items():
        names, evidence_of_all = zip(*shown_by, strict=True)
        shown = found if _can_be_written(found) else "VERSION"
        yield AuditFinding(
            kind=FindingKind.DRIFT,
            component=part,
            message=f"{part.value} is {found}, and {key} says {wanted.text}.",
            evidence=(*dict.fromkeys(evidence_of_all), *((str(wanted.span),) if wanted.span.file else ())),
            nodes=tuple(name for name in names if name),
            next_step=f"{_look(part, names, wanted, done)}; where the cluster is right, "
            f"`seatrial matrix set {quote(key)} {part.value} {quote(shown)} {quote(file)}` corrects the matrix.",
        )


def _look(part: Component, nodes: Sequence[str], wanted: Value, done: frozenset[str]) -> str:
    """Where to look for why it is not what it is meant to be."""
    if part is Component.OPENSHIFT:
        return f"`oc adm upgrade --to {quote(wanted.text)}` is the way there"
    if part in ONCE:
        search = f"`seatrial facts search {quote(wanted.text)}`"
        return f"{search} says what the other release ships; change it where you deploy it"
    if part is Component.GPU_DRIVER:
        return _ask(nodes, done)
    return f"`seatrial node get {quote(nodes[0])}` shows the node"


def _ask(nodes: Sequence[str], done: frozenset[str]) -> str:
    """The command for the first node that may wait for an upgrade; for any node where all of them are done."""
    waiting = next((name for name in nodes if name not in done), "")
    if waiting:
        return f"`seatrial why {quote(waiting)}` says what the node waits for"
    return f"`seatrial node get {quote(nodes[0])}` shows the node"


def _can_be_written(found: str) -> bool:
    """Whether what was found can be written into a matrix as it is."""
    return found != NOT_THERE and " and " not in found


def _found(reading: Reading) -> tuple[str, str]:
    match reading:
        case Seen(evidence=evidence, caution=caution):
            return reading.text, f"{evidence} ({caution})" if caution else evidence
        case NotRunning(brings=brings, why=why):
            return f"{brings}, which does not run", why
        case Absent(why=why):
            return NOT_THERE, why
        case NotObservable(missing=missing):
            return "not observable", missing


# ── without ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def mixtures(observed: Observed, but: Iterable[Component] = ()) -> Iterator[AuditFinding]:
    """Where nodes of one kind differ; `but` are components that were compared with a matrix already."""
    left_out, groups = frozenset(but), groups_of(observed.nodes)
    for like, nodes in groups.items():
        reference = reference_of(nodes)
        for part in PER_NODE:
            if part in left_out:
                continue
            found = _versions(nodes, part)
            if len(found) > 1:
                yield _mixed(observed, like, part, found, reference)


def groups_of(nodes: Sequence[NodeStack]) -> Mapping[Likeness, tuple[NodeStack, ...]]:
    """Nodes with the same GPU and the same system."""
    found: dict[Likeness, list[NodeStack]] = defaultdict(list)
    for node in nodes:
        found[node.like].append(node)
    return {like: tuple(found[like]) for like in sorted(found)}


def reference_of(nodes: Sequence[NodeStack]) -> NodeStack | None:
    """A node with the most common stack; None where no stack is more common than every other."""
    counts = Counter(_meaning(node) for node in nodes)
    (first, most), *others = counts.most_common(2)
    if others and others[0][1] == most:
        return None
    return next(node for node in nodes if _meaning(node) == first)


def _meaning(node: NodeStack) -> tuple[object, ...]:
    return tuple(_told(node.readings[part]) for part in PER_NODE)


def _told(reading: Reading) -> object:
    """What may be compared: a version by its meaning, or that there is none; not what is unknown or does not run."""
    match reading:
        case Seen():
            return tuple(each.version for each in reading.values)
        case Absent():
            return NOT_THERE
        case NotRunning() | NotObservable():
            return None


def _versions(nodes: Sequence[NodeStack], part: Component) -> Mapping[object, tuple[NodeStack, ...]]:
    found: dict[object, list[NodeStack]] = defaultdict(list)
    for node in nodes:
        told = _told(node.readings[part])
        if told is not None:
            found[told].append(node)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[1][0].name))
    return {told: tuple(nodes) for told, nodes in ordered}


def _mixed(
    observed: Observed,
    like: Likeness,
    part: Component,
    found: Mapping[object, tuple[NodeStack, ...]],
    reference: NodeStack | None,
) -> AuditFinding:
    usual = None if reference is None else _told(reference.readings[part])
    outliers = [node for told, nodes in found.items() if told != usual for node in nodes]
    counted = ", ".join(f"{_found(nodes[0].readings[part])[0]} on {len(nodes)}" for nodes in found.values())
    most = "no stack is the most common"
    if reference is not None:
        most = f"the most common stack has {_found(reference.readings[part])[0] if usual else 'none that shows'}"
    is_paused = part in PLATFORM and any(pool.is_paused for pool in observed.objects.pools)
    because = " A paused MachineConfigPool explains this." if is_paused else ""
    evidence = [_found(nodes[0].readings[part])[1] for nodes in found.values()]
    names = tuple(sorted(node.name for node in outliers))
    canaries = sorted(f"{node.name} (of {of})" for node in outliers if (of := node.around.node.canary_of))
    among = f" Canaries among them: {a_few(canaries)}." if canaries else ""
    return AuditFinding(
        kind=FindingKind.MIXED,
        component=part,
        message=f"{part.value} is mixed over the nodes with {like}: {counted}; {most}.{because}{among}",
        evidence=tuple(dict.fromkeys(evidence)),
        nodes=names,
        next_step=f"{_ask(names, frozenset(node.name for node in outliers if node.is_done))}; "
        "`seatrial audit --file MATRIX --entry ENTRY` says which of them is right.",
    )
