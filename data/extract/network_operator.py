"""Network Operator: the parts of a release, from the file its own builds are made of, and what its documents promise.

Tests: tests/data/test_extract.py
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

REPOSITORY: Final = "Mellanox/network-operator"
RELEASE: Final = "hack/release.yaml"
CHART: Final = "deployment/network-operator/Chart.yaml"
ANNOTATIONS: Final = "bundle/metadata/annotations.yaml"
DOCUMENTS: Final = "Mellanox/network-operator-docs"
SUPPORT: Final = "docs/platform-support.rst"
VARIABLES: Final = "docs/common/vars.rst"

CONTAINER: Final = re.compile(r"(?:doca(?P<doca>[0-9.]+)-)?(?P<ofed>\d\d\.\d\d-[0-9.]+)(?:-(?P<build>\d+))?")
"""`doca3.1.0-25.07-0.9.7.0-0`: DOCA's version, that of the driver, and the container's build; older ones have less."""


def of_release(release: str, chart: str, annotations: str) -> dict[str, Any]:
    """The driver container taken apart, the operators inside, and what the chart and the bundle ask for."""
    told = yaml.load(release, Loader=yaml.CSafeLoader)
    container = _version(told, "Mofed")
    parts = CONTAINER.fullmatch(container)
    row = {
        "driver_container": container,
        **(parts.groupdict() if parts is not None else {}),
        "sriov_network_operator": _version(told, "SriovNetworkOperator"),
        "nic_configuration_operator": _version(told, "NicConfigurationOperator"),
        "file_says_version": _version(told, "NetworkOperator"),
        "chart_kube_version": (yaml.load(chart, Loader=yaml.CSafeLoader) or {}).get("kubeVersion"),
        "olm_openshift_versions": (
            (yaml.load(annotations, Loader=yaml.CSafeLoader) or {}).get("annotations") or {}
        ).get("com.redhat.openshift.versions"),
    }
    return {name: str(value) for name, value in row.items() if value}


def of_documents(support: str, variables: str) -> dict[str, Any]:
    """What a release is documented with; its OpenShift versions are a table in words, which people read."""
    told = dict(re.findall(r"^\.\. \|([a-z-]+)\| replace:: (\S+)", variables, re.MULTILINE))
    kubernetes = re.search(r"\* - Kubernetes\s+- +>= ?([0-9.]+) and <= ?([0-9.]+)", support)
    least = re.search(r"GPU Operator (?:Version |v)([0-9]+\.[0-9]+)\.x or newer", support)
    found = {
        "kubernetes": {"min": kubernetes[1], "max": kubernetes[2]} if kubernetes else None,
        "gpu_operator_min": least[1] if least else None,
        "driver_container": told.get("doca-driver-version") or told.get("mofed-version"),
        "driver_container_lts": told.get("doca-driver-version-lts") or told.get("mofed-version-lts"),
    }
    return {name: value for name, value in found.items() if value}


def _version(told: dict[str, Any], part: str) -> str:
    return str((told.get(part) or {}).get("version") or "")
