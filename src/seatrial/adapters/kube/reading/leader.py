"""When a controller was last heard of: its Lease, as whoever looks at a cluster may read it.

Law of this file: it is for people. The time in a Lease is by its holder's clock; nobody leads or stops by it
(api/lease.py does not look at it). Tests: tests/adapters/kube/test_leader.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.api.errors import ClusterError
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.models import ObjectMeta
from seatrial.adapters.kube.shapes.records import instant_of
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign

LEASE: Final = "seatrial"
"""One controller per cluster: two rollouts must not spend the same nodes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The controller that leads, as its Lease tells."""

    heard_at: Instant | None
    """When it last renewed it; None where there is no Lease."""
    rerolls_dra: bool = False
    """Whether it says that it restarts DRA plugins, whoever made them stale."""
    suite_image: str = ""
    """The image whose payloads it asks of canaries where nobody names a gate; empty where it has none."""


class _Lease(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] | None = None


async def leader_of(client: Client) -> Leader | None:
    """Who leads, wherever its Lease is kept; None where we may not know."""
    try:
        listing = await client.list(
            api_path("coordination.k8s.io/v1", "leases"), _Lease, field_selector=f"metadata.name={LEASE}"
        )
    except ClusterError:
        return None  # who may not list leases may look at rollouts all the same
    renewed = [(at, lease) for lease in listing.items if (at := _renewed(lease)) is not None]
    if not renewed:
        return Leader(heard_at=None)
    heard_at, last = max(renewed, key=lambda each: each[0])
    notes = last.metadata.annotations
    return Leader(
        heard_at=heard_at,
        rerolls_dra=bool(notes.get(keys.REROLLS_ANNOTATION)),
        suite_image=foreign.line(notes.get(keys.SUITE_ANNOTATION, "")),
    )


def _renewed(lease: _Lease) -> Instant | None:
    spec = lease.spec or {}
    if not spec.get("holderIdentity"):
        return None  # given up in good order
    try:
        return instant_of(str(spec.get("renewTime") or ""))
    except ValueError:
        return None
