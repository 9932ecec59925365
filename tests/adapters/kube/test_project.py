"""From objects as the API server stores them to facts: what counts as a driver, a validator, a holder of GPUs.

Numbers in names are those of the conformance scenarios about the snapshot.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
import pytest

from seatrial.adapters.kube.reading import items, operator_items, pod_items, project, table
from seatrial.adapters.kube.shapes import keys, kinds, models, operator_models
from seatrial.adapters.kube.streams.row import Row
from seatrial.core.model.consumers import Claim, GpuUse
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.owners import OWNER_LABEL, DriverClaim
from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.marks import NEIGHBOURS
from seatrial.core.model.seen.nodes import Loaded, Maintenance, NodeFacts
from seatrial.core.model.seen.operators import Carrier, OperatorFacts, Pool
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, DriverRevision, Pod, PodOwner, ValidatorPod
from seatrial.core.model.seen.problems import Problem
from seatrial.core.model.troubles import Symptom, Trouble, diagnose
from seatrial.core.text.moments import instant_of
from tests.adapters.kube import objects

AT = 1767323045.0
"""objects.AT"""
WANTED = {"ds-1": DriverRevision(hash="new", version=objects.NEW)}


def item_of(pod: dict[str, Any]) -> items.PodItem | None:
    return pod_items.pod_item(msgspec.convert(pod, kinds.Pod), objects.NAMESPACE)


def facts_of(pod: dict[str, Any]) -> items.PodFacts | None:
    item = item_of(pod)
    return item.facts if item else None


def driver_of(pod: dict[str, Any]) -> DriverPod:
    found = facts_of(pod)
    assert isinstance(found, DriverPod)
    return found


def user_of(pod: dict[str, Any]) -> Pod:
    found = facts_of(pod)
    assert isinstance(found, Pod)
    return found


def node_item(**fields: Any) -> items.NodeItem:
    return items.node_item(msgspec.convert(objects.a_node(**fields), kinds.Node))


def joined(*pods: dict[str, Any], around: project.Around | None = None, **node: Any) -> NodeFacts:
    """A node with these pods, as facts."""
    kept = [item for item in map(item_of, pods) if item is not None]
    return project.node_facts(node_item(**node), kept, around or project.Around(wanted=WANTED))


def seen_with(*, status: dict[str, Any] | None = None, annotations: dict[str, str] | None = None) -> NodeFacts:
    """A bare node with this laid over its status and its annotations."""
    node = objects.a_node()
    node["status"] |= status or {}
    node["metadata"]["annotations"] = annotations or {}
    return project.node_facts(items.node_item(msgspec.convert(node, kinds.Node)), (), project.Around(wanted=WANTED))


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bare_node_has_no_driver_and_no_wish() -> None:
    assert joined() == NodeFacts(name="n1", resource_version="7")


def test_a_nodes_marks_are_facts() -> None:
    labels = {"nvidia.com/gpu-driver-upgrade.skip": "true", "nvidia.com/gpu-driver-upgrade-state": "upgrade-done"}
    assert joined(labels=labels, unschedulable=True) == NodeFacts(
        name="n1", resource_version="7", is_cordoned=True, is_skipped=True, nvidia_state="upgrade-done"
    )


def test_what_the_kubelet_says_of_its_node_is_known_and_nobody_says_it_better() -> None:
    info = {"nodeInfo": {"kernelVersion": "5.14.0-427.40.1.el9_4.x86_64", "kubeletVersion": "v1.29.5"}}
    notes = {
        "seatrial.dev/observed-kernel": "5.15.0-105-generic",
        "seatrial.dev/observed-firmware_cx7": "28.43.2026",
        "seatrial.dev/observed-openshift": "",
        "seatrial.dev/upgrade-note": "x",
    }
    assert seen_with(status=info, annotations=notes).components == (
        ("firmware_cx7", "28.43.2026"),
        ("kernel", "5.14.0-427.40.1.el9_4.x86_64"),
        ("kubernetes", "v1.29.5"),
    )


def test_what_keeps_neighbours_off_is_read_where_each_of_them_looks() -> None:
    autoscaler, karpenter, nvsentinel = (each.mark.key for each in NEIGHBOURS)
    notes = {autoscaler: "true", nvsentinel: "an annotation of this name is nobody's", karpenter: "a\nb"}
    assert seen_with(annotations=notes).marks == ((autoscaler, "true"), (karpenter, "a b"))


def test_what_detectors_report_is_a_fact_and_what_the_kubelet_says_of_itself_is_not_among_it() -> None:
    at = "2026-11-17T23:00:00Z"
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "DiskPressure", "status": "True"},
        {"type": "ReadonlyFilesystem", "status": "False"},
        {"type": "KernelDeadlock", "status": "True", "reason": "TaskHung", "message": "x", "lastTransitionTime": at},
        {"type": "AcceleratedHardwareReady", "status": "False", "reason": "Xid79", "lastTransitionTime": "soon"},
    ]
    assert seen_with(status={"conditions": conditions}).problems == (
        Problem(type="AcceleratedHardwareReady", reason="Xid79"),
        Problem(type="KernelDeadlock", reason="TaskHung", message="x", since=instant_of(at)),
    )


def test_which_boot_a_node_is_in_and_since_when_it_is_ready_are_facts() -> None:
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    facts = seen_with(status={"nodeInfo": {"bootID": "4ea8ec19"}, "conditions": [ready]})
    assert (facts.boot_id, facts.is_ready, facts.ready_at) == ("4ea8ec19", False, 1767323045.0)


def test_a_skip_label_with_our_name_is_ours_and_a_name_without_the_label_is_nobodys() -> None:
    noted = {keys.SKIPPED_BY_ANNOTATION: "spring"}
    node = objects.a_node(labels={keys.SKIP_LABEL: "true"})
    node["metadata"]["annotations"] = noted
    around = project.Around(wanted={})
    ours = project.node_facts(items.node_item(msgspec.convert(node, kinds.Node)), (), around)
    assert (ours.is_skipped, ours.skipped_by) == (True, "spring")
    theirs = joined(labels={keys.SKIP_LABEL: "true"})
    assert (theirs.is_skipped, theirs.skipped_by) == (True, "")
    left_over = seen_with(annotations=noted)
    assert (left_over.is_skipped, left_over.skipped_by) == (False, "")


def test_a_canary_says_whose_it_is() -> None:
    assert joined(labels={keys.CANARY_LABEL: "spring"}).canary_of == "spring"
    assert joined().canary_of == ""


def test_only_true_skips_a_node() -> None:
    assert not joined(labels={"nvidia.com/gpu-driver-upgrade.skip": "false"}).is_skipped


@pytest.mark.parametrize(
    "conditions", [[], [{"type": "Ready", "status": "False"}], [{"type": "Ready", "status": "Unknown"}]]
)
def test_a_node_is_ready_only_when_it_says_so(conditions: list[dict[str, str]]) -> None:
    node = objects.a_node() | {"status": {"conditions": conditions}}
    assert not items.node_item(msgspec.convert(node, kinds.Node)).is_ready


@pytest.mark.parametrize(("value", "is_active"), [("true", True), ("false", False), ("True", False), ("", False)])
def test_an_upgrade_is_requested_by_exactly_true(value: str, is_active: bool) -> None:
    assert seen_with(annotations={"nvidia.com/gpu-driver-upgrade-requested": value}).is_requested is is_active
    assert seen_with(annotations={"seatrial.dev/accept-loss": value}).is_loss_accepted is is_active


@pytest.mark.parametrize(("value", "is_active"), [("true", True), ("false", True), ("", False)])
def test_a_driver_waits_for_a_safe_load_whatever_the_annotation_says(value: str, is_active: bool) -> None:
    key = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load"
    assert seen_with(annotations={key: value}).awaits_safe_load is is_active


def test_a_nodes_labels_are_kept_without_a_copy() -> None:
    item = node_item(labels={"rack": "r7"})
    facts = project.node_facts(item, (), project.Around(wanted=WANTED))
    assert facts.labels is item.labels
    assert facts.labels["rack"] == "r7"


def test_what_a_node_offers_is_counted() -> None:
    allocatable = {
        "cpu": "64",
        "nvidia.com/mig-1g.10gb": "7",
        "nvidia.com/gpu": 8,
        "nvidia.com/gpumem": "640k",
        "nvidia.com/gpu.shared": "0",
        "amd.com/gpu": "4",
    }
    handlers = [{"name": ""}, {"name": "runc"}, {"name": "nvidia-cdi"}, {"name": "nvidia"}]
    assert seen_with(status={"allocatable": allocatable, "runtimeHandlers": handlers}).offer == GpuOffer(
        resources=(("nvidia.com/gpu", 8), ("nvidia.com/gpumem", 640_000), ("nvidia.com/mig-1g.10gb", 7)),
        runtime_handlers=("nvidia", "nvidia-cdi"),
    )


@pytest.mark.parametrize(
    ("quantity", "count"),
    [
        ("8", 8),
        (8, 8),
        (8.0, 8),
        ("10k", 10_000),
        ("1Ki", 1024),
        ("2M", 2_000_000),
        ("1e3", 1000),
        ("5000m", 5),
        ("many", 0),
        ("1.2.3", 0),
        ("-1", 0),
        ("9e999", 0),
    ],
)
def test_a_quantity_is_counted_however_it_is_written(quantity: str | float, count: int) -> None:
    offered = dict(seen_with(status={"allocatable": {"nvidia.com/gpu": quantity}}).offer.resources)
    assert offered.get("nvidia.com/gpu", 0) == count


def test_the_layout_of_slices_and_the_managers_progress_are_facts() -> None:
    facts = joined(labels={"nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/mig.config.state": "pending"})
    assert (facts.offer.mig_config, facts.mig_state) == ("all-1g.10gb", "pending")


LEGACY: Final = {
    "nvidia.com/cuda.driver.major": "580",
    "nvidia.com/cuda.driver.minor": "105",
    "nvidia.com/cuda.driver.rev": "8",
}


@pytest.mark.parametrize(
    ("labels", "loaded"),
    [
        ({}, None),
        ({"nvidia.com/gfd.timestamp": "1767323045"}, None),
        ({"nvidia.com/cuda.driver-version.full": "580.105.08"}, Loaded(version="580.105.08")),
        (
            {"nvidia.com/cuda.driver-version.full": "580.105.08", "nvidia.com/gfd.timestamp": "1767323045"},
            Loaded(version="580.105.08", seen_at=AT),
        ),
        (
            {"nvidia.com/cuda.driver-version.full": "570.1", "nvidia.com/gfd.timestamp": "soon"},
            Loaded(version="570.1"),
        ),
        (LEGACY, Loaded(version="580.105.8")),
        (LEGACY | {"nvidia.com/cuda.driver.rev": ""}, Loaded(version="580.105")),
        ({"nvidia.com/cuda.driver.minor": "105"}, None),
        (LEGACY | {"nvidia.com/cuda.driver-version.full": "590.10.01"}, Loaded(version="590.10.01")),
    ],
)
def test_the_loaded_version_is_what_feature_discovery_says(labels: dict[str, str], loaded: Loaded | None) -> None:
    assert joined(labels=labels).loaded == loaded


def test_paused_operands_are_seen() -> None:
    labels = {
        "nvidia.com/gpu.deploy.device-plugin": "paused-for-driver-upgrade",
        "nvidia.com/gpu.deploy.dcgm": "custom_paused-for-driver-upgrade",
        "nvidia.com/gpu.deploy.mig-manager": "true",
        "note": "paused-for-driver-upgrade",
    }
    assert joined(labels=labels).paused_labels == (
        "nvidia.com/gpu.deploy.dcgm",
        "nvidia.com/gpu.deploy.device-plugin",
    )


def test_only_conditions_that_hold_and_are_bad_are_symptoms() -> None:
    conditions = [
        {"type": "DiskPressure", "status": "True", "reason": "KubeletHasDiskPressure", "message": "disk is full"},
        {"type": "MemoryPressure", "status": "False", "message": "plenty"},
        {"type": "GpuHot", "status": "True"},
        {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting."},
    ]
    assert seen_with(status={"conditions": conditions}).symptoms == (
        Symptom(source="node", reason="DiskPressure", message="disk is full"),
        Symptom(source="node", reason="NodeStatusUnknown", message="Kubelet stopped posting."),
    )
    assert joined().symptoms == ()


def test_a_whole_node_is_joined_from_its_pods() -> None:
    pods = (
        objects.a_gpu_pod("train-1"),
        objects.a_validator_pod(),
        objects.a_pod("web"),
        objects.a_driver_pod(),
        objects.a_gpu_pod("train-0"),
    )
    assert joined(*pods) == NodeFacts(
        name="n1",
        resource_version="7",
        wanted=WANTED["ds-1"],
        driver=DriverPod(
            namespace="gpu-operator",
            name="driver-n1",
            uid="uid-driver-n1",
            revision="old",
            version=objects.OLD,
            is_ready=True,
            ready_since=AT,
        ),
        validator=ValidatorPod(
            namespace="gpu-operator", name="validator-n1", uid="uid-validator-n1", is_ready=True, ready_since=AT
        ),
        pods=(
            *(
                Pod(
                    namespace="jobs",
                    name=name,
                    uid=f"uid-{name}",
                    gpu=GpuUse.RESOURCE,
                    gpu_count=1,
                    is_running=True,
                    job=PodJob(gang=f"jobs/pod/{name}", line="jobs/train"),
                )
                for name in ("train-0", "train-1")
            ),
            Pod(namespace="jobs", name="web", uid="uid-web", is_running=True, keeper=PodOwner.NOBODY),
        ),
    )


def test_40_a_driver_pod_on_its_node_is_one_nodes_driver() -> None:
    driver = joined(objects.a_driver_pod()).driver
    assert driver is not None
    assert driver.name == "driver-n1"


def test_41_a_driver_pod_that_waits_for_a_node_is_left_out() -> None:
    assert item_of(objects.a_driver_pod(node="", phase="Pending")) is None


# ── pods that may have to leave ──────────────────────────────────────────────────────────────────────────────────────

DAEMON_SET: Final = {"kind": "DaemonSet", "name": "monitor", "uid": "ds-7", "controller": True}
STATIC: Final = {"kind": "Node", "name": "n1", "uid": "uid-n1", "controller": True}


@pytest.mark.parametrize(
    ("resource", "use"),
    [
        ("nvidia.com/gpu", GpuUse.RESOURCE),
        ("nvidia.com/gpu.shared", GpuUse.RESOURCE),
        ("nvidia.com/mig-1g.10gb", GpuUse.MIG),
    ],
)
@pytest.mark.parametrize("place", ["containers", "initContainers"])
@pytest.mark.parametrize("kind", ["limits", "requests"])
def test_a_pod_that_asks_for_a_gpu_in_any_way_holds_one(resource: str, use: GpuUse, place: str, kind: str) -> None:
    asking = {place: [{"name": "main", "resources": {kind: {resource: "1"}}}]}
    assert user_of(objects.a_gpu_pod(containers=[{"name": "other"}], spec=asking)).gpu is use


@pytest.mark.parametrize("resource", ["cpu", "nvidia.com/cpu", "amd.com/gpu"])
def test_other_resources_are_no_gpus(resource: str) -> None:
    assert user_of(objects.a_gpu_pod(resource=resource)).gpu is None


def test_a_bare_number_is_a_quantity_too() -> None:
    asking = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 0.5}}}]
    assert user_of(objects.a_gpu_pod(containers=asking)).gpu is GpuUse.RESOURCE


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_not_kept(phase: str) -> None:
    assert item_of(objects.a_gpu_pod(phase=phase)) is None


@pytest.mark.parametrize("phase", ["Pending", "Unknown"])
def test_a_pod_bound_to_a_node_holds_its_gpu_before_it_runs(phase: str) -> None:
    assert user_of(objects.a_gpu_pod(phase=phase)).gpu is GpuUse.RESOURCE


def test_a_pod_without_a_node_is_nobodys() -> None:
    assert item_of(objects.a_gpu_pod(node="")) is None


def test_a_pod_without_a_gpu_is_kept_for_jobs_to_wait_for_and_drains() -> None:
    job = {"kind": "Job", "name": "prepare", "uid": "job-2", "controller": True}
    pod = objects.a_pod("prepare-0", owner=job, labels={"b": "2", "a": "1"})
    assert user_of(pod) == Pod(
        namespace="jobs", name="prepare-0", uid="uid-prepare-0", labels=(("a", "1"), ("b", "2")), is_running=True
    )


def test_pods_with_equal_labels_share_them() -> None:
    labels = {"job": "train", "team": "vision"}
    first, second = (user_of(objects.a_gpu_pod(name, labels=dict(labels))) for name in ("train-0", "train-1"))
    assert first.labels is second.labels


def test_labels_of_pods_that_are_gone_take_no_more_than_a_fixed_amount_of_memory() -> None:
    size = 1024 * 1024
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(32):
            assert user_of(objects.a_gpu_pod(labels={"notes": f"{number:0{size}}"})) is not None
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 18 * size


def test_what_eviction_would_cost_is_known() -> None:
    pod = objects.a_gpu_pod(
        owner=None, metadata={"deletionTimestamp": objects.AT}, spec={"volumes": [{"name": "v"}, {"emptyDir": {}}]}
    )
    assert user_of(pod) == Pod(
        namespace="jobs",
        name="train-0",
        uid="uid-train-0",
        gpu=GpuUse.RESOURCE,
        gpu_count=1,
        is_running=True,
        is_terminating=True,
        keeper=PodOwner.NOBODY,
        has_empty_dir=True,
        job=PodJob(gang="jobs/pod/train-0", line="jobs/train"),
    )


def test_what_a_pod_tells_of_its_job_is_kept() -> None:
    notes = {
        "seatrial.dev/checkpoint-saved-at": "2026-01-02T03:00:00Z",
        "slurmjob.slinky.slurm.net/timelimit": "30",
        "scheduling.k8s.io/group-name": "pg-1",
    }
    pod = objects.a_gpu_pod(
        resource="nvidia.com/mig-2g.20gb",
        metadata={"annotations": notes},
        spec={"activeDeadlineSeconds": 7200},
        status={"startTime": objects.AT},
    )
    assert user_of(pod).job == PodJob(
        gang="jobs/podgroup/pg-1",
        line="jobs/pg",
        started_at=AT,
        limit_seconds=1800.0,
        saved_at=AT - 245,
        mig_slices=2,
    )


def test_a_save_at_a_time_that_cannot_be_read_is_none() -> None:
    notes = {"seatrial.dev/checkpoint-saved-at": "five to twelve"}
    job = user_of(objects.a_gpu_pod(metadata={"annotations": notes})).job
    assert job is not None
    assert job.saved_at is None


@pytest.mark.parametrize("key", ["kai_group", "slurm_time_limit_before"])
def test_every_annotation_that_tells_of_a_job_is_read_under_its_own_name(key: str) -> None:
    names = {"kai_group": "pod-group-name", "slurm_time_limit_before": "slinky.slurm.net/timelimit"}
    job = user_of(objects.a_gpu_pod(metadata={"annotations": {names[key]: "5"}})).job
    assert job is not None
    assert (job.gang, job.limit_seconds) == {
        "kai_group": ("jobs/podgroup/5", None),
        "slurm_time_limit_before": ("jobs/pod/train-0", 300.0),
    }[key]


def test_who_cannot_hold_a_gpu_or_comes_back_to_its_node_is_nobodys_job() -> None:
    assert user_of(objects.a_pod("web")).job is None
    assert user_of(objects.a_gpu_pod("monitor", owner=DAEMON_SET)).job is None


@pytest.mark.parametrize(
    ("owner", "annotations", "keeper"),
    [
        ({"kind": "Job", "uid": "u", "controller": True}, {}, PodOwner.CONTROLLER),
        (DAEMON_SET, {}, PodOwner.DAEMON_SET),
        (STATIC, {}, PodOwner.KUBELET),
        (None, {"kubernetes.io/config.mirror": "0123"}, PodOwner.KUBELET),
        ({"kind": "Job", "uid": "u"}, {}, PodOwner.NOBODY),
        (None, {}, PodOwner.NOBODY),
    ],
)
def test_who_puts_a_pod_back_is_known(
    owner: dict[str, Any] | None, annotations: dict[str, str], keeper: PodOwner
) -> None:
    assert user_of(objects.a_gpu_pod(owner=owner, metadata={"annotations": annotations})).keeper is keeper


@pytest.mark.parametrize("owner", [DAEMON_SET, STATIC])
def test_a_pod_that_stays_on_its_node_anyway_is_kept_only_for_its_gpu(owner: dict[str, Any]) -> None:
    assert item_of(objects.a_pod("logs", owner=owner)) is None
    assert user_of(objects.a_gpu_pod(owner=owner)).gpu is GpuUse.RESOURCE


def test_a_daemon_set_that_chooses_nodes_by_a_deploy_label_can_be_asked_to_leave() -> None:
    chosen = {"nodeSelector": {"zone": "a", "nvidia.com/gpu.deploy.client": "true"}}
    assert user_of(objects.a_gpu_pod(owner=DAEMON_SET, spec=chosen)).deploy_label == "nvidia.com/gpu.deploy.client"
    assert user_of(objects.a_gpu_pod(spec=chosen)).deploy_label == ""


def test_the_runtime_class_is_a_sign_unless_a_daemon_set_has_it() -> None:
    classed = {"runtimeClassName": "nvidia"}
    assert user_of(objects.a_pod("notebook", spec=classed)).gpu is GpuUse.RUNTIME_CLASS
    assert item_of(objects.a_pod("exporter", owner=DAEMON_SET, spec=classed)) is None


def test_the_operators_own_daemon_sets_are_no_users_even_with_a_gpu() -> None:
    assert item_of(objects.a_gpu_pod(namespace=objects.NAMESPACE, owner=DAEMON_SET)) is None
    assert user_of(objects.a_pod("gpu-operator", namespace=objects.NAMESPACE)).gpu is None


def test_a_job_that_saves_its_work_when_asked_says_so() -> None:
    notes = {
        "seatrial.dev/checkpoint": "true",
        "seatrial.dev/checkpoint-requested": "spring.n1.2",
        "seatrial.dev/checkpoint-saved": "spring.n1.1",
        "kubectl.kubernetes.io/last-applied-configuration": "long",
    }
    pod = user_of(objects.a_gpu_pod(metadata={"annotations": notes}))
    assert (pod.offers_checkpoint, pod.checkpoint_asked, pod.checkpoint_saved) == (True, "spring.n1.2", "spring.n1.1")
    assert not user_of(
        objects.a_gpu_pod(metadata={"annotations": {"seatrial.dev/checkpoint": "yes"}})
    ).offers_checkpoint


def test_forty_thousand_pods_stay_within_tens_of_mebibytes() -> None:
    """The smallest of three samples: the table of interned texts, which all tests share, doubles now and then."""
    count = 4_000
    decoder, kept, per_pod = msgspec.json.Decoder(kinds.Pod), [], []
    for sample in range(3):
        names = [f"train-{sample}-{number}" for number in range(count)]
        raw = [msgspec.json.encode(objects.a_gpu_pod(name, uid=f"{name:>36}")) for name in names]
        tracemalloc.start()
        try:
            kept.append([pod_items.pod_item(decoder.decode(each), objects.NAMESPACE) for each in raw])
            per_pod.append(tracemalloc.get_traced_memory()[0] / count)
        finally:
            tracemalloc.stop()
    assert all(None not in each for each in kept)
    assert min(per_pod) * 40_000 < 40 * 2**20


# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_claim(name: str, *results: dict[str, Any], namespace: str = "jobs", version: str = "9") -> dict[str, Any]:
    """A ResourceClaim; without results it is not allocated."""
    status = {"allocation": {"devices": {"results": list(results)}}} if results else {}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": metadata, "spec": {"devices": {}}, "status": status}


def claims_of(*claims: dict[str, Any]) -> project.Around:
    kept = [items.claim_item(msgspec.convert(each, kinds.ResourceClaim)) for each in claims]
    by_name = {(item.metadata.namespace, item.metadata.name): item.claim for item in kept}
    return project.Around(wanted=WANTED, claim=lambda namespace, name: by_name.get((namespace, name)))


GPU: Final = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
MONITOR: Final = GPU | {"adminAccess": True}
CLAIMING: Final = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "train"}]}


def claimant(name: str = "train-0", **fields: Any) -> dict[str, Any]:
    job = {"kind": "Job", "name": "train", "uid": "job-1", "controller": True}
    own: dict[str, Any] = {"owner": job, "spec": CLAIMING}
    return objects.a_pod(name, **(own | fields))


def test_a_claim_is_read_as_what_was_allocated_for_it() -> None:
    item = items.claim_item(msgspec.convert(a_claim("train", GPU, GPU, MONITOR), kinds.ResourceClaim))
    assert item.claim == Claim(
        name="train", is_allocated=True, results=(("gpu.nvidia.com", False), ("gpu.nvidia.com", True)), gpus=("n1/0",)
    )
    unallocated = items.claim_item(msgspec.convert(a_claim("train"), kinds.ResourceClaim))
    assert unallocated.claim == Claim(name="train")


@pytest.mark.parametrize(
    ("claims", "gpu", "holds"),
    [
        ((a_claim("train", GPU),), GpuUse.CLAIM, True),
        ((a_claim("train", MONITOR),), None, True),
        ((a_claim("train", GPU | {"driver": "net.example.com"}),), None, False),
        ((a_claim("train"),), None, False),
        ((), GpuUse.CLAIM_UNREADABLE, True),
        ((a_claim("train", GPU, namespace="others"),), GpuUse.CLAIM_UNREADABLE, True),
    ],
)
def test_a_pod_holds_what_its_claims_say(claims: tuple[dict[str, Any], ...], gpu: GpuUse | None, holds: bool) -> None:
    pod = joined(claimant(), around=claims_of(*claims)).pods[0]
    assert (pod.gpu, pod.holds_claim) == (gpu, holds)


def test_a_pod_holds_the_gpus_of_its_claims_each_once_whole_or_in_part() -> None:
    def held(*results: dict[str, Any]) -> tuple[str, ...]:
        return joined(claimant(), around=claims_of(a_claim("train", *results))).pods[0].claimed

    parts = [GPU | {"device": f"gpu-1-mig-{number}"} for number in range(3)]
    assert held(GPU, GPU | {"device": "gpu-7"}, *parts) == ("n1/0", "n1/7", "n1/1")
    channel = {"driver": "compute-domain.nvidia.com", "pool": "n1", "device": "channel-0"}
    assert held(GPU, channel, MONITOR | {"device": "gpu-2"}) == ("n1/0",)
    assert held(channel) == ()
    assert held(MONITOR) == ()


def test_a_node_has_the_gpus_that_its_slices_list_each_once_in_whatever_form() -> None:
    names = ("gpu-0", "gpu-1", "gpu-1-mig-0", "gpu-vfio-1", "gpu-10")
    pieces = [
        {"metadata": {"name": "s"}, "spec": {"driver": driver, "nodeName": "n1", "devices": [{"name": each}]}}
        for driver, each in (*(("gpu.nvidia.com", name) for name in names), ("compute-domain.nvidia.com", "channel-0"))
    ]
    kept = [items.slice_item(msgspec.convert(each, kinds.ResourceSlice)) for each in pieces]
    slices = [each for each in kept if each is not None]
    around = project.Around(wanted=WANTED, of=lambda row: slices if row is table.SLICES else ())  # type: ignore[arg-type]
    assert joined(around=around).claimable == 3


def test_claims_made_from_a_template_or_for_an_extended_resource_count_by_their_real_names() -> None:
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}, {"name": "later"}]}
    status = {
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "train-0-gpu-x7"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "train-0-extended-y2"},
    }
    item = item_of(claimant(spec=spec, status=status))
    assert item is not None
    assert item.claims == (("jobs", "train-0-gpu-x7"), ("jobs", "train-0-extended-y2"))


def test_a_finished_pod_that_is_being_deleted_may_still_need_the_dra_plugin() -> None:
    leaving = claimant(phase="Succeeded", metadata={"deletionTimestamp": objects.AT})
    pod = joined(leaving, around=claims_of(a_claim("train", MONITOR))).pods[0]
    assert (pod.gpu, pod.holds_claim, pod.is_terminating) == (None, True, True)
    assert joined(leaving, around=claims_of(a_claim("train"))).pods == ()
    assert item_of(claimant(phase="Succeeded")) is None


def test_a_monitor_of_a_daemon_set_is_kept_for_its_claim_alone() -> None:
    monitor = claimant(owner=DAEMON_SET)
    assert [pod.holds_claim for pod in joined(monitor, around=claims_of(a_claim("train", MONITOR))).pods] == [True]
    assert joined(monitor, around=claims_of(a_claim("train"))).pods == ()


def test_an_operand_with_a_claim_is_never_evicted_but_outlived_by_the_dra_plugin() -> None:
    operand = claimant(namespace=objects.NAMESPACE, owner=DAEMON_SET)
    pod = joined(operand, around=claims_of(a_claim("train", GPU, namespace=objects.NAMESPACE))).pods[0]
    assert (pod.gpu, pod.holds_claim) == (None, True)


# ── the DRA plugin and its slices ────────────────────────────────────────────────────────────────────────────────────

LATER: Final = "2026-01-02T03:05:05Z"


def a_dra_plugin(*, states: dict[str, dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A kubelet plugin's pod with the states of its containers."""
    own: dict[str, Any] = {
        "namespace": "nvidia-dra-driver-gpu",
        "labels": {"nvidia-dra-driver-gpu-component": "kubelet-plugin"},
        "owner": DAEMON_SET,
        "containers": [{"name": name} for name in states],
        "status": {"containerStatuses": [{"name": name, "ready": True, "state": states[name]} for name in states]},
    }
    return objects.a_pod("plugin-n1", **(own | fields))


RUNNING: Final = {"running": {"startedAt": objects.AT}}
RUNNING_LATER: Final = {"running": {"startedAt": LATER}}
SERVING: Final = {"compute-domains": RUNNING_LATER, "gpus": RUNNING}


@pytest.mark.parametrize(
    "labels",
    [
        {"nvidia-dra-driver-gpu-component": "kubelet-plugin"},
        {"app": "nvidia-dra-driver-kubelet-plugin"},
        {"app.kubernetes.io/name": "dra-driver-nvidia-gpu", "my-release-component": "kubelet-plugin"},
        {"app.kubernetes.io/name": "nvidia-dra-driver-gpu", "my-release-component": "kubelet-plugin"},
    ],
)
def test_a_dra_plugin_is_known_by_any_of_its_labels(labels: dict[str, str]) -> None:
    assert joined(a_dra_plugin(states=SERVING, labels=labels)).dra == DraPlugin(
        namespace="nvidia-dra-driver-gpu",
        name="plugin-n1",
        uid="uid-plugin-n1",
        is_ready=True,
        started_at=AT,
        is_operators=labels.get("app") == "nvidia-dra-driver-kubelet-plugin",
    )


@pytest.mark.parametrize(
    "labels",
    [
        {"app.kubernetes.io/name": "other", "my-release-component": "kubelet-plugin"},
        {"app.kubernetes.io/name": "dra-driver-nvidia-gpu", "my-release-component": "controller"},
    ],
)
def test_other_plugins_are_not_nvidias(labels: dict[str, str]) -> None:
    assert item_of(a_dra_plugin(states=SERVING, labels=labels)) is None


@pytest.mark.parametrize(
    ("namespace", "named", "is_plugin"),
    [
        ("nvidia-dra-driver-gpu", (), True),
        (objects.NAMESPACE, (), True),
        (objects.NAMESPACE, ("dra",), True),
        ("dra", ("dra",), True),
        ("tenant", (), False),
        ("tenant", ("dra",), False),
        ("nvidia-dra-driver-gpu", ("dra",), False),
    ],
    ids=[
        "of a chart",
        "of the operator",
        "of the operator still",
        "named",
        "a tenant's",
        "not named",
        "named elsewhere",
    ],
)
def test_a_daemon_set_with_the_labels_of_the_dra_plugin_is_taken_for_it_only_where_plugins_run(
    namespace: str, named: tuple[str, ...], is_plugin: bool
) -> None:
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    pod = a_dra_plugin(states=SERVING, namespace=namespace, containers=[{"name": "gpus", "resources": limits}])
    item = pod_items.pod_item(msgspec.convert(pod, kinds.Pod), objects.NAMESPACE, named)
    assert item is not None or namespace == objects.NAMESPACE
    assert isinstance(item.facts if item else None, DraPlugin) is is_plugin
    if not is_plugin:
        assert item is not None
        assert isinstance(item.facts, Pod)
        assert item.facts.gpu is GpuUse.RESOURCE, "it holds a GPU as any other, and has to leave before the driver"


def test_a_job_cannot_call_itself_a_dra_plugin_and_stay() -> None:
    labels = {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}
    assert user_of(objects.a_gpu_pod(labels=labels)).gpu is GpuUse.RESOURCE


@pytest.mark.parametrize(
    ("states", "started_at"),
    [
        (SERVING, AT),
        ({"gpus": RUNNING_LATER, "helper": RUNNING}, AT + 60),
        ({"only": RUNNING_LATER}, AT + 60),
        ({"gpus": RUNNING, "compute-domains": {"waiting": {"reason": "CrashLoopBackOff"}}}, None),
        ({"gpus": {"waiting": {"reason": "PodInitializing"}}}, None),
    ],
)
def test_a_dra_plugin_is_as_old_as_the_oldest_container_that_serves(
    states: dict[str, dict[str, Any]], started_at: float | None
) -> None:
    plugin = joined(a_dra_plugin(states=states)).dra
    assert plugin is not None
    assert plugin.started_at == started_at


def test_a_container_without_a_state_does_not_run_yet() -> None:
    plugin = joined(a_dra_plugin(states=SERVING, status={"containerStatuses": []})).dra
    assert plugin is not None
    assert (plugin.is_ready, plugin.started_at) == (False, None)


def a_slice(*versions: str, driver: str = "gpu.nvidia.com", node: str = "n1", **fields: Any) -> dict[str, Any]:
    """A ResourceSlice of one device per version."""
    devices = [
        {"name": f"gpu-{number}", "attributes": {"type": {"string": "gpu"}, "driverVersion": {"version": version}}}
        for number, version in enumerate(versions)
    ]
    metadata = {"name": f"{node}-{driver}", "uid": f"uid-{node}-{driver}", "resourceVersion": "9"}
    return {"metadata": metadata | fields, "spec": {"driver": driver, "nodeName": node, "devices": devices}}


def sliced(thing: dict[str, Any]) -> items.SliceItem | None:
    return items.slice_item(msgspec.convert(thing, kinds.ResourceSlice))


def only(row: Row[Any, Any], found: Iterable[Any]) -> Callable[[Row[Any, Any]], list[Any]]:
    """A node about which one row says something, and no other."""
    kept = [item for item in found if item is not None]
    return lambda asked: kept if asked is row else []


def test_the_versions_that_slices_publish_are_told_once_each() -> None:
    kept = [sliced(a_slice("580.105.8", "580.105.8")), sliced(a_slice("570.124.6"))]
    around = project.Around(wanted=WANTED, of=only(table.SLICES, kept))
    assert joined(around=around).published == ("570.124.6", "580.105.8")


def test_an_attribute_may_carry_the_drivers_domain() -> None:
    piece = a_slice()
    piece["spec"]["devices"] = [{"attributes": {"gpu.nvidia.com/driverVersion": {"version": "580.105.8"}}}]
    item = sliced(piece)
    assert item is not None
    assert item.versions == ("580.105.8",)


@pytest.mark.parametrize("piece", [a_slice("1.2.3", driver="compute-domain.nvidia.com"), a_slice("1.2.3", node="")])
def test_slices_that_tell_nothing_of_a_nodes_gpus_are_not_kept(piece: dict[str, Any]) -> None:
    assert sliced(piece) is None


# ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────────


def a_maintenance(
    name: str = "nvidia-operator-n1", *, requestor: str = "network", others: tuple[str, ...] = (), **fields: Any
) -> dict[str, Any]:
    """A NodeMaintenance that is still being worked on."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "30"}
    return {
        "metadata": metadata | fields.get("metadata", {}),
        "spec": {"nodeName": "n1", "requestorID": requestor, "additionalRequestors": list(others)},
        "status": {"conditions": fields.get("conditions", [])},
    }


def maintained(*things: dict[str, Any], ours: str = "") -> Maintenance | None:
    read = (items.maintenance_item(msgspec.convert(each, kinds.NodeMaintenance)) for each in things)
    requestor = models.RolloutMaintenance(requestor_id=ours) if ours else None
    around = project.Around(wanted=WANTED, of=only(table.MAINTENANCES, read), requestor=requestor)
    return joined(around=around).maintenance


@pytest.mark.parametrize(("reason", "is_ready"), [("Ready", True), ("Pending", False), ("Draining", False)])
def test_a_maintenance_says_who_asked_and_whether_the_node_is_free(reason: str, is_ready: bool) -> None:
    conditions = [{"type": "Failed", "reason": "Ready"}, {"type": "Ready", "status": "True", "reason": reason}]
    assert maintained(a_maintenance(others=("seatrial",), conditions=conditions)) == Maintenance(
        namespace="default",
        name="nvidia-operator-n1",
        uid="uid-nvidia-operator-n1",
        resource_version="30",
        requestor="network",
        others=("seatrial",),
        is_ready=is_ready,
    )


def test_a_maintenance_that_is_being_deleted_says_so() -> None:
    found = maintained(a_maintenance(metadata={"deletionTimestamp": objects.AT}))
    assert found is not None
    assert found.is_deleting


def test_of_several_maintenances_the_one_that_concerns_us_counts() -> None:
    first, named, joined_by_us = a_maintenance("a"), a_maintenance(), a_maintenance("z", others=("seatrial",))
    for things, ours, name in (
        ([named, first], "", "a"),
        ([first, named], "seatrial", "nvidia-operator-n1"),
        ([first, named, joined_by_us], "seatrial", "z"),
    ):
        found = maintained(*things, ours=ours)
        assert found is not None
        assert found.name == name


# ── driver and validator pods ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("app", "nvidia-driver-daemonset"),
        ("app.kubernetes.io/component", "nvidia-driver"),
        ("openshift.driver-toolkit", "true"),
    ],
)
def test_a_driver_pod_is_known_by_any_of_its_labels(label: str, value: str) -> None:
    assert isinstance(facts_of(objects.a_driver_pod(labels={label: value})), DriverPod)


@pytest.mark.parametrize("pod", [objects.a_driver_pod(namespace="jobs"), objects.a_validator_pod(namespace="jobs")])
def test_a_label_in_another_namespace_makes_no_operand(pod: dict[str, Any]) -> None:
    assert not isinstance(facts_of(pod), DriverPod | ValidatorPod)


def test_a_gpu_pod_that_calls_itself_validator_is_still_in_the_way() -> None:
    assert user_of(objects.a_gpu_pod(labels={"app": "nvidia-operator-validator"})).gpu is GpuUse.RESOURCE


def test_only_a_pod_without_any_owner_is_orphaned() -> None:
    assert not driver_of(objects.a_driver_pod()).is_orphaned
    assert driver_of(objects.a_driver_pod(owner=None)).is_orphaned
    assert not driver_of(objects.a_driver_pod(owner={"kind": "ReplicaSet", "uid": "rs-1"})).is_orphaned


def test_the_digest_of_an_init_container_comes_first() -> None:
    spec = {
        "initContainers": [{"name": "k8s-driver-manager", "env": [{"name": "DRIVER_CONFIG_DIGEST", "value": "first"}]}],
        "containers": [{"name": "nvidia-driver-ctr", "env": [{"name": "DRIVER_CONFIG_DIGEST", "value": "second"}]}],
    }
    assert driver_of(objects.a_driver_pod(spec=spec)).digest == "first"
    assert driver_of(objects.a_driver_pod()).digest == ""


def test_a_restart_in_place_moves_the_drivers_start() -> None:
    statuses = [
        {"name": "nvidia-peermem-ctr", "ready": True, "state": RUNNING},
        {"name": "nvidia-driver-ctr", "ready": True, "state": RUNNING_LATER},
    ]
    driver = driver_of(objects.a_driver_pod(status={"containerStatuses": statuses}))
    assert (driver.started_at, driver.loaded_at) == (AT + 60, AT + 60)


def test_what_containers_say_is_a_symptom_while_the_driver_is_not_ready() -> None:
    in_use = "Could not unload NVIDIA driver kernel modules, driver is in use"
    ended = {"terminated": {"reason": "Error", "exitCode": 1, "message": in_use}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
    status = {
        "phase": "Pending",
        "initContainerStatuses": [{"name": "k8s-driver-manager", "state": waiting, "lastState": ended}],
        "containerStatuses": [
            {"name": "nvidia-driver-ctr", "state": {"waiting": {"reason": "PodInitializing"}}},
            {"name": "nvidia-fs-ctr", "ready": True, "lastState": ended},
        ],
    }
    driver = driver_of(objects.a_driver_pod(status=status))
    assert driver.symptoms == (
        Symptom(source="container", reason="CrashLoopBackOff", message="back-off 5m0s restarting failed container"),
        Symptom(source="container", reason="Error", message=f"{in_use} (exit code 1)"),
    )
    found = diagnose(driver.symptoms)
    assert found is not None
    assert found.trouble is Trouble.DRIVER_IN_USE


def test_a_ready_driver_has_no_symptoms_from_before() -> None:
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    statuses = [{"name": "nvidia-driver-ctr", "ready": True, "state": RUNNING, "lastState": ended}]
    assert driver_of(objects.a_driver_pod(status={"containerStatuses": statuses})).symptoms == ()


def test_what_ended_well_is_no_symptom() -> None:
    ended = {"terminated": {"reason": "Completed", "exitCode": 0}}
    status = {"phase": "Pending", "initContainerStatuses": [{"name": "k8s-driver-manager", "state": ended}]}
    assert driver_of(objects.a_driver_pod(status=status)).symptoms == ()


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def an_event(
    reason: str, message: str = "", *, version: str = "9", pod: str = "driver-n1", **fields: Any
) -> dict[str, Any]:
    """A Warning about a pod."""
    name = f"{pod}.{reason}.{version}".lower()
    return {
        "metadata": {"name": name, "namespace": objects.NAMESPACE, "uid": f"uid-{name}", "resourceVersion": version},
        "involvedObject": {"kind": "Pod", "namespace": objects.NAMESPACE, "name": pod, "uid": f"uid-{pod}"},
        "type": "Warning",
        "reason": reason,
        "message": message,
    } | fields


def warned(*events: dict[str, Any], phase: str = "Pending") -> tuple[Symptom, ...]:
    """What is said about a driver pod in this phase."""
    read = (items.warning_item(msgspec.convert(each, kinds.Event)) for each in events)
    kept = [item for item in read if item is not None]
    around = project.Around(wanted=WANTED, warnings=lambda uid: [item for item in kept if item.pod == uid])
    driver = joined(objects.a_driver_pod(phase=phase), around=around).driver
    assert driver is not None
    return driver.symptoms


def test_events_about_a_driver_pod_are_symptoms_while_it_is_not_ready() -> None:
    event = an_event("Failed", 'Failed to pull image "nvcr.io/nvidia/driver:1": denied')
    symptom = Symptom(source="event", reason="Failed", message='Failed to pull image "nvcr.io/nvidia/driver:1": denied')
    assert warned(event) == (symptom,)
    assert warned(event, phase="Running") == ()
    assert warned(an_event("Failed", pod="validator-n1")) == ()


@pytest.mark.parametrize(
    "fields",
    [{"type": "Normal"}, {"involvedObject": {"kind": "Node", "uid": "u"}}, {"involvedObject": {"kind": "Pod"}}],
)
def test_other_events_are_not_kept(fields: dict[str, Any]) -> None:
    assert items.warning_item(msgspec.convert(an_event("Failed", **fields), kinds.Event)) is None


def test_of_many_events_the_newest_few_count() -> None:
    events = [an_event(f"Reason{number}", version=str(number)) for number in (9, 10, 11, 12, 13, 14)]
    assert [symptom.reason for symptom in warned(*events)] == [f"Reason{number}" for number in (10, 11, 12, 13, 14)]


@pytest.mark.parametrize(
    ("conditions", "since"),
    [
        ([("Ready", "True", objects.AT)], AT),
        ([("Ready", "False", objects.AT)], None),
        ([("Ready", "True", "")], None),
        ([("ContainersReady", "True", "2026-01-01T00:00:00Z"), ("Ready", "True", objects.AT)], AT),
        ([("ContainersReady", "True", objects.AT)], None),
        ([], None),
    ],
)
def test_a_pod_is_ready_since_its_condition_of_that_name_became_true(
    conditions: list[tuple[str, str, str]], since: float | None
) -> None:
    told = [{"type": kind, "status": is_so, "lastTransitionTime": at} for kind, is_so, at in conditions]
    status = {"conditions": told, "containerStatuses": [{"ready": True, "restartCount": 0}]}
    assert driver_of(objects.a_driver_pod(status=status)).ready_since == since


def test_a_driver_that_keeps_crashing_says_so() -> None:
    status = {
        "conditions": [],
        "containerStatuses": [
            {"ready": True, "restartCount": 40},
            {"ready": False, "restartCount": 12, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ],
    }
    driver = driver_of(objects.a_driver_pod(status=status))
    assert (driver.is_ready, driver.ready_since, driver.restart_count, driver.trouble) == (
        False,
        None,
        12,
        "CrashLoopBackOff",
    )


def test_trouble_of_an_init_container_counts_too() -> None:
    status = {
        "phase": "Pending",
        "initContainerStatuses": [{"restartCount": 3, "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
        "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
    }
    driver = driver_of(objects.a_driver_pod(status=status))
    assert (driver.restart_count, driver.trouble) == (3, "ImagePullBackOff")


def test_a_container_that_is_being_created_is_no_trouble() -> None:
    status = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}
    driver = driver_of(objects.a_driver_pod(status=status))
    assert driver.trouble == ""


def test_a_pod_without_containers_is_not_ready() -> None:
    assert not driver_of(objects.a_driver_pod(status={"containerStatuses": []})).is_ready


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("nvcr.io/nvidia/driver:580.105.08-ubuntu22.04", "580.105.08"),
        ("nvcr.io/nvidia/driver@sha256:0123", ""),
        ("nvcr.io/nvidia/driver", ""),
    ],
)
def test_the_driver_version_is_what_the_image_says(image: str, version: str) -> None:
    containers = [{"name": "peermem", "image": "x/y:1.2.3"}, {"name": "nvidia-driver-ctr", "image": image}]
    assert driver_of(objects.a_driver_pod(containers=containers)).version == version


def test_of_two_driver_pods_the_one_that_stays_counts() -> None:
    leaving = objects.a_driver_pod(
        metadata={"deletionTimestamp": objects.AT, "creationTimestamp": "2026-01-09T00:00:00Z"}
    )
    staying = objects.a_driver_pod(uid="staying")
    for pods in ((leaving, staying), (staying, leaving)):
        driver = joined(*pods).driver
        assert driver is not None
        assert driver.uid == "staying"


def test_of_two_driver_pods_that_stay_the_younger_counts() -> None:
    older = objects.a_driver_pod(uid="b-older")
    younger = objects.a_driver_pod(uid="a-younger", metadata={"creationTimestamp": "2026-01-09T00:00:00Z"})
    for pods in ((older, younger), (younger, older)):
        driver = joined(*pods).driver
        assert driver is not None
        assert driver.uid == "a-younger"


def test_a_driver_pod_whose_owner_is_unknown_wants_nothing() -> None:
    assert joined(objects.a_driver_pod(owner=None)).wanted is None


# ── revisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def revisions(*some: dict[str, Any]) -> dict[str, DriverRevision]:
    return project.newest_by_owner(
        items.revision_item(msgspec.convert(each, kinds.ControllerRevision)) for each in some
    )


def test_each_daemon_set_wants_its_revision_with_the_highest_number() -> None:
    other = objects.DAEMON_SET | {"uid": "ds-9"}
    found = revisions(
        objects.a_revision("b", number=10, driver=objects.NEW),
        objects.a_revision("a", number=9, driver=objects.OLD),
        objects.a_revision("c", number=1, driver=objects.OLD, owner=other),
    )
    assert {owner: (each.hash, each.version) for owner, each in found.items()} == {
        "ds-1": ("b", objects.NEW),
        "ds-9": ("c", objects.OLD),
    }


def test_a_template_that_was_rolled_back_is_the_newest_by_its_new_number() -> None:
    back = objects.a_revision("a", number=3, driver=objects.OLD)  # the DaemonSet controller renumbers the old revision
    found = revisions(objects.a_revision("b", number=2, driver=objects.NEW), back)["ds-1"]
    assert (found.hash, found.version) == ("a", objects.OLD)


def test_revisions_of_a_daemon_set_that_was_taken_away_are_wanted_by_nobody() -> None:
    orphaned = objects.a_revision("old", number=7, driver=objects.OLD)
    orphaned["metadata"]["ownerReferences"] = []
    assert revisions(orphaned) == {}


def test_what_another_daemon_set_wants_on_the_node_of_an_orphan_is_told_and_one_that_names_an_owner_first() -> None:
    plain = wanting({"nvidia.com/gpu.deploy.driver": "true"}, "a", "ds-7")
    owning = wanting({"nvidia.com/gpu.deploy.driver": "true", OWNER_LABEL: "blue"}, "b", "ds-8")
    labels = {"nvidia.com/gpu.deploy.driver": "true"}
    assert hash_for_an_orphan(labels, plain, owning) == "a"
    assert hash_for_an_orphan({**labels, OWNER_LABEL: "blue"}, plain, owning) == "b"
    assert hash_for_an_orphan({}, plain, owning) is None


def test_a_daemon_set_that_was_taken_away_or_brings_no_driver_wants_nobodys_node() -> None:
    gone = wanting({"gpu": "true"}, "a", "ds-7")
    gone["metadata"]["ownerReferences"] = []
    other = wanting({"gpu": "true"}, "b", "ds-8")
    other["data"]["spec"]["template"]["spec"]["containers"][0]["name"] = "toolkit"
    assert hash_for_an_orphan({"gpu": "true"}, gone, other, objects.a_revision("c", number=1, driver="")) is None


def wanting(selector: dict[str, str], name: str, uid: str) -> dict[str, Any]:
    """A revision of a driver DaemonSet that wants nodes with these labels."""
    revision = objects.a_revision(name, number=1, driver=objects.NEW, owner=objects.DAEMON_SET | {"uid": uid})
    revision["data"]["spec"]["template"]["spec"]["nodeSelector"] = selector
    return revision


def hash_for_an_orphan(labels: dict[str, str], *some: dict[str, Any]) -> str | None:
    """The revision that is wanted on a node whose driver pod belongs to nobody."""
    found = [items.revision_item(msgspec.convert(each, kinds.ControllerRevision)) for each in some]
    node = items.node_item(msgspec.convert(objects.a_node(labels=labels), kinds.Node))
    orphan = objects.a_driver_pod(owner=None)
    pod = pod_items.pod_item(msgspec.convert(orphan, kinds.Pod), objects.NAMESPACE)
    assert pod is not None
    around = project.Around(wanted=project.newest_by_owner(found), seekers=project.seekers_of(found))
    wanted = project.node_facts(node, [pod], around).wanted
    return wanted.hash if wanted is not None else None


def test_a_template_carries_its_digest() -> None:
    revision = objects.a_revision("a", number=1, driver=objects.NEW)
    template = revision["data"]["spec"]["template"]["spec"]
    template["initContainers"] = [{"name": "manager", "env": [{"name": "DRIVER_CONFIG_DIGEST", "value": "d1"}]}]
    assert revisions(revision)["ds-1"].digest == "d1"


def test_a_template_whose_image_does_not_say_has_no_version() -> None:
    digest = objects.a_revision("a", number=1, driver="", image="nvcr.io/nvidia/driver@sha256:0123")
    image = "nvcr.io/nvidia/driver@sha256:0123"
    assert revisions(digest) == {"ds-1": DriverRevision(hash="a", version="", image=image)}


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────


def operator(
    policies: list[dict[str, Any]],
    drivers: list[dict[str, Any]] | None = None,
    *,
    has_owned_nodes: bool = True,
    faults: list[str] | None = None,
) -> OperatorFacts:
    told: list[str] = []
    facts = operator_items.operator_facts(
        [msgspec.convert(each, operator_models.ClusterPolicy) for each in policies],
        [msgspec.convert(each, operator_models.NvidiaDriver) for each in drivers or []],
        has_owned_nodes=has_owned_nodes,
        on_fault=told.append,
    )
    if faults is None:
        assert told == []
    else:
        faults.extend(told)
    return facts


def a_driver_resource(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"version": objects.NEW, **spec}, "status": {"state": "ready"}}


def a_pool(name: str, *, is_auto_upgrading: bool = True, policy: PolicyWish | None = None) -> Pool:
    return Pool(
        name=name,
        claim=DriverClaim(name=name),
        is_auto_upgrading=is_auto_upgrading,
        driver_version=objects.NEW,
        policy=policy or PolicyWish(),
    )


ON, OFF = {"upgradePolicy": {"autoUpgrade": True}}, {"upgradePolicy": {"autoUpgrade": False}}


def test_without_its_resources_there_is_no_operator() -> None:
    assert operator([]) == OperatorFacts()


def test_a_cluster_policy_is_described() -> None:
    policy = objects.a_cluster_policy(driver={"version": objects.NEW, **ON})
    assert operator([policy]) == OperatorFacts(
        kind="ClusterPolicy/cluster-policy",
        is_auto_upgrading=True,
        driver_version=objects.NEW,
        state="ready",
        carriers=(Carrier(name="ClusterPolicy/cluster-policy", version=objects.NEW, resource_version="5"),),
    )


@pytest.mark.parametrize("driver", [{}, {"upgradePolicy": {}}, OFF])
def test_a_cluster_policy_upgrades_only_when_told_to(driver: dict[str, Any]) -> None:
    assert not operator([objects.a_cluster_policy(driver=driver)]).is_auto_upgrading


def test_sandbox_workloads_switch_a_cluster_policys_upgrades_off() -> None:
    policy = objects.a_cluster_policy(driver=ON, sandboxWorkloads={"enabled": True})
    assert not operator([policy]).is_auto_upgrading
    assert operator([policy]).is_sandboxed
    assert not operator([objects.a_cluster_policy(driver=OFF, sandboxWorkloads={"enabled": True})]).is_sandboxed


def test_the_oldest_cluster_policy_counts() -> None:
    older = objects.a_cluster_policy("older", created="2025-01-01T00:00:00Z", driver=OFF)
    younger = objects.a_cluster_policy("a-younger", driver=ON)
    assert operator([younger, older]).kind == "ClusterPolicy/older"


@pytest.mark.parametrize(("spec", "is_on"), [({}, True), ({"upgradePolicy": {}}, True), (ON, True), (OFF, False)])
def test_an_nvidia_driver_upgrades_unless_told_not_to(spec: dict[str, Any], is_on: bool) -> None:
    assert operator([], [a_driver_resource("pool", **spec)]) == OperatorFacts(
        kind="NVIDIADriver/pool",
        is_auto_upgrading=is_on,
        driver_version=objects.NEW,
        state="ready",
        pools=(a_pool("pool", is_auto_upgrading=is_on),),
        carriers=(Carrier(name="NVIDIADriver/pool", version=objects.NEW),),
    )


def written(*by: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Managed fields: who, when, and which field of the ClusterPolicy's driver."""
    return [
        {"manager": who, "time": when, "fieldsV1": {"f:spec": {"f:driver": {".": {}, f"f:{field}": {}}}}}
        for who, when, field in by
    ]


@pytest.mark.parametrize(
    ("fields", "writer"),
    [
        ([], ""),
        (written(("helm", "2026-01-01", "version")), "helm"),
        (written(("helm", "2026-01-01", "version"), ("kubectl", "2026-01-02", "image")), "helm"),
        (written(("helm", "2026-01-01", "version"), ("flux", "2026-01-02", "version")), "flux"),
        (written(("flux", "2026-01-01", "version"), ("seatrial", "2026-01-02", "version")), "flux"),
        (
            written(("argocd-controller", "2026-01-01", "version"), ("helm", "2026-01-02", "version")),
            "argocd-controller",
        ),
        (written(("flux", "2026-01-01", "image"), ("seatrial", "2026-01-02", "version")), "seatrial"),
        ([{"manager": "operator", "subresource": "status", "fieldsV1": {"f:status": {"f:state": {}}}}], ""),
        ([{"manager": "odd", "fieldsV1": {"f:spec": {}}}, {"manager": "bare"}], ""),
    ],
)
def test_the_writer_of_a_version_is_who_owns_it_and_we_ourselves_only_alone(
    fields: list[dict[str, Any]], writer: str
) -> None:
    policy = objects.a_cluster_policy(driver={"version": objects.NEW})
    policy["metadata"]["managedFields"] = fields
    assert [carrier.writer for carrier in operator([policy]).carriers] == [writer]


def test_what_a_driver_manager_is_told_is_seen_by_name_and_nothing_else_of_its_environment() -> None:
    env = [
        {"name": "DRAIN_USE_FORCE", "value": "true"},
        {"name": "ENABLE_AUTO_DRAIN", "value": "false"},
        {"name": "ENABLE_GPU_POD_EVICTION"},
    ]
    policy = objects.a_cluster_policy(driver={"version": objects.NEW, "manager": {"env": env}})
    pool = a_driver_resource("pool", manager={"env": env[:2]})
    assert [carrier.switches for carrier in operator([policy], [pool]).carriers] == [
        (("ENABLE_GPU_POD_EVICTION", ""), ("ENABLE_AUTO_DRAIN", "false")),
        (("ENABLE_AUTO_DRAIN", "false"),),
    ]


def test_where_nvidia_drivers_own_the_drivers_they_carry_the_versions() -> None:
    policy = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": True, "version": objects.OLD})
    found = operator([policy], [a_driver_resource("b"), a_driver_resource("a", version=objects.OLD)])
    assert [(carrier.name, carrier.version) for carrier in found.carriers] == [
        ("ClusterPolicy/cluster-policy", ""),
        ("NVIDIADriver/a", objects.OLD),
        ("NVIDIADriver/b", objects.NEW),
    ]


def test_of_several_nvidia_drivers_the_one_that_upgrades_is_named() -> None:
    assert operator([], [a_driver_resource("a", **OFF), a_driver_resource("b", **ON)]).kind == "NVIDIADriver/b"


@pytest.mark.parametrize(("delegates", "kind"), [(True, "NVIDIADriver/pool"), (False, "ClusterPolicy/cluster-policy")])
def test_a_cluster_policy_says_whether_nvidia_drivers_own_the_drivers(delegates: bool, kind: str) -> None:
    policy = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": delegates, **ON})
    assert operator([policy], [a_driver_resource("pool")]).kind == kind


def test_before_owner_labels_the_cluster_policy_governs_all_nvidia_drivers() -> None:
    policy = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": True, "upgradePolicy": {"maxParallelUpgrades": 4}})
    found = operator([policy], [a_driver_resource("pool")], has_owned_nodes=False)
    assert (found.kind, found.is_auto_upgrading, found.pools) == ("ClusterPolicy/cluster-policy", False, ())
    assert found.policy == PolicyWish(parallel_max=4)


def test_with_owner_labels_each_nvidia_driver_has_a_policy_of_its_own() -> None:
    policy = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": True, "upgradePolicy": {"maxParallelUpgrades": 4}})
    own = {"autoUpgrade": False, "maxParallelUpgrades": 2}
    found = operator([policy], [a_driver_resource("b", upgradePolicy=own), a_driver_resource("a")])
    assert found.policy == PolicyWish()
    assert found.pools == (
        a_pool("a"),
        a_pool("b", is_auto_upgrading=False, policy=PolicyWish(parallel_max=2)),
    )


def test_an_upgrade_policy_is_read_whole() -> None:
    said = {
        "autoUpgrade": False,
        "maxParallelUpgrades": 0,
        "maxUnavailable": "30%",
        "waitForCompletion": {"podSelector": "job=long", "timeoutSeconds": 60},
        "podDeletion": {"force": True, "deleteEmptyDir": False, "timeoutSeconds": 0},
        "drain": {"enable": True, "force": False, "deleteEmptyDir": True, "podSelector": "a!=b", "timeoutSeconds": 90},
    }
    assert operator([objects.a_cluster_policy(driver={"upgradePolicy": said})]).policy == PolicyWish(
        parallel_max=0,
        unavailable_max=Share(amount=30, is_percent=True),
        jobs_selector="job=long",
        jobs_timeout_seconds=60,
        eviction_force=True,
        eviction_delete_empty_dir=False,
        eviction_timeout_seconds=0,
        drain_enable=True,
        drain_force=False,
        drain_delete_empty_dir=True,
        drain_selector="a!=b",
        drain_timeout_seconds=90,
    )


@pytest.mark.parametrize(("share", "why"), [("many", "is neither"), ("150%", "is more than all of the nodes")])
def test_a_limit_of_the_operator_that_cannot_be_meant_is_told_and_not_said(share: str, why: str) -> None:
    faults: list[str] = []
    policy = objects.a_cluster_policy(driver={"upgradePolicy": {"maxUnavailable": share, "maxParallelUpgrades": 2}})
    assert operator([policy], faults=faults).policy == PolicyWish(parallel_max=2)
    assert len(faults) == 1
    assert faults[0].startswith(f"ClusterPolicy/cluster-policy: maxUnavailable '{share}' {why}")


# ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def claims(policies: list[dict[str, Any]], drivers: list[dict[str, Any]]) -> tuple[DriverClaim, ...] | None:
    return operator_items.driver_claims(
        [msgspec.convert(each, operator_models.ClusterPolicy) for each in policies],
        [msgspec.convert(each, operator_models.NvidiaDriver) for each in drivers],
    )


DELEGATING: Final = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": True})


def test_what_an_nvidia_driver_claims_is_read() -> None:
    leaving = a_driver_resource("c")
    leaving["metadata"]["deletionTimestamp"] = objects.AT
    drivers = [a_driver_resource("b", nodeSelector={}), a_driver_resource("a", default=True), leaving]
    assert claims([DELEGATING], drivers) == (
        DriverClaim(name="a", is_default=True),
        DriverClaim(name="b", selector={}),
        DriverClaim(name="c", is_deleting=True),
    )


def test_without_delegation_no_nvidia_driver_owns_anything() -> None:
    assert claims([objects.a_cluster_policy()], [a_driver_resource("a")]) is None
    assert claims([], []) is None
    assert claims([DELEGATING], []) == ()


def test_a_nodes_owner_is_found_by_selectors_and_by_its_label() -> None:
    around = project.Around(
        wanted=WANTED,
        drivers=(DriverClaim(name="fleet", is_default=True), DriverClaim(name="h", selector={"gpu": "h"})),
    )
    assert joined(around=around).owner == "fleet"
    assert joined(around=around, labels={"gpu": "h"}).owner == "h"
    assert joined(around=around, labels={OWNER_LABEL: "h"}).owner == "h"
    lost = joined(around=around, labels={OWNER_LABEL: "gone"})
    assert lost.owner == ""
    assert "gone" in lost.owner_conflict


def test_an_owner_label_means_nothing_where_no_nvidia_driver_can_own() -> None:
    facts = joined(labels={OWNER_LABEL: "gone"})
    assert (facts.owner, facts.owner_conflict) == ("", "")


def test_when_a_container_of_a_user_last_ended_and_was_started_again_is_known() -> None:
    pod = objects.a_gpu_pod()
    pod["status"]["containerStatuses"] = [
        {"name": "main", "ready": False, "restartCount": 1, "lastState": {"terminated": {"finishedAt": objects.AT}}}
    ]
    found = user_of(pod)
    assert found is not None
    assert (found.is_running, found.restarted_at) == (False, AT)
