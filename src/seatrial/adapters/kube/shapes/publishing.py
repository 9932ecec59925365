"""How a driver version, or NVIDIA's own upgrading, is written into the resource that owns the drivers.

A release of an operator is written into the HelmRelease or the Application whose chart it is; one that OLM installs is
approved in its InstallPlan.

Law of this file: a write names the fields it changes, and our note of it, and no other; it is bound to the resource
as it was looked at. The server is asked to refuse what it does not know (fieldValidation=Strict): by default it would
drop a field such as `spec.driver.nodeSelector` with a warning, and a canary would be the whole fleet. What it then says
it has stored is compared with what was asked. Tests:
tests/adapters/kube/test_execute_bound.py, test_execute_campaign.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from seatrial.adapters.kube.api.client import api_path
from seatrial.adapters.kube.shapes import gitops_models, keys, operator_models
from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import Switch
from seatrial.core.model.seen.operands import FIELDS
from seatrial.core.model.seen.operators import ON_DELETE
from seatrial.core.model.seen.releases import is_holder, operator_of
from seatrial.core.model.seen.subscriptions import is_plan
from seatrial.core.model.target import parts_of, text_of
from seatrial.core.text import foreign

POLICY_KIND: Final = "ClusterPolicy"
DRIVER_KIND: Final = "NVIDIADriver"
NETWORK_KIND: Final = "NicClusterPolicy"
HOLDERS: Final[Mapping[str, tuple[str, str, type[gitops_models.Application] | type[gitops_models.ToolkitObject]]]] = {
    "HelmRelease": ("helmreleases", "helm.toolkit.fluxcd.io/v2", gitops_models.ToolkitObject),
    "Application": ("applications", "argoproj.io/v1alpha1", gitops_models.Application),
}
"""Kinds that say which release of a chart is wanted: their plural, their API, and how they are read."""

Stored: TypeAlias = operator_models.ClusterPolicy | operator_models.NvidiaDriver | operator_models.NicClusterPolicy
"""A resource as the server stored it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarrierResource:
    """One resource that owns drivers: where it is, and how it is read."""

    path: str
    model: (
        type[operator_models.ClusterPolicy]
        | type[operator_models.NvidiaDriver]
        | type[operator_models.NicClusterPolicy]
    )

    @property
    def _is_policy(self) -> bool:
        return self.model is operator_models.ClusterPolicy

    def version_patch(
        self,
        version: str,
        *,
        expect: str,
        note: str,
        env: list[dict[str, Any]] | None = None,
        on_delete: bool = False,
    ) -> dict[str, Any]:
        """The merge patch of the version and our note of it, at the version of the resource that was looked at.

        A list cannot be merged: the driver manager's environment, where it is given, is written as a whole.
        """
        notes = {"annotations": {keys.PUBLISHED_ANNOTATION: note}} if note else {}
        manager = {"manager": {"env": env or None}} if env is not None else {}
        driver, parts = parts_of(version)
        if self.model is operator_models.NicClusterPolicy:
            network = {"version": dict(parts)[Component.MOFED.value]}
            return {"metadata": {**_bound(expect), **notes}, "spec": {"ofedDriver": network}}
        patch = {"metadata": {**_bound(expect), **notes}, **self._spec({"version": driver, **manager})}
        if self._is_policy:
            patch["spec"] |= {FIELDS[Component(name)]: {"version": text} for name, text in parts if name in FIELDS}
        if on_delete and self._is_policy:
            patch["spec"]["daemonsets"] = {"updateStrategy": ON_DELETE}
        return patch

    def is_quiet(self, stored: Stored) -> bool:
        """Whether a resource says that DaemonSets replace no pod by themselves, as far as it has a say."""
        return not isinstance(stored, operator_models.ClusterPolicy) or (
            stored.spec.daemonsets.update_strategy == ON_DELETE
        )

    def auto_upgrade_patch(self, *, is_on: bool, expect: str) -> dict[str, Any]:
        """The merge patch of whether NVIDIA's controller upgrades by itself, bound as well."""
        return {"metadata": _bound(expect), **self._spec({"upgradePolicy": {"autoUpgrade": is_on}})}

    def _spec(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {"spec": {"driver": fields} if self._is_policy else fields}


def _bound(expect: str) -> dict[str, str]:
    return {"resourceVersion": expect} if expect else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderResource:
    """One object that says which release of an operator is wanted: where it is, and how it is read."""

    path: str
    model: type[gitops_models.Application] | type[gitops_models.ToolkitObject]

    def version_patch(
        self,
        stored: gitops_models.Application | gitops_models.ToolkitObject,
        version: str,
        *,
        expect: str,
        note: str,
    ) -> dict[str, Any]:
        """The merge patch of the chart's version and our note of it, at the version that was looked at.

        A list cannot be merged: where an Application has several sources, all of them are written as they are.
        """
        notes = {"annotations": {keys.PUBLISHED_ANNOTATION: note}} if note else {}
        spec: dict[str, Any] = {"chart": {"spec": {"version": version}}}
        if isinstance(stored, gitops_models.Application):
            spec = {"source": {"targetRevision": version}}
            if not _is_operator(stored.spec.source or {}):
                spec = {
                    "sources": [
                        {**each, "targetRevision": version} if _is_operator(each) else each
                        for each in stored.spec.sources
                    ]
                }
        return {"metadata": {**_bound(expect or stored.metadata.resource_version), **notes}, "spec": spec}


def _is_operator(source: dict[str, Any]) -> bool:
    return operator_of(str(source.get("chart") or "")) is not None


def holder_of(resource: str) -> HolderResource | None:
    """The object behind a name such as `HelmRelease/gpu-operator/gpu`; None for what holds no release."""
    kind, _, place = resource.partition("/")
    namespace, _, name = place.partition("/")
    if not name or kind not in HOLDERS:
        return None
    plural, version, model = HOLDERS[kind]
    return HolderResource(path=api_path(version, plural, namespace=namespace, name=name), model=model)


def plan_path(resource: str) -> str:
    """Where an InstallPlan is, by a name such as `InstallPlan/nvidia-gpu-operator/install-x7k2p`; empty for others."""
    if not is_plan(resource) or not is_holder(resource):
        return ""
    _, namespace, name = resource.split("/")
    return api_path("operators.coreos.com/v1alpha1", "installplans", namespace=namespace, name=name)


def approval_patch(stored: gitops_models.InstallPlan, *, expect: str, note: str) -> dict[str, Any]:
    """The merge patch that approves an InstallPlan, with our note of it, at the version that was looked at."""
    notes = {"annotations": {keys.PUBLISHED_ANNOTATION: note}} if note else {}
    return {
        "metadata": {**_bound(expect or stored.metadata.resource_version), **notes},
        "spec": {"approved": True},
    }


def release_in(stored: gitops_models.Application | gitops_models.ToolkitObject) -> str:
    """The version of an operator's chart that an object says; empty where it says none."""
    if isinstance(stored, gitops_models.ToolkitObject):
        return stored.spec.chart.spec.version if stored.spec.chart is not None else ""
    sources = (stored.spec.source or {}, *stored.spec.sources)
    return next((str(each.get("targetRevision") or "") for each in sources if _is_operator(each)), "")


def target_of(resource: str) -> CarrierResource | None:
    """The resource behind a name such as `ClusterPolicy/cluster-policy`; None for what owns no drivers."""
    kind, _, name = resource.partition("/")
    if not name:
        return None
    if kind == POLICY_KIND:
        return CarrierResource(path=f"{keys.CLUSTER_POLICIES}/{name}", model=operator_models.ClusterPolicy)
    if kind == DRIVER_KIND:
        return CarrierResource(path=f"{keys.NVIDIA_DRIVERS}/{name}", model=operator_models.NvidiaDriver)
    if kind == NETWORK_KIND:
        return CarrierResource(path=f"{keys.NIC_POLICIES}/{name}", model=operator_models.NicClusterPolicy)
    return None


def version_of(stored: Stored, like: str = "") -> str:
    """What a resource carries of all that a version names, the driver first."""
    if isinstance(stored, operator_models.NicClusterPolicy):
        driver = stored.spec.ofed_driver
        return text_of("", ((Component.MOFED, driver.version if driver is not None else "none"),))
    if not isinstance(stored, operator_models.ClusterPolicy):
        return stored.spec.version
    known = dict(operand_versions(stored))
    names = [name for name, _ in parts_of(like)[1] if name in FIELDS]
    return text_of(stored.spec.driver.version, ((Component(name), known.get(name, "none")) for name in names))


def operand_versions(policy: operator_models.ClusterPolicy) -> tuple[tuple[str, str], ...]:
    """The versions of operands that a ClusterPolicy names, by component."""
    spec = policy.spec
    said = {
        Component.CONTAINER_TOOLKIT: spec.toolkit,
        Component.DEVICE_PLUGIN: spec.device_plugin,
        Component.DCGM: spec.dcgm_exporter,
        Component.MIG_MANAGER: spec.mig_manager,
        Component.GFD: spec.gfd,
        Component.VALIDATOR: spec.validator,
    }
    return tuple((component.value, foreign.line(each.version)) for component, each in said.items() if each.version)


def env_with(stored: Stored, switches: Iterable[Switch]) -> list[dict[str, Any]] | None:
    """The driver manager's environment with these switches set by name; None where it says all of this already.

    What else stands there stays, in its order: a switch that is there changes in its place, one that is to go goes.
    """
    manager = manager_of(stored)
    before = [dict(each) for each in (manager.env if manager else None) or ()]
    wanted = {each.name: each.value for each in switches}
    after = [
        {**each, "value": wanted[each["name"]]} if each.get("name") in wanted else each
        for each in before
        if each.get("name") not in wanted or wanted[each["name"]] is not None
    ]
    known = {each.get("name") for each in before}
    after += [{"name": name, "value": text} for name, text in wanted.items() if text is not None and name not in known]
    return after if after != before else None


def manager_of(stored: Stored) -> operator_models.DriverManager | None:
    """What a resource says about the driver manager; a network driver has none."""
    if isinstance(stored, operator_models.NicClusterPolicy):
        return None
    return stored.spec.driver.manager if isinstance(stored, operator_models.ClusterPolicy) else stored.spec.manager


def auto_upgrade_of(stored: Stored) -> bool | None:
    """Whether a resource has NVIDIA's controller upgrade by itself; None where it does not say."""
    if isinstance(stored, operator_models.NicClusterPolicy):
        return None
    owner = stored.spec.driver if isinstance(stored, operator_models.ClusterPolicy) else stored.spec
    return owner.upgrade_policy.auto_upgrade if owner.upgrade_policy is not None else None
