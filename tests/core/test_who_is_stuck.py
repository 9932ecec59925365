"""Who is stuck, and who is torn: small stories of fleets in which one thing is wrong, and what becomes of the others."""

from __future__ import annotations

from typing import Any

from seatrial.core.actions import WriteRolloutRecord
from seatrial.core.campaign import RolloutPhase
from seatrial.core.decide import Decision, decide
from seatrial.core.holds import HoldCode
from seatrial.core.intent import Intent
from seatrial.core.invariants import broken
from seatrial.core.snapshot import DriverRevision, NodePhase, NodeSeen, OperatorFacts, Snapshot
from seatrial.core.versions import DriverVersion
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_campaign,
    a_campaign_record,
    a_ledger,
    a_new_driver,
    a_node,
    a_snapshot,
    an_intent,
    an_operator,
)

FORWARD = an_operator(NEW.version)
BACK = an_operator(OLD.version)
THIRD = DriverRevision(hash="third", version="590.44.01")
REQUIRED = NodePhase.UPGRADE_REQUIRED
CLIQUE = "nvidia.com/gpu.clique"


def careful(campaign: dict[str, Any] | None = None, **changes: Any) -> Intent:
    """A campaign, by default with room for everybody at once."""
    room: dict[str, Any] = {"parallel_max": 0, "unavailable_max": "100%"}
    return an_intent(campaign=a_campaign(**(campaign or {})), **(room | changes))


def at(
    phase: RolloutPhase,
    *nodes: NodeSeen,
    record: dict[str, Any] | None = None,
    operator: OperatorFacts = FORWARD,
    **changes: Any,
) -> Snapshot:
    """A campaign in a phase, over these nodes."""
    written = a_campaign_record(phase, **(record or {}))
    return a_snapshot(*nodes, campaign=written, operator=operator, **changes)


def decided(seen: Snapshot, intent: Intent, now: float = NOW) -> Decision:
    """What is decided, which must keep every promise."""
    decision = decide(seen, intent, now)
    assert broken(seen, intent, decision) == ()
    return decision


def admitted_by(decision: Decision) -> list[str]:
    """Who is in the ledger that is written."""
    written = [action.record.admitted for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    return [admission.node for admission in written[0]] if written else []


def codes(decision: Decision, subject: str) -> list[HoldCode]:
    return [held.code for held in decision.holds if held.subject == subject]


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def failed(name: str, revision: DriverRevision = NEW, **changes: Any) -> NodeSeen:
    """A node that was given up on its way to a revision, under our cordon."""
    notes = {"reason": "driver-timeout", "failed_revision": revision.hash, "failures": 1}
    return a_node(name, NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=notes, **changes)


def test_failures_on_the_way_back_do_not_keep_the_others_on_a_rejected_driver() -> None:
    """Two of four did not get back, and one failure is tolerated: the other two go back all the same."""
    stuck = [failed(name, OLD, wanted=OLD, driver=a_new_driver(name)) for name in ("n1", "n2")]
    waiting = [a_node(name, REQUIRED, wanted=OLD, driver=a_new_driver(name)) for name in ("n3", "n4")]
    seen = at(RolloutPhase.REVERTING, *stuck, *waiting, operator=BACK, admitted=a_ledger("n1", "n2"))
    decision = decided(seen, careful())
    assert admitted_by(decision) == ["n1", "n2", "n3", "n4"]
    assert not [held for held in decision.holds if held.code is HoldCode.FAILURE_BUDGET]


def test_an_intent_that_went_back_is_not_stopped_by_those_who_failed_on_the_way_there() -> None:
    """They are dead, and nobody knows what is wanted there; the living have nothing to learn from their failure."""
    dead = [failed(name, NEW, wanted=None, driver=None, is_ready=False) for name in ("n1", "n2")]
    living = [a_node(name, REQUIRED, wanted=OLD, driver=a_new_driver(name)) for name in ("n3", "n4")]
    back = an_intent(target=DriverVersion.parse(OLD.version), parallel_max=0, unavailable_max="100%")
    decision = decided(a_snapshot(*dead, *living, admitted=a_ledger("n1", "n2")), back)
    assert admitted_by(decision) == ["n1", "n2", "n3", "n4"]


def test_failures_still_stop_the_way_forward() -> None:
    given_up = [failed(name) for name in ("n1", "n2")]
    seen = a_snapshot(*given_up, a_node("n3", REQUIRED), admitted=a_ledger("n1", "n2"))
    decision = decided(seen, an_intent(parallel_max=0, unavailable_max="100%"))
    assert codes(decision, "n3") == [HoldCode.FAILURE_BUDGET]
