"""Coarser worlds: reactions that happen at once where their order is not what a test is about.

Law of this file: a coarse reaction is several fine ones, one after the other. Tests: tests/model/test_explore.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.pods import Pod
from seatrial.sim import driver_pods, operand_pods, reactions
from seatrial.sim.driver_pods import Reaction
from seatrial.sim.nodes import JOB_LABEL, Fate, touched

QUEUE_NOTE: Final = "simulated.seatrial.dev/queued-work-came"
"""Who came last from the queue: time stands still, so nobody comes twice to one driver."""


def reloads(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """All that follows from a driver pod's deletion, in one step: its successor is validated, or has failed."""
    is_due = facts.driver is not None and facts.driver.is_terminating
    return _followed(facts, (*_RELOADING, *_RESTARTING), fate, at + 1) if is_due else None


def restarts(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """All that follows from the deletion of an operand's pod, in one step: its successor is up, or never will be."""
    is_due = any(each.pod is not None and each.pod.is_terminating for each in facts.operands)
    return _followed(facts, _RESTARTING, fate, at) if is_due else None


def _followed(facts: NodeFacts, world: Iterable[Reaction], fate: Fate, at: ApiInstant) -> NodeFacts:
    after = facts
    while following := next((found for react in world if (found := react(after, fate, at)) is not None), None):
        after = following
    return after


def job_starts(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Somebody from the queue takes all GPUs of a node that is open and empty; once, on each driver of it."""
    driver = facts.driver
    if facts.is_unavailable or facts.pods or driver is None or not driver.is_ready or driver.is_terminating:
        return None
    uid = f"late-{driver.uid}"
    if facts.labels.get(QUEUE_NOTE) == uid:
        return None
    job = PodJob(gang=f"jobs/job/{uid}", line="jobs/late")
    labels = ((JOB_LABEL, "late"),)
    pod = Pod(namespace="jobs", name=uid, uid=uid, gpu=GpuUse.RESOURCE, is_running=True, labels=labels, job=job)
    return replace(touched(facts, {QUEUE_NOTE: uid}), pods=(pod,))


_RELOADING: Final = (
    driver_pods.driver_pod_replaced,
    driver_pods.driver_manager_acts,
    driver_pods.driver_gets_ready,
    driver_pods.driver_crash_loops,
    reactions.validator_restarts,
    reactions.validator_passes,
)
_RESTARTING: Final = (
    operand_pods.operand_replaced,
    operand_pods.operand_starts,
    reactions.validator_replaced,
    reactions.validator_passes,
)
AT_ONCE: Final[Mapping[str, Reaction]] = {
    "pods leave": reactions.pods_leave,
    "driver reloads": reloads,
    "operand restarts": restarts,
}
"""For worlds of more nodes: nobody looks while something restarts, so what can be seen is before and after."""
BUSY: Final[Mapping[str, Reaction]] = {
    **AT_ONCE,
    "job finishes": reactions.job_finishes,
    "job starts": job_starts,
}
"""For worlds by attrition: jobs end and come, and nobody minds in which order a driver starts."""
ENDING: Final[Mapping[str, Reaction]] = {name: reaction for name, reaction in BUSY.items() if name != "job starts"}
"""The same where nobody comes any more: a way back, or a gang, is as much as can be walked then."""
