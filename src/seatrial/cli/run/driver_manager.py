"""Take the old NVIDIA driver off a node before the new one is loaded: the work of k8s-driver-manager.

It runs as the init container of a driver pod, where no upgrade controller empties the node: it pauses the operands, has
the pods leave that hold GPUs, unloads the driver, and puts the node back as it was. It is told what to do by the same
environment variables as NVIDIA's.
"""

# Tests: tests/cli/test_driver_manager.py, tests/e2e/driver_manager/test_uninstall.py

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import IN_DETAIL, rarely

if TYPE_CHECKING:
    import asyncio

    from seatrial.adapters.host.kernel import Kernel
    from seatrial.adapters.kube.driver_manager.running import Manager
    from seatrial.core.node.driver_manager.preflight import Check
    from seatrial.core.node.driver_manager.settings import Settings
    from seatrial.core.node.driver_manager.values import End

T = TypeVar("T")
EXITS = (ExitCode.FINDINGS, ExitCode.TIMEOUT)
NVIDIAS: Final = {"uninstall_driver": "uninstall", "preflight_check": "preflight"}
"""What the GPU Operator's DaemonSets call the commands."""

PREFLIGHT: Final = """\
Say what would keep the driver from being taken off this node, and what would be done. Nothing is written.
"""
UNINSTALL: Final = """\
Take the old driver off this node.

It may be killed at any moment: the next start begins anew, and every end gives the operands back. A cordon of somebody
else's is left alone, and pods of DaemonSets are not drained.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from seatrial.core.node.driver_manager.settings import VARIABLES

    lines = [(each.name, f"{each.means} ({each.default or 'empty'}; {each.form})") for each in VARIABLES]
    lines.append(("KUBECONFIG", "which cluster (the pod's own account)"))
    wide = max(len(name) for name, _ in lines)
    told = "\n".join(f"  {name:{wide}}  {text}" for name, text in lines)
    variables = f"{IN_DETAIL}environment (default; how it is written):\n{told}"
    commands = parser.add_subparsers(dest="what", required=True, metavar="preflight|uninstall")
    preflight = commands.add_parser(
        "preflight", help="say what would be done, and what is missing", description=PREFLIGHT.strip() + variables
    )
    formats.add_output(preflight)
    uninstall = commands.add_parser(
        "uninstall", help="take the old driver off this node", description=UNINSTALL.strip() + variables
    )
    for each in (preflight, uninstall):
        each.add_argument(
            "--host-root",
            type=Path,
            default=Path("/host"),
            metavar="DIR",
            help="where the host's / is mounted; its own nvidia-smi is run there (/host)",
        )
        rarely(each).add_argument(
            "--root",
            type=Path,
            default=Path("/"),
            metavar="DIR",
            help="below which /sys, /proc and /run are looked for (/)",
        )


def run(args: argparse.Namespace) -> int:
    from seatrial.core.node.driver_manager.settings import SettingsInvalid, read_settings

    try:
        settings = read_settings(os.environ)
    except SettingsInvalid as err:
        for line in str(err).splitlines():
            print(f"seatrial: {line}", file=sys.stderr)
        return ExitCode.USAGE
    return _preflight(args, settings) if args.what == "preflight" else _uninstall(args, settings)


def kernel() -> Kernel:
    """The kernel that is worked on. The laboratory has another one, which knows no modules but those of a test."""
    from seatrial.adapters.host.kernel import Linux

    return Linux()


def _preflight(args: argparse.Namespace, settings: Settings) -> int:
    from seatrial.app.awaiting import finished
    from seatrial.cli import terminal
    from seatrial.core.node.driver_manager.preflight import Verdict

    async def look(manager: Manager, _: asyncio.Event) -> tuple[Check, ...]:
        return await manager.preflight()

    checks = finished(_managing(args, settings, look))
    if formats.is_document(args.output):
        told = [{"check": each.what, "verdict": each.verdict.value, "text": each.text} for each in checks]
        formats.print_document({"node": settings.node, "checks": told}, args.output)
    else:
        rows = [(each.what, each.verdict.value, each.text) for each in checks]
        print(terminal.columns([("CHECK", "VERDICT", "WHAT"), *rows]))
    is_well = all(each.verdict is not Verdict.FAILED for each in checks)
    return ExitCode.OK if is_well else ExitCode.FINDINGS


def _uninstall(args: argparse.Namespace, settings: Settings) -> int:
    import asyncio

    from seatrial.app.awaiting import finished

    async def work(manager: Manager, stopping: asyncio.Event) -> End:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stopping.set)
        return await manager.uninstall()

    end = finished(_managing(args, settings, work))
    if end.why:
        print(f"seatrial: {end.why[:1].upper()}{end.why[1:]}", file=sys.stderr)
    else:
        _say("done: the new driver may be loaded")
    return exit_code(end)


def exit_code(end: End) -> ExitCode:
    """What a kubelet shows: 8 where the host brings a driver, 13 where somebody did not leave in time."""
    from seatrial.core.node.driver_manager.values import Ending

    match end.ending:
        case Ending.DONE:
            return ExitCode.OK
        case Ending.HOST_DRIVER:
            return ExitCode.FINDINGS
        case Ending.LATE:
            return ExitCode.TIMEOUT
        case Ending.FAILED | Ending.STOPPED:
            return ExitCode.ERROR


async def _managing(
    args: argparse.Namespace, settings: Settings, work: Callable[[Manager, asyncio.Event], Awaitable[T]]
) -> T:
    import asyncio

    from seatrial.adapters.host.tree import HostTree
    from seatrial.adapters.kube.driver_manager.node import ManagedNode
    from seatrial.adapters.kube.driver_manager.running import Manager
    from seatrial.app.connecting import Cluster

    host = HostTree(kernel(), root=args.root, host_root=args.host_root)
    cluster = Cluster(namespace=settings.namespace, environ=os.environ)
    stopping = asyncio.Event()
    async with cluster.client("driver-manager") as client:
        return await work(
            Manager(ManagedNode(client, settings), host, settings, tell=_say, stopping=stopping), stopping
        )


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def as_nvidias() -> int:
    """`driver-manager uninstall_driver`, which the GPU Operator's DaemonSets call."""
    from seatrial.cli.main import main

    given = sys.argv[1:]
    return main(["driver-manager", *(NVIDIAS.get(word, word) for word in given)])
