"""What a driver manager says while it works."""

from __future__ import annotations

import pytest

from seatrial.core.node.driver_manager import labels, words
from seatrial.core.node.driver_manager.plan import Route, Run
from seatrial.core.node.driver_manager.values import Await, Cordon, Evict, Relabel, Step, Unbind, Uncordon, Unload

PLUGIN = f"{labels.PREFIX}device-plugin"


@pytest.mark.parametrize("route", Route)
def test_every_route_is_told(route: Route) -> None:
    assert words.begun(Run(route=route), "580.105.08")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Relabel(values=((PLUGIN, labels.MARK), (labels.CLIENT, f"a_{labels.MARK}"))), "pausing device-plugin, client"),
        (Relabel(values=((PLUGIN, "true"),)), "giving back device-plugin"),
        (Relabel(values=((labels.DRIVER, "pre-installed"),)), f"labelling the node: {labels.DRIVER}=pre-installed"),
        (Cordon(version="1", at=0.0), "cordoning the node"),
        (Uncordon(version="1"), "taking our cordon away"),
        (Evict(namespace="team", name="train", uid="u"), "evicting team/train"),
        (Unload(module="nvidia"), "unloading nvidia"),
        (Unbind(devices=("0000:17:00.0",)), "taking devices from their drivers: 0000:17:00.0"),
        (Await(why="waiting", until=None), "waiting"),
    ],
)
def test_every_step_is_told(step: Step, text: str) -> None:
    assert words.doing(step) == text
