"""OLM's real definitions, and a player for what OLM itself does with them: it is not run here.

    subscribe      what stands there before: a Subscription, what it has installed, and an InstallPlan that waits
    install        what OLM does once a plan is approved: the next ClusterServiceVersion succeeds, with its Deployment

The definitions come from the Go module cache: see go/olm/go.mod. No catalog is asked, nothing is resolved and no bundle
unpacked; a Deployment wants no pod, since no node would run it. Tests: tests/e2e/test_olm.py
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from seatrial_lab.testbed.building import toolchain

if TYPE_CHECKING:
    from seatrial_lab.testbed.plane import control_plane

Object = dict[str, Any]

API_VERSION: Final = "operators.coreos.com/v1alpha1"
KINDS: Final = ("clusterserviceversions", "subscriptions", "installplans")
NAMESPACE: Final = "gpu-operator"
NAME: Final = "gpu"
"""Of the Subscription, and of the operator's Deployment."""
_FOLDER: Final = toolchain.MODULES / "olm"
_MODULE: Final = "github.com/operator-framework/api"
_AT: Final = "2026-01-20T08:00:00Z"


def definitions() -> list[Object]:
    """Return the real definitions of ClusterServiceVersion, Subscription and InstallPlan."""
    folder: Path = toolchain.module_folder(_FOLDER, _MODULE) / "crds"
    files = (folder / f"operators.coreos.com_{kind}.yaml" for kind in KINDS)
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


@contextmanager
def defined(plane: "control_plane.ControlPlane") -> Iterator[None]:
    """The kinds are there as long as this lasts; other tests rely on a cluster without them."""
    plane.define(definitions())
    try:
        yield
    finally:
        plane.kubectl("delete", "crd", *(f"{kind}.operators.coreos.com" for kind in KINDS))


# ── what stands there ────────────────────────────────────────────────────────────────────────────────────────────────


def subscription(package: str, *, namespace: str = NAMESPACE, name: str = NAME, approval: str = "Manual") -> Object:
    """Return a Subscription to a package of the certified operators."""
    source = {"source": "certified-operators", "sourceNamespace": "openshift-marketplace"}
    spec = {"name": package, "channel": "stable", "installPlanApproval": approval, **source}
    return _object("Subscription", namespace, name, spec)


def subscribed_status(installed: str, plan: str) -> Object:
    """Return what OLM says of a Subscription: what it has installed, and the plan that it made for what is next."""
    return {"installedCSV": installed, "installPlanRef": {"name": plan}, "lastUpdated": _AT}


def plan(name: str, names: Sequence[str], *, namespace: str = NAMESPACE, is_approved: bool = False) -> Object:
    """Return an InstallPlan for what is named."""
    spec = {"approval": "Manual", "approved": is_approved, "clusterServiceVersionNames": list(names)}
    return _object("InstallPlan", namespace, name, spec)


def csv(name: str, *, namespace: str = NAMESPACE) -> Object:
    """Return a ClusterServiceVersion that installs nothing but what this player makes."""
    install = {"strategy": "deployment", "spec": {"deployments": []}}
    spec = {"displayName": name, "version": name.partition(".v")[2], "install": install}
    return _object("ClusterServiceVersion", namespace, name, spec)


def deployment(owner: str, *, namespace: str = NAMESPACE) -> Object:
    """Return the operator's Deployment, as OLM makes it for a ClusterServiceVersion."""
    labels = {"olm.owner": owner, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace}
    selector = {"app": "gpu-operator"}
    pod = {"containers": [{"name": "operator", "image": f"example.invalid/operator:{owner.partition('.')[2]}"}]}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": selector}, "spec": pod},
    }
    metadata = {"name": NAME, "namespace": namespace, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _object(kind: str, namespace: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


# ── what OLM does ────────────────────────────────────────────────────────────────────────────────────────────────────


def subscribe(
    plane: "control_plane.ControlPlane",
    package: str,
    *,
    installed: str,
    offered: Sequence[str],
    approval: str = "Manual",
) -> str:
    """Have an operator installed by OLM, which offers something; return the name of the InstallPlan."""
    name = "install-next"
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    plane.apply([subscription(package, approval=approval), plan(name, offered), csv(installed), deployment(installed)])
    _say(plane, "clusterserviceversion", installed, {"phase": "Succeeded", "reason": "InstallSucceeded"})
    _say(plane, "installplan", name, {"phase": "RequiresApproval", "catalogSources": []})
    _say(plane, "subscription", NAME, subscribed_status(installed, name))
    return name


def install(plane: "control_plane.ControlPlane", name: str, *, before: str) -> None:
    """Install what an approved InstallPlan names, in the order in which OLM does."""
    (after,) = plane.get("installplan", name, "-n", NAMESPACE)["spec"]["clusterServiceVersionNames"]
    _say(plane, "installplan", name, {"phase": "Installing", "catalogSources": []})
    plane.apply([csv(after)])
    _say(plane, "clusterserviceversion", after, {"phase": "Installing", "reason": "InstallWaiting"})
    _say(plane, "installplan", name, {"phase": "Complete", "catalogSources": []})
    _say(plane, "subscription", NAME, subscribed_status(after, name))
    plane.apply([deployment(after)])
    _say(plane, "clusterserviceversion", after, {"phase": "Succeeded", "reason": "InstallSucceeded"})
    plane.kubectl("delete", "clusterserviceversion", before, "-n", NAMESPACE)


def unsubscribe(plane: "control_plane.ControlPlane") -> None:
    """Take everything away."""
    plane.kubectl("delete", ",".join(KINDS), "--all", "-n", NAMESPACE, "--ignore-not-found")
    plane.kubectl("delete", "deployments", "-l", "olm.owner", "-n", NAMESPACE, "--ignore-not-found")


def _say(plane: "control_plane.ControlPlane", kind: str, name: str, status: Object) -> None:
    said = json.dumps({"status": status})
    plane.kubectl("patch", kind, name, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p", said)
