"""Releases of charts: what is seen of one, and the object of a deployer that says which one is wanted.

    Release    what runs, by the chart's own Deployment; Helm's name for it, where Helm brought it
    Holder     a HelmRelease or an Application whose chart it is: another version there is another release

Law of this file: an operator is known by the name of its chart, not by what deploys it; and only in places where no
tenant writes, for anyone may give anything that name. Tests: tests/core/model/test_releases.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.deployers import HOMES, Mark

CHARTS: Final[Mapping[Component, str]] = {
    Component.GPU_OPERATOR: "gpu-operator",
    Component.NETWORK_OPERATOR: "network-operator",
    Component.DRA_DRIVER: "nvidia-dra-driver-gpu",
}
"""The chart of each component whose release a rollout can publish."""
NAMES: Final[Mapping[str, Component]] = {
    **{chart: component for component, chart in CHARTS.items()},
    "dra-driver-nvidia-gpu": Component.DRA_DRIVER,
}
"""Whose chart a name is; the DRA driver's has had another one since 0.4.0."""
SOURCES: Final[Mapping[str, str]] = {
    "dra-driver-nvidia-gpu": "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
}
"""Where a chart comes from that is not in NVIDIA's own repository."""
ON_NODES: Final = frozenset({Component.DRA_DRIVER})
"""Charts whose release is one component on nodes, and shows in its own pods."""


def operator_of(chart: str) -> Component | None:
    """Whose chart this is, by its name or the address that ends with it; None for that of anything else."""
    name = chart.rstrip("/").rpartition("/")[2]
    return NAMES.get(name)


def source_of(release: Release | None, component: Component) -> str:
    """What a person who runs helm calls the chart of a release."""
    chart = (release.chart if release is not None else "") or CHARTS[component]
    return SOURCES.get(chart, f"nvidia/{chart}")


def is_holder(resource: str) -> bool:
    """Whether a name is that of what holds a release: it has a namespace, and what carries drivers has none."""
    return resource.count("/") == 2


def styled(version: str, like: str) -> str:
    """A version as somebody wrote the last one: charts have it with a `v`, or without."""
    bare = version.removeprefix("v")
    return f"v{bare}" if like.startswith("v") or (not like and version.startswith("v")) else bare


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release that is in the cluster."""

    component: Component
    version: str
    """Of its chart; empty where the Deployment does not tell."""
    chart: str = ""
    """What its chart is called; empty for the name that it usually has."""
    name: str = ""
    """What Helm calls it; empty where Helm did not install it."""
    namespace: str = ""
    is_up: bool = True
    """Whether its Deployment runs that version, and no other any more."""
    marks: tuple[Mark, ...] = ()
    """What brings its Deployment into the cluster, by what is written on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What says which release is wanted."""

    component: Component
    resource: str
    """Its kind, namespace and name, such as `HelmRelease/gpu-operator/gpu-operator`."""
    version: str
    """As it is written there."""
    writer: str = ""
    """Who wrote the version last, by the name it gave to the API server."""
    resource_version: str = ""
    note: str = ""
    """What a campaign of ours noted on it when it last wrote a version there."""
    marks: tuple[Mark, ...] = ()
    """Who brings it into the cluster from a repository, by what is written on it."""


def believed(
    holders: Iterable[Holder], releases: Iterable[Release], is_of: Callable[[Component, str], bool]
) -> tuple[Holder, ...]:
    """The holders that count: in a namespace of the operator (`is_of`) or of the engine, or named by the Deployment.

    `releases` are those of the operators' own namespaces, where no tenant writes labels.
    """
    named = {(each.component, f"{mark.kind}/{mark.namespace}/{mark.name}") for each in releases for mark in each.marks}
    return tuple(
        each
        for each in holders
        if (where := each.resource.split("/")[1]) in HOMES
        or is_of(each.component, where)
        or (each.component, each.resource) in named
    )
