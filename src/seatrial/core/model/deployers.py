"""Who brings a Git repository into the cluster, and undoes what differs from it: every deployer that we know.

Law of this file: a deployer is one row, so is each kind of objects by which it follows a repository, and whoever has to
name them says ENGINE. What their files look like is in adapters/files/published, how their objects are read in
adapters/kube/reading/followers/. Tests: tests/core/movers/test_publishing.py, tests/core/movers/test_followers.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.text.commands import filled
from seatrial.core.text.names import dns


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployer:
    """One of them."""

    name: str
    """As people call it."""
    managers: tuple[str, ...]
    """How the field managers begin under which it writes."""


DEPLOYERS: Final = (
    Deployer(name="Argo CD", managers=("argocd",)),
    Deployer(name="Flux", managers=("kustomize-controller", "helm-controller", "flux")),
)

_MANAGERS: Final = tuple(manager for each in DEPLOYERS for manager in each.managers)


def is_deployer(manager: str) -> bool:
    """Whether a field manager is one of them."""
    return manager.startswith(_MANAGERS)


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


ENGINE: Final = f"your GitOps engine ({_listed(tuple(each.name for each in DEPLOYERS))})"
"""All of them in one word, as a person says it who has one of them."""


# ── what they say of themselves ──────────────────────────────────────────────────────────────────────────────────────


class Stop(StrEnum):
    """How a follower was told to bring nothing into the cluster, as the end of a sentence."""

    BY_HAND = "its automated sync is off"
    SKIPPED = "argocd.argoproj.io/skip-reconcile stops Argo CD from syncing it"
    SUSPENDED = "it is suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A kind of followers: how it is known from what it applies, and how people speak to one."""

    deployer: str
    label: str
    """The label it puts on what it applies, before `name` and `namespace`; empty where it is known otherwise."""
    look: str
    """Has it look at its repository at once."""
    restore: str
    """Has it put back what somebody wrote over, without a new commit."""
    resume: Mapping[Stop, str]
    mend: str = "{look} makes it try now"
    """What to know when a commit has mended what it could not bring in."""


FOLLOWING: Final[Mapping[str, Following]] = {
    "Application": Following(
        deployer="Argo CD",
        label="",
        look="`argocd app get {name} --refresh`",
        restore="`argocd app sync {name}`",
        # Five times with growing pauses where nobody said otherwise, and no newer commit is looked at meanwhile.
        mend="it retries the failed sync for minutes before it takes the next commit, unless "
        "`argocd app terminate-op {name}` ends that",
        resume={
            Stop.BY_HAND: "Sync it: `argocd app sync {name}`; or let it sync automatically: "
            "`argocd app set {name} --sync-policy automated`.",
            Stop.SKIPPED: "Remove the annotation: "
            "`kubectl annotate application {name} -n {namespace} argocd.argoproj.io/skip-reconcile-`.",
        },
    ),
    "Kustomization": Following(
        deployer="Flux",
        label="kustomize.toolkit.fluxcd.io/",
        look="`flux reconcile kustomization {name} -n {namespace} --with-source`",
        restore="`flux reconcile kustomization {name} -n {namespace}`",
        resume={Stop.SUSPENDED: "Let it follow again: `flux resume kustomization {name} -n {namespace}`."},
    ),
    "HelmRelease": Following(
        deployer="Flux",
        label="helm.toolkit.fluxcd.io/",
        look="`flux reconcile helmrelease {name} -n {namespace} --with-source`",
        # A forced upgrade does not: Helm compares a custom resource with its last release, and not with the cluster.
        restore="`kubectl patch helmrelease {name} -n {namespace} --type merge "
        """-p '{{"spec":{{"driftDetection":{{"mode":"enabled"}}}}}}'`""",
        resume={Stop.SUSPENDED: "Let it follow again: `flux resume helmrelease {name} -n {namespace}`."},
    ),
}

HOMES: Final = frozenset({"argocd", "openshift-gitops", "flux-system"})
"""The namespaces of the engines themselves: what lies there was put there by those who run them."""

TRACKING: Final = "argocd.argoproj.io/tracking-id"
INSTANCE: Final = "app.kubernetes.io/instance"
"""How Argo CD marks what it applies: by annotation, or by label where it was set up so before it had the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """One object by which a deployer follows a folder of a repository, and how that goes by its own word."""

    kind: str
    namespace: str
    name: str
    commit: str = ""
    """What it brought into the cluster last, or how that begins; empty where it has brought nothing, or is silent."""
    stop: Stop | None = None
    trouble: str = ""
    """What it says about what it could not bring in."""
    waits_for: str = ""
    """What it says while it is at it."""

    @property
    def title(self) -> str:
        """Its kind and name, with the deployer."""
        return f"{self.kind} {self.namespace}/{self.name} of {FOLLOWING[self.kind].deployer}"

    @property
    def look(self) -> str:
        """How to have it look at once."""
        return self._said(FOLLOWING[self.kind].look)

    @property
    def restore(self) -> str:
        """How to have it put back what Git says."""
        return self._said(FOLLOWING[self.kind].restore)

    @property
    def mend(self) -> str:
        """How to have it try again."""
        return self._said(FOLLOWING[self.kind].mend)

    @property
    def resume(self) -> str:
        """How to have it follow again."""
        return self._said(FOLLOWING[self.kind].resume.get(self.stop, "")) if self.stop is not None else ""

    def _said(self, text: str) -> str:
        look = "" if text is FOLLOWING[self.kind].look else self.look
        return filled(text, {"name": self.name, "namespace": self.namespace, "look": look})

    def has_marked(self, mark: Mark) -> bool:
        """Whether this is the follower that a mark names; an Application is named without its namespace, mostly."""
        return (mark.kind, mark.name) == (self.kind, self.name) and mark.namespace in ("", self.namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a follower leaves on an object that it applies: its own name."""

    kind: str
    name: str
    namespace: str = ""


def marks_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[Mark, ...]:
    """Who applies an object, by what is written on it; the surest first."""
    found = [
        Mark(kind=kind, name=name, namespace=dns(labels.get(f"{row.label}namespace", "")))
        for kind, row in FOLLOWING.items()
        if row.label and (name := dns(labels.get(f"{row.label}name", "")))
    ]
    tracked = annotations.get(TRACKING, "").partition(":")[0] or labels.get(INSTANCE, "")
    namespace, _, name = tracked.rpartition("_")  # no name of an object has an underscore
    if dns(name):
        found.append(Mark(kind="Application", name=name, namespace=dns(namespace)))
    return tuple(found)


def follower_of(marks: tuple[Mark, ...], followers: tuple[Follower, ...]) -> Follower | None:
    """The follower that applies what bears these marks; None where none is seen."""
    return next((each for mark in marks for each in followers if each.has_marked(mark)), None)
