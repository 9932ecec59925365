"""Say why a node or a rollout is not moving, until when, and what to do about it."""

# Tests: tests/cli/test_why.py

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError
from seatrial.core.holds import HoldCode
from seatrial.core.text import spans
from seatrial.core.text.names import a_few

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seatrial.adapters.kube.surveying.gate_pods import GatePod
    from seatrial.app.connecting import Cluster
    from seatrial.app.looking import Look
    from seatrial.app.picture import Picture
    from seatrial.cli.show.pages import Page
    from seatrial.core.actions.action import Action
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.problems import Problem
    from seatrial.core.model.seen.rollouts import Told
    from seatrial.ports import Sight


EXITS = (ExitCode.FINDINGS, ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE, ExitCode.HELD, ExitCode.TIMEOUT)
NAMED_MAX = 4
ANSWERS = ("Answer", "Next", "Gate", "Ahead", "Refused", "Failed", "Undone")


class NobodyMeant(SeatrialError):  # noqa: N818  a refusal about a name
    """Neither a node nor a rollout is called so."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)
    cluster_options.add_watch(parser)
    formats.add_output(parser)
    parser.add_argument(
        "node", nargs="?", default="", metavar="NODE|ROLLOUT", help="name of a node, or of a rollout (the active one)"
    )


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.rollout.rollout import guarded

    return guarded(_run, args)


def _run(args: argparse.Namespace) -> int:
    from seatrial.app import picking
    from seatrial.cli.show import pages
    from seatrial.cli.show.look import look

    found, cluster = look(args, reads_gates=True), cluster_options.cluster_of(args)
    name = args.node or picking.meant(found.rollouts, args.rollout).name
    is_rollout = not args.node or (name not in found.nodes and any(each.name == name for each in found.rollouts))
    rollout, page_of = (name, rollout_page) if is_rollout else (args.rollout, partial(node_page, name=name))
    if args.watch:
        page_of(found)  # a name that is not there is said before anything is drawn
        screen = pages.Screen(args.output)
        return pages.watched(cluster, rollout, page_of, screen, timeout_seconds=args.timeout, reads_gates=True)
    if is_rollout:
        found = _look_at(cluster, rollout)
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    return pages.show(page_of(found), args.output)


def _look_at(cluster: Cluster, rollout: str) -> Look:
    from seatrial.app import looking
    from seatrial.app.awaiting import finished

    return finished(looking.look(cluster, rollout, reads_gates=True))


def node_page(found: Look, name: str) -> Page:
    """Why a node waits."""
    from seatrial.cli.show import node_data
    from seatrial.cli.show.pages import Page

    node = found.nodes.get(name)
    if node is None:
        near = [each for each in sorted(found.nodes) if name in each][:3]
        hint = f"Did you mean {', '.join(near)}?" if near else "`kubectl get nodes` lists them."
        raise NobodyMeant(f"there is no node or rollout {name}. {hint}")
    lines, data = describe(found, node), node_data.as_data(node, node_data.holds_of(found))
    key = data | {"hold": data["hold"] and data["hold"]["code"]}
    code = ExitCode.ERROR if found.faults else ExitCode.HELD if _is_unled(found, name) else ExitCode.OK
    pods = [(each.pod, each.state) for each in found.gate_pods if each.node == name]
    return Page(
        lines=lines, data={"node": data, "answers": answers_of(lines)}, key=(key, pods), code=code, is_prose=True
    )


def _is_unled(found: Look, name: str) -> bool:
    """Whether nobody is in charge of a node that something may have to be done for."""
    from seatrial.app import waits

    waiting = waits.waits_of(found)
    is_member = found.sight is not None and name in found.sight.seen.nodes
    return waiting is not None and is_member and any(each.code == HoldCode.LEADERLESS for each in waiting.rollout)


def rollout_page(found: Look) -> Page:
    """Why a rollout waits."""
    from seatrial.app.picture import picture_of
    from seatrial.cli.show import ending
    from seatrial.cli.show.pages import Page

    lines, picture = describe_rollout(found), picture_of(found)
    intent = found.sight.intent if found.sight is not None else None
    told = {
        "name": intent.rollout if intent is not None else "",
        "target": str(intent.goal) if intent is not None else "",
        "campaign": ending.as_data(picture) if picture is not None else None,
    }
    key = picture.key if picture is not None else answers_of(lines)
    code = ending.exit_of(found)
    pods = [(each.pod, each.state) for each in found.gate_pods]
    return Page(
        lines=lines, data={"rollout": told, "answers": answers_of(lines)}, key=(key, pods), code=code, is_prose=True
    )


def answers_of(lines: list[str]) -> list[dict[str, str]]:
    """The answers among the lines, for scripts."""
    parts = [line.split(None, 1) for line in lines]
    return [{"kind": part[0].lower(), "text": part[1]} for part in parts if part[0] in ANSWERS]


def describe_rollout(found: Look) -> list[str]:
    """Where a rollout stands, and the answer."""
    from seatrial.app import waits
    from seatrial.app.headline import requested
    from seatrial.app.picture import picture_of

    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        return ["Answer    the rollout cannot be read, so nothing is moved."]
    intent = found.sight.intent
    lines = [f"Rollout   {intent.rollout} to {intent.goal}"]
    if waits.is_unknown_who_leads(found):
        lines.append(f"Leader    {waits.leader_text(found)}")
    picture = picture_of(found)
    said = f"Said      {waits.as_of(found, waiting)}"
    if picture is None:
        mine = [*waiting.rollout, *(group for group in waiting.nodes if group.nodes == (intent.rollout,))]
        told = [f"Answer    {waits.sentence(intent.rollout, group, found.at)}" for group in mine]
        told = told or ["Answer    it waits for nothing; `seatrial status` says who of its nodes does."]
        return [*lines, *told, *map(_gate, found.gate_pods), *_nodes_ahead(found.sight), said]
    record = picture.record
    lines.append(f"Phase     {record.phase.value} for {spans.span(found.at - record.entered_at)} ({picture.mode})")
    if picture.source:
        lines.append(f"Source    {picture.source}{', as the last controller read it' if picture.is_stale else ''}")
    asked = requested(found.sight)
    if asked:
        lines.append(f"Requested {asked}, not done yet")
    if record.why:
        lines.append(f"Undone    {record.why}")
    answers = [f"Answer    {waits.sentence(_whom(intent.rollout, each), each, found.at)}" for each in picture.told]
    news = (each for each in picture.failures if each.detail not in record.why)
    answers += [f"Failed    {each.gate} on {each.node}: {each.detail}" for each in news]
    if not answers:
        answers = ["Answer    it has ended." if picture.is_ended else "Answer    it waits for nothing: it is moving."]
    ended = [] if picture.is_ended else [said]
    gates = [_gate(each, told=record.why) for each in found.gate_pods]
    return [*lines, *answers, *gates, *_ahead(picture), *ended]


def _whom(rollout: str, told: Told) -> str:
    """Who waits: the rollout as a whole, or nodes of it."""
    from seatrial.core.model.seen.rollouts import Waiting

    return a_few(told.nodes, NAMED_MAX, count=told.count) if isinstance(told, Waiting) else rollout


def _nodes_ahead(sight: Sight) -> Iterator[str]:
    """What comes next in a rollout without a canary."""
    from seatrial.app.outcome import done_of, left_behind
    from seatrial.cli.show import ahead

    done, total = done_of(sight)
    to_come = total - done - sum(map(len, left_behind(sight)))
    text = ahead.plain(to_come, sight.intent.limits.parallel_max)
    if text:
        yield f"Ahead     {text}"


def _ahead(picture: Picture) -> Iterator[str]:
    """What comes next, and when as far as anybody knows."""
    from seatrial.cli.show import ahead

    canaries = [line.name for line in picture.canaries]
    text = ahead.ahead(
        picture.name,
        picture.campaign,
        picture.record,
        canaries=canaries,
        waves=picture.wave_sizes,
        to_go_back=picture.to_go_back or (),
        entry=picture.entry,
        failed=[line.name for line in picture.failed],
    )
    if text:
        yield f"Ahead     {text}"
    if picture.outlook is not None:
        yield f"Left      {ahead.left(picture.outlook)} ({picture.outlook.rests_on})"
    elif not picture.is_ended:
        yield "Left      unknown: it depends on what it waits for"


def _gate(found: GatePod, *, told: str = "", of: str = "") -> str:
    """Where a gate runs, what it said last, and the command that shows the rest.

    `told` stands on the page already; `of` is the version that it was asked of, where the node runs another by now.
    """
    how = {"running": "runs", "waiting": "waits", "stuck": "does not start", "failed": "failed"}[found.state.value]
    why = f": {found.why}" if found.why and found.why not in told else ""
    said = found.unread or (f'its log ends with "{found.last}"' if found.last else "it has logged nothing")
    log = f"; {said}" if found.has_run else ""
    verb = "logs" if found.has_run and not found.unread else "describe pod"
    more = f"`kubectl -n {quote(found.namespace)} {shlex.join(verb.split())} {quote(found.pod)}` shows more"
    job = f"Job {found.namespace}/{found.job}, pod {found.pod}"
    asked = f", asked of {of} before the way back," if of else ""
    return f"Gate      {found.gate} on {found.node}{asked} {how}{why} ({job}){log}. {more}."


def describe(found: Look, node: NodeSeen) -> list[str]:
    """The facts of a node, and the answer."""
    from seatrial.core.model.campaign import BACK

    facts, record = node.facts, node.record
    is_running = facts.driver is not None and facts.driver.is_ready
    wanted = facts.wanted.version or "unknown" if facts.wanted else "unknown"
    cordon = (
        "no" if not facts.is_cordoned else "by seatrial" if record and record.is_cordon_ours else "by somebody else"
    )
    lines = [
        f"Node      {node.name}",
        f"State     {_state(found, node)}",
        f"Driver    {facts.driver_standing}{' (Ready)' if is_running else ''}, wanted {wanted}",
        f"Cordoned  {cordon}",
        *_set_apart(node),
        *_kept_off(found, node),
        *(f"Problem   {_problem(each, found.at)}" for each in facts.problems),
        f"GPU pods  {len(facts.gpu_pods)}",
    ]
    if found.sight is None:
        reason = "the rollout cannot be read" if found.faults else "there is no rollout"
        return [*lines, f"Answer    {reason}, so nothing moves this node."]
    if node.name not in found.sight.seen.nodes:
        why_not = f"it is not a member of rollout {found.sight.intent.rollout}: its labels do not match nodeSelector."
        return [*lines, f"Answer    {why_not}"]
    campaign = found.sight.seen.rollout.campaign
    of = str(found.sight.intent.goal) if campaign is not None and campaign.phase in BACK else ""
    gates = [_gate(each, of=of) for each in found.gate_pods if each.node == node.name]
    return [*lines, *_turned_down(found, node), *gates, *_answer(found, found.sight, node.name)]


def _state(found: Look, node: NodeSeen) -> str:
    """Where a node stands by our record; by the word of NVIDIA's controller where we keep none."""
    from seatrial.core.model.seen.nodes import NOT_BEGUN

    record, theirs = node.record, node.facts.nvidia_state
    if record is not None:
        return f"{record.phase.value} for {spans.span(found.at - record.entered_at)}, attempt {record.attempt}"
    return f"{theirs} (by NVIDIA's controller)" if theirs else NOT_BEGUN


def _set_apart(node: NodeSeen) -> Iterator[str]:
    """What keeps any upgrade off the node, whatever the answer names first."""
    from seatrial.adapters.kube.shapes import keys

    facts = node.facts
    if facts.is_skipped:
        label = keys.NETWORK_SKIP_LABEL if facts.is_network_skipped else keys.SKIP_LABEL
        by = f"rollout {facts.skipped_by}, until its turn comes" if facts.skipped_by else "a person"
        yield f"Skipped   by {by} ({label}=true)"
    if not facts.is_ready and not facts.unreadable:
        yield f"Problem   NotReady: `kubectl describe node {quote(node.name)}` shows why, under Conditions"


def _kept_off(found: Look, node: NodeSeen) -> Iterator[str]:
    """Which neighbours leave the node alone, by whose mark, and until when."""
    from seatrial.core.model.seen import marks

    for mark in marks.told(node.facts, node.record):
        if mark.value != marks.BY_KEY[mark.key].mark.value:
            continue  # somebody's own value under that key keeps nobody off
        left = spans.span(max(0.0, mark.until - found.at)) if mark.until is not None else ""
        end = f"until its upgrade ends{f', for {left} at most' if left else ''}"
        whose = f"by rollout {mark.by}, {end}" if mark.by else "by somebody else"
        yield f"Kept off  {mark.neighbour}, {whose} ({mark.key}={mark.value})"


def _problem(found: Problem, at: float) -> str:
    """A condition that somebody reports on the node, and since when."""
    since = f", for {spans.span(max(0.0, at - found.since))}" if found.since is not None else ""
    return f"{found.type}{since}: {found.message or found.reason or 'no reason is given'}"


def _answer(found: Look, sight: Sight, name: str) -> list[str]:
    """Why a node waits or what comes next, and by whose word."""
    from seatrial.app import waits
    from seatrial.app.outcome import standings_of
    from seatrial.core.node.progress import Progress

    waiting = waits.waits_of(found)
    if waiting is None:
        return []
    decision = waits.worked_out(sight, found.at)
    answers = waits.answers(waiting, decision, name, is_done=name in standings_of(sight).get(Progress.DONE, ()))
    lines = [f"Answer    {waits.sentence(name, answer.told, found.at)}" for answer in answers]
    unled = [each for each in waiting.rollout if each.code == HoldCode.LEADERLESS]
    if not any(answer.is_written for answer in answers):
        acts = [action for action in decision.actions if action.subject == name]
        lines += [f"Next      {_next(act, is_led=not unled)}" for act in acts]
    if not lines and not sight.seen.nodes[name].facts.is_ready:
        return [f"Answer    {name}: {_settled(sight.seen.nodes[name])}, but the node is NotReady. Bring it back."]
    if lines:
        lines = [*(f"Answer    {waits.sentence(name, each, found.at)}" for each in unled), *lines]
    if not lines:
        return _done(sight.seen.nodes[name])
    return [*lines, f"Said      {waits.said_of(found, waiting, answers)}"]


def _done(node: NodeSeen) -> list[str]:
    """What is said of a node that nothing is to be done for; one that has lost GPUs since is not in order."""
    from seatrial.cli.show import node_data
    from seatrial.core.holds import hold
    from seatrial.core.node.readiness import lacks_since, waived_of
    from seatrial.core.words import explain

    lost = [hold(node.name, lack.code, lack.params) for lack in lacks_since(node)]
    if not lost:
        if node_data.cordoned_by(node) == node_data.BY_ANOTHER:
            uncordon = f"`kubectl uncordon {quote(node.name)}` opens it once that is no longer wanted"
            return [f"Answer    {node.name}: {_settled(node)}, and somebody else keeps it cordoned; {uncordon}."]
        if waived := waived_of(node):
            step = f"accepted by a person. `seatrial doctor {quote(node.name)}` looks for the cause."
            return [f"Answer    {node.name}: its upgrade is done, with less than before ({waived}), {step}"]
        return [f"Answer    {'it is done; ' if node.record is not None else ''}there is nothing to do."]
    # The rest of a next step is for an upgrade under way: a node that is done accepts no loss.
    steps = ((explain.why(each), explain.next_step(each).partition(". ")[0].rstrip(".")) for each in lost)
    return [f"Answer    {node.name}: it is done, but {why}. {step}." for why, step in steps]


def _settled(node: NodeSeen) -> str:
    """That a node has what is wanted; one without a record was never upgraded."""
    return "its upgrade is done" if node.record is not None else "there is nothing to upgrade"


def _turned_down(found: Look, node: NodeSeen) -> list[str]:
    """What the controller's last tries on this node were answered with."""

    rebuffs = found.sight.seen.rebuffs if found.sight else {}
    names = {node.name: "a write to the node"}
    names |= {pod.uid: pod.full_name for pod in node.facts.pods}
    return [
        f"Refused   {name}, {spans.span(found.at - rebuffs[subject].at)} ago: {rebuffs[subject].detail}"
        for subject, name in names.items()
        if subject in rebuffs
    ]


def _next(act: Action, *, is_led: bool) -> str:
    from seatrial.core.words import acts as words

    told = words.written(act)
    who = "the controller is about to write" if is_led else "once a controller is in charge, it writes"
    return f"{who} to {told.where}: {told.what} ({act.id})."
