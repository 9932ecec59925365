"""The files for Flux: its sources, a HelmRelease each, and the kustomization that puts values into ConfigMaps.

    kustomization.yaml               all of it; a ConfigMap is named after its content, so new values are seen at once
    sources/*.yaml                   where charts come from
    NNN-RELEASE/helmrelease.yaml

Law of this file: nobody takes a GPU stack back by himself, and only a commit that changes a release is an upgrade of
it. So nothing is retried (a retry rolls back first), and charts in Git are looked at by their version: by revision
every commit of the repository would upgrade, and run the hook. Tests: tests/core/compat/test_bundles.py, tests/bundles
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from seatrial.core.compat.bundles.stack import DRA_HOME, NGC
from seatrial.core.compat.bundles.values import CHART, VALUES, Asked, Chart, Document, File, Release, Stack

NAMESPACE: Final = "flux-system"
REPOSITORY: Final = "seatrial-bundle"
KUSTOMIZATION: Final = "kustomization.yaml"
REFERENCES: Final = "kustomizeconfig.yaml"
_SOURCES: Final = "source.toolkit.fluxcd.io/v1"
_NOTHING_TAKEN_BACK: Final = {"retries": 0, "remediateLastFailure": False}


def files(stack: Stack, asked: Asked) -> Iterator[File]:
    """What this deployer needs besides the values."""
    sources = {_source_of(each.chart): _source(each.chart, asked) for each in stack.releases}
    for name, found in sorted(sources.items()):
        yield Document(path=f"sources/{name}.yaml", objects=(found,))
    for release in stack.releases:
        yield Document(path=f"{release.folder}/helmrelease.yaml", objects=(_helm_release(release, asked),))
    yield Document(path=REFERENCES, objects=(_REFERENCES,), comment=("HelmReleases name ConfigMaps as generated.",))
    yield Document(path=KUSTOMIZATION, objects=(_kustomization(stack, sorted(sources)),))


_REFERENCES: Final = {
    "nameReference": [
        {"kind": "ConfigMap", "version": "v1", "fieldSpecs": [{"path": "spec/valuesFrom/name", "kind": "HelmRelease"}]}
    ]
}


def _kustomization(stack: Stack, sources: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": NAMESPACE,
        "resources": [
            *(f"sources/{name}.yaml" for name in sources),
            *(f"{each.folder}/helmrelease.yaml" for each in stack.releases),
        ],
        "configMapGenerator": [
            {"name": _values_of(each), "files": [f"{VALUES}={each.folder}/{VALUES}"]} for each in stack.releases
        ],
        "configurations": [REFERENCES],
    }


def _values_of(release: Release) -> str:
    return f"{release.name}-values"


def _source_of(chart: Chart) -> str:
    if chart.is_local:
        return REPOSITORY
    return {NGC: "nvidia", DRA_HOME: "dra-driver-nvidia"}.get(chart.repository, "charts")


def _source(chart: Chart, asked: Asked) -> dict[str, Any]:
    metadata = {"name": _source_of(chart), "namespace": NAMESPACE}
    if chart.is_local:
        spec: dict[str, Any] = {"interval": "5m", "url": asked.repository, "ref": {"branch": asked.revision}}
        if asked.repository_secret:
            spec["secretRef"] = {"name": asked.repository_secret}
        return {"apiVersion": _SOURCES, "kind": "GitRepository", "metadata": metadata, "spec": spec}
    spec = {"interval": "1h", "url": chart.repository, **({"type": "oci"} if chart.is_oci else {})}
    return {"apiVersion": _SOURCES, "kind": "HelmRepository", "metadata": metadata, "spec": spec}


def _helm_release(release: Release, asked: Asked) -> dict[str, Any]:
    definitions = {"crds": "CreateReplace"} if release.leaves_definitions else {}
    unchecked = {"disableOpenAPIValidation": True} if release.skips_validation else {}
    spec: dict[str, Any] = {
        "interval": "10m",
        # Without them the release would be called after its namespace, and helm would not find it there.
        "releaseName": release.name,
        "targetNamespace": release.namespace,
        "storageNamespace": release.namespace,
        "timeout": f"{release.timeout_seconds}s",
        **({"dependsOn": [{"name": name} for name in release.after]} if release.after else {}),
        "chart": {"spec": _chart(release, asked)},
        "install": {"createNamespace": True, **definitions, **unchecked, "remediation": dict(_NOTHING_TAKEN_BACK)},
        "upgrade": {**definitions, **unchecked, "remediation": dict(_NOTHING_TAKEN_BACK)},
        "valuesFrom": [{"kind": "ConfigMap", "name": _values_of(release), "valuesKey": VALUES}],
    }
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": release.name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _chart(release: Release, asked: Asked) -> dict[str, Any]:
    chart = release.chart
    source = {"kind": "GitRepository" if chart.is_local else "HelmRepository", "name": _source_of(chart)}
    if not chart.is_local:
        return {"chart": chart.name, "version": chart.version, "interval": "1h", "sourceRef": source}
    path = "/".join(each for each in (asked.path, release.folder, CHART) if each)
    return {"chart": f"./{path}", "interval": "5m", "reconcileStrategy": "ChartVersion", "sourceRef": source}
