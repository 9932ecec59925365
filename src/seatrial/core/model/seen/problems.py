"""Problems that others report on a node, as its conditions: node-problem-detector, and agents like it.

    told     every condition that is not the kubelet's own and says that something is wrong
    weighed  those of the table below: a node on which one began with its new driver is not proven

Law of this file: rows and values, no steps. Most detectors say True when something is wrong; those of a cloud that ask
whether something is Ready, say False. A type that nobody here knows may mean anything, so it is told and keeps nobody.
Why these and no others: docs/decisions/0052-marks-for-neighbours.md. Tests: tests/core/model/test_problems.py
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import ApiInstant

KUBELETS: Final = frozenset(
    {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk"}
)
"""Conditions of the kubelet and of the network; they are facts of their own."""
_ASKING: Final = ("Ready", "Healthy")
"""How types end whose True is good news."""
WEIGHED: Final = frozenset(
    {
        "KernelDeadlock",  # node-problem-detector: its kernel monitor
        "ReadonlyFilesystem",
        "FilesystemCorruptionProblem",  # AKS
        "GPUMissing",
        "NVLinkStatusInactive",
        "KernelReady",  # EKS: its node monitoring agent
        "AcceleratedHardwareReady",
    }
)
"""What a new driver can bring about, and no node should take work with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One condition that says that something is wrong."""

    type: str
    reason: str = ""
    message: str = ""
    since: ApiInstant | None = None
    """Since when it says so; None where it does not tell."""

    @property
    def is_weighed(self) -> bool:
        """Whether it speaks against a driver that was loaded before it began."""
        return self.type in WEIGHED


def is_problem(type_: str, status: str) -> bool:
    """Whether a condition that is not the kubelet's says that something is wrong."""
    if type_ in KUBELETS:
        return False
    return status == ("False" if type_.endswith(_ASKING) else "True")


def since_driver(problems: Iterable[Problem], started_at: ApiInstant) -> tuple[Problem, ...]:
    """The weighed problems that began once a driver was started; unknown is never a pass, so those without a time."""
    return tuple(each for each in problems if each.is_weighed and (each.since is None or each.since >= started_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableObject:
    """One object whose content we cannot use."""

    kind: str
    """The resource as kubectl takes it, such as `pods`."""
    name: str
    namespace: str = ""
    why: str
    is_tenants: bool = False
    """It says who works on a node, and nothing else: only acts that disturb that work depend on it."""

    @property
    def full_name(self) -> str:
        """Such as `pods team-a/train-0`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def command(self) -> str:
        """The command that shows it."""
        where = f" -n {shlex.quote(self.namespace)}" if self.namespace else ""
        return f"kubectl get {self.kind} {shlex.quote(self.name)}{where} -o yaml"
