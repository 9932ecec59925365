"""What would keep a driver manager from its work, and what it would do, before anything is written.

Law of this file: the rows that act are the ones that are asked here.
Tests: tests/core/node/driver_manager/test_preflight.py
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from seatrial.core.base.values import dataclass
from seatrial.core.node.driver_manager import labels, rows
from seatrial.core.node.driver_manager.plan import Route, begin
from seatrial.core.node.driver_manager.rows import Failure, View
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import Seen
from seatrial.core.text.names import a_few, number_of


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    what: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that was looked at."""

    seen: Seen
    host_driver: str = ""
    denied: tuple[str, ...] = ()
    """The rights that are missing."""
    lacking: tuple[str, ...] = ()
    """What is missing on the host's side, as sentences."""


def checks(found: Found, settings: Settings) -> tuple[Check, ...]:
    """Everything worth telling, in the order in which it would be met."""
    return (
        Check(what="settings", verdict=Verdict.OK, text=f"for node {settings.node}, operands in {settings.namespace}"),
        _rights(found.denied),
        _host(found),
        _route(found, settings),
        *_pods(found, settings),
        *_node(found.seen),
    )


def _rights(denied: tuple[str, ...]) -> Check:
    if not denied:
        return Check(what="rights", verdict=Verdict.OK, text="all that are needed")
    text = f"missing: {'; '.join(denied)}. Apply `seatrial manifests driver-manager`."
    return Check(what="rights", verdict=Verdict.FAILED, text=text)


def _host(found: Found) -> Check:
    if found.lacking:
        return Check(what="host", verdict=Verdict.FAILED, text=" ".join(found.lacking))
    return Check(what="host", verdict=Verdict.OK, text="modules can be unloaded, mounts and files are in reach")


def _route(found: Found, settings: Settings) -> Check:
    route = begin(found.seen, settings, host_driver=found.host_driver).route
    match route:
        case Route.HOST_DRIVER:
            text = f"the host brings driver {found.host_driver}: none is loaded by a container on this node"
            return Check(what="driver", verdict=Verdict.FAILED, text=text)
        case Route.BARE:
            text = "none is loaded: nobody would be evicted"
        case Route.SAME:
            text = "the one that is wanted is loaded: it stays, and nobody would be evicted"
        case Route.RELOAD:
            text = "another one is loaded, and would be unloaded"
    return Check(what="driver", verdict=Verdict.OK, text=text)


def _pods(found: Found, settings: Settings) -> Iterator[Check]:
    run = begin(found.seen, settings, host_driver=found.host_driver)
    if run.route is not Route.RELOAD:
        return
    view = View(seen=found.seen, settings=settings, now=0.0, may_drain=run.may_drain)
    if not view.may_evict and not view.may_drain:
        why = "NVIDIA's upgrade controller does that" if found.seen.node.is_superseded else "both switches are off"
        yield Check(what="pods", verdict=Verdict.NOTE, text=f"nobody would be evicted: {why}")
        return
    stuck = rows.evict(view)
    if isinstance(stuck, Failure):
        way = "; the node would be drained" if view.may_drain else ""
        yield Check(
            what="pods",
            verdict=Verdict.NOTE if view.may_drain else Verdict.FAILED,
            text=f"{stuck.why.rstrip('.')}{way}",
        )
        return
    going = [pod for pod in found.seen.pods if (pod.holds_gpu or pod.holds_claim) and not pod.is_bound]
    names = a_few(pod.full_name for pod in going)
    told = f"{number_of(len(going), 'pod')} would be evicted: {names}" if going else "nobody holds a GPU"
    yield Check(what="pods", verdict=Verdict.OK, text=told)


def _node(seen: Seen) -> Iterator[Check]:
    paused = [key for key, value in seen.node.labels if labels.MARK in value]
    if paused:
        text = f"an earlier run left {number_of(len(paused), 'label')} paused; the next one gives them back"
        yield Check(what="labels", verdict=Verdict.NOTE, text=text)
    if seen.node.is_cordon_ours:
        text = "an earlier run left its cordon; the next one takes it away"
        yield Check(what="cordon", verdict=Verdict.NOTE, text=text)
    elif seen.node.is_cordoned:
        yield Check(what="cordon", verdict=Verdict.NOTE, text="somebody else's, which stays")
