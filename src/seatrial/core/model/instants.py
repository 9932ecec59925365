"""Two clocks, two names: an instant of ours is never subtracted from one of the API server's.

Law of this file: types, and how long anything may take; instants are read and shown by core/text/moments.py.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

A_TIME: Final = "a time"
"""Marks a number of seconds that is a time; it is RFC 3339 where it is written (adapters/kube/shapes/forms.py)."""

Instant: TypeAlias = Annotated[float, A_TIME]
"""Seconds since the epoch on *our* clock, unless a name says otherwise."""

ApiInstant: TypeAlias = Annotated[float, A_TIME]
"""Seconds since the epoch as written by the API server or a kubelet; compared with its like only."""

DURATION_SECONDS_MAX: Final = 365 * 86_400
"""The longest that anything may take or wait: what is longer was not meant, and leads out of the calendar."""
