"""What can be said to be on a node, and what cannot. Live: tests/e2e/test_plan_steps.py."""

from __future__ import annotations

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout.noting import Where, check_version, component_of, observation_of
from seatrial.core.compat.matrix import Component
from seatrial.core.model.selectors import Selector


@pytest.mark.parametrize("text", ["firmware_cx7", "firmware-cx7", "firmware"])
def test_a_component_is_named_as_in_the_matrix(text: str) -> None:
    assert component_of(text) is Component.FIRMWARE_CX7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bios", "'bios' is not a component that people report; those are openshift, os"),
        ("kernel", "kernel is detected automatically, in the node's status.nodeInfo.kernelVersion"),
        ("driver", "gpu_driver is detected automatically, in the driver pods"),
    ],
)
def test_what_is_seen_or_unknown_is_nobodys_to_say(text: str, said: str) -> None:
    with pytest.raises(CalledWrongly, match=said):
        component_of(text)


def test_what_can_be_no_version_is_refused() -> None:
    with pytest.raises(CalledWrongly, match="is unreadable"):
        check_version(Component.FIRMWARE_CX7, "newest")


def test_a_node_that_is_named_twice_is_meant_once() -> None:
    seen = observation_of("firmware", "28.43.2026", Where(nodes=("gpu-2", "gpu-1", "gpu-2")))
    assert (seen.component, seen.where.nodes) == (Component.FIRMWARE_CX7, ("gpu-2", "gpu-1"))


@pytest.mark.parametrize(
    "where", [Where(), Where(nodes=("a",), is_all=True), Where(nodes=("a",), selector=Selector.parse("pool=a"))]
)
def test_nodes_are_meant_in_one_way_only(where: Where) -> None:
    with pytest.raises(CalledWrongly, match="choose them with -l"):
        observation_of("firmware", "28.43.2026", where)
