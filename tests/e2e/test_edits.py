"""What a real API server makes of every edit of a rollout: it refuses what core/model/edits.py says, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from seatrial.adapters.kube.shapes import rollout_records
from seatrial.core.model.campaign import CampaignRecord, Mode, RolloutPhase
from seatrial.core.model.edits import EDITS, Effect
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.edit_cases import BASES, CASES, GONE, WAVES_BY_SHARE, Case

pytestmark = pytest.mark.cluster

LABEL: Final = "seatrial.dev/edited"
TAKEN_AWAY: Final = (
    Case(field="matrix", base="direct", value=GONE),
    Case(field="publish", base="git", value=GONE),
    Case(field="maintenance", base="maintained", value=GONE),
    Case(field="byHand", base="by hand", value=GONE),
)
ADDED: Final = (
    Case(field="matrix", base="plain", value=BASES["direct"]["matrix"]),
    Case(field="maintenance", base="plain", value=BASES["maintained"]["maintenance"]),
)
WHOLE: Final = {
    ("matrix", "direct"): Effect.REFUSED_BEGUN,
    ("matrix", "plain"): Effect.REFUSED_BEGUN,
    ("publish", "git"): Effect.REFUSED,
    ("maintenance", "maintained"): Effect.REFUSED_BEGUN,
    ("maintenance", "plain"): Effect.AT_ONCE,
    ("byHand", "by hand"): Effect.REFUSED,
    ("waves", "plain"): Effect.AT_ONCE,
}
"""What the table says of whole blocks."""
ALL: Final = {f"edit-{number}": case for number, case in enumerate((*CASES, WAVES_BY_SHARE, *TAKEN_AWAY, *ADDED))}
STAGES: Final = {
    "proposed": (RolloutPhase.PROPOSED, None),
    "paused before it began": (RolloutPhase.PAUSED, RolloutPhase.PROPOSED),
    "baking": (RolloutPhase.BAKING, None),
    "paused while baking": (RolloutPhase.PAUSED, RolloutPhase.BAKING),
    "done": (RolloutPhase.DONE, None),
}
BEGUN: Final = ("baking", "paused while baking", "done")


@pytest.fixture(scope="module", autouse=True)
def rollouts(cluster: ControlPlane) -> Iterator[None]:
    """A rollout for every edit."""
    made = [
        {
            "apiVersion": "seatrial.dev/v1alpha1",
            "kind": "GPURollout",
            "metadata": {"name": name, "labels": {LABEL: "true"}},
            "spec": BASES[case.base],
        }
        for name, case in ALL.items()
    ]
    cluster.kubectl("create", "-f", "-", stdin=as_list(made))
    yield
    # One request for all of them: kubectl deletes and waits one by one.
    cluster.kubectl("delete", "--raw", f"/apis/seatrial.dev/v1alpha1/gpurollouts?labelSelector={LABEL}%3Dtrue")


def as_list(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def found(cluster: ControlPlane) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = cluster.get("gpurollouts", "-l", LABEL)["items"]
    return items


def bring_to(cluster: ControlPlane, stage: str) -> None:
    """Give every rollout the record of a campaign there, as the controller writes it; a status is no edit."""
    phase, paused_in = STAGES[stage]
    campaign = CampaignRecord(phase=phase, paused_in=paused_in, mode=Mode.DIRECT, canaries=("n1",))
    record = RolloutRecord(name="x", summary=Summary(state="waiting"), campaign=campaign)
    patch = rollout_records.rollout_patch(record)["status"]
    status = {key: value for key, value in patch.items() if value is not None}
    items = [item | {"status": status} for item in found(cluster)]
    cluster.kubectl("replace", "--subresource=status", "-f", "-", stdin=as_list(items))


def refusals(cluster: ControlPlane) -> dict[str, str]:
    """What the API server says to every edit that it refuses, by rollout; nothing is kept of the others."""
    items = [item | {"spec": ALL[item["metadata"]["name"]].spec} for item in found(cluster)]
    try:
        cluster.kubectl("replace", "--dry-run=server", "--validate=strict", "-f", "-", stdin=as_list(items))
    except errors.KubectlFailed as err:
        _, *said = re.split(r'GPURollout[.a-z]* "(edit-[0-9]+)" is invalid', str(err))
        return dict(zip(said[::2], said[1::2], strict=True))
    return {}


def is_to_be_refused(case: Case, stage: str) -> bool:
    effect = EDITS[case.field].effect if case.field in EDITS else WHOLE[case.field, case.base]
    # Maintenance is bound as soon as the controller has written a state, which it has at every stage here.
    is_bound = stage in BEGUN or case.field.partition(".")[0] == "maintenance"
    return effect is Effect.REFUSED or (effect is Effect.REFUSED_BEGUN and is_bound)


@pytest.mark.parametrize(
    "stage", [pytest.param(name, marks=pytest.mark.long if "paused" in name else ()) for name in STAGES]
)
def test_an_edit_is_refused_where_the_table_says_so_and_nowhere_else(cluster: ControlPlane, stage: str) -> None:
    bring_to(cluster, stage)
    refused = refusals(cluster)
    expected = {name for name, case in ALL.items() if is_to_be_refused(case, stage)}
    wrong = {str(ALL[name]): refused.get(name, "accepted") for name in set(refused) ^ expected}
    assert wrong == {}
    silent = {str(ALL[name]): why for name, why in refused.items() if "cannot" not in why}
    assert silent == {}


def test_who_edits_what_a_campaign_began_with_is_told_what_to_do(cluster: ControlPlane) -> None:
    bring_to(cluster, "baking")
    by_case = {str(ALL[name]): why for name, why in refusals(cluster).items()}
    assert "since the way back leads over it; abort this rollout and make another" in by_case["matrix.git.branch=other"]
