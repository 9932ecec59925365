"""Which driver to load on the way, where neither what runs nor what is wanted is listed: one that can stay for long.

Every reload of the driver evicts the GPU pods of the whole fleet, so of the drivers a release lists the one is chosen
that the following release lines list too.

    24.3   550  560            24.3 ┐
    24.6   550  560     →      24.6 ├ 560, loaded once
    24.9        560  570       24.9 ┘
    25.3             570 580   25.3   580, its default

Tests: tests/core/compat/test_plan_drivers.py
"""

from __future__ import annotations

from collections.abc import Sequence

from seatrial.core.compat.facts import GpuOperatorRelease
from seatrial.core.compat.versions import DriverVersion, Version


def lasting(releases: Sequence[GpuOperatorRelease], ends: Sequence[Version | None]) -> dict[str, DriverVersion]:
    """For each line that lists neither end's driver: one that also serves the lines after it, to be reloaded seldom."""
    lines: dict[str, list[GpuOperatorRelease]] = {}
    for release in sorted(releases, key=lambda each: each.version):
        lines.setdefault(release.line, []).append(release)
    waiting = [
        rows for rows in lines.values() if not any(is_listed(release, end) for release in rows for end in ends if end)
    ]
    chosen: dict[str, DriverVersion] = {}
    while waiting:
        own = waiting[0][-1].driver
        offers = {driver for release in waiting[0] for driver in release.drivers}
        if not offers:
            waiting.pop(0)
            continue
        best = max(offers, key=lambda each: (_run(each, waiting), each == own, each.rank))
        served = [waiting.pop(0) for _ in range(_run(best, waiting))]
        chosen |= {rows[0].line: best for rows in served}
    return chosen


def _run(driver: DriverVersion, lines: Sequence[Sequence[GpuOperatorRelease]]) -> int:
    """How many lines from the first on list a driver without a break."""
    broken = (number for number, rows in enumerate(lines) if not any(is_listed(each, driver) for each in rows))
    return next(broken, len(lines))


def is_listed(release: GpuOperatorRelease, driver: Version | None) -> bool:
    """Whether a driver is the default of a release or in its list."""
    return driver == release.driver or driver in release.drivers
