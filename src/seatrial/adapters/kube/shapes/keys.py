"""The labels, annotations and paths seatrial reads and writes, spelled once."""

from __future__ import annotations

from typing import Final

from seatrial.core.model.gates.gate import PROBE_LABEL

# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

PREFIX: Final = "seatrial.dev/"
"""Whatever of a node begins so is ours."""
STATE_LABEL: Final = "seatrial.dev/gpu-driver-upgrade-state"
"""Ours. While a GPU Operator runs it strips NVIDIA's own key, so our state lives under this one."""
NETWORK_STATE_LABEL: Final = "seatrial.dev/ofed-driver-upgrade-state"
"""Ours, while the network driver of a node moves; the Network Operator strips NVIDIA's own key likewise."""
RECORD_ANNOTATION: Final = "seatrial.dev/upgrade"
ACCEPT_LOSS_ANNOTATION: Final = "seatrial.dev/accept-loss"
"""On a node, by its people: it may offer less than before the upgrade. Active when `true`."""

OBSERVED_PREFIX: Final = "seatrial.dev/observed-"
"""On a node, by its people: the version of a component that Kubernetes does not show, by the matrix's key, such as
seatrial.dev/observed-firmware_cx7."""

CHECKPOINT_ANNOTATION: Final = "seatrial.dev/checkpoint"
"""On a pod, by its author: it saves its work when asked. Active when `true`."""
CHECKPOINT_REQUESTED_ANNOTATION: Final = "seatrial.dev/checkpoint-requested"
"""On a pod, by us: the token of the question."""
CHECKPOINT_SAVED_ANNOTATION: Final = "seatrial.dev/checkpoint-saved"
"""On a pod, by itself: the token it has saved its work for."""
CHECKPOINT_SAVED_AT_ANNOTATION: Final = "seatrial.dev/checkpoint-saved-at"
"""On a pod, by itself, asked or not: when it last saved its work, as RFC 3339."""
SUSPENDED_BY_ANNOTATION: Final = "seatrial.dev/suspended-by"
SUSPENDED_FOR_ANNOTATION: Final = "seatrial.dev/suspended-for"
"""On a Workload of Kueue that we switched off: which attempt did so, and for which node."""
WORKLOADS: Final = "/apis/kueue.x-k8s.io/v1beta1/workloads"

MANAGER_CORDON_ANNOTATION: Final = "seatrial.dev/driver-manager-cordon"
"""On a node, by `seatrial driver-manager`: since when its cordon is there. Written and taken away with the cordon."""

CANARY_LABEL: Final = "seatrial.dev/canary"
"""On a node: the rollout whose canary it is. A MachineConfigPool of ours chooses its nodes by it."""
SKIPPED_BY_ANNOTATION: Final = "seatrial.dev/skipped-by"
"""On a node: the rollout that set NVIDIA's skip label, so that a person's stays when ours goes."""
ADOPTION_LABEL: Final = "seatrial.dev/adoption"
"""On a GPURollout that takes up what somebody left half-done: `to` or `back`."""
PAUSED_BY_ANNOTATION: Final = "seatrial.dev/paused-by"
"""On a MachineConfigPool: the rollout that paused it."""
PUBLISHED_ANNOTATION: Final = "seatrial.dev/published"
"""On a ClusterPolicy or NVIDIADriver: which step of which rollout wrote its driver version last."""
REROLLS_ANNOTATION: Final = "seatrial.dev/rerolls-dra"
"""On the Lease of a controller that restarts DRA plugins whoever made them stale: in which namespaces."""
DRA_ANNOTATION: Final = "seatrial.dev/dra-namespaces"
"""On the Lease of a controller: where it takes pods for DRA plugins; empty for where their charts put them."""
SUITE_ANNOTATION: Final = "seatrial.dev/probes-image"
"""On the Lease of a controller: the image whose payloads it asks of canaries where nobody names a gate."""
ROLLOUT_LABEL: Final = "seatrial.dev/rollout"
"""On what a campaign makes: in whose name."""
GATE_KEY: Final = PROBE_LABEL
NODE_KEY: Final = "seatrial.dev/node"
ROUND_KEY: Final = "seatrial.dev/round"
ATTEMPT_KEY: Final = "seatrial.dev/attempt"
GANG_KEY: Final = "seatrial.dev/gang"
"""On a probe that runs on several nodes at once: their names. On its pods: the Service that knows them."""
SOAK_PRIORITY: Final = "seatrial-soak"
"""The PriorityClass of a soak's pods, lower than anybody's: they give way to whoever wants the GPUs."""
JOB_LABEL: Final = "batch.kubernetes.io/job-name"
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
"""On a probe, as labels (cut to what a label may be) and as annotations (whole): what it measures."""

# ── NVIDIA's: a dot follows "upgrade" in some of them, and a dash in others ──────────────────────────────────────────

NVIDIA_STATE_LABEL: Final = "nvidia.com/gpu-driver-upgrade-state"
"""NVIDIA's. Mirrored by us only where no GPU Operator runs."""
SKIP_LABEL: Final = "nvidia.com/gpu-driver-upgrade.skip"
REQUESTED_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade-requested"
"""Active only when exactly `true`."""
SAFE_LOAD_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load"
"""Active when not empty, whatever it says."""

NVIDIA_NETWORK_STATE_LABEL: Final = "nvidia.com/ofed-driver-upgrade-state"
"""NVIDIA's. Mirrored by us only where no Network Operator runs."""
NETWORK_SKIP_LABEL: Final = "nvidia.com/ofed-driver-upgrade.skip"
NETWORK_SAFE_LOAD_ANNOTATION: Final = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load"

INITIAL_STATE_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable"
"""Its controller found the node cordoned; active when it is there."""
UPGRADE_ENABLED_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade-enabled"
"""NVIDIA's controller empties the node itself; active only when exactly `true`."""
JOBS_TIMER_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time"
VALIDATION_TIMER_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade-validation-start-time"
REQUESTOR_MODE_ANNOTATION: Final = "nvidia.com/gpu-driver-upgrade-requestor-mode"

DEPLOY_PREFIX: Final = "nvidia.com/gpu.deploy."
"""Node labels by which the operands' DaemonSets choose their nodes."""

DRIVER_VERSION_LABEL: Final = "nvidia.com/cuda.driver-version.full"
LEGACY_VERSION_LABELS: Final = (
    "nvidia.com/cuda.driver.major",
    "nvidia.com/cuda.driver.minor",
    "nvidia.com/cuda.driver.rev",
)
"""What feature discovery wrote before: numbers, so 580.105.08 has the revision 8 or 08."""
DISCOVERED_AT_LABEL: Final = "nvidia.com/gfd.timestamp"
"""When feature discovery looked, in unix seconds."""
PRODUCT_LABEL: Final = "nvidia.com/gpu.product"
CUDA_LEVEL_LABEL: Final = "nvidia.com/cuda.runtime-version.full"
"""The newest CUDA that the loaded driver supports."""
MOFED_LABEL: Final = "nvidia.com/mofed.version"
PRESENT_LABELS: Final = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
)
"""A node has an NVIDIA GPU where any of these is `true`: the operator's word, and that of node feature discovery."""
OS_ID_LABEL: Final = "feature.node.kubernetes.io/system-os_release.ID"
OS_VERSION_LABEL: Final = "feature.node.kubernetes.io/system-os_release.VERSION_ID"
MIG_CONFIG_LABEL: Final = "nvidia.com/mig.config"
MIG_STATE_LABEL: Final = "nvidia.com/mig.config.state"

RESOURCE_PREFIX: Final = "nvidia.com/"
RUNTIME_HANDLER_PREFIX: Final = "nvidia"

# ── operands ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DRIVER_SELECTORS: Final = (
    ("app", "nvidia-driver-daemonset"),
    ("app.kubernetes.io/component", "nvidia-driver"),
    ("openshift.driver-toolkit", "true"),
)
"""Any of these on a pod of the operator's namespace makes it a driver pod (ClusterPolicy, NVIDIADriver, OpenShift)."""
APP_LABEL: Final = "app"
VALIDATOR_SELECTOR: Final = ("app", "nvidia-operator-validator")
REVISION_LABEL: Final = "controller-revision-hash"
BUILT_FOR_LABEL: Final = "kernel"
"""On a pod of the network driver: the kernel it was built for."""
NETWORK_DRIVER_LABEL: Final = "nvidia.com/ofed-driver"
"""On a pod of the network driver, and on its DaemonSet, whatever its value."""
NETWORK_NAMESPACE: Final = "nvidia-network-operator"
"""Where NVIDIA's chart, and OpenShift's hub, put the Network Operator and its DaemonSets."""
CHART_LABEL: Final = "helm.sh/chart"
RELEASE_LABEL: Final = "app.kubernetes.io/version"
COPIED_LABEL: Final = "olm.copiedFrom"
"""On a ClusterServiceVersion that OLM only shows in another namespace."""
DIGEST_VARIABLE: Final = "DRIVER_CONFIG_DIGEST"
"""What of the driver's configuration is loaded with it, hashed by the GPU Operator."""

DRA_OPERATORS: Final = ("app", "nvidia-dra-driver-kubelet-plugin")
"""The DRA plugin that the GPU Operator runs itself, for a GPUCluster."""
DRA_SELECTORS: Final = (("nvidia-dra-driver-gpu-component", "kubelet-plugin"), DRA_OPERATORS)
"""Any of these makes a pod a DRA plugin, where those run: both charts (new and old), and the operator's own."""
DRA_NAMESPACES: Final = ("nvidia-dra-driver-gpu", "nvidia-dra-driver", "dra-driver-nvidia-gpu")
"""Where its charts, and people, put the DRA driver; the operator's own is in the operator's namespace."""
DRA_NAMES: Final = frozenset({"nvidia-dra-driver-gpu", "dra-driver-nvidia-gpu"})
NAME_LABEL: Final = "app.kubernetes.io/name"
COMPONENT_SUFFIX: Final = "-component"
"""The charts put the plugin's component under a key made of the release's name, which people override."""
DRA_COMPONENT: Final = "kubelet-plugin"

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"

GPU_DRIVER: Final = "gpu.nvidia.com"
"""The DRA driver whose slices tell the version of the NVIDIA driver; those of compute-domain.nvidia.com do not."""
DRIVER_VERSION_ATTRIBUTE: Final = "driverVersion"

HOME: Final = "seatrial"
"""The controller's own namespace as the manifests have it: its lease is there, and its probes unless told otherwise."""
EVERYWHERE: Final = ""
"""For who looks, and does not know in which namespace a controller has its probes."""

# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
JOBS: Final = "/apis/batch/v1/jobs"
"""Those of everybody; our own are under `jobs_path`."""
POD_BUDGETS: Final = "/apis/policy/v1/poddisruptionbudgets"
API_VERSION: Final = "seatrial.dev/v1alpha1"
FINALIZER: Final = "seatrial.dev/tidy-up"
"""On every rollout that we write for: it goes only when we have tidied up after it."""
ROLLOUTS: Final = f"/apis/{API_VERSION}/gpurollouts"
CLUSTER_POLICIES: Final = "/apis/nvidia.com/v1/clusterpolicies"
NVIDIA_DRIVERS: Final = "/apis/nvidia.com/v1alpha1/nvidiadrivers"
NIC_POLICIES: Final = "/apis/mellanox.com/v1alpha1/nicclusterpolicies"
DRA_VERSIONS: Final = tuple(f"resource.k8s.io/{version}" for version in ("v1", "v1beta2", "v1beta1"))
"""Under which API servers have the kinds of DRA, the youngest first; what we read of them is the same in all."""
RESOURCE_CLAIMS: Final = tuple(f"/apis/{version}/resourceclaims" for version in DRA_VERSIONS)
RESOURCE_SLICES: Final = tuple(f"/apis/{version}/resourceslices" for version in DRA_VERSIONS)
NODE_MAINTENANCES: Final = "/apis/maintenance.nvidia.com/v1alpha1/nodemaintenances"
DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
APPLICATIONS: Final = "/apis/argoproj.io/v1alpha1/applications"
KUSTOMIZATIONS: Final = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
SUBSCRIPTIONS: Final = "/apis/operators.coreos.com/v1alpha1/subscriptions"
INSTALL_PLANS: Final = "/apis/operators.coreos.com/v1alpha1/installplans"
CLUSTER_SERVICE_VERSIONS: Final = "/apis/operators.coreos.com/v1alpha1/clusterserviceversions"
HELM_RELEASES: Final = "/apis/helm.toolkit.fluxcd.io/v2/helmreleases"
MACHINE_POOLS: Final = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
OTHERS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
WHO_AM_I: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def workload_path(namespace: str, name: str) -> str:
    """Where a Workload of Kueue is."""
    return f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{namespace}/workloads/{name}"


def revisions_path(namespace: str) -> str:
    """Where the revisions of the operator's DaemonSets are listed."""
    return f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions"


def daemon_sets_path(namespace: str) -> str:
    """Where the operator's DaemonSets are listed."""
    return f"/apis/apps/v1/namespaces/{namespace}/daemonsets"


def events_path(namespace: str) -> str:
    """Where the events about the operator's pods are listed, and those about probes."""
    return f"/api/v1{_inside(namespace)}/events"


def maintenances_path(namespace: str) -> str:
    """Where NodeMaintenances of one namespace are made and changed."""
    return f"/apis/maintenance.nvidia.com/v1alpha1/namespaces/{namespace}/nodemaintenances"


def jobs_path(namespace: str) -> str:
    """Where the probes of gates are made and listed."""
    return f"/apis/batch/v1{_inside(namespace)}/jobs"


def services_path(namespace: str) -> str:
    """Where the name is made by which the pods of a gang find each other."""
    return f"/api/v1{_inside(namespace)}/services"


def claim_templates_path(namespace: str) -> str:
    """Where the templates are made by which pods of probes claim their GPUs."""
    return f"/apis/resource.k8s.io/v1{_inside(namespace)}/resourceclaimtemplates"


def pods_path(namespace: str) -> str:
    """Where the pods of probes are listed."""
    return f"/api/v1{_inside(namespace)}/pods"


def _inside(namespace: str) -> str:
    return f"/namespaces/{namespace}" if namespace != EVERYWHERE else ""
