"""The matrix as values: what differs, what may happen to it, what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import pytest

from seatrial.core.compat import coherence, moves
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import (
    Accept,
    Component,
    Entry,
    Group,
    Hardware,
    Kind,
    Matrix,
    Role,
    Span,
    Stack,
    Value,
    component_of,
    diff,
    groups_of,
    role_of,
)

DRIVER, CUDA, OPERATOR, NCCL = Component.GPU_DRIVER, Component.CUDA, Component.GPU_OPERATOR, Component.NCCL


def an_entry(role: Role, texts: Mapping[str, str], **fields: object) -> Entry:
    return replace(Entry(role=role, key=role.value, stack=Stack.of(texts)), **fields)  # type: ignore[arg-type]


def a_matrix(*entries: Entry) -> Matrix:
    return Matrix(entries={entry.role: entry for entry in entries}, file="m.yaml")


def texts(matrix: Matrix | Finding, role: Role) -> dict[str, str]:
    assert isinstance(matrix, Matrix), matrix
    return {part.value: value.text for part, value in matrix.entries[role].stack.values.items()}


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_aliases_stand_for_the_same_component_and_role() -> None:
    assert component_of("driver") is component_of("gpu_driver") is DRIVER
    assert component_of("firmware") is Component.FIRMWARE_CX7
    assert component_of("sriov") is Component.SRIOV_OPERATOR
    assert component_of("gpu_drivr") is None
    assert role_of("current") is role_of("current_production") is Role.PRODUCTION
    assert role_of("staging") is None


def test_groups_come_once_each_and_in_their_own_order() -> None:
    assert groups_of([NCCL, CUDA, DRIVER, Component.KERNEL]) == (Group.PLATFORM, Group.GPU, Group.WORKLOAD)


def test_a_value_that_cannot_be_read_says_why_and_is_kept() -> None:
    value = Value.read(Component.KERNEL, "6.x TBD")

    assert value.version is None
    assert "6.x TBD" in value.problem


# ── diff ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_diff_tells_added_removed_and_changed_per_role_with_both_places() -> None:
    here, there = Span(file="a.yaml", line=3, column=9), Span(file="b.yaml", line=4, column=9)
    before = a_matrix(
        Entry(role=Role.PRODUCTION, stack=Stack(values={DRIVER: Value.read(DRIVER, "560.35.03", here)})),
        an_entry(Role.ROLLBACK, {"nccl": "2.22.3"}),
    )
    after = a_matrix(
        Entry(
            role=Role.PRODUCTION,
            stack=Stack(values={DRIVER: Value.read(DRIVER, "565.77", there), CUDA: Value.read(CUDA, "12.6")}),
        )
    )

    found = diff(before, after)

    assert [(d.role, d.component, d.kind) for d in found] == [
        (Role.PRODUCTION, DRIVER, Kind.CHANGED),
        (Role.PRODUCTION, CUDA, Kind.ADDED),
        (Role.ROLLBACK, NCCL, Kind.REMOVED),
    ]
    assert found[0].spans == (here, there)
    assert str(found[0]) == "production.gpu_driver 560.35.03 → 565.77"
    assert str(found[2]) == "rollback.nccl 2.22.3 → (none)"


def test_two_ways_to_write_one_version_do_not_differ() -> None:
    before = a_matrix(an_entry(Role.PRODUCTION, {"gpu_operator": "v24.9.0", "cuda": "12.6", "kernel": "6.x TBD"}))
    after = a_matrix(an_entry(Role.PRODUCTION, {"gpu_operator": "24.9.0", "cuda": "12.6.0", "kernel": "6.x TBD"}))

    assert diff(before, after) == ()


# ── moves ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_promoting_moves_the_set_and_leaves_the_places_their_words() -> None:
    accept, hardware = Accept(rule="lifecycle", reason="extended", until=date(2027, 1, 1)), Hardware(arch="hopper")
    canary = an_entry(Role.CANARY, {"driver": "565.77", "cuda": "12.6"}, status="testing", accept=(accept,))
    matrix = a_matrix(
        an_entry(Role.PRODUCTION, {"driver": "560.35.03", "nccl": "2.22.3"}, status="production", notes="stable"),
        replace(canary, stack=replace(canary.stack, hardware=hardware)),
        an_entry(Role.ROLLBACK, {"driver": "550.90.07", "cuda": "12.4"}, status="available", bad="old trouble"),
    )

    after = moves.promote(matrix, "2026-03-01")

    assert texts(after, Role.PRODUCTION) == {"gpu_driver": "565.77", "nccl": "2.22.3", "cuda": "12.6"}
    assert texts(after, Role.ROLLBACK) == {"gpu_driver": "560.35.03", "nccl": "2.22.3"}
    assert isinstance(after, Matrix)
    assert after.entries[Role.CANARY] == matrix.entries[Role.CANARY]
    production, rollback = after.entries[Role.PRODUCTION], after.entries[Role.ROLLBACK]
    assert (production.status, production.notes, production.accept) == ("production", "stable", (accept,))
    assert production.stack.hardware == hardware
    assert (rollback.status, rollback.bad, rollback.accept) == ("available", "", ())
    assert production.deployed == ""  # the file keeps no dates


def test_a_refused_move_is_a_finding_with_a_place() -> None:
    matrix = a_matrix(an_entry(Role.PRODUCTION, {"driver": "560.35.03"}))

    for refusal in (
        moves.promote(matrix),
        moves.promote(a_matrix()),
        moves.set_version(matrix, Role.CANARY, DRIVER, "565.77"),
        moves.set_version(matrix, Role.PRODUCTION, DRIVER, "R565"),
        moves.mark_bad(matrix, Role.ROLLBACK, "slow"),
        moves.unmark(matrix, Role.ROLLBACK),
    ):
        assert isinstance(refusal, Finding)
        assert refusal.verdict is Verdict.FAIL
        assert refusal.next_step
        assert len(refusal.spans) == 1


def test_meaning_forgets_places_and_nothing_else() -> None:
    here, there = (
        a_matrix(Entry(role=Role.CANARY, stack=Stack(values={DRIVER: Value.read(DRIVER, "565.77", span)}), span=span))
        for span in (Span(file="a", line=1, column=1), Span(file="b", line=2, column=2))
    )

    assert here != there
    assert moves.meaning(here) == moves.meaning(there)
    bad = moves.mark_bad(there, Role.CANARY, "slow")
    assert isinstance(bad, Matrix)
    assert moves.meaning(bad) != moves.meaning(here)
    assert moves.unmark(bad, Role.CANARY) == there


# ── coherence ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([("production", {"driver": "565.77"}, ""), ("rollback", {"driver": "560.35.03"}, "")], []),
        ([("canary", {"driver": "565.77"}, "")], [("entry-missing", "fail")]),
        ([("production", {}, "")], [("entry-empty", "fail")]),
        ([("production", {"driver": "565.77"}, ""), ("canary", {}, "")], [("entry-empty", "warn")]),
        (
            [("production", {"driver": "565.77"}, ""), ("rollback", {"driver": "565.77.0"}, "")],
            [("rollback-equals-production", "warn")],
        ),
        (
            [("production", {"driver": "565.77"}, ""), ("rollback", {"driver": "570.26"}, "")],
            [("rollback-newer", "warn")],
        ),
        (
            [("production", {"firmware": "28.42.1000"}, ""), ("rollback", {"firmware": "22.43.1000"}, "")],
            [],  # another device: not ours to order
        ),
        ([("production", {"kernel": "6.x TBD"}, ""), ("rollback", {"kernel": "5.x"}, "")], []),
        ([("production", {"driver": "565.77"}, "slow")], [("production-bad", "warn")]),
        (
            [("production", {"driver": "565.77"}, ""), ("rollback", {"driver": "560.35.03"}, "slow")],
            [("rollback-bad", "fail")],
        ),
        (
            [("production", {"driver": "565.77"}, ""), ("canary", {"driver": "570.26"}, "slow")],
            [("canary-bad", "warn")],
        ),
        (
            [("production", {"driver": "565.77"}, ""), ("planned", {"driver": "570.26"}, "slow")],
            [("planned-bad", "warn")],
        ),
    ],
)
def test_a_matrix_that_leads_nowhere_is_said_to(
    entries: list[tuple[str, dict[str, str], str]], found: list[tuple[str, str]]
) -> None:
    matrix = a_matrix(*(an_entry(Role(role), texts, bad=bad) for role, texts, bad in entries))

    assert [(finding.rule, finding.verdict.value) for finding in coherence.oddities(matrix)] == found


@pytest.mark.parametrize("role", Role)
def test_a_mark_is_told_with_its_reason_and_what_to_do_about_it(role: Role) -> None:
    production = an_entry(Role.PRODUCTION, {"driver": "565.77"})
    matrix = a_matrix(production, an_entry(role, {"driver": "560.35.03"}, bad="3 % slower"))

    (found,) = (finding for finding in coherence.oddities(matrix) if finding.rule == f"{role.value}-bad")
    assert "is marked bad (3 % slower): " in found.message
    assert found.next_step.endswith(
        f"; or, if the mark is wrong, take it off with `seatrial matrix unmark {matrix.entries[role].key}`."
    )
