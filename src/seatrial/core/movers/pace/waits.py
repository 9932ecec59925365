"""What each node of NVIDIA's upgrade controller lacks before it can go on.

Law of this file: read off the facts, as its controller reads them; nothing is remembered.
Tests: tests/core/movers/test_pace.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.selectors import Selector
from seatrial.core.movers.pace.values import Seen, Stay, Wait, WaitCode
from seatrial.core.movers.slots import policy_of
from seatrial.core.text.names import a_few


def lacks_of(seen: Seen) -> dict[str, tuple[WaitCode, str]]:
    """What each node lacks that is neither done nor unknown to its controller, by name."""
    waiting = (node for node in seen.nodes.values() if _is_waiting(node))
    return {node.name: _lack(node, seen.operator) for node in waiting}


def _is_waiting(node: NodeFacts) -> bool:
    if node.nvidia_state == NodePhase.UPGRADE_DONE:
        return _is_overlooked(node)
    return node.nvidia_state != ""


def _is_overlooked(node: NodeFacts) -> bool:
    """Whether a done node has a new driver to get, which its controller has not seen.

    It looks when a DaemonSet's template changes, which may be before the new revision is there to compare with."""
    driver = node.driver
    is_settled = driver is not None and not driver.is_terminating and not driver.is_orphaned
    return is_settled and node.wanted is not None and not node.is_in_sync


def waits_of(lacks: Mapping[str, tuple[WaitCode, str]], stays: Mapping[str, Stay]) -> Iterable[Wait]:
    """The same as waits."""
    for name, (code, what) in sorted(lacks.items()):
        stay = stays[name]
        yield Wait(node=name, state=stay.state, code=code, what=what, wake_count=stay.wake_count)


def _lack(node: NodeFacts, operator: OperatorFacts) -> tuple[WaitCode, str]:
    match node.nvidia_state:
        case NodePhase.UPGRADE_REQUIRED:
            return (WaitCode.SKIPPED if node.is_skipped else WaitCode.TURN), ""
        case NodePhase.UPGRADE_DONE:
            return (WaitCode.SKIPPED if node.is_skipped else WaitCode.LOOK), ""
        case NodePhase.WAIT_FOR_JOBS_REQUIRED:
            return _lack_of_jobs(node, operator)
        case NodePhase.POD_DELETION_REQUIRED | NodePhase.DRAIN_REQUIRED:
            return WaitCode.PODS, a_few((pod.full_name for pod in node.gpu_pods), 1)
        case NodePhase.NODE_MAINTENANCE_REQUIRED:
            return WaitCode.MAINTENANCE, ""
        case NodePhase.POD_RESTART_REQUIRED:
            return _lack_of_driver(node)
        case NodePhase.VALIDATION_REQUIRED:
            return _lack_of_validator(node)
        case NodePhase.CORDON_REQUIRED | NodePhase.UNCORDON_REQUIRED:
            return WaitCode.STEP, ""
        case NodePhase.UPGRADE_FAILED:
            return WaitCode.FAILED, ""
    return WaitCode.STATE_UNKNOWN, ""


def _lack_of_jobs(node: NodeFacts, operator: OperatorFacts) -> tuple[WaitCode, str]:
    try:
        selector = Selector.parse(policy_of(node, operator).jobs_selector or "")
    except ValueError:
        return WaitCode.STEP, ""  # its controller cannot read it either, and says so
    if selector.is_empty:
        return WaitCode.STEP, ""
    running = [pod.full_name for pod in node.pods if selector.matches(dict(pod.labels))]
    return (WaitCode.JOBS, a_few(running, 1)) if running else (WaitCode.LOOK, "")


def _lack_of_driver(node: NodeFacts) -> tuple[WaitCode, str]:
    driver = node.driver
    if driver is None or driver.is_terminating or not node.is_in_sync:
        return WaitCode.DRIVER_STOPPING, driver.name if driver else ""
    return (WaitCode.LOOK, "") if driver.is_ready else (WaitCode.DRIVER_STARTING, driver.trouble)


def _lack_of_validator(node: NodeFacts) -> tuple[WaitCode, str]:
    if node.validator is None or node.validator.is_terminating:
        return WaitCode.VALIDATOR_MISSING, ""
    return (WaitCode.LOOK if node.validator.is_ready else WaitCode.VALIDATOR_STARTING), node.validator.name
