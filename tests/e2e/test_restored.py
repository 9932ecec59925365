"""A real etcd that is put back to a backup, under an observer and a controller that saw what came after it.

The API server is the real one, on a control plane of its own: no other test is to lose its objects.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.core.decision.stops import why_blind
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.plane.restoring import RestorablePlane

pytestmark = [pytest.mark.cluster, pytest.mark.long]

NAMESPACE = "gpu-operator"
ROLLOUT = "restored"
LIMIT_SECONDS = 90.0
LONG_LEASE_SECONDS = 120
"""The API server is away twice for some seconds, and the lead is not what this is about."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen at one moment, as far as it matters here."""

    nodes: frozenset[str]
    has_label: bool
    is_blind: bool
    era: int


@pytest.fixture
def restorable(tmp_path: Path) -> Iterator[RestorablePlane]:
    with RestorablePlane(tmp_path / "plane") as made:
        controller_process.install(made.plane)
        made.plane.apply([a_node("kept"), a_rollout()])
        yield made


def a_node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.present": "true"}},
    }


def a_rollout() -> dict[str, Any]:
    spec = {"target": {"driver": "580.105.08"}}
    return {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": ROLLOUT}, "spec": spec}


async def looks_until(observer: KubeObserver, looks: list[Look], what: str, is_so: Callable[[Look], bool]) -> None:
    """Look at every change until one look is as it should be."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            sight = observer.observe()
            assert sight is not None, f"no rollout in sight while waiting for {what}"
            kept = sight.seen.nodes.get("kept")
            looks.append(
                Look(
                    nodes=frozenset(sight.seen.nodes),
                    has_label=kept is not None and kept.facts.is_skipped,
                    is_blind=why_blind(sight.seen, sight.intent, time.time()) is not None,
                    era=sight.era,
                )
            )
            if is_so(looks[-1]):
                return
            await observer.wait(time.time() + 0.2)


async def test_an_observer_shows_no_ghost_of_what_a_restored_cluster_never_was(restorable: RestorablePlane) -> None:
    plane = restorable.plane
    restorable.back_up()
    config = configs.load_config(kubeconfig=str(plane.kubeconfig), environ={})
    told: list[str] = []
    looks: list[Look] = []
    async with (
        Client(config, user_agent="test-restored") as client,
        KubeObserver(
            client, namespace=NAMESPACE, on_fault=print, on_back=lambda stream, _version: told.append(stream)
        ) as observer,
    ):
        await observer.wait_synced(LIMIT_SECONDS)
        plane.apply([a_node("ghost")])
        plane.kubectl("label", "node", "kept", "nvidia.com/gpu-driver-upgrade.skip=true")
        await looks_until(observer, looks, "the ghost", lambda look: look.nodes == {"kept", "ghost"} and look.has_label)

        has_noticed = threading.Event()
        restoring = asyncio.create_task(asyncio.to_thread(restorable.restore, lambda: wait_for(has_noticed)))
        await looks_until(observer, looks, "the end of the API server", lambda look: look.is_blind)
        noticed = len(looks)
        has_noticed.set()
        await looks_until(observer, looks, "the restored cluster", lambda look: look.nodes == {"kept"})
        await restoring

        assert not looks[-1].has_label
        assert looks[-1].era > 0
        assert "nodes" in told
        plane.apply([a_node("late")])
        await looks_until(
            observer, looks, "what comes after", lambda look: look.nodes == {"kept", "late"} and not look.is_blind
        )

    # Nobody is disrupted on a blind view, so nothing was done to a ghost in the restored cluster.
    assert [look for look in looks[noticed:] if "ghost" in look.nodes and not look.is_blind] == []


def test_a_controller_goes_on_from_what_a_restored_cluster_says(restorable: RestorablePlane, tmp_path: Path) -> None:
    plane = restorable.plane
    account = controller_process.identity(plane, "restored")
    with ControllerProcess(account, ROLLOUT, tmp_path, lease_seconds=LONG_LEASE_SECONDS) as controller:
        wait_counted(controller, plane, 1)
        restorable.back_up()
        plane.apply([a_node("ghost")])
        wait_counted(controller, plane, 2)

        restorable.restore()
        waiting.wait_for(
            # The rollout, whose status counted the ghost; of the nodes only one more has gone.
            lambda: "the cluster went back in time stream=gpurollouts" in said(controller),
            what="the controller to say what happened",
            timeout_seconds=LIMIT_SECONDS,
        )
        plane.apply([a_node("late"), a_node("later")])
        wait_counted(controller, plane, 3)

        controller.check()
    assert "as after a restore of etcd" in said(controller)


def wait_counted(controller: ControllerProcess, plane: ControlPlane, count: int) -> None:
    """Wait until the rollout's status counts so many nodes."""

    def look() -> bool:
        controller.check()
        status = plane.get("gpurollout", ROLLOUT).get("status") or {}
        counts: dict[str, int] = status.get("counts") or {}
        return sum(counts.values()) == count

    waiting.wait_for(
        look,
        what=f"{count} nodes to be counted",
        timeout_seconds=LIMIT_SECONDS,
        describe=lambda: said(controller)[-1500:],
    )


def said(controller: ControllerProcess) -> str:
    return controller.log.read_text(encoding="utf-8")


def wait_for(event: threading.Event) -> None:
    assert event.wait(LIMIT_SECONDS)
