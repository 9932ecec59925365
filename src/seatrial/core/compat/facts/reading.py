"""From plain data (mappings, lists, texts) to Facts. Nothing is skipped or guessed: what does not fit is FactInvalid.

The same reader takes the knowledge base and the files users lay over it, so that both obey one schema: every version
parses by its scheme, every fact has a source and a confidence, every range is in order, every key is known. Sections
may be absent. Whether the whole is complete is asked by data/build_facts.py, which knows that it has the whole.

Law of this file: it knows the order of the readers, and what no one section has.
Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import Any, Final

from seatrial.core.compat.facts import reading_drivers, reading_listed, reading_operators, reading_platform
from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.known_bad import Bound, Issue, Vulnerability
from seatrial.core.compat.facts.sections import FOR_PEOPLE, SCHEMA_VERSION, SENTENCES, Reader, reads, sections_of
from seatrial.core.compat.facts.spots import (
    FactInvalid,
    SchemaNewer,
    Spot,
    day_at,
    entries_of,
    kind_of,
    parsed,
    text_at,
)
from seatrial.core.compat.matrix import ALIASES, Component
from seatrial.core.compat.versions import (
    Line,
    Version,
)

_BOUND: Final = re.compile(r"(?P<sign>>=|>|<|)(?P<version>.+)")


def read(data: Any) -> Facts:
    """Read facts, or raise FactInvalid at the first that does not fit."""
    whole = Spot(data)
    _check_version(whole)  # first: a later schema has sections that we do not know
    whole.only(SECTIONS)
    for name, known in SECTIONS.items():
        section = whole.maybe(name)
        if section is not None and known:
            section.only(known)
    for _, spot in entries_of(whole, "sources"):
        spot.only({"read", "newest"}).at("read").day()  # for ages.py; here it is only seen that it can be read
        day_at(spot, "newest")
    facts = _dated(whole)
    for reader in READERS:
        facts = reader(whole, facts)
    return facts


def _check_version(whole: Spot) -> None:
    schema = whole.maybe("schema_version")
    if schema is not None and schema.number() > SCHEMA_VERSION:
        told = f"this seatrial reads facts of version {SCHEMA_VERSION}, and these are {schema.value}. Update seatrial."
        raise SchemaNewer(schema.path, told)
    if schema is not None and schema.number() != SCHEMA_VERSION:
        raise FactInvalid(schema.path, f"expected {SCHEMA_VERSION}, found {schema.value}.")


def _dated(whole: Spot) -> Facts:
    made = whole.maybe("generated")
    if made is None:
        return Facts(built_on=date.min, known_until=date.min)
    heads = {name: spot.at("head_date").day() for name, spot in entries_of(made, "repos")}
    built = made.at("on").day()
    return Facts(built_on=built, known_until=max(heads.values(), default=built), reads=heads)


@reads("known_issues")
def _issues(whole: Spot, facts: Facts) -> Facts:
    """Issues about things a matrix does not name (IPAM, vGPU, …) stay in the data for people to read."""
    rows = []
    for spot in whole.each("known_issues"):
        cite, conditions = spot.cite(), dict(spot.at("when").items())
        components = {key: ALIASES.get(key) or _component(key) for key in conditions}
        if all(components.values()):
            rows.append(
                Issue(
                    when={part: _bounds(part, conditions[key]) for key, part in components.items() if part is not None},
                    effect=spot.at("effect").text(),
                    advice=text_at(spot, "advice"),
                    reference=text_at(spot, "ref"),
                    cite=cite,
                )
            )
    return replace(facts, issues=tuple(rows)) if rows else facts


def _bounds(component: Component, spot: Spot) -> tuple[Bound, ...]:
    return tuple(_bound(component, each) for each in (spot.each() if isinstance(spot.value, list) else [spot]))


def _bound(component: Component, spot: Spot) -> Bound:
    match = _BOUND.fullmatch(spot.text())
    if match is None:
        raise FactInvalid(spot.path, f"expected a version or a bound like >=v25.3.1, found {spot.value!r}.")
    is_line = component is Component.OPENSHIFT and match["version"].count(".") == 1
    kind: type[Version] = Line if is_line else kind_of(component)
    return Bound(sign=match["sign"], version=parsed(kind, match["version"], spot.path))


VULNERABILITY_ROW: Final = frozenset(
    {
        "id", "published", "component", "branch", "since", "fixed_in", "only_in", "breaks_out", "effect", "source",
        "confidence",
    }
)  # fmt: skip


@reads("vulnerabilities")
def _vulnerabilities(whole: Spot, facts: Facts) -> Facts:
    """Ranges of versions that are known to be vulnerable."""
    rows = [_vulnerability(spot.only(VULNERABILITY_ROW)) for spot in whole.each("vulnerabilities")]
    branches: dict[tuple[str, Component, str], set[str]] = {}
    for row in rows:
        branches.setdefault(_ranges_of(row), set()).add(row.branch)
    apart = [row if row.branch else replace(row, elsewhere=frozenset(branches[_ranges_of(row)])) for row in rows]
    return replace(facts, vulnerabilities=tuple(replace(row, elsewhere=row.elsewhere - {""}) for row in apart))


def _ranges_of(row: Vulnerability) -> tuple[str, Component, str]:
    """What the ranges of one vulnerability have in common."""
    return row.id, row.component, row.fixed_in.lineage


def _vulnerability(spot: Spot) -> Vulnerability:
    named = spot.at("component")
    component = _component(named.text())
    if component is None:
        raise FactInvalid(named.path, f"expected a component such as container_toolkit, found {named.value!r}.")
    since = spot.maybe("since")
    return Vulnerability(
        id=spot.at("id").text(),
        published=spot.at("published").day(),
        component=component,
        since=since.version(kind_of(component)) if since else None,
        fixed_in=spot.at("fixed_in").version(kind_of(component)),
        branch=text_at(spot, "branch"),
        only_in=text_at(spot, "only_in"),
        breaks_out=spot.at("breaks_out").flag() if "breaks_out" in spot else False,
        effect=spot.at("effect").text(),
        cite=spot.cite(),
    )


@reads(*SENTENCES)
def _sentences(whole: Spot, facts: Facts) -> Facts:
    found = {}
    for place in SENTENCES:
        section, _, key = place.partition(".")
        spot = whole.maybe(section)
        sentence = spot.maybe(key) if spot else None
        if sentence is not None:
            found[place] = sentence.cite()
    return replace(facts, cites=found) if found else facts


READERS: Final[tuple[Reader, ...]] = (
    *reading_drivers.FIRST,
    *reading_operators.READERS,
    *reading_platform.READERS,
    *reading_drivers.LAST,
    *reading_listed.READERS,
    _issues,
    _vulnerabilities,
    _sentences,
)
_HEAD: Final = ("schema_version", "generated", "sources")
SECTIONS: Final = sections_of((*_HEAD, *FOR_PEOPLE, *(place for reader in READERS for place in reader.places)))
"""Every section and, where they are fixed, its keys."""


def _component(key: str) -> Component | None:
    return Component(key) if key in frozenset(Component) else None
