"""A real API server takes the status of a hundred canaries that fail sixteen gates at length: the way back opens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.ports import Outcome, Result
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.kube import test_status_size as long
from tests.adapters.kube.test_execute_real import Reader

pytestmark = pytest.mark.cluster

ROLLOUT = "status-size"


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    controller_process.install(plane)
    spec = {"target": {"driver": "580.105.08"}, "nodeSelector": {"no": "node"}}
    metadata = {"name": ROLLOUT}
    plane.apply([{"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": metadata, "spec": spec}])
    yield plane
    plane.kubectl("delete", "gpurollout", ROLLOUT)


async def test_the_way_back_of_a_hundred_canaries_that_failed_at_length_is_taken_by_the_server(
    place: ControlPlane,
) -> None:
    """Named mutation: `detail_max` of judging/tries.py that always says DETAIL_MAX; the server then refuses 3 MB."""
    version = place.get("gpurollout", ROLLOUT)["metadata"]["resourceVersion"]
    action = WriteRolloutRecord(record=replace(long.failed_at_length(), name=ROLLOUT, resource_version=version))
    config = configs.load_config(kubeconfig=str(place.kubeconfig), environ={})
    async with Client(config, user_agent="test-status-size") as client:
        outcome = await KubeCluster(client, Reader(), is_leader=lambda: True).do(action)
    assert outcome == Outcome(action=action, result=Result.DONE)
    status = place.get("gpurollout", ROLLOUT)["status"]
    assert status["phase"] == "Reverting"
    assert len(status["campaign"]["gates"]) == len(long.NODES) * (len(long.GATES) + 1)
