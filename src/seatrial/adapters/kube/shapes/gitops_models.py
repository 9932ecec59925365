"""The fields we read of what GitOps engines say of themselves: Applications, Kustomizations, HelmReleases.

As in models.py, what is not named here is dropped while decoding.
"""

from __future__ import annotations

from seatrial.adapters.kube.shapes.models import Condition, Model, ObjectMeta

# ── Applications ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Automated(Model, frozen=True):
    enabled: bool | None = None
    """Only a plain no is one."""


class SyncPolicy(Model, frozen=True):
    automated: Automated | None = None


class ApplicationSpec(Model, frozen=True):
    sync_policy: SyncPolicy | None = None


class SyncStatus(Model, frozen=True):
    status: str = ""
    revision: str = ""


class Operation(Model, frozen=True):
    phase: str = ""
    message: str = ""
    retry_count: int = 0


class Deployed(Model, frozen=True):
    revision: str = ""


class ApplicationStatus(Model, frozen=True):
    sync: SyncStatus = SyncStatus()
    operation_state: Operation | None = None
    history: tuple[Deployed, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Application(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ApplicationSpec = ApplicationSpec()
    status: ApplicationStatus = ApplicationStatus()


# ── toolkit ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class ToolkitSpec(Model, frozen=True):
    suspend: bool | None = None


class Release(Model, frozen=True):
    chart_version: str = ""
    status: str = ""


class ToolkitStatus(Model, frozen=True):
    conditions: tuple[Condition, ...] = ()
    last_applied_revision: str = ""
    """Of a Kustomization; a HelmRelease does not say it."""
    history: tuple[Release, ...] = ()
    """What a HelmRelease released, the newest first."""


class ToolkitObject(Model, frozen=True):
    """A Kustomization or a HelmRelease: what concerns us is the same in both."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ToolkitSpec = ToolkitSpec()
    status: ToolkitStatus = ToolkitStatus()
