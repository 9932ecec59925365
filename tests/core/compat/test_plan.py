"""Plans on the real rules and facts: what a plan promises, and what is answered when there is none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from seatrial.core.compat import plan as plans
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Accept, Component, Group, Stack, Value, groups_of
from seatrial.core.compat.plan import (
    Plan,
    Reason,
    Refusal,
    RefusalCode,
    WayBack,
    candidates,
    limits,
    refusals,
    rulebook,
)
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.rulebook import Rulebook
from seatrial.core.compat.rules import check_change, check_stack
from seatrial.core.compat.versions import OfedVersion, OpenShiftVersion, OperatorVersion
from tests.core.compat.knowledge import ON, examples, facts, stack
from tests.properties.drawn import drawn

OPERATORS = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)


def example(name: str) -> Stack:
    found = next(each for each in examples()["compatible"] if each["id"].startswith(name))
    return stack(found["components"], found["hardware"])


def made(running: Stack, wanted: Stack, **options: Any) -> Plan:
    answer = plans.make_plan(running, wanted, facts(), ON, **options)
    assert isinstance(answer, Plan), answer
    return answer


def refused(running: Stack, wanted: Stack, **options: Any) -> Refusal:
    answer = plans.make_plan(running, wanted, facts(), ON, **options)
    assert isinstance(answer, Refusal), answer
    return answer


def changed(before: Stack, **texts: str) -> Stack:
    new = Stack.of(texts).values
    return replace(before, values={**before.values, **new})


def without(before: Stack, *parts: Component) -> Stack:
    return replace(before, values={part: value for part, value in before.values.items() if part not in parts})


def failing(findings: Sequence[Finding]) -> list[str]:
    return [f"{each.rule}: {each.message}" for each in findings if each.verdict is Verdict.FAIL]


def assert_promises_kept(plan: Plan) -> None:
    """Everything a plan promises, by asking the rules again about whole stacks."""
    stacks = [plan.running, *(step.stack for step in plan.steps)]
    for (before, after), step in zip(pairwise(stacks), plan.steps, strict=True):
        assert failing(check_stack(after, unaware(), ON)) == []
        assert failing(check_change(before, after, facts(), ON)) == []
        assert groups_of(before.differing(after)) == (step.group,)
        assert [change.component for change in step.changes] == list(before.differing(after))
        assert_known_way(before, after)
    assert [step.number for step in plan.steps] == list(range(1, len(plan.steps) + 1))
    assert plan.wanted.differing(stacks[-1]) == ()


def unaware() -> Facts:
    """The facts without what is vulnerable: the way out of it may lead over releases that are, too."""
    return replace(facts(), vulnerabilities=())


def assert_known_way(before: Stack, after: Stack) -> None:
    """Operators go up within their line or to the next one, OpenShift one minor at a time."""
    for part in OPERATORS:
        old, new = _version(before[part]), _version(after[part])
        if isinstance(old, OperatorVersion) and isinstance(new, OperatorVersion) and new > old:
            assert 1 <= len(facts().lines_between(part, old.line, new.line)) <= 2
    here, there = _version(before[Component.OPENSHIFT]), _version(after[Component.OPENSHIFT])
    if isinstance(here, OpenShiftVersion) and isinstance(there, OpenShiftVersion):
        assert there >= here
        assert there.minor - here.minor <= 1


def _text(seen: Stack, part: str) -> str:
    value = seen[Component(part)]
    return "" if value is None else value.text


def _version(value: Value | None) -> object:
    return None if value is None else value.version


# ── the long way ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_from_the_second_example_to_the_fifth_every_promise_is_kept() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    assert_promises_kept(plan)
    lines = {part: _lines_met(plan, part) for part in OPERATORS}
    assert lines[Component.GPU_OPERATOR] == ["24.9", "25.3", "25.10", "26.3", "26.7"]
    assert lines[Component.NETWORK_OPERATOR] == ["24.7", "24.10", "25.1", "25.4", "25.7", "25.10", "26.1"]
    assert _lines_met(plan, Component.OPENSHIFT) == ["4.16", "4.17", "4.18", "4.19", "4.20"]
    titles = [step.title for step in plan.steps]
    assert titles.count("GPU Operator") == 4
    assert titles.count("GPU driver") == 1
    assert titles.count("CUDA in the images") == 1
    assert len(plan.steps) == 6 + 6 + 4 + 4 + 1 + 1, "GPU, network, platform, SR-IOV, firmware, workload"


def test_bridges_hold_on_both_sides_of_every_platform_step() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    stacks = [plan.running, *(step.stack for step in plan.steps)]
    crossings = [pair for pair, step in zip(pairwise(stacks), plan.steps, strict=True) if step.group is Group.PLATFORM]
    assert len(crossings) == 4
    for before, after in crossings:
        told = {each.rule: each.verdict for each in check_change(before, after, facts(), ON)}
        assert told["bridge"] in (Verdict.OK, Verdict.WARN)


def test_a_change_is_judged_in_short_as_it_is_in_full() -> None:
    plan = made(example("ok-2"), example("ok-5"))
    book = a_judge(plan.running, plan.wanted).book
    for before, after in pairwise([plan.running, *(step.stack for step in plan.steps)]):
        full = [each.verdict for each in book.change_findings(before.values, after.values)]
        short = book.on_change(before.values, after.values)
        counts = full.count(Verdict.UNKNOWN), full.count(Verdict.WARN)
        assert (short.failing, counts) == (frozenset(), (short.doubts.unknown_count, short.doubts.warn_count))


def test_a_step_that_a_later_platform_step_needs_is_called_a_bridge() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    bridges = [why for step in plan.steps for why in step.why if why.reason is Reason.BRIDGE]
    assert any(why.rule == "sriov-openshift" for why in bridges)
    assert all(step.why for step in plan.steps)


def test_versions_in_between_leave_open_what_no_fact_says() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    step = next(each for each in plan.steps if each.group is Group.PLATFORM)
    assert [(each.component.value, each.after) for each in step.changes] == [
        ("openshift", "4.17.z"),
        ("kernel", "5.14.0-427.el9_4.x86_64"),
    ]
    codes = [each.code for each in step.preparations]
    assert codes[:6] == [
        "check-upgradeable",
        "choose-z-stream",
        "read-kernel",
        "pause-machine-config-pool",
        "check-driver-toolkit",
        "rebuild-mofed",
    ]


def test_known_bad_z_streams_are_named_where_one_is_to_be_chosen() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    told = [each.sentence for step in plan.steps for each in step.preparations if each.code == "choose-z-stream"]
    assert any("not 4.18.22 or 4.18.23 (known bad)" in sentence for sentence in told)


def test_the_driver_manager_is_pinned_where_the_operator_moves_and_the_driver_stays() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    for step in plan.steps:
        parts = {change.component for change in step.changes}
        codes = {each.code for each in step.preparations}
        is_needed = Component.GPU_OPERATOR in parts and Component.GPU_DRIVER not in parts
        assert ("pin-driver-manager" in codes) is is_needed
        assert ("scope-driver" in codes) is (Component.GPU_DRIVER in parts)


def test_one_way_steps_are_marked_and_move_the_point_of_return() -> None:
    plan = made(example("ok-2"), example("ok-5"))

    kept = ("GPU driver", "CUDA in the images")
    ways = {step.group: step.rollback.way for step in plan.steps if step.title not in kept}
    assert {step.rollback.way for step in plan.steps if step.title == "GPU driver"} == {WayBack.OPEN}
    assert ways == {
        Group.GPU: WayBack.UNKNOWN,
        Group.NETWORK: WayBack.UNKNOWN,
        Group.FIRMWARE: WayBack.CLOSED,
        Group.PLATFORM: WayBack.CLOSED,
        Group.SRIOV: WayBack.OPEN,
        Group.WORKLOAD: WayBack.OPEN,
    }
    closed = 0
    for step in plan.steps:
        closed = step.number if step.rollback.way is WayBack.CLOSED else closed
        assert step.rollback.farthest_step == closed
        assert step.rollback.to_step == (step.number if closed == step.number else step.number - 1)
        assert step.is_one_way is (step.rollback.way is not WayBack.OPEN)


def test_nothing_says_what_it_evicts_by_saying_nothing() -> None:
    plan = made(example("ok-2"), example("ok-5"))
    assert all(step.evicts for step in plan.steps)
    assert "rebooted" in next(step for step in plan.steps if step.group is Group.PLATFORM).evicts


def test_asked_again_the_plan_is_the_same() -> None:
    assert made(example("ok-1"), example("ok-4")) == made(example("ok-1"), example("ok-4"))


def _lines_met(plan: Plan, part: Component) -> list[str]:
    met = [_version(each[part]) for each in (plan.running, *(step.stack for step in plan.steps))]
    return list(
        dict.fromkeys(version.line for version in met if isinstance(version, OperatorVersion | OpenShiftVersion))
    )


# ── the transitions that come with the data ───────────────────────────────────────────────────────────────────────────


def transition(name: str) -> tuple[Stack, Stack]:
    found = next(each for each in examples()["transitions"] if each["id"] == name)
    return stack(found["from"]), stack(found["to"])


def test_a_good_step_is_its_own_plan() -> None:
    plan = made(*transition("step-ok"))
    assert_promises_kept(plan)
    told = [(step.title, step.why[0].reason) for step in plan.steps]
    assert told == [("GPU Operator", Reason.WANTED), ("GPU driver", Reason.WANTED)]


def test_a_skipped_major_is_put_in() -> None:
    plan = made(*transition("step-skips-major"))
    assert_promises_kept(plan)
    assert _lines_met(plan, Component.GPU_OPERATOR) == ["24.6", "24.9", "25.3"]
    assert plan.steps[0].why[0].reason is Reason.NEXT_LINE
    assert plan.steps[0].why[0].rule == "upgrade-path"


def test_two_groups_at_once_become_two_steps_in_the_preferred_order() -> None:
    plan = made(*transition("step-two-groups"))
    assert_promises_kept(plan)
    assert [step.group for step in plan.steps] == [Group.GPU, Group.NETWORK]


def test_a_platform_step_that_leaves_an_operator_behind_is_refused() -> None:
    refusal = refused(*transition("step-ocp-leaves-operator-behind"))
    assert (refusal.code, refusal.conflict) == (RefusalCode.TARGET_FAILS, ("netop-openshift",))


def test_the_operator_left_behind_moves_before_the_platform() -> None:
    before, after = transition("step-ocp-leaves-operator-behind")
    plan = made(before, changed(after, network_operator="v25.1.0"))
    assert_promises_kept(plan)
    assert [step.group for step in plan.steps] == [Group.NETWORK, Group.PLATFORM]
    assert [why.reason for why in plan.steps[0].why] == [Reason.WANTED, Reason.BRIDGE]


def test_a_kernel_moves_with_its_platform() -> None:
    plan = made(*transition("step-ocp-kernel-implied"))
    assert_promises_kept(plan)
    assert [step.group for step in plan.steps] == [Group.PLATFORM]


# ── ends that need care ───────────────────────────────────────────────────────────────────────────────────────────────


def test_where_the_target_runs_already_the_plan_is_empty() -> None:
    plan = made(example("ok-4"), example("ok-4"))
    assert (plan.steps, plan.doubts) == ((), ())


def test_what_the_target_does_not_name_stays_or_follows() -> None:
    running = example("ok-2")
    plan = made(running, Stack.of({"gpu_operator": "v25.3.4"}))

    assert_promises_kept(plan)
    wanted = plan.wanted
    assert wanted[Component.OPENSHIFT] == running[Component.OPENSHIFT]
    assert [_text(wanted, part) for part in ("device_plugin", "dcgm")] == ["v0.17.4", "4.3.1-4.4.0"]
    assert any("gpu_driver is not named by the target" in note for note in plan.notes), "560 is not listed for v25.3.4"


def test_a_kernel_and_an_sriov_operator_follow_a_platform_that_moves() -> None:
    running = without(example("ok-1"), Component.NETWORK_OPERATOR, Component.MOFED, Component.FIRMWARE_CX6)
    plan = made(running, Stack.of({"openshift": "4.17.20"}))

    assert_promises_kept(plan)
    assert [step.group for step in plan.steps] == [Group.PLATFORM, Group.SRIOV]
    assert {change.component.value: change.after for step in plan.steps for change in step.changes} == {
        "openshift": "4.17.20",
        "kernel": "5.14.0-427.el9_4.x86_64",
        "sriov_operator": "4.17.0",
    }


def has_unknowns(plan: Plan) -> bool:
    return any(doubt.verdict is Verdict.UNKNOWN for doubt in plan.doubts)


def test_what_nobody_says_runs_is_an_unknown_of_the_plan() -> None:
    running = without(example("ok-4"), Component.FIRMWARE_CX6)
    plan = made(running, example("ok-4"))

    assert [each.rule for each in plan.findings if each.verdict is Verdict.UNKNOWN] == ["running-unknown"]
    assert has_unknowns(plan)
    assert plan.steps[0].rollback.way is WayBack.CLOSED


def test_an_unknown_operator_is_not_planned_around() -> None:
    running = without(example("ok-4"), Component.GPU_OPERATOR)
    plan = made(running, example("ok-5"))
    assert has_unknowns(plan)
    assert any(each.message.startswith("gpu_operator should become v26.7.0") for each in plan.doubts)


def test_other_hardware_in_the_target_is_noted_and_not_planned_for() -> None:
    plan = made(example("ok-2"), example("ok-5"))
    assert plan.wanted.hardware == example("ok-2").hardware
    assert plan.notes == (
        "the entries differ in hardware (arch, product, kernel_module); the plan is for the hardware that runs",
    )


def test_what_runs_and_fails_is_mended_first() -> None:
    """The seed's production entry: an SR-IOV operator of 4.18 on OpenShift 4.16."""
    running = changed(example("ok-2"), sriov_operator="4.18.0")
    plan = made(running, changed(example("ok-2"), gpu_operator="v24.9.2"))
    assert [step.group for step in plan.steps] == [Group.SRIOV, Group.GPU]


def test_an_accepted_doubt_counts_as_none() -> None:
    running = without(example("ok-4"), Component.FIRMWARE_CX7, Component.FIRMWARE_CX6)
    wanted = changed(running, network_operator="v26.1.2", mofed="26.01-9.0.0.0")
    doubts = {each.rule for each in made(running, wanted).doubts}
    assert "netop-mofed" in doubts
    plan = made(running, wanted, accept=[Accept(rule=rule, reason="seen on the canary") for rule in doubts])
    assert plan.doubts == ()
    assert all(each.is_accepted for step in plan.steps for each in step.findings)
    late = [Accept(rule=rule, reason="for a while", until=date(2026, 8, 1)) for rule in doubts]
    assert made(running, wanted, accept=late).doubts != ()


def test_going_back_across_a_major_is_unknown_and_said_so() -> None:
    running = without(example("ok-4"), Component.CUDA)
    wanted = changed(running, gpu_operator="v25.3.4", gpu_driver="580.82.07")
    answer = plans.make_plan(running, wanted, facts(), ON)
    assert isinstance(answer, Refusal | Plan)
    if isinstance(answer, Plan):
        assert has_unknowns(answer)


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("broken", examples()["broken"], ids=lambda each: each["id"])
def test_a_target_that_fails_is_refused_with_what_fails_in_it(broken: dict[str, Any]) -> None:
    running = example("ok-3")
    wanted = stack(broken["components"], broken["hardware"])
    refusal = refused(replace(running, hardware=wanted.hardware), wanted)

    assert refusal.code is RefusalCode.TARGET_FAILS
    assert set(refusal.conflict) == {rule for rule, verdict in broken["expect"].items() if verdict == "fail"}
    assert {each.rule for each in refusal.findings} == set(refusal.conflict)
    assert refusal.suggestion


def test_firmware_goes_down_inside_the_window_that_nvidia_tests() -> None:
    plan = made(example("ok-5"), changed(example("ok-5"), firmware_cx7="28.46.1006"))
    assert [step.group for step in plan.steps] == [Group.FIRMWARE]


def test_the_way_back_of_firmware_is_to_be_rehearsed_inside_the_window_and_closed_beyond_it() -> None:
    for before, way in (("28.46.1006", WayBack.UNKNOWN), ("28.45.1020", WayBack.CLOSED)):
        plan = made(changed(example("ok-5"), firmware_cx7=before), example("ok-5"))
        assert plan.steps[0].rollback.way is way


def test_firmware_does_not_go_down_farther_and_the_rest_is_offered() -> None:
    before_its_bulletin = date(2026, 6, 1)
    wanted = changed(example("ok-4"), firmware_cx7="28.45.1020")
    refusal = plans.make_plan(example("ok-5"), wanted, facts(), before_its_bulletin)
    assert isinstance(refusal, Refusal)

    assert (refusal.code, refusal.conflict) == (RefusalCode.NO_PATH, ("one-way",))
    assert [block.group for block in refusal.blocked] == [Group.FIRMWARE]
    assert refusal.suggestion == "Leave the firmware as it is: then there is a plan for the rest."
    assert {reached.group for reached in refusal.reached} == {Group.GPU, Group.NETWORK}


def test_the_platform_does_not_go_down() -> None:
    refusal = refused(Stack.of({"openshift": "4.16.23"}), Stack.of({"openshift": "4.16.20"}))
    assert refusal.conflict == ("one-way",)


def test_two_rules_that_fight_are_both_named_and_no_third() -> None:
    """Where 25.3 may not be used, 24.9 → 25.10 fails only because lines cannot be skipped, and the other way round."""
    refusal = refused(
        Stack.of({"openshift": "4.17.20", "gpu_operator": "v24.9.2"}),
        Stack.of({"openshift": "4.17.20", "gpu_operator": "v25.10.1"}),
        stack_rules=[*rulebook.stack_rules(facts(), ON), never_25_3],
    )
    assert (refusal.code, refusal.conflict) == (RefusalCode.NO_PATH, ("house-rule", "upgrade-path"))
    assert {each.rule for each in refusal.findings} == set(refusal.conflict)
    assert_minimal(refusal, [never_25_3])


def never_25_3(seen: Stack) -> Iterator[Finding]:
    operator = seen[Component.GPU_OPERATOR]
    if operator is not None and isinstance(operator.version, OperatorVersion) and operator.version.line == "25.3":
        yield Finding(rule="house-rule", verdict=Verdict.FAIL, message=f"{operator.text} is not for this house.")


def test_what_fails_in_two_groups_cannot_be_mended_by_one_step() -> None:
    running = changed(example("ok-2"), sriov_operator="4.18.0", firmware_cx7="22.42.1000")
    refusal = refused(running, changed(example("ok-2"), nccl="2.23.4"))
    assert (refusal.code, refusal.reached) == (RefusalCode.RUNNING_FAILS, ())
    assert refusal.suggestion
    assert_minimal(refusal)


def test_a_line_that_was_not_yet_out_is_no_station() -> None:
    before, after = transition("step-skips-major")
    refusal = plans.make_plan(before, after, facts(), date(2024, 10, 1))
    assert isinstance(refusal, Refusal)
    assert refusal.conflict == ("upgrade-path",)


def assert_minimal(refusal: Refusal, extra: Sequence[Any] = ()) -> None:
    """Enforcing the conflict alone leaves no way; without any one rule of it there is one."""
    judge = a_judge(refusal.running, refusal.wanted, extra)
    conflict = frozenset(refusal.conflict)
    assert not refusals.has_way(judge.enforcing(conflict))
    for rule in conflict:
        assert refusals.has_way(judge.enforcing(conflict - {rule})), f"{rule} is not needed"


def a_judge(running: Stack, wanted: Stack, extra: Sequence[Any] = ()) -> Judge:
    book = Rulebook(
        running.hardware,
        [*rulebook.stack_rules(facts(), ON), *extra],
        rulebook.change_rules(facts(), ON),
        limits.LIMITS,
    )
    return Judge(book=book, space=candidates.make_space(running, wanted, facts(), ON, book))


# ── any two stacks ────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def sound_parts(minor: str) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """What runs on a minor: the GPU side (each release with each driver it lists) and the network side."""
    gpus = [
        {"gpu_operator": release.version.text, "gpu_driver": driver.text}
        for release in facts().gpu_operators.values()
        for driver in sorted(release.drivers)
    ]
    networks = [
        {"network_operator": release.version.text, "mofed": release.ofeds[0].text, **firmware_of(release.ofeds[0])}
        for release in facts().network_operators.values()
    ]
    on_minor = platform_texts(minor)
    sound = [
        [part for part in parts if not failing(check_stack(stack({**on_minor, **part}, H100), facts(), ON))]
        for parts in (gpus, networks)
    ]
    return sound[0], sound[1]


H100 = {"arch": "Hopper", "product": "H100"}


def platform_texts(minor: str) -> dict[str, str]:
    platform = facts().openshifts[minor]
    kernel = f"{platform.kernel_stream}.1.1.{platform.kernel_dist}.x86_64"
    return {"openshift": f"{minor}.40", "kernel": kernel, "sriov_operator": f"{minor}.0"}


def firmware_of(ofed: OfedVersion) -> dict[str, str]:
    pair = facts().firmware_pair(ofed, "ConnectX-7")
    return {} if pair is None else {"firmware_cx7": pair.firmware["ConnectX-7"].text}


@st.composite
def known_stacks(draw: st.DrawFn) -> Stack:
    """Releases that exist, each with what it ships, on a platform they run on; the two sides meet by chance."""
    minor = draw(st.sampled_from(sorted(facts().openshifts)))
    texts = platform_texts(minor)
    for side in sound_parts(minor):
        if side and draw(st.integers(0, 9)) > 0:
            texts |= draw(st.sampled_from(side))
    return stack(texts, H100)


@settings(max_examples=drawn(50), deadline=None)
@given(known_stacks(), known_stacks(), st.booleans())
def test_between_any_two_known_stacks_a_plan_keeps_its_promises_or_a_refusal_is_minimal(
    one: Stack, other: Stack, is_upward: bool
) -> None:
    running, wanted = sorted((one, other), key=_minor) if is_upward else (one, other)
    answer = plans.make_plan(running, wanted, facts(), ON)

    target_fails = bool(failing(check_stack(answer.wanted, facts(), ON)))
    event(type(answer).__name__ if isinstance(answer, Plan) else answer.code.value)
    if isinstance(answer, Plan):
        assert not target_fails
        assert_promises_kept(answer)
        return
    assert (answer.code is RefusalCode.TARGET_FAILS) is target_fails
    assert answer.conflict
    assert {each.rule for each in answer.findings} >= set(answer.conflict)
    if not target_fails:
        assert_minimal(answer)


def _minor(seen: Stack) -> int:
    version = _version(seen[Component.OPENSHIFT])
    assert isinstance(version, OpenShiftVersion)
    return version.minor


# ── nothing shorter ───────────────────────────────────────────────────────────────────────────────────────────────────

SMALL = [
    (
        {"gpu_operator": "v24.9.0", "network_operator": "v24.7.0"},
        {"gpu_operator": "v25.3.4", "network_operator": "v25.1.0"},
    ),
    (
        {"openshift": "4.16.40", "gpu_operator": "v24.9.2", "network_operator": "v24.10.1", "sriov_operator": "4.16.0"},
        {"openshift": "4.17.20", "gpu_operator": "v25.3.4", "network_operator": "v25.1.0", "sriov_operator": "4.17.0"},
    ),
    (
        {"openshift": "4.16.40", "gpu_operator": "v24.9.2", "sriov_operator": "4.16.0"},
        {"openshift": "4.18.30", "gpu_operator": "v25.3.4", "sriov_operator": "4.18.0"},
    ),
    (
        {"openshift": "4.17.40", "network_operator": "v25.1.0", "mofed": "25.01-0.6.0.0", "firmware_cx7": "28.44.1036"},
        {"openshift": "4.18.30", "network_operator": "v25.7.0", "mofed": "25.07-0.9.7.0", "firmware_cx7": "28.46.1006"},
    ),
]


@pytest.mark.parametrize(("before", "after"), SMALL)
def test_trying_everything_finds_no_shorter_plan(before: dict[str, str], after: dict[str, str]) -> None:
    plan = made(Stack.of(before), Stack.of(after))
    assert_promises_kept(plan)
    assert len(plan.steps) == shortest_by_trying_everything(Stack.of(before), Stack.of(after))


def shortest_by_trying_everything(running: Stack, wanted: Stack) -> int:
    """Breadth first over every release that exists between the two, asking the rules about whole stacks only."""
    choices = {group: list(_choices(group, running, wanted)) for group in Group}
    queue, depth = deque([running]), {_key(running): 0}
    while queue:
        here = queue.popleft()
        if here.differing(wanted) == ():
            return depth[_key(here)]
        for group in Group:
            for values in choices[group]:
                there = replace(here, values={**here.values, **values})
                if _key(there) in depth or not _may_go(here, there):
                    continue
                depth[_key(there)] = depth[_key(here)] + 1
                queue.append(there)
    raise AssertionError("there is no way at all")


def _choices(group: Group, running: Stack, wanted: Stack) -> Iterator[dict[Component, Value]]:
    """Every combination of versions a group could take: both ends, and everything released in between."""
    options: dict[Component, list[Value]] = {}
    for part in running.differing(wanted):
        if groups_of([part]) == (group,):
            ends = [value for value in (running[part], wanted[part]) if value is not None]
            options[part] = [*ends, *(Value.read(part, text) for text in _between(part, ends))]
    for values in product(*options.values()):
        yield dict(zip(options, values, strict=True))


def _between(part: Component, ends: Sequence[Value]) -> Iterator[str]:
    if part in OPERATORS:
        for version in facts().operators(part):
            if min(end.version for end in ends) < version < max(end.version for end in ends):  # type: ignore[type-var, operator]
                yield version.text
    if part is Component.MOFED:
        yield from (
            row.ofeds[0].text for row in facts().network_operators.values() if row.line in ("25.1", "25.4", "25.7")
        )
    if part in (Component.OPENSHIFT, Component.SRIOV_OPERATOR):
        yield from ("4.16.50", "4.17.30") if part is Component.OPENSHIFT else ("4.16.0", "4.17.0")


def _may_go(here: Stack, there: Stack) -> bool:
    forbidden = [*check_stack(there, unaware(), ON), *check_change(here, there, facts(), ON)]
    forbidden += [finding for limit in limits.LIMITS for finding in limit(here, there)]
    return not failing(forbidden)


def _key(seen: Stack) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((part.value, value.text) for part, value in seen.values.items()))
