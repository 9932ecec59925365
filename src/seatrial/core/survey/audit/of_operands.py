"""What the pods on a node bring, and what of it is loaded: driver, device plugin, toolkit, exporter, network driver.

Whom to believe about the driver:

    a driver pod that is not Ready                                                           that none runs
    feature discovery's label, begun after the driver started, or agreeing with its pod      the driver that is loaded
    the driver pod's image                                                                   the driver it loads
    ResourceSlices                                                                           what the DRA plugin saw
    a label that is older than the driver, against its pod                                   nobody: it may be stale

Feature discovery writes the time at which it started, and does not renew it while it runs. So an older time does not
prove that the label is old; it only fails to vouch for it.

Law of this file: what a DaemonSet wants is no evidence of what runs; only pods on the node are. Tests:
tests/core/survey/test_audit_readings.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import NIC_FAMILIES
from seatrial.core.model.troubles import Symptom, Trouble, classify
from seatrial.core.survey.audit import images
from seatrial.core.survey.audit.images import Digests
from seatrial.core.survey.audit.objects import NicObject, NodeObject, Objects, PodObject, SliceObject
from seatrial.core.survey.audit.readings import Absent, Cause, NotObservable, NotRunning, Reading, Seen, seen, unread
from seatrial.core.survey.sources import Gap, Source

DRIVER_LABEL: Final = "Node label nvidia.com/cuda.driver-version.full"
MOFED_LABEL: Final = "Node label nvidia.com/mofed.version"
NIC_FIRMWARE: Final = "NicDevice status.firmwareVersion"
FIRMWARE: Final = {
    Component.FIRMWARE_CX7: ("ConnectX-7",),
    Component.FIRMWARE_CX6: ("ConnectX-6", "ConnectX-6 Dx", "ConnectX-6 Lx"),
    Component.FIRMWARE_CX8: ("ConnectX-8",),
    Component.FIRMWARE_BF3: ("BlueField-3",),
}
"""The families that a key of the matrix stands for."""


Brought: TypeAlias = tuple[PodObject, str, str]
"""A pod, its container that brings something, and that container's image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """One node, and everything that was found on it."""

    node: NodeObject
    pods: tuple[PodObject, ...]
    slices: tuple[SliceObject, ...]
    nics: tuple[NicObject, ...]
    objects: Objects
    digests: Digests

    brought: Mapping[Component, tuple[Brought, ...]]
    """What its pods bring; of several pods the youngest first."""

    def bringing(self, part: Component) -> tuple[Brought, ...]:
        return self.brought.get(part, ())


def brought_by(pods: Iterable[PodObject]) -> Mapping[Component, tuple[Brought, ...]]:
    """What pods bring, by component; one that does not run yet is the youngest."""
    found: dict[Component, list[Brought]] = {}
    for pod in sorted(pods, key=lambda each: -(each.started_at or float("inf"))):
        for name, image in pod.images:
            part = images.component_of(name, image)
            if part is not None:
                found.setdefault(part, []).append((pod, name, image))
    return {part: tuple(each) for part, each in found.items()}


def operand(around: Around, part: Component) -> Reading:
    """A component that a pod brings to the node, and that is not there without one."""
    if around.bringing(part):
        return _by_image(around, part)
    gaps = _blind(around)
    if gaps:
        return unread(gaps)
    return Absent(why=f"no pod on the node brings {part.value}")


def driver(around: Around) -> Reading:
    """The driver that is loaded, by the best witness there is."""
    down = not_running(around)
    if down is not None:
        return down  # what labels and slices tell is from before this pod
    by_pod, by_slice, label = driver_of_pod(around), _published(around), around.node.loaded
    is_outdated = is_stale(around)
    if label is not None and not is_outdated:
        by_label = seen(Component.GPU_DRIVER, label.version, DRIVER_LABEL, _caution(around))
        if isinstance(by_label, Seen):
            return by_label
    for reading in (by_pod, by_slice):
        if isinstance(reading, Seen):
            return (
                replace(reading, caution="feature discovery's label is older than the driver")
                if is_outdated
                else reading
            )
    gaps = (*_blind(around), *around.objects.blind(Source.SLICES))
    if gaps:
        return unread(gaps)
    if by_pod is not None:
        return by_pod
    missing = f"{DRIVER_LABEL}, a driver pod on the node, or a ResourceSlice of its GPUs"
    return NotObservable(cause=Cause.OBJECT, missing=missing)


def not_running(around: Around) -> NotRunning | None:
    """Why no driver runs although a pod is there to bring it; None where one is Ready, or there is no such pod."""
    found = around.bringing(Component.GPU_DRIVER)
    if not found or any(pod.is_ready for pod, *_ in found):
        return None
    pod, name, image = found[0]
    place = f"Pod in {pod.namespace}, container {name}, image {image}"
    reading = images.reading_of(Component.GPU_DRIVER, image, place, around.digests)
    brings = reading.text if isinstance(reading, Seen) else image
    return NotRunning(brings=brings, why=_why_down(pod.trouble), evidence=place)


def _why_down(trouble: str) -> str:
    """Why a pod is not Ready, from the kubelet's word for what its container waits for."""
    match classify([Symptom(source="container", reason=trouble)]):
        case Trouble.IMAGE_PULL:
            return f"the image of its pod cannot be pulled ({trouble})"
        case Trouble.CRASH_LOOP:
            return f"a container of its pod keeps crashing ({trouble})"
        case _:
            return f"its pod is not Ready{f' ({trouble})' if trouble else ''}"


def driver_of_pod(around: Around) -> Reading | None:
    """The driver that the node's driver pod loads; None where there is no such pod."""
    return _by_image(around, Component.GPU_DRIVER) if around.bringing(Component.GPU_DRIVER) else None


def is_older_than_driver(around: Around) -> bool:
    """Whether feature discovery started before the driver of today, or nobody can say that it did not."""
    found = around.bringing(Component.GPU_DRIVER)
    if around.node.loaded is None or not found:
        return False  # without a driver pod the host has the driver, and the label is all there is
    looked_at, started_at = around.node.loaded.seen_at, found[0][0].started_at
    return started_at is None or looked_at is None or looked_at <= started_at


def is_stale(around: Around) -> bool:
    """Whether the driver label may tell of a driver that is gone: it is older, and the pod does not bear it out."""
    return is_older_than_driver(around) and not _agrees(around)


def _agrees(around: Around) -> bool:
    by_pod, label = driver_of_pod(around), around.node.loaded
    if not isinstance(by_pod, Seen) or label is None:
        return False
    by_label = seen(Component.GPU_DRIVER, label.version, DRIVER_LABEL)
    return isinstance(by_label, Seen) and by_label.value.version == by_pod.value.version


def _caution(around: Around) -> str:
    if _blind(around):
        return "pods could not be read, so the label may be older than the driver"
    return "the label is older than the driver, and its pod agrees" if is_older_than_driver(around) else ""


def _published(around: Around) -> Reading | None:
    texts = sorted({text for each in around.slices for text in each.drivers})
    return _several(Component.GPU_DRIVER, texts, "ResourceSlice, attribute driverVersion") if texts else None


def dra_driver(around: Around) -> Reading:
    """NVIDIA's DRA driver: managed by the GPU Operator, or of a chart of its own."""
    part, plugins = Component.DRA_DRIVER, [pod for pod in around.pods if pod.is_dra]
    if not plugins:
        gaps = _blind(around)
        return unread(gaps) if gaps else Absent(why="no pod on the node is a kubelet plugin of NVIDIA's DRA driver")
    pod = plugins[0]
    place = f"Pod in {pod.namespace}"
    if pod.is_operators:
        return seen(part, "managed", f"{place}, label app=nvidia-dra-driver-kubelet-plugin")
    by_chart = seen(part, _version_of_chart(pod.chart), f"{place}, label helm.sh/chart")
    if isinstance(by_chart, Seen):
        return by_chart
    name, image = pod.images[0] if pod.images else ("", "")
    return images.reading_of(part, image, f"{place}, container {name}", around.digests)


def mofed(around: Around) -> Reading:
    """The network driver: loaded by a pod, labelled by discovery, or the one that came with the kernel."""
    part = Component.MOFED
    if around.node.mofed:
        return seen(part, around.node.mofed, MOFED_LABEL, "three digits are compared: the label may lack the fourth")
    if around.bringing(part):
        return _by_image(around, part)
    gaps = _blind(around)
    if gaps:
        return unread(gaps)
    return Absent(why="no pod on the node loads a network driver: it is inbox")


def is_built_for_another_kernel(around: Around) -> str:
    """The kernel that the node's network driver was built for, where that is not the one that runs."""
    kernels = {pod.kernel for pod, _, _ in around.bringing(Component.MOFED) if pod.kernel}
    return "" if not kernels or around.node.kernel in kernels else min(kernels)


def firmware(around: Around, part: Component) -> Reading:
    """The firmware of the adapters of one family; serial numbers are not unique, so every adapter counts."""
    if not all(each.firmware for each in around.nics):
        missing = f"{NIC_FIRMWARE}: one of its adapters shows no firmware"
        return NotObservable(cause=Cause.OBJECT, missing=missing)
    if around.nics:
        families = FIRMWARE[part]
        texts = sorted({each.firmware for each in around.nics if _family(each.firmware) in families})
        if texts:
            return _several(part, texts, NIC_FIRMWARE)
        return Absent(why=f"none of the node's {len(around.nics)} adapters is a {' or '.join(families)}")
    gaps = around.objects.blind(Source.NIC_DEVICES)
    if gaps:
        return unread(gaps)
    served = around.objects.is_served(Source.NIC_DEVICES)
    missing = "a NicDevice of the node" if served else "NicDevices, which the NIC configuration operator makes"
    return NotObservable(cause=Cause.NATURE, missing=missing)


def _family(text: str) -> str:
    head = text.partition(".")[0]
    return NIC_FAMILIES.get(int(head), "") if head.isascii() and head.isdigit() else ""


def _blind(around: Around) -> tuple[Gap, ...]:
    """Whether there may be pods on the node that we have not seen: DaemonSets say in which namespaces they are."""
    return around.objects.blind(Source.DAEMON_SETS, Source.PODS)


def _several(part: Component, texts: Sequence[str], evidence: str) -> Reading:
    """One reading of all that a node has of a component."""
    readings = [seen(part, text, evidence) for text in texts]
    unreadable = next((each for each in readings if not isinstance(each, Seen)), None)
    if unreadable is not None:
        return unreadable
    values = [each.value for each in readings if isinstance(each, Seen)]
    return Seen(value=values[0], evidence=evidence, more=tuple(values[1:]))


def _by_image(around: Around, part: Component) -> Reading:
    """The version that a Ready pod brings; a pod that is not Ready may have an image that was never pulled."""
    found = around.bringing(part)
    pod, name, image = next((each for each in found if each[0].is_ready), found[0])
    place = f"Pod in {pod.namespace}, container {name}"
    if pod.is_ready:
        return images.reading_of(part, image, place, around.digests)
    trouble = f" ({pod.trouble})" if pod.trouble else ""
    return NotObservable(cause=Cause.OBJECT, missing=f"a Ready pod: {place}, image {image} is not Ready{trouble}")


def _version_of_chart(label: str) -> str:
    """`nvidia-dra-driver-gpu-25.8.0` is a name and a version, both with dashes in them."""
    parts = label.split("-")
    start = next((number for number, each in enumerate(parts) if each.lstrip("v")[:1].isdigit()), len(parts))
    return "-".join(parts[start:])
