"""Look at the DRA plugins of a cluster, and restart those that outlived a driver.

    stand      one look: how every node stands
    reroll     restart what is stale, or leave it to a controller of ours and wait

Law of this file: a list that failed is never taken for an empty one, and trouble that passes is waited out until the
deadline. What is stale is decided in core. Tests: tests/app/test_rerolling.py, tests/cli/test_dra.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.dra import rerolling as adapter
from seatrial.adapters.kube.dra.seeing import PluginObserver
from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.core.movers.dra import words
from seatrial.core.movers.dra.ending import Patience
from seatrial.core.movers.dra.standing import standings
from seatrial.core.movers.dra.values import STILL_SECONDS, DraMemory, DraSeen, Reroll, Stand, Standing, Target

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster

SYNC_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 1.0
PART: Final = "dra"


class PluginsUnseen(SeatrialError):  # noqa: N818  the trade's word; the message says what to do
    """It cannot be said whether there are DRA plugins."""


class DraMissing(SeatrialError):  # noqa: N818
    """There is no DRA driver, and one was asked for."""


class NodeUnknown(SeatrialError):  # noqa: N818
    """A node was named that is not there."""


class End(StrEnum):
    """How a run ended."""

    FRESH = "fresh"
    """Every node that is not left out has a plugin that knows its driver."""
    NO_DRIVER = "no-dra-driver"
    REQUESTED = "requested"
    """The plugins are left to a controller that is at work, and nobody waits for it."""
    LEFT = "left"
    """Some nodes have not settled, and nobody waits for them."""
    FAILED = "failed"
    LATE = "late"
    TRIAL = "trial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How the nodes stand, and what could not be read."""

    seen: DraSeen
    standings: tuple[Standing, ...]
    note: str = ""
    """Why there is nothing to see."""
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants done."""

    namespaces: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    target: Target = Target()
    is_waiting: bool = False
    is_required: bool = False
    is_trial: bool = False
    still_seconds: float = STILL_SECONDS
    deadline_seconds: float

    def wish(self, until: float) -> adapter.Wish:
        """The same, for who does it."""
        return adapter.Wish(
            target=self.target,
            only=frozenset(self.nodes),
            still_seconds=self.still_seconds,
            patience=Patience(is_waiting=self.is_waiting, until=until),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a run has come to."""

    end: End
    looked: Looked
    deleted: tuple[Reroll, ...] = ()
    """What was deleted; on trial, what would be once its node has stood still."""
    is_left_to_controller: bool = False


Tell = Callable[[str], None]


async def stand(cluster: Cluster, namespaces: tuple[str, ...] = ()) -> Looked:
    """How every node stands at this moment."""
    async with (
        cluster.client(PART) as client,
        PluginObserver(client, namespace=cluster.namespace, namespaces=namespaces) as observer,
    ):
        await observer.wait_synced(SYNC_SECONDS)
        seen = observer.look()
        return _looked(observer, seen, standings(seen))


async def reroll(cluster: Cluster, asked: Asked, tell: Tell) -> Ended:
    """Restart the plugins that outlived a driver."""
    until = time.time() + asked.deadline_seconds
    async with (
        cluster.client(PART) as client,
        PluginObserver(client, namespace=cluster.namespace, namespaces=asked.namespaces) as observer,
    ):
        await _synced(observer, until, tell)
        seen = observer.look()
        for text in observer.unseen():
            tell(f"not seen: {text}")
        if not seen.has_dra:
            return _none(observer, seen, asked)
        unknown = [name for name in asked.nodes if name not in seen.nodes]
        if unknown:
            raise NodeUnknown(f"There is no node {unknown[0]}; `kubectl get nodes` lists them.")
        if asked.is_trial:
            return _tried(observer, seen, asked)
        controller = adapter.Controller(client, cluster.lease_namespace)
        if await controller.is_at_work(time.time()):
            tell("a controller of seatrial restarts the plugins: nothing is deleted from here")
            if asked.target:
                await adapter.publish(client, cluster.namespace, asked.target)
        return await _run(observer, controller, asked, until, tell)


async def _synced(observer: PluginObserver, until: float, tell: Tell) -> None:
    """See everything once; a server that is busy or away is waited for."""
    while True:
        try:
            return await observer.wait_synced(min(SYNC_SECONDS, max(1.0, until - time.time())))
        except (errors.ClusterUnavailable, errors.ServerFault, errors.TooManyRequests, errors.Gone) as err:
            if time.time() >= until:
                raise
            tell(f"the API server does not answer properly; trying again: {err}")
            await asyncio.sleep(RETRY_SECONDS)


async def _run(
    observer: PluginObserver,
    controller: adapter.Controller,
    asked: Asked,
    until: float,
    tell: Tell,
) -> Ended:
    teller, wish = _Teller(tell), asked.wish(until)
    last = await adapter.run(
        observer, controller, wish, on_act=lambda act: tell(words.announced(act)), on_look=teller.take
    )
    return Ended(
        end=_end(last),
        looked=_looked(observer, last.seen, last.found.standings),
        deleted=tuple(teller.deleted),
        is_left_to_controller=last.is_left_to_controller,
    )


class _Teller:
    """Says what changes about each node, and keeps what was deleted."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._said: dict[str, tuple[object, ...]] = {}
        self.deleted: list[Reroll] = []

    def take(self, look: adapter.Look) -> None:
        self.deleted += look.deleted
        for act, why in look.refused:
            self._tell(f"{act.node}: {act.namespace}/{act.pod} was not deleted, so we decide again: {why}")
        for each in look.found.standings:
            said = (each.stand, each.why, each.about)
            if self._said.get(each.node) != said:
                self._said[each.node] = said
                self._tell(f"{each.node}: {each.stand}, {words.why(each)}")


def _end(last: adapter.Look) -> End:
    stands = {each.stand for each in last.found.standings}
    if last.is_late:
        return End.LATE
    if Stand.FAILED in stands:
        return End.FAILED
    if stands <= {Stand.FRESH, Stand.SKIPPED}:
        return End.FRESH
    return End.REQUESTED if last.is_left_to_controller else End.LEFT


def _none(observer: PluginObserver, seen: DraSeen, asked: Asked) -> Ended:
    looked = _looked(observer, seen, ())
    if asked.is_required:
        raise DraMissing(f"{looked.note} One was asked for with --require.")
    return Ended(end=End.NO_DRIVER, looked=looked)


def _tried(observer: PluginObserver, seen: DraSeen, asked: Asked) -> Ended:
    """What would be deleted by now, had every node stood still for long enough; of a clique the first."""
    wish = asked.wish(0.0)
    first = wish.decide(seen, DraMemory(), 0.0)
    # As if nothing had changed for as long as anybody waits for anything.
    later = wish.decide(seen, first.memory, wish.still_seconds + 3600.0)
    return Ended(end=End.TRIAL, looked=_looked(observer, seen, first.standings), deleted=later.acts)


def _looked(observer: PluginObserver, seen: DraSeen, told: tuple[Standing, ...]) -> Looked:
    if not seen.has_dra and observer.is_blind:
        raise PluginsUnseen(
            "It cannot be said whether there are DRA plugins: "
            + "; ".join(observer.unseen())
            + ". Name the namespaces that you may read with --dra-namespace."
        )
    has_plugin = any(each.node.facts.dra is not None for each in seen.nodes.values())
    note = "" if has_plugin else words.no_driver(observer.namespaces, seen)
    return Looked(seen=seen, standings=told, note=note, unseen=observer.unseen())
