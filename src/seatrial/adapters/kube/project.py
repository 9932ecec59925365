"""From raw objects to the slim items we keep, and from those to facts: one function per kind, no rule in sight.

Strings that repeat over a fleet (labels, versions, namespaces) are interned. A pod nobody here cares about is not kept
at all. Tests: tests/adapters/kube/test_project.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Final, TypeAlias

from seatrial.adapters.kube import keys, models
from seatrial.adapters.kube.records import instant_of
from seatrial.core.snapshot import (
    ApiInstant,
    DriverPod,
    DriverRevision,
    GpuPod,
    NodeFacts,
    OperatorFacts,
    ValidatorPod,
)
from seatrial.core.versions import driver_version_of_image

DRIVER_CONTAINER: Final = "nvidia-driver-ctr"
FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})
UNTOLD_REASONS: Final = frozenset({"PodInitializing", "ContainerCreating"})
"""Why a container waits when all is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The part of metadata that the store compares by."""

    name: str
    namespace: str
    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeItem:
    """One node, slim."""

    metadata: Meta
    labels: Mapping[str, str]
    record: str
    is_cordoned: bool
    is_ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PodItem:
    """One pod that matters: a driver, a validator, or a holder of GPUs."""

    metadata: Meta
    node: str
    owner_uid: str
    created_at: str
    facts: DriverPod | ValidatorPod | GpuPod


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionItem:
    """One revision of a DaemonSet's template."""

    metadata: Meta
    owner_uid: str
    number: int
    facts: DriverRevision


PolicyItem: TypeAlias = models.ClusterPolicy | models.NvidiaDriver


def node_item(node: models.Node) -> NodeItem:
    """Keep what is needed of a node."""
    meta = node.metadata
    ready = next((condition.status for condition in node.status.conditions if condition.type == "Ready"), "Unknown")
    return NodeItem(
        metadata=_meta(meta),
        labels={intern(key): intern(value) for key, value in meta.labels.items()},
        record=meta.annotations.get(keys.RECORD_ANNOTATION, ""),
        is_cordoned=node.spec.unschedulable,
        is_ready=ready == "True",
    )


def pod_item(pod: models.Pod, operator_namespace: str) -> PodItem | None:
    """Keep what is needed of a pod; None when it is of no interest, or no longer."""
    meta, labels = pod.metadata, pod.metadata.labels
    if not pod.spec.node_name:
        return None
    facts: DriverPod | ValidatorPod | GpuPod | None = None
    # Elsewhere these labels mean nothing: anybody's pod could claim to be a validator and prove a driver.
    is_operand = meta.namespace == operator_namespace
    if is_operand and any(labels.get(key) == value for key, value in keys.DRIVER_SELECTORS):
        facts = _driver_pod(pod)
    elif is_operand and labels.get(keys.VALIDATOR_SELECTOR[0]) == keys.VALIDATOR_SELECTOR[1]:
        facts = _validator_pod(pod)
    elif _holds_gpu(pod):
        facts = _gpu_pod(pod)
    if facts is None:
        return None
    return PodItem(
        metadata=_meta(meta),
        node=intern(pod.spec.node_name),
        owner_uid=intern(_controller(meta.owner_references).uid),
        created_at=meta.creation_timestamp,
        facts=facts,
    )


def revision_item(revision: models.ControllerRevision) -> RevisionItem:
    """Keep which template a revision stands for."""
    meta = revision.metadata
    return RevisionItem(
        metadata=_meta(meta),
        owner_uid=intern(_controller(meta.owner_references).uid),
        number=revision.revision,
        facts=DriverRevision(
            hash=intern(meta.labels.get(keys.REVISION_LABEL, "")),
            version=intern(_driver_version(revision.data.spec.template.spec.containers)),
        ),
    )


def newest_by_owner(revisions: Iterable[RevisionItem]) -> dict[str, DriverRevision]:
    """What each DaemonSet wants: its revision with the highest number (a rolled-back template gets a new number)."""
    newest: dict[str, RevisionItem] = {}
    for item in revisions:
        if item.owner_uid not in newest or item.number > newest[item.owner_uid].number:
            newest[item.owner_uid] = item
    return {owner: item.facts for owner, item in newest.items()}


def node_facts(item: NodeItem, pods: Iterable[PodItem], wanted: Mapping[str, DriverRevision]) -> NodeFacts:
    """Join one node with its pods."""
    driver: PodItem | None = None
    validator: PodItem | None = None
    gpu_pods = []
    for pod in pods:
        match pod.facts:
            case DriverPod():
                driver = _newer(driver, pod)
            case ValidatorPod():
                validator = _newer(validator, pod)
            case GpuPod():
                gpu_pods.append(pod.facts)
    return NodeFacts(
        name=item.metadata.name,
        resource_version=item.metadata.resource_version,
        is_cordoned=item.is_cordoned,
        is_ready=item.is_ready,
        is_skipped=item.labels.get(keys.SKIP_LABEL) == "true",
        nvidia_state=item.labels.get(keys.NVIDIA_STATE_LABEL, ""),
        wanted=wanted.get(driver.owner_uid) if driver else None,
        driver=driver.facts if driver and isinstance(driver.facts, DriverPod) else None,
        validator=validator.facts if validator and isinstance(validator.facts, ValidatorPod) else None,
        gpu_pods=tuple(sorted(gpu_pods, key=lambda pod: (pod.namespace, pod.name))),
    )


def operator_facts(policies: Iterable[models.ClusterPolicy], drivers: Iterable[models.NvidiaDriver]) -> OperatorFacts:
    """What is seen of the GPU Operator: the oldest ClusterPolicy, or the NVIDIADrivers it delegates to."""
    policy = min(policies, key=lambda item: (item.metadata.creation_timestamp, item.metadata.name), default=None)
    owned = sorted(drivers, key=lambda item: item.metadata.name)
    if owned and (policy is None or policy.spec.driver.use_nvidia_driver_crd):
        # Without an upgradePolicy an NVIDIADriver upgrades by itself; a ClusterPolicy does not.
        upgrading = [item for item in owned if _is_on(item.spec.upgrade_policy, by_default=True)]
        named = upgrading[0] if upgrading else owned[0]
        return OperatorFacts(
            kind=f"NVIDIADriver/{named.metadata.name}",
            is_auto_upgrading=bool(upgrading),
            driver_version=named.spec.version,
            state=named.status.state,
        )
    if policy is None:
        return OperatorFacts()
    is_on = _is_on(policy.spec.driver.upgrade_policy, by_default=False)
    is_sandboxed = bool(policy.spec.sandbox_workloads.enabled)
    return OperatorFacts(
        kind=f"ClusterPolicy/{policy.metadata.name}",
        is_auto_upgrading=is_on and not is_sandboxed,
        driver_version=policy.spec.driver.version,
        state=policy.status.state,
    )


def _is_on(policy: models.UpgradePolicy | None, *, by_default: bool) -> bool:
    return by_default if policy is None or policy.auto_upgrade is None else policy.auto_upgrade


def _driver_pod(pod: models.Pod) -> DriverPod:
    meta, status = pod.metadata, pod.status
    statuses = (*status.init_container_statuses, *status.container_statuses)
    waiting = [item.state.waiting.reason for item in statuses if item.state.waiting and item.state.waiting.reason]
    is_ready = _is_ready(pod)
    return DriverPod(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        revision=intern(meta.labels.get(keys.REVISION_LABEL, "")),
        version=intern(_driver_version(pod.spec.containers)),
        is_ready=is_ready,
        ready_since=_ready_since(pod) if is_ready else None,
        is_terminating=meta.deletion_timestamp is not None,
        restart_count=0 if is_ready else max((item.restart_count for item in statuses if not item.ready), default=0),
        trouble=next((intern(reason) for reason in waiting if reason not in UNTOLD_REASONS), ""),
    )


def _validator_pod(pod: models.Pod) -> ValidatorPod:
    is_ready = _is_ready(pod)
    return ValidatorPod(
        name=pod.metadata.name,
        is_ready=is_ready,
        ready_since=_ready_since(pod) if is_ready else None,
        is_terminating=pod.metadata.deletion_timestamp is not None,
    )


def _gpu_pod(pod: models.Pod) -> GpuPod | None:
    owner = _controller(pod.metadata.owner_references)
    if owner.kind in ("DaemonSet", "Node") or pod.status.phase in FINISHED_PHASES:
        # A DaemonSet puts its pod back at once, a mirror pod cannot be evicted, and a finished pod holds nothing.
        return None
    return GpuPod(
        namespace=intern(pod.metadata.namespace),
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        is_terminating=pod.metadata.deletion_timestamp is not None,
        has_controller=bool(owner.uid),
        has_empty_dir=any(volume.empty_dir is not None for volume in pod.spec.volumes),
    )


def _holds_gpu(pod: models.Pod) -> bool:
    return any(
        name.startswith(keys.GPU_RESOURCE_PREFIXES)
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for name in (*container.resources.limits, *container.resources.requests)
    )


def _is_ready(pod: models.Pod) -> bool:
    """Running, with at least one container, all ready: what NVIDIA's controller calls ready."""
    statuses = pod.status.container_statuses
    return pod.status.phase == "Running" and bool(statuses) and all(item.ready for item in statuses)


def _ready_since(pod: models.Pod) -> ApiInstant | None:
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True" and condition.last_transition_time:
            return instant_of(condition.last_transition_time)
    return None


def _driver_version(containers: Iterable[models.Container]) -> str:
    ordered = sorted(containers, key=lambda container: container.name != DRIVER_CONTAINER)
    found = (driver_version_of_image(container.image) for container in ordered)
    return next((version.text for version in found if version is not None), "")


def _newer(before: PodItem | None, after: PodItem) -> PodItem:
    """Of two pods for one job: the one that is not leaving, then the younger."""
    if before is None:
        return after
    return max(before, after, key=_standing)


def _standing(item: PodItem) -> tuple[bool, str, str]:
    is_leaving = not isinstance(item.facts, GpuPod) and item.facts.is_terminating
    return (not is_leaving, item.created_at, item.metadata.uid)


def _controller(owners: Iterable[models.OwnerReference]) -> models.OwnerReference:
    return next((owner for owner in owners if owner.controller), models.OwnerReference())


def _meta(meta: models.ObjectMeta | models.PodMeta) -> Meta:
    return Meta(name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=meta.resource_version)
