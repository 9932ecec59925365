"""Values of ours as JSON and back, and how the definition of a resource describes them; all derived from their fields.

    a dataclass, declared with fields.kept ─▶ Record ─▶ read, write, known, schema

A field with its default is left out, and a field that is left out has its default. A name that a form does not know is
passed over: a later release wrote it. What cannot be read is an Unreadable that says where. Times are RFC 3339 to the
millisecond, text is cleaned when it is read, and a value with `numbers` and `of_numbers` is a list of numbers.

Tests: tests/adapters/kube/test_forms.py
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from seatrial.core.model.fields import Outside, name_outside, outside_of
from seatrial.core.model.instants import A_TIME
from seatrial.core.text import foreign
from seatrial.core.text.moments import dated, instant_of

T = TypeVar("T")
Schema: TypeAlias = dict[str, Any]


class Unreadable(ValueError):  # noqa: N818  the trade's word
    """Something that cannot be read, with the way to it."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.why, self.where = why, where

    def inside(self, step: str) -> Unreadable:
        """The same, seen from one step further out."""
        between = "." if self.where and not self.where.startswith("[") else ""
        return Unreadable(self.why, f"{step}{between}{self.where}")


def read(kind: type[T], data: Any, where: str, **besides: Any) -> T:
    """The value of this kind that stands there; `besides` are fields that something else says."""
    try:
        found: T = record_of(kind).made(data, besides)
    except Unreadable as err:
        raise err.inside(where) from err
    return found


def write(value: Any) -> dict[str, Any]:
    """A value as JSON."""
    return record_of(type(value)).write(value)


def known(kind: type[Any], data: Any) -> dict[str, Any]:
    """As much of the data as this kind has fields for."""
    found: dict[str, Any] = record_of(kind).known(data)
    return found


def text_of(instant: float) -> str:
    """Write RFC 3339 in UTC, to the millisecond."""
    return dated(instant).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Form:
    """How values of one type are kept; as it is, those that JSON has itself."""

    def __init__(self, name: str, *types_read: type) -> None:
        self._name, self._types = name, types_read

    def read(self, data: Any) -> Any:
        if type(data) not in self._types:
            raise self._other(data)
        return data

    def write(self, value: Any) -> Any:
        return value

    def schema(self) -> Schema:
        """The type in the definition of the resource, by OpenAPI."""
        return {"type": self._name}

    def known(self, data: Any) -> Any:
        """The part of what stands there that this form reads."""
        return data

    def _other(self, data: Any) -> Unreadable:
        return Unreadable(f"expected {self._name}, found {_shown(data)}")


class _Text(Form):
    def __init__(self, how: Outside) -> None:
        super().__init__("string", str)
        clean = foreign.lines if how.is_long else foreign.line
        self._clean = partial(clean, limit=how.length_max) if how.length_max else clean

    def read(self, data: Any) -> str:
        if type(data) is not str:
            raise self._other(data)
        return self._clean(data)


class _Number(Form):
    """A number, which JSON may write without its point."""

    def read(self, data: Any) -> float:
        return float(super().read(data))


class _Time(Form):
    """An instant; 0 stands for a time that never was."""

    def read(self, data: Any) -> float:
        if not isinstance(data, str):
            raise Unreadable(f"expected a time, found {_shown(data)}")
        try:
            return instant_of(data) if data else 0.0
        except ValueError as err:
            raise Unreadable(str(err)) from err

    def write(self, value: Any) -> Any:
        return text_of(value)

    def schema(self) -> Schema:
        return {"type": "string", "format": "date-time"}


class _Choice(Form):
    def __init__(self, kind: type[Enum]) -> None:
        super().__init__("string", str)
        self._by_value = {each.value: each for each in kind}

    def read(self, data: Any) -> Enum:
        try:
            return self._by_value[data]
        except (KeyError, TypeError):
            raise Unreadable(f"{_shown(data)} is none of {', '.join(map(str, self._by_value))}.") from None

    def write(self, value: Any) -> Any:
        return value.value


class _Flag(Form):
    """A flag that is a word outside."""

    def __init__(self, yes: str) -> None:
        super().__init__("string", str)
        self._yes = yes

    def read(self, data: Any) -> bool:
        return bool(super().read(data) == self._yes)

    def write(self, value: Any) -> str:
        return self._yes if value else ""


class _Numbers(Form):
    """A value that writes itself as a list of numbers."""

    def __init__(self, kind: Any) -> None:
        super().__init__("array", list)
        self._kind = kind

    def read(self, data: Any) -> Any:
        numbers = [_NUMBER.read(each) for each in super().read(data)]
        try:
            return self._kind.of_numbers(numbers)
        except ValueError as err:
            raise Unreadable(str(err)) from err

    def write(self, value: Any) -> list[float]:
        return list(value.numbers)

    def schema(self) -> Schema:
        return {"type": "array", "items": _NUMBER.schema()}


class _List(Form):
    def __init__(self, item: Form, count: int = 0) -> None:
        super().__init__("array", list)
        self._item, self._count = item, count

    def read(self, data: Any) -> tuple[Any, ...]:
        entries, found = super().read(data), []
        if self._count and len(entries) != self._count:
            raise Unreadable(f"{self._count} entries belong here, not {len(entries)}.")
        for number, each in enumerate(entries):
            try:
                found.append(self._item.read(each))
            except Unreadable as err:
                raise err.inside(f"[{number}]") from err
        return tuple(found)

    def write(self, value: Any) -> list[Any]:
        return [self._item.write(each) for each in value]

    def known(self, data: Any) -> Any:
        return [self._item.known(each) for each in data] if isinstance(data, list) else data

    def schema(self) -> Schema:
        return {"type": "array", "items": self._item.schema()}


class _Map(Form):
    """Pairs that are one object."""

    def __init__(self, item: Form) -> None:
        super().__init__("object", dict)
        self._item = item

    def read(self, data: Any) -> tuple[tuple[str, Any], ...]:
        return tuple((name, _inside(name, self._item, each)) for name, each in super().read(data).items())

    def write(self, value: Any) -> dict[str, Any]:
        return {name: self._item.write(each) for name, each in value}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self._item.schema()}


class _Pair(Form):
    """A pair that is one object: a name for each half, or the fields of the second half beside the first."""

    def __init__(self, names: tuple[str, str], first: Form, second: Form) -> None:
        super().__init__("object", dict)
        (self._name, self._second_name), self._first, self._second = names, first, second

    def read(self, data: Any) -> tuple[Any, Any]:
        told = super().read(data)
        second = _required(told, self._second_name) if self._second_name else told
        return (
            _inside(self._name, self._first, _required(told, self._name)),
            _inside(self._second_name, self._second, second) if self._second_name else self._second.read(second),
        )

    def write(self, value: Any) -> dict[str, Any]:
        first, second = self._first.write(value[0]), self._second.write(value[1])
        return {self._name: first, **({self._second_name: second} if self._second_name else second)}

    def known(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        names = {self._name, self._second_name} & data.keys()
        return ({} if self._second_name else self._second.known(data)) | {name: data[name] for name in names}

    def schema(self) -> Schema:
        second = self._second.schema()
        if self._second_name:
            second = {"properties": {self._second_name: second}, "required": [self._second_name]}
        return {
            "type": "object",
            "required": [self._name, *second.get("required", ())],
            "properties": {self._name: self._first.schema(), **second["properties"]},
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One field of a record."""

    name: str
    outside: str
    says: str
    form: Form
    default: Any = dataclasses.MISSING
    is_required: bool = False
    is_always_written: bool = False
    is_informative: bool = False


class Record(Form):
    """A dataclass."""

    def __init__(self, kind: type) -> None:
        super().__init__("object", dict)
        self._kind = kind
        self.parts = {each.outside: each for each in _parts_of(kind)}
        self._required = [each for each in self.parts.values() if each.is_required]

    def read(self, data: Any) -> Any:
        return self.made(data, {})

    def made(self, data: Any, besides: Mapping[str, Any]) -> Any:
        """The value, with fields that something else says."""
        found = dict(besides)
        for name, said in super().read(data).items():
            part = self.parts.get(name)
            if part is None or said is None:
                continue
            try:
                found[part.name] = part.form.read(said)
            except Unreadable as err:
                if not part.is_informative:
                    raise err.inside(name) from err
        for part in self._required:
            if part.name not in found:
                _required(data, part.outside)
        return self._kind(**found)

    def write(self, value: Any) -> dict[str, Any]:
        found = {}
        for part in self.parts.values():
            said = getattr(value, part.name)
            is_kept = part.is_required or part.is_always_written
            if is_kept or not (said is None or said == part.default):
                found[part.outside] = part.form.write(said)
        return found

    def schema(self) -> Schema:
        required = [each.outside for each in self.parts.values() if each.is_required]
        properties = {each.outside: each.form.schema() | _described(each.says) for each in self.parts.values()}
        return {"type": "object", **({"required": required} if required else {}), "properties": properties}

    def known(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: self.parts[name].form.known(said) for name, said in data.items() if name in self.parts}


_NUMBER: Final = _Number("number", float, int)
_RECORDS: Final[dict[type, Record]] = {}
_PLAIN: Final[Mapping[Any, Form]] = {
    bool: Form("boolean", bool),
    int: Form("integer", int),
    float: _NUMBER,
}


def record_of(kind: type[Any]) -> Record:
    """The form of a dataclass, made once."""
    if kind not in _RECORDS:
        _RECORDS[kind] = Record(kind)
    return _RECORDS[kind]


def _parts_of(kind: type) -> typing.Iterator[Part]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for each in dataclasses.fields(kind):
        how = outside_of(each)
        if not how.is_left_out:
            yield Part(
                name=each.name,
                outside=name_outside(each),
                says=how.says,
                form=_form(hints[each.name], how),
                default=each.default_factory() if callable(each.default_factory) else each.default,
                is_required=how.is_required or (_has_no_default(each)),
                is_always_written=how.is_always_written,
                is_informative=how.is_informative,
            )


def _has_no_default(each: dataclasses.Field[Any]) -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING


def _form(annotation: Any, how: Outside) -> Form:
    """The form of a field; a type that has none is a bug, which every test that reads the record finds."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _Time("time") if A_TIME in arguments else _form(arguments[0], how)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (each for each in arguments if each is not types.NoneType)
        return _form(inner, how)
    if origin is tuple and typing.get_origin(arguments[0]) is tuple:
        return _of_pairs(typing.get_args(arguments[0]), how)
    if origin is tuple:
        return _List(_form(arguments[0], how), how.count)
    if annotation is str:
        return _Text(how)
    if annotation is bool and how.yes:
        return _Flag(how.yes)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Choice(annotation)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _Numbers(annotation) if hasattr(annotation, "of_numbers") else record_of(annotation)
    raise TypeError(f"{annotation} has no form outside; add one to forms.py")


def _of_pairs(halves: tuple[Any, ...], how: Outside) -> Form:
    first, second = (_form(each, how) for each in halves)
    return _List(_Pair(how.pair, first, second)) if how.pair is not None else _Map(second)


def _inside(step: str, form: Form, data: Any) -> Any:
    try:
        return form.read(data)
    except Unreadable as err:
        raise err.inside(step) from err


def _required(data: dict[str, Any], name: str) -> Any:
    if data.get(name) is None:
        raise Unreadable(f"{name} is missing")
    return data[name]


def _described(says: str) -> Schema:
    return {"description": says} if says else {}


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:60]}…"
