"""Whoever else may sit on a node of a fleet: every kind of pod that holds a GPU, or is in the way of a drain.

Each stands in a namespace of its own that goes with the fleet, and returns when its pods run. Deployments and Jobs that
hold GPUs in the plain way are methods of the fleet. Tests: tests/testbed/test_consumers.py, tests/testbed/test_dra.py.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import dra, fleet, fleet_spec, manifests, stages

Object = dict[str, Any]
# Which container asks for the GPUs: the pod's own, one that ends before it starts, or one that runs beside it.
Asker = Literal["main", "init", "sidecar"]

CLIENT_LABEL: Final = f"{manifests.DEPLOY}.client"
MIRROR: Final = "kubernetes.io/config.mirror"
IMAGE: Final = "registry.example/workload:1"


def add_pod(
    where: fleet.Fleet,
    node: str,
    *,
    name: str,
    gpus: int = 0,
    resource: str = stages.GPU,
    asker: Asker = "main",
    runtime_class: str = "",
    labels: Mapping[str, str] | None = None,
    is_bare: bool = False,
    has_empty_dir: bool = False,
    stays: bool = False,
    termination_seconds: float = 0.0,
) -> fleet_spec.Workload:
    """Start one pod on a node, of a Deployment unless it is bare; one that stays Terminating waits for `release`."""
    made = where.workload(f"{name}-{node}")
    pod = _pod(made.name, node, resources={resource: str(gpus)} if gpus else {}, asker=asker)
    if runtime_class:
        pod["runtimeClassName"] = runtime_class
        where.plane.apply([manifests.runtime_class()])
    if has_empty_dir:
        pod["volumes"] = [{"name": "scratch", "emptyDir": {}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    pacing = {stages.GONE_AFTER: f"{termination_seconds:g}s"} | ({stages.STAYS: "true"} if stays else {})
    template = {"metadata": {"labels": {"app": made.name, **(labels or {})}, "annotations": pacing}, "spec": pod}
    _start(where, made, [_bare(made, template) if is_bare else _deployment(made, template)], namespace_labels={})
    return made


def add_daemon_set(where: fleet.Fleet, *, name: str, gpus: int = 1, is_pausable: bool) -> fleet_spec.Workload:
    """Start a DaemonSet that holds GPUs on every node; a pausable one leaves where the client label is not `true`."""
    made = where.workload(name)
    selector = {manifests.FLEET_LABEL: where.spec.prefix}
    if is_pausable:
        selector[CLIENT_LABEL] = "true"
        where.plane.kubectl("label", "node", *where.nodes, f"{CLIENT_LABEL}=true", "--overwrite")
    pod = _pod(name, "", resources={stages.GPU: str(gpus)}) | {"nodeSelector": selector}
    labels = {"app": name}
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": made.namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    _start(where, made, [daemon_set], count=len(where.nodes), namespace_labels={})
    return made


def add_static_pod(where: fleet.Fleet, node: str, *, name: str, gpus: int = 0) -> fleet_spec.Workload:
    """Start the mirror of a pod that the kubelet of a node runs from a file of its own."""
    made = where.workload(f"{name}-{node}")
    pod = _pod(made.name, node, resources={stages.GPU: str(gpus)} if gpus else {})
    # A static pod is bound from its birth, has no account, and tolerates whatever its node says.
    del pod["serviceAccountName"], pod["nodeSelector"]
    pod |= {"nodeName": node, "tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}
    uid = where.plane.get("node", node)["metadata"]["uid"]
    mirror = _bare(made, {"metadata": {"labels": {"app": made.name}, "annotations": {MIRROR: made.name}}, "spec": pod})
    mirror["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
    ]
    _start(where, made, [mirror], namespace_labels={})
    return made


def add_claim_pod(
    where: fleet.Fleet,
    node: str,
    *,
    name: str,
    driver: str = dra.GPU_DRIVER,
    devices: int = 1,
    is_template: bool = False,
    has_admin_access: bool = False,
    is_bare: bool = False,
    stays: bool = False,
) -> fleet_spec.Workload:
    """Start a pod on a node whose devices come through a ResourceClaim, allocated by the scheduler.

    By a template the claim has a name of its own, which the pod's status tells; admin access takes nothing from others.
    """
    made = where.workload(f"{name}-{node}")
    spec = dra.claim_spec(driver=driver, count=devices, has_admin_access=has_admin_access)
    make = dra.claim_template if is_template else dra.claim
    reference = {"resourceClaimTemplateName" if is_template else "resourceClaimName": made.name}
    pod = _pod(made.name, node, resources={})
    pod["resourceClaims"] = [{"name": "gpus", **reference}]
    pod["containers"][0]["resources"] = {"claims": [{"name": "gpus"}]}
    pacing = {stages.STAYS: "true"} if stays else {}
    template = {"metadata": {"labels": {"app": made.name}, "annotations": pacing}, "spec": pod}
    holder = _bare(made, template) if is_bare else _deployment(made, template)
    access = {dra.ADMIN_ACCESS_LABEL: "true"} if has_admin_access else {}
    _start(where, made, [make(made.name, made.namespace, spec), holder], namespace_labels=access)
    return made


def release(where: fleet.Fleet, workload: fleet_spec.Workload) -> None:
    """Let the pods of a workload go that stay Terminating."""
    fleet.let_go(where.plane, workload.namespace)


def _start(
    where: fleet.Fleet,
    made: fleet_spec.Workload,
    objects: list[Object],
    *,
    namespace_labels: Mapping[str, str],
    count: int = 1,
) -> None:
    first = [
        manifests.namespace(made.namespace, where.spec.prefix, labels=namespace_labels),
        manifests.service_account(made.name, made.namespace),
    ]
    where.plane.apply([*first, *objects])
    seen: list[str] = []

    def look() -> bool:
        pods = where.pods_of(made)
        seen[:] = [f"{pod['metadata']['name']} {_why(pod)}" for pod in pods]
        return len([pod for pod in pods if pod["status"]["phase"] == "Running"]) == count

    waiting.wait_for(
        look,
        what=f"the pods of {made.name} to run",
        timeout_seconds=fleet.DEADLINE_SECONDS,
        pause_seconds=0.1,
        describe=lambda: ", ".join(seen),
    )


def _why(pod: Object) -> str:
    """Say where a pod stands, in the scheduler's words where it has some."""
    messages = [each.get("message", "") for each in pod["status"].get("conditions", ()) if each["status"] == "False"]
    return " ".join([pod["status"]["phase"], *filter(None, messages)])


def _pod(name: str, node: str, *, resources: Object, asker: Asker = "main") -> Object:
    asking = {"resources": {"limits": resources}} if resources else {}
    main: Object = {"name": "main", "image": IMAGE}
    pod: Object = {
        "serviceAccountName": name,
        "nodeSelector": {"kubernetes.io/hostname": node},
        "tolerations": manifests.TOLERATE_SIMULATED,
        "containers": [main],
    }
    match asker:
        case "main":
            main |= asking
        case "init":
            pod["initContainers"] = [{"name": "warm-up", "image": IMAGE, **asking}]
        case "sidecar":
            pod["initContainers"] = [{"name": "beside", "image": IMAGE, "restartPolicy": "Always", **asking}]
    return pod


def _bare(made: fleet_spec.Workload, template: Object) -> Object:
    metadata = {"name": made.name, "namespace": made.namespace, **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _deployment(made: fleet_spec.Workload, template: Object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": made.name, "namespace": made.namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": made.name}},
            "template": template,
        },
    }
