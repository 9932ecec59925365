"""Restart DRA plugins in 10,000 simulated upgrades, by our criterion and by the one proposed for a Helm hook.

python -m bench.dra                     all of them; exit 1 where ours left a stale node or restarted a plugin early
python -m bench.dra --seed 7            one of them: what it draws, and how both ended
python -m bench.dra --first 500 --count 100
python -m bench.dra --first 600 --count 100 --add FILE    the next ones, added to a result that is there: in pieces

What is played is in seatrial_lab/schedules/dra_plugins.py; the result is kept in bench/results.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.machine import keep, machine

from seatrial_lab.schedules.dra_plugins import Ending, drawn, play_ours, play_proposed

COUNT = 10_000
PROGRESS_SECONDS = 10.0


def play(seed: int) -> tuple[Ending, Ending]:
    """One upgrade, twice."""
    return play_ours(seed), play_proposed(seed)


def is_broken(ours: Ending) -> bool:
    """Whether our criterion did not keep what it promises."""
    return bool(ours.stale or ours.early or ours.twice or ours.again_count or ours.together)


def tallied(endings: Iterable[Ending]) -> dict[str, Any]:
    """What many endings come to."""
    sums: Counter[str] = Counter()
    for each in endings:
        sums.update(nodes=each.node_count, stale=len(each.stale), restarts=each.restart_count, early=len(each.early))
        sums["upgrades_with_a_stale_node"] += bool(each.stale)
        sums["upgrades_that_did_not_end"] += each.is_late
        sums["deletions_of_a_second_run"] += each.again_count
        sums["cliques_with_two_away"] += len(each.together)
    return shared(sums)


def shared(sums: Counter[str]) -> dict[str, Any]:
    """The sums, and the share of nodes that ended stale."""
    return {**sums, "stale_share": round(sums["stale"] / sums["nodes"], 4) if sums["nodes"] else 0.0}


def added(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Two results as one; the second has to go on where the first ended."""
    if after["first_seed"] != before["first_seed"] + before["seeds"]:
        raise SystemExit(f"the result ends before seed {before['first_seed'] + before['seeds']}: go on there")
    sums = {
        name: shared(Counter({each: count + after[name][each] for each, count in _counts(before[name]).items()}))
        for name in before
        if isinstance(before[name], dict) and "stale_share" in before[name]
    }
    seconds = round(before["seconds"] + after["seconds"], 1)
    broken = [*before["broken_seeds"], *after["broken_seeds"]]
    return {**before, **sums, "seeds": before["seeds"] + after["seeds"], "seconds": seconds, "broken_seeds": broken}


def _counts(tally: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in tally.items() if name != "stale_share"}


def main() -> int:
    """Play, tell how it goes, keep what was found."""
    asked = _asked()
    if asked.seed is not None:
        ours, proposed = play(asked.seed)
        print(drawn(asked.seed), f"ours: {ours}", f"proposed: {proposed}", sep="\n")
        return is_broken(ours)
    result = _play_all(range(asked.first, asked.first + asked.count), asked.processes)
    if asked.add is None:
        path = keep("dra", result)
    else:
        path = asked.add
        result = added(json.loads(path.read_text(encoding="utf-8")), result)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({"ours": result["ours"], "proposed": result["proposed"]}, indent=2), path, sep="\n")
    return bool(result["broken_seeds"])


def _play_all(seeds: range, process_count: int | None) -> dict[str, Any]:
    both: list[tuple[Ending, Ending]] = []
    started_at = told_at = time.monotonic()
    with multiprocessing.Pool(process_count) as pool:
        for found in pool.imap_unordered(play, seeds, chunksize=8):
            both.append(found)
            now = time.monotonic()
            if now - told_at >= PROGRESS_SECONDS:
                told_at = now
                rate = len(both) / (now - started_at)
                left = (len(seeds) - len(both)) / rate
                print(f"{len(both)} of {len(seeds)}, {left / 60:.1f} min left", file=sys.stderr, flush=True)
    fixed = {seed: drawn(seed).is_fixed for seed in seeds}
    return {
        "machine": machine(),
        "first_seed": seeds.start,
        "seeds": len(seeds),
        "seconds": round(time.monotonic() - started_at, 1),
        "ours": tallied(ours for ours, _ in both),
        "proposed": tallied(proposed for _, proposed in both),
        "proposed_beside_v26.3": tallied(each for _, each in both if not fixed[each.seed]),
        "proposed_beside_v26.7": tallied(each for _, each in both if fixed[each.seed]),
        "broken_seeds": sorted(ours.seed for ours, _ in both if is_broken(ours)),
    }


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="play this one only, and tell how both ended")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="COUNT", help="one for each core")
    parser.add_argument("--add", type=Path, metavar="FILE", help="add to this result instead of keeping a new one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
