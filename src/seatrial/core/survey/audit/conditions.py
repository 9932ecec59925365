"""What is odd about nodes, whatever they are compared with: labels that lie, cordons, upgrades left half-way.

Law of this file: facts go before labels, and a cordon is of whoever the API server says wrote it. Tests:
tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.node.phases import NOT_STARTED
from seatrial.core.survey.adoption.cordons import whose_cordon
from seatrial.core.survey.adoption.traces import Trace, Whose, Wish
from seatrial.core.survey.audit import images, of_operands
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.objects import DaemonSetObject
from seatrial.core.survey.audit.observing import NodeStack, Observed
from seatrial.core.survey.audit.readings import NotRunning, Seen, seen
from seatrial.core.text.names import a_few

_AT_REST: Final = frozenset({"", *(phase.value for phase in NOT_STARTED if phase is not None)})
"""States between upgrades; a node that waits for its turn has not started."""
NVIDIAS: Final = "NVIDIA's"
_NOTHING: Final = Wish(target="", now=0.0)


def not_running(observed: Observed) -> Iterator[AuditFinding]:
    """Drivers whose pod is there and not Ready."""
    found: dict[NotRunning, list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        down = of_operands.not_running(node.around)
        if down is not None:
            found[down].append(node)
    for down, nodes in found.items():
        yield AuditFinding(
            kind=FindingKind.NOT_RUNNING,
            component=Component.GPU_DRIVER,
            message=f"Driver {down.brings} does not run: {down.why}. What was loaded before it may be gone.",
            evidence=(down.evidence,),
            nodes=_names(nodes),
            next_step=f"`seatrial doctor {quote(nodes[0].name)}` says why, and what to do.",
        )


def stale_labels(observed: Observed) -> Iterator[AuditFinding]:
    """Driver labels that may tell of a driver that is gone; where none runs, that is said instead."""
    nodes = [
        node
        for node in observed.nodes
        if of_operands.is_stale(node.around) and of_operands.not_running(node.around) is None
    ]
    if nodes:
        said = a_few(dict.fromkeys(node.around.node.loaded.version for node in nodes if node.around.node.loaded), 3)
        yield AuditFinding(
            kind=FindingKind.STALE_LABEL,
            component=Component.GPU_DRIVER,
            message=f"Feature discovery started before the driver and labels {said}, which the driver pod "
            "contradicts: the label is old, or the old driver is still loaded.",
            evidence=(of_operands.DRIVER_LABEL, "Node label nvidia.com/gfd.timestamp", "start of nvidia-driver-ctr"),
            nodes=_names(nodes),
            since=_first(_driver_start(node) for node in nodes),
            next_step="`kubectl delete pods -A -l app=gpu-feature-discovery "
            f"--field-selector spec.nodeName={quote(nodes[0].name)}` makes it look again.",
        )


def leaked_drivers(observed: Observed) -> Iterator[AuditFinding]:
    """Drivers that stayed loaded under a pod that brings another."""
    found: dict[tuple[str, str], list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        label, by_pod = node.around.node.loaded, of_operands.driver_of_pod(node.around)
        if label is None or not isinstance(by_pod, Seen) or of_operands.is_older_than_driver(node.around):
            continue
        loaded = seen(Component.GPU_DRIVER, label.version, of_operands.DRIVER_LABEL)
        if isinstance(loaded, Seen) and loaded.value.version != by_pod.value.version:
            found[(loaded.text, by_pod.text)].append(node)
    for (loaded_text, brought), nodes in found.items():
        yield AuditFinding(
            kind=FindingKind.LEAKED_DRIVER,
            component=Component.GPU_DRIVER,
            message=f"Driver {loaded_text} is loaded, and the driver pod that started before feature discovery looked "
            f"brings {brought}: the old modules were not unloaded.",
            evidence=(of_operands.DRIVER_LABEL, "image of nvidia-driver-ctr"),
            nodes=_names(nodes),
            since=_first(_driver_start(node) for node in nodes),
            next_step=f"`seatrial node get {quote(nodes[0].name)}` shows what still holds GPUs there; when that is "
            "gone, deleting the driver pod loads the other one.",
        )


def stale_builds(observed: Observed) -> Iterator[AuditFinding]:
    """Network drivers that were built for a kernel that the node no longer runs."""
    found: dict[tuple[str, str], list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        built = of_operands.is_built_for_another_kernel(node.around)
        if built:
            found[(built, node.around.node.kernel)].append(node)
    for (built, running), nodes in found.items():
        yield AuditFinding(
            kind=FindingKind.STALE_BUILD,
            component=Component.MOFED,
            message=f"The network driver was built for kernel {built}, and the node runs {running}.",
            evidence=("Pod label kernel", "Node status.nodeInfo.kernelVersion"),
            nodes=_names(nodes),
            next_step="`kubectl get daemonsets -A -l nvidia.com/ofed-driver` shows whether one for the new kernel is "
            "coming.",
        )


def half_done(observed: Observed) -> Iterator[AuditFinding]:
    """Upgrades that have started and not ended, by the state on the node, whoever wrote it."""
    found: dict[tuple[str, str], list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        subject = node.around.node
        record = subject.seen.record
        theirs, ours = subject.seen.facts.nvidia_state, subject.our_state or (record.phase.value if record else "")
        for who, state in ((NVIDIAS, theirs), ("our", ours)):
            if state not in _AT_REST and not (who == NVIDIAS and state == ours):
                found[(who, state)].append(node)
    for (who, state), nodes in found.items():
        has_failed = state == NodePhase.UPGRADE_FAILED.value
        yield AuditFinding(
            kind=FindingKind.HALF_DONE,
            component=Component.GPU_DRIVER,
            message=f"A driver upgrade {'has failed' if has_failed else 'is half-way'}: {who} state is {state}.",
            evidence=(
                f"Node label {'nvidia.com' if who == NVIDIAS else 'seatrial.dev'}/gpu-driver-upgrade-state={state}",
            ),
            nodes=_names(nodes),
            next_step=f"`seatrial why {quote(nodes[0].name)}` says what it waits for; if nothing is working on it, "
            "`seatrial rollout adopt --dry-run` shows how to finish or undo it.",
        )


def foreign_cordons(observed: Observed) -> Iterator[AuditFinding]:
    """Cordons that are nobody's upgrade."""
    found: dict[str, list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        subject = node.around.node
        if whose_cordon(subject.seen, subject.traces, _NOTHING) is Whose.SOMEBODYS:
            found[subject.traces.cordoned_by].append(node)
    for by, nodes in found.items():
        noted = any(Trace.INITIAL_STATE in node.around.node.traces.found for node in nodes)
        why = f"{by} set the cordon" if by else "the API server does not say who set the cordon"
        yield AuditFinding(
            kind=FindingKind.FOREIGN_CORDON,
            message=f"Cordoned, and not by an upgrade: {why}"
            f"{', and NVIDIA noted that it was there before' if noted else ''}. No upgrade lifts it.",
            evidence=("Node spec.unschedulable", *((f"managedFields: {by}",) if by else ())),
            nodes=_names(nodes),
            since=_first(node.around.node.cordoned_at for node in nodes),
            next_step=f"`kubectl describe node {quote(nodes[0].name)}` shows what is wrong there; when nothing is, "
            f"`kubectl uncordon {quote(nodes[0].name)}`.",
        )


def pending(observed: Observed) -> Iterator[AuditFinding]:
    """Templates that pods do not follow yet: whatever restarts such a pod, be it a reboot, brings the other version."""
    sets = {(each.namespace, each.name): each for each in observed.objects.daemon_sets}
    found: dict[tuple[DaemonSetObject, str, str], list[NodeStack]] = defaultdict(list)
    for node in observed.nodes:
        for pod in node.around.pods:
            owner = sets.get((pod.namespace, pod.owner))
            wanted = dict(owner.images) if owner is not None else {}
            for name, image in pod.images:
                is_another = wanted.get(name, image) != image and images.component_of(name, image) is not None
                if owner is not None and is_another:
                    found[(owner, name, image)].append(node)
    for (owner, name, image), nodes in found.items():
        asked = dict(owner.images)[name]
        yield AuditFinding(
            kind=FindingKind.PENDING,
            component=images.component_of(name, image),
            message=f"DaemonSet {owner.namespace}/{owner.name} asks for {asked}, and its pods have {image}: the next "
            "restart of such a pod, whatever the cause, brings the other one.",
            evidence=(f"DaemonSet {owner.namespace}/{owner.name} spec.template, container {name}", f"image of {name}"),
            nodes=_names(nodes),
            next_step=f"`seatrial why {quote(nodes[0].name)}` says whether a rollout will reach it; "
            f"`kubectl -n {quote(owner.namespace)} rollout history daemonset {quote(owner.name)}` shows what changed.",
        )


def _driver_start(node: NodeStack) -> ApiInstant | None:
    return _first(pod.started_at for pod, *_ in node.around.bringing(Component.GPU_DRIVER))


def _first(instants: Iterable[ApiInstant | None]) -> ApiInstant | None:
    return min((each for each in instants if each is not None), default=None)


def _names(nodes: list[NodeStack]) -> tuple[str, ...]:
    return tuple(sorted(node.name for node in nodes))
