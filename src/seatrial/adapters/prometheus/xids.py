"""Xids of the last hour, by DCGM exporter's metrics in a Prometheus: which GPU reported which, and how often.

    DCGM_FI_DEV_XID_ERRORS    the number of the last Xid, and no count: it stays when the fault is gone

So a number that has stood there unchanged for the whole hour is an old one, and is not told; the same Xid twice in a
row is seen once. Law of this file: a series of which nobody can tell the node is told as that. Tests:
tests/adapters/prometheus/test_xids.py
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from seatrial.adapters.prometheus import answers
from seatrial.adapters.prometheus.answers import BLANKS, Sample
from seatrial.adapters.prometheus.calling import QUERY, calling
from seatrial.adapters.prometheus.errors import PrometheusError
from seatrial.adapters.prometheus.labels import Owner, Unclear, owner_of
from seatrial.adapters.prometheus.places import Place
from seatrial.core.survey.doctor.objects import Metrics, XidTold

METRIC: Final = "DCGM_FI_DEV_XID_ERRORS"


async def read(place: Place, nodes: Collection[str], *, node_label: str = "") -> Metrics:
    """What it tells of these nodes; one that cannot be asked says why."""
    metric = f"{METRIC}{{{place.matchers}}}"
    changed = f"changes({metric}[1h]) > 0"
    try:
        async with calling(place) as caller:
            there = answers.samples(await caller.ask(QUERY, [("query", f"count({metric})")]))
            numbers = answers.samples(await caller.ask(QUERY, [("query", f"{metric} > 0 and {changed}")]))
            changes = answers.samples(await caller.ask(QUERY, [("query", changed)]))
    except PrometheusError as err:
        return Metrics(why_not=str(err))
    if not there:
        why = "DCGM exporter is not scraped, it leaves that out, or its series have other labels"
        return Metrics(why_not=f"{place.host} has no {metric}: {why}")
    times = {_key(each): int(each.value) for each in changes if math.isfinite(each.value)}
    found, unclear = [], []
    for each in numbers:
        owner = owner_of(each.labels, nodes, node_label=node_label)
        if isinstance(owner, Unclear):
            unclear.append(owner.why)
        elif isinstance(owner, Owner) and math.isfinite(each.value) and each.value not in BLANKS:
            count = max(1, times.get(_key(each), 1))
            found.append(XidTold(node=owner.node, gpu=owner.gpu, number=int(each.value), count=count))
    return Metrics(xids=tuple(sorted(found, key=lambda each: (each.node, each.gpu))), why_not=next(iter(unclear), ""))


def _key(sample: Sample) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in sample.labels.items() if name != "__name__")
