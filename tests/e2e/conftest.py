"""What the end-to-end tests share: our resource definition on the run's control plane, and rollouts by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seatrial.testbed import controller_process
from seatrial.testbed.control_plane import ControlPlane

RolloutMaker = Callable[..., None]


@pytest.fixture(scope="session")
def cluster(plane: ControlPlane) -> ControlPlane:
    """The control plane with everything of ours installed."""
    controller_process.install(plane)
    return plane


@pytest.fixture
def make_rollout(cluster: ControlPlane) -> Iterator[RolloutMaker]:
    """Create a GPURollout over one fleet; removed after the test."""
    made: list[str] = []

    def make(name: str, *, fleet: str, target: str, limits: dict[str, Any], **spec: Any) -> None:
        made.append(name)
        cluster.apply(
            [
                {
                    "apiVersion": "seatrial.dev/v1alpha1",
                    "kind": "GPURollout",
                    "metadata": {"name": name},
                    "spec": {
                        "target": {"driver": target},
                        "nodeSelector": {"testbed.seatrial.dev/fleet": fleet},
                        "limits": limits,
                        **spec,
                    },
                }
            ]
        )

    yield make
    for name in made:
        cluster.kubectl("delete", "gpurollout", name, "--ignore-not-found")
