"""CPU of a decision over 10,000 nodes: of one that remembers nothing, and of one after a single change.

The figures of the product: a full decision takes at most 60 ms, one after a change at most 10 ms. Both are of a rollout
half way through: 200 nodes at work, as many as may be, half of the others done, half in line with a GPU pod each. Other
situations are measured beside them and not judged. After a change the decision is handed what the one before has worked
out, as the loop does; each change is taken back unmeasured. Garbage is collected as in the controller, so its pauses
are in the figures. The result is kept in bench/results with date and machine. What it does not show: reading the
cluster, checking the promises, doing what was decided.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from bench.machine import keep, machine

from seatrial.core.decision.decide import decide
from seatrial.core.decision.remembered import Remembered
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord, Summary
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.target import Target
from seatrial.sim.nodes import new_node

OLD, NEW = DriverRevision(hash="old", version="570.124.06"), DriverRevision(hash="new", version="580.105.08")
AT_WORK, PER_RACK = 200, 32
NOW = 1000.0
FULL_MS_MAX, CHANGE_MS_MAX = 60.0, 10.0
RUNS, CHANGES = 25, 200
RACK = "topology.kubernetes.io/rack"


def main() -> int:
    """Measure, print, keep; exit 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    half, racked = half_way(args.nodes), an_intent(Domain(label=RACK, unavailable_max=Share.parse("50%")))
    full = {
        "half way": full_ms(half, an_intent()),
        "half way, with a floor in every rack": full_ms(half, racked),
        "all in line": full_ms(fleet_of(waiting(number) for number in range(args.nodes)), an_intent()),
        "all done": full_ms(fleet_of(done(number) for number in range(args.nodes)), an_intent()),
        "nobody seen before": full_ms(fleet_of(plain(number) for number in range(args.nodes)), an_intent()),
    }
    change = {
        "half way": change_ms(half, an_intent(), changed),
        "half way, with a floor in every rack": change_ms(half, racked, changed),
        "half way, and somebody is through": change_ms(half, an_intent(), ended),
    }
    result = {
        "what": f"CPU milliseconds of a decision over {args.nodes} nodes",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "limit_ms": {"full": FULL_MS_MAX, "after one change": CHANGE_MS_MAX},
        "runs": {"full": RUNS, "after one change": CHANGES},
        "full_ms": full,
        "after_one_change_ms": change,
    }
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        print(f"kept as bench/results/{keep('decide', result).name}", file=sys.stderr)
    is_kept = full["half way"]["median"] <= FULL_MS_MAX and change["half way"]["median"] <= CHANGE_MS_MAX
    return 0 if is_kept else 1


def full_ms(seen: Snapshot, intent: Intent) -> dict[str, float]:
    """`decide` over everything."""
    gc.collect()
    return figures([cpu_ms(lambda: decide(seen, intent, NOW)) for _ in range(RUNS)])


def change_ms(seen: Snapshot, intent: Intent, change: Callable[[NodeSeen], NodeSeen]) -> dict[str, float]:
    """`decide` after one node changed, with what the decision before has worked out."""
    remembered = Remembered()
    decide(seen, intent, NOW, remembered)
    names = sorted(seen.nodes)
    gc.collect()
    times = []
    for number in range(CHANGES):
        after = change(seen.nodes[names[number * 7919 % len(names)]])
        whole, now = replace(seen, nodes={**seen.nodes, after.name: after}), NOW + number / 100
        times.append(cpu_ms(partial(decide, whole, intent, now, remembered)))
        decide(seen, intent, now, remembered)
    return figures(times)


def changed(node: NodeSeen) -> NodeSeen:
    """The node a moment later: whoever is at work becomes Ready, all others are cordoned."""
    driver = node.facts.driver
    if driver is None or driver.is_ready:
        return replace(node, facts=replace(node.facts, is_cordoned=True, resource_version="2"))
    return replace(node, facts=replace(node.facts, driver=replace(driver, is_ready=True, ready_since=NOW)))


def ended(node: NodeSeen) -> NodeSeen:
    """A node that is through: where it was at work the next one is let in, and all in line wait for somebody else."""
    return done(int(node.name.removeprefix("node-")) % AT_WORK)


def cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time_ns()
    work()
    return (time.process_time_ns() - started) / 1e6


def figures(times: list[float]) -> dict[str, float]:
    """What is kept of many runs."""
    ordered = sorted(times)
    return {
        "median": round(statistics.median(ordered), 3),
        "min": round(ordered[0], 3),
        "p95": round(ordered[int(len(ordered) * 0.95)], 3),
        "max": round(ordered[-1], 3),
    }


# ── fleets ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def an_intent(*domains: Domain) -> Intent:
    limits = Limits(parallel_max=AT_WORK, unavailable_max=Share.parse("25%"))
    return Intent(rollout="bench", target=Target.of(NEW.version), policy=Policy(limits=limits), domains=domains)


def half_way(count: int) -> Snapshot:
    """200 at work, half of the others done, half in line; every second rack is through."""
    at_work = [working(number) for number in range(AT_WORK)]
    others = [done(number) if number // PER_RACK % 2 == 0 else waiting(number) for number in range(AT_WORK, count)]
    return fleet_of([*at_work, *others], ledger=tuple(Admission(node=node.name, attempt=1) for node in at_work))


def fleet_of(nodes: Any, ledger: tuple[Admission, ...] = ()) -> Snapshot:
    # With a summary that is out of date and not due, as between two writes of it.
    summary = Summary(state="progressing" if ledger else "waiting")
    record = RolloutRecord(name="bench", resource_version="1", admitted=ledger, summary=summary, summarised_at=NOW)
    return Snapshot(nodes={node.name: node for node in nodes}, rollout=record)


def plain(number: int, running: DriverRevision = OLD) -> NodeSeen:
    return new_node(
        f"node-{number:05}",
        running=running,
        wanted=NEW,
        gpu_pod_count=1,
        gpu_count=8,
        has_features=True,
        labels={RACK: f"r{number // PER_RACK:03}"},
        at=100.0,
    )


def recorded(node: NodeSeen, phase: NodePhase, **changes: Any) -> NodeSeen:
    return replace(node, record=NodeRecord(phase=phase, attempt=1, entered_at=NOW - 60.0, **changes))


def waiting(number: int) -> NodeSeen:
    return recorded(plain(number), NodePhase.UPGRADE_REQUIRED)


def done(number: int) -> NodeSeen:
    return recorded(plain(number, NEW), NodePhase.UPGRADE_DONE)


def working(number: int) -> NodeSeen:
    """The new driver starts."""
    node = recorded(plain(number, NEW), NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
    driver = replace(node.facts.driver, is_ready=False, ready_since=None) if node.facts.driver else None
    return replace(node, facts=replace(node.facts, driver=driver, is_cordoned=True, pods=()))


if __name__ == "__main__":
    sys.exit(main())
