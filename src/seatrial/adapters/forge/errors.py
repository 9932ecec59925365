"""What a forge can answer besides yes. Each says what the caller may do with it; none of them holds a token.

ForgeError
├── ForgeUnavailable   nobody answered, not in time, or asked us to wait: nothing is known, ask again later
├── ForgeRefused       it said no: the token, a right, something it will not take; a person must act
└── ForgeUnclear       it answered in a shape that we do not know: another forge, or a page for people
"""

from __future__ import annotations

from seatrial.core.errors import SeatrialError


class ForgeError(SeatrialError):
    """Anything that went wrong between us and a forge."""


class ForgeUnavailable(ForgeError):  # noqa: N818 — says what is, like the other errors of the outside world
    """The forge cannot answer now."""


class ForgeRefused(ForgeError):  # noqa: N818
    """The forge answered, and said no."""


class ForgeUnclear(ForgeError):  # noqa: N818
    """The forge answered something that cannot be read."""
