"""What can be said to be on a node, and what cannot. Live: tests/e2e/test_plan_steps.py."""

from __future__ import annotations

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout.observed import check_version, component_of
from seatrial.cli.rollout.spec import CalledWrongly
from seatrial.core.compat.matrix import Component


@pytest.mark.parametrize("text", ["firmware_cx7", "firmware-cx7", "firmware"])
def test_a_component_is_named_as_in_the_matrix(text: str) -> None:
    assert component_of(text) is Component.FIRMWARE_CX7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bios", "'bios' is no component of a version matrix that people tell of; those are openshift, gpu_operator"),
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


def test_nodes_are_named_or_all_are_meant(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("gpu-1", "--all")):
        assert main(["rollout", "observed", "firmware_cx7", "28.43.2026", *words]) == ExitCode.USAGE
        assert "name the nodes on which it was observed" in capsys.readouterr().err
