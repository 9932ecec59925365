"""What OLM says of operators, read; and an InstallPlan, approved bound to what was seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import olm, table
from seatrial.adapters.kube.reading.followers import release_item
from seatrial.adapters.kube.reading.releases import ROWS, with_releases
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.gitops_models import Csv, InstallPlan, OperatorDeployment, Subscription
from seatrial.adapters.kube.streams.row import Where
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.releases import Release
from seatrial.core.model.seen.subscriptions import Plan
from seatrial.core.model.seen.subscriptions import Subscription as Followed
from seatrial.ports import Result
from tests.adapters.kube import standin
from tests.adapters.kube.test_execute_bound import try_out
from tests.adapters.kube.test_release_items import UP, act
from tests.adapters.kube.versioned import Objects
from tests.builders import an_operator

NOW, NEXT = "gpu-operator-certified.v25.3.4", "gpu-operator-certified.v25.10.0"
WHERE = {"namespace": "nvidia-gpu-operator"}
PLAN = Plan(resource="InstallPlan/nvidia-gpu-operator/install-a", names=(NEXT,), resource_version="9")
FOLLOWED = Followed(
    component=Component.GPU_OPERATOR,
    resource="Subscription/nvidia-gpu-operator/gpu",
    package="gpu-operator-certified",
    installed=NOW,
)


def subscription(status: dict[str, Any] | None = None, **spec: Any) -> olm.SubscriptionItem | None:
    body = {
        "metadata": {"name": "gpu", **WHERE},
        "spec": {"name": "gpu-operator-certified", "installPlanApproval": "Manual", **spec},
        "status": {"installedCSV": NOW, "installPlanRef": {"name": "install-a"}, **(status or {})},
    }
    return olm.subscription_item(msgspec.convert(body, Subscription))


def plan(names: tuple[str, ...] = (NEXT,), status: dict[str, Any] | None = None, **meta: Any) -> olm.PlanItem | None:
    body = {
        "metadata": {"name": "install-a", "resourceVersion": "9", **WHERE, **meta},
        "spec": {"clusterServiceVersionNames": names, "approved": False},
        "status": status or {"phase": "RequiresApproval"},
    }
    return olm.plan_item(msgspec.convert(body, InstallPlan))


def csv(name: str = NEXT, **status: Any) -> olm.CsvItem:
    body = {"metadata": {"name": name, **WHERE}, "status": {"phase": "Succeeded", **status}}
    found = olm.csv_item(msgspec.convert(body, Csv))
    assert found is not None
    return found


def owned(csv_name: str = NEXT, **status: Any) -> OperatorDeployment:
    labels = {"olm.owner": csv_name, "app.kubernetes.io/name": "gpu-operator"}
    meta = {"name": "gpu-operator", "generation": 2, "labels": labels, **WHERE}
    return msgspec.convert({"metadata": meta, "status": {**UP, **status}}, OperatorDeployment)


# ── read ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_subscription_says_what_it_follows_what_it_has_and_which_plan_is_its() -> None:
    found = subscription()
    assert found is not None
    assert (found.facts, found.plan) == (FOLLOWED, "install-a")
    assert subscription(name="cert-manager") is None


@pytest.mark.parametrize(("said", "is_automatic"), [("Manual", False), ("Automatic", True), ("", True)])
def test_whatever_is_not_manual_moves_by_itself(said: str, is_automatic: bool) -> None:
    found = subscription(installPlanApproval=said)
    assert found is not None
    assert found.facts.is_automatic is is_automatic


def test_an_approval_that_is_not_said_is_automatic() -> None:
    found = olm.subscription_item(msgspec.convert({"spec": {"name": "nvidia-network-operator"}}, Subscription))
    assert found is not None
    assert (found.facts.component, found.facts.is_automatic) == (Component.NETWORK_OPERATOR, True)


def test_a_plan_keeps_all_its_names_and_its_version_alone_is_no_news() -> None:
    found, other = plan(annotations={keys.PUBLISHED_ANNOTATION: "spring/canary"}), plan((NEXT, "cert-manager.v1.16.0"))
    assert found is not None
    assert found.facts == replace(PLAN, note="spring/canary")
    assert other is not None
    assert other.facts.names == (NEXT, "cert-manager.v1.16.0")
    assert plan(("cert-manager.v1.16.0",)) is None
    later = plan(resourceVersion="10")
    assert later is not None
    assert olm.plan_tells(later) == olm.plan_tells(plan() or later)
    assert later.facts != PLAN
    assert olm.plan_tells(other) != olm.plan_tells(plan() or other), "what else it installs is news"


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({"phase": "Failed", "message": "no such image"}, "no such image"),
        ({"phase": "Failed", "conditions": [{"type": "Installed", "status": "False", "message": "denied"}]}, "denied"),
        ({"phase": "Failed"}, "it says no reason"),
        ({"phase": "Complete", "message": "fine"}, ""),
    ],
)
def test_a_plan_that_failed_says_why(status: dict[str, Any], trouble: str) -> None:
    found = plan(status=status)
    assert found is not None
    assert found.facts.trouble == trouble


def test_a_subscription_is_joined_with_its_plan_and_with_what_went_wrong() -> None:
    item, waiting = subscription(), plan()
    assert item is not None
    assert waiting is not None
    assert olm.subscriptions_of([item], [waiting], []) == (replace(FOLLOWED, plan=PLAN),)
    assert olm.subscriptions_of([replace(item, plan="gone")], [waiting], []) == (FOLLOWED,)
    failed = csv(phase="Failed", message="no such image")
    (unharmed,) = olm.subscriptions_of([item], [waiting], [failed])
    assert unharmed.trouble == "", "nobody has approved it"
    approved = replace(waiting, facts=replace(PLAN, is_approved=True))
    (harmed,) = olm.subscriptions_of([item], [approved], [failed])
    assert harmed.trouble == "no such image"
    said = {"conditions": [{"type": "ResolutionFailed", "status": "True", "message": "constraints not satisfiable"}]}
    unresolved = subscription(said)
    assert unresolved is not None
    assert olm.subscriptions_of([unresolved], [], [])[0].trouble == "constraints not satisfiable"


@pytest.mark.parametrize(
    ("status", "phase", "is_up"),
    [({}, "Succeeded", True), ({}, "Installing", False), ({"updatedReplicas": 0}, "Succeeded", False)],
    ids=["up", "not succeeded", "not rolled out"],
)
def test_a_release_is_up_when_it_has_succeeded_and_its_deployment_runs_it(
    status: dict[str, Any], phase: str, is_up: bool
) -> None:
    item = olm.owned_item(owned(**status))
    assert item is not None
    (found,) = olm.releases_of([item], [csv(phase=phase)])
    wanted = Release(component=Component.GPU_OPERATOR, version="v25.10.0", namespace="nvidia-gpu-operator")
    assert found == replace(wanted, is_up=is_up)


def test_a_deployment_of_olm_is_counted_once_and_that_of_others_not_at_all() -> None:
    assert release_item(owned()).facts is None, "whatever its labels say besides"
    assert olm.owned_item(owned("cert-manager.v1.16.0")) is None


def test_subscriptions_have_a_fixed_order() -> None:
    item = subscription()
    assert item is not None
    other = replace(item, facts=replace(item.facts, resource="Subscription/a/first"))
    for items in ([item, other], [other, item]):
        assert olm.subscriptions_of(items, [], []) == (other.facts, item.facts)


def test_all_of_it_is_put_together_from_its_rows() -> None:
    items: dict[Any, list[Any]] = {row: [] for row in ROWS}
    items[table.SUBSCRIPTIONS], items[table.INSTALL_PLANS] = [subscription()], [plan()]
    items[table.CSVS], items[table.OWNED_DEPLOYMENTS] = [csv(NOW)], [olm.owned_item(owned(NOW))]
    found = with_releases(an_operator(), lambda row: items[row], Where(namespace=WHERE["namespace"], home="ours"))
    assert found.subscriptions == (replace(FOLLOWED, plan=PLAN),)
    assert [(each.version, each.is_up) for each in found.releases] == [("v25.3.4", True)]
    assert found.carriers[0].parts == (("gpu_operator", "v25.3.4"),)


# ── approved ─────────────────────────────────────────────────────────────────────────────────────────────────────────

PATH = "/apis/operators.coreos.com/v1alpha1/namespaces/nvidia-gpu-operator/installplans/install-a"
SPEC = {"approval": "Manual", "approved": False, "clusterServiceVersionNames": [NEXT]}


@pytest.fixture
def cluster(server: standin.StandIn) -> Objects:
    there = Objects()
    there.put(PATH, {"spec": SPEC})
    server.will(there.answer)
    return there


async def test_a_plan_is_approved_with_our_note_and_nothing_else(cluster: Objects, to_server: Client) -> None:
    seen = cluster.get(PATH)["metadata"]["resourceVersion"]
    outcome = await try_out(to_server, act(PLAN.resource, NEXT, seen))
    assert outcome.result is Result.DONE, outcome.detail
    assert cluster.get(PATH)["spec"] == {**SPEC, "approved": True}
    assert cluster.get(PATH)["metadata"]["annotations"] == {keys.PUBLISHED_ANNOTATION: "spring/canary"}


async def test_a_plan_that_changed_since_it_was_looked_at_is_not_approved(cluster: Objects, to_server: Client) -> None:
    before = cluster.get(PATH)["metadata"]["resourceVersion"]
    cluster.put(PATH, {"spec": {**SPEC, "source": "another"}})
    outcome = await try_out(to_server, act(PLAN.resource, NEXT, before))
    assert outcome.result is Result.STALE, outcome
    assert not cluster.get(PATH)["spec"]["approved"]


async def test_a_plan_that_changes_while_it_is_looked_at_is_not_approved(
    server: standin.StandIn, cluster: Objects, to_server: Client
) -> None:
    """The names that were read are those of one version, and the approval is bound to it."""

    async def look_away(request: web.Request) -> web.StreamResponse:
        answer = await cluster.answer(request)
        cluster.put(PATH, {"spec": {**SPEC, "clusterServiceVersionNames": [NEXT, "cert-manager.v1.16.0"]}})
        return answer

    server.will(look_away, cluster.answer)
    outcome = await try_out(to_server, act(PLAN.resource, NEXT, ""))
    assert outcome.result is Result.STALE, outcome
    assert not cluster.get(PATH)["spec"]["approved"]


async def test_a_plan_that_installs_anything_else_is_not_approved(cluster: Objects, to_server: Client) -> None:
    cluster.put(PATH, {"spec": {**SPEC, "clusterServiceVersionNames": [NEXT, "cert-manager.v1.16.0"]}})
    outcome = await try_out(to_server, act(PLAN.resource, NEXT, ""))
    assert outcome.result is Result.FAILED
    assert outcome.detail.endswith(f"installs {NEXT}, cert-manager.v1.16.0, not {NEXT}")
    assert not cluster.get(PATH)["spec"]["approved"]
