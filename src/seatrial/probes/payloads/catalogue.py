"""Every payload by its name. Tests: tests/probes/test_command.py"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from seatrial.probes.payloads import (
    collectives,
    dcgm_diag,
    deep_readiness,
    gpu_errors,
    performance,
    rdma,
    smoke_infer,
    smoke_train,
    soak,
)
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes


@dataclass(frozen=True, slots=True)
class Payload:
    """What it is for, and how it looks."""

    says: str
    look: Callable[[Options, Notes], None]


PAYLOADS: Final[Mapping[str, Payload]] = MappingProxyType(
    {
        "deep-readiness": Payload("CUDA starts on every GPU; peers, fabric, driver versions, MIG", deep_readiness.look),
        "smoke-train": Payload("a small transformer learns as it always does", smoke_train.look),
        "smoke-infer": Payload("a known answer, to the last bit, and its latency", smoke_infer.look),
        "gpu-errors": Payload("ECC, rows, pages, Xids; what has grown since an earlier look", gpu_errors.look),
        "rdma": Payload("the links of InfiniBand and RoCE devices, their rates and errors", rdma.look),
        "performance": Payload("matrix rates, copies, launch latency, with clocks and power", performance.look),
        "multi-gpu": Payload("a sum over all GPUs of this node by NCCL", collectives.look_in_node),
        "distributed": Payload("a sum over a gang of nodes by NCCL", collectives.look_in_gang),
        "soak": Payload("products, copies and sums on all GPUs for a given time", soak.look),
        "dcgm-diag": Payload("NVIDIA's own diagnostic, test by test", dcgm_diag.look),
    }
)
