"""Who holds a GPU, by which sign; and for whom the DRA plugin must stay. Numbers are those of the conformance list."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.model.consumers import DRA_DRIVERS, Claim, GpuUse, claim_names, gpu_use, holds_claim


def a_claim(*results: tuple[str, bool], **changes: Any) -> Claim:
    fields: dict[str, Any] = {"name": "claim", "is_allocated": bool(results), "results": results}
    return Claim(**(fields | changes))


GPU_CLAIM = a_claim(("gpu.nvidia.com", False))
ADMIN_CLAIM = a_claim(("gpu.nvidia.com", True))
LOST_CLAIM = a_claim(is_readable=False)


def use_of(**changes: Any) -> GpuUse | None:
    pod: dict[str, Any] = {"phase": "Running", "resources": ("cpu", "memory"), "claims": (), "runtime_class": ""}
    return gpu_use(**(pod | changes))


def test_scenario_25_a_pending_pod_that_asks_for_a_gpu_is_a_gpu_pod() -> None:
    assert use_of(phase="Pending", resources=("cpu", "nvidia.com/gpu")) is GpuUse.RESOURCE


def test_scenario_26_a_mig_resource_makes_a_gpu_pod() -> None:
    assert use_of(resources=("nvidia.com/mig-1g.5gb",)) is GpuUse.MIG


def test_scenario_28_cpu_and_memory_make_no_gpu_pod() -> None:
    assert use_of() is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize(
    "held",
    [
        {"resources": ("nvidia.com/gpu",)},
        {"claims": (GPU_CLAIM,)},
        {"claims": (LOST_CLAIM,)},
        {"runtime_class": "nvidia"},
    ],
)
def test_scenario_29_a_finished_pod_holds_nothing(phase: str, held: dict[str, Any]) -> None:
    assert use_of(phase=phase, **held) is None


def test_a_pod_in_an_unknown_phase_still_holds_its_gpu() -> None:
    assert use_of(phase="Unknown", resources=("nvidia.com/gpu",)) is GpuUse.RESOURCE


@pytest.mark.parametrize("name", ["nvidia.com/gpu.shared", "nvidia.com/gpumem", "nvidia.com/gpu-H100"])
def test_whatever_follows_the_name_of_the_gpu_counts(name: str) -> None:
    assert use_of(resources=(name,)) is GpuUse.RESOURCE


@pytest.mark.parametrize("name", ["amd.com/gpu", "nvidia.com/mig", "nvidia.com/rdma", "example.com/nvidia.com/gpu"])
def test_a_name_that_only_resembles_a_gpu_does_not_count(name: str) -> None:
    assert use_of(resources=(name,)) is None


@pytest.mark.parametrize("driver", sorted(DRA_DRIVERS))
def test_an_allocated_claim_of_either_nvidia_driver_makes_a_gpu_pod(driver: str) -> None:
    assert use_of(claims=(a_claim((driver, False)),)) is GpuUse.CLAIM


def test_scenario_31_admin_access_makes_no_gpu_pod() -> None:
    assert use_of(claims=(ADMIN_CLAIM,)) is None


def test_one_device_without_admin_access_is_enough() -> None:
    assert use_of(claims=(a_claim(("gpu.nvidia.com", True), ("gpu.nvidia.com", False)),)) is GpuUse.CLAIM


def test_scenario_32_a_claim_of_another_driver_makes_no_gpu_pod() -> None:
    assert use_of(claims=(a_claim(("nic.example.com", False)),)) is None


def test_a_claim_not_yet_allocated_holds_nothing() -> None:
    unallocated = a_claim(("gpu.nvidia.com", False), is_allocated=False)
    assert use_of(claims=(unallocated,)) is None
    assert not holds_claim((unallocated,))


def test_scenario_34_a_claim_made_from_a_template_is_found_through_the_status_of_the_pod() -> None:
    stored = {"trainer-gpu-x7k2p": GPU_CLAIM}
    names = claim_names(wanted=[("gpu", "")], generated={"gpu": "trainer-gpu-x7k2p"})
    assert use_of(claims=[stored[name] for name in names]) is GpuUse.CLAIM


def test_a_pod_names_its_claims_directly_through_a_template_or_behind_an_extended_resource() -> None:
    names = claim_names(
        wanted=[("shared", "team-gpu"), ("own", ""), ("twice", "team-gpu")],
        generated={"own": "pod-own-abc12", "shared": "never-looked-at"},
        extended="pod-extended-resources-9z",
    )
    assert names == ("team-gpu", "pod-own-abc12", "pod-extended-resources-9z")


@pytest.mark.parametrize("generated", [{}, {"own": ""}])
def test_a_claim_that_is_not_made_yet_or_never_will_be_has_no_name(generated: dict[str, str]) -> None:
    assert claim_names(wanted=[("own", "")], generated=generated) == ()


def test_scenario_35_a_claim_that_cannot_be_read_makes_a_gpu_pod() -> None:
    assert use_of(claims=(LOST_CLAIM,)) is GpuUse.CLAIM_UNREADABLE


@pytest.mark.parametrize("runtime_class", ["nvidia", "nvidia-cdi", "nvidia-legacy"])
def test_the_runtime_class_counts_when_nothing_stronger_does(runtime_class: str) -> None:
    assert use_of(runtime_class=runtime_class) is GpuUse.RUNTIME_CLASS


@pytest.mark.parametrize("runtime_class", ["", "kata", "nvidia-experimental"])
def test_another_runtime_class_does_not_count(runtime_class: str) -> None:
    assert use_of(runtime_class=runtime_class) is None


def test_the_strongest_sign_is_the_answer() -> None:
    signs: dict[GpuUse, dict[str, Any]] = {
        GpuUse.RESOURCE: {"resources": ("nvidia.com/mig-1g.5gb", "nvidia.com/gpu")},
        GpuUse.MIG: {"resources": ("nvidia.com/mig-1g.5gb",)},
        GpuUse.CLAIM: {"claims": (LOST_CLAIM, GPU_CLAIM)},
        GpuUse.CLAIM_UNREADABLE: {"claims": (LOST_CLAIM,)},
        GpuUse.RUNTIME_CLASS: {"runtime_class": "nvidia"},
    }
    weaker: dict[str, Any] = {}
    for sign in reversed(GpuUse):
        weaker |= signs[sign]
        assert use_of(**weaker) is sign


def test_anything_that_can_be_walked_once_will_do() -> None:
    assert use_of(resources=iter(["cpu", "nvidia.com/mig-1g.5gb"]), claims=iter([])) is GpuUse.MIG
    assert use_of(resources=iter([]), claims=iter([ADMIN_CLAIM, LOST_CLAIM])) is GpuUse.CLAIM_UNREADABLE


@pytest.mark.parametrize("claim", [GPU_CLAIM, ADMIN_CLAIM, LOST_CLAIM, a_claim(("compute-domain.nvidia.com", True))])
def test_the_dra_plugin_stays_for_every_claim_even_with_admin_access_or_unreadable(claim: Claim) -> None:
    assert holds_claim((a_claim(("nic.example.com", False)), claim))


def test_the_dra_plugin_need_not_stay_for_claims_of_others() -> None:
    assert not holds_claim(())
    assert not holds_claim((a_claim(("nic.example.com", False)),))
