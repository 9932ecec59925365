"""The parity test finds what it is there for: each change of one deployer's files makes it fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bundles.conftest import Write
from tests.bundles.parity import PATH, assert_parity
from tests.bundles.rendering import Finder

HOOK = "004-gpu-operator-post"


class Mutation(NamedTuple):
    """One change of one file, and what the test says then."""

    deployer: str
    file: str
    change: Callable[[str], str]
    says: str


def put(old: str, new: str) -> Callable[[str], str]:
    """Another text in the place of one that has to be there."""

    def change(text: str) -> str:
        assert old in text, text
        return text.replace(old, new)

    return change


def without(pattern: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert re.search(pattern, text), text
        return re.sub(pattern, "", text)

    return change


MUTATIONS = {
    "no hook": Mutation(
        "flux", f"{HOOK}/chart/templates/_helpers.tpl", without(r"    helm\.sh/hook: .*\n"), "is no hook"
    ),
    "another weight": Mutation(
        "argocd", f"{HOOK}/chart/templates/_helpers.tpl", put('hook-weight: "10"', 'hook-weight: "1"'), "is no hook"
    ),
    "no object that changes with the target": Mutation(
        "argocd", f"{HOOK}/chart/templates/target.yaml", lambda _: "", "nothing but the hook"
    ),
    "hooks disabled": Mutation(
        "flux", f"{HOOK}/helmrelease.yaml", put("  upgrade:\n", "  upgrade:\n    disableHooks: true\n"), "runs no hooks"
    ),
    "hooks at once": Mutation(
        "flux",
        "002-gpu-operator/helmrelease.yaml",
        put("  upgrade:\n", "  upgrade:\n    disableWait: true\n"),
        "no hooks",
    ),
    "no hooks by helm": Mutation("helm", f"{HOOK}/install.sh", put("--wait", "--wait --no-hooks"), "runs no hooks"),
    "taken back by helm": Mutation("helm", f"{HOOK}/install.sh", put("--wait", "--wait --atomic"), "taken back"),
    "taken back by Flux": Mutation(
        "flux", "002-gpu-operator/helmrelease.yaml", put("retries: 0", "retries: 3"), "back"
    ),
    "taken back by helmfile": Mutation("helmfile", "helmfile.yaml", put("atomic: false", "atomic: true"), "taken back"),
    "too little time, helm": Mutation("helm", f"{HOOK}/install.sh", put("3900s", "300s"), "given up"),
    "too little time, helmfile": Mutation("helmfile", "helmfile.yaml", put("3900", "3610"), "given up"),
    "too little time, Flux": Mutation("flux", f"{HOOK}/helmrelease.yaml", put("3900s", "300s"), "given up"),
    "a longer deadline": Mutation(
        "helm", f"{HOOK}/values.yaml", put("deadlineSeconds: 3600", "deadlineSeconds: 7200"), "given up"
    ),
    "out of order, helm": Mutation(
        "helm",
        "deploy.sh",
        lambda text: "\n".join(sorted(text.splitlines(), key=lambda line: "003-" in line)) + "\n",
        "does not wait for both",
    ),
    "out of order, helmfile": Mutation(
        "helmfile", "helmfile.yaml", without(r"      - nvidia-dra-driver-gpu/.*\n"), "does not wait for both"
    ),
    "out of order, Flux": Mutation(
        "flux", f"{HOOK}/helmrelease.yaml", without(r"    - name: nvidia-dra-driver-gpu\n"), "does not wait for both"
    ),
    "out of order, Argo CD": Mutation(
        "argocd", f"{HOOK}/application.yaml", put('sync-wave: "4"', 'sync-wave: "3"'), "does not wait for both"
    ),
    "out of order, Argo CD by a chart": Mutation(
        "argocd-helm", "templates/002-gpu-operator.yaml", put('sync-wave: "2"', 'sync-wave: "5"'), "does not wait"
    ),
    "only what differs": Mutation(
        "argocd", f"{HOOK}/application.yaml", put("CreateNamespace=true", "ApplyOutOfSyncOnly=true"), "runs no hooks"
    ),
    "a hook of Argo CD's": Mutation(
        "argocd",
        f"{HOOK}/chart/templates/target.yaml",
        put("  labels:\n", "  annotations: {argocd.argoproj.io/hook: Sync}\n  labels:\n"),
        "hook of Argo CD's",
    ),
    "another driver": Mutation("flux", "002-gpu-operator/values.yaml", put("580.105.08", "580.126.20"), "differently"),
    "another namespace": Mutation(
        "helmfile", "helmfile.yaml", put("namespace: nvidia-dra-driver-gpu", "namespace: dra"), "differently"
    ),
    "another operator": Mutation(
        "argocd", "002-gpu-operator/application.yaml", put("v25.3.2", "v25.3.4"), "differently"
    ),
    "another value on top": Mutation(
        "argocd-helm", "values.yaml", put("gpu-operator: {}", "gpu-operator: {driver: {version: x}}"), "differently"
    ),
    "a release less": Mutation(
        "flux", "kustomization.yaml", without(r'  - "?001-network-operator/helmrelease.yaml"?\n'), "network-operator"
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_of_one_deployers_files_is_found(
    name: str, write: Write, far_stand_ins: Finder, tmp_path: Path
) -> None:
    mutation = MUTATIONS[name]
    roots = write(only=("helm" if mutation.deployer != "helm" else "argocd", mutation.deployer))
    assert_parity(roots, far_stand_ins, tmp_path)
    file = roots[mutation.deployer] / PATH / mutation.file
    before = file.read_text()
    file.write_text(mutation.change(before))
    assert file.read_text() != before
    with pytest.raises((AssertionError, KeyError), match=mutation.says):
        assert_parity(roots, far_stand_ins, tmp_path)
