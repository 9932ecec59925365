"""The README of a bundle: what it brings, in which order, how its deployer brings it, and what to know then.

Law of this file: it says what is in the other files, and what the deployer does by itself; nothing is decided here.
Tests: tests/core/compat/test_bundles.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.bundles import with_argo_cd, with_flux
from seatrial.core.compat.bundles.values import DRA_RELEASE, POST_CHART, Asked, Deployer, Release, Stack, Text

README: Final = "README.md"


def readme(stack: Stack, asked: Asked) -> Text:
    """The page that people read first."""
    return Text(path=README, text="\n".join(_lines(stack, asked)).rstrip("\n") + "\n")


def _lines(stack: Stack, asked: Asked) -> Iterator[str]:
    yield f"# The GPU stack `{stack.entry}`, for {asked.deployer.value}"
    yield ""
    yield "Written by `seatrial bundle`; rewrite it instead of editing it. `seatrial bundle diff` shows what differs."
    yield ""
    yield "| | release | namespace | chart | after | time it is given |"
    yield "|---|---|---|---|---|---|"
    for each in stack.releases:
        yield _row(each)
    yield ""
    yield f"Of the entry: {', '.join(f'{name} {text}' for name, text in stack.components.items())}."
    if stack.left_out:
        yield f"Not brought by this bundle: {', '.join(stack.left_out)}."
    yield ""
    for note in stack.notes:
        yield f"- {note}"
    if stack.notes:
        yield ""
    yield "## Deploy"
    yield ""
    yield from _DEPLOY[asked.deployer](stack, asked)
    if stack.release(POST_CHART) is not None:
        yield ""
        yield "## The hook"
        yield ""
        yield from _hook(asked)


def _row(release: Release) -> str:
    where = "in this folder" if release.chart.is_local else release.chart.repository
    after = ", ".join(release.after) or "–"
    return (
        f"| {release.number} | `{release.name}` | `{release.namespace}` | {release.chart.name} "
        f"{release.chart.version}, {where} | {after} | {release.timeout_seconds} s |"
    )


def _hook(asked: Asked) -> Iterator[str]:
    yield f"`{POST_CHART}` restarts DRA plugins that outlived a driver, node by node, as each node settles. It is a"
    yield "hook of Helm: a Job that runs after the release was installed or upgraded; a second run finds nothing to do."
    yield "A reboot or a new node is no release: `seatrial dra status` shows those, or a controller handles them."
    match asked.deployer:
        case Deployer.HELM:
            yield "Each `helm upgrade` runs it; `--no-hooks` and `--atomic` do not belong here."
        case Deployer.HELMFILE:
            yield "`helmfile sync` runs it each time, `helmfile apply` when the release differs."
        case Deployer.FLUX:
            yield "It runs when the release is upgraded. To run it again:"
            yield f"`flux reconcile helmrelease {POST_CHART} --force`."
        case Deployer.ARGOCD | Deployer.ARGOCD_HELM:
            yield "Argo CD runs it after a sync, and syncs on its own when the ConfigMap `dra-reroll-target` differs."
            yield "A sync of chosen objects runs no hook, and nor does a self-heal, unless a commit came since the last"
            yield "sync: then all is synced. Argo CD 3.4.1 ran none in automatic syncs (argo-cd issue 27792)."


# ── by deployer ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_helm(_stack: Stack, _asked: Asked) -> Iterator[str]:
    yield "```console"
    yield "$ HELM_KUBECONTEXT=my-cluster ./deploy.sh"
    yield "```"
    yield ""
    yield "It installs or upgrades one release after the other and stops at the first that fails. To take the stack"
    yield "down, `helm uninstall` the releases from the last to the first."
    yield from _definitions(_stack)


def _with_helmfile(_stack: Stack, _asked: Asked) -> Iterator[str]:
    yield "```console"
    yield "$ helmfile apply"
    yield "```"
    yield ""
    yield "It needs the helm-diff plugin, and upgrades what differs, in the order of `needs`."
    yield from _definitions(_stack)


def _definitions(stack: Stack) -> Iterator[str]:
    if (dra := stack.release(DRA_RELEASE)) is not None:
        yield ""
        yield f"Helm does not upgrade the definitions of {dra.chart.name}: before an upgrade of it, apply what"
        yield "`helm show crds` prints of its chart (`kubectl apply --server-side --force-conflicts -f -`)."


def _with_flux(_stack: Stack, asked: Asked) -> Iterator[str]:
    yield "Commit this folder, then have Flux apply it:"
    yield ""
    yield "```yaml"
    yield "apiVersion: kustomize.toolkit.fluxcd.io/v1"
    yield "kind: Kustomization"
    yield f"metadata: {{name: seatrial-bundle, namespace: {with_flux.NAMESPACE}}}"
    yield "spec:"
    yield "  interval: 10m"
    yield f"  path: ./{asked.path}"
    yield "  prune: true"
    yield f"  sourceRef: {{kind: GitRepository, name: {with_flux.REPOSITORY}}}"
    yield "```"
    yield ""
    yield f"Its `GitRepository` is `sources/{with_flux.REPOSITORY}.yaml`: apply that one yourself first. Where the"
    yield "repository asks for a login, name the Secret that has it with `--repo-secret`. A release waits for those"
    yield "before it (`dependsOn`). Nothing is retried or rolled back: what failed stays as it is, and says why"
    yield "(`flux get helmreleases`)."


def _with_argo_cd(_stack: Stack, asked: Asked) -> Iterator[str]:
    yield f"Commit this folder to {asked.repository} ({asked.revision}), then:"
    yield ""
    yield "```console"
    yield f"$ kubectl apply -f {with_argo_cd.ROOT}"
    yield "```"
    yield ""
    yield from _argo_order()


def _with_argo_cd_chart(_stack: Stack, _asked: Asked) -> Iterator[str]:
    yield "Commit this folder, then have its chart make the Applications:"
    yield ""
    yield "```console"
    yield f"$ helm upgrade --install {with_argo_cd.NAME} . --namespace {with_argo_cd.NAMESPACE}"
    yield "```"
    yield ""
    yield "`values.yaml` says where the bundle is in Git, and takes values on top of those of each release."
    yield ""
    yield from _argo_order()


def _argo_order() -> Iterator[str]:
    yield "Applications come in waves. A wave waits for the one before only where Argo CD knows how healthy an"
    yield "Application is: `resource.customizations.health.argoproj.io_Application` in `argocd-cm`. Without it all"
    yield "begin at once, and the first sync of the hook is tried again until the namespace of the DRA driver is there."
    yield "Deleting an Application leaves what it brought."


_DEPLOY: Final = {
    Deployer.HELM: _with_helm,
    Deployer.HELMFILE: _with_helmfile,
    Deployer.FLUX: _with_flux,
    Deployer.ARGOCD: _with_argo_cd,
    Deployer.ARGOCD_HELM: _with_argo_cd_chart,
}
