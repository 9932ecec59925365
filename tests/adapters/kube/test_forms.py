"""A value is kept as its fields declare: what is written is read again, and what cannot be read says where."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import forms
from seatrial.core.model.fields import kept
from seatrial.core.model.instants import Instant


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    name: str
    is_ripe: bool = False
    colour: Colour | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    name: str = field(metadata=kept("What it is called."))
    planted_at: Instant = 0.0
    leaf_count: int = field(default=0, metadata=kept(name="leaves"))
    height: float = 0.0
    is_ours: bool = field(default=False, metadata=kept(name="owner", yes="us"))
    best: Leaf | None = None
    leaves: tuple[Leaf, ...] = field(default=(), metadata=kept(name="listed"))
    marks: tuple[tuple[str, Instant], ...] = ()
    notes: tuple[tuple[str, str], ...] = field(default=(), metadata=kept(pair=("by", "text")))
    owners: tuple[tuple[str, Leaf], ...] = field(default=(), metadata=kept(pair=("owner", "")))
    age: int = field(default=0, metadata=kept(is_always_written=True))
    kind: str = field(default="tree", metadata=kept(is_required=True))
    rings: tuple[int, ...] = field(default=(1, 2), metadata=kept(count=2))
    words: str = field(default="", metadata=kept(is_long=True))
    seen_at: Instant = field(default=0.0, metadata=kept(is_informative=True))
    grower: str = field(default="", metadata=kept(is_left_out=True))


WHOLE = Tree(
    name="oak",
    planted_at=1767323045.25,
    leaf_count=3,
    height=2.0,
    is_ours=True,
    best=Leaf(name="a", is_ripe=True, colour=Colour.RED),
    leaves=(Leaf(name="b"), Leaf(name="c", colour=Colour.BLUE)),
    marks=(("cut", 60.0),),
    notes=(("gpu-01", "it grows"),),
    owners=(("gpu-02", Leaf(name="d")),),
    rings=(4, 5),
    words="one\ntwo",
    seen_at=120.0,
)
WRITTEN = {
    "name": "oak",
    "plantedAt": "2026-01-02T03:04:05.250Z",
    "leaves": 3,
    "height": 2.0,
    "owner": "us",
    "best": {"name": "a", "ripe": True, "colour": "red"},
    "listed": [{"name": "b"}, {"name": "c", "colour": "blue"}],
    "marks": {"cut": "1970-01-01T00:01:00.000Z"},
    "notes": [{"by": "gpu-01", "text": "it grows"}],
    "owners": [{"owner": "gpu-02", "name": "d"}],
    "age": 0,
    "kind": "tree",
    "rings": [4, 5],
    "words": "one\ntwo",
    "seenAt": "1970-01-01T00:02:00.000Z",
}


def test_a_value_is_written_by_its_names_outside_and_read_again() -> None:
    assert forms.write(WHOLE) == WRITTEN
    assert forms.read(Tree, WRITTEN, "tree") == WHOLE


def test_a_field_with_its_default_is_left_out_and_what_is_left_out_has_its_default() -> None:
    assert forms.write(Tree(name="elm")) == {"name": "elm", "age": 0, "kind": "tree"}
    assert forms.read(Tree, {"name": "elm", "kind": "tree", "height": None}, "tree") == Tree(name="elm")


def test_a_field_that_something_else_says_is_given_to_the_reader() -> None:
    assert forms.read(Tree, {"name": "elm", "kind": "tree", "grower": "wind"}, "tree", grower="bird") == Tree(
        name="elm", grower="bird"
    )


def test_a_whole_number_is_read_where_a_number_belongs() -> None:
    assert type(forms.read(Tree, {"name": "elm", "kind": "tree", "height": 2}, "tree").height) is float


def test_text_is_cleaned_when_it_is_read() -> None:
    read = forms.read(Tree, {"name": "e\x1b[31mlm\nx", "kind": "tree", "words": "a\x00\nb"}, "tree")
    assert (read.name, read.words) == ("elm x", "a\N{REPLACEMENT CHARACTER}\nb")


def test_what_a_later_release_added_is_passed_over_and_is_not_ours() -> None:
    later = {"name": "elm", "kind": "tree", "moon": 1, "best": {"name": "a", "moon": 2}}
    assert forms.read(Tree, later, "tree") == Tree(name="elm", best=Leaf(name="a"))
    assert forms.known(Tree, later) == {"name": "elm", "kind": "tree", "best": {"name": "a"}}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, "tree: name is missing"),
        ({"kind": None}, "tree: kind is missing"),
        ({"name": 3}, "tree.name: expected string, found 3"),
        ({"leaves": True}, "tree.leaves: expected integer, found True"),
        ({"leaves": 1.5}, "tree.leaves: expected integer, found 1.5"),
        ({"height": "tall"}, "tree.height: expected number, found 'tall'"),
        ({"plantedAt": "soon"}, "tree.plantedAt: Invalid isoformat string: 'soon'"),
        ({"plantedAt": 7}, "tree.plantedAt: expected a time, found 7"),
        ({"best": []}, "tree.best: expected object, found []"),
        ({"best": {"ripe": True}}, "tree.best: name is missing"),
        ({"listed": {"name": "a"}}, "tree.listed: expected array, found {'name': 'a'}"),
        ({"listed": [{"name": "a"}, {"name": 4}]}, "tree.listed[1].name: expected string, found 4"),
        ({"listed": [{"name": "a", "colour": "green"}]}, "tree.listed[0].colour: 'green' is none of red, blue."),
        ({"marks": {"cut": "soon"}}, "tree.marks.cut: Invalid isoformat string: 'soon'"),
        ({"notes": [{"by": "x"}]}, "tree.notes[0]: text is missing"),
        ({"owners": [{"owner": "x", "name": 1}]}, "tree.owners[0].name: expected string, found 1"),
        ({"rings": [1]}, "tree.rings: 2 entries belong here, not 1."),
        ({"rings": 7}, "tree.rings: expected array, found 7"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_belongs_there(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(forms.Unreadable) as caught:
        forms.read(Tree, {"name": "elm", "kind": "tree", **said} if said else {}, "tree")
    assert str(caught.value) == sentence


def test_what_nothing_is_decided_by_has_its_default_where_it_cannot_be_read() -> None:
    assert forms.read(Tree, {"name": "elm", "kind": "tree", "seenAt": "soon"}, "tree") == Tree(name="elm")


def test_the_definition_of_the_resource_has_each_field_by_its_type() -> None:
    leaf: dict[str, Any] = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "ripe": {"type": "boolean"}, "colour": {"type": "string"}},
    }
    time = {"type": "string", "format": "date-time"}
    assert forms.record_of(Tree).schema() == {
        "type": "object",
        "required": ["name", "kind"],
        "properties": {
            "name": {"type": "string", "description": "What it is called."},
            "plantedAt": time,
            "leaves": {"type": "integer"},
            "height": {"type": "number"},
            "owner": {"type": "string"},
            "best": leaf,
            "listed": {"type": "array", "items": leaf},
            "marks": {"type": "object", "additionalProperties": time},
            "notes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["by", "text"],
                    "properties": {"by": {"type": "string"}, "text": {"type": "string"}},
                },
            },
            "owners": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["owner", "name"],
                    "properties": {"owner": {"type": "string"}, **leaf["properties"]},
                },
            },
            "age": {"type": "integer"},
            "kind": {"type": "string"},
            "rings": {"type": "array", "items": {"type": "integer"}},
            "words": {"type": "string"},
            "seenAt": time,
        },
    }


def test_a_type_without_a_form_is_refused_when_its_record_is_made() -> None:
    @dataclass(frozen=True)
    class Odd:
        what: complex

    with pytest.raises(TypeError, match="has no form outside"):
        forms.record_of(Odd)
