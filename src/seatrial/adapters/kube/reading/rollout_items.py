"""A GPURollout as it is kept: read, or with the reason why it cannot be, and whether it has begun all the same.

Law of this file: one that cannot be read is kept like any other, so that it holds itself and no other rollout. Each
state is read once, when it comes, and not again by every pass.

Tests: tests/adapters/kube/test_observe.py
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeVar

import msgspec

from seatrial.adapters.kube.reading import rollout_intent
from seatrial.adapters.kube.shapes import keys, models, rollout_records
from seatrial.core.base.values import dataclass
from seatrial.core.campaign import choosing
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.instants import DURATION_SECONDS_MAX
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.windows import MINUTES_MAX

PartT = TypeVar("PartT")

NOT_UNDER_WAY: Final = frozenset({"", RolloutPhase.PROPOSED.value, *(phase.value for phase in ENDED)})
ANY_DAY: Final = 1e9
"""A spec can be read or not on every day alike; the day only says which openings its windows have."""

_LONGEST: Final = {"seconds": DURATION_SECONDS_MAX, "minutes": MINUTES_MAX}
"""By the last word of a field's name."""
_WARNING: Final = (
    "GPURollout {name} asks for more time than there is in {fields}; a year is taken instead, and a week for a window. "
    "Write less there, and install the definition of this release: seatrial manifests crd | kubectl apply -f -"
)


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
    """Why some part of it could not be read, apart from what the operator reports."""
    phase: str = ""
    """Where it says that its campaign stands."""
    warning: str = ""
    """What of it is read as something else than it says."""

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
    """A rollout that was decoded; a definition that is older than this release lets durations of any length in."""
    over: list[str] = []
    rollout = msgspec.structs.replace(rollout, spec=_capped(rollout.spec, "spec", over))
    record, faults = None, []
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
        phase=rollout_records.phase_of(rollout.status),
        warning=_WARNING.format(name=rollout.metadata.name, fields=", ".join(over)) if over else "",
    )


@cache
def _fields_of(model: type[models.Model]) -> tuple[tuple[str, str, int | None], ...]:
    """Each field with its name in the resource, and the longest time it may ask for; None where it asks for none."""
    found = msgspec.structs.fields(model)
    return tuple((each.name, each.encode_name, _LONGEST.get(each.name.rpartition("_")[2])) for each in found)


def _capped(said: PartT, place: str, over: list[str]) -> PartT:
    """The same with no duration beyond the longest there is; the fields that were beyond it go into `over`."""
    if isinstance(said, tuple):
        return type(said)(_capped(each, f"{place}[{number}]", over) for number, each in enumerate(said))
    if not isinstance(said, models.Model):
        return said
    changed: dict[str, object] = {}
    for name, shown, longest in _fields_of(type(said)):
        value = getattr(said, name)
        if longest is not None and isinstance(value, int) and value > longest:
            over.append(f"{place}.{shown}")
            changed[name] = longest
        elif isinstance(value, models.Model | tuple):
            fitting = _capped(value, f"{place}.{shown}", over)
            if fitting is not value and fitting != value:
                changed[name] = fitting
    return msgspec.structs.replace(said, **changed) if changed else said


def rollout_item(text: models.RolloutText) -> RolloutItem:
    """A rollout from what the API server says, whatever it says."""
    try:
        spec = _part(text.spec, models.RolloutSpec, "spec")
        status = _part(text.status, models.Status, "status")
    except ValueError as err:
        return RolloutItem(metadata=text.metadata, rollout=None, fault=str(err), phase=_phase(text.status))
    return item_of(models.Rollout(metadata=text.metadata, spec=spec, status=status))


def _part(text: msgspec.Raw, kind: type[PartT], place: str) -> PartT:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as err:
        raise ValueError(f"{place}: {err}") from err


def _phase(status: msgspec.Raw) -> str:
    try:
        return rollout_records.phase_of(msgspec.json.decode(status, type=models.Status))
    except msgspec.MsgspecError:
        return rollout_records.UNKNOWN_PHASE
