"""What a driver manager is told, in a file of a deployer: by name, in its place, and nothing else changes."""

from __future__ import annotations

import difflib

import pytest
import yaml

from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.published import driver_version
from seatrial.adapters.files.switched import carrying, manager_env, set_strategy, set_switches, update_strategy
from seatrial.core.actions.at_home import Publish
from seatrial.core.model.campaign import PublishStep, Via

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


# ── how DaemonSets replace pods ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "daemonsets",
    [
        "",
        "daemonsets:\n",
        "daemonsets: {}\n",
        "daemonsets:\n  updateStrategy: RollingUpdate  # as shipped\n  labels: {a: b}\n",
        "daemonsets:\n  updateStrategy:\n",
        'daemonsets: {labels: {a: b}, updateStrategy: "RollingUpdate"}\n',
        "daemonsets: {labels: {a: b}} # ours\n",
        "daemonsets:\n  # ours\n  labels: {a: b}\n  tolerations:\n  - key: x\n",
    ],
)
def test_the_strategy_is_set_wherever_it_is_to_stand_and_everything_else_stays(daemonsets: str) -> None:
    before = (
        f"driver:\n  version: 570.86.15 # here\n  manager: {{}}\n{daemonsets}toolkit: {{enabled: true}}\n# last words\n"
    )
    after = set_strategy(before, "values", "OnDelete")
    then, now = yaml.safe_load(before), yaml.safe_load(after)
    assert now == {**then, "daemonsets": {**(then.get("daemonsets") or {}), "updateStrategy": "OnDelete"}}
    assert [part for part in ("# here", "# as shipped", "# ours", "# last words") if part in before] == [
        part for part in ("# here", "# as shipped", "# ours", "# last words") if part in after
    ]
    assert update_strategy(after, "values") == "OnDelete"
    assert set_strategy(after, "values", "OnDelete") == after


def test_a_cluster_policy_has_it_below_its_spec() -> None:
    before = a_policy("version: 570.86.15")
    after = set_strategy(before, POLICY, "OnDelete")
    assert yaml.safe_load(after)["spec"]["daemonsets"] == {"updateStrategy": "OnDelete"}
    assert yaml.safe_load(after)["spec"]["driver"] == {"version": "570.86.15"}


@pytest.mark.parametrize(
    ("text", "resource", "says"),
    [
        ("driver: {version: 1}\ndaemonsets: all\n", "values", "f.yaml:2:1: `daemonsets` is not what it should be here"),
        ("driver: {version: 1}\nd: &d {}\ndaemonsets: *d\n", "values", "behind an anchor"),
        ("driver: {version: 1}\ndaemonsets: {updateStrategy: [1]}\n", "values", "not a text on one line"),
        ("toolkit: {version: 1}\n", "values", "says no driver.version"),
        (
            "apiVersion: nvidia.com/v1\nkind: NVIDIADriver\nmetadata: {name: a}\nspec: {version: 1}\n",
            "NVIDIADriver/a",
            "does not say how operands are replaced",
        ),
    ],
)
def test_a_strategy_that_cannot_be_set_in_its_place_is_refused(text: str, resource: str, says: str) -> None:
    with pytest.raises(EditRefused, match=says):
        set_strategy(text, resource, "OnDelete", "f.yaml")


def test_one_commit_has_versions_and_strategy() -> None:
    act = Publish(
        rollout="spring",
        step=PublishStep.CANARY,
        versions=((POLICY, "580.65.06, container_toolkit v1.18.1"),),
        via=Via.GIT,
        on_delete=True,
    )
    text = a_policy("version: 570.86.15").replace("{enabled: true}", "{version: v1.17.0}")
    assert yaml.safe_load(carrying(act, "gpu.yaml", text))["spec"] == {
        "driver": {"version": "580.65.06"},
        "daemonsets": {"updateStrategy": "OnDelete"},
        "toolkit": {"version": "v1.18.1"},
    }
    values = "driver:\n  version: 570.86.15\ntoolkit:\n  version: v1.17.0\n"
    assert carrying(act, "values.yaml", values) == (
        "driver:\n  version: 580.65.06\ndaemonsets:\n  updateStrategy: OnDelete\ntoolkit:\n  version: v1.18.1\n"
    )
