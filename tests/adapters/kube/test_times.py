"""Times and durations that others write: one outside of 1970 to 2200, or longer than a year, stops nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml

from seatrial import manifests
from seatrial.adapters.kube.reading import items, pod_items
from seatrial.adapters.kube.reading.operator_items import wish_of
from seatrial.adapters.kube.reading.rollout_intent import read_intent
from seatrial.adapters.kube.reading.rollout_items import rollout_item
from seatrial.adapters.kube.shapes import kinds, models, operator_models, records
from seatrial.core.model.instants import DURATION_SECONDS_MAX
from seatrial.core.model.seen.nodes import NodeFacts, RecordFault
from seatrial.core.model.seen.operators import OperatorFacts
from tests.adapters.kube import objects

OUTSIDE = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59-05:00"]
LONG = 300_000_000_000
GPU = {"driver": "580.105.08"}


def stored(**spec: Any) -> models.RolloutText:
    """A rollout as an older definition let it in."""
    raw = {"metadata": {"name": "spring"}, "spec": {"target": GPU, **spec}, "status": {}}
    return msgspec.json.decode(json.dumps(raw), type=models.RolloutText)


@pytest.mark.parametrize("at", OUTSIDE)
def test_a_kubelet_with_a_clock_of_its_own_says_nothing_of_when(at: str) -> None:
    ready = models.Condition(type="Ready", status="True", last_transition_time=at)
    node = items.node_item(
        kinds.Node(metadata=models.ObjectMeta(name="n1"), status=kinds.NodeStatus(conditions=(ready,)))
    )
    assert (node.is_ready, node.ready_at) == (True, None)


@pytest.mark.parametrize("at", OUTSIDE)
def test_a_driver_pod_with_times_that_were_not_meant_is_read_without_them(at: str) -> None:
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": at}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": at}],
        "containerStatuses": [{"name": "c", "ready": True, "state": {"running": {"startedAt": at}},
                               "lastState": {"terminated": ended}}],
    }  # fmt: skip
    raw = objects.a_driver_pod()
    raw["status"] = status
    raw["metadata"]["creationTimestamp"] = at
    assert pod_items.pod_item(msgspec.convert(raw, kinds.Pod), objects.NAMESPACE) is not None


@pytest.mark.parametrize("at", OUTSIDE)
def test_a_record_with_such_a_time_is_one_that_cannot_be_read(at: str) -> None:
    note = json.dumps({"schema": records.SCHEMA, "phase": "upgrade-failed", "attempt": 1, "enteredAt": at})
    assert records.read_node(NodeFacts(name="n1"), "upgrade-failed", note).fault is RecordFault.UNREADABLE


@pytest.mark.parametrize("at", OUTSIDE)
def test_a_word_that_counts_until_such_a_time_is_refused_where_it_stands(at: str) -> None:
    word = {"gate": "smoke", "verdict": "pass", "because": "well", "at": "2026-11-18T10:00:00Z", "until": at}
    item = rollout_item(stored(canary={}, approvals={"attested": [word]}))
    with pytest.raises(ValueError, match=r"^spec.approvals.attested\[0\].until: "):
        read_intent(item.read(), OperatorFacts(), 0.0)


def test_a_duration_that_is_stored_and_too_long_is_read_as_the_longest_and_that_is_said() -> None:
    windows = {"open": [{"start": "22:00", "minutes": LONG}]}
    item = rollout_item(
        stored(driverTimeoutSeconds=LONG, canary={}, windows=windows, retries={"max": 1, "pauseSeconds": LONG})
    )
    intent = read_intent(item.read(), OperatorFacts(), 1_700_000_000.0)
    assert intent.restart_timeout_seconds == intent.retries.pause_seconds == DURATION_SECONDS_MAX
    assert intent.campaign is not None
    assert len(intent.campaign.openings or ()) == 1
    for place in ("spec.driverTimeoutSeconds", "spec.retries.pauseSeconds", "spec.windows.open[0].minutes"):
        assert place in item.warning
    assert rollout_item(stored()).warning == ""


def test_a_duration_of_the_operators_own_policy_ends_with_the_year_as_well() -> None:
    policy = operator_models.UpgradePolicy(drain=models.Drain(timeout_seconds=LONG))
    assert wish_of(policy, parallel_max=None, unavailable_max=None).drain_timeout_seconds == DURATION_SECONDS_MAX


def durations(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        if name.lower().endswith("seconds") or name == "minutes":
            yield f"{place}.{name}", inner
        yield from durations(inner, f"{place}.{name}")
    if "items" in schema:
        yield from durations(schema["items"], f"{place}[]")


def test_every_duration_of_a_spec_has_a_longest() -> None:
    definition = yaml.safe_load(manifests.crd())
    for version in definition["spec"]["versions"]:
        found = dict(durations(version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec"))
        assert len(found) > 10
        longest = {place: schema.get("maximum", LONG) for place, schema in found.items()}
        assert {place: most for place, most in longest.items() if most > DURATION_SECONDS_MAX} == {}
