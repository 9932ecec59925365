"""Whatever is seen, one look after the other: with and without a memory of the nodes, the same is decided.

The looks are drawn, not played, so that they show what no world would; each differs from the one before in a few
things, and in whatever order time, people and the cluster come up with. The rehearsals beside this file make the same
comparison in every pass, in worlds that hang together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.decision.decide import decide
from seatrial.core.decision.remembered import Remembered
from seatrial.core.errors import CoreBug
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.intent import Domain, Intent, Order, Requestor, Retries
from seatrial.core.model.policy import Drain, Share
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_campaign,
    a_campaign_record,
    a_driver,
    a_gpu_pod,
    a_ledger,
    a_new_driver,
    a_node,
    a_rebuff,
    a_snapshot,
    a_starting_driver,
    a_validator,
    an_intent,
    an_operator,
    proving,
)
from tests.properties.drawn import drawn

pytestmark = pytest.mark.slow

NAMES = ("n1", "n2", "n3", "n4")
RACK = "rack"
MARKS_OF_A_NODE: tuple[dict[str, Any], ...] = (
    {},
    {"is_ready": False},
    {"is_cordoned": True},
    {"is_cordoned": False},
    {"is_skipped": True},
    {"is_skipped": True, "skipped_by": "spring"},
    {"is_requested": True},
    {"is_retry_asked": True},
    {"is_label_lost": True},
    {"fault": RecordFault.EDITED, "fault_text": "?"},
    {"awaits_safe_load": True},
    {"nvidia_state": "upgrade-required"},
    {"nvidia_state": "drain-required"},
    {"nvidia_state": "upgrade-done"},
    {"nvidia_state": "upgrade-failed"},
    {"owner": "a100"},
    {"wanted": None},
    {"wanted": OLD},
    {"record": {"reopened_count": 1, "has_lost_driver": True}},
    {"record": {"failures": 1, "failed_revision": NEW.hash}},
    {"canary_of": "spring"},
)
times = st.sampled_from([NOW - 100_000, NOW - 100, NOW - 5, NOW - 1, NOW])


@st.composite
def nodes(draw: st.DrawFn, name: str = "n1") -> NodeSeen:
    phase = draw(st.sampled_from([None, *NodePhase, *NodePhase]))
    driver = draw(st.sampled_from([a_driver, a_new_driver, a_starting_driver, None]))
    pods = tuple(
        replace(a_gpu_pod(number, offers_checkpoint=number == 1), uid=f"{name}-{number}")
        for number in range(draw(st.integers(0, 2)))
    )
    maintenance = Maintenance(namespace="default", name="m", uid="m", resource_version="1", requestor="seatrial")
    marks = draw(st.sampled_from(MARKS_OF_A_NODE)) | draw(st.sampled_from(MARKS_OF_A_NODE))
    fields: dict[str, Any] = {
        "driver": driver(name) if driver is not None else None,
        "validator": draw(st.sampled_from([a_validator(name), proving(name), None])),
        "is_cordon_ours": draw(st.booleans()),
        "entered_at": draw(times),
        "pods": pods,
        "labels": {RACK: draw(st.sampled_from(["r1", "r2"]))},
        "maintenance": draw(st.sampled_from([None, None, maintenance])),
        "attempt": draw(st.integers(1, 2)),
    }
    return a_node(name, phase, **(fields | marks))


fleets = st.tuples(*(nodes(name) for name in NAMES))
intents = st.builds(
    an_intent,
    parallel_max=st.integers(0, 3),
    unavailable_max=st.sampled_from([0, 1, 3, "50%"]),
    failed_max=st.integers(0, 4),
    drain=st.sampled_from([Drain(), Drain(is_enabled=True)]),
    domains=st.sampled_from(
        [(), (Domain(label=RACK, unavailable_max=Share(amount=1)),), (Domain(label=RACK, is_unit=True),)]
    ),
    order=st.sampled_from(list(Order)),
    retries=st.sampled_from([Retries(), Retries(count_max=1)]),
    requestor=st.sampled_from([None, None, Requestor(id="seatrial")]),
    is_paused=st.sampled_from([False, False, False, True]),
    campaign=st.sampled_from([None, None, a_campaign(), a_campaign(mode=Mode.DIRECT)]),
)
ledgers = st.builds(
    lambda names, attempt: a_ledger(*sorted(names), attempt=attempt),
    st.frozensets(st.sampled_from(NAMES)),
    st.integers(1, 2),
)
rebuffs = st.dictionaries(
    st.sampled_from([*NAMES, *(f"{name}-{number}" for name in NAMES for number in range(2)), "rollout/spring"]),
    st.builds(a_rebuff, at=times, count=st.integers(1, 15), code=st.sampled_from(["failed", "blocked"])),
    max_size=3,
)
busy = st.dictionaries(
    st.sampled_from([*NAMES, "rollout/spring"]), st.sampled_from([None, NOW - 1, NOW + 4]), max_size=2
)
campaigns = st.builds(
    a_campaign_record,
    st.sampled_from(list(RolloutPhase)),
    mode=st.sampled_from([Mode.DIRECT, Mode.DIRECT, Mode.DELEGATED]),
    canaries=st.sampled_from([("n1",), ("n2", "n3"), ()]),
    baked_seconds=st.sampled_from([0.0, 10.0]),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one pass sees."""

    seen: Snapshot
    intent: Intent
    now: float = NOW


@st.composite
def first_looks(draw: st.DrawFn) -> Look:
    intent = draw(intents)
    operator = an_operator(draw(st.sampled_from([OLD.version, NEW.version])), is_auto_upgrading=draw(st.booleans()))
    seen = a_snapshot(
        *draw(fleets),
        admitted=draw(ledgers),
        rebuffs=draw(rebuffs),
        busy=draw(busy),
        attentive_since=draw(times),
        operator=operator,
        campaign=draw(campaigns) if intent.campaign is not None else None,
    )
    return Look(seen=seen, intent=intent)


CHANGES = ("time", "node", "node", "gone", "came", "ledger", "rebuffs", "busy", "attention", "intent", "campaign")
CHANGES_OF_ALL = ("paused", "deleted", "blind", "published", "moved on", "nothing")


@st.composite
def next_looks(draw: st.DrawFn, look: Look) -> Look:
    """The same a moment later: one thing is different."""
    seen, what = look.seen, draw(st.sampled_from([*CHANGES, *CHANGES_OF_ALL]))
    name = draw(st.sampled_from(NAMES))
    match what:
        case "time":
            return replace(look, now=look.now + draw(st.sampled_from([-50.0, 1.0, 4.0, 30.0, 60.0, 700.0, 100_000.0])))
        case "node" | "came":
            return replace(look, seen=replace(seen, nodes={**seen.nodes, name: draw(nodes(name))}))
        case "gone":
            rest = {each: node for each, node in seen.nodes.items() if each != name}
            return replace(look, seen=replace(seen, nodes=rest))
        case "ledger":
            return replace(look, seen=replace(seen, rollout=replace(seen.rollout, admitted=draw(ledgers))))
        case "rebuffs":
            return replace(look, seen=replace(seen, rebuffs=draw(rebuffs)))
        case "busy":
            return replace(look, seen=replace(seen, busy=draw(busy)))
        case "attention":
            return replace(look, seen=replace(seen, attentive_since=look.now))
        case "intent":
            return replace(look, intent=replace(draw(intents), campaign=look.intent.campaign))
        case "campaign" if look.intent.campaign is not None:
            return replace(look, seen=replace(seen, rollout=replace(seen.rollout, campaign=draw(campaigns))))
        case "paused":
            return replace(look, intent=replace(look.intent, is_paused=not look.intent.is_paused))
        case "deleted":
            return replace(look, seen=replace(seen, is_deleting=not seen.is_deleting))
        case "blind":
            is_synced = draw(st.booleans())
            return replace(
                look, seen=replace(seen, freshness=(Freshness(source="pods", is_synced=is_synced, heard_at=look.now),))
            )
        case "published":
            wanted = draw(st.sampled_from([OLD, NEW, replace(NEW, hash="third", version="999.1.1")]))
            moved = {each: replace(node, facts=replace(node.facts, wanted=wanted)) for each, node in seen.nodes.items()}
            return replace(look, seen=replace(seen, nodes=moved))
        case "moved on":
            operator = replace(seen.operator, is_auto_upgrading=not seen.operator.is_auto_upgrading)
            return replace(look, seen=replace(seen, operator=operator))
        case _:
            return look


def outcome_of(look: Look, remembered: Remembered | None) -> object:
    """What is decided; some of what is drawn contradicts itself, and is refused, by both alike."""
    try:
        return decide(look.seen, look.intent, look.now, remembered)
    except CoreBug as bug:
        return str(bug)


@given(st.data())
@settings(max_examples=drawn(200), deadline=None)
def test_a_memory_of_the_nodes_changes_no_answer(data: st.DataObject) -> None:
    look, remembered = data.draw(first_looks()), Remembered()
    for number in range(data.draw(st.integers(2, 12))):
        assert outcome_of(look, remembered) == outcome_of(look, None), number
        look = data.draw(next_looks(look))
        if data.draw(st.sampled_from([False] * 9 + [True])):
            remembered = Remembered()  # lost
