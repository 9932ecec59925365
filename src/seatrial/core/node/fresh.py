"""Whether a node's DRA plugin knows the driver that runs: one rule, for our visits and for `seatrial dra` beside them.

A plugin keeps the library and the mounts of the driver it started with, and looks healthy all the while. Driver and
plugin times are written by the same kubelet, in whole seconds: equal counts as stale.

Law of this file: one node, and nothing that has to be remembered. How long a node has to stand still before somebody
acts on this is decided by whoever asks (movers/dra).

Tests: tests/core/node/test_readiness.py, tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.holds import HoldCode, Lack
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.pods import Pod


def why_not_fresh(
    facts: NodeFacts, before: GpuOffer | None, wanted: str, loaded_at: ApiInstant | None
) -> Iterator[Lack]:
    """What speaks against the plugin, the gravest first; nothing when it knows the driver.

    `wanted` is the version of the driver that runs and `loaded_at` since when it does: None where no pod brings it, so
    that only the versions are left to compare. `before` is what the node offered before somebody touched it.
    """
    plugin = facts.dra
    if plugin is None:
        # An accepted loss does not cover it: between an old plugin and its successor there is a moment without any.
        if before is not None and before.has_dra_plugin:
            yield Lack(HoldCode.DRA_PLUGIN_MISSING, {})
        return
    if plugin.is_terminating or plugin.started_at is None:
        yield Lack(HoldCode.DRA_PLUGIN_NOT_READY, {"pod": plugin.name})
        return
    if loaded_at is not None and plugin.started_at <= loaded_at:
        yield Lack(HoldCode.DRA_PLUGIN_STALE, {"pod": plugin.name})
    if not plugin.is_ready:
        yield Lack(HoldCode.DRA_PLUGIN_NOT_READY, {"pod": plugin.name})
    if before is not None and before.has_slices and not facts.published:
        yield Lack(HoldCode.DRA_SLICES_MISSING, {"pod": plugin.name})
    others = sorted({version for version in facts.published if wanted and not is_same_version(version, wanted)})
    if others:
        yield Lack(HoldCode.DRA_VERSION_WRONG, {"published": ", ".join(others), "wanted": wanted})


def unpreparing(facts: NodeFacts) -> tuple[Pod, ...]:
    """The pods on their way out that may need the DRA plugin for that: without it, they would never be gone."""
    return tuple(pod for pod in facts.pods if pod.is_terminating and pod.holds_claim)


def is_same_version(one: str, other: str) -> bool:
    """Versions compared as numbers, since ResourceSlices drop leading zeros and fill up to three parts."""
    return _plain(one) == _plain(other)


def _plain(version: str) -> tuple[int, ...] | str:
    parts = version.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        return version
    numbers = [int(part) for part in parts]
    return (*numbers, *(0 for _ in range(3 - len(numbers))))
