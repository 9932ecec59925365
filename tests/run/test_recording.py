"""What is recorded of the passes: all that decide something new, whole where a reader begins, else what changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seatrial.core.decision.decide import decide
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.passes import HEARD_FOR_EVER, Entry, Reader, decided_of
from seatrial.ports import Sight
from seatrial.run.recording import Recorder
from tests import builders

INTENT = builders.an_intent(unavailable_max=1)


class Chronicle:
    """A journal that is a list, and begins a new file when told to."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.is_full = False

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        data: dict[str, Any] = json.loads(json.dumps(fields))
        self.entries.append(Entry(where=f"line {len(self.entries) + 1}", at=at, kind=kind, fields=data))

    def turn(self, at: float) -> bool:  # noqa: ARG002
        was_full, self.is_full = self.is_full, False
        return was_full

    @property
    def kinds(self) -> list[str]:
        return ["whole" if "whole" in entry.fields else "changes" for entry in self.entries]


def waiting(**changes: Any) -> Snapshot:
    """A fleet of which nobody can move: both nodes are skipped, and the summary is written."""
    nodes = builders.a_fleet(2, NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    seen = builders.a_snapshot(*nodes, summarised_at=990.0)
    action = decide(seen, INTENT, builders.NOW).actions[0]
    summary = action.record.summary  # type: ignore[union-attr]
    return replace(seen, rollout=replace(seen.rollout, summary=summary), **changes)


def note(recorder: Recorder, seen: Snapshot, at: float = builders.NOW) -> None:
    recorder.note(at, Sight(seen=seen, intent=INTENT), decide(seen, INTENT, at))


def test_the_first_pass_is_told_whole_and_the_next_by_what_changed() -> None:
    chronicle = Chronicle()
    recorder = Recorder(chronicle)
    seen = builders.a_snapshot(builders.a_node("n1"), builders.a_node("n2"))
    note(recorder, seen)
    ready = builders.a_node("n2", NodePhase.UPGRADE_REQUIRED)
    note(recorder, replace(seen, nodes=dict(seen.nodes) | {"n2": ready}), 1001.0)
    assert chronicle.kinds == ["whole", "changes"]
    assert chronicle.entries[1].fields["changes"]["seen"] == {
        "nodes": {"set": {"n2": {"record": {"phase": "upgrade-required", "attempt": 1, "entered_at": 900.0}}}}
    }


def test_passes_that_decide_nothing_new_are_not_recorded_and_nothing_is_lost_with_them() -> None:
    chronicle = Chronicle()
    recorder = Recorder(chronicle)
    seen = waiting()
    note(recorder, seen)
    for second in range(1, 50):
        note(recorder, replace(seen, attentive_since=float(second)), builders.NOW + second)
    assert chronicle.kinds == ["whole"]
    last = replace(seen, attentive_since=50.0, nodes=dict(seen.nodes) | {"n1": builders.a_node("n1")})
    note(recorder, last, 1050.0)
    reader = Reader()
    assert [reader.read(entry).seen for entry in chronicle.entries] == [seen, last]


def test_the_first_pass_of_a_file_is_told_whole_even_when_nothing_is_new() -> None:
    chronicle = Chronicle()
    recorder = Recorder(chronicle)
    note(recorder, waiting())
    chronicle.is_full = True
    note(recorder, waiting())
    assert chronicle.kinds == ["whole", "whole"]


def test_a_stream_that_is_heard_of_all_the_time_costs_nothing_and_a_silent_one_is_told_exactly() -> None:
    chronicle = Chronicle()
    recorder = Recorder(chronicle)
    seen = builders.a_snapshot(builders.a_node("n1", NodePhase.UPGRADE_REQUIRED))
    for at, pods_heard_at in ((1000.0, 999.0), (1010.0, 999.5), (1200.0, 999.5)):
        streams = (
            Freshness(source="nodes", is_synced=True, heard_at=at),
            Freshness(source="pods", is_synced=True, heard_at=pods_heard_at),
        )
        note(recorder, replace(seen, freshness=streams), at)
    kept = [
        (entry.fields.get("whole") or entry.fields["changes"]).get("seen", {}).get("freshness")
        for entry in chronicle.entries
    ]
    fresh = [{"source": name, "is_synced": True, "heard_at": HEARD_FOR_EVER} for name in ("nodes", "pods")]
    assert kept == [fresh, None, [fresh[0], {"source": "pods", "is_synced": True, "heard_at": 999.5}]]
    reader = Reader()
    for entry in chronicle.entries:
        made = reader.read(entry)
        assert decided_of(decide(made.seen, made.intent, entry.at)) == made.decided
