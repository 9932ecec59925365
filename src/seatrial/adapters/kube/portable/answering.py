"""A client whose cluster is a file: requests are answered from what was recorded, as the API server answered them.

    list, with selectors and namespaces    the recorded objects
    watch                                  nothing happens any more
    log                                    the recorded log
    what was refused                       the same refusal
    what was not recorded                  404, and why
    a write                                refused: nobody is there who could do it

Law of this file: readers cannot tell it from a cluster that stands still. Time stands still, too. Tests:
tests/adapters/kube/test_portable_answering.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.brief import Received
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.config import Config
from seatrial.adapters.kube.api.connection import Answer, Connection, Request
from seatrial.adapters.kube.portable.selecting import Place, Selecting, place_of
from seatrial.core.survey.portable.recorded import LogOf, Recorded, Refused

VERSION: Final = "1"
"""The one version of everything."""


def client_of(recorded: Recorded, source: str) -> Client:
    """A client of what was recorded; `source` is what errors call it."""
    config = Config(server="http://snapshot.invalid", context="none", source=source)
    connection = Recording(config, recorded)
    return Client(config, user_agent="none", connection=connection, wall_clock=lambda: recorded.taken_at)


class Recording(Connection):
    """Answers from what was recorded."""

    def __init__(self, config: Config, recorded: Recorded) -> None:
        super().__init__(config, user_agent="none", connections_max=1, wall_clock=lambda: recorded.taken_at)
        self._recorded = recorded
        self._paths = {place.kind: path for path in recorded.lists if (place := place_of(path)) is not None}
        self._refused = {place.kind: each for path, each in recorded.refused.items() if (place := place_of(path))}

    @asynccontextmanager
    async def answer(self, request: Request) -> AsyncIterator[Answer]:
        """The recorded answer; what was refused then is refused now."""
        found = self._found(request)
        if isinstance(found, Refused):
            place = place_of(request.path)
            details = {"name": place.name if place is not None else ""}
            body = msgspec.json.encode({"code": found.code, "message": found.said, "details": details})
            raise self.refusal(request.name, errors.read_status(found.code, body))
        date = formatdate(self._recorded.taken_at, usegmt=True)
        yield Received(status=200, headers={"Date": date}, body=found)

    def _found(self, request: Request) -> bytes | Refused:
        place = place_of(request.path)
        if request.verb != "GET" or place is None:
            return Refused(code=405, said="a snapshot is read, and not written")
        if place.part == "log":
            return self._log(place, request.params)
        if place.kind in self._refused:
            return self._refused[place.kind]
        path = self._paths.get(place.kind)
        held = place_of(path) if path is not None else None
        if path is None or held is None or held.version != place.version:
            return Refused(code=404, said=f"the snapshot has no {place.resource} of {place.version}")
        if held.namespace and held.namespace != place.namespace:
            said = f"the snapshot has the {place.resource} of the namespace {held.namespace} alone; name it with -n"
            return Refused(code=404, said=said)
        return _objects(self._recorded.lists[path], place, request.params)

    def _log(self, place: Place, params: Mapping[str, str]) -> bytes | Refused:
        whose = LogOf(
            namespace=place.namespace,
            pod=place.name,
            container=params.get("container", ""),
            is_previous=params.get("previous") == "true",
        )
        found = self._recorded.logs.get(whose, Refused(code=404, said="the snapshot does not have this log"))
        return found.encode() if isinstance(found, str) else found


def _objects(found: Sequence[Mapping[str, Any]], place: Place, params: Mapping[str, str]) -> bytes | Refused:
    there = [each for each in found if not place.namespace or _meta(each).get("namespace") == place.namespace]
    if place.name:
        one = next((each for each in there if _meta(each).get("name") == place.name), None)
        return msgspec.json.encode(one) if one is not None else Refused(code=404, said=f"{place.name} not found")
    if params.get("watch") == "true":
        return b""
    selecting = Selecting.parse(params.get("labelSelector", ""), params.get("fieldSelector", ""))
    items = [each for each in there if selecting.takes(each)]
    return msgspec.json.encode({"metadata": {"resourceVersion": VERSION}, "items": items})


def _meta(found: Mapping[str, Any]) -> Mapping[str, Any]:
    meta: Mapping[str, Any] = found.get("metadata") or {}
    return meta
