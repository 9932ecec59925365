"""A stand-in API server beside a test of the command line, which has an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.adapters.kube import standin


@contextmanager
def serving(reply: standin.Reply, kubeconfig: Path) -> Iterator[list[str]]:
    """Answer as the reply says while the block lasts; gives the options that lead a command there."""
    urls: list[str] = []
    is_up, over = threading.Event(), threading.Event()

    async def run() -> None:
        async with standin.running() as server:
            server.will(reply)
            urls.append(server.url)
            is_up.set()
            while not over.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert is_up.wait(20)
        named = {"clusters": [{"name": "x", "cluster": {"server": urls[0]}}], "users": [{"name": "x", "user": {}}]}
        contexts = {"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "current-context": "x"}
        kubeconfig.write_text(yaml.safe_dump(named | contexts))
        yield ["--kubeconfig", str(kubeconfig)]
    finally:
        over.set()
        thread.join(20)
