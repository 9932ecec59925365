"""MachineConfigPools of OpenShift: the canary's is made and removed, others are paused and resumed, as they were seen.

A node belongs to one pool besides `worker`; ours takes those with the canary's label. It carries the rollout's name,
and a pool without it is somebody else's. Tests: tests/adapters/kube/test_pools.py, test_execute_campaign.py
"""

from __future__ import annotations

from typing import Any, Final

from seatrial.adapters.kube.reading.items import Meta, meta_of
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.campaign_models import MachineConfigPool
from seatrial.core.actions.of_campaigns import MakePool, PausePool
from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.text import foreign
from seatrial.core.text.moments import readable_instant

ROLE_KEY: Final = "machineconfiguration.openshift.io/role"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolItem:
    """One MachineConfigPool."""

    metadata: Meta
    rollout: str
    is_paused: bool
    paused_by: str
    machine_count: int
    certificate_at: ApiInstant | None


def pool_of(action: MakePool) -> dict[str, Any]:
    """The pool of a canary: configured as workers are, and by whatever is meant for the pool itself."""
    roles = {"key": ROLE_KEY, "operator": "In", "values": ["worker", action.name]}
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": action.name, "labels": {keys.ROLLOUT_LABEL: action.rollout}},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [roles]},
            "nodeSelector": {"matchLabels": {keys.CANARY_LABEL: action.rollout}},
        },
    }


def pause_patch(action: PausePool) -> dict[str, Any]:
    """A pause with our name, or neither; refused when somebody has changed the pool since it was looked at."""
    annotations = {keys.PAUSED_BY_ANNOTATION: action.rollout if action.value else None}
    return {
        "metadata": {"resourceVersion": action.expect, "annotations": annotations},
        "spec": {"paused": action.value},
    }


def pool_item(pool: MachineConfigPool) -> PoolItem:
    """Keep whose pool it is, and when what a pause keeps from being renewed ends."""
    ends = [end for each in pool.status.cert_expirys if (end := readable_instant(each.expiry)) is not None]
    return PoolItem(
        metadata=meta_of(pool.metadata),
        rollout=pool.metadata.labels.get(keys.ROLLOUT_LABEL, ""),
        is_paused=pool.spec.paused,
        paused_by=foreign.line(pool.metadata.annotations.get(keys.PAUSED_BY_ANNOTATION, "")),
        machine_count=pool.status.machine_count,
        certificate_at=min(ends, default=None),
    )


def facts_of(item: PoolItem, rollout: str) -> MachinePool:
    """The pool as one rollout sees it."""
    return MachinePool(
        name=item.metadata.name,
        resource_version=item.metadata.resource_version,
        is_paused=item.is_paused,
        paused_by=item.paused_by,
        machine_count=item.machine_count,
        is_ours=item.rollout == rollout,
        certificate_at=item.certificate_at,
    )
