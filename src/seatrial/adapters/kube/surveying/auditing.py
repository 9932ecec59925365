"""Reads once what an audit looks at, page by page, and keeps a few texts of each object. Nothing is watched.

    nodes, DaemonSets, pods of the namespaces that these name, Deployments, ResourceSlices, NVIDIA's, OLM's, OpenShift's

Law of this file: what could not be read is a Gap, and not an empty list. Nothing is concluded here. Tests:
tests/adapters/kube/test_auditing.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sys import intern
from typing import Any, Final

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.items import controller_of, count_of, is_labelled_dra, loaded_of
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.campaign_models import MachineConfigPool
from seatrial.adapters.kube.shapes.kinds import ContainerStatus
from seatrial.adapters.kube.shapes.records import read_node
from seatrial.adapters.kube.surveying import audit_models as shapes
from seatrial.adapters.kube.surveying.once import Once, OnRead, Reading
from seatrial.core.compat.matrix import Component, component_of
from seatrial.core.model import consumers
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.survey.adoption.traces import Trace, Traces
from seatrial.core.survey.audit import images, of_operators
from seatrial.core.survey.audit.objects import (
    CsvObject,
    DaemonSetObject,
    DeploymentObject,
    DriverResource,
    Images,
    NicObject,
    NodeObject,
    Objects,
    OpenShiftObject,
    PodObject,
    PoolObject,
    SliceObject,
    SubscriptionObject,
)
from seatrial.core.survey.sources import Source
from seatrial.core.text import foreign
from seatrial.core.text.moments import readable_instant

NAMESPACES: Final = (
    "gpu-operator",
    "nvidia-gpu-operator",
    "network-operator",
    "nvidia-network-operator",
    "node-feature-discovery",
    "openshift-nfd",
    *keys.DRA_NAMESPACES,
)
"""Where operands are looked for when no DaemonSet tells: where charts and catalogues put them."""


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _node(found: shapes.AuditedNode) -> NodeObject:
    labels, notes, info = found.metadata.labels, found.metadata.annotations, found.status.node_info
    state = labels.get(keys.STATE_LABEL, "")
    facts = NodeFacts(
        name=found.metadata.name,
        is_cordoned=found.spec.unschedulable,
        nvidia_state=_said(labels, keys.NVIDIA_STATE_LABEL),
    )
    initial = {Trace.INITIAL_STATE} if keys.INITIAL_STATE_ANNOTATION in notes else set[Trace]()
    return NodeObject(
        name=found.metadata.name,
        shows_gpu=_shows_gpu(found),
        kernel=_line(info.kernel_version),
        kubelet=_line(info.kubelet_version),
        runtime=_line(info.container_runtime_version),
        os_image=_line(info.os_image),
        os_id=_said(labels, keys.OS_ID_LABEL),
        os_version=_said(labels, keys.OS_VERSION_LABEL),
        product=_said(labels, keys.PRODUCT_LABEL),
        loaded=loaded_of(labels),
        cuda_level=_said(labels, keys.CUDA_LEVEL_LABEL),
        mofed=_said(labels, keys.MOFED_LABEL),
        told=_told(notes),
        seen=read_node(facts, state, notes.get(keys.RECORD_ANNOTATION, "")),
        cordoned_at=readable_instant(_cordon(found).time),
        canary_of=_said(labels, keys.CANARY_LABEL),
        our_state=_line(state),
        traces=Traces(cordoned_by=_line(_cordon(found).manager), found=frozenset(initial)),
    )


def _shows_gpu(found: shapes.AuditedNode) -> bool:
    labels, allocatable = found.metadata.labels, found.status.allocatable
    is_labelled = keys.PRODUCT_LABEL in labels or any(labels.get(each) == "true" for each in keys.PRESENT_LABELS)
    return is_labelled or any(
        count_of(count) > 0 for name, count in allocatable.items() if consumers.is_gpu_resource(name)
    )


def _told(notes: Mapping[str, str]) -> Mapping[Component, str]:
    named = (
        (component_of(key.removeprefix(keys.OBSERVED_PREFIX)), text)
        for key, text in notes.items()
        if key.startswith(keys.OBSERVED_PREFIX)
    )
    return {part: _line(text) for part, text in named if part is not None}


def _cordon(found: shapes.AuditedNode) -> shapes.Manager:
    """Who set the cordon, and when: the API server keeps the name of whoever last changed a field."""
    if not found.spec.unschedulable:
        return shapes.Manager()
    fields = found.metadata.managed_fields
    writers = [each for each in fields if each.fields.spec is not None and each.fields.spec.unschedulable is not None]
    return max(writers, key=lambda each: each.time, default=shapes.Manager())


# ── what runs ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pod(found: shapes.AuditedPod) -> PodObject | None:
    meta, spec = found.metadata, found.spec
    if controller_of(meta.owner_references).kind != "DaemonSet" or meta.deletion_timestamp is not None:
        return None
    if not spec.node_name or found.status.phase in consumers.FINISHED_PHASES:
        return None
    bringing, is_dra = _images(spec), is_labelled_dra(meta.labels)
    if not is_dra and not _brings(bringing):
        return None
    main = _main(found, bringing)
    return PodObject(
        node=intern(spec.node_name),
        namespace=intern(meta.namespace),
        images=bringing,
        owner=intern(controller_of(meta.owner_references).name),
        started_at=readable_instant(main.state.running.started_at if main.state.running is not None else None),
        is_ready=main.ready,
        trouble=_trouble(found, main),
        kernel=_said(meta.labels, keys.BUILT_FOR_LABEL),
        chart=_said(meta.labels, keys.CHART_LABEL),
        is_dra=is_dra,
        is_operators=meta.labels.get(keys.DRA_OPERATORS[0]) == keys.DRA_OPERATORS[1],
    )


def _main(found: shapes.AuditedPod, bringing: Images) -> ContainerStatus:
    """The status of the container that brings something; of a pod with none, of its first."""
    name = next(
        (name for name, image in bringing if images.component_of(name, image)), bringing[0][0] if bringing else ""
    )
    statuses = (each for each in found.status.container_statuses if each.name == name)
    return next(statuses, ContainerStatus())


def _trouble(found: shapes.AuditedPod, main: ContainerStatus) -> str:
    """Why the container waits; an init container before it says more than its own PodInitializing."""
    waits = (each.state.waiting for each in (*found.status.init_container_statuses, main))
    return next((intern(each.reason) for each in waits if each is not None), "")


def _daemon_set(found: shapes.Workload) -> DaemonSetObject | None:
    bringing = _images(found.spec.template.spec)
    if not _brings(bringing) and not is_labelled_dra(found.spec.template.metadata.labels):
        return None
    return DaemonSetObject(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        images=bringing,
        strategy=_line(found.spec.update_strategy.type),
    )


def _deployment(found: shapes.Workload) -> DeploymentObject | None:
    names = {each.image for each in of_operators.OPERATORS.values()}
    running = _images(found.spec.template.spec)
    if not any(images.name_of(image) in names for _, image in running):
        return None
    labels = found.metadata.labels
    return DeploymentObject(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        images=running,
        version=_said(labels, keys.RELEASE_LABEL),
        chart=_said(labels, keys.CHART_LABEL),
    )


def _images(spec: shapes.PodSpec) -> Images:
    return tuple((intern(_line(each.name)), intern(_line(each.image))) for each in spec.containers)


def _brings(found: Images) -> bool:
    return any(images.component_of(name, image) is not None for name, image in found)


def _slice(found: shapes.Slice) -> SliceObject | None:
    if found.spec.driver != keys.GPU_DRIVER or not found.spec.node_name:
        return None
    told = [device.basic.attributes if device.basic is not None else device.attributes for device in found.spec.devices]
    return SliceObject(
        node=intern(found.spec.node_name),
        drivers=_texts(each.driver or each.full_driver for each in told),
        products=_texts(each.product or each.full_product for each in told),
    )


def _texts(found: Iterable[shapes.Attribute | None]) -> tuple[str, ...]:
    return tuple(sorted({_line(each.text) for each in found if each is not None and each.text}))


# ── what is wanted ───────────────────────────────────────────────────────────────────────────────────────────────────


def _policy(found: shapes.Policy) -> DriverResource | None:
    driver = found.spec.driver
    if driver.enabled is False or driver.use_nvidia_driver_crd:
        return None  # the host has the driver, or NVIDIADrivers say what is wanted
    return _resource(f"ClusterPolicy/{found.metadata.name}", driver)


def _driver(found: shapes.NvidiaDriver) -> DriverResource:
    return _resource(f"NVIDIADriver/{found.metadata.name}", found.spec)


def _resource(name: str, driver: shapes.DriverSpec) -> DriverResource:
    by_switch = {True: "open", False: "", None: ""}[driver.use_open_kernel_modules]
    return DriverResource(name=name, modules=_line(driver.kernel_module_type) or by_switch)


def _nic(found: shapes.NicDevice) -> NicObject | None:
    status = found.status
    return NicObject(node=status.node, firmware=_line(status.firmware_version)) if status.node else None


def _csv(found: shapes.Csv) -> CsvObject | None:
    if found.status.reason == "Copied":
        return None
    meta = found.metadata
    return CsvObject(
        namespace=meta.namespace, name=meta.name, version=_line(found.spec.version), phase=_line(found.status.phase)
    )


def _subscription(found: shapes.Subscription) -> SubscriptionObject:
    meta, spec = found.metadata, found.spec
    return SubscriptionObject(
        namespace=meta.namespace,
        name=meta.name,
        package=_line(spec.name),
        channel=_line(spec.channel),
        is_automatic=spec.install_plan_approval != "Manual",
    )


def _openshift(found: shapes.ClusterVersion) -> OpenShiftObject:
    completed = (each.version for each in found.status.history if each.state == "Completed")
    return OpenShiftObject(completed=_line(next(completed, "")), desired=_line(found.status.desired.version))


def _pool(found: MachineConfigPool) -> PoolObject:
    return PoolObject(
        name=found.metadata.name,
        is_paused=found.spec.paused,
        paused_by=_said(found.metadata.annotations, keys.PAUSED_BY_ANNOTATION),
        machine_count=found.status.machine_count,
    )


def _said(texts: Mapping[str, str], key: str) -> str:
    return _line(texts.get(key, ""))


def _line(text: str) -> str:
    return intern(foreign.line(text))


# ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────────

NODES: Final = Reading(source=Source.NODES, model=shapes.AuditedNode, slim=_node)
DAEMON_SETS: Final = Reading(source=Source.DAEMON_SETS, model=shapes.Workload, slim=_daemon_set)
PODS: Final = Reading(source=Source.PODS, model=shapes.AuditedPod, slim=_pod)
DEPLOYMENTS: Final = Reading(source=Source.DEPLOYMENTS, model=shapes.Workload, slim=_deployment)
SLICES: Final = Reading(source=Source.SLICES, model=shapes.Slice, slim=_slice)
POLICIES: Final = Reading(source=Source.POLICIES, model=shapes.Policy, slim=_policy)
DRIVERS: Final = Reading(source=Source.DRIVERS, model=shapes.NvidiaDriver, slim=_driver)
NICS: Final = Reading(source=Source.NIC_DEVICES, model=shapes.NicDevice, slim=_nic)
CSVS: Final = Reading(source=Source.CSVS, model=shapes.Csv, slim=_csv, selector=f"!{keys.COPIED_LABEL}")
SUBSCRIPTIONS: Final = Reading(source=Source.SUBSCRIPTIONS, model=shapes.Subscription, slim=_subscription)
OPENSHIFT: Final = Reading(source=Source.CLUSTER_VERSIONS, model=shapes.ClusterVersion, slim=_openshift)
POOLS: Final = Reading(source=Source.MACHINE_POOLS, model=MachineConfigPool, slim=_pool)
READINGS: Final[tuple[Reading[Any, Any], ...]] = (
    NODES,
    DAEMON_SETS,
    PODS,
    DEPLOYMENTS,
    SLICES,
    POLICIES,
    DRIVERS,
    NICS,
    CSVS,
    SUBSCRIPTIONS,
    OPENSHIFT,
    POOLS,
)


async def read(client: Client, *, namespace: str, on_read: OnRead | None = None) -> Objects:
    """Everything that an audit looks at; `namespace` is one more place where operands may be."""
    reader = Once(client, on_read)
    daemon_sets = await reader.all(DAEMON_SETS)
    places = {each.namespace for each in daemon_sets}
    if Source.DAEMON_SETS in reader.gaps:
        places = {namespace, *NAMESPACES}
    policies = await reader.all(POLICIES)
    drivers = await reader.all(DRIVERS)
    return Objects(
        nodes=await reader.all(NODES),
        daemon_sets=daemon_sets,
        pods=await reader.inside(sorted(places), PODS),
        deployments=await reader.all(DEPLOYMENTS),
        slices=await reader.all(SLICES),
        driver_resources=(*policies, *drivers),
        nics=await reader.all(NICS),
        csvs=await reader.all(CSVS),
        subscriptions=await reader.all(SUBSCRIPTIONS),
        openshift=await reader.all(OPENSHIFT),
        pools=await reader.all(POOLS),
        gaps=reader.gaps,
    )
