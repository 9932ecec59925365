"""Core values as JSON data and back, by their types alone: whoever adds a field to a value has added it here too.

    encode(value)             the whole value            decode(kind, data)        the same value again
    changes(before, after)    only what differs          changed(before, data)     `after` again

A field that has its default is left out, so data written before the field existed still reads. Hence the law: a default
of a recorded type never changes its meaning; if it has to, or if a field goes, SCHEMA goes up (tests/test_codec.py pins
every field). Two values are the same when their data are: a version is compared by its text here, and labels count.

    str, int, bool, float     as they are        enum, Literal          its text
    tuple                     a list             Version, Selector, …   the text it is parsed from
    Mapping[str, …]           an object          dataclass              an object of its fields
    X | None                  null               one of several         an object, its type under "is"

Of two mappings or dataclasses only what differs is told: {"set": {…}, "gone": […]}, or the fields that changed.

Tests: tests/test_codec.py
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar

from seatrial.core.compat.versions import Version
from seatrial.core.errors import SeatrialError
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target

SCHEMA: Final = 2
"""The number under which data are written; data of another number are refused."""

Data: TypeAlias = Any
"""What JSON can hold."""

ValueT = TypeVar("ValueT")

_SAME: Final = object()
_REQUIRED: Final = object()
_TAG: Final = "is"


class Undecodable(SeatrialError, ValueError):  # noqa: N818  the trade's word; the text says where and why
    """Data that are no value of the type they are read as."""

    def __init__(self, why: str, *steps: str) -> None:
        super().__init__(f"{'.'.join(steps)}: {why}" if steps else why)
        self.why, self.steps = why, steps

    def inside(self, step: str) -> Undecodable:
        """The same, seen from one level further out."""
        return Undecodable(self.why, step, *self.steps)


def encode(value: object) -> Data:
    """A core value as JSON data."""
    return _codec_of(type(value)).encode(value)


def decode(kind: type[ValueT], data: Data) -> ValueT:
    """The value of a type from its data, or Undecodable."""
    found: ValueT = _codec_of(kind).decode(data)
    return found


def changes(before: ValueT, after: ValueT) -> dict[str, Data]:
    """What differs between two values of one dataclass; empty when nothing does."""
    found: dict[str, Data] | object = _codec_of(type(after)).changes(before, after)
    return found if isinstance(found, dict) else {}


def changed(before: ValueT, data: Data) -> ValueT:
    """The value that differs from `before` as `changes` said."""
    found: ValueT = _codec_of(type(before)).changed(before, data)
    return found


# ── one codec per kind of type ───────────────────────────────────────────────────────────────────────────────────────


class _Codec:
    """Of what JSON holds as it is; the others say what they do differently."""

    is_plain = False
    """Whether values are their own data, so that nobody needs to ask: a large fleet is recorded between two passes."""

    def __init__(self, kind: type, *accepted: type) -> None:
        self.kind = kind
        self.is_plain = type(self) is _Codec
        self._accepted = accepted or (kind,)

    def encode(self, value: Any) -> Data:
        return value

    def decode(self, data: Data) -> Any:
        # A bool is an int to Python, and to nobody else.
        if not isinstance(data, self._accepted) or (isinstance(data, bool) and self.kind is not bool):
            raise Undecodable(f"expected {self.kind.__name__}, found {_shown(data)}")
        return self.kind(data)

    def changes(self, before: Any, after: Any) -> Data:
        """The new data, or _SAME."""
        if before is after:
            return _SAME
        data = self.encode(after)
        return _SAME if self.encode(before) == data else data

    def changed(self, _before: Any, data: Data) -> Any:
        return self.decode(data)


class _Text(_Codec):
    """What is parsed from a text and keeps it."""

    def encode(self, value: Any) -> Data:
        return str(value)

    def decode(self, data: Data) -> Any:
        if not isinstance(data, str):
            raise Undecodable(f"expected the text of a {self.kind.__name__}, found {_shown(data)}")
        try:
            return self.kind.parse(data)  # type: ignore[attr-defined]
        except ValueError as err:
            raise Undecodable(str(err)) from err


class _Choice(_Codec):
    """An enum by its texts, or a Literal."""

    def __init__(self, kind: type, by_text: Mapping[str, Any]) -> None:
        super().__init__(kind)
        self._by_text = by_text

    def encode(self, value: Any) -> Data:
        return value._value_ if isinstance(value, Enum) else value  # documented, and ten times faster than `value`

    def decode(self, data: Data) -> Any:
        if not isinstance(data, str) or data not in self._by_text:
            raise Undecodable(f"{_shown(data)} is none of {', '.join(self._by_text)}")
        return self._by_text[data]


class _Optional(_Codec):
    """None, or what is inside."""

    def __init__(self, inner: _Codec) -> None:
        super().__init__(inner.kind)
        self.is_plain = inner.is_plain
        self._inner = inner

    def encode(self, value: Any) -> Data:
        return None if value is None else self._inner.encode(value)

    def decode(self, data: Data) -> Any:
        return None if data is None else self._inner.decode(data)

    def changes(self, before: Any, after: Any) -> Data:
        if before is None or after is None:
            return _SAME if before is after else self.encode(after)
        return self._inner.changes(before, after)

    def changed(self, before: Any, data: Data) -> Any:
        return self.decode(data) if before is None or data is None else self._inner.changed(before, data)


class _Tuple(_Codec):
    """Any number of one kind, or a fixed row of several."""

    def __init__(self, inner: tuple[_Codec, ...], *, is_fixed: bool) -> None:
        super().__init__(tuple)
        self._inner, self._is_fixed = inner, is_fixed
        self._is_plain_inside = all(codec.is_plain for codec in inner)

    def encode(self, value: Any) -> Data:
        if self._is_plain_inside or not value:
            return list(value)
        if self._is_fixed:
            return [codec.encode(item) for codec, item in zip(self._inner, value, strict=True)]
        encode = self._inner[0].encode
        return [encode(item) for item in value]

    def decode(self, data: Data) -> Any:
        if not isinstance(data, list):
            raise Undecodable(f"expected a list, found {_shown(data)}")
        if self._is_fixed and len(data) != len(self._inner):
            raise Undecodable(f"expected {len(self._inner)} items, found {len(data)}")
        codecs = self._inner if self._is_fixed else self._inner * len(data)
        pairs = enumerate(zip(codecs, data, strict=True))
        return tuple(_at(str(index), codec.decode, item) for index, (codec, item) in pairs)


class _Mapping(_Codec):
    """Text to one kind."""

    def __init__(self, inner: _Codec) -> None:
        super().__init__(dict)
        self._inner = inner

    def encode(self, value: Any) -> Data:
        if self._inner.is_plain:
            return dict(value)
        encode = self._inner.encode
        return {key: encode(item) for key, item in value.items()}

    def decode(self, data: Data) -> Any:
        if self._inner.kind is str and set(map(type, _object(data).values())) <= {str}:
            return dict(data)  # labels, by the dozen on every node
        return {key: _at(key, self._inner.decode, item) for key, item in _object(data).items()}

    def changes(self, before: Any, after: Any) -> Data:
        if before is after:
            return _SAME
        new: dict[str, Data] = {}
        for key, item in after.items():
            old = before.get(key, _REQUIRED)
            data = self._inner.encode(item) if old is _REQUIRED else self._inner.changes(old, item)
            if data is not _SAME:
                new[key] = data
        gone = [key for key in before if key not in after]
        return ({"set": new} if new else {}) | ({"gone": gone} if gone else {}) or _SAME

    def changed(self, before: Any, data: Data) -> Any:
        told = _object(data)
        _refuse_others(told, ("set", "gone"), "a change of a mapping")
        after = dict(before)
        for key, item in _object(told.get("set", {})).items():
            if key in after:
                after[key] = _at(key, self._inner.changed, after[key], item)
            else:
                after[key] = _at(key, self._inner.decode, item)
        for key in told.get("gone", ()):
            if after.pop(key, _REQUIRED) is _REQUIRED:
                raise Undecodable(f"{_shown(key)} is said to be gone, and was not there")
        return after


class _Record(_Codec):
    """A dataclass, field by field."""

    def __init__(self, kind: type) -> None:
        super().__init__(kind)
        hints = typing.get_type_hints(kind)
        self._parts = [(each.name, _codec_of(hints[each.name]), _default_of(each)) for each in dataclasses.fields(kind)]
        self._names = frozenset(name for name, _, _ in self._parts)
        # What is left out is told by its data, too: two values are the same when their data are.
        self._writing = [
            (name, codec.is_plain, codec.encode, default, default if default is _REQUIRED else codec.encode(default))
            for name, codec, default in self._parts
        ]

    def encode(self, value: Any) -> Data:
        found = {}
        for name, is_plain, encode, default, left_out in self._writing:
            item = getattr(value, name)
            if item is default:
                continue
            data = item if is_plain else encode(item)
            if data != left_out:
                found[name] = data
        return found

    def decode(self, data: Data) -> Any:
        told = _object(data)
        _refuse_others(told, self._names, f"a {self.kind.__name__}")
        found = {}
        for name, codec, default in self._parts:
            if name in told:
                found[name] = _at(name, codec.decode, told[name])
            elif default is _REQUIRED:
                raise Undecodable(f"a {self.kind.__name__} has to have {name}")
        return self.kind(**found)

    def changes(self, before: Any, after: Any) -> Data:
        if before is after:
            return _SAME
        found = {}
        for name, codec, _ in self._parts:
            old, new = getattr(before, name), getattr(after, name)
            data = _SAME if old is new else codec.changes(old, new)
            if data is not _SAME:
                found[name] = data
        return found or _SAME

    def changed(self, before: Any, data: Data) -> Any:
        told = _object(data)
        _refuse_others(told, self._names, f"a {self.kind.__name__}")
        new = {
            name: _at(name, codec.changed, getattr(before, name), told[name])
            for name, codec, _ in self._parts
            if name in told
        }
        return dataclasses.replace(before, **new)


class _OneOf(_Codec):
    """One of several dataclasses, told apart by name: some of our acts have the very same fields."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        super().__init__(object)
        self._by_name = {kind.__name__: _codec_of(kind) for kind in kinds}

    def encode(self, value: Any) -> Data:
        name = type(value).__name__
        return {_TAG: name} | self._by_name[name].encode(value)

    def decode(self, data: Data) -> Any:
        told = dict(_object(data))
        name = told.pop(_TAG, None)
        if name not in self._by_name:
            raise Undecodable(f"{_shown(name)} is none of {', '.join(self._by_name)}")
        return self._by_name[name].decode(told)


_CODECS: Final[dict[Any, _Codec]] = {
    str: _Codec(str),
    int: _Codec(int),
    bool: _Codec(bool),
    float: _Codec(float, float, int),
}


def _codec_of(annotation: Any) -> _Codec:
    """The codec of a type, made once."""
    if annotation not in _CODECS:
        _CODECS[annotation] = _make_codec(annotation)
    return _CODECS[annotation]


def _make_codec(annotation: Any) -> _Codec:
    """A type that nobody taught us is a bug, and the walk over the recorded types finds it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        some = tuple(kind for kind in arguments if kind is not types.NoneType)
        inner = _codec_of(some[0]) if len(some) == 1 else _OneOf(some)
        return _Optional(inner) if len(some) < len(arguments) else inner
    if origin is typing.Literal:
        return _Choice(str, {text: text for text in arguments})
    if origin is tuple:
        is_fixed = arguments[-1] is not Ellipsis
        inner_types = arguments if is_fixed else arguments[:1]
        return _Tuple(tuple(map(_codec_of, inner_types)), is_fixed=is_fixed)
    if origin is not None and issubclass(origin, Mapping) and arguments[0] is str:
        return _Mapping(_codec_of(arguments[1]))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Choice(annotation, {each.value: each for each in annotation})
    if isinstance(annotation, type) and issubclass(annotation, (Version, Selector, Target)):
        return _Text(annotation)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _Record(annotation)
    raise TypeError(f"{annotation} cannot be recorded: seatrial/codec.py does not know such a type.")


def _default_of(each: dataclasses.Field[Any]) -> Any:
    if each.default is not dataclasses.MISSING:
        return each.default
    return each.default_factory() if each.default_factory is not dataclasses.MISSING else _REQUIRED


def _at(step: str, read: Callable[..., Any], *arguments: Any) -> Any:
    """What is read; where it cannot be, the error says at which step of the way in."""
    try:
        return read(*arguments)
    except Undecodable as err:
        raise err.inside(step) from err.__cause__


def _object(data: Data) -> dict[str, Data]:
    if not isinstance(data, dict):
        raise Undecodable(f"expected an object, found {_shown(data)}")
    return data


def _refuse_others(told: Mapping[str, Data], known: Collection[str], what: str) -> None:
    others = sorted(told.keys() - set(known))
    if others:
        raise Undecodable(f"{what} has no {', '.join(others)}; was it written by another release of seatrial?")


def _shown(data: Data) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:60]}…"
