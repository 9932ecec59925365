"""Operators that OLM installs, as OpenShift does: what a Subscription follows, and what waits for somebody's yes.

    Subscription    which package it follows, who approves, and what it has installed
    Plan            its InstallPlan: what OLM would install next, once that is approved

Law of this file: a plan is known by the names of what it installs, and by nothing else.
Tests: tests/core/movers/test_olm.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component

PACKAGES: Final[Mapping[str, Component]] = {
    "gpu-operator-certified": Component.GPU_OPERATOR,
    "nvidia-network-operator": Component.NETWORK_OPERATOR,
}
"""The packages of the operators whose releases a rollout can have approved."""
PLAN_KIND: Final = "InstallPlan"


def is_plan(resource: str) -> bool:
    """Whether a name is that of an InstallPlan, such as `InstallPlan/nvidia-gpu-operator/install-x7k2p`."""
    return resource.startswith(f"{PLAN_KIND}/")


def names_in(names: tuple[str, ...]) -> str:
    """What a plan installs, in one text."""
    return ", ".join(names)


def package_in(name: str) -> str:
    """The package that the name of a ClusterServiceVersion begins with."""
    return name.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What OLM would install, or has."""

    resource: str
    names: tuple[str, ...]
    """The ClusterServiceVersions in it, all of them."""
    is_approved: bool = False
    trouble: str = ""
    """Why OLM could not install it; empty while it has not failed."""
    resource_version: str = ""
    note: str = ""
    """What a campaign of ours noted on it when it approved it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What OLM follows for an operator."""

    component: Component
    resource: str
    """Its kind, namespace and name, such as `Subscription/nvidia-gpu-operator/gpu-operator-certified`."""
    package: str
    is_automatic: bool = False
    """OLM approves whatever its channel brings, by itself."""
    installed: str = ""
    """The ClusterServiceVersion that runs; empty before the first."""
    trouble: str = ""
    """Why what is to run does not; empty while nothing is wrong."""
    plan: Plan | None = None
    """The newest that OLM made for it."""

    @property
    def namespace(self) -> str:
        return self.resource.split("/")[1]

    @property
    def name(self) -> str:
        return self.resource.split("/")[2]

    def named(self, version: str) -> str:
        """What a release of this package is called."""
        return f"{self.package}.v{version.removeprefix('v')}"
