"""seatrial-probe NAME: look at this machine's GPUs, and say what was measured.

Exit codes: 0 measured, 2 called wrongly, 10 something is broken, 11 something could not be measured.
"""

# Tests: tests/probes/test_command.py

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seatrial.probes.measuring import clocks, nvml
from seatrial.probes.measuring.timing import Effort
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.catalogue import PAYLOADS
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes, Report, Verdict

RESET: str = "reset-clocks"
EXITS = {Verdict.MEASURED: 0, Verdict.FAILED: 10, Verdict.UNKNOWN: 11}


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    if args.name == RESET:
        return _reset_clocks()
    report = run(args.name, _options(args))
    if args.termination_log:
        args.termination_log.write_text(report.termination_message(), encoding="utf-8")
    if args.json:
        print(json.dumps(report.document(), indent=1))
    else:
        print(table(report))
    return EXITS[report.verdict]


def run(name: str, options: Options) -> Report:
    """Run one payload; whatever goes wrong in it is part of the report."""
    notes, begun, at = (
        Notes(optional=options.optional),
        time.monotonic(),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        PAYLOADS[name].look(options, notes)
    except Unmeasurable as err:
        notes.misses(name, str(err))
    except Exception as err:  # noqa: BLE001  a payload that falls over has found something, and nobody else would tell
        notes.breaks(name, f"{type(err).__name__}: {err}")
    driver, gpus = _machine()
    return notes.report(name, at, time.monotonic() - begun, driver, gpus)


def table(report: Report) -> str:
    """What was measured, for people."""
    rows = [
        (each.name, f"{each.value:,.6g} {each.unit}".strip(), each.gpu, _circumstances(each.under))
        for each in report.measured
    ]
    rows += [(each.name, "broken", each.gpu, each.why) for each in report.broken]
    rows += [(each.name, "unknown", each.gpu, each.why) for each in report.unknown]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows
    ]
    head = f"{report.probe}: {report.verdict.value}" + (f", {report.why}" if report.why else "")
    return "\n".join([head, *lines])


def _circumstances(under: dict[str, float | str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in under.items() if value != "")


def _machine() -> tuple[str, list[str]]:
    try:
        with nvml.opened() as machine:
            return machine.driver, [f"{gpu.uuid} {gpu.product}" for gpu in machine.gpus]
    except Unmeasurable:
        return "", []


def _reset_clocks() -> int:
    try:
        print(f"The clocks of {len(clocks.let_go())} GPUs are free.")
    except Unmeasurable as err:
        print(f"seatrial-probe: {err}", file=sys.stderr)
        return EXITS[Verdict.UNKNOWN]
    return 0


def _options(args: argparse.Namespace) -> Options:
    return Options(
        effort=Effort(warm_seconds=args.warm_seconds, blocks=args.blocks, places=args.places),
        heat_seconds=args.heat_seconds,
        seconds=args.seconds,
        lock_mhz=args.lock_mhz,
        since=args.since,
        level=args.level,
        root=args.root,
        steps=args.steps,
        expected=args.expected,
        optional=tuple(args.optional),
        only=tuple(args.only),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="seatrial-probe",
        description=(__doc__ or "").strip(),
        epilog="\n".join(f"  {name:16} {payload.says}" for name, payload in PAYLOADS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", choices=[*PAYLOADS, RESET], metavar="NAME", help="what to look at (below), or reset-clocks"
    )
    parser.add_argument("--json", action="store_true", help="print the whole report as JSON")
    parser.add_argument(
        "--termination-log", type=Path, metavar="FILE", help="write the report there, cut to 4096 bytes"
    )
    parser.add_argument("--since", type=_earlier, metavar="FILE", help="an earlier report (JSON): show what has grown")
    parser.add_argument("--blocks", type=_count, default=20, metavar="N", help="blocks to time in each place (20)")
    parser.add_argument("--places", type=_count, default=3, metavar="N", help="places in memory to time them in (3)")
    parser.add_argument("--warm-seconds", type=float, default=1.0, metavar="S", help="warm-up before each figure (1)")
    parser.add_argument(
        "--heat-seconds", type=float, default=15.0, metavar="S", help="work before the first figure of performance (15)"
    )
    parser.add_argument("--seconds", type=float, default=600.0, metavar="S", help="how long soak works (600)")
    parser.add_argument("--lock-mhz", type=int, default=0, metavar="MHZ", help="hold the clocks there while measuring")
    parser.add_argument("--steps", type=_count, default=300, metavar="N", help="steps of smoke-train (300)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIGURE", help="of performance, this figure alone"
    )
    parser.add_argument(
        "--expected",
        action="store_true",
        help="of rdma: devices were there before; that they are gone is a failure",
    )
    parser.add_argument(
        "--optional", action="append", default=[], metavar="FIGURE", help="that this one is missing does not count"
    )
    parser.add_argument("--level", type=int, choices=(1, 2, 3, 4), default=1, help="level of dcgm-diag (1)")
    parser.add_argument(
        "--root", type=Path, default=Path("/"), metavar="DIR", help="where the node's /sys, /proc, /dev are (/)"
    )
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _earlier(text: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise argparse.ArgumentTypeError(f"{text} is not a report of seatrial-probe: {err}") from err
    if not isinstance(document, dict) or "measured" not in document:
        raise argparse.ArgumentTypeError(f"{text} is not a report of seatrial-probe: it measures nothing")
    return document


if __name__ == "__main__":
    sys.exit(main())
