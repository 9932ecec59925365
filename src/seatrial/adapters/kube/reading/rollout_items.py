"""A GPURollout as it is kept: read, or with the reason why it cannot be, and whether it has begun all the same.

Law of this file: one that cannot be read is kept like any other, so that it holds itself and nobody else. Each state is
read once, when it comes, and not again by every pass.

Tests: tests/adapters/kube/test_observe.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from seatrial.adapters.kube.reading import rollout_intent
from seatrial.adapters.kube.shapes import keys, models, rollout_records
from seatrial.core.campaign import choosing
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import RolloutRecord

NOT_UNDER_WAY: Final = frozenset({"", RolloutPhase.PROPOSED.value, *(phase.value for phase in ENDED)})
ANY_DAY: Final = 1e9
"""A spec can be read or not on every day alike; the day only says which openings its windows have."""


class RolloutUnclear(SeatrialError):  # noqa: N818  the trade's word; the message says what to do
    """Which rollout to work on cannot be told, or its spec cannot be read."""


class RolloutUnreadable(RolloutUnclear):
    """A rollout of which we do not understand something."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"GPURollout {name} cannot be read: {why}")
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutItem:
    """One rollout, as far as it could be read."""

    metadata: models.ObjectMeta
    rollout: models.Rollout | None
    record: RolloutRecord | None = None
    """What its status says."""
    fault: str = ""
    """Why something of it could not be read, whatever the operator says."""
    phase: str = ""
    """Where it says that its campaign stands."""

    @property
    def has_begun(self) -> bool:
        """Whether its campaign has begun and not ended; a phase that we do not know is one of a campaign under way."""
        return self.phase not in NOT_UNDER_WAY

    @property
    def is_past(self) -> bool:
        """Whether it has ended and nothing is left to do for it."""
        if self.rollout is None or self.record is None:
            return False
        return choosing.is_past(self.record, is_undone=bool(self.rollout.spec.abort))

    @property
    def waits_for_us(self) -> bool:
        """Whether it was deleted, and goes when we let it."""
        return self.metadata.deletion_timestamp is not None and keys.FINALIZER in self.metadata.finalizers

    def read(self) -> models.Rollout:
        """The rollout; RolloutUnreadable where it cannot be read."""
        if self.rollout is None:
            raise RolloutUnreadable(self.metadata.name, self.fault)
        return self.rollout


def not_installed() -> RolloutUnclear:
    """What to say where the cluster does not know our resource."""
    return RolloutUnclear(
        "The cluster does not know the resource GPURollout (gpurollouts.seatrial.dev). "
        "Install it with `seatrial manifests crd | kubectl apply -f -`, then try again."
    )


def item_of(rollout: models.Rollout) -> RolloutItem:
    """A rollout that was decoded."""
    campaign, record, faults = rollout.status.campaign, None, []
    try:
        rollout_intent.read_intent(rollout, OperatorFacts(), ANY_DAY)
    except ValueError as err:
        faults.append(str(err))
    try:
        record = rollout_records.read_rollout(rollout)
    except ValueError as err:
        faults.append(str(err))
    return RolloutItem(
        metadata=rollout.metadata,
        rollout=rollout,
        record=record,
        fault=next(iter(faults), ""),
        phase=campaign.phase if campaign is not None else "",
    )


def rollout_item(text: models.RolloutText) -> RolloutItem:
    """A rollout from what the API server says, whatever it says."""
    try:
        spec = _part(text.spec, models.RolloutSpec, "spec")
        status = _part(text.status, models.RolloutStatus, "status")
    except ValueError as err:
        return RolloutItem(metadata=text.metadata, rollout=None, fault=str(err), phase=_phase(text.status))
    return item_of(models.Rollout(metadata=text.metadata, spec=spec, status=status))


def _part(text: msgspec.Raw, model: type[models.ModelT], place: str) -> models.ModelT:
    try:
        return msgspec.json.decode(text, type=model)
    except msgspec.MsgspecError as err:
        raise ValueError(f"{place}: {err}") from err


def _phase(status: msgspec.Raw) -> str:
    try:
        campaign = msgspec.json.decode(status, type=models.StatusHint).campaign
    except msgspec.MsgspecError:
        return "unknown"  # there is something, and nobody can tell what
    return campaign.phase if campaign is not None else ""
