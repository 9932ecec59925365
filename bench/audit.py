"""One audit, and one diagnosis, of a large cluster: CPU and memory of our process alone.

    python -m bench.audit [--nodes 5000] [--pods 50000] [--no-keep]

A stand-in in a process of its own serves the cluster page by page: nodes as feature discovery labels them, ten pods on
each (driver, toolkit, plugin, validator, exporter and tenants), in the size that an API server sends. It shows what our
side costs; what an API server needs to answer is not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web
from bench.machine import keep, machine

OPERANDS: Final = {
    "nvidia-driver-daemonset": ("nvidia-driver-ctr", "nvcr.io/nvidia/driver:580.105.08-ubuntu22.04"),
    "nvidia-container-toolkit-daemonset": (
        "nvidia-container-toolkit-ctr",
        "nvcr.io/nvidia/k8s/container-toolkit:v1.18.1",
    ),
    "nvidia-device-plugin-daemonset": ("nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.18.1"),
    "nvidia-operator-validator": (
        "nvidia-operator-validator",
        "nvcr.io/nvidia/cloud-native/gpu-operator-validator:v25.10.1",
    ),
    "nvidia-dcgm-exporter": ("nvidia-dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.0-distroless"),
}
PADDING: Final = "x" * 60
AT: Final = "2026-10-01T08:00:00Z"


def a_node(number: int) -> dict[str, Any]:
    name = f"gpu-{number:05}"
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{each}": "true" for each in range(60)}
    labels |= {
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/cuda.driver-version.full": "580.105.08" if number % 97 else "580.95.05",
        "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
        "feature.node.kubernetes.io/system-os_release.VERSION_ID": "22.04",
    }
    info = {"kernelVersion": "5.15.0-142-generic", "osImage": "Ubuntu 22.04.5 LTS", "kubeletVersion": "v1.33.5"}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, "annotations": {"csi": PADDING * 8}},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "nodeInfo": {**info, "containerRuntimeVersion": "containerd://1.7.27"},
            "allocatable": {"nvidia.com/gpu": "8", "cpu": "128"},
            "capacity": {"nvidia.com/gpu": "8", "cpu": "128"},
            "conditions": [{"type": "Ready", "status": "True", "message": PADDING, "lastTransitionTime": AT}],
            "images": [{"names": [f"registry.example.net/{PADDING}@sha256:{each:064}"]} for each in range(50)],
        },
    }


def a_pod(number: int, per_node: int) -> dict[str, Any]:
    node, place = f"gpu-{number // per_node:05}", number % per_node
    names = [*OPERANDS]
    app = names[place] if place < len(names) else ""
    container, image = OPERANDS[app] if app else ("main", "registry.example.net/team/train:1")
    asked = {} if app else {"limits": {"nvidia.com/gpu": "1"}}
    return {
        "metadata": {
            "name": f"{app or 'train'}-{number:06}",
            "namespace": "gpu-operator" if app else "team",
            "creationTimestamp": AT,
            "labels": {"app": app} if app else {},
            "ownerReferences": [{"kind": "DaemonSet" if app else "Job", "name": app or "train", "controller": True}],
        },
        "spec": {
            "nodeName": node,
            "containers": [
                {
                    "name": container,
                    "image": image,
                    "resources": asked,
                    "env": [{"name": f"E{each}", "value": PADDING} for each in range(12)],
                }
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": AT}],
            "containerStatuses": [{"name": container, "ready": True, "state": {"running": {"startedAt": AT}}}],
        },
    }


def serve(nodes: int, pods: int, told: Any) -> None:
    """Answer lists; what a kind has is made page by page."""
    sets = [
        {
            "metadata": {"name": app, "namespace": "gpu-operator"},
            "spec": {
                "updateStrategy": {"type": "OnDelete"},
                "template": {"spec": {"containers": [{"name": name, "image": image}]}},
            },
        }
        for app, (name, image) in OPERANDS.items()
    ]

    async def reply(request: web.Request) -> web.Response:
        path = request.path
        kind = path.rsplit("/", 1)[-1]
        if kind == "log":
            return web.Response(text="")
        made = {
            "nodes": (nodes, a_node),
            "pods": (pods, lambda each: a_pod(each, pods // nodes)),
            "daemonsets": (len(sets), sets.__getitem__),
            "deployments": (0, a_node),
            "events": (0, a_node),
        }.get(kind)
        if made is None:
            return web.Response(status=404, text="404 page not found")
        count, one = made
        start, size = int(request.query.get("continue", 0)), int(request.query.get("limit", 500))
        items = [one(each) for each in range(start, min(start + size, count))]
        if "/namespaces/" in path:
            items = [
                each for each in items if each["metadata"]["namespace"] == path.split("/namespaces/")[1].split("/")[0]
            ]
        more = str(start + size) if start + size < count else ""
        return web.Response(
            body=json.dumps({"metadata": {"resourceVersion": "1", "continue": more}, "items": items}).encode(),
            content_type="application/json",
        )

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", reply)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


def measured(kubeconfig: Path, *command: str) -> dict[str, Any]:
    """A command of ours: its CPU, its memory, how long it took and how it ended."""
    started = time.monotonic()
    called = [sys.executable, "-m", "seatrial", *command, "--kubeconfig", str(kubeconfig)]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(called, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        said = json.loads(out.read())
    after = time.monotonic()
    return {
        "command": " ".join(command),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "wall_seconds": round(after - started, 1),
        "max_rss_mib": round(usage.ru_maxrss / 1024, 1),
        "exit_code": os.waitstatus_to_exitcode(status),
        "findings": len(said.get("findings", said.get("failures", []))),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    asked = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(asked.nodes, asked.pods, theirs), daemon=True
    )
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kubeconfig"
        named = {
            "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "x", "user": {}}],
        }
        contexts = {"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "current-context": "x"}
        path.write_text(yaml.safe_dump(named | contexts))
        runs = [measured(path, "audit", "-o", "json"), measured(path, "doctor", "-o", "json", "--no-logs")]
    result = {"machine": machine(), "nodes": asked.nodes, "pods": asked.pods, "runs": runs}
    print(json.dumps(result, indent=2))
    if not asked.no_keep:
        print(keep("audit", result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
