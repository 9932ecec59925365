"""endoflife.date: days of releases and of ends, from the table at the top of a product's page.

Tests: tests/data/test_extract.py
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

REPOSITORY: Final = "endoflife-date/endoflife.date"
KUBERNETES: Final = "products/kubernetes.md"
DRIVER: Final = "products/nvidia-driver.md"
OPENSHIFT: Final = "products/red-hat-openshift.md"
EKS: Final = "products/amazon-eks.md"
GKE: Final = "products/google-kubernetes-engine.md"
CONTAINERD: Final = "products/containerd.md"


def of_kubernetes(page: str, minor: str) -> dict[str, Any]:
    """When a minor came, and when it ends."""
    cycle = _cycles(page).get(minor, {})
    return _days(cycle, {"released": "releaseDate", "end_of_life": "eol"})


def of_eks(page: str, minor: str) -> dict[str, Any]:
    """When a minor came, and when its standard and its extended support end."""
    cycle = _cycles(page).get(minor, {})
    return _days(cycle, {"released": "releaseDate", "end_of_life": "eol", "extended_ends": "eoes"})


def of_driver(page: str, branch: str) -> dict[str, Any]:
    """What kind of branch it is, its days, and its newest version."""
    cycle = _cycles(page).get(f"r{branch}-linux") or _cycles(page).get(f"r{branch}") or {}
    kind = re.search(r"\((\w+)\)", str(cycle.get("releaseLabel", "")))
    named = kind[1] if kind else "LTSB" if cycle.get("lts") else ""
    return {
        **({"kind": named} if named else {}),
        **_days(cycle, {"first_release": "releaseDate", "end_of_life": "eol"}),
        **({"latest_known": str(cycle["latest"])} if "latest" in cycle else {}),
    }


def of_openshift(page: str, minor: str) -> dict[str, Any]:
    """When a minor came, and when its support ends."""
    cycle = _cycles(page).get(minor, {})
    return _days(cycle, {"released": "releaseDate", "maintenance_ends": "eol", "eus_ends": "eoes"})


def cycles(page: str) -> tuple[str, ...]:
    """All release cycles of a page."""
    return tuple(_cycles(page))


def _cycles(page: str) -> dict[str, dict[str, Any]]:
    table = page.split("---", 2)[1]
    return {str(each["releaseCycle"]): each for each in yaml.load(table, Loader=yaml.CSafeLoader)["releases"]}


def _days(cycle: dict[str, Any], names: dict[str, str]) -> dict[str, str]:
    """The days that are days: `true` and `false` stand where none is known."""
    found = {ours: str(cycle.get(theirs)) for ours, theirs in names.items()}
    return {ours: day for ours, day in found.items() if re.fullmatch(r"\d{4}-\d{2}-\d{2}", day)}
