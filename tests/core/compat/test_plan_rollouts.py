"""A plan's steps as rollouts: releases, driver and operands are ours, the rest is people's, in a sound order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.plan.rollouts import INSTRUCTIONS_MAX, Leg, Move, moves_of
from seatrial.core.compat.plan.values import Change

RUNNING = {Component.GPU_OPERATOR: "v24.9.2", Component.GPU_DRIVER: "550.144.03", Component.FIRMWARE_CX7: "28.39.1002"}


def change(component: Component, after: str, before: str = "") -> Change:
    return Change(component=component, before=before or RUNNING.get(component, ""), after=after)


OPERATOR = change(Component.GPU_OPERATOR, "v25.3.4")
DRIVER = change(Component.GPU_DRIVER, "580.82.07")
TOOLKIT = change(Component.CONTAINER_TOOLKIT, "v1.17.8", "v1.17.4")
CX7 = change(Component.FIRMWARE_CX7, "28.43.2026")
CX6 = change(Component.FIRMWARE_CX6, "22.43.2026", "22.39.1002")
CUDA = change(Component.CUDA, "13.0", "12.4")


def leg(*changes: Change, number: int = 1, **more: Any) -> Leg:
    stack = RUNNING | {each.component: each.after for each in changes}
    return Leg(number=number, changes=changes, stack=stack, **more)


def sound(_: Mapping[Component, str]) -> frozenset[str]:
    return frozenset()


def moves(*legs: Leg, judge: Any = sound) -> tuple[Move, ...]:
    return moves_of(legs, RUNNING, judge)


def leads(*legs: Leg, judge: Any = sound) -> list[Component]:
    return [move.change.component for move in moves(*legs, judge=judge)]


def test_an_operator_goes_before_its_driver_and_takes_its_operands_along() -> None:
    first, second = moves(leg(DRIVER, TOOLKIT, OPERATOR))
    assert (first.change, first.along, first.driver, first.is_ours) == (OPERATOR, (TOOLKIT,), "550.144.03", True)
    assert (second.change, second.along, second.driver, second.is_ours) == (DRIVER, (), "580.82.07", True)
    assert first.beside == (("gpu_operator", "v25.3.4"),), "the release brings the toolkit"
    assert (first.instructions, second.instructions) == ("", "")


def test_a_network_operator_is_published_and_its_driver_is_a_step_of_its_own() -> None:
    network = change(Component.NETWORK_OPERATOR, "v25.4.0", "v25.1.0")
    mofed = change(Component.MOFED, "25.04-0.6.0.0", "25.01-0.6.0.0")
    first, second = moves(leg(mofed, network))
    assert (first.change, first.along, first.beside) == (network, (), (("network_operator", "v25.4.0"),))
    assert (second.change, second.is_ours, second.beside) == (mofed, True, (("mofed", "25.04-0.6.0.0"),))


def test_of_a_step_of_everything_only_firmware_and_the_platform_stay_by_hand() -> None:
    platform = change(Component.OPENSHIFT, "4.20.1", "4.19.2")
    network = change(Component.NETWORK_OPERATOR, "v25.4.0", "v25.1.0")
    mofed = change(Component.MOFED, "25.04-0.6.0.0", "25.01-0.6.0.0")
    legs = leg(platform), leg(DRIVER, OPERATOR, TOOLKIT), leg(mofed, network), leg(CX7)
    found = {move.change.component: move.is_ours for move in moves(*legs)}
    assert [component for component, is_ours in found.items() if not is_ours] == [
        Component.OPENSHIFT,
        Component.FIRMWARE_CX7,
    ]


def test_a_dra_driver_is_published_by_itself_beside_a_release_of_the_operator() -> None:
    dra = change(Component.DRA_DRIVER, "25.12.0", "25.8.0")
    assert [move.beside for move in moves(leg(DRIVER, OPERATOR, dra))] == [
        (("gpu_operator", "v25.3.4"),),
        (("dra_driver", "25.12.0"),),
        (),
    ]
    (alone,) = moves(leg(dra))
    assert (alone.is_ours, alone.driver) == (True, "550.144.03")


PLUGIN = change(Component.DEVICE_PLUGIN, "v0.17.4", "v0.17.1")
NFD = change(Component.NFD, "v0.17.3", "v0.16.6")


def test_without_a_release_of_the_operator_its_operands_move_with_the_driver_in_one_rollout() -> None:
    (only,) = moves(leg(PLUGIN, TOOLKIT, DRIVER, CUDA))
    assert (only.change, only.is_ours, only.instructions) == (DRIVER, True, "")
    assert only.beside == (("device_plugin", "v0.17.4"), ("container_toolkit", "v1.17.8"))
    assert CUDA in only.along


def test_operands_alone_are_a_rollout_of_ours_and_the_driver_stays() -> None:
    (only,) = moves(leg(TOOLKIT))
    assert (only.is_ours, only.driver, only.beside) == (True, "550.144.03", (("container_toolkit", "v1.17.8"),))


def test_what_nobody_publishes_stays_by_hand_beside_operands() -> None:
    first, second = moves(leg(TOOLKIT, NFD))
    assert (first.change, first.is_ours, first.beside) == (NFD, False, ())
    assert (second.change, second.is_ours) == (TOOLKIT, True)


def test_the_driver_goes_first_where_the_rules_forbid_the_new_operator_with_the_old_one() -> None:
    def judge(stack: Mapping[Component, str]) -> frozenset[str]:
        is_odd = (stack[Component.GPU_OPERATOR], stack[Component.GPU_DRIVER]) == ("v25.3.4", "550.144.03")
        return frozenset({"driver-operator"} if is_odd else ())

    assert leads(leg(OPERATOR, DRIVER), judge=judge) == [Component.GPU_DRIVER, Component.GPU_OPERATOR]


def test_where_neither_order_is_sound_the_rules_are_named() -> None:
    def judge(stack: Mapping[Component, str]) -> frozenset[str]:
        is_half = (stack[Component.GPU_OPERATOR] == "v25.3.4") is not (stack[Component.GPU_DRIVER] == "580.82.07")
        return frozenset({"driver-operator"} if is_half else {"lifecycle"})

    assert [move.doubt for move in moves(leg(OPERATOR, DRIVER), judge=judge)] == [("driver-operator",), ()]


def test_the_firmware_of_each_kind_of_card_is_a_step_of_its_own() -> None:
    assert leads(leg(CX6, CX7)) == [Component.FIRMWARE_CX7, Component.FIRMWARE_CX6]


def test_cuda_comes_with_the_driver() -> None:
    only = moves(leg(CUDA, DRIVER))
    assert [(move.change, move.along) for move in only] == [(DRIVER, (CUDA,))]


def test_the_driver_of_a_step_by_hand_is_the_one_that_nodes_run_by_then() -> None:
    later = leg(CX7, number=2)
    both = leg(DRIVER), Leg(number=2, changes=later.changes, stack={**later.stack, Component.GPU_DRIVER: "580.82.07"})
    assert [(move.step, move.driver) for move in moves(*both)] == [(1, "580.82.07"), (2, "580.82.07")]


def test_people_are_told_what_to_prepare_why_and_what_is_known_of_the_way_back() -> None:
    told = leg(
        CX7, preparations=("Empty the node.",), why=("it is wanted",), way_back="nobody knows one", is_one_way=True
    )
    (move,) = moves(told)
    assert move.is_one_way
    assert move.instructions == (
        "Bring firmware_cx7 from 28.39.1002 to 28.43.2026. Before: Empty the node. Why: it is wanted. "
        "Way back: nobody knows one."
    )


def test_instructions_are_never_longer_than_a_rollout_can_hold() -> None:
    (move,) = moves(leg(CX7, why=("x" * 9000,)))
    assert len(move.instructions) == INSTRUCTIONS_MAX


def test_what_is_not_named_any_more_is_nobodys_step() -> None:
    assert moves(leg(Change(component=Component.NCCL, before="2.23.4", after=""))) == ()


def test_an_operator_whose_driver_moves_in_a_later_step_leaves_it_where_it_is() -> None:
    later = Leg(number=2, changes=(DRIVER,), stack={**leg(OPERATOR).stack, Component.GPU_DRIVER: "580.82.07"})
    first, second = moves(leg(OPERATOR), later)
    assert (first.driver, first.beside) == ("550.144.03", (("gpu_operator", "v25.3.4"),))
    assert (second.driver, second.is_ours) == ("580.82.07", True)
