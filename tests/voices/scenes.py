"""Recorded scenarios, played again by the real loop or read from a journal, and the moments worth comparing in them.

A moment is taken where something people see has changed (a phase, what is waited for, how many nodes stand where), and
the controller's status is brought up to it: what it would write now is taken as written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from seatrial import passes
from seatrial.adapters.journal import reading
from seatrial.adapters.kube.reading.leader import Leader
from seatrial.app.looking import Look
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import decide
from seatrial.core.model.campaign import Bake, Campaign, Growth, Point, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.instants import Instant
from seatrial.core.model.policy import Share
from seatrial.ports import Ports, Sight
from seatrial.run.loop import Report, run_forever, run_once
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.world import World
from seatrial_lab.schedules.delegated import run_delegated
from seatrial_lab.schedules.mixed import run_mixed
from seatrial_lab.schedules.schedules import Begin, Ending, NoJournal, run_schedule
from tests.builders import NEW, OLD, an_intent
from tests.reported import STARTED_AT

TESTS: Final = Path(__file__).parents[1]
MOMENTS_MAX: Final = 4
"""Of one scenario: its last moment, and others spread over it."""
WRITES_MAX: Final = 6
LEADER: Final = "seatrial-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is there at one moment of a scenario."""

    scene: str
    number: int
    look: Look

    def __str__(self) -> str:
        return f"{self.scene}, moment {self.number} (at {self.look.at:.0f} s)"


@dataclass(slots=True)
class Taken:
    """Sights in which something was new, as a controller had them."""

    sights: list[tuple[Instant, Sight]]
    last: object = None

    def take(self, at: Instant, sight: Sight | None) -> None:
        if sight is None or not sight.seen.nodes:
            return
        key = _key(sight)
        if key != self.last:
            self.last = key
            self.sights.append((at, sight))
        else:
            self.sights[-1] = (at, sight)

    def begin(self, ports: Ports, started_at: Instant) -> Callable[[], Report]:
        """A life of the real controller that is looked over the shoulder."""
        memory = Memory(started_at)

        def look() -> Report:
            report = run_once(ports, memory)
            self.take(report.at, report.sight)
            return report

        return look


def _key(sight: Sight) -> object:
    """What people would see change."""
    record, summary = sight.seen.rollout.campaign, sight.seen.rollout.summary
    codes = frozenset(code for code, _ in summary.holds) if summary is not None else None
    phase = (record.phase, record.wave, tuple(each.verdict for each in record.gates)) if record is not None else None
    return phase, codes, summary.counts if summary is not None else None


def moments(scene: str, sights: list[tuple[Instant, Sight]], count: int = MOMENTS_MAX) -> Iterator[Moment]:
    """Some of them, the last among them."""
    step = max(1.0, len(sights) / count)
    places = sorted({len(sights) - 1 - round(each * step) for each in range(count)} & set(range(len(sights))))
    for place in places:
        at, sight = sights[place]
        settled = settle(sight, at)
        if settled is not None:
            yield Moment(scene=scene, number=place, look=look_of(settled, at))
            if place == places[-1]:
                yield Moment(
                    scene=f"{scene} without a controller", number=place, look=look_of(settled, at, is_led=False)
                )


def settle(sight: Sight, at: Instant) -> Sight | None:
    """The sight once the controller has written of it; None where one write brings the next."""
    seen = replace(sight.seen, busy={}, rebuffs={}, rollout=replace(sight.seen.rollout, summarised_at=0.0))
    for _ in range(WRITES_MAX):
        decision = decide(seen, sight.intent, at)
        written = next((each.record for each in decision.actions if isinstance(each, WriteRolloutRecord)), None)
        if written is None:
            rollout = replace(seen.rollout, summarised_at=at)
            return replace(sight, seen=replace(seen, rollout=rollout)) if rollout.summary is not None else None
        seen = replace(seen, rollout=replace(written, summarised_at=0.0))
    return None


def look_of(sight: Sight, at: Instant, *, is_led: bool = True) -> Look:
    """What somebody sees who looks just then."""
    heard_at = at if is_led else at - 3600.0
    return Look(
        at=at,
        sight=sight,
        nodes=dict(sight.seen.nodes),
        operator=sight.seen.operator,
        leader=Leader(heard_at=heard_at, holder=LEADER),
    )


# ── the scenarios ────────────────────────────────────────────────────────────────────────────────────────────────────


def seeds(name: str) -> list[int]:
    """The seeds that a list keeps."""
    lines = (TESTS / "scenarios" / name).read_text(encoding="utf-8").splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def of_schedule(name: str, run: Callable[[int, Begin], Ending], seed: int) -> Iterator[Moment]:
    """A schedule of faults, by its seed."""
    taken = Taken([])
    run(seed, taken.begin)
    yield from moments(f"{name} {seed}", taken.sights)


def of_journal(path: Path) -> Iterator[Moment]:
    """A journal that was written once."""
    taken, reader = Taken([]), passes.Reader()
    for entry in reading.entries(reading.check(path)):
        if entry.kind == passes.KIND:
            made = reader.read(entry)
            taken.take(entry.at, Sight(seen=made.seen, intent=made.intent))
    yield from moments(path.name, taken.sights)


HORIZON_SECONDS: Final = 72 * 3600.0
CAREFUL: Final = Campaign(
    gates=(Gate(name="smoke", image="smoke:1"),),
    bake=Bake(seconds=7200.0, every_seconds=3600.0),
    waves=Waves(growth=Growth.FIXED, first=Share(amount=3)),
)
BROKEN: Final = Fate(driver_fails_on=NEW.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is asked for, and what is in store."""

    campaign: Campaign | None = CAREFUL
    fates: Mapping[str, Fate] = field(default_factory=dict)
    gate: GateFate | None = None
    is_paused: bool = False
    is_delegated: bool = False


STORIES: Final[Mapping[str, Story]] = {
    "everything-goes-well": Story(),
    "the-last-node-crashes": Story(fates={"n6": BROKEN}),
    "the-first-of-a-wave-crashes": Story(fates={"n1": BROKEN}),
    "an-image-cannot-be-pulled": Story(fates={"n5": Fate(image_missing_for=NEW.version)}),
    "the-canary-crashes": Story(fates={"n2": BROKEN}),
    "a-gate-fails": Story(gate=GateFate(fails_on=NEW.version, from_round=2)),
    "a-gate-is-unknown": Story(gate=GateFate(unknown_rounds=frozenset({1}))),
    "an-approval-is-outstanding": Story(campaign=replace(CAREFUL, manual=(Point.WAVES,))),
    "the-first-approval-is-outstanding": Story(campaign=replace(CAREFUL, manual=(Point.CANARY,))),
    "it-is-paused": Story(is_paused=True),
    "an-eviction-is-blocked": Story(fates={"n4": Fate(is_eviction_blocked=True)}),
    "nvidias-controller-fails-on-one": Story(fates={"n6": BROKEN}, is_delegated=True),
    "plain-and-one-crashes": Story(campaign=None, fates={"n6": BROKEN}),
}
"""What a night shift is called for."""


def of_story(name: str, story: Story) -> Iterator[Moment]:
    """A story of six nodes, played until nothing more happens."""
    is_plain = story.campaign is None
    nodes = [
        new_node(f"n{number}", running=OLD, wanted=NEW if is_plain else OLD, gpu_pod_count=number % 2, gpu_count=8)
        for number in range(1, 7)
    ]
    operator = outer.cluster_policy(OLD.version, is_auto_upgrading=story.is_delegated, policy=outer.NO_LIMIT)
    world = World(
        nodes,
        an_intent(parallel_max=2, unavailable_max="50%", failed_max=1, campaign=story.campaign),
        fates=dict(story.fates),
        gate_fates={"smoke": story.gate} if story.gate is not None else {},
        outside=Outside() if is_plain else Outside(operator=operator),
        started_at=STARTED_AT,
    )
    if story.is_paused:
        world.at(STARTED_AT + 3600.0, lambda world: setattr(world, "intent", replace(world.intent, is_paused=True)))
    taken = Taken([])
    asyncio.run(
        run_forever(
            world.ports(NoJournal()),
            Memory(world.time),
            on_report=lambda report: taken.take(report.at, report.sight),
            is_over=lambda report: report.at > STARTED_AT + HORIZON_SECONDS,
        )
    )
    yield from moments(name, taken.sights, 2 * MOMENTS_MAX)


def scenarios() -> Iterable[tuple[str, Callable[[], Iterator[Moment]]]]:
    """Every recorded scenario by its name."""
    for seed in seeds("seeds_mixed.txt"):
        yield f"mixed-{seed}", partial(of_schedule, "mixed", run_mixed, seed)
    for seed in seeds("seeds.txt"):
        run = run_delegated if seed >= 100 and seed % 4 == 3 else run_schedule
        yield f"faults-{seed}", partial(of_schedule, "faults", run, seed)
    for name, story in STORIES.items():
        yield name, partial(of_story, name, story)
    for path in sorted((TESTS / "traces").glob("*.jsonl.gz")):
        yield path.name.partition(".")[0], partial(of_journal, path)
