"""One deed on two stages, World and a real API server: what is seen of each afterwards, in the form that is compared.

    stage ── looked at by the real observer ──▶ the start, from which a World is made
      │                                           │
      │ deed.on_cluster                           │ deed.in_world
      ▼                                           ▼
    what the observer shows then  ══ equal to ══  what World shows then

Because World begins with what the observer saw, a difference afterwards is the deed's. A deed is an act of ours
(`Twice`, `acted`), or whatever a neighbour does. Law of this file: what is left out of the comparison is left out here,
in `DROPPED`, `TOLD_BY_FACTS` and `_plain`, and nowhere else.

Tests: tests/e2e/test_act_conformance.py
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.action import Action
from seatrial.core.model.campaign import SourceFacts
from seatrial.core.model.gates.gate import Measurement
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import MachinePool, OperatorFacts
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.ports import Outcome, Result, Sight
from seatrial.sim.nodes import Fate
from seatrial.sim.outside import Outside, Versions
from seatrial.sim.world import DELAYS, Delay, World

# ── what is compared ─────────────────────────────────────────────────────────────────────────────────────────────────

DROPPED: Final = frozenset({"resource_version", "since", "seen_at", "every_seconds"})
"""Versions count differently on every server, and a source says when it was looked at. That a write moves the version
is seen all the same: the same act again is refused on both stages."""
TOLD_BY_FACTS: Final = frozenset(
    {
        keys.STATE_LABEL,
        keys.NVIDIA_STATE_LABEL,
        keys.NETWORK_STATE_LABEL,
        keys.NVIDIA_NETWORK_STATE_LABEL,
        keys.CANARY_LABEL,
        keys.SKIP_LABEL,
    }
)
"""Labels that are facts of their own; World keeps the facts, and not the labels they are read from. NVIDIA's label of
the network driver is a copy of ours, which tests/e2e/test_network_driver.py looks at."""
NEW: Final = "a new one"
"""Stands for the uid of whatever was not there at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """What stands in the repository, beside what the observer tells of it."""

    files: Versions = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything of ours that can be seen, and how the deed ended."""

    result: Result | None
    """None for what a neighbour did: nobody answers us."""
    blocked: frozenset[str]
    nodes: Mapping[str, NodeSeen]
    rollout: RolloutRecord
    is_guarded: bool
    operator: OperatorFacts
    measurements: tuple[Measurement, ...]
    machine_pools: tuple[MachinePool, ...]
    source: SourceFacts | None
    repository: Repository


def view_of(seen: Snapshot, outcome: Outcome | None, repository: Repository) -> View:
    """What is compared of a look."""
    return View(
        result=outcome.result if outcome is not None else None,
        blocked=frozenset(uid for uid, _ in outcome.blocked) if outcome is not None else frozenset(),
        nodes=seen.nodes,
        rollout=seen.rollout,
        is_guarded=seen.is_guarded,
        operator=seen.operator,
        # What a Job and its pod are called is for people, and only a cluster has them.
        measurements=tuple(replace(each, job="", pod="") for each in seen.measurements),
        machine_pools=tuple(sorted(seen.machine_pools, key=lambda pool: pool.name)),
        source=seen.source,
        repository=repository,
    )


def normal(view: View, known: frozenset[str]) -> Any:
    """The view as plain values in which two stages can be compared; `known` are the uids of the start."""
    return _plain(replace(view, source=_named(view.source) if view.source is not None else None), known)


def _plain(value: Any, known: frozenset[str], name: str = "") -> Any:
    if name == "uid":
        return value if value in known else NEW
    if name == "labels" and isinstance(value, Mapping):
        return {key: text for key, text in value.items() if key not in TOLD_BY_FACTS}
    if is_dataclass(value):
        kept = (each.name for each in fields(value) if each.name not in DROPPED)
        return {each: _plain(getattr(value, each), known, each) for each in kept}
    if isinstance(value, Mapping):
        return {key: _plain(each, known) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_plain(each, known) for each in value)
    return value.value if isinstance(value, Enum) else value


def _named(source: SourceFacts) -> SourceFacts:
    """The source with every commit of ours under its step's name, and any other head as somebody else's.

    Steps may share a commit; it bears the name of the first of them, by the alphabet.
    """
    steps = {commit: f"the commit of {step}" for step, commit in sorted(source.steps, reverse=True)}
    return replace(
        source,
        head=steps.get(source.head, "not ours"),
        steps=tuple(sorted((step, steps[commit]) for step, commit in source.steps)),
    )


def uids_of(value: Any) -> Iterable[str]:
    """Every uid that is named anywhere in a value."""
    if is_dataclass(value):
        for each in fields(value):
            inner = getattr(value, each.name)
            if each.name == "uid":
                yield inner
            else:
                yield from uids_of(inner)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from uids_of(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from uids_of(inner)


def differences(world: Any, cluster: Any, place: str = "") -> list[str]:
    """Where two normal views differ, a line each."""
    if isinstance(world, dict) and isinstance(cluster, dict):
        names = sorted({*world, *cluster})
        parts = (differences(world.get(name), cluster.get(name), f"{place}.{name}".lstrip(".")) for name in names)
        return [line for part in parts for line in part]
    if isinstance(world, tuple) and isinstance(cluster, tuple) and len(world) == len(cluster):
        pairs = enumerate(zip(world, cluster, strict=True))
        return [line for number, (a, b) in pairs for line in differences(a, b, f"{place}[{number}]")]
    return [] if world == cluster else [f"{place}: World shows {world!r}, the cluster {cluster!r}"]


# ── what is done ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Stage(Protocol):
    """A real API server, laid out, with the real observer and executor before it."""

    async def start(self) -> Sight:
        """What is seen once everything that was laid out is seen."""
        ...

    async def do(self, action: Action) -> Outcome:
        """Execute one act."""
        ...

    async def shown(self, is_so: Callable[[Sight], bool]) -> Sight:
        """What is seen when it is so, or after the longest wait."""
        ...

    def repository(self) -> Repository:
        """What stands in the repository now."""
        ...


Build: TypeAlias = Callable[[Snapshot], Action]
"""Makes the act that would be decided on what is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that is done on both stages; the answer is None where nobody answers us."""

    in_world: Callable[[World], Outcome | None]
    on_cluster: Callable[[Any], Awaitable[Outcome | None]]
    """Gets the stage."""


class Twice:
    """An act of ours, made from what each stage shows; and the very same act once more, whatever it believed."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self.in_world: Action | None = None
        self.on_cluster: Action | None = None

    @property
    def deeds(self) -> tuple[Deed, Deed]:
        return (
            Deed(in_world=self._first_in_world, on_cluster=self._first_on_cluster),
            Deed(in_world=self._again_in_world, on_cluster=self._again_on_cluster),
        )

    def _first_in_world(self, world: World) -> Outcome:
        self.in_world = self._build(world.observe().seen)
        return world.execute(self.in_world)

    async def _first_on_cluster(self, stage: Stage) -> Outcome:
        self.on_cluster = self._build((await stage.shown(lambda _: True)).seen)
        return await stage.do(self.on_cluster)

    def _again_in_world(self, world: World) -> Outcome:
        assert self.in_world is not None
        return world.execute(self.in_world)

    async def _again_on_cluster(self, stage: Stage) -> Outcome:
        assert self.on_cluster is not None
        return await stage.do(self.on_cluster)


def acted(build: Build) -> Deed:
    """An act of ours, once."""
    return Twice(build).deeds[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How a deed ended on both stages."""

    world: Any
    cluster: Any
    differences: tuple[str, ...] = field(default=())

    @property
    def is_overtaken(self) -> bool:
        """Whether the cluster may have been changed by somebody else between look and act."""
        stale = Result.STALE.value
        return bool(self.cluster["result"] == stale and self.world["result"] != stale)


async def play(stage: Stage, deeds: Sequence[Deed], fates: Mapping[str, Fate] | None = None) -> tuple[Played, ...]:
    """Do one deed after the other on both stages, and compare after each; ends with the first difference."""
    start = await stage.start()
    known = frozenset(uids_of(start.seen.nodes))
    world = world_of(start, stage.repository(), fates or {})
    played: list[Played] = []
    for deed in deeds:
        answer = deed.in_world(world)
        wanted = normal(view_of(world.observe().seen, answer, _repository_of(world)), known)
        played.append(await _compared(stage, deed, wanted, known))
        if played[-1].differences:
            break
    return tuple(played)


async def _compared(stage: Stage, deed: Deed, wanted: Any, known: frozenset[str]) -> Played:
    answer = await deed.on_cluster(stage)

    def look(sight: Sight) -> Any:
        return normal(view_of(sight.seen, answer, stage.repository()), known)

    # An act that ended in another way will not show the same, so nobody waits for it.
    is_hopeless = (answer.result.value if answer is not None else None) != wanted["result"]
    seen = look(await stage.shown(lambda sight: is_hopeless or look(sight) == wanted))
    return Played(world=wanted, cluster=seen, differences=tuple(differences(wanted, seen)))


def world_of(start: Sight, repository: Repository, fates: Mapping[str, Fate]) -> World:
    """A World in which everything is as the observer saw it."""
    seen = start.seen
    outside = Outside(
        operator=seen.operator,
        source=seen.source,
        files=repository.files,
        tags=repository.tags,
        measurements=seen.measurements,
        machine_pools=seen.machine_pools,
        rollout=seen.rollout.name,
    )
    # Whoever is asked through a webhook answers at once, as the stage's own does.
    delays = {**DELAYS, "work is saved": Delay(seconds=0)}
    world = World(
        seen.nodes.values(), start.intent, outside=outside, fates=fates, delays=delays, is_guarded=seen.is_guarded
    )
    world.rollout = seen.rollout
    return world


def _repository_of(world: World) -> Repository:
    return Repository(files=world.outside.files, tags=world.outside.tags)
