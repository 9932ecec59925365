"""Finish or undo a driver upgrade that somebody left half-done.

It looks at every node and shows what becomes of it, with every write; after your yes it writes. A GPURollout of these
nodes then lets the controller do the rest, within the limits.

In detail:

Whoever left it (NVIDIA's controller that was switched off, its driver manager, a person, a seatrial that was taken
away): nothing is taken over that is not known to belong to the upgrade, and somebody's cordon or skip label stays. Run
it again whenever it was interrupted. Of a file of `seatrial snapshot` it shows what would be done.
"""

# Tests: tests/cli/test_rollout_adopt.py, tests/e2e/test_adopt.py

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli import formats, words
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout.acts import Showing
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.adapters.kube.adoption import Taken
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout.adopting import AdoptionPlan, AdoptOptions
    from seatrial.core.survey.adoption.fleet import Refusal

EXITS = (ExitCode.HELD,)
NAMED_MAX: Final = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (__doc__ or "").strip()
    parser.add_argument(
        "rollout", nargs="?", default="", metavar="ROLLOUT", help="a rollout that waits for it: use its nodes"
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--to", metavar="V", help="finish on this driver (what the driver DaemonSets have)")
    way.add_argument(
        "--back", nargs="?", const="", metavar="V", help="undo: back to this driver (what most nodes ran before)"
    )
    parser.add_argument(
        "-l", "--selector", metavar="K=V", type=words.label, action="append", help="labels of the nodes; repeatable"
    )
    parser.add_argument(
        "--release",
        metavar="NODE",
        action="append",
        default=[],
        help="the cordon of this node belongs to the upgrade: lift it at the end; repeatable",
    )
    parser.add_argument(
        "--publish", choices=["direct"], help="write the version into ClusterPolicy or NVIDIADriver (else you do)"
    )
    parser.add_argument("--name", help="of the new rollout (adopt-VERSION)")
    parser.add_argument(
        "--max-unavailable", metavar="N|N%", type=words.share, help="nodes unavailable at once (as the operator says)"
    )
    parser.add_argument(
        "--max-parallel", metavar="N", type=words.count, help="nodes under way at once; 0 means no limit"
    )
    parser.add_argument("--max-failed", metavar="N", type=words.count, help="failures allowed (1)")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and every write, and write nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    formats.add_output(parser, formats.NAME)
    cluster_options.add_snapshot(parser)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def asked(args: argparse.Namespace) -> AdoptOptions:
    """What was said."""
    from seatrial.app.rollout.adopting import AdoptOptions

    return AdoptOptions(
        rollout=args.rollout,
        to=args.to,
        back=args.back,
        selector=tuple(args.selector or ()),
        release=tuple(args.release),
        publishes=args.publish is not None,
        name=args.name,
        max_unavailable=args.max_unavailable,
        max_parallel=args.max_parallel,
        max_failed=args.max_failed,
    )


def run(args: argparse.Namespace) -> int:
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import adopting

    wanted = asked(args)
    adopting.check(wanted)
    # A file has nobody who could do it: what would be done is shown.
    is_dry_run = args.dry_run or args.snapshot is not None
    showing = Showing(is_dry_run=is_dry_run, says_yes=args.yes, output=args.output)
    return finished(_run(cluster_options.cluster_of(args), wanted, showing))


async def _run(cluster: Cluster, wanted: AdoptOptions, showing: Showing) -> int:
    import asyncio

    from seatrial.app.rollout import adopting

    async with adopting.looking(cluster) as taker:
        plan = taker.plan(wanted)
        for fault in taker.faults:
            print(f"seatrial: {fault}", file=sys.stderr)
        if not isinstance(plan, adopting.AdoptionPlan):
            return _refuse(plan, showing.output)
        if showing.output == formats.TABLE:
            print("\n".join(told(plan)), flush=True)
        if showing.is_dry_run:
            return _end(plan, None, showing.output)
        # Beside the loop, which goes on watching: the answer may take its time.
        if not await asyncio.to_thread(rollout_acts.confirmed, "Take them over?", says_yes=showing.says_yes):
            print("seatrial: nothing was written.", file=sys.stderr)
            return ExitCode.ERROR
        return _end(plan, await taker.take_up(plan), showing.output)


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refuse(refusal: Refusal, output: str) -> int:
    if formats.is_document(output):
        formats.print_document({"refusal": {"code": refusal.code.value, "text": refusal.text}}, output)
    print(f"seatrial: nothing is adopted. {refusal.text}", file=sys.stderr)
    return ExitCode.HELD


def told(plan: AdoptionPlan) -> Iterator[str]:
    """The plan for people: every node, then every write."""
    from seatrial.cli import terminal
    from seatrial.core.survey.adoption import fleet as adopt_plan

    way = "Back to" if plan.wish.is_back else "To"
    counts = ", ".join(f"{count} {fate}" for fate, count in adopt_plan.counted(plan.adoptions.values()))
    yield f"{way} driver {plan.wish.target}: {number_of(len(plan.adoptions), 'node')} ({counts})"
    yield ""
    rows = [(each.node, each.fate.value, each.found, each.why) for each in plan.adoptions.values()]
    yield terminal.columns([("NODE", "FATE", "FOUND", "THEN"), *rows])
    yield ""
    writes = list(_writes(plan))
    yield "Writes:" if writes else "Nothing has to be written."
    yield from writes
    if plan.body is None:
        yield f"GPURollout {plan.rollout} already exists, and takes them over."
    if plan.unpublished and not plan.resources:
        yield (
            f"The driver DaemonSets of {_some(plan.unpublished)} have another version. "
            f"Publish {plan.wish.target} where you publish it, or use --publish direct; the rollout waits for that."
        )


def _writes(plan: AdoptionPlan) -> Iterator[str]:
    from seatrial.core.survey.adoption import traces as values

    for each in plan.adoptions.values():
        if each.write is not None:
            yield f"  node {each.node}: {'; '.join(values.content(each.write))}"
    if plan.body is not None:
        yield f"  GPURollout {plan.rollout}: created; driver {plan.wish.target}, moves nodes only"
    for resource in plan.resources:
        yield f"  {resource}: driver version {plan.wish.target}"


def _some(names: tuple[str, ...]) -> str:
    from seatrial.core.text.names import a_few

    return a_few(names, NAMED_MAX)


def _end(plan: AdoptionPlan, taken: Taken | None, output: str) -> int:
    if formats.is_document(output):
        formats.print_document(as_data(plan, taken), output)
    elif output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [plan.rollout])
    if taken is not None and taken.changed:
        print(
            f"seatrial: {', '.join(taken.changed)} changed in the meantime and would not become what was announced, "
            "so nothing was begun. Run this again to see what becomes of them now.",
            file=sys.stderr,
        )
        return ExitCode.HELD
    if taken is not None:
        print(
            f"{len(taken.written)} nodes were written. The controller does the rest; where none runs, "
            f"`seatrial controller --forever --rollout {quote(plan.rollout)}`. Watch it with `seatrial status`.",
            file=sys.stderr,
        )
    return ExitCode.HELD if plan.has_left else ExitCode.OK


def as_data(plan: AdoptionPlan, taken: Taken | None) -> dict[str, Any]:
    """The same for scripts."""
    from seatrial.core.survey.adoption import traces as values

    return {
        "target": plan.wish.target,
        "direction": "back" if plan.wish.is_back else "to",
        "rollout": {"name": plan.rollout, "isNew": plan.body is not None},
        "publishes": list(plan.resources),
        "unpublished": list(plan.unpublished),
        "nodes": [
            {
                "name": each.node,
                "fate": each.fate.value,
                "phase": each.phase.value if each.phase is not None else "",
                "found": each.found,
                "why": each.why,
                "writes": list(values.content(each.write)) if each.write is not None else [],
            }
            for each in plan.adoptions.values()
        ],
        "isDryRun": taken is None,
        "written": taken.written if taken is not None else [],
        "changed": taken.changed if taken is not None else [],
    }
