"""List nodes, look at one, and retry, skip or unskip nodes.

A skipped node that has begun still finishes; a dead one is taken out of a way back.
"""

# Tests: tests/cli/test_node.py

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import node_data
from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.core.holds import HoldCode
from seatrial.core.text import spans
from seatrial.core.words import causes

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.looking import Look
    from seatrial.cli.show.pages import Page
    from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
    from seatrial.core.model.seen.rollouts import Told

EXITS = (ExitCode.HELD, ExitCode.TIMEOUT)
WAITING_IN_LINE = causes.QUEUEING - {HoldCode.SKIPPED}
"""Whose turn comes by itself; who is left out was left out by somebody."""


class NodeRefused(SeatrialError):  # noqa: N818  a refusal about a name, in the trade's words
    """What was asked makes no sense for that node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be written on a node, and what to say about it."""

    labels: dict[str, str | None]
    annotations: dict[str, str | None]
    said: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="get|retry|skip|unskip")
    listing = commands.add_parser("get", help="list nodes with state, driver and why they wait; or show one")
    listing.add_argument("node", nargs="?", default="", metavar="NODE", help="everything about this node (all)")
    formats.add_output(listing, formats.WIDE, formats.NAME)
    cluster_options.add_selector(listing, "only nodes with these labels")
    listing.add_argument("--state", default="", metavar="STATE", help="only nodes in this state")
    listing.add_argument(
        "--held",
        action="store_true",
        help="only nodes that something holds up, or that are done and take no work; not those whose turn has not come",
    )
    for name, text in (
        ("retry", "try failed nodes again"),
        ("skip", "leave nodes out"),
        ("unskip", "let skipped nodes be upgraded after all"),
    ):
        add_change_arguments(commands.add_parser(name, help=text), name)
    cluster_options.add_watch(listing, has_only=True)
    cluster_options.add_cluster_arguments(listing)


def add_change_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """What a command that writes on nodes has to know."""
    if what == "retry":
        parser.add_argument("--again", action="store_true", help="also one that has not failed: upgrade it once more")
        parser.add_argument("--accept-loss", action="store_true", help="accept that it offers less than before")
    parser.add_argument("nodes", nargs="*", metavar="NODE", help="names of nodes")
    cluster_options.add_selector(parser, "instead of names: nodes of the rollout with these labels")
    formats.add_output(parser, formats.NAME)
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    cluster_options.add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    if args.what != "get":
        return _change_all(args)
    page_of = partial(shown if args.node else listed, args=args)
    if args.watch or args.watch_only:
        from seatrial.cli.show import pages

        cluster, screen = cluster_options.cluster_of(args), pages.Screen(args.output, skips_first=args.watch_only)
        return pages.watched(cluster, args.rollout, page_of, screen, timeout_seconds=args.timeout)
    found = look(args)
    _tell_faults(found)
    return _print(page_of(found), args.output)


def _print(page: Page, output: str) -> int:
    from seatrial.cli.show import pages

    return pages.show(page, output)


def _tell_faults(found: Look) -> None:
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def listed(found: Look, args: argparse.Namespace) -> Page:
    """The nodes that were asked for."""
    from seatrial.app import waits
    from seatrial.cli.show.pages import Page

    holds = node_data.holds_of(found)
    nodes = [node for _, node in sorted(found.nodes.items()) if _is_shown(found, node, holds, args)]
    data = [node_data.as_data(node, holds) for node in nodes]
    notes = [] if nodes else ["No such nodes; `kubectl get nodes` lists all there are."]
    if any(node.name in holds for node in nodes):
        notes = ["What each waits for was computed here; `seatrial status` shows what the controller says."]
        if found.sight is not None and waits.nobody_leads(found) is not None:
            notes = ["No controller is in charge, so nothing moves; `seatrial status` shows which one was last seen."]
    return Page(
        lines=_table(found, nodes, holds, is_wide=args.output == formats.WIDE) if nodes else [],
        data=data,
        key=[_key(each) for each in data],
        code=ExitCode.ERROR if found.faults else ExitCode.OK,
        names=[node.name for node in nodes],
        notes=notes,
    )


def _key(data: dict[str, Any]) -> dict[str, Any]:
    """What is told of a node, without the clock of its hold."""
    return data | {"hold": data["hold"] and data["hold"]["code"]}


def _is_shown(found: Look, node: NodeSeen, holds: Mapping[str, Told], args: argparse.Namespace) -> bool:
    state = node.record.phase.value if node.record else ""
    if args.state and args.state != state:
        return False
    if not args.selector.matches(node.facts.labels):
        return False
    is_gpu_node = node.record is not None or node.facts.driver is not None or _is_member(found, node.name)
    held = holds.get(node.name)
    if not args.held:
        return is_gpu_node
    return held.code not in WAITING_IN_LINE if held is not None else is_gpu_node and bool(node_data.trouble_of(node))


def _table(found: Look, nodes: list[NodeSeen], holds: Mapping[str, Told], *, is_wide: bool) -> list[str]:
    from seatrial.cli import terminal

    wide = ("Attempt", "Cordon", "GPU pods", "Owner") if is_wide else ()
    table: list[tuple[str, ...]] = [("Node", "State", "For", "Driver", "Wanted", *wide, "Waits for")]
    for node in nodes:
        facts, record = node.facts, node.record
        held = holds.get(node.name)
        more = (str(record.attempt) if record else "–", node_data.cordoned_by(node) or "–", str(len(facts.gpu_pods)))
        row = (
            node.name,
            record.phase.value if record else facts.nvidia_state or "–",
            spans.span(found.at - record.entered_at) if record else "–",
            _driver(facts),
            (facts.wanted.version or "?") if facts.wanted else "?",
            *((*more, facts.owner or "–") if is_wide else ()),
            str(held.code) + _left(held, found.at) if held else node_data.trouble_of(node),
        )
        table.append(row)
    return terminal.columns(table).split("\n")


def _driver(facts: NodeFacts) -> str:
    if facts.driver is None:
        return "no pod"
    return (facts.running_driver or "?") if facts.driver.is_ready else f"{facts.driver.version or '?'} (not Ready)"


def _left(held: Told, now: float) -> str:

    return f" (at most {spans.span(held.until - now)})" if held.until is not None and held.until > now else ""


def shown(found: Look, args: argparse.Namespace) -> Page:
    """Everything about one node."""
    from seatrial.cli.show import why
    from seatrial.cli.show.pages import Page

    node, holds = _find(found, args.node), node_data.holds_of(found)
    data = node_data.as_data(node, holds)
    return Page(
        lines=[*_details(why.describe(found, node), node)],
        data=data,
        key=_key(data),
        code=ExitCode.ERROR if found.faults else ExitCode.HELD if node.name in holds else ExitCode.OK,
        names=[node.name],
    )


def _details(answer: list[str], node: NodeSeen) -> Iterator[str]:
    """The lines of `why`, with everything else that is known put before the answer."""
    facts, record = node.facts, node.record
    is_answer = [line.startswith(("Answer", "Next", "Refused", "Said")) for line in answer]
    split = is_answer.index(True) if any(is_answer) else len(answer)
    yield from answer[:split]
    yield from (f"  holds     {pod.full_name} ({pod.gpu})" for pod in facts.gpu_pods)
    yield f"Offers    {_counts(facts.offer.resources)}"
    if record is not None and record.before is not None:
        yield f"Before    {_counts(record.before.resources)}"
    if facts.owner:
        yield f"Owner     NVIDIADriver {facts.owner}"
    old = "" if facts.driver is None or facts.driver.is_ready else " (an old label: no driver runs)"
    yield f"Loaded    {facts.loaded.version + old if facts.loaded else 'not observable (no feature discovery labels)'}"
    if facts.validator is not None:
        yield f"Validator {facts.validator.name} ({'Ready' if facts.validator.is_ready else 'not Ready'})"
    if facts.dra is not None:
        published = f", publishes {', '.join(facts.published)}" if facts.published else ""
        yield f"DRA       {facts.dra.name} ({'Ready' if facts.dra.is_ready else 'not Ready'}){published}"
    yield from answer[split:]


def _counts(resources: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in resources) or "no GPUs"


# ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def change_of(found: Look, node: NodeSeen, args: argparse.Namespace) -> Change:
    """What a command writes on one node; a NodeRefused where it makes no sense."""
    from seatrial.adapters.kube.shapes import keys

    if args.what == "skip":
        late = _late(found, node)
        # A rollout that keeps the node out until its wave would take the label away then; a person's stays.
        ours: dict[str, str | None] = {keys.SKIPPED_BY_ANNOTATION: None} if node.facts.skipped_by else {}
        return Change(labels={keys.SKIP_LABEL: "true"}, annotations=ours, said=f"{node.name} is left out{late}")
    if args.what == "unskip":
        if node.facts.skipped_by:
            raise NodeRefused(
                f"{node.name} is kept out by rollout {node.facts.skipped_by} until its wave comes; "
                f"`seatrial why {quote(node.facts.skipped_by)}` says what that waits for."
            )
        return Change(labels={keys.SKIP_LABEL: None}, annotations={}, said=f"{node.name} may be upgraded")
    return _retry(found, node, args)


def _late(found: Look, node: NodeSeen) -> str:
    """What a skip label means for a node that has begun, or is on its way back."""
    from dataclasses import replace

    from seatrial.core.model.campaign import RolloutPhase
    from seatrial.core.movers.mover import mover_of
    from seatrial.core.node.progress import is_out_of_reach

    seen = found.sight.seen if found.sight is not None else None
    campaign = seen.rollout.campaign if seen is not None else None
    is_back = campaign is not None and campaign.phase is RolloutPhase.REVERTING
    marked = replace(node, facts=replace(node.facts, is_skipped=True, skipped_by=""))
    if seen is not None and campaign is not None and is_back and _is_member(found, node.name):
        if is_out_of_reach(marked, mover_of(campaign.mode).progress(marked, "")):
            return f"; {seen.rollout.name} goes back without it and says so when it ends, and it stays as it is"
        return f"; it has begun and still finishes, and {seen.rollout.name} waits for that"
    return "; it has begun and still finishes, the next upgrade leaves it out" if _has_begun(node) else ""


def _retry(found: Look, node: NodeSeen, args: argparse.Namespace) -> Change:
    from seatrial.adapters.kube.shapes import keys
    from seatrial.core.model.campaign import Mode
    from seatrial.core.model.seen.nodes import NodePhase
    from seatrial.core.node.progress import is_left_out

    if is_left_out(node.facts) and not _has_begun(node):
        raise NodeRefused(
            f"{node.name} is left out by {keys.SKIP_LABEL}=true, and no upgrade of it starts. "
            f"First: `seatrial node unskip {quote(node.name)}`."
        )
    required, failed = NodePhase.UPGRADE_REQUIRED.value, NodePhase.UPGRADE_FAILED
    accepted: dict[str, str | None] = {keys.ACCEPT_LOSS_ANNOTATION: "true"} if args.accept_loss else {}
    if found.operator.mode is Mode.DELEGATED:
        if node.facts.nvidia_state != failed.value and not args.again:
            raise NodeRefused(_not_failed(node, node.facts.nvidia_state))
        said = f"NVIDIA's controller tries {node.name} again"
        return Change(labels={keys.NVIDIA_STATE_LABEL: required}, annotations={}, said=said)
    if node.record is not None and node.record.phase is failed:
        return Change(labels={keys.STATE_LABEL: required}, annotations=accepted, said=f"{node.name} is tried again")
    if _has_begun(node):
        if accepted:
            return Change(labels={}, annotations=accepted, said=f"{node.name} may offer less than before")
        raise NodeRefused(f"{node.name} is under way; `seatrial why {quote(node.name)}` says what it waits for.")
    if not args.again:
        raise NodeRefused(_not_failed(node, node.record.phase.value if node.record else ""))
    asked: dict[str, str | None] = {keys.REQUESTED_ANNOTATION: "true"}
    return Change(labels={}, annotations=asked | accepted, said=f"{node.name} is upgraded once more")


def _not_failed(node: NodeSeen, state: str) -> str:
    from seatrial.core.model.seen.nodes import NOT_BEGUN

    return (
        f"{node.name} has not failed, it is {state or NOT_BEGUN}. "
        f"To upgrade it once more anyway: `seatrial node retry {quote(node.name)} --again`."
    )


def _change_all(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    if bool(args.nodes) is not args.selector.is_empty:
        print("seatrial: name the nodes, or choose them with -l; one of the two.", file=sys.stderr)
        return ExitCode.USAGE
    found = look(args)
    _tell_faults(found)
    changes = [(node, change_of(found, node, args)) for node in _meant(found, args)]  # all, before the first is written
    for node, change in changes:
        if not args.dry_run:
            _write(cluster_options.cluster_of(args), node, change)
        if args.output == formats.TABLE:
            print(f"{change.said} (not written: --dry-run)" if args.dry_run else f"{change.said}.")
    if formats.is_document(args.output):
        told = [_change_data(node, change, is_written=not args.dry_run) for node, change in changes]
        formats.print_document(told, args.output)
    elif args.output == formats.NAME:
        formats.print_names(formats.NODE, (node.name for node, _ in changes))
    return ExitCode.OK


def _meant(found: Look, args: argparse.Namespace) -> list[NodeSeen]:
    if args.nodes:
        return [_find(found, name) for name in dict.fromkeys(args.nodes)]
    members = found.sight.seen.nodes if found.sight is not None else {}
    chosen = [node for _, node in sorted(members.items()) if args.selector.matches(node.facts.labels)]
    if not chosen:
        raise NodeRefused(f"no node of a rollout has the labels {args.selector}; `seatrial node get -l` shows nodes.")
    return chosen


def _change_data(node: NodeSeen, change: Change, *, is_written: bool) -> dict[str, Any]:
    written = {"labels": change.labels, "annotations": change.annotations}
    return {"name": node.name, **written, "said": change.said, "isWritten": is_written}


def _write(cluster: Cluster, node: NodeSeen, change: Change) -> None:
    from seatrial.adapters.kube.api.client import PatchKind
    from seatrial.adapters.kube.shapes import keys
    from seatrial.app.awaiting import finished

    metadata = {"labels": change.labels, "annotations": change.annotations}

    async def patch() -> None:
        async with cluster.client() as client:
            await client.patch(f"{keys.NODES}/{node.name}", {"metadata": metadata}, kind=PatchKind.MERGE)

    finished(patch())


# ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _find(found: Look, name: str) -> NodeSeen:
    node = found.nodes.get(name)
    if node is not None:
        return node
    near = [each for each in sorted(found.nodes) if name in each][:3]
    hint = f"Did you mean {', '.join(near)}?" if near else "`seatrial node get` lists them."
    raise NodeRefused(f"there is no node {name}. {hint}")


def _is_member(found: Look, name: str) -> bool:
    return found.sight is not None and name in found.sight.seen.nodes


def _has_begun(node: NodeSeen) -> bool:
    from seatrial.core.node.phases import is_under_way

    return is_under_way(node.record)
