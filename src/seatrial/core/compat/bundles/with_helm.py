"""The files for helm alone: a script for each release, and one that runs them in order.

    deploy.sh                      runs the scripts below, one after the other
    NNN-RELEASE/install.sh         helm upgrade --install, with values.yaml beside it

Law of this file: no script restarts anything, asks nodes or tries again: what has to happen after a release, the hook
does, in the cluster, with every deployer. Tests: tests/core/compat/test_bundles.py, tests/bundles
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.bundles.values import CHART, VALUES, Chart, File, Release, Stack, Text

DEPLOY: Final = "deploy.sh"
INSTALL: Final = "install.sh"


def files(stack: Stack) -> Iterator[File]:
    """What this deployer needs besides the values."""
    for release in stack.releases:
        yield Text(path=f"{release.folder}/{INSTALL}", text=_install(release), is_executable=True)
    yield Text(path=DEPLOY, text=_deploy(stack), is_executable=True)


def _deploy(stack: Stack) -> str:
    steps = "".join(f'"$here/{each.folder}/{INSTALL}"\n' for each in stack.releases)
    return (
        "#!/bin/sh\n"
        "# Installs or upgrades every release, in order; stops at the first that fails. Run it again at any time.\n"
        "# Which cluster is said as to any helm: KUBECONFIG, HELM_KUBECONTEXT.\n"
        "set -eu\n"
        'here="$(cd "$(dirname "$0")" && pwd)"\n'
        f"{steps}"
    )


def _install(release: Release) -> str:
    name, namespace = release.name, release.namespace
    flags = [
        *_where(release.chart),
        f"--namespace {namespace} --create-namespace",
        f"--values {VALUES}",
        # --atomic would take half-migrated drivers back when the hook fails.
        f"--wait --timeout {release.timeout_seconds}s",
        *(["--disable-openapi-validation"] if release.skips_validation else []),
    ]
    lines = [f"helm upgrade --install {name} {_reference(release.chart)}", *flags]
    call = " \\\n  ".join(lines)
    return (
        "#!/bin/sh\n"
        f"# {_said(release.chart)}\n"
        "set -eu\n"
        'cd "$(dirname "$0")"\n'
        f"# A helm that was killed leaves its release pending, and every later one is refused.\n"
        f"if [ -n \"$(helm list --namespace {namespace} --filter '^{name}$' --pending --short)\" ]; then\n"
        f'  echo "{name}: an earlier helm was stopped half-way. See helm history {name} -n {namespace}, then" >&2\n'
        f'  echo "helm rollback {name} -n {namespace} (helm uninstall, if it was the first), and run this again" >&2\n'
        "  exit 1\n"
        "fi\n"
        f"{call}\n"
    )


def _reference(chart: Chart) -> str:
    if chart.is_local:
        return f"./{CHART}"
    return f"{chart.repository}/{chart.name}" if chart.is_oci else chart.name


def _where(chart: Chart) -> list[str]:
    if chart.is_local:
        return []
    at = [] if chart.is_oci else [f"--repo {chart.repository}"]
    return [*at, f"--version {chart.version}"]


def _said(chart: Chart) -> str:
    return f"The chart {chart.name} {chart.version}, {'beside this file' if chart.is_local else chart.repository}."
