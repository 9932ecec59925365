"""What nodes tell of themselves: kernel, system, kubelet, container runtime, GPUs, and what people noted on them.

    osImage                                            os         NFD's labels are asked first
    Ubuntu 22.04.5 LTS                                 ubuntu22.04.5
    Red Hat Enterprise Linux CoreOS 418.94.2025…       rhcos      its own numbering says nothing about RHEL
    Red Hat Enterprise Linux 9.4 (Plow)                rhel9.4
    SUSE Linux Enterprise Server 15 SP6                sles15.6

Law of this file: one node in, readings of it out; a system that we cannot name is not observable, and no guess is made.
Tests: tests/core/survey/test_audit_readings.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.survey.audit.objects import NodeObject
from seatrial.core.survey.audit.readings import Absent, Cause, NotObservable, Reading, Seen, seen

TOLD: Final = "Node annotation seatrial.dev/observed-"
RUNTIMES: Final = {"containerd": Component.CONTAINERD, "cri-o": Component.CRI_O}
BY_NATURE: Final = {
    Component.CUDA: "it is in workload images; what nodes label as CUDA is the newest level that their driver supports",
    Component.CUDA_COMPAT: "it is in workload images",
    Component.NCCL: "it is in workload images",
    Component.VGPU: "nodes label the driver of the host, and not the vGPU release",
    Component.FABRIC_MANAGER: "it runs inside the driver container, and no object shows its version",
}
"""Components that no object of a cluster shows."""

_SYSTEMS: Final = (
    (re.compile(r"Ubuntu ([0-9.]+)"), "ubuntu"),
    (re.compile(r"Red Hat Enterprise Linux CoreOS()"), "rhcos"),
    (re.compile(r"Red Hat Enterprise Linux ([0-9.]+)"), "rhel"),
    (re.compile(r"Rocky Linux ([0-9.]+)"), "rocky"),
    (re.compile(r"Debian GNU/Linux ([0-9.]+)"), "debian"),
    (re.compile(r"SUSE Linux Enterprise Server ([0-9]+(?: SP[0-9]+)?)"), "sles"),
    (re.compile(r"Amazon Linux ([0-9]+)"), "amzn"),
    (re.compile(r"Container-Optimized OS()"), "cos"),
    (re.compile(r"Flatcar()"), "flatcar"),
    (re.compile(r"Talos()"), "talos"),
    (re.compile(r"Bottlerocket()"), "bottlerocket"),
)
_SHARED: Final = re.compile(r"(-SHARED|-MIG-[0-9a-z.+]+)+$")


def told(node: NodeObject, part: Component) -> Reading | None:
    """What people noted about a component; asked only where no object shows it."""
    text = node.told.get(part, "")
    return seen(part, text, f"{TOLD}{part.value}", "people noted it; nothing has checked it") if text else None


def by_nature(part: Component) -> Reading:
    """A component that no object shows."""
    return NotObservable(cause=Cause.NATURE, missing=BY_NATURE[part])


def kernel(node: NodeObject) -> Reading:
    return _from_status(Component.KERNEL, node.kernel, "kernelVersion")


def kubernetes(node: NodeObject) -> Reading:
    return _from_status(Component.KUBERNETES, node.kubelet, "kubeletVersion")


def runtime(node: NodeObject, part: Component) -> Reading:
    """containerd or CRI-O, one of which is on a node."""
    place = "Node status.nodeInfo.containerRuntimeVersion"
    name, _, version = node.runtime.partition("://")
    if not version:
        return NotObservable(cause=Cause.OBJECT, missing=f"{place}, which the kubelet has not filled in")
    if RUNTIMES.get(name) is not part:
        return Absent(why=f"{place} is {node.runtime}")
    return seen(part, version, place)


def system(node: NodeObject) -> Reading:
    """The operating system, by /etc/os-release where feature discovery tells it, else by what the kubelet calls it."""
    if node.os_id:
        by_label = seen(
            Component.OS, f"{node.os_id}{node.os_version}", "Node labels feature.node.kubernetes.io/system-os_release"
        )
        if isinstance(by_label, Seen):
            return by_label
    place = "Node status.nodeInfo.osImage"
    for pattern, name in _SYSTEMS:
        found = pattern.search(node.os_image)
        if found is not None:
            return seen(Component.OS, f"{name}{found[1].replace(' SP', '.').rstrip('.')}", place)
    return NotObservable(
        cause=Cause.OBJECT, missing=f"{place} says {node.os_image!r}; labels of node feature discovery would show it"
    )


def product(node: NodeObject, published: Iterable[str] = ()) -> str:
    """The GPU, without how it is shared or cut; empty where nobody says, and of several all."""
    known = {node.product} if node.product else {each.replace(" ", "-") for each in published}
    return " + ".join(sorted(_SHARED.sub("", each) for each in known))


def _from_status(part: Component, text: str, field: str) -> Reading:
    place = f"Node status.nodeInfo.{field}"
    if not text:
        return NotObservable(cause=Cause.OBJECT, missing=f"{place}, which the kubelet has not filled in")
    return seen(part, text, place)
