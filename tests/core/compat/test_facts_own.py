"""Facts of the user's own: every answer that rests on one says so, and they move no day they have not read for."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import Any

from seatrial.core.compat.facts import Cite, Facts, marked, read
from seatrial.core.compat.matrix import Group, Stack
from seatrial.core.compat.plan.preparations import Move, before
from seatrial.core.compat.rules import check_stack
from tests.core.compat.knowledge import facts
from tests.core.compat.test_facts import MINE, operator, whole

DAY = date(2026, 9, 1)
NEW = {"gpu_operator": {"releases": {"v26.10.0": {**MINE, "operands": {"driver": "620.70.06"}}}}}


def cites(value: Any) -> list[Cite]:
    """Every Cite in a value, however deep."""
    if isinstance(value, Cite):
        return [value]
    if isinstance(value, dict):
        return [cite for each in value.values() for cite in cites(each)]
    if isinstance(value, tuple):
        return [cite for each in value for cite in cites(each)]
    if hasattr(value, "__dataclass_fields__"):
        return [cite for each in fields(value) for cite in cites(getattr(value, each.name))]
    return []


def test_every_cite_of_a_marked_file_names_it() -> None:
    shipped = cites(facts())
    found = cites(marked(read(whole()), "mine.yaml"))
    assert len(found) == len(shipped) > 800
    assert {cite.origin for cite in found} == {"mine.yaml"}
    assert {cite.origin for cite in shipped} == {""}


def test_a_finding_that_quotes_an_own_fact_names_its_file() -> None:
    known = facts().under(marked(read(NEW), "mine.yaml"))
    assert (known.own, known.beneath) == (("mine.yaml",), facts())
    found = check_stack(Stack.of({"gpu_operator": "v26.10.0", "driver": "620.70.06"}), known, DAY)
    assert {each.own for each in found if "our lab" in each.sources} == {("mine.yaml",)}
    ours = check_stack(Stack.of({"gpu_operator": "v26.7.0", "driver": "580.105.08"}), known, DAY)
    assert {each.own for each in ours} == {()}


def test_a_release_that_says_no_kernel_modules_is_told_so_in_a_plan() -> None:
    known = facts().under(marked(read(NEW), "mine.yaml"))
    old, new = (Stack.of({"gpu_operator": version}) for version in ("v26.7.0", "v26.10.0"))
    told = {each.code: each.sentence for each in before(Group.GPU, Move(old=old, new=new, facts=known))}
    assert told["choose-kernel-module"] == (
        "Set driver.kernelModuleType yourself: its default is not known for v26.10.0, and was auto in v26.7.0."
    )


def test_what_is_carried_on_from_an_own_fact_is_own() -> None:
    row = {**MINE, "documented": {**MINE, "gpu_operator_min": "26.7"}}
    added = {"network_operator": {"releases": {"v99.1.0": row, "v99.2.0": MINE}}}
    known = facts().under(marked(read(added), "mine.yaml"))
    release = known.network_operator(operator("v99.2.0"))
    assert release is not None
    told = known.gpu_operator_min(release)
    assert told is not None
    assert told[1].origin == "mine.yaml"


def read_on(day: str, *repositories: str) -> Facts:
    heads = {name: {"head": "0" * 40, "head_date": day} for name in repositories}
    return marked(read({"generated": {"on": "2027-02-01", "repos": heads}, **NEW}), "mine.yaml")


def test_knowledge_reaches_further_only_where_everything_was_read_anew() -> None:
    repositories = tuple(facts().reads)
    assert len(repositories) > 10
    one = facts().under(read_on("2027-01-31", "NVIDIA/gpu-operator"))
    assert (one.known_until, one.built_on) == (facts().known_until, facts().built_on)
    assert one.reads["NVIDIA/gpu-operator"] == date(2027, 1, 31)
    everything = facts().under(read_on("2027-01-31", *repositories))
    assert (everything.known_until, everything.built_on) == (date(2027, 1, 31), date(2027, 2, 1))
    older = facts().under(read_on("2025-01-31", *repositories))
    assert (older.known_until, older.reads) == (facts().known_until, facts().reads)
