"""The note a control plane leaves in its folder, so that another process can use it, judge it, and end it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from seatrial_lab.testbed.plane import processes

FILE: Final = "plane.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One control plane: where it answers and which programs it consists of, in the order they were started."""

    folder: Path
    url: str
    kubectl: Path
    is_leashed: bool
    programs: tuple[processes.Program, ...] = ()

    def with_program(self, program: processes.Program) -> "Record":
        """Return the record with one more program."""
        return replace(self, programs=(*self.programs, program))

    def without(self, name: str) -> "Record":
        """Return the record without the programs of this name that have ended."""
        kept = (each for each in self.programs if each.name != name or processes.is_alive(each))
        return replace(self, programs=tuple(kept))

    @property
    def alive(self) -> tuple[processes.Program, ...]:
        """The programs that still run."""
        return tuple(program for program in self.programs if processes.is_alive(program))


def save(record: Record) -> None:
    """Write the note, whole or not at all."""
    document = {
        "url": record.url,
        "kubectl": str(record.kubectl),
        "is_leashed": record.is_leashed,
        "programs": [
            {"name": each.name, "pid": each.pid, "born_ticks": each.born_ticks, "log": each.log.name}
            for each in record.programs
        ],
    }
    fresh = record.folder / f"{FILE}.new"
    fresh.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    fresh.replace(record.folder / FILE)


def load(folder: Path) -> Record | None:
    """Return the note in a folder, None where there is none."""
    try:
        document = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Record(
        folder=folder,
        url=document["url"],
        kubectl=Path(document["kubectl"]),
        is_leashed=document["is_leashed"],
        programs=_programs(folder, document["programs"]),
    )


def _programs(folder: Path, rows: Sequence[dict[str, str | int]]) -> tuple[processes.Program, ...]:
    return tuple(
        processes.Program(
            name=str(row["name"]), pid=int(row["pid"]), born_ticks=int(row["born_ticks"]), log=folder / str(row["log"])
        )
        for row in rows
    )
