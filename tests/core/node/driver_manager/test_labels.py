"""The operands' labels, paused and given back: exact values, in both directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.node.driver_manager import labels

MARK = "paused-for-driver-upgrade"


@pytest.mark.parametrize(
    ("value", "paused"),
    [
        ("", ""),
        ("false", "false"),
        ("true", MARK),
        ("on-demand", f"on-demand_{MARK}"),
        (MARK, MARK),
        (f"on-demand_{MARK}", f"on-demand_{MARK}"),
        ("pre-installed", f"pre-installed_{MARK}"),
    ],
)
def test_a_label_is_paused(value: str, paused: str) -> None:
    assert labels.paused(value) == paused


@pytest.mark.parametrize(
    ("value", "back"),
    [
        ("", ""),
        ("false", "false"),
        ("true", "true"),
        (MARK, "true"),
        (f"on-demand_{MARK}", "on-demand"),
        (f"{MARK}_on-demand", "on-demand"),
        ("on_demand", "on_demand"),
    ],
)
def test_a_label_is_given_back(value: str, back: str) -> None:
    assert labels.given_back(value) == back


@given(st.from_regex(r"[a-z0-9]([-a-z0-9_.]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda text: MARK not in text))
def test_whatever_is_paused_comes_back_as_it_was(value: str) -> None:
    assert labels.given_back(labels.paused(value)) == value
    assert labels.paused(labels.paused(value)) == labels.paused(value)


def test_only_what_is_there_and_differs_is_written() -> None:
    seen = {"a": "true", "b": "false", "c": MARK}
    assert labels.changes(seen, ("a", "b", "c", "d"), labels.paused) == (("a", MARK),)


def test_the_driver_the_dra_driver_and_the_status_exporter_are_no_operands_that_are_paused_first() -> None:
    names = {each.name for each in labels.OPERANDS}
    assert names == {
        "operator-validator",
        "container-toolkit",
        "device-plugin",
        "gpu-feature-discovery",
        "dcgm-exporter",
        "dcgm",
        "nvsm",
        "sandbox-validator",
        "sandbox-device-plugin",
        "vgpu-device-manager",
        "dra-validator",
        "dcgm-dra",
        "dcgm-exporter-dra",
        "mig-manager",
        "client",
    }
