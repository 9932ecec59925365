"""A list of 100,000 pods, and the same list once more: memory of our process, and how long its loop stands still.

    python -m bench.listing [--pods 100000] [--no-keep]

A stand-in in a process of its own makes each page as it is asked for it, in the size that an API server sends: ten pods
on a node, half of them the operator's, half of tenants who hold GPUs, with managed fields and variables. The process
that is measured watches the row of pods as the controller does, and nothing else. How long its loop stands still is
told in the CPU time of its thread, which others on the machine do not change, and on the clock, which they do.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from bench.machine import keep, machine

from bench import audit
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.streams.row import Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.controller.main import settled

PER_NODE: Final = 10
FIELDS: Final = {f"f:field-{each}": {"f:name": {}, "f:value": audit.PADDING} for each in range(30)}


def a_pod(number: int) -> dict[str, Any]:
    """A pod with all that an API server adds to it."""
    pod = audit.a_pod(number, PER_NODE)
    pod["metadata"] |= {
        "uid": f"{number:08}-7f3c-4b1e-9c55-1c2d3e4f5a6b",
        "resourceVersion": str(1000 + number),
        "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": FIELDS}],
    }
    return pod


def serve(pods: int, told: Any) -> None:
    """Answer lists of pods page by page; a watch stays open and says nothing."""

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            stream = web.StreamResponse()
            await stream.prepare(request)
            await asyncio.Event().wait()
        start, size = int(request.query.get("continue", 0)), int(request.query["limit"])
        items = [a_pod(each) for each in range(start, min(start + size, pods))]
        more = str(start + size) if start + size < pods else ""
        page = {"metadata": {"resourceVersion": str(1000 + pods), "continue": more}, "items": items}
        return web.Response(body=json.dumps(page).encode(), content_type="application/json")

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", reply)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


class Pulse:
    """The longest that the loop stood still."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.cpu_seconds = self.wall_seconds = 0.0

    async def beat(self) -> None:
        while True:
            cpu, wall = time.thread_time(), time.monotonic()
            await asyncio.sleep(0)
            self.cpu_seconds = max(self.cpu_seconds, time.thread_time() - cpu)
            self.wall_seconds = max(self.wall_seconds, time.monotonic() - wall)

    def told(self) -> dict[str, float]:
        return {
            "still_cpu_ms_max": round(1000 * self.cpu_seconds, 1),
            "still_wall_ms_max": round(1000 * self.wall_seconds, 1),
        }


def _memory_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024, 1)


async def watched(port: int) -> dict[str, Any]:
    """List the pods twice."""
    config = configs.Config(
        server=f"http://127.0.0.1:{port}", context="bench", source="bench", identity=configs.Anonymous()
    )
    where, pulse, lists = Where(namespace="gpu-operator", home="seatrial"), Pulse(), []
    async with Client(config, user_agent="seatrial/bench") as client:
        before_mib = _memory_mib("VmHWM")
        async with Streams(client, (table.PODS,), where) as streams:
            pods = streams[table.PODS]
            streams.start(pulse.beat(), "pulse")
            for name in ("first", "again"):
                pulse.clear()
                heard, began, cpu = pods.state.last_heard, time.monotonic(), time.process_time()
                streams.list_anew({"pods"} if name == "again" else ())
                with settled() if name == "first" else nullcontext():
                    while pods.state.last_heard == heard or not pods.state.is_connected:
                        await asyncio.sleep(0.01)
                lists.append(
                    {
                        "list": name,
                        "wall_seconds": round(time.monotonic() - began, 1),
                        "cpu_seconds": round(time.process_time() - cpu, 1),
                        "peak_rss_mib": _memory_mib("VmHWM"),
                        **pulse.told(),
                    }
                )
            gc.collect()
            return {
                "kept": len(pods.store),
                "rss_before_mib": before_mib,
                "rss_after_mib": _memory_mib("VmRSS"),
                "lists": lists,
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.port is not None:
        print(json.dumps(asyncio.run(watched(asked.port))))
        return 0
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(asked.pods, theirs), daemon=True)
    server.start()
    called = [sys.executable, "-m", "bench.listing", "--port", str(ours.recv())]
    said = json.loads(subprocess.run(called, stdout=subprocess.PIPE, check=True).stdout)
    size = len(json.dumps(a_pod(PER_NODE - 1)))
    result = {"machine": machine(), "pods": asked.pods, "bytes_per_pod": size, **said}
    print(json.dumps(result, indent=2))
    if not asked.no_keep:
        print(keep("listing", result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
