"""What is kept of the Jobs of gates, of their pods, and of what is said where no pod could be made.

Tests: tests/adapters/kube/test_probes.py
"""

from __future__ import annotations

from seatrial.adapters.kube.reading.gates.reports import GateReport, Unreadable
from seatrial.adapters.kube.reading.items import Meta
from seatrial.core.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeItem:
    """One Job that measures a gate."""

    metadata: Meta
    rollout_uid: str
    """Empty for one that somebody asked for by hand."""
    gate: str
    node: str
    round: int
    attempt: int
    is_complete: bool
    is_failed: bool
    is_leaving: bool
    reason: str
    message: str
    gang: tuple[str, ...] = ()
    """The nodes that it runs on at once; none where it is one alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePodItem:
    """The pod of a probe: whether its container ran, and its last words."""

    metadata: Meta
    job_uid: str
    has_ended: bool
    has_run: bool
    is_leaving: bool
    said: str
    is_unfit: bool = False
    """The kubelet does not start it as it is asked for."""
    is_stuck: bool = False
    """It will not start before somebody changes something."""
    is_overdue: bool = False
    """The kubelet ended it at the gate's limit; how its container then ended says little."""
    report: GateReport | Unreadable | None = None
    index: int = 0
    """Which member of a gang it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalItem:
    """Why the pod of a Job could not be made."""

    metadata: Meta
    job_uid: str
    said: str
