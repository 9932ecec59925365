"""Operator, driver and images apart: which goes first, and when two of them move at once."""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.compat import plan as plans
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Stack
from seatrial.core.compat.plan import Plan, rulebook
from seatrial.core.compat.plan.memory import Rule
from seatrial.core.compat.plan.parts import Part, part_of, title_of
from tests.core.compat.knowledge import ON, facts, stack


def made(running: dict[str, str], wanted: dict[str, str], *more: Rule) -> Plan:
    rules = [*rulebook.stack_rules(facts(), ON), *more]
    answer = plans.make_plan(stack(running), stack({**running, **wanted}), facts(), ON, stack_rules=rules)
    assert isinstance(answer, Plan), answer
    return answer


def moves(plan: Plan) -> list[tuple[str, ...]]:
    return [tuple(f"{change.component.value} {change.after}" for change in step.changes) for step in plan.steps]


RUNNING = {"gpu_operator": "v25.3.4", "gpu_driver": "570.211.01", "cuda": "12.8"}


def test_the_driver_goes_before_the_images_and_the_way_back_says_so() -> None:
    plan = made(RUNNING, {"gpu_driver": "580.82.07", "cuda": "13.0"})
    assert moves(plan) == [("gpu_driver 580.82.07",), ("cuda 13.0",)]
    assert "Once step 2 is done the images must go back to CUDA 12.8 first" in plan.steps[0].rollback.sentence
    assert "before the driver goes back" in plan.steps[1].rollback.sentence


def test_going_down_the_images_go_first() -> None:
    running = {**RUNNING, "gpu_driver": "580.82.07", "cuda": "13.0"}
    plan = made(running, {"gpu_driver": "570.211.01", "cuda": "12.8"})
    assert moves(plan) == [("cuda 12.8",), ("gpu_driver 570.211.01",)]


FIXED = {"gpu_operator": "v25.3.4", "gpu_driver": "580.178.04"}


def test_the_operator_goes_with_the_old_driver_as_far_as_it_is_listed() -> None:
    assert moves(made(FIXED, {"gpu_operator": "v26.7.0", "gpu_driver": "595.91.07"})) == [
        ("gpu_operator v25.10.1",),
        ("gpu_operator v26.3.3",),
        ("gpu_driver 595.91.07",),
        ("gpu_operator v26.7.0",),
    ]


def test_an_old_driver_with_holes_goes_as_soon_as_the_new_one_is_listed() -> None:
    assert moves(made(RUNNING, {"gpu_operator": "v26.7.0", "gpu_driver": "595.91.07"})) == [
        ("gpu_operator v25.10.1",),
        ("gpu_driver 595.91.07",),
        ("gpu_operator v26.3.3",),
        ("gpu_operator v26.7.0",),
    ]


def test_a_patch_of_the_operator_is_one_step() -> None:
    assert moves(made({**RUNNING, "gpu_operator": "v25.3.2"}, {"gpu_operator": "v25.3.4"})) == [
        ("gpu_operator v25.3.4",)
    ]


def test_two_move_at_once_where_the_rules_forbid_both_ways_between() -> None:
    plan = made(RUNNING, {"gpu_operator": "v25.10.1", "gpu_driver": "580.105.08"}, only_together)
    assert moves(plan) == [("gpu_operator v25.10.1", "gpu_driver 580.105.08")]
    (step,) = plan.steps
    assert step.title == "GPU Operator and GPU driver"
    assert step.why[1].rule == "house-rule"
    assert "neither can go first" in step.why[1].sentence


def only_together(seen: Stack) -> Iterator[Finding]:
    operator, driver = seen[Component.GPU_OPERATOR], seen[Component.GPU_DRIVER]
    if operator and driver and (operator.text == "v25.3.4") is not (driver.text == "570.211.01"):
        yield Finding(rule="house-rule", verdict=Verdict.FAIL, message="Not these two.")


def test_images_wait_for_everything_else() -> None:
    running = {**RUNNING, "network_operator": "v25.4.0", "mofed": "25.04-0.6.1.0"}
    wanted = {"gpu_driver": "580.82.07", "cuda": "13.0", "network_operator": "v25.7.0", "mofed": "25.07-0.9.7.0"}
    assert [step.title for step in made(running, wanted).steps] == [
        "GPU driver",
        "Network Operator and MOFED",
        "CUDA in the images",
    ]


def test_a_network_driver_that_every_release_supports_is_reloaded_once() -> None:
    running = {"network_operator": "v24.10.1", "mofed": "24.10-0.7.0.0"}
    plan = made(running, {"network_operator": "v25.7.0", "mofed": "25.07-0.9.7.0"})
    assert moves(plan) == [
        ("network_operator v25.1.0",),
        ("network_operator v25.4.0",),
        ("network_operator v25.7.0", "mofed 25.07-0.9.7.0"),
    ]
    assert plan.steps[0].order == "MOFED stays as it is until step 3, so that nodes reload it once"
    assert [each.code for each in plan.steps[0].preparations] == ["keep-mofed"]


def test_every_component_belongs_to_something_that_has_a_title() -> None:
    for component in Component:
        assert part_of(component) in Part
        assert title_of([component])
