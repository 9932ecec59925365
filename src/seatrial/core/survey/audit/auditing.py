"""The audit: everything found, the heaviest first, and one line for each component.

Law of this file: it puts together and decides nothing; who may be told what is in the files beside it. Tests:
tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.matrix import COMPONENTS, Component
from seatrial.core.survey.audit import comparing, conditions, judging, settings, telling
from seatrial.core.survey.audit.comparing import Wanted
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind, Weight
from seatrial.core.survey.audit.objects import Objects
from seatrial.core.survey.audit.observing import Observed, observe
from seatrial.core.survey.audit.readings import Absent, Cause, NotObservable, NotRunning, Seen

_CONDITIONS: Final = (
    conditions.not_running,
    conditions.half_done,
    conditions.leaked_drivers,
    conditions.stale_labels,
    conditions.stale_builds,
    conditions.foreign_cordons,
    settings.paused_pools,
    conditions.pending,
    settings.self_rolling,
    settings.moving_channels,
)
_KINDS: Final = tuple(FindingKind)
_WEIGHTS: Final = tuple(Weight)


class State(StrEnum):
    """How a component stands, in one word."""

    AS_WANTED = "as wanted"
    ONE_VERSION = "one version"
    BY_KIND = "differs by kind of node"
    """Several versions, each of which is the only one among nodes with the same GPU and system."""
    DRIFT = "drift"
    MIXED = "mixed"
    NOT_RUNNING = "not running"
    """Pods are there to bring it and are not Ready."""
    ABSENT = "not there"
    NOT_OBSERVABLE = "not observable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One component over the whole cluster."""

    component: Component
    state: State
    wanted: str = ""
    """What the matrix names; empty where it does not, or there is none."""
    found: tuple[tuple[str, int], ...] = ()
    """Versions with the number of nodes that have them; once where the cluster has the component once."""
    down_count: int = 0
    """Nodes on which a pod is there to bring it, and is not Ready."""
    absent_count: int = 0
    unseen_count: int = 0
    evidence: tuple[str, ...] = ()
    is_by_nature: bool = False
    """No object of this cluster shows it, and nobody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything an audit has to say."""

    observed: Observed
    rows: tuple[Row, ...]
    findings: tuple[AuditFinding, ...]


def audit(objects: Objects, facts: Facts, on: date, wanted: Wanted | None = None) -> Audit:
    """Observe, compare, judge."""
    observed = observe(objects, facts)
    named = wanted.components if wanted is not None else ()
    accept = [each for entry in wanted.entries for each in entry.accept] if wanted is not None else []
    found = [
        *(comparing.drifts(observed, wanted) if wanted is not None else ()),
        *comparing.mixtures(observed, named),
        *judging.incompatibilities(observed, facts, on, accept),
        *(each for look in _CONDITIONS for each in look(observed)),
        *telling.not_observable(observed, wanted),
    ]
    findings = tuple(sorted(found, key=_order))
    return Audit(
        observed=observed, findings=findings, rows=tuple(_row(observed, part, wanted, findings) for part in COMPONENTS)
    )


def _order(finding: AuditFinding) -> tuple[int, int, int, int]:
    part = COMPONENTS.index(finding.component) if finding.component is not None else -1
    return _WEIGHTS.index(finding.weight), _KINDS.index(finding.kind), part, -len(finding.nodes)


def _row(observed: Observed, part: Component, asked: Wanted | None, findings: Sequence[AuditFinding]) -> Row:
    readings = [reading for _, reading in observed.of(part)]
    wanted = asked.entry.stack[part] if asked is not None else None
    shown = [each for each in readings if isinstance(each, Seen)]
    unseen = [each for each in readings if isinstance(each, NotObservable)]
    kinds = {each.kind for each in findings if each.component is part}
    return Row(
        component=part,
        state=_state(kinds, len(readings), shown, unseen, is_named=wanted is not None),
        wanted=wanted.text if wanted is not None else "",
        found=tuple(Counter(each.text for each in shown).most_common()),
        down_count=sum(isinstance(each, NotRunning) for each in readings),
        absent_count=sum(isinstance(each, Absent) for each in readings),
        unseen_count=len(unseen),
        evidence=tuple(
            dict.fromkeys(
                [
                    *(each.evidence for each in readings if isinstance(each, Seen | NotRunning)),
                    *(each.why for each in readings if isinstance(each, Absent)),
                    *(each.missing for each in unseen),
                ]
            )
        ),
        is_by_nature=wanted is None and bool(unseen) and all(each.cause is Cause.NATURE for each in unseen),
    )


def _state(
    kinds: set[FindingKind], count: int, shown: Sequence[Seen], unseen: Sequence[NotObservable], *, is_named: bool
) -> State:
    if FindingKind.DRIFT in kinds:
        return State.DRIFT
    if FindingKind.MIXED in kinds:
        return State.MIXED
    if FindingKind.NOT_RUNNING in kinds:
        return State.NOT_RUNNING
    if unseen or not count or FindingKind.NOT_OBSERVABLE in kinds:
        return State.NOT_OBSERVABLE
    if is_named:
        return State.AS_WANTED
    if not shown:
        return State.ABSENT
    return State.ONE_VERSION if len({each.value.version for each in shown}) == 1 else State.BY_KIND
