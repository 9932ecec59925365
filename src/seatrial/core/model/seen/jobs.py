"""What a pod tells of the job that it is part of: who starts again with it, since when it runs, how long it may.

A job is what starts again as one. When one of its pods leaves, the others stop or wait for it, so its nodes are taken
together. Which pods that are is read from the pod alone, without the right to read JobSets and the like: whoever
makes the pods of a gang puts its name on each of them. The first row of `GANGS` that fits decides:

    row                       the name is in                                    who puts it there
    LeaderWorkerSet's group   label leaderworkerset.sigs.k8s.io/group-key       LWS (its "Labels, Annotations …" page)
    replica of a service      controller ReplicaSet or StatefulSet              nobody: its like go on without it
    JobSet                    label jobset.sigs.k8s.io/jobset-name              JobSet (api/jobset/v1alpha2)
    PyTorchJob, MPIJob, …     label training.kubeflow.org/job-name              Training Operator v1, mpi-operator v2
    RayCluster                label ray.io/cluster                              KubeRay (ray-operator's constants)
    Volcano's Job             label volcano.sh/job-name                         Volcano (apis, batch v1alpha1)
    Kueue's group of pods     label kueue.x-k8s.io/pod-group-name               its author (Kueue, "Run Plain Pods")
    PodGroup                  label scheduling.x-k8s.io/pod-group               its author (scheduler-plugins)
    PodGroup of Volcano       annotation scheduling.k8s.io/group-name           Volcano's webhook, or its author
    PodGroup of KAI           annotation pod-group-name                         KAI's pod grouper
    Indexed Job               label batch.kubernetes.io/job-completion-index    Kubernetes: its pods know each other
    pods of one controller    controller of a kind in OWNERS                    kinds that start their pods as one

A Job without an index hands out pieces of work that do not know of each other: each of its pods is a job by itself, and
so is whatever fits no row. Law of this file: one pod in, values out; what nobody says is None, and nothing is promised.
Tests: tests/core/model/test_jobs.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.instants import ApiInstant

GROUP_KEY: Final = "leaderworkerset.sigs.k8s.io/group-key"
GROUP_OF: Final = "leaderworkerset.sigs.k8s.io/name"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
KAI_GROUP: Final = "pod-group-name"
MAX_EXEC_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"
"""A label: Kueue ends the Workload after so many seconds (Kueue, "Maximum execution time")."""
SLURM_TIME_LIMITS: Final = ("slurmjob.slinky.slurm.net/timelimit", "slinky.slurm.net/timelimit")
"""Annotations in minutes, today's name and the older one (slurm-bridge, internal/wellknown)."""

REPLICATED: Final = frozenset({"ReplicaSet", "StatefulSet"})
"""Controllers whose pods answer for each other."""
OWNERS: Final = frozenset(
    {"PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "RayCluster", "LeaderWorkerSet", "JobSet"}
)
"""Controllers that start all of their pods as one: the kinds of the Training Operator v1, KubeRay's and those above."""

MIG_SLICES: Final = 7
"""Compute slices of a whole GPU (NVIDIA, "MIG User Guide")."""
_MIG: Final = re.compile(r"nvidia\.com/mig-([1-7])g\..*")
_RANDOM: Final = "[bcdfghjklmnpqrstvwxz2456789]"
"""What Kubernetes makes names up from (apimachinery's rand): five for a pod or a generated name, ten for a template."""
_MADE_UP: Final = re.compile(rf"\d+|{_RANDOM}{{5}}|{_RANDOM}{{8,10}}|[0-9a-f]{{8,}}")
"""A part that is put behind a name to make it another one: numbers, what Kubernetes makes up, hashes of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What rules look at: a pod's own words, and who controls it."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    """Those of `ANNOTATIONS` alone."""
    owner_kind: str = ""
    owner_name: str = ""


ANNOTATIONS: Final = (VOLCANO_GROUP, KAI_GROUP, *SLURM_TIME_LIMITS)


class Gang(NamedTuple):
    """Who starts again as one."""

    kind: str
    name: str


class Row(NamedTuple):
    """One way to see who starts again together."""

    kind: str
    name: Callable[[Told], str]
    """The name within the namespace; empty where the row does not fit."""


def _label(key: str) -> Callable[[Told], str]:
    return lambda pod: pod.labels.get(key, "")


def _annotation(key: str) -> Callable[[Told], str]:
    return lambda pod: pod.annotations.get(key, "")


def _replica(pod: Told) -> str:
    return pod.name if pod.owner_kind in REPLICATED else ""


def _indexed(pod: Told) -> str:
    return pod.owner_name if pod.owner_kind == "Job" and INDEX in pod.labels else ""


def _owned(pod: Told) -> str:
    return pod.owner_name if pod.owner_kind in OWNERS else ""


REPLICA: Final = "replica"
GROUP: Final = "group"
POD: Final = "pod"

GANGS: Final = (
    Row(GROUP, _label(GROUP_KEY)),
    Row(REPLICA, _replica),
    Row("jobset", _label("jobset.sigs.k8s.io/jobset-name")),
    Row("training", _label("training.kubeflow.org/job-name")),
    Row("ray", _label("ray.io/cluster")),
    Row("volcano", _label("volcano.sh/job-name")),
    Row("podgroup", _label("kueue.x-k8s.io/pod-group-name")),
    Row("podgroup", _label("scheduling.x-k8s.io/pod-group")),
    Row("podgroup", _annotation(VOLCANO_GROUP)),
    Row("podgroup", _annotation(KAI_GROUP)),
    Row("job", _indexed),
    Row("owner", _owned),
)


def gang_of(pod: Told) -> Gang:
    """Whom the pod starts again with: the first row that fits, else itself."""
    found = ((row.kind, row.name(pod)) for row in GANGS)
    return next((Gang(kind, name) for kind, name in found if name), Gang(POD, pod.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodJob:
    """What a pod tells of its job. Instants are those of the API server and of kubelets."""

    gang: str
    """Who starts again as one: its namespace, what kind of row told, and its name."""
    line: str
    """Whose jobs are alike: the namespace and the name without what was made up for this one."""
    replica_of: str = ""
    """The service whose other replicas answer while this one starts elsewhere; empty for a job."""
    started_at: ApiInstant | None = None
    """When its kubelet took it; None while none has."""
    limit_seconds: float | None = None
    """How long it may run, by its own limit or its queue's; None where nobody says."""
    saved_at: ApiInstant | None = None
    """When it last saved its work, in its own word; None where it does not say."""
    mig_slices: int = 0
    """Compute slices of MIG devices that it asked for; seven are a whole GPU."""

    @property
    def ends_by(self) -> ApiInstant | None:
        """When its limit ends it; None where it has none, or does not run yet."""
        if self.started_at is None or self.limit_seconds is None:
            return None
        return self.started_at + self.limit_seconds

    def within(self, limit_seconds: float | None) -> PodJob:
        """The same with one more limit, of which the shorter counts."""
        limits = [each for each in (self.limit_seconds, limit_seconds) if each is not None]
        return self if limit_seconds is None else replace(self, limit_seconds=min(limits))


def pod_job(
    pod: Told,
    *,
    started_at: ApiInstant | None = None,
    deadline_seconds: float | None = None,
    saved_at: ApiInstant | None = None,
    mig_slices: int = 0,
) -> PodJob:
    """What is seen of a pod's job; `deadline_seconds` is the pod's own activeDeadlineSeconds."""
    gang = gang_of(pod)
    # The pods of one job have these texts in common, and there are a hundred thousand pods.
    return PodJob(
        gang=sys.intern(f"{pod.namespace}/{gang.kind}/{gang.name}"),
        line=sys.intern(f"{pod.namespace}/{_stem(pod, gang)}"),
        replica_of=sys.intern(_replica_of(pod, gang)),
        started_at=started_at,
        limit_seconds=limit_of(pod, deadline_seconds),
        saved_at=saved_at,
        mig_slices=mig_slices,
    )


def _stem(pod: Told, gang: Gang) -> str:
    """A pod by itself is named after its controller, where it has one: a Job's pods get names made up from its own."""
    name = pod.owner_name or pod.name if gang.kind in (POD, REPLICA) else gang.name
    if gang.kind == GROUP:
        name = pod.labels.get(GROUP_OF, "") or name
    return stem(name)


def stem(name: str) -> str:
    """A name without the numbers and the hash that were made up for this one of many."""
    # Part by part: a pattern for all of them together tries every way to part them, which for some names never ends.
    parts = name.split("-")
    while len(parts) > 1 and _MADE_UP.fullmatch(parts[-1]):
        parts.pop()
    return "-".join(parts) or name


def _replica_of(pod: Told, gang: Gang) -> str:
    if gang.kind == REPLICA:
        return f"{pod.namespace}/{pod.owner_kind}/{pod.owner_name}"
    named = pod.labels.get(GROUP_OF, "") if gang.kind == GROUP else ""
    return f"{pod.namespace}/LeaderWorkerSet/{named}" if named else ""


def limit_of(pod: Told, deadline_seconds: float | None = None) -> float | None:
    """The shortest of the limits that the pod bears; what cannot be read is none."""
    minutes = (_number(pod.annotations.get(key, "")) for key in SLURM_TIME_LIMITS)
    slurm = next((each * 60.0 for each in minutes if each is not None), None)
    told = (deadline_seconds, _number(pod.labels.get(MAX_EXEC_TIME, "")), slurm)
    return min((each for each in told if each is not None and each > 0), default=None)


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def slices_of(resource: str) -> int:
    """Compute slices of one device of a MIG resource; 0 for any other."""
    found = _MIG.fullmatch(resource)
    return int(found[1]) if found is not None else 0
