"""Rows about what is known to be bad: issues that meet certain versions, and versions that are vulnerable.

Law of this file: that of rows.py. Tests: tests/core/compat/test_facts.py, tests/core/compat/test_rules_security.py
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts.rows import Cite
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import (
    DriverVersion,
    FirmwareVersion,
    Line,
    LinedVersion,
    OfedVersion,
    PartVersion,
    Version,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A condition on one version: equal to, at least, above, below."""

    sign: str
    version: Version

    def holds(self, version: Version) -> bool:
        """Whether the version meets the condition; a bound that is a line judges by the line."""
        subject = Line.of(version) if isinstance(self.version, Line) and isinstance(version, LinedVersion) else version
        if self.sign and subject.lineage != self.version.lineage:
            return False  # a kernel of another stream, firmware of another device: neither above nor below
        match self.sign:
            case ">=":
                return subject >= self.version
            case ">":
                return subject > self.version
            case "<":
                return subject < self.version
            case _:
                return subject == self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Vulnerability:
    """A range of one component's versions that is vulnerable, and in which mode of its, where not in every one."""

    id: str
    published: date
    component: Component
    since: Version | None
    fixed_in: Version
    branch: str
    """The branch that `fixed_in` is the fix of; empty for all that have no row of their own."""
    elsewhere: frozenset[str] = frozenset()
    """Branches that have rows of their own, where this one is for the rest."""
    only_in: str
    breaks_out: bool
    """Whether a workload gets out of its container: onto the node, or onto the adapter it shares with others."""
    effect: str
    cite: Cite

    def concerns(self, version: Version) -> bool:
        """Whether this version is among them."""
        if version.lineage != self.fixed_in.lineage:
            return False
        branch = branch_of(version)
        is_ours = branch == self.branch if self.branch else branch not in self.elsewhere
        return is_ours and version < self.fixed_in and (self.since is None or version >= self.since)


def branch_of(version: Version) -> str:
    """The branch that gets fixes of its own: a driver's, the train of firmware and network driver, vGPU's major."""
    match version:
        case DriverVersion():
            return str(version.branch)
        case FirmwareVersion():
            return str(version.train)
        case OfedVersion():
            return version.train
        case PartVersion():
            return str(version.numbers[0])
        case _:
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A known issue: it applies where every named component meets one of its bounds."""

    when: Mapping[Component, tuple[Bound, ...]]
    effect: str
    advice: str
    reference: str
    cite: Cite
