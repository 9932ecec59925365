"""Workloads of Kueue are switched on again once the visit they made room for is over, also after a crash."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from seatrial.adapters.kube.api.client import Client
from seatrial.controller.log import Log
from seatrial.controller.resumer import Resumer
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.workloads import Suspended
from tests.adapters.kube import standin
from tests.adapters.kube.test_workloads import OFF, OURS, a_workload
from tests.builders import a_node


@dataclass(kw_only=True)
class Sight:
    """What is seen."""

    nodes: dict[str, NodeSeen] = field(default_factory=dict)
    off: tuple[Suspended, ...] = (OFF,)

    def all_nodes(self) -> Mapping[str, NodeSeen]:
        return self.nodes

    def suspended(self) -> tuple[Suspended, ...]:
        return self.off


def at(phase: NodePhase) -> Sight:
    return Sight(nodes={"n1": a_node("n1", phase)})


async def looked(sight: Sight, *answers: standin.Reply, is_leader: bool = True) -> tuple[list[object], str]:
    """What is written by one look, and what the log says."""
    log = io.StringIO()
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(*answers)
        await Resumer(client, sight, Log(log), is_leader=lambda: is_leader, tell=print).look()
        return [json.loads(each.body)["spec"] for each in server.seen if each.verb == "PATCH"], log.getvalue()


ON = (standin.gives(a_workload(active=False, notes=OURS)), standin.gives(a_workload()))


async def test_a_workload_stays_off_while_its_node_is_visited() -> None:
    assert await looked(at(NodePhase.VALIDATION_REQUIRED)) == ([], "")


async def test_a_workload_is_active_again_when_its_node_is_done_has_failed_or_is_gone() -> None:
    for sight in (at(NodePhase.UPGRADE_DONE), at(NodePhase.UPGRADE_FAILED), Sight()):
        written, log = await looked(sight, *ON)
        assert written == [{"active": True}]
        assert "a Workload is active again workload=ml/job-train node=n1" in log


async def test_nothing_is_written_while_we_do_not_lead() -> None:
    assert await looked(at(NodePhase.UPGRADE_DONE), is_leader=False) == ([], "")


async def test_one_that_is_refused_is_told_and_keeps_no_other_off() -> None:
    other = Suspended(namespace="ml", name="job-other", node="n2", token=OFF.token)
    refused = standin.refuses(403, "Forbidden", "workloads is forbidden")
    written, log = await looked(Sight(off=(other, OFF)), refused, *ON)
    assert written == [{"active": True}]
    assert "a Workload was not made active again workload=ml/job-other" in log
