"""Run a real control plane with simulated kubelets on this machine, and real ones beside them where asked.

The first `up` builds Kubernetes from source (about ten minutes on two cores), once per machine. Real nodes need root.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial_lab.testbed.plane import control_plane

EXITS: tuple[ExitCode, ...] = ()
PREFIX = "gpu"
BRANCH_MIN = 570
"""Real nodes have images of the known drivers from this branch on; each costs a moment."""


class TestbedMissing(SeatrialError):  # noqa: N818
    """The testbed's own dependencies are not installed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["up", "down", "status"], help="what to do")
    parser.add_argument("--nodes", type=int, default=8, help="GPU nodes to make with `up` (8)")
    parser.add_argument(
        "--real-nodes", type=int, default=0, help="nodes with a real kubelet to make with `up` besides; needs root (0)"
    )
    parser.add_argument("--reload-seconds", type=float, default=5.0, help="how long a driver takes to load (5)")
    parser.add_argument("--driver", default="570.124.06", metavar="VERSION", help="the driver they run (570.124.06)")


def run(args: argparse.Namespace) -> int:
    try:
        import cryptography  # noqa: F401
    except ImportError as err:
        raise TestbedMissing("The testbed needs more packages: pip install 'seatrial[testbed]'.") from err
    return {"up": _up, "down": _down, "status": _status}[args.what](args)


def _up(args: argparse.Namespace) -> int:
    import yaml

    from seatrial import manifests
    from seatrial_lab.testbed import controller_process
    from seatrial_lab.testbed.nodes.fleet import make_fleet
    from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
    from seatrial_lab.testbed.plane import lifecycle
    from seatrial_lab.testbed.real_node import able

    if args.real_nodes and (why := able.why_not()):
        raise TestbedMissing(f"{why} Start as root, or without --real-nodes.")
    plane = lifecycle.up()
    controller_process.install(plane)
    if (args.nodes or args.real_nodes) and not plane.get("nodes")["items"]:
        real = _start_real_nodes(plane, args)
        print(f"Making {args.nodes} GPU nodes with driver {args.driver} …", file=sys.stderr)
        make_fleet(
            plane,
            FleetSpec(
                prefix=PREFIX,
                node_count=args.nodes,
                driver_version=args.driver,
                reload_seconds=args.reload_seconds,
                real_nodes=real,
            ),
        )
    plane.apply(list(yaml.safe_load_all(manifests.rbac())))
    print(lifecycle.how_to_use(plane.status()))
    return ExitCode.OK


def _start_real_nodes(plane: control_plane.ControlPlane, args: argparse.Namespace) -> tuple[str, ...]:
    """Start the real nodes that were asked for, with every driver of the newer branches, and return their names."""
    from seatrial.adapters.files.facts import knowledge
    from seatrial_lab.testbed.real_node import node

    names = tuple(f"{PREFIX}-real-{each:03}" for each in range(args.real_nodes))
    known = knowledge.load_knowledge().drivers if names else ()
    drivers = {args.driver, *(str(each) for each in known if each.branch >= BRANCH_MIN)}
    for name in names:
        print(f"Starting the real node {name} …", file=sys.stderr)
        node.start(plane, name, driver_versions=sorted(drivers))
    return names


def _down(_args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle

    print("The testbed is gone." if lifecycle.down() else "No testbed was running.")
    return ExitCode.OK


def _status(_args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle

    print(lifecycle.describe(lifecycle.status()))
    return ExitCode.OK
