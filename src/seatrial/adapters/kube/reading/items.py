"""The slim items we keep of raw objects, kind by kind: what is not needed later is dropped here. No rule in sight.

    raw object ──slim──▶ item, kept in a store ──join──▶ NodeFacts (project.py)

Strings that repeat over a fleet (labels, versions, namespaces) are interned. Pods have a file of their own,
pod_items.py. Tests: tests/adapters/kube/test_project.py
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from sys import intern
from typing import Final, TypeAlias

from seatrial.adapters.kube.api.decoding import Metadata
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import driver_version_of_image
from seatrial.core.model import consumers
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen import marks, sriov
from seatrial.core.model.seen.nodes import Loaded, Maintenance
from seatrial.core.model.seen.operands import APPS, Operand, OperandPod
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, DriverRevision, Pod, ValidatorPod
from seatrial.core.model.seen.problems import Problem, is_problem
from seatrial.core.model.seen.workloads import Suspended
from seatrial.core.model.troubles import Symptom
from seatrial.core.text import foreign
from seatrial.core.text.moments import readable_instant

DRIVER_CONTAINER: Final = "nvidia-driver-ctr"
PRESSURES: Final = frozenset({"DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"})
"""Conditions of a node that are bad when they hold; Ready is bad when it does not."""
MESSAGE_LENGTH_MAX: Final = 4096
"""So much the kubelet keeps of a container's last words."""

_QUANTITY: Final = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)(|m|k|Ki|[MGTPE]i?)")
_POWERS: Final = {"": 1.0, "m": 1e-3, "k": 1e3, "Ki": 2.0**10} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("MGTPE", 2)
    for suffix, base in (("", 1e3), ("i", 2.0**10))
}


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
    ready_at: ApiInstant | None
    boot_id: str
    is_requested: bool
    awaits_safe_load: bool
    awaits_network_load: bool
    sriov: str
    is_loss_accepted: bool
    skipped_by: str
    offer: GpuOffer
    symptoms: tuple[Symptom, ...]
    components: tuple[tuple[str, str], ...]
    marks: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What tells how a pod with claims holds a GPU, once its claims are read."""

    claims: tuple[str, ...]
    phase: str
    resources: tuple[str, ...]
    runtime_class: str
    is_operand: bool
    """A DaemonSet's pod of the operator: it leaves by other means, yet the DRA plugin must outlive its claims."""


PodFacts: TypeAlias = DriverPod | ValidatorPod | DraPlugin | OperandPod | Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class PodItem:
    """One pod that matters: an operand, or a pod that may have to leave."""

    metadata: Meta
    node: str
    facts: PodFacts
    owner_uid: str = ""
    created_at: str = ""
    signs: Signs | None = None
    operand: Operand | None = None
    """Which operand it is, of those around the driver."""
    as_operand: OperandPod | None = None
    """What is seen of it as one of them."""

    @property
    def tells(self) -> tuple[object, ...]:
        """All that is seen of it: while this stays the same, nothing has changed."""
        return (self.metadata.uid, self.node, self.facts, self.owner_uid, self.signs, self.as_operand)

    @property
    def claims(self) -> tuple[tuple[str, str], ...]:
        """The claims it names, by namespace and name."""
        return tuple((self.metadata.namespace, name) for name in self.signs.claims) if self.signs else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionItem:
    """One revision of a DaemonSet's template."""

    metadata: Meta
    owner_uid: str
    number: int
    facts: DriverRevision
    selector: Mapping[str, str] = field(default_factory=dict)
    """The labels of the nodes that its DaemonSet wants; only where it brings a driver, or an operand around it."""
    operand: Operand | None = None
    version: str = ""
    """The operand's, by the tag of its image."""
    settings: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSetItem:
    """One DaemonSet of an operand, and whether it replaces its pods by itself."""

    metadata: Meta
    operand: Operand
    is_rolling: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimItem:
    """One ResourceClaim."""

    metadata: Meta
    claim: consumers.Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadItem:
    """One Workload of Kueue that is active, or that we switched off."""

    metadata: Meta
    owners: tuple[str, ...]
    """The uids of the Job, or of the pods, that it stands for."""
    pods: tuple[str, ...] = ()
    """The names of the pods, where it stands for pods."""
    limit_seconds: float | None = None
    """After so long at work Kueue ends it; None where nobody says."""
    suspended: Suspended | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceItem:
    """One ResourceSlice of GPUs, which they are, and the driver versions they tell."""

    metadata: Meta
    node: str
    versions: tuple[str, ...]
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceItem:
    """One NodeMaintenance."""

    metadata: Meta
    node: str
    facts: Maintenance


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningItem:
    """One event that warns about a pod."""

    metadata: Meta
    pod: str
    """The pod's uid."""
    pod_name: str
    symptom: Symptom


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def node_item(node: kinds.Node) -> NodeItem:
    """Keep what is needed of a node."""
    meta, notes = node.metadata, node.metadata.annotations
    labels = {intern(key): intern(value) for key, value in meta.labels.items()}
    ready = next((each for each in node.status.conditions if each.type == "Ready"), models.Condition())
    return NodeItem(
        metadata=meta_of(meta),
        labels=labels,
        record=notes.get(keys.RECORD_ANNOTATION, ""),
        is_cordoned=node.spec.unschedulable,
        is_ready=ready.status == "True",
        ready_at=readable_instant(ready.last_transition_time),
        boot_id=node.status.node_info.boot_id,
        is_requested=notes.get(keys.REQUESTED_ANNOTATION) == "true",
        awaits_safe_load=bool(notes.get(keys.SAFE_LOAD_ANNOTATION)),
        awaits_network_load=bool(notes.get(keys.NETWORK_SAFE_LOAD_ANNOTATION)),
        sriov=intern(foreign.line(sriov.at_work(notes))),
        is_loss_accepted=notes.get(keys.ACCEPT_LOSS_ANNOTATION) == "true",
        skipped_by=intern(foreign.line(notes.get(keys.SKIPPED_BY_ANNOTATION, ""))),
        offer=_offer(node, labels),
        symptoms=tuple(_node_symptoms(node.status.conditions)),
        components=_components(node),
        marks=tuple((key, intern(foreign.line(value))) for key, value in marks.found(meta.labels, notes)),
        problems=_problems(node.status.conditions),
    )


def _components(node: kinds.Node) -> tuple[tuple[str, str], ...]:
    """What the kubelet says, and what people say of the rest."""
    notes = node.metadata.annotations.items()
    said = {key.removeprefix(keys.OBSERVED_PREFIX): text for key, text in notes if key.startswith(keys.OBSERVED_PREFIX)}
    info = node.status.node_info
    seen = {Component.KERNEL.value: info.kernel_version, Component.KUBERNETES.value: info.kubelet_version}
    told = ((name, foreign.line(text)) for name, text in {**said, **seen}.items())
    return tuple(sorted((intern(name), intern(text)) for name, text in told if text))


def _offer(node: kinds.Node, labels: Mapping[str, str]) -> GpuOffer:
    allocatable = node.status.allocatable
    counts = {name: count_of(allocatable[name]) for name in allocatable if name.startswith(keys.RESOURCE_PREFIX)}
    handlers = {handler.name for handler in node.status.runtime_handlers}
    return GpuOffer(
        resources=tuple(sorted((intern(name), count) for name, count in counts.items() if count)),
        mig_config=labels.get(keys.MIG_CONFIG_LABEL, ""),
        runtime_handlers=tuple(
            sorted(intern(name) for name in handlers if name.startswith(keys.RUNTIME_HANDLER_PREFIX))
        ),
    )


def count_of(quantity: str | float) -> int:
    """A quantity as a whole number; the API server writes 10000 as 10k. What cannot be read is none."""
    found = _QUANTITY.fullmatch(str(quantity))
    try:
        return int(float(found[1]) * _POWERS[found[2]]) if found else 0
    except (ValueError, OverflowError):
        return 0


def _node_symptoms(conditions: Iterable[models.Condition]) -> Iterator[Symptom]:
    for condition in conditions:
        if condition.type in PRESSURES and condition.status == "True":
            yield Symptom(source="node", reason=intern(condition.type), message=foreign.lines(condition.message))
        if condition.type == "Ready" and condition.status != "True":
            reason = foreign.line(condition.reason) or "NotReady"
            yield Symptom(source="node", reason=reason, message=foreign.lines(condition.message))


def _problems(conditions: Iterable[models.Condition]) -> tuple[Problem, ...]:
    """What others than the kubelet report; a condition is kept as text that somebody else wrote."""
    found = (each for each in conditions if is_problem(each.type, each.status))
    told = (
        Problem(
            type=intern(foreign.line(each.type)),
            reason=intern(foreign.line(each.reason)),
            message=foreign.line(each.message),
            since=readable_instant(each.last_transition_time),
        )
        for each in found
    )
    return tuple(sorted(told, key=lambda each: each.type))


def loaded_of(labels: Mapping[str, str]) -> Loaded | None:
    """What feature discovery says is loaded, under its new name or the legacy three."""
    parts = [labels.get(key, "") for key in keys.LEGACY_VERSION_LABELS]
    legacy = ".".join(part for part in parts if part) if parts[0] else ""
    version = labels.get(keys.DRIVER_VERSION_LABEL) or legacy
    if not version:
        return None
    seen_at = labels.get(keys.DISCOVERED_AT_LABEL, "")
    is_readable = seen_at.isascii() and seen_at.isdigit()
    return Loaded(version=intern(version), seen_at=float(seen_at) if is_readable else None)


# ── revisions, claims, slices, maintenances, events ──────────────────────────────────────────────────────────────────


def revision_item(revision: kinds.ControllerRevision) -> RevisionItem:
    """Keep which template a revision stands for."""
    meta, template = revision.metadata, revision.data.spec.template.spec
    operand = APPS.get(revision.data.spec.template.metadata.labels.get(keys.APP_LABEL, ""))
    return RevisionItem(
        metadata=meta_of(meta),
        owner_uid=intern(controller_of(meta.owner_references).uid),
        number=revision.revision,
        facts=DriverRevision(
            hash=intern(meta.labels.get(keys.REVISION_LABEL, "")),
            version=intern(driver_version_of(template.containers)),
            digest=intern(digest_of(template)),
            image=intern(driver_image_of(template.containers)),
        ),
        selector=dict(template.node_selector) if driver_image_of(template.containers) or operand is not None else {},
        operand=operand,
        version=intern(tag_of(template.containers)) if operand is not None else "",
        settings=settings_of(template) if operand is not None else "",
    )


def network_revision_item(revision: kinds.ControllerRevision) -> RevisionItem | None:
    """Keep which template of the network driver a revision stands for; None for any other DaemonSet's."""
    if keys.NETWORK_DRIVER_LABEL not in revision.data.spec.template.metadata.labels:
        return None
    template = revision.data.spec.template.spec
    return replace(
        revision_item(revision),
        selector=dict(template.node_selector),
        operand=Operand.NETWORK_DRIVER,
        version=intern(network_version_of(template.containers)),
        settings=settings_of(template),
    )


def is_labelled_dra(labels: Mapping[str, str]) -> bool:
    """Whether a pod with these labels calls itself NVIDIA's DRA plugin, by any of its charts."""
    if any(labels.get(key) == value for key, value in keys.DRA_SELECTORS):
        return True
    return labels.get(keys.NAME_LABEL) in keys.DRA_NAMES and any(
        key.endswith(keys.COMPONENT_SUFFIX) and value == keys.DRA_COMPONENT for key, value in labels.items()
    )


def daemon_set_item(found: kinds.DaemonSet) -> DaemonSetItem | None:
    """Keep whether the DaemonSet of an operand rolls by itself; None for any other."""
    operand = APPS.get(found.metadata.name)
    if operand is None:
        return None
    is_rolling = found.spec.update_strategy.type != "OnDelete"
    return DaemonSetItem(metadata=meta_of(found.metadata), operand=operand, is_rolling=is_rolling)


def workload_item(found: kinds.Workload) -> WorkloadItem | None:
    """Keep whom a Workload stands for, and whether it is off by us; None where somebody else switched it off."""
    meta, notes = found.metadata, found.metadata.annotations
    token, node = notes.get(keys.SUSPENDED_BY_ANNOTATION, ""), notes.get(keys.SUSPENDED_FOR_ANNOTATION, "")
    is_off = found.spec.active is False
    if is_off and not token:
        return None
    kept = meta_of(meta)
    suspended = Suspended(
        namespace=kept.namespace, name=kept.name, node=intern(foreign.line(node)), token=foreign.line(token)
    )
    return WorkloadItem(
        metadata=kept,
        owners=tuple(intern(each.uid) for each in meta.owner_references),
        pods=tuple(each.name for each in meta.owner_references if each.kind == "Pod"),
        limit_seconds=found.spec.maximum_execution_time_seconds,
        suspended=suspended if token else None,
    )


def claim_item(claim: kinds.ResourceClaim) -> ClaimItem:
    """Keep what was allocated for a claim."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation else ()
    return ClaimItem(
        metadata=meta_of(claim.metadata),
        claim=consumers.Claim(
            name=claim.metadata.name,
            is_allocated=allocation is not None,
            results=tuple(dict.fromkeys((intern(each.driver), bool(each.admin_access)) for each in results)),
            gpus=tuple(
                dict.fromkeys(
                    intern(consumers.gpu_name(each.pool, each.device))
                    for each in results
                    if each.driver == consumers.GPU_DRIVER and not each.admin_access
                )
            ),
        ),
    )


def slice_item(piece: kinds.ResourceSlice) -> SliceItem | None:
    """Keep which GPUs a slice lists, and the driver versions it tells; None for what is no GPU of a node."""
    if piece.spec.driver != keys.GPU_DRIVER or not piece.spec.node_name:
        return None
    each_of = (device.attributes if device.basic is None else device.basic.attributes for device in piece.spec.devices)
    told = (attributes.plain or attributes.full for attributes in each_of)
    versions = {intern(each.version) for each in told if each is not None and each.version}
    return SliceItem(
        metadata=meta_of(piece.metadata),
        node=intern(piece.spec.node_name),
        versions=tuple(sorted(versions)),
        gpus=tuple(sorted({intern(consumers.gpu_name("", device.name)) for device in piece.spec.devices})),
    )


def maintenance_item(request: kinds.NodeMaintenance) -> MaintenanceItem | None:
    """Keep who asked for a node's maintenance, and whether the node is free for it."""
    meta, spec = request.metadata, request.spec
    if not spec.node_name:
        return None
    is_ready = any(each.type == "Ready" and each.reason == "Ready" for each in request.status.conditions)
    return MaintenanceItem(
        metadata=meta_of(meta),
        node=intern(spec.node_name),
        facts=Maintenance(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
            requestor=foreign.line(spec.requestor_id),
            others=tuple(map(foreign.line, spec.additional_requestors)),
            is_ready=is_ready,
            is_deleting=meta.deletion_timestamp is not None,
        ),
    )


def warning_item(event: kinds.Event) -> WarningItem | None:
    """Keep what an event complains of; None when it is not about a pod, or no complaint."""
    about = event.involved_object
    if event.type != "Warning" or about.kind != "Pod" or not about.uid:
        return None
    message = foreign.lines(event.message, MESSAGE_LENGTH_MAX)
    symptom = Symptom(source="event", reason=intern(foreign.line(event.reason)), message=message)
    return WarningItem(metadata=meta_of(event.metadata), pod=about.uid, pod_name=about.name, symptom=symptom)


def by_pod_and_reason(item: WarningItem) -> tuple[str, str]:
    """Key a warning so that the newest of its kind takes the place of those before it."""
    return (item.pod, item.symptom.reason)


# ── small readers ────────────────────────────────────────────────────────────────────────────────────────────────────


def driver_version_of(containers: Iterable[kinds.Container]) -> str:
    ordered = sorted(containers, key=lambda container: container.name != DRIVER_CONTAINER)
    found = (driver_version_of_image(container.image) for container in ordered)
    return next((version.text for version in found if version is not None), "")


def driver_image_of(containers: Iterable[kinds.Container]) -> str:
    """The image of the container that brings the driver; empty where none is known to."""
    return next((container.image for container in containers if container.name == DRIVER_CONTAINER), "")


def tag_of(containers: Iterable[kinds.Container]) -> str:
    """The tag of the first container's image; empty where it has none. A digest tells no version."""
    image = next((container.image for container in containers), "")
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


_NETWORK: Final = re.compile(r"(?:doca[0-9.]+-)?[0-9]+\.[0-9]+-[0-9]+(?:\.[0-9]+){2,3}(?:-[0-9]+)?(?=-|$)")
"""The version at the head of a network driver's tag; what follows is the kernel, the system and the architecture."""


def network_version_of(containers: Iterable[kinds.Container]) -> str:
    """The version of a network driver, as its NicClusterPolicy names it."""
    tag = tag_of(containers)
    found = _NETWORK.match(tag)
    return found[0] if found is not None else tag


def settings_of(spec: kinds.PodSpec) -> str:
    """A digest of what the containers are told: what is equal is configured alike, whatever the images."""
    said = [
        (each.name, each.args, [(one.name, one.value) for one in each.env])
        for each in (*spec.init_containers, *spec.containers)
    ]
    return intern(f"{zlib.crc32(repr(said).encode()):08x}")


def digest_of(spec: kinds.PodSpec) -> str:
    """The first digest any container carries, init containers first, as NVIDIA's controller looks for it."""
    variables = (each for container in (*spec.init_containers, *spec.containers) for each in container.env)
    return next((each.value for each in variables if each.name == keys.DIGEST_VARIABLE), "")


def controller_of(references: Iterable[models.OwnerReference]) -> models.OwnerReference:
    return next((owner for owner in references if owner.controller), models.OwnerReference())


def meta_of(meta: Metadata) -> Meta:
    return Meta(name=meta.name, namespace=intern(meta.namespace), uid=meta.uid, resource_version=meta.resource_version)
