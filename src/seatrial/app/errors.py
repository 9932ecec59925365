"""What every use case may answer instead of a value."""

from __future__ import annotations

from seatrial.core.errors import SeatrialError


class CalledWrongly(SeatrialError):  # noqa: N818  the message says what to do
    """Options that cannot be meant together, or a rollout that cannot be told from others: exit code 2."""
