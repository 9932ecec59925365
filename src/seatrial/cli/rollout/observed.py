"""Say which version of a component is on a node, where Kubernetes does not show it and a step by hand waits for it.

seatrial rollout observed firmware_cx7 28.43.2026 gpu-1 gpu-2
seatrial rollout observed gpu_operator v25.3.4 --all

Law of this file: all nodes are known before the first is written to, each is the one that was looked at, and nobody
says what a kubelet says itself. Tests: tests/cli/test_rollout_observed.py, tests/e2e/test_plan_steps.py
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Any

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.cli.rollout.spec import CalledWrongly

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.core.compat.matrix import Component


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("component", metavar="COMPONENT", help="its key in the version matrix, such as firmware_cx7")
    parser.add_argument("version", metavar="VERSION", help="the version that is there")
    parser.add_argument("nodes", nargs="*", metavar="NODE", help="names of nodes")
    parser.add_argument("--all", action="store_true", help="every member of the rollout: an operator is there for all")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    cluster_options.add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    component = component_of(args.component)
    check_version(component, args.version)
    if bool(args.nodes) is args.all:
        raise CalledWrongly("name the nodes on which it was observed, or say --all for every member of the rollout.")
    return asyncio.run(_run(args, component))


def component_of(text: str) -> Component:
    """The component of that name, unless it is seen without anybody's word."""
    from seatrial.core.compat.matrix import ALIASES, Component
    from seatrial.core.node import observed

    try:
        found = ALIASES.get(text) or Component(text.replace("-", "_"))
    except ValueError:
        told = ", ".join(each.value for each in Component if each not in observed.SHOWN and each not in observed.OURS)
        raise CalledWrongly(
            f"{text!r} is no component of a version matrix that people tell of; those are {told}."
        ) from None
    if found in observed.SHOWN:
        raise CalledWrongly(
            f"{found.value} is seen by itself, in the node's {observed.SHOWN[found]}; nobody has to say it."
        )
    if found in observed.OURS:
        raise CalledWrongly(f"{found.value} is seen by itself, in the driver pods; nobody has to say it.")
    return found


def check_version(component: Component, text: str) -> None:
    """Refuse what can be no version of the component."""
    from seatrial.core.compat import versions
    from seatrial.core.compat.matrix import SCHEMES

    try:
        versions.parse(SCHEMES[component], text)
    except versions.VersionInvalid as err:
        raise CalledWrongly(str(err)) from err


async def _run(args: argparse.Namespace, component: Component) -> int:
    from seatrial.adapters.kube.api.client import PatchKind
    from seatrial.adapters.kube.shapes import keys

    key = f"{keys.OBSERVED_PREFIX}{component.value}"
    async with rollout_pick.connect(args) as client:
        nodes = {node["metadata"]["name"]: node for node in (await client.list(keys.NODES, dict)).items}
        names = await _members(client, args, component.value, nodes) if args.all else list(dict.fromkeys(args.nodes))
        unknown = [name for name in names if name not in nodes]
        if unknown:
            raise CalledWrongly(f"there is no node {unknown[0]}; `seatrial node list` lists them. Nothing was written.")
        for name in names:
            meta: dict[str, Any] = nodes[name]["metadata"]
            before = (meta.get("annotations") or {}).get(key, "")
            if before == args.version:
                print(f"{name} is said to have {component.value} {args.version} already.")
                continue
            said = f"{name} has {component.value} {args.version}{f', and had {before}' if before else ''}"
            if args.dry_run:
                print(f"{said} (not written: --dry-run)")
                continue
            # Bound to the node that was looked at: one that was made anew under the name may have other cards. Its
            # kubelet writes the same object all the time, so its version would only be in the way.
            body = {"metadata": {"uid": meta["uid"], "annotations": {key: args.version}}}
            await client.patch(f"{keys.NODES}/{name}", body, kind=PatchKind.MERGE)
            print(f"{said}.")
    return ExitCode.OK


async def _members(client: Client, args: argparse.Namespace, key: str, nodes: dict[str, Any]) -> list[str]:
    """The members of the rollout that waits for the component, or is meant otherwise."""
    every = await rollout_pick.all_of(client)
    by_hand = [each for each in every if not each.is_ended and (each.spec.get("byHand") or {}).get("component") == key]
    rollout = by_hand[0] if len(by_hand) == 1 and not args.rollout else rollout_pick.meant(every, args.rollout)
    wanted = rollout.spec.get("nodeSelector") or {}
    found = [
        name
        for name, node in sorted(nodes.items())
        if all((node["metadata"].get("labels") or {}).get(label) == text for label, text in wanted.items())
    ]
    if not found:
        print(f"seatrial: {rollout.name} has no member.", file=sys.stderr)
    return found
