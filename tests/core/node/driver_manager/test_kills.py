"""Killed behind any write, once or twice: whoever starts again brings labels, cordon and modules to the same end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.node.driver_manager import labels
from seatrial.core.node.driver_manager.values import Ending, HostSeen, Module
from tests.core.node.driver_manager.world import DAEMONS, DRIVER, LABELS, PLUGIN, SETTINGS, Killed, World, a_job

WITH_DRA = LABELS | {labels.DRA_DRIVER: "true"}
CLAIMED = a_job("claimed", holds_claim=True)


def reload() -> World:
    return World(pods={"train": a_job()})


def with_claims() -> World:
    return World(labels=WITH_DRA.copy(), daemons=(*DAEMONS, PLUGIN), pods={"claimed": CLAIMED, "train": a_job()})


def with_an_admins_cordon() -> World:
    return World(is_cordoned=True, pods={"train": a_job()})


def the_same() -> World:
    return World(settings=replace(SETTINGS, digest="old"), labels=WITH_DRA.copy(), daemons=(*DAEMONS, PLUGIN))


def bare() -> World:
    left = HostSeen(modules=(Module(name="nouveau"),), mounts=("/run/nvidia/driver",), has_pid_file=True)
    return World(labels=WITH_DRA.copy(), daemons=(*DAEMONS, PLUGIN), host=left)


def drained() -> World:
    """Nobody may evict, but drain: somebody without a GPU request uses the driver."""
    busy = replace(DRIVER[1], use_count=1)
    web = a_job("web", holds_gpu=False)
    world = World(settings=replace(SETTINGS, is_evicting=False), pods={"web": web}, user="web")
    world.host = replace(world.host, modules=(DRIVER[0], busy, DRIVER[2]))
    return world


def by_a_custom_label() -> World:
    """The plugin of a chart of its own, kept on the node by the label that NODE_LABEL_FOR_GPU_POD_EVICTION names."""
    plugin = replace(PLUGIN, namespace="nvidia-dra-driver-gpu", selects=("example.com/custom",))
    daemons = (*(each for each in DAEMONS if each.name != "custom"), plugin)
    return World(
        settings=replace(SETTINGS, custom_label="example.com/custom"), daemons=daemons, pods={"claimed": CLAIMED}
    )


WORLDS = (reload, with_claims, with_an_admins_cordon, the_same, bare, drained, by_a_custom_label)


def _settle(world: World, *kills: int) -> World:
    for kill in kills:
        try:
            world.run(kill_after=kill)
        except Killed:
            continue
        break
    else:
        assert world.run().ending is Ending.DONE
    return world


def _check(world: World, before: dict[str, str]) -> None:
    assert world.labels == before
    assert world.is_cordoned is world.is_admins
    assert not world.is_cordon_ours
    assert world.host.mounts == ()
    assert not world.host.has_pid_file
    is_same = world.settings.digest == "old"
    assert world.host.is_loaded is is_same
    assert world.host.modules == (DRIVER if is_same else ())
    assert all(not pod.is_leaving for pod in world.pods.values())


@pytest.mark.parametrize("make", WORLDS)
def test_killed_once_behind_any_write_it_comes_to_the_same_end(make: Callable[[], World]) -> None:
    whole = make()
    assert whole.run().ending is Ending.DONE
    _check(whole, make().labels)
    assert len(whole.done) > 3
    for kill in range(1, len(whole.done) + 1):
        _check(_settle(make(), kill), make().labels)


@pytest.mark.parametrize("make", WORLDS)
def test_killed_twice_behind_any_two_writes_it_comes_to_the_same_end(make: Callable[[], World]) -> None:
    whole = make()
    whole.run()
    writes = range(1, len(whole.done) + 1)
    for first in writes:
        for second in writes:
            _check(_settle(make(), first, second), make().labels)


@pytest.mark.parametrize("make", WORLDS)
def test_killed_behind_any_write_and_told_to_keep_the_old_driver_nothing_half_stays(make: Callable[[], World]) -> None:
    whole = make()
    whole.run()
    for kill in range(1, len(whole.done) + 1):
        world = make()
        with pytest.raises(Killed):
            world.run(kill_after=kill)
        world.settings = replace(world.settings, digest="old")  # the version was taken back
        assert world.run().ending is Ending.DONE
        assert world.labels == make().labels
        assert world.is_cordoned is world.is_admins
        names = [module.name for module in world.host.modules]
        assert names in ([], [module.name for module in DRIVER])


@pytest.mark.parametrize("make", WORLDS)
def test_killed_behind_any_write_and_then_failing_it_leaves_nothing_paused(make: Callable[[], World]) -> None:
    whole = make()
    whole.run()
    lonely = a_job("lonely", keeper=PodOwner.NOBODY)
    for kill in range(1, len(whole.done) + 1):
        world = make()
        with pytest.raises(Killed):
            world.run(kill_after=kill)
        world.settings = replace(world.settings, is_evicting=True, is_draining=False)
        world.pods["lonely"] = lonely
        end = world.run()
        assert world.labels == make().labels, end
        assert world.is_cordoned is world.is_admins, end
