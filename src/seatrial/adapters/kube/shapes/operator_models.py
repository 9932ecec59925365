"""The fields we read of the operators' own resources: ClusterPolicy, NVIDIADriver and NicClusterPolicy.

As in models.py, what is not named here is dropped while decoding. Tests: tests/adapters/kube/test_models.py
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.adapters.kube.shapes.models import Drain, ManagedMeta, Model, PodDeletion, WaitForCompletion


class UpgradePolicy(Model, frozen=True):
    auto_upgrade: bool | None = None
    max_parallel_upgrades: int | None = None
    max_unavailable: int | str | None = None
    wait_for_completion: WaitForCompletion | None = None
    pod_deletion: PodDeletion | None = None
    drain: Drain | None = None


class DriverManager(Model, frozen=True):
    env: tuple[dict[str, Any], ...] | None = None
    """As it is: what else stands in an entry goes back as it came."""


class PolicyDriver(Model, frozen=True):
    enabled: bool | None = None
    version: str = ""
    manager: DriverManager | None = None
    use_nvidia_driver_crd: bool | None = msgspec.field(default=None, name="useNvidiaDriverCRD")
    upgrade_policy: UpgradePolicy | None = None


class SandboxWorkloads(Model, frozen=True):
    enabled: bool | None = None


class PolicyOperand(Model, frozen=True):
    version: str = ""


class PolicyDaemonSets(Model, frozen=True):
    update_strategy: str = ""


class ClusterPolicySpec(Model, frozen=True):
    driver: PolicyDriver = PolicyDriver()
    daemonsets: PolicyDaemonSets = PolicyDaemonSets()
    toolkit: PolicyOperand = PolicyOperand()
    device_plugin: PolicyOperand = PolicyOperand()
    dcgm_exporter: PolicyOperand = PolicyOperand()
    mig_manager: PolicyOperand = PolicyOperand()
    gfd: PolicyOperand = PolicyOperand()
    validator: PolicyOperand = PolicyOperand()
    sandbox_workloads: SandboxWorkloads = SandboxWorkloads()


class StateStatus(Model, frozen=True):
    state: str = ""


class ClusterPolicy(Model, frozen=True):
    metadata: ManagedMeta = ManagedMeta()
    spec: ClusterPolicySpec = ClusterPolicySpec()
    status: StateStatus = StateStatus()


class NvidiaDriverSpec(Model, frozen=True):
    # Absent and empty are not the same: nodes with a GPU, and every node.
    node_selector: dict[str, str] | None = None
    default: bool = False
    version: str = ""
    manager: DriverManager | None = None
    upgrade_policy: UpgradePolicy | None = None


class NvidiaDriver(Model, frozen=True):
    metadata: ManagedMeta = ManagedMeta()
    spec: NvidiaDriverSpec = NvidiaDriverSpec()
    status: StateStatus = StateStatus()


class NetworkDriver(Model, frozen=True):
    version: str = ""
    upgrade_policy: UpgradePolicy | None = None


class NicClusterPolicySpec(Model, frozen=True):
    ofed_driver: NetworkDriver | None = None


class NicClusterPolicy(Model, frozen=True):
    metadata: ManagedMeta = ManagedMeta()
    spec: NicClusterPolicySpec = NicClusterPolicySpec()
