"""Failures recognised from what is seen: which of the known troubles a node has, and what to do about it at night.

A symptom is a text somebody else wrote: a container's state or the end of its log, an event, a condition of the node.
PATTERNS is the whole knowledge, as data: rows from the most telling to the least, and the first row that any symptom
matches is the answer. So the order of the symptoms does not matter, and "driver is in use" beats the CrashLoopBackOff
it causes. A row that says less than it seems to is worse than none: it sends somebody the wrong way. Hence every row
names its sources, and texts are matched as the driver container, the kubelet, containerd and CRI-O really write them.

The caller chooses whose symptoms these are: containers of NVIDIA's own pods only (a workload may print what it likes),
events of pods on the node, and conditions of the node that hold now (DiskPressure=True, Ready=False), never those that
do not.

Tests: tests/core/model/test_troubles.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Final, Literal, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.text.commands import filled

Source: TypeAlias = Literal["container", "event", "node"]
"""Where a symptom was seen."""

FOUND_LENGTH_MAX: Final = 200
"""So much of a matching text is shown; logs have no end."""


class Trouble(StrEnum):
    """A class of failures with one cause and one way out."""

    IMAGE_PULL = "image-pull"
    MODULE_LOAD = "module-load"
    DRIVER_IN_USE = "driver-in-use"
    CRASH_LOOP = "crash-loop"
    RUNTIME_RESTART = "runtime-restart"
    DEVICE_PLUGIN_MISSING = "device-plugin-missing"
    DRA_STALE_NVML = "dra-stale-nvml"
    DRA_STALE_ROOTFS = "dra-stale-rootfs"
    NODE_PRESSURE = "node-pressure"
    UNSCHEDULED = "unscheduled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One text that says something is wrong."""

    source: Source
    reason: str
    """One word: a container's waiting or terminated reason, an event's reason, a condition's type or reason."""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One row: a symptom from one of the sources whose reason and message both match points to the trouble."""

    trouble: Trouble
    sources: tuple[Source, ...]
    reason: str = ""
    """A regular expression for the whole reason; empty when any reason will do."""
    message: str = ""
    """A regular expression for some part of the message; empty when any message will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A trouble and the text that gave it away."""

    trouble: Trouble
    found: str


_PULL_REASONS: Final = (
    "ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|ImageInspectError|RegistryUnavailable"
    "|SignatureValidationFailed"
)

PATTERNS: Final[tuple[Pattern, ...]] = (
    Pattern(
        trouble=Trouble.DRA_STALE_NVML,
        sources=("event",),
        reason="FailedPrepareDynamicResources",
        message="Driver/library version mismatch",
    ),
    Pattern(
        trouble=Trouble.DRA_STALE_ROOTFS,
        sources=("event",),
        reason="FailedPrepareDynamicResources",
        message="empty device edits",
    ),
    Pattern(
        trouble=Trouble.DRIVER_IN_USE,
        sources=("container",),
        message=r"Could not unload NVIDIA driver kernel modules"
        r"|failed to unload driver: (resource temporarily unavailable|device or resource busy)"
        r"|Failed to unload kernel module (nvidia\w*|gdrdrv)\b"
        r"|rmmod: ERROR: Module nvidia\w* is in use",
    ),
    Pattern(
        trouble=Trouble.MODULE_LOAD,
        sources=("container",),
        message=r"Could not resolve Linux kernel version"
        r"|modprobe: (ERROR|FATAL): could not insert '(nvidia|gdrdrv|ipmi_|i2c_core)"
        r"|modprobe: (ERROR|FATAL): Module nvidia\S* not found"
        r"|insmod: ERROR: could not insert module \S*nvidia\S*\.ko"
        r"|[Ff]ailed to load (the )?NVIDIA kernel module"
        r"|Unable to load the kernel module 'nvidia"
        r"|Unable to load the 'nvidia\S*' kernel module"
        r"|[Uu]nable to find the kernel source tree"
        r"|Unable to locate package linux-(headers|image|modules|objects|signatures)-"
        r"|(No match for argument|Unable to find a match|No package): kernel-(headers|devel|core|modules)"
        r"|No package kernel-(headers|devel|core|modules)\S* available",
    ),
    # A precompiled image carries the kernel in its tag (570-6.8.0-59-generic-ubuntu24.04): when that one tag does not
    # exist, pulling again is no cure, another kernel or another image is.
    Pattern(
        trouble=Trouble.MODULE_LOAD,
        sources=("container", "event"),
        reason=f"{_PULL_REASONS}|Failed|BackOff",
        message=r"driver:\d+(\.\d+)*-\d+\.\d+\.\d+-[^\s\"].*(not found|manifest unknown)",
    ),
    Pattern(
        trouble=Trouble.RUNTIME_RESTART,
        sources=("event",),
        reason="RuntimeHandlerNotFound",
    ),
    Pattern(
        trouble=Trouble.RUNTIME_RESTART,
        sources=("event",),
        reason="FailedCreatePodSandBox",
        message=r'no runtime for "nvidia\S*" is configured'
        r"|failed to find runtime handler nvidia"
        r"|RuntimeHandler \"nvidia\S*\" not supported"
        r"|(containerd|crio|cri-dockerd)\.sock: connect: "
        r"|nvidia-container-runtime\S*: (stat \S+: )?no such file or directory",
    ),
    Pattern(
        trouble=Trouble.RUNTIME_RESTART,
        sources=("node",),
        message=r"container runtime (is down|not ready|status check may not have completed yet)|RuntimeReady=false",
    ),
    Pattern(
        trouble=Trouble.NODE_PRESSURE,
        sources=("container", "event"),
        reason=f"{_PULL_REASONS}|Failed|FailedCreatePodSandBox|Evicted",
        message="no space left on device|The node was low on resource|The node had condition",
    ),
    Pattern(
        trouble=Trouble.IMAGE_PULL,
        sources=("container",),
        reason=_PULL_REASONS,
    ),
    Pattern(
        trouble=Trouble.IMAGE_PULL,
        sources=("event",),
        reason="Failed|BackOff|InspectFailed|ErrImageNeverPull",
        message="Failed to pull image|Back-off pulling image|ErrImagePull|ImagePullBackOff"
        "|Failed to apply default image tag",
    ),
    Pattern(
        trouble=Trouble.NODE_PRESSURE,
        sources=("node",),
        reason="DiskPressure|MemoryPressure|PIDPressure|NetworkUnavailable"
        "|KubeletHasDiskPressure|KubeletHasInsufficientMemory|KubeletHasInsufficientPID|NoRouteCreated",
    ),
    Pattern(
        trouble=Trouble.NODE_PRESSURE,
        sources=("node",),
        message="NetworkReady=false|[Nn]etwork plugin (is )?not ready|cni plugin not initialized",
    ),
    Pattern(
        trouble=Trouble.NODE_PRESSURE,
        sources=("event",),
        reason="NodeHasDiskPressure|NodeHasInsufficientMemory|NodeHasInsufficientPID|EvictionThresholdMet"
        "|FreeDiskSpaceFailed",
    ),
    Pattern(
        trouble=Trouble.NODE_PRESSURE,
        sources=("event",),
        reason="FailedCreatePodSandBox|NetworkNotReady",
        message="failed to setup network for sandbox|network is not ready|failed \\(add\\): |CNI network",
    ),
    Pattern(
        trouble=Trouble.DEVICE_PLUGIN_MISSING,
        sources=("event",),
        reason="FailedScheduling|UnexpectedAdmissionError|OutOfnvidia\\.com/\\S+",
        message=r"Insufficient nvidia\.com/(gpu|mig-)"
        r"|(unhealthy|unavailable) (for|devices) nvidia\.com/(gpu|mig-)"
        r"|unregistered device nvidia\.com/(gpu|mig-)"
        r"|Node didn't have enough resource: nvidia\.com/(gpu|mig-)",
    ),
    # The scheduler speaks of all nodes at once, so this may be another node's taint: ask for the GPU first.
    Pattern(
        trouble=Trouble.NODE_PRESSURE,
        sources=("event",),
        reason="FailedScheduling",
        message=r"node\.kubernetes\.io/(disk-pressure|memory-pressure|pid-pressure|network-unavailable)",
    ),
    # From here on the rows know the symptom, not the cause.
    Pattern(
        trouble=Trouble.RUNTIME_RESTART,
        sources=("event",),
        reason="FailedCreatePodSandBox",
    ),
    Pattern(
        trouble=Trouble.CRASH_LOOP,
        sources=("container",),
        reason="CrashLoopBackOff",
    ),
    Pattern(
        trouble=Trouble.CRASH_LOOP,
        sources=("event",),
        reason="BackOff",
        message="[Bb]ack-off restarting failed container",
    ),
    Pattern(
        trouble=Trouble.UNSCHEDULED,
        sources=("event",),
        reason="FailedScheduling|Unschedulable",
    ),
)
"""What points to what, the most telling first. docs are generated from this table."""


def _says(why: str, next_step: str) -> tuple[str, str]:
    return why, next_step


ADVICE: Final[Mapping[Trouble, tuple[str, str]]] = {
    Trouble.IMAGE_PULL: _says(
        "the image of {pod} cannot be pulled: {found}",
        "Check that the tag exists and that {node} can reach the registry and log in to it; "
        "the kubelet retries on its own.",
    ),
    Trouble.MODULE_LOAD: _says(
        "this driver cannot be built or loaded on {node}, with kernel {kernel}: {found}",
        "Waiting does not help. Where other nodes run this driver on kernel {kernel} (`seatrial audit`), the cause is "
        "on {node} itself: compare its kernel's headers and modules. Otherwise choose a driver that supports this "
        "kernel, or boot {node} into one that this driver supports.",
    ),
    Trouble.DRIVER_IN_USE: _says(
        "something on {node} still uses the driver that is loaded, so it cannot be unloaded: {found}",
        "Find the holder with `kubectl get pods -A -o wide --field-selector spec.nodeName={node}` (and "
        "`fuser -v /dev/nvidia*` on the node), stop it, then delete {pod}; if nothing is left to stop, reboot "
        "the node.",
    ),
    Trouble.CRASH_LOOP: _says(
        "a container of {pod} keeps starting and failing: {found}",
        "The reason is in its log: `kubectl logs --previous --all-containers` of {pod}.",
    ),
    Trouble.RUNTIME_RESTART: _says(
        "the container runtime of {node} does not start pods with the NVIDIA runtime: {found}",
        "Usual for a minute while the toolkit restarts the runtime; if it lasts, delete the pod with "
        "app=nvidia-container-toolkit-daemonset on {node}, which rewrites the runtime's configuration.",
    ),
    Trouble.DEVICE_PLUGIN_MISSING: _says(
        "{node} offers no free GPU to {pod}: {found}",
        "Compare `kubectl describe node {node}`: without nvidia.com/gpu under Allocatable the device plugin is not "
        "registered (delete its pod there); with it, all GPUs are in use and one must be freed.",
    ),
    Trouble.DRA_STALE_NVML: _says(
        "the DRA plugin on {node} still runs with the library of the old driver: {found}",
        "Delete the DRA kubelet plugin's pod on {node}; pods with prepared claims keep running meanwhile.",
    ),
    Trouble.DRA_STALE_ROOTFS: _says(
        "the DRA plugin on {node} still uses the files of a driver or toolkit that was replaced: {found}",
        "Delete the DRA kubelet plugin's pod on {node}; pods with prepared claims keep running meanwhile.",
    ),
    Trouble.NODE_PRESSURE: _says(
        "{node} itself is short of something every pod needs (disk, memory, process ids or the network): {found}",
        "Fix the node first (`kubectl describe node {node}`, under Conditions); the driver then continues on its own.",
    ),
    Trouble.UNSCHEDULED: _says(
        "no place was found for {pod}: {found}",
        "Compare the taints and labels of {node} with the tolerations and selectors of {pod}: "
        "`kubectl describe node {node}`.",
    ),
}
"""Why, as the middle of a sentence, and what next; advice() fills `{pod}`, `{node}`, `{kernel}` and `{found}`."""


ADVICE_BACK: Final[Mapping[Trouble, str]] = {
    Trouble.MODULE_LOAD: "Choose no other driver: {back} is wanted here again, and {node} ran it before. If {back} "
    "does not load, boot {node} into the kernel that it ran then, or provide what {back} needs for kernel {kernel} "
    "(its headers, or a precompiled image). If {node} cannot come back, `seatrial node skip {node}` takes it out.",
}
"""What next on the way back, where the way there asks for another driver."""


def classify(symptoms: Iterable[Symptom]) -> Trouble | None:
    """The most telling trouble among the symptoms; None when none is known."""
    found = diagnose(symptoms)
    return found.trouble if found else None


def diagnose(symptoms: Iterable[Symptom]) -> Diagnosis | None:
    """As classify, with the text that gave the trouble away."""
    seen = tuple(symptoms)
    for pattern, reason, message in _compiled() if seen else ():
        for symptom in seen:
            if symptom.source in pattern.sources and reason.fullmatch(symptom.reason):
                match = message.search(symptom.message)
                if match:
                    return Diagnosis(trouble=pattern.trouble, found=_found(symptom, match))
    return None


def advice(diagnosis: Diagnosis, *, pod: str, node: str, kernel: str = "", back: str = "") -> tuple[str, str]:
    """Why, and what next, in sentences with nothing left open; `back` is what the node goes back to, where it does."""
    why, next_step = ADVICE[diagnosis.trouble]
    next_step = ADVICE_BACK.get(diagnosis.trouble, next_step) if back else next_step
    # What others say may end with a full stop of its own.
    found = diagnosis.found.rstrip(". ")
    names = {"pod": pod, "node": node, "kernel": kernel or "(unknown)", "found": found, "back": back}
    return filled(why, names), filled(next_step, names)


def _found(symptom: Symptom, match: re.Match[str]) -> str:
    """The line that matched, as one short text around the match; the reason where the message says nothing."""
    begin = symptom.message.rfind("\n", 0, match.start()) + 1
    end = symptom.message.find("\n", match.end())
    line = symptom.message[begin : end if end >= 0 else None]
    # The telling words come last in what kubelets say, behind a chain of wrappings: cut on the left to keep them.
    cut = max(0, min(match.start() - begin, match.end() - begin - FOUND_LENGTH_MAX))
    return " ".join(line[cut : cut + FOUND_LENGTH_MAX].split()) or symptom.reason


@cache
def _compiled() -> tuple[tuple[Pattern, re.Pattern[str], re.Pattern[str]], ...]:
    """Every row with its patterns; made when the first symptom is seen, since forty take a while."""
    return tuple((each, re.compile(each.reason or ".*", re.DOTALL), re.compile(each.message)) for each in PATTERNS)
