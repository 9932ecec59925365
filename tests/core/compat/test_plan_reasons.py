"""Why a step is there, and why it stands where it stands: in words, and never only because it is wanted."""

from __future__ import annotations

import pytest

from seatrial.core.compat import plan as plans
from seatrial.core.compat.plan import Plan, Reason
from tests.core.compat.knowledge import ON, facts, stack

RUNNING = {
    "openshift": "4.18.30",
    "gpu_operator": "v25.3.4",
    "gpu_driver": "570.211.01",
    "cuda": "12.8",
    "network_operator": "v25.4.0",
    "mofed": "25.04-0.6.1.0",
    "firmware_cx7": "28.45.1020",
    "sriov_operator": "4.18.0",
}
WANTED = {
    "openshift": "4.20.10",
    "gpu_operator": "v25.10.1",
    "gpu_driver": "580.105.08",
    "cuda": "13.0",
    "network_operator": "v25.10.0",
    "mofed": "25.10-1.2.8.0",
    "firmware_cx7": "28.47.1026",
    "sriov_operator": "4.20.0",
}


def made(running: dict[str, str], wanted: dict[str, str]) -> Plan:
    answer = plans.make_plan(stack(running), stack({**running, **wanted}), facts(), ON)
    assert isinstance(answer, Plan), answer
    return answer


@pytest.fixture(scope="module")
def everything() -> Plan:
    return made(RUNNING, WANTED)


def test_everything_moves_in_the_order_of_an_expert(everything: Plan) -> None:
    assert [step.title for step in everything.steps] == [
        "GPU Operator",
        "GPU driver",
        "Network Operator and MOFED",
        "Network Operator and MOFED",
        "NIC firmware",
        "OpenShift",
        "SR-IOV operator",
        "OpenShift",
        "SR-IOV operator",
        "CUDA in the images",
    ]


def test_every_step_says_why_and_why_here(everything: Plan) -> None:
    assert all(step.why and step.order for step in everything.steps)
    assert all("wanted" not in why.sentence for step in everything.steps for why in step.why)


def test_a_station_names_where_it_leads(everything: Plan) -> None:
    why = everything.steps[2].why[0]
    assert why.reason is Reason.NEXT_LINE
    assert why.sentence == "on the way to Network Operator v25.10.0: no release line may be skipped (rule upgrade-path)"


def test_what_a_later_step_needs_names_that_step(everything: Plan) -> None:
    needs = [why for why in everything.steps[6].why if why.reason is Reason.BRIDGE]
    assert [why.step for why in needs] == [8]
    assert needs[0].sentence.startswith("OpenShift 4.20.10 (step 8) needs it: with SR-IOV operator 4.18.0 rule")


def test_a_minor_of_openshift_asks_for_acknowledgements_and_a_paused_pool(everything: Plan) -> None:
    for step in everything.steps:
        if step.title == "OpenShift":
            told = {each.code: each.sentence for each in step.preparations}
            assert "Upgradeable=False" in told["check-upgradeable"]
            assert "admin-acks" in told["check-upgradeable"]
            assert "Pause the MachineConfigPool" in told["pause-machine-config-pool"]


def test_an_order_that_is_not_the_usual_one_is_explained() -> None:
    running = {key: RUNNING[key] for key in ("gpu_operator", "gpu_driver")}
    plan = made(running, {"gpu_operator": "v26.7.0", "gpu_driver": "595.91.07"})
    assert plan.steps[1].order == (
        "before GPU Operator v26.3.3, although that usually goes first: this way fewer warnings and unknowns are met "
        "on the whole"
    )


def test_a_single_step_has_no_order_to_explain() -> None:
    plan = made({"gpu_operator": "v25.3.2"}, {"gpu_operator": "v25.3.4"})
    assert [(step.why[0].sentence, step.order) for step in plan.steps] == [
        ("the target asks for GPU Operator v25.3.4, a patch of the release line that runs", "")
    ]


def test_from_a_release_that_never_was_nobody_says_how_far_it_is_nor_that_something_later_needs_the_step() -> None:
    running = {"gpu_operator": "v24.12.0", "gpu_driver": "595.91.07", "cuda": "13.2"}
    plan = made(running, {"gpu_operator": "v26.7.0", "cuda": "13.0"})
    assert [why.sentence for why in plan.steps[0].why] == ["the target asks for GPU Operator v26.7.0"]


def test_kubernetes_1_34_hints_at_dra_and_reboots_nothing() -> None:
    plan = made({"kubernetes": "v1.33.6", "kernel": "6.8.0-79-generic"}, {"kubernetes": "v1.34.2"})
    (step,) = plan.steps
    assert "Dynamic Resource Allocation becomes available" in step.hints[0]
    assert "no reboot" in step.evicts
    assert step.preparations == ()
    assert made({"kubernetes": "v1.34.2"}, {"kubernetes": "v1.35.1"}).steps[0].hints == ()
