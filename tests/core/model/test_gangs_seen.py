"""Jobs put together from pods: where they are, what they hold, and who answers for whom."""

from __future__ import annotations

from typing import Any

from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.seen.gangs import JobSeen, gpus_of, jobs_on, serving_on
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.pods import Pod


def a_pod(name: str, gang: str = "", *, gpus: int = 8, job: dict[str, Any] | None = None, **fields: Any) -> Pod:
    told = PodJob(gang=gang or f"ml/pod/{name}", line="ml/train", **(job or {}))
    plain: dict[str, Any] = {"gpu": GpuUse.RESOURCE, "gpu_count": gpus, "is_running": True, "job": told}
    return Pod(namespace="ml", name=name, uid=f"uid-{name}", **(plain | fields))


def test_a_gang_is_one_job_on_all_of_its_nodes() -> None:
    gang = "ml/jobset/llm"
    nodes = {
        "n1": [a_pod("w0", gang, gpus=4, job={"started_at": 50.0}), a_pod("w1", gang, gpus=4)],
        "n2": [a_pod("w2", gang, job={"started_at": 60.0}), a_pod("other", gpus=1)],
    }
    found = jobs_on(nodes)
    assert found == (
        JobSeen(
            name=gang,
            line="ml/train",
            parts=(("n1", 8), ("n2", 8)),
            pods=("uid-w0", "uid-w1", "uid-w2"),
            started_at=50.0,
        ),
        JobSeen(name="ml/pod/other", line="ml/train", parts=(("n2", 1),), pods=("uid-other",)),
    )
    assert [job.gpus for job in found] == [16, 1]


def test_who_holds_no_gpu_is_no_job_here() -> None:
    bound = Pod(namespace="ml", name="exporter", uid="uid-exporter", gpu=GpuUse.RESOURCE)
    assert jobs_on({"n1": [a_pod("web", gpu=None), bound]}) == ()


def test_a_gang_ends_by_its_first_limit_and_its_save_is_the_oldest_told() -> None:
    gang = "ml/ray/tune"
    row = [
        a_pod("head", gang, job={"started_at": 10.0, "limit_seconds": 100.0, "saved_at": 70.0}),
        a_pod("worker", gang, job={"started_at": 20.0, "limit_seconds": 50.0, "saved_at": 60.0}),
        a_pod("silent", gang),
    ]
    (job,) = jobs_on({"n1": row})
    assert (job.started_at, job.ends_by, job.saved_at) == (10.0, 70.0, 60.0)


def test_a_gang_can_be_asked_to_save_only_if_all_of_it_can() -> None:
    gang = "ml/jobset/llm"
    both = [a_pod("a", gang, offers_checkpoint=True), a_pod("b", gang, offers_checkpoint=True)]
    one = [both[0], a_pod("b", gang)]
    assert [jobs_on({"n1": row})[0].can_be_asked for row in (both, one)] == [True, False]


def replica(name: str, **fields: Any) -> Pod:
    return a_pod(name, gpus=1, job={"replica_of": "ml/ReplicaSet/chat"}, **fields)


def test_a_replica_has_others_only_where_one_runs_on_another_node() -> None:
    beside = {"n1": [replica("a"), replica("b")]}
    elsewhere = {"n1": [replica("a")], "n2": [replica("b")]}
    starting = {"n1": [replica("a")], "n2": [replica("b", is_running=False)]}
    assert [[job.has_replicas for job in jobs_on(nodes)] for nodes in (beside, elsewhere, starting)] == [
        [False, False],
        [True, True],
        [False, True],
    ]


def test_a_replica_is_answered_for_from_nodes_that_are_not_looked_at_but_not_by_one_that_leaves() -> None:
    service = "ml/ReplicaSet/chat"
    (job,) = jobs_on({"n1": [replica("a")]}, {"n9": [(service, "ml/pod/z")]})
    assert (job.is_service, job.has_replicas) == (True, True)
    leaving = {"n1": [replica("a")], "n2": [replica("b", is_terminating=True)]}
    assert [job.has_replicas for job in jobs_on(leaving)] == [False, True]
    assert serving_on([replica("a"), a_pod("train")]) == ((service, "ml/pod/a"),)


def test_a_group_of_a_service_is_answered_for_by_another_group_and_not_by_itself() -> None:
    job = {"replica_of": "ml/LeaderWorkerSet/vllm"}
    one = {"n1": [a_pod("g0-0", "ml/group/k0", job=job)], "n2": [a_pod("g0-1", "ml/group/k0", job=job)]}
    two = one | {"n3": [a_pod("g1-0", "ml/group/k1", job=job)]}
    assert [job.has_replicas for job in jobs_on(one)] == [False]
    assert [job.has_replicas for job in jobs_on(two)] == [True, True]


def test_slices_are_rounded_up_to_gpus_and_what_nobody_can_count_is_one() -> None:
    slices = [a_pod(f"s{number}", gpu=GpuUse.MIG, gpus=0, job={"mig_slices": 1}) for number in range(8)]
    assert gpus_of(slices[:7]) == 1
    assert gpus_of(slices) == 2
    assert gpus_of([a_pod("unread", gpu=GpuUse.CLAIM_UNREADABLE, gpus=0), a_pod("whole", gpus=2)]) == 3
    assert gpus_of([a_pod("web", gpu=None, gpus=0)]) == 0


def test_gpus_of_claims_are_counted_once_though_pods_share_them_or_an_extended_resource_tells_of_them_too() -> None:
    one = a_pod("a", gpu=GpuUse.CLAIM, gpus=0, claimed=("n1/0", "n1/1"))
    other = a_pod("b", gpu=GpuUse.CLAIM, gpus=0, claimed=("n1/1", "n1/2"))
    assert gpus_of([one]) == 2
    assert gpus_of([one, other]) == 3
    assert gpus_of([a_pod("extended", gpus=4, claimed=("n1/4", "n1/5", "n1/6", "n1/7"))]) == 4
    assert [job.gpus for job in jobs_on({"n1": [one, a_pod("c", gpus=1)]})] == [2, 1]
