"""Pods, as far as a driver concerns them: who uses the GPUs of a node, and who brings, proves and shares its driver.

Law of this file: a pod is known by its uid, and what is not known of it is None or empty.
Tests: tests/core/model/test_snapshot.py
"""

from __future__ import annotations

from enum import StrEnum

from seatrial.core.base.values import dataclass
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.gates.gate import PROBE_LABEL
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.troubles import Symptom


class PodOwner(StrEnum):
    """Who puts a pod back when it goes."""

    CONTROLLER = "controller"
    """A ReplicaSet, a Job and their like: somewhere, when there is room."""
    DAEMON_SET = "daemon-set"
    """On the same node, at once."""
    KUBELET = "kubelet"
    """A static pod: what the API server shows is a mirror, and evicting it moves nothing."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod on a node that is no operand of the driver: perhaps a user of its GPUs, perhaps a job to wait for."""

    namespace: str
    name: str
    uid: str
    labels: tuple[tuple[str, str], ...] = ()
    gpu: GpuUse | None = None
    """How it holds a GPU, if it does; then it has to leave before the driver does."""
    gpu_count: int = 0
    """How many whole GPUs it asked for; 0 where it holds what it holds in another way."""
    claimed: tuple[str, ...] = ()
    """The GPUs that it holds by claims, by pool and name; another pod may hold the same one."""
    is_running: bool = False
    """All of its containers run and are ready."""
    restarted_at: ApiInstant | None = None
    """When one of its containers last ended that was started again; None where none did."""
    holds_claim: bool = False
    """Whether the kubelet needs the DRA plugin to let it go, be it only a monitor."""
    is_terminating: bool = False
    keeper: PodOwner = PodOwner.CONTROLLER
    has_empty_dir: bool = False
    deploy_label: str = ""
    """For a DaemonSet's pod: the node label (nvidia.com/gpu.deploy.…) by which its DaemonSet chooses nodes."""
    offers_checkpoint: bool = False
    checkpoint_asked: str = ""
    """Which attempt has asked it to save its work, and which one it has saved it for."""
    checkpoint_saved: str = ""
    workload: str = ""
    """The Workload of Kueue that it belongs to, in its namespace; empty for none that could be switched off."""
    suspended_for: str = ""
    """Which attempt has switched that Workload off, so that Kueue ends the pod."""
    job: PodJob | None = None
    """The job that it is part of, where it holds a GPU, or may."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_probe(self) -> bool:
        """Whether it measures a gate of ours."""
        return any(key == PROBE_LABEL for key, _ in self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRevision:
    """What a driver DaemonSet wants to run: the newest revision of its template."""

    hash: str
    version: str
    """Driver version read from the image tag; empty when the tag does not say (a digest, a precompiled image)."""
    digest: str = ""
    """DRIVER_CONFIG_DIGEST: equal digests mean that the loaded modules may stay as they are."""
    image: str = ""
    """The driver container's image, as the template names it."""

    def image_with(self, version: str) -> str:
        """The image of another version, as far as this one's name tells; empty where it does not."""
        is_told = self.version and self.version in self.image
        return self.image.replace(self.version, version) if is_told else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPod:
    """The driver pod of a node."""

    namespace: str
    name: str
    uid: str
    revision: str
    version: str = ""
    digest: str = ""
    is_orphaned: bool = False
    """Nobody owns it any more: its DaemonSet was taken away from over it."""
    is_ready: bool = False
    ready_since: ApiInstant | None = None
    started_at: ApiInstant | None = None
    """When the driver's container started, which a restart in place moves without a new pod."""
    is_terminating: bool = False
    restart_count: int = 0
    trouble: str = ""
    """Why a container waits, in the kubelet's word (ImagePullBackOff, CrashLoopBackOff); empty when none says so."""
    symptoms: tuple[Symptom, ...] = ()

    @property
    def loaded_at(self) -> ApiInstant | None:
        """Since when the driver that runs now has been usable; None while it is not known to be."""
        if self.ready_since is None:
            return None
        return max(self.ready_since, self.started_at or self.ready_since)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorPod:
    """The validator pod of a node; its checks run when it starts, so *when* it became ready is what counts."""

    name: str
    namespace: str = ""
    uid: str = ""
    is_ready: bool = False
    ready_since: ApiInstant | None = None
    is_terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DraPlugin:
    """The DRA kubelet plugin of a node: it keeps the driver's library open, so it must be younger than the driver."""

    namespace: str
    name: str
    uid: str
    is_ready: bool = False
    started_at: ApiInstant | None = None
    """When the first of its containers started; None while none runs."""
    is_terminating: bool = False
    is_operators: bool = False
    """The GPU Operator's own (GPUCluster), which it restarts itself."""
