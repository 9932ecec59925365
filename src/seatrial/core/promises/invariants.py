"""All we promise, as code. Checked by the explorer, the property tests, the simulator, and live just before executing.

Each promise is a function of (Snapshot, Intent, Decision) in promises/ that returns what is broken about it; `broken`
runs them all.
A breach live stops the pass: nothing of it is executed; the journal, and the rollout by a hold of its own (refused.py),
say what was about to happen.

    capacity       our disruptions never take more of the fleet than the limits allow
    recorded       no disruptive act before its record has been seen
    admitted       no disruptive act on a node that the ledger does not name
    hands_off      a node cordoned, or marked skip, by somebody else stays so
    no_lost_node   each member is moving, done, or held with a reason
    one_act        at most one act per node per pass
    bounded        no more than ACTIONS_MAX acts a pass
    table          every phase opened is one the table allows
    proven         no node takes work again unless its driver is proven
    held_off       no driver is taken from under a pod that uses it, or on word older than the cordon
    whole          no node of a unit is let in without the members that need it, too; on the way back each goes alone
    aimed          nobody is disrupted for a driver that the rollout does not want, or that would not come
    closed         a node seen open between the delete of its driver and its proof is closed
    visited        no operand restarts outside a visit, needlessly, or with less taken than its restart takes
    one_cordon     a visit closes its node once
    until_when     who is closed for its jobs to end is told until when, and given back where nobody waits for them
    aside          nobody is closed, emptied, restarted or opened where the SR-IOV operator is at work

Of a campaign, besides:

    turn           its record walks along the table of phases, and what was proven or written down is not lost
    record_first   nothing is done in the pass that changes the record
    bake           the fleet follows, and the matrix is promoted, only after every gate passed for as long as asked
    accepted       nothing is promoted, or done, with failed nodes unless a person has accepted that
    measured       no canary of ours takes work before the gates that want its GPUs have passed
    way_back       no version is published without one to go back to
    overwritten    the way back leaves a version that somebody wrote after ours
    unopened       nobody starts before their turn
    on_time        nobody starts outside a window or while paused, whoever moves the nodes
    let_in         NVIDIA's controller may start only whom the ledger names, within the failures tolerated
    one_thing      nothing new is published while another campaign is under way
    rejected       an entry is marked bad for a verdict of ours, or on the word of the person who undoes the rollout

Tests: tests/core/promises/test_invariants.py, tests/core/promises/test_promises_alone.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.decision.decide import Decision
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.breach import Breach, Promise
from seatrial.core.promises.of_campaigns import (
    accepted,
    bake,
    let_in,
    measured,
    on_time,
    one_thing,
    overwritten,
    record_first,
    rejected,
    turn,
    unopened,
    way_back,
)
from seatrial.core.promises.of_fleets import admitted, bounded, capacity_kept, one_act, whole
from seatrial.core.promises.of_nodes import (
    aimed,
    aside,
    closed,
    hands_off,
    held_off,
    no_lost_node,
    one_cordon,
    proven,
    recorded,
    table,
    until_when,
    visited,
)


def broken(seen: Snapshot, intent: Intent, decision: Decision) -> tuple[Breach, ...]:
    """Every promise this decision would break; empty when it may be executed."""
    intent = intent.asking(seen.rollout.campaign)
    return tuple(breach for promise in PROMISES for breach in promise(seen, intent, decision))


PROMISES: Final[tuple[Promise, ...]] = (
    capacity_kept,
    recorded,
    admitted,
    hands_off,
    no_lost_node,
    one_act,
    bounded,
    table,
    proven,
    held_off,
    whole,
    aimed,
    closed,
    visited,
    one_cordon,
    until_when,
    aside,
    turn,
    record_first,
    bake,
    accepted,
    measured,
    way_back,
    overwritten,
    unopened,
    on_time,
    let_in,
    one_thing,
    rejected,
)
