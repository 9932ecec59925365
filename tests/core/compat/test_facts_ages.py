"""How old knowledge is: a day where one is known, and else in words that none is."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from seatrial.core.compat.facts import FactInvalid, Known, SourceAge, ages, by_age, read
from tests.core.compat.test_facts import MINE, whole


def driver(source: str, confidence: str = "secondary") -> dict[str, Any]:
    return {"driver": {"redistributed": {"source": source, "confidence": confidence, "values": ["620.70.06"]}}}


def only(data: Any, **more: Any) -> SourceAge:
    (found,) = ages(data, **more)
    return found


def test_every_shipped_source_has_a_day_or_was_not_read() -> None:
    found = ages(whole())
    assert {each.known for each in found} == {Known.AS_OF, Known.BY, Known.NOT_READ}
    assert all((each.day is None) == (each.known is Known.NOT_READ) for each in found)
    assert {each.name for each in found} >= {"github:NVIDIA/gpu-operator", "kubernetes.io/releases/version-skew-policy"}
    assert max(each.day for each in found if each.day is not None) == date(2026, 11, 16)


def test_the_oldest_come_first() -> None:
    days = [each.day or date.min for each in by_age(ages(whole()))]
    assert days == sorted(days)
    assert days[0] == date.min


def test_a_repository_is_as_old_as_the_commit_it_was_read_at() -> None:
    made = {"on": "2026-11-15", "repos": {"NVIDIA/x": {"head_date": "2026-08-01"}}}
    data = {"generated": made, **driver("no such tag in github:NVIDIA/x; see there")}
    assert only(data) == SourceAge(name="github:NVIDIA/x", known=Known.AS_OF, day=date(2026, 8, 1), fact_count=1)


@pytest.mark.parametrize(
    ("head", "known", "day"),
    [
        ({"sources": {"https://docs.example.com/a/": {"read": "2026-10-02"}}}, Known.AS_OF, date(2026, 10, 2)),
        (
            {"sources": {"docs.example.com/a": {"read": "2026-10-02", "newest": "2026-09-09"}}},
            Known.AS_OF,
            date(2026, 9, 9),
        ),
        ({"generated": {"on": "2026-11-15"}}, Known.BY, date(2026, 11, 15)),
        ({}, Known.UNDATED, None),
    ],
)
def test_a_page_is_as_old_as_somebody_noted_or_as_its_file(head: Any, known: Known, day: date | None) -> None:
    found = only({**head, **driver("https://docs.example.com/a (table 3)")}, origin="mine.yaml")
    assert found == SourceAge(name="docs.example.com/a", known=known, day=day, fact_count=1, origin="mine.yaml")


def test_a_file_without_a_day_is_no_younger_than_the_day_it_came() -> None:
    found = only(driver("our lab"), by=date(2026, 11, 16))
    assert (found.name, found.known, found.day) == ("our lab", Known.BY, date(2026, 11, 16))


def test_a_fact_from_memory_has_no_day() -> None:
    found = only({"generated": {"on": "2026-11-15"}, **driver("our lab", "memory")})
    assert (found.known, found.day) == (Known.NOT_READ, None)


def test_a_day_that_is_none_and_a_misspelt_key_are_refused() -> None:
    for wrong in ({"read": "soon"}, {"red": "2026-10-02"}, {}):
        with pytest.raises(FactInvalid, match=r"^sources\.docs"):
            read({"sources": {"docs": wrong}, "driver": {"redistributed": {**MINE, "values": []}}})
