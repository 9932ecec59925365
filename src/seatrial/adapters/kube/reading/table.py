"""The table of streams: every kind that is watched, one row each. A new watched fact is a row and its projection.

    row                          is kept as        a change costs
    NODES                        NodeItem          the node
    PODS, SLICES, MAINTENANCES   …Item             the node it names
    CLAIMS                       ClaimItem         the nodes of the pods that name it
    WORKLOADS, TIMED_JOBS        …Item             the nodes of the pods that it stands for
    WARNINGS                     WarningItem       the node of the driver pod it is about; else nothing
    REVISIONS, DRIVERS, NETWORK_
    REVISIONS, DRA_REVISIONS     as read           every node, when what they want has changed (fleet.py)
    DAEMON_SETS, DRA_SETS        DaemonSetItem     a look, when one begins or ends to roll by itself
    FINISHED_PODS, WAITING_PODS  …Item             nothing: they are read when something else is a reason to look
    POD_BUDGETS                  BudgetItem        a look, when one begins or ceases to allow disruptions
    POLICIES, NIC_POLICIES, ROLLOUTS, PROBES, PROBE_PODS, REFUSALS, MACHINE_POOLS, DEPLOYMENTS, FOLLOWERS, OLM
                                 …Item             a look, and no node

What is about a node is read in project.py with `around.of(ROW)`. Whoever looks asks for the rows it needs.
Tests: tests/adapters/kube/test_table.py, test_observe.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from seatrial.adapters.kube.reading import (
    bare,
    follower_places,
    followers,
    items,
    olm,
    operator_items,
    pod_items,
    pools,
    rollout_items,
)
from seatrial.adapters.kube.reading.gates import items as gate_items
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.shapes import keys, kinds, models, operator_models
from seatrial.adapters.kube.shapes.campaign_models import Job, MachineConfigPool
from seatrial.adapters.kube.shapes.gitops_models import (
    Application,
    Csv,
    InstallPlan,
    OperatorDeployment,
    Subscription,
    ToolkitObject,
)
from seatrial.adapters.kube.streams.index import By
from seatrial.adapters.kube.streams.row import Found, Need, Row, Where
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DriverPod, Pod
from seatrial.core.model.seen.snapshot import PODS_STREAM

T = TypeVar("T")


def _the(thing: T) -> Callable[[Where], T]:
    """The same everywhere."""
    return lambda _: thing


def _same(item: T) -> T:
    return item


def _named_in_spec(raw: Any) -> str:
    return raw.spec.node_name or ""


# ── what is kept of which kind ───────────────────────────────────────────────────────────────────────────────────────

NODES: Final[Row[kinds.Node, items.NodeItem]] = Row(
    name="nodes",
    path=_the(keys.NODES),
    model=kinds.Node,
    slim=_the(items.node_item),
    reach=lambda item, _: (item.metadata.name,),
    bare=bare.node_item,
    node_named=lambda raw: raw.metadata.name,
)

PODS_BY_CLAIM: Final[By[items.PodItem, tuple[str, str]]] = By(keys=lambda pod: pod.claims)
PODS_BY_OWNER: Final[By[items.PodItem, str]] = By(
    keys=lambda pod: (pod.owner_uid,) if pod.owner_uid and isinstance(pod.facts, Pod) else ()
)
PODS: Final[Row[kinds.Pod, items.PodItem]] = Row(
    name=PODS_STREAM,
    path=_the(keys.PODS),
    model=kinds.Pod,
    slim=lambda where: partial(pod_items.pod_item, operator_namespace=where.namespace, dra_namespaces=where.dra),
    tells=lambda pod: pod.tells,  # most changes of a pod are none to us: a probe, a condition
    node=lambda pod: pod.node,
    node_named=_named_in_spec,
    is_tenants=bare.is_tenants,
    indices=(PODS_BY_CLAIM, PODS_BY_OWNER),
)


FINISHED_PODS: Final[Row[kinds.Pod, pod_items.EndedItem]] = Row(
    name="finished pods",
    path=_the(keys.PODS),
    model=kinds.Pod,
    slim=_the(pod_items.ended_item),
    need=Need.EXPLAINS,  # without it nobody knows how long jobs run, and they are guessed by their age
    field_selector="status.phase=Succeeded",
    reach=lambda _item, _found: (),
)

WAITING_PODS: Final[Row[kinds.Pod, pod_items.QueuedItem]] = Row(
    name="pods that wait",
    path=_the(keys.PODS),
    model=kinds.Pod,
    slim=_the(pod_items.queued_item),
    need=Need.EXPLAINS,
    field_selector="status.phase=Pending,spec.nodeName=",
    reach=lambda _item, _found: (),
)


POD_BUDGETS: Final[Row[kinds.PodDisruptionBudget, pod_items.BudgetItem]] = Row(
    name="poddisruptionbudgets",
    path=_the(keys.POD_BUDGETS),
    model=kinds.PodDisruptionBudget,
    slim=_the(pod_items.budget_item),
    bare=bare.budget_item,
    need=Need.EXPLAINS,  # one that is not seen is honoured by the API server all the same
    tells=lambda item: (item.budget.selector, item.budget.allowed > 0),
)


TIMED_JOBS_BY_UID: Final[By[pod_items.TimedJobItem, str]] = By(keys=lambda item: (item.metadata.uid,))
TIMED_JOBS: Final[Row[kinds.TimedJob, pod_items.TimedJobItem]] = Row(
    name="jobs with a limit",
    path=_the(keys.JOBS),
    model=kinds.TimedJob,
    slim=_the(pod_items.timed_job_item),
    need=Need.EXPLAINS,  # without it jobs with a limit are guessed like those without
    tells=lambda item: item.ends_by,
    reach=lambda item, found: (pod.node for pod in found.under(PODS, PODS_BY_OWNER, item.metadata.uid)),
    indices=(TIMED_JOBS_BY_UID,),
)


def _nodes_of_owned(item: items.WorkloadItem, found: Found) -> Iterable[str]:
    owned = (pod for owner in item.owners for pod in found.under(PODS, PODS_BY_OWNER, owner))
    named = (found.get(PODS, (item.metadata.namespace, name)) for name in item.pods)
    return (pod.node for pod in (*owned, *named) if pod is not None)


WORKLOADS_BY_OWNER: Final[By[items.WorkloadItem, str]] = By(keys=lambda item: item.owners)
WORKLOADS: Final[Row[kinds.Workload, items.WorkloadItem]] = Row(
    name="workloads",
    path=_the(keys.WORKLOADS),
    model=kinds.Workload,
    slim=_the(items.workload_item),
    need=Need.EXPLAINS,  # one that is not seen is not switched off, and its pods are evicted
    tells=lambda item: (item.owners, item.limit_seconds, item.suspended),
    reach=_nodes_of_owned,
    indices=(WORKLOADS_BY_OWNER,),
)
"""Opened where the controller is told that there is Kueue."""

REVISIONS: Final[Row[kinds.ControllerRevision, items.RevisionItem]] = Row(
    name="controllerrevisions",
    path=lambda where: keys.revisions_path(where.namespace),
    model=kinds.ControllerRevision,
    slim=_the(items.revision_item),
)

DAEMON_SETS: Final[Row[kinds.DaemonSet, items.DaemonSetItem]] = Row(
    name="daemonsets",
    path=lambda where: keys.daemon_sets_path(where.namespace),
    model=kinds.DaemonSet,
    slim=_the(items.daemon_set_item),
    tells=lambda item: (item.operand, item.is_rolling),  # how many of its pods are ready is no news
)

NETWORK_REVISIONS: Final[Row[kinds.ControllerRevision, items.RevisionItem]] = Row(
    name="controllerrevisions of the network driver",
    path=_the(keys.revisions_path(keys.NETWORK_NAMESPACE)),
    model=kinds.ControllerRevision,
    slim=_the(items.network_revision_item),
)

DRA_REVISIONS: Final[Row[kinds.ControllerRevision, items.RevisionItem]] = Row(
    name="controllerrevisions of the DRA plugin",
    path=lambda where: keys.revisions_path(_home_of_dra(where)),
    model=kinds.ControllerRevision,
    slim=_the(operator_items.dra_revision_item),
)

DRA_SETS: Final[Row[kinds.DaemonSet, items.DaemonSetItem]] = Row(
    name="daemonsets of the DRA plugin",
    path=lambda where: keys.daemon_sets_path(_home_of_dra(where)),
    model=kinds.DaemonSet,
    slim=_the(operator_items.dra_set_item),
    tells=lambda item: item.is_rolling,
)


def _home_of_dra(where: Where) -> str:
    """Where the one DRA driver runs that a rollout may move: the first namespace that was given."""
    return (where.dra or keys.DRA_NAMESPACES)[0]


ROLLOUTS: Final[Row[models.RolloutText, rollout_items.RolloutItem]] = Row(
    name="gpurollouts",
    path=_the(keys.ROLLOUTS),
    model=models.RolloutText,
    slim=_the(rollout_items.rollout_item),
    bare=bare.rollout_item,
    missing=rollout_items.not_installed,
)

POLICIES: Final[Row[operator_models.ClusterPolicy, operator_models.ClusterPolicy]] = Row(
    name="clusterpolicies",
    path=_the(keys.CLUSTER_POLICIES),
    model=operator_models.ClusterPolicy,
    slim=_the(_same),
    need=Need.IF_INSTALLED,
)

DRIVERS: Final[Row[operator_models.NvidiaDriver, operator_models.NvidiaDriver]] = Row(
    name="nvidiadrivers",
    path=_the(keys.NVIDIA_DRIVERS),
    model=operator_models.NvidiaDriver,
    slim=_the(_same),
    need=Need.IF_INSTALLED,
)


NIC_POLICIES: Final[Row[operator_models.NicClusterPolicy, operator_models.NicClusterPolicy]] = Row(
    name="nicclusterpolicies",
    path=_the(keys.NIC_POLICIES),
    model=operator_models.NicClusterPolicy,
    slim=_the(_same),
    need=Need.IF_INSTALLED,
)


def _nodes_of_claimants(item: items.ClaimItem, found: Found) -> Iterable[str]:
    name = (item.metadata.namespace, item.metadata.name)
    return (pod.node for pod in found.under(PODS, PODS_BY_CLAIM, name))


CLAIMS: Final[Row[kinds.ResourceClaim, items.ClaimItem]] = Row(
    name="resourceclaims",
    path=_the(keys.RESOURCE_CLAIMS[0]),
    older_paths=keys.RESOURCE_CLAIMS[1:],
    model=kinds.ResourceClaim,
    slim=_the(items.claim_item),
    bare=bare.claim_item,
    need=Need.IF_INSTALLED,
    tells=lambda item: item.claim,
    reach=_nodes_of_claimants,
)

SLICES: Final[Row[kinds.ResourceSlice, items.SliceItem]] = Row(
    name="resourceslices",
    path=_the(keys.RESOURCE_SLICES[0]),
    older_paths=keys.RESOURCE_SLICES[1:],
    model=kinds.ResourceSlice,
    slim=_the(items.slice_item),
    need=Need.IF_INSTALLED,
    node=lambda item: item.node,
    node_named=_named_in_spec,
)

MAINTENANCES: Final[Row[kinds.NodeMaintenance, items.MaintenanceItem]] = Row(
    name="nodemaintenances",
    path=_the(keys.NODE_MAINTENANCES),
    model=kinds.NodeMaintenance,
    slim=_the(items.maintenance_item),
    need=Need.IF_INSTALLED,
    node=lambda item: item.node,
    node_named=_named_in_spec,
)


def _node_of_driver(item: items.WarningItem, found: Found) -> Iterable[str]:
    pod = found.get(PODS, (item.metadata.namespace, item.pod_name))  # an event lies beside what it is about
    is_driver = pod is not None and pod.metadata.uid == item.pod and isinstance(pod.facts, DriverPod)
    return (pod.node,) if pod is not None and is_driver else ()


WARNINGS_BY_POD: Final[By[items.WarningItem, str]] = By(keys=lambda item: (item.pod,))
WARNINGS: Final[Row[kinds.Event, items.WarningItem]] = Row(
    name="events",
    path=lambda where: keys.events_path(where.namespace),
    model=kinds.Event,
    slim=_the(items.warning_item),
    need=Need.EXPLAINS,
    # Of all events, those that may tell why a driver pod does not get ready.
    field_selector="type=Warning,involvedObject.kind=Pod",
    key=items.by_pod_and_reason,
    reach=_node_of_driver,
    indices=(WARNINGS_BY_POD,),
)

PROBES: Final[Row[Job, gate_items.ProbeItem]] = Row(
    name="jobs",
    path=lambda where: keys.jobs_path(where.home),
    model=Job,
    slim=_the(probes.probe_item),
    label_selector=probes.SELECTOR,
)

PROBE_PODS_BY_JOB: Final[By[gate_items.ProbePodItem, str]] = By(keys=lambda item: (item.job_uid,))
PROBE_PODS: Final[Row[kinds.Pod, gate_items.ProbePodItem]] = Row(
    name="pods of jobs",
    path=lambda where: keys.pods_path(where.home),
    model=kinds.Pod,
    slim=_the(probes.probe_pod_item),
    label_selector=probes.SELECTOR,
    indices=(PROBE_PODS_BY_JOB,),
)

REFUSALS_BY_JOB: Final[By[gate_items.RefusalItem, str]] = By(keys=lambda item: (item.job_uid,))
REFUSALS: Final[Row[kinds.Event, gate_items.RefusalItem]] = Row(
    name="events of jobs",
    path=lambda where: keys.events_path(where.home),
    model=kinds.Event,
    slim=_the(probes.refusal_item),
    need=Need.EXPLAINS,
    field_selector=probes.REFUSALS,
    key=lambda item: item.job_uid,
    tells=lambda item: item.said,
    indices=(REFUSALS_BY_JOB,),
)

MACHINE_POOLS: Final[Row[MachineConfigPool, pools.PoolItem]] = Row(
    name="machineconfigpools",
    path=_the(keys.MACHINE_POOLS),
    model=MachineConfigPool,
    slim=_the(pools.pool_item),
    need=Need.IF_INSTALLED,
)

APPLICATIONS: Final[Row[Application, followers.FollowerItem]] = Row(
    name="applications",
    path=_the(keys.APPLICATIONS),
    model=Application,
    slim=_the(followers.application_item),
    need=Need.EXPLAINS,
    tells=lambda item: item.tells,
)

KUSTOMIZATIONS: Final[Row[ToolkitObject, followers.FollowerItem]] = Row(
    name="kustomizations",
    path=_the(keys.KUSTOMIZATIONS),
    model=ToolkitObject,
    slim=_the(followers.toolkit_item("Kustomization")),
    need=Need.EXPLAINS,
    tells=lambda item: item.tells,
)

HELM_RELEASES: Final[Row[ToolkitObject, followers.FollowerItem]] = Row(
    name="helmreleases",
    path=_the(keys.HELM_RELEASES),
    model=ToolkitObject,
    slim=_the(followers.toolkit_item("HelmRelease")),
    need=Need.EXPLAINS,
    tells=lambda item: item.tells,
)

DEPLOYMENTS: Final[Row[OperatorDeployment, followers.ReleaseItem]] = Row(
    name="deployments",
    path=_the(keys.DEPLOYMENTS),
    model=OperatorDeployment,
    slim=follower_places.at_home(followers.release_item),
    label_selector=followers.SELECTOR,
    need=Need.EXPLAINS,  # who does not see them knows of no release, and brings none
    tells=lambda item: item.facts,
)

TOOLKIT: Final = (KUSTOMIZATIONS, HELM_RELEASES)
FOLLOWERS: Final[tuple[Row[Any, Any], ...]] = (APPLICATIONS, *TOOLKIT)
"""What brings repositories into the cluster; an engine that is not there, or not shown to us, explains nothing."""

SUBSCRIPTIONS: Final[Row[Subscription, olm.SubscriptionItem]] = Row(
    name="subscriptions",
    path=_the(keys.SUBSCRIPTIONS),
    model=Subscription,
    slim=follower_places.at_home(olm.subscription_item),
    need=Need.EXPLAINS,
    tells=lambda item: (item.facts, item.plan),
)

INSTALL_PLANS: Final[Row[InstallPlan, olm.PlanItem]] = Row(
    name="installplans",
    path=_the(keys.INSTALL_PLANS),
    model=InstallPlan,
    slim=_the(olm.plan_item),
    need=Need.EXPLAINS,
    tells=olm.plan_tells,
)

CSVS: Final[Row[Csv, olm.CsvItem]] = Row(
    name="clusterserviceversions",
    path=_the(keys.CLUSTER_SERVICE_VERSIONS),
    model=Csv,
    slim=_the(olm.csv_item),
    label_selector=olm.ORIGINALS,
    need=Need.EXPLAINS,
    tells=lambda item: (item.is_succeeded, item.trouble),
)

OWNED_DEPLOYMENTS: Final[Row[OperatorDeployment, olm.OwnedItem]] = Row(
    name="deployments of OLM",
    path=_the(keys.DEPLOYMENTS),
    model=OperatorDeployment,
    slim=follower_places.at_home(olm.owned_item),
    label_selector=olm.DEPLOYMENTS,
    need=Need.EXPLAINS,
    tells=lambda item: (item.csv, item.is_rolled_out),
)

OLM: Final[tuple[Row[Any, Any], ...]] = (SUBSCRIPTIONS, INSTALL_PLANS, CSVS, OWNED_DEPLOYMENTS)
"""What OLM says of operators; opened where a rollout is about the release of one."""

# ── who needs which ──────────────────────────────────────────────────────────────────────────────────────────────────

MOVED: Final[tuple[Row[Any, Any], ...]] = (NODES, PODS, REVISIONS, POLICIES, DRIVERS)
"""How far every node is, and who moves it: all that pacing rests on, with few rights and no GPURollout."""

FLEET: Final[tuple[Row[Any, Any], ...]] = (*MOVED, CLAIMS, SLICES, WARNINGS)
"""All that is seen of a node, except for what a maintenance operator does with it."""

ROLLOUT: Final[tuple[Row[Any, Any], ...]] = tuple(
    dict.fromkeys((NODES, PODS, REVISIONS, ROLLOUTS, *FLEET, DAEMON_SETS))
)
"""All that a rollout rests on; of several that are not fresh the first is told."""

BROUGHT: Final[Mapping[Operand, tuple[Row[Any, Any], ...]]] = {
    Operand.NETWORK_DRIVER: (NIC_POLICIES, NETWORK_REVISIONS),
    Operand.DRA_PLUGIN: (DRA_REVISIONS, DRA_SETS),
}
"""What a rollout needs, and has the right to, that moves what the GPU Operator does not bring: opened when one does."""

SWITCHED: Final[tuple[Row[Any, Any], ...]] = (MAINTENANCES, MACHINE_POOLS)
"""What the controller may see only where that was switched on: opened, and needed, by rollouts that name it."""


def switched_by(spec: models.RolloutSpec) -> tuple[Row[Any, Any], ...]:
    """Those of them that a rollout names."""
    canary = spec.canary
    has_pools = canary is not None and bool(canary.machine_config_pool or canary.pause_pools)
    return (*((MAINTENANCES,) if spec.maintenance is not None else ()), *((MACHINE_POOLS,) if has_pools else ()))


WORK: Final[tuple[Row[Any, Any], ...]] = (FINISHED_PODS, WAITING_PODS)
"""What a rollout looks at besides that has a budget of idle GPUs; opened when there is the first."""

ATTRITION: Final[tuple[Row[Any, Any], ...]] = (POD_BUDGETS, TIMED_JOBS)
"""What it looks at besides, and has the right to, where nodes are taken when their jobs end; opened with the first."""

CAMPAIGN: Final[tuple[Row[Any, Any], ...]] = (PROBES, PROBE_PODS, REFUSALS, DEPLOYMENTS, *FOLLOWERS)
"""What only a campaign needs, and has the right to: opened when there is the first."""
