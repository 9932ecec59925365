"""Who is let in to NVIDIA's controller, and who is closed out again: what binds our own machine binds it too.

    our skip label on       kept out: it may write upgrade-required on the node, and starts nothing
    our skip label off      let in: it may start the node at any moment from now on
    cordon-required, and on under way: nothing that we may write stops it, and it goes on

Law of this file: a node is let in while the ledger names it and it fits the budget, a window is open and nobody paused;
whoever may still be started is closed out when one of these says no, before anybody else is let in. The ledger is the
same as where we move the nodes ourselves, and so is `capacity.admit`: for it, NVIDIA's states are read as records. No
more than the budget is ever let in, so its controller may count and round as it likes.

Tests: tests/core/movers/test_letting_in.py
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.budget import capacity, units
from seatrial.core.budget.capacity import Budget
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import of_each
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.view import View
from seatrial.core.node import phases
from seatrial.core.node.progress import (
    Progress,
    back_to,
    by_nvidias_word,
    carries,
    common_resource,
    own_resource,
    wants,
)
from seatrial.core.node.step import why_at_work

ATTEMPT: Final = 0
"""Attempts are NVIDIA's to count. To the ledger each is the same, but for a retry of who has failed: until that is seen
to have begun it has to be told from the one that failed."""
_STATES: Final = frozenset(phase.value for phase in NodePhase)


def is_going_back(record: CampaignRecord) -> bool:
    """Whether nodes are on their way to what they ran before, or were when somebody paused."""
    return RolloutPhase.REVERTED in (record.phase, record.paused_in) or RolloutPhase.REVERTING in (
        record.phase,
        record.paused_in,
    )


# ── its states as records ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a node's record under NVIDIA's controller follows from, beside the node: who has the same has the same."""

    is_back: bool
    target: str
    baseline: tuple[tuple[str, str], ...]
    resource: str
    """The resource of whoever has no NVIDIADriver of its own."""


def recorded(seen: Snapshot, intent: Intent) -> Mapping[str, NodeSeen]:
    """The nodes with what the budget has to know of each as a record; the same objects as long as nothing changed."""
    campaign = seen.rollout.campaign
    if campaign is None:
        return seen.nodes
    aim = aim_of(campaign, seen.operator, intent)
    return dict(zip(seen.nodes, of_each(seen.nodes, seen.nodes, _as_ours, aim), strict=True))


def _as_ours(node: NodeSeen, aim: Aim) -> NodeSeen:
    # Where we move the nodes ourselves, only people mark them skip.
    facts = replace(node.facts, is_skipped=False) if node.facts.skipped_by else node.facts
    return replace(node, facts=facts, record=_record_of(node, aim))


def _record_of(node: NodeSeen, aim: Aim) -> NodeRecord | None:
    """None for whoever waits: an admission of theirs has not ended."""
    facts = node.facts
    phase = _phase_of(node, _version(facts, aim), is_back=aim.is_back)
    # Who is gone for its users stays in the ledger, and is not under way.
    is_gone = (phase is NodePhase.UPGRADE_FAILED and facts.is_cordoned) or (phase is not None and not facts.is_ready)
    return None if phase is None else NodeRecord(phase=phase, attempt=ATTEMPT, entered_at=0.0, is_cordon_ours=is_gone)


def _phase_of(node: NodeSeen, version: str, *, is_back: bool) -> NodePhase | None:
    facts = node.facts
    match by_nvidias_word(node.facts, version):
        case Progress.MOVING:
            # A value that nobody knows: whatever it means, the node is not free.
            is_known = facts.nvidia_state in _STATES
            return NodePhase(facts.nvidia_state) if is_known else NodePhase.CORDON_REQUIRED
        case Progress.FAILED:
            return NodePhase.UPGRADE_FAILED
        case Progress.DONE | Progress.SKIPPED:
            return NodePhase.UPGRADE_DONE
        case Progress.AWAY:
            rests = _has_never_left(facts, version) if is_back else not facts.is_ready
            return NodePhase.UPGRADE_DONE if rests and facts.is_skipped else None


def _has_never_left(facts: NodeFacts, version: str) -> bool:
    driver = facts.driver
    return driver is not None and driver.is_ready and carries(facts, version)


def version_for(facts: NodeFacts, campaign: CampaignRecord, operator: OperatorFacts, intent: Intent) -> str:
    """What a node is on its way to: the target, or what it ran before us."""
    return _version(facts, aim_of(campaign, operator, intent))


def aim_of(campaign: CampaignRecord, operator: OperatorFacts, intent: Intent) -> Aim:
    """What everybody is on the way to."""
    return Aim(
        is_back=is_going_back(campaign),
        target=intent.target.published,
        baseline=back_to(campaign.baseline, operator, intent.target.published),
        resource=common_resource(operator),
    )


def _version(facts: NodeFacts, aim: Aim) -> str:
    if not aim.is_back:
        return aim.target
    return dict(aim.baseline).get(own_resource(facts) or aim.resource, "")


# ── who may be let in, and who may not ───────────────────────────────────────────────────────────────────────────────


def let_in(view: View, turn: AbstractSet[str]) -> frozenset[str]:
    """Of those whose turn it is, who may be without our skip label now."""
    return _let_in(view, turn)[0]


def why_closed_out(view: View, turn: AbstractSet[str]) -> tuple[Hold, ...]:
    """Why the others of them that the ledger names may not: limits were lowered since, or a member has failed."""
    return _let_in(view, turn)[1]


def _let_in(view: View, turn: AbstractSet[str]) -> tuple[frozenset[str], tuple[Hold, ...]]:
    """Which nodes of the ledger may start, and why the others may not.

    Between an admission and the start of a node may lie a pause of days, so the budget is looked at once more: first
    for those who are let in already, then for those who were closed out meanwhile.
    """
    if view.intent.is_paused or (not is_going_back(view.record) and view.closed() is not None):
        return frozenset(), ()
    nodes = recorded(view.seen, view.intent)
    named = [each for each in view.seen.rollout.admitted if each.node in nodes]
    waiting = [each for each in named if each.node in turn and _waits(view, nodes[each.node], each)]
    begun = (each for each in named if nodes[each.node].record is not None and each not in waiting)
    ledger = capacity.still_admitted(begun, nodes, view.intent)
    is_back = capacity.is_going_back(view.seen.rollout)
    budget = capacity.budget_of(nodes, ledger, view.intent, is_back=is_back)
    unfit = {} if is_back else units.unfit(nodes, budget.unit_of)
    wishes = {each.node: each for each in waiting}
    row = sorted(wishes, key=lambda name: (view.nodes[name].facts.is_skipped, name))
    found = capacity.admit(row, wishes.__getitem__, ledger, budget, unfit=_unbegun(unfit, nodes, budget))
    return frozenset(each.node for each in found.ledger if each.node in wishes), found.holds


def _unbegun(
    unfit: Mapping[str, tuple[str, ...]], nodes: Mapping[str, NodeSeen], budget: Budget
) -> dict[str, tuple[str, ...]]:
    """Units that cannot start as a whole; one that has begun is finished as far as it can be."""
    begun = {unit for name, unit in budget.unit_of.items() if phases.is_under_way(nodes[name].record)}
    return {unit: members for unit, members in unfit.items() if unit not in begun}


def _waits(view: View, node: NodeSeen, admission: Admission) -> bool:
    """Whether a node may be started, and would get what it is to have: somebody else may have published a third one."""
    version = version_for(node.facts, view.record, view.operator, view.intent)
    is_waiting = node.record is None or is_retried(node, admission.attempt)
    return is_waiting and why_not(node.facts) is None and wants(node.facts, version)


def is_retried(node: NodeSeen, attempt: int) -> bool:
    """Whether the admission of a failed node, of those that `recorded` gives, is one to try it again."""
    return capacity.has_failed(node.record) and attempt > ATTEMPT


def why_not(facts: NodeFacts) -> Hold | None:
    """Why a node is not to be started, whoever moves it; it would hold a slot and get nowhere."""
    if facts.is_skipped and not facts.skipped_by:
        return hold(facts.name, HoldCode.SKIPPED)
    return hold(facts.name, HoldCode.NODE_NOT_READY) if not facts.is_ready else why_at_work(facts)


def may_be_started(node: NodeSeen, version: str) -> bool:
    """Whether NVIDIA's controller starts a node, now or once a version is published, unless it is kept out."""
    facts = node.facts
    if by_nvidias_word(node.facts, version) is not Progress.AWAY:
        return False
    # It never looks at the need again once it has written its word.
    is_marked = facts.nvidia_state == NodePhase.UPGRADE_REQUIRED.value
    return is_marked or not (facts.is_in_sync and wants(facts, version))


def startable(view: View) -> set[str]:
    """Everybody whom NVIDIA's controller might start."""
    return {
        name
        for name, node in view.nodes.items()
        if may_be_started(node, version_for(node.facts, view.record, view.operator, view.intent))
    }


def kept_out(view: View, open_: AbstractSet[str]) -> set[str]:
    """Who has to carry our skip label: whom NVIDIA's controller would start, and who is not let in."""
    return (_concerned(view) & startable(view)) - let_in(view, open_)


def _concerned(view: View) -> set[str]:
    """Whom a version moves that is, or is about to be, published."""
    phase = view.record.paused_in or view.record.phase
    if phase in (RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE, RolloutPhase.REVERTING):
        return set(view.nodes)
    if phase not in (RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING):
        return set()
    resources = {view.resource_of(name) for name in view.with_units(view.record.canaries) if name in view.nodes}
    return {name for name in view.nodes if view.resource_of(name) in resources}
