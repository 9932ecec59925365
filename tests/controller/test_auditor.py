"""The controller's own audit: read now and then while it leads, published, and never in the way of anything else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seatrial.adapters.files.facts.knowledge import load_knowledge
from seatrial.adapters.kube.api.client import Client
from seatrial.controller.auditor import Auditor, Take
from seatrial.core.survey.audit.findings import FindingKind
from seatrial.supervision import Ending
from tests import audited
from tests.adapters.kube import standin
from tests.controller.test_metrics import Watched


def an_auditor(client: Client, take: Take, **settings: Any) -> Auditor:
    defaults: dict[str, Any] = {"every_seconds": 0.01, "is_leader": lambda: True, "tell": print}
    return Auditor(client, namespace="gpu-operator", facts=load_knowledge(), take=take, **(defaults | settings))


async def test_what_is_found_and_what_runs_is_published() -> None:
    watched = Watched()
    assert not watched.about("seatrial_audit_timestamp_seconds"), "what is not known is not published"
    cluster = audited.recorded("helm")
    audited.one(cluster, "nodes", "gpu-2")["spec"]["unschedulable"] = True
    async with standin.running() as server:
        server.will(audited.serves(cluster))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            await an_auditor(client, watched.metrics.take_audit).look()
    samples = watched.samples()
    assert samples['seatrial_audit_findings{kind="foreign-cordon"}'] == 1
    assert samples['seatrial_audit_finding_nodes{kind="foreign-cordon"}'] == 1
    assert {f'seatrial_audit_findings{{kind="{kind.value}"}}' for kind in FindingKind} <= samples.keys()
    assert samples['seatrial_audit_version_nodes{component="gpu_driver",version="580.105.08"}'] == 3
    assert samples["seatrial_audit_timestamp_seconds"] > 0


async def test_a_right_that_is_missing_is_a_finding_and_no_fault() -> None:
    watched = Watched()
    async with standin.running() as server:
        server.will(audited.serves(audited.recorded("helm"), forbidden={"daemonsets.apps", "pods", "nodes"}))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            await an_auditor(client, watched.metrics.take_audit).look()
    assert watched.samples()['seatrial_audit_findings{kind="not-observable"}'] > 0


@pytest.mark.parametrize("is_leader", [True, False])
async def test_it_looks_again_and_again_while_it_leads_and_never_otherwise(is_leader: bool) -> None:
    taken: list[float] = []
    twice, asked = asyncio.Event(), asyncio.Event()

    def take(_: object, at: float) -> None:
        taken.append(at)
        if len(taken) == 2:
            twice.set()

    def leads() -> bool:
        asked.set()
        return is_leader

    async with standin.running() as server:
        server.will(audited.serves(audited.recorded("helm")))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            async with an_auditor(client, take, is_leader=leads), asyncio.timeout(30):
                await (twice if is_leader else asked).wait()
            assert bool(taken) is is_leader
            assert bool(server.seen) is is_leader


async def test_a_cluster_that_does_not_answer_ends_a_look_which_is_told_and_tried_again() -> None:
    told: list[Ending] = []
    ended = asyncio.Event()

    def tell(ending: Ending) -> None:
        told.append(ending)
        ended.set()

    async with standin.running() as server:
        config = server.config()
    async with (
        Client(config, user_agent="seatrial/test", request_timeout_seconds=1.0) as client,
        an_auditor(client, lambda *_: None, tell=tell),
        asyncio.timeout(30),
    ):
        await ended.wait()
    assert told[0].task == "audit"
