"""The manifests seatrial needs in a cluster, as text: its resource definition and the controller's rights."""

from __future__ import annotations

from importlib import resources


def crd() -> str:
    """The CustomResourceDefinition of GPURollout."""
    return resources.files(__name__).joinpath("crd.yaml").read_text(encoding="utf-8")


def rbac() -> str:
    """The controller's ServiceAccount and exactly the rights it needs."""
    return resources.files(__name__).joinpath("rbac.yaml").read_text(encoding="utf-8")
