"""What a plan does not do, although no rule forbids it: rules block on verified facts only, a plan is more careful.

    upgrade-path   the platform goes up one minor at a time
    one-way        the platform does not go down, nor does NIC firmware farther than the window NVIDIA tests

Shaped like rules on a change, so that a refusal can show them among the rules that fight.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.findings import Confidence, Finding, Verdict
from seatrial.core.compat.matrix import NOWHERE, Component, Span, Stack, Value
from seatrial.core.compat.rules.firmware import WINDOW_TRAINS
from seatrial.core.compat.versions import FirmwareVersion, KubernetesVersion, OpenShiftVersion

_NAMES: Final = {
    Component.OPENSHIFT: "OpenShift",
    Component.KUBERNETES: "Kubernetes",
    Component.FIRMWARE_CX7: "ConnectX-7 firmware",
    Component.FIRMWARE_CX6: "ConnectX-6 firmware",
    Component.FIRMWARE_CX8: "ConnectX-8 firmware",
    Component.FIRMWARE_BF3: "BlueField-3 firmware",
}


def minor_by_minor(before: Stack, after: Stack) -> Iterator[Finding]:
    """Forbid skipping a minor of the platform."""
    for part in (Component.OPENSHIFT, Component.KUBERNETES):
        here, there = before[part], after[part]
        if here is None or there is None:
            continue
        old, new = here.version, there.version
        if not isinstance(old, OpenShiftVersion | KubernetesVersion) or not isinstance(new, type(old)):
            continue
        if new.major == old.major and new.minor - old.minor <= 1:
            continue
        yield Finding(
            rule="upgrade-path",
            verdict=Verdict.FAIL,
            message=f"{_NAMES[part]} {here.text} → {there.text} is more than one minor at a time.",
            next_step="Go minor by minor.",
            spans=_spans(there),
            sources=("openshift.upgrade_path",) if part is Component.OPENSHIFT else (),
            confidence=Confidence.MEMORY,
        )


def no_way_down(before: Stack, after: Stack) -> Iterator[Finding]:
    """Forbid what cannot be undone to be undone."""
    for part, name in _NAMES.items():
        here, there = before[part], after[part]
        if here is None or there is None or not _is_lower(there, here):
            continue
        yield Finding(
            rule="one-way",
            verdict=Verdict.FAIL,
            message=f"{name} does not go back{_how_far(there)}: {here.text} runs, {there.text} is wanted.",
            next_step=f"Keep {part.value} at {here.text}.",
            spans=_spans(there),
            confidence=Confidence.MEMORY,
        )


def _how_far(value: Value) -> str:
    is_firmware = isinstance(value.version, FirmwareVersion)
    return f" farther than {WINDOW_TRAINS} release trains, the window NVIDIA tests" if is_firmware else ""


LIMITS: Final = (minor_by_minor, no_way_down)


def _is_lower(one: Value, other: Value) -> bool:
    low, high = one.version, other.version
    if not isinstance(low, OpenShiftVersion | KubernetesVersion | FirmwareVersion) or type(low) is not type(high):
        return False
    if low.lineage != high.lineage or not low.rank < high.rank:
        return False
    return not is_in_window(low, high)


def is_in_window(low: object, high: object) -> bool:
    """Whether both are firmware that NVIDIA tests moving between, up and down: a release and the two trains before."""
    return (
        isinstance(low, FirmwareVersion)
        and isinstance(high, FirmwareVersion)
        and low.lineage == high.lineage
        and abs(high.train - low.train) <= WINDOW_TRAINS
    )


def _spans(value: Value) -> tuple[Span, ...]:
    return (value.span,) if value.span != NOWHERE else ()
