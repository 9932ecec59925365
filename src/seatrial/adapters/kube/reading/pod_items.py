"""What we keep of pods: operands of the driver, users of its GPUs, jobs somebody may wait for; the rest is not kept.

A pod's claims are read when it is joined (project.py), because a claim is allocated after its pod is there. Who holds
a GPU is decided in core. Tests: tests/adapters/kube/test_project.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from sys import getsizeof, intern
from typing import Final, TypeAlias

from seatrial.adapters.kube.reading.items import (
    DRIVER_CONTAINER,
    MESSAGE_LENGTH_MAX,
    Meta,
    PodItem,
    Signs,
    controller_of,
    count_of,
    digest_of,
    driver_version_of,
    is_labelled_dra,
    meta_of,
    network_version_of,
    settings_of,
    tag_of,
)
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.core.base.values import dataclass
from seatrial.core.model import consumers
from seatrial.core.model.gates.gate import GPU_RESOURCE
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen import jobs
from seatrial.core.model.seen.operands import APPS, Operand, OperandPod
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, Pod, PodOwner, ValidatorPod
from seatrial.core.model.seen.work import Ended, PodBudget
from seatrial.core.model.selectors import Operator, Selector, Term
from seatrial.core.model.troubles import Symptom
from seatrial.core.text import foreign
from seatrial.core.text.moments import readable_instant

DRA_CONTAINERS: Final = frozenset({"gpus", "compute-domains"})
NAME_MAX: Final = 253
"""Of an annotation that names a group or a limit, so much is kept: no name in Kubernetes is longer."""
UNTOLD_REASONS: Final = frozenset({"PodInitializing", "ContainerCreating"})
"""Why a container waits when all is well."""
LABELS_SIZE_MAX: Final = 16 * 1024 * 1024
"""In bytes: tens of thousands of sets such as jobs have, or a few of the largest that a pod may carry."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


def pod_item(pod: kinds.Pod, operator_namespace: str, dra_namespaces: Collection[str] = ()) -> PodItem | None:
    """Keep what is needed of a pod; None when it is of no interest, or no longer.

    `dra_namespaces` are where DRA plugins run, beside the operator's; none for where their charts put them."""
    meta, labels = pod.metadata, pod.metadata.labels
    if not pod.spec.node_name:
        return None
    # Elsewhere these labels mean nothing: anybody's pod could claim to be a validator and prove a driver.
    is_ours = meta.namespace == operator_namespace
    facts: DriverPod | ValidatorPod | DraPlugin | OperandPod
    is_dra = is_dra_plugin(pod) and (is_ours or meta.namespace in (dra_namespaces or keys.DRA_NAMESPACES))
    # The GPU Operator's own DRA plugin is nobody's to move.
    operand = operand_of(pod) if is_ours else Operand.DRA_PLUGIN if is_dra else _network_driver(pod)
    if is_ours and any(labels.get(key) == value for key, value in keys.DRIVER_SELECTORS):
        facts = _driver_pod(pod)
    elif is_ours and labels.get(keys.VALIDATOR_SELECTOR[0]) == keys.VALIDATOR_SELECTOR[1]:
        facts = _validator_pod(pod)
    elif is_dra:
        facts = _dra_plugin(pod)
    elif operand is not None and not claims_of(pod):
        facts = _operand_pod(pod)
    else:
        return _user_item(pod, is_in_operators_namespace=is_ours)
    return PodItem(
        metadata=meta_of(meta),
        node=intern(pod.spec.node_name),
        owner_uid=intern(controller_of(meta.owner_references).uid),
        created_at=meta.creation_timestamp,
        facts=facts,
        operand=operand,
        as_operand=_operand_pod(pod) if operand is not None else None,
    )


def operand_of(pod: kinds.Pod) -> Operand | None:
    """Which operand a pod of the operator's namespace is; None for what is none, or is no DaemonSet's."""
    operand = APPS.get(pod.metadata.labels.get(keys.APP_LABEL, ""))
    return operand if keeper_of(pod) is PodOwner.DAEMON_SET else None


def _network_driver(pod: kinds.Pod) -> Operand | None:
    """That a pod is the network driver's, by its label, its namespace and its DaemonSet."""
    is_named = keys.NETWORK_DRIVER_LABEL in pod.metadata.labels and pod.metadata.namespace == keys.NETWORK_NAMESPACE
    return Operand.NETWORK_DRIVER if is_named and keeper_of(pod) is PodOwner.DAEMON_SET else None


def _operand_pod(pod: kinds.Pod) -> OperandPod:
    meta, statuses = pod.metadata, (*pod.status.init_container_statuses, *pod.status.container_statuses)
    waiting = [each.state.waiting.reason for each in statuses if each.state.waiting and each.state.waiting.reason]
    is_ready = _is_ready(pod)
    return OperandPod(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        revision=intern(meta.labels.get(keys.REVISION_LABEL, "")),
        version=intern((tag_of if _network_driver(pod) is None else network_version_of)(pod.spec.containers)),
        settings=settings_of(pod.spec),
        is_ready=is_ready,
        created_at=readable_instant(meta.creation_timestamp),
        is_terminating=meta.deletion_timestamp is not None,
        trouble=""
        if is_ready
        else next((intern(foreign.line(each)) for each in waiting if each not in UNTOLD_REASONS), ""),
    )


def _user_item(pod: kinds.Pod, *, is_in_operators_namespace: bool) -> PodItem | None:
    """A pod that is no operand itself; DaemonSets' and static pods only while they may hold something."""
    meta, phase, keeper = pod.metadata, pod.status.phase, keeper_of(pod)
    is_leaving = meta.deletion_timestamp is not None
    claims = claims_of(pod)
    if phase in consumers.FINISHED_PHASES and not (is_leaving and claims):
        return None
    # The operator's own DaemonSets all run under the runtime class nvidia; other people's may as well, to monitor.
    runtime_class = "" if keeper is PodOwner.DAEMON_SET else pod.spec.runtime_class_name or ""
    is_operand = is_in_operators_namespace and keeper is PodOwner.DAEMON_SET
    resources = tuple(sorted(set(resources_of(pod))))
    gpu = consumers.gpu_use(phase=phase, resources=resources, claims=(), runtime_class=runtime_class)
    if keeper in (PodOwner.DAEMON_SET, PodOwner.KUBELET) and not claims and (gpu is None or is_operand):
        return None
    notes = meta.annotations
    kept = meta_of(meta)
    # Who comes back to the same node is nobody's job, and neither is who cannot hold a GPU.
    is_bound = keeper in (PodOwner.DAEMON_SET, PodOwner.KUBELET) or (gpu is None and not claims)
    return PodItem(
        metadata=kept,
        node=intern(pod.spec.node_name),
        owner_uid=intern(controller_of(meta.owner_references).uid),
        facts=Pod(
            namespace=kept.namespace,
            name=kept.name,
            uid=kept.uid,
            labels=_labels(meta.labels),
            gpu_count=_gpu_count(pod) if gpu is not None else 0,
            is_running=_is_ready(pod),
            restarted_at=_restarted_at(pod),
            gpu=None if is_operand else gpu,
            is_terminating=is_leaving,
            keeper=keeper,
            has_empty_dir=any(volume.empty_dir is not None for volume in pod.spec.volumes),
            deploy_label=_deploy_label(pod) if keeper is PodOwner.DAEMON_SET else "",
            offers_checkpoint=notes.checkpoint == "true",
            checkpoint_asked=foreign.line(notes.checkpoint_requested),
            checkpoint_saved=foreign.line(notes.checkpoint_saved),
            job=None if is_bound else _job(pod),
        ),
        signs=Signs(
            claims=claims, phase=intern(phase), resources=resources, runtime_class=runtime_class, is_operand=is_operand
        )
        if claims
        else None,
    )


def _job(pod: kinds.Pod) -> jobs.PodJob:
    """What it tells of the job that it is part of."""
    meta, notes, owner = pod.metadata, pod.metadata.annotations, controller_of(pod.metadata.owner_references)
    told = jobs.Told(
        namespace=meta.namespace,
        name=meta.name,
        labels=meta.labels,
        annotations=_said(notes),
        owner_kind=owner.kind,
        owner_name=owner.name,
    )
    return jobs.pod_job(
        told,
        started_at=readable_instant(pod.status.start_time),
        deadline_seconds=pod.spec.active_deadline_seconds,
        saved_at=readable_instant(notes.checkpoint_saved_at),
        mig_slices=_mig_slices(pod),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedItem:
    """One pod with GPUs that has finished its work."""

    metadata: Meta
    ended: Ended


def ended_item(pod: kinds.Pod) -> EndedItem | None:
    """Keep how long a finished pod ran, for those that had GPUs; None where its kubelet does not say."""
    started = readable_instant(pod.status.start_time)
    states = (each.state.terminated for each in pod.status.container_statuses)
    over = [readable_instant(each.finished_at) for each in states if each is not None]
    ends = [each for each in over if each is not None]
    if started is None or not ends or not _asks_for_gpus(pod) or keeper_of(pod) is PodOwner.DAEMON_SET:
        return None
    return EndedItem(metadata=meta_of(pod.metadata), ended=Ended(_job(pod).line, max(0.0, max(ends) - started)))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedItem:
    """One pod that the scheduler has found no node for."""

    metadata: Meta
    gpus: int


def queued_item(pod: kinds.Pod) -> QueuedItem | None:
    """Keep how many GPUs a pod waits for; None for one that wants none, or is kept from being scheduled."""
    scheduled = (each for each in pod.status.conditions if each.type == "PodScheduled")
    is_refused = any(each.status == "False" and each.reason == "Unschedulable" for each in scheduled)
    if pod.spec.node_name or not is_refused or not _asks_for_gpus(pod):
        return None
    slices = _mig_slices(pod)
    return QueuedItem(metadata=meta_of(pod.metadata), gpus=_gpu_count(pod) + -(-slices // jobs.MIG_SLICES) or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedJobItem:
    """One Job that Kubernetes ends when its time is up."""

    metadata: Meta
    ends_by: ApiInstant


def timed_job_item(found: kinds.TimedJob) -> TimedJobItem | None:
    """Keep when a Job is ended; None for one that has no limit, or has not begun."""
    began, seconds = readable_instant(found.status.start_time), found.spec.active_deadline_seconds
    if began is None or seconds is None:
        return None
    return TimedJobItem(metadata=meta_of(found.metadata), ends_by=began + seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetItem:
    """One PodDisruptionBudget."""

    metadata: Meta
    budget: PodBudget


def budget_item(found: kinds.PodDisruptionBudget) -> BudgetItem | None:
    """Keep whom a budget is over and what it allows; None for one that is over nobody.

    Where its controller has not looked since it was edited it allows nothing: the API server refuses evictions, too."""
    meta, asked = found.metadata, found.spec.selector
    if asked is None:
        return None
    named = (Term(key=key, operator=Operator.IN, values=(value,)) for key, value in sorted(asked.match_labels.items()))
    wanted = (
        Term(key=each.key, operator=Operator(each.operator), values=tuple(sorted(set(each.values))))
        for each in asked.match_expressions
    )
    is_current = found.status.observed_generation >= meta.generation
    kept = meta_of(meta)
    return BudgetItem(
        metadata=kept,
        budget=PodBudget(
            namespace=kept.namespace,
            name=kept.name,
            selector=Selector(terms=(*named, *wanted)),
            allowed=max(0, found.status.disruptions_allowed) if is_current else 0,
        ),
    )


def _asks_for_gpus(pod: kinds.Pod) -> bool:
    """By a resource: what a claim would be of is not known before it is allocated."""
    return any(map(consumers.is_gpu_resource, resources_of(pod)))


def _said(notes: kinds.PodAnnotations) -> dict[str, str]:
    read = (notes.volcano_group, notes.kai_group, notes.slurm_time_limit, notes.slurm_time_limit_before)
    return {key: foreign.line(text, NAME_MAX) for key, text in zip(jobs.ANNOTATIONS, read, strict=True) if text}


def _mig_slices(pod: kinds.Pod) -> int:
    asked = (pair for container in pod.spec.containers for pair in container.resources.limits.items())
    return sum(jobs.slices_of(name) * count_of(quantity) for name, quantity in asked)


def claims_of(pod: kinds.Pod) -> tuple[str, ...]:
    """The names of the claims it really has."""
    return consumers.claim_names(
        wanted=((entry.name, entry.resource_claim_name or "") for entry in pod.spec.resource_claims),
        generated={entry.name: entry.resource_claim_name or "" for entry in pod.status.resource_claim_statuses},
        extended=extended.resource_claim_name if (extended := pod.status.extended_resource_claim_status) else "",
    )


def _driver_pod(pod: kinds.Pod) -> DriverPod:
    meta, status = pod.metadata, pod.status
    statuses = (*status.init_container_statuses, *status.container_statuses)
    waiting = [item.state.waiting.reason for item in statuses if item.state.waiting and item.state.waiting.reason]
    is_ready = _is_ready(pod)
    return DriverPod(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        revision=intern(meta.labels.get(keys.REVISION_LABEL, "")),
        version=intern(driver_version_of(pod.spec.containers)),
        digest=intern(digest_of(pod.spec)),
        is_orphaned=not meta.owner_references,
        is_ready=is_ready,
        ready_since=_ready_since(pod) if is_ready else None,
        started_at=_started_at(item for item in statuses if item.name == DRIVER_CONTAINER),
        is_terminating=meta.deletion_timestamp is not None,
        restart_count=0 if is_ready else max((item.restart_count for item in statuses if not item.ready), default=0),
        trouble=next((intern(foreign.line(reason)) for reason in waiting if reason not in UNTOLD_REASONS), ""),
        symptoms=() if is_ready else tuple(_container_symptoms(statuses)),
    )


def _container_symptoms(statuses: Iterable[kinds.ContainerStatus]) -> Iterator[Symptom]:
    """Why containers that are not ready wait, and what they said when they last ended."""
    for item in statuses:
        if item.ready:
            continue
        waiting = item.state.waiting
        if waiting is not None and waiting.reason not in UNTOLD_REASONS:
            yield _symptom(waiting.reason, waiting.message[:MESSAGE_LENGTH_MAX])
        for ended in (item.state.terminated, item.last_state.terminated):
            if ended is not None and ended.exit_code:
                words = f"{ended.message[-MESSAGE_LENGTH_MAX:]} (exit code {ended.exit_code})".strip()
                yield _symptom(ended.reason, words)


def _symptom(reason: str, message: str) -> Symptom:
    return Symptom(source="container", reason=intern(foreign.line(reason)), message=foreign.lines(message))


def _validator_pod(pod: kinds.Pod) -> ValidatorPod:
    is_ready = _is_ready(pod)
    return ValidatorPod(
        name=pod.metadata.name,
        namespace=intern(pod.metadata.namespace),
        uid=pod.metadata.uid,
        is_ready=is_ready,
        ready_since=_ready_since(pod) if is_ready else None,
        is_terminating=pod.metadata.deletion_timestamp is not None,
    )


def is_dra_plugin(pod: kinds.Pod) -> bool:
    """Whether the pod is made as NVIDIA's DRA plugin is. A DaemonSet's only: any job could so escape its eviction."""
    return keeper_of(pod) is PodOwner.DAEMON_SET and is_labelled_dra(pod.metadata.labels)


def _dra_plugin(pod: kinds.Pod) -> DraPlugin:
    meta, statuses = pod.metadata, {item.name: item for item in pod.status.container_statuses}
    names = [container.name for container in pod.spec.containers]
    serving = [name for name in names if name in DRA_CONTAINERS] or names
    return DraPlugin(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        is_ready=_is_ready(pod),
        started_at=_started_at(statuses.get(name) for name in serving),
        is_terminating=meta.deletion_timestamp is not None,
        is_operators=meta.labels.get(keys.DRA_OPERATORS[0]) == keys.DRA_OPERATORS[1],
    )


def _started_at(statuses: Iterable[kinds.ContainerStatus | None]) -> ApiInstant | None:
    """When the first of these containers started; None while one of them does not run, or there is none."""
    running = [item.state.running if item else None for item in statuses]
    read = (readable_instant(state.started_at) for state in running if state is not None)
    starts = [each for each in read if each is not None]
    return min(starts) if starts and len(starts) == len(running) else None


def keeper_of(pod: kinds.Pod) -> PodOwner:
    """Who puts it back when it goes."""
    owner = controller_of(pod.metadata.owner_references)
    if pod.metadata.annotations.mirror or owner.kind == "Node":
        return PodOwner.KUBELET
    if owner.kind == "DaemonSet":
        return PodOwner.DAEMON_SET
    return PodOwner.CONTROLLER if owner.uid else PodOwner.NOBODY


def resources_of(pod: kinds.Pod) -> Iterator[str]:
    """What of NVIDIA's its containers ask for, those that begin it included."""
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        for name in (*container.resources.limits, *container.resources.requests):
            if name.startswith(keys.RESOURCE_PREFIX):
                yield intern(name)


def _restarted_at(pod: kinds.Pod) -> ApiInstant | None:
    ended = (each.last_state.terminated for each in pod.status.container_statuses)
    times = (readable_instant(each.finished_at) for each in ended if each is not None)
    return max((each for each in times if each is not None), default=None)


def _gpu_count(pod: kinds.Pod) -> int:
    """As the scheduler counts: what the containers ask for together, or an init container by itself if that is more."""
    own, before = (
        [count_of(each.resources.limits.get(GPU_RESOURCE, 0)) for each in containers]
        for containers in (pod.spec.containers, pod.spec.init_containers)
    )
    return max(sum(own), *before, 0)


def _deploy_label(pod: kinds.Pod) -> str:
    return next((intern(key) for key in sorted(pod.spec.node_selector) if key.startswith(keys.DEPLOY_PREFIX)), "")


def _labels(labels: Mapping[str, str]) -> Labels:
    return _shared.like(tuple(sorted((intern(key), intern(value)) for key, value in labels.items())))


class Shared:
    """Sets of labels, each kept once: the pods of one job all have the same. Bounded by size, since tenants write them.

    When it is full it begins again with nothing, which costs some memory twice and changes no answer.
    """

    def __init__(self) -> None:
        self._sets: dict[Labels, Labels] = {}
        self._size = 0  # in bytes, as if the sets shared no text

    def like(self, labels: Labels) -> Labels:
        """The first set equal to this one."""
        held = self._sets.get(labels)
        if held is not None:
            return held
        size = getsizeof(labels) + sum(getsizeof(pair) + sum(map(getsizeof, pair)) for pair in labels)
        if size > LABELS_SIZE_MAX:
            return labels
        if self._size + size > LABELS_SIZE_MAX:
            self._sets, self._size = {}, 0
        self._sets[labels] = labels
        self._size += size
        return labels


_shared = Shared()


def _is_ready(pod: kinds.Pod) -> bool:
    """Running, with at least one container, all ready: what NVIDIA's controller calls ready."""
    statuses = pod.status.container_statuses
    return pod.status.phase == "Running" and bool(statuses) and all(item.ready for item in statuses)


def _ready_since(pod: kinds.Pod) -> ApiInstant | None:
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True":
            return readable_instant(condition.last_transition_time)
    return None
