"""The marks a campaign leaves on nodes, and takes away again: the canary's label and our skip labels.

A skip label of ours keeps NVIDIA's controller off a node until it is let in (letting_in.py says who is); it carries our
name, so that a person's stays when ours go. Law of this file: a node is marked before anything that the mark is for,
who is closed out goes before who is let in, and everything we marked is clean before the campaign ends, but for the
skip label of nodes that NVIDIA's controller would start and the ledger does not name.

Tests: tests/core/movers/test_marks.py, tests/core/movers/test_letting_in.py
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from seatrial.core.actions.of_campaigns import CampaignAct, MarkNode
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.movers import letting_in, machine_pools
from seatrial.core.movers.view import Outcome, View
from seatrial.core.node.progress import is_label_left_over

MARKS_MAX: Final = 100
"""How many nodes are marked in one pass."""


def prepare(view: View, open_: AbstractSet[str]) -> Outcome:
    """What is due before a version is published for these nodes: canaries marked, and kept out who is not let in."""
    acts, holds = machine_pools.prepare(view)
    if acts or holds:
        return acts, holds
    return _mark(
        view,
        set(view.record.canaries),
        kept_out=_kept_out(view, open_),
        free=set() if view.mover.starts_by_itself else set(view.nodes),
    )


def close_out(view: View, open_: AbstractSet[str]) -> Outcome:
    """Our skip label on everybody who might be started and is not to be; nothing else is written."""
    return _mark(view, None, kept_out=_kept_out(view, open_), free=set())


def unclosed(view: View, open_: AbstractSet[str]) -> set[str]:
    """Who has to carry our skip label, and is not seen to yet."""
    return {name for name in _kept_out(view, open_) if not view.nodes[name].facts.is_skipped}


def clear(view: View, open_: AbstractSet[str] = frozenset()) -> Outcome:
    """What is due so that nothing of ours is left on any node or pool.

    At a good end the skip label of a node left behind stays: without it NVIDIA's controller would start the node as
    soon as it is Ready, and no limit of ours would hold. It goes when the ledger names the node.
    """
    acts, holds = _mark(view, set(), kept_out=set(), free=set(view.nodes) - _kept_out(view, open_))
    if acts or holds:
        return acts, holds
    return machine_pools.clear(view)


def let_in(view: View, open_: AbstractSet[str]) -> tuple[CampaignAct, ...]:
    """What NVIDIA's controller needs to move nodes: our skip labels gone, and a retry of those that failed."""
    acts: list[CampaignAct] = []
    for name in sorted(letting_in.let_in(view, open_)):
        facts = view.nodes[name].facts
        is_kept_out = facts.skipped_by == view.name
        has_failed = facts.nvidia_state == NodePhase.UPGRADE_FAILED.value
        if (is_kept_out or has_failed) and view.may_act(name):
            skip = False if is_kept_out else None
            expect = facts.resource_version
            acts.append(MarkNode(node=name, rollout=view.name, expect=expect, skip=skip, is_retry=has_failed))
    return tuple(acts[:MARKS_MAX])


def _kept_out(view: View, open_: AbstractSet[str]) -> AbstractSet[str]:
    """Who has to carry our skip label."""
    return view.mover.kept_out(view, open_)


def _mark(
    view: View, canaries: AbstractSet[str] | None, *, kept_out: AbstractSet[str], free: AbstractSet[str]
) -> Outcome:
    """Canaries marked as such, unless None; our skip label on those kept out, and on none of the free."""
    acts: list[CampaignAct] = []
    for name, node in sorted(view.nodes.items()):
        facts = node.facts
        is_marked, is_ours = facts.canary_of == view.name, facts.skipped_by == view.name
        canary = None if canaries is None or is_marked is (name in canaries) else name in canaries
        skip = None
        if name in kept_out and (not facts.is_skipped or is_label_left_over(facts, view.name, view.seen.others)):
            skip = True  # a person's label keeps the node out as well, and stays; ours comes back if it was taken away
        elif name in free and name not in kept_out and is_ours:
            skip = False
        if canary is not None or skip is not None:
            acts.append(MarkNode(node=name, rollout=view.name, expect=facts.resource_version, canary=canary, skip=skip))
    if not acts:
        return (), ()
    due = tuple(act for act in acts if view.may_act(act.subject))[:MARKS_MAX]
    until = None if due else min((at for act in acts if (at := view.again_at(act.subject)) is not None), default=None)
    return due, (view.hold(HoldCode.MARKS_PENDING, count=len(acts), node=_node_of(acts[0]), until=until),)


def _node_of(act: CampaignAct) -> str:
    return act.node if isinstance(act, MarkNode) else ""
