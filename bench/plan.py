"""CPU of planning over the whole knowledge base: fixed pairs, then every sound stack on its platform to the newest.

The figure of the product: one plan takes at most 1 s of CPU, oldest to newest included. `seatrial plan` adds reading
the matrix and the knowledge base, which is measured apart. The result is kept in bench/results with date and machine.
What it does not show: how good a plan is (tests do), or how long it takes to carry out.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from datetime import UTC, date, datetime
from typing import Any

from bench.machine import keep, machine

from seatrial.adapters.files.facts.knowledge import load_knowledge
from seatrial.core.compat import plan as plans
from seatrial.core.compat.facts import Facts, GpuOperatorRelease, NetworkOperatorRelease
from seatrial.core.compat.findings import Verdict, worst
from seatrial.core.compat.matrix import Component, Hardware, Stack
from seatrial.core.compat.rules import check_stack

LIMIT_SECONDS = 1.0
HARDWARE = Hardware(arch="Hopper", product="H100")


def main() -> int:
    """Plan every pair and keep the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", type=date.fromisoformat, default=date(2026, 9, 1), help="the day to judge by")
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    started = time.process_time()
    facts = load_knowledge()
    load_seconds = time.process_time() - started
    rows = [measure(name, *ends, facts, args.on) for name, ends in pairs(facts, args.on).items()]
    result = summary(rows, load_seconds, args.on)
    print(json.dumps({key: value for key, value in result.items() if key != "all"}, indent=2))
    if not args.no_keep:
        print(f"kept as bench/results/{keep('plan', result).name}", file=sys.stderr)
    return 0 if result["slowest"]["cpu_seconds"] <= LIMIT_SECONDS else 1


def measure(name: str, running: Stack, wanted: Stack, facts: Facts, on: date) -> dict[str, Any]:
    """One plan, computed once, as a person would wait for it."""
    gc.collect()
    gc.disable()  # as the command does
    started = time.process_time()
    answer = plans.make_plan(running, wanted, facts, on)
    seconds = time.process_time() - started
    gc.enable()
    return {
        "pair": name,
        "cpu_seconds": round(seconds, 3),
        "answer": answer.code.value if isinstance(answer, plans.Refusal) else "plan",
        "steps": len(answer.steps) if isinstance(answer, plans.Plan) else None,
        "conflict": list(answer.conflict) if isinstance(answer, plans.Refusal) else None,
    }


def pairs(facts: Facts, on: date) -> dict[str, tuple[Stack, Stack]]:
    """From the newest sound stack of every minor to that of every other, and from the oldest of all to the newest."""
    newest = {minor: found for minor in facts.openshifts if (found := sound(facts, minor, on, is_newest=True))}
    oldest = {minor: found for minor in facts.openshifts if (found := sound(facts, minor, on, is_newest=False))}
    minors = sorted(newest, key=lambda minor: facts.openshifts[minor].line.rank)
    chosen = {
        f"newest on {one} to newest on {other}": (newest[one], newest[other])
        for one in minors
        for other in minors
        if one != other
    }
    chosen |= {f"oldest on {one} to newest on {minors[-1]}": (oldest[one], newest[minors[-1]]) for one in minors}
    return chosen | {f"oldest on {minors[0]} to newest on 4.20": (oldest[minors[0]], newest["4.20"])}


def sound(facts: Facts, minor: str, on: date, *, is_newest: bool) -> Stack | None:
    """The newest or oldest operators that do not fail on a minor, with all they ship."""
    for network in _sorted(facts.network_operators.values(), is_newest):
        for gpu in _sorted(facts.gpu_operators.values(), is_newest):
            found = a_stack(facts, minor, gpu, network)
            if worst(check_stack(found, facts, on)) is not Verdict.FAIL:
                return found
    return None


def _sorted(releases: Any, is_newest: bool) -> Any:
    released = [row for row in releases if row.version.pre_release is None]
    return sorted(released, key=lambda row: row.version, reverse=is_newest)


def a_stack(facts: Facts, minor: str, gpu: GpuOperatorRelease, network: NetworkOperatorRelease) -> Stack:
    """Everything a release ships, on one minor."""
    row = facts.openshifts[minor]
    pair = facts.firmware_pair(network.ofeds[0], "ConnectX-7")
    texts = {
        "openshift": f"{minor}.40",
        "kernel": f"{row.kernel_stream}.1.1.{row.kernel_dist}.x86_64",
        "sriov_operator": f"{minor}.0",
        "gpu_operator": gpu.version.text,
        "gpu_driver": gpu.driver.text if gpu.driver else "",
        "cuda": "12.2" if gpu.driver is None or gpu.driver.branch < 580 else "13.0",
        "network_operator": network.version.text,
        "mofed": network.ofeds[0].text,
        "nccl": "2.27.7" if gpu.line > "25" else "2.21.5",
    }
    texts |= {
        part.value: gpu.operands[part].text
        for part in (Component.DEVICE_PLUGIN, Component.CONTAINER_TOOLKIT, Component.DCGM)
        if part in gpu.operands
    }
    if pair is not None:
        texts["firmware_cx7"] = pair.firmware["ConnectX-7"].text
    return Stack.of({part: text for part, text in texts.items() if text}, HARDWARE)


def summary(rows: list[dict[str, Any]], load_seconds: float, on: date) -> dict[str, Any]:
    times = [row["cpu_seconds"] for row in rows]
    answers = [row["answer"] for row in rows]
    return {
        "what": "CPU seconds of one plan",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "judged_on": on.isoformat(),
        "machine": machine(),
        "limit_seconds": LIMIT_SECONDS,
        "knowledge_base_cpu_seconds": round(load_seconds, 3),
        "pairs": len(rows),
        "answers": {answer: answers.count(answer) for answer in sorted(set(answers))},
        "median_cpu_seconds": round(statistics.median(times), 3),
        "slowest": max(rows, key=lambda row: row["cpu_seconds"]),
        "longest_plan": max(rows, key=lambda row: row["steps"] or 0),
        "all": rows,
    }


if __name__ == "__main__":
    sys.exit(main())
