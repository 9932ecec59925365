"""The GPU Operator's resources as facts: who moves the nodes, and what its upgrade policy says. No rule in sight.

What is kept of the DaemonSet of a DRA plugin is here as well. Tests: tests/adapters/kube/test_project.py,
test_dra_driver.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from sys import intern
from typing import Any, Final, TypeAlias

from seatrial.adapters.kube.api.client import FIELD_MANAGER
from seatrial.adapters.kube.reading import items
from seatrial.adapters.kube.shapes import keys, kinds, models, operator_models, publishing
from seatrial.core.compat.matrix import Component
from seatrial.core.model import owners
from seatrial.core.model.deployers import is_deployer, marks_of
from seatrial.core.model.instants import DURATION_SECONDS_MAX
from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import Carrier, NetworkFacts, OperatorFacts, Pool
from seatrial.core.model.seen.releases import Holder, Release
from seatrial.core.model.seen.subscriptions import Subscription
from seatrial.core.movers import driver_manager
from seatrial.core.text import foreign

POLICY_VERSION: Final = ("spec", "driver", "version")
DRIVER_VERSION: Final = ("spec", "version")
NETWORK_VERSION: Final = ("spec", "ofedDriver", "version")
"""Where the driver's version stands."""

Fault: TypeAlias = Callable[[str], None]
"""Told of what cannot be read, in a sentence."""


def operator_facts(
    policies: Iterable[operator_models.ClusterPolicy],
    drivers: Iterable[operator_models.NvidiaDriver],
    *,
    has_owned_nodes: bool,
    rolling: tuple[Operand, ...] = (),
    networks: Iterable[operator_models.NicClusterPolicy] = (),
    on_fault: Fault,
) -> OperatorFacts:
    """What is seen of the operators, each by itself."""
    gpus = _gpu_facts(policies, drivers, has_owned_nodes=has_owned_nodes, rolling=rolling, on_fault=on_fault)
    return replace(gpus, network=network_facts(networks, on_fault))


def network_facts(found: Iterable[operator_models.NicClusterPolicy], on_fault: Fault) -> NetworkFacts | None:
    """What is seen of the Network Operator's driver; None where no NicClusterPolicy names one."""
    naming = [item for item in found if item.spec.ofed_driver is not None and item.spec.ofed_driver.version]
    policy = min(naming, key=lambda item: (item.metadata.creation_timestamp, item.metadata.name), default=None)
    if policy is None or policy.spec.ofed_driver is None:
        return None
    name, driver = f"{publishing.NETWORK_KIND}/{policy.metadata.name}", policy.spec.ofed_driver
    carrier = Carrier(
        name=name,
        parts=((Component.MOFED.value, foreign.line(driver.version)),),
        writer=writer_of(policy.metadata, NETWORK_VERSION),
        resource_version=policy.metadata.resource_version,
        note=foreign.line(policy.metadata.annotations.get(keys.PUBLISHED_ANNOTATION, "")),
        marks=marks_of(policy.metadata.labels, policy.metadata.annotations),
    )
    return NetworkFacts(
        carrier=carrier,
        is_auto_upgrading=_is_on(driver.upgrade_policy, by_default=False),
        policy=policy_wish(driver.upgrade_policy, name, on_fault),
    )


def _gpu_facts(
    policies: Iterable[operator_models.ClusterPolicy],
    drivers: Iterable[operator_models.NvidiaDriver],
    *,
    has_owned_nodes: bool,
    rolling: tuple[Operand, ...],
    on_fault: Fault,
) -> OperatorFacts:
    """What is seen of the GPU Operator: the oldest ClusterPolicy, or the NVIDIADrivers it delegates to.

    Since v26.7 each NVIDIADriver has a policy of its own, and the operator writes the owner on the nodes
    (`has_owned_nodes`). Before, NVIDIADrivers have none, and the ClusterPolicy's holds for all of them.
    """
    policy = _oldest(policies)
    owned = sorted(drivers, key=lambda item: item.metadata.name)
    carriers = _carriers(policy, owned)
    if owned and (policy is None or (policy.spec.driver.use_nvidia_driver_crd and has_owned_nodes)):
        # Without an upgradePolicy an NVIDIADriver upgrades by itself; a ClusterPolicy does not.
        pools = tuple(_pool(item, on_fault) for item in owned)
        position = next((number for number, pool in enumerate(pools) if pool.is_auto_upgrading), 0)
        return OperatorFacts(
            kind=f"NVIDIADriver/{pools[position].name}",
            is_auto_upgrading=pools[position].is_auto_upgrading,
            driver_version=pools[position].driver_version,
            state=foreign.line(owned[position].status.state),
            pools=pools,
            rolling=rolling,
            carriers=carriers,
        )
    if policy is None:
        return OperatorFacts(rolling=rolling)
    kind = f"ClusterPolicy/{policy.metadata.name}"
    is_on = _is_on(policy.spec.driver.upgrade_policy, by_default=False)
    is_sandboxed = bool(policy.spec.sandbox_workloads.enabled)
    return OperatorFacts(
        kind=kind,
        is_auto_upgrading=is_on and not is_sandboxed,
        is_sandboxed=is_on and is_sandboxed,
        driver_version=foreign.line(policy.spec.driver.version),
        state=foreign.line(policy.status.state),
        policy=policy_wish(policy.spec.driver.upgrade_policy, kind, on_fault),
        rolling=rolling,
        carriers=carriers,
    )


def _carriers(
    policy: operator_models.ClusterPolicy | None, drivers: Iterable[operator_models.NvidiaDriver]
) -> tuple[Carrier, ...]:
    """Every resource that says which driver nodes run."""
    found = [
        Carrier(
            name=f"NVIDIADriver/{item.metadata.name}",
            version=foreign.line(item.spec.version),
            writer=writer_of(item.metadata, DRIVER_VERSION),
            resource_version=item.metadata.resource_version,
            note=foreign.line(item.metadata.annotations.get(keys.PUBLISHED_ANNOTATION, "")),
            switches=switches_of(item.spec.manager),
            marks=marks_of(item.metadata.labels, item.metadata.annotations),
        )
        for item in drivers
    ]
    if policy is not None:
        # Where the drivers are left to NVIDIADrivers its version says nothing, but its upgradePolicy does.
        is_silent = bool(policy.spec.driver.use_nvidia_driver_crd)
        carrier = Carrier(
            name=f"ClusterPolicy/{policy.metadata.name}",
            version="" if is_silent else foreign.line(policy.spec.driver.version),
            parts=publishing.operand_versions(policy),
            strategy=foreign.line(policy.spec.daemonsets.update_strategy),
            writer="" if is_silent else writer_of(policy.metadata, POLICY_VERSION),
            resource_version=policy.metadata.resource_version,
            note=foreign.line(policy.metadata.annotations.get(keys.PUBLISHED_ANNOTATION, "")),
            switches=switches_of(policy.spec.driver.manager),
            marks=marks_of(policy.metadata.labels, policy.metadata.annotations),
        )
        found.insert(0, carrier)
    return tuple(found)


def with_releases(
    operator: OperatorFacts,
    releases: Iterable[Release],
    holders: Iterable[Holder],
    subscriptions: tuple[Subscription, ...] = (),
) -> OperatorFacts:
    """The operator with the releases that are in the cluster: whatever carries a version carries theirs as well."""
    found = tuple(sorted(releases, key=lambda each: (each.component, each.namespace, each.name)))
    up = tuple((each.component.value, each.version) for each in found if each.is_up and each.version)
    return replace(
        operator,
        carriers=tuple(replace(each, parts=(*each.parts, *up)) for each in operator.carriers)
        if up
        else operator.carriers,
        releases=found,
        holders=tuple(sorted(holders, key=lambda each: each.resource)),
        subscriptions=subscriptions,
    )


def switches_of(manager: operator_models.DriverManager | None) -> tuple[tuple[str, str], ...]:
    """What is said about the driver manager's two switches; of two entries with one name the last counts."""
    said = {str(each.get("name")): str(each.get("value", "")) for each in (manager.env if manager else None) or ()}
    return tuple((name, said[name]) for name in driver_manager.SWITCHES if name in said)


def writer_of(meta: models.ManagedMeta, field: tuple[str, ...]) -> str:
    """Who owns a field: the one who wrote last, and we ourselves only where nobody else does.

    Of several that wrote the same, who does it from a repository is the one that does it again.
    """
    owning = [entry for entry in meta.managed_fields if not entry.subresource and _owns(entry, field)]
    last = max(
        owning,
        key=lambda entry: (entry.manager != FIELD_MANAGER, is_deployer(entry.manager), entry.time),
        default=None,
    )
    return foreign.line(last.manager) if last is not None else ""


def _owns(entry: models.ManagedFields, field: tuple[str, ...]) -> bool:
    inner: Any = entry.fields
    for name in field:
        inner = inner.get(f"f:{name}") if isinstance(inner, dict) else None
    return inner is not None


def driver_claims(
    policies: Iterable[operator_models.ClusterPolicy], drivers: Iterable[operator_models.NvidiaDriver]
) -> tuple[owners.DriverClaim, ...] | None:
    """What the NVIDIADrivers claim; None where none can own a node: there are none, or the ClusterPolicy has it all."""
    policy, found = _oldest(policies), sorted(drivers, key=lambda item: item.metadata.name)
    is_delegated = bool(found) if policy is None else bool(policy.spec.driver.use_nvidia_driver_crd)
    return tuple(_driver_claim(item) for item in found) if is_delegated else None


def policy_wish(policy: operator_models.UpgradePolicy | None, where: str, on_fault: Fault) -> PolicyWish:
    """What an upgradePolicy says. A selector is taken as it is: one that cannot be read stops whoever uses it."""
    if policy is None:
        return PolicyWish()
    unavailable_max = _share(policy.max_unavailable, where, on_fault)
    return wish_of(policy, parallel_max=policy.max_parallel_upgrades, unavailable_max=unavailable_max)


def wish_of(
    said: operator_models.UpgradePolicy | models.RolloutSpec, *, parallel_max: int | None, unavailable_max: Share | None
) -> PolicyWish:
    """What is said about moving the pods of a node, in the fields that rollouts and NVIDIA share, and the limits."""
    jobs = said.wait_for_completion or models.WaitForCompletion()
    eviction = said.pod_deletion or models.PodDeletion()
    drain = said.drain or models.Drain()
    return PolicyWish(
        parallel_max=parallel_max,
        unavailable_max=unavailable_max,
        jobs_selector=jobs.pod_selector,
        jobs_timeout_seconds=_capped(jobs.timeout_seconds),
        eviction_force=eviction.force,
        eviction_delete_empty_dir=eviction.delete_empty_dir,
        eviction_timeout_seconds=_capped(eviction.timeout_seconds),
        drain_enable=drain.enable,
        drain_force=drain.force,
        drain_delete_empty_dir=drain.delete_empty_dir,
        drain_selector=drain.pod_selector,
        drain_timeout_seconds=_capped(drain.timeout_seconds),
    )


def _capped(seconds: int | None) -> int | None:
    """The operator's own definitions know no longest duration."""
    return None if seconds is None else min(seconds, DURATION_SECONDS_MAX)


def _share(value: int | str | None, where: str, on_fault: Fault) -> Share | None:
    if value is None:
        return None
    try:
        return Share.parse(value)
    except ValueError as err:
        on_fault(f"{where}: {err} Until it is corrected, what the rollout says holds, or else the default.")
        return None


def _pool(item: operator_models.NvidiaDriver, on_fault: Fault) -> Pool:
    policy = item.spec.upgrade_policy
    return Pool(
        name=item.metadata.name,
        claim=_driver_claim(item),
        is_auto_upgrading=_is_on(policy, by_default=True),
        driver_version=foreign.line(item.spec.version),
        policy=policy_wish(policy, f"NVIDIADriver/{item.metadata.name}", on_fault),
    )


def _driver_claim(item: operator_models.NvidiaDriver) -> owners.DriverClaim:
    return owners.DriverClaim(
        name=item.metadata.name,
        selector=item.spec.node_selector,
        is_default=item.spec.default,
        is_deleting=item.metadata.deletion_timestamp is not None,
    )


def _oldest(policies: Iterable[operator_models.ClusterPolicy]) -> operator_models.ClusterPolicy | None:
    return min(policies, key=lambda item: (item.metadata.creation_timestamp, item.metadata.name), default=None)


def _is_on(policy: operator_models.UpgradePolicy | None, *, by_default: bool) -> bool:
    return by_default if policy is None or policy.auto_upgrade is None else policy.auto_upgrade


def dra_revision_item(revision: kinds.ControllerRevision) -> items.RevisionItem | None:
    """Keep which template of the DRA plugin a revision stands for; None for any other DaemonSet's."""
    template = revision.data.spec.template
    if not items.is_labelled_dra(template.metadata.labels):
        return None
    return replace(
        items.revision_item(revision),
        selector=dict(template.spec.node_selector),
        operand=Operand.DRA_PLUGIN,
        version=intern(items.tag_of(template.spec.containers)),
        settings=items.settings_of(template.spec),
    )


def dra_set_item(found: kinds.DaemonSet) -> items.DaemonSetItem | None:
    """Keep whether the DaemonSet of a DRA plugin rolls by itself; None for any other."""
    if not items.is_labelled_dra(found.spec.template.metadata.labels):
        return None
    is_rolling = found.spec.update_strategy.type != "OnDelete"
    return items.DaemonSetItem(
        metadata=items.meta_of(found.metadata), operand=Operand.DRA_PLUGIN, is_rolling=is_rolling
    )
