"""Start a rollout: show what was judged and what will happen, ask, create it.

Law of this file: nothing is created that was not shown, and a trial writes nothing at all. Tests:
tests/cli/test_rollout_start.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

from seatrial.app.awaiting import finished
from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import options, starting
from seatrial.app.rollout.check import failed
from seatrial.app.rollout.fields import FieldsRefused
from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout import spec as rollout_spec
from seatrial.cli.rollout.acts import Showing
from seatrial.core.words import explain

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout.options import StartOptions
    from seatrial.app.rollout.outset import Outset
from seatrial.cli.rollout.objecting import refuse, verdict


def run(args: argparse.Namespace) -> int:
    asked, cluster = rollout_spec.asked(args), cluster_options.cluster_of(args)
    options.check(asked)
    showing = Showing(
        is_dry_run=args.dry_run,
        says_yes=args.yes,
        output=args.output,
        waits=args.wait,
    )
    if asked.goal.plan or asked.goal.to:
        if args.wait:
            raise CalledWrongly("--wait follows one rollout, and a plan makes several: `seatrial status NAME -w`.")
        from seatrial.cli.rollout import plan as rollout_plan

        return rollout_plan.start(cluster, asked, showing)
    return start(cluster, asked, showing)


def start(cluster: Cluster, asked: StartOptions, showing: Showing) -> int:
    """Start one rollout."""
    on = datetime.now().astimezone().date()
    given = starting.read_rollout(asked.file) if asked.file else None
    target = starting.target_of(asked, given, on)
    code = verdict(target, accepts_unknown=asked.accept_unknown)
    if code is not ExitCode.OK:
        return code
    try:
        outset = finished(starting.propose(cluster, asked, given, target, on))
    except FieldsRefused as err:
        return refuse((err.check,))
    for fault in outset.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    print("\n".join(f"{head:<9} {text}" for head, text in starting.preview(outset, target)), file=sys.stderr)
    if showing.is_dry_run:
        from seatrial.cli.rollout import trial as rollout_trial

        return rollout_trial.show(outset, target, output=showing.output)
    if failed(outset.checks):
        return refuse(failed(outset.checks))
    if not rollout_acts.confirmed("Start it?", says_yes=showing.says_yes):
        print("seatrial: nothing was written.", file=sys.stderr)
        return ExitCode.ERROR
    made = finished(starting.create(cluster, outset))
    _tell(made, outset, showing)
    if showing.waits:
        from seatrial.cli.show import watch

        name = made["metadata"]["name"]
        return watch.watch(cluster, name, watch.screen(showing.output), timeout_seconds=0)
    return ExitCode.HELD if outset.unled is not None else ExitCode.OK


def _tell(made: dict[str, Any], outset: Outset, showing: Showing) -> None:
    name, output = made["metadata"]["name"], showing.output
    if formats.is_document(output):
        formats.print_document(made, output)
    elif output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [name])
    else:
        print(f"{formats.ROLLOUT}/{name} created")
    if outset.unled is not None:
        silent = explain.times(outset.unled, outset.at)
        print(f"It does not begin yet: {outset.unled.why}{silent}. {outset.unled.next_step}", file=sys.stderr)
    if made["spec"].get("paused"):
        print(f"It is paused: `seatrial rollout resume {quote(name)}` begins it.", file=sys.stderr)
    elif outset.others:
        print(f"It is held until {', '.join(outset.others)} has ended: `seatrial why {quote(name)}`.", file=sys.stderr)
    if not showing.waits:
        print(f"Watch it with `seatrial status {quote(name)} -w`.", file=sys.stderr)
