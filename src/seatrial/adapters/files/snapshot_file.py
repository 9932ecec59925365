"""A snapshot in a file: one JSON document a line, so that it is written, searched and cut to pieces as it comes.

    {"kind": "snapshot", "schema": 2, "version": …, "taken": "2026-…Z", "namespace": "gpu-operator"}
    {"of": "/api/v1/nodes", "object": {…}}
    {"of": "/apis/nvidia.com/v1/clusterpolicies", "refused": 404, "said": "…"}
    {"log": {"namespace": …, "pod": …, "container": …}, "text": "…"}
    {"kind": "end", "lines": 4711}

A list that is empty has a line of its own, without an object. The last line is how a file is known to be whole. What is
packed with gzip is read as it is. Tests: tests/adapters/files/test_snapshot_file.py
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from seatrial.core.errors import SeatrialError
from seatrial.core.survey.portable.recorded import LogOf, Recorded, Refused

KIND: Final = "snapshot"
END: Final = "end"
SCHEMA: Final = 2
_GZIP: Final = b"\x1f\x8b"
_AGAIN: Final = "Write it with `seatrial snapshot > FILE`."


class SnapshotInvalid(SeatrialError):  # noqa: N818
    """A file that is no snapshot, or one that this release cannot read."""


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def lines_of(recorded: Recorded) -> Iterator[str]:
    """The lines of the file."""
    count = 0
    for data in _documents(recorded):
        count += 1
        yield json.dumps(data, separators=(",", ":"))
    yield json.dumps({"kind": END, "lines": count}, separators=(",", ":"))


def _documents(recorded: Recorded) -> Iterator[dict[str, Any]]:
    yield {
        "kind": KIND,
        "schema": SCHEMA,
        "version": recorded.version,
        "taken": datetime.fromtimestamp(recorded.taken_at, UTC).isoformat().replace("+00:00", "Z"),
        "namespace": recorded.namespace,
        **({"anonymous": True} if recorded.is_anonymous else {}),
    }
    for path, objects in recorded.lists.items():
        yield from ({"of": path, "object": each} for each in objects)
        if not objects:
            yield {"of": path}
    for path, refused in recorded.refused.items():
        yield {"of": path, "refused": refused.code, "said": refused.said}
    for whose, log in recorded.logs.items():
        name = {"namespace": whose.namespace, "pod": whose.pod, "container": whose.container}
        told = {"text": log} if isinstance(log, str) else {"refused": log.code, "said": log.said}
        yield {"log": name | ({"previous": True} if whose.is_previous else {})} | told


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def load_snapshot(path: Path) -> Recorded:
    """Read a snapshot; SnapshotInvalid says what is wrong with the file, and where."""
    lines = _lines(path)
    head = _head(path, lines[0] if lines else "")
    lists: dict[str, list[dict[str, Any]]] = {}
    refused: dict[str, Refused] = {}
    logs: dict[LogOf, str | Refused] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            data = json.loads(line)
            if data.get("kind") == END:
                if data["lines"] == number - 1 == len(lines) - 1:
                    return _recorded(head, lists, refused, logs)
                break
            _take(data, lists, refused, logs)
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            raise SnapshotInvalid(f"{path}:{number}: this is not a line of a snapshot: {err}. {_AGAIN}") from err
    raise SnapshotInvalid(f"{path} is not whole: it has {len(lines)} lines, and its end is missing. {_AGAIN}")


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
        return data.decode("utf-8").rstrip("\n").split("\n")
    except (EOFError, zlib.error, gzip.BadGzipFile) as err:
        raise SnapshotInvalid(f"{path} cannot be unpacked: {err}. {_AGAIN}") from err
    except OSError as err:
        raise SnapshotInvalid(f"The snapshot {path} cannot be read: {err.strerror}.") from err
    except UnicodeDecodeError as err:
        raise SnapshotInvalid(f"{path} is not a snapshot: it is not text. {_AGAIN}") from err


def _head(path: Path, line: str) -> Mapping[str, Any]:
    try:
        data = json.loads(line)
    except ValueError as err:
        raise SnapshotInvalid(f"{path} is not a snapshot: {err}. {_AGAIN}") from err
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise SnapshotInvalid(f"{path} is not a snapshot: it does not say so. {_AGAIN}")
    if data.get("schema") != SCHEMA:
        raise SnapshotInvalid(
            f"{path} is a snapshot of schema {data.get('schema')}, written by seatrial {data.get('version')}, and this "
            f"release reads {SCHEMA}. {_AGAIN}"
        )
    try:
        datetime.fromisoformat(data["taken"])
    except (KeyError, TypeError, ValueError) as err:
        raise SnapshotInvalid(f"{path}:1: it does not say when it was taken. {_AGAIN}") from err
    return data


def _take(
    data: Mapping[str, Any],
    lists: dict[str, list[dict[str, Any]]],
    refused: dict[str, Refused],
    logs: dict[LogOf, str | Refused],
) -> None:
    refusal = Refused(code=int(data["refused"]), said=str(data["said"])) if "refused" in data else None
    if "log" in data:
        name = data["log"]
        whose = LogOf(
            namespace=name["namespace"],
            pod=name["pod"],
            container=name["container"],
            is_previous=name.get("previous", False),
        )
        logs[whose] = refusal or str(data["text"])
    elif refusal is not None:
        refused[str(data["of"])] = refusal
    else:
        there = lists.setdefault(str(data["of"]), [])
        if "object" in data:
            there.append(dict(data["object"]))


def _recorded(
    head: Mapping[str, Any],
    lists: dict[str, list[dict[str, Any]]],
    refused: dict[str, Refused],
    logs: dict[LogOf, str | Refused],
) -> Recorded:
    return Recorded(
        taken_at=datetime.fromisoformat(head["taken"]).timestamp(),
        namespace=str(head.get("namespace", "")),
        version=str(head.get("version", "")),
        is_anonymous=head.get("anonymous") is True,
        lists=lists,
        refused=refused,
        logs=logs,
    )
