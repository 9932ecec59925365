"""Which libraries a program needs, read from its ELF header: the loader's own question, asked without running it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little-endian: both of our architectures
MACHINES: Final = {62: "amd64", 183: "arm64"}
_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS = 1, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What an ELF file says of itself."""

    architecture: str
    needed: tuple[str, ...]


def read(content: bytes) -> Program | None:
    """The program, None where the bytes are something else."""
    if not content.startswith(MAGIC):
        return None
    (machine,) = struct.unpack_from("<H", content, 18)
    segments = _segments(content)
    entries = [
        struct.unpack_from("<QQ", content, at)
        for kind, offset, _, size in segments
        if kind == _DYNAMIC
        for at in range(offset, offset + size, 16)
    ]
    strings = next((value for tag, value in entries if tag == _STRINGS), 0)
    start = next(
        (
            strings - address + offset
            for kind, offset, address, size in segments
            if kind == _LOAD and address <= strings < address + size
        ),
        0,
    )
    names = [content[start + value : content.index(b"\0", start + value)] for tag, value in entries if tag == _NEEDED]
    return Program(architecture=MACHINES[machine], needed=tuple(name.decode("ascii") for name in names))


def _segments(content: bytes) -> list[tuple[int, int, int, int]]:
    """Kind, place in the file, address and size of each."""
    (table,) = struct.unpack_from("<Q", content, 32)
    each, count = struct.unpack_from("<HH", content, 54)
    found = []
    for at in range(table, table + each * count, each):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", content, at)
        found.append((kind, offset, address, size))
    return found
