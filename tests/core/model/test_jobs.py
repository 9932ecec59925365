"""What a pod tells of its job: one case for each row of the table, and for each limit that a pod can bear."""

from __future__ import annotations

import pytest

from seatrial.core.model.seen import jobs
from seatrial.core.model.seen.jobs import Gang, PodJob, Told, gang_of, limit_of, pod_job, slices_of, stem


def told(
    *,
    name: str = "llm-worker-0-x7k2p",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: tuple[str, str] = ("", ""),
) -> Told:
    return Told(
        namespace="ml",
        name=name,
        labels=labels or {},
        annotations=annotations or {},
        owner_kind=owner[0],
        owner_name=owner[1],
    )


JOB = ("Job", "llm-workers-0")
"""A Job, as a JobSet makes them."""
INDEXED = {jobs.INDEX: "3"}

ROWS = {
    "leaderworkerset": (
        told(labels={jobs.GROUP_KEY: "6dcd4ce23d88e2ee", jobs.GROUP_OF: "vllm"}, owner=("StatefulSet", "vllm-0")),
        Gang("group", "6dcd4ce23d88e2ee"),
    ),
    "replica": (told(name="chat-a", owner=("ReplicaSet", "chat-7d9c")), Gang("replica", "chat-a")),
    "stateful replica": (told(name="chat-0", owner=("StatefulSet", "chat")), Gang("replica", "chat-0")),
    "jobset": (
        told(labels={"jobset.sigs.k8s.io/jobset-name": "llm", **INDEXED}, owner=JOB),
        Gang("jobset", "llm"),
    ),
    "training operator": (
        told(labels={"training.kubeflow.org/job-name": "bert"}, owner=("PyTorchJob", "bert")),
        Gang("training", "bert"),
    ),
    "launcher of mpi": (
        told(labels={"training.kubeflow.org/job-name": "nccl"}, owner=("Job", "nccl-launcher")),
        Gang("training", "nccl"),
    ),
    "ray": (told(labels={"ray.io/cluster": "tune-abc"}, owner=("RayCluster", "tune-abc")), Gang("ray", "tune-abc")),
    "volcano": (told(labels={"volcano.sh/job-name": "mpi"}, owner=("Job", "mpi")), Gang("volcano", "mpi")),
    "kueue": (told(labels={"kueue.x-k8s.io/pod-group-name": "pair"}), Gang("podgroup", "pair")),
    "coscheduling": (told(labels={"scheduling.x-k8s.io/pod-group": "gang"}, owner=JOB), Gang("podgroup", "gang")),
    "volcano group": (told(annotations={jobs.VOLCANO_GROUP: "pg-1"}), Gang("podgroup", "pg-1")),
    "kai group": (told(annotations={jobs.KAI_GROUP: "pg-train"}), Gang("podgroup", "pg-train")),
    "indexed job": (told(labels=INDEXED, owner=("Job", "train")), Gang("job", "train")),
    "owner": (told(owner=("TFJob", "mnist")), Gang("owner", "mnist")),
}


@pytest.mark.parametrize("case", ROWS)
def test_each_row_tells_who_starts_again_together(case: str) -> None:
    pod, gang = ROWS[case]
    assert gang_of(pod) == gang


def test_no_row_is_without_a_case() -> None:
    assert {gang.kind for _, gang in ROWS.values()} == {row.kind for row in jobs.GANGS}
    reached = {next(number for number, row in enumerate(jobs.GANGS) if row.name(pod)) for pod, _ in ROWS.values()}
    assert reached == set(range(len(jobs.GANGS)))


@pytest.mark.parametrize("owner", [("Job", "sweep"), ("Workflow", "etl"), ("", "")])
def test_who_fits_no_row_is_a_job_by_itself(owner: tuple[str, str]) -> None:
    assert gang_of(told(name="sweep-x7k2p", owner=owner)) == Gang("pod", "sweep-x7k2p")


def test_replicas_that_a_scheduler_put_into_one_group_are_still_replicas() -> None:
    pod = told(name="chat-a", owner=("ReplicaSet", "chat-7d9c"), annotations={jobs.VOLCANO_GROUP: "podgroup-1"})
    assert gang_of(pod) == Gang("replica", "chat-a")


def test_a_gang_is_told_apart_from_one_of_another_namespace_or_kind() -> None:
    by_ray = pod_job(told(labels={"ray.io/cluster": "llm"})).gang
    by_jobset = pod_job(told(labels={"jobset.sigs.k8s.io/jobset-name": "llm"})).gang
    assert (by_ray, by_jobset) == ("ml/ray/llm", "ml/jobset/llm")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train", "train"),
        ("train-17", "train"),
        ("nightly-28912345", "nightly"),
        ("sweep-x7k2p", "sweep"),
        ("sweep-0-x7k2p", "sweep"),
        ("chat-7d9c8b6f5d", "chat"),
        ("exp-3f9a1c77e0b2", "exp"),
        ("resnet50", "resnet50"),
        ("llama-instruct", "llama-instruct"),
        ("12345", "12345"),
    ],
)
def test_jobs_that_differ_only_in_what_was_made_up_are_of_one_line(name: str, expected: str) -> None:
    assert stem(name) == expected


def test_the_pods_of_a_job_without_an_index_are_of_the_jobs_line() -> None:
    assert pod_job(told(name="sweep-12-x7k2p", owner=("Job", "sweep-12"))).line == "ml/sweep"


def test_a_replica_says_whose_and_a_job_says_nothing() -> None:
    assert pod_job(ROWS["replica"][0]).replica_of == "ml/ReplicaSet/chat-7d9c"
    assert pod_job(ROWS["leaderworkerset"][0]).replica_of == "ml/LeaderWorkerSet/vllm"
    assert pod_job(ROWS["leaderworkerset"][0]).line == "ml/vllm"
    assert pod_job(ROWS["jobset"][0]).replica_of == ""


LIMITS = {
    "pod": (told(), 3600, 3600.0),
    "kueue": (told(labels={jobs.MAX_EXEC_TIME: "7200"}), None, 7200.0),
    "slurm bridge": (told(annotations={jobs.SLURM_TIME_LIMITS[0]: "30"}), None, 1800.0),
    "slurm bridge before": (told(annotations={jobs.SLURM_TIME_LIMITS[1]: "5"}), None, 300.0),
    "the shortest": (told(labels={jobs.MAX_EXEC_TIME: "7200"}), 60, 60.0),
    "none": (told(), None, None),
    "unreadable": (
        told(labels={jobs.MAX_EXEC_TIME: "soon"}, annotations={jobs.SLURM_TIME_LIMITS[0]: "-1"}),
        None,
        None,
    ),
    "a digit that is no number": (told(labels={jobs.MAX_EXEC_TIME: "²"}), None, None),
    "nothing at all": (told(labels={jobs.MAX_EXEC_TIME: "0"}), None, None),
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_limit_that_a_pod_bears_is_read(case: str) -> None:
    pod, deadline, expected = LIMITS[case]
    assert limit_of(pod, deadline) == expected


def test_a_limit_counts_from_the_start_and_not_before() -> None:
    assert pod_job(told(), started_at=100.0, deadline_seconds=60).ends_by == 160.0
    assert pod_job(told(), deadline_seconds=60).ends_by is None
    assert pod_job(told(), started_at=100.0).ends_by is None


def test_a_job_of_which_nothing_is_known_has_a_name_and_no_more() -> None:
    assert pod_job(told(name="alone")) == PodJob(gang="ml/pod/alone", line="ml/alone")


@pytest.mark.parametrize(
    ("resource", "slices"),
    [
        ("nvidia.com/mig-1g.10gb", 1),
        ("nvidia.com/mig-3g.40gb", 3),
        ("nvidia.com/mig-1g.5gb.me", 1),
        ("nvidia.com/gpu", 0),
    ],
)
def test_a_mig_device_is_so_many_slices(resource: str, slices: int) -> None:
    assert slices_of(resource) == slices
