"""What a real API server tells of a fleet becomes facts: slices, claims, events, maintenances, operands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.shapes import keys, records
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.seen.nodes import NodeFacts, RecordFault
from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.model.troubles import Symptom
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.neighbours import maintenance
from seatrial_lab.testbed.nodes import consumers
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster

LIMIT_SECONDS = 30.0
PREFIX = "seen"


@pytest.fixture(scope="module")
def fleet(plane: control_plane.ControlPlane) -> Iterator[Fleet]:
    controller_process.install(plane)
    maintenance.load_crd(plane)
    spec = FleetSpec(
        prefix=PREFIX,
        node_count=2,
        reload_seconds=0.2,
        has_feature_discovery=True,
        has_device_plugin=True,
        has_dra=True,
    )
    made = make_fleet(plane, spec)
    yield made
    made.remove()


@asynccontextmanager
async def observing(fleet: Fleet) -> AsyncIterator[KubeObserver]:
    config = configs.load_config(kubeconfig=str(fleet.plane.kubeconfig), environ={})
    async with (
        clients.Client(config, user_agent="test-observe") as client,
        KubeObserver(client, namespace=fleet.spec.namespace, on_fault=print) as observer,
    ):
        await observer.wait_synced(LIMIT_SECONDS)
        yield observer


async def until(observer: KubeObserver, node: str, is_so: Callable[[NodeFacts], bool]) -> NodeFacts:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not is_so(facts := observer.all_nodes()[node].facts):
            observer.observe()  # takes note of the change, so that the wait below waits for the next
            await observer.wait(None)
        return facts


async def test_a_node_whose_times_were_not_meant_is_seen_without_them(fleet: Fleet) -> None:
    record = {"schema": records.SCHEMA, "phase": "upgrade-failed", "attempt": 1}
    at_the_end = json.dumps({**record, "enteredAt": "9999-12-31T23:59:59-05:00"})
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "0000-01-01T00:00:00Z"}
    odd = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"{PREFIX}-odd",
            "labels": {keys.STATE_LABEL: "upgrade-failed"},
            "annotations": {keys.RECORD_ANNOTATION: at_the_end},
        },
        "status": {"conditions": [ready]},
    }
    fleet.plane.kubectl("create", "-f", "-", stdin=json.dumps(odd))
    try:
        async with observing(fleet) as observer:
            facts = await until(observer, f"{PREFIX}-odd", lambda facts: facts.is_ready)
            fault = observer.all_nodes()[f"{PREFIX}-odd"].fault
    finally:
        fleet.plane.kubectl("delete", "node", f"{PREFIX}-odd")
    assert (facts.ready_at, fault) == (None, RecordFault.UNREADABLE)


async def test_an_object_of_types_that_nothing_expects_is_named_and_all_others_of_its_kind_are_seen(
    fleet: Fleet,
) -> None:
    """A ControllerRevision may hold any JSON, so the API server takes this one."""
    odd = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": f"{PREFIX}-odd", "namespace": fleet.spec.namespace},
        "revision": 1,
        "data": {"spec": {"template": "none"}},
    }
    node = fleet.nodes[0]
    fleet.plane.kubectl("create", "-f", "-", stdin=json.dumps(odd))
    try:
        async with observing(fleet) as listed:
            facts = await until(listed, node, lambda facts: facts.wanted is not None)
            found = listed.streams.unreadable()
            fleet.plane.kubectl("delete", "controllerrevision", "-n", fleet.spec.namespace, f"{PREFIX}-odd")
            await until(listed, node, lambda _: not listed.streams.unreadable())
            fleet.plane.kubectl("create", "-f", "-", stdin=json.dumps(odd))
            await until(listed, node, lambda _: bool(listed.streams.unreadable()))
    finally:
        fleet.plane.kubectl("delete", "controllerrevision", "-n", fleet.spec.namespace, f"{PREFIX}-odd")
    assert facts.unreadable == ()
    assert [(each.full_name, "Expected `object`" in each.why) for each in found] == [
        (f"controllerrevisions {fleet.spec.namespace}/{PREFIX}-odd", True)
    ]


async def test_a_healthy_node_shows_its_driver_its_offer_and_its_dra_plugin(fleet: Fleet) -> None:
    node = fleet.nodes[0]
    async with observing(fleet) as observer:
        facts = await until(observer, node, lambda facts: bool(facts.published))
        assert all(stream.is_current for stream in observer.streams.decisive)
    assert facts.driver is not None
    assert facts.wanted is not None
    assert (facts.driver.is_ready, facts.driver.symptoms, facts.is_in_sync) == (True, (), True)
    assert facts.loaded is not None
    assert facts.loaded.version == fleet.spec.driver_version
    assert facts.published == ("570.124.6",)
    assert dict(facts.offer.resources)["nvidia.com/gpu"] == fleet.spec.gpus_per_node
    assert facts.offer.runtime_handlers == ("nvidia",)
    assert facts.dra is not None
    assert facts.dra.is_ready
    assert facts.dra.started_at is not None
    assert facts.driver.loaded_at is not None
    assert facts.dra.started_at >= facts.driver.loaded_at
    assert facts.pods == ()


async def test_a_claim_that_the_scheduler_allocated_holds_its_node(fleet: Fleet) -> None:
    node = fleet.nodes[0]
    async with observing(fleet) as observer:
        work = await asyncio.to_thread(consumers.add_claim_pod, fleet, node, name="train", is_template=True)
        watcher = await asyncio.to_thread(
            consumers.add_claim_pod, fleet, node, name="watcher", has_admin_access=True, is_bare=True
        )
        facts = await until(observer, node, lambda facts: [pod.holds_claim for pod in facts.pods] == [True, True])
        held = {pod.namespace: (pod.gpu, pod.keeper) for pod in facts.pods}
        assert held == {
            work.namespace: (GpuUse.CLAIM, PodOwner.CONTROLLER),
            watcher.namespace: (None, PodOwner.NOBODY),
        }
        assert {pod.namespace: len(pod.claimed) for pod in facts.pods} == {work.namespace: 1, watcher.namespace: 0}
        assert facts.claimable == fleet.spec.gpus_per_node
        for made in (work, watcher):
            await asyncio.to_thread(fleet.plane.kubectl, "delete", "namespace", made.namespace, "--wait=false")
        await until(observer, node, lambda facts: facts.pods == ())


async def test_a_maintenance_is_seen_from_the_question_to_the_answer(fleet: Fleet) -> None:
    node = fleet.nodes[1]
    name = f"nvidia-operator-{node}"
    asked = {
        "apiVersion": maintenance.API_VERSION,
        "kind": maintenance.KIND,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "requestorID": "seatrial.dev"},
    }
    async with observing(fleet) as observer:
        observer.streams.open((table.MAINTENANCES,))
        await asyncio.to_thread(fleet.plane.apply, [asked])
        facts = await until(observer, node, lambda facts: facts.maintenance is not None)
        assert facts.maintenance is not None
        assert (facts.maintenance.requestor, facts.maintenance.is_ready) == ("seatrial.dev", False)
        await asyncio.to_thread(maintenance.finish, fleet.plane, name)
        await until(observer, node, lambda facts: facts.maintenance is not None and facts.maintenance.is_ready)
        await asyncio.to_thread(fleet.plane.kubectl, "delete", maintenance.RESOURCE, name, "-n", "default")
        await until(observer, node, lambda facts: facts.maintenance is None)


async def test_what_goes_wrong_with_a_driver_pod_is_seen_in_its_states_and_events(fleet: Fleet) -> None:
    node = fleet.nodes[1]
    async with observing(fleet) as observer:
        before = observer.all_nodes()[node].facts.driver
        assert before is not None
        await asyncio.to_thread(fleet.break_driver, node, "image-pull")
        await asyncio.to_thread(fleet.delete_driver_pod, node)
        facts = await until(
            observer,
            node,
            lambda facts: facts.driver is not None and facts.driver.uid != before.uid and bool(facts.driver.symptoms),
        )
        assert facts.driver is not None
        assert {symptom.source for symptom in facts.driver.symptoms} == {"container"}
        pod = (await asyncio.to_thread(fleet.driver_pods))[node]
        await asyncio.to_thread(fleet.add_pod_event, pod, reason="FailedMount", message="no volume")
        said = Symptom(source="event", reason="FailedMount", message="no volume")
        await until(observer, node, lambda facts: facts.driver is not None and said in facts.driver.symptoms)
        await asyncio.to_thread(fleet.mend, node)
        await until(observer, node, lambda facts: facts.driver is not None and facts.driver.symptoms == ())
