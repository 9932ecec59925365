"""What an upgrade will cost: duration against capacity, for every pair of limits, and which to take.

Law of this file: decisions are the controller's own; how long things take is assumed, given, or learned from a journal,
and every answer says which. Nothing is written to a cluster. Tests: tests/app/test_forecasting.py,
tests/cli/test_forecast.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.errors import SeatrialError
from seatrial.core.model.target import Target
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.core.model.instants import Instant
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

SAMPLES: Final = 200
"""Futures for each setting where nobody says how many."""
IMAGINED: Final = "999.99.99"
"""The target where no rollout names one; never shown."""
SUITE_IMAGE: Final = "the controller's own"
"""What stands for the image of the gates that come with seatrial, where no controller has told of it; never run."""


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
    gates: Duration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOptions:
    """Which fleet, how long things take, and which limits are compared."""

    snapshot: Path | None = None
    nodes: int | None = None
    file: str = ""
    """Where a GPURollout is from that says canary, gates, bake, waves and windows; empty takes that of the fleet."""
    resource: Mapping[str, Any] = field(default_factory=dict)
    """That GPURollout, as it was read."""
    rollout: str = ""
    """The rollout of the fleet, by name."""
    now: Instant = 0.0
    """When an invented fleet would start; of one that was seen, it is when."""
    gpus_per_node: int | None = None
    pods_per_node: int | None = None
    times: Times = field(default_factory=Times)
    parallel: tuple[int, ...] = ()
    unavailable: tuple[Share, ...] = ()
    max_failed: int | None = None
    buffer: float = 0.1
    samples: int | None = None
    """Futures for each setting; None takes as many as are usual."""
    seed: int
    frontier: tuple[float, ...] | None = None
    """Deadlines in seconds to compare by attrition; empty compares the usual ones, None is another question."""
    workload: str = ""
    """What runs on nodes that nobody has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Nodes that were seen, and the rollout they belong to."""

    source: str
    seen: Snapshot
    intent: Intent | None
    at: Instant = 0.0
    suite_image: str = ""
    """What the controller runs where a rollout names no gates; empty where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be forecast."""

    asked: ForecastOptions
    source: str
    model: Model
    learned: tuple[str, ...]
    settings: tuple[Setting, ...]
    own: Setting | None = None
    """What the rollout itself says; None where there is none."""


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def check(asked: ForecastOptions) -> None:
    """Refuse what cannot be meant together, before anything is read."""
    if asked.nodes and asked.snapshot:
        raise SeatrialError("--nodes and --snapshot both name a fleet. Give one of them, or neither for the cluster.")
    if asked.file and asked.rollout:
        raise SeatrialError("-f and --rollout both name a rollout. Give one of them.")
    if asked.pods_per_node is not None and not asked.nodes:
        raise SeatrialError("--pods-per-node needs --nodes: the pods of a real fleet are counted.")
    if asked.workload and not asked.nodes:
        raise SeatrialError("--workload needs --nodes: the jobs of a real fleet are seen.")


def fleet_of(
    where: str,
    nodes: dict[str, NodeSeen],
    operator: OperatorFacts,
    sight: Sight | None,
    *,
    at: Instant = 0.0,
    suite_image: str = "",
) -> Fleet:
    """The fleet that was seen, with what its rollout wants; or nodes for which nobody has asked for an upgrade yet."""
    from seatrial.core.model.seen.rollouts import RolloutRecord
    from seatrial.core.model.seen.snapshot import Snapshot

    if sight is not None:
        source = f"rollout {sight.intent.rollout} of {where}"
        return Fleet(source=source, seen=sight.seen, intent=sight.intent, at=at, suite_image=suite_image)
    seen = Snapshot(nodes=nodes, rollout=RolloutRecord(name=""), operator=operator)
    return Fleet(source=f"{where}, which has no rollout", seen=seen, intent=None, at=at, suite_image=suite_image)


def with_file(asked: ForecastOptions, fleet: Fleet, nodes: Mapping[str, NodeSeen], where: str) -> Fleet:
    """The same nodes, as far as the rollout of a file is about them; nothing was written down of it yet."""
    from seatrial.core.model.intent import is_member
    from seatrial.core.model.seen.rollouts import RolloutRecord
    from seatrial.core.model.seen.snapshot import Snapshot

    intent = intent_of_file(asked, fleet.seen.operator, fleet.at, fleet.suite_image)
    members = {name: node for name, node in nodes.items() if is_member(name, node.facts.labels, intent.selector, ())}
    seen = Snapshot(nodes=members, rollout=RolloutRecord(name=intent.rollout), operator=fleet.seen.operator)
    return replace(fleet, source=f"the rollout of {asked.file} over {where}", seen=seen, intent=intent)


def intent_of_file(asked: ForecastOptions, operator: OperatorFacts, at: Instant, suite_image: str) -> Intent:
    """What the rollout of the file wants."""
    import msgspec

    from seatrial.adapters.kube.reading.rollout_intent import read_intent
    from seatrial.adapters.kube.shapes import models

    try:
        rollout = msgspec.convert(asked.resource, models.Rollout)
        return read_intent(rollout, operator, at, suite_image=suite_image or SUITE_IMAGE)
    except (msgspec.ValidationError, ValueError) as err:
        raise SeatrialError(f"{asked.file} cannot be forecast: {err}") from err


def question_of(asked: ForecastOptions, fleet: Fleet | None) -> Question:
    """Everything that is needed for an answer; without a fleet, as many nodes as were asked for."""
    from seatrial.core.model.policy import Share
    from seatrial.sim.forecast.model import Model
    from seatrial.sim.forecast.sweep import Setting

    source, inventory, intent = _seen(asked, fleet) if fleet is not None else _invented(asked)
    if asked.max_failed is not None:
        intent = replace(intent, failed_max=asked.max_failed)
    behaviours, learned = behaviours_of(asked.times)
    unavailable = asked.unavailable or [Share.parse(text) for text in ("1%", "5%", "10%", "25%")]
    # One, a few, many, and no limit of its own, where no setting is named.
    usual = (many for many in (1, 4, 16, 64, 256) if many <= len(inventory.nodes) / 2 or many == 1)
    parallel = asked.parallel or [*usual, 0]
    settings = [Setting(many, share) for many in parallel for share in unavailable]
    is_given = bool(asked.file) or (fleet is not None and fleet.intent is not None)
    own = Setting(intent.limits.parallel_max, intent.limits.unavailable_max) if is_given else None
    if own is not None and not (asked.parallel or asked.unavailable):
        settings += [own]
    return Question(
        asked=asked,
        source=source,
        model=Model(inventory, intent, behaviours),
        learned=learned,
        settings=tuple(dict.fromkeys(settings)),
        own=own,
    )


def _invented(asked: ForecastOptions) -> tuple[str, Inventory, Intent]:
    from seatrial.core.model.seen.operators import OperatorFacts
    from seatrial.sim.forecast.inventory import invented

    count, pods = asked.nodes or 0, 2 if asked.pods_per_node is None else asked.pods_per_node
    found = intent_of_file(asked, OperatorFacts(), asked.now, "") if asked.file else None
    intent = intent_of(asked, found)
    inventory = invented(
        count,
        gpus_per_node=asked.gpus_per_node or 8,
        pods_per_node=pods,
        target=intent.target.driver.text,
        are_jobs=asked.times.jobs is not None,
    )
    whose = f"the rollout of {asked.file} over " if asked.file else ""
    inventory = replace(inventory, at=asked.now)
    return (
        f"{whose}{number_of(count, 'node')} all alike, {number_of(pods, 'GPU pod')} on each",
        inventory,
        intent,
    )


def _seen(asked: ForecastOptions, fleet: Fleet) -> tuple[str, Inventory, Intent]:
    from seatrial.sim.forecast.inventory import inventory_of

    intent = intent_of(asked, fleet.intent, fleet.seen.operator)
    inventory = inventory_of(fleet.seen, intent, gpus_per_node=asked.gpus_per_node, at=fleet.at)
    return fleet.source, inventory, intent


def intent_of(asked: ForecastOptions, found: Intent | None, operator: OperatorFacts | None = None) -> Intent:
    """What is forecast: what was found, or an upgrade by what the operator says."""
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


def behaviours_of(times: Times) -> tuple[Behaviours, tuple[str, ...]]:
    """How long things take, and what was learned of it."""
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
    if times.gates is not None:
        found = replace(found, gates=times.gates, sources={**found.sources, "gates": "given by --gates"})
    return found, learned


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def answer(question: Question, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Everything the forecast found, for scripts; what people see is made of this."""
    from seatrial.sim.forecast import advice
    from seatrial.sim.forecast.model import Model
    from seatrial.sim.forecast.schedule import not_included
    from seatrial.sim.forecast.sweep import AT_ONCE, band, sweep

    asked, model = question.asked, question.model
    samples = asked.samples or SAMPLES
    seeds = [asked.seed + number for number in range(samples)]
    results = sweep(model.inventory, model.intent, model.behaviours, question.settings, seeds=seeds, progress=progress)
    # A maintenance window is the way without a canary: everybody at once, and nobody waits for anything.
    plain = replace(model.intent, campaign=None)
    (at_once,) = sweep(model.inventory, plain, model.behaviours, (AT_ONCE,), seeds=seeds)
    outset = _outset(model)
    advised = advice.advise(results, at_once, asked.buffer, outset)
    shown = AT_ONCE if advised.kind is advice.Kind.WINDOW else advised.setting
    drawn = Model(model.inventory, plain, model.behaviours) if shown is AT_ONCE else model
    campaign = model.schedule.campaign if model.schedule is not None else None
    return {
        "what": "forecast of an upgrade",
        "source": question.source,
        "starts_at": _starts_at(model),
        "seed": asked.seed,
        "samples": samples,
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
        "own": {"parallel": question.own.parallel_max, "unavailable": str(question.own.unavailable_max)}
        if question.own is not None
        else None,
        "advice": {"kind": advised.kind.value, **_told(advised)},
        "not_included": [*advice.NOT_INCLUDED, *not_included(campaign)],
        "curve": _curve(shown, band(drawn, shown, seeds), is_from_waves=drawn.schedule is not None)
        if shown is not None
        else None,
    }


def _starts_at(model: Model) -> str:
    """When the forecast begins, where windows make a difference; else empty."""
    if model.schedule is None or model.schedule.openings is None:
        return ""
    return datetime.fromtimestamp(model.inventory.at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _outset(model: Model) -> Outset:
    from seatrial.sim.forecast.stopping import Outset

    return Outset(
        moving_count=model.moving_count,
        cordoned=model.cordoned(),
        not_ready=model.not_ready(),
        failed=model.failed(),
        left_out=tuple(model.left_out().items()),
        failed_max=model.intent.failed_max,
        is_under_way=model.schedule is not None and model.schedule.record.is_under_way,
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


def _told(advised: Advice) -> dict[str, str]:
    return {"head": advised.head, "figures": advised.figures, "besides": advised.besides}


def _curve(shown: Setting, curve: Band, *, is_from_waves: bool) -> dict[str, Any]:
    return {
        "parallel": shown.parallel_max,
        "unavailable": str(shown.unavailable_max),
        "is_from_waves": is_from_waves,
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
        "parts_p50": {part.value: round(seconds, 1) for part, seconds in result.parts(0.5)},
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
    if question.model.schedule is not None:
        told.append(_gates_told(question))
    rate_source = found.sources.get("failure rate", "assumed: nothing else was given")
    told.append({"what": "failures", "value": f"{found.failure_rate:.2%} of attempts", "source": rate_source})
    if found.budget_rate:
        value = f"{found.budget_rate:.1%} of nodes, for {found.budget_wait}"
        told.append({"what": "kept by a disruption budget", "value": value, "source": found.sources["blocked"]})
    return told + [{"what": "history", "value": line, "source": "the journal"} for line in question.learned]


def _gates_told(question: Question) -> dict[str, str]:
    from seatrial.sim.forecast.schedule import ONE_GATE

    found, schedule = question.model.behaviours, question.model.schedule
    jobs = sum(gate.is_job for gate in schedule.campaign.gates) if schedule is not None else 0
    value = str(found.gates) if found.gates is not None else f"{number_of(jobs, 'Job')}, each {ONE_GATE}"
    return {"what": "a round of gates", "value": value, "source": found.sources.get("gates", "assumed")}


def _sum(found: Behaviours, first: str, second: str) -> str:
    """Two durations that follow each other; one of them is nothing where only the sum is known."""
    from seatrial.sim.forecast.durations import NOTHING

    one, two = found.durations[first], found.durations[second]
    return str(two) if one == NOTHING else f"{one}, then {two}"
