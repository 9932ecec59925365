"""The steps of a driver manager: each line of its plan, when it is due, and what becomes of it when it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.model.selectors import Selector
from seatrial.core.node.driver_manager import labels, plan, rows
from seatrial.core.node.driver_manager.plan import Route
from seatrial.core.node.driver_manager.values import (
    Cordon,
    End,
    Ending,
    Evict,
    ForgetDigest,
    HostSeen,
    Module,
    Relabel,
    RemovePidFile,
    Step,
    Turned,
    Unbind,
    Uncordon,
    Unload,
    Unmount,
)
from tests.core.node.driver_manager.world import (
    DAEMONS,
    DRIVER,
    LABELS,
    PLUGIN,
    SETTINGS,
    SPACE,
    World,
    a_daemon,
    a_job,
)

MARK = labels.MARK
WITH_DRA = LABELS | {labels.DRA_DRIVER: "true"}
NO_DRAIN = replace(SETTINGS, is_draining=False)


def kinds(world: World) -> list[str]:
    return [type(step).__name__ for step in world.done]


def relabels(world: World) -> list[dict[str, str]]:
    return [dict(step.values) for step in world.done if isinstance(step, Relabel)]


# ── which route ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("host_driver", "host", "changes", "route"),
    [
        ("580.105.08", HostSeen(modules=DRIVER), {}, Route.HOST_DRIVER),
        ("", HostSeen(), {}, Route.BARE),
        ("", HostSeen(modules=(Module(name="nvidia_uvm"),)), {}, Route.BARE),
        ("", HostSeen(modules=DRIVER, digest="a"), {"digest": "a"}, Route.SAME),
        ("", HostSeen(modules=DRIVER, digest="a"), {"digest": "a", "is_reinstalling": True}, Route.RELOAD),
        ("", HostSeen(modules=DRIVER, digest="a"), {"digest": "b"}, Route.RELOAD),
        ("", HostSeen(modules=DRIVER, digest=""), {"digest": ""}, Route.RELOAD),
        ("", HostSeen(digest="a"), {"digest": "a"}, Route.BARE),
    ],
)
def test_the_route_is_by_what_is_loaded(
    host_driver: str, host: HostSeen, changes: dict[str, Any], route: Route
) -> None:
    seen = World(host=host).look()
    assert plan.begin(seen, replace(SETTINGS, **changes), host_driver=host_driver).route is route


def test_a_driver_of_the_host_is_told_by_a_label_and_what_was_left_is_put_back() -> None:
    paused = LABELS | {f"{labels.PREFIX}device-plugin": MARK}
    world = World(host_driver="580.105.08", labels=paused, is_cordoned=True, is_cordon_ours=True)
    end = world.run()
    assert end.ending is Ending.HOST_DRIVER
    assert "remove the host's driver" in end.why
    assert world.now == rows.REST_SECONDS
    assert world.labels == LABELS | {labels.DRIVER: "pre-installed"}
    assert not world.is_cordoned
    assert world.host.is_loaded, "nothing of the host was touched"


def test_with_no_driver_loaded_nobody_is_evicted_and_only_the_dra_plugin_is_restarted() -> None:
    host = HostSeen(
        modules=(Module(name="nouveau"),), mounts=("/run/nvidia/driver",), has_pid_file=True, bound=("0000:17:00.0",)
    )
    world = World(labels=WITH_DRA.copy(), daemons=(*DAEMONS, PLUGIN), host=host, pods={"train": a_job()})
    assert world.run().ending is Ending.DONE
    assert kinds(world) == ["Relabel", "Unmount", "RemovePidFile", "Unload", "Unbind", "Relabel"]
    assert relabels(world) == [{labels.DRA_DRIVER: MARK}, {labels.DRA_DRIVER: "true"}]
    assert "train" in world.pods


def test_with_the_same_driver_loaded_its_modules_stay_and_workloads_run_on() -> None:
    world = World(
        settings=replace(SETTINGS, digest="old"),
        labels=WITH_DRA.copy(),
        daemons=(*DAEMONS, PLUGIN),
        pods={"train": a_job(), "claimed": a_job("claimed", holds_claim=True)},
    )
    assert world.run().ending is Ending.DONE
    assert kinds(world) == ["Relabel", "Relabel", "Unmount", "Unmount", "RemovePidFile", "Relabel"]
    assert world.host.modules == DRIVER
    assert world.host.digest == "old"
    assert {"train", "claimed"} <= set(world.pods)


def test_another_driver_goes_in_this_order() -> None:
    world = World(labels=WITH_DRA.copy(), daemons=(*DAEMONS, PLUGIN), pods={"train": a_job(holds_claim=True)})
    assert world.run().ending is Ending.DONE
    assert kinds(world) == [
        "Relabel",  # operands
        "Cordon",
        "Evict",
        "Relabel",  # the DRA plugin, when nobody needs it any more
        "ForgetDigest",
        "Unload",
        "Unload",
        "Unload",
        "Unmount",
        "Unmount",
        "RemovePidFile",
        "Unbind",
        "Uncordon",
        "Relabel",
    ]
    assert [step.module for step in world.done if isinstance(step, Unload)] == [
        "nvidia_modeset",
        "nvidia_uvm",
        "nvidia",
    ]


def test_nouveau_goes_last_where_a_driver_was_loaded() -> None:
    world = World()
    world.host = replace(world.host, modules=(*DRIVER, Module(name="nouveau")))
    assert world.run().ending is Ending.DONE
    assert world.done[-1] == Unload(module="nouveau")


# ── operands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_operands_are_paused_in_one_write_each_by_its_own_value() -> None:
    world = World()
    world.run()
    assert relabels(world)[0] == {
        f"{labels.PREFIX}operator-validator": MARK,
        f"{labels.PREFIX}container-toolkit": MARK,
        f"{labels.PREFIX}device-plugin": MARK,
        f"{labels.PREFIX}mig-manager": f"all-balanced_{MARK}",
        labels.CLIENT: MARK,
    }
    assert world.labels == LABELS


def test_a_custom_label_is_paused_too_and_its_pods_are_waited_for() -> None:
    daemon = a_daemon("custom", "example.com/custom", namespace="team")
    world = World(settings=replace(SETTINGS, custom_label="example.com/custom"), daemons=(daemon,))
    world.run()
    assert relabels(world)[0]["example.com/custom"] == MARK
    assert world.waited[0] == "waiting for the pods chosen by example.com/custom to leave: team/custom"
    assert world.labels == LABELS


def test_each_operand_has_five_minutes_of_its_own() -> None:
    stuck = a_daemon("nvidia-container-toolkit-daemonset", "somewhere/else")
    world = World(daemons=(stuck,), labels=LABELS | {"somewhere/else": "true"})
    end = world.run()
    assert end.ending is Ending.LATE
    assert world.now == rows.GONE_SECONDS
    assert "the pods of container-toolkit to leave: gpu-operator/nvidia-container-toolkit-daemonset" in end.why
    assert "kubectl describe pod -n gpu-operator nvidia-container-toolkit-daemonset" in end.why
    assert world.labels == LABELS | {"somewhere/else": "true"}, "what was paused is given back"
    assert world.host.modules == DRIVER


def test_the_pods_of_an_optional_operand_are_waited_for_only_where_the_node_has_its_label() -> None:
    odd = a_daemon("nvidia-mig-manager", "somewhere/else")
    has = LABELS | {"somewhere/else": "true"}
    without = {key: value for key, value in has.items() if key != f"{labels.PREFIX}mig-manager"}
    assert World(daemons=(odd,), labels=without).run().ending is Ending.DONE
    assert World(daemons=(odd,), labels=has.copy()).run().ending is Ending.LATE


def test_pods_of_other_namespaces_are_nobodys_operands() -> None:
    other = a_daemon("nvidia-device-plugin-daemonset", "somewhere/else", namespace="team")
    world = World(daemons=(other,), labels=LABELS | {"somewhere/else": "true"})
    assert world.run().ending is Ending.DONE


def test_client_pods_are_waited_for_wherever_they_are() -> None:
    world = World(daemons=(a_daemon("monitor", labels.CLIENT, namespace="team"),))
    assert world.run().ending is Ending.DONE
    assert f"waiting for the pods chosen by {labels.CLIENT} to leave: team/monitor" in world.waited


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_admins_cordon_is_left_alone_at_every_moment() -> None:
    world = World(is_cordoned=True, pods={"train": a_job()})
    assert world.run().ending is Ending.DONE
    assert world.is_cordoned
    assert not any(isinstance(step, Cordon | Uncordon) for step in world.done)


def test_our_own_cordon_goes_also_where_eviction_has_been_switched_off_since() -> None:
    world = World(settings=replace(NO_DRAIN, is_evicting=False), is_cordoned=True, is_cordon_ours=True, host=HostSeen())
    assert world.run().ending is Ending.DONE
    assert not world.is_cordoned


@pytest.mark.parametrize("is_superseded", [True, False])
def test_where_the_upgrade_controller_empties_the_node_or_both_switches_are_off_nobody_is_evicted(
    is_superseded: bool,
) -> None:
    off = SETTINGS if is_superseded else replace(NO_DRAIN, is_evicting=False)
    world = World(settings=off, is_superseded=is_superseded, pods={"web": a_job("web", holds_gpu=False)})
    assert world.run().ending is Ending.DONE
    assert not any(isinstance(step, Cordon | Evict) for step in world.done)


def test_a_budget_that_says_no_is_asked_again_and_named() -> None:
    answers = [Turned(why="PodDisruptionBudget team/train needs 1 healthy pod", is_passing=True)] * 2

    def budget(step: Step) -> Turned | None:
        return answers.pop() if isinstance(step, Evict) and answers else None

    world = World(pods={"train": a_job()}, turns_down=budget)
    assert world.run().ending is Ending.DONE
    assert world.now >= 2 * plan.EVICTION_PAUSE_SECONDS
    assert any("PodDisruptionBudget team/train" in why for why in world.waited)


def test_pods_that_do_not_leave_in_time_fail_the_run_and_everything_is_put_back() -> None:
    def never(step: Step) -> Turned | None:
        return Turned(why="a budget", is_passing=True) if isinstance(step, Evict) else None

    world = World(settings=replace(NO_DRAIN, timeout_seconds=60), pods={"train": a_job()}, turns_down=never)
    end = world.run()
    assert end.ending is Ending.LATE
    assert "1 pod to leave: team/train" in end.why
    assert "DRAIN_TIMEOUT_SECONDS" in end.why
    assert (world.labels, world.is_cordoned, world.host.modules) == (LABELS, False, DRIVER)


@pytest.mark.parametrize(
    ("pod", "allows", "says"),
    [
        (a_job(keeper=PodOwner.NOBODY), {"is_forceful": True}, "DRAIN_USE_FORCE"),
        (a_job(has_empty_dir=True), {"takes_empty_dirs": True}, "DRAIN_DELETE_EMPTYDIR_DATA"),
    ],
)
def test_a_pod_that_nobody_may_evict_fails_the_run_unless_it_is_allowed(
    pod: Any, allows: dict[str, Any], says: str
) -> None:
    world = World(settings=NO_DRAIN, pods={"train": pod})
    end = world.run()
    assert end.ending is Ending.FAILED
    assert says in end.why
    assert "team/train" in end.why
    assert (world.labels, world.is_cordoned) == (LABELS, False)
    assert World(settings=replace(NO_DRAIN, **allows), pods={"train": pod}).run().ending is Ending.DONE


def test_where_eviction_fails_the_node_is_drained_if_that_is_allowed() -> None:
    late = {"hits": 0}

    def slow(step: Step) -> Turned | None:
        if isinstance(step, Evict) and step.name == "train" and late["hits"] < 4:
            late["hits"] += 1
            return Turned(why="a budget", is_passing=True)
        return None

    world = World(
        settings=replace(SETTINGS, timeout_seconds=15),
        pods={"train": a_job(), "web": a_job("web", holds_gpu=False)},
        turns_down=slow,
    )
    assert world.run().ending is Ending.DONE
    assert {step.name for step in world.done if isinstance(step, Evict)} == {"train", "web"}


def test_a_drain_takes_those_that_are_selected_and_never_daemon_sets_or_static_pods() -> None:
    chosen = a_job("chosen", holds_gpu=False, labels=(("team", "a"),))
    other = a_job("other", holds_gpu=False)
    static = a_job("static", holds_gpu=False, keeper=PodOwner.KUBELET, labels=(("team", "a"),))
    finished = a_job("finished", holds_gpu=False, is_finished=True, labels=(("team", "a"),))
    world = World(
        settings=replace(SETTINGS, is_evicting=False, selector=Selector.parse("team=a")),
        pods={pod.uid: pod for pod in (chosen, other, static, finished)},
    )
    world.host = replace(world.host, modules=(replace(DRIVER[1], use_count=1), Module(name="nvidia", use_count=1)))
    end = world.run()
    assert [step.name for step in world.done if isinstance(step, Evict)] == ["chosen"]
    assert isinstance(world.done[1], Cordon), "nobody is drained from an open node"
    assert end.ending is Ending.FAILED, "it is in use still, in this world"
    assert "the driver is in use" in end.why


# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_dra_plugin_is_never_stopped_under_somebody_who_holds_a_claim() -> None:
    world = World(
        settings=replace(NO_DRAIN, is_evicting=False),
        labels=WITH_DRA.copy(),
        daemons=(*DAEMONS, PLUGIN),
        pods={"claimed": a_job("claimed", holds_gpu=False, holds_claim=True)},
    )
    end = world.run()
    assert end.ending is Ending.FAILED
    assert "1 pod is still holding GPU claims (team/claimed)" in end.why
    assert not any(labels.DRA_DRIVER in each for each in relabels(world))
    assert world.labels == WITH_DRA


def test_who_is_leaving_already_is_waited_for() -> None:
    world = World(
        settings=replace(NO_DRAIN, is_evicting=False),
        labels=WITH_DRA.copy(),
        daemons=(*DAEMONS, PLUGIN),
        pods={"claimed": a_job("claimed", holds_claim=True, is_leaving=True)},
    )
    assert world.run().ending is Ending.DONE


def test_with_claims_in_play_a_drain_alone_is_enough_to_evict_before_the_plugin_stops() -> None:
    world = World(
        settings=replace(SETTINGS, is_evicting=False),
        labels=WITH_DRA.copy(),
        daemons=(*DAEMONS, PLUGIN),
        pods={"claimed": a_job("claimed", holds_claim=True)},
    )
    assert world.run().ending is Ending.DONE
    assert kinds(world)[:4] == ["Relabel", "Cordon", "Evict", "Relabel"]


def test_a_custom_label_that_keeps_the_dra_plugin_is_paused_last() -> None:
    plugin = replace(PLUGIN, namespace="nvidia-dra-driver-gpu", selects=("example.com/custom",))
    world = World(
        settings=replace(SETTINGS, custom_label="example.com/custom"),
        daemons=(*(each for each in DAEMONS if each.name != "custom"), plugin),
        pods={"claimed": a_job("claimed", holds_claim=True)},
    )
    assert world.run().ending is Ending.DONE
    paused = relabels(world)
    assert "example.com/custom" not in paused[0]
    assert paused[1] == {"example.com/custom": MARK}
    assert kinds(world).index("Evict") < world.done.index(Relabel(values=(("example.com/custom", MARK),)))


def test_a_daemon_set_that_holds_claims_is_told_how_to_leave_by_itself() -> None:
    daemon = a_daemon("hog", "kubernetes.io/hostname", namespace="team", holds_claim=True)
    world = World(labels=WITH_DRA | {"kubernetes.io/hostname": "true"}, daemons=(PLUGIN, daemon))
    end = world.run()
    assert end.ending is Ending.FAILED
    assert f'nodeSelector has {labels.CLIENT}: "true"' in end.why


# ── the host ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (replace(DRIVER[1], use_count=3), "nvidia_uvm by 3 open handles"),
        (replace(DRIVER[1], use_count=1), "nvidia_uvm by 1 open handle)"),
        (replace(DRIVER[1], use_count=1, holders=("nvidia_drm",)), "nvidia_uvm by nvidia_drm"),
    ],
)
def test_a_driver_in_use_stays_whole_and_who_uses_it_is_told(module: Module, says: str) -> None:
    world = World(settings=NO_DRAIN)
    world.host = replace(world.host, modules=(DRIVER[0], module, DRIVER[2]))
    end = world.run()
    assert end.ending is Ending.FAILED
    assert says in end.why
    assert "nothing was unloaded" in end.why
    assert not any(isinstance(step, Unload | ForgetDigest) for step in world.done)
    assert (world.labels, world.is_cordoned, world.host.digest) == (LABELS, False, "old")


def test_a_module_that_the_kernel_keeps_is_tried_again_after_a_drain() -> None:
    refused: list[Step] = []

    def busy(step: Step) -> Turned | None:
        if step == Unload(module="nvidia_uvm") and not refused:
            refused.append(step)
            return Turned(why="nvidia_uvm is in use")
        return None

    world = World(pods={"web": a_job("web", holds_gpu=False)}, turns_down=busy)
    assert world.run().ending is Ending.DONE
    assert [step.name for step in world.done if isinstance(step, Evict)] == ["web"]
    strict = World(
        settings=NO_DRAIN, turns_down=lambda step: Turned(why="in use") if isinstance(step, Unload) else None
    )
    assert strict.run().ending is Ending.FAILED
    assert strict.labels == LABELS


def test_a_module_that_comes_back_is_no_reason_to_drain() -> None:
    world = World(pods={"web": a_job("web", holds_gpu=False)})
    real = world._unload

    def stubborn(name: str) -> None:
        kept = world.host.modules
        real(name)
        if name == "nvidia":
            world.host = replace(world.host, modules=tuple(each for each in kept if each.name == "nvidia"))

    world._unload = stubborn  # type: ignore[method-assign]
    end = world.run()
    assert end.ending is Ending.FAILED
    assert "is loaded again" in end.why
    assert "web" in world.pods


def test_a_mount_that_cannot_be_unmounted_fails_the_run_and_operands_come_back() -> None:
    world = World(
        turns_down=lambda step: Turned(why="/run/nvidia/driver is busy") if isinstance(step, Unmount) else None
    )
    end = world.run()
    assert end.ending is Ending.FAILED
    assert "busy" in end.why
    assert (world.labels, world.is_cordoned) == (LABELS, False)


@pytest.mark.parametrize("kind", [RemovePidFile, Unbind])
def test_a_pid_file_or_a_device_that_stays_is_worth_a_warning_only(kind: type[Step]) -> None:
    world = World(turns_down=lambda step: Turned(why="no") if isinstance(step, kind) else None)
    assert world.run().ending is Ending.DONE


@pytest.mark.parametrize(
    ("settings", "host", "is_waiting"),
    [
        ({"has_rdma": True}, {"has_mellanox": True}, True),
        ({"has_rdma": True}, {"has_mellanox": True, "has_mofed": True}, False),
        ({"has_rdma": True}, {"has_mellanox": True, "has_host_mofed": True}, True),
        ({"has_rdma": True, "has_host_mofed": True}, {"has_mellanox": True, "has_host_mofed": True}, False),
        ({"has_rdma": True, "has_host_mofed": True}, {"has_mellanox": True, "has_mofed": True}, True),
        ({"has_rdma": True}, {}, False),
        ({}, {"has_mellanox": True}, False),
    ],
)
def test_the_network_driver_is_waited_for_where_gpus_are_to_use_it(
    settings: dict[str, Any], host: dict[str, Any], is_waiting: bool
) -> None:
    seen = World(host=HostSeen(**host)).look()
    found = rows.await_mofed(rows.View(seen=seen, settings=replace(SETTINGS, **settings), now=100.0))
    assert isinstance(found, rows.Wait) is is_waiting
    if isinstance(found, rows.Wait):
        assert (found.seconds, found.again_at) == (None, 101.0)


# ── writes that are turned down ──────────────────────────────────────────────────────────────────────────────────────


def test_a_write_to_the_node_is_tried_seven_times_ever_later() -> None:
    tried: list[float] = []

    def down(step: Step) -> Turned | None:
        if not isinstance(step, Relabel):
            return None
        tried.append(world.now)
        return Turned(why="the API server is away", is_passing=True)

    world = World(turns_down=down)
    assert world.run().ending is Ending.FAILED
    assert tried[:7] == [0, 1, 3, 7, 15, 31, 63]


def test_what_could_not_be_put_back_is_told_besides_why_it_failed() -> None:
    def later(step: Step) -> Turned | None:
        is_giving_back = isinstance(step, Relabel) and labels.MARK not in dict(step.values).values()
        return Turned(why="patch nodes is forbidden") if is_giving_back else None

    world = World(settings=NO_DRAIN, pods={"train": a_job(keeper=PodOwner.NOBODY)}, turns_down=later)
    end = world.run()
    assert end.ending is Ending.FAILED
    assert "DRAIN_USE_FORCE" in end.why
    assert "Besides, this could not be put back: patch nodes is forbidden" in end.why


def test_who_is_stopped_puts_back_what_was_done() -> None:
    world = World(pods={"train": a_job()})
    state = plan.begin(world.look(), world.settings, host_driver="")
    for _ in range(4):
        state, step = plan.decide(state, world.look(), world.settings, world.now)
        if isinstance(step, Relabel | Cordon):
            world._do(step)
            world.done.append(step)
        else:
            world._pass_time(1.0)
    state = plan.stopped(state, "asked to end")
    assert plan.stopped(state, "again") == state
    steps = []
    while not isinstance((found := plan.decide(state, world.look(), world.settings, world.now))[1], End):
        state, step = found
        world._do(step)
        world.done.append(step)
        steps.append(type(step).__name__)
    assert steps[-1] == "Relabel"
    assert (world.labels, world.is_cordoned) == (LABELS, False)
    assert found[1].ending is Ending.STOPPED


def test_who_fights_with_somebody_about_a_label_gives_up() -> None:
    world = World()
    state = plan.begin(world.look(), world.settings, host_driver="")
    count = 0
    while count < 100:
        state, step = plan.decide(state, world.look(), world.settings, world.now)
        if isinstance(step, End):
            break
        count += 1
        state = plan.noted(state, step, None, world.now)  # as if somebody undid it at once
    assert "somebody undoes" in step.why  # type: ignore[union-attr]


def test_operands_are_known_in_the_namespace_of_the_environment() -> None:
    assert SETTINGS.namespace == SPACE
