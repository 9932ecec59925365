"""The objects of a release, by the real helm, in an order of their own: the same text is the same objects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.bundles.extracting import Extracted
from tests.chart.charts import helm

Object = dict[str, Any]
Finder = Callable[[str, str], Path]
"""A chart that is far away, by name and version."""

SETTINGS = (
    "--kube-version=1.34.0",
    "--api-versions=resource.k8s.io/v1",
    "--api-versions=monitoring.coreos.com/v1",
    "--include-crds",  # Argo CD always takes them
)
CLUSTER_WIDE = {"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "ClusterPolicy", "DeviceClass"}


_KNOWN: dict[str, str] = {}
"""What helm printed before: most releases of most bundles are the same, as they have to be."""


def known_text_of(release: Extracted, far: Finder, folder: Path) -> str:
    """What helm prints of a release; it is asked once for each chart, byte by byte, with each values."""
    chart = _chart_of(release, far)
    files = [chart] if chart.is_file() else sorted(each for each in chart.rglob("*") if each.is_file())
    parts = [(str(each.relative_to(chart)), each.read_bytes()) for each in files]
    asked = hashlib.sha256(repr((release.name, release.namespace, release.values, parts)).encode()).hexdigest()
    if asked not in _KNOWN:
        _KNOWN[asked] = text_of(release, far, folder)
    return _KNOWN[asked]


def _chart_of(release: Extracted, far: Finder) -> Path:
    return release.chart if isinstance(release.chart, Path) else far(release.chart[1], release.chart[2])


def text_of(release: Extracted, far: Finder, folder: Path) -> str:
    """What helm prints of a release, asked now."""
    chart = _chart_of(release, far)
    flags: list[str | Path] = []
    for index, values in enumerate(release.values):
        file = folder / f"{release.name}-{index}.yaml"
        file.write_text(json.dumps(values))
        flags += ["--values", file]
    return helm("template", release.name, chart, "--namespace", release.namespace, *SETTINGS, *flags)


def objects_of(release: Extracted, far: Finder, folder: Path) -> list[Object]:
    """The same as objects; none has lost an annotation."""
    found = [each for each in yaml.safe_load_all(known_text_of(release, far, folder)) if each]
    for each in found:
        if each["kind"] not in CLUSTER_WIDE:
            each["metadata"].setdefault("namespace", release.namespace)
    return sorted(found, key=_place)


def _place(found: Object) -> tuple[str, ...]:
    metadata = found["metadata"]
    return found["apiVersion"], found["kind"], metadata.get("namespace", ""), metadata["name"]


def hooks(objects: Iterable[Object]) -> list[Object]:
    """Those that are hooks of Helm's."""
    return [each for each in objects if "helm.sh/hook" in (each["metadata"].get("annotations") or {})]


def others(objects: Iterable[Object]) -> list[Object]:
    """Those that are not: what a deployer compares with the cluster."""
    return [each for each in objects if "helm.sh/hook" not in (each["metadata"].get("annotations") or {})]
