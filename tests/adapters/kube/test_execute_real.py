"""Acts whose meaning lies in what a real API server refuses: another pod of a name, a maintenance that moved on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    PauseClients,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    WriteNodeRecord,
)
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import JobWait, Policy
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.selectors import Selector
from seatrial.ports import ClusterAct, Outcome, Result
from seatrial_lab.testbed.neighbours import maintenance
from seatrial_lab.testbed.plane.control_plane import ControlPlane

pytestmark = pytest.mark.cluster

NAMESPACE = "kube-execute"
NODE = "kube-execute-1"
OURS, THEIRS, THIRD = "seatrial.dev", "nvidia.network.operator", "third.example"
RECORD = NodeRecord(
    phase=NodePhase.POD_DELETION_REQUIRED,
    attempt=1,
    entered_at=1000.0,
    before=GpuOffer(resources=(("nvidia.com/gpu", 8),)),
    paused=(("nvidia.com/gpu.deploy.client", "true"),),
)
REQUEST = RequestMaintenance(
    node=NODE,
    attempt=1,
    namespace=NAMESPACE,
    name=f"nvidia-operator-{NODE}",
    requestor=OURS,
    policy=Policy(jobs=JobWait(selector=Selector.parse("kind in (job, batch)"), timeout_seconds=5.0)),
)


class Reader:
    """Needs to know nothing."""

    def wrote_node(self, node: kinds.Node) -> None: ...

    def wrote_rollout(self, rollout: models.Rollout) -> None: ...

    def stored_rollout(self, name: str) -> models.Rollout | None:  # noqa: ARG002  the port has it
        return None

    def stored_record(self, node: str) -> str:  # noqa: ARG002  the port has it
        return ""

    def is_operator_present(self) -> bool:
        return True

    def is_network_operator_present(self) -> bool:
        return True


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with the definition, a namespace and a node of our own."""
    maintenance.load_crd(plane)
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=30s")
    yield plane
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture
async def client(place: ControlPlane) -> AsyncIterator[Client]:
    config = configs.load_config(kubeconfig=str(place.kubeconfig), environ={})
    async with Client(config, user_agent="test-execute") as opened:
        yield opened


async def try_out(client: Client, action: ClusterAct) -> Outcome:
    """Do one act."""
    return await KubeCluster(client, Reader(), is_leader=lambda: True).do(action)


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def node_version(place: ControlPlane) -> str:
    return str(place.get("node", NODE)["metadata"]["resourceVersion"])


async def test_a_node_gets_record_labels_and_answers_in_one_write(place: ControlPlane, client: Client) -> None:
    annotations = {keys.REQUESTED_ANNOTATION: "true", keys.SAFE_LOAD_ANNOTATION: "true", "kept": "yes"}
    labels = {"nvidia.com/gpu.deploy.client": "true"}
    metadata = {"name": NODE, "annotations": annotations, "labels": labels}
    place.apply([{"apiVersion": "v1", "kind": "Node", "metadata": metadata}])
    action = PauseClients(
        node=NODE,
        record=RECORD,
        expect=node_version(place),
        labels=(("nvidia.com/gpu.deploy.client", "paused-for-driver-upgrade"),),
        answers=(Request.UPGRADE, Request.SAFE_LOAD, Request.ACCEPT_LOSS),
    )
    outcome = await try_out(client, action)
    for _ in range(20):  # the cluster's own controllers write on a new node, too
        if outcome.result is not Result.STALE:
            break
        action = replace(action, expect=node_version(place))
        outcome = await try_out(client, action)
    assert outcome == Outcome(action=action, result=Result.DONE)
    written = place.get("node", NODE)["metadata"]
    assert written["labels"]["nvidia.com/gpu.deploy.client"] == "paused-for-driver-upgrade"
    assert written["labels"][keys.STATE_LABEL] == "pod-deletion-required"
    assert set(written["annotations"]) & {*annotations, keys.RECORD_ANNOTATION} == {"kept", keys.RECORD_ANNOTATION}

    outdated = WriteNodeRecord(node=NODE, record=RECORD, expect=action.expect)
    assert (await try_out(client, outdated)).result is Result.STALE
    place.kubectl("delete", "node", NODE)


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────


def a_pod(place: ControlPlane, name: str) -> Pod:
    container = {"name": "main", "image": "example.invalid/image"}
    place.apply(
        [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"containers": [container]},
            }
        ]
    )
    return Pod(namespace=NAMESPACE, name=name, uid=place.get("pod", name, "-n", NAMESPACE)["metadata"]["uid"])


def noted(place: ControlPlane, pod: Pod) -> dict[str, str]:
    found: dict[str, str] = place.get("pod", pod.name, "-n", NAMESPACE)["metadata"].get("annotations", {})
    return found


@pytest.mark.parametrize(
    ("webhook", "key"),
    [("", keys.CHECKPOINT_REQUESTED_ANNOTATION), ("http://saver.invalid", keys.CHECKPOINT_SAVED_ANNOTATION)],
)
async def test_a_token_is_written_on_the_pod_that_was_meant_and_on_no_other_of_its_name(
    place: ControlPlane, client: Client, webhook: str, key: str
) -> None:
    pod = a_pod(place, "train-0")
    action = AskCheckpoint(node=NODE, attempt=1, pods=(pod,), token="spring.n1.1", webhook=webhook)
    assert await try_out(client, action) == Outcome(action=action, result=Result.DONE)
    assert noted(place, pod) == {key: "spring.n1.1"}

    other = replace(pod, uid="another")
    later = replace(action, pods=(other,), token="spring.n1.2")
    assert await try_out(client, later) == Outcome(action=later, result=Result.DONE)
    assert noted(place, pod) == {key: "spring.n1.1"}
    place.kubectl("delete", "pod", pod.name, "-n", NAMESPACE, "--grace-period=0", "--force")
    assert await try_out(client, later) == Outcome(action=later, result=Result.DONE)


# ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────────


def look(place: ControlPlane) -> dict[str, Any]:
    return place.get(maintenance.RESOURCE, REQUEST.name, "-n", NAMESPACE)


def version_of(place: ControlPlane) -> str:
    return str(look(place)["metadata"]["resourceVersion"])


@pytest.fixture
def theirs(place: ControlPlane) -> Iterator[ControlPlane]:
    """A maintenance of the node that somebody else asked for."""
    wanted = {
        "apiVersion": maintenance.API_VERSION,
        "kind": maintenance.KIND,
        "metadata": {"name": REQUEST.name, "namespace": NAMESPACE},
        "spec": {"nodeName": NODE, "requestorID": THEIRS},
    }
    place.apply([wanted])
    yield place
    place.kubectl("delete", maintenance.RESOURCE, "--all", "-n", NAMESPACE)


async def test_our_own_maintenance_is_made_once_and_deleted_only_if_it_is_the_one(
    place: ControlPlane, client: Client
) -> None:
    assert await try_out(client, REQUEST) == Outcome(action=REQUEST, result=Result.DONE)
    made = look(place)
    assert made["spec"]["requestorID"] == OURS
    assert made["spec"]["waitForPodCompletion"] == {"podSelector": "kind in (batch,job)", "timeoutSeconds": 5}
    assert len(made["spec"]["drainSpec"]["podEvictionFilters"]) == 2
    assert (await try_out(client, REQUEST)).result is Result.STALE

    release = ReleaseMaintenance(
        node=NODE,
        attempt=1,
        namespace=NAMESPACE,
        name=REQUEST.name,
        requestor=OURS,
        uid=made["metadata"]["uid"],
        resource_version=made["metadata"]["resourceVersion"],
        is_ours=True,
    )
    assert (await try_out(client, replace(release, uid="another"))).result is Result.STALE
    assert await try_out(client, release) == Outcome(action=release, result=Result.DONE)
    assert (await try_out(client, release)).result is Result.STALE


async def test_a_maintenance_in_a_namespace_that_is_not_there_fails_with_its_name(client: Client) -> None:
    outcome = await try_out(client, replace(REQUEST, namespace="no-such-namespace"))
    assert outcome.result is Result.FAILED
    assert "no-such-namespace" in outcome.detail


async def test_we_join_a_maintenance_as_the_first_or_after_others_and_leave_it_to_them(
    theirs: ControlPlane, client: Client
) -> None:
    assert "additionalRequestors" not in look(theirs)["spec"]
    third = replace(REQUEST, requestor=THIRD, joins=version_of(theirs))
    assert await try_out(client, third) == Outcome(action=third, result=Result.DONE)
    assert look(theirs)["spec"]["additionalRequestors"] == [THIRD]

    ours = replace(REQUEST, joins=version_of(theirs))
    assert await try_out(client, ours) == Outcome(action=ours, result=Result.DONE)
    assert look(theirs)["spec"]["additionalRequestors"] == [THIRD, OURS]
    assert (await try_out(client, ours)).result is Result.STALE  # the version we looked at is an old one by now

    leave = ReleaseMaintenance(
        node=NODE,
        attempt=1,
        namespace=NAMESPACE,
        name=REQUEST.name,
        requestor=OURS,
        uid="",
        resource_version=version_of(theirs),
        is_ours=False,
        stay=(THIRD,),
    )
    assert await try_out(client, leave) == Outcome(action=leave, result=Result.DONE)
    assert look(theirs)["spec"]["additionalRequestors"] == [THIRD]
    assert (await try_out(client, leave)).result is Result.STALE


async def test_nobody_is_thrown_out_by_a_join_the_server_refuses(theirs: ControlPlane, client: Client) -> None:
    third = replace(REQUEST, requestor=THIRD, joins=version_of(theirs))
    await try_out(client, third)
    again = replace(third, joins=version_of(theirs))  # twice in a set, which the definition forbids
    assert (await try_out(client, again)).result is Result.FAILED
    assert look(theirs)["spec"]["additionalRequestors"] == [THIRD]
