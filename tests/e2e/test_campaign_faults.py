"""What goes wrong around a campaign: what the controller then says, and what it does not do.

Two stages. On the first each story has a rollout of its own, published straight into a ClusterPolicy. On the second one
rollout lives from its matrix commit to its rollback, and the repository fails it at every step.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial.adapters.kube import keys
from seatrial.testbed import gate_runs, manifests
from seatrial.testbed.control_plane import ControlPlane
from tests.e2e.light_stage import LONG_BAKE, RESOURCE, LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "fault"
ONE_GATE = [{"name": "smoke", "image": "example.invalid/smoke:1", "gpus": 1}]


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of all stories."""
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX) as made:
        yield made


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before."""
    shared.open()
    return shared


# ── who goes first ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_node_with_the_operators_own_pod_is_not_the_canary(stage: LightStage) -> None:
    stage.plane.apply([operators_pod(stage.fleet.nodes[0])])
    stage.begin("operators-node")
    stage.wait_phase("Done")
    assert stage.campaign()["canaries"] == [stage.fleet.nodes[1]]
    stage.plane.kubectl("delete", "pod", "gpu-operator", "-n", stage.fleet.spec.namespace)
    assert set(stage.fleet.driver_versions().values()) == {stage.target}
    assert not stage.marks()


def test_a_canary_that_is_deleted_takes_its_evidence_with_it(stage: LightStage) -> None:
    with gate_runs.GateRuns(stage.plane, namespace="seatrial") as gates:
        stage.begin("deleted", gates=ONE_GATE, **LONG_BAKE)
        stage.wait_phase("Baking")
        lost = stage.canary
        delete_node(stage, lost)
        stage.wait_turned("Baking", count=2)
        assert stage.phases() == ["Proposed", "Canary", "Gating", "Baking", "Canary", "Canary", "Gating", "Baking"]
        told = [turn["why"] for turn in stage.campaign()["history"] if turn.get("why")]
        assert told == [f"canary {lost} is gone", f"canary {lost} is gone; {stage.canary} goes first instead"]
        assert stage.canary != lost
        assert stage.campaign()["bakedSeconds"] < 3600
        rounds = {run.node: {each.round for each in gates.runs if each.node == run.node} for run in gates.runs}
        assert not rounds[lost] & rounds[stage.canary], "no round of the lost canary counts for the new one"
        restore_node(stage, lost)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")
    stage.fleet.wait_ready()
    assert set(stage.fleet.driver_versions().values()) == {stage.target}
    assert not stage.marks()


def test_a_canary_that_is_re_imaged_starts_its_bake_anew(stage: LightStage) -> None:
    name = stage.fleet.nodes[1]
    stage.begin("re-imaged", canary={"selector": {"kubernetes.io/hostname": name}}, **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.wait(lambda: stage.campaign().get("bakedSeconds", 0) > 2, "some evidence")
    delete_node(stage, name)
    restore_node(stage, name)
    stage.wait_turned("Baking", count=2)
    assert stage.canary == name
    assert stage.node(name)["labels"][keys.CANARY_LABEL] == "re-imaged"
    assert stage.touched() <= {name}
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")
    assert not stage.marks()


def operators_pod(node: str) -> dict[str, object]:
    """A pod as the operator's Deployment makes it."""
    container = {"name": "gpu-operator", "image": "nvcr.io/nvidia/gpu-operator:v25.3.2"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "gpu-operator", "namespace": "gpu-operator", "labels": {"app": "gpu-operator"}},
        "spec": {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]},
    }


def delete_node(stage: LightStage, name: str) -> None:
    """Take a node out of the cluster, with the pods it had."""
    stage.plane.kubectl("delete", "node", name)
    where = ("-A", "--field-selector", f"spec.nodeName={name}")
    for pod in stage.plane.get("pods", *where)["items"]:
        meta = pod["metadata"]
        force = ("--force", "--grace-period=0", "--ignore-not-found")
        stage.plane.kubectl("delete", "pod", meta["name"], "-n", meta["namespace"], *force)


def restore_node(stage: LightStage, name: str) -> None:
    """A node of the same name joins, with nothing on it."""
    made = manifests.node(PREFIX, stage.fleet.nodes.index(name), gpus_per_node=stage.fleet.spec.gpus_per_node)
    stage.plane.apply([made])


# ── somebody else's hands ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_canary_label_that_somebody_takes_away_comes_back(stage: LightStage) -> None:
    stage.begin("unlabelled", **LONG_BAKE)
    stage.wait_phase("Baking")
    name = stage.canary
    stage.label(name, f"{keys.CANARY_LABEL}-")
    stage.wait(lambda: keys.CANARY_LABEL in stage.node(name)["labels"], "the label to come back")
    assert stage.phases()[-1] == "Baking", "a label is no evidence"
    assert stage.touched() == {name}
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")
    assert not stage.marks()


def test_a_canary_that_leaves_the_selector_is_not_left_with_our_label(stage: LightStage) -> None:
    stage.begin("unselected", **LONG_BAKE)
    stage.wait_phase("Baking")
    name = stage.canary
    stage.label(name, f"{manifests.FLEET_LABEL}=elsewhere")
    try:
        stage.wait_turned("Canary", count=2)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")
        assert keys.CANARY_LABEL not in stage.node(name)["labels"]
    finally:
        stage.label(name, f"{manifests.FLEET_LABEL}={PREFIX}")


def test_a_record_label_that_somebody_edits_is_named_and_nobody_guesses(stage: LightStage) -> None:
    stage.begin("edited", **LONG_BAKE)
    stage.wait_phase("Baking")
    name, other = stage.canary, stage.others[0]
    touched = len(driver_pods_gone(stage))
    stage.label(name, f"{keys.STATE_LABEL}=pod-restart-required")
    stage.label(other, f"{keys.STATE_LABEL}=cordon-required")
    told = stage.wait_held("record-edited", name)
    assert "the state label says pod-restart-required, our record says upgrade-done" in told
    stage.wait_held("record-edited", other)
    assert len(driver_pods_gone(stage)) == touched, "nothing is done that the label says"
    assert stage.touched() == {name}
    for each in (name, other):
        stage.label(each, f"{keys.STATE_LABEL}-")
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")


def test_a_version_that_a_person_writes_during_the_bake_is_not_fought(stage: LightStage) -> None:
    stage.begin("rewritten", **LONG_BAKE)
    stage.wait_phase("Baking")
    name = stage.canary
    other = "575.57.08"
    stage.set_version(other)
    stage.wait_turned("Canary", count=2)
    stage.wait_held("publish-pending", count=2)
    stage.wait(lambda: len(stage.writes("clusterpolicies")) >= 2, "a second write")


def test_what_a_syncer_puts_back_is_named_and_not_fought(stage: LightStage) -> None:
    stage.lay_out()
    stage.begin("healed", **LONG_BAKE)
    stage.wait_phase("Baking")
    with stage.synced(manager="argocd-controller", is_healing=True):
        told = stage.wait_held("written-by-another")
        assert f"{RESOURCE} is to carry {stage.target}, but argocd-controller writes it from a repository" in told
        status = stage.wait_holds("written-by-another")
        assert status["phase"] == "Canary"
        assert stage.condition("Progressing") == ("False", "WrittenByAnother")
        stage.do("rollout", "abort", "healed", "--reason", "the repository has it", "-y")
        stage.wait_phase("Reverted")
    assert len(stage.writes("clusterpolicies")) == 1, "we wrote once, and never again"
    assert stage.touched() == {stage.fleet.nodes[0]}
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert not stage.marks()


def test_a_resource_that_a_syncer_owns_is_not_written_at_all(stage: LightStage) -> None:
    stage.lay_out()
    with stage.synced(manager="argocd-controller"):
        stage.begin("owned")
        stage.wait_held("written-by-another")
        answer = stage.run("why", "owned")
        assert "Give the rollout spec.publish.via: git" in answer.stdout
        stage.do("rollout", "abort", "owned", "--reason", "by git then", "-y")
        stage.wait_phase("Reverted")
    assert not stage.writes("clusterpolicies")
    assert not stage.touched()
    assert not stage.marks()


def test_a_canary_that_a_person_cordons_during_the_bake_stays_cordoned(stage: LightStage) -> None:
    with gate_runs.GateRuns(stage.plane, namespace="seatrial") as gates:
        stage.begin("cordoned", gates=ONE_GATE, **LONG_BAKE)
        stage.wait_phase("Baking")
        name = stage.canary
        stage.fleet.cordon(name)
        asked = len(gates.runs)
        stage.wait(lambda: len(gates.runs) >= asked + 2, "the gates to be asked again")
        assert stage.phases()[-1] == "Baking", "it is well, and its gates pass"
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")
    assert stage.history.latest()[name].is_cordoned, "whose cordon it is not, does not lift it"
    stage.fleet.uncordon(name)


def driver_pods_gone(stage: LightStage) -> list[str]:
    return [pod.uid for pod in stage.history.pods(manifests.DRIVER_APP) if pod.is_gone]
