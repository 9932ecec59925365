"""The pacer from within the controller: it writes only while we lead, and takes away what a leader before us left."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import kinds
from seatrial.controller.log import Log
from seatrial.controller.pacer import Pacer
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.movers.pace.ways import WAKE_LABEL, WAKE_VALUE
from seatrial.ports import Sight
from seatrial.run.loop import Report
from tests import builders
from tests.adapters.kube import standin

ON = OperatorFacts(kind=builders.POLICY, is_auto_upgrading=True)


class Still:
    """A fleet in which a driver waits for nothing but a look, and another node is done."""

    def __init__(self) -> None:
        ready = builders.a_node("n1", nvidia_state="pod-restart-required", driver=builders.a_new_driver())
        rest = builders.a_node("n2", nvidia_state="upgrade-done", driver=builders.a_new_driver("n2"))
        self._nodes = {"n1": ready, "n2": rest}

    def all_nodes(self) -> Mapping[str, NodeSeen]:
        return self._nodes

    def operator(self) -> OperatorFacts:
        return ON

    def wrote_node(self, node: kinds.Node) -> None:
        pass


def a_report(phase: RolloutPhase) -> Report:
    record = builders.a_campaign_record(phase, mode=Mode.DELEGATED)
    seen = builders.a_snapshot(campaign=record)
    return Report(at=builders.NOW, sight=Sight(seen=seen, intent=builders.an_intent()), decision=None)


def a_list(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": "9"}, "items": list(nodes)}


@pytest.mark.parametrize("is_leader", [True, False])
async def test_the_pacer_asks_whether_we_lead_before_each_write(is_leader: bool) -> None:
    asked = asyncio.Event()

    def leads() -> bool:
        asked.set()
        return is_leader

    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(standin.gives(a_list() | standin.an_object("n2", "8")))
        async with Pacer(client, Still(), Log(io.StringIO()), is_leader=leads, tell=print) as pacer:
            pacer.take(a_report(RolloutPhase.WAVING))
            async with asyncio.timeout(20):
                await asked.wait()
            if is_leader:
                await server.until(1)
    writes = [seen for seen in server.seen if seen.verb == "PATCH"]
    assert bool(writes) is is_leader
    assert bool(server.seen) is is_leader


async def test_what_a_leader_before_us_left_is_taken_away_once_we_lead() -> None:
    left = {"metadata": {"name": "n7", "uid": "u", "resourceVersion": "3", "labels": {WAKE_LABEL: WAKE_VALUE}}}
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(standin.gives(a_list(left)), standin.gives(left), standin.gives(a_list()))
        async with Pacer(client, Still(), Log(io.StringIO()), is_leader=lambda: True, tell=print) as pacer:
            pacer.take(a_report(RolloutPhase.DONE))
            await server.until(3)
    # At the end it looks once more, unless it knows already that nothing was left.
    assert [(seen.verb, seen.path) for seen in server.seen][:3] == [
        ("GET", "/api/v1/nodes"),
        ("PATCH", "/api/v1/nodes/n7"),
        ("GET", "/api/v1/nodes"),
    ]


@pytest.mark.parametrize(("is_leader", "count"), [(True, 1), (False, 0)])
async def test_at_the_end_it_looks_for_what_may_be_left_and_only_who_leads_does(is_leader: bool, count: int) -> None:
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(standin.gives(a_list()))
        async with Pacer(client, Still(), Log(io.StringIO()), is_leader=lambda: is_leader, tell=print):
            pass
    assert [seen.verb for seen in server.seen] == ["GET"] * count


async def test_who_has_swept_and_written_nothing_since_does_not_look_again_at_the_end() -> None:
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(standin.gives(a_list()))
        async with Pacer(client, Still(), Log(io.StringIO()), is_leader=lambda: True, tell=print) as pacer:
            pacer.take(a_report(RolloutPhase.DONE))
            await server.until(1)
            pacer.take(a_report(RolloutPhase.DONE))
            for _ in range(50):  # the answer has come, and is taken
                await asyncio.sleep(0.002)
    assert len(server.seen) == 1
