"""Workloads of Kueue, as we switch them off and on: one PATCH each, bound to the very version that was looked at.

Law of this file: `spec.active: false` and the annotations that say whose doing it is are one write, and so is the way
back. What is off already is left alone, and what bears no mark of ours is not switched on. Tests:
tests/adapters/kube/test_workloads.py
"""

from __future__ import annotations

from typing import Any

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind
from seatrial.adapters.kube.reading import items
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.core.model.seen.workloads import Suspended


async def switch_off(client: Client, namespace: str, name: str, *, token: str, node: str) -> None:
    """Switch a Workload off for the visit of a node; nothing where it is gone, or off already."""
    path = keys.workload_path(namespace, name)
    try:
        found = await client.get(path, kinds.Workload)
    except errors.NotFound:
        return  # it has ended, and its pods with it
    if found.spec.active is False and keys.SUSPENDED_BY_ANNOTATION not in found.metadata.annotations:
        return
    notes = {keys.SUSPENDED_BY_ANNOTATION: token, keys.SUSPENDED_FOR_ANNOTATION: node}
    await client.patch(path, _body(found, notes, is_active=False), kinds.Workload, kind=PatchKind.MERGE)


async def switch_on(client: Client, suspended: Suspended) -> bool:
    """Switch a Workload on again that we switched off; False where it is gone, or no longer off by us."""
    path = keys.workload_path(suspended.namespace, suspended.name)
    try:
        found = await client.get(path, kinds.Workload)
        if found.metadata.annotations.get(keys.SUSPENDED_BY_ANNOTATION) != suspended.token:
            return False
        notes = dict.fromkeys((keys.SUSPENDED_BY_ANNOTATION, keys.SUSPENDED_FOR_ANNOTATION))
        await client.patch(path, _body(found, notes, is_active=True), kinds.Workload, kind=PatchKind.MERGE)
    except (errors.NotFound, errors.Conflict):
        return False  # gone, or changed: it is looked at again
    return True


async def suspended(client: Client) -> tuple[Suspended, ...]:
    """Every Workload that we switched off; none where there is no Kueue, or we may not look."""
    try:
        listed = await client.list(keys.WORKLOADS, kinds.Workload)
    except (errors.NotFound, errors.Forbidden):
        return ()
    found = (items.workload_item(each) for each in listed.items)
    return tuple(each.suspended for each in found if each is not None and each.suspended is not None)


def _body(found: kinds.Workload, notes: dict[str, Any], *, is_active: bool) -> dict[str, Any]:
    metadata = {"resourceVersion": found.metadata.resource_version, "annotations": notes}
    return {"metadata": metadata, "spec": {"active": is_active}}
