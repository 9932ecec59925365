"""A saved look at a cluster: one JSON document of what was seen, and of what was wanted if there was a rollout.

    {"kind": "snapshot", "schema": 1, "version": …, "taken": "2026-…Z", "at": …, "seen": {…}, "intent": {…}}

Fields that have their default are left out (see codec.py). Tests: tests/adapters/files/test_snapshot_file.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from seatrial import __version__, codec
from seatrial.core.errors import SeatrialError
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.snapshot import Snapshot

KIND: Final = "snapshot"
_AGAIN: Final = "Write it with `seatrial snapshot > FILE`."


class SnapshotInvalid(SeatrialError):  # noqa: N818
    """A file that is no saved snapshot, or one that this release cannot read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a file holds."""

    at: Instant
    seen: Snapshot
    intent: Intent | None = None
    """None when there was no rollout."""


def text_of(saved: Saved) -> str:
    """The document, for a file or a pipe."""
    data: dict[str, Any] = {
        "kind": KIND,
        "schema": codec.SCHEMA,
        "version": __version__,
        "taken": datetime.fromtimestamp(saved.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "at": saved.at,
        "seen": codec.encode(saved.seen),
    }
    if saved.intent is not None:
        data["intent"] = codec.encode(saved.intent)
    return json.dumps(data, indent=1, ensure_ascii=False)


def load_snapshot(path: Path) -> Saved:
    """Read a saved snapshot; SnapshotInvalid says what is wrong with the file, and where."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise SnapshotInvalid(f"The snapshot {path} cannot be read: {err.strerror}.") from err
    except ValueError as err:
        raise SnapshotInvalid(f"{path} is not a snapshot: {err}. {_AGAIN}") from err
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise SnapshotInvalid(f"{path} is not a snapshot: it does not say so. {_AGAIN}")
    if data.get("schema") != codec.SCHEMA:
        raise SnapshotInvalid(
            f"{path} is a snapshot of schema {data.get('schema')}, written by seatrial {data.get('version')}, and this "
            f"release reads {codec.SCHEMA}. {_AGAIN}"
        )
    try:
        return codec.decode(Saved, {name: data[name] for name in ("at", "seen", "intent") if name in data})
    except codec.Undecodable as err:
        raise SnapshotInvalid(f"{path}: {err}. {_AGAIN}") from err
