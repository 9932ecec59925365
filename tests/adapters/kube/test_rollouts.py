"""Which rollout is worked on, and what that costs where thousands have ended."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.adapters.kube.api.client import Client, EventKind, WatchEvent
from seatrial.adapters.kube.reading import rollout_items, table
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear
from seatrial.adapters.kube.reading.rollouts import Rollouts
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.streams.row import Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.core.campaign import choosing
from seatrial.core.model.seen.operators import OperatorFacts
from tests.adapters.kube import objects
from tests.adapters.kube.test_observe import Kinds, a_campaign, campaigning, observing
from tests.builders import NOW

OPERATOR = OperatorFacts()
DONE = {"campaign": {"phase": "Done"}}


def decoded(said: dict[str, Any]) -> models.Rollout:
    return msgspec.json.decode(msgspec.json.encode(said), type=models.Rollout)


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many steps the interpreter takes in here: the same on every machine."""
    steps, before = [0], sys.gettrace()

    def count(frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps[0] += event == "opcode"
        return count

    gc.collect()
    gc.disable()  # what a collection ends may have steps of its own
    sys.settrace(count)
    try:
        yield steps
    finally:
        sys.settrace(before)
        gc.enable()


async def steps_of_changes(kinds: Kinds, ended: int) -> dict[str, int]:
    """What a change costs up to the end of the look at it, by what has changed."""
    kinds.lists[keys.ROLLOUTS] += [a_campaign(f"old-{number:05}", status=DONE) for number in range(ended)]
    kinds.lists[keys.CLUSTER_POLICIES] = [objects.a_cluster_policy()]
    found = {}
    async with observing(kinds) as observer:
        policies, rollouts = observer.streams[table.POLICIES].store, observer.streams[table.ROLLOUTS].store
        policy = next(iter(policies))
        gone = rollout_items.item_of(decoded(a_campaign("old-00002", version="301", status=DONE)))
        changes: dict[str, Callable[[], object]] = {
            "nothing": lambda: None,
            "the one at work": lambda: observer.wrote_rollout(decoded(a_campaign(version="200"))),
            "one that ended": lambda: observer.wrote_rollout(
                decoded(a_campaign("old-00003", version="200", status=DONE))
            ),
            "the operator": lambda: policies.wrote(
                msgspec.structs.replace(
                    policy, metadata=msgspec.structs.replace(policy.metadata, resource_version="200")
                )
            ),
            "one that is gone": lambda: rollouts.apply(WatchEvent(kind=EventKind.DELETED, object=gone)),
        }
        observer.observe()
        for name, change in changes.items():
            with counted() as steps:
                change()
                assert observer.observe() is not None
                observer.current_rollout()
            found[name] = steps[0]
    return found


@pytest.mark.parametrize("spring", [{}, {"status": DONE}], ids=["one is at work", "all have ended"])
async def test_a_change_costs_the_same_however_many_rollouts_have_ended(spring: dict[str, Any]) -> None:
    few, many = campaigning(), campaigning()
    few.lists[keys.ROLLOUTS], many.lists[keys.ROLLOUTS] = [a_campaign(**spring)], [a_campaign(**spring)]
    assert await steps_of_changes(few, 10) == await steps_of_changes(many, 300)


# ── the same answer as from a look at every rollout ──────────────────────────────────────────────────────────────────

NAMES = ("autumn", "spring", "summer", "winter")
STATUSES: tuple[dict[str, Any], ...] = (
    {},
    *({"campaign": {"phase": phase}} for phase in ("Proposed", "Canary", "Done", "Reverted", "Dancing")),
    {"campaign": {"phase": "Done", "mode": "by-hand"}},
    {"state": "done"},
    {"state": "progressing"},
    {"state": "waiting", "holds": {"half-done": 1}},
)
SPECS: tuple[dict[str, Any], ...] = (
    {},
    {"abort": "it broke"},
    {"limits": {"maxUnavailable": "many"}},
    *({"after": name} for name in NAMES),
)


@st.composite
def rollouts_said(draw: st.DrawFn) -> dict[str, Any]:
    said = objects.a_rollout(draw(st.sampled_from(NAMES)), **draw(st.sampled_from(SPECS)))
    said["status"] = draw(st.sampled_from(STATUSES))
    said["metadata"]["creationTimestamp"] = draw(st.sampled_from(("2026-03-01T00:00:00Z", "2026-06-01T00:00:00Z")))
    if draw(st.booleans()):
        said["metadata"] |= {"deletionTimestamp": "2026-07-01T00:00:00Z", "finalizers": [keys.FINALIZER]}
    return said


def by_a_look_at_each(held: dict[str, models.Rollout]) -> str:
    """Whose turn it is, by the rule as it is written down."""
    items = [item for item in map(rollout_items.item_of, held.values()) if not item.fault]
    return choosing.whose_turn(
        [(item.metadata.creation_timestamp, item.record) for item in items if item.record is not None],
        {item.metadata.name: item.read().spec.after for item in items},
        {item.metadata.name for item in items if item.read().spec.abort},
        {item.metadata.name for item in items if item.waits_for_us},
    )


@settings(max_examples=300)
@given(changes=st.lists(st.tuples(rollouts_said(), st.booleans()), min_size=1, max_size=12))
def test_after_any_changes_the_turn_is_whose_it_is_by_a_look_at_every_rollout(
    changes: list[tuple[dict[str, Any], bool]],
) -> None:
    streams = Streams(Client.__new__(Client), [table.ROLLOUTS], Where(namespace="gpu-operator", home=keys.HOME))
    rollouts = Rollouts(streams, operator=lambda: OPERATOR, now=lambda: NOW)
    held: dict[str, models.Rollout] = {}
    store = streams[table.ROLLOUTS].store
    for number, (said, is_there) in enumerate(changes):
        said["metadata"]["resourceVersion"] = str(number + 1)
        rollout = decoded(said)
        kind = EventKind.MODIFIED if is_there else EventKind.DELETED
        store.apply(WatchEvent(kind=kind, object=rollout_items.item_of(rollout)))
        held.pop(rollout.metadata.name, None)
        if is_there:
            held[rollout.metadata.name] = rollout
        if len(held) > 1:
            try:
                found = rollouts.find()
            except RolloutUnclear:
                assert not by_a_look_at_each(held)
            else:
                assert (found.metadata.name if found is not None else "") == by_a_look_at_each(held)
