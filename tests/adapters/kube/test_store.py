"""Versions decide, not the order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import store
from tests.adapters.kube.models import Item, Meta


def an_item(name: str, version: int | str, uid: str = "") -> Item:
    return Item(metadata=Meta(name=name, uid=uid or f"uid-{name}", resource_version=str(version)))


def a_list(version: int | str, *items: Item) -> clients.Listing[Item]:
    return clients.Listing(items=items, resource_version=str(version))


def added(item: Item) -> clients.WatchEvent[Item]:
    return clients.WatchEvent(kind=clients.EventKind.ADDED, object=item)


def deleted(item: Item) -> clients.WatchEvent[Item]:
    return clients.WatchEvent(kind=clients.EventKind.DELETED, object=item)


def version_of(item: Item | None) -> str | None:
    return None if item is None else item.metadata.resource_version


@pytest.fixture(params=[store.by_uid, store.by_name])
def held(request: pytest.FixtureRequest) -> store.Store[Item]:
    key: Callable[[Item], Hashable] = request.param
    return store.Store(key=key)


def test_the_answer_to_our_write_is_known_before_the_watch_tells_it(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7)))

    held.wrote(an_item("a", 14))
    held.apply(added(an_item("a", 12)))

    assert list(held) == [an_item("a", 14)]


def test_a_late_answer_does_not_bring_a_deleted_object_back(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7)))
    held.apply(deleted(an_item("a", 15)))

    held.wrote(an_item("a", 13))

    assert len(held) == 0


def test_a_late_answer_does_not_bring_back_what_a_list_no_longer_had(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7)))
    held.sync(a_list(20))

    held.wrote(an_item("a", 13))

    assert len(held) == 0


def test_an_object_that_comes_back_into_the_selection_is_there_again(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7)))
    held.apply(deleted(an_item("a", 15)))

    held.apply(added(an_item("a", 18)))

    assert list(held) == [an_item("a", 18)]


def test_what_we_created_after_a_list_was_taken_survives_it(held: store.Store[Item]) -> None:
    held.wrote(an_item("a", 12))

    held.sync(a_list(10))

    assert list(held) == [an_item("a", 12)]


def test_a_list_older_than_our_write_does_not_undo_it(held: store.Store[Item]) -> None:
    held.wrote(an_item("a", 12))

    held.sync(a_list(10, an_item("a", 7)))

    assert list(held) == [an_item("a", 12)]


def test_a_list_of_a_restored_cluster_replaces_everything(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7), an_item("b", 8), an_item("c", 9)))
    held.apply(added(an_item("a", 30)))
    held.apply(added(an_item("ghost", 31)))
    held.apply(deleted(an_item("b", 32)))
    held.wrote(an_item("c", 33))

    held.begin()
    is_back = held.sync(a_list(20, an_item("a", 7), an_item("b", 8), an_item("c", 9)))

    assert is_back
    assert list(held) == [an_item("a", 7), an_item("c", 9), an_item("b", 8)]


def test_what_happens_in_a_restored_cluster_is_seen_although_its_numbers_are_old(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7)))
    held.apply(added(an_item("a", 30)))
    held.begin()
    held.sync(a_list(20, an_item("a", 7)))

    held.apply(added(an_item("a", 21)))
    held.wrote(an_item("b", 22))
    held.begin()
    is_back = held.sync(a_list(23, an_item("a", 21), an_item("b", 22)))

    assert not is_back
    assert list(held) == [an_item("a", 21), an_item("b", 22)]


def test_a_restored_cluster_whose_numbers_were_moved_on_is_told_by_an_older_object(held: store.Store[Item]) -> None:
    held.sync(a_list(10, an_item("a", 7)))
    held.apply(added(an_item("a", 30)))

    held.begin()
    is_back = held.sync(a_list(1_000_000, an_item("a", 7)))

    assert is_back
    assert list(held) == [an_item("a", 7)]


def test_a_write_answered_while_a_list_is_on_its_way_is_no_sign_of_a_restored_cluster(
    held: store.Store[Item],
) -> None:
    held.sync(a_list(10, an_item("a", 7)))
    held.begin()
    held.wrote(an_item("a", 14))
    held.wrote(an_item("b", 15))

    is_back = held.sync(a_list(12, an_item("a", 7)))

    assert not is_back
    assert list(held) == [an_item("a", 14), an_item("b", 15)]


def test_the_end_of_the_predecessor_does_not_remove_the_successor_of_the_same_name() -> None:
    held: store.Store[Item] = store.Store(key=store.by_name)
    held.sync(a_list(10, an_item("a", 7, uid="old")))
    held.wrote(an_item("a", 14, uid="new"))

    held.apply(deleted(an_item("a", 13, uid="old")))

    assert list(held) == [an_item("a", 14, uid="new")]


def test_versions_that_are_no_numbers_leave_the_word_to_the_watch(held: store.Store[Item]) -> None:
    held.sync(a_list("x", an_item("a", "p")))

    held.wrote(an_item("a", "q"))
    held.wrote(an_item("b", "q"))
    assert list(held) == [an_item("a", "p")]

    held.apply(added(an_item("a", "r")))
    assert list(held) == [an_item("a", "r")]

    held.sync(a_list("y"))
    assert len(held) == 0


def test_each_change_is_told_once_with_before_and_after() -> None:
    told: list[tuple[str | None, str | None]] = []

    def on_change(before: Item | None, after: Item | None) -> None:
        told.append((version_of(before), version_of(after)))

    held: store.Store[Item] = store.Store(key=store.by_name, on_change=on_change)
    held.sync(a_list(10, an_item("a", 7), an_item("b", 8)))
    held.wrote(an_item("a", 11))
    held.apply(added(an_item("a", 11)))  # the echo of our own write
    held.apply(deleted(an_item("b", 12)))
    held.sync(a_list(20))

    assert told == [(None, "7"), (None, "8"), ("7", "11"), ("8", None), ("11", None)]
    assert held.get(("", "a")) is None


def test_the_memory_of_deleted_objects_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_DELETED_MAX", 1)
    held: store.Store[Item] = store.Store()
    held.apply(deleted(an_item("a", 5)))
    held.apply(deleted(an_item("b", 6)))

    held.wrote(an_item("a", 4))

    assert [item.metadata.name for item in held] == ["a"]


# ── long lists ───────────────────────────────────────────────────────────────────────────────────────────────────────

MANY = 20 * 500


def many(version: int) -> list[Item]:
    return [an_item(f"i{number}", version) for number in range(MANY)]


def test_a_long_list_is_taken_in_short_steps_and_is_torn_until_the_last() -> None:
    """In one step the loop stood still for as long as 100,000 pods take; whoever looks between steps is warned."""
    told = 0

    def on_change(_before: Item | None, _after: Item | None) -> None:
        nonlocal told
        told += 1

    held: store.Store[Item] = store.Store(key=store.by_name, on_change=on_change)
    costs: list[int] = []
    torn: list[bool] = []
    for said in held.syncing(a_list(10, *many(7))):
        costs.append(told - sum(costs))
        torn.append(held.is_torn)
        assert (said is None) == (len(held) < MANY)
    assert max(costs) <= 500
    assert sum(costs) == MANY
    assert [0 < sum(costs[: at + 1]) < MANY for at in range(len(costs))] == torn
    assert not held.is_torn


def test_a_long_list_in_which_little_is_new_is_taken_at_once() -> None:
    held: store.Store[Item] = store.Store(key=store.by_name)
    held.sync(a_list(10, *many(7)))
    changed = [an_item("i0", 11), *many(7)[1:-1], an_item("new", 12)]
    looks = [(held.is_torn, len(held), version_of(held.get(("", "i0")))) for _ in held.syncing(a_list(20, *changed))]
    assert set(looks[:-1]) == {(False, MANY, "7")}
    assert looks[-1] == (False, MANY, "11")
    assert (held.get(("", "new")), held.get(("", f"i{MANY - 1}"))) == (an_item("new", 12), None)


def test_what_we_write_between_two_steps_of_a_list_is_not_taken_back_by_it() -> None:
    held: store.Store[Item] = store.Store(key=store.by_name)
    held.sync(a_list(10, *many(7)))
    held.begin()
    steps = held.syncing(a_list(20, *many(15)[1:]))
    next(steps)
    held.wrote(an_item("i0", 21))
    held.wrote(an_item("i1", 22))
    assert [said for said in steps if said is not None] == [False]
    assert [version_of(held.get(("", name))) for name in ("i0", "i1", "i2")] == ["21", "22", "15"]
