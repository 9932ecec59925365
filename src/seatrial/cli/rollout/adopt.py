"""Take up a driver upgrade that somebody left half-done: finish it, or undo it.

Whoever it was (NVIDIA's controller that was switched off, its driver manager, a person, a seatrial that was taken
away): every node is looked at, what becomes of it is shown with every write, and after a yes it is written. Then a
GPURollout of the nodes alone lets the controller do the rest, within the limits. Nothing is taken over that is not
known to belong to the upgrade: somebody's cordon or skip label stays. Run it again whenever it was interrupted.
"""

# Tests: tests/cli/test_rollout_adopt.py, tests/e2e/test_adopt.py

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import acts as rollout_acts
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.cli.rollout import spec as rollout_spec
from seatrial.cli.rollout import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seatrial.adapters.kube.adoption import AdoptionObserver, Taken
    from seatrial.adapters.kube.api.client import Client
    from seatrial.core.adoption.fleet import Refusal, Rollout
    from seatrial.core.adoption.node import Adoption, Wish
    from seatrial.core.model.snapshot import NodeSeen

EXITS = (ExitCode.HELD,)
SYNC_SECONDS = 60.0
NAMED_MAX: Final = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (__doc__ or "").strip()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "rollout", nargs="?", default="", metavar="NAME", help="a rollout that waits for it: its nodes are meant"
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--to", metavar="V", help="finish towards this driver (what the driver DaemonSets carry)")
    way.add_argument(
        "--back", nargs="?", const="", metavar="V", help="undo: back to this driver (what most nodes ran before)"
    )
    parser.add_argument("--selector", metavar="K=V", type=words.label, action="append", help="labels of the nodes")
    parser.add_argument(
        "--release",
        metavar="NODE",
        action="append",
        default=[],
        help="the cordon of this node is of the upgrade, whoever set it: lift it in the end; repeatable",
    )
    parser.add_argument(
        "--publish", choices=["direct"], help="write the version into ClusterPolicy or NVIDIADriver (else you do)"
    )
    parser.add_argument("--name", help="of the GPURollout (adopt-VERSION)")
    parser.add_argument("--max-unavailable", metavar="N|N%", type=words.share, help="as the operator's policy has it")
    parser.add_argument("--max-parallel", metavar="N", type=words.count, help="nodes under way at once; 0 is no limit")
    parser.add_argument("--max-failed", metavar="N", type=words.count, help="failures tolerated (1)")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and every write, and write nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table", help="how to print it")
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is announced: every node, every write."""

    wish: Wish
    adoptions: dict[str, Adoption]
    rollout: str
    """The GPURollout that takes the nodes up."""
    body: dict[str, Any] | None
    """What it is made of; None where it is there already."""
    resources: tuple[str, ...] = ()
    """What the version is written into."""
    unpublished: tuple[str, ...] = ()
    """Nodes whose DaemonSet carries another version."""

    @property
    def has_left(self) -> bool:
        """Whether a node waits for a person."""
        from seatrial.core.adoption.node import Fate

        return any(each.fate is Fate.LEAVE for each in self.adoptions.values())


def run(args: argparse.Namespace) -> int:
    check(args)
    return asyncio.run(_run(args))


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot be meant, before anything is read."""
    from seatrial.core.compat.versions import DriverVersion, VersionInvalid

    for option, said in (("--to", args.to), ("--back", args.back)):
        try:
            if said:
                DriverVersion.parse(said)
        except VersionInvalid as err:
            raise rollout_spec.CalledWrongly(f"{option}: {err}") from err
    if args.rollout and args.selector:
        raise rollout_spec.CalledWrongly(f"{args.rollout} says which nodes are meant, and --selector too; give one.")


async def _run(args: argparse.Namespace) -> int:
    from seatrial.adapters.kube.adoption import AdoptionObserver

    faults: list[str] = []
    async with rollout_pick.connect(args) as client:
        rollouts = await rollout_pick.all_of(client)
        observing = AdoptionObserver(client, namespace=args.namespace, on_fault=faults.append)
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            await observer.read_traces()
            plan = plan_of(args, observer, rollouts)
            for fault in faults:
                print(f"seatrial: {fault}", file=sys.stderr)
            if not isinstance(plan, Plan):
                return _refuse(plan, args.output)
            if args.output == "table":
                print("\n".join(told(plan)), flush=True)
            if args.dry_run:
                return _end(plan, None, args.output)
            # Beside the loop, which goes on watching: the answer may take its time.
            if not await asyncio.to_thread(rollout_acts.confirmed, args, "Take them up?"):
                print("seatrial: nothing was written.", file=sys.stderr)
                return ExitCode.ERROR
            return _end(plan, await _write(client, observer, plan), args.output)


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_of(
    args: argparse.Namespace, observer: AdoptionObserver, rollouts: tuple[rollout_pick.Rollout, ...]
) -> Plan | Refusal:
    """What would be done, or why nothing is."""
    from seatrial.core.adoption import fleet as adopt_plan
    from seatrial.core.adoption import node as adopt

    selector = _selector(args, rollouts)
    nodes = _members(observer.all_nodes(), selector)
    _check_released(args.release, nodes)
    there, operator = [_rollout(each, nodes) for each in rollouts], observer.operator()
    target = adopt_plan.why_not(nodes, operator, there) or _target(args, nodes, there)
    if not isinstance(target, str):
        return target
    resources: tuple[str, ...] | Refusal = adopt_plan.why_not_beside(target, nodes, there) or ()
    if args.publish and not isinstance(resources, adopt_plan.Refusal):
        resources = adopt_plan.to_publish(nodes, operator, target)
    if isinstance(resources, adopt_plan.Refusal):
        return resources
    name, body = _resource(args, target, selector, there)
    unpublished = adopt_plan.unpublished(nodes, target)
    wish = adopt.Wish(
        target=target,
        now=round(time.time(), 3),  # to the millisecond, as records keep it
        is_back=args.back is not None,
        released=frozenset(args.release),
        alive=frozenset(each.name for each in there if not each.is_ended),
        admitted=_admitted(name, rollouts),
        has_operator=bool(operator.kind),
        is_published=not unpublished,
    )
    return Plan(
        wish=wish,
        adoptions={key: adopt.classify(node, observer.traces_of(key), wish) for key, node in nodes.items()},
        rollout=name,
        body=body,
        resources=resources,
        unpublished=unpublished,
    )


def _selector(args: argparse.Namespace, rollouts: tuple[rollout_pick.Rollout, ...]) -> dict[str, str]:
    from seatrial.core.model.owners import GPU_PRESENT

    if args.rollout:
        return dict(rollout_pick.meant(rollouts, args.rollout).spec.get("nodeSelector") or GPU_PRESENT)
    return dict(args.selector or GPU_PRESENT)


def _members(nodes: Mapping[str, NodeSeen], selector: Mapping[str, str]) -> dict[str, NodeSeen]:
    from seatrial.core.model.intent import is_member

    return {name: node for name, node in sorted(nodes.items()) if is_member(name, node.facts.labels, selector, ())}


def _check_released(released: list[str], nodes: Mapping[str, NodeSeen]) -> None:
    for name in released:
        if name not in nodes:
            raise rollout_spec.CalledWrongly(f"--release {name}: it is none of the {len(nodes)} nodes that are meant.")


def _rollout(found: rollout_pick.Rollout, nodes: Mapping[str, NodeSeen]) -> Rollout:
    from seatrial.adapters.kube.shapes import keys
    from seatrial.core.adoption import fleet as adopt_plan

    phase = str(found.campaign.get("pausedIn") or found.campaign.get("phase") or "Proposed")
    return adopt_plan.Rollout(
        name=found.name,
        target=found.target,
        is_campaign=found.is_campaign,
        is_begun=phase != "Proposed",
        is_ended=found.is_ended,
        is_adoption=keys.ADOPTION_LABEL in (found.raw["metadata"].get("labels") or {}),
        members=frozenset(_members(nodes, found.spec.get("nodeSelector") or {})),
    )


def _target(args: argparse.Namespace, nodes: Mapping[str, NodeSeen], there: list[Rollout]) -> str | Refusal:
    """The version that is meant; an adoption that was interrupted has said it before."""
    from seatrial.core.adoption import fleet as adopt_plan

    said = args.to or args.back or adopt_plan.begun_target(there)
    if said:
        return str(said)
    return adopt_plan.carried_target(nodes) if args.back is None else adopt_plan.former_target(nodes)


def _resource(
    args: argparse.Namespace, target: str, selector: dict[str, str], there: list[Rollout]
) -> tuple[str, dict[str, Any] | None]:
    """The rollout that takes the nodes up, and what it is made of unless it is there already."""
    from seatrial.adapters.kube.shapes import keys

    going = [each.name for each in there if each.is_going and each.members]
    if going:
        return going[0], None  # of the same nodes to the same version, or we were refused
    name, taken, number = args.name or f"adopt-{target}", {each.name for each in there}, 1
    while not args.name and name in taken:
        number += 1
        name = f"adopt-{target}-{number}"
    options = {
        "maxUnavailable": args.max_unavailable,
        "maxParallelUpgrades": args.max_parallel,
        "maxFailed": args.max_failed,
    }
    limits = {key: value for key, value in options.items() if value is not None}
    spec: dict[str, Any] = {"target": {"driver": target}, "nodeSelector": selector}
    body = rollout_spec.resource_of(name, spec | ({"limits": limits} if limits else {}))
    way = "to" if args.back is None else "back"
    return name, body | {"metadata": {**body["metadata"], "labels": {keys.ADOPTION_LABEL: way}}}


def _admitted(name: str, rollouts: tuple[rollout_pick.Rollout, ...]) -> dict[str, int]:
    found = next((each for each in rollouts if each.name == name), None)
    entries = found.status.get("admitted") or () if found is not None else ()
    return {str(each["node"]): int(each["attempt"]) for each in entries}


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _write(client: Client, observer: AdoptionObserver, plan: Plan) -> Taken:
    """Records first, then the rollout, the version last: whatever ends us, another run comes to the same."""
    from seatrial.adapters.kube import adoption
    from seatrial.core.adoption import node as adopt

    taken = await adoption.take_up(client, observer, plan.adoptions, partial(adopt.classify, wish=plan.wish))
    if plan.body is not None and not taken.changed:
        await adoption.create_rollout(client, plan.body)
    if plan.resources and not taken.changed:
        await adoption.publish(client, plan.resources, plan.wish.target)
    return taken


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refuse(refusal: Refusal, output: str) -> int:
    if output == "json":
        print(json.dumps({"refusal": {"code": refusal.code.value, "text": refusal.text}}, indent=2))
    print(f"seatrial: nothing is adopted. {refusal.text}", file=sys.stderr)
    return ExitCode.HELD


def told(plan: Plan) -> Iterator[str]:
    """The plan for people: every node, then every write."""
    from seatrial.cli import terminal
    from seatrial.core.adoption import fleet as adopt_plan

    way = "Back to" if plan.wish.is_back else "To"
    counts = ", ".join(f"{count} {fate}" for fate, count in adopt_plan.counted(plan.adoptions.values()))
    yield f"{way} driver {plan.wish.target}: {len(plan.adoptions)} nodes ({counts})"
    yield ""
    rows = [(each.node, each.fate.value, each.found, each.why) for each in plan.adoptions.values()]
    yield terminal.columns([("NODE", "FATE", "FOUND", "THEN"), *rows])
    yield ""
    writes = list(_writes(plan))
    yield "Writes:" if writes else "Nothing has to be written."
    yield from writes
    if plan.body is None:
        yield f"GPURollout {plan.rollout} is there already, and takes them up."
    if plan.unpublished and not plan.resources:
        yield (
            f"The driver DaemonSets of {_some(plan.unpublished)} carry another version. "
            f"Publish {plan.wish.target} where you publish it, or say --publish direct; the rollout waits for that."
        )


def _writes(plan: Plan) -> Iterator[str]:
    from seatrial.core.adoption import node as adopt

    for each in plan.adoptions.values():
        if each.write is not None:
            yield f"  node {each.node}: {'; '.join(adopt.content(each.write))}"
    if plan.body is not None:
        yield f"  GPURollout {plan.rollout}: created; driver {plan.wish.target}, moves nodes only"
    for resource in plan.resources:
        yield f"  {resource}: driver version {plan.wish.target}"


def _some(names: tuple[str, ...]) -> str:
    rest = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {rest} more" if rest > 0 else "")


def _end(plan: Plan, taken: Taken | None, output: str) -> int:
    if output == "json":
        print(json.dumps(as_data(plan, taken), indent=2))
    if taken is not None and taken.changed:
        print(
            f"seatrial: {', '.join(taken.changed)} changed meanwhile and would not become what was announced, "
            "so nothing was begun. Run this again to see what becomes of them now.",
            file=sys.stderr,
        )
        return ExitCode.HELD
    if taken is not None:
        print(
            f"{len(taken.written)} nodes were written. The controller does the rest; where none runs, "
            f"`seatrial controller --forever --rollout {plan.rollout}`. Watch it with `seatrial status`.",
            file=sys.stderr,
        )
    return ExitCode.HELD if plan.has_left else ExitCode.OK


def as_data(plan: Plan, taken: Taken | None) -> dict[str, Any]:
    """The same for scripts."""
    from seatrial.core.adoption import node as adopt

    return {
        "target": plan.wish.target,
        "direction": "back" if plan.wish.is_back else "to",
        "rollout": {"name": plan.rollout, "isNew": plan.body is not None},
        "publishes": list(plan.resources),
        "unpublished": list(plan.unpublished),
        "nodes": [
            {
                "name": each.node,
                "fate": each.fate.value,
                "phase": each.phase.value if each.phase is not None else "",
                "found": each.found,
                "why": each.why,
                "writes": list(adopt.content(each.write)) if each.write is not None else [],
            }
            for each in plan.adoptions.values()
        ],
        "isDryRun": taken is None,
        "written": taken.written if taken is not None else [],
        "changed": taken.changed if taken is not None else [],
    }
