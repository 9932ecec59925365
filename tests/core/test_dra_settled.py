"""When a node is through with its driver: each way in which it is not, while its driver pod looks well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.movers.dra import settled as rule
from seatrial.core.movers.dra.values import DRIVER_LABEL, Why
from tests.builders import OLD, a_driver, a_new_driver, a_starting_driver, a_validator
from tests.core.dra_stage import DRIVERS, look, settled

UNSETTLED: list[tuple[dict[str, Any], Why, str]] = [
    ({"is_ready": False}, Why.NODE_NOT_READY, ""),
    ({"driver": None, "labels": {DRIVER_LABEL: "true"}}, Why.DRIVER_MISSING, ""),
    ({"driver": a_starting_driver()}, Why.DRIVER_NOT_READY, "driver-n1"),
    ({"driver": a_new_driver(is_terminating=True)}, Why.DRIVER_NOT_READY, "driver-n1"),
    ({"driver": a_new_driver(ready_since=None)}, Why.DRIVER_NOT_READY, "driver-n1"),
    ({"driver_set": None}, Why.SET_UNKNOWN, "driver-n1"),
    ({"wanted": None}, Why.SET_UNKNOWN, "driver-n1"),
    ({"driver_set": replace(DRIVERS, is_seen=False)}, Why.TEMPLATE_UNSEEN, "nvidia-driver-daemonset"),
    ({"driver": a_driver()}, Why.NOT_MIGRATED, "driver-n1"),
    *(
        ({"nvidia_state": phase.value}, Why.UNDER_WAY, phase.value)
        for phase in NodePhase
        if phase is not NodePhase.UPGRADE_DONE
    ),
    ({"nvidia_state": "post-maintenance-required"}, Why.UNDER_WAY, "post-maintenance-required"),
    ({"paused_labels": ("nvidia.com/gpu.deploy.dcgm",)}, Why.PAUSED, "nvidia.com/gpu.deploy.dcgm"),
    ({"validator": a_validator(is_terminating=True)}, Why.VALIDATOR_MISSING, ""),
    ({"validator": a_validator(is_ready=False)}, Why.VALIDATOR_NOT_READY, "validator-n1"),
]


@pytest.mark.parametrize(("changes", "why", "about"), UNSETTLED)
def test_a_node_is_not_settled_when(changes: dict[str, Any], why: Why, about: str) -> None:
    node = settled(**changes)
    assert rule.why_unsettled(node, look(node)) == (why, about)


@pytest.mark.parametrize("state", ["", "upgrade-done"])
def test_a_node_with_the_wanted_driver_that_nobody_is_at_work_on_is_settled(state: str) -> None:
    node = settled(nvidia_state=state)
    assert rule.why_unsettled(node, look(node)) is None


def test_a_validator_from_before_the_driver_is_enough() -> None:
    """Nothing says that it would ever be started again, and then the plugin would stay stale for good."""
    node = settled(validator=a_validator(ready_since=100.0))
    assert rule.why_unsettled(node, look(node)) is None


def test_where_validators_are_switched_off_none_is_asked_for() -> None:
    node = settled(validator=None)
    assert rule.why_unsettled(node, look(node)) is None
    other = settled("n2")
    assert rule.why_unsettled(node, look(node, other)) == (Why.VALIDATOR_MISSING, "")


def test_the_newest_revision_may_be_that_of_the_template_before() -> None:
    """Right after the change of a template its pods seem to be of the newest revision: there is no newer one yet."""
    node = settled(driver=a_driver(), wanted=OLD, driver_set=replace(DRIVERS, is_seen=False))
    assert rule.why_unsettled(node, look(node)) == (Why.TEMPLATE_UNSEEN, "nvidia-driver-daemonset")


def test_a_driver_that_the_host_brings_has_no_pod_to_wait_for() -> None:
    for labels, sets in (({}, (DRIVERS,)), ({DRIVER_LABEL: "pre-installed"}, (DRIVERS,)), ({DRIVER_LABEL: "true"}, ())):
        node = settled(driver=None, labels=labels)
        assert rule.why_unsettled(node, look(node, sets=sets)) is None


def test_a_driver_pod_between_two_lives_is_not_taken_for_the_hosts_driver() -> None:
    node = settled(driver=None, labels={DRIVER_LABEL: "true"})
    assert rule.is_managed(node.node.facts, look(node))
    assert rule.why_unsettled(node, look(node)) == (Why.DRIVER_MISSING, "")
