"""Reads a cluster into a snapshot: every kind that somebody reads, the logs of those that fail, and nothing twice.

Law of this file: what was refused is written down as refused, and not as nothing. What may be told is decided in core.
Tests: tests/adapters/kube/test_portable_taking.py, tests/cli/test_snapshot.py, tests/e2e/test_snapshot_real.py
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

import msgspec

from seatrial import __version__
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.portable.answering import client_of
from seatrial.adapters.kube.portable.kept import Kept, kept
from seatrial.adapters.kube.surveying import diagnosing
from seatrial.core.survey.doctor.logs import LOGS_MAX, worth_reading
from seatrial.core.survey.doctor.objects import LogTold
from seatrial.core.survey.portable.recorded import LogOf, Recorded, Refused
from seatrial.core.text import foreign

OnRead = Callable[[str, int], None]
"""Told now and then how many objects of a resource have been read."""
TOLD_EVERY: Final = 500
SAID_MAX: Final = 200


async def take(client: Client, *, namespace: str, with_logs: bool = True, on_read: OnRead | None = None) -> Recorded:
    """Everything that a snapshot has; `namespace` is the operator's. Nothing of it is hidden yet."""
    lists: dict[str, list[dict[str, Any]]] = {}
    refused: dict[str, Refused] = {}
    for kind in kept(namespace):
        for number, path in enumerate(kind.paths, 1):
            try:
                lists[path] = await _listed(client, path, kind, on_read)
                break
            except errors.NotFound as err:
                if number == len(kind.paths):
                    refused[kind.paths[0]] = _refusal(err)
            except (errors.ClusterUnavailable, errors.Unauthorized, errors.ConfigInvalid):
                raise  # nobody answers, or nobody knows us: there is nothing to write down
            except errors.ClusterError as err:
                refused[path] = _refusal(err)
                break
    taken = Recorded(
        taken_at=client.served_at or client.now(),
        namespace=namespace,
        version=__version__,
        lists=lists,
        refused=refused,
    )
    return replace(taken, logs=await _logs(client, taken)) if with_logs else taken


async def _listed(client: Client, path: str, kind: Kept, on_read: OnRead | None) -> list[dict[str, Any]]:
    try:
        return await _once(client, path, kind, on_read)
    except errors.Gone:  # it took longer than the server keeps versions: once more from the beginning
        return await _once(client, path, kind, on_read)


async def _once(client: Client, path: str, kind: Kept, on_read: OnRead | None) -> list[dict[str, Any]]:
    found, count = [], 0
    async with aclosing(client.each(path, msgspec.Raw)) as items:
        async for raw in items:
            try:
                slim = kind.slim(bytes(raw))
            except msgspec.MsgspecError as err:
                raise errors.AnswerUnreadable(f"GET {path}: {err}", "check that this seatrial fits it") from err
            if slim is not None:
                found.append(slim)
            count += 1
            if on_read is not None and count % TOLD_EVERY == 0:
                on_read(path.rpartition("/")[2], count)
    return found


async def _logs(client: Client, taken: Recorded) -> dict[LogOf, str | Refused]:
    """The logs that a diagnosis of these objects asks for."""
    async with client_of(taken, "what was read") as recorded:
        sight, _ = await diagnosing.read(recorded, with_logs=False)
    told = await diagnosing.logs(client, worth_reading(sight)[:LOGS_MAX])
    return {_whose(each): _told(each) for each in told}


def _told(each: LogTold) -> str | Refused:
    return Refused(code=403, said=each.why_not) if each.why_not else "\n".join(each.lines)


def _whose(each: LogTold) -> LogOf:
    asked = each.asked
    return LogOf(namespace=asked.namespace, pod=asked.pod, container=asked.container, is_previous=asked.is_previous)


def _refusal(err: errors.ClusterError) -> Refused:
    match err:
        case errors.NotFound():
            code = 404
        case errors.Forbidden():
            code = 403
        case _:
            code = 500
    return Refused(code=code, said=foreign.line(err.message or err.what, SAID_MAX))
