"""A rollout's status as Kubernetes keeps it: the ledger, the summary, the campaign. Values in, JSON out, and back.

The fields are declared where the values are (core/model), and forms.py reads and writes them. Here is what a status has
beyond them: the schema number of a campaign, the conditions, and what is repeated for `kubectl get`.

A campaign that cannot be read is a ValueError that says where: guessing would make evidence up. A campaign of a newer
schema counts as one that cannot be read. The fields we know are written as a whole, at the version we looked at, so
nothing of an older status stays; fields that a later release added survive. A release that adds a field to an entry of
a list, or changes what a field means, raises CAMPAIGN_SCHEMA. What is only said to people (`is_informative`) is not
decided by, and may change at any time.

Tests: tests/adapters/kube/test_rollout_records.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.shapes import forms, keys, models
from seatrial.adapters.kube.shapes.forms import text_of
from seatrial.core.actions.on_rollouts import GuardRollout, Keeping
from seatrial.core.model.campaign import CampaignRecord, Places, RolloutPhase
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary
from seatrial.core.words import conditions

CAMPAIGN_SCHEMA: Final = 1
"""Written with every campaign; records from before there was a number are of the same schema."""
UNKNOWN_PHASE: Final = "unknown"
"""Of a campaign that is there and cannot be read."""

WAVING: Final = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE})
"""Phases in which the fleet has a wave to speak of."""
SHOWN: Final[forms.Schema] = {
    "phase": {
        "type": "string",
        "description": "Where the campaign stands; the table is in docs/reference/rollout-phases.md. Without a canary, "
        "the state.",
    },
    "wave": {"type": "integer", "description": "The wave the fleet is in, counted from 1."},
    "done": {"type": "string", "description": "How many nodes run what this rollout is after, of how many."},
    "why": {
        "type": "string",
        "description": "The first reason why it does not go faster, in a few words; conditions have all of it.",
    },
    "conditions": {
        "type": "array",
        "description": "Progressing (it continues without a person), Healthy (nothing failed, nothing is unknown), "
        "Ended; for kstatus Ready (Done, and no node has failed) and, only while they are so, Reconciling (under way) "
        "and Stalled (a person has to act).",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string"},
                "message": {"type": "string"},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            },
        },
    },
}
"""Written for people, and never read back as they are; with what the definition of the resource says of them."""
OPEN: Final = {"x-kubernetes-preserve-unknown-fields": True}
"""A later release's fields survive an earlier definition; types of those named here are checked all the same."""
SCHEMA_NUMBER: Final = {
    "type": "integer",
    "description": "Of the record; a controller does not touch one that is newer than it knows.",
}


def read_rollout(rollout: models.Rollout) -> RolloutRecord:
    """The rollout's status as a record; a campaign that cannot be read is a ValueError that says where."""
    status, metadata = rollout.status, rollout.metadata
    summary = forms.read(Summary, status, "status", **_read_done(status.get("done")))
    record = forms.read(
        RolloutRecord,
        status,
        "status",
        name=metadata.name,
        resource_version=metadata.resource_version,
        generation=metadata.generation,
        summary=_sorted(summary) if summary.state else None,
        campaign=_read_campaign(status["campaign"]) if status.get("campaign") is not None else None,
    )
    return replace(record, admitted=tuple(sorted(record.admitted)))


def status_schema() -> forms.Schema:
    """What the definition of the resource says of a status."""
    campaign = forms.record_of(CampaignRecord).schema()
    fields = forms.record_of(RolloutRecord).schema()["properties"] | forms.record_of(Summary).schema()["properties"]
    fields["observedGeneration"]["format"] = "int64"
    fields["admitted"] |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["node"]}
    fields["campaign"] = {
        **campaign,
        **OPEN,
        "description": "What was written down of the campaign; changed by compare-and-set only.",
        "properties": {"schema": SCHEMA_NUMBER, **campaign["properties"]},
    }
    # kstatus takes an object without a status for ready.
    return {"type": "object", "default": {"observedGeneration": -1}, **OPEN, "properties": {**SHOWN, **fields}}


def phase_of(status: models.Status) -> str:
    """Where a status says that its campaign stands; empty where there is none."""
    campaign = status.get("campaign")
    if campaign is None:
        return ""
    phase = campaign.get("phase", "") if isinstance(campaign, dict) else UNKNOWN_PHASE
    return phase if isinstance(phase, str) else UNKNOWN_PHASE


def admitted_in(status: models.Status) -> tuple[str, ...]:
    """The nodes that the ledger names."""
    entries = status.get("admitted", ())
    return tuple(each["node"] for each in entries if isinstance(each, dict) and isinstance(each.get("node"), str))


def places_of(status: models.Status) -> Places | None:
    """Where a campaign began to work in Git; None where nothing is written down about that."""
    campaign = status.get("campaign")
    places = campaign.get("places") if isinstance(campaign, dict) else None
    return forms.read(Places, places, "status.campaign.places") if places is not None else None


def _read_done(text: object) -> dict[str, int]:
    """`3/8`; an older release wrote none."""
    done, _, total = str(text).partition("/")
    return {"done": int(done), "total": int(total)} if done.isdecimal() and total.isdecimal() else {}


def _sorted(summary: Summary) -> Summary:
    return replace(summary, counts=tuple(sorted(summary.counts)), holds=tuple(sorted(summary.holds)))


def _read_campaign(data: Any) -> CampaignRecord:
    place = "status.campaign"
    schema = data.get("schema", 0) if isinstance(data, dict) else 0
    if not isinstance(schema, int) or schema > CAMPAIGN_SCHEMA:
        raise ValueError(
            f"{place}.schema: {schema} is newer than {CAMPAIGN_SCHEMA}, which is what this release knows; it is left "
            "as it is. Continue with the release that wrote it."
        )
    return forms.read(CampaignRecord, data, place)


def rollout_patch(record: RolloutRecord, before: models.Rollout | None = None) -> dict[str, Any]:
    """The merge patch of a rollout's status: all that we know of it, and only at the version we looked at.

    `before` is the rollout as it was seen, from which conditions keep the time of their last change, and which says
    what has to be taken away. If it is of another version than the record, the patch is turned down in any case.
    """
    summary = record.summary or Summary()
    status = forms.write(record) | forms.write(summary)
    status |= {"done": f"{summary.done}/{summary.total}", "why": conditions.why_of(record)}
    status |= {"conditions": _conditions(record, before), **_shown(record)}
    if record.campaign is not None:
        status["campaign"] = {"schema": CAMPAIGN_SCHEMA, **forms.write(record.campaign)}
    known = known_of(before.status) if before is not None else {}
    return {"metadata": {"resourceVersion": record.resource_version}, "status": _replacing(known, status)}


def known_of(status: models.Status) -> dict[str, Any]:
    """The fields of a status that this release knows, and may take away."""
    known = {name: said for name, said in status.items() if name in SHOWN}
    known |= {"conditions": msgspec.to_builtins(_read_conditions(status))} if "conditions" in status else {}
    for kind in (RolloutRecord, Summary):
        known |= forms.known(kind, status)
    campaign = status.get("campaign")
    if isinstance(campaign, dict):
        known["campaign"] = {"schema": 0} | forms.known(CampaignRecord, campaign)
    return known


def guard_patch(action: Keeping, before: models.Rollout) -> dict[str, Any]:
    """The merge patch that puts our finalizer on a rollout or takes it away; those of others stay."""
    others = [each for each in before.metadata.finalizers if each != keys.FINALIZER]
    ours = [keys.FINALIZER] if isinstance(action, GuardRollout) else []
    return {"metadata": {"resourceVersion": action.expect, "finalizers": [*others, *ours]}}


def _replacing(known: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """What is written, and null for what was there and is written no more; a merge leaves everything else alone."""
    patch: dict[str, Any] = dict.fromkeys(known.keys() - written.keys())
    for name, value in written.items():
        old = known.get(name)
        patch[name] = _replacing(old, value) if isinstance(value, dict) and isinstance(old, dict) else value
    return patch


def _shown(record: RolloutRecord) -> dict[str, Any]:
    """What is repeated for people, in `kubectl get`; never read back, so None takes it away."""
    campaign = record.campaign
    if campaign is None:
        return {"phase": conditions.phase_of(record) or None, "wave": None}
    phase = campaign.paused_in or campaign.phase
    return {"phase": conditions.phase_of(record), "wave": campaign.wave + 1 if phase in WAVING else None}


def _read_conditions(status: models.Status) -> tuple[models.Condition, ...]:
    try:
        return msgspec.convert(status.get("conditions", ()), tuple[models.Condition, ...])
    except msgspec.ValidationError:
        return ()  # nothing is decided by them, and the next write replaces them


def _conditions(record: RolloutRecord, before: models.Rollout | None) -> list[dict[str, Any]]:
    """The conditions, each with the time since which it has been so."""
    known = {each.type: each for each in _read_conditions(before.status)} if before is not None else {}
    generation = before.metadata.generation if before is not None else 0
    now = text_of(record.summarised_at)
    found = []
    for condition in conditions.conditions_of(record):
        old = known.get(condition.type)
        since = old.last_transition_time if old is not None and old.status == condition.status else None
        found.append(
            {
                "type": condition.type,
                "status": condition.status.value,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": since or now,
            }
            | ({"observedGeneration": generation} if generation else {})
        )
    return found
