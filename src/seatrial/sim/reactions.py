"""How a simulated cluster answers: what our own acts do (certain), and what the world then does by itself (in time).

Pure functions from node to node. The timed World gives each reaction a delay; the explorer tries them in every order.
Models facts, not Kubernetes objects: a fake API server would decay into a bad copy of one. A reaction that has nothing
to act on does not apply, so a node without a DRA plugin, feature discovery or clients costs the explorer nothing.

Law of this file: labels are not compared between two facts, so whoever changes one changes the resource version too, as
the API server does (`touched`). The explorer would else take two different states for one.

Tests: tests/sim/test_reactions.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from seatrial.core.actions import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    Operand,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.budget.losses import COUNT_LABEL, GPU
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.snapshot import (
    DraPlugin,
    DriverPod,
    DriverRevision,
    Keeper,
    Loaded,
    Maintenance,
    NodeFacts,
    NodeSeen,
    Pod,
    ValidatorPod,
)
from seatrial.core.model.troubles import Symptom
from seatrial.core.node.step import RESTARTS_MAX
from seatrial.core.node.writing import PAUSED
from seatrial.sim import neighbours
from seatrial.sim.neighbours import Deed, Start

__all__ = [
    "HEALTHY",
    "REACTIONS",
    "Fate",
    "NodeAct",
    "Reaction",
    "Refused",
    "apply",
    "mirrored",
    "new_node",
    "rebooted",
    "touched",
]

DEPLOY_PREFIX: Final = "nvidia.com/gpu.deploy."
"""Labels by which the DaemonSets of clients choose their nodes."""
JOB_LABEL: Final = "batch.kubernetes.io/job-name"
"""A pod that has it finishes by itself."""
_REAL_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CORDON_NOTE: Final = "simulated.seatrial.dev/cordoned-for-maintenance"
"""The maintenance operator's note that the cordon is its own, so that it takes nobody else's away."""


MANAGED_NOTE: Final = "simulated.seatrial.dev/driver-managed"
"""Which start of a driver pod its driver manager has dealt with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What is in store for a node, unknown to everybody until it shows."""

    driver_fails_on: str = ""
    """The driver version whose module does not load here."""
    image_missing_for: str = ""
    """The driver version whose image cannot be pulled here."""
    cuda_fails_on: str = ""
    """The driver version that is Ready here and does not work: the validator never passes on it."""
    is_pod_stuck: bool = False
    """A pod that is asked to leave never does: its kubelet waits for something that does not come."""
    is_dra_deaf: bool = False
    """A DRA plugin that is started again goes on telling of the driver it knew before."""
    is_eviction_blocked: bool = False
    """A disruption budget that allows nothing."""
    is_validator_lazy: bool = False
    """Nobody sends the validator through its checks again: it stays as it was until its pod is deleted."""
    is_gpu_lost: bool = False
    """One GPU does not survive the reload of the driver."""
    is_job_endless: bool = False
    """Jobs never finish by themselves."""
    is_work_unsaved: bool = False
    """Jobs that offer to save their work never do."""
    is_load_guarded: bool = False
    """A new driver waits for somebody to say that the node is safe to load on."""
    is_maintenance_stuck: bool = False
    """The maintenance operator never gets the node empty."""
    manager_env: tuple[tuple[str, str], ...] | None = None
    """What the driver manager in its driver pods is told by name; None where there is no driver manager."""
    is_work_waiting: bool = False
    """A job waits for GPUs, and is placed here the moment the node is open."""


HEALTHY: Final = Fate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The cluster turned an act down."""

    is_stale: bool
    why: str


# ── what our acts do ─────────────────────────────────────────────────────────────────────────────────────────────────


def apply(node: NodeSeen, act: NodeAct, fate: Fate = HEALTHY) -> NodeSeen | Refused:
    """The node after one of our acts, or why it was turned down."""
    match act:
        case WriteNodeRecord():
            return _write(node, act)
        case EvictPods(pods=pods):
            return _evict(node, {pod.uid for pod in pods}, fate)
        case AskCheckpoint():
            return _ask(node, act, fate)
        case RestartPod():
            return _restart(node, act)
        case RequestMaintenance():
            return _request(node, act)
        case ReleaseMaintenance():
            return _release(node, act)
        case _:
            assert_never(act)


def _write(node: NodeSeen, act: WriteNodeRecord) -> NodeSeen | Refused:
    facts = node.facts
    if act.expect != facts.resource_version:
        return Refused(is_stale=True, why=f"the node is at {facts.resource_version}, not at {act.expect}")
    facts = replace(
        touched(facts, dict(act.labels)),
        is_cordoned=isinstance(act, Cordon) or (facts.is_cordoned and not isinstance(act, Uncordon)),
        is_requested=facts.is_requested and Request.UPGRADE not in act.answers,
        awaits_safe_load=facts.awaits_safe_load and Request.SAFE_LOAD not in act.answers,
        is_loss_accepted=facts.is_loss_accepted and Request.ACCEPT_LOSS not in act.answers,
    )
    return NodeSeen(facts=facts, record=act.record)


def mirrored(node: NodeSeen) -> NodeSeen:
    """The node after a write of ours where no GPU Operator runs: its phase stands under NVIDIA's own key, too."""
    state = node.record.phase.value if node.record is not None else ""
    return replace(node, facts=replace(node.facts, nvidia_state=state))


def _evict(node: NodeSeen, uids: set[str], fate: Fate) -> NodeSeen | Refused:
    if fate.is_eviction_blocked:
        return Refused(is_stale=False, why="the disruption budget needs every pod it has")
    pods = tuple(replace(pod, is_terminating=pod.is_terminating or pod.uid in uids) for pod in node.facts.pods)
    return replace(node, facts=replace(node.facts, pods=pods))


def _ask(node: NodeSeen, act: AskCheckpoint, fate: Fate) -> NodeSeen | Refused:
    asked = {pod.uid for pod in act.pods}
    if not act.webhook:
        pods = tuple(replace(pod, checkpoint_asked=act.token) if pod.uid in asked else pod for pod in node.facts.pods)
        return replace(node, facts=replace(node.facts, pods=pods))
    if fate.is_work_unsaved:
        # A webhook is asked again and again, and says "not yet" until the work is saved; the pods know nothing of it.
        return Refused(is_stale=False, why="the work is not saved yet")
    pods = tuple(replace(pod, checkpoint_saved=act.token) if pod.uid in asked else pod for pod in node.facts.pods)
    return replace(node, facts=replace(node.facts, pods=pods))


def _restart(node: NodeSeen, act: RestartPod) -> NodeSeen | Refused:
    facts = node.facts
    match act.operand:
        case Operand.DRIVER:
            if _is_meant(facts.driver, act) and facts.driver is not None:
                return replace(node, facts=replace(facts, driver=replace(facts.driver, is_terminating=True)))
        case Operand.VALIDATOR:
            if _is_meant(facts.validator, act) and facts.validator is not None:
                return replace(node, facts=replace(facts, validator=replace(facts.validator, is_terminating=True)))
        case Operand.DRA_PLUGIN:
            if _is_meant(facts.dra, act) and facts.dra is not None:
                return replace(node, facts=replace(facts, dra=replace(facts.dra, is_terminating=True)))
        case _:
            assert_never(act.operand)
    return Refused(is_stale=True, why=f"the {act.operand} pod is another one by now")


def _is_meant(found: DriverPod | ValidatorPod | DraPlugin | None, act: RestartPod) -> bool:
    return found is not None and (found.namespace, found.name, found.uid) == (act.namespace, act.pod, act.uid)


def _request(node: NodeSeen, act: RequestMaintenance) -> NodeSeen | Refused:
    found = node.facts.maintenance
    if found is not None and (found.namespace, found.name) != (act.namespace, act.name):
        found = None  # two may exist side by side; the facts have room for one, and ours is the one we look at
    if (found.resource_version if found else "") != act.joins:
        return Refused(is_stale=True, why="the NodeMaintenance is another one by now")
    if found is not None:
        others = (*found.others, act.requestor)
        joined = replace(found, others=others, resource_version=_next(found.resource_version))
        return replace(node, facts=replace(node.facts, maintenance=joined))
    made = Maintenance(
        namespace=act.namespace,
        name=act.name,
        # One for each attempt at most, and the last one is gone by then.
        uid=f"{act.name}-{act.attempt}",
        resource_version="1",
        requestor=act.requestor,
    )
    return replace(node, facts=replace(node.facts, maintenance=made))


def _release(node: NodeSeen, act: ReleaseMaintenance) -> NodeSeen | Refused:
    found = node.facts.maintenance
    is_named = found is not None and (found.namespace, found.name) == (act.namespace, act.name)
    if found is None or not is_named or not _is_as_seen(found, act):
        return Refused(is_stale=True, why="the NodeMaintenance is another one by now")
    if act.is_ours and found.is_deleting:
        return node  # what is on its way out is not sent out once more
    version = _next(found.resource_version)
    if act.is_ours:
        released = replace(found, is_deleting=True, resource_version=version)
    else:
        released = replace(found, others=act.stay, resource_version=version)
    return replace(node, facts=replace(node.facts, maintenance=released))


def _is_as_seen(found: Maintenance, act: ReleaseMaintenance) -> bool:
    """Our own goes whatever has joined it since; a list of names in somebody else's is written as it was seen."""
    return found.uid == act.uid if act.is_ours else found.resource_version == act.resource_version


def touched(facts: NodeFacts, labels: Mapping[str, str] = MappingProxyType({})) -> NodeFacts:
    """The node object written to: whatever else changes, its version does, because labels alone are not compared."""
    after = {**facts.labels, **labels}
    return replace(
        facts,
        resource_version=_next(facts.resource_version),
        labels=after,
        # Without deploy labels among them, what is paused is a plain fact, told to us as it is.
        paused_labels=_paused(after) if any(key.startswith(DEPLOY_PREFIX) for key in after) else facts.paused_labels,
    )


def _paused(labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(key for key, value in labels.items() if key.startswith(DEPLOY_PREFIX) and PAUSED in value))


def _next(number: str) -> str:
    return str(int(number) + 1)


def _successor(uid: str) -> str:
    """The uid of the pod that follows: its last part counts generations. That of a real pod counts nothing."""
    stem, _, generation = uid.rpartition("-")
    is_counted = generation.isdecimal() and not _REAL_UID.fullmatch(uid)
    return f"{stem}-{_next(generation)}" if is_counted else f"{uid}-1"


# ── what the world does by itself ────────────────────────────────────────────────────────────────────────────────────

Reaction: TypeAlias = Callable[[NodeFacts, Fate, ApiInstant], NodeFacts | None]
"""The facts after the reaction, or None where it does not apply."""


def pods_leave(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Terminating pods are gone after their grace, which runs for all of them at once."""
    if fate.is_pod_stuck:
        return None
    # The kubelet needs the DRA plugin to give devices back: without it, such a pod hangs.
    can_unprepare = facts.dra is not None and facts.dra.started_at is not None and not facts.dra.is_terminating
    staying = tuple(pod for pod in facts.pods if not pod.is_terminating or (pod.holds_claim and not can_unprepare))
    return replace(facts, pods=staying) if staying != facts.pods else None


def job_finishes(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """A job comes to its own end, one at a time."""
    running = next((pod for pod in facts.pods if JOB_LABEL in dict(pod.labels)), None)
    if running is None or fate.is_job_endless:
        return None
    return replace(facts, pods=tuple(pod for pod in facts.pods if pod is not running))


def work_is_saved(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Jobs that were asked to save their work have done so."""
    if fate.is_work_unsaved:
        return None
    pods = tuple(
        replace(pod, checkpoint_saved=pod.checkpoint_asked) if pod.offers_checkpoint else pod for pod in facts.pods
    )
    return replace(facts, pods=pods) if pods != facts.pods else None


def paused_clients_leave(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """DaemonSets take their pods away from a node whose deploy label is paused."""
    staying = tuple(pod for pod in facts.pods if PAUSED not in facts.labels.get(pod.deploy_label, ""))
    return replace(facts, pods=staying) if staying != facts.pods else None


def clients_come_back(facts: NodeFacts, _fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """DaemonSets start their pods again where the deploy label says so and a driver can be used."""
    present = {pod.deploy_label for pod in facts.pods}
    missing = sorted(key for key, value in facts.labels.items() if key.startswith(DEPLOY_PREFIX) and key not in present)
    back = [key for key in missing if facts.labels[key] == "true"]
    if not back or not _is_usable(facts.driver):
        return None
    return replace(facts, pods=(*facts.pods, *(_client(facts.name, key, at) for key in back)))


def driver_pod_replaced(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The DaemonSet starts a pod of the wanted revision in place of the deleted one; without one, nobody does."""
    if facts.driver is not None and facts.driver.is_terminating and facts.driver.is_orphaned and facts.wanted is None:
        return replace(facts, driver=None)
    if facts.driver is None or not facts.driver.is_terminating or facts.wanted is None:
        return None
    before, wanted = facts.driver, facts.wanted
    pod = DriverPod(
        namespace=before.namespace,
        name=before.name,
        uid=_successor(before.uid),
        revision=wanted.hash,
        version=wanted.version,
        digest=wanted.digest,
    )
    after = replace(facts, driver=pod)
    if before.digest and before.digest == wanted.digest:
        # What is loaded stays loaded, and on offer; a driver manager finds nothing to do.
        return touched(after, {MANAGED_NOTE: _start_of(pod)}) if fate.manager_env is not None else after
    if facts.offer.resources or fate.is_load_guarded:
        after = replace(
            touched(after),
            offer=replace(facts.offer, resources=tuple((name, 0) for name, _ in facts.offer.resources)),
            awaits_safe_load=fate.is_load_guarded,
        )
    return after


def driver_manager_acts(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The driver manager in a driver pod that starts cordons, evicts and uncordons, as its rows have it."""
    deeds = manager_deeds(facts, fate)
    if facts.driver is None or not deeds:
        return None
    after = touched(facts, {MANAGED_NOTE: _start_of(facts.driver)})
    for deed in deeds:
        match deed:
            case Deed.CORDON:
                after = replace(after, is_cordoned=True)
            case Deed.EVICT:
                after = replace(after, pods=tuple(_evicted(pod, fate) for pod in after.pods))
            case Deed.UNCORDON:
                after = replace(after, is_cordoned=False)
            case _:
                assert_never(deed)
    return after


def manager_deeds(facts: NodeFacts, fate: Fate) -> tuple[Deed, ...]:
    """What the driver manager of the node's driver pod is still to do; nothing once it has dealt with this start."""
    driver = facts.driver
    if fate.manager_env is None or driver is None or driver.is_ready or driver.is_terminating:
        return ()
    if facts.labels.get(MANAGED_NOTE) == _start_of(driver):
        return ()
    # A reboot starts the pod's containers anew; a driver that keeps failing has been tried more often than that.
    is_failing = driver.restart_count > RESTARTS_MAX
    start = Start.FAILED if is_failing else Start.BARE if driver.started_at is not None else Start.LOADED
    return neighbours.deeds_of(start, fate.manager_env)


def _start_of(driver: DriverPod) -> str:
    """Which start of which driver pod it is."""
    return f"{driver.uid}/{driver.restart_count}"


def _evicted(pod: Pod, fate: Fate) -> Pod:
    is_asked = pod.gpu is not None and pod.keeper is not Keeper.DAEMON_SET and not fate.is_eviction_blocked
    return replace(pod, is_terminating=pod.is_terminating or is_asked)


def work_is_placed(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """A job that waits for GPUs is placed on a node that is open although its driver is not there yet."""
    driver = facts.driver
    if not fate.is_work_waiting or facts.is_unavailable or driver is None or driver.is_ready or driver.is_terminating:
        return None
    pod = Pod(namespace="jobs", name=f"late-{facts.name}", uid=f"late-{driver.uid}", gpu=GpuUse.RESOURCE)
    return None if pod.uid in {each.uid for each in facts.pods} else replace(facts, pods=(*facts.pods, pod))


def driver_gets_ready(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """The module loads."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or facts.awaits_safe_load:
        return None
    if manager_deeds(facts, fate):
        return None  # its init container runs first
    if _is_of(driver, fate.driver_fails_on) or _is_of(driver, fate.image_missing_for):
        return None
    return replace(facts, driver=replace(driver, is_ready=True, ready_since=at, trouble="", symptoms=()))


UNLOADABLE: Final = Symptom(
    source="container", reason="Error", message="modprobe: ERROR: could not insert 'nvidia': Invalid argument"
)


UNPULLABLE: Final = Symptom(
    source="container", reason="ImagePullBackOff", message="Back-off pulling image: manifest unknown"
)


def image_pull_fails(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The kubelet does not get the driver's image, and says so."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or driver.trouble:
        return None
    if not _is_of(driver, fate.image_missing_for):
        return None
    return replace(facts, driver=replace(driver, trouble="ImagePullBackOff", symptoms=(UNPULLABLE,)))


def driver_crash_loops(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The module does not load, again and again."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or not _is_of(driver, fate.driver_fails_on):
        return None
    if driver.restart_count > RESTARTS_MAX or facts.awaits_safe_load or manager_deeds(facts, fate):
        return None
    crashed = replace(
        driver, restart_count=driver.restart_count + 11, trouble="CrashLoopBackOff", symptoms=(UNLOADABLE,)
    )
    return replace(facts, driver=crashed)


def gpus_offered(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The device plugin finds the GPUs of the new driver, all of them unless one is lost."""
    if not _is_usable(facts.driver) or any(count for _, count in facts.offer.resources):
        return None
    count = int(facts.labels.get(COUNT_LABEL, "0")) - fate.is_gpu_lost
    if not facts.offer.resources or count <= 0:
        return None
    return replace(touched(facts), offer=replace(facts.offer, resources=((GPU, count),)))


def features_discovered(facts: NodeFacts, _fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """Feature discovery looks at the node again, and says which driver is loaded."""
    driver, loaded = facts.driver, facts.loaded
    if driver is None or loaded is None or not _is_usable(driver) or driver.loaded_at is None:
        return None
    if loaded.seen_at is not None and loaded.seen_at >= driver.loaded_at:
        return None
    return replace(touched(facts), loaded=Loaded(version=driver.version, seen_at=at))


def validator_restarts(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The driver manager sends the validator through its checks again once the new driver is up."""
    driver, validator = facts.driver, facts.validator
    if driver is None or driver.ready_since is None or validator is None or validator.ready_since is None:
        return None
    if fate.is_validator_lazy or validator.is_terminating or validator.ready_since >= driver.ready_since:
        return None
    return replace(facts, validator=_fresh_validator(validator))


def validator_replaced(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The validator's DaemonSet starts a pod in place of the deleted one."""
    if facts.validator is None or not facts.validator.is_terminating:
        return None
    return replace(facts, validator=_fresh_validator(facts.validator))


def validator_passes(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """The validator's checks pass on a ready driver, unless CUDA does not work with it."""
    driver, validator = facts.driver, facts.validator
    if validator is None or validator.is_ready or validator.is_terminating or driver is None or not driver.is_ready:
        return None
    if _is_of(driver, fate.cuda_fails_on):
        return None
    return replace(facts, validator=replace(validator, is_ready=True, ready_since=at))


def dra_plugin_replaced(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The DRA plugin's DaemonSet starts a pod in place of the deleted one; until then it is as stale as it was."""
    plugin = facts.dra
    if plugin is None or not plugin.is_terminating:
        return None
    fresh = DraPlugin(namespace=plugin.namespace, name=plugin.name, uid=_successor(plugin.uid))
    return replace(facts, dra=fresh)


def dra_plugin_starts(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """A new DRA plugin starts on a usable driver, and publishes what is loaded at that moment, unless it is deaf."""
    plugin, driver = facts.dra, facts.driver
    if plugin is None or plugin.is_terminating or plugin.started_at is not None:
        return None
    if driver is None or not _is_usable(driver):
        return None
    published = facts.published if fate.is_dra_deaf else (driver.version,)
    return replace(facts, dra=replace(plugin, is_ready=True, started_at=at), published=published)


def maintenance_begins(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The maintenance operator cordons the node and asks its pods to leave."""
    found = facts.maintenance
    if found is None or found.is_deleting or found.is_ready:
        return None
    pods = tuple(replace(pod, is_terminating=pod.is_terminating or _is_drained(pod)) for pod in facts.pods)
    if facts.is_cordoned:
        return replace(facts, pods=pods) if pods != facts.pods else None
    return replace(touched(facts, {CORDON_NOTE: "true"}), is_cordoned=True, pods=pods)


def maintenance_gets_ready(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The node is cordoned and empty, and the maintenance operator says so."""
    found = facts.maintenance
    if found is None or found.is_deleting or found.is_ready or fate.is_maintenance_stuck:
        return None
    if not facts.is_cordoned or any(map(_is_drained, facts.pods)):
        return None
    ready = replace(found, is_ready=True, resource_version=_next(found.resource_version))
    return replace(facts, maintenance=ready)


def maintenance_ends(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Nobody needs the node any more: the maintenance operator takes its own cordon away."""
    if facts.maintenance is None or not facts.maintenance.is_deleting or facts.maintenance.others:
        return None
    after = replace(facts, maintenance=None)
    if facts.labels.get(CORDON_NOTE) != "true":
        return after
    return replace(touched(after, {CORDON_NOTE: ""}), is_cordoned=False)


REACTIONS: Final[Mapping[str, Reaction]] = {
    "pods leave": pods_leave,
    "job finishes": job_finishes,
    "work is saved": work_is_saved,
    "paused clients leave": paused_clients_leave,
    "clients come back": clients_come_back,
    "driver pod replaced": driver_pod_replaced,
    "driver manager acts": driver_manager_acts,
    "work is placed": work_is_placed,
    "driver gets ready": driver_gets_ready,
    "image pull fails": image_pull_fails,
    "driver crash loops": driver_crash_loops,
    "GPUs offered": gpus_offered,
    "features discovered": features_discovered,
    "validator restarts": validator_restarts,
    "validator replaced": validator_replaced,
    "validator passes": validator_passes,
    "DRA plugin replaced": dra_plugin_replaced,
    "DRA plugin starts": dra_plugin_starts,
    "maintenance begins": maintenance_begins,
    "maintenance gets ready": maintenance_gets_ready,
    "maintenance ends": maintenance_ends,
}


OPERATORS_OWN: Final = frozenset({"maintenance begins", "maintenance gets ready", "maintenance ends"})
"""Reactions that need no kubelet of the node: they happen on a lost node, too."""


def rebooted(facts: NodeFacts, at: ApiInstant) -> NodeFacts:
    """The node right after a reboot: the same pods, their containers started anew, nothing loaded and nothing proven.

    Who was on the way out is out.
    """
    driver, validator, plugin = facts.driver, facts.validator, facts.dra
    if driver is not None and not driver.is_terminating:
        driver = replace(
            driver, is_ready=False, ready_since=None, started_at=at, restart_count=driver.restart_count + 1
        )
    if validator is not None:
        validator = replace(validator, is_ready=False, ready_since=None)
    if plugin is not None:
        plugin = replace(plugin, is_ready=False, started_at=None)
    return replace(
        touched(facts),
        is_ready=True,
        ready_at=at,
        boot_id=_successor(facts.boot_id or f"{facts.name}-boot-0"),
        driver=driver,
        validator=validator,
        dra=plugin,
        offer=replace(facts.offer, resources=tuple((name, 0) for name, _ in facts.offer.resources)),
        pods=tuple(pod for pod in facts.pods if not pod.is_terminating),
    )


def _is_usable(driver: DriverPod | None) -> bool:
    return driver is not None and driver.is_ready and not driver.is_terminating


def _is_of(driver: DriverPod, version: str) -> bool:
    """Whether a driver is of a version that is in store for trouble; an unnamed version is in store for none."""
    return bool(version) and driver.version == version


def _is_drained(pod: Pod) -> bool:
    return pod.keeper not in (Keeper.DAEMON_SET, Keeper.KUBELET)


def _fresh_validator(before: ValidatorPod) -> ValidatorPod:
    return ValidatorPod(namespace=before.namespace, name=before.name, uid=_successor(before.uid))


# ── nodes to begin with ──────────────────────────────────────────────────────────────────────────────────────────────


def new_node(
    name: str,
    *,
    running: DriverRevision,
    wanted: DriverRevision,
    gpu_pod_count: int = 0,
    is_cordoned: bool = False,
    pods: Iterable[Pod] = (),
    clients: Iterable[str] = (),
    gpu_count: int = 0,
    has_features: bool = False,
    has_dra: bool = False,
    labels: Mapping[str, str] | None = None,
    at: ApiInstant = 0.0,
) -> NodeSeen:
    """A healthy node that runs one revision and is wanted to run another.

    `clients` are the names of DaemonSets that hold GPUs and leave when their deploy label is paused. What is left out
    (GPUs on offer, feature discovery, a DRA plugin) cannot be observed on this node, and does nothing by itself.
    """
    driver = DriverPod(
        namespace="gpu-operator",
        name=f"driver-{name}",
        uid=f"driver-{name}-0",
        revision=running.hash,
        version=running.version,
        digest=running.digest,
        is_ready=True,
        ready_since=at,
    )
    jobs = (
        Pod(namespace="jobs", name=f"train-{name}-{index}", uid=f"pod-{name}-{index}", gpu=GpuUse.RESOURCE)
        for index in range(gpu_pod_count)
    )
    deploy = {f"{DEPLOY_PREFIX}{client}": "true" for client in clients}
    plugin = DraPlugin(
        namespace="dra", name=f"plugin-{name}", uid=f"plugin-{name}-0", is_ready=True, started_at=at + 1.0
    )
    facts = NodeFacts(
        name=name,
        resource_version="1",
        labels={**deploy, **({COUNT_LABEL: str(gpu_count)} if gpu_count else {}), **(labels or {})},
        is_cordoned=is_cordoned,
        ready_at=at,
        boot_id=f"{name}-boot-0",
        wanted=wanted,
        driver=driver,
        validator=ValidatorPod(
            namespace="gpu-operator",
            name=f"validator-{name}",
            uid=f"validator-{name}-0",
            is_ready=True,
            ready_since=at,
        ),
        dra=plugin if has_dra else None,
        published=(running.version,) if has_dra else (),
        loaded=Loaded(version=running.version, seen_at=at) if has_features else None,
        offer=GpuOffer(resources=((GPU, gpu_count),)) if gpu_count else GpuOffer(),
        pods=(*jobs, *pods, *(_client(name, key, at) for key in deploy)),
    )
    return NodeSeen(facts=facts)


def _client(node: str, deploy_label: str, at: ApiInstant) -> Pod:
    name = f"{deploy_label.removeprefix(DEPLOY_PREFIX)}-{node}"
    return Pod(
        namespace="gpu-operator",
        name=name,
        uid=f"{name}-{at:g}",
        gpu=GpuUse.RESOURCE,
        keeper=Keeper.DAEMON_SET,
        deploy_label=deploy_label,
    )
