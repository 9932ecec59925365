"""What an upgrade by attrition will cost the users of a busy fleet: its deadline against GPU-hours and evictions.

Law of this file: who is closed, evicted and given back is decided by the rules that decide it live; who runs for how
long is seen, learned or assumed, and every answer says which.
Tests: tests/cli/test_frontier.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import forecasting
from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError
from seatrial.core.model.policy import IDLE_BY_ATTRITION, Attrition
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.text.names import a_few, number_of
from seatrial.core.text.spans import span
from seatrial.sim.forecast.busy import frontier, traces
from seatrial.sim.forecast.busy.cluster import RELOAD, RESTART, SAVE_EVERY
from seatrial.sim.forecast.busy.imagined import Imagined
from seatrial.sim.forecast.busy.seen import LARGE_MEDIAN, LONGEST, SMALL_MEDIAN, Seen, Told
from seatrial.sim.forecast.durations import FROM_RELOAD, FROM_VALIDATION, Behaviours
from seatrial.sim.forecast.inventory import inventory_of

if TYPE_CHECKING:
    from seatrial.app.forecasting import Fleet, ForecastOptions
    from seatrial.core.model.intent import Intent
    from seatrial.sim.forecast.busy.frontier import Frontier, Point, Terms, Workload

WORKLOADS: Final = {
    "saturated": (traces.PUBLISHED, "jobs of 1 to 64 GPUs, a queue that is never empty"),
    "busy": (traces.BUSY, "jobs of 1 to 64 GPUs at 85 % load"),
    "training": (traces.TRAINING, "small jobs, and large ones for up to two weeks, at 95 % load"),
    "inference": (traces.INFERENCE, "services hold 81 % of the GPU time, at 90 % load"),
    "mixed": (traces.MIXED, "services hold 40 % of the GPUs, jobs the rest, at 95 % load"),
}
"""What may be assumed of a fleet that nobody has seen."""
SAMPLES: Final = 5
"""Futures for each deadline where nobody says how many."""
NOT_INCLUDED: Final = (
    "canary, gates and bake, after which the deadline begins",
    "waves, windows and limits within domains",
    "nodes that fail",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be forecast."""

    source: str
    workload: Workload
    terms: Terms
    deadlines: tuple[float, ...]
    seeds: tuple[int, ...]
    own: float | None
    """The deadline of the rollout itself; None where it has none."""
    fleet: dict[str, Any]
    assumptions: tuple[dict[str, str], ...]


def is_asked(asked: ForecastOptions, intent: Intent | None) -> bool:
    """Whether the answer is a frontier: somebody wants one, or the rollout goes by attrition."""
    return asked.frontier is not None or (intent is not None and intent.attrition is not None)


def question_of(asked: ForecastOptions, fleet: Fleet | None) -> Question | None:
    """The question, where somebody asks it or the rollout goes by attrition; None where nobody does."""
    found = fleet.intent if fleet is not None else None
    if fleet is None and asked.file:
        found = forecasting.intent_of_file(asked, OperatorFacts(), asked.now, "")
    if not is_asked(asked, found):
        return None
    intent = forecasting.intent_of(asked, found, fleet.seen.operator if fleet is not None else None)
    return _question(asked, fleet, forecasting.behaviours_of(asked.times)[0], intent)


def _question(asked: ForecastOptions, fleet: Fleet | None, behaviours: Behaviours, intent: Intent) -> Question:
    """Everything that is needed for an answer; without a fleet, as many nodes as were asked for."""
    reload, reload_told = _reload(behaviours)
    if fleet is not None:
        inventory = inventory_of(fleet.seen, intent, gpus_per_node=asked.gpus_per_node, at=fleet.at)
        gpus = dict.fromkeys(inventory.nodes, asked.gpus_per_node) if asked.gpus_per_node else {}
        seen = Seen(
            inventory.nodes,
            fleet.seen.work,
            fleet.at,
            admitted=inventory.admitted if intent.attrition is not None else (),
            reload_seconds=reload,
            gpus={name: count for name, count in gpus.items() if count},
        )
        source, told = fleet.source, seen.told()
        if not told.old:
            raise SeatrialError(
                "No node can be upgraded as it is, so there is no frontier. `seatrial status` says why."
            )
        workload: Workload = seen
        figures, assumed = _figures(told), _assumed_of(told)
        total = told.gpus
    else:
        kind, words = WORKLOADS[asked.workload or "saturated"]
        count, per_node = asked.nodes or 0, asked.gpus_per_node or 8
        workload = Imagined(
            kind=replace(kind, saves=traces.Saves.SILENT), count=count, gpus=per_node, reload_seconds=reload
        )
        source, total = f"{number_of(count, 'node')} all alike", count * per_node
        figures = {"nodes": count, "gpus": total}
        which = "given by --workload" if asked.workload else "assumed; --workload names others"
        assumed = [{"what": "jobs", "value": words, "source": which}, _saves_told("none says when it saved")]
    own = intent.attrition.deadline_seconds if intent.attrition is not None else None
    terms = _terms(asked, intent, total, figures["nodes"], is_invented=fleet is None)
    deadlines = asked.frontier or (*frontier.DEADLINES, *([own] if own is not None else []))
    return Question(
        source=source,
        workload=workload,
        terms=terms,
        deadlines=tuple(sorted(set(deadlines))),
        seeds=tuple(asked.seed + number for number in range(asked.samples or SAMPLES)),
        own=own,
        fleet=figures,
        assumptions=(*assumed, reload_told, *_limits_told(terms, intent)),
    )


def _terms(asked: ForecastOptions, intent: Intent, gpus: int, nodes: int, *, is_invented: bool) -> Terms:
    idle = (intent.limits.idle_gpus_max or IDLE_BY_ATTRITION).of(gpus)
    parallel = asked.parallel[0] if asked.parallel else 0 if is_invented else intent.limits.parallel_max
    most = [parallel] if parallel else []
    if intent.attrition is not None:
        most.append(intent.limits.unavailable_max.of(nodes))
    elif asked.unavailable:
        most.append(asked.unavailable[0].of(nodes))
    at_once = min((each for each in most if each < nodes), default=None)
    return frontier.Terms(way=intent.attrition or Attrition(), idle_max=max(1, idle), at_once_max=at_once)


def _reload(behaviours: Behaviours) -> tuple[float, dict[str, str]]:
    """How long a node is away once it is empty: as the rules take it, or as it was given or learned."""
    names = [*FROM_RELOAD, *FROM_VALIDATION]
    sources = dict.fromkeys(behaviours.source_of(name) for name in names if name in behaviours.sources)
    seconds = RELOAD
    if sources:
        chance = random.Random("reload")  # noqa: S311 - a mean is estimated
        found = [behaviours.durations[name] for name in names if name in behaviours.durations]
        seconds = round(fmean(sum(each.draw(chance) for each in found) for _ in range(200)))
    source = ", ".join(sources) or "assumed"
    return seconds, {"what": "from empty until it takes work", "value": span(seconds), "source": source}


def _figures(told: Told) -> dict[str, Any]:
    return {
        "nodes": told.nodes,
        "gpus": told.gpus,
        "to_upgrade": told.old,
        "busy_gpus": told.busy_gpus,
        "jobs": told.jobs,
        "gangs": told.gangs,
        "services": told.services,
        "waiting_gpus": told.waiting_gpus,
        "left_out": list(told.left_out),
    }


def _assumed_of(told: Told) -> list[dict[str, str]]:
    gangs = f", {number_of(told.gangs, 'gang')} among them" if told.gangs else ""
    services = f" and {number_of(told.services, 'replica')} of services" if told.services else ""
    waiting = f", {number_of(told.waiting_gpus, 'GPU')} waited for" if told.waiting_gpus else ", no pod waits"
    value = f"{number_of(told.jobs, 'job')}{gangs}{services} on {told.busy_gpus} of {told.gpus} GPUs{waiting}"
    rows = [{"what": "at work", "value": value, "source": "seen"}]
    known = ((told.by_line, "finished jobs of the same name"), (told.by_all, "all jobs that have finished"))
    rows += [
        {"what": "how long jobs run", "value": number_of(count, "job"), "source": f"as {words}"}
        for count, words in known
        if count
    ]
    if told.assumed or not told.jobs:
        value = f"median {span(SMALL_MEDIAN)}, from 8 GPUs on {span(LARGE_MEDIAN)}, at most {span(LONGEST)}"
        whose = f"assumed for {number_of(told.assumed, 'job')}: too few have finished"
        rows.append({"what": "how long jobs run", "value": value, "source": whose})
    rows.append({"what": "who comes", "value": "jobs like these, as fast as they end", "source": "assumed"})
    rows.append(_saves_told(f"{told.tell_saves} of {told.jobs} tell of it, or save when asked"))
    return rows


def _saves_told(who: str) -> dict[str, str]:
    value = f"every {span(SAVE_EVERY)}, {who}; {span(RESTART)} until an evicted job works again"
    return {"what": "saves", "value": value, "source": "assumed"}


def _limits_told(terms: Terms, intent: Intent) -> list[dict[str, str]]:
    is_said = intent.limits.idle_gpus_max is not None
    at_once = f", {number_of(terms.at_once_max, 'node')} at once" if terms.at_once_max is not None else ""
    value = f"{number_of(terms.idle_max, 'GPU')} idle because of us{at_once}"
    return [{"what": "at most", "value": value, "source": "as the rollout says" if is_said else "assumed"}]


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def answer(question: Question, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Everything that was found, for scripts; what people see is made of this."""
    found = frontier.frontier(question.workload, question.terms, question.deadlines, question.seeds, progress)
    left_out = question.fleet.get("left_out", [])
    return {
        "what": "forecast of an upgrade by attrition",
        "source": question.source,
        "seed": question.seeds[0],
        "samples": len(question.seeds),
        "fleet": question.fleet,
        "assumptions": list(question.assumptions),
        "limits": {"idle_gpus": question.terms.idle_max, "at_once": question.terms.at_once_max},
        "evict_now": _row(found.evict, found, question.own),
        "deadlines": [_row(point, found, question.own) for point in found.points],
        "reloads_gpu_hours": round(found.floor_gpu_hours, 1),
        "advice": {"deadline_seconds": found.recommended_seconds, "why": _advised(found)},
        "not_included": [*NOT_INCLUDED, *([f"{a_few(left_out)}, which cannot be upgraded now"] if left_out else [])],
    }


def _advised(found: Frontier) -> str:
    why = found.why
    if found.recommended_seconds is None:
        return f"No deadline is recommended: {why}"
    return f"Take {span(found.recommended_seconds)}: {why}"


def _row(point: Point, found: Frontier, own: float | None) -> dict[str, Any]:
    deadline = point.deadline_seconds
    return {
        "deadline_seconds": deadline,
        "gpu_hours": round(point.gpu_hours.mean, 1),
        "gpu_hours_p10": round(point.gpu_hours.low, 1),
        "gpu_hours_p90": round(point.gpu_hours.high, 1),
        "idle_gpu_hours": round(point.idle, 1),
        "thrown_away_gpu_hours": round(point.thrown, 1),
        "reload_gpu_hours": round(point.reload, 1),
        "evictions": round(point.evictions.mean, 1),
        "evictions_p10": point.evictions.low,
        "evictions_p90": point.evictions.high,
        "moved_replicas": round(point.moves, 1),
        "seconds": round(point.seconds),
        "late": point.late,
        "least_gpu_hours": round(point.least_gpu_hours, 1) if deadline is not None else None,
        "least_evictions": round(point.least_evictions, 1) if deadline is not None else None,
        "is_recommended": deadline is not None and deadline == found.recommended_seconds,
        "is_own": deadline is not None and deadline == own,
    }
