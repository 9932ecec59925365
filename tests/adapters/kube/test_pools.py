"""MachineConfigPools as a rollout sees them: whose, paused or not, and how long a pause may last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from seatrial.adapters.kube.reading import pools
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.campaign_models import MachineConfigPool
from seatrial.core.actions.of_campaigns import MakePool, PausePool
from seatrial.core.model.seen.operators import MachinePool


def seen(body: dict[str, Any], rollout: str = "spring") -> MachinePool:
    return pools.facts_of(pools.pool_item(msgspec.convert(body, MachineConfigPool)), rollout)


def test_a_pool_we_made_is_ours_and_nobody_elses() -> None:
    body = pools.pool_of(MakePool(rollout="spring", name="gpu-canary"))
    body["metadata"]["resourceVersion"] = "7"
    assert seen(body) == MachinePool(name="gpu-canary", resource_version="7", is_ours=True)
    assert not seen(body, "autumn").is_ours
    assert not seen({"metadata": {"name": "worker"}}).is_ours


def test_a_pause_of_ours_carries_our_name_and_its_end_takes_it_away() -> None:
    pause = PausePool(rollout="spring", name="worker", value=True, expect="5")
    body: dict[str, Any] = pools.pause_patch(pause)
    assert body["metadata"]["resourceVersion"] == "5"
    found = seen({"metadata": {"name": "worker", "annotations": body["metadata"]["annotations"]}, "spec": body["spec"]})
    assert (found.is_paused, found.paused_by) == (True, "spring")
    ended = pools.pause_patch(replace(pause, value=False))
    assert ended["spec"] == {"paused": False}
    assert ended["metadata"]["annotations"] == {keys.PAUSED_BY_ANNOTATION: None}


def test_how_many_nodes_are_in_a_pool_is_what_openshift_counts() -> None:
    assert seen({"metadata": {"name": "worker"}, "status": {"machineCount": 3}}).machine_count == 3


def test_a_pause_lasts_at_most_until_the_first_certificate_ends() -> None:
    ends = [{"expiry": "2026-03-02T00:00:00Z"}, {"expiry": "2026-03-01T00:00:00Z"}, {"expiry": "soon"}, {}]
    body = {"metadata": {"name": "worker"}, "spec": {"paused": True}, "status": {"certExpirys": ends}}
    found = seen(body)
    assert (found.is_paused, found.certificate_at) == (True, 1_772_323_200.0)
