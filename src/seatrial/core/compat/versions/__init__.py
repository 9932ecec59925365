"""Versions of everything in the stack, as values that compare by meaning.

What goes with what is a rule, not a version; which release exists is a fact, not a form: `v24.12.0` parses although
nobody ever released it. Neither lives here.

    values.py    what every version promises: its text, its order, its errors
    nvidia.py    GPU and Network Operator, driver, CUDA, OFED, NIC firmware, DCGM, operands, NCCL
    platform.py  kernel, operating system, container runtimes, OpenShift, SR-IOV operator, Kubernetes
    ranges.py    release lines and inclusive ranges
    schemes.py   which of these each scheme has

Tests: tests/core/test_versions.py
"""

from __future__ import annotations

from seatrial.core.compat.versions.nvidia import (
    NIC_FAMILIES,
    CudaVersion,
    DcgmExporterVersion,
    DcgmVersion,
    DraDriverVersion,
    DriverVersion,
    FirmwareVersion,
    NcclVersion,
    OfedVersion,
    OperandVersion,
    OperatorVersion,
    driver_version_of_image,
)
from seatrial.core.compat.versions.platform import (
    KernelVersion,
    KubernetesVersion,
    OpenShiftVersion,
    PartVersion,
    SriovOperatorVersion,
    SystemVersion,
)
from seatrial.core.compat.versions.ranges import Line, RangeInvalid, VersionRange
from seatrial.core.compat.versions.schemes import VALUES, parse
from seatrial.core.compat.versions.values import LinedVersion, NotComparable, Scheme, Version, VersionInvalid

__all__ = [
    "NIC_FAMILIES",
    "VALUES",
    "CudaVersion",
    "DcgmExporterVersion",
    "DcgmVersion",
    "DraDriverVersion",
    "DriverVersion",
    "FirmwareVersion",
    "KernelVersion",
    "KubernetesVersion",
    "Line",
    "LinedVersion",
    "NcclVersion",
    "NotComparable",
    "OfedVersion",
    "OpenShiftVersion",
    "OperandVersion",
    "OperatorVersion",
    "PartVersion",
    "RangeInvalid",
    "Scheme",
    "SriovOperatorVersion",
    "SystemVersion",
    "Version",
    "VersionInvalid",
    "VersionRange",
    "driver_version_of_image",
    "parse",
]
