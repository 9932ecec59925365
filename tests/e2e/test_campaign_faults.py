"""What goes wrong around a campaign: what the controller then says, and what it does not do.

Each story has a rollout of its own, published straight into a ClusterPolicy; what goes wrong with a repository is in
test_campaign_remote.py, what people say in test_campaign_people.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, errors, waiting
from seatrial_lab.testbed.history import PodMoment
from seatrial_lab.testbed.neighbours import gate_runs
from seatrial_lab.testbed.nodes import consumers, lifecycle, manifests
from seatrial_lab.testbed.nodes.fleet_spec import Workload
from tests.e2e.light_stage import LONG_BAKE, POLICY, RESOURCE, LightStage

pytestmark = pytest.mark.cluster

PREFIX = "fault"
ONE_GATE = [{"name": "smoke", "image": "example.invalid/smoke:1", "gpus": 1}]


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
        lifecycle.delete_node(stage.fleet, lost)
        stage.wait_turned("Baking", count=2)
        assert stage.phases() == ["Proposed", "Canary", "Gating", "Baking", "Canary", "Canary", "Gating", "Baking"]
        told = [turn["why"] for turn in stage.campaign()["history"] if turn.get("why")]
        assert told == [f"canary {lost} is gone", f"canary {lost} is gone; {stage.canary} goes first instead"]
        assert stage.canary != lost
        assert stage.campaign()["bakedSeconds"] < 3600
        rounds = {run.node: {each.round for each in gates.runs if each.node == run.node} for run in gates.runs}
        assert not rounds[lost] & rounds[stage.canary], "no round of the lost canary counts for the new one"
        lifecycle.add_node(stage.fleet, lost)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")
    stage.fleet.wait_ready()
    assert set(stage.fleet.driver_versions().values()) == {stage.target}
    assert not stage.marks()


@pytest.mark.long
def test_a_canary_that_is_re_imaged_starts_its_bake_anew(stage: LightStage) -> None:
    name = stage.fleet.nodes[1]
    stage.begin("re-imaged", canary={"selector": {"kubernetes.io/hostname": name}}, **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.wait(lambda: stage.campaign().get("bakedSeconds", 0) > 2, "some evidence")
    lifecycle.delete_node(stage.fleet, name)
    lifecycle.add_node(stage.fleet, name)
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


def test_a_tenant_that_waits_for_the_canary_never_runs_on_a_driver_whose_gate_failed(stage: LightStage) -> None:
    name = stage.fleet.nodes[1]
    tenant = consumers.add_pod(stage.fleet, name, name="waits", gpus=1)
    with gate_runs.GateRuns(stage.plane, namespace="seatrial", answer=lambda _: "3 % slower"):
        stage.begin("refused", gates=ONE_GATE, canary={"selector": {"kubernetes.io/hostname": name}})
        stage.wait_phase("Reverted")
    stage.wait(lambda: [each.is_ready for each in came(stage, tenant)][-1:] == [True], "the tenant to be back")
    assert "gate smoke failed" in stage.campaign()["why"]
    evicted = [
        each.name
        for each in stage.requests()[stage.asked_before :]
        if each.subresource == "eviction" and each.namespace == tenant.namespace and each.code < 300
    ]
    assert len(evicted) == 1, "for the new driver; the failed one had no users to move"
    assert len({each.uid for each in came(stage, tenant)}) == 2
    stage.plane.kubectl("delete", "deployment", "--all", "-n", tenant.namespace, "--cascade=foreground")


def test_a_gate_that_still_runs_when_another_fails_is_ended_and_status_says_so(stage: LightStage) -> None:
    asked = [*ONE_GATE, {"name": "links", "image": "example.invalid/links:1", "gpus": 0, "timeoutSeconds": 3600}]

    def answer(run: gate_runs.Run) -> str | None:
        return "3 % slower" if run.gate == "smoke" else None

    with gate_runs.GateRuns(stage.plane, namespace="seatrial", answer=answer):
        stage.begin("overtaken", gates=asked)
        stage.wait_phase("Reverted")
    (links,) = (each for each in stage.campaign()["gates"] if each["gate"] == "links")
    assert (links["verdict"], links["detail"]) == ("unknown", "not measured: the rollout was undone first")
    chosen = ("-l", f"{keys.GATE_KEY}=links,{keys.ROLLOUT_LABEL}=overtaken")
    assert stage.plane.get("jobs", "-n", "seatrial", *chosen)["items"] == []


def came(stage: LightStage, tenant: Workload) -> list[PodMoment]:
    """The pods of a tenant that had a node since the story began, moment by moment."""
    since = stage.history.moments[stage.seen_before :]
    return [each for each in since if isinstance(each, PodMoment) and each.namespace == tenant.namespace and each.node]


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


def test_a_canary_that_leaves_the_selector_stays_ours_until_our_label_is_gone(stage: LightStage) -> None:
    for each in stage.fleet.nodes:
        stage.label(each, "example.org/pool=trial")
    stage.begin("unselected", nodeSelector={"example.org/pool": "trial"}, **LONG_BAKE)
    stage.wait_phase("Baking")
    name, number = stage.canary, stage.campaign()["round"]
    stage.label(name, "example.org/pool-")
    stage.wait(lambda: stage.campaign()["round"] > number + 1, "two more rounds")
    assert stage.canary == name
    assert stage.phases()[-1] == "Baking"
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")
    assert not stage.marks()


def test_a_note_of_ours_that_somebody_edits_is_named_and_nobody_guesses(stage: LightStage) -> None:
    stage.begin("edited", **LONG_BAKE)
    stage.wait_phase("Baking")
    name, (edited, garbled) = stage.canary, stage.others
    gone = len(driver_pods_gone(stage))
    stage.label(name, f"{keys.STATE_LABEL}=pod-restart-required")
    stage.label(edited, f"{keys.STATE_LABEL}=cordon-required")
    stage.plane.kubectl("annotate", "node", garbled, f"{keys.RECORD_ANNOTATION}=once upon a time", "--overwrite")
    told = stage.wait_held("record-edited", name)
    assert "the state label says pod-restart-required, our record says upgrade-done" in told
    stage.wait_held("record-edited", edited)
    stage.wait_held("record-unreadable", garbled)
    assert len(driver_pods_gone(stage)) == gone, "nothing is done that the label says"
    assert stage.touched() == {name}
    for each in stage.fleet.nodes:
        stage.label(each, f"{keys.STATE_LABEL}-")
    stage.plane.kubectl("annotate", "node", garbled, f"{keys.RECORD_ANNOTATION}-")
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")
    assert set(stage.fleet.driver_versions().values()) == {stage.target}


def test_a_version_that_a_person_writes_during_the_bake_is_not_overruled(stage: LightStage) -> None:
    stage.begin("overruled", **LONG_BAKE)
    stage.wait_phase("Baking")
    name = stage.canary
    stage.set_version("575.57.08")
    told = stage.wait_held("taken-over")
    assert f"{RESOURCE} should have {stage.target}, but kubectl-edit wrote 575.57.08 there" in told
    stage.set_version(stage.running)
    assert stage.wait_holds("taken-over")["phase"] == "Canary"
    assert stage.condition("Progressing") == ("False", "TakenOver")
    assert len(stage.writes("clusterpolicies")) == 1, "ours, from before"
    assert stage.fleet.driver_versions()[name] == stage.target, "and nobody is moved meanwhile"
    stage.set_version(stage.target)
    stage.wait_turned("Baking", count=2)
    assert stage.touched() == {name}
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")
    assert len(stage.writes("clusterpolicies")) == 1


def test_what_a_syncer_puts_back_is_named_and_not_fought(stage: LightStage) -> None:
    stage.lay_out()
    stage.begin("healed", **LONG_BAKE)
    stage.wait_phase("Baking")
    with stage.synced(manager="argocd-controller", is_healing=True):
        told = stage.wait_held("written-by-another")
        assert f"{RESOURCE} should have {stage.target}, but argocd-controller writes it from a repository" in told
        assert stage.status()["phase"] == "Canary"
        assert len(stage.writes("clusterpolicies")) == 1, "we wrote once, and never again"
        stage.do("rollout", "abort", "healed", "--reason", "the repository has it", "-y")
        stage.wait_phase("Reverted")
    assert len(stage.writes("clusterpolicies")) <= 2, "on the way back no version, at most a note that it was taken"
    assert stage.touched() == {stage.fleet.nodes[0]}
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert not stage.marks()


@pytest.mark.long
def test_a_resource_that_a_syncer_owns_is_not_written_at_all(stage: LightStage) -> None:
    stage.lay_out()
    with stage.synced(manager="argocd-controller"):
        stage.begin("owned")
        stage.wait_holds("written-by-another")
        answer = stage.run("why", "owned")
        assert "Give the rollout spec.publish.via: git" in answer.stdout
        assert not stage.writes("clusterpolicies")
        stage.do("rollout", "abort", "owned", "--reason", "by git then", "-y")
        stage.wait_phase("Reverted")
    assert stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == stage.running
    assert not stage.touched()
    assert not stage.marks()


@pytest.mark.long
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


# ── a spec that cannot be meant ──────────────────────────────────────────────────────────────────────────────────────

MISREAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"waves": {"growth": "sideways"}}, "spec.waves.growth: 'sideways' is none of fixed, linear, exponential"),
    ({"windows": {"timeZone": "Mars/Olympus", "open": [{"start": "22:00", "minutes": 60}]}}, "spec.windows.timeZone"),
    ({"windows": {"open": [{"start": "25:99", "minutes": 60}]}}, "spec.windows.open[0].start"),
    ({"approvals": {"manual": ["everything"]}}, "spec.approvals.manual[0]: 'everything' is none of canary"),
    ({"publish": {"via": "git"}}, "spec.publish.git.path"),
    ({"matrix": {"entry": "canary"}}, "spec.matrix: the matrix is in exactly one place"),
)


@pytest.mark.long
def test_a_spec_that_an_older_definition_lets_through_is_a_fault_with_its_place(
    stage: LightStage, lenient: None
) -> None:
    stage.begin("good", **LONG_BAKE)
    stage.wait_phase("Baking")
    for spec, place in MISREAD:
        stage.begin("misread", **spec)
        answer = stage.run("status", "misread")
        assert answer.returncode == 1
        assert f"GPURollout misread cannot be read: {place}" in answer.stderr
        assert "Traceback" not in answer.stderr
    stage.rollout = "good"
    number = stage.campaign()["round"]
    stage.wait(lambda: stage.campaign()["round"] > number, "the good one to go on beside it")
    stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
    stage.wait_phase("Done")
    writes = len(stage.writes("nodes"))
    stage.wait(
        lambda: any("rollout-unreadable" in line and "misread" in line for line in stage.log_lines()),
        "the controller to say why it cannot read the next one",
    )
    assert len(stage.writes("nodes")) == writes
    assert stage.plane.get("gpurollout", "misread").get("status") == {"observedGeneration": -1}  # nobody wrote it


@pytest.fixture
def lenient(shared: LightStage) -> Iterator[None]:
    """Our definition without its rules, as a release may have had it that knew fewer of them."""
    strict = shared.plane.get("crd", "gpurollouts.seatrial.dev")
    without_rules = json.loads(json.dumps(strict))
    _forget_rules(without_rules["spec"]["versions"][0]["schema"])
    _replace(shared, without_rules)
    bad = json.dumps(
        {
            "apiVersion": "seatrial.dev/v1alpha1",
            "kind": "GPURollout",
            "metadata": {"name": "probe"},
            "spec": {"target": {"driver": "570.124.06"}, "canary": {}, "waves": {"growth": "sideways"}},
        }
    )
    waiting.wait_for(
        lambda: _is_taken(shared, bad), what="the rules to be gone", timeout_seconds=30.0, pause_seconds=0.2
    )
    yield
    controller_process.remove_rollouts(shared.plane)
    _replace(shared, strict)
    waiting.wait_for(
        lambda: not _is_taken(shared, bad), what="the rules to be back", timeout_seconds=30.0, pause_seconds=0.2
    )


def _is_taken(stage: LightStage, rollout: str) -> bool:
    try:
        stage.plane.kubectl("create", "--dry-run=server", "--validate=ignore", "-f", "-", stdin=rollout)
    except errors.KubectlFailed:
        return False
    return True


def _replace(stage: LightStage, definition: dict[str, Any]) -> None:
    spec = json.dumps([{"op": "replace", "path": "/spec/versions", "value": definition["spec"]["versions"]}])
    stage.plane.kubectl("patch", "crd", definition["metadata"]["name"], "--type=json", "-p", spec)


def _forget_rules(schema: Any) -> None:
    """Take every rule out of a schema, and leave the shapes."""
    if isinstance(schema, dict):
        for rule in ("x-kubernetes-validations", "enum", "pattern", "minLength", "maxLength", "minProperties"):
            if not isinstance(schema.get(rule), dict):
                schema.pop(rule, None)
        for part in schema.values():
            _forget_rules(part)
    elif isinstance(schema, list):
        for part in schema:
            _forget_rules(part)
