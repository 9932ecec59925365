"""From a way to steps a person can follow: what each evicts, how to get back, what it makes possible.

Why each is there is in reasons.py, what to prepare in preparations.py.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import GROUPS, Component, Group, Stack, Value
from seatrial.core.compat.plan import preparations
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.limits import is_in_window
from seatrial.core.compat.plan.parts import NAMES, Part, named, parts_of
from seatrial.core.compat.plan.reasons import Reasons
from seatrial.core.compat.plan.search import State
from seatrial.core.compat.plan.values import Change, Rollback, Step, WayBack
from seatrial.core.compat.versions import KubernetesVersion, LinedVersion, NotComparable, Version

OPERANDS: Final = (Component.DEVICE_PLUGIN, Component.CONTAINER_TOOLKIT, Component.DCGM)
LEADERS: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)
_DOUBTFUL: Final = (Verdict.WARN, Verdict.UNKNOWN)


def tell(states: Sequence[State], judge: Judge, facts: Facts) -> tuple[Step, ...]:
    """The steps along a way."""
    steps: list[Step] = []
    reasons = Reasons(states, judge)
    images = _images_step(states, judge)
    for number, (before, after) in enumerate(pairwise(states), start=1):
        place = moved(before, after)
        group = judge.space.roads[place].group
        old, new = judge.space.stack_of(before), judge.space.stack_of(after)
        changes = changes_of(old, new)
        steps.append(
            Step(
                number=number,
                group=group,
                changes=changes,
                stack=new,
                why=tuple(reasons.why(number)),
                order=reasons.order(number),
                evicts=evicted(group, old, new),
                preparations=preparations.before(group, preparations.Move(old=old, new=new, facts=facts)),
                findings=tuple(each for each in judge.findings(before, after) if each.verdict in _DOUBTFUL),
                rollback=_rollback(number, group, old, new, steps, images),
                hints=tuple(hints(old, new, facts)),
            )
        )
    return tuple(steps)


def moved(before: State, after: State) -> int:
    """The road on which two neighbouring states differ."""
    return next(place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)


def changes_of(old: Stack, new: Stack) -> tuple[Change, ...]:
    """Every component that moves."""
    return tuple(Change(component=part, before=_text(old[part]), after=_text(new[part])) for part in old.differing(new))


def _text(value: Value | None) -> str:
    return "" if value is None else value.text


# ── what it evicts ────────────────────────────────────────────────────────────────────────────────────────────────────


def evicted(group: Group, old: Stack, new: Stack) -> str:
    """What leaves its node while the step is carried out."""
    parts = old.differing(new)
    match group:
        case Group.PLATFORM if not {Component.OPENSHIFT, Component.KERNEL, Component.OS} & set(parts):
            return "what you drain from each node for its upgrade; the kernel stays, so no reboot and no driver rebuild"
        case Group.PLATFORM:
            return "every pod of each node, node by node: it is drained and rebooted"
        case Group.GPU if Component.GPU_DRIVER in parts:
            return "GPU pods, node by node, while the driver is reloaded"
        case Group.GPU if Component.GPU_OPERATOR in parts or any(part in parts for part in OPERANDS):
            return (
                "no GPU pods as long as the driver pods stay; device plugin, toolkit and exporter restart on all nodes"
            )
        case Group.NETWORK if Component.MOFED in parts:
            return "MOFED pods, node by node: pods using RDMA leave the node while the network driver is reloaded"
        case Group.NETWORK:
            return "no RDMA pods, since MOFED is not reloaded; the operator's own pods restart"
        case Group.FIRMWARE:
            return "every pod of each node, node by node: the NIC is reset or the node rebooted"
        case Group.SRIOV:
            return "the SR-IOV operator's own pods"
        case _:
            return "nothing in the cluster: workloads take it up with their images"


# ── the way back ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _rollback(
    number: int, group: Group, old: Stack, new: Stack, earlier: Sequence[Step], images: int | None
) -> Rollback:
    way, sentence = _way_back(group, old, new)
    if images is not None and number < images and Component.GPU_DRIVER in old.differing(new):
        cuda = new[Component.CUDA]
        back = named(cuda) if cuda is not None else "the old CUDA"
        sentence = f"{sentence}. Once step {images} is done the images must go back to {back} first"
    farthest = earlier[-1].rollback.farthest_step if earlier else 0
    if way is WayBack.CLOSED:
        return Rollback(way=way, to_step=number, farthest_step=number, sentence=sentence)
    return Rollback(way=way, to_step=number - 1, farthest_step=farthest, sentence=sentence)


def _way_back(group: Group, old: Stack, new: Stack) -> tuple[WayBack, str]:
    parts = parts_of(old.differing(new))
    if group is Group.PLATFORM:
        name = "OpenShift" if new[Component.OPENSHIFT] is not None else "Kubernetes"
        return WayBack.CLOSED, f"{name} does not go back: from here on only forward"
    if group is Group.FIRMWARE and not _goes_down(old, new):
        return _firmware_back(old, new)
    for leader in LEADERS:
        here, there = old[leader], new[leader]
        if GROUPS[leader] is group and here is not None and there is not None and _line(here) != _line(there):
            return (
                WayBack.UNKNOWN,
                f"NVIDIA describes no way from {named(there)} back to {here.text}, so rehearse it before you need it",
            )
    if any(old[part] is None for part in old.differing(new)):
        return WayBack.UNKNOWN, "what runs now is unknown, so there is nothing to go back to: run `seatrial audit`"
    lead = old[old.differing(new)[0]]
    before = "the old versions" if lead is None else named(lead)
    if parts == (Part.IMAGES,):
        turn = "while the driver is still the newer one" if _goes_down(old, new) else "before the driver goes back"
        return WayBack.OPEN, f"take images with {before} again, {turn}"
    if Part.DRIVER in parts:
        return WayBack.OPEN, f"set {before} again, and GPU pods leave each node once more"
    return WayBack.OPEN, f"set {before} again"


def _firmware_back(old: Stack, new: Stack) -> tuple[WayBack, str]:
    moved = [(old[part], new[part]) for part in old.differing(new)]
    if all(here and there and is_in_window(here.version, there.version) for here, there in moved):
        return (
            WayBack.UNKNOWN,
            "NVIDIA tests going down by two release trains at most, which this is: rehearse it on your cards",
        )
    return (
        WayBack.CLOSED,
        "NVIDIA tests going down by two release trains at most, and this is more: from here on only forward",
    )


def _images_step(states: Sequence[State], judge: Judge) -> int | None:
    """The step that moves the images, where that is one."""
    for number, pair in enumerate(pairwise(states), start=1):
        old, new = (judge.space.stack_of(state) for state in pair)
        if parts_of(old.differing(new)) == (Part.IMAGES,):
            return number
    return None


def _goes_down(old: Stack, new: Stack) -> bool:
    """Whether every moving component gets an older version: the way back of such a step leads up."""
    return all(_is_older(new[part], old[part]) for part in old.differing(new))


def _is_older(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None or one.version is None or other.version is None:
        return False
    try:
        return one.version < other.version
    except NotComparable:
        return False


def _line(value: Value) -> str:
    version: Version | None = value.version
    return version.line if isinstance(version, LinedVersion) else value.text


# ── what it makes possible ────────────────────────────────────────────────────────────────────────────────────────────

DRA_DEFAULT: Final = (1, 34)
"""The first Kubernetes that serves DRA's stable API by default."""


def hints(old: Stack, new: Stack, facts: Facts) -> Iterator[str]:
    """What the step makes possible that was not before."""
    sides = [_kubernetes(stack, facts) for stack in (old, new)]
    if None not in sides and sides[0] < DRA_DEFAULT <= sides[1]:  # type: ignore[operator]
        managed = facts.managed_dra
        needs = (
            f" {NAMES[Component.GPU_OPERATOR]} {managed.operator} manages the DRA driver itself, from Kubernetes "
            f"{managed.kubernetes} and driver branch {managed.branch} on."
            if managed is not None
            else ""
        )
        yield (
            "Dynamic Resource Allocation becomes available: from Kubernetes 1.34 on resource.k8s.io/v1 is served by "
            f"default. Nothing changes until somebody installs a DRA driver.{needs}"
        )


def _kubernetes(stack: Stack, facts: Facts) -> tuple[int, int] | None:
    """The Kubernetes of a stack, or of its OpenShift."""
    openshift, kubernetes = stack[Component.OPENSHIFT], stack[Component.KUBERNETES]
    if openshift is not None and isinstance(openshift.version, LinedVersion):
        release = facts.openshift(openshift.version.line)
        line = None if release is None else release.kubernetes
        return None if line is None else (line.first, line.second)
    if kubernetes is None or not isinstance(kubernetes.version, KubernetesVersion):
        return None
    return kubernetes.version.major, kubernetes.version.minor
