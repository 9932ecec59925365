"""Ask the questions of a night shift, with faults drawn by a seed, on a real control plane; `make night SEEDS=1..3`.

    python -m bench.night 1..3             ask by commands; the answers and the truth are kept in bench/results/night
    python -m bench.night 7 --hold DIR     keep the stage up for a person: `. DIR/env`, and ask
    python -m bench.night 0..11 --list     what would be drawn, without a cluster

A held stage ends when DIR/held is removed, at Enter or Ctrl-C; what is true stands in DIR/truth.md, for the one who
marks the answers. Ends with 1 where an answer is untrue.
"""

from __future__ import annotations

import argparse
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.hostile import people
from bench.machine import RESULTS, machine, run
from bench.night import facts, questions
from bench.night.faults import NODE_COUNT, Moment, Night, draw
from bench.night.questions import Answer

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.neighbours import gate_runs
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.torture.drawing import seeds_of
from tests.e2e.light_stage import LightStage, light_stage

KEPT = RESULTS / "night"
ROLLOUT, GATE = "spring", "smoke"
WORD = "seatrial-word"
"""The policy that holds people to their own names."""
ENDED = ("Done", "Reverted")
REST_SECONDS, LIMIT_SECONDS, LOOK_SECONDS = 8.0, 180.0, 0.5
PASS_SECONDS = 75.0
"""A controller writes its summary once a minute at the latest."""


def main() -> int:
    """Play each seed, and ask or hold."""
    args = asked()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # everything is taken down as at Ctrl-C
    wrong = 0
    for night in map(draw, seeds_of(args.seeds)):
        if args.list:
            print(f"seed {night.seed}: {night.moment}", *(f"  {each}" for each in night.struck), sep="\n")
            continue
        say(f"seed {night.seed}: a control plane with {NODE_COUNT} nodes")
        with staged(night) as (stage, read):
            if args.hold:
                hold(stage, read, args.hold)
                continue
            say("the moment has come; asking")
            answers = questions.ask_all(stage, read)
            path = keep(night, stage, read, answers, args.results)
        untrue = [f"{each.command}: {what}" for each in answers for what in each.untrue]
        say(f"seed {night.seed}: {len(answers)} answers, {len(untrue)} untruths; {path}")
        print(*untrue, sep="\n")
        wrong += len(untrue)
    return bool(wrong)


# ── bringing it about ────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def staged(night: Night) -> Iterator[tuple[LightStage, Callable[[], facts.Facts]]]:
    """The cluster at the moment of this night, and its facts as often as they are asked for."""
    folder = Path(tempfile.mkdtemp(prefix="seatrial-night-"))
    try:
        with ControlPlane.start(folder / "plane") as plane:
            plane.load_nvidia_crds()
            controller_process.install(plane)
            kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
            plane.apply([people.shipped(kind, WORD) for kind in kinds])
            with (
                light_stage(
                    plane, folder, "gpu", node_count=NODE_COUNT, has_device_plugin=True, has_feature_discovery=True
                ) as stage,
                gate_runs.GateRuns(plane, namespace=keys.HOME) as gates,
            ):
                stage.open()
                stage.lay_out()
                wanted = "promotion" if night.has("promotion-unapproved") else ""
                point = "waves" if night.moment is Moment.ASKED else wanted
                begun = len(stage.remote_log())
                read = partial(facts.read, stage, night.struck, asked=point, commit_count=begun)
                with stage.synced():
                    bring_about(stage, night, gates, read)
                    yield stage, read
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def bring_about(stage: LightStage, night: Night, gates: gate_runs.GateRuns, read: Callable[[], facts.Facts]) -> None:
    """Let the rollout come to its moment, with its faults."""
    is_back = night.moment is Moment.BACK
    manual = ["waves", *(["promotion"] if night.moment is not Moment.LAST or night.has("promotion-unapproved") else [])]
    stage.begin(
        ROLLOUT,
        **stage.by_git(),
        gates=[{"name": GATE, "image": "example.invalid/smoke:1", "gpus": 1}],
        bake={"durationSeconds": 3600 if is_back else 1, "everySeconds": 1},
        waves={"growth": "percentages", "percentages": [60, 100]},
        approvals={"manual": manual},
        limits={"maxParallelUpgrades": 6, "maxUnavailable": "100%", "maxFailed": 3},
    )
    if is_back:
        stage.wait_phase("Baking")
    else:
        stage.wait_held("approval-pending")
    early, late = (
        [each for each in night.struck if (night.moment in each.fault.late) is is_late] for is_late in (False, True)
    )
    for each in early:
        each.fault.do(stage, each.node)
    if is_back:
        gates.answer = lambda run: "3.1 % slower" if run.gate == GATE else ""
        _wait(lambda: read().is_back, "the rollout to go back")
    elif night.moment is not Moment.ASKED:
        stage.do("rollout", "approve", ROLLOUT, "waves")
        if night.moment is Moment.LAST:
            _wait(lambda: _is_last(read()), "the last wave to be over")
    for some in (early, late):
        for each in some:
            if some is late:
                each.fault.do(stage, each.node)
        for each in some:
            _wait(lambda each=each: each.fault.seen(read(), each.node), str(each))  # type: ignore[misc]
        _rest(read)
    if stage.controller.is_running:
        _wait_pass(stage)


def _is_last(seen: facts.Facts) -> bool:
    """Whether every node that can come has come."""
    left = seen.running(seen.before) - {each.name for each in seen.nodes if each.is_skipped}
    return not left and all(each.is_running or each.name in seen.failed for each in seen.nodes)


def _rest(read: Callable[[], facts.Facts]) -> None:
    """Wait until nothing has moved for some seconds."""
    last: tuple[object, ...] = ()
    since = time.monotonic()

    def look() -> bool:
        nonlocal last, since
        seen = read()
        if (seen.nodes, seen.phase) != last:
            last, since = (seen.nodes, seen.phase), time.monotonic()
        return time.monotonic() - since > REST_SECONDS

    _wait(look, "the cluster to come to rest")


def _wait_pass(stage: LightStage) -> None:
    """Wait until the controller has written what it sees, after now; of a rollout that has ended it writes no more."""
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"

    def look() -> bool:
        status = stage.status()
        return status.get("phase") in ENDED or status.get("summarisedAt", "") > now

    _wait(look, "the controller to write its summary", PASS_SECONDS)


def _wait(look: Callable[[], bool], what: str, seconds: float = LIMIT_SECONDS) -> None:
    waiting.wait_for(look, what=what, timeout_seconds=seconds, pause_seconds=LOOK_SECONDS)


# ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────────


def keep(night: Night, stage: LightStage, read: Callable[[], facts.Facts], answers: list[Answer], folder: Path) -> Path:
    """Write the answers and the truth onto a page."""
    lines = [f"# Night of seed {night.seed}: {night.moment}", ""]
    lines += [f"Commit {machine()['commit']}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {NODE_COUNT} nodes.", ""]
    for number, each in enumerate(answers, 1):
        lines += [
            f"## {number}. {each.text}",
            "",
            "```console",
            f"$ {each.command}",
            each.said.text.rstrip("\n"),
            "```",
        ]
        lines += ["", f"Exit code {each.said.code}, {each.seconds:.1f} s.", ""]
        lines += [*(f"- **Untrue**: {what}" for what in each.untrue), ""] if each.untrue else []
    lines += ["## The truth, after the last question", "", *facts.told(read()), "", *facts.shown(stage), ""]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{night.seed}.md"
    path.write_text("\n".join(lines).replace(str(stage.folder), "…"), encoding="utf-8")
    return path


def hold(stage: LightStage, read: Callable[[], facts.Facts], folder: Path) -> None:
    """Keep the stage for a person, who is told how to reach it and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = [Path(sys.executable).parent, stage.plane.status().kubectl.parent]
    env = [f"export KUBECONFIG={stage.plane.kubeconfig}", f"export PATH={':'.join(map(str, programs))}:$PATH"]
    (folder / "truth.md").write_text("\n".join([*facts.told(read()), "", *facts.shown(stage), ""]), encoding="utf-8")
    (folder / "env").write_text("\n".join([*env, ""]), encoding="utf-8")
    held = folder / "held"
    held.touch()
    say(f"`. {folder}/env` and ask; it ends when {held} is removed, at Enter or Ctrl-C")
    try:
        while held.exists():
            ready, _, _ = select.select([sys.stdin] if sys.stdin.isatty() else [], [], [], LOOK_SECONDS)
            if ready:
                break
    except KeyboardInterrupt:
        pass
    finally:
        held.unlink(missing_ok=True)


def asked(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", metavar="A..B", help="the seeds, both ends included; one number for one of them")
    parser.add_argument("--hold", type=Path, metavar="DIR", help="ask nothing; keep the stage for a person")
    parser.add_argument("--list", action="store_true", help="say what would be drawn, and play nothing")
    parser.add_argument("--results", type=Path, default=KEPT)
    args = parser.parse_args(words)
    try:
        seeds_of(args.seeds)
    except ValueError as err:
        parser.error(str(err))
    return args


def say(text: str) -> None:
    """Progress, beside the data; never what is broken, since a person who is to ask may read it."""
    print(f"night: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(main))
