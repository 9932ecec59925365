"""Versions that are vulnerable, by the vendor's bulletins: what the rule known-bad says about them.

    breaks out of the container, in every mode     fail
    breaks out, in one mode or under a condition   warn: nobody but the reader knows the mode
    anything else (local users, denial of service) warn, with the fixed version of the same branch

A component that is not written is the operator's own. Why the grades are these: docs/decisions/0031-vulnerabilities.md.

Tests: tests/core/compat/test_rules_security.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts import Existence, Vulnerability
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.cases import Answer, Case, fail, warn
from seatrial.core.compat.versions import Version

CONCERNED: Final = (
    Component.GPU_OPERATOR,
    Component.CONTAINER_TOOLKIT,
    Component.DEVICE_PLUGIN,
    Component.DCGM,
    Component.GPU_DRIVER,
    Component.VGPU,
    Component.MOFED,
    Component.FIRMWARE_CX7,
    Component.FIRMWARE_CX6,
    Component.FIRMWARE_CX8,
    Component.FIRMWARE_BF3,
)
"""Components that bulletins are known for."""
BOTH_MODES: Final = frozenset({"CDI mode", "legacy mode"})
"""One of the two is always on, so what is open in each is open everywhere."""
TOLD: Final = 3
"""How many bulletins a finding tells; the newest fix contains the older ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One component of a vulnerable version, and what it is vulnerable by: what blocks first, then the newest."""

    component: Component
    version: Version
    rows: tuple[Vulnerability, ...]

    @property
    def is_open(self) -> bool:
        """Whether a workload breaks out in whatever mode there is."""
        modes = {row.only_in for row in self.rows if row.breaks_out}
        return "" in modes or modes >= BOTH_MODES

    @property
    def last(self) -> Vulnerability:
        """The one whose fix is the newest: from there on there is none of them."""
        last = self.rows[0]
        for row in self.rows:
            last = row if row.fixed_in > last.fixed_in else last
        return last


def exposures(case: Case) -> Iterator[Exposure]:
    """The vulnerable components of a stack; what is told of the operator is not told of its parts again."""
    told: set[tuple[str, str]] = set()
    for component in CONCERNED:
        version = _version(case, component)
        if version is None:
            continue
        rows = [
            row
            for row in case.facts.vulnerabilities
            if row.component is component and row.published <= case.on and row.concerns(version)
        ]
        if case.stack[component] is None:
            rows = [row for row in rows if (row.id, row.only_in) not in told]
        told |= {(row.id, row.only_in) for row in rows}
        if rows:
            rows.sort(key=lambda row: (row.breaks_out and not row.only_in, row.published, row.id), reverse=True)
            yield Exposure(component=component, version=version, rows=tuple(rows))


def _version(case: Case, component: Component) -> Version | None:
    value, release = case.stack[component], case.gpu_release
    operator = case.gpu_operator if component is Component.GPU_OPERATOR else None
    if operator is not None and case.facts.existence(component, operator) is Existence.NEVER:
        return None  # rule exists fails it; what was never released has no holes
    if value is not None:
        return value.version
    return release.operands.get(component) if release is not None else None


def judge_vulnerable(case: Case) -> Iterator[Answer]:
    """Every vulnerable component: one that workloads break out of fails, any other warns."""
    found = tuple(exposures(case))
    open_parts = {each.component for each in found if each.is_open}
    for each in found:
        yield _told(case, each, is_replaced=_is_replaced(case, each, open_parts))


def _is_replaced(case: Case, each: Exposure, open_parts: set[Component]) -> bool:
    """Whether the operator is listed for a toolkit that the matrix replaces by one without the hole."""
    toolkit = case.stack[Component.CONTAINER_TOOLKIT]
    is_written = toolkit is not None and toolkit.version is not None
    return each.component is Component.GPU_OPERATOR and is_written and Component.CONTAINER_TOOLKIT not in open_parts


def _told(case: Case, each: Exposure, *, is_replaced: bool) -> Answer:
    component, rows = each.component, each.rows
    shipped = f", which GPU Operator {case.gpu_operator} ships," if case.stack[component] is None else ""
    told = "; ".join(f"{row.id}{f' in {row.only_in}' if row.only_in else ''}: {row.effect}" for row in rows[:TOLD])
    older = f"; and {len(rows) - TOLD} older" if len(rows) > TOLD else ""
    message = f"{component.value} {each.version}{shipped} is vulnerable ({told}{older})."
    branch = f" of branch {each.last.branch}" if each.last.branch else ""
    with_operator = ", with the GPU Operator that ships it" if component in PARTS else ""
    next_step = f"Take {component.value} {each.last.fixed_in} or newer{branch}{with_operator}."
    cites, spans = [row.cite for row in rows], case.spans(component, Component.GPU_OPERATOR)
    if each.is_open and not is_replaced:
        return fail(message, next_step, *cites, spans=spans)
    if is_replaced:
        message += " Its container toolkit, which the matrix replaces, is not."
    conditions = dict.fromkeys(row.only_in for row in rows)
    if all(conditions):
        message += " Elsewhere it is not."
        next_step += f" Or accept the rule where there is no {' and no '.join(conditions)}."
    return warn(message, next_step, *cites, spans=spans)


PARTS: Final = (Component.CONTAINER_TOOLKIT, Component.DEVICE_PLUGIN, Component.DCGM)
"""What the GPU Operator ships."""
