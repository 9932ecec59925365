"""Tenanted: a share of real work that has to run well on a canary.

Law of this file: values only; what counts as well is judged in judging/kinds/tenanting.py.
Tests: tests/core/test_tenanting.py
"""

from __future__ import annotations

from seatrial.core.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """Whose pods, how many of them, and for how long without a break."""

    pod_selector: str
    """By their labels, as Kubernetes writes it."""
    pods: int = 1
    seconds: float = 600.0
