"""Run a real control plane with simulated GPU nodes on this machine, and break them.

The first `up` builds Kubernetes from source (about ten minutes on two cores), once per machine.
"""

# Tests: tests/testbed/test_faults.py, tests/testbed/test_lifecycle.py

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run import progress
from seatrial.core.errors import SeatrialError
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.nodes.faults import FAULTS

if TYPE_CHECKING:
    from seatrial_lab.testbed.nodes.fleet import Fleet
    from seatrial_lab.testbed.plane import control_plane

EXITS: tuple[ExitCode, ...] = ()
PREFIX = "gpu"
BRANCH_MIN = 570
"""Real nodes have images of the known drivers from this branch on; each costs a moment."""
NONE_RUNS: Final = "No testbed runs. Start one with `seatrial testbed up`."


class TestbedMissing(SeatrialError):  # noqa: N818
    """The testbed, or something that it needs, is not there."""


class TestbedRefused(SeatrialError):  # noqa: N818
    """The testbed could not do what was asked of it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="up|status|break|heal|down")
    _add_up_arguments(commands.add_parser("up", help="start it, or find the one that runs"))
    commands.add_parser("status", help="say what runs of it")
    breaking = commands.add_parser("break", help="break a node")
    width = max(map(len, FAULTS)) + 2
    faults = "\n".join(f"  {name:{width}}{fault.text}" for name, fault in FAULTS.items())
    breaking.description = f"Break a node, and say what one will see of it.\n\n{faults}"
    breaking.add_argument("node", metavar="NODE", help="name of a simulated node")
    breaking.add_argument("fault", metavar="FAULT", choices=list(FAULTS), help=f"one of {', '.join(FAULTS)}")
    healing = commands.add_parser("heal", help="undo what `break` did, and nothing else")
    healing.add_argument("node", nargs="?", default="", metavar="NODE", help="name of a node (all)")
    commands.add_parser("down", help="stop it and remove its data")


def _add_up_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=8, metavar="N", help="GPU nodes to make (8)")
    parser.add_argument(
        "--operator", action="store_true", help="the real GPU Operator looks after them; built once, about five minutes"
    )
    parser.add_argument(
        "--git", action="store_true", help="a Git repository with a matrix of the driver, and a newer one as its canary"
    )
    parser.add_argument(
        "--real-nodes", type=int, default=0, metavar="N", help="nodes with a real kubelet besides; needs root (0)"
    )
    parser.add_argument(
        "--reload-seconds", type=float, default=5.0, metavar="SECONDS", help="how long a driver takes to load (5)"
    )
    parser.add_argument("--driver", default="570.124.06", metavar="VERSION", help="the driver they run (570.124.06)")


def run(args: argparse.Namespace) -> int:
    try:
        import cryptography  # noqa: F401
    except ImportError as err:
        raise TestbedMissing("The testbed needs more packages: pip install 'seatrial[testbed]'.") from err
    todo = {"up": _up, "down": _down, "status": _status, "break": _break, "heal": _heal}
    try:
        return todo[args.what](args)
    except errors.TestbedFailure as err:
        raise TestbedRefused(str(err)) from err


# ── up ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _up(args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle
    from seatrial_lab.testbed.real_node import able

    if args.operator and args.real_nodes:
        raise TestbedRefused(
            "The GPU Operator looks after simulated nodes alone: leave --real-nodes or --operator out."
        )
    if args.real_nodes and (why := able.why_not()):
        raise TestbedMissing(f"{why} Start as root, or without --real-nodes.")
    with progress.doing("starting the testbed") as doing:
        plane = _started(args, doing)
    if args.git:
        print(f"The version matrix is in Git, at {_repository(args.driver)}.")
    print(lifecycle.how_to_use(plane.status()))
    return ExitCode.OK


def _started(args: argparse.Namespace, doing: progress.Doing) -> control_plane.ControlPlane:
    import yaml

    from seatrial import manifests
    from seatrial_lab.testbed import controller_process
    from seatrial_lab.testbed.neighbours import gate_runs
    from seatrial_lab.testbed.plane import lifecycle

    doing.now("starting the control plane")
    plane = lifecycle.up()
    controller_process.install(plane)
    is_new = not plane.get("nodes")["items"]
    if args.operator:
        doing.now(f"waiting for the GPU Operator and {args.nodes} nodes")
        _start_operator(plane, args, is_new=is_new)
    elif is_new and (args.nodes or args.real_nodes):
        doing.now(f"waiting for {args.nodes} nodes whose drivers load")
        _make_fleet(plane, args)
    gate_runs.ensure_running(plane)
    plane.apply(list(yaml.safe_load_all(manifests.rbac(has_campaigns=True))))
    return plane


def _repository(driver: str) -> Path:
    """The bare repository of the testbed, made where it is not there yet."""
    from seatrial.adapters.files.facts import knowledge
    from seatrial.core.compat.versions import DriverVersion
    from seatrial_lab.testbed import repositories
    from seatrial_lab.testbed.plane import lifecycle

    remote = lifecycle.running_folder() / "gpu.git"
    if not remote.exists():
        branch = DriverVersion.parse(driver).branch
        newest = max(each for each in knowledge.load_knowledge().drivers if each.branch == branch)
        with tempfile.TemporaryDirectory(prefix="seatrial-testbed-") as folder:
            repositories.make_remote(remote, Path(folder) / "work")
            matrix = repositories.driver_matrix_of(driver, str(newest))
            repositories.commit(Path(folder) / "work", f"Try driver {newest}", **{repositories.MATRIX: matrix})
    return remote


def _start_operator(plane: control_plane.ControlPlane, args: argparse.Namespace, *, is_new: bool) -> None:
    from seatrial_lab.testbed.neighbours.operator import GpuOperator, OperatorSpec

    if GpuOperator.runs_beside(plane):
        return
    if not is_new:
        raise TestbedRefused(
            "A testbed without the GPU Operator runs, and its nodes have drivers of their own. "
            "End it with `seatrial testbed down`, then start again with --operator."
        )
    progress.say(f"Starting the GPU Operator with {args.nodes} nodes, driver {args.driver} …")
    spec = OperatorSpec(
        auto_upgrade=False,
        driver_version=args.driver,
        prefix=PREFIX,
        node_count=args.nodes,
        ready_seconds=args.reload_seconds,
    )
    GpuOperator.start(plane, spec).wait_ready()


def _make_fleet(plane: control_plane.ControlPlane, args: argparse.Namespace) -> None:
    from seatrial_lab.testbed.nodes.fleet import make_fleet
    from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec

    real = _start_real_nodes(plane, args)
    progress.say(f"Making {args.nodes} GPU nodes with driver {args.driver} …")
    spec = FleetSpec(
        prefix=PREFIX,
        node_count=args.nodes,
        driver_version=args.driver,
        reload_seconds=args.reload_seconds,
        real_nodes=real,
    )
    make_fleet(plane, spec)


def _start_real_nodes(plane: control_plane.ControlPlane, args: argparse.Namespace) -> tuple[str, ...]:
    """Start the real nodes that were asked for, with every driver of the newer branches, and return their names."""
    from seatrial.adapters.files.facts import knowledge
    from seatrial_lab.testbed.real_node import node

    names = tuple(f"{PREFIX}-real-{each:03}" for each in range(args.real_nodes))
    known = knowledge.load_knowledge().drivers if names else ()
    drivers = {args.driver, *(str(each) for each in known if each.branch >= BRANCH_MIN)}
    for name in names:
        progress.say(f"Starting the real node {name} …")
        node.start(plane, name, driver_versions=sorted(drivers))
    return names


# ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────────


def _down(_args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle

    print("The testbed is gone." if lifecycle.down() else "No testbed was running.")
    return ExitCode.OK


def _status(_args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle

    print(lifecycle.describe(lifecycle.status()))
    return ExitCode.OK


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────────


def _break(args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.nodes import faults

    print(faults.break_node(_fleet(), args.node, args.fault))
    return ExitCode.OK


def _heal(args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.nodes import faults

    told = faults.heal(_fleet(), args.node)
    print("\n".join(told) or f"Nothing is broken{f' on {args.node}' if args.node else ''}.")
    return ExitCode.OK


def _fleet() -> Fleet:
    from seatrial_lab.testbed.nodes import faults
    from seatrial_lab.testbed.plane import lifecycle

    plane = lifecycle.find()
    if plane is None:
        raise TestbedMissing(NONE_RUNS)
    return faults.fleet_of(plane)
