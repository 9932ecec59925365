"""Rules on a change: from one stack to another. What a stack is in itself is judged by the rules on stacks.

    one-at-a-time   how much moves
    upgrade-path    whether vendors know this way
    bridge          whether what stays works on both sides of a platform step
    order           which of two moves comes first
    preconditions   what has to be true before it starts

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from seatrial.core.compat.findings import BADNESS, Finding, Verdict
from seatrial.core.compat.matrix import GROUPS, Component, Group, Span, Stack, groups_of
from seatrial.core.compat.rules import firmware, kubernetes, openshift, platform, ships
from seatrial.core.compat.rules.cases import NAMES, Answer, Case, Rule, Step, fail, ok, unknown, warn
from seatrial.core.compat.rules.distributions import EKS, distribution_of
from seatrial.core.compat.rules.existence import OPERATORS
from seatrial.core.compat.rules.migrations import dra_path
from seatrial.core.compat.versions import KubernetesVersion, OperatorVersion, SemanticVersion

PLATFORM: Final = (Component.OPENSHIFT, Component.KUBERNETES)
BRIDGES: Final = (
    openshift.GPUOP_OPENSHIFT,
    kubernetes.GPUOP_KUBERNETES,
    openshift.NETOP_OPENSHIFT,
    kubernetes.NETOP_KUBERNETES,
    platform.MOFED_KERNEL,
)
"""What must hold on both sides of a platform step."""


def _spans(step: Step, *components: Component) -> tuple[Span, ...]:
    return step.after.spans(*components)


def _texts(step: Step, component: Component) -> str:
    before, after = step.before.stack[component], step.after.stack[component]
    return f"{before.text if before else '(none)'} → {after.text if after else '(none)'}"


# ── one-at-a-time ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_one_at_a_time(step: Step) -> Iterator[Answer]:
    """At most one group moves; workloads are free."""
    moved = [part for part in step.moved() if GROUPS[part] is not Group.WORKLOAD]
    groups = groups_of(moved)
    appeared = [group for group in groups_of(step.appeared()) if group not in groups and group is not Group.WORKLOAD]
    named = ", ".join(f"{part.value} {_texts(step, part)}" for part in moved)
    if len(groups) > 1:
        yield fail(
            f"{len(groups)} groups move at once ({', '.join(group.value for group in groups)}): {named}. If something "
            f"breaks, it is unclear which of them did it.",
            "Move one group, let it bake, then the next; `seatrial plan` gives the order.",
            spans=_spans(step, *moved),
        )
    elif appeared and len(groups) + len(appeared) > 1:
        yield unknown(
            f"The stack before does not name {', '.join(part.value for part in step.appeared())}, so it is unclear "
            "how "
            f"many groups move.",
            "Write the versions that run today.",
            spans=_spans(step, *step.appeared()),
        )
    elif moved == [Component.KERNEL] and step.after.has(Component.OPENSHIFT):
        yield warn(
            f"The kernel moves alone ({_texts(step, Component.KERNEL)}) while OpenShift stays: on its nodes that is "
            "drift.",
            "Move OpenShift to the release that has this kernel, or correct the kernel.",
            spans=_spans(step, Component.KERNEL),
        )
    else:
        yield ok(
            f"One group moves ({groups[0].value}): {named}." if groups else "Nothing moves that can break another."
        )


ONE_AT_A_TIME: Final = Rule(
    id="one-at-a-time",
    title="One group moves at a time",
    meaning="""\
Components that belong together are one group: OpenShift and its kernel; GPU Operator, driver, CUDA, device plugin,
toolkit and exporter; Network Operator and MOFED; firmware; the SR-IOV operator. More than one group in one change
fails, because then nobody can tell which one broke it. NCCL belongs to workloads and is free. A kernel that moves
without its OpenShift is drift. A component only one side names is unsaid, not moved.""",
    inputs=tuple(Component),
    sources=("practice: one change, one cause",),
    judge_change=judge_one_at_a_time,
)


# ── upgrade-path ──────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_upgrade_path(step: Step) -> Iterator[Answer]:
    """Within a major or to the next one; OpenShift and Kubernetes one minor at a time."""
    moved = step.moved((*OPERATORS, *PLATFORM))
    for component in OPERATORS:
        before, after = step.before.stack[component], step.after.stack[component]
        if component not in moved or before is None or after is None:
            continue
        yield from (*step.before.unreadable(component), *step.after.unreadable(component))
        if isinstance(before.version, OperatorVersion) and isinstance(after.version, OperatorVersion):
            yield _operator_path(step, component, before.version, after.version)
    for component, name in ((Component.OPENSHIFT, "OpenShift"), (Component.KUBERNETES, "Kubernetes")):
        if component not in moved or (component is Component.KUBERNETES and Component.OPENSHIFT in moved):
            continue  # the Kubernetes of an OpenShift comes with it
        yield from (*step.before.unreadable(component), *step.after.unreadable(component))
        here, there = step.before.stack[component], step.after.stack[component]
        old, new = here.version if here is not None else None, there.version if there is not None else None
        if isinstance(old, SemanticVersion) and isinstance(new, SemanticVersion):
            yield _minors_path(step, component, name, old, new)
    yield from dra_path(step)


def _operator_path(step: Step, component: Component, before: OperatorVersion, after: OperatorVersion) -> Answer:
    name, cite, spans = NAMES[component], step.facts.cite(f"{component.value}.versioning"), _spans(step, component)
    if after < before:
        return _downgrade(name, str(before), str(after), across=before.line != after.line, spans=spans)
    lines = step.facts.lines_between(component, before.line, after.line)
    if not lines:
        return unknown(
            f"{name} {before} → {after}: one of the two majors is not in the line of releases we know "
            f"({' → '.join(step.facts.release_lines.get(component, ()))}).",
            "Take releases that exist, or update seatrial.",
            cite,
            spans=spans,
        )
    if len(lines) <= 2:
        return ok(f"{name} {before} → {after} stays within a major or goes to the next one.", cite)
    return fail(
        f"{name} {before} → {after} skips a major; only the same and the next one are supported.",
        f"Go {' → '.join(lines)}. The catalogue does not stop you: use the vYY.M channel with manual approval.",
        cite,
        spans=spans,
    )


def _minors_path(
    step: Step, component: Component, name: str, before: SemanticVersion, after: SemanticVersion
) -> Answer:
    cite, spans = step.facts.cite(f"{component.value}.upgrade_path"), _spans(step, component)
    if after < before:
        return _back(step, component, name, before, after)
    if (after.major, after.minor - before.minor) in ((before.major, 0), (before.major, 1)):
        return ok(f"{name} {before} → {after} is a step of at most one minor.", cite)
    if after.major != before.major:
        return unknown(
            f"{name} {before} → {after} crosses a major, and no source read says from which minor that goes.",
            "Ask the update service for the way.",
            cite,
            spans=spans,
        )
    between = [f"{before.major}.{minor}" for minor in range(before.minor, after.minor + 1)]
    pool = " Between even minors the pool may stay paused." if component is Component.OPENSHIFT else ""
    return fail(
        f"{name} {before} → {after} is more than one minor at a time.",
        f"Go {' → '.join(between)}.{pool}",
        cite,
        spans=spans,
    )


def _back(step: Step, component: Component, name: str, before: SemanticVersion, after: SemanticVersion) -> Answer:
    """Platforms say whether they go back: OpenShift does not, EKS one minor, kubeadm one minor at a time."""
    spans, facts = _spans(step, component), step.facts
    if before.line == after.line:
        return _downgrade(name, str(before), str(after), across=False, spans=spans)
    if component is Component.OPENSHIFT:
        return fail(
            f"{name} {before} → {after} goes back across a minor: Red Hat supports updating to a newer version only, "
            "and no rollback.",
            f"Stay on {before}, or move on to a newer version; a cluster of {after} is a new one.",
            facts.cite("openshift.rollback"),
            spans=spans,
        )
    if after.major != before.major or before.minor - after.minor > 1:
        return fail(
            f"{name} {before} → {after} goes back by more than one minor, and kubeadm takes one at a time.",
            "Go back by one minor at most, and rehearse it on another cluster.",
            facts.cite("kubernetes.downgrade"),
            spans=spans,
        )
    if isinstance(before, KubernetesVersion) and distribution_of(before) == EKS:
        return warn(
            f"{name} {before} → {after} goes back one minor: EKS does that with the control plane after an upgrade in "
            "place, while the data in etcd stays.",
            "Read what a rollback does not take back, and rehearse it on another cluster.",
            facts.cite("kubernetes.eks_rollback"),
            spans=spans,
        )
    return unknown(
        f"{name} {before} → {after} goes back one minor: kubeadm takes that, and the version skew policy says nothing "
        "about it.",
        "Ask whoever builds this Kubernetes, and rehearse it on another cluster before relying on it.",
        facts.cite("kubernetes.downgrade"),
        facts.cite("kubernetes.upgrade_path"),
        spans=spans,
    )


def _downgrade(name: str, before: str, after: str, *, across: bool, spans: tuple[Span, ...]) -> Answer:
    if across:
        return unknown(
            f"{name} {before} → {after} goes back across a major, which no source describes.",
            "Rehearse it on the canary before relying on it.",
            spans=spans,
        )
    return warn(
        f"{name} {before} → {after} goes back within its line, which no source describes.",
        "Rehearse it on the canary before relying on it.",
        spans=spans,
    )


UPGRADE_PATH: Final = Rule(
    id="upgrade-path",
    title="Vendors know this way",
    meaning="""\
Both operators are supported within a major (YY.M) or to the next one of their line of releases; skipping one fails,
and the answer names the stations. OLM does not enforce this: every bundle may replace every older one, and the stable
channel with automatic approval jumps. OpenShift and Kubernetes go one minor at a time. Back across a minor, OpenShift
fails, since Red Hat supports no rollback; Kubernetes fails by more than one minor, warns on EKS, which does it, and is
unknown elsewhere. No source describes how operators go back: within a line that warns, across a major it is unknown and
has to be rehearsed. From a DRA driver with a chart of its own, or from a ClusterPolicy, to a managed one (GPUCluster)
fails: NVIDIA supports no migration in place, and an operator before v26.7.0 has a ClusterPolicy.""",
    inputs=(*OPERATORS, *PLATFORM, Component.DRA_DRIVER, Component.DEVICE_PLUGIN),
    sources=(
        "gpu_operator.versioning",
        "network_operator.versioning",
        "openshift.upgrade_path",
        "openshift.rollback",
        "kubernetes.upgrade_path",
        "kubernetes.downgrade",
        "kubernetes.eks_rollback",
        "dra_driver.migration",
        "dra_driver.managed",
    ),
    judge_change=judge_upgrade_path,
)


# ── bridge ────────────────────────────────────────────────────────────────────────────────────────────────────────────


CROSSED: Final = tuple(dict.fromkeys(part for rule in BRIDGES for part in (*rule.inputs, *rule.needs)))
"""All that the rules of the bridge look at."""


def judge_bridge(step: Step) -> Iterator[Answer]:
    """Do the operators and MOFED hold on the platform before and on the one after?"""
    if not step.moved(PLATFORM):
        return
    sides = (("before", step.before), ("after", step.after))
    checked = False
    for rule in BRIDGES:
        for side, case in sides:
            found = rule.on_stack(_crossing(step, case))
            if found is not None:
                checked = True
                yield from _crossed(found, side)
    if checked:
        yield ok("GPU Operator, Network Operator and MOFED hold on both sides of the platform step.")


def _crossing(step: Step, side: Case) -> Case:
    """The platform of one side with the operators that are there while it is crossed: those of the stack after.

    Where operators move in the same change, they are meant to move first; that they do not move at the same time is
    for one-at-a-time to say.
    """
    sides = {part: side if GROUPS[part] is Group.PLATFORM else step.after for part in CROSSED}
    values = {part: value for part, case in sides.items() if (value := case.stack[part]) is not None}
    return replace(side, stack=Stack(values=values, hardware=side.stack.hardware))


def _crossed(found: Finding, side: str) -> Iterator[Answer]:
    if found.verdict is Verdict.OK:
        return
    yield Answer(
        verdict=found.verdict,
        message=f"On the platform {side} the step ({found.rule}): {found.message}",
        next_step=f"{found.next_step} Do it before the platform moves.",
        spans=found.spans,
        sources=found.sources,
        confidence=found.confidence,
    )


BRIDGE: Final = Rule(
    id="bridge",
    title="What stays works on both sides of a platform step",
    meaning="""\
While OpenShift (or Kubernetes) moves, nodes of both releases run side by side under one GPU Operator, one Network
Operator and one MOFED. So each of these must be right on the old platform and on the new one, RHEL minor included.
This, and not a fixed order, is why operators usually move first. The verdict is the worst of the rules asked on both
sides.""",
    inputs=(*PLATFORM, *OPERATORS, Component.MOFED),
    sources=("gpuop-openshift", "netop-openshift", "mofed-kernel, each on both sides"),
    judge_change=judge_bridge,
)


# ── order ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_order(step: Step) -> Iterator[Answer]:
    """Where two things move that depend on each other: which first?"""
    moved = step.moved((*OPERATORS, Component.MOFED, *firmware.FIRMWARE))
    if all(part in moved for part in OPERATORS):
        yield from _better(
            step, ships.NETOP_GPUOP, (Component.GPU_OPERATOR,), (Component.NETWORK_OPERATOR, Component.MOFED)
        )
    cards = tuple(part for part in moved if GROUPS[part] is Group.FIRMWARE)
    if cards and (Component.MOFED in moved or Component.NETWORK_OPERATOR in moved):
        # A driver newer than its firmware is the case NVIDIA tests, so it goes first where both orders are as good.
        yield from _better(step, firmware.FIRMWARE_MOFED, (Component.NETWORK_OPERATOR, Component.MOFED), cards)


def _better(step: Step, rule: Rule, first: tuple[Component, ...], second: tuple[Component, ...]) -> Iterator[Answer]:
    """Judge the state in between for both orders, and recommend the better one; the first where they are equal."""
    ways = [(_between(step, rule, ahead), ahead) for ahead in (first, second)]
    judged = [(found, ahead) for found, ahead in ways if found is not None]
    if not judged:
        return
    best, ahead = min(judged, key=lambda pair: BADNESS[pair[0].verdict])
    name = ", ".join(part.value for part in step.moved(ahead))
    message = f"Move {name} first: in between, {rule.id} says {best.verdict.value}."
    yield Answer(
        verdict=best.verdict,
        message=message if best.verdict is Verdict.OK else f"{message} {best.message}",
        next_step="" if best.verdict is Verdict.OK else f"There is no better order. {best.next_step}",
        spans=() if best.verdict is Verdict.OK else best.spans,
        sources=best.sources,
        confidence=best.confidence,
    )


def _between(step: Step, rule: Rule, ahead: tuple[Component, ...]) -> Finding | None:
    new = {part: value for part, value in step.after.stack.values.items() if part in ahead}
    return rule.on_stack(
        replace(step.before, stack=replace(step.before.stack, values={**step.before.stack.values, **new}))
    )


ORDER: Final = Rule(
    id="order",
    title="There is an order in which every state in between is right",
    meaning="""\
Where two dependent things move, the state in between is judged for both orders and the better one is named: GPU
Operator before Network Operator, because new Network Operators need a recent GPU Operator; firmware and MOFED by
their pairs (a driver newer than its firmware by up to two trains is the tested case).""",
    inputs=(*OPERATORS, Component.MOFED, *firmware.FIRMWARE),
    sources=("netop-gpuop", "firmware-mofed, on the states in between"),
    judge_change=judge_order,
)


# ── preconditions ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_preconditions(step: Step) -> Iterator[Answer]:
    """What has to be true before this change starts?"""
    for part, ask in _ASKED:
        if step.moved((part,)):
            yield from ask(step)


def _target(step: Step) -> Iterator[Answer]:
    openshift = step.after.openshift
    bad = step.facts.bad_openshift(openshift) if openshift is not None else None
    if bad is not None:
        yield fail(
            f"The target OpenShift {bad.version} is known to break {bad.breaks}.",
            "Take another z-stream.",
            bad.cite,
            spans=_spans(step, Component.OPENSHIFT),
        )
    elif openshift is not None:
        yield ok(f"OpenShift {openshift} is not among the z-streams known to break the GPU Operator.")


def _rebuild(step: Step) -> Iterator[Answer]:
    """Every kernel change means a rebuild of MOFED."""
    operator = step.after.network_operator
    if step.after.ofed is None or operator is None:
        return
    stale = step.facts.stale_inventory.get(operator.line)
    if stale is not None and step.after.has(Component.OPENSHIFT):
        yield warn(
            f"After a kernel change the driver container of Network Operator {operator.line} does not start until "
            f"/var/opt/mofed-container/inventory is removed on the node.",
            "Put its removal into the step, or upgrade the Network Operator first.",
            stale,
            spans=_spans(step, Component.NETWORK_OPERATOR),
        )
    yield ok(
        f"MOFED {step.after.ofed} is rebuilt for the new kernel: have its Driver Toolkit image at hand.",
        step.facts.cite("mofed_kernel.container_build"),
    )


def _canary(step: Step) -> Iterator[Answer]:
    yield ok(
        "A canary with another driver needs NVIDIADriver resources or skip labels on all other nodes: a ClusterPolicy "
        "has "
        "one driver for all of them.",
        step.facts.cite("driver.cluster_policy_scope"),
    )


def _controller(step: Step) -> Iterator[Answer]:
    yield ok(
        "The operator itself is one controller for the whole cluster: its canary is another cluster.",
        step.facts.cite("driver.cluster_policy_scope"),
    )


_ASKED: Final[tuple[tuple[Component, Callable[[Step], Iterator[Answer]]], ...]] = (
    (Component.OPENSHIFT, _target),
    (Component.OPENSHIFT, _rebuild),
    (Component.GPU_DRIVER, _canary),
    (Component.GPU_OPERATOR, _controller),
)

PRECONDITIONS: Final = Rule(
    id="preconditions",
    title="What the change needs beforehand is known",
    meaning="""\
The target OpenShift must not be a z-stream known to break the GPU Operator. A kernel change means that MOFED is
rebuilt, and one Network Operator line needs a folder removed first. A canary with another driver is only possible
with NVIDIADriver resources or with skip labels, since a ClusterPolicy has one driver for all nodes. It is never
unknown.""",
    inputs=(
        Component.OPENSHIFT,
        Component.GPU_OPERATOR,
        Component.GPU_DRIVER,
        Component.NETWORK_OPERATOR,
        Component.MOFED,
    ),
    sources=("openshift.known_bad_z_streams", "mofed_kernel", "driver.cluster_policy_scope"),
    judge_change=judge_preconditions,
)
