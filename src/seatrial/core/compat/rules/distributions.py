"""Whose Kubernetes it is: vendors sign their builds, and tables have a column for each of them.

Law of this file: upstream's own build has no signature; whoever else signs is told apart from it, known or not.
Tests: tests/core/compat/test_rules_listed.py
"""

from __future__ import annotations

import re
from typing import Final

from seatrial.core.compat.versions import KubernetesVersion

EKS, GKE, AKS = "Amazon EKS", "Google GKE", "Azure AKS"
SIGNED: Final = {
    "-gke.": GKE,
    "-eks-": EKS,
    "+rke2": "Rancher RKE2",
    "+k3s": "K3s",
    "+k0s": "Mirantis k0s",
    "+vmware": "VMware VKS",
    "-mirantis": "Mirantis MKE",
}
"""Who signs how."""
DISTRIBUTIONS: Final = frozenset({*SIGNED.values(), AKS})
"""All that a table may have a column for."""
_UPSTREAM: Final = re.compile(r"v?[0-9.]+(?:-(?:alpha|beta|rc)[0-9.]*)?")
_LETTER: Final = re.compile(r"[A-Za-z]")


def distribution_of(kubernetes: KubernetesVersion | None) -> str:
    """Who built this Kubernetes, by his signature; the signature itself where nobody here knows it; empty: upstream.

    `1.34.3-1.1` is the number of a Debian package of upstream's own build.
    """
    text = kubernetes.text if kubernetes is not None else ""
    known = next((name for mark, name in SIGNED.items() if mark in text), "")
    rest = _UPSTREAM.sub("", text, count=1)
    return known or (rest if _LETTER.search(rest) else "")
