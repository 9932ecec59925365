"""What a rollout is to bring: a driver, and what goes with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import VersionInvalid
from seatrial.core.model.target import Target

FIRMWARE = (Component.FIRMWARE_CX7, "28.43.2026")


def test_a_target_says_the_version_of_each_component_and_of_no_other() -> None:
    target = Target.of("580.105.08", FIRMWARE)
    assert target.driver.text == "580.105.08"
    assert target.version_of(Component.GPU_DRIVER) == "580.105.08"
    assert target.version_of(Component.FIRMWARE_CX7) == "28.43.2026"
    assert target.version_of(Component.KERNEL) == ""


def test_targets_are_the_same_when_their_versions_mean_the_same() -> None:
    assert Target.of("565.77") == Target.of("565.77.00")
    assert Target.of("565.77", FIRMWARE) != Target.of("565.77")


BY_HAND = replace(Target.of("560.35.03", (Component.GPU_OPERATOR, "v25.10.0")), is_by_hand=True)


@pytest.mark.parametrize("target", [Target.of("560.35.03"), Target.of("560.35.03", FIRMWARE), BY_HAND], ids=str)
def test_a_target_is_read_again_from_its_text(target: Target) -> None:
    again = Target.parse(str(target))
    assert again == target
    assert str(again) == str(target)


def test_what_people_move_by_hand_is_not_published() -> None:
    ours = Target.of("560.35.03", (Component.GPU_OPERATOR, "v25.10.0"))
    assert (ours.components, ours.published) == ((Component.GPU_OPERATOR,), "560.35.03, gpu_operator v25.10.0")
    assert (BY_HAND.components, BY_HAND.published) == ((), "560.35.03")
    assert BY_HAND.version_of(Component.GPU_OPERATOR) == "v25.10.0"


def test_a_driver_alone_is_its_version() -> None:
    assert str(Target.of("560.35.03")) == "560.35.03"


@pytest.mark.parametrize("text", ["soon", "580.105.08, firmware_cx7 soon", "580.105.08, weather 1.2", ""])
def test_a_text_that_names_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"unreadable|is not a valid Component"):
        Target.parse(text)
    with pytest.raises(VersionInvalid):
        Target.of("580.105.08", (Component.KERNEL, "soon"))
