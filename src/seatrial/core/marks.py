"""The marks a campaign leaves on nodes, and takes away again: the canary's label and our skip labels.

A skip label of ours keeps NVIDIA's controller off a node until its wave opens; it carries our name, so that a person's
stays when ours go. Law of this file: a node is marked before anything that the mark is for, and everything we marked is
clean before the campaign ends. Tests: tests/core/test_marks.py
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from seatrial.core import machine_pools
from seatrial.core.actions import CampaignAct, MarkNode
from seatrial.core.campaign import Mode, RolloutPhase
from seatrial.core.holds import HoldCode
from seatrial.core.publishing import Outcome
from seatrial.core.snapshot import NodePhase
from seatrial.core.views import View

MARKS_MAX: Final = 100
"""How many nodes are marked in one pass."""


def prepare(view: View, open_: AbstractSet[str]) -> Outcome:
    """What is due before a version is published for these nodes: canaries marked, everybody else kept out."""
    acts, holds = machine_pools.prepare(view)
    if acts or holds:
        return acts, holds
    return _mark(view, set(view.record.canaries), _kept_out(view, open_))


def clear(view: View) -> Outcome:
    """What is due so that nothing of ours is left on any node or pool."""
    acts, holds = _mark(view, set(), set())
    if acts or holds:
        return acts, holds
    return machine_pools.clear(view)


def let_back(view: View, names: AbstractSet[str]) -> tuple[CampaignAct, ...]:
    """What NVIDIA's controller needs to take nodes back: our skip labels gone, and a retry of those that failed."""
    acts: list[CampaignAct] = []
    for name in sorted(names):
        facts = view.nodes[name].facts
        is_kept_out = facts.skipped_by == view.name
        has_failed = facts.nvidia_state == NodePhase.UPGRADE_FAILED.value
        if (is_kept_out or has_failed) and view.may_act(name):
            skip = False if is_kept_out else None
            expect = facts.resource_version
            acts.append(MarkNode(node=name, rollout=view.name, expect=expect, skip=skip, is_retry=has_failed))
    return tuple(acts[:MARKS_MAX])


def _kept_out(view: View, open_: AbstractSet[str]) -> set[str]:
    """Who has to carry our skip label: members that a published version would move before their wave."""
    if view.mode is not Mode.DELEGATED:
        return set()
    if view.record.phase is RolloutPhase.WAVING:
        concerned = set(view.nodes)
    else:
        resources = {view.resource_of(name) for name in view.record.canaries if name in view.nodes}
        concerned = {name for name in view.nodes if view.resource_of(name) in resources}
    return concerned - open_


def _mark(view: View, canaries: AbstractSet[str], kept_out: AbstractSet[str]) -> Outcome:
    acts: list[CampaignAct] = []
    for name, node in sorted(view.nodes.items()):
        facts = node.facts
        is_marked, is_ours = facts.canary_of == view.name, facts.skipped_by == view.name
        canary = None if is_marked is (name in canaries) else name in canaries
        # A person's skip label keeps the node out as well, and stays; one of ours that somebody took away comes back.
        wants_skip = name in kept_out and (is_ours or not facts.is_skipped)
        has_skip = is_ours and (facts.is_skipped or not wants_skip)
        skip = None if has_skip is wants_skip else wants_skip
        if canary is not None or skip is not None:
            acts.append(MarkNode(node=name, rollout=view.name, expect=facts.resource_version, canary=canary, skip=skip))
    if not acts:
        return (), ()
    due = tuple(act for act in acts if view.may_act(act.subject))[:MARKS_MAX]
    until = None if due else min((at for act in acts if (at := view.again_at(act.subject)) is not None), default=None)
    return due, (view.hold(HoldCode.MARKS_PENDING, count=len(acts), node=_node_of(acts[0]), until=until),)


def _node_of(act: CampaignAct) -> str:
    return act.node if isinstance(act, MarkNode) else ""
