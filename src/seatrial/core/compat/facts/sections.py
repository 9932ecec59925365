"""Every section of the knowledge base by name, and the keys that each may have.

Law of this file: names only. A misspelt key must not be read as "nothing known". Tests: tests/core/test_facts.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SCHEMA_VERSION: Final = 1
SECTIONS: Final[Mapping[str, frozenset[str]]] = {
    "schema_version": frozenset(),
    "generated": frozenset(),
    "gpu_operator": frozenset({"versioning", "release_line", "never_released", "releases", "source_disagreements"}),
    "network_operator": frozenset({"versioning", "release_line", "releases"}),
    "openshift": frozenset(
        {"releases", "upgrade_path", "kernel_6x_starts_at", "known_bad_z_streams", "z_stream_kernel"},
    ),
    "rhel_kernel_streams": frozenset(),
    "driver": frozenset(
        {
            "known_versions",
            "min_kernel_by_branch",
            "lifecycle",
            "product_first_listed_in_open_module_readme",
            "cuda_reported_by_branch",
            "documented_product_minimums",
            "module_type_auto",
            "image_tag",
            "cluster_policy_scope",
            "policy_any_active_production_driver",
            "nvidia_lifecycle_table_2026",
            "seen_on_kernel",
        }
    ),
    "cuda": frozenset(
        {
            "toolkit",
            "toolkit_newer",
            "never_released",
            "minor_version_floor",
            "backward",
            "max_major_without_forward_package",
        }
    ),
    "gpu_architecture": frozenset(),
    "nic_firmware": frozenset(
        {"family_by_leading_number", "release_train", "bundled", "window", "oem_caveat", "cx6_frozen", "tested_pairs"}
    ),
    "ci_results": frozenset({"source", "confidence", "meaning", "by_openshift_minor", "ci_notes"}),
    "known_good_combinations": frozenset(),
    "existing_tags": frozenset({"dcgm_exporter", "device_plugin", "nccl"}),
    "mofed_kernel": frozenset(
        {
            "container_build",
            "precompiled",
            "validated_upper_kernel",
            "min_ofed",
            "stale_inventory",
            "rhel_added_by_release",
        }
    ),
    "gpudirect_rdma": frozenset({"dma_buf", "peermem", "gds_needs_open"}),
    "dcgm": frozenset({"driver_floor", "exporter_tag", "exporter_prefix_equals_dcgm"}),
    "nccl": frozenset({"packaging", "release_dates", "blackwell"}),
    "known_issues": frozenset(),
}
"""Every section and, where they are fixed, its keys: a misspelt one must not be read as "nothing known"."""
SENTENCES: Final = (
    ("gpu_operator", "versioning"),
    ("network_operator", "versioning"),
    ("openshift", "upgrade_path"),
    ("driver", "cluster_policy_scope"),
    ("driver", "policy_any_active_production_driver"),
    ("cuda", "backward"),
    ("nic_firmware", "family_by_leading_number"),
    ("nic_firmware", "release_train"),
    ("nic_firmware", "window"),
    ("mofed_kernel", "container_build"),
    ("mofed_kernel", "rhel_added_by_release"),
    ("gpudirect_rdma", "dma_buf"),
    ("gpudirect_rdma", "peermem"),
    ("dcgm", "driver_floor"),
    ("nccl", "packaging"),
)
"""Facts that rules quote as they stand."""
