"""Watch an upgrade of 24 simulated nodes, one of them failing. Needs no cluster, no GPU, no root.

The decisions are those of the real controller: only the cluster is simulated, and its clock, so that an hour takes
seconds. One node was cordoned by an admin beforehand, and one has a driver module that does not load.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Group

    from seatrial.run.loop import Report
    from seatrial.sim.world import World

EXITS: tuple[ExitCode, ...] = ()
NODES = 24
GPUS_PER_NODE = 8
FAILING = "gpu-05"
CORDONED_BY_ADMIN = "gpu-17"
OLD, NEW = "570.124.06", "580.105.08"
KERNEL = "6.8.0-60-generic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1, help="repeat exactly this world (1)")
    parser.add_argument("--seconds", type=float, default=12.0, help="how long to stretch it over on a terminal (12)")


def run(args: argparse.Namespace) -> int:
    from rich.live import Live

    from seatrial.cli import terminal
    from seatrial.run.loop import run_forever
    from seatrial.run.memory import Memory

    world, story = _world(args.seed), Story()
    console = terminal.console()
    console.print(f"Upgrading {NODES} simulated nodes from driver {OLD} to {NEW}, 4 at a time (seed {args.seed}).\n")
    started = time.monotonic()
    if console.is_terminal:
        seconds_per_hour = args.seconds
        with Live(console=console, refresh_per_second=15, transient=True) as live:

            def show(report: Report) -> None:
                story.take(report, world)
                live.update(_picture(world, story))
                time.sleep(max(0.0, world.time / 3600 * seconds_per_hour - (time.monotonic() - started)))

            report = asyncio.run(run_forever(world.ports(story), Memory(0.0), on_report=show, is_over=lambda _: False))
    else:
        progress = _Lines(story, world)
        report = asyncio.run(
            run_forever(world.ports(story), Memory(0.0), on_report=progress.take, is_over=lambda _: False)
        )
    console.print(_picture(world, story), soft_wrap=False)
    for line in _ending(world, story, report, time.monotonic() - started):
        console.print(line, markup=True)
    return ExitCode.OK


class Story:
    """What happened, as the report at the end tells it; also the journal of the demo's loop."""

    def __init__(self) -> None:
        self.acts: Counter[str] = Counter()
        self.entries: list[tuple[float, str, dict[str, object]]] = []
        self.unavailable_max = 0
        self.lost_node_seconds = 0.0
        self.curve: list[tuple[float, int]] = []
        self.breach_count = 0

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        self.entries.append((at, kind, dict(fields)))
        if kind == "act":
            self.acts[str(fields["act"])] += 1

    def take(self, report: Report, world: World) -> None:
        self.breach_count += len(report.breaches)
        count = sum(node.facts.is_unavailable for node in world.nodes.values())
        if self.curve:
            before_at, before = self.curve[-1]
            self.lost_node_seconds += (world.time - before_at) * before
        self.curve.append((world.time, count))
        self.unavailable_max = max(self.unavailable_max, count)


class _Lines:
    """Progress where there is no terminal: one line whenever another quarter is done."""

    def __init__(self, story: Story, world: World) -> None:
        self._story, self._world, self._told = story, world, -1

    def take(self, report: Report) -> None:
        self._story.take(report, self._world)
        done = _counts(self._world)["upgrade-done"]
        if done * 4 // NODES > self._told:
            self._told = done * 4 // NODES
            print(f"  {_clock(self._world.time)}  {done:2} of {NODES} nodes done", flush=True)


def _world(seed: int) -> World:
    from seatrial.core.intent import Intent
    from seatrial.core.policy import Limits, Policy, Share
    from seatrial.core.snapshot import DriverRevision
    from seatrial.core.versions import DriverVersion
    from seatrial.sim.reactions import Fate, new_node
    from seatrial.sim.world import World

    intent = Intent(
        rollout="demo",
        target=DriverVersion.parse(NEW),
        policy=Policy(limits=Limits(parallel_max=4, unavailable_max=Share(amount=25, is_percent=True))),
    )
    running, wanted = DriverRevision(hash="old", version=OLD), DriverRevision(hash="new", version=NEW)
    nodes = [
        new_node(
            name,
            running=running,
            wanted=wanted,
            gpu_pod_count=index % 3,
            is_cordoned=name == CORDONED_BY_ADMIN,
            gpu_count=GPUS_PER_NODE,
            has_features=True,
            clients=("dcgm",),
            labels={"feature.node.kubernetes.io/kernel-version.full": KERNEL},
        )
        for index, name in enumerate(f"gpu-{number:02}" for number in range(NODES))
    ]
    return World(nodes, intent, fates={FAILING: Fate(driver_fails_on=NEW)}, seed=seed)


COLOURS = {
    "upgrade-done": "green",
    "upgrade-failed": "bold red",
    "upgrade-required": "dim",
    "validation-required": "cyan",
    "uncordon-required": "cyan",
}


def _picture(world: World, story: Story) -> Group:
    from rich.columns import Columns
    from rich.console import Group
    from rich.text import Text

    cells = []
    for name, node in sorted(world.nodes.items()):
        phase = node.record.phase.value if node.record else "unknown"
        cordon = "▪" if node.facts.is_cordoned else " "
        cells.append(
            Text(
                f"{name}{cordon}{phase.removesuffix('-required').removeprefix('upgrade-'):14}",
                style=COLOURS.get(phase, "yellow"),
            )
        )
    counts = _counts(world)
    done, failed = counts["upgrade-done"], counts["upgrade-failed"]
    width = 32
    bar = "█" * (done * width // NODES) + "▒" * (failed * width // NODES)
    head = Text(
        f"{_clock(world.time)}  {bar:·<{width}} {done} done, {failed} failed, "
        f"{story.curve[-1][1] if story.curve else 0} unavailable"
    )
    return Group(head, Columns(cells, equal=True, padding=(0, 1)))


def _ending(world: World, story: Story, report: Report, wall_seconds: float) -> list[str]:
    from seatrial.core import explain

    intent = world.intent
    limit = intent.limits.unavailable_max.of(NODES)
    counts = _counts(world)
    acts = story.acts
    done, failed = counts["upgrade-done"], counts["upgrade-failed"]
    unavailable = f"{story.unavailable_max} of {NODES} nodes were unavailable at once (limit {limit})"
    restarts = f"{acts['RestartPod']} driver restarts"
    gpu_hours = story.lost_node_seconds / 3600 * GPUS_PER_NODE
    lines = [
        "",
        f"[bold]What happened[/] ({explain.span(world.time)} of simulated time in {wall_seconds:.1f} s)",
        f"  {done} of {NODES} nodes run driver {NEW}; {failed} failed and stays cordoned.",
        f"  {acts['EvictPods']} evictions, {restarts}, {acts['Cordon']} cordons, {acts['Uncordon']} uncordons.",
        f"  At most {unavailable}; {gpu_hours:.0f} GPU-hours were not to be had ({GPUS_PER_NODE} GPUs a node).",
        f"  Unavailable nodes over time: {_spark(story.curve, world.time)}",
        f"  {story.breach_count} promises broken in {len(story.curve)} passes.",
        "",
        "[bold]What waits, and why[/]",
    ]
    if report.decision is not None:
        lines += [f"  {explain.sentence(held, world.time)}" for held in report.decision.holds] or ["  nothing"]
    lines += [
        f"  {CORDONED_BY_ADMIN}: upgraded, and still cordoned, because an admin had cordoned it before us.",
        "",
        "Next: `seatrial testbed up` gives you a real API server to try the controller on.",
    ]
    return lines


def _spark(curve: list[tuple[float, int]], end: float, width: int = 60) -> str:
    """The curve as a row of blocks, each the highest value of its slice of time."""
    blocks = " ▁▂▃▄▅▆▇█"
    tops = [0] * width
    for (start, count), (stop, _) in zip(curve, [*curve[1:], (end, 0)], strict=True):
        for place in range(int(start / max(end, 1) * (width - 1)), int(stop / max(end, 1) * (width - 1)) + 1):
            tops[place] = max(tops[place], count)
    highest = max(tops) or 1
    return "".join(blocks[round(top / highest * 8)] for top in tops) + f" (peak {highest})"


def _counts(world: World) -> Counter[str]:
    return Counter(node.record.phase.value if node.record else "unknown" for node in world.nodes.values())


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600:02}:{int(seconds) % 3600 // 60:02}:{int(seconds) % 60:02}"
