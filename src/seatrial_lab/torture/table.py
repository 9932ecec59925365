"""The table of what can go wrong: one row for each fault, with where it strikes and where it cannot.

Only values here. Who does them is in way.py (on the way to the API server) and in blows.py (everything else).
Tests: tests/torture/test_drawing.py
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Mode(StrEnum):
    """Who moves the nodes."""

    DIRECT = "direct"
    DELEGATED = "delegated"


class Where(StrEnum):
    """What is struck."""

    REQUESTS = "requests"
    """So many of the next requests on the way to the API server."""
    EVENTS = "events"
    """So many of the next events of watches on the way back."""
    WATCHES = "watches"
    """Every watch that is open, at once."""
    WAY = "way"
    """The whole way, for some time."""
    PLANE = "plane"
    PROCESS = "process"
    REMOTE = "remote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that can go wrong."""

    name: str
    where: Where
    what: str
    modes: frozenset[Mode] = frozenset(Mode)
    code: int = 0
    """What the API server seems to answer; 0 where it is no answer."""
    seconds: tuple[float, float] = (0.0, 0.0)
    """How long it lasts, at least and at most; of a fault that comes and is over, nothing."""
    count: tuple[int, int] = (0, 0)
    """How many requests or events it strikes, at least and at most."""
    is_for_writes: bool = False
    """Whether it strikes nothing but writes."""
    needs_git: bool = False
    needs_mounts: bool = False


_FEW, _SOME = (1, 6), (3, 25)
_AWHILE = (8.0, 20.0)
_DIRECT: Final = frozenset({Mode.DIRECT})

FAULTS: Final = (
    Fault(
        name="conflict",
        where=Where.REQUESTS,
        what="writes are refused as if somebody else had written first",
        code=409,
        count=_FEW,
        is_for_writes=True,
    ),
    Fault(
        name="throttled", where=Where.REQUESTS, what="requests are refused, with a Retry-After", code=429, count=_SOME
    ),
    Fault(name="failing", where=Where.REQUESTS, what="the API server fails inside", code=500, count=_SOME),
    Fault(name="unavailable", where=Where.REQUESTS, what="the API server is not available", code=503, count=_SOME),
    Fault(name="reset", where=Where.REQUESTS, what="connections break before a request arrives", count=_SOME),
    Fault(name="slow", where=Where.REQUESTS, what="answers come late", count=_FEW, seconds=(2.0, 18.0)),
    Fault(
        name="lost",
        where=Where.REQUESTS,
        what="writes happen, and their answers are lost",
        count=_FEW,
        is_for_writes=True,
    ),
    Fault(name="cut", where=Where.WATCHES, what="watches end in the middle of an event"),
    Fault(name="gone", where=Where.WATCHES, what="watches are told that their version is too old", code=410),
    Fault(name="doubled", where=Where.EVENTS, what="events come twice", count=(10, 80)),
    Fault(name="reordered", where=Where.EVENTS, what="events come after the next one", count=(5, 40)),
    Fault(name="outage", where=Where.WAY, what="nothing comes through", seconds=(30.0, 30.0)),
    Fault(name="etcd-killed", where=Where.PLANE, what="etcd is killed, and started again", seconds=(1.0, 5.0)),
    Fault(
        name="etcd-restored",
        where=Where.PLANE,
        what="etcd is killed, and restored from a snapshot that is older",
        seconds=(3.0, 12.0),
        modes=_DIRECT,  # the GPU Operator beside it would have to be restored as well
    ),
    Fault(name="api-restarted", where=Where.PLANE, what="the API server is restarted", seconds=(0.0, 4.0)),
    Fault(name="clock-forward", where=Where.PROCESS, what="the controller's clock is put forward by an hour"),
    Fault(
        name="clock-back",
        where=Where.PROCESS,
        what="the controller's clock is put back by an hour, and put right again",
        seconds=_AWHILE,
    ),
    Fault(name="lease-deleted", where=Where.PROCESS, what="somebody deletes the Lease"),
    Fault(
        name="disk-full",
        where=Where.PROCESS,
        what="the disk of the journal has no room",
        seconds=_AWHILE,
        needs_mounts=True,
    ),
    Fault(
        name="files-exhausted",
        where=Where.PROCESS,
        what="the controller can open no further file, and no connection",
        seconds=_AWHILE,
    ),
    Fault(name="remote-away", where=Where.REMOTE, what="the Git remote is not there", seconds=_AWHILE, needs_git=True),
    Fault(
        name="remote-rejecting",
        where=Where.REMOTE,
        what="the Git remote takes no push",
        seconds=_AWHILE,
        needs_git=True,
    ),
    Fault(
        name="remote-rewritten",
        where=Where.REMOTE,
        what="the branch is force-pushed, and put back",
        seconds=_AWHILE,
        needs_git=True,
    ),
)

BY_NAME: Final = {fault.name: fault for fault in FAULTS}
