"""False aborts and missed losses of judging, by simulated upgrades.

    python -m bench.judging [--part PART …] [--scale SHARE] [--minutes N] [--workers N] [--no-keep]

    null      5,000 sound upgrades of 48 h at the default settings: how many are aborted; with and without controls
    losses    1,000 upgrades that lose 3 % of every rate: how many are found within 30 minutes of load
    faults    a labelled set: gross faults, small losses one figure at a time, and what is no fault
    sweep     sound upgrades under noise between nodes and racks from none to far too much: where false aborts pass 1 %
    rare      sound rollouts over forty nodes, by events alone

What is measured and what is assumed: noise within a GPU is fitted to the H200's runs in bench/results (FITTED). Noise
between nodes and racks over hours has not been measured on any cluster: it is assumed (World), and swept. One figure of
a node is simulated as the mean over its eight GPUs, with the tails of a single one.

Law of this file: the rules are those of core/judging, called as a campaign would call them; every upgrade has a seed
of its own that is made from the result's. An upgrade is judged after every round, and is over at the first that fails;
sound ones are screened first (_may_speak), because judging all rounds of thousands of them takes an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from multiprocessing import Pool
from typing import Any, Final

from bench.machine import RESULTS, keep, machine

from seatrial.core.judging import evidence as evidences
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.comparing import HELD_SLACK, LEAP, Round
from seatrial.core.judging.rare import EXPECTED
from seatrial.core.judging.together import judged
from seatrial.core.model.gates.exposed import Rare
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.gate import GateVerdict

SEED: Final = 20_261_116
BATCH: Final = 50
SECONDS_MAX: Final = {"": math.inf}
"""How long a row may take, where --minutes says so: a row tells how many upgrades it is of."""
GPUS: Final = 8
ASKED: Final = Asked()
BASELINE_HOURS: Final = (0.0, 1 / 12, 2 / 12)
UPGRADE_HOURS: Final = 0.5
FIRST_ROUNDS: Final = tuple(number / 12 for number in range(1, 7))
"""Every five minutes for half an hour of load; then every hour."""
BAKE_HOURS: Final = 48
SWEEP_HOURS: Final = 6
START: Final = BASELINE_HOURS[-1] + UPGRADE_HOURS
CANARY: Final = "canary"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How a figure of one GPU varies: from run to run, and slowly."""

    unit: str
    fast: float
    slow: float
    source: str


def fitted() -> dict[str, Noise]:
    """The noise of the figures that were repeated on an H200, and what is taken for the others."""
    free = json.loads((RESULTS / "probes-h200-2026-11-16T1231.json").read_text(encoding="utf-8"))["free"]
    limited = json.loads((RESULTS / "probes-h200-locked-2026-11-16T1206.json").read_text(encoding="utf-8"))["free"]
    return {
        "matrix-fp32": _fit(free["matrix-fp32"], "TFLOP/s"),
        "matrix-bf16": _fit(limited, "TFLOP/s"),
        "hbm-copy": Noise(unit="GB/s", fast=0.001, slow=0.001, source="assumed; blocks of one run vary by 0.0003"),
        "host-to-device": Noise(unit="GB/s", fast=0.0015, slow=0.001, source="assumed; blocks vary by 0.001"),
        "device-to-host": Noise(unit="GB/s", fast=0.0025, slow=0.001, source="assumed; blocks vary by 0.0026"),
        "launch": Noise(unit="µs", fast=0.14, slow=0.03, source="assumed; blocks vary by up to 0.14"),
    }


def _fit(rows: Iterable[Mapping[str, Any]], unit: str) -> Noise:
    """From pairs of runs one after the other, and from how far the pairs are apart."""
    pairs = [(math.log(row["before"]["value"]), math.log(row["same"]["value"])) for row in rows]
    fast = statistics.stdev(one - other for one, other in pairs) / math.sqrt(2)
    whole = statistics.stdev(value for pair in pairs for value in pair)
    return Noise(
        unit=unit, fast=fast, slow=math.sqrt(max(0.0, whole**2 - fast**2)), source=f"{len(pairs)} pairs of runs"
    )


FITTED: Final = fitted()
RATES: Final = tuple(name for name, noise in FITTED.items() if noise.unit != "µs")


@dataclass(frozen=True, kw_only=True)
class World:
    """What is assumed of nodes and racks: relative, each figure on its own."""

    node_wander: float = 0.002
    """What a node wanders by itself, beyond the noise of its GPUs."""
    node_hours: float = 2.0
    """For how long: its correlation falls to 1/e after so many hours."""
    rack_wander: float = 0.005
    rack_hours: float = 6.0
    controls: int = 3
    """The last of them stands in another rack, where there are two at least."""
    hiccups: float = 0.002
    """The share of a node's figures that are 2 to 10 % worse for one round."""
    restart: float = 0.001
    """What a restart changes for good, either way: where memory lies, which pages are held."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What an upgrade breaks."""

    losses: Mapping[str, float] = field(default_factory=dict)
    """Shares lost of figures, on the canary, for good."""
    common: float = 0.0
    """What all nodes lose of every rate from the upgrade on."""
    events: Mapping[str, float] = field(default_factory=dict)
    """Events per hour on the canary."""
    clock_share: float = 0.74
    """Of a loss at the power limit, what the clocks make up for: a planted 3 % cost 0.7 % of the rate on average. Minus
    one: the clocks are what was lost."""


GROSS: Final = {
    "every rate halved": Fault(losses=dict.fromkeys(RATES, 0.5)),
    "every rate down by 10 %": Fault(losses=dict.fromkeys(RATES, 0.10)),
    "one GPU of eight at half its rate": Fault(losses=dict.fromkeys(RATES, 1 - 0.5 ** (1 / GPUS))),
    "PCIe at half its width": Fault(losses={"host-to-device": 0.5, "device-to-host": 0.5}),
    "copies in memory down by 20 %": Fault(losses={"hbm-copy": 0.2}),
    "launches three times as slow": Fault(losses={"launch": 1 - 1 / 3}),
    "power limit down by 15 %": Fault(losses={"matrix-bf16": 0.064, "matrix-fp32": 0.05}, clock_share=-1.0),
    "an uncorrected ECC error every ten minutes": Fault(events={"ecc-uncorrected-volatile": 6.0}),
    "an Xid every five minutes": Fault(events={"xid": 12.0}),
}
SMALL: Final = {
    **{f"3 % of {name} alone": Fault(losses={name: 0.03}) for name in RATES},
    "5 % of every rate": Fault(losses=dict.fromkeys(RATES, 0.05)),
    "2 % of every rate": Fault(losses=dict.fromkeys(RATES, 0.02)),
}
SOUND: Final = {
    "a loss of 1 %, which is tolerated": Fault(losses=dict.fromkeys(RATES, 0.01)),
    "a gain of 3 %": Fault(losses=dict.fromkeys(RATES, -0.03)),
    "all nodes lose 5 % at once": Fault(common=0.05),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one upgrade ended."""

    rounds: int
    failed: str = ""
    """Who spoke; empty where nobody did."""
    verdict: str = ""


@lru_cache(maxsize=1000)
def _memory(passed_hours: float, hours: float) -> tuple[float, float]:
    kept = math.exp(-passed_hours / hours)
    return kept, math.sqrt(1 - kept * kept)


class _Walk:
    """A level that wanders around zero and forgets where it was after some hours."""

    def __init__(self, chance: random.Random, spread: float, hours: float) -> None:
        self.chance, self.spread, self.hours = chance, spread, hours
        self.at, self.level = 0.0, chance.gauss(0, spread)

    def to(self, at: float) -> float:
        kept, fresh = _memory(at - self.at, self.hours)
        self.level = self.level * kept + self.chance.gauss(0, self.spread * fresh)
        self.at = at
        return self.level


class _Fleet:
    """A canary and its controls, as their payloads would report them."""

    def __init__(self, chance: random.Random, world: World, fault: Fault) -> None:
        self.chance, self.world, self.fault = chance, world, fault
        self.nodes = (CANARY, *(f"control-{number}" for number in range(world.controls)))
        racks = {node: "b" if world.controls > 1 and node == self.nodes[-1] else "a" for node in self.nodes}
        self.racks = {
            (rack, name): _Walk(chance, world.rack_wander, world.rack_hours) for rack in "ab" for name in FITTED
        }
        self.rack_of = racks
        self.walks = {
            (node, name): _Walk(chance, math.hypot(world.node_wander, noise.slow), world.node_hours)
            for node in self.nodes
            for name, noise in FITTED.items()
        }
        restarts = {name: chance.gauss(0, world.restart) for name in FITTED}
        self.losses = {
            (node, name): (-math.log1p(-fault.common) if name in RATES else 0.0)
            + (restarts[name] - math.log1p(-fault.losses.get(name, 0.0)) if node == CANARY else 0.0)
            for node in self.nodes
            for name in FITTED
        }

    def values(self, at: float, *, is_upgraded: bool) -> dict[tuple[str, str], tuple[float, float]]:
        """Badness of every figure of every node, and the logarithm of its clock."""
        common = {key: walk.to(at) for key, walk in self.racks.items()}
        return {
            (node, name): self._value(node, name, noise, at, common[self.rack_of[node], name], is_upgraded)
            for node in self.nodes
            for name, noise in FITTED.items()
        }

    def _value(
        self, node: str, name: str, noise: Noise, at: float, rack: float, is_upgraded: bool
    ) -> tuple[float, float]:
        chance = self.chance
        bad = rack + self.walks[node, name].to(at) + HEAVY[chance.getrandbits(12)] * noise.fast / math.sqrt(GPUS)
        loss = self.losses[node, name] if is_upgraded else 0.0
        if chance.random() < self.world.hiccups:
            loss += chance.uniform(0.02, 0.10)
        if name != LIMITED:
            return bad + loss, 0.0
        # The clocks make up for a part of the loss, or are what was lost; means over eight GPUs.
        clock = CLOCK + chance.gauss(0, 0.004 / math.sqrt(GPUS)) + loss * self.fault.clock_share
        return bad + loss * (1 - max(0.0, self.fault.clock_share)), clock


def _heavy() -> tuple[float, ...]:
    """Values of spread one with the tails of Student's distribution of three degrees: some runs are off by far."""
    chance = random.Random(SEED)  # noqa: S311  a simulation
    drawn = [chance.gauss(0, 1) / math.sqrt(chance.gammavariate(1.5, 2.0) / 3) for _ in range(2048)]
    both = [sign * value for value in drawn for sign in (1, -1)]
    spread = statistics.pstdev(both)
    return tuple(value / spread for value in both)


HEAVY: Final = _heavy()
CLOCK: Final = math.log(1465.0)
LIMITED: Final = "matrix-bf16"


def reported(values: Mapping[tuple[str, str], tuple[float, float]], at: float) -> tuple[Figure, ...]:
    """The same, as payloads would report it."""
    return tuple(
        Figure(
            name=name,
            value=100 * math.exp(bad if FITTED[name].unit == "µs" else -bad),
            node=node,
            at=at,
            unit=FITTED[name].unit,
            under={"sm_mhz": math.exp(clock)} if name == LIMITED else {},
            held_back="power-limit" if name == LIMITED else None,
        )
        for (node, name), (bad, clock) in values.items()
    )


def upgrade(seed: str, world: World, fault: Fault, hours: float, is_screened: bool) -> Outcome:
    """One upgrade, judged after every round; screened, only where somebody could speak at all."""
    times = [each for each in (*FIRST_ROUNDS, *range(1, BAKE_HOURS + 1)) if each <= hours]
    to_judge = _may_speak(seed, world, fault, times) if is_screened else set(range(1, len(times) + 1))
    if not to_judge:
        return Outcome(rounds=len(times), verdict="not failed")
    chance, fates = random.Random(seed), random.Random(f"{seed}/events")  # noqa: S311  a simulation
    fleet = _Fleet(chance, world, fault)
    found = evidences.begun({CANARY: fleet.nodes[1:]})
    for number, at in enumerate(BASELINE_HOURS, start=1):
        figures = reported(fleet.values(at, is_upgraded=False), at)
        found = evidences.measured(found, Round(number=number, is_baseline=True, figures=figures))
    before, verdict = 0.0, GateVerdict.PENDING
    for count, at in enumerate(times, start=1):
        figures = reported(fleet.values(START + at, is_upgraded=True), at)
        seen = Round(number=count + len(BASELINE_HOURS), is_baseline=False, figures=figures)
        found = evidences.measured(found, seen)
        counted = tuple(_passed(each, fates, world, fault, at - before) for each in found.exposed.rare)
        found = replace(found, exposed=replace(found.exposed, rare=counted))
        before = at
        if count not in to_judge:
            continue
        together = judged(found, ASKED)
        verdict = together.verdict
        if verdict is GateVerdict.FAILED:
            names = [f"{each.figure} {each.lens}" for each in together.spoke]
            names += [each.name for each in together.rare if each.verdict is GateVerdict.FAILED]
            return Outcome(rounds=count, failed=names[0], verdict=verdict.value)
        if count == max(to_judge):
            break
    return Outcome(rounds=len(times), verdict="not failed" if is_screened else verdict.value)


def _may_speak(seed: str, world: World, fault: Fault, times: Iterable[float]) -> set[int]:
    """In which rounds an upgrade could fail: where a figure lost more than is tolerated, or there was an event.

    The same upgrade of the same seed, by its sums alone. A loss that is tolerated is no evidence against itself, and of
    an event only the hour it happens in: test_judging_findings.py and test_judging_rare.py hold both rules.
    Leaps to the better are skipped here, which judging may leave out: so no mean is lower than the one that is judged.
    """
    chance, fates = random.Random(seed), random.Random(f"{seed}/events")  # noqa: S311  a simulation
    fleet = _Fleet(chance, world, fault)
    baselines = [fleet.values(at, is_upgraded=False) for at in BASELINE_HOURS]
    levels = {key: _middle([each[key] for each in baselines]) for key in baselines[0]}
    sums = {look: [0.0, 0] for look in LOOKED_AT}
    before, found = 0.0, set()
    for count, at in enumerate(times, start=1):
        if sum([_events(name, fates, world, fault, at - before)[0] for name in EXPECTED]):
            found.add(count)
        before = at
        values = fleet.values(START + at, is_upgraded=True)
        for look in LOOKED_AT:
            name, is_per_clock, slack = look
            changes = [
                values[node, name][0]
                - levels[node, name][0]
                + is_per_clock * (values[node, name][1] - levels[node, name][1])
                for node in fleet.nodes
            ]
            against = sum(changes[1:]) / len(changes[1:]) if changes[1:] else 0.0
            value = changes[0] - against
            if value < -slack * LEAP / 2:
                continue
            running = sums[look]
            running[0] += value
            running[1] += 1
            if running[0] / running[1] > slack * ASKED.tolerate:
                found.add(count)
    return found


LOOKED_AT: Final = (
    *((name, False, 10 if name == "launch" else HELD_SLACK if name == LIMITED else 1) for name in FITTED),
    (LIMITED, True, 1),
)
"""Figure, whether per clock, and how many times the tolerated loss it may lose."""


def _middle(values: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.fmean(one for one, _ in values), statistics.fmean(other for _, other in values)


def _passed(rare: Rare, fates: random.Random, world: World, fault: Fault, hours: float) -> Rare:
    """Events of some hours on the canary and its controls."""
    events, control_events = _events(rare.name, fates, world, fault, hours)
    return rare.counted(
        events=events,
        hours=hours * GPUS,
        loaded_hours=hours * GPUS,
        control_events=control_events,
        control_hours=hours * GPUS * world.controls,
    )


def _events(name: str, fates: random.Random, world: World, fault: Fault, hours: float) -> tuple[int, int]:
    mean = EXPECTED[name] * hours * GPUS
    on_canary = _poisson(fates, mean + fault.events.get(name, 0.0) * hours)
    return on_canary, _poisson(fates, mean * world.controls) if world.controls else 0


def _poisson(chance: random.Random, mean: float) -> int:
    count, left = 0, chance.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + chance.expovariate(1.0)
    return count


def many(
    name: str, count: int, world: World, fault: Fault, hours: float, pool: Any, *, is_screened: bool = False
) -> dict[str, Any]:
    """So many upgrades, and how they ended."""
    run = partial(upgrade, world=world, fault=fault, hours=hours, is_screened=is_screened)
    started, outcomes = time.monotonic(), list[Outcome]()
    seeds = [f"{SEED}/{name}/{number}" for number in range(max(1, count))]
    for first in range(0, len(seeds), BATCH):
        outcomes += pool.map(run, seeds[first : first + BATCH], chunksize=5)
        if time.monotonic() - started > SECONDS_MAX.get(name, SECONDS_MAX[""]):
            break
    count = len(outcomes)
    failed = [each for each in outcomes if each.failed]
    row = {
        "name": name,
        "upgrades": count,
        "failed": len(failed),
        "share": round(len(failed) / count, 4),
        "upper_95": round(_upper(len(failed), count), 4),
        "rounds_to_failure": _quartiles([each.rounds for each in failed]),
        "spoke": dict(Counter(each.failed for each in failed).most_common()),
        "verdicts": dict(Counter(each.verdict for each in outcomes)),
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def _quartiles(values: list[int]) -> list[int]:
    ordered = sorted(values)
    return [ordered[int(share * (len(ordered) - 1))] for share in (0.0, 0.5, 0.95, 1.0)] if ordered else []


def _upper(count: int, of: int) -> float:
    """The upper end of the share's two-sided 95 % interval, after Wilson."""
    z, share = 1.96, count / of
    middle = share + z * z / (2 * of)
    return (middle + z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))) / (1 + z * z / of)


def null(scale: float, pool: Any) -> list[dict[str, Any]]:
    return [
        many("sound, 3 controls", int(5000 * scale), World(), Fault(), BAKE_HOURS, pool, is_screened=True),
        many("sound, no controls", int(1000 * scale), World(controls=0), Fault(), BAKE_HOURS, pool, is_screened=True),
        many("sound, judged at every round", int(40 * scale), World(), Fault(), BAKE_HOURS, pool),
    ]


def losses(scale: float, pool: Any) -> list[dict[str, Any]]:
    every = Fault(losses=dict.fromkeys(RATES, 0.03))
    return [
        many("3 % of every rate", int(1000 * scale), World(), every, 0.5, pool),
        many("3 % of every rate, no controls", int(500 * scale), World(controls=0), every, 0.5, pool),
    ]


def faults(scale: float, pool: Any) -> list[dict[str, Any]]:
    """Within half an hour of load; gross ones also within two: an error every ten minutes is seen when it comes."""
    labelled = (("gross", 0.5, GROSS), ("gross", 2.0, GROSS), ("small", 0.5, SMALL), ("sound", 0.5, SOUND))
    return [
        {**many(name, int(100 * scale), World(), fault, hours, pool), "label": label, "within_hours": hours}
        for label, hours, group in labelled
        for name, fault in group.items()
    ]


def sweep(scale: float, pool: Any) -> list[dict[str, Any]]:
    """Over the first six hours, in which most of what will be aborted is."""
    worlds = [
        *(World(node_wander=wander, node_hours=hours) for hours in (2.0, 24.0) for wander in (0.003, 0.005, 0.01)),
        *(World(rack_wander=wander) for wander in (0.01, 0.02, 0.04)),
        *(World(rack_wander=0.01, controls=controls) for controls in (0, 1)),
        World(restart=0.004),
        World(hiccups=0.02),
    ]
    return [
        {
            **many(f"sound, {_told(world)}", int(500 * scale), world, Fault(), SWEEP_HOURS, pool, is_screened=True),
            "world": asdict(world),
        }
        for world in worlds
    ]


def _told(world: World) -> str:
    return ", ".join(f"{key} {value}" for key, value in asdict(world).items() if value != getattr(World(), key))


def rare(scale: float, pool: Any) -> list[dict[str, Any]]:
    """Forty nodes in waves of ten every day, by events alone, without controls from the third day on."""
    count = int(2000 * scale)
    failed = sum(pool.map(_rollout_of_events, [f"{SEED}/rare/{number}" for number in range(count)], chunksize=50))
    return [{"name": "sound, forty nodes, by events", "rollouts": count, "failed": failed, "share": failed / count}]


def _rollout_of_events(seed: str) -> bool:
    chance = random.Random(seed)  # noqa: S311  a simulation
    found = evidences.begun({CANARY: ("control",)})
    for day in range(1, 6):
        hours, control_hours = 24.0 * GPUS * min(40, 1 + 10 * (day - 1)), 24.0 * GPUS if day < 3 else 0.0
        for _ in range(4):
            counted = tuple(
                each.counted(
                    events=_poisson(chance, EXPECTED[each.name] * hours / 4),
                    hours=hours / 4,
                    control_events=_poisson(chance, EXPECTED[each.name] * control_hours / 4),
                    control_hours=control_hours / 4,
                )
                for each in found.exposed.rare
            )
            has_news = counted != found.exposed.rare and any(
                one.events != other.events for one, other in zip(counted, found.exposed.rare, strict=True)
            )
            found = replace(found, exposed=replace(found.exposed, rare=counted))
            if has_news and any(each.verdict is GateVerdict.FAILED for each in judged(found, ASKED).rare):
                return True
    return False


PARTS: Final = {"losses": losses, "faults": faults, "null": null, "sweep": sweep, "rare": rare}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="this part alone")
    parser.add_argument("--scale", type=float, default=1.0, help="this share of the upgrades")
    parser.add_argument(
        "--minutes", type=float, help="about so long: rows end early, sound upgrades have a third of it"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    if args.minutes:
        SECONDS_MAX.update(
            {"": args.minutes, "sound, 3 controls": args.minutes * 20, "3 % of every rate": args.minutes * 5}
        )
    result: dict[str, Any] = {
        "what": "simulated upgrades that judging failed",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "seed": SEED,
        "asked": asdict(ASKED),
        "noise_within_a_gpu": {name: asdict(noise) for name, noise in FITTED.items()},
        "assumed_between_nodes": asdict(World()),
    }
    with Pool(args.workers) as pool:
        for part in args.part or PARTS:
            result[part] = PARTS[part](args.scale, pool)
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        name = "-".join(("judging", *(args.part or ())))
        print(f"kept as bench/results/{keep(name, result).name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
