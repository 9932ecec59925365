"""Two clocks, two names: an instant of ours is never subtracted from one of the API server's.

Law of this file: types, and how long anything may take; instants are read and shown by core/text/moments.py.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Instant: TypeAlias = float
"""Seconds since the epoch on *our* clock, unless a name says otherwise."""

ApiInstant: TypeAlias = float
"""Seconds since the epoch as written by the API server or a kubelet; compared with its like only."""

DURATION_SECONDS_MAX: Final = 365 * 86_400
"""The longest that anything may take or wait: what is longer was not meant, and leads out of the calendar."""
