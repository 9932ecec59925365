"""The whole controller beside a stand-in of an API server: how its parts were introduced to each other.

What it does to a real cluster is told by tests/e2e; here nothing is asked that takes one.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import threading
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.kube.shapes import keys
from seatrial.controller.keeper import GitSettings
from seatrial.controller.log import Log
from seatrial.controller.main import LEASE, LeaseHeld, LeaseLost, Settings, control
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.run.loop import Report
from seatrial.sim.monitoring import Monitoring
from tests.adapters.kube import objects, standin
from tests.adapters.kube.versioned import Objects

HOME = "seatrial"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"
EVENTS = "/api/v1/namespaces/default/events"
REVISIONS = keys.revisions_path(objects.NAMESPACE)
ROLLOUT = f"{keys.ROLLOUTS}/spring"
SECONDS_MAX = 20.0


@dataclass(kw_only=True)
class Stage:
    """A small fleet on a stand-in, and whoever is started beside it."""

    server: standin.StandIn
    cluster: Objects
    folder: Path
    out: io.StringIO = field(default_factory=io.StringIO)

    def settings(self, **more: Any) -> Settings:
        known: dict[str, Any] = {
            "config": self.server.config(),
            "user_agent": "seatrial/test",
            "namespace": objects.NAMESPACE,
            "rollout": "",
            "lease_namespace": HOME,
            "lease_seconds": 15,
            "journal": None,
            "once": True,
            "git": GitSettings(folder=self.folder / "git"),
            "pages": "",
        }
        return Settings(**{**known, **more})

    async def run(self, **more: Any) -> Report | None:
        async with asyncio.timeout(SECONDS_MAX):
            return await control(self.settings(**more), Log(self.out))

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS_MAX):
            while not is_so():
                await asyncio.sleep(0.02)

    @property
    def lease(self) -> dict[str, Any]:
        return self.cluster.get(f"{LEASES}/{LEASE}") if self.cluster.has(f"{LEASES}/{LEASE}") else {"spec": {}}

    @property
    def holder(self) -> str:
        return str(self.lease["spec"].get("holderIdentity", ""))

    def asked_for_the_lease(self) -> list[str]:
        return [seen.verb for seen in self.server.seen if "/leases" in seen.path]

    def told(self) -> set[str]:
        """What people were told, as events: about what, and why."""
        found = self.cluster.under(EVENTS)
        return {f"{each['involvedObject']['kind']}/{each['involvedObject']['name']} {each['reason']}" for each in found}

    def writes(self, path: str = "") -> list[str]:
        """What was written, beside the lease and what people are told."""
        found = [f"{seen.verb} {seen.path}" for seen in self.server.seen if seen.verb != "GET" and path in seen.path]
        return [each for each in found if "/leases" not in each and "/events" not in each]


@pytest.fixture
def stage(server: standin.StandIn, tmp_path: Path) -> Stage:
    there = Objects(
        *(LEASES, EVENTS, keys.ROLLOUTS, keys.ACCESS_REVIEWS, keys.events_path(objects.NAMESPACE)),
        *(keys.jobs_path(HOME), keys.pods_path(HOME), keys.events_path(HOME)),
        keys.daemon_sets_path(objects.NAMESPACE),
    )
    for name in ("n1", "n2"):
        there.put(f"{keys.NODES}/{name}", objects.a_node(name))
        for pod in (objects.a_driver_pod(name), objects.a_validator_pod(name)):
            there.put(f"/api/v1/namespaces/{objects.NAMESPACE}/pods/{pod['metadata']['name']}", pod)
    for number, (name, driver) in enumerate((("old", objects.OLD), ("new", objects.NEW)), 1):
        there.put(f"{REVISIONS}/{name}", objects.a_revision(name, number=number, driver=driver))
    there.put(ROLLOUT, objects.a_rollout())
    server.will(there.answer)
    return Stage(server=server, cluster=there, folder=tmp_path)


@pytest.fixture
def server() -> Iterator[standin.StandIn]:
    """In a thread of its own: who gives up the lease waits for the answer, and nothing else turns meanwhile."""
    begun: Future[tuple[standin.StandIn, Callable[[], object]]] = Future()

    async def serve() -> None:
        async with standin.running() as started:
            over, loop = asyncio.Event(), asyncio.get_running_loop()
            begun.set_result((started, lambda: loop.call_soon_threadsafe(over.set)))
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    started, end = begun.result(SECONDS_MAX)
    yield started
    end()
    thread.join(SECONDS_MAX)


@asynccontextmanager
async def running(stage: Stage, **more: Any) -> AsyncIterator[asyncio.Task[Report | None]]:
    """A controller that goes on and on, until it is told to stop."""
    task = asyncio.create_task(stage.run(**{"once": False, "pages": "127.0.0.1:0", **more}))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def a_lease(holder: str, **annotations: str) -> dict[str, Any]:
    """The lease of somebody who renewed it a moment ago."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000000Z"}
    return {"metadata": {"annotations": annotations}, "spec": spec}


def is_cordoned(stage: Stage) -> bool:
    return any(node["spec"].get("unschedulable") for node in stage.cluster.under(keys.NODES))


# ── one pass ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_one_pass_leads_for_as_long_as_its_acts_take_and_leaves_the_lease_to_the_next(stage: Stage) -> None:
    report = await stage.run(journal=stage.folder / "journal", suite_image="example.com/probes:1", pages="taken:1")
    assert report is not None
    assert stage.writes() == [f"PATCH {ROLLOUT}"], "the first thing is our finalizer, and one pass does one thing"
    assert stage.cluster.get(ROLLOUT)["metadata"]["finalizers"] == [keys.FINALIZER]
    assert stage.asked_for_the_lease() == ["GET", "POST", "PUT"]
    assert stage.server.seen[-1].path.endswith(f"/leases/{LEASE}"), "given up after everything else"
    assert stage.holder == ""
    assert stage.lease["metadata"]["annotations"] == {keys.SUITE_ANNOTATION: "example.com/probes:1"}
    assert "held subject=n1 code=unguarded" in stage.out.getvalue(), "people are told what it came to"
    kinds = [json.loads(line)["kind"] for line in (stage.folder / "journal").read_text().splitlines()]
    assert kinds[:2] == ["head", "pass"]
    assert "outcome" in "".join(kinds)


async def test_without_a_rollout_one_pass_writes_nothing(stage: Stage) -> None:
    stage.cluster.remove(ROLLOUT)
    report = await stage.run(rollout="spring")
    assert report is not None
    assert (report.sight, stage.writes()) == (None, [])


async def test_who_watches_a_prometheus_has_it_looked_at_beside_the_passes(stage: Stage) -> None:
    stage.cluster.put(ROLLOUT, objects.a_rollout(canary={}))
    report = await stage.run(watcher=Monitoring())
    assert report is not None
    assert report.sight is not None
    assert report.sight.seen.telemetry == TelemetryFacts()


async def test_who_finds_another_in_the_lead_writes_nothing_and_says_who_it_is(stage: Stage) -> None:
    stage.cluster.put(f"{LEASES}/{LEASE}", a_lease("somebody-else"))
    with pytest.raises(LeaseHeld, match="somebody-else"):
        await stage.run(once=False, patience_seconds=0.5)
    assert stage.writes() == []
    assert stage.holder == "somebody-else"
    assert "standing by holder=somebody-else" in stage.out.getvalue()


async def test_what_a_campaign_will_need_is_asked_before_it_begins_and_what_it_may_not_is_told(stage: Stage) -> None:
    """Of the stand-in nobody may anything: it does not say that somebody may."""
    stage.cluster.put(ROLLOUT, objects.a_rollout(canary={}))
    async with running(stage, gates_namespace=HOME):
        await stage.until(lambda: "may not" in json.dumps(stage.cluster.get(ROLLOUT).get("status", {})))
        asked = [review["spec"]["resourceAttributes"] for review in stage.cluster.under(keys.ACCESS_REVIEWS)]
        assert {"nodes"} <= {each["resource"] for each in asked if each["verb"] == "patch"}, asked
        assert not is_cordoned(stage)


async def test_what_the_command_line_says_of_gates_and_reports_is_part_of_what_is_wished_for(stage: Stage) -> None:
    stage.cluster.put(ROLLOUT, objects.a_rollout(canary={}))
    report = await stage.run(suite_image="example.com/probes:1", report_url="https://reports.example/{rollout}")
    assert report is not None
    assert report.sight is not None, stage.out.getvalue()
    wished = repr(report.sight.intent.campaign)
    assert "example.com/probes:1" in wished
    assert "https://reports.example/spring" in wished


# ── pass after pass ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_it_works_until_it_is_told_to_stop_and_is_seen_to_be_well_meanwhile(stage: Stage) -> None:
    async with running(stage, journal=stage.folder / "journal", dra_namespaces=("a", "b")) as task:
        await stage.until(lambda: is_cordoned(stage))
        said = stage.out.getvalue()
        address = said.partition("address=")[2].split()[0]
        for page, words in (("healthz", "the last pass was"), ("readyz", "passes are made")):
            with await asyncio.to_thread(urllib.request.urlopen, f"http://{address}/{page}", timeout=10) as answer:
                assert words in answer.read().decode()
        with await asyncio.to_thread(urllib.request.urlopen, f"http://{address}/metrics", timeout=10) as answer:
            page = answer.read().decode()
        assert "seatrial_leader 1.0" in page
        assert stage.lease["metadata"]["annotations"] == {keys.DRA_ANNOTATION: "a,b"}
        assert stage.holder
        os.kill(os.getpid(), signal.SIGTERM)
        report = await task
    assert report is not None
    assert stage.holder == ""
    assert stage.cluster.get(ROLLOUT)["status"]["state"] == "progressing"
    assert "Node/n1 GPUDriverUpgrade" in stage.told()
    written = [each for each in stage.writes() if "gpurollouts" in each or "nodes" in each]
    assert written[0] == f"PATCH {ROLLOUT}", "guarded before anything else is written"


async def test_plugins_are_looked_after_and_the_cluster_is_audited_where_that_was_asked_for(stage: Stage) -> None:
    plugins = ("dra-system",)
    async with running(stage, reroll_namespaces=plugins, dra_namespaces=plugins, audit_seconds=600.0):
        address = ""
        await stage.until(lambda: "address=" in stage.out.getvalue())
        address = stage.out.getvalue().partition("address=")[2].split()[0]

        async def page() -> str:
            with await asyncio.to_thread(urllib.request.urlopen, f"http://{address}/metrics", timeout=10) as answer:
                return str(answer.read().decode())

        async with asyncio.timeout(SECONDS_MAX):
            while "seatrial_audit_timestamp" not in await page():
                await asyncio.sleep(0.05)
        await stage.until(lambda: any("/namespaces/dra-system/" in seen.path for seen in stage.server.seen))
        noted = stage.lease["metadata"]["annotations"]
        assert noted == {keys.DRA_ANNOTATION: "dra-system", keys.REROLLS_ANNOTATION: "dra-system"}


async def test_who_loses_the_lease_ends_and_leaves_it_to_whoever_has_it(stage: Stage) -> None:
    async with running(stage) as task:
        await stage.until(lambda: is_cordoned(stage))
        asked = len(stage.asked_for_the_lease())
        stage.cluster.put(f"{LEASES}/{LEASE}", a_lease("somebody-else"))
        await stage.until(lambda: len(stage.asked_for_the_lease()) > asked)  # once more, and in vain
        stage.cluster.put(f"{keys.NODES}/n3", objects.a_node("n3"))  # a pass is due
        with pytest.raises(LeaseLost, match=r"lost \(somebody-else leads by now\), so this controller stops"):
            await task
    assert stage.holder == "somebody-else"


async def test_whatever_ends_it_the_lease_is_kept_until_the_acts_under_way_have_ended(stage: Stage) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    async def slowly(request: web.Request) -> web.StreamResponse:
        if request.method == "PATCH" and request.path.startswith(keys.NODES):
            is_asked.set()
            await asyncio.to_thread(may_answer.wait, SECONDS_MAX)
        return await stage.cluster.answer(request)

    stage.server.will(slowly)
    async with running(stage) as task:
        await stage.until(is_asked.is_set)
        task.cancel()
        ended, _ = await asyncio.wait([task], timeout=1.0)
        is_kept = bool(stage.holder)
        may_answer.set()
        assert (ended, is_kept) == (set(), True)
        await asyncio.wait([task], timeout=SECONDS_MAX)
    assert stage.holder == ""


async def test_who_stands_by_takes_over_when_the_lease_is_given_up(stage: Stage) -> None:
    stage.cluster.put(f"{LEASES}/{LEASE}", a_lease("somebody-else"))
    async with running(stage):
        await stage.until(lambda: "standing by" in stage.out.getvalue())
        assert stage.writes() == []
        stage.cluster.put(f"{LEASES}/{LEASE}", a_lease(""))
        await stage.until(lambda: is_cordoned(stage))
        assert stage.lease["spec"]["leaseTransitions"] == 1


async def test_who_stands_by_and_is_told_to_stop_has_done_nothing(stage: Stage) -> None:
    stage.cluster.put(f"{LEASES}/{LEASE}", a_lease("somebody-else"))
    async with running(stage) as task:
        await stage.until(lambda: "standing by" in stage.out.getvalue())
        os.kill(os.getpid(), signal.SIGTERM)
        assert await task is None
    assert (stage.writes(), stage.holder) == ([], "somebody-else")


async def test_before_seatrial_goes_every_rollout_is_left_and_then_it_ends_by_itself(stage: Stage) -> None:
    async with running(stage) as task:
        await stage.until(lambda: is_cordoned(stage))
        os.kill(os.getpid(), signal.SIGTERM)
        await task
    report = await stage.run(once=False, is_uninstalling=True)
    assert report is not None
    assert not is_cordoned(stage)
    assert not stage.cluster.get(ROLLOUT)["metadata"].get("finalizers")
