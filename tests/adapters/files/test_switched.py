"""What a driver manager is told, in a file of a deployer: by name, in its place, and nothing else changes."""

from __future__ import annotations

import difflib

import pytest
import yaml

from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.published import driver_version
from seatrial.adapters.files.switched import manager_env, set_switches

OFF = {"ENABLE_GPU_POD_EVICTION": "false", "ENABLE_AUTO_DRAIN": "false"}
HEAD = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: gpu}\nspec:\n"
POLICY = "ClusterPolicy/gpu"


def a_policy(driver: str) -> str:
    """A ClusterPolicy whose driver says this."""
    return (
        HEAD + "  driver:\n" + "".join(f"    {line}\n" for line in driver.splitlines()) + "  toolkit: {enabled: true}\n"
    )


FULL = """\
version: "570.86.15"  # bumped by the rollout
manager:  # init container
  image: k8s-driver-manager
  env:
    # ours since 2024
    - name: DRAIN_USE_FORCE
      value: "true"
    - name: ENABLE_GPU_POD_EVICTION   # as shipped
      value: "true"
  version: v0.9
rdma: {enabled: false}"""


def added(before: str, after: str) -> list[str]:
    """The lines that are new; none may be gone but those that changed."""
    return [line[2:].strip() for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] == "+"]


def test_an_entry_that_is_there_changes_in_its_place_and_another_is_added_behind() -> None:
    before = a_policy(FULL)
    after = set_switches(before, POLICY, OFF)
    assert added(before, after) == ['value: "false"', "- name: ENABLE_AUTO_DRAIN", 'value: "false"']
    env = yaml.safe_load(after)["spec"]["driver"]["manager"]["env"]
    assert [(each["name"], each["value"]) for each in env] == [
        ("DRAIN_USE_FORCE", "true"),
        ("ENABLE_GPU_POD_EVICTION", "false"),
        ("ENABLE_AUTO_DRAIN", "false"),
    ]
    assert "# ours since 2024" in after
    assert "# as shipped" in after


@pytest.mark.parametrize(
    "driver",
    [
        "version: 570.86.15",
        "version: 570.86.15  # here\nrdma: {enabled: false}",
        "version: 570.86.15\nmanager:\n  image: k8s-driver-manager",
        "version: 570.86.15\nmanager: {}",
        "version: 570.86.15\nmanager:\n",
        "version: 570.86.15\nmanager: {env: []}",
        "version: 570.86.15\nmanager:\n  env:\n  image: x",
        "manager:\n  env:\n  - name: A\n    value: b\n# last words\nversion: 570.86.15",
        "version: 570.86.15\nmanager: {image: x, env: [{name: A, value: b}]}",
        "manager:\n  env:\n    - {name: ENABLE_AUTO_DRAIN, value: true}\nversion: 570.86.15",
    ],
)
def test_wherever_it_is_to_stand_everything_else_stays(driver: str) -> None:
    before = a_policy(driver)
    after = set_switches(before, POLICY, OFF)
    then, now = yaml.safe_load(before), yaml.safe_load(after)
    others = [
        each for each in (then["spec"]["driver"].get("manager") or {}).get("env") or () if each["name"] not in OFF
    ]
    env = now["spec"]["driver"]["manager"].pop("env")
    assert {each["name"]: each["value"] for each in env} == {**{each["name"]: each["value"] for each in others}, **OFF}
    manager = now["spec"]["driver"].pop("manager")
    old = then["spec"]["driver"].pop("manager", None) or {}
    old.pop("env", None)
    assert (manager, now) == (old, then)
    assert driver_version(after, POLICY) == "570.86.15"
    assert [line for line in before.splitlines() if "#" in line] == [line for line in after.splitlines() if "#" in line]
    assert set_switches(after, POLICY, OFF) == after


def test_an_nvidia_driver_and_a_values_file_have_it_elsewhere() -> None:
    pool = "apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nmetadata: {name: a}\nspec:\n  version: 570.86.15\n"
    env = yaml.safe_load(set_switches(pool, "NVIDIADriver/a", OFF))["spec"]["manager"]["env"]
    assert {each["name"]: each["value"] for each in env} == OFF
    values = "driver:\n  version: 570.86.15\n"
    env = yaml.safe_load(set_switches(values, "values", OFF))["driver"]["manager"]["env"]
    assert {each["name"]: each["value"] for each in env} == OFF


def test_line_breaks_are_those_of_the_file() -> None:
    before = a_policy(FULL).replace("\n", "\r\n")
    after = set_switches(before, POLICY, OFF)
    assert after.count("\n") == after.count("\r\n")
    assert manager_env(after, POLICY) == {"DRAIN_USE_FORCE": "true", **OFF}


@pytest.mark.parametrize(
    "driver",
    [
        "version: 570.86.15\nmanager:\n  env:\n  - name: ENABLE_AUTO_DRAIN\n    valueFrom: {fieldRef: {fieldPath: a}}",
        "version: 570.86.15\nmanager: &m\n  env: []\nother: *m",
        "version: 570.86.15\nmanager: text",
    ],
)
def test_what_cannot_be_set_in_its_place_is_refused(driver: str) -> None:
    with pytest.raises(EditRefused):
        set_switches(a_policy(driver), POLICY, OFF)
