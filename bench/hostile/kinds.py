"""Every kind that is watched, one row each: whose it is, where it is written, and a sound object of it.

A kind is written by an account that may in a real cluster; attempts by all others are refused by the API server. What
no tenant, author, kubelet or approver ever writes (a ClusterPolicy, a DaemonSet of the operator's) is written by a
careless neighbour that operates the rest of the cluster. Values only. Tests: tests/bench/test_hostile.py
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from bench.hostile.rules import Object

from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.olm import DEPLOYMENTS as OLM_SELECTOR
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.streams.row import Row
from seatrial.core.model.seen import jobs
from seatrial.core.model.seen.operands import APPS
from seatrial_lab.testbed.nodes import dra, manifests
from seatrial_lab.torture.moved import NEW, OLD

TENANT, OPERATOR = "tenant", "gpu-operator"
MARK: Final = "hostile-"
"""How the name of everything begins that is made here, so that it is found again."""
FIELD: Final = "hostile.example.org/field"
"""A node label: where the author's own rollouts are about."""
AT: Final = "2026-11-18T20:00:00Z"


class Account(StrEnum):
    """Who writes."""

    TENANT = "tenant"
    AUTHOR = "author"
    KUBELET = "kubelet"
    APPROVER = "approver"
    NEIGHBOUR = "neighbour"
    """The rest of the cluster's operation: the operators' own accounts, a GitOps engine, an administrator's script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What there is, as those who write see it."""

    nodes: Sequence[str]
    own: Sequence[str]
    """The nodes of the kubelet."""
    pods: Sequence[tuple[str, str, str]] = ()
    """Pods on them: namespace, name, uid."""
    uids: Sequence[str] = ()
    campaign: str = ""
    approver: str = "system:serviceaccount:people:approver"


Sound = Callable[[World, random.Random], Object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind, as one account writes it."""

    name: str
    account: Account
    rows: tuple[Row[Any, Any], ...]
    """The rows of the table of streams that see it."""
    group_version: str
    plural: str
    sound: Sound
    namespace: str = ""
    has_status: bool = False
    """Whether its status is a part of its own, written apart."""
    target: Callable[[World, random.Random], str] | None = None
    """For what is not made but changed: the path of an object that is there, its subresource included."""
    weight: int = 2

    @property
    def path(self) -> str:
        """Where it is made."""
        root = f"/apis/{self.group_version}" if "/" in self.group_version else f"/api/{self.group_version}"
        return f"{root}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{root}/{self.plural}"


# ── what several are made of ─────────────────────────────────────────────────────────────────────────────────────────


def _meta(chance: random.Random, **labels: str) -> Object:
    return {
        "name": f"{MARK}{chance.getrandbits(40):010x}",
        "labels": {"app": "work", **labels},
        "annotations": {"example.org/note": "sound"},
    }


def _condition(kind: str, status: str = "True") -> Object:
    return {"type": kind, "status": status, "reason": "Said", "message": "as it should be", "lastTransitionTime": AT}


def _pod_spec(image: str = "registry.example/work:1.2.3") -> Object:
    return {
        "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists"}],
        "containers": [
            {
                "name": "work",
                "image": image,
                "args": ["--steps", "1000"],
                "env": [{"name": "RUN", "value": "7"}],
                "resources": {"limits": {keys.RESOURCE_PREFIX + "gpu": "1"}, "requests": {"cpu": "10m"}},
            }
        ],
    }


def _owner(world: World, chance: random.Random, kind: str = "Job", group: str = "batch/v1") -> Object:
    uid = chance.choice([*world.uids, "11111111-2222-3333-4444-555555555555"])
    return {"apiVersion": group, "kind": kind, "name": "work", "uid": uid, "controller": True}


# ── a tenant's ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _pod(world: World, chance: random.Random) -> Object:
    meta = _meta(chance, **{chance.choice(("ray.io/cluster", keys.INDEX_LABEL, jobs.MAX_EXEC_TIME)): "7"})
    meta["annotations"] |= {
        keys.CHECKPOINT_ANNOTATION: chance.choice(("true", "false")),
        keys.CHECKPOINT_SAVED_AT_ANNOTATION: AT,
        jobs.SLURM_TIME_LIMITS[0]: "60",
    }
    meta["ownerReferences"] = [_owner(world, chance)] if chance.random() < 0.3 else []
    spec = _pod_spec() | {"activeDeadlineSeconds": 600, "volumes": [{"name": "scratch", "emptyDir": {}}]}
    if chance.random() < 0.8:
        spec["nodeName"] = chance.choice(list(world.nodes))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _job(world: World, chance: random.Random) -> Object:
    del world
    template = {"metadata": {"labels": {"app": "work"}}, "spec": _pod_spec() | {"restartPolicy": "Never"}}
    spec = {"activeDeadlineSeconds": 900, "backoffLimit": 0, "parallelism": 1, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _meta(chance), "spec": spec}


def _budget(world: World, chance: random.Random) -> Object:
    del world
    asked = {"key": "app", "operator": "In", "values": ["work", "other"]}
    selector = {"matchLabels": {"app": "work"}, "matchExpressions": [asked]}
    spec = {chance.choice(("minAvailable", "maxUnavailable")): chance.choice((1, "50%")), "selector": selector}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _meta(chance), "spec": spec}


def _claim(world: World, chance: random.Random) -> Object:
    del world
    made = dra.claim("", TENANT, dra.claim_spec(driver=dra.GPU_DRIVER, count=1, has_admin_access=False))
    return made | {"metadata": _meta(chance)}


def _deployment(world: World, chance: random.Random) -> Object:
    """One that calls itself the GPU Operator's, or OLM's."""
    del world
    key, _, value = OLM_SELECTOR.partition("=")
    labels = chance.choice(
        ({keys.NAME_LABEL: "gpu-operator", keys.RELEASE_LABEL: "v25.10.0"}, {key: value, "olm.owner": "x.v1"})
    )
    meta = _meta(chance, **labels, **{keys.CHART_LABEL: "gpu-operator-v25.10.0"})
    meta["annotations"] |= {"meta.helm.sh/release-name": "gpu-operator", "meta.helm.sh/release-namespace": OPERATOR}
    template = {"metadata": {"labels": {"app": "work"}}, "spec": {"containers": _pod_spec()["containers"]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "work"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def _workload(world: World, chance: random.Random) -> Object:
    meta = _meta(chance) | {"ownerReferences": [_owner(world, chance)]}
    meta["annotations"] |= {keys.SUSPENDED_BY_ANNOTATION: "attempt-1", keys.SUSPENDED_FOR_ANNOTATION: world.nodes[0]}
    spec = {"active": chance.random() < 0.5, "maximumExecutionTimeSeconds": 600}
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": meta, "spec": spec}


def _application(world: World, chance: random.Random) -> Object:
    del world
    source = {"repoURL": "https://git.example/x", "chart": "gpu-operator", "targetRevision": "v25.10.0", "path": "x"}
    status = {
        "sync": {"status": "Synced", "revision": "0" * 40},
        "operationState": {"phase": "Failed", "message": "it could not", "retryCount": 2},
        "history": [{"revision": "0" * 40}],
        "conditions": [_condition("SyncError")],
    }
    spec = {"source": source, "sources": [source], "syncPolicy": {"automated": {"enabled": True}}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": _meta(chance),
        "spec": spec,
        "status": status,
    }


def _toolkit(kind: str, group_version: str) -> Sound:
    def sound(world: World, chance: random.Random) -> Object:
        del world
        spec = {"suspend": False, "chart": {"spec": {"chart": "gpu-operator", "version": "v25.10.0"}}}
        status = {
            "conditions": [_condition("Ready", "False")],
            "lastAppliedRevision": "main@sha1:" + "0" * 40,
            "history": [{"chartVersion": "v25.10.0", "status": "deployed"}],
        }
        return {"apiVersion": group_version, "kind": kind, "metadata": _meta(chance), "spec": spec, "status": status}

    return sound


def _olm(kind: str, spec: Object, status: Object) -> Sound:
    def sound(world: World, chance: random.Random) -> Object:
        del world
        group = "operators.coreos.com/v1alpha1"
        return {
            "apiVersion": group,
            "kind": kind,
            "metadata": _meta(chance),
            "spec": dict(spec),
            "status": dict(status),
        }

    return sound


# ── a kubelet's ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _node_said() -> Object:
    return {
        "nodeInfo": {"kernelVersion": manifests.KERNEL, "kubeletVersion": "v1.35.8", "bootID": "b-1"},
        "conditions": [_condition("Ready"), _condition("DiskPressure", "False"), _condition("GpuUnhealthy", "True")],
        "allocatable": {"nvidia.com/gpu": "8", "cpu": "64", "memory": "500Gi", "pods": "110"},
        "capacity": {"nvidia.com/gpu": "8", "cpu": "64", "memory": "500Gi", "pods": "110"},
        "runtimeHandlers": [{"name": "nvidia"}, {"name": ""}],
    }


def _node(world: World, chance: random.Random) -> Object:
    """One that a kubelet registers: it is in nobody's rollout but the author's own."""
    del world
    labels = {"nvidia.com/gpu.present": "true", FIELD: "true", keys.DISCOVERED_AT_LABEL: "1763496000"}
    meta = _meta(chance, **labels, **manifests.driver_labels(OLD))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "spec": {"unschedulable": False},
        "status": _node_said(),
    }


def _own_node(world: World, chance: random.Random) -> Object:
    """What a kubelet says of a node of the campaign."""
    del world, chance
    meta = {"labels": {"example.org/k": "v"}, "annotations": {"example.org/note": "sound"}}
    return {"metadata": meta, "status": _node_said()}


def _pod_status(world: World, chance: random.Random) -> Object:
    del world
    ended = {"reason": "Error", "message": "it ended", "exitCode": 1, "finishedAt": AT, "startedAt": AT}
    state = chance.choice(
        (
            {"running": {"startedAt": AT}},
            {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
            {"terminated": ended},
        )
    )
    container = {"name": "work", "image": "x", "imageID": "", "ready": True, "restartCount": 3, "state": state}
    status = {
        "phase": chance.choice(("Running", "Pending", "Succeeded")),
        "reason": "Said",
        "startTime": AT,
        "conditions": [_condition("Ready"), _condition("PodScheduled", "False") | {"reason": "Unschedulable"}],
        "containerStatuses": [container | {"lastState": {"terminated": ended}}],
        "initContainerStatuses": [container],
    }
    return {"status": status}


def _event(kind: str, namespace: str, reason: str, message: str) -> Sound:
    def sound(world: World, chance: random.Random) -> Object:
        there = [(name, uid) for where, name, uid in world.pods if where == namespace]
        name, uid = chance.choice(there or [("x", chance.choice([*world.uids, "y"]))])
        about = {"apiVersion": "v1", "kind": kind, "name": name, "namespace": namespace, "uid": uid}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": _meta(chance),
            "involvedObject": about,
            "type": "Warning",
            "reason": reason,
            "message": message,
            "count": 3,
            "firstTimestamp": AT,
            "lastTimestamp": AT,
            "source": {"component": "kubelet", "host": world.own[0]},
        }

    return sound


def _slice(world: World, chance: random.Random) -> Object:
    node = chance.choice(list(world.own))
    (made, _) = dra.slices(node, "11111111-2222-3333-4444-555555555555", gpu_count=2, driver_version=NEW)
    made["metadata"] = _meta(chance)
    made["spec"]["pool"] |= {"name": f"{node}-{chance.getrandbits(30)}"}
    return made


# ── an author's and an approver's ────────────────────────────────────────────────────────────────────────────────────


def _rollout_spec(world: World, chance: random.Random) -> Object:
    word = {
        "gate": "asked",
        "verdict": "pass",
        "because": "it was looked at",
        "at": AT,
        "until": "2027-01-01T00:00:00Z",
    }
    return {
        "target": {"driver": NEW},
        "nodeSelector": {FIELD: "true"},
        "mode": "direct",
        "order": chance.choice(("name", "idle-first", "priority")),
        "limits": {"maxParallelUpgrades": 1, "maxUnavailable": "25%", "maxIdleGPUs": "10%", "maxFailed": 1},
        "retries": {"max": 1, "pauseSeconds": 60},
        "checkpoint": {"timeoutSeconds": 5},
        "waitForCompletion": {"podSelector": "app in (train, tune)", "timeoutSeconds": 5},
        "podDeletion": {"force": True, "deleteEmptyDir": True, "timeoutSeconds": 30},
        "drain": {"enable": True, "podSelector": "app!=x", "timeoutSeconds": 30},
        "domains": [{"label": "topology.kubernetes.io/rack", "maxUnavailable": 1, "unit": False}],
        "driverTimeoutSeconds": 1800,
        "validationTimeoutSeconds": 600,
        "canary": {"count": 1},
        "gates": [
            {"name": "asked", "attest": {"asks": "is it so?"}},
            {"name": "ran", "image": "registry.example/gate:1", "gpus": 1, "timeoutSeconds": 60},
            {"name": "told", "expression": "size(nodes) > 0"},
        ],
        "bake": {"durationSeconds": 5, "everySeconds": 60, "minimumLoad": 0},
        "waves": {"growth": "exponential", "first": "5%", "step": "5%", "factor": 2, "pauseSeconds": 0},
        "windows": {"timeZone": "Europe/Berlin", "open": [{"start": "00:00", "minutes": 1440, "days": ["Mon"]}]},
        "attrition": {"deadlineSeconds": 3600, "closeAhead": "50%"},
        "approvals": {"manual": ["promotion"], "approved": ["canary"], "attested": [word | {"by": AUTHOR}]},
        "said": [{"what": "resume", "at": AT, "by": AUTHOR}],
        "prepull": False,
    } | ({"after": world.campaign} if chance.random() < 0.2 else {})


AUTHOR: Final = "system:serviceaccount:people:author"


def _rollout(world: World, chance: random.Random) -> Object:
    spec = _rollout_spec(world, chance)
    return {"apiVersion": keys.API_VERSION, "kind": "GPURollout", "metadata": _meta(chance), "spec": spec}


def _times(world: World, chance: random.Random) -> Object:
    """What an author may change of the campaign without leading it elsewhere."""
    spec = _rollout_spec(world, chance)
    return {
        "spec": {
            key: spec[key] for key in ("driverTimeoutSeconds", "validationTimeoutSeconds", "retries", "checkpoint")
        }
    }


def _words(world: World, chance: random.Random) -> Object:
    spec = _rollout_spec(world, chance)
    word = spec["approvals"]["attested"][0] | {"by": world.approver}
    said = {"what": "resume", "at": AT, "by": world.approver}
    return {
        "spec": {
            "paused": False,
            "approvals": {"approved": ["canary", "promotion"], "attested": [word]},
            "said": [said],
        }
    }


def _of_campaign(world: World, chance: random.Random) -> str:
    del chance
    return f"{keys.ROLLOUTS}/{world.campaign}"


def _of_own_node(world: World, chance: random.Random) -> str:
    return f"{keys.NODES}/{chance.choice(list(world.own))}{chance.choice(('', '/status'))}"


def _of_pod(world: World, chance: random.Random) -> str:
    namespace, name, _ = chance.choice([*world.pods] or [(TENANT, "none", "")])
    return f"/api/v1/namespaces/{namespace}/pods/{name}/status"


# ── of whoever operates the rest ─────────────────────────────────────────────────────────────────────────────────────


def _policy(world: World, chance: random.Random) -> Object:
    """A second ClusterPolicy: the oldest counts."""
    del world
    upgrade = {
        "autoUpgrade": False,
        "maxParallelUpgrades": 1,
        "maxUnavailable": "25%",
        "drain": {"enable": False, "timeoutSeconds": 300},
        "podDeletion": {"timeoutSeconds": 300},
    }
    manager = {"env": [{"name": "ENABLE_AUTO_DRAIN", "value": "true"}]}
    driver = {"enabled": True, "version": OLD, "upgradePolicy": upgrade, "manager": manager}
    spec: Object = {"driver": driver, "daemonsets": {"updateStrategy": "OnDelete"}}
    spec |= {name: {"enabled": True} for name in ("operator", "toolkit", "devicePlugin", "dcgmExporter", "gfd", "dcgm")}
    spec |= {"nodeStatusExporter": {"enabled": False}}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": _meta(chance),
        "spec": spec,
        "status": {"state": "ready"},
    }


def _driver(world: World, chance: random.Random) -> Object:
    del world
    upgrade = {"autoUpgrade": False, "maxUnavailable": "25%"}
    spec = {
        "driverType": "gpu",
        "repository": "nvcr.io/nvidia",
        "image": "driver",
        "version": OLD,
        "nodeSelector": {"example.org/none": "true"},
        "upgradePolicy": upgrade,
    }
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "metadata": _meta(chance), "spec": spec}


def _network_policy(world: World, chance: random.Random) -> Object:
    del world
    driver = {
        "image": "doca-driver",
        "repository": "x",
        "version": "25.04-0.6.0.0-0",
        "upgradePolicy": {"autoUpgrade": False},
    }
    group = "mellanox.com/v1alpha1"
    return {"apiVersion": group, "kind": "NicClusterPolicy", "metadata": _meta(chance), "spec": {"ofedDriver": driver}}


def _template(chance: random.Random, labels: Object) -> Object:
    image = chance.choice((manifests.driver_image(OLD), f"{dra.IMAGE}:{dra.VERSION}"))
    container = {
        "name": manifests.DRIVER_CONTAINER,
        "image": image,
        "env": [{"name": keys.DIGEST_VARIABLE, "value": "7"}],
    }
    return {
        "metadata": {"labels": labels},
        "spec": {"nodeSelector": {"example.org/none": "true"}, "containers": [container]},
    }


def _revision(labels: Object) -> Sound:
    def sound(world: World, chance: random.Random) -> Object:
        meta = _meta(chance, **{keys.REVISION_LABEL: "abc"})
        meta["ownerReferences"] = [_owner(world, chance, "DaemonSet", "apps/v1")]
        data = {"spec": {"template": _template(chance, dict(labels))}}
        return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "revision": 7, "data": data}

    return sound


def _daemon_set(labels: Object) -> Sound:
    def sound(world: World, chance: random.Random) -> Object:
        del world
        chosen = {"app": "hostile"}
        template = _template(chance, chosen | dict(labels))
        spec = {"selector": {"matchLabels": chosen}, "updateStrategy": {"type": "OnDelete"}, "template": template}
        meta = _meta(chance, **labels)
        if not labels:  # the operator's are known by their names
            meta["name"] = chance.choice(sorted(APPS))
        return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": spec}

    return sound


def _maintenance(world: World, chance: random.Random) -> Object:
    spec = {"requestorID": "other.example", "nodeName": chance.choice(list(world.own)), "cordon": False}
    status = {"conditions": [_condition("Ready") | {"reason": "Ready"}]}
    group = "maintenance.nvidia.com/v1alpha1"
    return {"apiVersion": group, "kind": "NodeMaintenance", "metadata": _meta(chance), "spec": spec, "status": status}


def _pool(world: World, chance: random.Random) -> Object:
    del world
    status = {"machineCount": 3, "certExpirys": [{"bundle": "x", "subject": "y", "expiry": AT}]}
    spec = {"paused": False, "nodeSelector": {"matchLabels": {"example.org/none": "true"}}}
    group = "machineconfiguration.openshift.io/v1"
    return {"apiVersion": group, "kind": "MachineConfigPool", "metadata": _meta(chance), "spec": spec, "status": status}


def _probe_notes(meta: Object, world: World) -> Object:
    said = {keys.GATE_KEY: "smoke", keys.NODE_KEY: world.nodes[0], keys.ROUND_KEY: "1", keys.ATTEMPT_KEY: "1"}
    meta["labels"] |= said
    meta["annotations"] |= said
    return meta


def _probe(world: World, chance: random.Random) -> Object:
    made = _job(world, chance)
    made["metadata"] = _probe_notes(made["metadata"], world)
    made["metadata"]["ownerReferences"] = [_owner(world, chance, "GPURollout", keys.API_VERSION)]
    made["spec"]["template"]["metadata"]["labels"] |= made["metadata"]["labels"]
    made["spec"]["suspend"] = True
    return made


def _probe_pod(world: World, chance: random.Random) -> Object:
    made = _pod(world, chance)
    made["metadata"] = _probe_notes(made["metadata"], world)
    made["metadata"]["ownerReferences"] = [_owner(world, chance)]
    return made


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_T, _K, _N = Account.TENANT, Account.KUBELET, Account.NEIGHBOUR
_ARGO, _FLUX = "argoproj.io/v1alpha1", "kustomize.toolkit.fluxcd.io/v1"
_HELM, _OLM = "helm.toolkit.fluxcd.io/v2", "operators.coreos.com/v1alpha1"
_PODS = (table.PODS, table.WAITING_PODS, table.FINISHED_PODS)
_EVENTS = (table.WARNINGS,)


def _made(name: str, account: Account, rows: tuple[Row[Any, Any], ...], at: str, sound: Sound, **more: Any) -> Kind:
    group_version, _, plural = at.rpartition("/")
    namespace = more.pop("namespace", TENANT if account is _T else "")
    return Kind(
        name=name,
        account=account,
        rows=rows,
        group_version=group_version,
        plural=plural,
        sound=sound,
        namespace=namespace,
        **more,
    )


_NETWORK_LABELS, _PLUGIN_LABELS = {keys.NETWORK_DRIVER_LABEL: ""}, dict(dra.COMPONENT_LABELS)
_SUBSCRIBED = {
    "installedCSV": "gpu-operator-certified.v25.10.0",
    "installPlanRef": {"name": "p"},
    "conditions": [_condition("x")],
}
_PLANNED = {"phase": "RequiresApproval", "message": "m", "conditions": [_condition("x")]}
_SUCCEEDED = {"phase": "Succeeded", "reason": "InstallSucceeded", "message": "m"}

KINDS: Final = (
    _made("pod", _T, _PODS, "v1/pods", _pod, weight=8),
    _made("job", _T, (table.TIMED_JOBS,), "batch/v1/jobs", _job),
    _made("budget", _T, (table.POD_BUDGETS,), "policy/v1/poddisruptionbudgets", _budget),
    _made("claim", _T, (table.CLAIMS,), "resource.k8s.io/v1/resourceclaims", _claim),
    _made("deployment", _T, (table.DEPLOYMENTS, table.OWNED_DEPLOYMENTS), "apps/v1/deployments", _deployment),
    _made("workload", _T, (table.WORKLOADS,), "kueue.x-k8s.io/v1beta1/workloads", _workload),
    _made("application", _T, (table.APPLICATIONS,), f"{_ARGO}/applications", _application),
    _made("kustomization", _T, (table.KUSTOMIZATIONS,), f"{_FLUX}/kustomizations", _toolkit("Kustomization", _FLUX)),
    _made("helm-release", _T, (table.HELM_RELEASES,), f"{_HELM}/helmreleases", _toolkit("HelmRelease", _HELM)),
    _made(
        "subscription",
        _T,
        (table.SUBSCRIPTIONS,),
        f"{_OLM}/subscriptions",
        _olm("Subscription", {"name": "gpu-operator-certified", "installPlanApproval": "Manual"}, _SUBSCRIBED),
    ),
    _made(
        "install-plan",
        _T,
        (table.INSTALL_PLANS,),
        f"{_OLM}/installplans",
        _olm(
            "InstallPlan",
            {"clusterServiceVersionNames": ["gpu-operator-certified.v25.10.1"], "approved": False},
            _PLANNED,
        ),
    ),
    _made(
        "csv",
        _T,
        (table.CSVS,),
        f"{_OLM}/clusterserviceversions",
        _olm("ClusterServiceVersion", {"version": "25.10.0"}, _SUCCEEDED),
    ),
    _made("node", _K, (table.NODES,), "v1/nodes", _node, weight=4),
    _made("own-node", _K, (table.NODES,), "v1/nodes", _own_node, target=_of_own_node, weight=3),
    _made("pod-status", _K, (*_PODS, table.PROBE_PODS), "v1/pods", _pod_status, target=_of_pod, weight=6),
    _made("event", _K, _EVENTS, "v1/events", _event("Pod", OPERATOR, "Failed", "it failed"), namespace=OPERATOR),
    _made(
        "refusal",
        _K,
        (table.REFUSALS,),
        "v1/events",
        _event("Job", keys.HOME, "FailedCreate", 'Error creating: pods "x" is forbidden: because'),
        namespace=keys.HOME,
    ),
    _made("slice", _K, (table.SLICES,), "resource.k8s.io/v1/resourceslices", _slice),
    _made("rollout", Account.AUTHOR, (table.ROLLOUTS,), f"{keys.API_VERSION}/gpurollouts", _rollout, weight=6),
    _made("times", Account.AUTHOR, (table.ROLLOUTS,), f"{keys.API_VERSION}/gpurollouts", _times, target=_of_campaign),
    _made("words", Account.APPROVER, (table.ROLLOUTS,), f"{keys.API_VERSION}/gpurollouts", _words, target=_of_campaign),
    _made("cluster-policy", _N, (table.POLICIES,), "nvidia.com/v1/clusterpolicies", _policy, has_status=True),
    _made("nvidia-driver", _N, (table.DRIVERS,), "nvidia.com/v1alpha1/nvidiadrivers", _driver),
    _made("nic-policy", _N, (table.NIC_POLICIES,), "mellanox.com/v1alpha1/nicclusterpolicies", _network_policy),
    _made(
        "revision", _N, (table.REVISIONS,), "apps/v1/controllerrevisions", _revision({"app": "x"}), namespace=OPERATOR
    ),
    _made(
        "network-revision",
        _N,
        (table.NETWORK_REVISIONS,),
        "apps/v1/controllerrevisions",
        _revision(_NETWORK_LABELS),
        namespace=keys.NETWORK_NAMESPACE,
    ),
    _made(
        "dra-revision",
        _N,
        (table.DRA_REVISIONS,),
        "apps/v1/controllerrevisions",
        _revision(_PLUGIN_LABELS),
        namespace=dra.NAMESPACE,
    ),
    _made("daemon-set", _N, (table.DAEMON_SETS,), "apps/v1/daemonsets", _daemon_set({}), namespace=OPERATOR),
    _made("dra-set", _N, (table.DRA_SETS,), "apps/v1/daemonsets", _daemon_set(_PLUGIN_LABELS), namespace=dra.NAMESPACE),
    _made(
        "maintenance",
        _N,
        (table.MAINTENANCES,),
        "maintenance.nvidia.com/v1alpha1/nodemaintenances",
        _maintenance,
        namespace="default",
    ),
    _made("pool", _N, (table.MACHINE_POOLS,), "machineconfiguration.openshift.io/v1/machineconfigpools", _pool),
    _made("probe", _N, (table.PROBES,), "batch/v1/jobs", _probe, namespace=keys.HOME),
    _made("probe-pod", _N, (table.PROBE_PODS,), "v1/pods", _probe_pod, namespace=keys.HOME),
)
BY_NAME: Final = {kind.name: kind for kind in KINDS}
SERVED_HERE: Final = (
    ("kueue.x-k8s.io", "v1beta1", "workloads", "Workload", True),
    ("argoproj.io", "v1alpha1", "applications", "Application", True),
    ("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization", True),
    ("helm.toolkit.fluxcd.io", "v2", "helmreleases", "HelmRelease", True),
    ("operators.coreos.com", "v1alpha1", "subscriptions", "Subscription", True),
    ("operators.coreos.com", "v1alpha1", "installplans", "InstallPlan", True),
    ("operators.coreos.com", "v1alpha1", "clusterserviceversions", "ClusterServiceVersion", True),
    ("machineconfiguration.openshift.io", "v1", "machineconfigpools", "MachineConfigPool", False),
    ("mellanox.com", "v1alpha1", "nicclusterpolicies", "NicClusterPolicy", False),
    ("maintenance.nvidia.com", "v1alpha1", "nodemaintenances", "NodeMaintenance", True),
)
"""Kinds that are served under a definition which checks nothing: what the real ones refuse comes through as well."""


def definitions() -> list[Object]:
    """The definitions of SERVED_HERE."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": f"{plural}.{group}",
                # Of a group that is the Kubernetes project's own.
                "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced" if is_namespaced else "Cluster",
                "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                "versions": [
                    {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
                ],
            },
        }
        for group, version, plural, kind, is_namespaced in SERVED_HERE
    ]
