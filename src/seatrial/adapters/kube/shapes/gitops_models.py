"""The fields we read of what GitOps engines and OLM say of themselves, and of the releases that they or others bring.

As in models.py, what is not named here is dropped while decoding.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.adapters.kube.shapes.models import Condition, ManagedMeta, Model, ObjectMeta

# ── Applications ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Automated(Model, frozen=True):
    enabled: bool | None = None
    """Only a plain no is one."""


class SyncPolicy(Model, frozen=True):
    automated: Automated | None = None


class ApplicationSpec(Model, frozen=True):
    sync_policy: SyncPolicy | None = None
    source: dict[str, Any] | None = None
    sources: tuple[dict[str, Any], ...] = ()
    """As they are: who sets the version of one writes all of them again."""


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
    metadata: ManagedMeta = ManagedMeta()
    spec: ApplicationSpec = ApplicationSpec()
    status: ApplicationStatus = ApplicationStatus()


# ── toolkit ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class ChartSpec(Model, frozen=True):
    chart: str = ""
    version: str = ""


class ChartTemplate(Model, frozen=True):
    spec: ChartSpec = ChartSpec()


class ToolkitSpec(Model, frozen=True):
    suspend: bool | None = None
    chart: ChartTemplate | None = None
    """Of a HelmRelease that names its chart itself."""


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

    metadata: ManagedMeta = ManagedMeta()
    spec: ToolkitSpec = ToolkitSpec()
    status: ToolkitStatus = ToolkitStatus()


# ── releases ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class DeploymentSpec(Model, frozen=True):
    replicas: int | None = None


class DeploymentStatus(Model, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0


class OperatorDeployment(Model, frozen=True):
    """The Deployment of an operator, by which its release is known."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_rolled_out(self) -> bool:
        """Whether all its pods are those it wants, and no other is left."""
        status, wanted = self.status, 1 if self.spec.replicas is None else self.spec.replicas
        counts = {status.replicas, status.updated_replicas, status.available_replicas}
        return status.observed_generation >= self.metadata.generation and counts == {wanted}


# ── OLM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Named(Model, frozen=True):
    name: str = ""


class SubscriptionSpec(Model, frozen=True):
    name: str = ""
    """The package."""
    install_plan_approval: str = "Automatic"


class SubscriptionStatus(Model, frozen=True):
    installed_csv: str = msgspec.field(default="", name="installedCSV")
    install_plan_ref: Named | None = None
    conditions: tuple[Condition, ...] = ()


class Subscription(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: SubscriptionSpec = SubscriptionSpec()
    status: SubscriptionStatus = SubscriptionStatus()


class InstallPlanSpec(Model, frozen=True):
    cluster_service_version_names: tuple[str, ...] = ()
    approved: bool = False


class InstallPlanStatus(Model, frozen=True):
    phase: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()


class InstallPlan(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: InstallPlanSpec = InstallPlanSpec()
    status: InstallPlanStatus = InstallPlanStatus()


class CsvStatus(Model, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""


class Csv(Model, frozen=True):
    """A ClusterServiceVersion."""

    metadata: ObjectMeta = ObjectMeta()
    status: CsvStatus = CsvStatus()
