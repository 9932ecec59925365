"""What is kept of an object that cannot be read: as much as its metadata says, and the worst of the rest.

    Node                   not ready, so it counts as unavailable
    ResourceClaim          not readable, so its pod may hold a GPU
    PodDisruptionBudget    over every pod of its namespace, and allows no disruption
    GPURollout             under way, so that no campaign begins beside it

Kinds without a line here keep the last state that could be read. Tests: tests/adapters/kube/test_unreadable_objects.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.adapters.kube.api.client import Object
from seatrial.adapters.kube.reading import items, pod_items
from seatrial.adapters.kube.reading.rollout_items import RolloutItem
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.streams.row import Where
from seatrial.core.model.consumers import Claim
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.work import PodBudget
from seatrial.core.model.selectors import Selector

UNKNOWN_PHASE: Final = "unknown"


def node_item(raw: Object, _why: str) -> items.NodeItem:
    """A Node that counts as unavailable; its labels say whether it is a member of a rollout."""
    labels: Mapping[str, str] = getattr(raw.metadata, "labels", {})
    notes: Mapping[str, str] = getattr(raw.metadata, "annotations", {})
    return items.NodeItem(
        metadata=items.meta_of(raw.metadata),
        labels=labels,
        record=notes.get(keys.RECORD_ANNOTATION, ""),
        is_cordoned=False,
        is_ready=False,
        ready_at=None,
        boot_id="",
        is_requested=False,
        awaits_safe_load=False,
        awaits_network_load=False,
        sriov="",
        is_loss_accepted=False,
        skipped_by="",
        offer=GpuOffer(),
        symptoms=(),
        components=(),
        marks=(),
        problems=(),
    )


def claim_item(raw: Object, _why: str) -> items.ClaimItem:
    """A claim that nothing is known about."""
    return items.ClaimItem(metadata=items.meta_of(raw.metadata), claim=Claim(name=raw.metadata.name, is_readable=False))


def budget_item(raw: Object, _why: str) -> pod_items.BudgetItem:
    """A budget that allows nothing."""
    meta = items.meta_of(raw.metadata)
    budget = PodBudget(namespace=meta.namespace, name=meta.name, selector=Selector(), allowed=0)
    return pod_items.BudgetItem(metadata=meta, budget=budget)


def rollout_item(raw: Object, why: str) -> RolloutItem:
    """A rollout that holds itself."""
    meta = raw.metadata
    found = (
        meta
        if isinstance(meta, models.ObjectMeta)
        else models.ObjectMeta(name=meta.name, uid=meta.uid, resource_version=meta.resource_version)
    )
    return RolloutItem(metadata=found, rollout=None, fault=why, phase=UNKNOWN_PHASE)


def is_tenants(where: Where, namespace: str) -> bool:
    """Whether pods of a namespace are the users', not of the stack that is upgraded."""
    dra = where.dra or keys.DRA_NAMESPACES
    return namespace not in (where.namespace, where.home, keys.NETWORK_NAMESPACE, *dra)
