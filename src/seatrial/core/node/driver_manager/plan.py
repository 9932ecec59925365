"""The routes of a driver manager as a table, and the next step on one of them.

    HOST_DRIVER   the host brings the driver: say so, and be gone
    BARE          no driver is loaded: a reboot, or a first install
    SAME          the driver that is wanted is loaded already: its modules stay, workloads run on
    RELOAD        another driver is loaded: everybody off the GPUs, and out with it

Whatever goes wrong, the rest of the route is left out and PUT_BACK is walked instead: our cordon goes, every operand
comes back. Who is killed walks again from the beginning, by what is seen then.

Law of this file: rows are walked in the order of the table and never back; a row is done when it finds nothing to do.
Tests: tests/core/node/driver_manager/test_plan.py, tests/core/node/driver_manager/test_kills.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.instants import Instant
from seatrial.core.node.driver_manager import rows
from seatrial.core.node.driver_manager.rows import Failure, Refusal, Row, View, Wait
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import (
    Await,
    Cordon,
    End,
    Ending,
    Evict,
    HostSeen,
    Relabel,
    RemovePidFile,
    Seen,
    Step,
    Turned,
    Unbind,
    Uncordon,
    Unload,
)

WRITE_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""How long to wait after each write to the node that was turned down; after as many again it is given up."""
WRITES_MAX: Final = 10
"""Who writes one thing more often than that fights with somebody."""
EVICTION_PAUSE_SECONDS: Final = 5.0
"""A budget that says no is asked again after this."""


class Route(Enum):
    """How the node is found."""

    HOST_DRIVER = "the host brings the driver"
    BARE = "no driver is loaded"
    SAME = "the wanted driver is loaded"
    RELOAD = "another driver is loaded"


_LEFTOVERS: Final = (rows.unmount, rows.remove_pid_file)
_PLUGINS: Final = (rows.pause_plugins, rows.plugins_gone)
_OPERANDS: Final = (rows.pause_operands, rows.operands_gone)
PUT_BACK: Final[tuple[Row, ...]] = (rows.uncordon, rows.give_back)

PLAN: Final[Mapping[Route, tuple[Row, ...]]] = {
    Route.HOST_DRIVER: (*PUT_BACK, rows.mark_preinstalled, rows.rest),
    Route.BARE: (
        *_PLUGINS,
        *_LEFTOVERS,
        rows.unload_nouveau,
        rows.unbind,
        rows.await_mofed,
        *PUT_BACK,
    ),
    Route.SAME: (*_OPERANDS, *_PLUGINS, *_LEFTOVERS, *PUT_BACK),
    Route.RELOAD: (
        *_OPERANDS,
        rows.cordon,
        rows.evict,
        rows.drain,
        rows.claims_gone,
        *_PLUGINS,
        rows.driver_free,
        rows.drain,
        rows.driver_free,
        rows.forget,
        rows.unload,
        rows.drain,
        rows.unload,
        *_LEFTOVERS,
        rows.unbind,
        rows.await_mofed,
        *PUT_BACK,
        rows.unload_nouveau,
    ),
}

_BEFORE_DRAIN: Final = frozenset({rows.evict, rows.driver_free})
"""What may find a failure where a drain comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How far one run is. It dies with the process, and nothing is lost with it."""

    route: Route
    may_drain: bool = False
    """Whether the node may be drained, as it was when the run began."""
    at: int = 0
    """The row, on its route or in PUT_BACK."""
    trouble: Failure | None = None
    """Why the rest of the route is left out."""
    what: str = ""
    since: Instant = 0.0
    """What is waited for, and since when."""
    asked: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    unloaded: tuple[str, ...] = ()
    short: Failure | None = None
    """Why the node is to be drained."""
    turned_count: int = 0
    again_at: Instant = 0.0
    """How often in a row a write was turned down, and when to try again."""
    turned_why: str = ""
    write_count: int = 0
    """How often this row has written to the node."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """What it walks."""
        return PLAN[self.route] if self.trouble is None else PUT_BACK


def begin(seen: Seen, settings: Settings, *, host_driver: str) -> Run:
    """Which route it is, by what is found on the host."""
    return Run(
        route=_route(seen.host, settings, host_driver),
        may_drain=settings.is_draining and not seen.node.is_superseded,
    )


def _route(host: HostSeen, settings: Settings, host_driver: str) -> Route:
    if host_driver:
        return Route.HOST_DRIVER
    if not host.is_loaded:
        return Route.BARE
    is_same = bool(settings.digest) and settings.digest == host.digest and not settings.is_reinstalling
    return Route.SAME if is_same else Route.RELOAD


def decide(run: Run, seen: Seen, settings: Settings, now: Instant) -> tuple[Run, Step]:
    """What is next."""
    if now < run.again_at:
        return run, Await(why=f"trying again soon: {run.turned_why}", until=run.again_at)
    while run.at < len(run.rows):
        row = run.rows[run.at]
        found = row(_view(run, seen, settings, now))
        if found is None:
            run = _on(run)
        elif isinstance(found, Wait):
            if found.what != run.what:
                run = replace(run, what=found.what, since=now)
            until = None if found.seconds is None else run.since + found.seconds
            if until is None or now < until:
                return run, Await(why=found.why, until=_sooner(until, found.again_at))
            run = _short(run, _late(found)) if row in _BEFORE_DRAIN else _given_up(run, _late(found))
        elif isinstance(found, Failure):
            run = _short(run, found) if row in _BEFORE_DRAIN else _given_up(run, found)
        else:
            return run, found
    if run.trouble is None:
        return run, End(ending=Ending.DONE)
    return run, End(ending=run.trouble.ending, why=run.trouble.why)


def noted(run: Run, step: Step, turned: Turned | None, now: Instant) -> Run:
    """The same run, with how its last step ended: None for well."""
    if turned is None:
        run = replace(run, turned_count=0, again_at=0.0, turned_why="")
        match step:
            case Evict(uid=uid):
                return replace(run, asked=(*run.asked, uid))
            case Unload(module=module):
                return replace(run, unloaded=(*run.unloaded, module))
            case Relabel() | Cordon() | Uncordon() if run.write_count >= WRITES_MAX:
                return _given_up(
                    run, Failure(why="somebody undoes what is written to the node as soon as it is there.")
                )
            case Relabel() | Cordon() | Uncordon():
                return replace(run, write_count=run.write_count + 1)
            case Unbind():
                return _on(run)  # a device that stays bound is the new driver's to complain of
            case _:
                return run
    match step:
        case Evict(uid=uid) if turned.is_passing:
            kept = tuple(each for each in run.refused if each.uid != uid)
            again = Refusal(uid=uid, why=turned.why, again_at=now + EVICTION_PAUSE_SECONDS)
            return replace(run, refused=(*kept, again))
        case Relabel() | Cordon() | Uncordon() if turned.is_passing and run.turned_count < len(WRITE_PAUSES):
            pause = WRITE_PAUSES[run.turned_count]
            return replace(run, turned_count=run.turned_count + 1, again_at=now + pause, turned_why=turned.why)
        case RemovePidFile() | Unbind():
            return _on(run)  # a warning is all that it is worth
        case Unload():
            return _short(run, Failure(why=turned.why))
        case _:
            return _given_up(run, Failure(why=turned.why))


def stopped(run: Run, why: str) -> Run:
    """Somebody wants it to end: what was done to the node is put back, and no more."""
    if run.trouble is not None:
        return run
    return _given_up(run, Failure(why=why, ending=Ending.STOPPED))


# ── along the table ──────────────────────────────────────────────────────────────────────────────────────────────────


def _on(run: Run) -> Run:
    """At the next row; a drain that is over has settled what called for it."""
    short = None if run.rows[run.at] is rows.drain else run.short
    fresh = Run(route=run.route, may_drain=run.may_drain, unloaded=run.unloaded, trouble=run.trouble, short=short)
    return replace(fresh, at=run.at + 1)


def _short(run: Run, failure: Failure) -> Run:
    """Where a drain comes next and may be done, go on to it; else put everything back."""
    if run.may_drain and run.trouble is None and run.rows[run.at + 1 : run.at + 2] == (rows.drain,):
        return replace(_on(run), short=failure)
    return _given_up(run, failure)


def _given_up(run: Run, failure: Failure) -> Run:
    if run.trouble is None:
        return Run(route=run.route, trouble=failure)
    both = f"{run.trouble.why} Besides, this could not be put back: {failure.why}"
    return replace(_on(run), trouble=replace(run.trouble, why=both))


def _late(wait: Wait) -> Failure:
    if wait.late is not None:
        return wait.late
    why = f"gave up {wait.why} (after {wait.seconds:g} s). {wait.next_step}".rstrip()
    return Failure(why=why, ending=Ending.LATE)


def _sooner(first: Instant | None, second: Instant | None) -> Instant | None:
    return min((each for each in (first, second) if each is not None), default=None)


def _view(run: Run, seen: Seen, settings: Settings, now: Instant) -> View:
    return View(
        seen=seen,
        settings=settings,
        now=now,
        asked=run.asked,
        refused=run.refused,
        unloaded=run.unloaded,
        may_drain=run.may_drain,
        is_short=run.short is not None,
    )
