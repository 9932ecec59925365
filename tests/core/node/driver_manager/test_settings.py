"""What the environment says to a driver manager: every default, every format, and every bad value told at once."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.model.selectors import Selector
from seatrial.core.node.driver_manager import settings
from seatrial.core.node.driver_manager.settings import VARIABLES, Form, Settings, SettingsInvalid, read_settings

NODE = {"NODE_NAME": "gpu-17"}

FIELDS: dict[str, tuple[str, Any, str, Any]] = {
    "NODE_NAME": ("node", "gpu-17", "gpu-18", "gpu-18"),
    "ENABLE_GPU_POD_EVICTION": ("is_evicting", True, "false", False),
    "ENABLE_AUTO_DRAIN": ("is_draining", True, "0", False),
    "DRAIN_USE_FORCE": ("is_forceful", False, "T", True),
    "DRAIN_POD_SELECTOR_LABEL": ("selector", Selector(), "team=a", Selector.parse("team=a")),
    "DRAIN_TIMEOUT_SECONDS": ("timeout_seconds", 0.0, "5m30s", 330.0),
    "DRAIN_DELETE_EMPTYDIR_DATA": ("takes_empty_dirs", False, "True", True),
    "OPERATOR_NAMESPACE": ("namespace", "gpu-operator", "nvidia", "nvidia"),
    "NODE_LABEL_FOR_GPU_POD_EVICTION": ("custom_label", "", "example.com/gpu", "example.com/gpu"),
    "GPU_DIRECT_RDMA_ENABLED": ("has_rdma", False, "1", True),
    "USE_HOST_MOFED": ("has_host_mofed", False, "true", True),
    "FORCE_REINSTALL": ("is_reinstalling", False, "t", True),
    "DRIVER_CONFIG_DIGEST": ("digest", "", "abc", "abc"),
}
"""By variable: the field, its default, another value as text, and that value."""

BAD = {
    Form.SWITCH: ("yes", "Write true or false."),
    Form.DURATION: ("300", "Write 300s."),
    Form.SELECTOR: ("a in (b", "Write a selector as kubectl takes it"),
    Form.LABEL: ("no spaces here", "Write the key of a node's label"),
    Form.NAMESPACE: ("GPU_Operator", "Write the namespace of the GPU Operator"),
}


def test_every_variable_has_its_line_here() -> None:
    assert set(FIELDS) == {each.name for each in VARIABLES}


@pytest.mark.parametrize("name", FIELDS)
def test_a_variable_that_is_not_set_has_its_default(name: str) -> None:
    field, default, _, _ = FIELDS[name]
    assert getattr(read_settings(NODE), field) == default


def test_the_defaults_of_the_table_are_those_of_the_values() -> None:
    assert read_settings(NODE) == Settings(node="gpu-17")


@pytest.mark.parametrize("name", FIELDS)
def test_a_variable_that_is_set_is_read(name: str) -> None:
    field, _, text, value = FIELDS[name]
    assert getattr(read_settings({**NODE, name: text}), field) == value


@pytest.mark.parametrize("variable", [each for each in VARIABLES if each.form in BAD], ids=lambda each: each.name)
def test_a_bad_value_is_told_with_what_to_write(variable: settings.Variable) -> None:
    text, instead = BAD[variable.form]
    with pytest.raises(SettingsInvalid) as told:
        read_settings({**NODE, variable.name: text})
    assert str(told.value).startswith(f"{variable.name} in the environment: ")
    assert text in str(told.value)
    assert instead in str(told.value)


def test_a_node_that_is_not_named_is_told_with_where_its_name_stands() -> None:
    with pytest.raises(SettingsInvalid, match="Set it from the pod's own field"):
        read_settings({})


def test_all_bad_values_are_told_at_once() -> None:
    with pytest.raises(SettingsInvalid) as told:
        read_settings({"DRAIN_TIMEOUT_SECONDS": "300", "FORCE_REINSTALL": "maybe"})
    assert [line.split()[0] for line in str(told.value).splitlines()] == [
        "NODE_NAME",
        "DRAIN_TIMEOUT_SECONDS",
        "FORCE_REINSTALL",
    ]


def test_a_switch_that_is_set_to_nothing_is_off_as_nvidias_has_it() -> None:
    assert not read_settings({**NODE, "ENABLE_GPU_POD_EVICTION": ""}).is_evicting


@pytest.mark.parametrize("text", sorted(settings.TRUE))
def test_what_go_takes_for_true_is_true(text: str) -> None:
    assert settings.is_on(text)


@pytest.mark.parametrize("text", ["yes", "on", "tRUE", "2", " true"])
def test_what_go_does_not_take_for_a_boolean_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        settings.is_on(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("0s", 0), ("300s", 300), ("5m", 300), ("1h30m", 5400), ("1.5s", 1.5), (".5m", 30), ("250ms", 0.25)],
)
def test_a_duration_is_read_as_go_reads_it(text: str, seconds: float) -> None:
    assert settings.seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "300", "5", "s", "5 m", "1d", "5minutes", "-5s", "1h-5m", "1e3s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|less than nothing"):
        settings.seconds_of(text)
