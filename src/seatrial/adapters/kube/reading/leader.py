"""When a controller was last heard of: its Lease, as whoever looks at a cluster may read it.

Law of this file: it is for people, and of the controller's own namespace: in any other, a Lease of its name is a
tenant's. The time in a Lease is by its holder's clock; no election depends on it (api/lease.py does not look at it),
and one that is far ahead says nothing of when it was written. Tests: tests/adapters/kube/test_leader.py
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.api.errors import ClusterError
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.models import ObjectMeta
from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign
from seatrial.core.text.moments import instant_of

LEASE_SECONDS: Final = 15.0
LEASE: Final = "seatrial"
"""One controller per cluster: two rollouts must not spend the same nodes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The controller that leads, or did last, as its Lease tells."""

    heard_at: Instant | None
    """When it last renewed it, by the clock of whoever asks; None where there was never one."""
    holder: str = ""
    """Who has it; empty where it was given up in good order, and where there was never one."""
    lease_seconds: float = LEASE_SECONDS
    """How long it may be silent before another takes over."""
    rerolls_dra: bool = False
    """Whether it says that it restarts DRA plugins, whoever made them stale."""
    dra_namespaces: tuple[str, ...] = ()
    """Where it takes pods for DRA plugins; none for where their charts put them."""
    suite_image: str = ""
    """The image whose payloads it asks of canaries where nobody names a gate; empty where it has none."""
    elsewhere: tuple[str, ...] = ()
    """Where there is no Lease, the other namespaces that have one of its name."""

    def is_leading(self, now: Instant) -> bool:
        """Whether somebody is in charge: who was silent for twice as long as a lease lasts is not."""
        if not self.holder or self.heard_at is None or self.is_doubtful(now):
            return False
        return now - self.heard_at < 2 * self.lease_seconds

    def is_doubtful(self, now: Instant) -> bool:
        """Whether its time is so far ahead that the last renewal cannot be known."""
        return bool(self.holder) and self.heard_at is not None and self.heard_at - now > self.lease_seconds


class _Lease(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] | None = None


async def leader_of(client: Client, namespace: str) -> Leader | None:
    """Who leads, by the Lease in the controller's namespace; None where we may not know."""
    try:
        found = await _leases(client, namespace)
        if not found:
            elsewhere = (each.metadata.namespace for each in await _leases(client, ""))
            return Leader(heard_at=None, elsewhere=tuple(sorted(foreign.line(each) for each in elsewhere)))
    except ClusterError:
        return None  # who may not list leases may look at rollouts all the same
    last, heard_at = found[0], _renewed(found[0])
    if heard_at is None:
        return None
    notes, seconds = last.metadata.annotations, (last.spec or {}).get("leaseDurationSeconds")
    # The holder's clock is the cluster's; ours may be another, so its silence is measured by the server's.
    ahead_seconds = (client.served_at or client.now()) - client.now()
    return Leader(
        heard_at=heard_at - ahead_seconds,
        holder=_holder(last),
        lease_seconds=float(seconds) if isinstance(seconds, int) and seconds > 1 else LEASE_SECONDS,
        rerolls_dra=bool(notes.get(keys.REROLLS_ANNOTATION)),
        dra_namespaces=tuple(filter(None, foreign.line(notes.get(keys.DRA_ANNOTATION, "")).split(","))),
        suite_image=foreign.line(notes.get(keys.SUITE_ANNOTATION, "")),
    )


async def _leases(client: Client, namespace: str) -> tuple[_Lease, ...]:
    path = api_path("coordination.k8s.io/v1", "leases", namespace=namespace)
    return (await client.list(path, _Lease, field_selector=f"metadata.name={LEASE}")).items


def _holder(lease: _Lease) -> str:
    return foreign.line(str((lease.spec or {}).get("holderIdentity") or ""))


def _renewed(lease: _Lease) -> Instant | None:
    try:
        return instant_of(str((lease.spec or {}).get("renewTime") or ""))
    except ValueError:
        return None
