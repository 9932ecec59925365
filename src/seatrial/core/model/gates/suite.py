"""The gates that come with seatrial, and which of them a node is asked when nobody names any.

Law of this file: what a node cannot show is left out beforehand, and told; what it should show and does not is never
left out. Four checks always: it trains, it answers, its links are well, its GPUs have no errors. More than one GPU adds
the sum over all of them, and partners the sum over several nodes. The payloads themselves are in `seatrial.probes`,
which knows none of this.

Tests: tests/core/model/test_suite.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.fields import kept
from seatrial.core.model.gates.gate import GANG, SOAK, Gate


class Needs(StrEnum):
    """How many GPUs a payload looks at."""

    NONE = "none"
    ALL = "all"
    """As many as are free: what it does not get it cannot look at."""


EXPECTED: Final = ("--expected",)
"""Tells a payload that what it looks for was there: that it is gone is a failure then, and not unknown."""
WITHOUT_KERNEL_LOG: Final = ("--optional", "xid")
"""Xids stand in the kernel's log, which a pod without privileges cannot read; telemetry has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A gate that comes with seatrial."""

    says: str
    gpus: Needs = Needs.ALL
    timeout_seconds: float = 600.0
    command: tuple[str, ...] = ()
    """Further options of the payload."""
    measures: bool = False
    """Whether it yields rates or times, which can be compared with what they were."""


BUILT_IN: Final[Mapping[str, BuiltIn]] = MappingProxyType(
    {
        "smoke-train": BuiltIn(says="a small transformer learns as it always does", measures=True),
        "smoke-infer": BuiltIn(says="a known answer, to the last bit, and its latency", measures=True),
        "rdma": BuiltIn(
            says="the links of InfiniBand and RoCE devices are up, at their rate", gpus=Needs.NONE, command=EXPECTED
        ),
        "gpu-errors": BuiltIn(
            says="no ECC errors, lost rows or pages; nothing holds the clocks back", command=WITHOUT_KERNEL_LOG
        ),
        "multi-gpu": BuiltIn(says="a sum over all GPUs of the node by NCCL", measures=True),
        GANG: BuiltIn(says="a sum over the GPUs of several nodes by NCCL"),
        "deep-readiness": BuiltIn(says="CUDA starts on every GPU; peers, fabric, driver versions, MIG"),
        "performance": BuiltIn(
            says="matrix rates, copies, launch latency, with clocks and power", timeout_seconds=1800.0, measures=True
        ),
        SOAK: BuiltIn(says="products, copies and sums on all GPUs, for ten minutes", timeout_seconds=900.0),
        "dcgm-diag": BuiltIn(says="NVIDIA's own diagnostic, test by test", timeout_seconds=3600.0),
    }
)
SUITE: Final = ("smoke-train", "smoke-infer", "rdma", "gpu-errors")
"""What is asked where nobody names a gate."""
MANY: Final = "multi-gpu"
WHOLE: Final = (*SUITE, MANY, GANG)
"""What there is to ask, where a node has more than one GPU and is not alone."""
LINKS: Final = "rdma"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A gate that is not asked of a node, and why."""

    gate: str
    node: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The gates of a campaign that says none, as they were chosen before anything was done to a canary."""

    image: str
    left_out: tuple[LeftOut, ...] = field(
        default=(), metadata=kept("Which gate is not asked of a canary that has nothing it could look at.")
    )

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The same for every canary; who cannot show something is not asked for that."""
        skipped = {name: tuple(each.node for each in self.left_out if each.gate == name) for name in WHOLE}
        return tuple(
            replace(built_in(name, self.image, 0), all_gpus=BUILT_IN[name].gpus is Needs.ALL, not_on=skipped[name])
            for name in WHOLE
        )


def suite_of(
    node: str, gpu_count: int, *, has_links: bool, has_partners: bool = False
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """The gates a node is asked when nobody names any, and those that are left out."""
    left_out: list[LeftOut] = []
    if not has_links:
        why = f"{node} shows no InfiniBand or RoCE device, neither by a label nor by a resource"
        left_out.append(LeftOut(gate=LINKS, node=node, why=why))
    if gpu_count == 1:
        left_out.append(LeftOut(gate=MANY, node=node, why=f"{node} has one GPU"))
    skipped = {each.gate for each in left_out}
    names = (*SUITE, *((MANY,) if gpu_count > 1 else ()), *((GANG,) if has_partners else ()))
    return tuple(name for name in names if name not in skipped), tuple(left_out)


def built_in(name: str, image: str, gpu_count: int, *, is_expected: bool = True) -> Gate:
    """The gate of this name, run from this image on so many GPUs; expected is what the node has shown before."""
    said = BUILT_IN[name]
    count = gpu_count if said.gpus is Needs.ALL else 0
    command = said.command if name != LINKS or is_expected else ()
    return Gate(name=name, image=image, probe=name, command=command, gpus=count, timeout_seconds=said.timeout_seconds)


RDMA_LABELS: Final = (
    "feature.node.kubernetes.io/rdma.available",
    "feature.node.kubernetes.io/rdma.capable",
    "feature.node.kubernetes.io/pci-15b3.present",
    "feature.node.kubernetes.io/pci-0207_15b3.present",
    "network.nvidia.com/operator.mofed.wait",
)
"""By these a node says that it has a device whose links can be looked at."""
RDMA_RESOURCES: Final = ("rdma/", "nvidia.com/rdma", "openshift.io/mlnx", "nvidia.com/hostdev")
"""Resources of these beginnings are such devices."""


def has_links(labels: Mapping[str, str], resources: Iterable[str]) -> bool:
    """Whether a node shows an InfiniBand or RoCE device."""
    is_labelled = any(name in labels and labels[name] != "absent" for name in RDMA_LABELS)
    return is_labelled or any(each.startswith(RDMA_RESOURCES) for each in resources)
