"""What a world waits for when nothing moves any more: whether it is true, and whether somebody can end it.

    a root      a hold whose reason can be looked up in the truth: it has to be true
    the rest    holds that point at a root: at the rollout's own wait, or at another node's

A world has ended, or has a root whose next step is an act of somebody; whoever is told that it goes on by itself must
not be told so for ever. Law of this file: a reason that nobody looks up counts as untrue until it has a row here.
Tests: tests/sim/test_mixed.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ENDED, Mode, RolloutPhase
from seatrial.core.model.seen.gangs import gpus_of
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.words import explain
from seatrial.core.words.explanations import BY_ITSELF
from seatrial.sim import upgrade_controller
from seatrial.sim.world import World
from seatrial_lab.explore.truths import scopes
from seatrial_lab.schedules.busy import GPUS
from seatrial_lab.schedules.judging import TRANSIENT
from seatrial_lab.schedules.truths import Truths, has_failed, lacks_driver, runs

NODE_SECONDS: Final = 1800.0
"""What a node takes at most that is emptied, reloaded and proven; the simulated driver takes four minutes of it."""
OfNode: TypeAlias = Callable[[NodeSeen], bool]
OfWorld: TypeAlias = Callable[[World, Hold], bool]


def _is_published_by_others(world: World) -> bool:
    """Whether what is published is neither where the rollout goes nor where it came from."""
    wanted = {node.facts.wanted.version for node in world.nodes.values() if node.facts.wanted is not None}
    carried = {carrier.version for carrier in world.outside.operator.carriers if carrier.version}
    return bool((wanted | carried) - {str(world.intent.target.driver)})


def _is_at_limit(world: World, held: Hold) -> bool:
    """Whether more would be unavailable than may, with this node and those it goes with."""
    params = dict(held.params)
    inside = [node for node in world.nodes.values() if _is_in(node, params.get("scope", ""))]
    away = {node.name for node in inside if node.facts.is_unavailable or lacks_driver(node) or _is_let_in(world, node)}
    more = _unit_of(world, held.subject) & {node.name for node in inside}
    return len(away | more) > int(params["limit"])


def _is_let_in(world: World, node: NodeSeen) -> bool:
    """Whether NVIDIA's controller may take a node at any moment: it is to upgrade it, and nothing keeps it off."""
    record, facts = world.rollout.campaign, node.facts
    is_delegated = record is not None and record.mode is Mode.DELEGATED
    return is_delegated and facts.nvidia_state == NodePhase.UPGRADE_REQUIRED.value and not facts.is_skipped


def _is_too_large(world: World, held: Hold) -> bool:
    return len(_unit_of(world, held.subject)) > int(dict(held.params)["limit"])


def _is_short(world: World) -> bool:
    """Whether all nodes, one after the other, take longer than attrition has."""
    way = world.intent.attrition
    return way is not None and len(world.nodes) * NODE_SECONDS > way.deadline_seconds


def _is_any_too_large(world: World) -> bool:
    """Whether a unit has more nodes than some limit ever lets go at once."""
    for _, inside, limits in scopes(tuple(world.nodes.values()), world.intent):
        names = {node.name for node in inside}
        at_once = min(limits.parallel_max or len(inside), limits.unavailable_max.of(len(inside)))
        if any(len(_unit_of(world, name) & names) > at_once for name in names):
            return True
    return False


def _largest_unit(world: World) -> int:
    return max(len(_unit_of(world, name)) for name in world.nodes)


def _idles_too_many(world: World, held: Hold) -> bool:
    """Whether the GPUs of this node and of those it goes with are more than the budget has left."""
    away = {node.name for node in world.nodes.values() if node.facts.is_unavailable or lacks_driver(node)}
    params, more = dict(held.params), _unit_of(world, held.subject)
    if "together" in params:  # by attrition a gang is emptied at once; who is through already stays as it is
        more |= {name for name in _together(world, held.subject) if not _is_through(world.nodes[name])}
    return len(away | more) * GPUS > int(params["limit"])


def _allows_too_few(world: World, held: Hold) -> bool:
    """Whether a budget allows fewer disruptions than it has pods on this node, and on those of the same job."""
    name = dict(held.params)["budget"]
    budget = next(each for each in world.work.budgets if each.full_name == name)
    together = _together(world, held.subject)
    pods = (pod for each in together if each in world.nodes for pod in world.nodes[each].facts.pods)
    closed = (node for node in world.nodes.values() if node.facts.is_cordoned and node.name not in together)
    spent = sum(budget.covers(pod.namespace, pod.labels) for node in closed for pod in node.facts.pods)
    return sum(budget.covers(pod.namespace, pod.labels) for pod in pods) > budget.allowed - spent


def _together(world: World, name: str) -> set[str]:
    """The node, and all that go with it: of its unit, or under the same jobs."""
    found: set[str] = set()
    more = {name}
    while more - found:
        found |= more
        inside = [world.nodes[each] for each in found if each in world.nodes]
        jobs = {pod.job.gang for node in inside for pod in node.facts.pods if pod.job is not None}
        alike = (
            node.name
            for node in world.nodes.values()
            if any(pod.job is not None and pod.job.gang in jobs for pod in node.facts.pods)
        )
        more = {*alike, *(each for mine in found for each in _unit_of(world, mine))}
    return found


def _is_kept_from_starting(world: World) -> bool:
    """Whether NVIDIA's controller has no slot for a node that is let in and that it would start otherwise."""
    outside, nodes = world.outside, tuple(world.nodes.values())
    owners = {
        facts.owner if outside.operator.pools else ""
        for facts in (node.facts for node in nodes if _is_let_in(world, node))
        if facts.is_ready and not facts.is_cordoned
    }
    return any(upgrade_controller.slot_count(nodes, owner, outside) <= 0 for owner in owners)


def _waits_for_stalled(world: World, held: Hold, holds: Iterable[Hold]) -> bool:
    """Whether all that are under way wait themselves, and the rollout says for what."""
    stalled = {each.subject for each in holds if each.code in ROOTS_OF_NODES or _is_stalled(world, each.code, holds)}
    return stalled >= set(dict(held.params)["nodes"].split(", "))


def _is_stalled(world: World, code: HoldCode, holds: Iterable[Hold]) -> bool:
    """Whether a node that says so gets no further, by the word of its rollout."""
    return any(each.subject == world.intent.rollout and each.code in STALLED.get(code, ()) for each in holds)


def _waits_for_member(world: World, held: Hold, holds: Iterable[Hold]) -> bool:
    """Whether another member of the node's unit is held for a reason of its own."""
    others = _unit_of(world, held.subject) - {held.subject}
    return any(each.subject in others and each.code is not HoldCode.UNIT_INCOMPLETE for each in holds)


def _is_kept_full(world: World, held: Hold, holds: Iterable[Hold], truths: Truths) -> bool:
    """Whether a closed node costs nothing while it waits, and says besides which limit it waits for."""
    node = world.nodes[held.subject]
    is_full = gpus_of(_workers(node)) >= GPUS or held.subject not in truths.ours
    return is_full and any(each.subject == held.subject and each.code in ROOTS for each in holds)


def _is_frozen(world: World, held: Hold, truths: Truths) -> bool:
    """Whether so many nodes that we closed, and did not take, stay so in a pause, with so many GPUs idle."""
    closed = [world.nodes[each.node] for each in world.rollout.admitted if each.is_ahead and each.node in truths.ours]
    idle = sum(max(0, GPUS - gpus_of(_workers(node))) for node in closed)
    told = dict(held.params)
    return world.intent.is_paused and (told["nodes"], told["gpus"]) == (str(len(closed)), str(idle))


def _are_unfinished(world: World, held: Hold) -> bool:
    """Whether the upgrade of every node that is named has not come to its end, be it one that was asked for again."""
    named = [node for node in world.nodes.values() if node.name in dict(held.params)["nodes"]]
    return bool(named) and all(
        has_failed(node)
        or not node.facts.is_ready  # what it runs shows, but that proves nothing
        or _phase(node) is NodePhase.UPGRADE_REQUIRED
        or runs(node) != str(world.intent.target.driver)
        or not node.facts.is_in_sync
        for node in named
    )


def _canaries(world: World) -> tuple[str, ...]:
    return world.rollout.campaign.canaries if world.rollout.campaign is not None else ()


def _phase_of(world: World) -> RolloutPhase | None:
    return world.rollout.campaign.phase if world.rollout.campaign is not None else None


def _is_unfit_canary(world: World, name: str) -> bool:
    return name not in world.nodes or _is_unfit(world.nodes[name])


def _is_crowded(world: World) -> bool:
    """Whether several canaries, with those that go with them, are more than any limit has room for."""
    campaign, units = world.intent.campaign, any(domain.is_unit for domain in world.intent.domains)
    needed = campaign.canary.count + units if campaign is not None else 0
    rooms = (
        min(limits.parallel_max or len(inside), limits.unavailable_max.of(len(inside)))
        for _, inside, limits in scopes(tuple(world.nodes.values()), world.intent)
    )
    return campaign is not None and campaign.canary.count > 1 and min(rooms) < needed


def _is_unfit(node: NodeSeen) -> bool:
    return has_failed(node) or node.facts.is_skipped or not node.facts.is_ready or bool(node.facts.sriov)


def _workers(node: NodeSeen) -> list[Pod]:
    return [pod for pod in node.facts.gpu_pods if pod.keeper is not PodOwner.DAEMON_SET]


def _unit_of(world: World, name: str) -> set[str]:
    """The node, and those that are upgraded with it as one."""
    labels = [domain.label for domain in world.intent.domains if domain.is_unit]
    mine = {(label, world.nodes[name].facts.labels.get(label)) for label in labels if name in world.nodes}
    alike = (node for node in world.nodes.values() for label in labels if (label, node.facts.labels.get(label)) in mine)
    return {name, *(node.name for node in alike)}


def _is_in(node: NodeSeen, scope: str) -> bool:
    kind, _, value = scope.partition(" ")
    return not kind or node.facts.labels.get(kind) == value or node.facts.owner == value


ROOTS_OF_NODES: Final[Mapping[HoldCode, OfNode]] = {
    HoldCode.DAEMON_SET_HOLDS_GPU: lambda node: any(
        pod.keeper is PodOwner.DAEMON_SET and not pod.deploy_label for pod in node.facts.gpu_pods
    ),
    HoldCode.SRIOV_AT_WORK: lambda node: bool(node.facts.sriov),
    HoldCode.SLIPPED_IN: lambda node: any(pod.is_terminating or has_failed(node) for pod in _workers(node)),
    HoldCode.SKIPPED: lambda node: node.facts.is_skipped,
    HoldCode.NODE_NOT_READY: lambda node: not node.facts.is_ready,
    HoldCode.FAILED: has_failed,
}
"""Why a node waits for somebody."""

ROOTS: Final[Mapping[HoldCode, OfWorld]] = {
    HoldCode.PAUSED: lambda world, _: world.intent.is_paused,
    HoldCode.UNAVAILABLE_LIMIT: _is_at_limit,
    HoldCode.UNIT_TOO_LARGE: _is_too_large,
    HoldCode.UNIT_NEVER_FITS: lambda world, _: _is_any_too_large(world),
    HoldCode.IDLE_GPUS_TOO_FEW: lambda world, held: _largest_unit(world) * GPUS > int(dict(held.params)["limit"]),
    HoldCode.IDLE_GPU_LIMIT: _idles_too_many,
    HoldCode.UNIT_UNFIT: lambda world, held: any(
        _is_unfit(world.nodes[name]) for name in _unit_of(world, held.subject) if name in world.nodes
    ),
    HoldCode.MEMBERS_STUCK: lambda world, _: any(map(_is_unfit, world.nodes.values())),
    HoldCode.DEADLINE_TOO_SHORT: lambda world, _: _is_short(world),
    HoldCode.WAVE_BLOCKED: lambda world, _: any(map(_is_unfit, world.nodes.values())),
    HoldCode.NVIDIA_FULL: lambda world, _: _is_kept_from_starting(world),
    HoldCode.NO_CANARY: lambda world, _: all(_is_unfit_canary(world, name) for name in _canaries(world)),
    HoldCode.CANARIES_CROWDED: lambda world, _: _is_crowded(world),
    HoldCode.DISRUPTION_LIMIT: lambda world, held: _allows_too_few(world, held),
    HoldCode.MEMBERS_LEFT: _are_unfinished,
    HoldCode.TAKEN_OVER: lambda world, _: _is_published_by_others(world),
    HoldCode.WRITTEN_BY_ANOTHER: lambda world, _: _is_published_by_others(world),
    HoldCode.TARGET_NOT_PUBLISHED: lambda world, _: _is_published_by_others(world),
    HoldCode.NVIDIA_STALLED: lambda world, _: upgrade_controller.is_stalled(world.nodes.values()),
    HoldCode.UNDONE: lambda world, _: _phase_of(world) is RolloutPhase.REVERTED,
    HoldCode.NODES_FAILED: lambda world, _: any(map(has_failed, world.nodes.values())),
    HoldCode.FAILURE_BUDGET: lambda world, _: sum(map(has_failed, world.nodes.values())) > world.intent.failed_max,
}
"""Why a rollout, or any node of it, waits for somebody."""

LIMITS: Final = frozenset({HoldCode.UNAVAILABLE_LIMIT, HoldCode.IDLE_GPU_LIMIT, HoldCode.UNIT_TOO_LARGE})
"""Limits that leave a node no room to start."""

POINTING: Final = frozenset(
    {
        HoldCode.NOT_ITS_TURN,
        HoldCode.CANARY_AT_WORK,
        HoldCode.CANARY_CLOSED,
        HoldCode.WAVE_AT_WORK,
        HoldCode.NODES_GOING_BACK,
    }
)
"""What only says that somebody else is waited for."""
STALLED: Final[Mapping[HoldCode, tuple[HoldCode, ...]]] = {
    # What others publish, its controller brings as it likes.
    HoldCode.MOVED_BY_NVIDIA: (HoldCode.NVIDIA_FULL, HoldCode.NVIDIA_STALLED, HoldCode.TAKEN_OVER),
    HoldCode.CANARY_CLOSED: (HoldCode.CANARIES_CROWDED,),
}
"""What a node says that is under way and gets no further, and what its rollout has to say then."""


def why_unsettled(world: World, decision: Decision, truths: Truths) -> str | None:
    """What is wrong with a world in which nothing moves any more."""
    return next(_unsettled(world, decision, truths), None)


def _unsettled(world: World, decision: Decision, truths: Truths) -> Iterator[str]:
    if decision.actions:
        yield f"at rest with acts to do: {decision.actions[0].id}"
    roots = []
    for held in decision.waits:  # where no node waits for it, a pause is told by the rollout alone
        node = world.nodes.get(held.subject)
        if held.code in ROOTS_OF_NODES:
            if node is None or not ROOTS_OF_NODES[held.code](node):
                yield f"{held.subject} is held by {held.code}, and that is not true"
            roots.append(held)
        elif held.code in ROOTS:
            if not ROOTS[held.code](world, held):
                yield f"{held.subject} is held by {held.code}, and that is not true: {dict(held.params)}"
            roots.append(held)
        elif held.code is HoldCode.UNIT_INCOMPLETE:
            if not _waits_for_member(world, held, decision.holds):
                yield f"{held.subject} waits for members of its unit, and no member says why it waits"
        elif held.code is HoldCode.CLOSED_IN_PAUSE:
            if not _is_frozen(world, held, truths):
                yield f"{held.subject} is held by {held.code}, and that is not true: {dict(held.params)}"
        elif held.code is HoldCode.MOVED_BY_NVIDIA:
            roots_of_it = (each for each in decision.holds if each.subject == held.subject and each.code in ROOTS)
            if not _is_stalled(world, held.code, decision.holds) and not any(roots_of_it):
                yield f"{held.subject} is {dict(held.params)['state']} for ever, and nobody says why"
        elif held.code is HoldCode.PARALLEL_LIMIT:
            if not _waits_for_stalled(world, held, decision.holds):
                yield f"{held.subject} waits for ever: {held.code}, for {dict(held.params)['nodes']}"
        elif held.code is HoldCode.CLOSED_AHEAD:
            if not _is_kept_full(world, held, decision.holds, truths):
                yield f"{held.subject} is closed while GPUs are idle, or for no limit: {explain.why(held)}"
        elif held.code in TRANSIENT:
            yield f"{held.subject} waits for ever: {held.code}"
        elif held.code not in POINTING:
            yield f"{held.subject} is held by {held.code}, and nobody looks that up: {explain.why(held)}"
    yield from _silent(world, decision, roots)
    yield from _left(world, decision, truths)


def _silent(world: World, decision: Decision, roots: list[Hold]) -> Iterator[str]:
    """Nodes and campaigns that have not ended, and wait for nobody who could end it."""
    record = world.rollout.campaign
    held = {each.subject for each in decision.holds}
    is_over = record.phase in ENDED if record is not None else world.intent.campaign is None
    waiting = [name for name, node in world.nodes.items() if not _is_through(node)]
    for name in waiting if record is None else ():
        if name not in held:
            yield f"{name} is {_phase(world.nodes[name])}, and nobody says why"
    helping = [each for each in roots if BY_ITSELF not in explain.next_step(each)]
    if ((waiting and record is None) or not is_over) and not helping:
        where = record.phase if record is not None else "it"
        yield f"{where} for ever, and nobody can do anything: {sorted({each.code for each in decision.holds})}"


def _left(world: World, decision: Decision, truths: Truths) -> Iterator[str]:
    """What we left on nodes."""
    record, held = world.rollout.campaign, {(each.subject, each.code) for each in decision.holds}
    for name in sorted(truths.ours):
        node = world.nodes[name]
        if has_failed(node) or not node.facts.is_ready or name in truths.judge.theirs or node.facts.sriov:
            continue  # the SR-IOV operator would have closed it, and opens it when its work is done
        # While another version is published every node keeps its place, as does a canary until its gates have passed;
        # what failed before, and is to be tried again, stays as it was: until it can start with its unit, or for good.
        keeping = {HoldCode.TARGET_NOT_PUBLISHED, HoldCode.CANARY_CLOSED}
        keeping |= {HoldCode.UNIT_UNFIT, HoldCode.UNDONE, *LIMITS} if name in truths.given_up else set()
        is_kept = decision.stop is not None or any((name, code) in held for code in keeping)
        is_kept = is_kept or any(code is HoldCode.FAILURE_BUDGET for _, code in held)
        is_kept = is_kept or (name, HoldCode.CLOSED_AHEAD) in held  # that it costs nothing was looked up with the hold
        if not is_kept:
            where = record.phase if record is not None else "at rest"
            yield f"{where}, and {name} is still closed by us, {_phase(node)}"
    if record is not None and record.phase in ENDED:
        for node in world.nodes.values():
            is_marked = bool(node.facts.skipped_by or node.facts.canary_of)
            if is_marked and node.facts.is_ready:  # else it was left behind, and is kept out until it is back
                yield f"{record.phase}, and {node.name} is still marked"


def _is_through(node: NodeSeen) -> bool:
    return node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE


def _phase(node: NodeSeen) -> NodePhase | None:
    return node.record.phase if node.record is not None else None
