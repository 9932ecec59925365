"""Say why a node or a rollout is not moving, until when, and what to do about it."""

# Tests: tests/cli/test_why.py

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.cli.show.look import Look
    from seatrial.core.model.snapshot import NodeSeen


EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)
    parser.add_argument("node", metavar="NODE|ROLLOUT", help="name of a node, or of a rollout")


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    found = look(args)
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    node = found.nodes.get(args.node)
    if node is None and any(each.name == args.node for each in found.rollouts):
        return _rollout(args)
    if node is None:
        near = [name for name in sorted(found.nodes) if args.node in name][:3]
        hint = f" Did you mean {', '.join(near)}?" if near else " `kubectl get nodes` lists them."
        print(f"seatrial: there is no node or rollout {args.node}.{hint}", file=sys.stderr)
        return ExitCode.ERROR
    print("\n".join(describe(found, node)))
    return ExitCode.ERROR if found.faults else ExitCode.OK


def _rollout(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    args.rollout = args.node
    found = look(args)
    print("\n".join(describe_rollout(found)))
    return ExitCode.ERROR if found.faults else ExitCode.OK


def describe_rollout(found: Look) -> list[str]:
    """Where a rollout stands, and the answer."""
    from seatrial.cli.show.picture import picture_of
    from seatrial.core.words import explain

    if found.sight is None or found.decision is None:
        return ["Answer    the rollout cannot be read, so nothing is moved."]
    intent = found.sight.intent
    lines = [f"Rollout   {intent.rollout} to {intent.goal}"]
    picture = picture_of(found)
    if picture is None:
        mine = [held for held in found.decision.waits if held.subject == intent.rollout]
        told = [f"Answer    {explain.sentence(held, found.at)}" for held in mine]
        return [*lines, *(told or ["Answer    it waits for nothing; `seatrial status` says who of its nodes does."])]
    record = picture.record
    lines.append(f"Phase     {record.phase.value} for {explain.span(found.at - record.entered_at)} ({picture.mode})")
    if picture.source:
        lines.append(f"Source    {picture.source}")
    if record.why:
        lines.append(f"Undone    {record.why}")
    answers = [f"Answer    {each.why}. {each.next_step}" for each in picture.told]
    answers += [f"Answer    {explain.sentence(held, found.at)}" for held in picture.holds]
    answers += [f"Failed    {each.gate} on {each.node}: {each.detail}" for each in picture.failures]
    if not answers:
        answers = ["Answer    it has ended." if picture.is_ended else "Answer    it waits for nothing: it is moving."]
    return [*lines, *answers]


def describe(found: Look, node: NodeSeen) -> list[str]:
    """The facts of a node, and the answer."""
    from seatrial.core.words import explain

    facts, record = node.facts, node.record
    driver = (
        f"{facts.driver.version or 'unknown'} ({'Ready' if facts.driver.is_ready else 'not Ready'})"
        if facts.driver
        else "no driver pod"
    )
    wanted = facts.wanted.version or "unknown" if facts.wanted else "unknown"
    cordon = (
        "no" if not facts.is_cordoned else "by seatrial" if record and record.is_cordon_ours else "by somebody else"
    )
    lines = [
        f"Node      {node.name}",
        f"State     {record.phase.value if record else 'not recorded'}"
        + (f" for {explain.span(found.at - record.entered_at)}, attempt {record.attempt}" if record else ""),
        f"Driver    {driver}, wanted {wanted}",
        f"Cordoned  {cordon}",
        f"GPU pods  {len(facts.gpu_pods)}",
    ]
    if found.sight is None or found.decision is None:
        reason = "the rollout cannot be read" if found.faults else "there is no rollout"
        return [*lines, f"Answer    {reason}, so nothing moves this node."]
    if node.name not in found.sight.seen.nodes:
        why_not = f"it is not a member of rollout {found.sight.intent.rollout}: its labels do not match nodeSelector."
        return [*lines, f"Answer    {why_not}"]
    held = [hold for hold in found.decision.holds if hold.subject == node.name]
    acts = [action for action in found.decision.actions if action.subject == node.name]
    lines += _turned_down(found, node)
    lines += [f"Answer    {explain.sentence(hold, found.at)}" for hold in held]
    lines += [f"Next      the controller is about to {_verb(type(act).__name__)} ({act.id})." for act in acts]
    return lines if held or acts else [*lines, "Answer    it is done; nothing is to be moved."]


def _turned_down(found: Look, node: NodeSeen) -> list[str]:
    """What the controller's last tries on this node were answered with."""
    from seatrial.core.words import explain

    rebuffs = found.sight.seen.rebuffs if found.sight else {}
    names = {node.name: "a write to the node"}
    names |= {pod.uid: pod.full_name for pod in node.facts.pods}
    return [
        f"Refused   {name}, {explain.span(found.at - rebuffs[subject].at)} ago: {rebuffs[subject].detail}"
        for subject, name in names.items()
        if subject in rebuffs
    ]


def _verb(kind: str) -> str:
    return {
        "Cordon": "cordon the node",
        "Uncordon": "uncordon the node",
        "PauseClients": "ask DaemonSets that hold its GPUs to leave",
        "AskCheckpoint": "ask jobs to save their work",
        "EvictPods": "evict pods",
        "RestartPod": "restart an operand of the driver",
        "RequestMaintenance": "ask the maintenance operator to empty the node",
        "ReleaseMaintenance": "tell the maintenance operator that the node is through",
    }.get(kind, "open the next state")
