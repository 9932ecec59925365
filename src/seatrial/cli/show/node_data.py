"""One node as it was seen, for scripts; who else tells of nodes asks here.

Tests: tests/cli/test_node.py, tests/cli/test_why.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from seatrial.core.holds import HoldCode
from seatrial.core.node.readiness import lacks_since
from seatrial.core.text.moments import moment

if TYPE_CHECKING:
    from seatrial.app.looking import Look
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.rollouts import Told


def as_data(node: NodeSeen, holds: Mapping[str, Told]) -> dict[str, Any]:
    """Everything that is known about one node, for scripts."""
    from seatrial.core.model.seen import marks

    facts, record = node.facts, node.record
    held = holds.get(node.name)
    return {
        "name": node.name,
        "state": record.phase.value if record else "",
        "nvidiaState": facts.nvidia_state,
        "attempt": record.attempt if record else 0,
        "since": moment(record.entered_at) if record else None,
        "reason": record.reason if record else "",
        "trouble": record.trouble if record else "",
        "failures": record.failures if record else 0,
        "driver": facts.driver.version if facts.driver else "",
        "driverReady": facts.driver is not None and facts.driver.is_ready,
        "wanted": facts.wanted.version if facts.wanted else "",
        "loaded": facts.loaded.version if facts.loaded else "",
        "owner": facts.owner,
        "ready": facts.is_ready,
        "cordoned": facts.is_cordoned,
        "cordonedBy": cordoned_by(node),
        "skipped": facts.is_skipped,
        "marks": [
            {
                "for": mark.neighbour,
                "key": mark.key,
                "value": mark.value,
                "by": mark.by,
                "since": moment(mark.since),
                "until": moment(mark.until),
            }
            for mark in marks.told(facts, record)
        ],
        "problems": [
            {"type": each.type, "reason": each.reason, "message": each.message, "since": moment(each.since)}
            for each in facts.problems
        ],
        "offers": dict(facts.offer.resources),
        "offeredBefore": dict(record.before.resources) if record and record.before else {},
        "gpuPods": [
            {"namespace": pod.namespace, "name": pod.name, "holdsBy": str(pod.gpu), "terminating": pod.is_terminating}
            for pod in facts.gpu_pods
        ],
        "hold": {  # worked out here, node by node: the status names the first of each reason only
            "code": str(held.code),
            "why": held.why,
            "next": held.next_step,
            "since": moment(held.since),
            "until": moment(held.until),
        }
        if held
        else None,
    }


def holds_of(found: Look) -> dict[str, Told]:
    """What each node waits for, worked out here: a status is too small to say so of every one."""
    from seatrial.app import waits
    from seatrial.app.outcome import standings_of
    from seatrial.core.node.progress import Progress

    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        return {}
    decision = waits.worked_out(found.sight, found.at)
    holds = reversed(decision.holds)
    told: dict[str, Told] = {
        held.subject: each for held in holds for each in waits.worked_out_of(waiting, decision, held)
    }
    to_do = found.sight.seen.nodes.keys() - standings_of(found.sight).get(Progress.DONE, ())
    queued = {name: waits.queued_of(waiting, [told[name]] if name in told else (), name) for name in to_do}
    return told | {name: each for name, each in queued.items() if each is not None}


def trouble_of(node: NodeSeen) -> str:
    """What is wrong with a node that no rollout waits for: it takes no work, or offers less than before."""
    if not node.facts.is_ready and not node.facts.unreadable:
        return "node-not-ready"
    if cordoned_by(node) == BY_ANOTHER:
        return "foreign-cordon"
    return next((lack.code.value for lack in lacks_since(node) if lack.code is HoldCode.OFFER_REDUCED), "")


BY_ANOTHER: Final = "somebody else"


def cordoned_by(node: NodeSeen) -> str:
    """Who closed a node; nobody is empty."""
    if not node.facts.is_cordoned:
        return ""
    return "seatrial" if node.record is not None and node.record.is_cordon_ours else BY_ANOTHER
