"""Values as data: the same value again for any value, only what differs told, and no field ever forgotten."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial import codec
from seatrial.codec import Undecodable
from seatrial.core.decision.decide import Decision
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Drain, Policy
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target
from seatrial.passes import Pass
from tests import builders
from tests.traces import record

KINDS = (Snapshot, Intent, NodeSeen, OperatorFacts, Decision, Pass)


# ── any value of a type ──────────────────────────────────────────────────────────────────────────────────────────────


def some(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value of a type, drawn by the type alone; keys and texts are few, so that two draws have some in common."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _LEAVES:
        return _LEAVES[annotation]
    if annotation is types.NoneType:
        return st.none()
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(some, arguments))
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(some(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(some, arguments))
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.sampled_from(["a", "b", "gpu.product"]), some(arguments[1]), max_size=2)
    if issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    hints = typing.get_type_hints(annotation)
    return st.builds(annotation, **{each.name: some(hints[each.name]) for each in fields(annotation)})


_LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.sampled_from(["", "a", "null", 'é\n"\\']) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    int: st.integers(min_value=-(2**53), max_value=2**53),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Target: st.sampled_from(["565.77", "565.77.00", "580.105.08, firmware_cx7 28.43.2026"]).map(Target.parse),
    Selector: st.sampled_from(["", "a=b", "a=", "!a,b in (x,y)", "a notin (,x)", "a!=b,c"]).map(Selector.parse),
}

PLENTY = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def through_json(data: codec.Data) -> codec.Data:
    """As a reader gets it, whichever library writes and reads."""
    read = msgspec.json.decode(msgspec.json.encode(data))
    assert json.loads(json.dumps(data)) == read
    return read


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_any_value_comes_back_as_it_was(kind: type) -> None:
    @PLENTY
    @given(value=some(kind))
    def check(value: object) -> None:
        again: object = codec.decode(kind, through_json(codec.encode(value)))
        assert again == value
        assert codec.encode(again) == codec.encode(value)  # also what `==` does not look at: labels, a version's text

    check()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_any_change_leads_from_one_value_to_the_other(kind: type) -> None:
    @PLENTY
    @given(before=some(kind), after=some(kind))
    def check(before: object, after: object) -> None:
        again = codec.changed(before, through_json(codec.changes(before, after)))
        assert codec.encode(again) == codec.encode(after)

    check()


@PLENTY
@given(value=some(Snapshot))
def test_nothing_changed_is_nothing_told(value: Snapshot) -> None:
    assert codec.changes(value, codec.decode(Snapshot, codec.encode(value))) == {}
    assert codec.changed(value, {}) == value


# ── what data look like ──────────────────────────────────────────────────────────────────────────────────────────────


def test_what_has_its_default_is_left_out() -> None:
    assert codec.encode(NodeFacts(name="n1", is_cordoned=True)) == {"name": "n1", "is_cordoned": True}
    assert codec.encode(builders.an_intent(parallel_max=2)) == {
        "rollout": "spring",
        "target": "580.105.08",
        "policy": {"limits": {"parallel_max": 2}},
    }


def test_only_what_differs_is_told() -> None:
    before = builders.a_snapshot(
        builders.a_node("n1", NodePhase.UPGRADE_REQUIRED, labels={"rack": "1", "zone": "a"}), builders.a_node("n2")
    )
    node = before.nodes["n1"]
    facts = replace(node.facts, resource_version="8", labels={"rack": "2"}, is_cordoned=True)
    after = replace(
        before, nodes={"n1": replace(node, facts=facts, record=None), "n3": NodeSeen(facts=NodeFacts(name="n3"))}
    )
    labels = {"set": {"rack": "2"}, "gone": ["zone"]}
    n1 = {"facts": {"resource_version": "8", "labels": labels, "is_cordoned": True}, "record": None}
    assert codec.changes(before, after) == {
        "nodes": {"set": {"n1": n1, "n3": {"facts": {"name": "n3"}}}, "gone": ["n2"]}
    }


def test_what_is_its_default_again_is_told() -> None:
    before, after = Pod(namespace="a", name="b", uid="c", is_terminating=True), Pod(namespace="a", name="b", uid="c")
    assert codec.changes(before, after) == {"is_terminating": False}


def test_versions_that_are_equal_but_written_otherwise_are_a_change() -> None:
    """Sentences repeat the text, so a replay must, too."""
    two = [Intent(rollout="r", target=Target.of(text)) for text in ("565.77", "565.77.00")]
    assert two[0] == two[1]
    assert codec.changes(*two) == {"target": "565.77.00"}


def test_acts_with_the_same_fields_are_told_apart() -> None:
    node = builders.a_node()
    acts = [builders.written(node, NodePhase.CORDON_REQUIRED, by) for by in _writes()]
    told = codec.encode(Decision(actions=tuple(acts)))["actions"]
    assert [each["is"] for each in told] == ["WriteNodeRecord", "Cordon", "Uncordon", "PauseClients"]


def _writes() -> list[Any]:
    from seatrial.core.actions.on_nodes import Cordon, PauseClients, Uncordon, WriteNodeRecord

    return [WriteNodeRecord, Cordon, Uncordon, PauseClients]


def test_a_default_that_is_a_selector_is_left_out_and_comes_back() -> None:
    policy = Policy(drain=Drain(is_enabled=True))
    assert codec.encode(policy) == {"drain": {"is_enabled": True}}
    assert codec.decode(Policy, codec.encode(policy)) == policy


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "expected an object, found []"),
        ({}, "a NodeRecord has to have phase"),
        ({"phase": "dancing", "attempt": 1, "entered_at": 1.0}, "phase: 'dancing' is none of upgrade-required, "),
        ({"phase": "upgrade-done", "attempt": "1", "entered_at": 1.0}, "attempt: expected int, found '1'"),
        ({"phase": "upgrade-done", "attempt": True, "entered_at": 1.0}, "attempt: expected int, found True"),
        ({"phase": "upgrade-done", "attempt": 1, "entered_at": None}, "entered_at: expected float, found None"),
        (
            {"phase": "upgrade-done", "attempt": 1, "entered_at": 1, "mood": "good"},
            "a NodeRecord has no mood; was it written by another release of seatrial?",
        ),
        (
            {"phase": "upgrade-done", "attempt": 1, "entered_at": 1, "paused": [["a", "b"], ["c"]]},
            "paused.1: expected 2 items, found 1",
        ),
        (
            {"phase": "upgrade-done", "attempt": 1, "entered_at": 1, "before": {"resources": {}}},
            "before.resources: expected a list, found {}",
        ),
    ],
)
def test_data_that_are_no_such_value_are_refused_with_the_place(data: object, said: str) -> None:
    with pytest.raises(Undecodable) as refused:
        codec.decode(NodeRecord, data)
    assert str(refused.value).startswith(said)


def test_a_version_that_cannot_be_read_is_refused_with_its_own_words() -> None:
    with pytest.raises(Undecodable, match=r"target: GPU driver 'newest' is unreadable: expected branch.minor"):
        codec.decode(Intent, {"rollout": "r", "target": "newest"})


def test_a_change_of_what_was_not_there_is_refused() -> None:
    seen = builders.a_snapshot(builders.a_node("n1"))
    with pytest.raises(Undecodable, match="nodes: 'n2' is said to be gone, and was not there"):
        codec.changed(seen, {"nodes": {"gone": ["n2"]}})
    with pytest.raises(Undecodable, match="nodes: a change of a mapping has no n1"):
        codec.changed(seen, {"nodes": {"n1": {}}})


def test_a_type_nobody_taught_the_codec_is_a_bug_that_says_so() -> None:
    with pytest.raises(TypeError, match="cannot be recorded"):
        codec.decode(complex, {})


# ── every field ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_recorded_field_and_its_default_are_the_ones_that_journals_were_written_with() -> None:
    """Fields with their default are left out of journals, so a default that changes would change what was seen then."""
    assert record.recorded_fields() == json.loads(record.FIELDS.read_text(encoding="utf-8")), (
        "A type that journals hold has changed. A new field with a default: `python -m tests.traces.record --fields`. "
        "A field that is gone, renamed, or has another default: raise codec.SCHEMA as well, and run "
        "`python -m tests.traces.record`."
    )


def test_the_walk_finds_the_types_it_should() -> None:
    found = record.recorded_fields()
    assert {"Snapshot", "NodeSeen", "Pod", "Intent", "Share", "Hold", "Cordon", "DriverClaim", "Decided"} <= set(found)
    assert found["Share"] == {"amount": "int", "is_percent": "bool = false"}
