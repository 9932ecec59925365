"""What a campaign does beside the node's own way and the home of the matrix.

    MarkNode            set or take away a campaign's marks on a node: the canary's label, our skip label
    StartProbe          have a gate measured on a node
    EndProbe            end a measurement that is no longer needed
    SetAutoUpgrade      switch NVIDIA's own upgrade controller on or off
    MakePool            make the canary's MachineConfigPool
    RemovePool          remove it again
    PausePool           keep a MachineConfigPool still, or let it go again

Law of this file: what is set in a campaign's name can be taken away again by it, and says whose it is.
Tests: tests/core/actions/test_actions.py
"""

from __future__ import annotations

from typing import TypeAlias

from seatrial.core.actions.at_home import HomeAct
from seatrial.core.actions.on_rollouts import rollout_subject
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.figures import Given
from seatrial.core.model.gates.gate import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkNode:
    """Set or take away the marks of a campaign on one node, in one PATCH: its canary label, our skip label."""

    node: str
    rollout: str
    expect: str
    canary: bool | None = None
    """True sets the mark, False takes it away, None leaves it."""
    skip: bool | None = None
    is_retry: bool = False
    """Whether NVIDIA's controller is asked to try a failed node again: the one value of its label that is ours too."""
    is_handed_over: bool = False
    """Our skip label stays and our name on it goes: from then on it is a person's."""

    @property
    def id(self) -> str:
        return f"{self.node}/mark@{self.expect}"

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class StartProbe:
    """Have a gate measured on one node."""

    rollout: str
    gate: Gate
    node: str
    round: int
    attempt: int
    given: Given | None = None
    """What an expression is about; None for every other gate."""
    by_claim: bool = False
    """Its GPUs are asked for by a ResourceClaim, since the node publishes them through DRA and counts none."""
    gang: tuple[str, ...] = ()
    """Every node that it runs on at once, `node` among them; none where it is one alone."""

    @property
    def id(self) -> str:
        return f"{self.rollout}/gate/{self.gate.name}/{self.node}/{self.round}.{self.attempt}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/gate/{self.gate.name}/{self.node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndProbe:
    """End the Job of a gate that has not answered, whether it runs or is still queued."""

    rollout: str
    gate: str
    node: str
    round: int
    attempt: int
    job: str
    """As namespace/name."""

    @property
    def id(self) -> str:
        return f"{self.rollout}/end-gate/{self.gate}/{self.node}/{self.round}.{self.attempt}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/gate/{self.gate}/{self.node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAutoUpgrade:
    """Switch NVIDIA's own upgrade controller on or off for a resource; off makes it forget the states it wrote."""

    rollout: str
    resource: str
    value: bool
    expect: str = ""

    @property
    def id(self) -> str:
        return f"{self.rollout}/auto-upgrade/{self.resource}={self.value}@{self.expect}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/auto-upgrade/{self.resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePool:
    """Make the canary's MachineConfigPool."""

    rollout: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.rollout}/make-pool/{self.name}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/pool/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePool:
    """Remove the MachineConfigPool we made, when nobody is in it any more."""

    rollout: str
    name: str
    expect: str

    @property
    def id(self) -> str:
        return f"{self.rollout}/remove-pool/{self.name}@{self.expect}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/pool/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PausePool:
    """Keep a MachineConfigPool still and leave our name on it, or let it go and take the name away."""

    rollout: str
    name: str
    value: bool
    expect: str
    """The pool's version; a person's decision in between is not overwritten."""

    @property
    def id(self) -> str:
        return f"{self.rollout}/pause-pool/{self.name}={self.value}@{self.expect}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/pool/{self.name}"


OuterAct: TypeAlias = HomeAct | StartProbe | EndProbe | SetAutoUpgrade | MakePool | RemovePool | PausePool
"""What a campaign does outside of the nodes."""
CampaignAct: TypeAlias = MarkNode | OuterAct
