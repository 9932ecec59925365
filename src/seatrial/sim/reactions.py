"""What a simulated cluster does by itself, in time: jobs end, pods leave, operands start and prove, maintenance ends.

Pure functions from facts to facts. The timed World gives each reaction a delay; the explorer tries them in every order.
Models facts, not Kubernetes objects: a fake API server would decay into a bad copy of one. What befalls a driver pod is
in driver_pods.py; REACTIONS below names them all.

Law of this file: a reaction that has nothing to act on does not apply, so that a node without a DRA plugin, feature
discovery or clients costs the explorer nothing. Tests: tests/sim/test_reactions.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from seatrial.core.budget.losses import COUNT_LABEL, GPU
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen import sriov
from seatrial.core.model.seen.nodes import Loaded, NodeFacts
from seatrial.core.model.seen.pods import DraPlugin, Pod, PodOwner, ValidatorPod
from seatrial.core.node.writing import PAUSED
from seatrial.sim import operand_pods
from seatrial.sim.driver_pods import (
    Reaction,
    driver_crash_loops,
    driver_gets_ready,
    driver_manager_acts,
    driver_pod_replaced,
    image_pull_fails,
    is_of,
    is_usable,
    work_is_placed,
)
from seatrial.sim.nodes import DEPLOY_PREFIX, JOB_LABEL, Fate, client_of, next_of, successor_of, touched

CORDON_NOTE: Final = "simulated.seatrial.dev/cordoned-for-maintenance"
"""The maintenance operator's note that the cordon is its own, so that it takes nobody else's away."""


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


def kueue_ends_pods(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Kueue ends the pods of a Workload that is switched off."""
    if fate.is_work_unsaved:
        return None
    pods = tuple(replace(pod, is_terminating=True) if pod.suspended_for else pod for pod in facts.pods)
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
    if not back or not is_usable(facts.driver):
        return None
    return replace(facts, pods=(*facts.pods, *(client_of(facts.name, key, at) for key in back)))


def gpus_offered(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The device plugin finds the GPUs of the new driver, all of them unless one is lost."""
    if not is_usable(facts.driver) or any(count for _, count in facts.offer.resources):
        return None
    count = int(facts.labels.get(COUNT_LABEL, "0")) - fate.is_gpu_lost
    if not facts.offer.resources or count <= 0:
        return None
    return replace(touched(facts), offer=replace(facts.offer, resources=((GPU, count),)))


def features_discovered(facts: NodeFacts, _fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """Feature discovery looks at the node again, and says which driver is loaded."""
    driver, loaded = facts.driver, facts.loaded
    if driver is None or loaded is None or not is_usable(driver) or driver.loaded_at is None:
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
    return operand_pods.with_validator(facts, _fresh_validator(validator))


def validator_replaced(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The validator's DaemonSet starts a pod in place of the deleted one."""
    if facts.validator is None or not facts.validator.is_terminating:
        return None
    return operand_pods.with_validator(facts, _fresh_validator(facts.validator))


def validator_passes(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """The validator's checks pass on a ready driver, unless CUDA does not work with it."""
    driver, validator = facts.driver, facts.validator
    if validator is None or validator.is_ready or validator.is_terminating or driver is None or not driver.is_ready:
        return None
    if is_of(driver, fate.cuda_fails_on):
        return None
    return operand_pods.with_validator(facts, replace(validator, is_ready=True, ready_since=at))


def dra_plugin_replaced(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The DRA plugin's DaemonSet starts a pod in place of the deleted one; until then it is as stale as it was."""
    plugin = facts.dra
    if plugin is None or not plugin.is_terminating:
        return None
    fresh = DraPlugin(namespace=plugin.namespace, name=plugin.name, uid=successor_of(plugin.uid))
    return operand_pods.with_plugin(facts, fresh)


def dra_plugin_starts(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """A new DRA plugin starts on a usable driver, and publishes what is loaded at that moment, unless it is deaf."""
    plugin, driver = facts.dra, facts.driver
    if plugin is None or plugin.is_terminating or plugin.started_at is not None:
        return None
    if driver is None or not is_usable(driver):
        return None
    published = facts.published if fate.is_dra_deaf else (driver.version,)
    started = replace(plugin, is_ready=True, started_at=at)
    return replace(operand_pods.with_plugin(facts, started), published=published)


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
    ready = replace(found, is_ready=True, resource_version=next_of(found.resource_version))
    return replace(facts, maintenance=ready)


def maintenance_ends(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Nobody needs the node any more: the maintenance operator takes its own cordon away."""
    if facts.maintenance is None or not facts.maintenance.is_deleting or facts.maintenance.others:
        return None
    after = replace(facts, maintenance=None)
    if facts.labels.get(CORDON_NOTE) != "true":
        return after
    return replace(touched(after, {CORDON_NOTE: ""}), is_cordoned=False)


SRIOV_NOTE: Final = "simulated.seatrial.dev/sriov-begun"
"""That the SR-IOV operator has begun its one change of the NICs of a node."""


def sriov_operator_acts(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The SR-IOV operator asks for a drain, drains the node, sets up its NICs and opens it, one step at a time."""
    if not facts.sriov and (not fate.is_sriov_due or SRIOV_NOTE in facts.labels):
        return None
    stage = sriov.after(facts.sriov)
    is_draining = facts.sriov == "Draining"
    if stage is None or (is_draining and any(map(_is_drained, facts.pods))):
        return None
    after = touched(facts, {SRIOV_NOTE: "true"})
    after = replace(after, sriov="" if stage.state == sriov.IDLE else stage.state)
    for deed in stage.deeds:
        match deed:
            case sriov.Deed.CORDON:
                after = replace(after, is_cordoned=True)
            case sriov.Deed.DRAIN:
                pods = (replace(pod, is_terminating=pod.is_terminating or _is_drained(pod)) for pod in after.pods)
                after = replace(after, pods=tuple(pods))
            case sriov.Deed.UNCORDON:
                after = replace(after, is_cordoned=False)
            case _:
                assert_never(deed)
    return after


REACTIONS: Final[Mapping[str, Reaction]] = {
    "pods leave": pods_leave,
    "job finishes": job_finishes,
    "work is saved": work_is_saved,
    "Kueue ends pods": kueue_ends_pods,
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
    "operand replaced": operand_pods.operand_replaced,
    "operand starts": operand_pods.operand_starts,
    "validator restarts": validator_restarts,
    "validator replaced": validator_replaced,
    "validator passes": validator_passes,
    "DRA plugin replaced": dra_plugin_replaced,
    "DRA plugin starts": dra_plugin_starts,
    "maintenance begins": maintenance_begins,
    "maintenance gets ready": maintenance_gets_ready,
    "maintenance ends": maintenance_ends,
    "SR-IOV operator acts": sriov_operator_acts,
}
OPERATORS_OWN: Final = frozenset({"maintenance begins", "maintenance gets ready", "maintenance ends"})
"""Reactions that need no kubelet of the node: they happen on a lost node, too."""


def _is_drained(pod: Pod) -> bool:
    return pod.keeper not in (PodOwner.DAEMON_SET, PodOwner.KUBELET)


def _fresh_validator(before: ValidatorPod) -> ValidatorPod:
    return ValidatorPod(namespace=before.namespace, name=before.name, uid=successor_of(before.uid))
