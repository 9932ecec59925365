"""Play seeds of torture on real control planes, and keep a line for each in bench/results; `make torture SEEDS=0..199`.

    python -m bench.torture 0..199                  what was played on this commit is not played again
    python -m bench.torture 7                       one of them
    python -m bench.torture 0..4 --fault gone       stories of one fault alone; `--fault each` for each of them
    python -m bench.torture 0..199 --list           what would happen, without a cluster

One control plane serves all seeds of a mode; where a story went wrong, or put etcd back to a snapshot, the next one
gets a new one. Each kind of campaign is first played without faults: writes, requests and commits are compared with
that. Ends with 1 where something is wrong; the story is told, and what its controller said is kept beside the testbed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import RESULTS, machine, run

from seatrial_lab.testbed import disks
from seatrial_lab.torture.drawing import Schedule, draw, seeds_of
from seatrial_lab.torture.judging import Asked
from seatrial_lab.torture.seeds import Played, play
from seatrial_lab.torture.stage import Stage, staged
from seatrial_lab.torture.table import FAULTS, Mode

KEPT = RESULTS / "torture.jsonl"
NODES = 20
EACH = "each"
RESTORING = "etcd-restored"


class Stages:
    """The stage at hand: made when it is needed, thrown away when it is not to be trusted any more."""

    def __init__(self, folder: Path, node_count: int) -> None:
        self._folder, self._node_count, self._made = folder, node_count, 0
        self._stack = ExitStack()
        self._stage: Stage | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def of(self, schedule: Schedule) -> Stage:
        """A stage for this story."""
        if self._stage is not None and self._stage.mode is not schedule.mode:
            self.drop()
        if self._stage is None:
            self._made += 1
            where = self._folder / f"{schedule.mode}-{self._made}"
            say(f"a control plane with {self._node_count} nodes, {schedule.mode}")
            self._stage = self._stack.enter_context(staged(where, schedule.mode, node_count=self._node_count))
        return self._stage

    def drop(self) -> None:
        """The next story gets a new one."""
        self._stage = None
        self._stack.close()
        self._stack = ExitStack()


def main() -> int:
    """Play, tell how it goes, keep what was found."""
    args = asked()
    schedules = sorted(_drawn(args), key=lambda each: (list(Mode).index(each.mode), each.only, each.seed))
    if args.list:
        print(*map(told, schedules), sep="\n")
        return 0
    about = machine()
    known = _kept(args.results, about["commit"])
    done = {(line["seed"], line["fault"]) for line in known if "kind" in line and not line.get("without")}
    left = [each for each in schedules if (each.seed, each.only) not in done]
    say(f"{len(left)} to play, {len(schedules) - len(left)} were played on this commit")
    folder = Path(tempfile.mkdtemp(prefix="seatrial-torture-"))
    without = {line["kind"]: _asked_of(line) for line in known if line.get("without")}
    with Stages(folder, args.nodes) as stages:
        for number, schedule in enumerate(left, 1):
            if schedule.kind not in without:
                say(f"without faults: {schedule.kind}")
                first = _play(stages, replace(schedule, blows=(), only="without"), None)
                _keep(args, about, first)
                if first.problems:
                    print(first.story(), first.tail, sep="\n", flush=True)
                    return 1
                without[schedule.kind] = first.asked
            played = _play(stages, schedule, without[schedule.kind])
            _keep(args, about, played)
            how = "; ".join(played.problems) or "well"
            say(f"{number} of {len(left)}: {told(schedule)}: {how}, {played.seconds:.0f} s")
            if played.problems:
                print(played.story(), played.tail, sep="\n", flush=True)
                if args.fail_fast:
                    break
    result = summary(_kept(args.results, about["commit"]), schedules)
    print(json.dumps(result, indent=2))
    if not result["wrong"]:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        say(f"logs and journals are in {folder}")
    return bool(result["wrong"]) or result["played"] < len(schedules)


def _play(stages: Stages, schedule: Schedule, without: Asked | None) -> Played:
    """Play on the stage at hand, and leave one behind that can be trusted."""
    played = play(stage := stages.of(schedule), schedule, without)
    if played.problems or any(blow.fault.name == RESTORING for blow in schedule.blows):
        stages.drop()
    else:
        stage.mend()
    return played


def _drawn(args: argparse.Namespace) -> Iterator[Schedule]:
    names = [fault.name for fault in FAULTS] if args.fault == EACH else [args.fault]
    can_mount = disks.may_mount()
    for name in names:
        for seed in seeds_of(args.seeds):
            drawn = draw(seed, only=name, can_mount=can_mount)
            if drawn.blows:
                yield drawn


def told(schedule: Schedule) -> str:
    """A schedule in one line."""
    return f"seed {schedule.name} ({schedule.kind}): {', '.join(blow.fault.name for blow in schedule.blows)}"


def summary(lines: list[dict[str, Any]], schedules: list[Schedule]) -> dict[str, Any]:
    """What is known of these on this commit."""
    names = {(each.seed, each.only) for each in schedules}
    played = {(line["seed"], line["fault"]): line for line in lines if not line.get("without")}
    ours = [line for key, line in played.items() if key in names]
    wrong = [line for line in ours if line["problems"]]
    faults = Counter(name for line in ours for name in line["faults"])
    return {
        "asked": len(schedules),
        "played": len(ours),
        "wrong": [f"{line['fault'] + '-' if line['fault'] else ''}{line['seed']}" for line in wrong],
        "by_kind": dict(Counter(line["kind"] for line in ours)),
        "faults": dict(sorted(faults.items())),
        "struck": sum(len(line["struck"]) for line in ours),
        "lives": sum(line["lives"] for line in ours),
        "requests": sum(line["requests"] for line in ours),
        "minutes": round(sum(line["seconds"] for line in ours) / 60, 1),
    }


def _keep(args: argparse.Namespace, about: dict[str, Any], played: Played) -> None:
    line = played.line() | {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "nodes": args.nodes,
        "without": not played.schedule.blows,
        "machine": about,
    }
    text = json.dumps(line).replace(tempfile.gettempdir(), "…")  # a last word may name a file of the stage
    with args.results.open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def _kept(results: Path, commit: str) -> list[dict[str, Any]]:
    """The lines of this commit; what was played on code that nobody can have again counts for nobody."""
    if not results.exists():
        return []
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["machine"]["commit"] == commit]


def _asked_of(line: dict[str, Any]) -> Asked:
    return Asked(
        writes=line["writes"], requests=line["requests"], seconds=line["seconds"], commits=tuple(line["commits"])
    )


def asked(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", metavar="A..B", help="the seeds, both ends included; one number for one of them")
    parser.add_argument("--fault", default="", help="stories of this fault alone, or of each")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--results", type=Path, default=KEPT)
    parser.add_argument("--list", action="store_true", help="say what would happen, and play nothing")
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first story that goes wrong")
    args = parser.parse_args(words)
    try:
        seeds_of(args.seeds)
    except ValueError as err:
        parser.error(str(err))
    return args


def say(text: str) -> None:
    """Progress, beside the data."""
    print(f"torture: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(main))
