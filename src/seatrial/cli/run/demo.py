"""Watch two rollouts over 24 simulated nodes: one is promoted, one is caught in its bake and taken back.

Needs git; no cluster, no GPU, no root.

In detail:

A matrix in a scratch Git repository is checked and planned; its canary entry is rolled out: canary, gates, 48 hours of
bake, waves, tag. Then the same with a driver that loses 3 % of throughput. The cluster and its clock are simulated, so
days take seconds; the rules, the decisions and the commits are real.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError
from seatrial.core.model.target import Target
from seatrial.core.text import spans
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from rich.console import Console

    from seatrial.cli.run.demo_stage import Workshop
    from seatrial.cli.run.demo_telling import Chapter
    from seatrial.core.compat.facts import Facts
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.sim.outside import GateFate, Outside
    from seatrial.sim.world import World

EXITS: tuple[ExitCode, ...] = ()
NODES = 24
GPUS_PER_NODE = 8
RUNNING, GOOD, SLOW = "580.173.02", "595.91.07", "610.57.04"
LOSS = "3.1 % less throughput than the nodes beside it, and 2 % are allowed"
SLOW_FROM_ROUND = 8
"""A loss this small is told from noise after some hours only: the gate sees it in this round, and not before."""
LINES = 60
"""About how many lines are paced on a terminal."""
REPORT = "report.html"


class FolderInUse(SeatrialError):  # noqa: N818
    """The demo makes a repository, and something is there already."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1, help="repeat exactly this world (1)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to stretch it over on a terminal (20)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to put repository and report (a new one)")


def run(args: argparse.Namespace) -> int:
    from seatrial.cli import terminal

    console = terminal.console()
    pause_seconds = args.seconds / LINES if console.is_terminal else 0.0
    play(console, _folder(args.folder), seed=args.seed, pause_seconds=pause_seconds)
    return ExitCode.OK


def play(console: Console, folder: Path, *, seed: int, pause_seconds: float) -> None:
    """Play both rollouts to their end, in a repository made in this empty folder."""
    from seatrial.app.matrix.knowing import known
    from seatrial.cli.run.demo_stage import Workshop
    from seatrial.cli.show import html as rollout_html

    started = time.monotonic()
    facts, _ = known([])
    workshop = Workshop(folder, production=RUNNING)
    show = Show(console=console, workshop=workshop, facts=facts, seed=seed, pause_seconds=pause_seconds)
    console.print(f"{NODES} nodes with {GPUS_PER_NODE} GPUs each run driver {RUNNING}.", style="bold")
    console.print("The cluster and its clock are simulated; the rules, the decisions and the commits are real.")
    chapters = list(_chapters(show))
    log = show.workshop.log()
    console.print("\nWhat the repository says now", style="bold")
    for line in log:
        console.print(f"  {line}")
    page = folder / REPORT
    page.write_text(rollout_html.page(chapters, log, NODES), encoding="utf-8")
    for line in _ending(chapters, time.monotonic() - started, page):
        console.print(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """What both rollouts are played with."""

    console: Console
    workshop: Workshop
    facts: Facts
    seed: int
    pause_seconds: float


def _folder(asked: Path | None) -> Path:
    if asked is None:
        return Path(tempfile.mkdtemp(prefix="seatrial-demo-"))
    asked.mkdir(parents=True, exist_ok=True)
    if any(asked.iterdir()):
        raise FolderInUse(f"{asked} is not empty, and the demo makes a repository there. Name another folder.")
    return asked


# ── the two rollouts ─────────────────────────────────────────────────────────────────────────────────────────────────


def _chapters(show: Show) -> Iterator[Chapter]:
    from seatrial.sim.outside import GateFate, Outside, cluster_policy

    midnight = datetime.combine(show.facts.built_on, datetime.min.time(), UTC).timestamp()
    world = _world(
        show,
        _intent("autumn", GOOD),
        _fleet(midnight),
        Outside(operator=cluster_policy(RUNNING)),
        midnight + 9 * 3600,
    )
    yield _play(show, world, RUNNING, GOOD)
    fate = GateFate(fails_on=SLOW, from_round=SLOW_FROM_ROUND, detail=LOSS)
    outside = replace(world.outside, measurements=())  # gates are asked for a rollout
    after = _world(show, _intent("winter", SLOW), world.nodes.values(), outside, world.time + 3600, fate)
    yield _play(show, after, GOOD, SLOW)


def _play(show: Show, world: World, old: str, new: str) -> Chapter:
    """Propose, check, plan, and roll out to the end."""
    from seatrial.app.awaiting import finished
    from seatrial.cli.run.demo_stage import Stage
    from seatrial.cli.run.demo_telling import Chapter, Teller
    from seatrial.run.loop import Report, run_forever
    from seatrial.run.memory import Memory

    name = world.intent.rollout
    show.console.print(f"\nRollout {name}: driver {old} → {new}", style="bold")
    show.workshop.propose(new)
    chapter = Chapter(rollout=name, old=old, new=new, started_at=world.time)
    teller = Teller(show.console, world, chapter, show.pause_seconds)
    for word, text in _judged(show, world.time):
        teller.line(world.time, word, text, "bold")
    stage = Stage.of(world, show.workshop, teller.on_written)

    async def play() -> Report:
        await stage.look()
        return await run_forever(
            stage.ports(teller), Memory(world.time), on_report=teller.on_report, is_over=lambda _: False
        )

    finished(play())
    chapter.ended_at = world.time
    return chapter


def _judged(show: Show, at: Instant) -> Iterator[tuple[str, str]]:
    """What the rules say of the matrix, and the way from what runs to what is wanted."""
    from seatrial.adapters.files.matrix_file import load_matrix
    from seatrial.app.matrix.judging import report_of
    from seatrial.core.compat import plan as plans
    from seatrial.core.compat.findings import Verdict
    from seatrial.core.compat.matrix import Role

    day = datetime.fromtimestamp(at, UTC).date()
    reading = load_matrix(show.workshop.matrix).reading
    report = report_of(reading, str(show.workshop.matrix), show.facts, day)
    counts = ", ".join(f"{report.count(verdict)} {verdict.value}" for verdict in reversed(Verdict))
    yield "check", f"{show.workshop.matrix.name}: {counts}"
    for found in report.found:
        if found.finding.verdict is not Verdict.OK:
            yield f"  {found.finding.verdict.value}", f"{found.finding.rule}: {found.finding.message}"
    if reading.matrix is None:
        return
    entries = reading.matrix.entries
    answer = plans.make_plan(entries[Role.PRODUCTION].stack, entries[Role.CANARY].stack, show.facts, day)
    if isinstance(answer, plans.Refusal):
        yield "plan", answer.suggestion
        return
    for step in answer.steps:
        changes = ", ".join(f"{each.component.value} {each.before} → {each.after}" for each in step.changes)
        yield "plan", f"step {step.number} of {len(answer.steps)}: {changes}; way back {step.rollback.way.value}"


def _intent(rollout: str, target: str) -> Intent:
    from seatrial.core.model.campaign import Bake, Campaign, Via, Waves
    from seatrial.core.model.gates.gate import Gate
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.policy import Limits, Policy, Share

    campaign = Campaign(
        gates=(
            Gate(name="smoke-train", image="registry.example/smoke-train:1"),
            Gate(name="throughput", image="registry.example/throughput:1", gpus=GPUS_PER_NODE),
        ),
        bake=Bake(seconds=48 * 3600.0),
        waves=Waves(first=Share(amount=10, is_percent=True), pause_seconds=1800.0),
        publish=Via.GIT,
        has_source=True,
    )
    return Intent(
        rollout=rollout,
        target=Target.of(target),
        policy=Policy(limits=Limits(parallel_max=4, unavailable_max=Share(amount=25, is_percent=True))),
        campaign=campaign,
    )


def _fleet(at: Instant) -> list[NodeSeen]:
    from seatrial.core.model.seen.pods import DriverRevision
    from seatrial.sim.nodes import new_node

    running = DriverRevision(hash=RUNNING, version=RUNNING)
    return [
        new_node(
            f"gpu-{number:02}",
            running=running,
            wanted=running,
            gpu_pod_count=number % 3,
            gpu_count=GPUS_PER_NODE,
            has_features=True,
            clients=("dcgm",),
            at=at,
        )
        for number in range(NODES)
    ]


def _world(
    show: Show, intent: Intent, nodes: Iterable[NodeSeen], outside: Outside, at: Instant, fate: GateFate | None = None
) -> World:
    from seatrial.sim.world import World

    gates = {"throughput": fate} if fate is not None else {}
    return World(nodes, intent, outside=outside, gate_fates=gates, seed=show.seed, started_at=at)


def _ending(chapters: list[Chapter], wall_seconds: float, page: Path) -> Iterator[str]:

    simulated = spans.span(sum(chapter.ended_at - chapter.started_at for chapter in chapters))
    acts = sum((chapter.acts for chapter in chapters), start=type(chapters[0].acts)())
    most = max(chapter.unavailable_max for chapter in chapters)
    yield f"\nWhat happened ({simulated} of simulated time in {wall_seconds:.1f} s)"
    for chapter in chapters:
        because = f", because {chapter.record.why}" if chapter.record.why else f"; every node runs {chapter.new}"
        yield f"  {chapter.rollout}: {chapter.record.phase.value}{because}"
    yield (
        f"  {acts['EvictPods']} evictions, {acts['RestartPod']} driver restarts, {acts['StartProbe']} gates asked; "
        f"at most {most} of {NODES} nodes unavailable at once."
    )
    breaches = sum(chapter.breach_count for chapter in chapters)
    passes = number_of(sum(chapter.pass_count for chapter in chapters), "pass", "passes")
    yield f"  {number_of(breaches, 'promise')} broken in {passes}."
    yield ""
    yield f"Report:     {page}"
    yield f"Repository: {page.parent / 'remote.git'}"
    yield "Next: `seatrial testbed up` gives you a real API server to try the controller on."
