"""A rollout as a page and as a document: its target, who leads, who is where, who waits and why, the root cause first.

Law of this file: a look in, lines or data out. Tests: tests/cli/test_status.py, tests/app/test_outcome.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from seatrial.app import picture as rollout_picture
from seatrial.app import waits
from seatrial.app.headline import Word, headline_of, reduced
from seatrial.app.outcome import done_of, left_behind, standings_of
from seatrial.cli.show import ending, frontier
from seatrial.cli.show import tree as rollout_tree
from seatrial.cli.terminal import columns, wrapped
from seatrial.core.budget import capacity, losses
from seatrial.core.model.campaign import BACK
from seatrial.core.model.seen.nodes import NOT_BEGUN, NodePhase
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.progress import Progress
from seatrial.core.text.moments import moment
from seatrial.core.text.names import a_few, number_of

if TYPE_CHECKING:
    from seatrial.app.headline import Headline
    from seatrial.app.looking import Look
    from seatrial.app.waits import Waits
    from seatrial.cli.show.tree import Ink
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.policy import Limits
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.operators import OperatorFacts
    from seatrial.core.model.seen.rollouts import Waiting
    from seatrial.ports import Sight

NAMED_MAX = 4
_INKS = {Word.OK: "good", Word.NEEDS_YOU: "held", Word.STUCK: "bad", Word.NO_CONTROLLER: "bad"}


def as_data(found: Look) -> dict[str, Any]:
    """Everything `status` knows, for scripts."""
    nodes = found.sight.seen.nodes if found.sight else found.nodes
    data: dict[str, Any] = {
        "headline": rollout_picture.headline_data(headline_of(found)),
        "mode": found.operator.mode.value,
        "operator": {
            "kind": found.operator.kind,
            "state": found.operator.state,
            "driverVersion": found.operator.driver_version,
            "autoUpgrade": found.operator.is_auto_upgrading,
        },
        "leader": _leader_data(found),
        "rollout": None,
        "nodes": [_node_data(name, node) for name, node in sorted(nodes.items())],
        "holds": [],
    }
    waiting = waits.waits_of(found)
    if found.sight is not None and waiting is not None:
        data |= _rollout_data(found, found.sight, waiting)
    picture = rollout_picture.picture_of(found)
    return data | ({"campaign": ending.as_data(picture)} if picture is not None else {})


def _rollout_data(found: Look, sight: Sight, waiting: Waits) -> dict[str, Any]:
    intent, (done, total) = sight.intent, done_of(sight)
    target = intent.target.driver.text
    return {
        "rollout": {
            "name": intent.rollout,
            "target": target,
            "state": waiting.state,
            "done": done,
            "total": total,
        },
        "exitCode": int(ending.exit_of(found)),
        **frontier.as_data(sight, found.at),
        "said": {"by": "here" if waiting.written_at is None else "controller", "at": moment(waiting.written_at)},
        "ledger": [admission.node for admission in sight.seen.rollout.admitted],
        "holds": [
            {
                "subject": group.nodes[0],
                "code": str(group.code),
                "why": group.why,
                "next": group.next_step,
                "until": moment(group.until),
                "count": group.count,
                "nodes": list(group.nodes),
            }
            for group in waits.together(waiting, intent.rollout)
        ],
    }


def _node_data(name: str, node: NodeSeen) -> dict[str, Any]:
    return {
        "name": name,
        "state": node.record.phase.value if node.record else "",
        "nvidiaState": node.facts.nvidia_state,
        "driver": node.facts.driver.version if node.facts.driver else "",
        "driverReady": node.facts.driver is not None and node.facts.driver.is_ready,
        "wanted": node.facts.wanted.version if node.facts.wanted else "",
        "cordoned": node.facts.is_cordoned,
        "ready": node.facts.is_ready,
    }


def _leader_data(found: Look) -> dict[str, Any] | None:
    """Who is in charge; None where we may not know."""
    leader = found.leader
    if leader is None:
        return None
    return {
        "holder": leader.holder,
        "heardAt": moment(leader.heard_at),
        "leading": leader.is_leading(found.at),
        "doubtful": leader.is_doubtful(found.at),
    }


def _operator_state(operator: OperatorFacts) -> str:
    """What the GPU Operator says of its resource; on a cluster where it is not running, that says nothing."""
    return f"is {operator.state}" if operator.state else "reports no state"


def _expected(found: Look) -> str:
    """Why the operator is not ready, where that is as it should be: it says so until the last node has followed."""
    waiting = found.sight is not None and any(
        node.facts.has_waiting_operands for node in found.sight.seen.nodes.values()
    )
    return ", as expected while operands wait for their turn" if waiting and found.operator.state == "notReady" else ""


def lines_of(found: Look, *, named_max: int | None, ink: Ink, width: int = 0) -> list[str]:
    """A look as a page: the campaign's tree where there is one, and what is told of every rollout."""

    operator = found.operator
    seen_as = f", {operator.kind} {_operator_state(operator)}" if operator.kind else ", no GPU Operator seen"
    mode = f"Mode      {operator.mode.value}{seen_as}{_expected(found)}"
    waiting = waits.waits_of(found)
    first = [*headline_lines(headline_of(found), ink, width), ""]
    if found.sight is None or waiting is None:
        return [*first, mode, *_without_rollout(found)]
    groups = waits.together(waiting, found.sight.intent.rollout)
    page = [
        mode,
        ink.paint(f"Rollout   {found.sight.intent.rollout} to {found.sight.intent.goal}: {waiting.state}", "bold"),
        f"Leader    {waits.leader_text(found)}",
        *_told_of(found, found.sight, waiting, named_max, width),
        "",
        *_waiting(groups, named_max, ink, width, found.at),
    ]
    return [*first, *_campaign(found, ink, width), *page]


def headline_lines(headline: Headline, ink: Ink, width: int) -> list[str]:
    """The first line; where it does not fit, the command has a line of its own, so that it can be copied."""
    word, margin = headline.word.value, " " * (len(headline.word.value) + 2)
    whole = str(headline)
    lines = [whole] if not width or len(whole) <= width else wrapped(f"{word}  {headline.why}", width, then=margin)
    if lines != [whole] and headline.command:
        lines = [*lines[:-1], f"{lines[-1]}:", f"{margin}{headline.command}"]
    return [ink.paint(word, _INKS[headline.word]) + lines[0].removeprefix(word), *lines[1:]]


def _told_of(found: Look, sight: Sight, waiting: Waits, named_max: int | None, width: int) -> Iterator[str]:

    seen, intent = sight.seen, sight.intent
    failures = number_of(intent.failed_max, "failure")
    yield f"Limits    {_limits(intent.limits)}, {failures}"
    for name, policy in sorted(intent.pools.items()):
        yield f"          {_limits(policy.limits)} of NVIDIADriver {name}"
    for domain in intent.domains:
        share = f"{domain.unavailable_max} unavailable" if domain.unavailable_max is not None else "no limit of its own"
        yield f"          {share} in each {domain.label}{', upgraded as one unit' if domain.is_unit else ''}"
    under_way = capacity.under_way(seen.rollout.admitted, mover_seen(seen).recorded(seen, intent))
    yield f"Under way {a_few(sorted(under_way), named_max or len(under_way)) or 'nobody'}"
    yield f"As of     {waits.as_of(found, waiting)}"
    lost = losses.lost_gpu_seconds(seen, found.at) / 3600
    if lost >= losses.TOLD_HOURS:
        yield f"Cost      {lost:,.1f} GPU-hours so far"
    yield from frontier.lines(sight, found.at, width)
    done, total = done_of(sight)
    yield f"Done      {done}/{total}"
    for word, names in zip(("failed", "left out"), left_behind(sight), strict=True):
        if names:
            yield f"          {word}: {a_few(names, named_max or len(names))}"
    less = reduced(sight)
    if less:
        yield f"          less to offer than before: {a_few(less, named_max or len(less))}"
    for reason, out in _out_of_use(sight):
        yield f"          done, but {reason}: {a_few(out, named_max or len(out))}"
    phases = mover_seen(seen, intent).phases(seen.nodes)
    counts = {phase.value if phase is not None else NOT_BEGUN: len(names) for phase, names in phases.items()}
    more = {NodePhase.UPGRADE_DONE.value: _done_before(sight)}
    rows = [("State", "Nodes"), *((phase, f"{counts[phase]}{more.get(phase, '')}") for phase in sorted(counts))]
    yield from columns(rows).splitlines()


def _out_of_use(sight: Sight) -> Iterator[tuple[str, list[str]]]:
    """Nodes that are done and take no work all the same, by the reason."""
    done = {name: sight.seen.nodes[name].facts for name in standings_of(sight).get(Progress.DONE, ())}
    reasons = {
        "NotReady": [name for name, facts in done.items() if not facts.is_ready],
        "cordoned by a person": [name for name, facts in done.items() if facts.is_ready and facts.is_cordoned],
    }
    yield from ((reason, names) for reason, names in reasons.items() if names)


def _done_before(sight: Sight) -> str:
    """Which nodes that say upgrade-done do not count as done: most of them were done for an earlier target."""
    mover = mover_seen(sight.seen, sight.intent)
    done = frozenset(mover.standings(sight.seen.nodes, mover.target(sight.intent)).get(Progress.DONE, ()))
    others = [
        node.facts.driver is not None and node.facts.driver.is_ready
        for name, node in sight.seen.nodes.items()
        if name not in done and node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE
    ]
    campaign = sight.seen.rollout.campaign
    is_back = campaign is not None and campaign.phase in BACK
    which = "back on the version before" if is_back else "for an earlier target"
    told = [f"{others.count(True)} of them {which}"] if any(others) else []
    told += [f"{others.count(False)} of them without a Ready driver now"] if not all(others) else []
    return f" ({', '.join(told)})" if told else ""


def _campaign(found: Look, ink: Ink, width: int) -> list[str]:
    """Where the campaign stands, before what is told of every rollout."""

    picture = rollout_picture.picture_of(found)
    return [*rollout_tree.tree(picture, ink, width, has_waits=False), ""] if picture is not None else []


def _limits(limits: Limits) -> str:
    idle = f", {limits.idle_gpus_max} of the GPUs idle" if limits.idle_gpus_max is not None else ""
    return f"{limits.parallel_max or 'any number'} at once, {limits.unavailable_max} unavailable{idle}"


def _without_rollout(found: Look) -> Iterator[str]:
    drivers = Counter(node.facts.driver_standing for node in found.nodes.values())
    if not found.faults:
        yield "Rollout   none; begin with `seatrial rollout start` (or create a GPURollout)"
    texts = [f"{text} on {number_of(count, 'node')}" for text, count in sorted(drivers.items())]
    yield "Drivers   " + (", ".join(texts) or "no nodes seen")


def _waiting(groups: tuple[Waiting, ...], named_max: int | None, ink: Ink, width: int, at: Instant) -> Iterator[str]:
    """Who waits and why, the root cause first; sentences are wrapped where there is a width, and never cut."""

    if not groups:
        yield "Nothing is waiting."
        return
    yield "Waiting:"
    said: list[Waiting] = []
    for group in groups:
        whom = a_few(group.nodes, named_max or len(group.nodes), count=group.count)
        head, times = f"  {group.code} ({whom})", rollout_tree.times(group, at)
        is_short = not width or len(head) + 2 + len(times) <= width
        yield ink.paint(head, "bold") + (f", {times}" if times and is_short else "")
        if not is_short:
            yield f"    {times}"
        for text in _unsaid(group, said):
            yield from wrapped(text, width, first="    ", then="    ")
        said.append(group)


def _unsaid(group: Waiting, said: Sequence[Waiting]) -> Iterator[str]:
    """The reason and the next step, without what a group above has in the same words: its blocker is named by code."""
    why = group.why
    for above in said:
        why = why.removesuffix(f": {above.why}")
    yield f"{why}."
    if all(group.next_step != above.next_step for above in said):
        yield group.next_step
