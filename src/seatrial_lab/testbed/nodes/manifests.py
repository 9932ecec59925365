"""The objects of a simulated GPU fleet, as Kubernetes would store them. Only values in, values out.

Names, labels and images are those of the GPU Operator, so that everything which looks for them finds them.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from seatrial_lab.testbed.nodes import stages

Object = dict[str, Any]

FLEET_LABEL: Final = f"{stages.GROUP}/fleet"
DRIVER_APP: Final = "nvidia-driver-daemonset"
VALIDATOR_APP: Final = "nvidia-operator-validator"
DEVICE_PLUGIN_APP: Final = "nvidia-device-plugin-daemonset"
FEATURE_DISCOVERY_APP: Final = "gpu-feature-discovery"
DRIVER_CONTAINER: Final = "nvidia-driver-ctr"
RUNTIME_CLASS: Final = "nvidia"
MANAGER_IMAGE: Final = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.8.0"
OPERAND_IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin:v0.17.3"
VALIDATOR_IMAGE: Final = "nvcr.io/nvidia/cloud-native/gpu-operator-validator:v25.3.2"
# What operands.py plays for the pods that bear it.
OPERAND_LABEL: Final = f"{stages.GROUP}/operand"
DEPLOY: Final = "nvidia.com/gpu.deploy"
KERNEL: Final = "5.15.0-151-generic"
NODES_PER_RACK: Final = 8
ZONES: Final = ("zone-a", "zone-b", "zone-c")
# CUDA's own version does not matter to an upgrade of the driver, but the labels exist.
CUDA_RUNTIME: Final = ("12", "8")

_TOLERATE_EVERYTHING: Final = [{"operator": "Exists"}]
REAL_LABEL: Final = f"{stages.GROUP}/real"
"""What tells a real node from a simulated one."""
# Workloads of a fleet go where its nodes are only simulated, too; beside real ones those are tainted.
SIMULATED: Final = f"{stages.GROUP}/simulated"
TOLERATE_SIMULATED: Final = [{"key": SIMULATED, "operator": "Exists"}]


def node(prefix: str, position: int, *, gpus_per_node: int, driver_version: str = "") -> Object:
    """Return the node at a position of a fleet; with the labels of a driver version only where one is given."""
    name = node_name(prefix, position)
    rack = position // NODES_PER_RACK
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake", stages.GPU_COUNT: str(gpus_per_node)},
            "labels": {
                FLEET_LABEL: prefix,
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": ZONES[rack % len(ZONES)],
                "topology.kubernetes.io/rack": f"rack-{rack:02}",
                "feature.node.kubernetes.io/pci-10de.present": "true",
                stages.KERNEL_LABEL: KERNEL,
                "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
                "feature.node.kubernetes.io/system-os_release.VERSION_ID": "22.04",
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gpu.memory": "81559",
                "nvidia.com/gpu.count": str(gpus_per_node),
                "nvidia.com/gpu.clique": f"{uuid.uuid5(uuid.NAMESPACE_DNS, prefix)}.{rack}",
                f"{DEPLOY}.driver": "true",
                f"{DEPLOY}.operator-validator": "true",
                **(driver_labels(driver_version) if driver_version else {}),
            },
        },
    }


def node_name(prefix: str, position: int) -> str:
    """Return the name of the node at a position of a fleet."""
    return f"{prefix}-{position:03}"


def driver_daemon_set(
    prefix: str, namespace: str, *, driver_version: str, reload_seconds: float, reload_jitter_seconds: float
) -> Object:
    """Return the DaemonSet whose pods load the driver; a changed template moves nothing until a pod is deleted."""
    pacing = {stages.READY_AFTER: _seconds(reload_seconds)}
    if reload_jitter_seconds > 0:
        pacing[stages.READY_AT_MOST] = _seconds(reload_seconds + reload_jitter_seconds)
    manager = {
        "name": "k8s-driver-manager",
        "image": MANAGER_IMAGE,
        "args": ["uninstall_driver"],
    }
    driver = {
        "name": DRIVER_CONTAINER,
        "image": driver_image(driver_version),
        "args": ["init"],
        "securityContext": {"privileged": True},
    }
    labels = {"app": DRIVER_APP, **stages.DRIVER_LABELS}
    spec = {"hostPID": True, "initContainers": [manager], "containers": [driver]}
    return _daemon_set(driver_daemon_set_name(prefix), namespace, prefix, labels, pacing, spec, "OnDelete")


def validator_daemon_set(prefix: str, namespace: str, *, validator_seconds: float) -> Object:
    """Return the DaemonSet whose pods validate the driver of their node."""
    container = {"name": VALIDATOR_APP, "image": VALIDATOR_IMAGE}
    labels = {"app": VALIDATOR_APP, "app.kubernetes.io/part-of": "gpu-operator"}
    pacing = {stages.READY_AFTER: _seconds(validator_seconds)}
    spec = {"containers": [container]}
    return _daemon_set(validator_daemon_set_name(prefix), namespace, prefix, labels, pacing, spec, "RollingUpdate")


def device_plugin_daemon_set(prefix: str, namespace: str, *, ready_seconds: float) -> Object:
    """Return the DaemonSet whose pods tell the kubelet of their node how many GPUs there are."""
    return _operand(prefix, namespace, "device-plugin", DEVICE_PLUGIN_APP, "nvidia-device-plugin", ready_seconds)


def feature_discovery_daemon_set(prefix: str, namespace: str, *, ready_seconds: float) -> Object:
    """Return the DaemonSet whose pods label their node with the driver that is loaded."""
    app = FEATURE_DISCOVERY_APP
    return _operand(prefix, namespace, app, app, app, ready_seconds)


def governed_daemon_set(prefix: str, namespace: str, *, app: str, version: str, ready_seconds: float) -> Object:
    """Return the DaemonSet of an operand that is moved node by node; there is one of it in a namespace, by its app."""
    pod = {"containers": [{"name": app, "image": f"nvcr.io/nvidia/{app}:{version}"}]}
    labels = {"app": app, "app.kubernetes.io/part-of": "gpu-operator"}
    return _daemon_set(app, namespace, prefix, labels, {stages.READY_AFTER: _seconds(ready_seconds)}, pod, "OnDelete")


def moved_driver_daemon_set(daemon_set: Object, name: str) -> Object:
    """Return the DaemonSet that takes over from one whose pods were orphaned, as the one of an NVIDIADriver does.

    Its selector is its own, or it would adopt the orphans; its pods wait until the orphan of their node is gone.
    """
    prefix = daemon_set["metadata"]["labels"][FLEET_LABEL]
    template = daemon_set["spec"]["template"]
    labels = template["metadata"]["labels"] | {"app": name}
    apart = {
        "labelSelector": {"matchLabels": dict(stages.DRIVER_LABELS)},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": daemon_set["metadata"]["namespace"], "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app": name, FLEET_LABEL: prefix}},
            "updateStrategy": {"type": "OnDelete"},
            "template": {
                "metadata": {"labels": labels, "annotations": template["metadata"].get("annotations", {})},
                "spec": template["spec"] | {"affinity": affinity},
            },
        },
    }


def driver_daemon_set_name(prefix: str) -> str:
    """Return the name of a fleet's driver DaemonSet."""
    return f"{DRIVER_APP}-{prefix}"


def validator_daemon_set_name(prefix: str) -> str:
    """Return the name of a fleet's validator DaemonSet."""
    return f"{VALIDATOR_APP}-{prefix}"


def driver_image(version: str) -> str:
    """Return the image that holds a driver version."""
    return f"nvcr.io/nvidia/driver:{version}-ubuntu22.04"


def driver_version(image: str) -> str:
    """Return the driver version that an image holds."""
    return image.rpartition(":")[2].partition("-")[0]


def driver_labels(version: str) -> dict[str, str]:
    """Return the labels that gpu-feature-discovery derives from a driver version, newer and older names."""
    major, minor, revision = [*version.split("."), "", ""][:3]
    return {
        "nvidia.com/cuda.driver-version.full": version,
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.driver-version.revision": revision,
        "nvidia.com/cuda.driver.major": major,
        "nvidia.com/cuda.driver.minor": minor,
        "nvidia.com/cuda.driver.rev": revision,
        "nvidia.com/cuda.runtime.major": CUDA_RUNTIME[0],
        "nvidia.com/cuda.runtime.minor": CUDA_RUNTIME[1],
    }


def runtime_class() -> Object:
    """Return the RuntimeClass that the container toolkit sets up; shared by all fleets."""
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": RUNTIME_CLASS},
        "handler": stages.RUNTIME_HANDLER,
    }


def namespace(name: str, prefix: str, *, labels: Mapping[str, str] | None = None) -> Object:
    """Return a namespace of a fleet."""
    whole = {FLEET_LABEL: prefix, **(labels or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": whole}}


def event(pod: Object, *, name: str, reason: str, message: str, at: str, count: int) -> Object:
    """Return a Warning that the kubelet of a pod's node gives about it."""
    about = pod["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about["namespace"]},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": about["namespace"],
            "name": about["name"],
            "uid": about["uid"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "count": count,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": {"component": "kubelet", "host": pod["spec"].get("nodeName", "")},
        "reportingComponent": "kubelet",
        "reportingInstance": pod["spec"].get("nodeName", ""),
    }


def service_account(name: str, where: str) -> Object:
    """Return a ServiceAccount; made by us, because waiting for the default one of a new namespace takes a while."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": where},
        "automountServiceAccountToken": False,
    }


def deployment(
    name: str, where: str, prefix: str, *, replicas: int, gpus_per_pod: int, termination_seconds: float
) -> Object:
    """Return a workload on the GPUs of a fleet."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": {stages.GONE_AFTER: _seconds(termination_seconds)}},
        "spec": _gpu_pod(name, {FLEET_LABEL: prefix}, gpus_per_pod, termination_seconds),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": where},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def disruption_budget(name: str, where: str, *, min_available: int) -> Object:
    """Return the PodDisruptionBudget of a workload."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": where},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": name}}},
    }


def job(
    name: str, where: str, node_name: str, *, gpus: int, runs_seconds: float | None, termination_seconds: float
) -> Object:
    """Return a Job whose one pod runs on a certain node, for a time or for ever."""
    pacing = {stages.GONE_AFTER: _seconds(termination_seconds)}
    if runs_seconds is not None:
        pacing[stages.DONE_AFTER] = _seconds(runs_seconds)
    pod = _gpu_pod(name, {"kubernetes.io/hostname": node_name}, gpus, termination_seconds) | {"restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": where},
        "spec": {"template": {"metadata": {"labels": {"app": name}, "annotations": pacing}, "spec": pod}},
    }


def _operand(prefix: str, where: str, deploy: str, app: str, container: str, ready_seconds: float) -> Object:
    """Return the DaemonSet of an operand that runs on nodes where its deploy label says so."""
    labels = {"app": app, "app.kubernetes.io/part-of": "gpu-operator", OPERAND_LABEL: deploy}
    pod = {
        "runtimeClassName": RUNTIME_CLASS,
        "nodeSelector": {FLEET_LABEL: prefix, f"{DEPLOY}.{deploy}": "true"},
        "containers": [{"name": container, "image": OPERAND_IMAGE}],
    }
    pacing = {stages.READY_AFTER: _seconds(ready_seconds)}
    return _daemon_set(f"{app}-{prefix}", where, prefix, labels, pacing, pod, "RollingUpdate")


def _daemon_set(
    name: str, where: str, prefix: str, labels: Object, pacing: Object, pod: Object, update_strategy: str
) -> Object:
    chosen = {"app": labels["app"], FLEET_LABEL: prefix}
    template = {
        "metadata": {"labels": labels | chosen, "annotations": pacing},
        "spec": {
            "nodeSelector": {FLEET_LABEL: prefix, "nvidia.com/gpu.present": "true"},
            "tolerations": _TOLERATE_EVERYTHING,
            "priorityClassName": "system-node-critical",
            "serviceAccountName": name,
            **pod,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": where, "labels": labels | chosen},
        "spec": {
            "selector": {"matchLabels": chosen},
            "updateStrategy": {"type": update_strategy},
            "template": template,
        },
    }


def _gpu_pod(name: str, node_selector: Object, gpus: int, termination_seconds: float) -> Object:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {
        "serviceAccountName": name,
        "nodeSelector": node_selector,
        "tolerations": TOLERATE_SIMULATED,
        "terminationGracePeriodSeconds": max(30, int(termination_seconds) + 1),
        "containers": [{"name": "main", "image": "registry.example/workload:1", "resources": resources}],
    }


def _seconds(duration: float) -> str:
    return f"{duration:g}s"


def cluster_policy(name: str, version: str, *, auto_upgrade: bool = False) -> Object:
    """A ClusterPolicy as the API server takes it, with no more in it than has to be; no operator obeys it by itself."""
    some: Object = {"enabled": True}
    upgrade = {"autoUpgrade": auto_upgrade}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name},
        "spec": {
            "operator": {"defaultRuntime": "containerd"},
            "daemonsets": {},
            "driver": {"enabled": True, "version": version, "image": "driver", "upgradePolicy": upgrade},
            "nodeStatusExporter": {},
            **dict.fromkeys(("toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd"), some),
        },
    }
