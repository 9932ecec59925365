"""A simulated node: how it begins, what is in store for it, and how it is written to.

Law of this file: labels are not compared between two facts, so whoever changes one changes the resource version too, as
the API server does (`touched`). The explorer would else take two different states for one.

Tests: tests/sim/test_reactions.py
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.budget.losses import COUNT_LABEL, GPU
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import Loaded, NodeFacts, NodeSeen
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, DriverRevision, Pod, PodOwner, ValidatorPod
from seatrial.core.node.writing import PAUSED

DEPLOY_PREFIX: Final = "nvidia.com/gpu.deploy."
"""Labels by which the DaemonSets of clients choose their nodes."""
JOB_LABEL: Final = "batch.kubernetes.io/job-name"
"""A pod that has it finishes by itself."""
_REAL_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What is in store for a node, unknown to everybody until it shows."""

    driver_fails_on: str = ""
    """The driver version whose module does not load here."""
    is_driver_in_use: bool = False
    """Where a driver fails, it is because the old one cannot be taken out: its driver manager fails, not itself."""
    operand_fails_on: str = ""
    """The operand and the version of it that never gets ready here, as `device-plugin v0.18.0`."""
    image_missing_for: str = ""
    """The driver version whose image cannot be pulled here."""
    cuda_fails_on: str = ""
    """The driver version that is Ready here and does not work: the validator never passes on it."""
    is_pod_stuck: bool = False
    """A pod that is asked to leave never does: its kubelet waits for something that does not come."""
    is_dra_deaf: bool = False
    """A DRA plugin that is started again goes on telling of the driver it knew before."""
    is_eviction_blocked: bool = False
    """A disruption budget that allows nothing."""
    is_validator_lazy: bool = False
    """Nobody sends the validator through its checks again: it stays as it was until its pod is deleted."""
    is_gpu_lost: bool = False
    """One GPU does not survive the reload of the driver."""
    is_job_endless: bool = False
    """Jobs never finish by themselves."""
    is_work_unsaved: bool = False
    """Jobs that offer to save their work never do."""
    is_load_guarded: bool = False
    """A new driver waits for somebody to say that the node is safe to load on."""
    is_network_load_guarded: bool = False
    """The same of a new network driver."""
    is_maintenance_stuck: bool = False
    """The maintenance operator never gets the node empty."""
    manager_env: tuple[tuple[str, str], ...] | None = None
    """What the driver manager in its driver pods is told by name; None where there is no driver manager."""
    is_scaled_down: bool = False
    """Autoscalers look after the node: they remove it once it is cordoned and nobody uses it, unless told not to."""
    is_sriov_due: bool = False
    """The SR-IOV operator changes the NICs of the node once, which takes a drain."""
    is_work_waiting: bool = False
    """A job waits for GPUs, and is placed here the moment the node is open."""


HEALTHY: Final = Fate()


def touched(facts: NodeFacts, labels: Mapping[str, str] = MappingProxyType({})) -> NodeFacts:
    """The node object written to: whatever else changes, its version does, because labels alone are not compared."""
    after = {**facts.labels, **labels}
    return replace(
        facts,
        resource_version=next_of(facts.resource_version),
        labels=after,
        # Without deploy labels among them, what is paused is a plain fact, told to us as it is.
        paused_labels=_paused(after) if any(key.startswith(DEPLOY_PREFIX) for key in after) else facts.paused_labels,
    )


def _paused(labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(key for key, value in labels.items() if key.startswith(DEPLOY_PREFIX) and PAUSED in value))


def next_of(number: str) -> str:
    """The resource version after a write."""
    return str(int(number) + 1)


def successor_of(uid: str) -> str:
    """The uid of the pod that follows: its last part counts generations. That of a real pod counts nothing."""
    stem, _, generation = uid.rpartition("-")
    is_counted = generation.isdecimal() and not _REAL_UID.fullmatch(uid)
    return f"{stem}-{next_of(generation)}" if is_counted else f"{uid}-1"


def drawn(asked: str) -> float:
    """A number from 0 to 1: always the same for the same question, and without a bearing on any other.

    A checksum will not do: that of two names of one length differs by a constant, and so would the noise of two nodes.
    """
    return int.from_bytes(hashlib.sha256(asked.encode()).digest()[:8], "big") / 0xFFFFFFFFFFFFFFFF


def rebooted(facts: NodeFacts, at: ApiInstant) -> NodeFacts:
    """The node right after a reboot: the same pods, their containers started anew, nothing loaded and nothing proven.

    Who was on the way out is out.
    """
    driver, validator, plugin = facts.driver, facts.validator, facts.dra
    if driver is not None and not driver.is_terminating:
        driver = replace(
            driver, is_ready=False, ready_since=None, started_at=at, restart_count=driver.restart_count + 1
        )
    if validator is not None:
        validator = replace(validator, is_ready=False, ready_since=None)
    operands = tuple(
        replace(each, pod=replace(each.pod, is_ready=False)) if each.pod is not None else each
        for each in facts.operands
    )
    if plugin is not None:
        plugin = replace(plugin, is_ready=False, started_at=None)
    return replace(
        touched(facts),
        is_ready=True,
        ready_at=at,
        boot_id=successor_of(facts.boot_id or f"{facts.name}-boot-0"),
        driver=driver,
        validator=validator,
        dra=plugin,
        operands=operands,
        offer=replace(facts.offer, resources=tuple((name, 0) for name, _ in facts.offer.resources)),
        pods=tuple(pod for pod in facts.pods if not pod.is_terminating),
    )


def new_node(
    name: str,
    *,
    running: DriverRevision,
    wanted: DriverRevision,
    gpu_pod_count: int = 0,
    is_cordoned: bool = False,
    pods: Iterable[Pod] = (),
    clients: Iterable[str] = (),
    gpu_count: int = 0,
    has_features: bool = False,
    has_dra: bool = False,
    labels: Mapping[str, str] | None = None,
    at: ApiInstant = 0.0,
) -> NodeSeen:
    """A healthy node that runs one revision and is wanted to run another.

    `clients` are the names of DaemonSets that hold GPUs and leave when their deploy label is paused. What is left out
    (GPUs on offer, feature discovery, a DRA plugin) cannot be observed on this node, and does nothing by itself.
    """
    jobs = (
        Pod(namespace="jobs", name=f"train-{name}-{index}", uid=f"pod-{name}-{index}", gpu=GpuUse.RESOURCE)
        for index in range(gpu_pod_count)
    )
    deploy = {f"{DEPLOY_PREFIX}{client}": "true" for client in clients}
    plugin = DraPlugin(
        namespace="dra", name=f"plugin-{name}", uid=f"plugin-{name}-0", is_ready=True, started_at=at + 1.0
    )
    facts = NodeFacts(
        name=name,
        resource_version="1",
        labels={**deploy, **({COUNT_LABEL: str(gpu_count)} if gpu_count else {}), **(labels or {})},
        is_cordoned=is_cordoned,
        ready_at=at,
        boot_id=f"{name}-boot-0",
        wanted=wanted,
        driver=_driver_pod(name, running, at),
        validator=_validator_pod(name, at),
        dra=plugin if has_dra else None,
        published=(running.version,) if has_dra else (),
        loaded=Loaded(version=running.version, seen_at=at) if has_features else None,
        offer=GpuOffer(resources=((GPU, gpu_count),)) if gpu_count else GpuOffer(),
        pods=(*jobs, *pods, *(client_of(name, key, at) for key in deploy)),
    )
    return NodeSeen(facts=facts)


def _driver_pod(node: str, running: DriverRevision, at: ApiInstant) -> DriverPod:
    return DriverPod(
        namespace="gpu-operator",
        name=f"driver-{node}",
        uid=f"driver-{node}-0",
        revision=running.hash,
        version=running.version,
        digest=running.digest,
        is_ready=True,
        ready_since=at,
    )


def _validator_pod(node: str, at: ApiInstant) -> ValidatorPod:
    return ValidatorPod(
        namespace="gpu-operator", name=f"validator-{node}", uid=f"validator-{node}-0", is_ready=True, ready_since=at
    )


def client_of(node: str, deploy_label: str, at: ApiInstant) -> Pod:
    """The pod that a DaemonSet holding GPUs runs on a node."""
    name = f"{deploy_label.removeprefix(DEPLOY_PREFIX)}-{node}"
    return Pod(
        namespace="gpu-operator",
        name=name,
        uid=f"{name}-{at:g}",
        gpu=GpuUse.RESOURCE,
        keeper=PodOwner.DAEMON_SET,
        deploy_label=deploy_label,
    )
