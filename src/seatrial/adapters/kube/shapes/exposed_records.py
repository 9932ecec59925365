"""What telemetry has shown of a campaign, as its status keeps it.

Law of this file: entries and values have the same fields, so they are made of each other; only times are texts there.
Tests: tests/adapters/kube/test_rollout_records.py
"""

from __future__ import annotations

import msgspec

from seatrial.adapters.kube.shapes import proof_models as models
from seatrial.adapters.kube.shapes.records import text_of
from seatrial.core.model.gates.exposed import RATIOS, Exposed, Exposure, Rare
from seatrial.core.text import foreign
from seatrial.core.text.moments import instant_of


def written(exposed: Exposed) -> models.ExposedEntry:
    """As it is written."""
    return models.ExposedEntry(
        since=text_of(exposed.since),
        watched_until=text_of(exposed.watched_until),
        waiting_seconds=exposed.waiting_seconds,
        lack=exposed.lack,
        controls=exposed.controls,
        followers=exposed.followers,
        canaries=msgspec.convert(exposed.canaries, tuple[models.ExposureEntry, ...], from_attributes=True),
        rare=msgspec.convert(exposed.rare, tuple[models.RareEntry, ...], from_attributes=True),
    )


def read(entry: models.ExposedEntry, place: str) -> Exposed:
    """As it is read; a ValueError says where it cannot be."""
    for number, each in enumerate(entry.rare):
        if len(each.log_ratios) != len(RATIOS):
            found = len(each.log_ratios)
            raise ValueError(f"{place}.rare[{number}].logRatios: {len(RATIOS)} numbers belong here, not {found}.")
    try:
        since, watched_until = instant_of(entry.since), instant_of(entry.watched_until)
    except ValueError as err:
        raise ValueError(f"{place}: {err}") from err
    return Exposed(
        since=since,
        watched_until=watched_until,
        waiting_seconds=entry.waiting_seconds,
        lack=foreign.line(entry.lack),
        controls=entry.controls,
        followers=entry.followers,
        canaries=tuple(Exposure(**msgspec.structs.asdict(each)) for each in entry.canaries),
        rare=tuple(Rare(**msgspec.structs.asdict(each)) for each in entry.rare),
    )
