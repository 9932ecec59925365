"""Write what means harm to a real API server while campaigns run; `make hostile SEEDS=0..4`.

    python -m bench.hostile 0..4                            130 s of writing for each seed, and what follows
    python -m bench.hostile 7 --kinds pod --rules pumped    one kind, one rule: what a controller dies of

Each line of bench/results/hostile.jsonl is a seed: what was written by which account and taken or refused, the most CPU
time that a callback used, leases lost, how the campaign ended. Ends with 1 where the controller died, kept its loop for
more than 1 s of CPU, lost a lease that its idle twin kept, or stood still without a word.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from bench.hostile import kinds, people, playing, rules
from bench.machine import RESULTS, machine, run

from seatrial_lab.torture.drawing import seeds_of
from seatrial_lab.torture.stage import staged
from seatrial_lab.torture.table import Mode

KEPT = RESULTS / "hostile.jsonl"


def main() -> int:
    """Play, keep, tell."""
    args = asked()
    folder = Path(tempfile.mkdtemp(prefix="seatrial-hostile-"))
    about, lines, left, made = machine(), [], list(seeds_of(args.seeds)), 0
    while left:
        made += 1
        with ExitStack() as stack:
            say(f"a control plane with {args.nodes} nodes")
            stage = stack.enter_context(staged(folder / str(made), Mode.DIRECT, node_count=args.nodes))
            accounts = people.settle(stage.plane)
            is_sound = True
            while left and is_sound:
                seed = left.pop(0)
                line, is_sound = playing.play(stage, accounts, args, seed)
                if is_sound:
                    stage.mend()
                lines.append(line)
                _keep(args.results, line | {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "machine": about})
                how = "; ".join(line["problems"]) or "well"
                say(f"seed {seed}: {line['end']}, {line['taken']} of {line['attempts']} writes taken: {how}")
    result = playing.worst(lines)
    print(json.dumps(result, indent=2))
    if result["problems"]:
        say(f"logs and journals are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return bool(result["problems"])


def _keep(results: Path, line: dict[str, object]) -> None:
    text = json.dumps(line).replace(tempfile.gettempdir(), "…")
    with results.open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def asked(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", metavar="A..B", help="the seeds, both ends included; one number for one of them")
    parser.add_argument("--seconds", type=float, default=130.0, help="how long everybody writes, for each seed")
    parser.add_argument("--pause", type=float, default=0.2, help="between two writes of an account, in seconds")
    parser.add_argument("--settle", type=float, default=120.0, help="how long the campaign may take to end, afterwards")
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--kinds", default="", help=f"some of {', '.join(kinds.BY_NAME)}")
    parser.add_argument("--rules", default="", help=f"some of {', '.join(rules.BY_NAME)}")
    parser.add_argument("--count", type=int, default=0, help="end after so many writes of each account")
    parser.add_argument("--results", type=Path, default=KEPT)
    args = parser.parse_args(words)
    for name, known in (("kinds", kinds.BY_NAME), ("rules", rules.BY_NAME)):
        named = tuple(filter(None, getattr(args, name).split(",")))
        if unknown := [each for each in named if each not in known]:
            parser.error(f"--{name}: there is no {unknown[0]}; there are {', '.join(known)}")
        setattr(args, name, named)
    return args


def say(text: str) -> None:
    """Progress, beside the data."""
    print(f"hostile: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(main))
