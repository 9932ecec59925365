"""Others that move nodes or say what they run: NVIDIA's GPU Operator, and OpenShift's pools of machines.

Law of this file: what others own is seen here; what we want of it is the intent's.
Tests: tests/core/model/test_snapshot.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.campaign import Mode
from seatrial.core.model.deployers import Mark
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import PolicyWish
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.releases import Holder, Release
from seatrial.core.model.seen.subscriptions import Subscription

ON_DELETE: Final = "OnDelete"
"""The strategy of a DaemonSet that replaces a pod only when somebody deletes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One NVIDIADriver: the nodes it claims, and what it says about their upgrade."""

    name: str
    claim: DriverClaim
    is_auto_upgrading: bool = True
    driver_version: str = ""
    policy: PolicyWish = field(default_factory=PolicyWish)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A resource that says which driver nodes run: a ClusterPolicy, or an NVIDIADriver."""

    name: str
    """Its kind and name, such as `ClusterPolicy/cluster-policy`."""
    version: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    """The versions of operands that it names, by the key of their component; and releases that run beside it."""
    strategy: str = ""
    """How its DaemonSets replace their pods: `OnDelete`, `RollingUpdate`, or empty where it does not say."""
    writer: str = ""
    """Who wrote the version last, by the name it gave to the API server."""
    resource_version: str = ""
    note: str = ""
    """What a campaign of ours noted on it when it last wrote a version there."""
    switches: tuple[tuple[str, str], ...] = ()
    """What it says about the driver manager's two switches (driver_manager.py), by name; one not said is left out."""
    marks: tuple[Mark, ...] = ()
    """Who brings it into the cluster from a repository, by what is written on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFacts:
    """What is seen of NVIDIA's Network Operator, as far as its driver goes: a NicClusterPolicy."""

    carrier: Carrier
    is_auto_upgrading: bool = False
    """Its own controller moves the network driver, node by node."""
    policy: PolicyWish = field(default_factory=PolicyWish)
    """What it says about upgrades, in the same fields as a ClusterPolicy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFacts:
    """What is seen of NVIDIA's GPU Operator, and of its Network Operator beside it."""

    kind: str = ""
    """The resource that owns the drivers, e.g. `ClusterPolicy/cluster-policy`; empty when there is none."""
    is_auto_upgrading: bool = False
    is_sandboxed: bool = False
    """Its controller is switched on, and moves nobody because sandbox workloads are enabled."""
    driver_version: str = ""
    state: str = ""
    policy: PolicyWish = field(default_factory=PolicyWish)
    """What its ClusterPolicy says about upgrades; each NVIDIADriver has its own, see `pools`."""
    pools: tuple[Pool, ...] = ()
    rolling: tuple[Operand, ...] = ()
    """Operands whose DaemonSet replaces its pods by itself, on every node, as soon as its template changes."""
    carriers: tuple[Carrier, ...] = ()
    releases: tuple[Release, ...] = ()
    """What runs of operators, the GPU Operator among them."""
    holders: tuple[Holder, ...] = ()
    """What says which releases are wanted."""
    subscriptions: tuple[Subscription, ...] = ()
    """Operators that OLM installs."""
    network: NetworkFacts | None = None
    """None where no NicClusterPolicy carries a network driver, or nobody looks."""

    @property
    def mode(self) -> Mode:
        """Who moves the nodes, as the cluster itself has it."""
        return Mode.DELEGATED if self.is_auto_upgrading else Mode.DIRECT


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePool:
    """A MachineConfigPool of OpenShift, as far as it concerns a rollout."""

    name: str
    resource_version: str = ""
    is_paused: bool = False
    paused_by: str = ""
    """The rollout that paused it; it stays here when somebody else ends the pause."""
    is_ours: bool = False
    """Whether this rollout made it."""
    machine_count: int = 0
    """How many nodes are in it."""
    certificate_at: ApiInstant | None = None
    """When the kubelets' certificate authority ends that a paused pool does not renew."""
