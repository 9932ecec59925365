"""A gate that real work answers: pods of tenants on the canary, each running for so long without a break.

    too few of them run there                  pending, until the gate's own limit; then unknown
    enough run, and not yet for long enough    pending
    enough have run for so long                passed
    a container of one ended since the driver was loaded, and was started again     failed

Law of this file: nobody's pods are brought to the canary for it, and none is kept there. How long they have run is
counted on our own clock, from the look that first saw them all: the row that says who runs stays while it says so.
A pod that ends for good is one less that runs, and no failure: whether it ended well nobody can tell from here.

Tests: tests/core/judging/test_tenanting.py
"""

from __future__ import annotations

from seatrial.core.errors import CoreBug
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.gates.gate import Gate, GateResult, GateVerdict, Measurement, Tenant
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.selectors import Selector
from seatrial.core.text.names import a_few, number_of


def measured(
    gate: Gate, facts: NodeFacts, number: int, before: GateResult | None, *, since: Instant, now: Instant
) -> Measurement:
    """How the work of tenants stands on a node; `before` is the row of the last look in this round.

    They have had the time to come `since` then: a node that is closed takes nobody.
    """
    asked = gate.tenant
    if asked is None:
        raise CoreBug(f"gate {gate.name} asks for no tenant's work")
    limit_at = since + gate.timeout_seconds + asked.seconds
    found = _pods(asked, facts)
    broken = [pod for pod in found if _has_restarted(pod, facts)]
    running = [pod for pod in found if pod.is_running]
    told = f"{len(running)} of {number_of(asked.pods, 'pod')} with {asked.pod_selector} running there"
    if broken:
        verdict, detail = GateVerdict.FAILED, f"{a_few(_named(broken))} restarted since the driver was loaded"
    elif len(running) < asked.pods:
        verdict, detail = GateVerdict.PENDING if now < limit_at else GateVerdict.UNKNOWN, told
    else:
        detail = f"{told}: {a_few(_named(running))}"
        began = before.at if before is not None and before.detail == detail else now
        is_enough = now >= began + asked.seconds
        late = GateVerdict.PENDING if now < limit_at else GateVerdict.UNKNOWN
        verdict = GateVerdict.PASSED if is_enough else late
    # Asking anew brings nobody: what is unknown is so at the last try.
    return Measurement(gate=gate.name, node=facts.name, round=number, attempt=TRIES_MAX, verdict=verdict, detail=detail)


def _pods(asked: Tenant, facts: NodeFacts) -> list[Pod]:
    selector = Selector.parse(asked.pod_selector)
    alive = (pod for pod in facts.gpu_pods if not pod.is_terminating and not pod.is_probe)
    return [pod for pod in alive if selector.matches(dict(pod.labels))]


def _has_restarted(pod: Pod, facts: NodeFacts) -> bool:
    """Both times are the kubelet's, in whole seconds; what ended before the driver was there has nothing to do with it,
    and what ended in the same second may have: unknown is never a pass."""
    loaded_at = facts.driver.loaded_at if facts.driver is not None else None
    return pod.restarted_at is not None and loaded_at is not None and pod.restarted_at >= loaded_at


def _named(pods: list[Pod]) -> list[str]:
    return sorted(pod.full_name for pod in pods)
