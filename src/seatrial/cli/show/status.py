"""Show a rollout: its target, who is where, who waits and why; -w keeps it up to date until it ends.

Exit code 0 when it is done or moving, 12 when it waits for somebody, 10 when a gate of it has failed.
"""

# Tests: tests/cli/test_status.py

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from seatrial.cli.show.look import Look
    from seatrial.core.holds import Hold
    from seatrial.core.model.policy import Limits

EXITS = (ExitCode.GATE_FAILED, ExitCode.HELD, ExitCode.TIMEOUT)
NAMED_MAX = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from seatrial.cli.rollout import rollout

    cluster_options.add_cluster_arguments(parser)
    rollout.add_watch(parser)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table", help="how to print it")


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    if args.watch:
        from seatrial.cli.show import watch as rollout_watch

        return rollout_watch.watch(args)
    return show(look(args), args.output)


def show(found: Look, output: str) -> int:
    """Print one look."""
    from seatrial.cli.show import picture as rollout_picture

    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    picture = rollout_picture.picture_of(found)
    if output == "json":
        import json

        print(json.dumps(as_data(found), indent=2))
    else:
        _print_table(found)
    if found.faults:
        return ExitCode.ERROR
    if picture is not None:
        return picture.exit_code
    return ExitCode.HELD if _state(found) == "waiting" else ExitCode.OK


def as_data(found: Look) -> dict[str, Any]:
    """Everything `status` knows, for scripts."""
    from seatrial.cli.show import picture as rollout_picture
    from seatrial.core.words import explain

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
    if found.sight is not None and found.decision is not None:
        intent = found.sight.intent
        data["rollout"] = {"name": intent.rollout, "target": intent.target.text, "state": _state(found)}
        data["ledger"] = [admission.node for admission in found.sight.seen.rollout.admitted]
        data["holds"] = [
            {
                "subject": held.subject,
                "code": held.code.value,
                "why": explain.why(held),
                "next": explain.next_step(held),
                "until": held.until,
            }
            for held in found.decision.waits
        ]
        picture = rollout_picture.picture_of(found)
        if picture is not None:
            data["campaign"] = rollout_picture.as_data(picture)
    return data


def _state(found: Look) -> str:
    from seatrial.core.actions import WriteRolloutRecord
    from seatrial.core.movers import letting_in
    from seatrial.core.summary import state_of, summarise

    if found.sight is None or found.decision is None:
        return "none"
    campaign = found.sight.seen.rollout.campaign
    moves = [action for action in found.decision.actions if not isinstance(action, WriteRolloutRecord)]
    nodes = letting_in.recorded(found.sight.seen, found.sight.intent)
    state = summarise(replace(found.sight.seen, nodes=nodes), found.decision.holds, found.decision.stop).state
    is_moving = bool(moves) or state == "progressing"
    if campaign is not None:
        return state_of(campaign, found.decision.stop, is_moving=is_moving)
    return "progressing" if moves and found.decision.stop is None else state


def _print_table(found: Look) -> None:
    from rich.table import Table

    from seatrial.cli import terminal
    from seatrial.core.budget import capacity, losses
    from seatrial.core.movers import letting_in

    console = terminal.console()
    operator = found.operator
    console.print(
        f"Mode      {operator.mode.value}"
        + (f", {operator.kind} is {operator.state or 'unknown'}" if operator.kind else ", no GPU Operator seen")
    )
    if found.sight is None or found.decision is None:
        _print_without_rollout(found, console)
        return
    seen, intent = found.sight.seen, found.sight.intent
    _print_campaign(found)
    console.print(f"Rollout   {intent.rollout} to {intent.goal}: {_state(found)}", style="bold")
    failures = "1 failure" if intent.failed_max == 1 else f"{intent.failed_max} failures"
    console.print(f"Limits    {_limits(intent.limits)}, {failures}")
    for name, policy in sorted(intent.pools.items()):
        console.print(f"          {_limits(policy.limits)} of NVIDIADriver {name}")
    for domain in intent.domains:
        share = f"{domain.unavailable_max} unavailable" if domain.unavailable_max is not None else "no limit of its own"
        console.print(f"          {share} in each {domain.label}{', upgraded as one unit' if domain.is_unit else ''}")
    under_way = capacity.under_way(seen.rollout.admitted, letting_in.recorded(seen, intent))
    console.print(f"Under way {_some(sorted(under_way)) or 'nobody'}")
    lost = losses.lost_gpu_seconds(seen, found.at) / 3600
    if lost >= losses.TOLD_HOURS:
        console.print(f"Cost      {lost:,.1f} GPU-hours so far")
    counts = Counter(node.record.phase.value if node.record else "not seen yet" for node in seen.nodes.values())
    table = Table("State", "Nodes", box=None, padding=(0, 2, 0, 0))
    for phase, count in sorted(counts.items()):
        table.add_row(phase, str(count))
    console.print(table)
    _print_holds(found.decision.waits, console)


def _print_campaign(found: Look) -> None:
    """Where the campaign stands, before what is told of every rollout."""
    from seatrial.cli.show import picture as rollout_picture
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


def _print_holds(holds: tuple[Hold, ...], console: Console) -> None:
    from seatrial.core.words import explain

    if not holds:
        console.print("Nobody waits.")
        return
    by_code: dict[str, list[Hold]] = {}
    for held in holds:
        by_code.setdefault(held.code.value, []).append(held)
    console.print("\nWaiting:")
    for code, group in sorted(by_code.items()):
        console.print(f"  {code} ({_some([held.subject for held in group])})", style="bold")
        console.print(f"    {explain.why(group[0])}.")
        console.print(f"    {explain.next_step(group[0])}")


def _some(names: list[str]) -> str:
    rest = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {rest} more" if rest > 0 else "")
