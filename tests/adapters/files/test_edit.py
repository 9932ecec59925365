"""An edit touches what it must and nothing else, in every layout people write."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seatrial.adapters.files import yaml_tree
from seatrial.adapters.files.matrix_edit import EditRefused, mark_bad, promote, set_value, unmark
from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.core.compat.matrix import Component, Matrix, Role, component_of
from seatrial.core.text import foreign
from tests.adapters.files.layouts import VERSIONS, Layout, layouts

MATRICES = Path(__file__).parents[2] / "data" / "matrices"
CONFIGMAP = (MATRICES / "configmap.yaml").read_text()
PLAIN = (MATRICES / "plain.yaml").read_text()


def matrix_of(text: str) -> Matrix:
    found = read_matrix(text, "m.yaml").matrix
    assert found is not None
    return found


def texts_of(text: str, role: Role) -> dict[Component, str]:
    return {part: value.text for part, value in matrix_of(text).entries[role].stack.values.items()}


def changed_lines(before: str, after: str) -> list[str]:
    diff = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line.rstrip("\r\n") for line in diff if line[0] in "+-"]


def is_pure_insertion(before: str, after: str) -> bool:
    head = next((i for i, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), len(before))
    return after.endswith(before[head:])


# ── any layout ────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(layouts(), st.data())
@settings(max_examples=80, deadline=None)
def test_setting_a_version_changes_one_scalar_and_setting_it_back_gives_the_original_bytes(
    layout: Layout, data: st.DataObject
) -> None:
    role = data.draw(st.sampled_from(list(layout.stacks)))
    component = data.draw(st.sampled_from(list(layout.stacks[role])))
    new = data.draw(st.sampled_from(VERSIONS[component]))
    old = layout.stacks[role][component]

    after = set_value(layout.text, role, component, new)

    assert texts_of(after, role) == {**layout.stacks[role], component: new}
    assert len(changed_lines(layout.text, after)) == (0 if new == old else 2)
    # A version that looks like a number is quoted where nothing was: the way back then keeps the quotes.
    if yaml_tree.is_plain_text(new) or not _is_plain(layout.text, role, component):
        assert set_value(after, role, component, old) == layout.text


@given(layouts(), st.data())
@settings(max_examples=60, deadline=None)
def test_setting_a_version_that_is_missing_only_inserts(layout: Layout, data: st.DataObject) -> None:
    role = data.draw(st.sampled_from(list(layout.stacks)))
    missing = [part for part in VERSIONS if part not in layout.stacks[role]]
    component = data.draw(st.sampled_from(missing))
    new = VERSIONS[component][0]

    after = set_value(layout.text, role, component, new)

    assert texts_of(after, role) == {**layout.stacks[role], component: new}
    assert is_pure_insertion(layout.text, after)
    assert after.count("\n") <= layout.text.count("\n") + 1


@given(layouts(is_even=True))
@settings(max_examples=80, deadline=None)
def test_promoting_and_setting_everything_back_gives_the_original_bytes(layout: Layout) -> None:
    stacks = layout.stacks
    production, canary = matrix_of(layout.text).entries[Role.PRODUCTION], matrix_of(layout.text).entries[Role.CANARY]
    assume(production.stack.differing(canary.stack))

    after = promote(layout.text)

    assert {role: texts_of(after, role) for role in Role} == {
        Role.PRODUCTION: stacks[Role.CANARY],
        Role.CANARY: stacks[Role.CANARY],
        Role.PLANNED: stacks[Role.PLANNED],
        Role.ROLLBACK: stacks[Role.PRODUCTION],
    }
    for role in (Role.PRODUCTION, Role.ROLLBACK):
        for component, text in stacks[role].items():
            after = set_value(after, role, component, text)
    assert after == layout.text


@given(layouts(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_promoting_moves_the_sets_through_the_entries_and_leaves_all_other_lines(layout: Layout, dated: bool) -> None:
    stacks = layout.stacks
    before = matrix_of(layout.text)
    production, canary = before.entries[Role.PRODUCTION], before.entries[Role.CANARY]
    assume(any(part in canary.stack.values for part in production.stack.differing(canary.stack)))

    after = promote(layout.text, deployed="2026-03-01" if dated else "")

    assert texts_of(after, Role.PRODUCTION) == {**stacks[Role.PRODUCTION], **stacks[Role.CANARY]}
    assert texts_of(after, Role.ROLLBACK) == stacks[Role.PRODUCTION]
    assert texts_of(after, Role.PLANNED) == stacks[Role.PLANNED]
    for role, entry in matrix_of(after).entries.items():
        assert (entry.key, entry.status, entry.notes) == (
            before.entries[role].key,
            before.entries[role].status,
            before.entries[role].notes,
        )
    kept = [line for line in layout.text.splitlines() if line.strip().startswith("#")]
    assert [line for line in after.splitlines() if line.strip().startswith("#")] == kept
    assert after.endswith("\n") or not layout.text.endswith("\n")
    assert ("\r\n" in after) == ("\r\n" in layout.text)


@given(layouts(roles=(Role.PRODUCTION, Role.CANARY)))
@settings(max_examples=60, deadline=None)
def test_promoting_without_a_rollback_entry_writes_one_below_the_last_entry(layout: Layout) -> None:
    before = matrix_of(layout.text)
    production, canary = before.entries[Role.PRODUCTION], before.entries[Role.CANARY]
    assume(any(part in canary.stack.values for part in production.stack.differing(canary.stack)))

    after = promote(layout.text)

    assert texts_of(after, Role.ROLLBACK) == layout.stacks[Role.PRODUCTION]
    assert matrix_of(after).entries[Role.ROLLBACK].status == "rollback-available"


@given(layouts(), st.sampled_from(Role), st.text(min_size=1))
@settings(max_examples=60, deadline=None)
def test_any_reason_can_be_written_beside_a_bad_set(layout: Layout, role: Role, why: str) -> None:
    said = foreign.lines(why)
    assume(said.strip())

    after = mark_bad(layout.text, role, why)

    assert matrix_of(after).entries[role].bad == said
    assert is_pure_insertion(layout.text, after)


@given(layouts(), st.sampled_from(Role), st.text(min_size=1))
@settings(max_examples=60, deadline=None)
def test_a_mark_that_is_taken_off_leaves_the_text_as_it_was(layout: Layout, role: Role, why: str) -> None:
    assume(foreign.lines(why).strip())

    assert unmark(mark_bad(layout.text, role, why), role) == layout.text
    assert unmark(layout.text, role) == layout.text


def _is_plain(text: str, role: Role, component: Component) -> bool:
    value = matrix_of(text).entries[role].stack[component]
    assert value is not None
    line = text.splitlines()[value.span.line - 1]
    column = value.span.column - 1 + (1 if value.span.line == 1 and text.startswith("\ufeff") else 0)
    return line[column] not in "'\""


# ── single stories ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_comment_behind_the_value_keeps_its_place() -> None:
    after = set_value(CONFIGMAP, Role.CANARY, Component.GPU_DRIVER, "570.124.06")

    assert changed_lines(CONFIGMAP, after) == [
        '-       gpu_driver: "565.57.01"   # ← listed for the new operator',
        '+       gpu_driver: "570.124.06"   # ← listed for the new operator',
    ]


def test_a_version_that_is_there_already_changes_nothing() -> None:
    assert set_value(CONFIGMAP, Role.CANARY, Component.GPU_DRIVER, "565.57.01") == CONFIGMAP


def test_a_number_without_quotes_is_given_quotes_by_an_edit_because_24_10_would_become_24_1() -> None:
    text = "versions: {current: {cuda: 12.6}}"

    assert set_value(text, Role.PRODUCTION, Component.CUDA, "12.10") == 'versions: {current: {cuda: "12.10"}}'


def test_a_key_without_a_value_gets_one() -> None:
    text = "versions:\n  current:\n    cuda:   # which?\n    driver: '565.77'\n"

    after = set_value(text, Role.PRODUCTION, Component.CUDA, "12.6")

    assert after == "versions:\n  current:\n    cuda: \"12.6\"   # which?\n    driver: '565.77'\n"


def test_an_entry_that_is_only_a_key_gets_its_first_line() -> None:
    text = "versions:\n   current:\n       driver: '565.77'\n   canary:   # soon\n"

    after = set_value(text, Role.CANARY, Component.GPU_DRIVER, "580.82.07")

    assert after == text + '       driver: "580.82.07"\n'


def test_where_no_other_entry_shows_how_far_in_its_lines_are_they_are_two_spaces_in() -> None:
    text = "current: {driver: '565.77'}\ncanary:\n"

    after = set_value(text, Role.CANARY, Component.GPU_DRIVER, "580.82.07")

    assert after == text + '  driver: "580.82.07"\n'


def test_a_line_below_one_that_has_no_end_begins_as_the_others_of_the_file_do() -> None:
    text = "current:\r\n  driver: '565.77'"

    after = set_value(text, Role.PRODUCTION, Component.CUDA, "12.8")

    assert after == text + "\r\n  cuda: '12.8'"


def test_json_stays_json() -> None:
    text = '{"versions": {"current": {"driver": "565.77"}}}'

    after = set_value(text, Role.PRODUCTION, Component.NCCL, "2.22.3")

    assert after == '{"versions": {"current": {"driver": "565.77", "nccl": "2.22.3"}}}'


def test_promoting_the_plain_example_changes_two_lines_and_adds_the_way_back() -> None:
    assert changed_lines(PLAIN, promote(PLAIN)) == [
        '-     gpu_operator: "v24.9.0"',
        '+     gpu_operator: "v24.9.2"',
        '-     driver: "560.35.03"',
        '+     driver: "565.57.01"',
        "+   rollback:",
        '+     gpu_operator: "v24.9.0"',
        '+     network_operator: "v24.7.0"',
        '+     driver: "560.35.03"',
        '+     cuda: "12.6"',
        '+     firmware: "28.42.1000"',
        '+     sriov: "4.16.0"',
        '+     openshift: "4.16.23"',
        '+     status: "rollback-available"',
    ]


def test_promoting_dates_production_and_gives_its_old_date_to_rollback() -> None:
    entries = matrix_of(promote(CONFIGMAP, deployed="2026-03-01")).entries

    assert entries[Role.PRODUCTION].deployed == "2026-03-01"
    assert entries[Role.ROLLBACK].deployed == "2026-01-15"
    assert entries[Role.CANARY].deployed == "2026-02-18"


def test_accepted_warnings_and_hardware_move_with_the_set() -> None:
    text = (
        "versions:\n"
        "  current:\n"
        '    driver: "560.35.03"\n'
        "    accept: [{rule: old, reason: 'was so'}]\n"
        "  canary:\n"
        '    driver: "565.77"\n'
        "    hardware: {arch: hopper}\n"
        "    accept:\n"
        "      - rule: new  # fine\n"
        "        reason: because\n"
        "        until: 2027-01-01\n"
        "  rollback:\n"
        '    driver: "550.90.07"\n'
    )

    after = promote(text)

    assert after == (
        "versions:\n"
        "  current:\n"
        '    driver: "565.77"\n'
        "    accept:\n"
        "      - rule: new  # fine\n"
        "        reason: because\n"
        "        until: 2027-01-01\n"
        "    hardware: {arch: hopper}\n"
        "  canary:\n"
        '    driver: "565.77"\n'
        "    hardware: {arch: hopper}\n"
        "    accept:\n"
        "      - rule: new  # fine\n"
        "        reason: because\n"
        "        until: 2027-01-01\n"
        "  rollback:\n"
        '    driver: "560.35.03"\n'
        "    accept: [{rule: old, reason: 'was so'}]\n"
    )


def test_what_moves_to_an_entry_that_is_further_in_moves_in_with_all_its_lines() -> None:
    accepted = ("accept:", "  - rule: new", "    reason: because", "    until: 2027-01-01")
    text = "current:\n    driver: '560.35.03'\ncanary:\n  driver: '565.77'\n" + "".join(f"  {x}\n" for x in accepted)

    after = promote(text)

    assert "".join(f"    {line}\n" for line in accepted) in after
    assert "".join(f"  {line}\n" for line in accepted) in after.partition("canary:")[2]


def test_a_bad_production_set_does_not_become_the_way_back() -> None:
    text = "versions:\n  current:\n    driver: '565.77'\n    bad: lost NVLink\n  canary:\n    driver: '570.26'\n"
    text += "  rollback:\n    driver: '560.35.03'\n"

    assert promote(text) == text.replace("'565.77'", "'570.26'").replace("    bad: lost NVLink\n", "")


def test_a_component_only_the_old_rollback_had_leaves_with_its_line() -> None:
    text = "versions:\n  current:\n    driver: '565.77'\n  canary:\n    driver: '570.26'\n  rollback:\n"
    text += "    driver: '560.35.03'\n    nccl: '2.22.3' # old\n    # kept\n"

    assert promote(text).endswith("  rollback:\n    driver: '565.77'\n    # kept\n")


def test_a_component_leaves_a_flow_entry_without_the_comment_of_its_neighbour() -> None:
    text = "versions:\n  current: {driver: '565.77'}\n  canary: {driver: '570.26'}\n  rollback: {\n"
    text += "    driver: '560.35.03', # about the driver\n    nccl: '2.22.3'\n  }\n"

    assert promote(text).endswith("  rollback: {\n    driver: '565.77', # about the driver\n  }\n")


@pytest.mark.parametrize(
    ("text", "why", "line"),
    [
        ("versions: [", "Close the bracket", 1),
        ("versions:\n  current:\n    driver: '565.77'\n    driver: '570.26'\n", "given twice", 4),
        ("versions:\n  current: &a\n    driver: '565.77'\n", "&a", 2),
        ("versions:\n  canary:\n    driver: '565.77'\n", "no production entry", 1),
        ("versions:\n  current:\n    driver: |\n      565.77\n", "not a text on one line", 3),
        ("versions:\n  current:\n    driver: '565\n     .77'\n", "several lines", 3),
        ("versions:\n  current:\n    driver: [1]\n", "not a text on one line", 3),
        ("versions:\n  current: ~\n", "is empty", 2),
    ],
)
def test_what_cannot_be_spliced_is_refused_with_its_place(text: str, why: str, line: int) -> None:
    with pytest.raises(EditRefused, match=why) as refused:
        set_value(text, Role.PRODUCTION, Component.GPU_DRIVER, "580.82.07", file="m.yaml")

    assert refused.value.finding.spans[0].line == line
    assert str(refused.value).startswith(f"m.yaml:{line}:")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("versions:\n  current:\n    driver: '565.77'\n", "no canary entry"),
        ("versions:\n  current: {driver: '565.77'}\n  canary: {}\n", "names no version"),
        ("versions:\n  current: {driver: '565.77'}\n  canary: {driver: '565.77.0'}\n", "same versions"),
        ("versions:\n  current: {driver: '565.77'}\n  canary: {driver: '570.26', bad: slow}\n", "marked bad: slow"),
        ("versions:\n  current: {driver: '565.77'}\n  canary: {driver: 'R570'}\n", "unreadable"),
    ],
)
def test_what_must_not_be_promoted_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(EditRefused, match=why):
        promote(text)


def test_a_version_nobody_can_read_is_not_written() -> None:
    with pytest.raises(EditRefused, match=r"6\.x TBD.*Nothing was changed"):
        set_value(CONFIGMAP, Role.PLANNED, Component.KERNEL, "6.x TBD")


def test_a_set_is_not_marked_bad_without_a_reason() -> None:
    with pytest.raises(EditRefused, match="without a reason"):
        mark_bad(CONFIGMAP, Role.CANARY, " \n")


def test_a_second_reason_replaces_the_first() -> None:
    once = mark_bad(CONFIGMAP, Role.CANARY, "slow")

    assert changed_lines(once, mark_bad(once, Role.CANARY, "loses 3 %")) == [
        '-       bad: "slow"',
        '+       bad: "loses 3 %"',
    ]


def test_taking_a_mark_off_touches_its_lines_only_and_keeps_every_other_comment() -> None:
    marked = (
        "versions:\n  current: {driver: '565.77'}\n  canary:  # to be tried\n    driver: '570.26'\n"
        "    # since the rollout of March\n    bad: |  # see the ticket\n      gate nccl failed:\n      3 % slower\n"
        "    notes: for the H100s  # and no others\n"
    )

    assert changed_lines(marked, unmark(marked, Role.CANARY)) == [
        "-     bad: |  # see the ticket",
        "-       gate nccl failed:",
        "-       3 % slower",
    ]
    with pytest.raises(EditRefused, match="no rollback entry"):
        unmark(marked, Role.ROLLBACK)


def test_every_alias_in_the_layouts_is_one_the_reader_knows() -> None:
    assert all(component_of(part.value) is part for part in VERSIONS)


def test_a_new_component_comes_behind_the_other_components_and_other_things_behind_the_status() -> None:
    text = 'versions:\n  current:\n    driver: "570.124.06"\n    status: production\n    owner: ada\n'
    after = set_value(text, Role.PRODUCTION, Component.GPU_OPERATOR, "v25.3.1")
    assert [line.split(":")[0].strip() for line in after.splitlines()[2:]] == [
        "driver",
        "gpu_operator",
        "status",
        "owner",
    ]
