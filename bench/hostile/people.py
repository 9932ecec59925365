"""Who writes, with which rights: ServiceAccounts with real tokens and the RBAC that such people have.

Author and approver have the roles and the admission policies of the shipped manifests; the kubelet has what Kubernetes
gives `system:node`, as far as it is about what we watch; a tenant has what `edit` gives in one namespace, with the
kinds of engines that are installed for tenants. Tests: bench/hostile
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from bench.hostile import kinds
from bench.hostile.kinds import OPERATOR, TENANT, Account
from bench.hostile.rules import Object

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.torture.moved import PREFIX

SHIPPED: Final = Path(__file__).parents[2] / "deploy" / "seatrial.yaml"
PEOPLE: Final = "people"
WRITE: Final = ("create", "update", "patch", "delete")
READ: Final = ("get", "list", "watch")


def _rule(group: str, resources: Sequence[str], *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


_TENANTS: Final = [
    _rule("", ["pods"], *WRITE, *READ),
    _rule("batch", ["jobs"], *WRITE, *READ),
    _rule("apps", ["deployments"], *WRITE, *READ),
    _rule("policy", ["poddisruptionbudgets"], *WRITE, *READ),
    _rule("resource.k8s.io", ["resourceclaims"], *WRITE, *READ),
    *(_rule(group, [plural], *WRITE, *READ) for group, _, plural, _, _ in kinds.SERVED_HERE[:7]),
]
_KUBELETS: Final = [
    _rule("", ["nodes"], *WRITE, *READ),
    _rule("", ["nodes/status", "pods/status"], "patch", "update"),
    _rule("", ["pods"], "create", "delete", *READ),
    _rule("", ["events"], "create", "patch", "update"),
    _rule("resource.k8s.io", ["resourceslices"], *WRITE, *READ),
]
_NEIGHBOURS: Final = [
    _rule("nvidia.com", ["*"], *WRITE, *READ),
    *(_rule(group, [plural], *WRITE, *READ) for group, _, plural, _, _ in kinds.SERVED_HERE[7:]),
]
_APPS: Final = [_rule("apps", ["daemonsets", "controllerrevisions"], *WRITE, *READ)]


def shipped(kind: str, name: str) -> Object:
    """An object of the manifests that we ship."""
    found = yaml.safe_load_all(SHIPPED.read_text(encoding="utf-8"))
    (made,) = (each for each in found if each and each["kind"] == kind and each["metadata"]["name"] == name)
    return dict(made)


def _shipped_rules(name: str) -> list[Object]:
    return list(shipped("ClusterRole", name)["rules"])


def settle(plane: ControlPlane) -> dict[Account, Path]:
    """Make everybody, and everything that they may write to: a kubeconfig for each."""
    plane.define(kinds.definitions())
    names = (TENANT, PEOPLE, OPERATOR, keys.NETWORK_NAMESPACE, dra.NAMESPACE)
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names])
    _admission(plane)
    rights: Mapping[Account, tuple[Sequence[Object], Mapping[str, Sequence[Object]]]] = {
        Account.TENANT: ((), {TENANT: _TENANTS}),
        Account.AUTHOR: (_shipped_rules("seatrial-author"), {}),
        Account.APPROVER: (_shipped_rules("seatrial-approver"), {}),
        Account.KUBELET: (_KUBELETS, {}),
        Account.NEIGHBOUR: (
            _NEIGHBOURS,
            dict.fromkeys((OPERATOR, keys.NETWORK_NAMESPACE, dra.NAMESPACE), _APPS)
            | {keys.HOME: [_rule("", ["pods"], *WRITE, *READ), _rule("batch", ["jobs"], *WRITE, *READ)]},
        ),
    }
    _let_the_controller_see_all(plane)
    return {
        account: plane.service_account(PEOPLE, account.value, cluster_rules=cluster, namespaced_rules=inside)
        for account, (cluster, inside) in rights.items()
    }


def _admission(plane: ControlPlane) -> None:
    """The admission policies as shipped, but for the name of the controller's account, which is another one here."""
    for name in ("seatrial-approver", "seatrial-word"):
        objects = [shipped(f"ValidatingAdmissionPolicy{part}", name) for part in ("", "Binding")]
        ours = f"system:serviceaccount:{keys.HOME}:{PREFIX}"
        text = json.dumps(objects).replace(f"system:serviceaccount:{keys.HOME}:seatrial-controller", ours)
        plane.apply(json.loads(text))


def _let_the_controller_see_all(plane: ControlPlane) -> None:
    """Rights for every feature, so that every row is watched."""
    controller_process.identity(plane, PREFIX, has_campaigns=True, has_network=True, has_olm=True, has_releases=True)
    controller_process.let_ask(plane, PREFIX, TENANT)
    plane.service_account(
        PEOPLE, "kueue", cluster_rules=[_rule("kueue.x-k8s.io", ["workloads"], "get", "list", "watch", "patch")]
    )
    binding = plane.get("clusterrolebinding", f"{PEOPLE}-kueue")
    subject = {"kind": "ServiceAccount", "name": PREFIX, "namespace": keys.HOME}
    body: dict[str, Any] = {"subjects": [subject]}
    plane.kubectl("patch", "clusterrolebinding", binding["metadata"]["name"], "--type=merge", "-p", json.dumps(body))


def openers() -> list[Object]:
    """Rollouts over no node that have the controller watch what only some features need."""
    asked: dict[str, Object] = {
        "attrition": {"canary": {}, "attrition": {}, "limits": {"maxIdleGPUs": "10%"}, "gates": []},
        "network": {"target": {"mofed": "25.04-0.6.0.0-0"}, "canary": {}, "gates": []},
        "dra": {"target": {"dra_driver": "25.12.0"}, "canary": {}, "gates": []},
        "release": {"target": {"gpu_operator": "v25.10.0"}, "canary": {}, "gates": [], "publish": {"oneWay": True}},
    }
    return [
        {
            "apiVersion": keys.API_VERSION,
            "kind": "GPURollout",
            "metadata": {"name": f"{kinds.MARK}opens-{name}"},
            "spec": {"nodeSelector": {"example.org/none": "true"}, "approvals": {"manual": ["canary"]}}
            | {**spec, "target": {"driver": "580.105.08", **spec.get("target", {})}},
        }
        for name, spec in asked.items()
    ]
