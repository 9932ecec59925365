"""Print what seatrial needs in a cluster, for `kubectl apply -f -`.

seatrial manifests crd    the GPURollout resource definition
seatrial manifests rbac   the controller's ServiceAccount and exactly the rights it needs
seatrial manifests        both
"""

from __future__ import annotations

import argparse

from seatrial import manifests
from seatrial.cli.exit_codes import ExitCode

EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=["crd", "rbac", "all"], default="all", help="which part")


def run(args: argparse.Namespace) -> int:
    parts = {"crd": [manifests.crd()], "rbac": [manifests.rbac()], "all": [manifests.crd(), manifests.rbac()]}
    print("---\n".join(parts[args.what]), end="")
    return ExitCode.OK
