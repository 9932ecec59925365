"""Which kinds a snapshot has, and what of them: whatever somebody reads who can read a snapshot, and no more.

    rows of the table of streams (nodes, pods, revisions, rollouts …)   forecast, adopt
    readings of an audit and of a diagnosis                             audit, doctor
    the nodes of an adoption, with who wrote which field                adopt

Law of this file: no field is named here. An object is decoded as each of its readers decodes it; what one of them would
keep is written down with the fields that this reader reads. Tests: tests/properties/test_portable.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final

import msgspec

from seatrial.adapters.kube import adoption
from seatrial.adapters.kube.api.client import api_path
from seatrial.adapters.kube.api.decoding import decoder_of
from seatrial.adapters.kube.portable.selecting import Place, Selecting, place_of
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.shapes import keys, models, rollout_records
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.surveying import auditing, diagnosing
from seatrial.core.base.values import dataclass
from seatrial.core.survey.sources import KINDS

ROWS: Final[tuple[Row[Any, Any], ...]] = (
    *table.ROLLOUT,
    table.PROBES,
    table.PROBE_PODS,
    table.REFUSALS,
    *table.SWITCHED,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader:
    """Somebody who reads a kind."""

    model: type[Any]
    keeps: Callable[[Any], object | None]
    """What it makes of an object; None where the object is of no interest to it."""
    selecting: Selecting


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """One kind, under the paths it may be served at, and all who read it."""

    paths: tuple[str, ...]
    readers: tuple[Reader, ...]

    def slim(self, raw: bytes) -> dict[str, Any] | None:
        """What is read of an object by those whom it concerns; None where it concerns nobody."""
        whole = msgspec.json.decode(raw)
        kept: dict[str, Any] | None = None
        for reader in self.readers:
            if not reader.selecting.takes(whole):
                continue
            found = decoder_of(reader.model).decode(raw)
            if _is_kept(reader, found):
                kept = _both(kept or {}, plain(found))
        return kept


def _is_kept(reader: Reader, found: Any) -> bool:
    try:
        return reader.keeps(found) is not None
    except ValueError:
        return True  # it cannot be read, and whoever reads the file is to meet it, too


# ── the kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────


def kept(namespace: str) -> tuple[Kept, ...]:
    """All kinds; `namespace` is the operator's."""
    where = Where(namespace=namespace, home=keys.EVERYWHERE)
    places: dict[tuple[str, str], Place] = {}
    readers: dict[tuple[str, str], list[Reader]] = {}
    for path, reader in _all(where):
        place = place_of(path)
        if place is None:
            raise ValueError(f"{path} lists no kind")
        there = places.setdefault(place.kind, place)
        if not place.namespace and there.namespace:
            places[place.kind] = place  # somebody reads it everywhere
        readers.setdefault(place.kind, []).append(reader)
    return tuple(Kept(paths=_paths(place), readers=tuple(readers[kind])) for kind, place in places.items())


def _all(where: Where) -> Iterator[tuple[str, Reader]]:
    for row in ROWS:
        selecting = Selecting.parse(row.label_selector, row.field_selector)
        if row is table.ROLLOUTS:
            # Its own model takes a rollout as it comes, with whatever is in it.
            yield row.path(where), Reader(model=RolloutAsKept, keeps=_always, selecting=selecting)
        else:
            yield row.path(where), Reader(model=row.model, keeps=row.slim(where), selecting=selecting)
    yield keys.NODES, Reader(model=adoption.TracedNode, keeps=_always, selecting=Selecting.parse())
    for reading in (*auditing.READINGS, *diagnosing.READINGS):
        kind = KINDS[reading.source]
        path = api_path("/".join(filter(None, (kind.group, kind.version))), kind.resource)
        yield path, Reader(model=reading.model, keeps=reading.slim, selecting=Selecting.parse(reading.selector))


def _paths(place: Place) -> tuple[str, ...]:
    older = next((each.older for each in KINDS.values() if (each.group, each.resource) == place.kind), ())
    group, resource = place.kind
    first = api_path(place.version, resource, namespace=place.namespace)
    return (first, *(api_path(f"{group}/{version}", resource, namespace=place.namespace) for version in older))


def _always(found: object) -> object:
    return found


class RolloutAsKept(models.Model, frozen=True):
    """A rollout; of one that cannot be read its name alone, so that it cannot be read there either."""

    metadata: models.ObjectMeta = models.ObjectMeta()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


_PARTS: Final[Mapping[str, Callable[[msgspec.Raw], Any]]] = {
    "spec": lambda text: plain(msgspec.json.decode(text, type=models.RolloutSpec)),
    "status": lambda text: rollout_records.known_of(msgspec.json.decode(text, type=models.Status)),
}


# ── an object, as plain values ───────────────────────────────────────────────────────────────────────────────────────


def plain(found: Any) -> Any:
    """What a model has, under the names of the API; what is as it would be without being said is left out."""
    if isinstance(found, msgspec.Struct):
        return {
            each.encode_name: _part(found, each.encode_name, value)
            for each in msgspec.structs.fields(type(found))
            if (value := getattr(found, each.name)) != _default(each)
        }
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(each) for each in found]
    return found


def _part(of: msgspec.Struct, name: str, value: Any) -> Any:
    if isinstance(of, RolloutAsKept) and name in _PARTS:
        try:
            return _PARTS[name](value)
        except msgspec.MsgspecError:
            return {}
    return plain(value)


def _default(each: msgspec.structs.FieldInfo) -> Any:
    if each.default is not msgspec.NODEFAULT:
        return each.default
    return each.default_factory() if callable(each.default_factory) else msgspec.NODEFAULT


def _both(one: Any, other: Any) -> Any:
    """What two readers read of the same object; lists have the same entries for both."""
    if isinstance(one, dict) and isinstance(other, dict):
        joint: Iterable[str] = dict.fromkeys((*one, *other))
        return {key: _both(one.get(key), other.get(key)) for key in joint}
    if isinstance(one, list) and isinstance(other, list):
        return [_both(first, second) for first, second in zip_longest(one, other)]
    return other if one is None else one
