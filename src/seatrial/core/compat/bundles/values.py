"""What is asked of a bundle, the releases it has, and the files it is made of.

    Asked + Entry ──stack.py──▶ Release … ──with_*.py──▶ Document | Text …

Law of this file: nothing is decided here. Tests: tests/core/compat/test_bundles.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

from seatrial.core.base.values import dataclass, field
from seatrial.core.errors import SeatrialError

VALUES: Final = "values.yaml"
"""The values of a release, beside whatever else its folder has."""
CHART: Final = "chart"
"""A chart that comes with the bundle, in the folder of its release."""
POST_CHART: Final = "gpu-operator-post"
"""Our own chart: nobody has it in a repository, so that it always comes with the bundle."""
DRA_RELEASE: Final = "nvidia-dra-driver-gpu"
"""Of both charts of the DRA driver: another name would be a second driver beside the first."""

Object: TypeAlias = Mapping[str, Any]


class BundleRefused(SeatrialError):  # noqa: N818  the message says what to do
    """This entry, with these wishes, cannot be made into a bundle."""


class Deployer(StrEnum):
    """Who brings the bundle into the cluster."""

    HELM = "helm"
    HELMFILE = "helmfile"
    FLUX = "flux"
    ARGOCD = "argocd"
    ARGOCD_HELM = "argocd-helm"

    @property
    def reads_git(self) -> bool:
        """Whether it fetches the bundle from a repository, and so has to be told which."""
        return self in (Deployer.FLUX, Deployer.ARGOCD, Deployer.ARGOCD_HELM)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalChart:
    """A chart that is copied into the bundle."""

    name: str
    version: str
    """As its Chart.yaml says."""
    digest: str
    """Of all its files: what it has changed to is a new version of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants of a bundle."""

    deployer: Deployer
    is_on_delete: bool = False
    """A controller of seatrial moves the nodes, and nothing restarts before it says so."""
    allocates_gpus: bool = False
    """The DRA driver gives GPUs to pods, in the place of the device plugin."""
    keeps_dra_names: bool | None = None
    """Whether the objects of the DRA driver keep the names of its older chart; None where nobody said."""
    repository: str = ""
    """The Git repository that the bundle will be in."""
    repository_secret: str = ""
    """The Secret that has the login of that repository, where the deployer is told so in the bundle."""
    revision: str = "main"
    path: str = ""
    """The folder of the repository that the bundle will be."""
    charts: str = ""
    """One place that has all charts, as an address; empty where each comes from its vendor."""
    local: tuple[LocalChart, ...] = ()
    """Charts that come with the bundle."""
    is_offline: bool = False
    """All charts have to come with the bundle: none may be fetched."""
    image: str = ""
    """The image of the hook; empty is the chart's own."""
    node_count: int = 0
    """How many nodes there are; 0 where nobody said."""
    parallel: int = 0
    """How many nodes NVIDIA's controller may upgrade at a time; 0 is its own default."""
    own: Mapping[str, Object] = field(default_factory=dict)
    """Values of one's own, by release: they are laid over ours."""

    def local_chart(self, name: str) -> LocalChart | None:
        """The chart of that name that comes with the bundle."""
        return next((each for each in self.local if each.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart, and where a deployer finds it."""

    name: str
    version: str
    repository: str = ""
    """https://… or oci://…; empty where it comes with the bundle."""

    @property
    def is_local(self) -> bool:
        return not self.repository

    @property
    def is_oci(self) -> bool:
        return self.repository.startswith("oci://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One Helm release of the stack."""

    name: str
    namespace: str
    chart: Chart
    values: Object
    why: tuple[str, ...] = ()
    """What the values are for, a line each, above them in the file."""
    timeout_seconds: int
    after: tuple[str, ...] = ()
    """The releases that have to be there first."""
    number: int = 0
    ignored: tuple[Object, ...] = ()
    """What Argo CD is not to put back, as its ignoreDifferences say it."""
    filled: tuple[Object, ...] = ()
    """What the API server fills in where the chart leaves it empty, in the same words: no difference to put back."""
    skips_validation: bool = False
    """Its chart upgrades definitions in a hook, so what it renders may not be valid before."""
    leaves_definitions: bool = False
    """Its chart has definitions, and nothing in it that upgrades them: Helm does not."""

    @property
    def folder(self) -> str:
        """Its folder in the bundle; the numbers are the order."""
        return f"{self.number:03}-{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Everything that goes into a bundle, before a deployer's own words for it."""

    entry: str
    components: Mapping[str, str]
    """The versions of the entry, by component, as somebody wrote them."""
    releases: tuple[Release, ...]
    left_out: tuple[str, ...] = ()
    """Components that the bundle does not bring."""
    notes: tuple[str, ...] = ()
    """What whoever deploys it has to know, a sentence each."""

    def release(self, name: str) -> Release | None:
        return next((each for each in self.releases if each.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML file as data."""

    path: str
    objects: tuple[Object, ...]
    comment: tuple[str, ...] = ()
    templates: Mapping[str, str] = field(default_factory=dict)
    """Words in the data that stand for a template of Helm's, which no YAML could hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A file as it is."""

    path: str
    text: str
    is_executable: bool = False


File: TypeAlias = Document | Text


def laid_over(ours: Object, own: Object) -> dict[str, Any]:
    """Values with somebody's own on top, as Helm merges two files: maps are merged, all else is replaced."""
    merged = dict(ours)
    for key, value in own.items():
        before = merged.get(key)
        is_both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = laid_over(before, value) if is_both else value  # type: ignore[arg-type]
    return merged
