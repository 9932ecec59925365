"""GPU Operator: what the chart installs by default, and what the OLM bundle says about OpenShift.

Tests: tests/data/test_extract.py
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

REPOSITORY: Final = "NVIDIA/gpu-operator"
VALUES: Final = "deployments/gpu-operator/values.yaml"
CHART: Final = "deployments/gpu-operator/Chart.yaml"
ANNOTATIONS: Final = "bundle/metadata/annotations.yaml"
CSV: Final = "bundle/manifests/gpu-operator-certified.clusterserviceversion.yaml"

OPERANDS: Final = {
    "driver": ("driver", "version"),
    "driver_manager": ("driver", "manager", "version"),
    "container_toolkit": ("toolkit", "version"),
    "device_plugin": ("devicePlugin", "version"),
    "dcgm": ("dcgm", "version"),
    "dcgm_exporter": ("dcgmExporter", "version"),
    "gfd": ("gfd", "version"),
    "mig_manager": ("migManager", "version"),
    "gds": ("gds", "version"),
    "gdrcopy": ("gdrcopy", "version"),
}
"""Our names for the operands, and where values.yaml has their versions."""

IMAGES: Final = re.compile(
    r"(dcgm(-exporter)?|container-toolkit|driver|driver-image-\d+|device-plugin|gpu-feature-discovery)(-image(-\d+)?)?"
)
"""The images of a bundle that a row keeps: those whose version a matrix can name."""


def of_values(values: str, chart: str) -> dict[str, Any]:
    """The operands of a release, and two defaults."""
    told = yaml.load(values, Loader=yaml.CSafeLoader)
    operands = {name: str(version) for name, path in OPERANDS.items() if (version := _at(told, *path))}
    for part in yaml.load(chart, Loader=yaml.CSafeLoader).get("dependencies") or ():
        if part["name"] == "node-feature-discovery":
            operands["nfd_chart"] = str(part["version"])
    return {
        "operands": operands,
        "kernel_module_default": _module(_at(told, "driver") or {}),
        "cdi_enabled_default": bool(_at(told, "cdi", "enabled")),
    }


def of_bundle(annotations: str, csv: str) -> dict[str, Any]:
    """The OpenShift versions a bundle may be installed on, what it replaces, and its images by digest."""
    told = yaml.load(csv, Loader=yaml.CSafeLoader)
    images = {
        each["name"]: digest
        for each in _at(told, "spec", "relatedImages") or ()
        if IMAGES.fullmatch(each["name"]) and (digest := each["image"].partition("@")[2])
    }
    return {
        "openshift": openshift_range(annotations),
        "skip_range": _at(told, "metadata", "annotations", "olm.skipRange"),
        "replaces": _at(told, "spec", "replaces"),
        "csv_version": str(_at(told, "spec", "version")),
        "image_digests": images,
    }


def openshift_range(annotations: str) -> dict[str, str] | None:
    """`v4.14-v4.21` as a range; one version alone is a minimum."""
    text = str(
        _at(yaml.load(annotations, Loader=yaml.CSafeLoader), "annotations", "com.redhat.openshift.versions") or ""
    )
    found = re.fullmatch(r"=?v?([0-9.]+)(?:-v?([0-9.]+))?", text)
    if found is None:
        return None
    return {"min": found[1], "max": found[2]} if found[2] else {"min": found[1]}


def _module(driver: dict[str, Any]) -> str:
    """The field has changed its name and its form: before 24.9 there was only a switch for open modules."""
    return str(driver.get("kernelModuleType") or ("open" if driver.get("useOpenKernelModules") else "proprietary"))


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
