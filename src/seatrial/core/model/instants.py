"""Two clocks, two names: an instant of ours is never subtracted from one of the API server's.

Law of this file: types only.
"""

from __future__ import annotations

from typing import TypeAlias

Instant: TypeAlias = float
"""Seconds since the epoch on *our* clock, unless a name says otherwise."""

ApiInstant: TypeAlias = float
"""Seconds since the epoch as written by the API server or a kubelet; compared with its like only."""
