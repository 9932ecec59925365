"""Which release of an operator runs, and what says which one is wanted: read, and written bound to what was seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.followers import application_item, release_item, toolkit_item
from seatrial.adapters.kube.reading.operator_items import with_releases
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.gitops_models import Application, OperatorDeployment, ToolkitObject
from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import PublishStep, Via
from seatrial.core.model.deployers import Mark
from seatrial.core.model.seen.releases import Holder, Release
from seatrial.ports import Result
from tests.adapters.kube import standin
from tests.adapters.kube.test_execute_bound import try_out
from tests.adapters.kube.versioned import Objects
from tests.builders import an_operator

GPU, NETWORK = Component.GPU_OPERATOR, Component.NETWORK_OPERATOR
CHART = {"spec": {"chart": "gpu-operator", "version": "v25.3.4", "sourceRef": {"name": "nvidia"}}}
GIT = {"repoURL": "https://git.example/values", "targetRevision": "main", "ref": "values"}
HELM = {"repoURL": "https://helm.ngc.nvidia.com/nvidia", "chart": "network-operator", "targetRevision": "25.4.0"}


def helm_release(**meta: Any) -> Holder | None:
    body = {
        "metadata": {"name": "gpu", "namespace": "nvidia", "resourceVersion": "7", **meta},
        "spec": {"chart": CHART},
    }
    return toolkit_item("HelmRelease")(msgspec.convert(body, ToolkitObject)).holder


def application(**spec: Any) -> Holder | None:
    body = {"metadata": {"name": "net", "namespace": "argocd", "resourceVersion": "7"}, "spec": spec}
    return application_item(msgspec.convert(body, Application)).holder


# ── what says which one is wanted ────────────────────────────────────────────────────────────────────────────────────


def test_a_helm_release_says_which_release_is_wanted_who_said_so_and_who_brings_it() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:chart": {"f:spec": {"f:version": {}}}}}
    found = helm_release(
        labels={"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux"},
        annotations={keys.PUBLISHED_ANNOTATION: "spring/canary"},
        managedFields=[{"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields}],
    )
    assert found == Holder(
        component=GPU,
        resource="HelmRelease/nvidia/gpu",
        version="v25.3.4",
        writer="kustomize-controller",
        resource_version="7",
        note="spring/canary",
        marks=(Mark(kind="Kustomization", name="infra", namespace="flux"),),
    )


@pytest.mark.parametrize("spec", [{"source": HELM}, {"sources": [GIT, HELM]}], ids=["one source", "several"])
def test_an_application_says_it_by_its_chart(spec: dict[str, Any]) -> None:
    found = application(**spec)
    assert found is not None
    assert (found.component, found.resource, found.version) == (NETWORK, "Application/argocd/net", "25.4.0")


def test_what_deploys_something_else_holds_no_release() -> None:
    assert application(source=GIT) is None
    assert application(source={**HELM, "chart": "prometheus"}) is None
    assert toolkit_item("Kustomization")(msgspec.convert({"spec": {"chart": CHART}}, ToolkitObject)).holder is None


def test_the_version_of_the_object_alone_is_no_news() -> None:
    def item(version: str) -> Any:
        body = {"metadata": {"name": "gpu", "resourceVersion": version}, "spec": {"chart": CHART}}
        return toolkit_item("HelmRelease")(msgspec.convert(body, ToolkitObject))

    assert item("7").tells == item("8").tells
    assert item("7").holder != item("8").holder


# ── which one runs ───────────────────────────────────────────────────────────────────────────────────────────────────

UP = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}


def deployment(status: dict[str, Any], labels: dict[str, str], notes: dict[str, str] | None = None) -> Release | None:
    meta = {
        "name": "gpu-operator",
        "namespace": "nvidia",
        "generation": 2,
        "labels": labels,
        "annotations": notes or {},
    }
    return release_item(msgspec.convert({"metadata": meta, "status": status}, OperatorDeployment)).facts


LABELS = {
    "app.kubernetes.io/name": "gpu-operator",
    "helm.sh/chart": "gpu-operator-v25.10.0",
    "app.kubernetes.io/version": "v25.10",
}
NOTES = {"meta.helm.sh/release-name": "gpu", "meta.helm.sh/release-namespace": "operators"}


def test_a_deployment_says_which_release_runs_and_what_helm_calls_it() -> None:
    found = Release(component=GPU, version="v25.10.0", name="gpu", namespace="operators", is_up=True)
    assert deployment(UP, LABELS, NOTES) == found
    without = {name: text for name, text in LABELS.items() if name != "helm.sh/chart"}
    assert deployment(UP, without) == replace(found, version="v25.10", name="", namespace="nvidia")
    assert deployment(UP, {"app.kubernetes.io/name": "prometheus"}) is None


@pytest.mark.parametrize(
    "change",
    [{"observedGeneration": 1}, {"replicas": 2}, {"updatedReplicas": 0}, {"availableReplicas": 0}],
    ids=["not looked at", "an old one runs", "not replaced", "not ready"],
)
def test_a_deployment_that_still_changes_is_not_up(change: dict[str, int]) -> None:
    found = deployment({**UP, **change}, LABELS)
    assert found is not None
    assert not found.is_up


def test_a_deployment_that_wants_no_pod_is_up_once_it_has_none() -> None:
    """The API server leaves out a count of none."""
    metadata = {"name": "gpu-operator", "namespace": "nvidia", "generation": 2, "labels": LABELS}
    body = {"metadata": metadata, "spec": {"replicas": 0}, "status": {"observedGeneration": 2}}
    found = release_item(msgspec.convert(body, OperatorDeployment)).facts
    assert found is not None
    assert found.is_up


def test_a_release_that_is_up_is_carried_beside_every_driver() -> None:
    release = Release(component=GPU, version="v25.10.0")
    up = with_releases(an_operator(), [release], [])
    assert up.carriers[0].parts == (("gpu_operator", "v25.10.0"),)
    rolling = with_releases(an_operator(), [replace(release, is_up=False)], [])
    assert (rolling.carriers[0].parts, rolling.releases) == ((), (replace(release, is_up=False),))


# ── written ──────────────────────────────────────────────────────────────────────────────────────────────────────────

PATHS = {
    "HelmRelease/nvidia/gpu": "/apis/helm.toolkit.fluxcd.io/v2/namespaces/nvidia/helmreleases/gpu",
    "Application/argocd/net": "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/net",
}


def act(resource: str, version: str, expect: str) -> Publish:
    return Publish(
        rollout="spring",
        step=PublishStep.CANARY,
        versions=((resource, version),),
        via=Via.DIRECT,
        expects=((resource, expect),),
        note="spring/canary",
    )


@pytest.fixture
def cluster(server: standin.StandIn) -> Objects:
    there = Objects()
    there.put(PATHS["HelmRelease/nvidia/gpu"], {"spec": {"chart": CHART, "interval": "5m"}})
    there.put(PATHS["Application/argocd/net"], {"spec": {"sources": [GIT, HELM], "project": "default"}})
    server.will(there.answer)
    return there


@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        (
            "HelmRelease/nvidia/gpu",
            {"chart": {"spec": {**CHART["spec"], "version": "25.10.0"}}, "interval": "5m"},
        ),
        (
            "Application/argocd/net",
            {"sources": [GIT, {**HELM, "targetRevision": "25.10.0"}], "project": "default"},
        ),
    ],
)
async def test_the_version_of_a_chart_is_written_with_our_note_and_nothing_else(
    cluster: Objects, to_server: Client, resource: str, spec: dict[str, Any]
) -> None:
    seen = cluster.get(PATHS[resource])["metadata"]["resourceVersion"]
    outcome = await try_out(to_server, act(resource, "25.10.0", seen))
    after = cluster.get(PATHS[resource])
    assert outcome.result is Result.DONE, outcome.detail
    assert after["spec"] == spec
    assert after["metadata"]["annotations"] == {keys.PUBLISHED_ANNOTATION: "spring/canary"}


async def test_an_object_that_changed_since_it_was_looked_at_is_not_written(
    cluster: Objects, to_server: Client
) -> None:
    resource = "HelmRelease/nvidia/gpu"
    before = cluster.get(PATHS[resource])["metadata"]["resourceVersion"]
    cluster.put(PATHS[resource], {"spec": {"chart": CHART, "interval": "1h"}})
    theirs = cluster.get(PATHS[resource])
    outcome = await try_out(to_server, act(resource, "v25.10.0", before))
    assert outcome.result is Result.STALE, outcome
    assert cluster.get(PATHS[resource]) == theirs


async def test_an_object_that_holds_no_release_any_more_is_a_failure(cluster: Objects, to_server: Client) -> None:
    resource = "Application/argocd/net"
    cluster.put(PATHS[resource], {"spec": {"sources": [GIT]}})
    outcome = await try_out(to_server, act(resource, "25.10.0", ""))
    assert outcome.result is Result.FAILED
    assert "should have 25.10.0, but has none" in outcome.detail
