"""Events: counted instead of repeated, bounded, and never in the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from seatrial import supervision
from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.writing import events
from seatrial_lab.testbed.plane import control_plane
from tests.adapters.kube import standin

NODE = events.Subject(api_version="v1", kind="Node", name="gpu-1", uid="u")
POD = events.Subject(api_version="v1", kind="Pod", name="p", namespace="n", uid="v")


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def a_recorder(client: clients.Client, clock: Clock | None = None, **more: Any) -> events.EventRecorder:
    clock = clock or Clock()
    return events.EventRecorder(client, component="seatrial", instance="me", monotonic=clock, wall_clock=clock, **more)


made = standin.gives({"metadata": {"name": "gpu-1.abc"}})


async def test_an_event_that_ends_the_sending_is_told_and_the_next_one_is_sent(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(made)
    told: list[supervision.Ending] = []
    clock = Clock(now=float("inf"))  # no such time can be written
    async with a_recorder(to_server, clock, tell=told.append) as recorder:
        recorder.record(POD, reason="Held", message="waits")
        await until(lambda: bool(told))
        clock.now = Clock.now
        recorder.record(POD, reason="Held", message="waits again")
        assert await recorder.drain(5)

    assert [each.task for each in told] == ["events"]
    assert [json.loads(seen.body)["message"] for seen in server.seen] == ["waits again"]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_an_event_says_everything_kubectl_shows(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(made)
    async with a_recorder(to_server) as recorder:
        recorder.record(POD, reason="Held", message="waits", type=events.EventType.WARNING)
        assert await recorder.drain(5)

    (seen,) = server.seen
    assert (seen.verb, seen.path) == ("POST", "/api/v1/namespaces/n/events")
    assert json.loads(seen.body) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "p.", "namespace": "n"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "n", "uid": "v"},
        "reason": "Held",
        "message": "waits",
        "type": "Warning",
        "count": 1,
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:00Z",
        "source": {"component": "seatrial"},
        "reportingComponent": "seatrial",
        "reportingInstance": "me",
    }


async def test_the_same_words_within_ten_minutes_are_counted(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    clock = Clock()
    server.will(made)
    async with a_recorder(to_server, clock) as recorder:
        recorder.record(NODE, reason="Held", message="waits")
        recorder.record(NODE, reason="Held", message="waits")  # both before the first is sent
        await recorder.drain(5)
        clock.now += 599
        recorder.record(NODE, reason="Held", message="waits")
        await recorder.drain(5)
        clock.now += 600
        recorder.record(NODE, reason="Held", message="waits")
        await recorder.drain(5)

    assert [(seen.verb, seen.path) for seen in server.seen] == [
        ("POST", "/api/v1/namespaces/default/events"),
        ("PATCH", "/api/v1/namespaces/default/events/gpu-1.abc"),
        ("POST", "/api/v1/namespaces/default/events"),
    ]
    assert [json.loads(seen.body)["count"] for seen in server.seen] == [2, 3, 1]
    assert json.loads(server.seen[1].body) == {"count": 3, "lastTimestamp": "2027-01-15T08:09:59Z"}


async def test_other_words_are_another_event(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(made)
    async with a_recorder(to_server) as recorder:
        recorder.record(NODE, reason="Held", message="waits")
        recorder.record(NODE, reason="Held", message="waits longer")
        recorder.record(NODE, reason="Held", message="waits", type=events.EventType.WARNING)
        await recorder.drain(5)

    assert [seen.verb for seen in server.seen] == ["POST"] * 3


async def test_an_event_the_server_has_forgotten_is_made_again(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(made, standin.refuses(404, "NotFound", name="gpu-1.abc"), made)
    async with a_recorder(to_server) as recorder:
        for _ in range(2):
            recorder.record(NODE, reason="Held", message="waits")
            await recorder.drain(5)

    assert [seen.verb for seen in server.seen] == ["POST", "PATCH", "POST"]


async def test_what_cannot_be_sent_is_counted_and_told_and_nothing_else_suffers(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    told: list[str] = []
    server.will(standin.refuses(403, "Forbidden"), made)
    async with a_recorder(to_server, on_failure=told.append) as recorder:
        recorder.record(NODE, reason="Held", message="waits")
        recorder.record(POD, reason="Held", message="waits")
        await recorder.drain(5)

    assert recorder.failure_count == 1
    assert told[0].startswith(
        "event Held on Node gpu-1 was not sent: POST /api/v1/namespaces/default/events was refused"
    )


async def test_a_full_queue_drops_the_newest(server: standin.StandIn, to_server: clients.Client) -> None:
    told: list[str] = []
    server.will(made)
    async with a_recorder(to_server, on_failure=told.append, pending_max=1) as recorder:
        recorder.record(NODE, reason="First", message="waits")
        recorder.record(NODE, reason="Second", message="waits")
        await recorder.drain(5)

    assert told == ["event Second on Node gpu-1 was dropped: 1 wait already"]
    assert len(server.seen) == 1


async def test_the_memory_of_what_was_sent_is_bounded(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(made)
    async with a_recorder(to_server, remembered_max=1) as recorder:
        for reason in ("First", "Second", "First"):
            recorder.record(NODE, reason=reason, message="waits")
            await recorder.drain(5)

    assert [seen.verb for seen in server.seen] == ["POST"] * 3


async def test_draining_has_a_limit(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(standin.waits(server))
    async with a_recorder(to_server) as recorder:
        recorder.record(NODE, reason="Held", message="waits")
        assert not await recorder.drain(0.05)


async def test_a_long_message_is_cut(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(made)
    async with a_recorder(to_server) as recorder:
        recorder.record(NODE, reason="Held", message="w" * 5000)
        await recorder.drain(5)

    assert len(json.loads(server.seen[0].body)["message"]) == 1024


@pytest.mark.cluster
async def test_a_real_server_counts_the_same_event_beside_the_node(plane: control_plane.ControlPlane) -> None:
    name = "kube-events-1"
    plane.apply([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}])
    uid = plane.get("node", name)["metadata"]["uid"]
    subject = events.Subject(api_version="v1", kind="Node", name=name, uid=uid)
    config = configs.load_config(kubeconfig=str(plane.kubeconfig), environ={})
    async with (
        clients.Client(config, user_agent="test-events") as client,
        events.EventRecorder(client, component="seatrial", instance="me") as recorder,
    ):
        for _ in range(3):
            recorder.record(subject, reason="Held", message="waits for the canary")
            await recorder.drain(10)

    assert recorder.failure_count == 0
    found = plane.get("events", "-n", "default", f"--field-selector=involvedObject.name={name},reason=Held")["items"]
    assert [(event["message"], event["count"]) for event in found] == [("waits for the canary", 3)]
    assert "waits for the canary" in plane.kubectl("describe", "node", name)
    plane.kubectl("delete", "node", name)
