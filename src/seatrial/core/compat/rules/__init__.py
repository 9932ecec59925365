"""The rules: which versions go together, and which changes are safe. Small functions in two ordered lists.

    cases.py          Case, Step, Answer, Rule: what a rule is given and gives back
    existence.py      exists, known-bad, lifecycle
    operators.py      gpuop-driver, gpuop-openshift, gpuop-kubernetes, gpuop-operands, netop-…
    platform.py       driver-kernel, openshift-kernel, openshift-kubernetes, mofed-kernel, sriov-openshift
    systems.py        gpuop-os, netop-os, os-kernel
    runtimes.py       gpuop-runtime, netop-runtime
    parts.py          dra-driver, fabric-manager, gds-modules, gpuop-vgpu
    security.py       what known-bad says about vulnerable versions
    holes.py          those that run already, for whoever plans or starts something
    firmware.py       firmware-family, firmware-mofed
    architectures.py  arch-driver, arch-cuda
    gpus.py           driver-cuda, rdma, dcgm-driver, nccl
    change.py         one-at-a-time, upgrade-path, bridge, order, preconditions
    rulebook.py       the two lists; check_stack, check_change
    checking.py       a whole matrix: its entries, its changes, its accepted warnings

A rule is one function, one row in a list, and one table in a test; docs/reference/rules.md is generated from them.

Tests: tests/core/test_rules_*.py
"""

from __future__ import annotations

from seatrial.core.compat.rules.cases import Rule
from seatrial.core.compat.rules.checking import judge_entries, owned
from seatrial.core.compat.rules.existence import KNOWN_BAD
from seatrial.core.compat.rules.holes import kept_holes
from seatrial.core.compat.rules.rulebook import (
    CHANGE_RULES,
    RULES,
    STACK_RULES,
    RuleUnknown,
    check_change,
    check_stack,
    explain,
)

__all__ = [
    "CHANGE_RULES",
    "KNOWN_BAD",
    "RULES",
    "STACK_RULES",
    "Rule",
    "RuleUnknown",
    "check_change",
    "check_stack",
    "explain",
    "judge_entries",
    "kept_holes",
    "owned",
]
