"""All files of a bundle, but for the charts that are copied into it.

Law of this file: the values of a release are the same file for every deployer.
Tests: tests/core/compat/test_bundles.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from seatrial.core.compat.bundles import addresses, with_argo_cd, with_flux, with_helm, with_helmfile
from seatrial.core.compat.bundles.readme import readme
from seatrial.core.compat.bundles.values import VALUES, Asked, BundleRefused, Deployer, Document, File, Release, Stack


def files_of(stack: Stack, asked: Asked) -> tuple[File, ...]:
    """Every file, by its path in the bundle."""
    addresses.check(asked)
    if asked.deployer.reads_git and not asked.repository:
        raise BundleRefused(
            f"{asked.deployer.value} fetches the bundle from Git: say from which repository (--repo URL), and in which "
            "folder of it the bundle will be (--path DIR)."
        )
    values = (_values(each) for each in stack.releases)
    return tuple(sorted((*values, *_deployers(stack, asked), readme(stack, asked)), key=lambda each: each.path))


def _values(release: Release) -> Document:
    return Document(path=f"{release.folder}/{VALUES}", objects=(release.values,), comment=release.why)


def _deployers(stack: Stack, asked: Asked) -> Iterator[File]:
    match asked.deployer:
        case Deployer.HELM:
            return with_helm.files(stack)
        case Deployer.HELMFILE:
            return with_helmfile.files(stack)
        case Deployer.FLUX:
            return with_flux.files(stack, asked)
        case Deployer.ARGOCD:
            return with_argo_cd.files(stack, asked)
        case Deployer.ARGOCD_HELM:
            return with_argo_cd.chart_files(stack, asked)
        case _:
            assert_never(asked.deployer)
