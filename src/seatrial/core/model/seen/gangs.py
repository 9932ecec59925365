"""The jobs on a fleet, put together from what their pods tell: where each is, what it holds, and what is known of it.

    of one job            what its pods say, the weakest of them: it saves when asked if all of them do, its last save
                          is the oldest that one tells of, it ends by the first limit, it runs since its first pod
    GPUs on a node        whole ones; those of claims, each once; MIG slices rounded up to GPUs; one where it holds what
                          nobody can count (a claim that cannot be read, a shared GPU, a runtime class)
    replicas elsewhere    another pod of the same service is ready, in another job and on another node, and stays

Law of this file: pods in, values out, in the order of the nodes. Tests: tests/core/model/test_gangs_seen.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.jobs import MIG_SLICES, PodJob
from seatrial.core.model.seen.pods import Pod

PodsByNode: TypeAlias = Mapping[str, Iterable[Pod]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeen:
    """Who starts again as one, as far as it is seen."""

    name: str
    line: str
    """Whose finished jobs tell how long it may run."""
    parts: tuple[tuple[str, int], ...]
    """Its nodes, with the GPUs that it holds on each."""
    pods: tuple[str, ...] = ()
    """Their uids."""
    started_at: ApiInstant | None = None
    ends_by: ApiInstant | None = None
    saved_at: ApiInstant | None = None
    can_be_asked: bool = False
    """Whether all of it saves its work when asked to."""
    is_service: bool = False
    """Whether it is one of several that serve: it does not end by itself."""
    has_replicas: bool = False
    """Whether others answer for it while it starts elsewhere."""

    @property
    def gpus(self) -> int:
        """GPUs on all of its nodes."""
        return sum(count for _, count in self.parts)


def jobs_on(nodes: PodsByNode, elsewhere: Mapping[str, Iterable[tuple[str, str]]] | None = None) -> tuple[JobSeen, ...]:
    """The jobs that hold GPUs of these nodes, by name; `elsewhere` says by node who serves on others (`serving_on`)."""
    held: dict[str, dict[str, list[Pod]]] = {}
    serving: dict[str, set[tuple[str, str]]] = {}
    for node, found in (elsewhere or {}).items():
        for service, gang in found:
            serving.setdefault(service, set()).add((gang, node))
    for node, pods in nodes.items():
        for pod in pods:
            if pod.gpu is None or pod.job is None:
                continue
            held.setdefault(pod.job.gang, {}).setdefault(node, []).append(pod)
        for service, gang in serving_on(pods):
            serving.setdefault(service, set()).add((gang, node))
    return tuple(_job(gang, parts, serving) for gang, parts in sorted(held.items()))


def serving_on(pods: Iterable[Pod]) -> tuple[tuple[str, str], ...]:
    """The services that pods answer for, each with the job that does."""
    ready = (pod.job for pod in pods if pod.gpu is not None and pod.is_running and not pod.is_terminating)
    return tuple(dict.fromkeys((job.replica_of, job.gang) for job in ready if job is not None and job.replica_of))


def _job(gang: str, parts: Mapping[str, list[Pod]], serving: Mapping[str, set[tuple[str, str]]]) -> JobSeen:
    pods = [pod for row in parts.values() for pod in row]
    told = [pod.job for pod in pods if pod.job is not None]
    return JobSeen(
        name=gang,
        line=told[0].line,
        parts=tuple((node, gpus_of(row)) for node, row in parts.items()),
        pods=tuple(pod.uid for pod in pods),
        started_at=min((each.started_at for each in told if each.started_at is not None), default=None),
        ends_by=min((each.ends_by for each in told if each.ends_by is not None), default=None),
        saved_at=min((each.saved_at for each in told if each.saved_at is not None), default=None),
        can_be_asked=all(pod.offers_checkpoint for pod in pods),
        is_service=all(each.replica_of for each in told),
        has_replicas=_has_replicas(gang, told, set(parts), serving),
    )


def _has_replicas(
    gang: str, told: Iterable[PodJob], nodes: set[str], serving: Mapping[str, set[tuple[str, str]]]
) -> bool:
    return all(
        each.replica_of and any(other != gang and node not in nodes for other, node in serving.get(each.replica_of, ()))
        for each in told
    )


def gpus_of(pods: Iterable[Pod]) -> int:
    """GPUs that these pods of one node hold."""
    whole, slices, uncounted = 0, 0, 0
    claimed: set[str] = set()
    for pod in pods:
        if pod.gpu is None:
            continue
        slices_here = pod.job.mig_slices if pod.job is not None else 0
        claimed.update(pod.claimed)
        # Behind an extended resource there may be a claim: the same GPUs, told twice.
        whole += max(0, pod.gpu_count - len(pod.claimed))
        slices += slices_here
        uncounted += not pod.gpu_count and not slices_here and not pod.claimed
    return whole + len(claimed) + -(-slices // MIG_SLICES) + uncounted
