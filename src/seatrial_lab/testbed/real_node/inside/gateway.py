"""Listens inside a real node for what answers on this machine's loopback: the API server, first of all.

Run as a plain file by an isolated Python: `python -I -S gateway.py HOLDER INSIDE=OUTSIDE…`, each a HOST:PORT. Its
listening sockets belong to the network namespace of the node, its own connections to the machine's: so nothing has to
listen on an address that others could reach, and no packet has to be rewritten.
Tests: tests/testbed/test_real_node.py
"""

import asyncio
import ctypes
import os
import socket
import sys
from contextlib import suppress

CLONE_NEWNET = 1 << 30
LISTENING = "the gateway is open"
CHUNK_BYTES = 1 << 16


def main() -> None:
    """Open every way, then pass on until ended."""
    holder, ways = sys.argv[1], [each.partition("=") for each in sys.argv[2:]]
    outside = os.open("/proc/self/ns/net", os.O_RDONLY)
    _go_to(os.open(f"/proc/{holder}/ns/net", os.O_RDONLY))
    doors = [(socket.create_server(_address(inside)), _address(target)) for inside, _, target in ways]
    _go_to(outside)
    asyncio.run(_serve(doors))


async def _serve(doors: list[tuple[socket.socket, tuple[str, int]]]) -> None:
    def passing_to(target: tuple[str, int]) -> object:
        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                far_reader, far_writer = await asyncio.open_connection(*target)
            except OSError:
                writer.close()  # nobody answers there; whoever asked sees a connection that ends
                return
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))

        return pass_on

    for door, target in doors:
        await asyncio.start_server(passing_to(target), sock=door)  # type: ignore[arg-type]
    print(LISTENING, flush=True)
    await asyncio.Event().wait()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await source.read(CHUNK_BYTES):
            sink.write(part)
            await sink.drain()
    with suppress(OSError, RuntimeError):
        sink.close()


def _go_to(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        sys.exit(f"the network namespace cannot be entered: {os.strerror(ctypes.get_errno())}")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    main()
