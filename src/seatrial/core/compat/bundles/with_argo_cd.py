"""The files for Argo CD: an Application each, and one that has them all; or a chart that renders them.

    argocd         app-of-apps.yaml, NNN-RELEASE/application.yaml, NNN-RELEASE/repository.yaml for a registry
    argocd-helm    Chart.yaml, values.yaml, values.schema.json, templates/NNN-RELEASE.yaml

Law of this file: nothing is right because of a wave. Applications wait for each other only where Argo CD was told how
healthy one is; the hook waits by itself. No annotation of Argo CD's own hooks anywhere: with one, it ignores Helm's.
Tests: tests/core/compat/test_bundles.py, tests/bundles
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from seatrial.core.compat.bundles.values import CHART, VALUES, Asked, Document, File, Release, Stack, Text

NAMESPACE: Final = "argocd"
NAME: Final = "seatrial-stack"
ROOT: Final = "app-of-apps.yaml"
HERE: Final = "https://kubernetes.default.svc"
WAVE: Final = "argocd.argoproj.io/sync-wave"
RETRY: Final = {"limit": 3, "backoff": {"duration": "1m", "factor": 2, "maxDuration": "10m"}}


def files(stack: Stack, asked: Asked) -> Iterator[File]:
    """An Application each, and one above them, which is applied by hand once."""
    git = _Git(url=asked.repository, revision=asked.revision, path=asked.path)
    for release in stack.releases:
        yield Document(path=f"{release.folder}/application.yaml", objects=(_application(release, git),))
        if _is_first_of_registry(release, stack):
            yield Document(path=f"{release.folder}/repository.yaml", objects=(_registry(release),))
    yield Document(path=ROOT, objects=(_root(git),), comment=("Apply this one; it brings the others.",))


def chart_files(stack: Stack, asked: Asked) -> Iterator[File]:
    """The same Applications from a chart, whose values say where the bundle is."""
    for release in stack.releases:
        git = _Templated()
        made = [
            _application(release, git),
            *([_registry(release, git)] if _is_first_of_registry(release, stack) else []),
        ]
        yield Document(path=f"templates/{release.folder}.yaml", objects=tuple(made), templates=dict(git.templates))
    yield Document(path="Chart.yaml", objects=({**_CHART, "appVersion": _version_of(stack)},))
    values = {
        "repoURL": asked.repository,
        "targetRevision": asked.revision,
        "path": asked.path,
        "project": "default",
        "namespace": NAMESPACE,
        "server": HERE,
        "overrides": {each.name: {} for each in stack.releases},
    }
    said = ("repoURL, targetRevision, path: where this bundle is, in Git.", "overrides: values on top, by release.")
    yield Document(path="values.yaml", objects=(values,), comment=said)
    yield Text(path="values.schema.json", text=json.dumps(_schema(stack), indent=2) + "\n")
    yield Text(path=".helmignore", text="[0-9][0-9][0-9]-*/\n")


_CHART: Final = {
    "apiVersion": "v2",
    "name": NAME,
    "description": "The Applications of a GPU stack, as `seatrial bundle` wrote them.",
    "type": "application",
    "version": "0.1.0",
}


def _version_of(stack: Stack) -> str:
    return ", ".join(f"{each.name} {each.chart.version}" for each in stack.releases)


def _schema(stack: Stack) -> dict[str, Any]:
    text = {"type": "string"}
    named = {"type": "string", "minLength": 1}
    overrides = {each.name: {"type": "object"} for each in stack.releases}
    return {
        "$schema": "https://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        "required": ["repoURL", "targetRevision"],
        "properties": {
            "global": {"type": "object"},
            "repoURL": named,
            "targetRevision": named,
            "path": text,
            "project": named,
            "namespace": named,
            "server": named,
            "overrides": {"type": "object", "additionalProperties": False, "properties": overrides},
        },
    }


# ── where the bundle is ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Git:
    """The words of an Application that somebody knows now."""

    url: str
    revision: str
    path: str
    project: str = "default"
    namespace: str = NAMESPACE
    server: str = HERE

    def below(self, path: str, before: str = "") -> str:
        return before + "/".join(each for each in (self.path, path) if each)

    def overrides(self, _release: str) -> dict[str, str]:
        return {}


@dataclass(slots=True)
class _Templated:
    """The same words as templates of Helm's; each stands for one until the text is written."""

    templates: dict[str, str] = field(default_factory=dict)

    def _word(self, template: str) -> str:
        word = f"TEMPLATE-{len(self.templates)}-"
        self.templates[word] = template
        return word

    @property
    def url(self) -> str:
        return self._word("{{ .Values.repoURL | quote }}")

    @property
    def revision(self) -> str:
        return self._word("{{ .Values.targetRevision | quote }}")

    @property
    def project(self) -> str:
        return self._word("{{ .Values.project | quote }}")

    @property
    def namespace(self) -> str:
        return self._word("{{ .Values.namespace | quote }}")

    @property
    def server(self) -> str:
        return self._word("{{ .Values.server | quote }}")

    def below(self, path: str, before: str = "") -> str:
        folder = '{{ with .Values.path }}{{ trimSuffix "/" . }}/{{ end }}'
        return self._word(f'"{before}{folder}{path}"')

    def overrides(self, release: str) -> dict[str, str]:
        # JSON is YAML, and JSON of that a text of YAML's, whatever is in it.
        return {"values": self._word(f'{{{{ index .Values.overrides "{release}" | default dict | toJson | toJson }}}}')}


# ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _application(release: Release, git: _Git | _Templated) -> dict[str, Any]:
    respected = ["RespectIgnoreDifferences=true"] if release.ignored else []
    ignored = [dict(each) for each in (*release.ignored, *release.filled)]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": release.name,
            "namespace": git.namespace,
            "annotations": {WAVE: str(release.number)},
        },
        "spec": {
            "project": git.project,
            "destination": {"server": git.server, "namespace": release.namespace},
            **_sources(release, git),
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": ["CreateNamespace=true", "ServerSideApply=true", *respected],
                "retry": RETRY,
            },
            **({"ignoreDifferences": ignored} if ignored else {}),
        },
    }


def _sources(release: Release, git: _Git | _Templated) -> dict[str, Any]:
    chart = release.chart
    if chart.is_local:
        # One source: with several, some versions of Argo CD leave hooks out.
        helm = {"releaseName": release.name, "valueFiles": [f"../{VALUES}"], **git.overrides(release.name)}
        path = git.below(f"{release.folder}/{CHART}")
        return {"source": {"repoURL": git.url, "targetRevision": git.revision, "path": path, "helm": helm}}
    file = git.below(f"{release.folder}/{VALUES}", "$values/")
    return {
        "sources": [
            {
                "repoURL": _host(release),
                "chart": chart.name,
                "targetRevision": chart.version,
                "helm": {"releaseName": release.name, "valueFiles": [file], **git.overrides(release.name)},
            },
            {"repoURL": git.url, "targetRevision": git.revision, "ref": "values"},
        ]
    }


def _host(release: Release) -> str:
    """Argo CD knows a registry by its name alone."""
    return release.chart.repository.removeprefix("oci://")


def _is_first_of_registry(release: Release, stack: Stack) -> bool:
    """Whether it is the one with which a registry is made known: Argo CD wants each of them once."""
    chart = release.chart
    return chart.is_oci and release == next(
        each for each in stack.releases if each.chart.repository == chart.repository
    )


def _registry(release: Release, git: _Templated | None = None) -> dict[str, Any]:
    """That there is a registry, and no index: without it Argo CD looks for one. There is nothing secret in it."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{release.name}-charts",
            "namespace": git.namespace if git is not None else NAMESPACE,
            "labels": {"argocd.argoproj.io/secret-type": "repository"},
            "annotations": {WAVE: "0"},
        },
        "stringData": {"name": f"{release.name}-charts", "url": _host(release), "type": "helm", "enableOCI": "true"},
    }


def _root(git: _Git) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "project": "default",
            "destination": {"server": HERE, "namespace": NAMESPACE},
            "source": {
                "repoURL": git.url,
                "targetRevision": git.revision,
                "path": git.path or ".",
                "directory": {"recurse": True, "include": "{*/application.yaml,*/repository.yaml}"},
            },
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}, "retry": RETRY},
        },
    }
