"""What telemetry has shown of a campaign, as its status keeps it. Tests: tests/adapters/kube/test_rollout_records.py"""

from __future__ import annotations

from seatrial.adapters.kube.shapes import models
from seatrial.adapters.kube.shapes.records import instant_of, text_of
from seatrial.core.model.gates.exposed import RATIOS, Exposed, Exposure, Rare
from seatrial.core.text import foreign


def written(exposed: Exposed) -> models.ExposedEntry:
    """As it is written."""
    return models.ExposedEntry(
        since=text_of(exposed.since),
        watched_until=text_of(exposed.watched_until),
        waiting_seconds=exposed.waiting_seconds,
        lack=exposed.lack,
        controls=exposed.controls,
        followers=exposed.followers,
        canaries=tuple(
            models.ExposureEntry(
                node=each.node,
                watched_seconds=each.watched_seconds,
                watched_gpu_hours=each.watched_gpu_hours,
                loaded_gpu_hours=each.loaded_gpu_hours,
            )
            for each in exposed.canaries
        ),
        rare=tuple(
            models.RareEntry(
                name=each.name,
                events=each.events,
                watched_hours=each.watched_hours,
                loaded_hours=each.loaded_hours,
                control_events=each.control_events,
                control_hours=each.control_hours,
                log_ratios=each.log_ratios,
            )
            for each in exposed.rare
        ),
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
        canaries=tuple(
            Exposure(
                node=each.node,
                watched_seconds=each.watched_seconds,
                watched_gpu_hours=each.watched_gpu_hours,
                loaded_gpu_hours=each.loaded_gpu_hours,
            )
            for each in entry.canaries
        ),
        rare=tuple(
            Rare(
                name=each.name,
                events=each.events,
                watched_hours=each.watched_hours,
                loaded_hours=each.loaded_hours,
                control_events=each.control_events,
                control_hours=each.control_hours,
                log_ratios=each.log_ratios,
            )
            for each in entry.rare
        ),
    )
