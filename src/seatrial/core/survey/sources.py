"""The kinds of objects that an audit and a diagnosis read, and the right that each needs: to list them.

    AUDITED      what `seatrial audit` reads; docs/how-to/audit.md has its ClusterRole
    DIAGNOSED    what `seatrial doctor` reads, besides logs; docs/how-to/doctor.md has its ClusterRole

Law of this file: one row a kind. Adapters read along this table, and tests remove each right in turn. Tests:
tests/core/survey/test_audit_readings.py, tests/adapters/kube/test_auditing.py, tests/adapters/kube/test_diagnosing.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass


class Source(StrEnum):
    """A kind of object that is read once."""

    NODES = "Node"
    DAEMON_SETS = "DaemonSet"
    PODS = "Pod"
    DEPLOYMENTS = "Deployment"
    SLICES = "ResourceSlice"
    POLICIES = "ClusterPolicy"
    DRIVERS = "NVIDIADriver"
    NIC_DEVICES = "NicDevice"
    CSVS = "ClusterServiceVersion"
    SUBSCRIPTIONS = "Subscription"
    CLUSTER_VERSIONS = "ClusterVersion"
    MACHINE_POOLS = "MachineConfigPool"
    EVENTS = "Event"
    CLAIMS = "ResourceClaim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Where a kind is served, by the names that a role uses."""

    group: str
    version: str
    resource: str
    older: tuple[str, ...] = ()
    """Versions under which an older API server has the same objects, the youngest first."""

    @property
    def right(self) -> str:
        """The right that reading it takes, as `kubectl auth can-i` takes it."""
        return f"list {'.'.join(filter(None, (self.resource, self.group)))}"


KINDS: Final[Mapping[Source, Kind]] = {
    Source.NODES: Kind(group="", version="v1", resource="nodes"),
    Source.DAEMON_SETS: Kind(group="apps", version="v1", resource="daemonsets"),
    Source.PODS: Kind(group="", version="v1", resource="pods"),
    Source.DEPLOYMENTS: Kind(group="apps", version="v1", resource="deployments"),
    Source.SLICES: Kind(group="resource.k8s.io", version="v1", resource="resourceslices", older=("v1beta2", "v1beta1")),
    Source.POLICIES: Kind(group="nvidia.com", version="v1", resource="clusterpolicies"),
    Source.DRIVERS: Kind(group="nvidia.com", version="v1alpha1", resource="nvidiadrivers"),
    Source.NIC_DEVICES: Kind(group="configuration.net.nvidia.com", version="v1alpha1", resource="nicdevices"),
    Source.CSVS: Kind(group="operators.coreos.com", version="v1alpha1", resource="clusterserviceversions"),
    Source.SUBSCRIPTIONS: Kind(group="operators.coreos.com", version="v1alpha1", resource="subscriptions"),
    Source.CLUSTER_VERSIONS: Kind(group="config.openshift.io", version="v1", resource="clusterversions"),
    Source.MACHINE_POOLS: Kind(group="machineconfiguration.openshift.io", version="v1", resource="machineconfigpools"),
    Source.EVENTS: Kind(group="", version="v1", resource="events"),
    Source.CLAIMS: Kind(group="resource.k8s.io", version="v1", resource="resourceclaims", older=("v1beta2", "v1beta1")),
}
DIAGNOSED: Final[tuple[Source, ...]] = (Source.NODES, Source.PODS, Source.EVENTS, Source.SLICES, Source.CLAIMS)
AUDITED: Final[tuple[Source, ...]] = tuple(source for source in Source if source not in (Source.EVENTS, Source.CLAIMS))


class Why(StrEnum):
    """Why a kind could not be read."""

    FORBIDDEN = "forbidden"
    NOT_SERVED = "not served"
    """The cluster does not have the kind, so it has no object of it: an answer, and no gap."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A kind that was not read, and why."""

    source: Source
    why: Why
    said: str = ""
    """What the API server said about it, where that is more than its refusal."""

    @property
    def is_blind(self) -> bool:
        """Whether there may be objects that we have not seen."""
        return self.why is not Why.NOT_SERVED

    @property
    def right(self) -> str:
        return KINDS[self.source].right
