"""From slim items to facts: one node joined with its pods and everything that is said about it. No rule in sight.

Who holds a GPU and who owns a node is decided in core: this file calls it. Tests: tests/adapters/kube/test_project.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.items import (
    MaintenanceItem,
    NodeItem,
    PodItem,
    RevisionItem,
    Signs,
    WarningItem,
    WorkloadItem,
    loaded_of,
)
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.streams.index import ItemT
from seatrial.adapters.kube.streams.row import Row
from seatrial.core.base.values import dataclass, replace
from seatrial.core.model import consumers, owners
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import Maintenance, NodeFacts
from seatrial.core.model.seen.operands import ORDER, Operand, OperandPod, OperandSeen
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, DriverRevision, Pod, PodOwner, ValidatorPod
from seatrial.core.node.writing import PAUSED

WARNINGS_MAX: Final = 5
"""So many events of one pod are symptoms; more say no more."""


def newest_by_owner(revisions: Iterable[RevisionItem]) -> dict[str, DriverRevision]:
    """What each DaemonSet wants: its revision with the highest number (a rolled-back template gets a new number).

    A DaemonSet that was taken away leaves its revisions behind with its pods: what nobody owns is wanted by nobody.
    """
    return {owner: item.facts for owner, item in _newest(revisions).items()}


def _newest(revisions: Iterable[RevisionItem]) -> dict[str, RevisionItem]:
    newest: dict[str, RevisionItem] = {}
    for item in revisions:
        if item.owner_uid and (item.owner_uid not in newest or item.number > newest[item.owner_uid].number):
            newest[item.owner_uid] = item
    return newest


Seekers: TypeAlias = tuple[tuple[Mapping[str, str], DriverRevision], ...]
"""Node selectors of the driver DaemonSets, and what each of them wants to run there."""


def seekers_of(revisions: Iterable[RevisionItem]) -> Seekers:
    """Which nodes the driver DaemonSets want, those that name an owner first: nothing says it better."""
    found = [(item.selector, item.facts) for item in _newest(revisions).values() if item.selector]
    return tuple(sorted(found, key=lambda each: (owners.OWNER_LABEL not in each[0], each[1].hash)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandWish:
    """What the DaemonSet of an operand wants to run, on the nodes with these labels."""

    operand: Operand
    selector: Mapping[str, str]
    hash: str
    version: str
    settings: str


def operand_wishes_of(revisions: Iterable[RevisionItem]) -> tuple[OperandWish, ...]:
    """What the DaemonSets of the operands want, in the order in which a visit restarts them."""
    found = (
        OperandWish(
            operand=item.operand,
            selector=item.selector,
            hash=item.facts.hash,
            version=item.version,
            settings=item.settings,
        )
        for item in _newest(revisions).values()
        if item.operand is not None
    )
    return tuple(sorted(found, key=lambda wish: (ORDER[wish.operand], wish.hash)))


class Of(Protocol):
    """By a row of the table: its items about one node."""

    def __call__(self, row: Row[Any, ItemT], /) -> Collection[ItemT]: ...


def _nothing(_row: Row[Any, ItemT]) -> Collection[ItemT]:
    return ()


def _no_workload(_pod: PodItem) -> WorkloadItem | None:
    return None


def _no_end(_pod: PodItem) -> ApiInstant | None:
    return None


def _no_claim(_namespace: str, _name: str) -> consumers.Claim | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What else there is to know about one node, beside its pods."""

    wanted: Mapping[str, DriverRevision]
    """By the uid of the DaemonSet."""
    seekers: Seekers = ()
    operands: tuple[OperandWish, ...] = ()
    """Of those operands alone that the rollout moves."""
    claim: Callable[[str, str], consumers.Claim | None] = _no_claim
    """By namespace and name; None when there is none, or it was not seen."""
    workload: Callable[[PodItem], WorkloadItem | None] = _no_workload
    """The Workload of Kueue that a pod belongs to; None for none, or none that may be switched off."""
    ends_by: Callable[[PodItem], ApiInstant | None] = _no_end
    """When the Job of a pod is ended by its own limit; None where it has none."""
    drivers: tuple[owners.DriverClaim, ...] | None = None
    """None where no NVIDIADriver owns any node."""
    of: Of = _nothing
    """What a row of the table says about this node."""
    requestor: models.RolloutMaintenance | None = None
    warnings: Callable[[str], Iterable[WarningItem]] = lambda _: ()
    """By a pod's uid."""


def node_facts(item: NodeItem, pods: Iterable[PodItem], around: Around) -> NodeFacts:
    """Join one node with its pods and what is around them."""
    facts = _joined(item, pods, around)
    if state := facts.labels.get(keys.NETWORK_STATE_LABEL, ""):
        facts = replace(facts, network_state=state)
    if not any(wish.operand is Operand.NETWORK_DRIVER for wish in around.operands):
        return facts
    # What is said of the network driver counts where a rollout moves it, and nowhere else.
    is_left_out = not facts.is_skipped and facts.labels.get(keys.NETWORK_SKIP_LABEL) == "true"
    return replace(
        facts,
        awaits_network_load=item.awaits_network_load,
        is_skipped=facts.is_skipped or is_left_out,
        is_network_skipped=is_left_out,
    )


def _joined(item: NodeItem, pods: Iterable[PodItem], around: Around) -> NodeFacts:
    driver: PodItem | None = None
    validator: PodItem | None = None
    plugin: PodItem | None = None
    users = []
    for pod in (pods := tuple(pods)):
        match pod.facts:
            case DriverPod():
                driver = _newer(driver, pod)
            case ValidatorPod():
                validator = _newer(validator, pod)
            case DraPlugin():
                plugin = _newer(plugin, pod)
            case OperandPod():
                pass
            case Pod():
                user = _user(pod.facts, pod.signs, around)
                if user is not None:
                    users.append(_timed(_queued(user, around.workload(pod)), around.ends_by(pod)))
    labels = item.labels
    is_skipped = labels.get(keys.SKIP_LABEL) == "true"
    owner = owners.NOBODY if around.drivers is None else owners.assign(around.drivers, labels)
    return NodeFacts(
        name=item.metadata.name,
        resource_version=item.metadata.resource_version,
        labels=labels,
        is_cordoned=item.is_cordoned,
        is_ready=item.is_ready,
        ready_at=item.ready_at,
        boot_id=item.boot_id,
        is_skipped=is_skipped,
        # A note whose label somebody took away keeps nobody out any more.
        skipped_by=item.skipped_by if is_skipped else "",
        canary_of=labels.get(keys.CANARY_LABEL, ""),
        is_requested=item.is_requested,
        awaits_safe_load=item.awaits_safe_load,
        is_loss_accepted=item.is_loss_accepted,
        nvidia_state=labels.get(keys.NVIDIA_STATE_LABEL, ""),
        owner=owner.name,
        owner_conflict=owner.conflict,
        wanted=_wanted(driver, labels, around) if driver else None,
        driver=_driver(driver.facts, around) if driver and isinstance(driver.facts, DriverPod) else None,
        validator=validator.facts if validator and isinstance(validator.facts, ValidatorPod) else None,
        dra=plugin.facts if plugin and isinstance(plugin.facts, DraPlugin) else None,
        operands=_operands(pods, labels, around.operands),
        published=tuple(sorted({version for piece in around.of(table.SLICES) for version in piece.versions})),
        claimable=len({name for piece in around.of(table.SLICES) for name in piece.gpus}),
        loaded=loaded_of(labels),
        pods=tuple(sorted(users, key=lambda pod: (pod.namespace, pod.name))),
        offer=item.offer,
        mig_state=labels.get(keys.MIG_STATE_LABEL, ""),
        paused_labels=_paused(labels),
        maintenance=_maintenance(around.of(table.MAINTENANCES), around.requestor, item.metadata.name),
        symptoms=item.symptoms,
        components=item.components,
        marks=item.marks,
        sriov=item.sriov,
        problems=item.problems,
    )


def _paused(labels: Mapping[str, str]) -> tuple[str, ...]:
    """The labels by which operands are told to keep away for now."""
    return tuple(sorted(key for key, value in labels.items() if key.startswith(keys.DEPLOY_PREFIX) and PAUSED in value))


def _operands(
    pods: Iterable[PodItem], labels: Mapping[str, str], wishes: Iterable[OperandWish]
) -> tuple[OperandSeen, ...]:
    """The operands that are wanted on a node, each with its pod where there is one."""
    found: dict[Operand, PodItem] = {}
    for pod in pods:
        if pod.operand is not None:
            found[pod.operand] = _newer(found.get(pod.operand), pod)
    mine = (wish for wish in wishes if wish.selector.items() <= labels.items())
    # Which nodes a DRA plugin is for is said by its affinity, which nobody reads here: it moves where there is one.
    return tuple(
        _operand(wish, found.get(wish.operand))
        for wish in mine
        if wish.operand is not Operand.DRA_PLUGIN or wish.operand in found
    )


def _operand(wish: OperandWish, pod: PodItem | None) -> OperandSeen:
    found = pod.as_operand if pod is not None else None
    return OperandSeen(operand=wish.operand, wanted=wish.hash, version=wish.version, settings=wish.settings, pod=found)


def _wanted(driver: PodItem, labels: Mapping[str, str], around: Around) -> DriverRevision | None:
    """What the DaemonSet of a driver pod wants; of one that nobody owns, what another one wants on its node."""
    if driver.owner_uid or not isinstance(driver.facts, DriverPod) or not driver.facts.is_orphaned:
        return around.wanted.get(driver.owner_uid)
    seeking = (wanted for selector, wanted in around.seekers if selector.items() <= labels.items())
    return next(seeking, None)


def _user(pod: Pod, signs: Signs | None, around: Around) -> Pod | None:
    """A pod with its claims read; None when it turns out to be of no interest."""
    if signs is None:
        return pod
    claims = [
        around.claim(pod.namespace, name) or consumers.Claim(name=name, is_readable=False) for name in signs.claims
    ]
    gpu = consumers.gpu_use(
        phase=signs.phase, resources=signs.resources, claims=claims, runtime_class=signs.runtime_class
    )
    found = replace(
        pod,
        gpu=None if signs.is_operand else gpu,
        holds_claim=consumers.holds_claim(claims),
        claimed=consumers.claimed_gpus(claims) if gpu is not None else (),
    )
    is_bound = pod.keeper in (PodOwner.DAEMON_SET, PodOwner.KUBELET) or signs.phase in consumers.FINISHED_PHASES
    return None if is_bound and found.gpu is None and not found.holds_claim else found


def _queued(pod: Pod, workload: WorkloadItem | None) -> Pod:
    """A pod with what is seen of its Workload."""
    if workload is None:
        return pod
    suspended_for = workload.suspended.token if workload.suspended is not None else ""
    job = pod.job.within(workload.limit_seconds) if pod.job is not None else None
    return replace(pod, workload=workload.metadata.name, suspended_for=suspended_for, job=job)


def _timed(pod: Pod, ends_by: ApiInstant | None) -> Pod:
    """A pod with the limit of its Job, which counts from when that began."""
    if ends_by is None or pod.job is None or pod.job.started_at is None:
        return pod
    return replace(pod, job=pod.job.within(max(0.0, ends_by - pod.job.started_at)))


def _driver(pod: DriverPod, around: Around) -> DriverPod:
    """The driver pod with what is said about it, while it is not ready: events outlive what they complain of."""
    if pod.is_ready:
        return pod
    newest = sorted(around.warnings(pod.uid), key=_age, reverse=True)[:WARNINGS_MAX]
    said = tuple(sorted((item.symptom for item in newest), key=lambda symptom: symptom.reason))
    return replace(pod, symptoms=(*pod.symptoms, *said)) if said else pod


def _age(item: WarningItem) -> tuple[int, str]:
    version = item.metadata.resource_version
    return (int(version) if version.isdecimal() else 0, item.symptom.reason)


def _maintenance(
    items: Iterable[MaintenanceItem], requestor: models.RolloutMaintenance | None, node: str
) -> Maintenance | None:
    """The one that concerns us: which names us, else which has the name ours would have, else the first."""
    found = sorted((item.facts for item in items), key=lambda each: (each.namespace, each.name))
    if requestor is not None:
        name = (requestor.namespace, f"{requestor.prefix}-{node}")
        found.sort(
            key=lambda each: (not each.is_wanted_by(requestor.requestor_id), (each.namespace, each.name) != name)
        )
    return found[0] if found else None


def _newer(before: PodItem | None, after: PodItem) -> PodItem:
    """Of two pods for one job: the one that is not leaving, then the younger."""
    if before is None:
        return after
    return max(before, after, key=_standing)


def _standing(item: PodItem) -> tuple[bool, str, str]:
    return (not item.facts.is_terminating, item.created_at, item.metadata.uid)
