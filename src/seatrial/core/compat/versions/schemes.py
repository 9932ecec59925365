"""Which kind of version each scheme has, and how a text is read by its scheme. Tests: tests/core/test_versions.py"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.compat.versions.nvidia import (
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
)
from seatrial.core.compat.versions.platform import (
    KernelVersion,
    KubernetesVersion,
    OpenShiftVersion,
    PartVersion,
    SriovOperatorVersion,
    SystemVersion,
)
from seatrial.core.compat.versions.ranges import Line
from seatrial.core.compat.versions.values import Scheme, Version

VALUES: Final[Mapping[Scheme, type[Version]]] = {
    Scheme.OPERATOR: OperatorVersion,
    Scheme.DRIVER: DriverVersion,
    Scheme.CUDA: CudaVersion,
    Scheme.OFED: OfedVersion,
    Scheme.FIRMWARE: FirmwareVersion,
    Scheme.KERNEL: KernelVersion,
    Scheme.DCGM_EXPORTER: DcgmExporterVersion,
    Scheme.DCGM: DcgmVersion,
    Scheme.OPERAND: OperandVersion,
    Scheme.OPENSHIFT: OpenShiftVersion,
    Scheme.SRIOV_OPERATOR: SriovOperatorVersion,
    Scheme.KUBERNETES: KubernetesVersion,
    Scheme.NCCL: NcclVersion,
    Scheme.SYSTEM: SystemVersion,
    Scheme.DRA_DRIVER: DraDriverVersion,
    Scheme.PART: PartVersion,
    Scheme.LINE: Line,
}


def parse(scheme: Scheme, text: str) -> Version:
    """Read a text by its scheme; where the scheme is fixed, `DriverVersion.parse(text)` keeps the type."""
    return VALUES[scheme].parse(text)
