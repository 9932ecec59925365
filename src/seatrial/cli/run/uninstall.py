"""Remove from the cluster what seatrial has put there, before seatrial itself goes.

Stop the controllers first, or name their Deployment with --stop. The chart does all of this when it goes.

In detail:

Every rollout is left as if it were deleted, but stays: no node starts any more, nodes whose driver is untouched are let
go, the others finish first. Then every node loses seatrial's labels and annotations. A node whose driver nobody has
proven stays cordoned, and is named. The published version stays, and so does whatever is in Git.
"""

# Tests: tests/e2e/test_uninstall.py

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.app.connecting import USER_AGENT
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import rarely
from seatrial.cli.run import controller
from seatrial.core.text.names import a_few, number_of

if TYPE_CHECKING:
    from seatrial.adapters.kube.giving_back import GivenBack
    from seatrial.app.uninstalling import Guarded

EXITS = (ExitCode.HELD,)
_HOW_LEFT = "No other node would start, and nodes that have lost their driver would finish first."
_GOES_ON = ", and continues when a controller runs again; delete it if it should not"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser, has_rollout=False)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument(
        "--stop", default="", metavar="DEPLOYMENT", help="first scale this Deployment of controllers down to none"
    )
    rare = rarely(parser)
    rare.add_argument(
        "--lease-seconds", type=int, default=15, metavar="N", help="how long a dead leader blocks us (15)"
    )
    rare.add_argument(
        "--patience-seconds",
        type=int,
        default=90,
        metavar="N",
        help="how long to wait for the controllers to stop (90)",
    )
    controller.add_gates_argument(rare)
    controller.add_dra_argument(rare)
    controller.add_git_arguments(parser, rarely(parser, "Git repositories"))


def run(args: argparse.Namespace) -> int:
    from seatrial.app import uninstalling
    from seatrial.app.awaiting import finished
    from seatrial.controller.leading import LeaseHeld

    controller.git_settings(args)  # what is wrong with it is told before anything is stopped
    cluster = cluster_options.cluster_of(args)
    rollouts = uninstalling.guarded(cluster)
    if args.dry_run:
        _announce(rollouts, uninstalling.give_back(cluster, is_trial=True))
        return ExitCode.OK
    if args.stop:
        uninstalling.stop_controllers(cluster, args.lease_namespace, args.stop)
    try:
        for each in rollouts:
            if not finished(_leave(args, each.name)):
                print(f"seatrial: interrupted; GPURollout {each.name} is not left yet. Run it again.", file=sys.stderr)
                return ExitCode.HELD
            print(f"GPURollout {each.name} is left. It stays{'' if each.is_ended else _GOES_ON}.", flush=True)
    except LeaseHeld as err:
        print(f"seatrial: {err} `--stop DEPLOYMENT` stops the controllers.", file=sys.stderr)
        return ExitCode.HELD
    given = uninstalling.give_back(cluster, is_trial=False)
    _tell(given)
    return ExitCode.OK


async def _leave(args: argparse.Namespace, rollout: str) -> bool:
    """Play the controller of one rollout until it is left; False when told to stop before."""
    from seatrial.controller.log import Log
    from seatrial.controller.main import Settings, control

    settings = Settings(
        config=cluster_options.cluster_of(args).config(),
        user_agent=f"{USER_AGENT} (uninstall)",
        namespace=args.namespace,
        rollout=rollout,
        lease_namespace=args.lease_namespace,
        gates_namespace=args.gates_namespace,
        dra_namespaces=tuple(sorted(set(args.dra_namespace))),
        lease_seconds=args.lease_seconds,
        journal=None,
        once=False,
        is_uninstalling=True,
        patience_seconds=args.patience_seconds,
        git=controller.git_settings(args),
        pages="",
    )
    report = await control(settings, Log())
    return report is not None and (report.sight is None or not report.sight.seen.is_guarded)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _announce(rollouts: tuple[Guarded, ...], found: GivenBack) -> None:
    for each in rollouts:
        how = "has ended." if each.is_ended else f"is under way ({each.phase}). {_HOW_LEFT}"
        print(f"GPURollout {each.name} {how} It would stay, without our finalizer.")
    if not rollouts:
        print("No GPURollout has our finalizer.")
    if found.cleaned:
        print(f"{number_of(len(found.cleaned), 'node')} would lose our labels and annotations: {a_few(found.cleaned)}.")
    for name, why in sorted(found.kept.items()):
        print(f"Node {name}, if it stays as it is now, would keep our labels and annotations: {why}.")
    if not found.cleaned and not found.kept:
        print("No node has a mark of ours.")
    if found.resumed:
        print(f"{number_of(len(found.resumed), 'Workload')} of Kueue would be active again: {a_few(found.resumed)}.")


def _tell(found: GivenBack) -> None:
    print(f"{number_of(len(found.cleaned), 'node')} lost our labels and annotations.")
    if found.resumed:
        print(f"{number_of(len(found.resumed), 'Workload is', 'Workloads are')} active again: {a_few(found.resumed)}.")
    for name, why in sorted(found.kept.items()):
        print(f"Node {name} stays as it is: {why}.")
