"""The lines of docs/deviations.md, for tests that stand on one of them.

A test may expect something else than NVIDIA's controller does only where the documentation says so. It quotes the first
cell of that line, what NVIDIA's controller does; a line that is reworded or removed takes its tests with it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

TestT = TypeVar("TestT", bound=Callable[..., None])

PAGE: Final = Path(__file__).parents[3] / "docs" / "deviations.md"
HEADING: Final = "NVIDIA's controller"


def documented() -> frozenset[str]:
    """What NVIDIA's controller does otherwise: the first cell of every line."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return frozenset(row.split(" | ")[0].removeprefix("| ") for row in rows) - {HEADING}


def deviates(line: str) -> Callable[[TestT], TestT]:
    """Mark a test that states our behaviour where NVIDIA's controller has another."""

    def mark(test: TestT) -> TestT:
        test.__dict__["deviates_from"] = line
        return test

    return mark


def quoted(namespace: dict[str, object]) -> dict[str, str]:
    """The line that each marked test of a module quotes."""
    return {
        name: found["deviates_from"]
        for name, test in namespace.items()
        if "deviates_from" in (found := getattr(test, "__dict__", {}))
    }
