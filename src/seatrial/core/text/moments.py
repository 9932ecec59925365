"""floats as people and scripts read them: RFC 3339, in UTC, to the second.

Law of this file: one form everywhere; an instant that is not known stays unknown. Tests: tests/core/test_moments.py
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload


@overload
def moment(at: float) -> str: ...
@overload
def moment(at: None) -> None: ...
def moment(at: float | None) -> str | None:
    """An instant in RFC 3339."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
