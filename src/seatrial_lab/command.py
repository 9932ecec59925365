"""Run a real control plane with simulated kubelets on this machine.

  seatrial testbed up [--nodes N]   start etcd, API server, controller manager, scheduler and kwok; make N GPU nodes
  seatrial testbed status           say what runs
  seatrial testbed down             stop it and remove its data

The first `up` builds Kubernetes from source (about ten minutes on two cores), once per machine.
"""

from __future__ import annotations

import argparse
import sys

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError

EXITS: tuple[ExitCode, ...] = ()


class TestbedMissing(SeatrialError):  # noqa: N818
    """The testbed's own dependencies are not installed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["up", "down", "status"], help="what to do")
    parser.add_argument("--nodes", type=int, default=8, help="GPU nodes to make with `up` (8)")
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

    plane = lifecycle.up()
    controller_process.install(plane)
    if args.nodes and not plane.get("nodes")["items"]:
        print(f"Making {args.nodes} GPU nodes with driver {args.driver} …", file=sys.stderr)
        make_fleet(
            plane,
            FleetSpec(
                prefix="gpu", node_count=args.nodes, driver_version=args.driver, reload_seconds=args.reload_seconds
            ),
        )
    plane.apply(list(yaml.safe_load_all(manifests.rbac())))
    print(lifecycle.how_to_use(plane.status()))
    return ExitCode.OK


def _down(_args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle

    print("The testbed is gone." if lifecycle.down() else "No testbed was running.")
    return ExitCode.OK


def _status(_args: argparse.Namespace) -> int:
    from seatrial_lab.testbed.plane import lifecycle

    print(lifecycle.describe(lifecycle.status()))
    return ExitCode.OK
