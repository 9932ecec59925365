"""The fields of objects that we read, and no others: what is not named here is dropped while decoding.

Here are what all objects share and the spec of our own resource, the GPURollout; its status is declared by the records
in it (forms.py). Kubernetes' own kinds are in kinds.py, the GPU Operator's in operator_models.py, those of campaigns in
campaign_models.py. Structs for decoding only; what is kept in memory are the slim items of reading/.
Tests: tests/adapters/kube/test_models.py
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec

from seatrial.adapters.kube.shapes.model import Model as Model

ModelT = TypeVar("ModelT", bound=Model)


class OwnerReference(Model, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ManagedFields(Model, frozen=True):
    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""
    fields: dict[str, Any] = msgspec.field(default={}, name="fieldsV1")


class ObjectMeta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class BareMeta(Model, frozen=True):
    """Without labels and annotations: nobody here reads them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Bare(Model, frozen=True):
    """Any object of which only matters that it is there, and at which version."""

    metadata: BareMeta = BareMeta()


class ManagedMeta(ObjectMeta, frozen=True):
    """With who wrote which field; elsewhere nobody reads it, and it is half of an object."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Condition(Model, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


Quantities: TypeAlias = dict[str, str | int | float]
"""Quantities are strings, yet a client may have stored a bare number."""


# ── our own resource ─────────────────────────────────────────────────────────────────────────────────────────────────


class RolloutLimits(Model, frozen=True):
    """What is not said here, the operator's policy says."""

    max_parallel_upgrades: int | None = None
    max_unavailable: int | str | None = None
    max_idle_gpus: int | str | None = msgspec.field(name="maxIdleGPUs", default=None)
    max_failed: int | None = None


class WaitForCompletion(Model, frozen=True):
    pod_selector: str | None = None
    timeout_seconds: int | None = None


class PodDeletion(Model, frozen=True):
    force: bool | None = None
    delete_empty_dir: bool | None = None
    timeout_seconds: int | None = None


class Drain(Model, frozen=True):
    enable: bool | None = None
    force: bool | None = None
    delete_empty_dir: bool | None = None
    pod_selector: str | None = None
    timeout_seconds: int | None = None


class RolloutDomain(Model, frozen=True):
    label: str
    max_unavailable: int | str | None = None
    unit: bool = False


class RolloutRetries(Model, frozen=True):
    max: int = 0
    pause_seconds: int = 300


class RolloutAttrition(Model, frozen=True):
    deadline_seconds: int = 86_400
    close_ahead: str = "90%"
    early_eviction: bool = True


class RolloutCheckpoint(Model, frozen=True):
    timeout_seconds: int = 600
    webhook: str = ""
    kueue: bool = False


class RolloutMaintenance(Model, frozen=True):
    requestor_id: str = msgspec.field(name="requestorID")
    namespace: str = "default"
    prefix: str = "nvidia-operator"
    timeout_seconds: int = 3600


class RolloutGit(Model, frozen=True):
    """A file of a Git repository."""

    url: str = ""
    branch: str = "main"
    path: str = "gpu-version-matrix.yaml"
    commit: str = ""


class RolloutConfigMap(Model, frozen=True):
    namespace: str
    name: str
    key: str = "matrix.yaml"


class RolloutMatrix(Model, frozen=True):
    git: RolloutGit | None = None
    config_map: RolloutConfigMap | None = None
    entry: str = "canary"


class RolloutPublishGit(Model, frozen=True):
    """What is empty here is the matrix's."""

    path: str
    url: str = ""
    branch: str = ""
    pull_requests: bool = False


class RolloutPublish(Model, frozen=True):
    via: str = "direct"
    set_on_delete: bool = False
    one_way: bool = False
    git: RolloutPublishGit | None = None


class RolloutCanary(Model, frozen=True):
    count: int = 1
    nodes: tuple[str, ...] = ()
    selector: dict[str, str] = {}
    machine_config_pool: str = ""
    pause_pools: tuple[str, ...] = ()


class RolloutFigure(Model, frozen=True):
    name: str
    at_least: float | None = None
    at_most: float | None = None


class RolloutAttest(Model, frozen=True):
    asks: str


class RolloutMetric(Model, frozen=True):
    query: str
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None


class RolloutTenant(Model, frozen=True):
    pod_selector: str
    pods: int = 1
    seconds: int = 600


class RolloutGate(Model, frozen=True):
    name: str
    image: str = ""
    probe: str = ""
    command: tuple[str, ...] = ()
    gpus: int = 1
    timeout_seconds: int = 600
    figures: tuple[RolloutFigure, ...] = ()
    attest: RolloutAttest | None = None
    prometheus: RolloutMetric | None = None
    expression: str = ""
    tenant: RolloutTenant | None = None
    webhook: str = ""


class RolloutUntil(Model, frozen=True):
    exclude: str
    confidence: str = "99%"


class RolloutBake(Model, frozen=True):
    duration_seconds: int = 172800
    every_seconds: int = 3600
    minimum_load: int = 0
    until: RolloutUntil | None = None


class RolloutWaves(Model, frozen=True):
    growth: str = "exponential"
    first: int | str = "5%"
    step: int | str = "5%"
    factor: int = 2
    percentages: tuple[int, ...] = ()
    pause_seconds: int = 0


class RolloutWindow(Model, frozen=True):
    start: str
    minutes: int
    days: tuple[str, ...] = ()


class RolloutWindows(Model, frozen=True):
    time_zone: str = "UTC"
    open: tuple[RolloutWindow, ...] = ()


class RolloutWord(Model, frozen=True):
    """What somebody said for a gate that asks for it."""

    gate: str
    verdict: str
    because: str
    at: str
    until: str
    node: str = ""
    by: str = ""


class RolloutSaid(Model, frozen=True):
    """Who told a rollout what; for people."""

    what: str
    at: str
    by: str = ""


class RolloutApprovals(Model, frozen=True):
    manual: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    tag_with_failures: bool = False
    attested: tuple[RolloutWord, ...] = ()


class RolloutNotifications(Model, frozen=True):
    webhook: str
    format: str = "plain"


class RolloutByHand(Model, frozen=True):
    component: str
    version: str
    before: str = ""
    instructions: str = ""
    one_way: bool = False


class RolloutSpec(Model, frozen=True):
    target: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    limits: RolloutLimits | None = None
    wait_for_completion: WaitForCompletion | None = None
    pod_deletion: PodDeletion | None = None
    drain: Drain | None = None
    domains: tuple[RolloutDomain, ...] = ()
    order: str = "name"
    retries: RolloutRetries = RolloutRetries()
    checkpoint: RolloutCheckpoint = RolloutCheckpoint()
    maintenance: RolloutMaintenance | None = None
    driver_timeout_seconds: int = 1800
    validation_timeout_seconds: int = 600
    paused: bool = False
    paused_because: str = ""
    on_delete: str = "leave"
    mode: str = "auto"
    matrix: RolloutMatrix | None = None
    publish: RolloutPublish = RolloutPublish()
    canary: RolloutCanary | None = None
    gates: tuple[RolloutGate, ...] | None = None
    bake: RolloutBake = RolloutBake()
    waves: RolloutWaves = RolloutWaves()
    windows: RolloutWindows | None = None
    approvals: RolloutApprovals = RolloutApprovals()
    said: tuple[RolloutSaid, ...] = ()
    abort: str = ""
    mark_bad: bool = False
    prepull: bool = True
    evict_on_runtime_restart: bool = False
    attrition: RolloutAttrition | None = None
    notifications: RolloutNotifications | None = None
    by_hand: RolloutByHand | None = None
    after: str = ""


Status: TypeAlias = dict[str, Any]
"""A status as it stands there; rollout_records.py reads it."""


class Rollout(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: RolloutSpec = RolloutSpec()
    status: Status = {}


class RolloutText(Model, frozen=True):
    """A rollout whose parts are not read yet: one that cannot be must not keep the others from being listed."""

    metadata: ObjectMeta = ObjectMeta()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")
