"""The chart on a real API server: installed, upgraded and removed by the real helm, then applied without it.

`make kubernetes-oldest` runs the same on the oldest Kubernetes that the chart takes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from seatrial import __version__
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Gate
from seatrial_lab import deploy
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.chart import post
from tests.chart.charts import CHART, NAMESPACE, helm, one
from tests.chart.planes import a_rollout, charted, client_of, on

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

CRD = "gpurollouts.seatrial.dev"
GATES = "seatrial-gates"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with charted(tmp_path_factory.mktemp("charted")) as plane:
        yield plane


def test_the_server_is_the_kubernetes_that_this_run_is_about_and_the_chart_passes_the_linter_for_it(
    installed: ControlPlane,
) -> None:
    served = json.loads(installed.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    assert served == build.kubernetes().version
    helm("lint", "--strict", "--kube-version", served, CHART)


# ── the chart of the hook ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("settings", [(), *((each,) for each in post.SWITCHES), post.SWITCHES], ids=str)
def test_the_server_takes_everything_that_the_chart_of_the_hook_makes(
    installed: ControlPlane, settings: tuple[str, ...]
) -> None:
    made = post.rendered(*settings, namespace=NAMESPACE)
    found = installed.kubectl(
        *("apply", "--server-side", "--dry-run=server", "-o", "name", "-f", "-"),
        stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}),
    )
    assert len(found.split()) == len(made) >= 8, "every object, hooks included"


@pytest.mark.parametrize("settings", [(), post.SWITCHES], ids=["as it is", "everything switched on"])
def test_the_chart_of_the_hook_passes_the_linter_for_this_kubernetes(settings: tuple[str, ...]) -> None:
    helm("lint", "--strict", "--kube-version", build.kubernetes().version, post.CHART, *post.flags_of(settings))


def test_the_chart_of_the_hook_is_installed_changed_and_removed(installed: ControlPlane) -> None:
    """Without its Jobs: no node here would run them, and tests/e2e/test_hook_job.py has one. Their pods are let in."""
    on(installed, "install", "post", post.CHART, "--no-hooks")
    roles = ("get", "roles,clusterroles,configmaps,serviceaccounts", "-A", "-o", "name")
    assert installed.kubectl(*roles).count("dra-reroll") == 5
    for made in (post.rendered(namespace=NAMESPACE), post.rendered(*post.SWITCHES, namespace=NAMESPACE)):
        spec = one(made, "Job", post.JOB)["spec"]["template"]["spec"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial"}, "spec": spec}
        restricted = ("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-")
        installed.kubectl(*restricted, stdin=json.dumps(pod))
    on(installed, "upgrade", "post", post.CHART, "--no-hooks", *post.flags_of(("rbac.scope=cluster",)))
    assert installed.kubectl(*roles).count("dra-reroll") == 4, "the role of the plugins' namespace is gone"
    for off in post.SWITCHES_OFF:
        on(installed, "upgrade", "post", post.CHART, "--no-hooks", *post.flags_of((off,)))
        assert "dra-reroll" not in installed.kubectl(*roles)
    on(installed, "uninstall", "post", "--no-hooks")


# ── what people may do ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["seatrial-approver", "seatrial-word"])
def test_an_admission_policy_is_taken_and_its_expressions_fit_the_definition(
    installed: ControlPlane, name: str
) -> None:
    def typed() -> dict[str, Any] | None:
        policy = installed.get("validatingadmissionpolicy", name)
        status: dict[str, Any] = policy.get("status", {})
        return status if status.get("observedGeneration") == policy["metadata"]["generation"] else None

    status = waiting.wait_for(typed, what="the policy's types to be checked", timeout_seconds=60)
    assert not status.get("typeChecking", {}).get("expressionWarnings"), status


def test_pods_of_the_controller_are_let_into_a_restricted_namespace(installed: ControlPlane) -> None:
    deployment = installed.get("-n", NAMESPACE, "deployment", "seatrial-controller")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trial"},
        "spec": deployment["spec"]["template"]["spec"],
    }
    installed.kubectl("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))


@pytest.mark.parametrize("level", Level)
def test_pods_of_gates_are_let_in_where_the_level_is_the_one_they_ask_for(
    installed: ControlPlane, level: Level
) -> None:
    body = json.dumps(a_gate_pod(level))
    installed.kubectl("-n", GATES, "create", "--dry-run=server", "-f", "-", stdin=body)
    strict = ("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-")
    if level is Level.RESTRICTED:
        installed.kubectl(*strict, stdin=body)
        return
    with pytest.raises(errors.KubectlFailed, match='violates PodSecurity "restricted:latest"'):
        installed.kubectl(*strict, stdin=body)


def a_gate_pod(level: Level) -> dict[str, Any]:
    gate = Gate(name="train", image="registry.example.com/train:1")
    job = probes.job_of(StartProbe(rollout="spring", gate=gate, node="n1", round=1, attempt=1), "uid", level=level)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trial"},
        "spec": job["spec"]["template"]["spec"],
    }


@pytest.mark.parametrize(
    ("verb", "resource", "namespace", "may"),
    [
        ("create", "jobs.batch", GATES, True),
        ("watch", "events", GATES, True),
        ("create", "jobs.batch", NAMESPACE, False),
        ("create", "jobs.batch", "default", False),
        ("create", "pods", GATES, False),
        ("delete", "jobs.batch", GATES, True),  # gates that a rollback overtook
        ("delete", "jobs.batch", NAMESPACE, False),
        ("get", "secrets", GATES, False),
        ("get", "configmaps", GATES, False),
        ("list", "events", NAMESPACE, False),
    ],
)
def test_jobs_are_made_in_the_namespace_of_gates_and_nowhere_else(
    installed: ControlPlane, verb: str, resource: str, namespace: str, may: bool
) -> None:
    who = f"--as=system:serviceaccount:{NAMESPACE}:seatrial-controller"
    ask = ("auth", "can-i", verb, resource, "-n", namespace, who)
    if may:
        assert installed.kubectl(*ask).strip() == "yes"
        return
    with pytest.raises(errors.KubectlFailed):
        installed.kubectl(*ask)


@pytest.mark.parametrize(
    ("named", "unseen"),
    [
        ({"canary": {}}, set()),
        ({"canary": {"pausePools": ["worker"]}}, {"machineconfigpools"}),
        ({"maintenance": {"requestorID": "seatrial.dev"}}, {"nodemaintenances"}),
    ],
    ids=["neither", "pools", "maintenance"],
)
def test_a_right_that_is_switched_off_is_missed_by_rollouts_that_name_it_and_by_no_other(
    installed: ControlPlane, named: dict[str, Any], unseen: set[str]
) -> None:
    asked = a_rollout("switched")
    asked["spec"] = {"target": {"driver": "580.105.08"}, **named}
    installed.kubectl("create", "-f", "-", stdin=json.dumps(asked))
    made = client_of(installed, f"{NAMESPACE}/seatrial-controller")

    async def missed() -> set[str]:
        faults: list[str] = []
        async with made as client:
            observing = KubeObserver(
                client,
                namespace="gpu-operator",
                rollout="switched",
                home=GATES,
                on_fault=faults.append,
                source=lambda: None,
            )
            async with observing as observer:
                await observer.wait_synced(30)
                async with asyncio.timeout(30):
                    while (sight := observer.observe()) is None or {
                        each.source for each in sight.seen.freshness if not each.is_synced
                    } != unseen:
                        await observer.wait(time.time() + 0.1)
                return {each.source for each in sight.seen.freshness if not each.is_synced}

    try:
        assert asyncio.run(missed()) == unseen
    finally:
        installed.kubectl("delete", "gpurollout", "switched")


WORD = {
    "gate": "signed",
    "verdict": "pass",
    "because": "the nightly ran",
    "by": "system:serviceaccount:people:ann",
    "at": "2026-03-27T15:30:00Z",
    "until": "2026-03-28T15:30:00Z",
}


GONE = {"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
SAID = {"what": "paused it", "by": "system:serviceaccount:people:ann", "at": "2026-03-27T15:30:00Z"}


class Approver:
    """Somebody bound to seatrial-approver alone."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        plane.kubectl("-n", "people", "create", "serviceaccount", "ann")
        plane.kubectl(
            "create", "clusterrolebinding", "ann", "--clusterrole=seatrial-approver", "--serviceaccount=people:ann"
        )

    def patch(self, body: dict[str, Any], name: str = "spring") -> str:
        return self._do("patch", "gpurollout", name, "--type=merge", "-p", json.dumps(body))

    def delete(self, name: str = "spring") -> str:
        return self._do("delete", "gpurollout", name)

    def _do(self, *arguments: str) -> str:
        return self._plane.kubectl(*arguments, "--as=system:serviceaccount:people:ann")


@pytest.fixture(scope="module")
def approver(installed: ControlPlane) -> Approver:
    installed.kubectl("create", "-f", "-", stdin=json.dumps(a_rollout()))
    return Approver(installed)


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"approvals": {"approved": ["waves"]}, "said": [SAID | {"what": "approved waves"}]}},
        {"spec": {"paused": True}},
        {"spec": {"paused": False, "said": [SAID | {"what": "resumed it"}]}},
        {"spec": {"approvals": {"attested": [WORD]}}},
        {"spec": {"paused": True, "said": [SAID]}},
    ],
    ids=["approve", "pause", "resume", "attest", "sign"],
)
def test_an_approver_may(approver: Approver, body: dict[str, Any]) -> None:
    approver.patch(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"spec": {"mode": "direct"}}, "this changes spec.mode"),
        ({"spec": {"limits": {"maxFailed": 9}}}, "this changes spec.limits"),
        ({"spec": {"after": None}}, "takes a field of spec away"),
        ({"spec": {"approvals": {"manual": []}}}, "which points are to be approved is for authors to say"),
        (
            {"spec": {"approvals": {"tagWithFailures": True}}},
            "whether failed nodes need an approval is for authors to say",
        ),
        (
            {"spec": {"approvals": {"attested": [WORD, WORD | {"by": "bob"}]}}},
            "by has to be system:serviceaccount:people:ann",
        ),
        (
            {"spec": {"paused": True, "said": [SAID, SAID | {"by": "bob"}]}},
            "said in your own name: by has to be system:serviceaccount:people:ann",
        ),
        ({"metadata": {"annotations": {"seatrial.dev/x": "y"}}}, "labels and annotations are not theirs"),
        ({"metadata": {"finalizers": ["example.com/mine"]}}, "finalizers"),
        ({"metadata": {"ownerReferences": [GONE]}}, "owners are not theirs to change"),
        ({"spec": {"abort": "no"}}, "this changes spec.abort"),
        ({"spec": {"gates": []}}, "this changes spec.gates"),
    ],
    ids=[
        *(
            "mode",
            "limits",
            "after",
            "points",
            "failures",
            "in another's name",
            "signed by another",
            "annotations",
            "finalizers",
        ),
        *("an owner that is not there", "abort", "gates"),
    ],
)
def test_an_approver_may_not_change(approver: Approver, body: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.KubectlFailed, match=words):
        approver.patch(body)


def test_an_approver_may_neither_delete_nor_create(approver: Approver) -> None:
    with pytest.raises(errors.KubectlFailed, match="forbidden"):
        approver.delete()


def may(plane: ControlPlane, who: str, verb: str, what: str, *where: str) -> bool:
    try:
        plane.kubectl("auth", "can-i", verb, what, *where, f"--as=system:serviceaccount:people:{who}")
    except errors.KubectlFailed:
        return False
    return True


WRITES = ("create", "update", "patch", "delete")
HOME = ("-n", NAMESPACE)


@pytest.mark.parametrize(
    ("tier", "rollouts", "statuses", "is_administrator"),
    [
        ("viewer", (), (), False),
        ("approver", ("patch",), (), False),
        ("author", WRITES, (), False),
        ("administrator", WRITES, ("update", "patch"), True),
    ],
)
def test_each_tier_may_what_it_says_and_no_more(
    installed: ControlPlane,
    tier: str,
    rollouts: tuple[str, ...],
    statuses: tuple[str, ...],
    is_administrator: bool,
) -> None:
    installed.kubectl("-n", "people", "create", "serviceaccount", f"tier-{tier}")
    subject = f"--serviceaccount=people:tier-{tier}"
    installed.kubectl("create", "clusterrolebinding", f"tier-{tier}", f"--clusterrole=seatrial-{tier}", subject)
    if is_administrator:
        installed.kubectl(*HOME, "create", "rolebinding", tier, "--role=seatrial-administrator", subject)
    ask = partial(may, installed, f"tier-{tier}")
    assert tuple(verb for verb in WRITES if ask(verb, "gpurollouts.seatrial.dev")) == rollouts
    found = tuple(verb for verb in WRITES if ask(verb, "gpurollouts.seatrial.dev", "--subresource=status"))
    assert found == statuses
    assert ask("list", "gpurollouts.seatrial.dev")
    assert ask("patch", "deployments.apps/seatrial-controller", *HOME) is is_administrator
    assert not ask("patch", "deployments.apps/seatrial-uninstall", *HOME)
    for verb, what in (("get", "secrets"), ("create", "pods"), ("create", "jobs.batch"), ("patch", "roles")):
        assert not ask(verb, what, *HOME), f"{verb} {what}"
    for verb, what in (("patch", "nodes"), ("create", "pods/eviction"), ("patch", "clusterroles")):
        assert not ask(verb, what), f"{verb} {what}"


def test_who_may_create_rollouts_may_change_them(installed: ControlPlane, approver: Approver) -> None:
    assert approver
    installed.kubectl("-n", "people", "create", "serviceaccount", "bob")
    installed.kubectl(
        "create", "clusterrolebinding", "bob", "--clusterrole=seatrial-author", "--serviceaccount=people:bob"
    )
    body = json.dumps({"spec": {"limits": {"maxFailed": 2}}})
    installed.kubectl(
        "patch", "gpurollout", "spring", "--type=merge", "-p", body, "--as=system:serviceaccount:people:bob"
    )


def test_an_upgrade_brings_the_definition_along_and_the_end_leaves_it_with_every_rollout(
    installed: ControlPlane,
) -> None:
    installed.kubectl("create", "-f", "-", stdin=json.dumps(a_rollout("kept")))
    column = '{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}'
    installed.kubectl("patch", "crd", CRD, "--type=json", "-p", f"[{column}]")
    forges = [{"kind": "gitea", "prefix": "https://git.example.com/gpu/", "secret": "forge"}]
    egress = [{"to": [{"ipBlock": {"cidr": "192.0.2.10/32"}}], "ports": [{"port": 443, "protocol": "TCP"}]}]
    said = (f"git.forges={json.dumps(forges)}", f"networkPolicy.egress={json.dumps(egress)}", "replicas=3")
    on(installed, "upgrade", "seatrial", CHART, *(flag for each in said for flag in ("--set-json", each)))
    assert installed.get("crd", CRD)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert installed.get("-n", NAMESPACE, "networkpolicy", "seatrial-egress")["spec"]["egress"][-1] == egress[0]
    assert installed.get("-n", NAMESPACE, "deployment", "seatrial-controller")["spec"]["replicas"] == 3
    on(
        installed, "uninstall", "seatrial", "--no-hooks"
    )  # no node here runs the Job; tests/e2e/test_installed.py has one
    assert installed.get("gpurollout", "kept")["spec"]["target"] == {"driver": "580.105.08"}
    left = installed.kubectl("get", "clusterroles,validatingadmissionpolicies,priorityclasses", "-o", "name")
    assert "seatrial" not in left


# ── without Helm; nothing of the release is left by now ──────────────────────────────────────────────────────────────

MANIFESTS = deploy.ROOT / deploy.MANIFESTS
WAYS = {"kustomize": ("-k", str(MANIFESTS.parent)), "plain": ("--server-side", "-f", str(MANIFESTS))}


@pytest.mark.parametrize("way", WAYS)
def test_kubectl_applies_the_same_without_helm(installed: ControlPlane, way: str) -> None:
    for name in (deploy.NAMESPACE, GATES):  # Helm does not wait for the namespace that it takes with it
        installed.kubectl("wait", "--for=delete", f"namespace/{name}", "--timeout=60s")
    installed.kubectl("apply", *WAYS[way])
    try:
        installed.kubectl("wait", "--for=condition=Established", f"crd/{CRD}", "--timeout=30s")
        objects = [each for each in yaml.safe_load_all(MANIFESTS.read_text(encoding="utf-8")) if each]
        assert len(installed.get("-f", str(MANIFESTS))["items"]) == len(objects), "every object is there"
        made = installed.get("-n", deploy.NAMESPACE, "deployment", "seatrial-controller")["spec"]
        (container,) = made["template"]["spec"]["containers"]
        assert (made["replicas"], container["image"]) == (2, f"seatrial:{__version__}")
        installed.kubectl("apply", "--dry-run=server", *WAYS[way])  # once more: nothing in it may not be applied again
    finally:
        installed.kubectl("delete", "--ignore-not-found", "-f", str(MANIFESTS), "--timeout=120s")
