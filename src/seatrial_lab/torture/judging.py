"""Whether a story ended as it should: what was seen goes in, what is wrong with it comes out, in sentences.

    the controller's word      promises that were about to be broken, lives that ended in a way nobody foresaw
    the watch history          never more nodes at once than the limits say, told by somebody who is not us
    the cluster at the end     phase, drivers, cordons, marks: the same as without faults
    the remote at the end      the same commits, each once
    the way                    no more requests than a few times those of the same campaign without faults

Only values here. Tests: tests/torture/test_judging.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from seatrial_lab.testbed.history import NodeMoment

REQUESTS_FACTOR: Final = 3
REQUESTS_PER_LIFE: Final = 60
"""What a further life may ask for before it does anything: each kind of object listed and watched, some of it twice."""
REQUESTS_PER_BLOW: Final = 100
"""What may be asked again where answers were refused, or watches ended."""
RESTING: Final = frozenset({"", "upgrade-required", "upgrade-done", "upgrade-failed"})
ENDED: Final = frozenset({"", "upgrade-done"})


class Watched(Protocol):
    """A watch history, as far as it is judged."""

    def fleets(self) -> Iterable[dict[str, NodeMoment]]:
        """The whole fleet after each change of a node."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a campaign asks for that nothing goes wrong around."""

    writes: int
    requests: int
    seconds: float
    commits: tuple[str, ...] = ()
    """The subjects of its commits, without versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a story should end."""

    phase: str
    version: str
    node_count: int
    parallel_max: int
    unavailable_max: int
    blow_count: int
    commits: tuple[str, ...] | None
    """None where nothing is published by commits, or nobody knows yet."""
    requests: int | None
    """Of the same campaign without faults; None where this is the one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How a story ended."""

    phase: str
    versions: tuple[str, ...]
    """The driver of each node."""
    cordoned: tuple[str, ...]
    marks: tuple[str, ...]
    states: tuple[str, ...]
    under_way_most: int
    unavailable_most: int
    breaches: tuple[str, ...]
    crashes: tuple[str, ...]
    journal: str
    """What is wrong with the journal; empty where nothing is."""
    commits: tuple[str, ...]
    requests: int
    lives: int


def problems(wanted: Wanted, seen: Seen) -> tuple[str, ...]:
    """Everything that is not as it should be; nothing where the story ended well."""
    return (*unsettled(wanted, seen), *_told(wanted, seen), *_asked(wanted, seen))


def unsettled(wanted: Wanted, seen: Seen) -> tuple[str, ...]:
    """What is not as it should be, and may still come to be so."""
    found = []
    if seen.phase != wanted.phase:
        found.append(f"the rollout is {seen.phase or 'without a phase'}, and should be {wanted.phase}")
    if Counter(seen.versions) != {wanted.version: wanted.node_count}:
        found.append(f"nodes run {_counted(seen.versions)}, and all {wanted.node_count} should run {wanted.version}")
    if seen.cordoned:
        found.append(f"left cordoned: {', '.join(seen.cordoned)}")
    if seen.marks:
        found.append(f"left marked: {', '.join(seen.marks)}")
    if odd := sorted(set(seen.states) - ENDED):
        found.append(f"nodes are at {', '.join(odd)}")
    return tuple(found)


def _told(wanted: Wanted, seen: Seen) -> Iterable[str]:
    if seen.under_way_most > wanted.parallel_max:
        yield f"{seen.under_way_most} nodes were under way at once, and {wanted.parallel_max} may be"
    if seen.unavailable_most > wanted.unavailable_max:
        yield f"{seen.unavailable_most} nodes were unavailable at once, and {wanted.unavailable_max} may be"
    yield from (f"a promise was about to be broken: {each}" for each in seen.breaches)
    yield from (f"the controller ended in a way nobody foresaw: {each}" for each in seen.crashes)
    if seen.journal:
        yield f"the journal is broken: {seen.journal}"


def _asked(wanted: Wanted, seen: Seen) -> Iterable[str]:
    if wanted.commits is not None and seen.commits != wanted.commits:
        yield f"the commits are {list(seen.commits)}, and without faults they are {list(wanted.commits)}"
    if wanted.requests is None:
        return
    limit = requests_max(wanted.requests, lives=seen.lives, blow_count=wanted.blow_count)
    if seen.requests > limit:
        yield f"{seen.requests} requests were made, {limit} may be, and without faults it is {wanted.requests}"


def requests_max(without_faults: int, *, lives: int, blow_count: int) -> int:
    """How many requests a story may make."""
    return REQUESTS_FACTOR * without_faults + REQUESTS_PER_LIFE * (lives - 1) + REQUESTS_PER_BLOW * blow_count


def most_under_way(histories: Iterable[Watched]) -> int:
    """The most nodes that were started and not ended at any one moment."""
    return _most(histories, is_under_way)


def most_unavailable(histories: Iterable[Watched]) -> int:
    """The most nodes that were cordoned, not Ready or under way at any one moment."""
    return _most(histories, lambda node: node.is_cordoned or not node.is_ready or is_under_way(node))


def is_under_way(node: NodeMoment) -> bool:
    """Started, and not ended."""
    return node.state not in RESTING


def _most(histories: Iterable[Watched], is_so: Callable[[NodeMoment], bool]) -> int:
    return max(
        (sum(is_so(node) for node in fleet.values()) for history in histories for fleet in history.fleets()),
        default=0,
    )


def _counted(versions: Iterable[str]) -> str:
    return ", ".join(f"{version} ({count})" for version, count in sorted(Counter(versions).items())) or "nothing"
