"""The driver manager's switches: published with the version, taken back with it, and told of where others publish."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Mode, PublishStep, RolloutPhase, Switch, Via
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.movers import driver_manager, publishing
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Versions
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_ledger,
    a_node,
    a_snapshot,
    a_source,
    a_view,
    an_intent,
    an_old_node,
    an_operator,
)
from tests.core.words.explained import sentence

OFF = (("ENABLE_GPU_POD_EVICTION", "false"), ("ENABLE_AUTO_DRAIN", "false"))
WANTED, BASELINE = ((POLICY, NEW.version),), ((POLICY, OLD.version),)
BEFORE = (
    Switch(resource=POLICY, name="ENABLE_GPU_POD_EVICTION", value="true"),
    Switch(resource=POLICY, name="ENABLE_AUTO_DRAIN"),
)


def an_owner(version: str = OLD.version, switches: tuple[tuple[str, str], ...] = (), note: str = "") -> OperatorFacts:
    """An operator whose ClusterPolicy says this to the driver manager."""
    carrier = Carrier(name=POLICY, version=version, switches=switches, note=note)
    return an_operator(version, carriers=(carrier,))


def view(operator: OperatorFacts, via: Via = Via.DIRECT, **changes: Any) -> View:
    record = a_campaign_record(RolloutPhase.CANARY, switches=BEFORE)
    fields: dict[str, Any] = {"operator": operator, "campaign": record}
    seen = a_snapshot(an_old_node(), **(fields | changes))
    return a_view(seen, an_intent(campaign=a_campaign(publish=via)))


def publication(found: View, step: PublishStep, versions: Versions) -> Publish | None:
    acts, _ = publishing.publish(found, step, versions)
    return next((act for act in acts if isinstance(act, Publish)), None)


# ── with the version ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_it_was_told_before_is_written_down_value_or_absent() -> None:
    operator = an_owner(switches=(("ENABLE_GPU_POD_EVICTION", "true"),))
    found = view(operator)
    assert found.mover.switches(found) == BEFORE


@pytest.mark.parametrize(
    ("via", "mode"), [(Via.NOBODY, Mode.DIRECT), (Via.DIRECT, Mode.DELEGATED)], ids=["others publish", "NVIDIA moves"]
)
def test_where_it_is_not_ours_to_tell_nothing_is_written_down(via: Via, mode: Mode) -> None:
    found = view(an_owner(), via, campaign=a_campaign_record(RolloutPhase.CANARY, mode=mode))
    assert found.mover.switches(found) == ()


@pytest.mark.parametrize("via", [Via.DIRECT, Via.GIT])
def test_the_switches_are_published_with_the_version(via: Via) -> None:
    act = publication(view(an_owner(), via, source=a_source()), PublishStep.CANARY, WANTED)
    assert act is not None
    assert act.switches == driver_manager.off(POLICY)


def test_a_version_that_is_carried_without_the_switches_is_not_published_yet() -> None:
    act = publication(view(an_owner(NEW.version)), PublishStep.CANARY, WANTED)
    assert act is not None
    assert (act.versions, act.switches) == (WANTED, driver_manager.off(POLICY))
    synced = a_source(steps=((PublishStep.CANARY, "abc"),))
    _, holds = publishing.publish(view(an_owner(NEW.version), Via.GIT, source=synced), PublishStep.CANARY, WANTED)
    assert [held.code for held in holds] == [HoldCode.PUBLISH_PENDING]


def test_who_switches_it_on_again_is_not_overruled() -> None:
    operator = an_owner(NEW.version, (("ENABLE_GPU_POD_EVICTION", "true"),), note="spring/canary")
    acts, holds = publishing.publish(view(operator), PublishStep.FLEET, WANTED)
    assert acts == ()
    assert [held.code for held in holds] == [HoldCode.TAKEN_OVER]
    assert "ENABLE_GPU_POD_EVICTION=true" in explain.why(holds[0])


def test_the_way_back_restores_exactly_what_stood_there() -> None:
    operator = an_owner(NEW.version, OFF)
    act = publication(view(operator), PublishStep.REVERT, BASELINE)
    assert act is not None
    assert act.switches == BEFORE


def test_a_campaign_that_began_before_this_release_leaves_the_switches_alone() -> None:
    found = view(an_owner(), campaign=a_campaign_record(RolloutPhase.CANARY))
    act = publication(found, PublishStep.CANARY, WANTED)
    assert act is not None
    assert act.switches == ()


# ── where others publish ─────────────────────────────────────────────────────────────────────────────────────────────


def test_where_others_publish_the_lines_to_add_are_named_and_nobody_waits_for_them() -> None:
    seen = a_snapshot(an_old_node(), operator=an_owner(), campaign=a_campaign_record())
    course = step_rollout(seen, an_intent(campaign=a_campaign(publish=Via.NOBODY)), NOW)
    assert course.record.phase is RolloutPhase.CANARY
    told = next(held for held in course.holds if held.code is HoldCode.MANAGER_OPENS_NODES)
    text = sentence(told, NOW)
    assert "spec.driver.manager.env" in text
    assert all(name in text for name in driver_manager.SWITCHES)


def test_without_a_campaign_it_is_told_while_somebody_is_to_be_moved() -> None:
    def codes(*nodes: Any, operator: OperatorFacts) -> set[HoldCode]:
        seen = a_snapshot(*nodes, operator=operator, admitted=a_ledger("n1"))
        return {held.code for held in decide(seen, an_intent(), NOW).waits}

    waiting = a_node(phase=NodePhase.UPGRADE_REQUIRED)
    assert HoldCode.MANAGER_OPENS_NODES in codes(waiting, operator=an_owner(NEW.version))
    assert HoldCode.MANAGER_OPENS_NODES not in codes(waiting, operator=an_owner(NEW.version, OFF))
    assert HoldCode.MANAGER_OPENS_NODES not in codes(a_done_node(), operator=an_owner(NEW.version))


# ── sandbox workloads ────────────────────────────────────────────────────────────────────────────────────────────────

SANDBOXED = an_operator(is_sandboxed=True)


@pytest.mark.parametrize("mode", [None, Mode.DELEGATED])
def test_where_sandbox_workloads_keep_nvidias_controller_still_nobody_is_moved_unasked(mode: Mode | None) -> None:
    for intent in (an_intent(), an_intent(campaign=a_campaign(mode=mode))):
        seen = a_snapshot(a_node(phase=NodePhase.UPGRADE_REQUIRED), operator=SANDBOXED, campaign=a_campaign_record())
        decision = decide(seen, intent, NOW)
        assert decision.stop is not None
        assert decision.stop.code is HoldCode.SANDBOXED
        assert not [action for action in decision.actions if action.subject == "n1"]


def test_who_says_direct_outright_has_the_nodes_moved() -> None:
    seen = a_snapshot(an_old_node(), operator=SANDBOXED, campaign=a_campaign_record())
    assert decide(seen, an_intent(campaign=a_campaign(mode=Mode.DIRECT)), NOW).stop is None


def test_the_way_back_is_not_stopped_by_sandbox_workloads() -> None:
    record = replace(a_campaign_record(RolloutPhase.REVERTING), why="it failed")
    seen = a_snapshot(an_old_node(), operator=SANDBOXED, campaign=record)
    assert decide(seen, an_intent(campaign=a_campaign()), NOW).stop is None
