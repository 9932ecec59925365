"""What can be said to be on a node, and what cannot. Live: tests/e2e/test_plan_steps.py."""

from __future__ import annotations

import pytest

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout.noting import check_version, component_of, observation_of
from seatrial.core.compat.matrix import Component


@pytest.mark.parametrize("text", ["firmware_cx7", "firmware-cx7", "firmware"])
def test_a_component_is_named_as_in_the_matrix(text: str) -> None:
    assert component_of(text) is Component.FIRMWARE_CX7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bios", "'bios' is no component of a version matrix that people tell of; those are openshift, os"),
        ("kernel", "kernel is seen by itself, in the node's status.nodeInfo.kernelVersion"),
        ("driver", "gpu_driver is seen by itself, in the driver pods"),
    ],
)
def test_what_is_seen_or_unknown_is_nobodys_to_say(text: str, said: str) -> None:
    with pytest.raises(CalledWrongly, match=said):
        component_of(text)


def test_what_can_be_no_version_is_refused() -> None:
    with pytest.raises(CalledWrongly, match="is unreadable"):
        check_version(Component.FIRMWARE_CX7, "newest")


def test_a_node_that_is_named_twice_is_meant_once() -> None:
    seen = observation_of("firmware", "28.43.2026", ("gpu-2", "gpu-1", "gpu-2"), is_all=False)
    assert (seen.component, seen.nodes) == (Component.FIRMWARE_CX7, ("gpu-2", "gpu-1"))
