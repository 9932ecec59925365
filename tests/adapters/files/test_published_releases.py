"""The version of an operator's chart is set in the one place that declares it, and nothing else in the file changes."""

from __future__ import annotations

import difflib

import pytest

from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.published_releases import places_in, set_release
from seatrial.adapters.files.switched import carrying, changed_by
from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import PublishStep, Switch, Via

GPU, NETWORK = Component.GPU_OPERATOR, Component.NETWORK_OPERATOR

HELM_RELEASE = """\
# who wonders: ask the platform team
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: gpu
  namespace: gpu-operator
spec:
  interval: 5m
  chart:
    spec:
      chart: gpu-operator
      version: "v25.3.4"  # bumped by the rollout
      sourceRef: {kind: HelmRepository, name: nvidia}
  values:
    driver:
      version: 570.124.06
    toolkit: {version: v1.17.8}
---
apiVersion: v1
kind: Namespace
metadata: {name: gpu-operator}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu, namespace: argocd}
spec:
  source:
    repoURL: https://helm.ngc.nvidia.com/nvidia
    chart: gpu-operator
    targetRevision: v25.3.4
    helm:
      valuesObject:
        driver: {version: 570.124.06}
"""
SOURCES = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: network, namespace: argocd}
spec:
  sources:
    - repoURL: https://git.example/values
      targetRevision: main
      ref: values
    - repoURL: https://helm.ngc.nvidia.com/nvidia
      chart: network-operator
      targetRevision: 25.4.0   # without a v, as the chart has it
"""
HELMFILE = """\
repositories:
  - {name: nvidia, url: https://helm.ngc.nvidia.com/nvidia}
releases:
  - name: gpu-operator
    namespace: gpu-operator
    chart: nvidia/gpu-operator
    version: v25.3.4
    values: [gpu-operator.yaml]
  - name: network-operator
    chart: oci://registry.example/charts/network-operator
    version: '25.4.0'
"""
VALUES = "driver:\n  version: 570.124.06  # pinned\ntoolkit: {enabled: true}\n"


def changed(before: str, after: str) -> list[str]:
    """The lines that are new."""
    return [line[2:].strip() for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] == "+"]


@pytest.mark.parametrize(
    ("text", "component", "wanted", "line"),
    [
        (HELM_RELEASE, GPU, "v25.10.0", 'version: "v25.10.0"  # bumped by the rollout'),
        (APPLICATION, GPU, "v25.10.0", "targetRevision: v25.10.0"),
        (SOURCES, NETWORK, "v25.7.0", "targetRevision: 25.7.0   # without a v, as the chart has it"),
        (HELMFILE, GPU, "25.10.0", "version: v25.10.0"),
        (HELMFILE, NETWORK, "v25.7.0", "version: '25.7.0'"),
    ],
    ids=["HelmRelease", "Application", "one of several sources", "helmfile", "another release of it"],
)
def test_the_version_of_a_chart_is_set_where_it_is_declared(
    text: str, component: Component, wanted: str, line: str
) -> None:
    after = set_release({"gpu.yaml": text}, component, wanted)["gpu.yaml"]
    assert changed(text, after) == [line]


def test_a_version_that_is_said_already_changes_nothing() -> None:
    assert set_release({"gpu.yaml": HELM_RELEASE}, GPU, "25.3.4") == {}


def told(texts: dict[str, str], component: Component = GPU) -> str:
    with pytest.raises(EditRefused) as refused:
        set_release(texts, component, "v25.10.0")
    return str(refused.value)


def test_no_place_is_an_error_that_says_where_was_looked() -> None:
    assert "No HelmRelease, Application or helmfile with the chart gpu-operator is in a.yaml" in told(
        {"a.yaml": VALUES}
    )
    assert "is in the 2 files there" in told({"a.yaml": VALUES, "b.yaml": SOURCES})


def test_two_places_are_an_error_that_names_both() -> None:
    said = told({"a.yaml": HELM_RELEASE, "b.yaml": HELMFILE})
    assert "The chart gpu-operator is declared in 2 places: a.yaml:12 and b.yaml:7" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (APPLICATION.replace("    targetRevision: v25.3.4\n", ""), "has no targetRevision here"),
        (HELM_RELEASE.replace('"v25.3.4"', "&v v25.3.4"), "behind an anchor, an alias or a tag"),
        (HELM_RELEASE.replace('"v25.3.4"  # bumped by the rollout', "|\n        v25.3.4"), "not a text on one line"),
    ],
    ids=["not written", "an anchor", "a block"],
)
def test_what_cannot_be_set_in_its_place_is_refused(text: str, why: str) -> None:
    assert why in told({"gpu.yaml": text})


def test_a_chart_of_another_name_or_an_object_of_another_group_is_no_release() -> None:
    assert places_in(HELM_RELEASE.replace("chart: gpu-operator", "chart: my-gpu-operator"), GPU) == []
    assert places_in(HELM_RELEASE.replace("helm.toolkit.fluxcd.io/v2", "example.com/v2"), GPU) == []
    assert places_in("{{ template }}\nreleases: {{ .gpu-operator }}\n# [\n" + VALUES, NETWORK) == []


# ── a whole commit ───────────────────────────────────────────────────────────────────────────────────────────────────

POLICY = "ClusterPolicy/cluster-policy"
ACT = Publish(
    rollout="spring",
    step=PublishStep.CANARY,
    versions=((POLICY, "580.105.08, gpu_operator v25.10.0"),),
    via=Via.GIT,
    switches=(Switch(resource=POLICY, name="ENABLE_AUTO_DRAIN", value="false"),),
    on_delete=True,
)


def test_a_release_and_a_driver_are_set_in_one_helm_release() -> None:
    lines = changed(HELM_RELEASE, carrying(ACT, "gpu.yaml", HELM_RELEASE))
    assert lines == [
        'version: "v25.10.0"  # bumped by the rollout',
        "version: 580.105.08",
        "manager:",
        "env:",
        "- name: ENABLE_AUTO_DRAIN",
        'value: "false"',
        "daemonsets:",
        "updateStrategy: OnDelete",
    ]


def test_values_in_an_application_are_set_as_well() -> None:
    after = carrying(ACT, "gpu.yaml", APPLICATION)
    assert "targetRevision: v25.10.0" in after
    assert "driver: {version: 580.105.08, manager: {env: [{" in after


def test_in_a_folder_each_value_is_found_in_its_own_file() -> None:
    texts = {"helmfile.yaml": HELMFILE, "gpu-operator.yaml": VALUES, "other.yaml": "kind: ConfigMap\ndata: {a: b}\n"}
    after = changed_by(ACT, texts)
    assert sorted(after) == ["gpu-operator.yaml", "helmfile.yaml"]
    assert changed(HELMFILE, after["helmfile.yaml"]) == ["version: v25.10.0"]
    assert "version: 580.105.08  # pinned" in after["gpu-operator.yaml"]


def test_a_folder_that_says_the_driver_nowhere_or_twice_is_refused() -> None:
    with pytest.raises(EditRefused, match="None of the 2 files there says the driver's version"):
        changed_by(ACT, {"helmfile.yaml": HELMFILE, "a.yaml": "kind: ConfigMap\n"})
    with pytest.raises(EditRefused, match=r"is in 2 files: a\.yaml, b\.yaml"):
        changed_by(ACT, {"a.yaml": VALUES, "b.yaml": VALUES, "helmfile.yaml": HELMFILE})
