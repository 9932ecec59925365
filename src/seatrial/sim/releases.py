"""Releases of operators in a played cluster: whoever holds one has it deployed at once, and DaemonSets follow later.

Pure functions, as in outside.py. What takes its time in a real cluster, a chart that is fetched and a Deployment that
comes up, is in no node's way; what follows from it is. Tests: tests/sim/test_releases.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.model.seen.releases import CHARTS, Holder
from seatrial.core.model.target import parts_of
from seatrial.sim.acts import Refused


def written(operator: OperatorFacts, resource: str, version: str, expect: str, note: str) -> OperatorFacts | Refused:
    """The operator after a write of a chart's version into what holds its release, or why that was turned down."""
    found = next((each for each in operator.holders if each.resource == resource), None)
    if found is None:
        return Refused(is_stale=True, why=f"{resource} not found")
    if expect and expect != found.resource_version:
        return Refused(is_stale=True, why=f"{resource} is no longer at {expect}")
    after = replace(found, version=version, note=note or found.note)
    if after == found:
        return operator  # a write that changes nothing leaves its version, as the API server does
    # Who wrote the same version before us still stands behind it.
    writer = found.writer if found.version == version else "seatrial"
    after = replace(after, writer=writer, resource_version=_next(found))
    holders = tuple(after if each is found else each for each in operator.holders)
    return deployed(replace(operator, holders=holders), found.component, version)


def _next(holder: Holder) -> str:
    return str(int(holder.resource_version) + 1) if holder.resource_version else ""


def deployed(operator: OperatorFacts, component: Component, version: str) -> OperatorFacts:
    """The operator once a release of a chart is in the cluster, whoever brought it."""
    return replace(
        operator,
        releases=tuple(
            replace(each, version=version) if each.component is component else each for each in operator.releases
        ),
        carriers=tuple(_beside(each, component, version) for each in operator.carriers),
    )


def _beside(carrier: Carrier, component: Component, version: str) -> Carrier:
    return replace(carrier, parts=tuple({**dict(carrier.parts), component.value: version}.items()))


def followed(operator: OperatorFacts, texts: Iterable[str]) -> OperatorFacts:
    """The operator once what a repository says of releases, in these versions, is in the cluster."""
    for name, version in (part for text in texts for part in parts_of(text)[1] if part[0] in CHARTS):
        operator = deployed(operator, Component(name), version)
    return operator
