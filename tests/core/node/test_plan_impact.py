"""What a step does to the workloads: every component has its rows, and the rows say what is so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from seatrial.core.compat import plan as plans
from seatrial.core.compat.matrix import COMPONENTS, GROUPS, Component, Hardware, Stack
from seatrial.core.compat.plan import Change, Plan, Rollback, Step, WayBack
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.node import impact_words as impacts
from seatrial.core.node.impact_rows import Loss, Row
from seatrial.core.node.impact_words import DRIVER_ROWS, Impact, impact_of
from seatrial.core.node.phases import TRANSITIONS
from tests.core.compat.knowledge import ON, facts

OPERATOR = {"gpu_operator": ("v25.3.0", "v25.3.4")}
DRIVER = {"gpu_driver": ("550.144.03", "580.82.07")}
OPERANDS = (Component.CONTAINER_TOOLKIT, Component.DEVICE_PLUGIN, Component.DCGM)


def step(moves: Mapping[str, tuple[str, str]], way: WayBack = WayBack.OPEN, **kept: str) -> Step:
    """A step that makes these moves, on top of what is kept."""
    changes = tuple(Change(component=Component(part), before=old, after=new) for part, (old, new) in moves.items())
    return Step(
        number=1,
        group=GROUPS[changes[0].component],
        changes=changes,
        stack=Stack.of({**kept, **{part: new for part, (_, new) in moves.items()}}),
        why=(),
        evicts="",
        preparations=(),
        findings=(),
        rollback=Rollback(way=way, to_step=0, farthest_step=0, sentence=""),
    )


def alone(part: Component) -> Impact:
    return impact_of(step({part.value: ("1", "2")}))


def told(impact: Impact) -> str:
    """Every word of it."""
    return "\n".join(f"{row.component}: {row.action}. {row.impact}" for row in impact.rows)


def of(impact: Impact, component: str) -> list[Row]:
    return [row for row in impact.rows if row.component == component]


# ── every component, every state ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("part", COMPONENTS)
def test_every_component_the_planner_can_move_has_an_impact(part: Component) -> None:
    impact = alone(part)
    assert impact.rows
    assert all(row.component and row.action and row.impact for row in impact.rows)


@pytest.mark.parametrize("part", COMPONENTS)
def test_what_a_step_loses_is_what_its_rows_lose_each_once_and_the_worst_first(part: Component) -> None:
    impact = alone(part)
    assert set(impact.loses) == {loss for row in impact.rows for loss in row.loses}
    assert list(impact.loses) == sorted(set(impact.loses), key=list(Loss).index)


def test_the_drivers_rows_name_every_state_of_a_node_in_the_machines_order() -> None:
    impact = alone(Component.GPU_DRIVER)
    walked = list(dict.fromkeys(row.phase for row in impact.rows if row.phase))
    assert walked == [phase.value for phase in NodePhase]
    assert list(DRIVER_ROWS) == list(NodePhase)


def test_the_drivers_rows_walk_only_where_the_machine_may_go() -> None:
    """The states that only some nodes see, as their rows say, are passed by; the rest is one legal walk."""
    always = [phase for phase, rows in DRIVER_ROWS.items() if not rows[0].action.startswith("Only if")]
    assert always[-1] is NodePhase.UPGRADE_DONE
    for here, there in pairwise(always):
        assert there in TRANSITIONS[here]


@pytest.mark.parametrize("part", [part for part in COMPONENTS if part is not Component.GPU_DRIVER])
def test_only_the_driver_walks_through_the_states(part: Component) -> None:
    assert {row.phase for row in alone(part).rows} == {""}


def test_a_nodes_gpus_are_out_of_service_from_the_cordon_until_it_is_done() -> None:
    rows = [row for row in alone(Component.GPU_DRIVER).rows if row.phase != NodePhase.UPGRADE_FAILED.value]
    free = {"", NodePhase.UPGRADE_REQUIRED.value, NodePhase.UPGRADE_DONE.value}
    assert {row.phase for row in rows if not row.is_capacity_lost} == free
    assert {row.phase for row in rows if row.is_capacity_lost}.isdisjoint(free)


# ── what is often told otherwise ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", [NodePhase.CORDON_REQUIRED, NodePhase.POD_DELETION_REQUIRED])
def test_the_upgrade_controller_cordons_and_evicts(phase: NodePhase) -> None:
    assert {row.component for row in DRIVER_ROWS[phase]} == {"upgrade controller"}


@pytest.mark.parametrize("part", COMPONENTS)
def test_neither_kube_controller_manager_nor_kubelet_acts(part: Component) -> None:
    assert {"kube-controller-manager", "kubelet"}.isdisjoint(row.component for row in alone(part).rows)


def test_update_strategy_does_not_pace_the_driver() -> None:
    first = alone(Component.GPU_DRIVER).rows[0]
    assert "OnDelete" in first.impact
    assert "whatever updateStrategy says" in first.impact
    assert "updateStrategy paces the operands" in told(impact_of(step(OPERATOR)))


@pytest.mark.parametrize("part", COMPONENTS)
def test_only_the_toolkit_and_the_runtime_itself_restart_the_container_runtime(part: Component) -> None:
    restarting = [row for row in alone(part).rows if "containerd" in f"{row.component} {row.action} {row.impact}"]
    is_runtime = part in (Component.CONTAINERD, Component.CRI_O)
    assert {row.component for row in restarting} <= {"container runtime" if is_runtime else "nvidia-container-toolkit"}
    assert all(Loss.CONTAINER_STARTS in row.loses for row in restarting)


def test_a_driver_pod_that_reloads_modules_does_not_restart_the_runtime() -> None:
    rows = of(alone(Component.GPU_DRIVER), "nvidia-driver-daemonset")
    assert rows
    assert all(Loss.CONTAINER_STARTS not in row.loses for row in rows)


@pytest.mark.parametrize("part", [Component.CONTAINER_TOOLKIT, Component.GPU_OPERATOR, Component.GPU_DRIVER])
def test_a_restart_of_the_runtime_stops_no_container(part: Component) -> None:
    (row,) = of(alone(part), "nvidia-container-toolkit")
    assert "Containers keep running" in row.impact
    assert set(row.loses) <= {Loss.NEW_PODS, Loss.CONTAINER_STARTS}
    assert Loss.CONTAINER_STARTS in row.loses


def test_a_node_is_uncordoned_only_after_validation() -> None:
    rows = alone(Component.GPU_DRIVER).rows
    (uncordon,) = (place for place, row in enumerate(rows) if row.action.startswith("Uncordons"))
    proving = [place for place, row in enumerate(rows) if row.component == "nvidia-operator-validator"]
    assert proving
    assert max(proving) < uncordon
    assert "once validated" in rows[uncordon].action


def test_claims_are_lost_with_the_dra_plugin_and_not_with_the_device_plugin() -> None:
    losing = [row for row in alone(Component.GPU_DRIVER).rows if Loss.CLAIMS in row.loses]
    assert [row.component for row in losing] == ["DRA kubelet plugin"]
    assert Loss.CLAIMS not in alone(Component.DEVICE_PLUGIN).loses


@pytest.mark.parametrize(("operator", "is_blind"), [("v25.3.4", True), ("v26.3.1", True), ("v26.7.0", False)])
def test_before_v26_7_nvidias_controller_does_not_see_claims(operator: str, is_blind: bool) -> None:
    assert ("does not see pods with DRA claims" in told(impact_of(step(DRIVER, gpu_operator=operator)))) is is_blind


# ── what is evicted ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_driver_costs_gpu_pods_and_nobody_else() -> None:
    impact = alone(Component.GPU_DRIVER)
    assert {Loss.GPU_PODS, Loss.NEW_PODS, Loss.GPUS} <= set(impact.loses)
    assert Loss.EVERY_POD not in impact.loses
    assert "the others stay" in told(impact)
    assert not impact.is_reboot


@pytest.mark.parametrize("part", [Component.GPU_OPERATOR, *OPERANDS, Component.SRIOV_OPERATOR, Component.CUDA])
def test_a_step_that_evicts_nothing_keeps_every_running_pod(part: Component) -> None:
    impact = alone(part)
    assert {Loss.EVERY_POD, Loss.GPU_PODS, Loss.NODE}.isdisjoint(impact.loses)
    assert not any(row.is_capacity_lost for row in impact.rows)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Component.CONTAINER_TOOLKIT, "Containers keep running"),
        (Component.DEVICE_PLUGIN, "Running GPU pods stay"),
        (Component.DCGM, "No pod is touched"),
        (Component.NETWORK_OPERATOR, "no pod is evicted"),
        (Component.SRIOV_OPERATOR, "no pod is evicted"),
        (Component.NCCL, "None on the node"),
    ],
)
def test_a_step_that_evicts_nothing_says_so(part: Component, words: str) -> None:
    assert words in told(alone(part))


def test_an_operator_replaces_its_operands_and_then_the_driver() -> None:
    rows = impact_of(step({**OPERATOR, **DRIVER})).rows
    states = [place for place, row in enumerate(rows) if row.phase]
    operands = [
        place
        for place, row in enumerate(rows)
        if row.action.startswith("Is replaced") and row.component.startswith(("nvidia-", "gpu-feature-"))
    ]
    assert [rows[place].component for place in operands] == list(impacts.OPERANDS.values())
    assert max(operands) < min(states)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("v26.3.1", "v26.7.0", "GPU pods run on if DRIVER_CONFIG_DIGEST stays equal"),
        ("v25.10.1", "v26.7.0", "GPU pods are evicted"),  # the pod that runs has no digest to compare with
        ("v26.3.0", "v26.3.1", "GPU pods are evicted"),  # there is a digest, and nobody compares it
    ],
)
def test_a_driver_that_stays_is_restarted_under_its_users_where_both_operators_know_how(
    before: str, after: str, words: str
) -> None:
    (row,) = of(impact_of(step({"gpu_operator": (before, after)}, gpu_driver="580.82.07")), "nvidia-driver-daemonset")
    assert row.impact.startswith("None while driver upgrades are held")
    assert words in row.impact


def test_a_driver_nobody_names_comes_with_the_operator() -> None:
    (row,) = of(impact_of(step(OPERATOR)), "nvidia-driver-daemonset")
    assert "the matrix names none" in row.action


def test_a_driver_that_moves_is_not_told_as_one_that_stays() -> None:
    assert "of the same version" in told(impact_of(step(OPERATOR, gpu_driver="580.82.07")))
    assert "of the same version" not in told(impact_of(step({**OPERATOR, **DRIVER})))


# ── reboots, and ways back ────────────────────────────────────────────────────────────────────────────────────────────


def test_platform_and_firmware_take_the_node_down() -> None:
    down = {part for part in COMPONENTS if alone(part).is_reboot}
    assert {GROUPS[part].value for part in down} == {"platform", "firmware"}


def test_a_platform_step_is_told_once_however_many_of_its_parts_move() -> None:
    both = step({"openshift": ("4.16.40", "4.17.40"), "kernel": ("5.14.0-427.1", "5.14.0-427.2")})
    assert impact_of(both) == impact_of(step({"openshift": ("4.16.40", "4.17.40")}))


def test_on_openshift_the_machine_config_operator_drains_and_does_not_wait_for_gpus() -> None:
    impact = impact_of(step({"openshift": ("4.16.40", "4.17.40")}, gpu_driver="580.82.07"))
    assert "does not wait for the GPUs" in of(impact, "machine-config-operator")[-1].action
    assert [row.is_capacity_lost for row in of(impact, "nvidia-driver-daemonset")] == [True]
    assert of(impact_of(step({"kubernetes": ("1.32.1", "1.33.1")})), "machine-config-operator") == []


def test_after_a_reboot_only_drivers_that_are_there_come_back() -> None:
    bare = impact_of(step({"kernel": ("5.14.0-427.1", "5.14.0-427.2")}))
    assert of(bare, "mofed") == of(bare, "nvidia-driver-daemonset") == []


@pytest.mark.parametrize(
    ("way", "is_one_way"), [(WayBack.OPEN, False), (WayBack.UNKNOWN, True), (WayBack.CLOSED, True)]
)
def test_a_way_is_one_way_as_the_plan_has_it(way: WayBack, is_one_way: bool) -> None:
    assert impact_of(step(DRIVER, way)).is_one_way is is_one_way


def test_every_step_of_a_real_plan_has_its_impact() -> None:
    running = {
        "openshift": "4.16.40",
        "kernel": "5.14.0-427.40.1.el9_4.x86_64",
        "gpu_operator": "v24.9.2",
        "gpu_driver": "550.144.03",
        "network_operator": "v24.10.1",
        "mofed": "24.10-0.7.0.0",
        "sriov_operator": "4.16.0",
    }
    wanted = {"openshift": "4.17.40", "gpu_operator": "v25.3.4", "gpu_driver": "580.82.07", "sriov_operator": "4.17.0"}
    network = {"network_operator": "v25.1.0", "mofed": "25.01-0.6.0.0"}
    plan = plans.make_plan(Stack.of(running), Stack.of({**wanted, **network}), facts(), ON)
    assert isinstance(plan, Plan)
    reboots = {each.group.value: impact_of(each).is_reboot for each in plan.steps}
    assert reboots == {"gpu": False, "network": False, "platform": True, "sriov": False}


# ── the network driver and the GPUs ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rdma", "named", "unnamed"),
    [("peermem", "nvidia-peermem", "DMA-BUF"), ("dmabuf", "DMA-BUF", "nvidia-peermem"), ("", "nvidia-peermem", "")],
)
def test_a_reload_of_mofed_says_what_becomes_of_gpudirect(rdma: str, named: str, unnamed: str) -> None:
    moving = step({"mofed": ("24.10-0.7.0.0", "25.07-0.9.7.0")}, gpu_driver="570.172.08")
    moving = replace(moving, stack=replace(moving.stack, hardware=Hardware(rdma=rdma)))
    impact = impact_of(moving)
    assert of(impact, named)
    assert not of(impact, unnamed)


def test_kubernetes_alone_reboots_nothing_and_builds_nothing() -> None:
    impact = impact_of(step({"kubernetes": ("v1.33.6", "v1.34.2")}, mofed="25.10-1.2.8.0", gpu_driver="580.105.08"))
    assert not impact.is_reboot
    assert {row.component for row in impact.rows} == {"administrator"}
