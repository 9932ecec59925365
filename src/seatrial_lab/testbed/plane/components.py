"""The command line of every program in the control plane. Only values in, values out.

Limits are high on purpose: a fleet of 1,000 nodes must be limited by this machine, not by a client's politeness.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from seatrial_lab.testbed.plane import credentials

Command = list[str | Path]

QUERIES_PER_SECOND: Final = 5000
QUERIES_BURST: Final = 10000

EXTENDED_RESOURCES: Final = "DRAExtendedResource=true"
"""Off by default in this release: claims that the scheduler makes for a plain request of an extended resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The loopback ports of one control plane."""

    etcd_client: int
    etcd_peer: int
    api_server: int
    controller_manager: int
    scheduler: int


def etcd(program: Path, *, folder: Path, ports: Ports) -> Command:
    """Return how to start etcd; it may lose its data in a power cut, and is much faster for it."""
    client, peer = f"http://127.0.0.1:{ports.etcd_client}", f"http://127.0.0.1:{ports.etcd_peer}"
    return [
        program,
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--quota-backend-bytes=4294967296",
        "--auto-compaction-retention=10m",
        "--log-level=warn",
    ]


def api_server(
    program: Path, *, folder: Path, ports: Ports, made: credentials.Credentials, audit_policy: Path, audit_log: Path
) -> Command:
    """Return how to start the API server."""
    url = f"https://127.0.0.1:{ports.api_server}"
    return [
        program,
        f"--etcd-servers=http://127.0.0.1:{ports.etcd_client}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.api_server}",
        f"--cert-dir={folder / 'api-server'}",
        f"--tls-cert-file={made.serving_certificate}",
        f"--tls-private-key-file={made.serving_key}",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        f"--token-auth-file={made.token_file}",
        f"--service-account-issuer={url}",
        f"--service-account-key-file={made.account_public_key}",
        f"--service-account-signing-key-file={made.account_key}",
        f"--service-cluster-ip-range={credentials.SERVICES}",
        # A loopback address may not be published as the endpoint of the service `kubernetes`, so nobody publishes one.
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        # Of a real node; nobody here serves its name.
        "--kubelet-preferred-address-types=InternalIP",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
        f"--audit-policy-file={audit_policy}",
        f"--audit-log-path={audit_log}",
        "--audit-log-mode=blocking",  # a request is in the log before its answer is complete
        "--audit-log-maxsize=100000",  # MB: never rotated away under a reader
        # etcd 3.5.1 cannot announce progress, without which a streamed list never ends: clients would try it, wait, and
        # only then list. Told so by the server they list at once.
        f"--feature-gates=WatchList=false,{EXTENDED_RESOURCES}",
        "--profiling=false",
        "--v=1",
    ]


def controller_manager(program: Path, *, kubeconfig: Path, ports: Ports, made: credentials.Credentials) -> Command:
    """Return how to start the controller manager."""
    return [
        program,
        *_beside_the_api_server(kubeconfig=kubeconfig, port=ports.controller_manager, made=made),
        f"--service-account-private-key-file={made.account_key}",
        f"--root-ca-file={made.authority}",
        "--node-monitor-grace-period=3600s",
        "--concurrent-daemonset-syncs=20",
        "--concurrent-deployment-syncs=20",
        "--concurrent-replicaset-syncs=20",
        "--concurrent-gc-syncs=20",
        # Pod addresses come from kwok; nobody routes them.
        "--allocate-node-cidrs=false",
        "--controllers=*,-cloud-node-lifecycle,-service-lb-controller,-node-route-controller",
        f"--feature-gates={EXTENDED_RESOURCES}",
    ]


def scheduler(program: Path, *, kubeconfig: Path, ports: Ports, made: credentials.Credentials) -> Command:
    """Return how to start the scheduler."""
    gates = f"--feature-gates={EXTENDED_RESOURCES}"
    return [program, *_beside_the_api_server(kubeconfig=kubeconfig, port=ports.scheduler, made=made), gates]


def kwok(program: Path, *, kubeconfig: Path, settings: Path) -> Command:
    """Return how to start kwok; its client has no limits of its own to raise."""
    return [
        program,
        f"--kubeconfig={kubeconfig}",
        f"--config={settings}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--enable-crds=Stage",
        "--cidr=10.128.0.0/9",
        "--node-ip=10.0.0.1",
        # Renewed every quarter of this: 1,000 nodes then cost about one request per second, well inside the
        # grace period of the controller manager.
        "--node-lease-duration-seconds=3000",
    ]


def kwok_settings() -> dict[str, Any]:
    """Return kwok's configuration: what has no flag. With it, a user's own file in the home folder is not read."""
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {"podPlayStageParallelism": 16, "nodePlayStageParallelism": 16, "nodeLeaseParallelism": 16},
    }


def _beside_the_api_server(*, kubeconfig: Path, port: int, made: credentials.Credentials) -> Command:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup=true",  # there are no client certificates to look up
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={made.serving_certificate}",
        f"--tls-private-key-file={made.serving_key}",
        "--leader-elect=false",
        f"--kube-api-qps={QUERIES_PER_SECOND}",
        f"--kube-api-burst={QUERIES_BURST}",
        "--profiling=false",
        "--v=1",
    ]
