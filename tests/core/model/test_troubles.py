"""Known troubles, told by the words in which driver container, kubelet, runtime and scheduler really report them."""

from __future__ import annotations

import re
from itertools import permutations
from string import Formatter

import pytest

from seatrial.core.model.troubles import (
    ADVICE,
    FOUND_LENGTH_MAX,
    PATTERNS,
    Diagnosis,
    Symptom,
    Trouble,
    advice,
    classify,
    diagnose,
)


def container(reason: str, message: str = "") -> Symptom:
    return Symptom(source="container", reason=reason, message=message)


def event(reason: str, message: str = "") -> Symptom:
    return Symptom(source="event", reason=reason, message=message)


def node(reason: str, message: str = "") -> Symptom:
    return Symptom(source="node", reason=reason, message=message)


PREPARE = "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim gpu: "
SANDBOX = "Failed to create pod sandbox: rpc error: code = Unknown desc = "
PRECOMPILED = "nvcr.io/nvidia/driver:535-5.15.0-100-generic-ubuntu22.04"
ORDINARY = "nvcr.io/nvidia/driver:550.90.07-debian12"


def not_found(image: str) -> str:
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": '
        f'failed to resolve reference "{image}": {image}: not found'
    )


STALE_NVML = event(
    "FailedPrepareDynamicResources",
    f"{PREPARE}unable to create CDI spec file for claim: failed to initialize NVML: Driver/library version mismatch",
)
STALE_ROOTFS = event(
    "FailedPrepareDynamicResources",
    f'{PREPARE}failed to write spec: invalid CDI Spec: failed add device "0f3c-gpu-0": '
    "invalid device, empty device edits",
)
IN_USE = container(
    "Error",
    "Unloading NVIDIA driver kernel modules...\nCould not unload NVIDIA driver kernel modules, driver is in use\n",
)
NO_KERNEL = container("Error", "Resolving Linux kernel version...\nCould not resolve Linux kernel version\n")
NO_RUNTIME = event(
    "FailedCreatePodSandBox", f'{SANDBOX}failed to get sandbox runtime: no runtime for "nvidia" is configured'
)
NO_NETWORK = event(
    "FailedCreatePodSandBox",
    f'{SANDBOX}failed to setup network for sandbox "18073b": plugin type="calico" failed (add): connection refused',
)
NO_IMAGE = container("ErrImagePull", not_found(ORDINARY))
NO_GPU = event(
    "FailedScheduling",
    "0/4 nodes are available: 1 Insufficient nvidia.com/gpu, 3 node(s) didn't match Pod's node affinity/selector.",
)
NO_PLACE = event("FailedScheduling", "0/4 nodes are available: 4 node(s) had untolerated taint {dedicated: infra}.")
CRASHING = container(
    "CrashLoopBackOff", "back-off 5m0s restarting failed container=nvidia-driver-ctr pod=nvidia-driver-daemonset-x"
)
DISK = node("DiskPressure", "kubelet has disk pressure")


EXAMPLES: list[tuple[Symptom, Trouble]] = [
    (STALE_NVML, Trouble.DRA_STALE_NVML),
    (STALE_ROOTFS, Trouble.DRA_STALE_ROOTFS),
    (IN_USE, Trouble.DRIVER_IN_USE),
    (
        container(
            "Error",
            "failed to uninstall nvidia driver components: failed to unload driver: resource temporarily unavailable",
        ),
        Trouble.DRIVER_IN_USE,
    ),
    (
        container("Error", "level=warning msg=Failed to unload kernel module nvidia_uvm: device or resource busy"),
        Trouble.DRIVER_IN_USE,
    ),
    (container("Error", "rmmod: ERROR: Module nvidia_uvm is in use"), Trouble.DRIVER_IN_USE),
    (NO_KERNEL, Trouble.MODULE_LOAD),
    (container("Error", "modprobe: ERROR: could not insert 'nvidia': Exec format error"), Trouble.MODULE_LOAD),
    (
        container("Error", "modprobe: ERROR: could not insert 'nvidia': Required key not available"),
        Trouble.MODULE_LOAD,
    ),
    (
        container("Error", "modprobe: ERROR: could not insert 'ipmi_msghandler': Invalid argument"),
        Trouble.MODULE_LOAD,
    ),
    (
        container("Error", "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-59-generic"),
        Trouble.MODULE_LOAD,
    ),
    (
        container(
            "Error",
            "insmod: ERROR: could not insert module /lib/modules/nvidia/nvidia.ko: Unknown symbol in module",
        ),
        Trouble.MODULE_LOAD,
    ),
    (
        container("Error", "ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when"),
        Trouble.MODULE_LOAD,
    ),
    (
        container("Error", "ERROR: Unable to find the kernel source tree for the currently running kernel."),
        Trouble.MODULE_LOAD,
    ),
    (container("Error", "Failed to load NVIDIA kernel module"), Trouble.MODULE_LOAD),
    (
        container("Error", "E: Unable to locate package linux-headers-5.15.0-1041-fips"),
        Trouble.MODULE_LOAD,
    ),
    (
        container("Error", "Error: Unable to find a match: kernel-headers-5.14.0-503.23.1.el9_5.x86_64"),
        Trouble.MODULE_LOAD,
    ),
    (container("ErrImagePull", not_found(PRECOMPILED)), Trouble.MODULE_LOAD),
    (
        event("Failed", f'Failed to pull image "{PRECOMPILED}": manifest unknown: manifest unknown'),
        Trouble.MODULE_LOAD,
    ),
    (
        container(
            "ImagePullBackOff", f'Back-off pulling image "{PRECOMPILED}": ErrImagePull: {not_found(PRECOMPILED)}'
        ),
        Trouble.MODULE_LOAD,
    ),
    (NO_RUNTIME, Trouble.RUNTIME_RESTART),
    (
        event(
            "FailedCreatePodSandBox",
            f"{SANDBOX}failed to find runtime handler nvidia from runtime list map[runc:0xc0]",
        ),
        Trouble.RUNTIME_RESTART,
    ),
    (
        event(
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: rpc error: code = Unavailable desc = connection error: desc = "
            '"transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused"',
        ),
        Trouble.RUNTIME_RESTART,
    ),
    (
        event(
            "FailedCreatePodSandBox",
            f"{SANDBOX}OCI runtime create failed: fork/exec /usr/local/nvidia/toolkit/nvidia-container-runtime: "
            "no such file or directory: unknown",
        ),
        Trouble.RUNTIME_RESTART,
    ),
    (event("RuntimeHandlerNotFound"), Trouble.RUNTIME_RESTART),
    (event("FailedCreatePodSandBox", f"{SANDBOX}context deadline exceeded"), Trouble.RUNTIME_RESTART),
    (node("KubeletNotReady", "container runtime is down"), Trouble.RUNTIME_RESTART),
    (
        node("KubeletNotReady", "container runtime not ready: RuntimeReady=false reason:NotReady"),
        Trouble.RUNTIME_RESTART,
    ),
    (NO_IMAGE, Trouble.IMAGE_PULL),
    (container("ImagePullBackOff", f'Back-off pulling image "{ORDINARY}"'), Trouble.IMAGE_PULL),
    (container("ImagePullBackOff", f'Back-off pulling image "{PRECOMPILED}"'), Trouble.IMAGE_PULL),
    (
        event("Failed", f'Failed to pull image "{ORDINARY}": manifest unknown: manifest unknown'),
        Trouble.IMAGE_PULL,
    ),
    (event("BackOff", f'Back-off pulling image "{ORDINARY}"'), Trouble.IMAGE_PULL),
    (event("Failed", "Error: ImagePullBackOff"), Trouble.IMAGE_PULL),
    (
        container("ErrImagePull", f'failed to pull "{PRECOMPILED}": 401 Unauthorized'),
        Trouble.IMAGE_PULL,
    ),
    (NO_GPU, Trouble.DEVICE_PLUGIN_MISSING),
    (
        event("FailedScheduling", "0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.5gb."),
        Trouble.DEVICE_PLUGIN_MISSING,
    ),
    (
        event(
            "UnexpectedAdmissionError",
            "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
            "Requested: 1, Available: 0, which is unexpected",
        ),
        Trouble.DEVICE_PLUGIN_MISSING,
    ),
    (
        event(
            "UnexpectedAdmissionError",
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, "
            "which is unexpected",
        ),
        Trouble.DEVICE_PLUGIN_MISSING,
    ),
    (
        event(
            "OutOfnvidia.com/gpu",
            "Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 8, capacity: 8",
        ),
        Trouble.DEVICE_PLUGIN_MISSING,
    ),
    (DISK, Trouble.NODE_PRESSURE),
    (node("MemoryPressure", "kubelet has insufficient memory available"), Trouble.NODE_PRESSURE),
    (node("KubeletHasInsufficientPID", "kubelet has insufficient PID available"), Trouble.NODE_PRESSURE),
    (node("NetworkUnavailable", "Calico is shutting down on this node"), Trouble.NODE_PRESSURE),
    (
        node(
            "KubeletNotReady",
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
            "message:Network plugin returns error: cni plugin not initialized",
        ),
        Trouble.NODE_PRESSURE,
    ),
    (NO_NETWORK, Trouble.NODE_PRESSURE),
    (
        event("Evicted", "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi."),
        Trouble.NODE_PRESSURE,
    ),
    (event("NodeHasDiskPressure", "Node n1 status is now: NodeHasDiskPressure"), Trouble.NODE_PRESSURE),
    (
        event(
            "FailedScheduling",
            "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }.",
        ),
        Trouble.NODE_PRESSURE,
    ),
    (
        container("ErrImagePull", "failed to copy: write /var/lib/containerd/ingest/data: no space left on device"),
        Trouble.NODE_PRESSURE,
    ),
    (CRASHING, Trouble.CRASH_LOOP),
    (
        event("BackOff", "Back-off restarting failed container nvidia-driver-ctr in pod nvidia-driver-daemonset-x"),
        Trouble.CRASH_LOOP,
    ),
    (NO_PLACE, Trouble.UNSCHEDULED),
    (event("Unschedulable", "0/4 nodes are available"), Trouble.UNSCHEDULED),
]


@pytest.mark.parametrize(
    ("symptom", "trouble"),
    EXAMPLES,
    ids=lambda value: value.message[-40:] if isinstance(value, Symptom) else str(value),
)
def test_a_trouble_is_known_by_its_words(symptom: Symptom, trouble: Trouble) -> None:
    assert classify([symptom]) is trouble


@pytest.mark.parametrize(
    "symptom",
    [
        container("Error", "RuntimeError: Found no NVIDIA driver on your system."),
        container("Error", "nvidia-smi: the GPU's driver is in use by another process, retrying"),
        container("Error", "Failed to initialize NVML: Driver/library version mismatch"),
        container("Error", "warning: empty device edits"),
        container("Error", "rmmod: ERROR: Module nouveau is in use"),
        container("Error", "modprobe: ERROR: could not insert 'nouveau': No such device"),
        container("Error", "E: Unable to locate package cuda-toolkit-12-9"),
        container("Error", 'no runtime for "nvidia" is configured'),
        container("Error", "model.bin: not found"),
        container("OOMKilled"),
        container("ContainerCreating"),
        container("PodInitializing"),
        event("FailedPrepareDynamicResources", "DRA driver compute-domain.nvidia.com is not registered"),
        event("Failed", "Error: failed to create containerd task: exec: python: executable file not found in $PATH"),
        event("Unhealthy", "Startup probe failed: nvidia-smi has failed because it couldn't communicate"),
        event(
            "UnexpectedAdmissionError", "Allocate failed due to requested number of devices unavailable for x.com/fpga"
        ),
        event("Scheduled", "Successfully assigned gpu-operator/nvidia-driver-daemonset-x to n1"),
        event("Pulled", f'Successfully pulled image "{ORDINARY}"'),
        node("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        node("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        node("NodeStatusUnknown", "Kubelet stopped posting node status."),
        node("KubeletReady", "kubelet is posting ready status"),
    ],
    ids=lambda symptom: f"{symptom.reason}: {symptom.message[:40]}",
)
def test_what_only_resembles_a_trouble_is_none(symptom: Symptom) -> None:
    assert classify([symptom]) is None


def test_a_workload_that_crashes_over_nvidia_is_a_crash_and_nothing_more() -> None:
    log = "Failed to initialize NVML: Driver/library version mismatch\nCUDA driver is in use"
    assert classify([container("CrashLoopBackOff", log)]) is Trouble.CRASH_LOOP


def test_nothing_seen_is_nothing_known() -> None:
    assert classify([]) is None
    assert diagnose([]) is None


@pytest.mark.parametrize(
    ("telling", "less_telling"),
    [
        (IN_USE, CRASHING),
        (NO_KERNEL, CRASHING),
        (IN_USE, NO_KERNEL),
        (NO_IMAGE, NO_PLACE),
        (NO_IMAGE, DISK),
        (container("ErrImagePull", not_found(PRECOMPILED)), event("Failed", "Error: ErrImagePull")),
        (container("ErrImagePull", "write /var/lib/containerd: no space left on device"), NO_IMAGE),
        (NO_RUNTIME, NO_GPU),
        (NO_NETWORK, event("FailedCreatePodSandBox", f"{SANDBOX}context deadline exceeded")),
        (NO_GPU, NO_PLACE),
        (NO_GPU, event("FailedScheduling", "untolerated taint {node.kubernetes.io/disk-pressure: }")),
        (DISK, CRASHING),
        (STALE_NVML, CRASHING),
        (CRASHING, NO_PLACE),
    ],
)
def test_the_more_telling_symptom_wins_in_whatever_order_they_are_seen(telling: Symptom, less_telling: Symptom) -> None:
    trouble = classify([telling])
    assert trouble is not classify([less_telling])
    assert {classify(order) for order in permutations([telling, less_telling])} == {trouble}


def test_every_trouble_has_rows_and_advice() -> None:
    assert {pattern.trouble for pattern in PATTERNS} == set(Trouble) == set(ADVICE)


def row_of(symptom: Symptom) -> int:
    """The row that knows the symptom, read from the table alone: what the docs promise is what the code does."""
    return next(
        index
        for index, row in enumerate(PATTERNS)
        if symptom.source in row.sources
        and (not row.reason or re.fullmatch(row.reason, symptom.reason))
        and re.search(row.message, symptom.message)
    )


def test_every_row_is_needed_by_an_example_and_gives_its_trouble() -> None:
    rows = {row_of(symptom): trouble for symptom, trouble in EXAMPLES}
    assert rows == {index: row.trouble for index, row in enumerate(PATTERNS)}


def test_the_line_that_matched_is_found_in_a_long_log() -> None:
    log = "Stopping NVIDIA persistence daemon...\n  Could not resolve   Linux kernel version \nUnmounting rootfs...\n"
    assert diagnose([container("Error", log)]) is None
    log = log.replace("   ", " ")
    assert diagnose([container("Error", log)]) == Diagnosis(
        trouble=Trouble.MODULE_LOAD, found="Could not resolve Linux kernel version"
    )


def test_a_symptom_without_a_message_is_found_by_its_reason() -> None:
    assert diagnose([container("CrashLoopBackOff")]) == Diagnosis(trouble=Trouble.CRASH_LOOP, found="CrashLoopBackOff")


@pytest.mark.parametrize("before", [0, 150, 5000])
@pytest.mark.parametrize("after", [0, 5000])
def test_what_is_found_is_short_and_holds_the_telling_words(before: int, after: int) -> None:
    telling = 'no runtime for "nvidia" is configured'
    found = diagnose([event("FailedCreatePodSandBox", "x" * before + telling + "y" * after)])
    assert found is not None
    assert telling in found.found
    assert len(found.found) <= FOUND_LENGTH_MAX


def test_a_match_longer_than_may_be_shown_is_shown_from_its_beginning() -> None:
    found = diagnose([container("ErrImagePull", f'{"x" * 300} "{PRECOMPILED}": {"y" * 300}: not found')])
    assert found is not None
    assert found.found.startswith("driver:535-5.15.0-100-generic-ubuntu22.04")
    assert len(found.found) == FOUND_LENGTH_MAX


@pytest.mark.parametrize("trouble", Trouble)
def test_advice_is_two_sentences_with_nothing_left_open(trouble: Trouble) -> None:
    diagnosis = Diagnosis(trouble=trouble, found="it said {this}. ")
    why, next_step = advice(
        diagnosis, pod="gpu-operator/nvidia-driver-daemonset-x", node="n1", kernel="6.8.0-59-generic"
    )
    assert why.endswith(": it said {this}")
    assert next_step.endswith(".")
    assert next_step[0].isupper()
    assert next_step.count("`") % 2 == 0
    assert not re.search(r"\{(pod|node|kernel|found)\}", why + next_step)


@pytest.mark.parametrize("trouble", Trouble)
def test_advice_uses_known_placeholders_only(trouble: Trouble) -> None:
    names = {name for text in ADVICE[trouble] for _, name, _, _ in Formatter().parse(text) if name is not None}
    assert names <= {"pod", "node", "kernel", "found"}


def test_a_kernel_nobody_knows_is_called_unknown() -> None:
    why, _ = advice(Diagnosis(trouble=Trouble.MODULE_LOAD, found="x"), pod="p", node="n1")
    assert why == "this driver cannot be built or loaded on n1, with kernel (unknown): x"
