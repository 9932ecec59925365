"""The fields we read of what only a campaign deals with: Jobs, MachineConfigPools, reviews of our own rights.

As in models.py, what is not named here is dropped while decoding.
"""

from __future__ import annotations

from seatrial.adapters.kube.shapes.models import Condition, Model, ObjectMeta

# ── probes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class JobStatus(Model, frozen=True):
    conditions: tuple[Condition, ...] = ()


class Job(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: JobStatus = JobStatus()


# ── OpenShift ────────────────────────────────────────────────────────────────────────────────────────────────────────


class CertificateExpiry(Model, frozen=True):
    expiry: str | None = None


class MachineConfigPoolSpec(Model, frozen=True):
    paused: bool = False


class MachineConfigPoolStatus(Model, frozen=True):
    # The API's own spelling is certExpirys.
    cert_expirys: tuple[CertificateExpiry, ...] = ()
    machine_count: int = 0


class MachineConfigPool(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: MachineConfigPoolSpec = MachineConfigPoolSpec()
    status: MachineConfigPoolStatus = MachineConfigPoolStatus()


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class AccessStatus(Model, frozen=True):
    allowed: bool = False


class AccessReview(Model, frozen=True):
    status: AccessStatus = AccessStatus()
