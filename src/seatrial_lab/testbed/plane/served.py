"""A control plane as those see it who help to start it: kwok's stages, and the programs beside it.

Law of this file: a shape, so that they need not know how a control plane is started. Tests: tests/testbed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from seatrial_lab.testbed.plane import processes


class Served(Protocol):
    """An API server that answers."""

    @property
    def url(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    @property
    def authority(self) -> Path: ...

    def define(self, definitions: Iterable[dict[str, Any]]) -> None: ...
    def apply(self, objects: Iterable[dict[str, Any]]) -> None: ...
    def kubectl(self, *arguments: str, stdin: str | None = None) -> str: ...
    def ensure_program(self, name: str, command: Sequence[str | Path]) -> processes.Program: ...
