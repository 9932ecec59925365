"""What befalls the driver pod of a simulated node by itself: replaced, managed, loaded, or in trouble.

Law of this file: what the driver manager does is said by its rows in neighbours.py, and only played here.
Tests: tests/sim/test_reactions.py and test_neighbours.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverPod, DriverRevision, Pod, PodOwner
from seatrial.core.model.troubles import Symptom
from seatrial.core.node.progress import resource_of
from seatrial.core.node.step import RESTARTS_MAX
from seatrial.sim import neighbours, operand_pods
from seatrial.sim.neighbours import Deed, Start
from seatrial.sim.nodes import Fate, successor_of, touched

MANAGED_NOTE: Final = "simulated.seatrial.dev/driver-managed"
"""Which run of the driver manager in a driver pod is over."""
Reaction: TypeAlias = Callable[[NodeFacts, Fate, ApiInstant], NodeFacts | None]
"""The facts after the reaction, or None where it does not apply."""


def driver_pod_replaced(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """The DaemonSet starts a pod of the wanted revision in place of the deleted one; without one, nobody does."""
    if facts.driver is not None and facts.driver.is_terminating and facts.driver.is_orphaned and facts.wanted is None:
        return replace(facts, driver=None)
    if facts.driver is None or not facts.driver.is_terminating or facts.wanted is None:
        return None
    before, wanted = facts.driver, facts.wanted
    pod = DriverPod(
        namespace=before.namespace,
        name=before.name,
        uid=successor_of(before.uid),
        revision=wanted.hash,
        version=wanted.version,
        digest=wanted.digest,
    )
    after = replace(facts, driver=pod)
    if before.digest and before.digest == wanted.digest:
        # What is loaded stays loaded, and on offer; a driver manager finds nothing to do.
        return touched(after, {MANAGED_NOTE: _run_of(after, pod, fate)}) if fate.manager_env is not None else after
    after = operand_pods.remade_with_driver(after, at)
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
    after = touched(facts, {MANAGED_NOTE: _run_of(facts, facts.driver, fate)})
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
    """What the driver manager of the node's driver pod is still to do; nothing once this run of it is over."""
    driver = facts.driver
    if fate.manager_env is None or driver is None or driver.is_ready or driver.is_terminating:
        return ()
    if facts.labels.get(MANAGED_NOTE) == _run_of(facts, driver, fate):
        return ()
    # A reboot starts the pod's containers anew, and leaves nothing loaded.
    loaded = Start.FAILED if _is_in_use(driver, fate) else Start.LOADED
    return neighbours.deeds_of(loaded if driver.started_at is None else Start.BARE, fate.manager_env)


def _run_of(facts: NodeFacts, driver: DriverPod, fate: Fate) -> str:
    """Which run of its driver manager it is: one for each pod and boot, and one more whenever it has failed itself.

    A driver whose own container fails is started again without it, as kubelets do."""
    failed_count = driver.restart_count if _is_in_use(driver, fate) else 0
    return f"{driver.uid}/{facts.boot_id}/{failed_count}"


def _is_in_use(driver: DriverPod, fate: Fate) -> bool:
    """Whether the driver before this one cannot be taken out."""
    return fate.is_driver_in_use and driver.started_at is None and is_of(driver, fate.driver_fails_on)


def _evicted(pod: Pod, fate: Fate) -> Pod:
    is_asked = pod.gpu is not None and pod.keeper is not PodOwner.DAEMON_SET and not fate.is_eviction_blocked
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
    if manager_deeds(facts, fate) or (facts.network is not None and not facts.network.is_up):
        return None  # its init container runs first, and waits for the network driver that nvidia-peermem is loaded on
    if is_of(driver, fate.driver_fails_on) or is_of(driver, fate.image_missing_for):
        return None
    return replace(facts, driver=replace(driver, is_ready=True, ready_since=at, trouble="", symptoms=()))


UNLOADABLE: Final = Symptom(
    source="container", reason="Error", message="modprobe: ERROR: could not insert 'nvidia': Invalid argument"
)
IN_USE: Final = Symptom(
    source="container", reason="Error", message="Could not unload NVIDIA driver kernel modules, driver is in use"
)
UNPULLABLE: Final = Symptom(
    source="container", reason="ImagePullBackOff", message="Back-off pulling image: manifest unknown"
)


def image_pull_fails(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The kubelet does not get the driver's image, and says so."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or driver.trouble:
        return None
    if not is_of(driver, fate.image_missing_for):
        return None
    return replace(facts, driver=replace(driver, trouble="ImagePullBackOff", symptoms=(UNPULLABLE,)))


def driver_crash_loops(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The module does not load, or the old one cannot be taken out, again and again."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or not is_of(driver, fate.driver_fails_on):
        return None
    if driver.restart_count > RESTARTS_MAX or facts.awaits_safe_load or manager_deeds(facts, fate):
        return None
    symptom = IN_USE if _is_in_use(driver, fate) else UNLOADABLE
    crashed = replace(driver, restart_count=driver.restart_count + 11, trouble="CrashLoopBackOff", symptoms=(symptom,))
    return replace(facts, driver=crashed)


def is_usable(driver: DriverPod | None) -> bool:
    """Whether work can use the driver."""
    return driver is not None and driver.is_ready and not driver.is_terminating


def is_of(driver: DriverPod, version: str) -> bool:
    """Whether a driver is of a version that is in store for trouble; an unnamed version is in store for none."""
    return bool(version) and driver.version == version


def revisions_of(nodes: Iterable[NodeSeen]) -> dict[str, DriverRevision]:
    """The revisions that are known by their version: one that ran before is found again when it is wanted again."""
    found: dict[str, DriverRevision] = {}
    for node in nodes:
        driver, wanted = node.facts.driver, node.facts.wanted
        if driver is not None:
            running = DriverRevision(hash=driver.revision, version=driver.version, digest=driver.digest)
            found.setdefault(driver.version, running)
        if wanted is not None:
            found.setdefault(wanted.version, wanted)
    return found


def manager_env_of(facts: NodeFacts, operator: OperatorFacts) -> tuple[tuple[str, str], ...] | None:
    """What the driver manager of a node's driver pod is told; None where there is none, or upgrades are NVIDIA's.

    A pod of another version than the resource carries is of a template from before, which nobody had switched off.
    """
    driver, resource = facts.driver, resource_of(facts, operator)
    carrier = next((each for each in operator.carriers if each.name == resource), None)
    pool = next((each for each in operator.pools if each.name == facts.owner), None)
    is_superseded = pool.is_auto_upgrading if pool is not None else operator.is_auto_upgrading
    if carrier is None or driver is None or is_superseded:
        return None
    return carrier.switches if driver.version == carrier.version else ()
