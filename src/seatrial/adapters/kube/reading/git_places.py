"""Where a rollout works in Git, and under which name it is known there.

Law of this file: where a campaign began it goes on, whatever its spec says later. Tests:
tests/controller/test_keeper.py
"""

from __future__ import annotations

from typing import Final

from seatrial.adapters.kube.reading import rollout_intent
from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.core.model.campaign import Places

NAME_LENGTH_MAX: Final = 200


def places_of(rollout: models.Rollout) -> Places:
    """Where a rollout works in Git: where its campaign began, else where its spec says."""
    campaign = rollout.status.campaign
    if campaign is not None and campaign.places is not None:
        return rollout_records.read_places(campaign.places)
    return rollout_intent.places_of(rollout.spec)


def identity_of(rollout: models.Rollout) -> str:
    """What names a rollout: another one of the same name, made later, is not taken for it."""
    return f"{rollout.metadata.name[:NAME_LENGTH_MAX]}-{rollout.metadata.uid[:8]}"
