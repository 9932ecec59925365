"""One line of a journal: a JSON object whose last member, `chain`, is the hash of its bytes behind the chain before.

    {"at": …, "kind": "act", "id": …, "chain": "sha256(chain of the line before + everything up to here)"}

The bytes are hashed and not their meaning: not even a blank can be added without showing. What a chain cannot show is
that lines are missing at the very end.

Tests: tests/adapters/journal/test_jsonl.py
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

GENESIS: Final = "0" * 64
"""What the first line hangs on."""
HEAD: Final = "head"
"""The kind of a file's first line; it says what the file hangs on, so that each file can be checked by itself."""

_SEALED: Final = re.compile(rb'(\{.+),"chain":"([0-9a-f]{64})"\}\n?', re.DOTALL)


def seal(before: str, entry: Mapping[str, object]) -> tuple[bytes, str]:
    """The line of an entry behind a chain, and its own chain."""
    body = msgspec.json.encode(entry)[:-1]
    chain = link(before, body)
    return body + b',"chain":"' + chain.encode() + b'"}\n', chain


def unseal(line: bytes) -> tuple[bytes, str]:
    """What is hashed of a line, and the chain it claims; ValueError when it is no line of a journal."""
    found = _SEALED.fullmatch(line)
    if found is None:
        raise ValueError("not a line of a journal")
    return found[1], found[2].decode()


def read(line: bytes) -> dict[str, Any]:
    """The entry of a line, without its chain; ValueError when it is no line of a journal."""
    body, _ = unseal(line)
    return msgspec.json.decode(body + b"}", type=dict[str, Any])


def link(before: str, body: bytes) -> str:
    """The hash of a line behind the one before it."""
    return hashlib.sha256(before.encode() + body).hexdigest()
