"""Reads kinds once, page by page, along the table of core/survey/sources.py, and remembers what it could not read.

Law of this file: a kind that may not be read, or that did not answer, is a Gap and not an empty list; a kind that the
cluster does not have is a Gap that says so. Nothing is watched, and nothing concluded. Tests:
tests/adapters/kube/test_auditing.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Final, Generic, TypeVar

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.core.base.values import dataclass
from seatrial.core.survey.sources import KINDS, Gap, Source, Why
from seatrial.core.text import foreign

M = TypeVar("M")
T = TypeVar("T")

OnRead = Callable[[Source, int], None]
"""Told now and then how many objects of a kind have been read."""
SAID_MAX: Final = 200
TOLD_EVERY: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading(Generic[M, T]):
    """One kind as somebody reads it."""

    source: Source
    model: type[M]
    slim: Callable[[M], T | None]
    """What is kept of an object; None where it is of no interest."""
    selector: str = ""


class Once:
    """Lists kinds, and remembers what it could not."""

    def __init__(self, client: Client, on_read: OnRead | None = None) -> None:
        self._client = client
        self._on_read = on_read
        self._counts: Counter[Source] = Counter()
        self.gaps: dict[Source, Gap] = {}

    async def all(self, reading: Reading[M, T]) -> tuple[T, ...]:
        """Everything of a kind, wherever it is."""
        return await self.inside(("",), reading)

    async def inside(self, namespaces: Iterable[str], reading: Reading[M, T]) -> tuple[T, ...]:
        """Everything of a kind in these namespaces; what was read before a refusal counts for nothing."""
        source = reading.source
        kind, found = KINDS[source], []
        for namespace in namespaces:
            for number, version in enumerate((kind.version, *kind.older)):
                served = f"{kind.group}/{version}" if kind.group else version
                path = api_path(served, kind.resource, namespace=namespace)
                try:
                    found += await self._listed(path, reading)
                    break
                except errors.NotFound as err:
                    if number == len(kind.older):
                        self._note(source, err)
                except (errors.ClusterUnavailable, errors.Unauthorized, errors.ConfigInvalid):
                    raise  # nobody answers, or nobody knows us: there is nothing to tell
                except errors.ClusterError as err:
                    self._note(source, err)
                    break
        return () if source in self.gaps else tuple(found)

    async def _listed(self, path: str, reading: Reading[M, T]) -> list[T]:
        try:
            return await self._once(path, reading)
        except errors.Gone:  # it took longer than the server keeps versions: once more from the beginning
            return await self._once(path, reading)

    async def _once(self, path: str, reading: Reading[M, T]) -> list[T]:
        kept = []
        async with aclosing(self._client.each(path, reading.model, label_selector=reading.selector)) as items:
            async for item in items:
                slimmed = reading.slim(item)
                if slimmed is not None:
                    kept.append(slimmed)
                self._count(reading.source)
        return kept

    def _count(self, source: Source) -> None:
        self._counts[source] += 1
        if self._on_read is not None and self._counts[source] % TOLD_EVERY == 0:
            self._on_read(source, self._counts[source])

    def _note(self, source: Source, err: errors.ClusterError) -> None:
        match err:
            case errors.Forbidden():
                gap = Gap(source=source, why=Why.FORBIDDEN)
            case errors.NotFound():
                gap = Gap(source=source, why=Why.NOT_SERVED)
            case _:
                said = foreign.line(err.message or err.what, SAID_MAX)
                gap = Gap(source=source, why=Why.FAILED, said=said)
        self.gaps.setdefault(source, gap)
