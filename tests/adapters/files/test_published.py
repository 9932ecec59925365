"""Versions set in a file of a deployer: their values change, or nothing does and the reason is said."""

from __future__ import annotations

import difflib
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.published import driver_version, set_driver_version, set_versions, versions_in

POLICY = """\
# The fleet, as Argo CD applies it.
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata:
  name: cluster-policy
spec:
  driver:
    enabled: true
    version: "570.86.15"  # bumped by the rollout, never by hand
    upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 1}
  toolkit:
    version: v1.17.0
"""
DRIVERS = """\
---
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: pool-a}
spec:
  nodeSelector: {pool: a}
  version: 570.86.15
--- # the other pool
apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata: {name: pool-b}
spec:
  nodeSelector: {pool: b}
  version: '570.86.15'   # one behind
"""
VALUES = """\
defaults: &defaults
  enabled: true
driver:
  <<: *defaults
  version: 570.86.15
dcgm: *defaults
"""


def changed(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


@pytest.mark.parametrize(
    ("text", "resource", "line"),
    [
        (POLICY, "ClusterPolicy/cluster-policy", '    version: "580.65.06"  # bumped by the rollout, never by hand'),
        (DRIVERS, "NVIDIADriver/pool-a", "  version: 580.65.06"),
        (DRIVERS, "NVIDIADriver/pool-b", "  version: '580.65.06'   # one behind"),
        (VALUES, "values", "  version: 580.65.06"),
        (POLICY + DRIVERS, "NVIDIADriver/pool-b", "  version: '580.65.06'   # one behind"),
        (
            "\ufeff" + POLICY,
            "ClusterPolicy/cluster-policy",
            '    version: "580.65.06"  # bumped by the rollout, never by hand',
        ),
    ],
)
def test_one_line_changes_and_nothing_in_it_but_the_version(text: str, resource: str, line: str) -> None:
    edited = set_driver_version(text, resource, "580.65.06", "fleet.yaml")
    assert changed(text, edited)[1] == f"+ {line}"
    assert edited.replace("580.65.06", "570.86.15") == text
    assert [driver_version(text, resource), driver_version(edited, resource)] == ["570.86.15", "580.65.06"]


def test_line_ends_of_windows_stay() -> None:
    text = DRIVERS.replace("\n", "\r\n")
    edited = set_driver_version(text, "NVIDIADriver/pool-b", "580.65.06")
    assert edited == text.replace("'570.86.15'", "'580.65.06'")


def test_a_version_that_yaml_would_take_for_a_number_is_quoted() -> None:
    edited = set_driver_version(VALUES, "values", "580")
    assert '  version: "580"\n' in edited
    assert driver_version(edited, "values") == "580"


@pytest.mark.parametrize("written", ["version:", "version: # later", 'version: ""', "version: ~"])
def test_an_empty_value_is_no_version_and_can_be_filled(written: str) -> None:
    text = f"driver:\n  {written}\n  enabled: true\n"
    assert driver_version(text, "values") is None
    edited = set_driver_version(text, "values", "580.65.06")
    assert yaml.safe_load(edited) == {"driver": {"version": "580.65.06", "enabled": True}}


def test_a_flow_mapping_is_edited_in_place() -> None:
    text = 'driver: {enabled: true, "version": 570.86.15, rdma: {enabled: true}} # all in one\n'
    assert set_driver_version(text, "values", "580.65.06") == text.replace("570.86.15", "580.65.06")


def test_other_documents_may_be_anything() -> None:
    deep = "kind: CustomResourceDefinition\n" + "".join(f"{'  ' * level}a{level}:\n" for level in range(30))
    text = f"{{{{ if .Values.x }}}}\n---\n{deep}---\n{POLICY}"
    assert set_driver_version(text, "ClusterPolicy/cluster-policy", "580.65.06") == text.replace(
        "570.86", "580.65"
    ).replace("580.65.15", "580.65.06")


@given(
    st.lists(
        st.sampled_from([POLICY, DRIVERS, "# words\n", "kind: Namespace\n", "a: |\n  ---\n  kind: ClusterPolicy\n"])
    )
)
def test_whatever_stands_around_it_stays(before: list[str]) -> None:
    others = [part.replace("pool-b", "pool-x") for part in before]
    text = "\n---\n".join([*others, DRIVERS, *others])
    ahead, name, rest = text.partition("pool-b")
    edited = set_driver_version(text, "NVIDIADriver/pool-b", "580.65.06")
    assert edited == ahead + name + rest.replace("570.86.15", "580.65.06", 1)


# ── refused ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def refusal(text: str, resource: str, version: str = "580.65.06") -> str:
    with pytest.raises(EditRefused) as caught:
        set_driver_version(text, resource, version, "fleet.yaml")
    return str(caught.value)


def test_a_scope_that_does_not_exist_is_refused_by_name() -> None:
    text = POLICY.replace("    enabled: true\n", "    enabled: true\n    nodeSelector: {gpu-canary: 'true'}\n")
    said = refusal(text, "ClusterPolicy/cluster-policy")
    assert said.startswith("fleet.yaml:9:5: `driver.nodeSelector` does not exist in the ClusterPolicy's CRD")
    assert "the whole fleet rolls" in said
    assert "one NVIDIADriver per pool" in said
    assert driver_version(text, "ClusterPolicy/cluster-policy") == "570.86.15", "reading it is harmless"


def test_the_same_scope_in_a_values_file_is_refused_too() -> None:
    said = refusal("driver:\n  version: 570.86.15\n  nodeSelector:\n    gpu-canary: 'true'\n", "values")
    assert said.startswith("fleet.yaml:3:3: `driver.nodeSelector`")


@pytest.mark.parametrize(
    ("text", "resource", "says"),
    [
        (POLICY, "ClusterPolicy/other", r"fleet\.yaml:1:1: ClusterPolicy/other is not in this file"),
        (POLICY.replace("nvidia.com/v1", "example.com/v1"), "ClusterPolicy/cluster-policy", "is not in this file"),
        ("", "NVIDIADriver/pool-a", "is not in this file"),
        (POLICY + "---\n" + POLICY, "ClusterPolicy/cluster-policy", r"fleet\.yaml:15:1: .* twice, in line 2 and here"),
        (
            POLICY.replace("    enabled: true\n", "    version: 1\n"),
            "ClusterPolicy/cluster-policy",
            r"fleet\.yaml:9:5: `version` is given twice, in line 8",
        ),
        ("driver:\n  enabled: true\n", "values", r"fleet\.yaml:1:1: The values file says no driver\.version"),
        ("driver: [1]\n", "values", r"says no driver\.version"),
        ("- a list\n", "values", r"says no driver\.version"),
        ("v: &v 570.86.15\ndriver:\n  version: *v\n", "values", r"fleet\.yaml:3:12: .* alias"),
        ("driver:\n  version: &v 570.86.15\nother: *v\n", "values", r"fleet\.yaml:2:12: .* anchor"),
        ("driver: &d\n  version: 570.86.15\nother: *d\n", "values", r"fleet\.yaml:1:9: .* anchor"),
        ("driver:\n  version: !!str 570.86.15\n", "values", r"fleet\.yaml:2:12: .* tag"),
        ("d: &d {version: 1}\ndriver:\n  <<: *d\n", "values", r"fleet\.yaml:3:3: `version` is not written here"),
        ("driver:\n  version: |\n    570.86.15\n", "values", r"fleet\.yaml:2:3: .* not a text on one line"),
        ("driver:\n  version: {a: b}\n", "values", r"fleet\.yaml:2:3: .* not a text on one line"),
        ("driver:\n  version: 'a\n\n    b'\n", "values", r"fleet\.yaml:2:3: .* not a text on one line"),
        ("driver:\n\tversion: 1\n", "values", r"fleet\.yaml:2:1: A tab indents this line"),
        ("driver: [\n", "values", r"fleet\.yaml:1:\d+: This is not YAML"),
        ("driver: {version: 1}\n---\ndriver: {version: 2}\n", "values", r"fleet\.yaml:3:1: The values file is in this"),
    ],
)
def test_what_cannot_be_done_by_one_value_is_refused_with_its_place(text: str, resource: str, says: str) -> None:
    assert re.match(f".*{says}", refusal(text, resource))


@pytest.mark.parametrize(
    "resource", ["", "ClusterPolicy", "ClusterPolicy/", "DaemonSet/x", "values/x", "NVIDIADriver/A B"]
)
def test_a_resource_without_a_driver_version_is_refused(resource: str) -> None:
    assert "names nothing that has a driver version" in refusal(POLICY, resource)


@pytest.mark.parametrize("version", ["", "580.65.06\nenabled: false", "a b", "{x}"])
def test_a_text_that_is_no_version_is_refused(version: str) -> None:
    assert "is not a driver version" in refusal(VALUES, "values", version)


def test_reading_says_nothing_where_nothing_is_said() -> None:
    assert [driver_version(POLICY, "NVIDIADriver/pool-a"), driver_version("", "values")] == [None, None]
    assert driver_version("driver:\n  enabled: true\n", "values") is None


# ── operands ──────────────────────────────────────────────────────────────────────────────────────────────────────────

RELEASE = "580.65.06, container_toolkit v1.18.1, device_plugin v0.18.0"
OPERANDS = """\
driver: {version: 570.86.15}
toolkit:
  repository: nvcr.io/nvidia/k8s  # the mirror follows
  version: v1.17.0-ubuntu20.04
devicePlugin:
  version: 'v0.17.0' # with the toolkit
dcgmExporter: {version: 4.1.0-4.0.2}
"""


def test_all_versions_of_a_release_are_set_in_their_places_and_nothing_else_changes() -> None:
    edited = set_versions(OPERANDS, "values", RELEASE, "values.yaml")
    assert [line for line in changed(OPERANDS, edited) if line.startswith("+")] == [
        "+ driver: {version: 580.65.06}",
        "+   version: v1.18.1",
        "+   version: 'v0.18.0' # with the toolkit",
    ]
    assert versions_in(edited, "values", RELEASE) == RELEASE
    assert versions_in(OPERANDS, "values", RELEASE) == (
        "570.86.15, container_toolkit v1.17.0-ubuntu20.04, device_plugin v0.17.0"
    )
    assert versions_in(edited, "values", "580.65.06, dcgm 4.1.0-4.0.2") == "580.65.06, dcgm 4.1.0-4.0.2"


def test_a_cluster_policy_has_them_below_its_spec_and_the_driver_may_stay() -> None:
    edited = set_versions(POLICY, "ClusterPolicy/cluster-policy", "570.86.15, container_toolkit v1.18.1")
    assert edited == POLICY.replace("v1.17.0", "v1.18.1")


@pytest.mark.parametrize(
    ("text", "resource", "version", "says"),
    [
        (POLICY, "ClusterPolicy/cluster-policy", RELEASE, r"fleet\.yaml:2:1: .* says no spec\.devicePlugin\.version\."),
        (POLICY, "ClusterPolicy/cluster-policy", RELEASE, "with the version that runs now"),
        (OPERANDS, "values", "580.65.06, gfd v0.18.0", r"fleet\.yaml:1:1: The values file says no gfd\.version"),
        (OPERANDS, "values", "580.65.06, container_toolkit a b", "'a b' is not a container_toolkit version"),
        (OPERANDS, "values", "580.65.06, gpu_operator v25.10.0", "has no place for a version of gpu_operator"),
        (DRIVERS, "NVIDIADriver/pool-a", RELEASE, "has no place for a version of container_toolkit.*ClusterPolicy"),
        (
            "driver: {version: 1}\nv: &v v1\ntoolkit:\n  version: *v\n",
            "values",
            "2, container_toolkit v2",
            r"fleet\.yaml:4:12: The container_toolkit version of the values file is behind an anchor",
        ),
    ],
)
def test_one_that_has_no_value_of_its_own_there_refuses_all(text: str, resource: str, version: str, says: str) -> None:
    with pytest.raises(EditRefused) as caught:
        set_versions(text, resource, version, "fleet.yaml")
    assert re.match(f".*{says}", str(caught.value))


def test_what_is_not_said_whole_is_not_said() -> None:
    assert versions_in(POLICY, "ClusterPolicy/cluster-policy", RELEASE) is None
    assert versions_in("toolkit: {version: v1}\n", "values", RELEASE) is None


# ── the network driver ───────────────────────────────────────────────────────────────────────────────────────────────

NETWORK = """\
---
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  ofedDriver:
    image: doca-driver
    version: 24.10-0.7.0.0-0  # moved by a rollout
"""
NIC = "NicClusterPolicy/nic-cluster-policy"


def test_the_network_driver_is_set_in_the_nic_cluster_policy_beside_the_cluster_policy() -> None:
    both = POLICY + NETWORK
    edited = set_versions(both, NIC, "mofed 25.04-0.6.0.0-0")
    assert changed(both, edited) == [
        "-     version: 24.10-0.7.0.0-0  # moved by a rollout",
        "+     version: 25.04-0.6.0.0-0  # moved by a rollout",
    ]
    assert versions_in(edited, NIC, "mofed 1") == "mofed 25.04-0.6.0.0-0"
    assert versions_in(edited, "ClusterPolicy/cluster-policy", "580.65.06") == "570.86.15"


@pytest.mark.parametrize(
    ("resource", "version", "says"),
    [
        (NIC, "580.65.06", "has no place for a version of gpu_driver"),
        ("ClusterPolicy/cluster-policy", "580.65.06, mofed 25.04-0.6.0.0", "has no place for a version of mofed"),
        ("NicClusterPolicy/other", "mofed 25.04-0.6.0.0", "NicClusterPolicy/other is not in this file"),
    ],
)
def test_each_resource_has_its_own_driver_alone(resource: str, version: str, says: str) -> None:
    with pytest.raises(EditRefused, match=says):
        set_versions(POLICY + NETWORK, resource, version)
