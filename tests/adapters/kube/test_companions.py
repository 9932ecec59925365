"""What a gate's Job needs beside itself: named by what it is for, the same for ever, gone with its owner."""

from __future__ import annotations

from dataclasses import replace

from seatrial.adapters.kube.reading.gates import companions, probes
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Gate

UID = "uid-spring"
OWNER = probes.owner_of("spring", UID)
PROBE = StartProbe(
    rollout="spring", gate=Gate(name="nccl", image="nccl:1", gpus=8), node="n1", round=2, attempt=1, by_claim=True
)


def test_a_probe_that_claims_nothing_has_no_companions() -> None:
    assert companions.companions_of(replace(PROBE, by_claim=False), UID, "gates", OWNER) == []


def test_the_claim_is_of_exactly_so_many_whole_gpus_and_goes_with_its_owner() -> None:
    (found,) = companions.companions_of(PROBE, UID, "gates", OWNER)
    assert found.path == "/apis/resource.k8s.io/v1/namespaces/gates/resourceclaimtemplates"
    assert found.body["metadata"]["ownerReferences"] == [OWNER]
    (asked,) = found.body["spec"]["spec"]["devices"]["requests"]
    assert asked["exactly"] == {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 8}


def test_all_probes_of_a_rollout_that_want_as_many_share_one() -> None:
    other = replace(PROBE, gate=replace(PROBE.gate, name="smoke"), node="n2", round=3)
    fewer = replace(PROBE, gate=replace(PROBE.gate, gpus=4))
    bodies = [companions.companions_of(each, UID, "gates", OWNER)[0].body for each in (PROBE, other, fewer)]
    assert bodies[0] == bodies[1]
    assert bodies[0]["metadata"]["name"] != bodies[2]["metadata"]["name"]
    assert companions.claim_name(8, UID) != companions.claim_name(8, "uid-next")


def test_the_pod_of_the_job_claims_by_that_template_and_counts_on_no_resource() -> None:
    pod = probes.job_of(PROBE, UID)["spec"]["template"]["spec"]
    name = companions.companions_of(PROBE, UID, "gates", OWNER)[0].body["metadata"]["name"]
    assert pod["resourceClaims"] == [{"name": "gpus", "resourceClaimTemplateName": name}]
    asked = pod["containers"][0]["resources"]
    assert asked["claims"] == [{"name": "gpus"}]
    assert "nvidia.com/gpu" not in asked["limits"]
