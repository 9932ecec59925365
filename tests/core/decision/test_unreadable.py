"""Objects that cannot be read: what waits for them, by name, and what goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Uncordon
from seatrial.core.decision.decide import decide
from seatrial.core.decision.unreadable import why_unreadable
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.problems import UnreadableObject
from seatrial.core.promises import invariants
from tests.builders import NOW, a_gpu_pod, a_ledger, a_node, a_snapshot, a_well_node, an_intent

NODE = UnreadableObject(kind="nodes", name="n1", why="ValueError: a date")
DRIVER_POD = UnreadableObject(kind="pods", namespace="gpu-operator", name="driver-x", why="ValueError: a date")
TENANTS_POD = UnreadableObject(kind="pods", namespace="team-a", name="train-0", why="KeyError", is_tenants=True)
POLICY = UnreadableObject(kind="clusterpolicies", name="gpu", why="TypeError: a number")


def held_by(subject: str, found: UnreadableObject) -> Hold:
    return hold(subject, HoldCode.UNREADABLE_OBJECT, object=found.full_name, why=found.why, get=found.command)


def waiting(*unreadable: UnreadableObject, name: str = "n1") -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_REQUIRED, unreadable=unreadable)


@pytest.mark.parametrize("found", [NODE, DRIVER_POD, TENANTS_POD], ids=lambda each: each.full_name)
def test_a_node_about_which_something_cannot_be_read_is_not_admitted_and_the_next_one_is(
    found: UnreadableObject,
) -> None:
    seen = a_snapshot(waiting(found), waiting(name="n2"))
    decision = decide(seen, an_intent(), NOW)
    assert decision.holds == (held_by("n1", found), hold("n2", HoldCode.LEDGER_PENDING))
    assert decision.stop is None
    assert not invariants.broken(seen, an_intent(), decision)


@pytest.mark.parametrize("found", [NODE, DRIVER_POD, TENANTS_POD], ids=lambda each: each.full_name)
def test_pods_are_not_evicted_while_something_about_their_node_cannot_be_read(found: UnreadableObject) -> None:
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordoned=True, pods=(a_gpu_pod(1),), unreadable=(found,))
    seen = a_snapshot(node, admitted=a_ledger("n1"))
    assert [held for held in decide(seen, an_intent(), NOW).holds if held.subject == "n1"] == [held_by("n1", found)]


def opens(*, policy: bool = False, **facts: Any) -> bool:
    """Whether a proven node is given back to its users; `policy` is an object about no node that cannot be read."""
    node = a_well_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, **facts)
    seen = replace(a_snapshot(node, admitted=a_ledger("n1")), unreadable_objects=(POLICY,) if policy else ())
    return any(isinstance(act, Uncordon) for act in decide(seen, an_intent(), NOW).actions)


def test_a_tenants_pod_that_cannot_be_read_does_not_keep_a_proven_node_from_its_users() -> None:
    assert opens(unreadable=(TENANTS_POD,))


def test_a_node_that_cannot_be_read_itself_is_not_given_back_to_its_users() -> None:
    assert not opens(unreadable=(NODE,))


def test_while_an_object_about_no_node_cannot_be_read_no_node_is_given_back_to_its_users() -> None:
    assert not opens(policy=True)


def test_an_object_about_no_node_stops_every_disruption_by_its_name() -> None:
    seen = replace(a_snapshot(waiting(), waiting(name="n2")), unreadable_objects=(POLICY,))
    decision = decide(seen, an_intent(), NOW)
    assert decision.stop == held_by("spring", POLICY)
    assert {held.code for held in decision.holds} == {HoldCode.UNREADABLE_OBJECT}


@pytest.mark.parametrize("is_ready", [True, False])
def test_a_tenants_pod_that_cannot_be_read_leaves_its_node_as_available_as_it_is(is_ready: bool) -> None:
    assert a_node(is_ready=is_ready).unreadable((TENANTS_POD,)).facts.is_ready is is_ready
    assert not a_node(is_ready=is_ready).unreadable((TENANTS_POD, DRIVER_POD)).facts.is_ready


def test_of_several_the_first_by_name_is_told() -> None:
    assert why_unreadable("n1", (TENANTS_POD, DRIVER_POD)) == held_by("n1", DRIVER_POD)
    assert why_unreadable("n1", ()) is None


def test_the_command_that_shows_an_object_quotes_its_name() -> None:
    found = UnreadableObject(kind="pods", namespace="team a", name="x; reboot", why="a date")
    assert found.command == "kubectl get pods 'x; reboot' -n 'team a' -o yaml"


def test_a_rollout_that_is_set_aside_holds_itself_and_no_other() -> None:
    seen = replace(a_snapshot(waiting()), set_aside=(("autumn", "ZeroDivisionError"),))
    decision = decide(seen, an_intent(), NOW)
    assert decision.holds == (
        hold("autumn", HoldCode.SET_ASIDE, why="ZeroDivisionError"),
        hold("n1", HoldCode.LEDGER_PENDING),
    )
