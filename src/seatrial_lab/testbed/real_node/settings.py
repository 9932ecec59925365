"""What the programs of a real node are told. Only values in, values out.

Paths are those that the programs see in their mount namespace; the folders behind them are the node's own.
What each setting is for that is not plain: docs/decisions/0029-a-real-node-in-namespaces.md.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Object = dict[str, Any]

SOCKET: Final = "/run/containerd/containerd.sock"
ROOT: Final = "/var/lib/kubelet"
"""Where the kubelet's device plugins look for it, whatever it is told."""
KERNEL: Final = "/run/nvidia"
"""What stands for the driver in the node's kernel: files that its containers and its device plugin share."""
MODULE: Final = f"{KERNEL}/module"
GPUS: Final = f"{KERNEL}/gpus"
FAULTS: Final = f"{KERNEL}/faults"
NODE_FILE: Final = f"{KERNEL}/node"
PAUSE_IMAGE: Final = "testbed.seatrial.dev/pause:1"
RUNTIME_HANDLER: Final = "nvidia"
PODS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the programs of a real node lie: built by us, or unpacked from Debian's packages."""

    kubelet: Path
    device_plugin: Path
    containerd: Path
    shims: Path
    """The folder with containerd's shims, which it finds by the PATH."""
    runc: Path
    cni: Path
    busybox: Path
    kubectl: Path


def containerd(programs: Programs, *, folder: Path) -> str:
    """Return containerd's settings."""
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    runtimes = "\n".join(
        f"""
[{cri}.containerd.runtimes.{name}]
  runtime_type = "io.containerd.runc.v2"
  [{cri}.containerd.runtimes.{name}.options]
    BinaryName = "{programs.runc}"
    SystemdCgroup = false"""
        for name in ("runc", RUNTIME_HANDLER)
    )
    return f"""\
version = 2
root = "{folder / "containerd"}"
state = "/run/containerd"

[grpc]
  address = "{SOCKET}"

[{cri}]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE nobody may lower the score, and runc would die of trying.
  restrict_oom_score_adj = true
  [{cri}.containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
  [{cri}.cni]
    bin_dir = "{programs.cni}"
    conf_dir = "{folder / "cni"}"
{runtimes}
"""


def cni(pods: str) -> Object:
    """Return how a pod gets its network: a pair of devices, and an address of the node's own range."""
    return {
        "cniVersion": "0.4.0",
        "name": "testbed",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}]},
            }
        ],
    }


def kubelet(*, resolver: Path) -> Object:
    """Return the kubelet's settings."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        # Fixed, because nobody else is in this network namespace.
        "address": "0.0.0.0",  # noqa: S104
        "port": 10250,
        "healthzPort": 10248,
        # Whoever may reach it is on this machine.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        # This machine's disk and memory are not the node's to judge.
        "evictionHard": {},
        "imageGCHighThresholdPercent": 100,
        "localStorageCapacityIsolation": False,
        "makeIPTablesUtilChains": False,
        "resolvConf": str(resolver),
        # As in any cluster, so that a kubelet does not warn about every pod; nobody answers there, and says so at once.
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        "maxPods": PODS_MAX,
        # What others see of a pod or a node, they see soon.
        "syncFrequency": "5s",
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 40,
        "serializeImagePulls": False,
        # A container that fails is started again soon; up to five minutes of waiting teach a test nothing.
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
    }


def kubelet_command(programs: Programs, *, name: str, address: str, kubeconfig: Path, config: Path) -> list[str]:
    """Return how to start the kubelet."""
    return [
        str(programs.kubelet),
        f"--kubeconfig={kubeconfig}",
        f"--config={config}",
        f"--hostname-override={name}",
        f"--node-ip={address}",
        f"--root-dir={ROOT}",
        f"--cert-dir={ROOT}/pki",
        "--v=2",
    ]
