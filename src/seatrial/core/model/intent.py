"""What is wanted: the target, the limits and the ways of one rollout, as its resource says. Values only.

Defaults are those of NVIDIA's upgradePolicy where it has the field, so that moving over changes nothing by surprise.

Tests: tests/core/model/test_intent.py
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.campaign import Campaign, CampaignRecord
from seatrial.core.model.gates.default_suite import with_suite
from seatrial.core.model.policy import (
    IDLE_BY_ATTRITION,
    NO_LIMITS,
    Attrition,
    Limits,
    Policy,
    PolicyWish,
    Share,
    both,
    policy_of,
)
from seatrial.core.model.target import Target

if TYPE_CHECKING:
    from seatrial.core.model.seen.nodes import NodeFacts
    from seatrial.core.model.seen.operators import OperatorFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Nodes that fail together, by the value of a label: a rack, a zone, an NVLink clique.

    A floor keeps part of each domain available; a unit is upgraded as a whole or not at all.
    """

    label: str
    unavailable_max: Share | None = None
    is_unit: bool = False


class Order(StrEnum):
    """Who goes first among those who may."""

    NAME = "name"
    IDLE_FIRST = "idle-first"
    """Nodes with the fewest GPU pods first: what costs least is done before anybody is disturbed."""
    DOMAIN_BY_DOMAIN = "domain-by-domain"
    """One domain is finished before the next begins."""
    PRIORITY = "priority"
    """By the number in the node's label seatrial.dev/upgrade-priority, highest first."""


class OnDelete(StrEnum):
    """What becomes of a campaign whose rollout is deleted in the middle."""

    REVERT = "revert"
    """Everything is taken back first, as with an abort."""
    LEAVE = "leave"
    """What was published stays, and so do the nodes that follow it; our marks go, and what stays is told."""


PRIORITY_LABEL = "seatrial.dev/upgrade-priority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a failed node is tried again by itself, and after which pause (doubling each time)."""

    count_max: int = 0
    pause_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Jobs that offer it are asked to save their work before they are evicted, and get this long to do so."""

    timeout_seconds: float = 600.0
    webhook: str = ""
    """Who is asked; empty asks the pod itself, by annotation."""
    kueue: bool = False
    """Whether Workloads of Kueue are switched off first, so that Kueue ends their pods and queues them again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requestor:
    """Where a maintenance operator empties the nodes: in whose name we ask it, and where."""

    id: str
    namespace: str = "default"
    prefix: str = "nvidia-operator"
    timeout_seconds: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One rollout's wish."""

    rollout: str
    target: Target
    policy: Policy = field(default_factory=Policy)
    """For every member; its limits are those of the rollout as a whole."""
    pools: Mapping[str, Policy] = field(default_factory=dict)
    """For the members that an NVIDIADriver owns, by its name: its own policy, and its own limits besides."""
    failed_max: int = 1
    """Failures tolerated; one more and no further node starts."""
    domains: tuple[Domain, ...] = ()
    order: Order = Order.NAME
    retries: Retries = field(default_factory=Retries)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    requestor: Requestor | None = None
    attrition: Attrition | None = None
    """In the waves nodes are taken when their jobs end; None evicts as their turn comes."""
    evicts_for_runtime: bool = False
    """Whether GPU pods leave before a restart of the container runtime; they would outlive it."""
    restart_timeout_seconds: float = 1800.0
    validation_timeout_seconds: float = 600.0
    is_paused: bool = False
    paused_because: str = ""
    """Why it is paused; empty where people gave no reason."""
    selector: Mapping[str, str] = field(default_factory=dict)
    """The labels of its members: what tells whether a pool that has no node now is one of its own."""
    on_delete: OnDelete = OnDelete.LEAVE
    campaign: Campaign | None = None
    """How carefully: canary, gates, bake, waves. None moves the members, once somebody has published the target."""

    def asking(self, record: CampaignRecord | None) -> Intent:
        """With the gates that its campaign is asked: where nobody named any, those that were chosen for it."""
        if self.campaign is None or self.campaign.suite_image is None:
            return self
        return replace(self, campaign=with_suite(self.campaign, record))

    @property
    def limits(self) -> Limits:
        return self.policy.limits

    @property
    def goal(self) -> str:
        """What is wanted, for people: a driver, or what they move themselves."""
        step = self.campaign.by_hand if self.campaign is not None else None
        if step is None:
            return f"driver {self.target.published}"
        return f"{step.component.value} {self.target.version_of(step.component)}"

    def policy_for(self, facts: NodeFacts) -> Policy:
        """The policy that holds for one node."""
        return self.pools.get(facts.owner, self.policy)


def policies(
    own: PolicyWish, operator: OperatorFacts, *, moves_network: bool = False
) -> tuple[Policy, dict[str, Policy]]:
    """The rollout's policy and those of its pools.

    With NVIDIADrivers each pool has the limits of its own, and the rollout adds one over all only where it says so.
    Where the network driver moves, what its NicClusterPolicy says of pods goes first, and its limit bounds as well.
    """
    network = operator.network.policy if moves_network and operator.network is not None else PolicyWish()
    if not operator.pools:
        return policy_of([own, both(network, operator.policy)]), {}
    pools = {pool.name: policy_of([_without_limits(own), both(network, pool.policy)]) for pool in operator.pools}
    policy = policy_of([own])
    if own.says_limits:
        return policy, pools
    return Policy(limits=NO_LIMITS, jobs=policy.jobs, eviction=policy.eviction, drain=policy.drain), pools


def by_attrition(
    own: PolicyWish, policy: Policy, pools: Mapping[str, Policy], operator: OperatorFacts
) -> tuple[Policy, dict[str, Policy]]:
    """The same where nodes are taken when their jobs end: idle GPUs bound it, and of nodes what somebody says for them.

    What the rollout or an NVIDIADriver says holds. NVIDIA's default of a quarter was made for evictions, and does not.
    """
    unavailable_max = own.unavailable_max or NO_LIMITS.unavailable_max
    idle_gpus_max = own.idle_gpus_max or IDLE_BY_ATTRITION
    limits = replace(policy.limits, unavailable_max=unavailable_max, idle_gpus_max=idle_gpus_max)
    said = {pool.name: pool.policy.unavailable_max or NO_LIMITS.unavailable_max for pool in operator.pools}
    bound = {
        name: replace(each, limits=replace(each.limits, unavailable_max=said[name])) for name, each in pools.items()
    }
    return replace(policy, limits=limits), bound


def _without_limits(wish: PolicyWish) -> PolicyWish:
    return replace(wish, parallel_max=None, unavailable_max=None, idle_gpus_max=None)


def is_member(node: str, labels: Mapping[str, str], selector: Mapping[str, str], admitted: Container[str]) -> bool:
    """Whether a node belongs to a rollout: its labels say so, or the ledger does.

    A label that flaps must not leave a node behind, half way and cordoned, with its admission given to another.
    """
    return node in admitted or all(labels.get(key) == value for key, value in selector.items())
