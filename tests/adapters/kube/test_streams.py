"""Rows of any table: what they keep is found by its keys, and a change costs what it is about, among however many."""

from __future__ import annotations

import asyncio
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.watch import SourceState
from seatrial.adapters.kube.streams.index import By, Index
from seatrial.adapters.kube.streams.row import Found, Need, Row, Where
from seatrial.adapters.kube.streams.stream import Stream
from seatrial.adapters.kube.streams.streams import Streams
from tests.adapters.kube import standin
from tests.adapters.kube.models import Item, Meta

MANY = 1000
HERE = Where(namespace="operators", home="ours")

BY_TEAM: By[Item, str] = By(keys=lambda item: item.metadata.labels.get("teams", "").split())
LAMPS: Row[Item, Item] = Row(
    name="lamps",
    path=lambda where: f"/lamps/{where.namespace}",
    model=Item,
    slim=lambda _: lambda item: item if item.metadata.name else None,
    tells=lambda item: item.metadata.labels,
    node=lambda item: item.metadata.labels["node"],
    indices=(BY_TEAM,),
)


def lamps_of_the_team(item: Item, found: Found) -> Iterable[str]:
    return (lamp.metadata.labels["node"] for lamp in found.under(LAMPS, BY_TEAM, item.metadata.name))


TEAMS: Row[Item, Item] = replace(LAMPS, name="teams", tells=None, node=None, reach=lamps_of_the_team, indices=())
NEWS: Row[Item, Item] = replace(LAMPS, name="news", path=lambda _: "/news", tells=None, node=None, indices=())


def an_item(name: str, version: int = 1, **labels: str) -> Item:
    meta = Meta(name=name, namespace="", uid=f"uid-{name}", resource_version=str(version), labels=labels)
    return Item(metadata=meta)


@pytest.fixture
def streams(to_server: Client) -> Streams:
    """A table that is not opened: what is in it, we wrote."""
    return Streams(to_server, (LAMPS, TEAMS, NEWS), HERE)


def names(items: Iterable[Item]) -> list[str]:
    return [item.metadata.name for item in items]


# ── indices ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_item_is_found_under_each_of_its_keys_until_it_says_otherwise() -> None:
    index = Index(BY_TEAM)
    first, then = an_item("a", teams="red blue"), an_item("a", 2, teams="blue green")
    index.change(None, first)
    assert [names(index.under(team)) for team in ("red", "blue", "green")] == [["a"], ["a"], []]
    index.change(first, then)
    assert [names(index.under(team)) for team in ("red", "blue", "green")] == [[], ["a"], ["a"]]
    index.change(then, None)
    assert list(index.keys()) == [], "an entry without items is kept for ever otherwise"


def test_one_change_of_many_asks_for_the_keys_of_one_item() -> None:
    asked: list[str] = []

    def keys(item: Item) -> tuple[str]:
        asked.append(item.metadata.name)
        return ("all",)

    index = Index(By(keys=keys))
    for number in range(MANY):
        index.change(None, an_item(f"i{number}"))
    asked.clear()
    index.change(an_item("i7"), an_item("i7", 2))
    assert asked == ["i7", "i7"]
    assert len(index.under("all")) == MANY


# ── what a change costs ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_change_costs_the_node_it_names_before_and_after(streams: Streams) -> None:
    lamps = streams[LAMPS]
    for number in range(MANY):
        lamps.wrote(an_item(f"lamp-{number}", node=f"n{number}"))
    streams.take_touched()
    lamps.wrote(an_item("lamp-3", 2, node="n4"))
    assert streams.take_touched() == ["n3", "n4"]
    assert streams.take_touched() == [], "they are taken once"
    assert names(lamps.on_node("n4")) == ["lamp-4", "lamp-3"]
    assert names(lamps.on_node("n3")) == []


def test_what_names_no_node_costs_those_it_reaches_through_others(streams: Streams) -> None:
    for number, team in enumerate(("red", "blue", "red")):
        streams[LAMPS].wrote(an_item(f"lamp-{number}", node=f"n{number}", teams=team))
    streams.take_touched()
    streams[TEAMS].wrote(an_item("red"))
    assert streams.take_touched() == ["n0", "n2"]


async def test_only_news_is_told_and_waited_for(streams: Streams) -> None:
    told: list[str] = []
    streams.hear(lambda _before, after: told.append(after.metadata.resource_version), LAMPS, NEWS)
    for item in (an_item("lamp", node="n1"), an_item("lamp", 2, node="n1"), an_item("lamp", 3, node="n1", teams="red")):
        streams[LAMPS].wrote(item)
    streams[NEWS].wrote(an_item("paper", 4))
    assert told == ["1", "3", "4"]
    assert names(streams[LAMPS].on_node("n1")) == ["lamp"]
    assert [item.metadata.resource_version for item in streams[LAMPS].on_node("n1")] == ["3"]


def looked_at() -> tuple[Stream[Any, Any], list[float | None]]:
    """A stream, and when it had last been heard of whenever somebody was woken by it."""
    looks: list[float | None] = []
    lamps = Stream(
        LAMPS,
        HERE,
        on_change=lambda _before, _after: None,
        on_state=lambda: looks.append(lamps.state.last_heard),
        on_back=lambda _stream, _version: None,
    )
    return lamps, looks


def test_the_first_word_after_a_quiet_second_is_news_and_what_a_busy_kind_says_is_not() -> None:
    lamps, looks = looked_at()
    for heard in (10.0, 10.4, 10.9, 12.0, 12.3):
        lamps.take_state(SourceState(is_synced=True, last_heard=heard))
    assert looks == [10.0, 12.0]
    assert lamps.state.last_heard == 12.3, "it is kept to the event, whoever is woken by it"


def test_who_has_asked_for_word_is_woken_by_it_however_soon_it_comes() -> None:
    lamps, looks = looked_at()
    lamps.take_state(SourceState(is_synced=True, last_heard=10.0))
    lamps.list_anew()
    for heard in (10.0, 10.2, 10.4):
        lamps.take_state(SourceState(is_synced=True, last_heard=heard))
    assert looks == [10.0, 10.2], "the answer wakes, and only the answer"


def test_of_a_row_that_is_not_about_nodes_nobody_asks_for_those_of_a_node(streams: Streams) -> None:
    with pytest.raises(TypeError, match="the row news does not say which node"):
        streams[NEWS].on_node("n1")


# ── long lists ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Heavy(msgspec.Struct, frozen=True, weakref=True):
    """An object as it arrives, with far more than is kept of it."""

    metadata: Meta = Meta()


class Light(msgspec.Struct, frozen=True, weakref=True):
    """What is kept of it."""

    metadata: Meta


PAGE, PAGES = 500, 6
WHOLE: weakref.WeakValueDictionary[int, Heavy] = weakref.WeakValueDictionary()
"""The objects that are held as they arrived."""
KEPT: weakref.WeakValueDictionary[int, Light] = weakref.WeakValueDictionary()


def light(heavy: Heavy) -> Light:
    WHOLE[id(heavy)] = heavy
    kept = Light(metadata=heavy.metadata)
    KEPT[id(kept)] = kept
    return kept


HEAVY: Row[Heavy, Light] = Row(
    name="heavy", path=lambda _: "/heavy", model=Heavy, slim=lambda _: light, node=lambda item: item.metadata.name
)


class Library:
    """Serves a long list page by page, and counts what is held whole while the next page is asked for."""

    def __init__(self, server: standin.StandIn) -> None:
        self.version, self.lists, self._server = 7, 0, server
        self.held_whole: list[int] = []
        self.kept: list[int] = []
        WHOLE.clear()
        KEPT.clear()  # of other tests
        server.will(self._answer)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            return await standin.streams(then=standin.waits(self._server))(request)
        page = int(request.query.get("continue", "0"))
        self.lists += page == 0
        self.held_whole.append(len(WHOLE))
        self.kept.append(len(KEPT))
        names = (f"i{number}" for number in range(page * PAGE, (page + 1) * PAGE))
        more = str(page + 1) if page + 1 < PAGES else ""
        return await standin.gives(
            {
                "metadata": {"resourceVersion": str(self.version), "continue": more},
                "items": [standin.an_object(name, str(self.version)) for name in names],
            }
        )(request)


async def listed_again(streams: Streams) -> None:
    """Have everything listed once more, and wait until it is taken over."""
    stream = streams[HEAVY]
    heard = stream.state.last_heard
    streams.list_anew({"heavy"})
    async with asyncio.timeout(20):
        while stream.state.last_heard == heard:
            await streams.wait(None)
            streams.look()


async def until_watched(streams: Streams) -> None:
    async with asyncio.timeout(20):
        while not streams[HEAVY].state.is_connected:
            await asyncio.sleep(0)


async def test_of_a_long_list_no_more_than_a_page_is_ever_held_whole(
    server: standin.StandIn, to_server: Client
) -> None:
    """All pages were held as they came until the last was there: 100,000 pods took 937 MB."""
    library = Library(server)
    async with Streams(to_server, (HEAVY,), HERE) as streams:
        await streams.wait_synced(20)
        assert len(streams[HEAVY].store) == PAGE * PAGES
    assert library.held_whole == [0] * PAGES
    assert len(WHOLE) == 0


async def test_a_long_list_keeps_nobody_from_running(server: standin.StandIn, to_server: Client) -> None:
    """What is taken over between two turns of the loop is a few milliseconds' worth, however long the list is."""
    Library(server)
    turn, taken = 0, Counter[int]()

    async def turning() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async with Streams(to_server, (HEAVY,), HERE) as streams:
        streams.hear(lambda _before, _after: taken.update([turn]), HEAVY)
        streams.start(turning(), "turning")
        await streams.wait_synced(20)
    assert sum(taken.values()) == PAGE * PAGES
    assert max(taken.values()) <= PAGE


async def test_a_list_that_says_the_same_holds_nothing_twice(server: standin.StandIn, to_server: Client) -> None:
    library = Library(server)
    async with Streams(to_server, (HEAVY,), HERE) as streams:
        await streams.wait_synced(20)
        await until_watched(streams)
        before = {id(item) for item in streams[HEAVY].store}
        await listed_again(streams)
        assert {id(item) for item in streams[HEAVY].store} == before
    assert max(library.kept) <= PAGE * PAGES + 1, "but for the one that was just made"


async def test_nothing_is_decided_on_a_list_that_is_half_taken_over(server: standin.StandIn, to_server: Client) -> None:
    library, looks = Library(server), set[tuple[bool, bool]]()

    def look(_before: object, _after: object) -> None:
        versions = {item.metadata.resource_version for item in stream.store}
        looks.add((len(versions) > 1, stream.freshness(to_server.now()).is_synced))

    async with Streams(to_server, (HEAVY,), HERE) as streams:
        stream = streams[HEAVY]
        await streams.wait_synced(20)
        await until_watched(streams)
        library.version = 8
        looking = asyncio.create_task(_looking(lambda: look(None, None)))
        await listed_again(streams)
        looking.cancel()
    assert (True, False) in looks, "it was seen half taken over, and said so"
    assert (True, True) not in looks
    assert stream.freshness(to_server.now()).is_synced


async def _looking(look: Callable[[], None]) -> None:
    while True:
        look()
        await asyncio.sleep(0)


# ── which are watched, and what it means that one is not there ───────────────────────────────────────────────────────


async def test_a_row_that_nobody_asked_for_is_empty_and_is_not_waited_for(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.lists("a", version="5"), standin.streams(then=standin.waits(server)))
    async with Streams(to_server, (NEWS,), HERE) as streams:
        await streams.wait_synced(5)
        assert [stream.row for stream in streams.opened] == [NEWS]
        assert names(streams[NEWS].store) == ["a"]
        assert names(streams[LAMPS].store) == []
    assert {request.path for request in server.seen} == {"/news"}


@pytest.mark.parametrize(
    ("need", "is_decisive", "is_current"),
    [(Need.REQUIRED, True, False), (Need.IF_INSTALLED, True, True), (Need.EXPLAINS, False, True)],
)
async def test_what_it_means_that_a_kind_is_missing_stands_in_its_row(
    server: standin.StandIn, to_server: Client, need: Need, is_decisive: bool, is_current: bool
) -> None:
    server.will(standin.refuses(404, "NotFound", "the server could not find it"))
    row = replace(NEWS, need=need)
    async with Streams(to_server, (row,), HERE) as streams:
        while streams[row].state.last_error is None:
            await streams.wait(None)
            streams.look()
        assert (streams[row] in streams.decisive) is is_decisive
        assert streams[row].is_current is is_current


async def test_a_kind_whose_objects_were_seen_is_not_taken_for_one_that_is_not_installed(
    server: standin.StandIn, to_server: Client
) -> None:
    row = replace(NEWS, need=Need.IF_INSTALLED)
    server.will(standin.refuses(404, "NotFound", "the server could not find it"))
    async with Streams(to_server, (row,), HERE) as streams:
        stream = streams[row]
        while stream.state.last_error is None:
            await streams.wait(None)
            streams.look()
        assert stream.is_absent
        stream.wrote(an_item("a"))
        assert (stream.is_absent, stream.is_current) == (False, False)


@pytest.mark.parametrize(("need", "is_held"), [(Need.REQUIRED, True), (Need.EXPLAINS, False)])
async def test_an_unreadable_object_holds_the_cluster_only_where_decisions_rest_on_its_kind(
    server: standin.StandIn, to_server: Client, need: Need, is_held: bool
) -> None:
    server.will(standin.refuses(404, "NotFound", "the server could not find it"))
    row = replace(NEWS, need=need)
    async with Streams(to_server, (row,), HERE) as streams:
        streams[row].faults.note(an_item("odd").metadata, "a date")
        assert [found.name for found in streams.unreadable()] == (["odd"] if is_held else [])
