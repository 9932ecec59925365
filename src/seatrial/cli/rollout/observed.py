"""Say which version of a component is on a node, where Kubernetes does not show it and a step by hand waits for it.

seatrial rollout observed firmware_cx7 28.43.2026 gpu-1 gpu-2
seatrial rollout observed gpu_operator v25.3.4 --all

Tests: tests/cli/test_rollout_observed.py, tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.app.rollout import noting
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout.noting import Noted, Observation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("component", metavar="COMPONENT", help="its key in the version matrix, such as firmware_cx7")
    parser.add_argument("version", metavar="VERSION", help="the version that is there")
    parser.add_argument("nodes", nargs="*", metavar="NODE", help="names of nodes")
    parser.add_argument("--all", action="store_true", help="every member of the rollout: an operator is there for all")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    cluster_options.add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    seen = noting.observation_of(args.component, args.version, tuple(args.nodes), is_all=args.all, rollout=args.rollout)
    asyncio.run(_note(cluster_options.cluster_of(args), seen, is_dry_run=args.dry_run))
    return ExitCode.OK


async def _note(cluster: Cluster, seen: Observation, *, is_dry_run: bool) -> None:
    async for each in noting.note(cluster, seen, is_dry_run=is_dry_run):
        if isinstance(each, noting.NoMember):
            print(f"seatrial: {each.rollout} has no member.", file=sys.stderr)
        else:
            print(sentence(each, seen))


def sentence(noted: Noted, seen: Observation) -> str:
    """What a person reads about one node."""
    what = f"{seen.component.value} {seen.version}"
    if noted.before == seen.version:
        return f"{noted.node} is said to have {what} already."
    said = f"{noted.node} has {what}{f', and had {noted.before}' if noted.before else ''}"
    return f"{said}." if noted.is_written else f"{said} (not written: --dry-run)"
