"""What a campaign does to a cluster, on a real API server: marks, versions, probes, pools; and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind
from seatrial.adapters.kube.reading import operator_items
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.shapes import keys, kinds, models, operator_models
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.adapters.kube.writing.measure import JobMeasurer
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.of_campaigns import MakePool, MarkNode, PausePool, RemovePool, SetAutoUpgrade, StartProbe
from seatrial.core.model.campaign import PublishStep, Switch, Via
from seatrial.core.model.gates.gate import PREPULL, Gate, GateVerdict, Measurement
from seatrial.core.movers import driver_manager
from seatrial.ports import ClusterAct, Outcome, Result
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed import errors as testbed_errors
from seatrial_lab.testbed.neighbours import operator_drivers
from seatrial_lab.testbed.nodes import machine_pools
from seatrial_lab.testbed.plane import control_plane
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.waiting import wait_for
from tests.adapters.kube.test_execute_real import Reader

pytestmark = pytest.mark.cluster

NAMESPACE = "kube-campaign"
NODE = "kube-campaign-1"
ROLLOUT = "kube-campaign"
POLICY, DRIVER = "kube-campaign-policy", "kube-campaign-driver"
OLD, NEW = "570.124.06", "580.105.08"
MARK = MarkNode(node=NODE, rollout=ROLLOUT, expect="")
PUBLISH = Publish(
    rollout=ROLLOUT,
    step=PublishStep.CANARY,
    versions=((f"ClusterPolicy/{POLICY}", NEW), (f"NVIDIADriver/{DRIVER}", NEW)),
    via=Via.DIRECT,
)
PROBE = StartProbe(
    rollout=ROLLOUT,
    gate=Gate(name="nccl", image="example.invalid/nccl:1", command=("all_reduce", "-b", "8"), timeout_seconds=30.5),
    node=NODE,
    round=2,
    attempt=1,
)
POOL = MakePool(rollout=ROLLOUT, name="gpu-canary")


class OneRollout(Reader):
    """Knows one rollout."""

    def __init__(self, uid: str = "") -> None:
        self._uid = uid

    def stored_rollout(self, name: str) -> models.Rollout | None:
        return models.Rollout(metadata=models.ObjectMeta(name=name, uid=self._uid)) if self._uid else None


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with our definition, and with a namespace, a node, a rollout and two owners of drivers."""
    controller_process.install(plane)
    plane.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": {"kept": "yes"}}},
            {
                "apiVersion": "seatrial.dev/v1alpha1",
                "kind": "GPURollout",
                "metadata": {"name": ROLLOUT},
                "spec": {"target": {"driver": NEW}, "nodeSelector": {"no": "node"}},
            },
        ]
    )
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=30s")
    yield plane
    plane.kubectl("delete", "gpurollout", ROLLOUT)
    plane.kubectl("delete", "node", NODE)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture
def owners(place: ControlPlane) -> Iterator[ControlPlane]:
    """A ClusterPolicy and an NVIDIADriver of our own."""
    place.apply([a_policy(), a_driver()])
    yield place
    place.kubectl("delete", "clusterpolicy", POLICY)
    place.kubectl("delete", "nvidiadriver", DRIVER)


@pytest.fixture
async def client(place: ControlPlane) -> AsyncIterator[Client]:
    config = configs.load_config(kubeconfig=str(place.kubeconfig), environ={})
    async with Client(config, user_agent="test-execute-campaign") as opened:
        yield opened


def a_policy() -> dict[str, Any]:
    upgrade = {"autoUpgrade": False, "maxParallelUpgrades": 3}
    some: dict[str, Any] = {"enabled": True}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": POLICY},
        "spec": {
            "operator": {"defaultRuntime": "containerd"},
            "daemonsets": {},
            "driver": {"enabled": True, "version": OLD, "image": "driver", "upgradePolicy": upgrade},
            "toolkit": some,
            "devicePlugin": some,
            "dcgm": some,
            "dcgmExporter": some,
            "nodeStatusExporter": {},
            "gfd": some,
        },
    }


def a_driver() -> dict[str, Any]:
    spec = {"driverType": "gpu", "image": "driver", "version": OLD, "nodeSelector": {"no": "node"}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "metadata": {"name": DRIVER}, "spec": spec}


async def try_out(client: Client, action: ClusterAct | StartProbe, *, uid: str = "") -> Outcome:
    if isinstance(action, StartProbe):
        measurer = JobMeasurer(client, OneRollout(uid), home=NAMESPACE, level=probes.Level.BASELINE, images=())
        return await measurer.measure(action)
    return await KubeCluster(client, OneRollout(uid), is_leader=lambda: True).do(action)


# ── marks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def mark(
    place: ControlPlane, client: Client, *, canary: bool | None = None, skip: bool | None = None
) -> dict[str, Any]:
    """Mark the node, as it is now; the node's metadata afterwards."""
    for _ in range(20):  # the cluster's own controllers write on a new node, too
        version = place.get("node", NODE)["metadata"]["resourceVersion"]
        action = replace(MARK, expect=version, canary=canary, skip=skip)
        outcome = await try_out(client, action)
        if outcome.result is not Result.STALE:
            break
    assert outcome == Outcome(action=action, result=Result.DONE)
    written: dict[str, Any] = place.get("node", NODE)["metadata"]
    return {"labels": written["labels"], "annotations": written.get("annotations", {})}


async def test_a_node_gets_its_marks_in_one_write_and_loses_them_without_a_trace(
    place: ControlPlane, client: Client
) -> None:
    before = await mark(place, client)
    marked = await mark(place, client, canary=True, skip=True)
    assert marked["labels"] == {**before["labels"], keys.CANARY_LABEL: ROLLOUT, keys.SKIP_LABEL: "true"}
    assert marked["annotations"] == {**before["annotations"], keys.SKIPPED_BY_ANNOTATION: ROLLOUT}

    without_skip = await mark(place, client, skip=False)
    assert without_skip["labels"] == {**before["labels"], keys.CANARY_LABEL: ROLLOUT}
    assert await mark(place, client, canary=False) == before


async def test_a_mark_is_refused_on_a_node_that_changed_since_it_was_looked_at(
    place: ControlPlane, client: Client
) -> None:
    seen = place.get("node", NODE)["metadata"]["resourceVersion"]
    place.kubectl("label", "node", NODE, f"{keys.SKIP_LABEL}=true", "--overwrite")
    outcome = await try_out(client, replace(MARK, expect=seen, skip=False))
    assert outcome.result is Result.STALE
    assert place.get("node", NODE)["metadata"]["labels"][keys.SKIP_LABEL] == "true"
    place.kubectl("label", "node", NODE, f"{keys.SKIP_LABEL}-")


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_version_is_written_and_nothing_else(owners: ControlPlane, client: Client) -> None:
    before = [owners.get("clusterpolicy", POLICY)["spec"], owners.get("nvidiadriver", DRIVER)["spec"]]
    assert await try_out(client, PUBLISH) == Outcome(action=PUBLISH, result=Result.DONE)
    assert await try_out(client, PUBLISH) == Outcome(action=PUBLISH, result=Result.DONE)
    policy, driver = owners.get("clusterpolicy", POLICY)["spec"], owners.get("nvidiadriver", DRIVER)["spec"]
    assert (policy["driver"]["version"], driver["version"]) == (NEW, NEW)
    policy["driver"]["version"] = driver["version"] = OLD
    assert [policy, driver] == before


async def test_a_driver_manager_is_told_by_name_with_the_version_and_all_else_stays(
    owners: ControlPlane, client: Client
) -> None:
    policy, driver = f"ClusterPolicy/{POLICY}", f"NVIDIADriver/{DRIVER}"
    kept = [{"name": "DRAIN_USE_FORCE", "value": "true"}, {"name": "ENABLE_GPU_POD_EVICTION", "value": "true"}]
    env = {"spec": {"driver": {"manager": {"env": kept}}}}
    owners.kubectl("patch", "clusterpolicy", POLICY, "--type=merge", "-p", json.dumps(env))
    before = [owners.get("clusterpolicy", POLICY)["spec"], owners.get("nvidiadriver", DRIVER)["spec"]]
    off = (*driver_manager.off(policy), *driver_manager.off(driver))
    act = replace(PUBLISH, switches=off)
    assert await try_out(client, act) == Outcome(action=act, result=Result.DONE)

    async def seen() -> list[tuple[tuple[str, str], ...]]:
        found = await client.get(f"{keys.CLUSTER_POLICIES}/{POLICY}", operator_models.ClusterPolicy)
        other = await client.get(f"{keys.NVIDIA_DRIVERS}/{DRIVER}", operator_models.NvidiaDriver)
        facts = operator_items.operator_facts([found], [other], has_owned_nodes=False, on_fault=pytest.fail)
        return [carrier.switches for carrier in facts.carriers]

    assert await seen() == [tuple((name, "false") for name in driver_manager.SWITCHES)] * 2
    stored = owners.get("clusterpolicy", POLICY)["spec"]["driver"]["manager"]["env"]
    assert [each["name"] for each in stored] == [
        "DRAIN_USE_FORCE",
        "ENABLE_GPU_POD_EVICTION",
        "ENABLE_AUTO_DRAIN",
    ]

    back = Switch(resource=policy, name=driver_manager.EVICTION, value="true")
    absent = [Switch(resource=name, name=each) for name in (policy, driver) for each in driver_manager.SWITCHES]
    told = (back, *(each for each in absent if (each.resource, each.name) != (policy, driver_manager.EVICTION)))
    versions = tuple((name, OLD) for name, _ in PUBLISH.versions)
    revert = replace(PUBLISH, step=PublishStep.REVERT, versions=versions, switches=told)
    assert (await try_out(client, revert)).result is Result.DONE
    after = [owners.get("clusterpolicy", POLICY)["spec"], owners.get("nvidiadriver", DRIVER)["spec"]]
    after[1].pop("manager", None)
    assert after == before


async def test_who_wrote_the_version_last_is_seen_and_a_manager_of_other_fields_is_not(
    owners: ControlPlane, client: Client
) -> None:
    async def writer() -> list[str]:
        policy = await client.get(f"{keys.CLUSTER_POLICIES}/{POLICY}", operator_models.ClusterPolicy)
        driver = await client.get(f"{keys.NVIDIA_DRIVERS}/{DRIVER}", operator_models.NvidiaDriver)
        facts = operator_items.operator_facts([policy], [driver], has_owned_nodes=False, on_fault=pytest.fail)
        return [carrier.writer for carrier in facts.carriers]

    def apply(by: str, **fields: Any) -> None:
        body = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": POLICY}}
        spec = {"spec": {**a_policy()["spec"], "driver": {"enabled": True, **fields}}}
        how = ("--server-side", "--force-conflicts", f"--field-manager={by}", "-f", "-")
        owners.kubectl("apply", *how, stdin=json.dumps(body | spec))

    assert await writer() == [control_plane.FIELD_MANAGER] * 2
    await try_out(client, PUBLISH)
    assert await writer() == ["seatrial", "seatrial"]
    apply("argocd-controller", version=OLD)
    assert (await writer())[0] == "argocd-controller"
    apply("another", image="driver")  # newer, and none of its business
    assert (await writer())[0] == "argocd-controller"
    apply("argocd-controller", version=NEW)
    await try_out(client, PUBLISH)  # the same value: both stand behind it, and the other one counts
    assert (await writer())[0] == "argocd-controller"


async def test_a_resource_that_owns_no_drivers_or_is_gone_is_not_written(owners: ControlPlane, client: Client) -> None:
    odd = replace(PUBLISH, versions=(("DaemonSet/driver", NEW),))
    outcome = await try_out(client, odd)
    assert (outcome.result, outcome.detail) == (
        Result.FAILED,
        "DaemonSet/driver has no driver version that could be set",
    )
    gone = replace(PUBLISH, versions=(("ClusterPolicy/gone", NEW),))
    assert (await try_out(client, gone)).result is Result.STALE


async def test_a_node_selector_in_a_cluster_policy_is_refused_by_name_and_by_default_only_warned_about(
    owners: ControlPlane, client: Client
) -> None:
    """A canary by spec.driver.nodeSelector does not exist: dropped with a warning, it would be the whole fleet."""
    wanted = {"spec": {"driver": {"version": NEW, "nodeSelector": {keys.CANARY_LABEL: ROLLOUT}}}}
    path = f"{keys.CLUSTER_POLICIES}/{POLICY}"
    with pytest.raises(errors.Invalid, match=r'unknown field "spec\.driver\.nodeSelector"'):
        await client.patch(path, wanted, kind=PatchKind.MERGE)
    assert owners.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == OLD

    with pytest.raises(testbed_errors.KubectlFailed, match=r'Warning: unknown field "spec\.driver\.nodeSelector"'):
        owners.kubectl(
            *("patch", "clusterpolicy", POLICY, "--type=merge", "--warnings-as-errors", "-p", json.dumps(wanted))
        )
    stored = owners.get("clusterpolicy", POLICY)["spec"]["driver"]
    assert stored["version"] == NEW, "the warning kept nothing from being written"
    assert "nodeSelector" not in stored


# ── NVIDIA's own upgrading ───────────────────────────────────────────────────────────────────────────────────────────


async def test_nvidias_controller_is_switched_on_and_off_and_its_limits_stay(
    owners: ControlPlane, client: Client
) -> None:
    for value in (True, False):
        action = SetAutoUpgrade(rollout=ROLLOUT, resource=f"ClusterPolicy/{POLICY}", value=value)
        assert await try_out(client, action) == Outcome(action=action, result=Result.DONE)
        policy = owners.get("clusterpolicy", POLICY)["spec"]["driver"]["upgradePolicy"]
        assert (policy["autoUpgrade"], policy["maxParallelUpgrades"]) == (value, 3)


async def test_an_nvidia_driver_is_switched_where_its_definition_has_a_policy_and_refused_by_name_elsewhere(
    owners: ControlPlane, client: Client
) -> None:
    action = SetAutoUpgrade(rollout=ROLLOUT, resource=f"NVIDIADriver/{DRIVER}", value=False)
    refused = await try_out(client, action)
    assert refused.result is Result.FAILED
    assert 'unknown field "spec.upgradePolicy"' in refused.detail

    known = [owners.get("crd", name) for name in (operator_drivers.DEFINITION, operator_drivers.POLICY_DEFINITION)]
    owners.define([operator_drivers.with_upgrade_policy(*known)])
    try:
        async with asyncio.timeout(30):  # the server takes a moment to serve a changed definition
            while (outcome := await try_out(client, action)).result is Result.FAILED:
                pass
        assert outcome == Outcome(action=action, result=Result.DONE)
        assert owners.get("nvidiadriver", DRIVER)["spec"]["upgradePolicy"]["autoUpgrade"] is False
    finally:
        owners.load_nvidia_crds()


# ── probes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def rollout_uid(place: ControlPlane) -> str:
    return str(place.get("gpurollout", ROLLOUT)["metadata"]["uid"])


async def test_a_probe_is_a_job_of_its_rollout_on_its_node_once(place: ControlPlane, client: Client) -> None:
    uid = rollout_uid(place)
    assert await try_out(client, PROBE, uid=uid) == Outcome(action=PROBE, result=Result.DONE)
    assert await try_out(client, PROBE, uid=uid) == Outcome(action=PROBE, result=Result.DONE)
    (job,) = place.get("jobs", "-n", NAMESPACE, "-l", keys.GATE_KEY)["items"]
    assert job["metadata"]["name"] == probes.name_of(PROBE, uid)
    assert job["metadata"]["ownerReferences"][0]["uid"] == uid
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    limits = (spec["activeDeadlineSeconds"], pod["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"])
    assert limits == (31 + probes.START_SECONDS, 31, 86_400)
    assert (spec["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    assert pod["containers"][0]["command"] == ["all_reduce", "-b", "8"]
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1", **probes.LIMITS}
    place.kubectl("delete", "job", job["metadata"]["name"], "-n", NAMESPACE)


async def test_gpus_are_claimed_by_one_template_of_the_rollout_however_many_probes_want_them(
    place: ControlPlane, client: Client
) -> None:
    uid = rollout_uid(place)
    first = replace(PROBE, gate=replace(PROBE.gate, gpus=8), by_claim=True)
    for probe in (first, first, replace(first, round=3)):
        assert await try_out(client, probe, uid=uid) == Outcome(action=probe, result=Result.DONE)
    (template,) = place.get("resourceclaimtemplates", "-n", NAMESPACE)["items"]
    assert template["metadata"]["ownerReferences"][0]["uid"] == uid
    (asked,) = template["spec"]["spec"]["devices"]["requests"]
    assert asked["exactly"] == {"allocationMode": "ExactCount", "count": 8, "deviceClassName": "gpu.nvidia.com"}
    jobs = place.get("jobs", "-n", NAMESPACE, "-l", keys.GATE_KEY)["items"]
    pods = [job["spec"]["template"]["spec"] for job in jobs]
    assert len(pods) == 2
    for pod in pods:
        assert [each["resourceClaimTemplateName"] for each in pod["resourceClaims"]] == [template["metadata"]["name"]]
        assert pod["containers"][0]["resources"]["claims"] == [{"name": "gpus"}]
    place.kubectl("delete", "jobs", "--all", "-n", NAMESPACE)
    place.kubectl("delete", "resourceclaimtemplates", "--all", "-n", NAMESPACE)


async def test_names_and_labels_of_any_length_make_a_job_the_server_takes(place: ControlPlane, client: Client) -> None:
    gate = Gate(name="Long_gate." * 12, image="example.invalid/x", gpus=0)
    long = replace(PROBE, gate=gate, node="node." * 50 + "end", round=12345, attempt=3)
    uid = rollout_uid(place)
    assert await try_out(client, long, uid=uid) == Outcome(action=long, result=Result.DONE)
    (job,) = place.get("jobs", "-n", NAMESPACE, "-l", keys.GATE_KEY)["items"]
    assert job["metadata"]["annotations"][keys.NODE_KEY] == long.node
    assert "nvidia.com/gpu" not in job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    place.kubectl("delete", "job", job["metadata"]["name"], "-n", NAMESPACE)


async def test_a_probe_without_its_rollout_is_not_started(client: Client) -> None:
    outcome = await try_out(client, PROBE)
    assert outcome.result is Result.STALE
    assert ROLLOUT in outcome.detail


async def test_a_probe_goes_with_its_rollout(place: ControlPlane, client: Client) -> None:
    passing = f"{ROLLOUT}-passing"
    place.apply(
        [
            {
                "apiVersion": "seatrial.dev/v1alpha1",
                "kind": "GPURollout",
                "metadata": {"name": passing},
                "spec": {"target": {"driver": NEW}, "nodeSelector": {"no": "node"}},
            }
        ]
    )
    uid = str(place.get("gpurollout", passing)["metadata"]["uid"])
    probe = replace(PROBE, rollout=passing, by_claim=True)
    assert (await try_out(client, probe, uid=uid)).result is Result.DONE
    assert place.get("resourceclaimtemplates", "-n", NAMESPACE)["items"]
    place.kubectl("delete", "gpurollout", passing)
    selector = f"{keys.ROLLOUT_LABEL}={passing}"
    wait_for(
        lambda: (
            not place.get("jobs", "-n", NAMESPACE, "-l", selector)["items"]
            and not place.get("resourceclaimtemplates", "-n", NAMESPACE)["items"]
        ),
        what="the probe, and what it claims by, to go with its owner",
        timeout_seconds=60,
    )


async def measured(client: Client, probe: StartProbe, uid: str) -> Measurement | None:
    """What one look at the Jobs and their pods tells of a probe."""
    jobs = await client.list(keys.jobs_path(NAMESPACE), Job, label_selector=probes.SELECTOR)
    pods = await client.list(keys.pods_path(NAMESPACE), kinds.Pod, label_selector=probes.SELECTOR)
    name = probes.name_of(probe, uid)
    item = next(item for item in map(probes.probe_item, jobs.items) if item and item.metadata.name == name)
    told = [pod for pod in map(probes.probe_pod_item, pods.items) if pod.job_uid == item.metadata.uid]
    return probes.measurement_of(item, told)


async def end_of(client: Client, probe: StartProbe, uid: str) -> tuple[GateVerdict, str]:
    """The verdict on a probe, once there is one."""
    async with asyncio.timeout(60):
        while (found := await measured(client, probe, uid)) is None or found.verdict is GateVerdict.PENDING:
            await asyncio.sleep(0.1)
    return found.verdict, found.detail


def pod_of(place: ControlPlane, probe: StartProbe, uid: str) -> str:
    """The name of the probe's pod, once the scheduler has put it on the node."""
    selector = f"batch.kubernetes.io/job-name={probes.name_of(probe, uid)}"

    def placed() -> str | None:
        found = place.get("pods", "-n", NAMESPACE, "-l", selector)["items"]
        return next((each["metadata"]["name"] for each in found if each["spec"].get("nodeName") == NODE), None)

    return wait_for(placed, what="the scheduler to place the probe", timeout_seconds=60)


def play(place: ControlPlane, kind: str, name: str, status: dict[str, Any], *where: str) -> None:
    """Be the kubelet: write a status."""
    body = json.dumps({"status": status})
    place.kubectl("patch", kind, name, *where, "--subresource=status", "--type=merge", "-p", body)


def lend_gpus(place: ControlPlane) -> None:
    """The node as a kubelet with two GPUs reports it; tainted and cordoned, which keeps no probe out."""
    room = {"pods": "10", "cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}
    play(place, "node", NODE, {"capacity": room, "allocatable": room})
    place.kubectl("taint", "node", NODE, "dedicated=training:NoSchedule", "--overwrite")
    place.kubectl("cordon", NODE)


async def test_a_probe_is_measured_by_the_end_of_its_container(place: ControlPlane, client: Client) -> None:
    uid = rollout_uid(place)
    lend_gpus(place)
    good, bad = replace(PROBE, round=10), replace(PROBE, round=11)
    for probe in (good, bad):
        assert (await try_out(client, probe, uid=uid)).result is Result.DONE
    passed = await measured(client, good, uid)
    assert passed is not None
    assert passed.verdict is GateVerdict.PENDING
    ended = {"name": "probe", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    for probe, phase, code in ((good, "Succeeded", 0), (bad, "Failed", 1)):
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": "slow: 12"}}
        status = {"phase": phase, "containerStatuses": [{**ended, "state": state}]}
        pod = await asyncio.to_thread(pod_of, place, probe, uid)
        play(place, "pod", pod, status, "-n", NAMESPACE)
    assert await end_of(client, good, uid) == (GateVerdict.PASSED, "")
    assert await end_of(client, bad, uid) == (GateVerdict.FAILED, "exit code 1: slow: 12")


async def test_a_probe_that_is_evicted_or_never_placed_has_measured_nothing(
    place: ControlPlane, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = rollout_uid(place)
    lend_gpus(place)
    evicted = replace(PROBE, round=20)
    await try_out(client, evicted, uid=uid)
    pod = await asyncio.to_thread(pod_of, place, evicted, uid)
    running = {"name": "probe", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
    began = {"startedAt": "2026-01-02T03:04:05Z"}
    status = {"phase": "Running", "containerStatuses": [{**running, "state": {"running": began}}]}
    play(place, "pod", pod, status, "-n", NAMESPACE)
    await client.evict(NAMESPACE, pod)
    play(place, "pod", pod, {"phase": "Failed"}, "-n", NAMESPACE)  # as a kubelet ends a pod that is leaving
    assert await end_of(client, evicted, uid) == (GateVerdict.UNKNOWN, "its pod was moved away before it ended")

    monkeypatch.setattr(probes, "START_SECONDS", 1)
    nowhere = replace(PROBE, node="no-such-node", gate=replace(PROBE.gate, timeout_seconds=1.0))
    await try_out(client, nowhere, uid=uid)
    verdict, detail = await end_of(client, nowhere, uid)
    assert verdict is GateVerdict.UNKNOWN
    assert detail.startswith("it was not run to its end in time")


async def test_a_prepull_that_came_to_nothing_is_not_in_the_way_of_the_next_round(
    place: ControlPlane, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = rollout_uid(place)
    lend_gpus(place)
    monkeypatch.setattr(probes, "START_SECONDS", 1)
    gate = Gate(name=PREPULL, image="example.invalid/driver:1", command=("true",), gpus=0, timeout_seconds=1.0)
    first = replace(PROBE, gate=gate, round=0, attempt=3)
    await try_out(client, first, uid=uid)
    assert (await end_of(client, first, uid))[0] is GateVerdict.UNKNOWN

    again = replace(first, gate=replace(gate, timeout_seconds=60.0), round=1, attempt=1)
    assert (await try_out(client, again, uid=uid)).result is Result.DONE
    state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    ended = {"name": "probe", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    pod = await asyncio.to_thread(pod_of, place, again, uid)
    play(place, "pod", pod, {"phase": "Succeeded", "containerStatuses": [ended]}, "-n", NAMESPACE)
    assert await end_of(client, again, uid) == (GateVerdict.PASSED, "")
    assert (await end_of(client, first, uid))[0] is GateVerdict.UNKNOWN


# ── pools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_pool_without_openshift_fails_and_says_what_is_missing(client: Client) -> None:
    outcome = await try_out(client, POOL)
    assert outcome.result is Result.FAILED
    assert "check that the kind is installed" in outcome.detail


async def test_a_pool_is_made_once_and_removed_only_as_it_was_seen(place: ControlPlane, client: Client) -> None:
    with machine_pools.defined(place):
        assert await try_out(client, POOL) == Outcome(action=POOL, result=Result.DONE)
        assert (await try_out(client, POOL)).result is Result.STALE
        made = place.get("machineconfigpool", POOL.name)
        assert made["metadata"]["labels"] == {keys.ROLLOUT_LABEL: ROLLOUT}
        assert made["spec"]["nodeSelector"] == {"matchLabels": {keys.CANARY_LABEL: ROLLOUT}}
        (roles,) = made["spec"]["machineConfigSelector"]["matchExpressions"]
        assert roles["values"] == ["worker", POOL.name]

        remove = RemovePool(rollout=ROLLOUT, name=POOL.name, expect=made["metadata"]["resourceVersion"])
        place.kubectl("annotate", "machineconfigpool", POOL.name, "seen=later")
        assert (await try_out(client, remove)).result is Result.STALE
        now = place.get("machineconfigpool", POOL.name)["metadata"]["resourceVersion"]
        assert (await try_out(client, replace(remove, expect=now))).result is Result.DONE


async def test_a_pool_is_paused_with_our_name_on_it_and_not_over_anybodys_head(
    place: ControlPlane, client: Client
) -> None:
    with machine_pools.defined(place):
        place.apply([machine_pools.pool("worker")])
        seen = place.get("machineconfigpool", "worker")["metadata"]["resourceVersion"]
        pause = PausePool(rollout=ROLLOUT, name="worker", value=True, expect=seen)
        place.kubectl("annotate", "machineconfigpool", "worker", "seen=later")
        assert (await try_out(client, pause)).result is Result.STALE
        seen = place.get("machineconfigpool", "worker")["metadata"]["resourceVersion"]
        pause = replace(pause, expect=seen)
        assert await try_out(client, pause) == Outcome(action=pause, result=Result.DONE)
        paused = place.get("machineconfigpool", "worker")
        assert paused["spec"] == machine_pools.pool("worker")["spec"] | {"paused": True}
        assert paused["metadata"]["annotations"][keys.PAUSED_BY_ANNOTATION] == ROLLOUT

        resume = replace(pause, value=False, expect=paused["metadata"]["resourceVersion"])
        assert (await try_out(client, resume)).result is Result.DONE
        resumed = place.get("machineconfigpool", "worker")
        assert resumed["spec"]["paused"] is False
        assert resumed["metadata"]["annotations"].get("seen") == "later"
        assert keys.PAUSED_BY_ANNOTATION not in resumed["metadata"]["annotations"]
