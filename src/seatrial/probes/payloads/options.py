"""What a payload may be told. Tests: tests/probes/test_command.py"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seatrial.probes.measuring.timing import Effort


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One set for all payloads; each reads what concerns it."""

    effort: Effort = field(default_factory=Effort)
    heat_seconds: float = 15.0
    """Work before the first figure of `performance`."""
    seconds: float = 600.0
    """How long `soak` works."""
    lock_mhz: int = 0
    since: dict[str, Any] | None = None
    """An earlier report of the same payload, to tell what has grown since."""
    level: int = 1
    root: Path = Path("/")
    """Where /sys, /proc and /dev lie; another folder where a node's are mounted."""
    steps: int = 300
    expected: bool = False
    """What a payload looks for was there before: that it is gone is a failure."""
    optional: tuple[str, ...] = ()
    """Figures of which it does not count that they cannot be measured."""
    only: tuple[str, ...] = ()
    """These figures of `performance`; all where it is empty."""
