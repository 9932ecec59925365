"""Making NVIDIA's controller forget: after a way back, nodes that waited for their turn must not be emptied in vain.

Its controller writes upgrade-required on every node whose driver differs from the template, kept out or not, and never
looks at the need again: a node let in after the version went back would be cordoned and emptied for nothing. Switched
off it strips its states, and switched on again it finds everybody in order. That is within what we may write: the
resource's policy, never its states. Tests: tests/core/movers/test_delegating.py
"""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.actions.of_campaigns import SetAutoUpgrade
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.movers.view import Outcome, View
from seatrial.core.node.progress import carrier_of, resource_of


def forgetting(view: View) -> CampaignRecord:
    """The record with whether states are being forgotten: it begins when some are in the way, ends when all is well."""
    record = view.record
    if not record.is_forgetting:
        return replace(record, is_forgetting=bool(_waiting(view)))
    return replace(record, is_forgetting=bool(_waiting(view)) or not _is_on(view))


def forget(view: View) -> Outcome:
    """Off while there are states to forget, on again when there are none."""
    if not view.record.is_forgetting:
        return (), ()
    waiting = len(_waiting(view))
    for resource, is_on in _movers(view):
        mine = (node.facts for node in view.nodes.values() if resource_of(node.facts, view.operator) == resource)
        has_states = any(facts.nvidia_state for facts in mine)
        if (is_on and waiting) or (not is_on and not waiting and not has_states):
            expect = carrier_of(resource, view.operator).resource_version
            act = SetAutoUpgrade(rollout=view.name, resource=resource, value=not is_on, expect=expect)
            return view.act(act, HoldCode.STATES_PENDING, nodes=waiting)
    return (), (view.hold(HoldCode.STATES_PENDING, nodes=waiting),)


def _waiting(view: View) -> tuple[str, ...]:
    """Nodes with a state that would empty them in vain; one that runs another driver would only get it again."""
    required = NodePhase.UPGRADE_REQUIRED.value
    found = sorted(view.nodes.items())
    return tuple(name for name, node in found if node.facts.nvidia_state == required and node.facts.is_driver_in_sync)


def _is_on(view: View) -> bool:
    return all(is_on for _, is_on in _movers(view))


def _movers(view: View) -> tuple[tuple[str, bool], ...]:
    """The resources by which NVIDIA's controller is switched on and off, and whether it is on."""
    operator = view.operator
    if operator.pools:
        return tuple((f"NVIDIADriver/{pool.name}", pool.is_auto_upgrading) for pool in operator.pools)
    return ((operator.kind, operator.is_auto_upgrading),)
