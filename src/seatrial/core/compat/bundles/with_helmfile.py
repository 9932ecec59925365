"""The files for helmfile: one list of releases, each with what it needs.

Law of this file: no hooks of helmfile's own. They run where helmfile does, on somebody's machine, and only for a
release that differs; the chart's hook runs in the cluster. Tests: tests/core/compat/test_bundles.py, tests/bundles
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from seatrial.core.compat.bundles.stack import INSTALL_SECONDS, NGC
from seatrial.core.compat.bundles.values import CHART, VALUES, Chart, Document, File, Release, Stack

HELMFILE: Final = "helmfile.yaml"


def files(stack: Stack) -> Iterator[File]:
    """What this deployer needs besides the values."""
    repositories = sorted({each.chart.repository for each in stack.releases if _is_indexed(each.chart)})
    found = {
        **({"repositories": [{"name": _alias(each), "url": each} for each in repositories]} if repositories else {}),
        "helmDefaults": {
            "wait": True,
            "timeout": INSTALL_SECONDS,
            "createNamespace": True,
            # A rollback of half-migrated drivers is worse than a release that failed.
            "atomic": False,
            "cleanupOnFail": False,
        },
        "releases": [_release(each, stack) for each in stack.releases],
    }
    yield Document(path=HELMFILE, objects=(found,), comment=("`helmfile apply` upgrades what differs.",))


def _release(release: Release, stack: Stack) -> dict[str, Any]:
    needed = [each for name in release.after if (each := stack.release(name)) is not None]
    return {
        "name": release.name,
        "namespace": release.namespace,
        "chart": _reference(release),
        **({} if release.chart.is_local else {"version": release.chart.version}),
        "values": [f"{release.folder}/{VALUES}"],
        **({"needs": [f"{each.namespace}/{each.name}" for each in needed]} if needed else {}),
        "wait": True,
        "waitForJobs": True,
        "timeout": release.timeout_seconds,
        # A chart that comes along has what it depends on with it; helmfile would fetch that from its vendor.
        **({"skipDeps": True} if release.chart.is_local else {}),
        # helm-diff validates against the cluster, which gets the definitions in the run that installs the release.
        # Later it has to: else it renders as for a cluster that it did not ask, and finds differences that are none.
        "disableValidationOnInstall": True,
        **({"disableOpenAPIValidation": True} if release.skips_validation else {}),
    }


def _reference(release: Release) -> str:
    chart = release.chart
    if chart.is_local:
        return f"./{release.folder}/{CHART}"
    return f"{chart.repository if chart.is_oci else _alias(chart.repository)}/{chart.name}"


def _is_indexed(chart: Chart) -> bool:
    """Whether its repository has an index, so that helmfile has to add it."""
    return not chart.is_local and not chart.is_oci


def _alias(repository: str) -> str:
    return "nvidia" if repository == NGC else "charts"
