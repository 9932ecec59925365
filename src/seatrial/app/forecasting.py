"""What an upgrade will cost: duration against capacity, for every pair of limits, and which to take.

Law of this file: decisions are the controller's own; how long things take is assumed, given, or learned from a journal,
and every answer says which. Nothing is written to a cluster. Tests: tests/app/test_forecasting.py,
tests/cli/test_forecast.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.core.errors import SeatrialError
from seatrial.core.model.target import Target
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.policy import Share
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.operators import OperatorFacts
    from seatrial.core.model.seen.snapshot import Snapshot
    from seatrial.ports import Sight
    from seatrial.sim.forecast.advice import Advice
    from seatrial.sim.forecast.durations import Behaviours, Duration
    from seatrial.sim.forecast.inventory import Inventory
    from seatrial.sim.forecast.model import Model
    from seatrial.sim.forecast.stopping import Outset
    from seatrial.sim.forecast.sweep import Band, Result, Setting

IMAGINED: Final = "999.99.99"
"""The target where no rollout names one; never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long things take, and what goes wrong; what was not said is learned or assumed."""

    history: tuple[Path, ...] = ()
    reload: Duration | None = None
    validation: Duration | None = None
    grace: Duration | None = None
    jobs: Duration | None = None
    failure_rate: float | None = None
    blocked: float | None = None
    blocked_for: Duration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOptions:
    """Which fleet, how long things take, and which limits are compared."""

    snapshot: Path | None = None
    nodes: int | None = None
    gpus_per_node: int | None = None
    pods_per_node: int | None = None
    times: Times = field(default_factory=Times)
    parallel: tuple[int, ...] = ()
    unavailable: tuple[Share, ...] = ()
    max_failed: int | None = None
    buffer: float = 0.1
    samples: int = 200
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Nodes that were seen, and the rollout they belong to."""

    source: str
    seen: Snapshot
    intent: Intent | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be forecast."""

    asked: ForecastOptions
    source: str
    model: Model
    learned: tuple[str, ...]
    settings: tuple[Setting, ...]


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def check(asked: ForecastOptions) -> None:
    """Refuse what cannot be meant together, before anything is read."""
    if asked.nodes and asked.snapshot:
        raise SeatrialError("--nodes and --snapshot both name a fleet. Give one of them, or neither for the cluster.")
    if asked.pods_per_node is not None and not asked.nodes:
        raise SeatrialError("--pods-per-node needs --nodes: the pods of a real fleet are counted.")


def fleet_of(where: str, nodes: dict[str, NodeSeen], operator: OperatorFacts, sight: Sight | None) -> Fleet:
    """The fleet that was seen, with what its rollout wants; or nodes for which nobody has asked for an upgrade yet."""
    from seatrial.core.model.seen.rollouts import RolloutRecord
    from seatrial.core.model.seen.snapshot import Snapshot

    if sight is not None:
        return Fleet(source=f"rollout {sight.intent.rollout} of {where}", seen=sight.seen, intent=sight.intent)
    seen = Snapshot(nodes=nodes, rollout=RolloutRecord(name=""), operator=operator)
    return Fleet(source=f"{where}, which has no rollout", seen=seen, intent=None)


def question_of(asked: ForecastOptions, fleet: Fleet | None) -> Question:
    """Everything that is needed for an answer; without a fleet, as many nodes as were asked for."""
    from seatrial.core.model.policy import Share
    from seatrial.sim.forecast.model import Model
    from seatrial.sim.forecast.sweep import Setting

    source, inventory, intent = _seen(asked, fleet) if fleet is not None else _invented(asked)
    if asked.max_failed is not None:
        intent = replace(intent, failed_max=asked.max_failed)
    behaviours, learned = _behaviours(asked.times)
    unavailable = asked.unavailable or [Share.parse(text) for text in ("1%", "5%", "10%", "25%")]
    parallel = asked.parallel or _usual(len(inventory.nodes))
    return Question(
        asked=asked,
        source=source,
        model=Model(inventory, intent, behaviours),
        learned=learned,
        settings=tuple(Setting(many, share) for many in parallel for share in unavailable),
    )


def _invented(asked: ForecastOptions) -> tuple[str, Inventory, Intent]:
    from seatrial.sim.forecast.inventory import invented

    count, pods = asked.nodes or 0, 2 if asked.pods_per_node is None else asked.pods_per_node
    inventory = invented(
        count,
        gpus_per_node=asked.gpus_per_node or 8,
        pods_per_node=pods,
        target=IMAGINED,
        are_jobs=asked.times.jobs is not None,
    )
    return (
        f"{number_of(count, 'node')} all alike, {number_of(pods, 'GPU pod')} on each",
        inventory,
        _intent(asked, None),
    )


def _seen(asked: ForecastOptions, fleet: Fleet) -> tuple[str, Inventory, Intent]:
    from seatrial.sim.forecast.inventory import inventory_of

    intent = _intent(asked, fleet.intent, fleet.seen.operator)
    return fleet.source, inventory_of(fleet.seen, intent, gpus_per_node=asked.gpus_per_node), intent


def _intent(asked: ForecastOptions, found: Intent | None, operator: OperatorFacts | None = None) -> Intent:
    from seatrial.core.model.intent import Intent, policies
    from seatrial.core.model.policy import JobWait, Policy, PolicyWish
    from seatrial.core.model.selectors import Selector
    from seatrial.sim.nodes import JOB_LABEL

    if found is not None:
        return replace(found, is_paused=False)
    policy, pools = policies(PolicyWish(), operator) if operator is not None else (Policy(), {})
    if asked.times.jobs is not None:
        policy = replace(policy, jobs=JobWait(selector=Selector.parse(JOB_LABEL)))
    return Intent(rollout="forecast", target=Target.of(IMAGINED), policy=policy, pools=pools)


def _behaviours(times: Times) -> tuple[Behaviours, tuple[str, ...]]:
    from seatrial.sim.forecast.durations import FROM_RELOAD, FROM_VALIDATION, Behaviours, lumped

    found = Behaviours()
    learned: tuple[str, ...] = ()
    if times.history:
        from seatrial.adapters.journal import reading
        from seatrial.sim.forecast import history

        files = [file for row in reading.journals([reading.check(path) for path in times.history]) for file in row]
        lesson = history.learn(entry for file in files for entry in reading.entries(file))
        found, learned = lesson.applied_to(found), tuple(lesson.told())
    given = {
        "--reload": times.reload and lumped(FROM_RELOAD, "driver gets ready", times.reload),
        "--validation": times.validation and lumped(FROM_VALIDATION, "validator passes", times.validation),
        "--grace": times.grace and {"pods leave": times.grace},
        "--jobs": times.jobs and {"job finishes": times.jobs},
    }
    for option, durations in given.items():
        if durations:
            found = found.with_durations(f"given by {option}", durations)
    if times.failure_rate is not None:
        sources = {**found.sources, "failure rate": "given by --failure-rate"}
        found = replace(found, failure_rate=times.failure_rate, sources=sources)
    if times.blocked is not None:
        found = replace(found, budget_rate=times.blocked, sources={**found.sources, "blocked": "given by --blocked"})
    if times.blocked_for is not None:
        found = replace(found, budget_wait=times.blocked_for)
    return found, learned


def _usual(node_count: int) -> list[int]:
    """Settings of parallelism to compare where nobody names any: one, a few, many, and no limit of its own."""
    return [many for many in (1, 4, 16, 64, 256) if many <= node_count / 2 or many == 1] + [0]


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def answer(question: Question, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Everything the forecast found, for scripts; what people see is made of this."""
    from seatrial.sim.forecast import advice
    from seatrial.sim.forecast.sweep import AT_ONCE, band, sweep

    asked, model = question.asked, question.model
    seeds = [asked.seed + number for number in range(asked.samples)]
    settings = (*question.settings, AT_ONCE)
    results = sweep(model.inventory, model.intent, model.behaviours, settings, seeds=seeds, progress=progress)
    at_once = results.pop()
    outset = _outset(model)
    advised = advice.advise(results, at_once, asked.buffer, outset)
    shown = AT_ONCE if advised.kind is advice.Kind.WINDOW else advised.setting
    return {
        "what": "forecast of an upgrade",
        "source": question.source,
        "seed": asked.seed,
        "samples": asked.samples,
        "fleet": {
            "nodes": len(model.members),
            "gpus": sum(member.gpus for member in model.members),
            "gpus_at_start": sum(member.gpus for member in model.members if not member.start.standing.is_unavailable),
            "cordoned": outset.cordoned,
            "not_ready": outset.not_ready,
            "left_out": dict(outset.left_out),
        },
        "failed_max": model.intent.failed_max,
        "buffer": asked.buffer,
        "assumptions": _assumptions(question),
        "settings": [_row(result, outset, result.setting == advised.setting) for result in results],
        "at_once": _row(at_once, outset, advised.kind is advice.Kind.WINDOW),
        "advice": _advice(advised),
        "curve": _curve(shown, band(model, shown, seeds)) if shown is not None else None,
    }


def _outset(model: Model) -> Outset:
    from seatrial.sim.forecast.stopping import Outset

    return Outset(
        moving_count=model.moving_count,
        cordoned=model.cordoned(),
        not_ready=model.not_ready(),
        left_out=tuple(model.left_out().items()),
        failed_max=model.intent.failed_max,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """How long a driver takes over a fleet, with the limits that the forecast advises."""

    nodes: int
    source: str
    parallel: int
    """maxParallelUpgrades; 0 is no limit."""
    unavailable: str
    seconds_p50: float | None
    """None where no setting comes to its end."""
    seconds_p90: float | None


def expected(asked: ForecastOptions, fleet: Fleet | None) -> Expected:
    """What a plan says about the steps that move a driver: every node of the fleet is still to be moved."""
    check(asked)
    question = question_of(asked, replace(fleet, intent=None) if fleet is not None else None)
    data = answer(question, lambda _done, _of: None)
    nobody: dict[str, Any] = {"parallel": 0, "unavailable": "", "seconds_p50": None, "seconds_p90": None}
    row = next((each for each in (*data["settings"], data["at_once"]) if each["is_recommended"]), nobody)
    return Expected(nodes=data["fleet"]["nodes"], source=data["source"], **{key: row[key] for key in nobody})


def _advice(advised: Advice) -> dict[str, Any]:
    from seatrial.sim.forecast import advice

    return {
        "kind": advised.kind.value,
        "head": advised.head,
        "figures": advised.figures,
        "besides": advised.besides,
        "not_included": advice.NOT_INCLUDED,
    }


def _curve(shown: Setting, curve: Band) -> dict[str, Any]:
    return {
        "parallel": shown.parallel_max,
        "unavailable": str(shown.unavailable_max),
        "total": curve.total,
        "seconds": [round(each, 1) for each in curve.seconds],
        "p10": curve.low,
        "p50": curve.middle,
        "p90": curve.high,
    }


def _row(result: Result, outset: Outset, is_recommended: bool) -> dict[str, Any]:
    from seatrial.sim.forecast import stopping

    stops = [
        {"cause": why.code.value, "share": round(share, 4), "why": stopping.why(why, outset, result.failure)}
        for why, share in result.stops()
    ]
    return {
        "parallel": result.setting.parallel_max,
        "unavailable": str(result.setting.unavailable_max),
        "seconds_p50": _finite(result.seconds(0.5)),
        "seconds_p90": _finite(result.seconds(0.9)),
        "gpu_hours_lost_p50": round(result.gpu_hours_lost(0.5), 2),
        "gpu_hours_lost_p90": round(result.gpu_hours_lost(0.9), 2),
        "least_capacity": round(result.least_share, 4),
        "evictions": int(result.evicted),
        "stop_chance": round(result.stop_chance, 4),
        "stops": stops,
        "is_recommended": is_recommended,
    }


def _finite(seconds: float) -> float | None:
    """None for a rollout that does not come to its end."""
    return round(seconds, 1) if math.isfinite(seconds) else None


def _assumptions(question: Question) -> list[dict[str, str]]:
    found, policy = question.model.behaviours, question.model.intent.policy
    rows = [
        ("driver reload", "driver gets ready", _sum(found, "driver pod replaced", "driver gets ready")),
        ("validation", "validator passes", _sum(found, "validator restarts", "validator passes")),
        ("pods leave", "pods leave", str(found.durations["pods leave"])),
    ]
    if policy.jobs.selector is not None:
        rows.append(("jobs still run", "job finishes", str(found.durations["job finishes"])))
    told = [{"what": what, "value": value, "source": found.source_of(name)} for what, name, value in rows]
    rate_source = found.sources.get("failure rate", "assumed: nobody said otherwise")
    told.append({"what": "failures", "value": f"{found.failure_rate:.2%} of attempts", "source": rate_source})
    if found.budget_rate:
        value = f"{found.budget_rate:.1%} of nodes, for {found.budget_wait}"
        told.append({"what": "kept by a disruption budget", "value": value, "source": found.sources["blocked"]})
    return told + [{"what": "history", "value": line, "source": "the journal"} for line in question.learned]


def _sum(found: Behaviours, first: str, second: str) -> str:
    """Two durations that follow each other; one of them is nothing where only the sum is known."""
    from seatrial.sim.forecast.durations import NOTHING

    one, two = found.durations[first], found.durations[second]
    return str(two) if one == NOTHING else f"{one}, then {two}"
