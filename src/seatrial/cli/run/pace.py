"""Wake NVIDIA's own upgrade controller as soon as it has something to do.

For clusters whose GPU Operator moves the nodes itself (autoUpgrade: true). Its controller does not watch pods: after
each driver reload it sleeps up to 120 s. This runs beside it and wakes it whenever a driver or validator pod becomes
Ready or the last job ends.

In detail:

It wakes it by the skip label of one node, put there and taken away again. It writes no state, leaves nodes alone that
somebody has put the skip label on, and leaves nothing behind.
"""

# Tests: tests/cli/test_pace.py, tests/e2e/test_pace.py

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.core.compat.versions import OperatorVersion
    from seatrial.core.model.seen.operators import OperatorFacts
    from seatrial.core.movers.pace.values import Gain, PaceMemory, Pacing, Wait
    from seatrial.core.movers.pace.words import Worth

EXITS = (ExitCode.HELD, ExitCode.TIMEOUT)
SYNC_SECONDS = 60.0
TALLY_SECONDS = 10.0
NAMED_MAX = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser, has_rollout=False)
    parser.add_argument("--until-done", action="store_true", help="end when no node is under way or waits for its turn")
    parser.add_argument(
        "--duration", type=_seconds, metavar="SECONDS", help="end after so long (else with Ctrl-C or SIGTERM)"
    )
    parser.add_argument("--dry-run", action="store_true", help="look once, say what each node waits for, write nothing")
    parser.add_argument(
        "--operator-release",
        type=_release,
        metavar="VERSION",
        help="the GPU Operator's release, where it cannot be read",
    )
    parser.add_argument(
        "--reset-done-states",
        action="store_true",
        help="for v26.3, which reacts to nothing else: remove the state label of a done node, which it writes again",
    )
    formats.add_output(parser)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _release(text: str) -> OperatorVersion:
    from seatrial.core.compat.versions import OperatorVersion, VersionInvalid

    try:
        return OperatorVersion.parse(text)
    except VersionInvalid as err:
        raise argparse.ArgumentTypeError(str(err).rstrip(".")) from err


@dataclass(slots=True)
class PaceResult:
    """What the run has come to, for the summary and the exit code."""

    pacing: Pacing | None = None
    memory: PaceMemory | None = None
    operator: OperatorFacts | None = None
    release: OperatorVersion | None = None
    is_interrupted: bool = False
    is_late: bool = False
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Something in the cluster cannot be read; told once."""
        if text not in self.faults:
            self.faults.append(text)


def run(args: argparse.Namespace) -> int:
    from seatrial.app.awaiting import finished

    told = finished(_pace(args))
    if formats.is_document(args.output):
        formats.print_document(as_data(told), args.output)
    else:
        _print_table(told)
    return exit_code(told)


async def _pace(args: argparse.Namespace) -> PaceResult:
    import asyncio

    from seatrial.adapters.kube import pacing as pacings
    from seatrial.core.movers.pace import values as pace_values
    from seatrial.core.movers.pace import waking as pace
    from seatrial.core.movers.pace import words as pace_told

    told = PaceResult()
    async with (
        cluster_options.cluster_of(args).client("pace") as client,
        pacings.PaceObserver(client, namespace=args.namespace, on_fault=told.fault) as observer,
    ):
        stopping = asyncio.Event()
        _on_signals(stopping.set, observer.poke)
        await observer.wait_synced(SYNC_SECONDS)
        await observer.read_release()
        told.release = args.operator_release or observer.release()
        told.operator = observer.operator()
        _say(pace_told.assumption(told.release))
        if args.dry_run:
            seen = observer.look(told.release, may_reset=args.reset_done_states)
            told.pacing = pace.decide_pace(seen, pace_values.PaceMemory(), time.time())
            told.memory = told.pacing.memory
            return told
        teller = _Teller(told, blind_spots=observer.blind_spots, clock=time.time)

        def is_over(pacing: Pacing) -> bool:
            told.operator = observer.operator()
            return stopping.is_set() or (args.until_done and (pacing.is_over or pacing.is_in_vain))

        until = time.time() + args.duration if args.duration is not None else None
        told.memory = await pacings.run(
            client,
            observer,
            release=args.operator_release,
            may_reset=args.reset_done_states,
            on_pacing=teller.tell,
            is_over=is_over,
            until=until,
        )
        told.is_interrupted = stopping.is_set()
        last = told.pacing
        told.is_late = bool(args.until_done and last and not (last.is_over or last.is_in_vain))
        return told


def _on_signals(*calls: Callable[[], None]) -> None:
    """Whatever asks us to end lets us clean up first; the terminal going away too."""
    import asyncio

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, lambda: [call() for call in calls])


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Teller:
    """Says on stderr what happens while it happens: wakes, moves, holds, and now and then who waits for what."""

    def __init__(
        self, told: PaceResult, *, blind_spots: Callable[[], tuple[str, ...]], clock: Callable[[], float]
    ) -> None:
        self._told = told
        self._blind_spots = blind_spots
        self._clock = clock
        self._said = ""
        self._said_at = 0.0
        self._standing: tuple[str, ...] = ()

    def tell(self, pacing: Pacing, refusal: str) -> None:
        from seatrial.core.text.names import a_few

        self._told.pacing = pacing
        for gain in pacing.gains:
            _say(_moved(gain))
        if pacing.act is not None and refusal:
            _say(f"{pacing.act.node} was not written to, so that is tried again: {refusal}")
        elif pacing.woken_for:
            _say(f"woke the controller for {a_few(pacing.woken_for, NAMED_MAX)}")
        self._tell_standing(pacing)
        self._tell_tally(pacing)

    def _tell_standing(self, pacing: Pacing) -> None:
        """What keeps us from waking, once when it begins."""
        hold = why_held(self._told, pacing)
        unseen = (f"not seen at the moment, so perhaps not woken for: {text}" for text in self._blind_spots())
        standing = (*((f"the controller is not woken: {hold}",) if hold else ()), *unseen)
        for text in standing:
            if text not in self._standing:
                _say(text)
        self._standing = standing

    def _tell_tally(self, pacing: Pacing) -> None:
        text = tally(pacing.waits)
        if text != self._said and self._clock() - self._said_at >= TALLY_SECONDS:
            self._said, self._said_at = text, self._clock()
            _say(text)


def tally(waits: tuple[Wait, ...]) -> str:
    """Who waits for what, in one line."""
    counts = Counter(wait.code.value for wait in waits)
    return ", ".join(f"{count} {code}" for code, count in sorted(counts.items())) or "no node is under way"


def why_held(told: PaceResult, pacing: Pacing) -> str:
    """Why nobody is woken; empty when that is not so."""
    from seatrial.core.movers.pace import words as pace_told

    if pacing.hold is None or told.operator is None:
        return ""
    return pace_told.why_held(pacing.hold, told.operator, told.release)


def _moved(gain: Gain) -> str:
    return (
        f"{gain.node} left {gain.state} {gain.waited_seconds:.1f} s after it was ready to "
        f"(by polling about {gain.polled_seconds:.0f} s)"
    )


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# ── the summary ──────────────────────────────────────────────────────────────────────────────────────────────────────


def exit_code(told: PaceResult) -> ExitCode:
    """How it ended."""
    from seatrial.core.movers.pace.values import WaitCode

    if told.faults:
        return ExitCode.ERROR
    if told.is_interrupted:
        return ExitCode.OK
    if told.is_late:
        return ExitCode.TIMEOUT
    waits = told.pacing.waits if told.pacing else ()
    is_stuck = any(wait.code in (WaitCode.FAILED, WaitCode.STATE_UNKNOWN) for wait in waits)
    return ExitCode.HELD if is_stuck or (told.pacing and told.pacing.hold) else ExitCode.OK


def as_data(told: PaceResult) -> dict[str, Any]:
    """Everything there is to say at the end, for scripts."""
    from seatrial.core.movers.pace import words as pace_told

    found = _worth(told)
    pacing = told.pacing
    return {
        "operatorRelease": str(told.release) if told.release else "",
        "assumed": pace_told.assumption(told.release),
        "hold": why_held(told, pacing) if pacing else "",
        "wakes": found.wake_count,
        "underWayMost": found.under_way_most,
        "waitedSeconds": round(found.waited_seconds, 3),
        "polledSecondsEstimate": round(found.polled_seconds, 3),
        "sparedSecondsEstimate": round(found.spared_seconds, 3),
        "nodes": [
            {
                "name": node.node,
                "waitedSeconds": round(node.waited_seconds, 3),
                "polledSecondsEstimate": round(node.polled_seconds, 3),
            }
            for node in found.nodes
        ],
        "waits": [
            {"node": wait.node, "state": wait.state, "code": wait.code.value, "why": pace_told.why_waits(wait)}
            for wait in (pacing.waits if pacing else ())
        ],
        "faults": list(told.faults),
    }


def _worth(told: PaceResult) -> Worth:
    from seatrial.core.movers.pace import words as pace_told
    from seatrial.core.movers.pace.values import PaceMemory

    return pace_told.worth(told.memory or PaceMemory())


def _print_table(told: PaceResult) -> None:
    from seatrial.cli import terminal
    from seatrial.core.movers.pace import words as pace_told

    found, pacing = _worth(told), told.pacing
    for fault in told.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    if pacing is not None and pacing.waits:
        rows = [(wait.node, wait.state, pace_told.why_waits(wait)) for wait in pacing.waits]
        print(terminal.columns([("NODE", "STATE", "IT"), *rows]))
    else:
        print("No node is under way.")
    if pacing is not None and (hold := why_held(told, pacing)):
        print(f"The controller is not woken: {hold}.")
    if found.nodes:
        print(
            f"Wakes: {found.wake_count}, nodes: {len(found.nodes)}. Together they waited {found.waited_seconds:.1f} s "
            f"for the controller to look; by polling about {found.polled_seconds:.0f} s.\n"
            f"With up to {found.under_way_most} under way at once that spared about {found.spared_seconds:.0f} s."
        )
