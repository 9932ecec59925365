"""A status has an end: whatever gates, people and servers say, a rollout's status fits into etcd, and a cut shows.

Decided by the real core and shaped by the real adapter. Every text is of letters that take four bytes each, which is
the most that UTF-8 knows. That an API server takes it is in test_status_size_real.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.campaign.course import HISTORY_MAX
from seatrial.core.decision.decide import decide
from seatrial.core.decision.summary import TOLD_MAX, told_of
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase, Turn, Watched
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.text import foreign
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_ledger,
    a_node,
    a_rebuff,
    a_snapshot,
    an_intent,
    an_operator,
)

ETCD_BYTES: Final = 1_572_864
"""What etcd takes by default, of an object with its spec and its managed fields."""
WELL_BELOW: Final = ETCD_BYTES // 2
LONG: Final = "😀" * 20_000
NODES: Final = tuple(f"{number:03}-{'n' * 59}" for number in range(100))
"""As many canaries as may be named, each with a name as long as a label's value may be."""
GATES: Final = tuple(Gate(name=f"{number:02}-{'g' * 40}", image="example.com/gate:1") for number in range(16))


def size_of(record: RolloutRecord) -> int:
    patch = rollout_records.rollout_patch(record, models.Rollout())
    return len(json.dumps(patch["status"], ensure_ascii=False).encode())


def failed_everywhere() -> tuple[Measurement, ...]:
    return tuple(
        Measurement(gate=gate.name, node=node, round=1, attempt=1, verdict=GateVerdict.FAILED, detail=LONG)
        for node in NODES
        for gate in GATES
    )


def the_status(nodes: Iterable[NodeSeen], phase: RolloutPhase, **seen: Any) -> RolloutRecord:
    """What is written of a campaign of a hundred canaries, where everything that speaks speaks at length."""
    turns = tuple(Turn(phase=RolloutPhase.CANARY, at=float(number)) for number in range(HISTORY_MAX))
    campaign = a_campaign_record(
        phase,
        canaries=NODES,
        round=1,
        round_at=900.0,
        watched=tuple(Watched(node=name) for name in NODES),
        history=turns,
    )
    rebuffs = {name: a_rebuff(detail=foreign.lines(LONG, 300)) for name in NODES}
    snapshot = a_snapshot(
        *nodes, admitted=a_ledger(*NODES), campaign=campaign, rebuffs=rebuffs, operator=an_operator(NEW.version), **seen
    )
    intent = an_intent(campaign=a_campaign(gates=GATES, canary=replace(a_campaign().canary, nodes=NODES)))
    (written,) = [each for each in decide(snapshot, intent, NOW).actions if isinstance(each, WriteRolloutRecord)]
    return written.record


def failed_at_length() -> RolloutRecord:
    """A hundred canaries, sixteen gates, and each says on each without an end why it failed."""
    nodes = [a_done_node(name) for name in NODES]
    return the_status(nodes, RolloutPhase.GATING, measurements=failed_everywhere())


def test_a_hundred_canaries_that_fail_sixteen_gates_at_length_open_the_way_back_in_a_status_that_fits() -> None:
    """Named mutation: `detail_max` of judging/tries.py that always says DETAIL_MAX."""
    record = failed_at_length()
    assert record.campaign is not None
    assert record.campaign.phase is RolloutPhase.REVERTING
    assert len(record.campaign.gates) == 1_700
    assert size_of(record) < WELL_BELOW
    assert all(each.detail.endswith("…") for each in record.campaign.gates if each.verdict is GateVerdict.FAILED)


def test_a_hundred_canaries_that_failed_are_named_in_a_few_words() -> None:
    failed = [a_node(name, NodePhase.UPGRADE_FAILED) for name in NODES]
    record = the_status(failed, RolloutPhase.CANARY)
    assert record.campaign is not None
    assert "and 95 more" in record.campaign.why
    assert size_of(record) < WELL_BELOW


def test_what_a_phase_is_opened_for_is_remembered_in_short_however_long_it_is() -> None:
    snapshot = a_snapshot(campaign=a_campaign_record(RolloutPhase.CANARY))
    intent = an_intent(campaign=a_campaign(abort=LONG))
    (written,) = [each for each in decide(snapshot, intent, NOW).actions if isinstance(each, WriteRolloutRecord)]
    campaign = written.record.campaign
    assert campaign is not None
    assert campaign.why.endswith("…")
    assert campaign.history[-1].why.endswith("…")
    many = replace(written.record, campaign=replace(campaign, history=campaign.history[-1:] * HISTORY_MAX))
    assert size_of(many) < WELL_BELOW


def test_what_a_rollout_waits_for_is_told_in_words_that_have_an_end() -> None:
    holds = [hold("spring", HoldCode.ROLLBACK_PENDING, why=LONG, is_final="")] * (2 * TOLD_MAX)
    told = told_of(holds)
    assert len(told) == TOLD_MAX
    assert all(each.why.endswith("…") for each in told)
    assert len(msgspec.json.encode(told)) < ETCD_BYTES // 10
