"""Leadership when the server stalls, loses writes or somebody else interferes; two real candidates at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial import supervision
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors, lease
from seatrial_lab.testbed.plane import control_plane
from tests.adapters.kube import standin

QUICK = lease.Timing(lease_seconds=1, deadline_seconds=0.6, renew_seconds=0.05, retry_seconds=0.02, request_seconds=0.3)
LIMIT_SECONDS = 20.0


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def a_lease(holder: str, version: str, seconds: int = 15) -> dict[str, Any]:
    metadata = {"name": "l", "namespace": "n", "resourceVersion": version, "labels": {"theirs": "kept"}}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": 4}
    return {"metadata": metadata, "spec": spec}


def lists(*leases: dict[str, Any]) -> standin.Reply:
    return standin.gives({"metadata": {"resourceVersion": "1"}, "items": list(leases)})


async def echoes(request: web.Request) -> web.StreamResponse:
    """Accept a write as it is."""
    return web.json_response(json.loads(await request.read()))


@asynccontextmanager
async def standing(
    config: configs.Config,
    identity: str = "me",
    timing: lease.Timing = QUICK,
    clock: Clock | None = None,
    tell: supervision.Tell = lambda _: None,
) -> AsyncIterator[lease.Election]:
    """A candidate that is given up at the end; blocking calls go to a thread, since the stand-in lives in this one."""
    more: dict[str, Any] = {"tell": tell} | ({"monotonic": clock} if clock is not None else {})
    election = lease.Election(
        config, namespace="n", name="l", identity=identity, user_agent=f"lease/{identity}", timing=timing, **more
    )
    election.start()
    try:
        yield election
    finally:
        await asyncio.to_thread(election.release)


async def until_leader(election: lease.Election) -> bool:
    return await asyncio.to_thread(election.wait_until_leader, LIMIT_SECONDS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"request_seconds": 10.0},
        {"deadline_seconds": 15.0},
        {"renew_seconds": 10.0},
    ],
)
def test_times_that_would_allow_two_leaders_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a lease needs"):
        lease.Timing(**wrong)


async def test_a_lease_that_nobody_has_made_is_made(server: standin.StandIn) -> None:
    server.will(lists(), echoes)
    async with standing(server.config()) as election:
        assert await until_leader(election)
        assert (election.standing().holder, election.standing().is_us) == ("me", True)

    assert [(seen.verb, seen.path) for seen in server.seen[:2]] == [
        ("GET", "/apis/coordination.k8s.io/v1/namespaces/n/leases"),
        ("POST", "/apis/coordination.k8s.io/v1/namespaces/n/leases"),
    ]
    assert server.seen[0].query["fieldSelector"] == "metadata.name=l"


async def test_taking_over_is_a_compare_and_set_that_keeps_what_others_wrote(server: standin.StandIn) -> None:
    server.will(lists(a_lease("", "7")), echoes)
    async with standing(server.config()) as election:
        assert await until_leader(election)

    put = json.loads(server.seen[1].body)
    assert server.seen[1].verb == "PUT"
    assert put["metadata"] == a_lease("", "7")["metadata"]
    assert (put["spec"]["holderIdentity"], put["spec"]["leaseTransitions"]) == ("me", 5)


async def test_what_a_holder_says_of_itself_stands_on_its_lease_and_goes_with_the_next_one(
    server: standin.StandIn,
) -> None:
    def written(**notes: str) -> dict[str, Any]:
        theirs = a_lease("other", "7", seconds=1)
        theirs["metadata"]["annotations"] = {"theirs": "kept", "says": "before"}
        election = lease.Election(
            server.config(), namespace="n", name="l", identity="me", user_agent="lease", notes=notes
        )
        body = election._body(lease._Lease(metadata=theirs["metadata"], spec=theirs["spec"]))
        found: dict[str, Any] = body["metadata"]["annotations"]
        return found

    assert written(says="dra") == {"theirs": "kept", "says": "dra"}
    assert written(says="") == {"theirs": "kept"}
    assert written() == {"theirs": "kept", "says": "before"}


@pytest.mark.parametrize("renewed", ["2026-01-02T03:04:05.000000Z", "2199-12-31T23:59:59.000000Z", "soon"])
async def test_anothers_lease_is_left_alone_until_it_has_not_changed_for_its_whole_length(
    server: standin.StandIn, renewed: str
) -> None:
    clock, lease = Clock(), a_lease("other", "7", seconds=15)
    held = lists({**lease, "spec": {**lease["spec"], "renewTime": renewed}})
    server.will(held)
    async with standing(server.config(), clock=clock) as election:
        await server.until(2)
        clock.now += 14.9
        await server.until(len(server.seen) + 2)
        assert {seen.verb for seen in server.seen} == {"GET"}
        assert not election.is_leader()
        seen = election.standing()
        assert (seen.holder, seen.is_us) == ("other", False)
        assert seen.seconds_left == pytest.approx(0.1)

        server.will(held, echoes)
        clock.now += 0.1
        assert await until_leader(election)


async def test_a_leader_whose_server_falls_silent_stops_leading_by_itself(server: standin.StandIn) -> None:
    clock = Clock()
    patient = lease.Timing(renew_seconds=0.05, retry_seconds=0.05, request_seconds=5.0)
    server.will(lists(a_lease("", "7")), echoes, standin.waits(server))
    async with standing(server.config(), timing=patient, clock=clock) as election:
        assert await until_leader(election)
        await server.until(3)  # the renewal hangs from here on, and so does the thread's only request

        clock.now += 9.9
        still = election.is_leader()
        clock.now += 0.1
        assert (still, election.is_leader()) == (True, False)
        server.over.set()


async def test_the_time_counts_from_the_moment_a_renewal_was_begun(server: standin.StandIn) -> None:
    clock = Clock()

    async def slowly(request: web.Request) -> web.StreamResponse:
        clock.now += 8.0
        return await echoes(request)

    rare = lease.Timing(renew_seconds=9.0)
    server.will(lists(a_lease("", "7")), slowly)
    async with standing(server.config(), timing=rare, clock=clock) as election:
        assert await until_leader(election)
        clock.now += 2.0
        assert not election.is_leader()


async def test_a_renewal_that_meets_a_conflict_ends_the_leadership_at_once(server: standin.StandIn) -> None:
    clock = Clock()
    server.will(lists(a_lease("", "7")), echoes, standin.refuses(409, "Conflict"), lists(a_lease("thief", "9")))
    async with standing(server.config(), clock=clock) as election:
        assert await until_leader(election)
        await server.until(5)

        assert not election.is_leader()
        assert election.standing().holder == "thief"


async def test_a_lease_that_was_deleted_ends_the_leadership_at_once(server: standin.StandIn) -> None:
    server.will(lists(a_lease("", "7")), echoes, standin.refuses(404, "NotFound"), lists(a_lease("other", "9")))
    async with standing(server.config(), clock=Clock()) as election:
        assert await until_leader(election)
        await server.until(4)
        assert not election.is_leader()


async def test_a_label_that_somebody_wrote_on_the_lease_does_not_end_the_leadership(server: standin.StandIn) -> None:
    clock = Clock()
    ours = a_lease("me", "9")
    server.will(
        lists(a_lease("", "7")), echoes, standin.refuses(409, "Conflict"), lists(ours), echoes, standin.waits(server)
    )
    async with standing(server.config(), clock=clock) as election:
        assert await until_leader(election)
        clock.now += 0.5
        await server.until(4)
        assert election.is_leader()  # between the refusal and the second look as well

        await server.until(6)
        clock.now += 0.5  # over for the first renewal, and not for the one after the conflict
        assert election.is_leader()
    again = json.loads(server.seen[4].body)
    assert (again["metadata"]["resourceVersion"], again["spec"]["holderIdentity"]) == ("9", "me")


async def test_a_lease_that_is_always_written_by_somebody_else_is_not_asked_for_in_a_hot_loop(
    server: standin.StandIn,
) -> None:
    slow = lease.Timing(lease_seconds=15, renew_seconds=0.05, retry_seconds=9.0, request_seconds=0.3)
    conflict = standin.refuses(409, "Conflict")
    free = lists(a_lease("", "7"))
    server.will(free, conflict, free, conflict, standin.waits(server))
    async with standing(server.config(), timing=slow) as election:
        await server.until(4)
        assert not await asyncio.to_thread(election.wait_until_leader, 0.3)

    assert len(server.seen) == 4


async def test_what_ends_the_thread_is_told_and_it_stands_again(server: standin.StandIn) -> None:
    told: list[supervision.Ending] = []
    broken = a_lease("", "7") | {"spec": {"holderIdentity": "other", "leaseDurationSeconds": "soon"}}
    server.will(lists(broken), lists(a_lease("", "8")), echoes)
    async with standing(server.config(), tell=told.append) as election:
        async with asyncio.timeout(LIMIT_SECONDS):
            while not told:
                await asyncio.sleep(0.005)
        assert "lease n/l is not attended to" in str(election.standing().last_error)
        assert await until_leader(election)

    assert [(each.task, each.pause_seconds) for each in told] == [("lease", 1.0)]
    assert "'soon'" in told[0].why


async def test_who_is_told_to_stop_while_the_thread_pauses_after_its_end_stops(server: standin.StandIn) -> None:
    told: list[supervision.Ending] = []
    server.will(lists(a_lease("", "7") | {"spec": {"holderIdentity": "other", "leaseDurationSeconds": "soon"}}))
    async with standing(server.config(), tell=told.append) as election, asyncio.timeout(LIMIT_SECONDS):
        while not told:
            await asyncio.sleep(0.005)
        await asyncio.to_thread(election.release)
    assert not election.is_leader()


async def test_an_unreachable_server_is_reported(unused_tcp_port: int) -> None:
    config = configs.Config(server=f"http://127.0.0.1:{unused_tcp_port}", context="k", source="f")
    async with standing(config) as election:
        async with asyncio.timeout(LIMIT_SECONDS):
            while election.standing().last_error is None:
                await asyncio.sleep(0.005)
        assert isinstance(election.standing().last_error, errors.ClusterUnavailable)
        assert not await asyncio.to_thread(election.wait_until_leader, 0.0)


async def test_a_released_lease_has_no_holder(server: standin.StandIn) -> None:
    server.will(lists(a_lease("", "7")), echoes)
    async with standing(server.config()) as election:
        assert await until_leader(election)

    assert not election.is_leader()
    assert json.loads(server.seen[-1].body)["spec"]["holderIdentity"] == ""


async def test_a_candidate_that_never_led_releases_nothing(server: standin.StandIn) -> None:
    server.will(lists(a_lease("other", "7")))
    async with standing(server.config()):
        await server.until(1)

    assert {seen.verb for seen in server.seen} == {"GET"}


# --- on a real API server ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def candidate(plane: control_plane.ControlPlane) -> Path:
    """Somebody who may list, create and update leases, and read nothing else."""
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "create", "update"]}
    return plane.service_account("n", "candidate", namespaced_rules={"n": [rule]})


@pytest.mark.cluster
async def test_one_of_two_leads_and_the_other_follows_when_it_stops(
    plane: control_plane.ControlPlane, candidate: Path
) -> None:
    config = configs.load_config(kubeconfig=str(candidate), environ={})
    timing = lease.Timing(lease_seconds=15, renew_seconds=0.1, retry_seconds=0.1)
    async with standing(config, "first", timing) as first:
        assert await until_leader(first)
        async with standing(config, "second", timing) as second:
            async with asyncio.timeout(LIMIT_SECONDS):
                while second.standing().holder != "first":
                    await asyncio.sleep(0.01)
            assert (first.is_leader(), second.is_leader()) == (True, False)

            await asyncio.to_thread(first.release)

            assert await until_leader(second)
            assert (first.is_leader(), second.is_leader()) == (False, True)
            assert second.standing().transition_count == 1

    verbs = {request.verb for request in plane.requests("lease/")}
    assert verbs == {"list", "create", "update"}
