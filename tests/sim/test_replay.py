"""Replay: what a loop decided is decided again from its journal alone, and the first difference is told exactly."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from seatrial import codec
from seatrial.codec import Undecodable
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.passes import Entry
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.replay import Difference, NothingRecorded, replay
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

TWO_AT_ONCE = an_intent(parallel_max=2, unavailable_max="100%")


class Chronicle:
    """A journal that is a list, as a reader would get it; every so many passes a new file is begun."""

    def __init__(self, file_passes: int = 1000) -> None:
        self.entries: list[Entry] = []
        self._file_passes = file_passes
        self._passes_left = file_passes

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        data: dict[str, Any] = json.loads(json.dumps(fields))
        self.entries.append(Entry(where=f"journal:{len(self.entries) + 1}", at=at, kind=kind, fields=data))

    def turn(self, at: float) -> bool:  # noqa: ARG002
        self._passes_left -= 1
        if self._passes_left:
            return False
        self._passes_left = self._file_passes
        return True


def recorded(world: World, chronicle: Chronicle | None = None) -> list[Entry]:
    """The journal of a whole run."""
    journal = chronicle or Chronicle()
    asyncio.run(
        run_forever(
            world.ports(journal),
            Memory(world.time),
            on_report=lambda _: None,
            is_over=lambda _: False,
            recorder=Recorder(journal),
        )
    )
    return journal.entries


def a_world(seed: int = 0) -> World:
    nodes = [new_node(f"n{number}", running=OLD, wanted=NEW, gpu_pod_count=number % 2) for number in range(1, 6)]
    fates = {"n2": Fate(driver_fails_on=NEW.version), "n4": Fate(is_eviction_blocked=True)}
    return World(nodes, TWO_AT_ONCE, fates=fates, seed=seed, started_at=1_750_000_000.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_rollout_with_failures_is_replayed_without_difference(seed: int) -> None:
    entries = recorded(a_world(seed))
    found = replay(entries)
    assert found.difference is None
    assert found.pass_count == sum(entry.kind == "pass" for entry in entries) > 50
    assert found.decision_count == sum(entry.kind == "act" for entry in entries) > 40


def test_what_others_do_on_the_way_is_replayed_too() -> None:
    world = a_world()

    def relabel(node: NodeSeen) -> NodeSeen:
        return replace(node, facts=replace(node.facts, labels={"rack": "9"}, is_skipped=True))

    world.at(world.time + 100, lambda world: world.change("n5", relabel))
    world.at(world.time + 200, lambda world: setattr(world, "intent", replace(world.intent, is_paused=True)))
    world.at(world.time + 9000, lambda world: setattr(world, "intent", replace(world.intent, is_paused=False)))
    world.at(world.time + 9500, lambda world: world.nodes.clear())
    assert replay(recorded(world)).difference is None


def test_every_file_of_a_journal_can_be_replayed_by_itself() -> None:
    entries = recorded(a_world(), Chronicle(file_passes=10))
    starts = [index for index, entry in enumerate(entries) if "whole" in entry.fields]
    assert len(starts) > 5
    for start in starts:
        assert replay(entries[start:]).difference is None


def test_whoever_waits_is_told_about_every_entry() -> None:
    entries, told = recorded(a_world()), list[int]()
    replay(entries, lambda: told.append(1))
    assert len(told) == len(entries)


# ── differences ──────────────────────────────────────────────────────────────────────────────────────────────────────


def difference(change: Callable[[dict[str, Any]], object]) -> Difference:
    """What is told when the first pass was recorded otherwise."""
    entries = recorded(a_world())
    fields = copy.deepcopy(dict(entries[0].fields))
    change(fields["whole"])
    found = replay([replace(entries[0], fields=fields), *entries[1:]])
    assert (found.pass_count, found.decision_count) == (0, 0)
    assert found.difference is not None
    assert (found.difference.where, found.difference.at) == ("journal:1", 1_750_000_000.0)
    return found.difference


def test_acts_that_are_decided_no_longer_and_newly_are_named() -> None:
    found = difference(lambda whole: whole["seen"]["nodes"].pop("n3"))
    assert found.sentences[:2] == (
        "no longer decided: n3/upgrade-required/1@1",
        "decided with other contents: spring/ledger/1",
    )
    assert set(found.recorded) - set(found.decided) == {"n3/upgrade-required/1@1"}
    found = difference(lambda whole: whole["decided"]["acts"].pop())
    assert found.sentences[0] == "newly decided: n5/upgrade-required/1@1"


def test_holds_that_changed_are_named() -> None:
    found = difference(lambda whole: whole["seen"]["nodes"]["n1"].update(fault="unreadable"))
    assert "n1: held by nothing, now by record-unreadable" in found.sentences


def test_a_stop_is_named_and_so_is_the_next_look() -> None:
    found = difference(lambda whole: whole["intent"].update(is_paused=True))
    assert "the rollout: stopped by nothing, now by paused {'rollout': 'spring'}" in found.sentences
    found = difference(lambda whole: whole["decided"].update(wake_at=7.0, digest="?"))
    assert found.sentences == ("the next look: 7.0, now None",)


def test_acts_in_another_order_are_a_difference() -> None:
    def swap(whole: dict[str, Any]) -> None:
        whole["decided"] |= {"acts": whole["decided"]["acts"][::-1], "digest": "?"}

    assert difference(swap).sentences == ("the acts come in another order",)


def test_a_difference_in_words_only_is_a_difference() -> None:
    found = difference(lambda whole: whole["decided"].update(digest="?"))
    assert found.sentences == ("the same acts and the same holds, but a hold says something else",)


def test_a_difference_of_a_whole_fleet_is_told_by_its_first_nodes() -> None:
    world = World([new_node(f"n{number}", running=OLD, wanted=NEW) for number in range(30)], TWO_AT_ONCE)
    entries = recorded(world)
    entries[0].fields["whole"]["intent"]["is_paused"] = True
    found = replay(entries).difference
    assert found is not None
    assert len(found.sentences) == 21
    assert found.sentences[-1].startswith("and ")


def test_the_replay_ends_with_the_first_difference() -> None:
    entries = recorded(a_world())
    passes = [index for index, entry in enumerate(entries) if entry.kind == "pass"]
    for index in (passes[7], passes[20]):
        entries[index].fields["changes"].setdefault("decided", {})["digest"] = "?"
    found = replay(entries)
    assert found.pass_count == 7
    assert found.difference is not None
    assert found.difference.where == f"journal:{passes[7] + 1}"


def test_a_difference_says_which_release_wrote_the_journal() -> None:
    head = Entry(where="journal:0", at=0.0, kind="head", fields={"version": "0.0.1"})
    entries = recorded(a_world())
    entries[0].fields["whole"]["decided"]["digest"] = "?"
    found = replay([head, *entries]).difference
    assert found is not None
    assert found.written_by == "0.0.1"


# ── what cannot be replayed ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_journal_without_a_pass_is_refused() -> None:
    acts = [entry for entry in recorded(a_world()) if entry.kind != "pass"]
    with pytest.raises(NothingRecorded, match="journal:2: no pass is recorded from here on"):
        replay(acts)


def test_a_pass_that_builds_on_what_is_not_there_is_refused() -> None:
    entries = recorded(a_world())
    second = next(index for index, entry in enumerate(entries) if "changes" in entry.fields)
    with pytest.raises(Undecodable, match=f"journal:{second + 1}: this pass builds on one that is not here"):
        replay(entries[second:])


def test_a_journal_of_another_schema_is_refused() -> None:
    entries = recorded(a_world())
    entries[0].fields["schema"] = codec.SCHEMA + 1  # type: ignore[index]
    with pytest.raises(
        Undecodable,
        match=rf"journal:1: written under schema {codec.SCHEMA + 1}, and this release reads {codec.SCHEMA}\. Replay it",
    ):
        replay(entries)


def test_a_pass_that_cannot_be_read_is_refused_with_the_place() -> None:
    entries = recorded(a_world())
    entries[0].fields["whole"]["seen"]["nodes"]["n1"]["facts"]["colour"] = "green"
    with pytest.raises(Undecodable, match=r"journal:1\.seen\.nodes\.n1\.facts: a NodeFacts has no colour"):
        replay(entries)
