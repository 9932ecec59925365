"""Say which version of a component is on a node, where Kubernetes does not show it and a step by hand waits for it.

seatrial rollout observed firmware_cx7 28.43.2026 gpu-1 gpu-2
seatrial rollout observed gpu_operator v25.3.4 --all

Tests: tests/cli/test_rollout_start.py, tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout.noting import Noted, Observation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("component", metavar="COMPONENT", help="its key in the version matrix, such as firmware_cx7")
    parser.add_argument("version", metavar="VERSION", help="the version that is there")
    parser.add_argument("nodes", nargs="*", metavar="NODE", help="names of nodes")
    cluster_options.add_selector(parser, "instead of names: nodes with these labels")
    parser.add_argument("--all", action="store_true", help="every member of the rollout: an operator is there for all")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import noting

    where = noting.Where(nodes=tuple(args.nodes), selector=args.selector, is_all=args.all, rollout=args.rollout)
    seen = noting.observation_of(args.component, args.version, where)
    noted = finished(_note(cluster_options.cluster_of(args), seen, args))
    if formats.is_document(args.output):
        formats.print_document([as_data(each, seen) for each in noted], args.output)
    return ExitCode.OK


async def _note(cluster: Cluster, seen: Observation, args: argparse.Namespace) -> list[Noted]:
    """Note it on every node, and tell of each as it is written."""
    from seatrial.app.rollout import noting

    noted: list[Noted] = []
    async for each in noting.note(cluster, seen, is_dry_run=args.dry_run):
        if isinstance(each, noting.NoMember):
            print(f"seatrial: {each.rollout} has no member.", file=sys.stderr)
            continue
        noted.append(each)
        if args.output == formats.NAME:
            formats.print_names(formats.NODE, [each.node])
        elif args.output == formats.TABLE:
            print(sentence(each, seen))
    return noted


def as_data(noted: Noted, seen: Observation) -> dict[str, object]:
    """What is said of one node, for scripts."""
    said = {"component": seen.component.value, "version": seen.version}
    return {"name": noted.node, **said, "before": noted.before, "isWritten": noted.is_written}


def sentence(noted: Noted, seen: Observation) -> str:
    """What a person reads about one node."""
    what = f"{seen.component.value} {seen.version}"
    if noted.before == seen.version:
        return f"{noted.node} is already reported to have {what}."
    said = f"{noted.node} has {what}{f', and had {noted.before}' if noted.before else ''}"
    return f"{said}." if noted.is_written else f"{said} (not written: --dry-run)"
