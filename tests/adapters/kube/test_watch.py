"""Keeping a kind in view while the server misbehaves. No test waits: sleeping is recorded instead."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import errors, watch
from tests.adapters.kube import standin
from tests.adapters.kube.models import Item

NODES = "/api/v1/nodes"


class Enough(Exception):  # noqa: N818 — it is not an error
    """The test has seen what it wanted."""


@dataclass
class Watcher:
    """What the callbacks of one reflector were told, in order."""

    rounds_max: int
    told: list[str] = field(default_factory=list)
    states: list[watch.SourceState] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    now: float = 1000.0
    # How long each look at the clock takes: above five, every watch counts as one that lived a while.
    tick: float = 0.0

    def sync(self, listing: clients.Listing[Item]) -> None:
        self.told.append(f"sync {','.join(item.metadata.name for item in listing.items)}@{listing.resource_version}")

    def event(self, event: clients.WatchEvent[Item]) -> None:
        self.told.append(f"{event.kind.value} {event.object.metadata.name}@{event.object.metadata.resource_version}")

    def clock(self) -> float:
        self.now += self.tick
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)
        self.now += seconds
        if len(self.delays) == self.rounds_max:
            raise Enough

    async def run(
        self, client: clients.Client, *, silent_seconds: float = 5.0, again: watch.Again | None = None
    ) -> None:
        with pytest.raises(Enough):
            await watch.reflect(
                client,
                NODES,
                Item,
                on_sync=self.sync,
                on_event=self.event,
                on_state=self.states.append,
                jitter=lambda: 0.5,  # the middle: delays are 1, 2, 4 ...
                silent_seconds=silent_seconds,
                again=again,
                clock=self.clock,
                sleep=self.sleep,
            )


async def test_a_list_is_followed_by_a_watch_from_its_version(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(standin.event("ADDED", "b", "6"), standin.event("DELETED", "a", "7")),
    )
    watcher = Watcher(rounds_max=1)

    await watcher.run(to_server)

    assert watcher.told == ["sync a@5", "ADDED b@6", "DELETED a@7"]
    assert "resourceVersion" not in server.seen[0].query
    assert server.seen[1].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "450",
        "resourceVersion": "5",
    }


async def test_a_watch_that_lived_and_ended_is_resumed_at_once_from_the_last_version(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(standin.event("MODIFIED", "a", "6"), standin.bookmark("9")),
        standin.streams(standin.event("MODIFIED", "a", "12")),
    )
    watcher = Watcher(rounds_max=2, tick=6.0)

    await watcher.run(to_server)

    assert watcher.delays == [0.0, 0.0]
    assert watcher.states[-1].failure_count == 0
    assert [seen.query["resourceVersion"] for seen in server.seen if seen.is_watch] == ["5", "9"]
    assert watcher.told == ["sync a@5", "MODIFIED a@6", "MODIFIED a@12"]


async def test_after_a_cut_everything_is_listed_anew_after_a_delay(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(standin.event("MODIFIED", "a", "6"), then=standin.cuts),
        standin.lists("a", version="6"),
        standin.streams(standin.event("MODIFIED", "a", "7"), then=standin.cuts),
    )
    watcher = Watcher(rounds_max=2)

    await watcher.run(to_server)

    assert watcher.delays == [1.0, 1.0]
    assert [seen.query["resourceVersion"] for seen in server.seen if seen.is_watch] == ["5", "6"]
    assert isinstance(watcher.states[-1].last_error, errors.ClusterUnavailable)


@pytest.mark.parametrize("version", ["7", "9", "12"])
async def test_a_ghost_of_a_restored_cluster_is_gone_however_far_the_cluster_has_counted_again(
    server: standin.StandIn, to_server: clients.Client, version: str
) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(standin.event("ADDED", "ghost", "9"), then=standin.cuts),
        standin.lists("a", version=version),
        standin.streams(standin.bookmark("13")),
    )
    watcher = Watcher(rounds_max=2, tick=6.0)

    await watcher.run(to_server)

    assert watcher.told == ["sync a@5", "ADDED ghost@9", f"sync a@{version}"]
    assert [seen.query["resourceVersion"] for seen in server.seen if seen.is_watch] == ["5", version]


async def test_a_view_is_in_doubt_from_the_cut_until_the_next_list(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(standin.event("MODIFIED", "a", "6"), then=standin.cuts),
        standin.refuses(503),
        standin.lists("a", version="6"),
        standin.streams(standin.event("MODIFIED", "a", "7")),
    )
    watcher = Watcher(rounds_max=3, tick=6.0)

    await watcher.run(to_server)

    doubts = [watcher.states[0].is_in_doubt]
    for state in watcher.states:
        doubts += [state.is_in_doubt] if state.is_in_doubt is not doubts[-1] else []
    assert doubts == [False, True, False]
    assert [type(state.last_error) for state in watcher.states if state.is_in_doubt] == [
        errors.ClusterUnavailable,
        errors.ServerFault,
    ]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(standin.refuses(410, "Expired"), id="as a status"),
        pytest.param(standin.streams(standin.error_event(410, "Expired", "too old")), id="as an event"),
    ],
)
async def test_a_server_that_always_answers_410_is_not_asked_in_a_hot_loop(
    server: standin.StandIn, to_server: clients.Client, gone: standin.Reply
) -> None:
    server.will(*[standin.lists("a", version="5"), gone] * 8)
    watcher = Watcher(rounds_max=8)

    await watcher.run(to_server)

    assert watcher.delays == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert len(server.seen) == 16
    assert watcher.told == ["sync a@5"] * 8
    assert isinstance(watcher.states[-1].last_error, errors.Gone)


async def test_a_server_that_ends_each_watch_at_once_is_not_asked_in_a_hot_loop(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(*[standin.lists("a", version="5"), standin.streams()] * 4)
    watcher = Watcher(rounds_max=4)

    await watcher.run(to_server)

    assert watcher.delays == [1.0, 2.0, 4.0, 8.0]
    assert len(server.seen) == 8
    assert "as soon as it began" in str(watcher.states[-1].last_error)


async def test_one_event_makes_the_next_delay_short_again(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.refuses(500),
        standin.refuses(500),
        standin.lists("a", version="5"),
        standin.streams(standin.event("MODIFIED", "a", "6")),
        standin.refuses(500),
    )
    watcher = Watcher(rounds_max=4)

    await watcher.run(to_server)

    assert watcher.delays == [1.0, 2.0, 1.0, 2.0]


async def test_silence_is_answered_by_a_list(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(then=standin.waits(server)),
        standin.lists("a", version="5"),
        standin.streams(then=standin.waits(server)),
    )
    watcher = Watcher(rounds_max=2)

    await watcher.run(to_server, silent_seconds=0.05)

    assert watcher.delays == [0.0, 0.0]
    assert [seen.is_watch for seen in server.seen] == [False, True, False, True]
    assert [state.last_error for state in watcher.states] == [None] * len(watcher.states)


async def test_who_waits_for_word_of_a_quiet_kind_may_ask_for_a_list(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.streams(standin.bookmark("6"), then=standin.waits(server)),
        standin.lists("a", "b", version="7"),
        standin.streams(standin.bookmark("8"), then=standin.waits(server)),
    )
    again = watch.Again()
    again.ask()  # nothing is open yet: a list comes anyway
    watcher = Watcher(rounds_max=2)
    watcher.states = Asking(again)

    await watcher.run(to_server, again=again)

    assert watcher.told == ["sync a@5", "sync a,b@7"]
    assert watcher.delays == [0.0, 0.0], "it waits for nothing"
    assert [state.last_error for state in watcher.states] == [None] * len(watcher.states)


class Asking(list[watch.SourceState]):
    """Keeps states, and asks for a list whenever something was heard on an open watch."""

    def __init__(self, again: watch.Again) -> None:
        super().__init__()
        self._again = again

    def append(self, state: watch.SourceState) -> None:
        super().append(state)
        if state.is_connected:
            self._again.ask()


async def test_a_kind_that_is_not_installed_is_asked_slowly_until_it_is(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    missing = standin.refuses(404, "NotFound", "the server could not find the requested resource")
    server.will(missing, missing, standin.lists("a", version="5"), standin.streams(standin.bookmark("6")))
    watcher = Watcher(rounds_max=3)

    await watcher.run(to_server)

    assert watcher.delays[:2] == [11.0, 12.0]
    first, *_ = watcher.states
    assert isinstance(first.last_error, errors.NotFound)
    assert first.last_error.is_kind_missing
    assert not first.is_synced
    assert watcher.told == ["sync a@5"]


async def test_a_kind_that_is_removed_later_is_listed_again(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(
        standin.lists("a", version="5"),
        standin.refuses(404, "NotFound"),
        standin.lists("b", version="9"),
        standin.streams(),
    )
    watcher = Watcher(rounds_max=2)

    await watcher.run(to_server)

    assert watcher.told == ["sync a@5", "sync b@9"]


async def test_a_missing_right_to_watch_is_asked_for_slowly(server: standin.StandIn, to_server: clients.Client) -> None:
    forbidden = standin.refuses(403, "Forbidden")
    server.will(*[standin.lists("a", version="5"), forbidden] * 3)
    watcher = Watcher(rounds_max=3)

    await watcher.run(to_server)

    assert watcher.delays == [11.0, 12.0, 14.0]
    assert [seen.query["resourceVersion"] for seen in server.seen if seen.is_watch] == ["5", "5", "5"]
    assert isinstance(watcher.states[-1].last_error, errors.Forbidden)


@pytest.mark.parametrize(
    ("asked", "delays"),
    [("17", [17.0, 17.0]), ("1", [1.0, 2.0]), ("Wed, 18 Nov 2026 20:00:00 GMT", [1.0, 2.0])],
    ids=["longer", "shorter", "a date"],
)
async def test_an_overloaded_server_is_left_alone_for_as_long_as_it_asks_and_no_shorter_than_else(
    server: standin.StandIn, to_server: clients.Client, asked: str, delays: list[float]
) -> None:
    server.will(standin.refuses(429, "TooManyRequests", headers={"Retry-After": asked}))
    watcher = Watcher(rounds_max=2)

    await watcher.run(to_server)

    assert watcher.delays == delays


async def test_an_unreadable_event_leads_to_a_list(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(
        standin.lists("a", version="5"), standin.streams(b"{\n"), standin.lists("a", version="6"), standin.streams()
    )
    watcher = Watcher(rounds_max=2)

    await watcher.run(to_server)

    assert watcher.told == ["sync a@5", "sync a@6"]


async def test_the_state_tells_how_sure_we_are_at_each_moment(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(
        standin.refuses(503),
        standin.lists("a", version="5"),
        standin.streams(standin.event("MODIFIED", "a", "6"), then=standin.cuts),
    )
    watcher = Watcher(rounds_max=2)

    await watcher.run(to_server)

    told = [(s.is_synced, s.is_connected, s.last_heard, type(s.last_error), s.failure_count) for s in watcher.states]
    nothing = type(None)
    assert told == [
        (False, False, None, errors.ServerFault, 1),
        (True, False, 1001.0, errors.ServerFault, 1),
        (True, True, 1001.0, nothing, 1),
        (True, True, 1001.0, nothing, 0),
        (True, False, 1001.0, errors.ClusterUnavailable, 1),
    ]


async def test_an_error_in_a_callback_is_not_swallowed(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(standin.lists("a", version="5"))

    def broken(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await watch.reflect(
            to_server, NODES, Item, on_sync=broken, on_event=broken, on_state=lambda _: None, jitter=lambda: 0.0
        )
