"""Which keys the knowledge base may have: those that a reader says it reads, and those that are there for people.

    @reads("cuda.toolkit", "cuda.never_released")      a key of a section
    @reads("gpu_architecture")                         a section whose keys are free

Law of this file: a key is named where it is read, or else here. A misspelt one must not be read as "nothing known".
Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.spots import Spot

SCHEMA_VERSION: Final = 1
Take = Callable[[Spot, Facts], Facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Takes what it understands from the data into the facts, and says where it looks."""

    places: tuple[str, ...]
    take: Take

    def __call__(self, whole: Spot, facts: Facts) -> Facts:
        return self.take(whole, facts)


def reads(place: str, *more: str) -> Callable[[Take], Reader]:
    """Make a reader of these places."""
    return lambda take: Reader(places=(place, *more), take=take)


def sections_of(places: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Every section with its keys; one without keys may have any."""
    found: dict[str, set[str]] = {}
    for place in places:
        section, _, key = place.partition(".")
        found.setdefault(section, set()).update({key} - {""})
    return {section: frozenset(keys) for section, keys in found.items()}


SENTENCES: Final = (
    "gpu_operator.versioning",
    "network_operator.versioning",
    "openshift.upgrade_path",
    "openshift.rollback",
    "kubernetes.upgrade_path",
    "kubernetes.downgrade",
    "kubernetes.eks_rollback",
    "container_runtimes.cri_o_minor",
    "dra_driver.migration",
    "dra_driver.not_both",
    "dra_driver.gke",
    "driver.cluster_policy_scope",
    "driver.policy_any_active_production_driver",
    "cuda.backward",
    "cuda.forward_package",
    "fabric_manager.equals_driver",
    "nic_firmware.family_by_leading_number",
    "nic_firmware.release_train",
    "nic_firmware.window",
    "mofed_kernel.container_build",
    "mofed_kernel.precompiled",
    "mofed_kernel.rhel_added_by_release",
    "gpudirect_rdma.dma_buf",
    "gpudirect_rdma.peermem",
    "dcgm.driver_floor",
    "nccl.packaging",
)
"""Facts that rules quote as they stand."""
FOR_PEOPLE: Final = (
    "gpu_operator.never_released",
    "gpu_operator.source_disagreements",
    "openshift.kernel_6x_starts_at",
    "openshift.z_stream_kernel",
    "rhel_kernel_streams",
    "driver.image_tag",
    "cuda.max_major_without_forward_package",
    "nic_firmware.oem_caveat",
    "nic_firmware.cx6_frozen",
    "ci_results.meaning",
    "ci_results.by_openshift_minor",
    "ci_results.ci_notes",
    "known_good_combinations",
    "dcgm.exporter_tag",
    "dcgm.exporter_prefix_equals_dcgm",
    "nccl.release_dates",
    "nccl.blackwell",
)
"""What no rule asks yet."""
