"""Who brings a Git repository into the cluster, and undoes what differs from it: every deployer that we know.

Law of this file: a deployer is one row, and whoever has to name them says ENGINE. What their files look like is in
adapters/files/published.py. Tests: tests/core/test_publishing.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
