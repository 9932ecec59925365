"""Show a rollout: its target, who is where, who waits and why; -w keeps it up to date until it ends.

Exit code 0 when it is done or moving, 12 when it waits for somebody, 10 when a gate of it has failed.
"""

# Tests: tests/cli/test_status.py

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from seatrial.app.looking import Look
    from seatrial.core.model.policy import Limits
    from seatrial.core.model.seen.rollouts import Waiting

EXITS = (ExitCode.GATE_FAILED, ExitCode.HELD, ExitCode.TIMEOUT)
NAMED_MAX = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)
    cluster_options.add_watch(parser, "it ends")
    formats.add_output(parser, formats.WIDE, formats.NAME)


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    if args.watch:
        from seatrial.cli.show import watch as rollout_watch

        cluster = cluster_options.cluster_of(args)
        return rollout_watch.watch(cluster, args.rollout, timeout_seconds=args.timeout, output=args.output)
    return show(look(args), args.output)


def show(found: Look, output: str) -> int:
    """Print one look."""
    from seatrial.app import picture as rollout_picture
    from seatrial.cli.show import watch as rollout_watch

    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    picture = rollout_picture.picture_of(found)
    if formats.is_document(output):
        formats.print_document(as_data(found), output)
    elif output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [found.sight.intent.rollout] if found.sight is not None else [])
    else:
        _print_table(found, named_max=None if output == formats.WIDE else NAMED_MAX)
    if found.faults:
        return ExitCode.ERROR
    if picture is not None:
        return rollout_watch.exit_code(picture)
    return ExitCode.HELD if _state(found) == "waiting" else ExitCode.OK


def as_data(found: Look) -> dict[str, Any]:
    """Everything `status` knows, for scripts."""
    from seatrial.app import picture as rollout_picture
    from seatrial.app import waits
    from seatrial.cli.show import watch as rollout_watch

    nodes = found.sight.seen.nodes if found.sight else found.nodes
    data: dict[str, Any] = {
        "mode": found.operator.mode.value,
        "operator": {
            "kind": found.operator.kind,
            "state": found.operator.state,
            "driverVersion": found.operator.driver_version,
            "autoUpgrade": found.operator.is_auto_upgrading,
        },
        "rollout": None,
        "nodes": [
            {
                "name": name,
                "state": node.record.phase.value if node.record else "",
                "nvidiaState": node.facts.nvidia_state,
                "driver": node.facts.driver.version if node.facts.driver else "",
                "wanted": node.facts.wanted.version if node.facts.wanted else "",
                "cordoned": node.facts.is_cordoned,
                "ready": node.facts.is_ready,
            }
            for name, node in sorted(nodes.items())
        ],
        "holds": [],
    }
    waiting = waits.waits_of(found)
    if found.sight is not None and waiting is not None:
        intent = found.sight.intent
        data["rollout"] = {"name": intent.rollout, "target": intent.target.driver.text, "state": waiting.state}
        data["said"] = {"by": "here" if waiting.written_at is None else "controller", "at": waiting.written_at}
        data["ledger"] = [admission.node for admission in found.sight.seen.rollout.admitted]
        data["holds"] = [
            {
                "subject": group.nodes[0],
                "code": str(group.code),
                "why": group.why,
                "next": group.next_step,
                "until": group.until,
                "count": group.count,
                "nodes": list(group.nodes),
            }
            for group in waits.together(waiting, intent.rollout)
        ]
        picture = rollout_picture.picture_of(found)
        if picture is not None:
            data["campaign"] = rollout_watch.as_data(picture)
    return data


def _state(found: Look) -> str:
    from seatrial.app import waits

    waiting = waits.waits_of(found)
    return waiting.state if waiting is not None else "none"


def _print_table(found: Look, *, named_max: int | None) -> None:
    from rich.table import Table

    from seatrial.app import waits
    from seatrial.cli import terminal
    from seatrial.core.budget import capacity, losses
    from seatrial.core.movers.mover import mover_seen
    from seatrial.core.text.names import a_few

    console = terminal.console()
    operator = found.operator
    console.print(
        f"Mode      {operator.mode.value}"
        + (f", {operator.kind} is {operator.state or 'unknown'}" if operator.kind else ", no GPU Operator seen")
    )
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        _print_without_rollout(found, console)
        return
    seen, intent = found.sight.seen, found.sight.intent
    _print_campaign(found)
    console.print(f"Rollout   {intent.rollout} to {intent.goal}: {waiting.state}", style="bold")
    failures = "1 failure" if intent.failed_max == 1 else f"{intent.failed_max} failures"
    console.print(f"Limits    {_limits(intent.limits)}, {failures}")
    for name, policy in sorted(intent.pools.items()):
        console.print(f"          {_limits(policy.limits)} of NVIDIADriver {name}")
    for domain in intent.domains:
        share = f"{domain.unavailable_max} unavailable" if domain.unavailable_max is not None else "no limit of its own"
        console.print(f"          {share} in each {domain.label}{', upgraded as one unit' if domain.is_unit else ''}")
    under_way = capacity.under_way(seen.rollout.admitted, mover_seen(seen).recorded(seen, intent))
    console.print(f"Under way {a_few(sorted(under_way), named_max or len(under_way)) or 'nobody'}")
    console.print(f"As of     {waits.as_of(found, waiting)}")
    lost = losses.lost_gpu_seconds(seen, found.at) / 3600
    if lost >= losses.TOLD_HOURS:
        console.print(f"Cost      {lost:,.1f} GPU-hours so far")
    counts = Counter(node.record.phase.value if node.record else "not seen yet" for node in seen.nodes.values())
    table = Table("State", "Nodes", box=None, padding=(0, 2, 0, 0))
    for phase, count in sorted(counts.items()):
        table.add_row(phase, str(count))
    console.print(table)
    _print_waiting(waits.together(waiting, intent.rollout), console, named_max)


def _print_campaign(found: Look) -> None:
    """Where the campaign stands, before what is told of every rollout."""
    from seatrial.app import picture as rollout_picture
    from seatrial.cli.show import tree as rollout_tree
    from seatrial.cli.show import watch as rollout_watch

    picture = rollout_picture.picture_of(found)
    if picture is not None:
        print("\n".join([*rollout_tree.tree(picture, rollout_watch.ink_of(sys.stdout)), ""]), flush=True)


def _limits(limits: Limits) -> str:
    return f"{limits.parallel_max or 'any number'} at once, {limits.unavailable_max} unavailable"


def _print_without_rollout(found: Look, console: Console) -> None:
    drivers = Counter(
        (node.facts.driver.version or "an unknown driver") if node.facts.driver else "no driver pod"
        for node in found.nodes.values()
    )
    if not found.faults:
        console.print("Rollout   none; begin with `seatrial rollout start` (or create a GPURollout)")
    texts = [f"{text} on {count} nodes" for text, count in sorted(drivers.items())]
    console.print("Drivers   " + (", ".join(texts) or "no nodes seen"))


def _print_waiting(groups: tuple[Waiting, ...], console: Console, named_max: int | None) -> None:
    from seatrial.core.text.names import a_few

    if not groups:
        console.print("Nobody waits.")
        return
    console.print("\nWaiting:")
    for group in groups:
        console.print(
            f"  {group.code} ({a_few(group.nodes, named_max or len(group.nodes), count=group.count)})", style="bold"
        )
        console.print(f"    {group.why}.")
        console.print(f"    {group.next_step}")
