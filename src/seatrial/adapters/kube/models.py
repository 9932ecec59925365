"""The fields of Kubernetes objects that we read, and no others: what is not named here is dropped while decoding.

Structs for decoding only; what is kept in memory are the slim items of project.py.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Model(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """Base of everything decoded: immutable, unknown fields dropped, camelCase outside and snake_case inside."""


class OwnerReference(Model, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Model, frozen=True):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class NodeSpec(Model, frozen=True):
    unschedulable: bool = False


class NodeStatus(Model, frozen=True):
    conditions: tuple[Condition, ...] = ()


class Node(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class PodMeta(Model, frozen=True):
    """Without annotations: the largest part of a pod's metadata, and nobody here reads them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class Resources(Model, frozen=True):
    # Quantities are strings, yet a client may have stored a bare number.
    limits: dict[str, str | int | float] = {}
    requests: dict[str, str | int | float] = {}


class Container(Model, frozen=True):
    name: str = ""
    image: str = ""
    resources: Resources = Resources()


class Volume(Model, frozen=True):
    empty_dir: dict[str, Any] | None = None


class PodSpec(Model, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()


class Waiting(Model, frozen=True):
    reason: str = ""


class ContainerState(Model, frozen=True):
    waiting: Waiting | None = None


class ContainerStatus(Model, frozen=True):
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(Model, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Model, frozen=True):
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# ── revisions of DaemonSets ──────────────────────────────────────────────────────────────────────────────────────────


class Template(Model, frozen=True):
    spec: PodSpec = PodSpec()


class RevisionSpec(Model, frozen=True):
    template: Template = Template()


class RevisionData(Model, frozen=True):
    spec: RevisionSpec = RevisionSpec()


class ControllerRevision(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    revision: int = 0
    data: RevisionData = RevisionData()


# ── our own resource ─────────────────────────────────────────────────────────────────────────────────────────────────


class Target(Model, frozen=True):
    driver: str = ""


class RolloutLimits(Model, frozen=True):
    max_parallel_upgrades: int = 1
    max_unavailable: int | str = "25%"
    max_failed: int = 1


class PodDeletion(Model, frozen=True):
    force: bool = False
    delete_empty_dir: bool = False
    timeout_seconds: int = 300


class RolloutSpec(Model, frozen=True):
    target: Target = Target()
    node_selector: dict[str, str] = {}
    limits: RolloutLimits = RolloutLimits()
    pod_deletion: PodDeletion = PodDeletion()
    driver_timeout_seconds: int = 1800
    validation_timeout_seconds: int = 600
    paused: bool = False


class AdmissionEntry(Model, frozen=True):
    node: str
    attempt: int


class TurnedDown(Model, frozen=True):
    subject: str
    at: str
    count: int = 1
    code: str = ""
    detail: str = ""


class RolloutStatus(Model, frozen=True):
    state: str = ""
    admitted: tuple[AdmissionEntry, ...] = ()
    counts: dict[str, int] = {}
    holds: dict[str, int] = {}
    summarised_at: str = ""
    attentive_since: str = ""
    turned_down: tuple[TurnedDown, ...] = ()


class Rollout(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: RolloutSpec = RolloutSpec()
    status: RolloutStatus = RolloutStatus()


# ── the GPU Operator's resources ─────────────────────────────────────────────────────────────────────────────────────


class UpgradePolicy(Model, frozen=True):
    auto_upgrade: bool | None = None


class PolicyDriver(Model, frozen=True):
    enabled: bool | None = None
    version: str = ""
    use_nvidia_driver_crd: bool | None = msgspec.field(default=None, name="useNvidiaDriverCRD")
    upgrade_policy: UpgradePolicy | None = None


class SandboxWorkloads(Model, frozen=True):
    enabled: bool | None = None


class ClusterPolicySpec(Model, frozen=True):
    driver: PolicyDriver = PolicyDriver()
    sandbox_workloads: SandboxWorkloads = SandboxWorkloads()


class StateStatus(Model, frozen=True):
    state: str = ""


class ClusterPolicy(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterPolicySpec = ClusterPolicySpec()
    status: StateStatus = StateStatus()


class NvidiaDriverSpec(Model, frozen=True):
    version: str = ""
    upgrade_policy: UpgradePolicy | None = None


class NvidiaDriver(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NvidiaDriverSpec = NvidiaDriverSpec()
    status: StateStatus = StateStatus()
