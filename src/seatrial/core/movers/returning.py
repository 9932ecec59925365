"""Who is back on the driver it ran before, who is not, and whose turn it is to go there.

Law of this file: who never left is not touched, and who cannot go back any more is taken out by a person. Tests:
tests/core/campaign/test_rollout.py
"""

from __future__ import annotations

from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress, carries, is_out_of_reach, wants


def away(view: View) -> frozenset[str]:
    """Who is not back yet, of those whom the way back concerns."""
    return frozenset(name for name in _not_back(view) if not _is_out(view, name))


def taken_out(view: View) -> tuple[str, ...]:
    """Who is not back and does not come any more, in order of name."""
    return tuple(sorted(name for name in _not_back(view) if _is_out(view, name)))


def whose_turn(view: View) -> frozenset[str]:
    """Who may go back now: their old version is wanted again."""
    return frozenset(name for name in away(view) if wants(view.nodes[name].facts, view.way_back(name)))


def _not_back(view: View) -> set[str]:
    return {name for name, node in view.nodes.items() if _is_touched(node) and not _is_back(view, name)}


def _is_out(view: View, name: str) -> bool:
    node = view.nodes[name]
    return is_out_of_reach(node, view.mover.progress(node, view.way_back(name)))


def _is_touched(node: NodeSeen) -> bool:
    """Whether the way back concerns a node: we have a record of it, or it does not run what is wanted."""
    return node.record is not None or bool(node.facts.nvidia_state) or not node.facts.is_in_sync


def _is_back(view: View, name: str) -> bool:
    """Whether a node runs what it ran before, and nothing is under way there."""
    node, version = view.nodes[name], view.way_back(name)
    how = view.progress(name, version)
    if how is Progress.DONE:
        return True
    # Who never left the old driver has nowhere to go back to, also while its DaemonSet still carries the new one.
    is_idle = node.record is None or node.record.phase is NodePhase.UPGRADE_DONE
    is_moving = how in (Progress.MOVING, Progress.FAILED)
    driver = node.facts.driver
    is_well = is_idle and not is_moving and driver is not None and driver.is_ready
    return is_well and (carries(node.facts, version) or _is_left_to_others(view, name))


def _is_left_to_others(view: View, name: str) -> bool:
    """Whether somebody has published another version for a node since, so that where it goes is theirs to say.

    NVIDIA's controller would start it in any case, so there it follows within our limits.
    """
    resources = {resource for resource, _ in view.taken_over}
    return not view.mover.starts_by_itself and not resources.isdisjoint(view.resources_of(name))
