"""A value made by core/base/values.py behaves as if the standard library had made it: both make the same class."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from seatrial.core.base import values

Maker = Callable[..., Any]
MAKERS: dict[str, Maker] = {"ours": values.dataclass, "theirs": dataclasses.dataclass}


def place_made_by(dataclass: Maker) -> type[Any]:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Place:
        """A place."""

        KINDS: ClassVar[tuple[str, ...]] = ("file", "line")
        name: str
        line: int = 1
        tags: list[str] = dataclasses.field(default_factory=list)
        seen: float = dataclasses.field(default=0.0, compare=False)
        secret: str = dataclasses.field(default="", repr=False)
        size: int = dataclasses.field(init=False, compare=False)

        def __post_init__(self) -> None:
            if self.line < 0:
                raise ValueError("a line is not negative")
            object.__setattr__(self, "size", len(self.name))

    return Place


def pair_made_by(dataclass: Maker) -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Base:
        """A number."""

        one: int

        def __repr__(self) -> str:
            return "a base"

    @dataclass(frozen=True, slots=True)
    class Pair(Base):
        """Two of them."""

        two: int = 2

    return Pair


def known_made_by(dataclass: Maker) -> type[Any]:
    @dataclass(frozen=True, slots=True, kw_only=True, eq=False)
    class Known:
        name: str = ""

    return Known


@pytest.fixture(params=list(MAKERS.values()), ids=list(MAKERS))
def maker(request: pytest.FixtureRequest) -> Any:
    return request.param


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """At the top of a module, where pickle finds it."""

    name: str
    parts: tuple[int, ...] = ()


def test_it_has_the_fields_and_the_defaults(maker: Maker) -> None:
    place = place_made_by(maker)(name="a")
    assert (place.name, place.line, place.tags, place.size, place.KINDS) == ("a", 1, [], 1, ("file", "line"))
    assert [each.name for each in dataclasses.fields(place)] == ["name", "line", "tags", "seen", "secret", "size"]
    assert not hasattr(place, "__dict__")
    assert place.tags is not place_made_by(maker)(name="a").tags


def test_it_is_alike_by_what_is_compared(maker: Maker) -> None:
    kind = place_made_by(maker)
    assert kind(name="a", seen=1.0) == kind(name="a", seen=2.0)
    assert kind(name="a", line=1) != kind(name="a", line=2)
    assert kind(name="a") != "a"
    assert hash(pair_made_by(maker)(1)) == hash(pair_made_by(maker)(1, 2)) != hash(pair_made_by(maker)(1, 3))
    known = known_made_by(maker)
    assert known() != known()


def test_it_is_shown_by_its_fields_unless_it_shows_itself() -> None:
    ours, theirs = (place_made_by(each)(name="it's", secret="s") for each in MAKERS.values())
    name = "place_made_by.<locals>.Place"
    assert repr(ours) == f'{name}(name="it\'s", line=1, tags=[], seen=0.0, size=4)'
    assert repr(ours) == repr(theirs)
    kind = pair_made_by(values.dataclass)
    assert (repr(kind.__mro__[1](1)), repr(kind(1))) == ("a base", "pair_made_by.<locals>.Pair(one=1, two=2)")


@pytest.mark.parametrize("act", [lambda it: setattr(it, "name", "b"), lambda it: delattr(it, "name")])
def test_it_cannot_be_changed(maker: Maker, act: Callable[[Any], None]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="'name'"):
        act(place_made_by(maker)(name="a"))


@pytest.mark.parametrize("given", [{}, {"name": "a", "lines": 2}, {"name": "a", "size": 3}])
def test_a_wrong_call_is_refused_in_the_same_words(given: dict[str, Any]) -> None:
    said = []
    for made in (place_made_by(each) for each in MAKERS.values()):
        with pytest.raises(TypeError) as refused:
            made(**given)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_its_own_check_is_made_and_it_is_replaced_matched_and_called_alike(maker: Maker) -> None:
    with pytest.raises(ValueError, match="not negative"):
        place_made_by(maker)(name="a", line=-1)
    place = dataclasses.replace(place_made_by(maker)(name="a"), name="abc")
    assert (place.name, place.size) == ("abc", 3)
    assert pair_made_by(maker).__match_args__ == ("one", "two")
    assert list(inspect.signature(place_made_by(maker)).parameters) == ["name", "line", "tags", "seen", "secret"]


def test_it_can_be_copied_and_carried() -> None:
    carried = Carried(name="a", parts=(1, 2))
    assert carried == copy.deepcopy(carried)
    assert pickle.loads(pickle.dumps(carried)) == carried  # noqa: S301  our own bytes


def test_what_it_does_not_make_is_said() -> None:
    with pytest.raises(TypeError, match="the standard library makes the others"):
        values.dataclass(frozen=True, slots=False)
