"""An object that cannot be read costs what depends on it, by name, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.kube.api.client import EventKind, Listing, WatchEvent
from seatrial.adapters.kube.api.decoding import BareMetadata, decoder_of
from seatrial.adapters.kube.reading import bare, project, rollout_intent, table
from seatrial.adapters.kube.reading.rollout_items import RolloutUnreadable
from seatrial.adapters.kube.shapes import keys, records
from seatrial.adapters.kube.streams.projection import REPORTED_MAX, Faults, projected
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.streams.stream import Stream
from seatrial.bugs import Bug, Guard
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.problems import UnreadableObject
from seatrial.core.model.seen.snapshot import Snapshot
from tests.adapters.kube import objects
from tests.adapters.kube.test_observe import REVISIONS, Kinds, observing, seen_by, until
from tests.builders import NOW

ALL_ROWS = sorted(
    {row for row in vars(table).values() if isinstance(row, Row)},
    key=lambda row: (row.name, row.label_selector, row.field_selector),
)
WHERE = Where(namespace="gpu-operator", home="seatrial")


def poisoned(row: Row[Any, Any], monkeypatch: pytest.MonkeyPatch, observer: Any, name: str) -> None:
    """Let the projection of one object of a row raise."""
    stream = observer.streams[row]
    slim = stream._slim

    def raising(raw: Any) -> Any:
        if raw.metadata.name == name:
            raise ZeroDivisionError("a value that nothing foresaw")
        return slim(raw)

    monkeypatch.setattr(stream, "_slim", raising)


def unreadable_on(seen: Snapshot, node: str) -> tuple[str, ...]:
    return tuple(each.full_name for each in seen.nodes[node].facts.unreadable)


async def test_a_node_that_cannot_be_read_counts_as_unavailable_and_the_others_are_seen_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds, bugs = Kinds(), list[Bug]()
    async with observing(kinds, on_bug=bugs.append) as observer:
        poisoned(table.NODES, monkeypatch, observer, "n1")
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="101"))
        seen = await until(observer, lambda seen: bool(unreadable_on(seen, "n1")))
        assert unreadable_on(seen, "n1") == ("nodes n1",)
        assert seen.nodes["n1"].facts.is_unavailable
        assert not seen.nodes["n2"].facts.is_unavailable
        assert [(bug.guard, bug.subject) for bug in bugs] == [(Guard.PROJECTION, "nodes n1")]
        assert "ZeroDivisionError" in bugs[0].traceback
        monkeypatch.undo()
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="102"))
        seen = await until(observer, lambda seen: not unreadable_on(seen, "n1"))
        assert not seen.nodes["n1"].facts.is_unavailable


async def test_a_node_that_is_gone_is_not_held_for_what_could_not_be_read_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        poisoned(table.NODES, monkeypatch, observer, "n1")
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="101"))
        await until(observer, lambda seen: bool(unreadable_on(seen, "n1")))
        kinds.tell("DELETED", keys.NODES, objects.a_node("n1", version="102"))
        await until(observer, lambda seen: "n1" not in seen.nodes)
        assert len(observer.streams[table.NODES].faults) == 0


async def test_a_node_whose_parts_cannot_be_joined_keeps_what_was_last_seen_and_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds, bugs = Kinds(), list[Bug]()
    async with observing(kinds, on_bug=bugs.append) as observer:
        before = seen_by(observer).nodes["n1"]
        whole = project.node_facts

        def raising(item: Any, *args: Any) -> Any:
            if item.metadata.name == "n1":
                raise RecursionError("deep")
            return whole(item, *args)

        monkeypatch.setattr(project, "node_facts", raising)
        for version in ("101", "102"):
            kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version=version))
            kinds.tell("MODIFIED", keys.NODES, objects.a_node("n2", version=version))
            seen = await until(observer, lambda seen: seen.nodes["n2"].facts.resource_version == version)  # noqa: B023
        assert unreadable_on(seen, "n1") == ("nodes n1",)
        assert seen.nodes["n1"].facts.driver == before.facts.driver
        assert seen.nodes["n1"].facts.is_unavailable
        assert [bug.subject for bug in bugs] == ["nodes n1"]


@pytest.mark.parametrize(("namespace", "is_tenants"), [(objects.NAMESPACE, False), ("team-a", True)])
async def test_a_pod_that_cannot_be_read_is_named_on_its_node_and_a_tenants_pod_as_such(
    namespace: str, is_tenants: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        poisoned(table.PODS, monkeypatch, observer, "odd")
        kinds.tell("ADDED", keys.PODS, objects.a_pod("odd", node="n1", namespace=namespace))
        seen = await until(observer, lambda seen: bool(unreadable_on(seen, "n1")))
        (found,) = seen.nodes["n1"].facts.unreadable
        assert (found.full_name, found.is_tenants) == (f"pods {namespace}/odd", is_tenants)
        assert seen.nodes["n1"].facts.is_unavailable is not is_tenants
        assert not unreadable_on(seen, "n2")


async def test_a_revision_that_cannot_be_read_stops_every_disruption_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS][0]["metadata"]["finalizers"] = [keys.FINALIZER]
    async with observing(kinds) as observer:
        poisoned(table.REVISIONS, monkeypatch, observer, "new")
        newer = {**objects.a_revision("new", number=3, driver=objects.NEW)}
        newer["metadata"] = {**newer["metadata"], "resourceVersion": "101"}
        kinds.tell("MODIFIED", REVISIONS, newer)
        await until(observer, lambda seen: bool(seen.unreadable_objects))
        sight = observer.observe()
        assert sight is not None
        stop = decide(replace(sight.seen, freshness=()), sight.intent, NOW).stop
        assert stop is not None
        assert stop.code is HoldCode.UNREADABLE_OBJECT
        assert [each.full_name for each in sight.seen.unreadable_objects] == [
            f"controllerrevisions {objects.NAMESPACE}/new"
        ]


async def test_an_object_of_the_wrong_types_is_named_and_its_list_is_taken_all_the_same() -> None:
    kinds = Kinds()
    odd = objects.a_node("odd")
    odd["metadata"]["annotations"] = {"a": 1}
    kinds.lists[keys.NODES].append(odd)
    async with observing(kinds) as observer:
        seen = seen_by(observer)
        assert unreadable_on(seen, "odd") == ("nodes odd",)
        assert not unreadable_on(seen, "n1")
        worse = objects.a_node("n2", version="101")
        worse["spec"] = {"unschedulable": "no"}
        kinds.tell("MODIFIED", keys.NODES, worse)
        await until(observer, lambda seen: bool(unreadable_on(seen, "n2")))
        kinds.tell("DELETED", keys.NODES, odd | {"metadata": {**odd["metadata"], "resourceVersion": "102"}})
        await until(observer, lambda seen: "odd" not in seen.nodes)


async def test_a_rollout_over_which_reading_raises_is_unreadable_and_the_next_one_has_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds, faults, bugs = Kinds(), list[str](), list[Bug]()
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(), objects.a_rollout(name="second")]
    whole = rollout_intent.read_intent

    def raising(rollout: Any, *args: Any, **named: Any) -> Any:
        if rollout.metadata.name != "second":
            raise OverflowError("too large")
        return whole(rollout, *args, **named)

    monkeypatch.setattr(rollout_intent, "read_intent", raising)
    async with observing(kinds, faults=faults, on_bug=bugs.append) as observer:
        sight = observer.observe()
        assert sight is not None
        assert sight.intent.rollout == "second"
        assert [why for _, why in sight.seen.unreadable] == ["OverflowError: too large"]
        assert bugs[0].guard is Guard.PROJECTION


async def test_a_rollout_that_is_set_aside_lets_the_next_one_have_its_turn_and_comes_back() -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(), objects.a_rollout(name="second")]
    async with observing(kinds) as observer:
        first = observer.observe()
        assert first is not None
        name = observer.set_aside("ZeroDivisionError")
        assert name == first.intent.rollout
        second = observer.observe()
        assert second is not None
        assert second.intent.rollout != name
        assert second.seen.set_aside == ((name, "ZeroDivisionError"),)
        observer._rollouts._now = lambda: first.seen.freshness[0].heard_at + 3600.0
        third = observer.observe()
        assert third is not None
        assert third.intent.rollout == name


async def test_the_only_rollout_set_aside_leaves_nothing_to_look_at_and_ends_nothing() -> None:
    async with observing(Kinds()) as observer:
        observer.observe()
        observer.set_aside("ZeroDivisionError")
        assert observer.observe() is None


async def test_a_rollout_that_a_controller_is_for_alone_is_set_aside_like_any_other() -> None:
    async with observing(Kinds(), rollout="spring") as observer:
        assert observer.observe() is not None
        assert observer.set_aside("ZeroDivisionError") == "spring"
        assert observer.observe() is None


async def test_a_clock_put_back_by_a_day_does_not_keep_a_rollout_set_aside_for_a_day() -> None:
    async with observing(Kinds()) as observer:
        found = observer.observe()
        assert found is not None
        observer.set_aside("ZeroDivisionError")
        observer._rollouts._now = lambda: found.seen.freshness[0].heard_at - 86_400.0
        assert observer.observe() is not None


async def test_a_claim_that_cannot_be_read_does_not_hold_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Kinds()
    kinds.lists[keys.RESOURCE_CLAIMS[0]] = []
    async with observing(kinds) as observer:
        poisoned(table.CLAIMS, monkeypatch, observer, "odd")
        kinds.tell("ADDED", keys.RESOURCE_CLAIMS[0], objects.a_claim("odd"))
        seen = await until(observer, lambda _: len(observer.streams[table.CLAIMS].faults) > 0)
        assert seen.unreadable_objects == ()


async def test_a_node_that_cannot_be_joined_stays_so_beside_a_tenants_pod_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds, whole = Kinds(), records.read_node

    def raising(facts: NodeFacts, *args: str) -> Any:
        if facts.name == "n1":
            raise OverflowError("too large")
        return whole(facts, *args)

    async with observing(kinds) as observer:
        monkeypatch.setattr(records, "read_node", raising)
        poisoned(table.PODS, monkeypatch, observer, "odd")
        kinds.tell("ADDED", keys.PODS, objects.a_pod("odd", node="n1"))
        seen = await until(observer, lambda seen: "pods jobs/odd" in unreadable_on(seen, "n1"))
        assert unreadable_on(seen, "n1") == ("nodes n1", "pods jobs/odd")
        assert seen.nodes["n1"].facts.is_unavailable


def test_an_object_that_cannot_be_read_keeps_its_own_last_state_and_not_that_of_one_with_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Stream(table.PODS, WHERE, on_change=lambda *_: None, on_state=lambda: None, on_back=lambda *_: None)

    def pod(uid: str) -> Any:
        return decoder_of(table.PODS.model).decode(json.dumps(objects.a_gpu_pod("same", uid=uid)).encode())

    stream._event(WatchEvent(kind=EventKind.ADDED, object=pod("first")))
    held = stream.store.get(("jobs", "same"))
    monkeypatch.setattr(stream, "_slim", lambda _raw: 1 // 0)
    assert held is not None
    assert stream._keep(pod("first")) is held
    assert stream._keep(pod("second")) is None


# ── every row ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", ALL_ROWS, ids=lambda row: f"{row.name} {row.label_selector}{row.field_selector}")
@pytest.mark.parametrize("error", [ValueError("a date"), RecursionError("deep"), KeyError("x"), OverflowError("large")])
async def test_whatever_the_projection_of_any_kind_raises_is_a_fault_with_the_objects_name(
    row: Row[Any, Any], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    bugs: list[Bug] = []
    stream = Stream(
        row, WHERE, on_change=lambda *_: None, on_state=lambda: None, on_back=lambda *_: None, on_bug=bugs.append
    )

    def raising(_raw: Any) -> Any:
        raise error

    monkeypatch.setattr(stream, "_slim", raising)
    raw = json.dumps({"metadata": {"name": "x", "namespace": "team-a", "uid": "u", "resourceVersion": "7"}})
    item = stream._keep(decoder_of(row.model).decode(raw.encode()))
    await stream._sync(Listing(items=() if item is None else (item,), resource_version="7"))
    assert [bug.subject.endswith("team-a/x") for bug in bugs] == [True]
    assert len(stream.faults) == 1
    assert (item is not None) is (row.bare is not None)


def test_running_out_of_memory_is_not_taken_for_a_bad_object() -> None:
    def starve() -> str:
        raise MemoryError

    with pytest.raises(MemoryError):
        projected(starve, str)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["n1", "n2", ""]), st.booleans()), max_size=30))
def test_faults_are_found_by_node_for_as_long_as_they_last(steps: list[tuple[str, str, bool]]) -> None:
    faults, expected = Faults("pods", lambda _bug: None), dict[str, str]()
    for name, node, is_bad in steps:
        meta = bare_meta(name)
        if is_bad:
            faults.note(meta, "why", (node,) if node else ())
            expected[name] = node
        else:
            faults.clear(meta)
            expected.pop(name, None)
        for each in ("n1", "n2"):
            assert {found.name for found in faults.about(each)} == {key for key, at in expected.items() if at == each}
        assert {found.name for found in faults.about_none()} == {key for key, at in expected.items() if not at}


def test_a_tenant_cannot_fill_the_log_with_tracebacks() -> None:
    bugs: list[Bug] = []
    faults = Faults("pods", bugs.append)
    for number in range(3 * REPORTED_MAX):
        faults.note(bare_meta(f"p{number}"), ValueError(f"odd {number}"))
    assert len([bug for bug in bugs if bug.traceback]) == REPORTED_MAX
    assert len(bugs) == 3 * REPORTED_MAX


def test_a_list_ends_the_faults_of_objects_that_it_does_not_have() -> None:
    faults = Faults("pods", lambda _bug: None)
    faults.note(bare_meta("gone"), "why", ("n1",))
    faults.begin()
    faults.note(bare_meta("here"), "why", ("n2",))
    assert faults.end() == frozenset({"n1"})
    assert [found.name for found in faults.about("n2")] == ["here"]


def test_an_object_found_on_another_node_is_news_for_the_node_that_it_left() -> None:
    faults = Faults("pods", lambda _bug: None)
    assert faults.note(bare_meta("web-0"), "why", ("n1",)) == frozenset({"n1"})
    assert faults.note(bare_meta("web-0"), "why", ("n2",)) == frozenset({"n1", "n2"})


async def test_an_object_that_was_deleted_while_the_watch_was_cut_is_no_fault_after_the_next_list() -> None:
    stream = Stream(table.PODS, WHERE, on_change=lambda *_: None, on_state=lambda: None, on_back=lambda *_: None)
    stream.faults.note(bare_meta("gone"), "why", ("n1",))
    stream.faults.begin()
    await stream._sync(Listing(items=(), resource_version="8"))
    assert len(stream.faults) == 0


def bare_meta(name: str) -> Any:
    return BareMetadata(name=name, namespace="team-a", uid=name, resource_version="1")


# ── what is kept all the same ────────────────────────────────────────────────────────────────────────────────────────


def test_a_budget_that_cannot_be_read_allows_nothing_in_its_namespace() -> None:
    raw: Any = SimpleNamespace(metadata=bare_meta("b"))
    budget = bare.budget_item(raw, "why").budget
    assert budget.allowed == 0
    assert budget.covers("team-a", (("app", "x"),))
    assert not budget.covers("team-b", (("app", "x"),))


def test_a_pod_of_the_stack_is_no_tenants_wherever_its_part_of_the_stack_is_installed() -> None:
    stack = ("gpu-operator", "seatrial", keys.NETWORK_NAMESPACE, *keys.DRA_NAMESPACES)
    assert [namespace for namespace in (*stack, "team-a") if bare.is_tenants(WHERE, namespace)] == ["team-a"]


def test_a_claim_that_cannot_be_read_is_one_that_may_hold_a_gpu() -> None:
    raw: Any = SimpleNamespace(metadata=bare_meta("c"))
    assert not bare.claim_item(raw, "why").claim.is_readable


def test_a_rollout_that_cannot_be_decoded_holds_itself_and_counts_as_begun() -> None:
    raw: Any = SimpleNamespace(metadata=bare_meta("r"))
    item = bare.rollout_item(raw, "why")
    assert item.has_begun
    with pytest.raises(RolloutUnreadable, match="why"):
        item.read()


def test_the_name_that_is_shown_of_an_object_says_where_it_is() -> None:
    assert UnreadableObject(kind="nodes", name="n1", why="").full_name == "nodes n1"
