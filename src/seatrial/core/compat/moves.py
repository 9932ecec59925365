"""What may happen to a matrix, as values: an entry is added, a version set, the canary promoted, a set rejected.

Each move gives the matrix as it should then be, or the Finding that says why it must not happen. Moves know nothing of
files: bringing a text in line with the new matrix is the business of whoever keeps the text.

    promote     canary ──▶ production ──▶ rollback        the entries stay where they are; the set moves through them

What belongs to the set moves with it (versions, hardware, accepted warnings, the day it went out); what belongs to the
place stays (status, canary node, notes: a person's words are not ours to move).

Tests: tests/core/compat/test_matrix.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from shlex import quote
from typing import Final

from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import NOWHERE, Component, Entry, Hardware, Matrix, Role, Span, Stack, Value

STATUS_OF_A_NEW_ROLLBACK = "rollback-available"
STATUS_OF_A_NEW_ENTRY: Final[Mapping[Role, str]] = {
    Role.PRODUCTION: "production",
    Role.CANARY: "testing",
    Role.PLANNED: "planned",
    Role.ROLLBACK: STATUS_OF_A_NEW_ROLLBACK,
}
KEYS: Final[Mapping[Role, tuple[str, str]]] = {
    Role.PRODUCTION: ("current", "current_production"),
    Role.CANARY: ("canary", "canary_testing"),
    Role.PLANNED: ("next", "next_planned"),
    Role.ROLLBACK: ("rollback", "rollback"),
}
"""What a new entry is called in a plain file, and in the one of a ConfigMap."""


def set_version(matrix: Matrix, role: Role, component: Component, text: str) -> Matrix | Finding:
    """Give one component of one entry another version."""
    entry = matrix.entries.get(role)
    if entry is None:
        return _no_entry(matrix, role)
    value = Value.read(component, text)
    if value.version is None:
        return _refused("version-unreadable", value.problem, "Nothing was changed.", entry.span)
    stack = replace(entry.stack, values={**entry.stack.values, component: value})
    return _with(matrix, replace(entry, stack=stack))


def add(matrix: Matrix, role: Role, source: Role) -> Matrix | Finding:
    """Make a new entry of the set of another: its versions, hardware and accepted warnings, and nothing else of it."""
    model, there = matrix.entries.get(source), matrix.entries.get(role)
    if model is None:
        return _no_entry(matrix, source)
    if there is not None:
        advice = f"Change it with `seatrial matrix set {quote(there.key)} COMPONENT VERSION`."
        return _refused("entry-there", f"There is already an entry {there.key}.", advice, there.span)
    is_long = any(entry.key == KEYS[each][1] != KEYS[each][0] for each, entry in matrix.entries.items())
    new = Entry(
        role=role,
        key=KEYS[role][is_long],
        stack=model.stack,
        accept=model.accept,
        status=STATUS_OF_A_NEW_ENTRY[role],
    )
    return _with(matrix, new)


def mark_bad(matrix: Matrix, role: Role, why: str) -> Matrix | Finding:
    """Write down why a set was rejected."""
    entry = matrix.entries.get(role)
    if entry is None:
        return _no_entry(matrix, role)
    if not why.strip():
        return _refused("reason-missing", f"{entry.key} cannot be marked bad without a reason.", "Say why.", entry.span)
    return _with(matrix, replace(entry, bad=why))


def unmark(matrix: Matrix, role: Role) -> Matrix | Finding:
    """Take the mark off a set that was rejected by mistake; where there is none, nothing changes."""
    entry = matrix.entries.get(role)
    return _no_entry(matrix, role) if entry is None else _with(matrix, replace(entry, bad=""))


def promote(matrix: Matrix, deployed: str = "") -> Matrix | Finding:
    """Make the canary's set the production one, and production's the one to go back to.

    A component the canary does not name stays what it is in production. A production set that was marked bad is not
    worth going back to: the rollback entry then stays as it is. Dates stay untouched without
    `deployed`, and where the file keeps none.
    """
    production, canary = matrix.entries.get(Role.PRODUCTION), matrix.entries.get(Role.CANARY)
    if production is None:
        return _no_entry(matrix, Role.PRODUCTION)
    if canary is None:
        return _no_entry(matrix, Role.CANARY)
    refusal = _why_not_promote(production, canary)
    if refusal is not None:
        return refusal
    is_dated = bool(deployed) and bool(production.deployed or canary.deployed)
    promoted = replace(
        production,
        stack=Stack(
            values={**production.stack.values, **canary.stack.values},
            hardware=canary.stack.hardware if is_described(canary.stack.hardware) else production.stack.hardware,
        ),
        accept=canary.accept,
        bad="",
        deployed=deployed if is_dated else production.deployed,
    )
    if production.bad:
        return _with(matrix, promoted)
    return _with(matrix, promoted, _rollback_to(production, matrix.entries.get(Role.ROLLBACK), is_dated))


def is_described(hardware: Hardware) -> bool:
    """Whether anything is said about the hardware."""
    return any((hardware.arch, hardware.product, hardware.kernel_module, hardware.rdma, hardware.others))


def meaning(matrix: Matrix) -> Mapping[Role, Entry]:
    """The entries without their places, to compare what two texts say: exact texts count, positions do not."""
    return {role: _placeless(entry) for role, entry in matrix.entries.items()}


def _placeless(entry: Entry) -> Entry:
    values = {part: Value.read(part, value.text) for part, value in entry.stack.values.items()}
    return replace(
        entry,
        stack=Stack(values=values, hardware=_placeless_hardware(entry.stack.hardware)),
        accept=tuple(replace(accept, span=NOWHERE) for accept in entry.accept),
        span=NOWHERE,
    )


def _placeless_hardware(hardware: Hardware) -> Hardware:
    others = tuple(replace(pool, span=NOWHERE) for pool in hardware.others)
    return replace(hardware, span=NOWHERE, others=others)


def _why_not_promote(production: Entry, canary: Entry) -> Finding | None:
    if not canary.stack.values:
        return _refused("entry-empty", f"{canary.key} names no version.", "Fill it first.", canary.span)
    if canary.bad:
        return _refused(
            "canary-bad",
            f"{canary.key} is marked bad: {canary.bad}",
            f"Put another set there; or, if the mark is wrong, `seatrial matrix unmark {quote(canary.key)}`.",
            canary.span,
        )
    for value in canary.stack.values.values():
        if value.version is None:
            return _refused("version-unreadable", value.problem, "Correct it before promoting.", value.span)
    if not any(part in canary.stack.values for part in production.stack.differing(canary.stack)):
        return _refused(
            "nothing-to-promote",
            f"{canary.key} names the same versions as {production.key}.",
            "Put the set to be tried there first.",
            canary.span,
        )
    return None


def _rollback_to(production: Entry, rollback: Entry | None, is_dated: bool) -> Entry:
    place = rollback or Entry(
        role=Role.ROLLBACK, key="rollback", stack=Stack(values={}), status=STATUS_OF_A_NEW_ROLLBACK
    )
    return replace(
        place,
        stack=production.stack,
        accept=production.accept,
        bad="",
        deployed=production.deployed if is_dated else place.deployed,
    )


def _with(matrix: Matrix, *entries: Entry) -> Matrix:
    return replace(matrix, entries={**matrix.entries, **{entry.role: entry for entry in entries}})


def _no_entry(matrix: Matrix, role: Role) -> Finding:
    return _refused(
        "entry-missing",
        f"The matrix has no {role.value} entry.",
        f"Add it to the file first; it has {', '.join(entry.key for entry in matrix.entries.values()) or 'none yet'}.",
        Span(file=matrix.file, line=1, column=1),
    )


def _refused(rule: str, message: str, next_step: str, span: Span) -> Finding:
    return Finding(rule=rule, verdict=Verdict.FAIL, message=message, next_step=next_step, spans=(span,))
