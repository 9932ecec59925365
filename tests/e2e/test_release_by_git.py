"""A release of operands through Git, beside the real GPU Operator: from a matrix to its tag, and nobody out of turn.

What runs on nodes of a release (toolkit, device plugin, exporter, validator) is named in the matrix and published in
the ClusterPolicy's file. A stand-in brings the repository into the cluster; the operator, its DaemonSets and their
revisions are real, and the pods are played by kwok.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.e2e.campaigns import MATRIX, OLD, PUBLISHED, Stage, left_behind, rollout_of, staged
from tests.e2e.test_operands import RELEASE, WORSE, moved, pods, strategies, tags

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.operator]

FIELDS = {
    "container_toolkit": "toolkit",
    "device_plugin": "devicePlugin",
    "dcgm": "dcgmExporter",
    "validator": "validator",
}
APPS = {
    "container_toolkit": "nvidia-container-toolkit-daemonset",
    "device_plugin": "nvidia-device-plugin-daemonset",
    "dcgm": "nvidia-dcgm-exporter",
    "validator": "nvidia-operator-validator",
}


def published(parts: Mapping[str, str], strategy: str) -> str:
    """The ClusterPolicy's file with versions of operands."""
    lines = [f'  {FIELDS[name]}:\n    version: "{text}"\n' for name, text in parts.items()]
    head = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata:\n  name: cluster-policy\nspec:\n"
    return f'{head}  daemonsets:\n    updateStrategy: {strategy}\n  driver:\n    version: "{OLD}"\n{"".join(lines)}'


def matrix(current: Mapping[str, str], canary: Mapping[str, str]) -> str:
    """What runs, and what is next."""

    def entry(name: str, parts: Mapping[str, str], status: str) -> str:
        lines = [f'    {key}: "{text}"\n' for key, text in parts.items()]
        return f'  {name}:\n    driver: "{OLD}"\n{"".join(lines)}    status: "{status}"\n'

    return "versions:\n" + entry("current", current, "production") + entry("canary", canary, "testing")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Four nodes that run the last release, and DaemonSets that replace nothing on their own any more."""
    with staged(tmp_path_factory.mktemp("by-git"), "cluster-policy", node_count=4) as made:
        made.commit("The last release", **{PUBLISHED: published(RELEASE, "RollingUpdate")})
        wanted = {APPS[name]: {text} for name, text in RELEASE.items()}
        made.wait(lambda: wanted.items() <= tags(made).items(), "the last release to run everywhere")
        made.commit("Nothing moves on its own", **{PUBLISHED: published(RELEASE, "OnDelete")})
        made.wait(lambda: set(strategies(made).values()) == {"OnDelete"}, "every DaemonSet to be OnDelete")
        yield made


def start(stage: Stage, name: str, commit: str) -> None:
    stage.rollout = name
    body = rollout_of(name, OLD, stage.remote, commit)
    body["spec"]["target"] = {"driver": OLD, **WORSE}
    stage.plane.apply([body])


def test_a_gate_that_fails_reverts_the_commit_and_nobody_but_the_canary_had_moved(stage: Stage) -> None:
    before, canary = pods(stage), stage.beside.nodes[0]
    stage.gates.answer = lambda run: "loss of 3 %" if run.gate == "smoke-train" and run.round >= 2 else ""
    start(stage, "fails", stage.commit("Try the next release", **{MATRIX: matrix(RELEASE, WORSE)}))
    stage.wait_phase("Reverted")
    assert any(subject.startswith("Revert") for subject in stage.remote_log())
    assert moved(before, pods(stage)) == {canary}
    assert tags(stage)[APPS["container_toolkit"]] == {RELEASE["container_toolkit"]}
    assert set(strategies(stage).values()) == {"OnDelete"}


def test_a_release_goes_from_the_matrix_over_canary_and_waves_to_its_tag(stage: Stage) -> None:
    before, canary = pods(stage), stage.beside.nodes[0]
    during: list[set[str]] = []

    def passing(_run: object) -> str:
        during.append(moved(before, pods(stage)))
        return ""

    stage.gates.answer = passing
    start(stage, "release", stage.commit("Try it once more", **{MATRIX: matrix(RELEASE, WORSE)}))
    stage.wait_phase("Done")
    assert during
    assert all(each == {canary} for each in during), "while gates ran, the canary alone had moved"
    for name, text in WORSE.items():
        assert tags(stage)[APPS[name]] == {text}
        assert f'version: "{text}"' in stage.shown(PUBLISHED)
    assert f'container_toolkit: "{WORSE["container_toolkit"]}"' in stage.matrix()
    assert stage.tags(), "the promotion is tagged"
    assert not left_behind(stage)
