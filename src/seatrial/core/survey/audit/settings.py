"""What will go wrong by itself: pools that wait, drivers that roll without anybody's leave, operators that move on.

Law of this file: about the cluster as it is set up, and not about its versions. Tests:
tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from shlex import quote
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.survey.audit import images
from seatrial.core.survey.audit.findings import AuditFinding, FindingKind
from seatrial.core.survey.audit.objects import SubscriptionObject
from seatrial.core.survey.audit.observing import Observed
from seatrial.core.survey.audit.readings import Seen
from seatrial.core.text.names import number_of

DRIVERS: Final = frozenset({Component.GPU_DRIVER, Component.MOFED})
"""What takes a node's devices away while it is replaced."""
ROLLING: Final = "RollingUpdate"
PACKAGES: Final = {
    "gpu-operator-certified": Component.GPU_OPERATOR,
    "nvidia-network-operator": Component.NETWORK_OPERATOR,
}
_PINNED: Final = re.compile(r"v[0-9]+\.[0-9]+(?:\.[0-9]+)?")
"""A channel of one major version; `stable` and its kin go on to the next."""


def paused_pools(observed: Observed) -> Iterator[AuditFinding]:
    """Pools whose nodes get nothing new."""
    for pool in observed.objects.pools:
        if not pool.is_paused or not pool.machine_count:
            continue
        resume = json.dumps({"spec": {"paused": False}})
        yield AuditFinding(
            kind=FindingKind.PAUSED_POOL,
            message=f"MachineConfigPool {pool.name} is paused"
            f"{f' by rollout {pool.paused_by}' if pool.paused_by else ''}: "
            f"{number_of(pool.machine_count, 'node gets', 'nodes get')} no new kernel and no new certificates.",
            evidence=(f"MachineConfigPool {pool.name} spec.paused",),
            next_step=f"`seatrial status --rollout {quote(pool.paused_by)}` says when it is resumed."
            if pool.paused_by
            else f"`oc patch machineconfigpool {quote(pool.name)} --type merge -p {quote(resume)}` "
            "resumes it, and reboots nodes.",
        )


def self_rolling(observed: Observed) -> Iterator[AuditFinding]:
    """DaemonSets of drivers that replace their pods without anybody emptying the nodes."""
    for found in observed.objects.daemon_sets:
        brings = {images.component_of(name, image) for name, image in found.images} & DRIVERS
        if not brings or found.strategy != ROLLING:
            continue
        patch = json.dumps({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}})
        yield AuditFinding(
            kind=FindingKind.SELF_ROLLING,
            component=min(part for part in brings if part is not None),
            message=f"DaemonSet {found.namespace}/{found.name} replaces driver pods on its own: a change of its "
            "template takes GPUs or networks away from running pods, node after node.",
            evidence=(f"DaemonSet {found.namespace}/{found.name} spec.updateStrategy.type={found.strategy}",),
            next_step=f"`kubectl -n {quote(found.namespace)} patch daemonset {quote(found.name)} "
            f"--type merge -p {quote(patch)}`, unless something writes it again: then correct that.",
        )


def moving_channels(observed: Observed) -> Iterator[AuditFinding]:
    """Operators that OLM takes to the next major version without anybody's leave."""
    for found in observed.objects.subscriptions:
        part = PACKAGES.get(found.package)
        if part is None or not found.is_automatic or _PINNED.fullmatch(found.channel):
            continue
        patch = json.dumps({"spec": {"channel": _channel(observed, part), "installPlanApproval": "Manual"}})
        yield AuditFinding(
            kind=FindingKind.MOVING_CHANNEL,
            component=part,
            message=f"{told(found)}: OLM will take {part.value} to the next major version automatically, and "
            "skips those "
            "between.",
            evidence=(f"Subscription {found.namespace}/{found.name} spec.channel, spec.installPlanApproval",),
            next_step=f"`oc -n {quote(found.namespace)} patch subscription {quote(found.name)} "
            f"--type merge -p {quote(patch)}`.",
        )


def told(found: SubscriptionObject) -> str:
    """What a Subscription follows, and how."""
    approval = "Automatic" if found.is_automatic else "Manual"
    return f"Subscription {found.namespace}/{found.name} follows {found.channel or 'the default channel'}, {approval}"


def _channel(observed: Observed, part: Component) -> str:
    reading = observed.cluster[part]
    version = reading.value.version if isinstance(reading, Seen) else None
    return f"v{version.line}" if isinstance(version, OperatorVersion) else "vYY.M"
