"""The chart of the hook that restarts DRA plugins: its objects by the real helm, and what its roles grant."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.adapters.kube import objects
from tests.chart.charts import helm

CHART = Path(__file__).parents[2] / "charts" / "gpu-operator-post"
JOB = "dra-kubelet-plugin-rollout-after-driver-migration"
BACK = "dra-kubelet-plugin-rollout-after-rollback"
ACCOUNT = "dra-reroll"
DRA = "nvidia-dra-driver-gpu"
SWITCHES = (
    "mode=request",
    "require=true",
    "rbac.scope=cluster",
    "rbac.claims=true",
    f"image.digest=sha256:{'0' * 64}",
    "imagePullSecrets[0].name=pull",
    "priorityClassName=system-cluster-critical",
    "nodeSelector.pool=infra",
    "target.driver=580.126.20",
    "target.chart=gpu-operator-v26.3.1",
    "target.extra=dra-0.5.0",
)
"""Every value that adds something, or puts something in another place."""
SWITCHES_OFF = ("draReroll.enabled=false", "postInstallHooks.dra.enabled=false")
"""Either of them switches everything off."""


def flags_of(settings: Iterable[str]) -> list[str]:
    """The settings (`key=value`) as helm is told them; a version of a target is never a number."""
    return [flag for each in settings for flag in ("--set-string" if each.startswith("target.") else "--set", each)]


def rendered(*settings: str, namespace: str = objects.NAMESPACE) -> list[dict[str, Any]]:
    """Every object of the chart with these settings, hooks included."""
    text = helm("template", "post", CHART, "--namespace", namespace, "--kube-version", "1.35.0", *flags_of(settings))
    return [item for item in yaml.safe_load_all(text) if item]


class Right(NamedTuple):
    """One verb on one kind, in one namespace or everywhere."""

    verb: str
    group: str
    resource: str
    namespace: str = ""

    @property
    def anywhere(self) -> Right:
        """The same in every namespace."""
        return self._replace(namespace="")


CLAIMS = {
    Right(verb, group, resource)
    for verb in ("list", "watch")
    for group, resource in (("", "pods"), ("resource.k8s.io", "resourceclaims"))
}
"""What `rbac.claims` adds: to see who holds a claim."""


def granted(found: Iterable[dict[str, Any]], namespace: str = objects.NAMESPACE) -> set[Right]:
    """What the roles grant to the Job's account, rule by rule."""
    found = list(found)
    bound = [item for item in found if item["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    for each in bound:
        assert each["subjects"] == [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}]
    names = {
        (each["roleRef"]["kind"], each["metadata"].get("namespace", ""), each["roleRef"]["name"]) for each in bound
    }
    return {
        Right(verb, group, resource, item["metadata"].get("namespace", ""))
        for item in found
        if (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) in names
        for rule in item["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
