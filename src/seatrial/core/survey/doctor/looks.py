"""What nobody wrote down, and a look at the objects shows: as signs of a node, each under a name that patterns use.

    kubelet-silent       the node's kubelet has not been heard for a while
    kubelet-not-ready    it says itself that the node is not Ready
    gpus-not-offered     it has GPUs and a driver that is up, and the kubelet offers none
    slices-missing       the same where a DRA driver offers them
    gpus-unhealthy       its device plugin calls some of its GPUs unhealthy
    gpus-fewer           it shows fewer GPUs than most nodes of its product
    labels-paused        operands are kept away as during a driver upgrade, and none is under way
    mig-failed           the MIG layout that was asked for could not be made
    holder-stuck         a pod with a claim has been told to leave, and stays

Law of this file: who is being upgraded, or starts, is given its time.
Tests: tests/core/survey/test_doctor_diagnosing.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from seatrial.core.node import phases
from seatrial.core.survey.doctor.objects import NodeTold, PodTold, Sight
from seatrial.core.survey.doctor.parts import Part
from seatrial.core.survey.doctor.signs import Sign, Where
from seatrial.core.survey.sources import Source
from seatrial.core.text import spans
from seatrial.core.text.names import number_of

STARTING_SECONDS: Final = 1200.0
"""A driver that is built on its node takes a quarter of an hour."""
LEAVING_SECONDS: Final = 300.0
_ORDER: Final = (Part.DRIVER, Part.MOFED, Part.TOOLKIT, Part.DEVICE_PLUGIN, Part.DRA, Part.VALIDATOR)


def looked(sight: Sight) -> Iterator[Sign]:
    """Everything that a look shows."""
    for node in sight.nodes:
        if has_gpu(sight, node):
            yield from _not_ready(sight, node)
            yield from _offered(sight, node)
            yield from _unhealthy(sight, node)
            yield from _paused(sight, node)
            yield from _mig(node)
    yield from _fewer(sight)
    yield from _holders(sight)


def is_upgraded(node: NodeTold) -> bool:
    """Whether somebody upgrades the node right now, by its state label."""
    return any(phase.value == node.upgrade_state for phase in phases.UNDER_WAY)


def is_starting(sight: Sight, pod: PodTold) -> bool:
    """Whether it is young enough to be on its way."""
    return pod.created_at is None or sight.at - pod.created_at < STARTING_SECONDS


def has_gpu(sight: Sight, node: NodeTold) -> bool:
    """Whether a label, a resource or a driver's pod says that it has one."""
    return node.has_gpu or node.capacity > 0 or bool(sight.of_part(node.name, Part.DRIVER))


def _not_ready(sight: Sight, node: NodeTold) -> Iterator[Sign]:
    for each in node.conditions:
        if each.type == "Ready" and each.status != "True":
            since = f" for {spans.span(max(0.0, sight.at - each.since))}" if each.since is not None else ""
            why = each.message or each.reason or "no reason is given"
            reason = "kubelet-not-ready" if each.status == "False" else "kubelet-silent"
            yield _sign(
                node, reason, f"NotReady{since}: {why}{f' ({each.reason})' if each.message and each.reason else ''}"
            )


def _is_moving(sight: Sight, node: NodeTold) -> bool:
    """Whether the node is on its way to offering GPUs, or its driver is not there yet: then others are asked first."""
    if is_upgraded(node) or any(each.type == "Ready" and each.status != "True" for each in node.conditions):
        return True
    pods = [pod for part in _ORDER for pod in sight.of_part(node.name, part)]
    if any(not pod.is_well and is_starting(sight, pod) for pod in pods):
        return True
    return any(not pod.is_well for pod in sight.of_part(node.name, Part.DRIVER))


def _offered(sight: Sight, node: NodeTold) -> Iterator[Sign]:
    if node.offered or Source.PODS in sight.gaps or _is_moving(sight, node):
        return
    has_slices = any(each.node == node.name and each.device_count for each in sight.slices)
    has_plugins = any(pod.part is Part.DEVICE_PLUGIN for pod in sight.pods)
    has_dra = any(pod.part is Part.DRA for pod in sight.pods)
    if has_slices:
        return
    if has_dra and not has_plugins:
        if Source.SLICES not in sight.gaps:
            yield _sign(node, "slices-missing", "it has GPUs, and no ResourceSlice of gpu.nvidia.com offers them")
        return
    if node.without_plugin or node.capacity:
        return
    waiting = sum("Insufficient nvidia.com/" in pod.unscheduled for pod in sight.pods)
    for_whom = f"; {waiting} pods wait for some" if waiting else ""
    plugins = sight.of_part(node.name, Part.DEVICE_PLUGIN)
    how = "no device plugin runs on it" if not plugins else f"its device plugin {plugins[0].key} is not up"
    how = "its device plugin is up and offers none" if plugins and plugins[0].is_well else how
    yield _sign(node, "gpus-not-offered", f"it has GPUs and the kubelet offers none: {how}{for_whom}")


def _runs_no_driver(sight: Sight, node: NodeTold) -> bool:
    """Whether its GPUs cannot answer, whatever their health, since their driver is not up."""
    drivers = sight.of_part(node.name, Part.DRIVER)
    return any(not pod.is_well for pod in drivers) or (not drivers and is_upgraded(node))


def _unhealthy(sight: Sight, node: NodeTold) -> Iterator[Sign]:
    if node.capacity > node.offered and not _runs_no_driver(sight, node):
        yield _sign(node, "gpus-unhealthy", f"{node.offered} of {node.capacity} GPUs are healthy, says its plugin")


def _fewer(sight: Sight) -> Iterator[Sign]:
    counts: dict[str, list[tuple[NodeTold, int]]] = defaultdict(list)
    for node in sight.nodes:
        if node.product and node.gpu_count:
            counts[node.product].append((node, node.gpu_count))
    for product, found in counts.items():
        (usual, nodes), *_ = Counter(count for _, count in found).most_common(1)
        for node, count in found:
            if count < usual and nodes >= 2 and not _runs_no_driver(sight, node):  # one neighbour is no majority
                yield _sign(
                    node,
                    "gpus-fewer",
                    f"it shows {number_of(count, 'GPU')}, and {nodes} nodes with {product} show {usual}",
                )


def _paused(sight: Sight, node: NodeTold) -> Iterator[Sign]:
    if not node.paused or is_upgraded(node):
        return
    if any(not pod.is_well for pod in sight.of_part(node.name, Part.DRIVER)):
        return  # its init container pauses them, and gives them back
    yield _sign(node, "labels-paused", f"{', '.join(node.paused)} are paused, and the node is not being upgraded")


def _mig(node: NodeTold) -> Iterator[Sign]:
    if node.mig_state == "failed":
        yield _sign(node, "mig-failed", "label nvidia.com/mig.config.state=failed")


def _holders(sight: Sight) -> Iterator[Sign]:
    for pod in sight.pods:
        if not pod.claims or not pod.node or pod.deleted_at is None or not sight.concerns(pod):
            continue
        if sight.at - pod.deleted_at > LEAVING_SECONDS:
            yield Sign(
                where=Where.NODE,
                node=pod.node,
                about=f"Pod {pod.key}",
                reason="holder-stuck",
                lines=(f"it should be gone, and still holds the claim {', '.join(pod.claims)}",),
                pod=pod.name,
                namespace=pod.namespace,
            )


def _sign(node: NodeTold, reason: str, text: str) -> Sign:
    return Sign(where=Where.NODE, node=node.name, about=f"Node {node.name}", reason=reason, lines=(text,))
