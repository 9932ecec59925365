"""The errors of the core: broken promises only. Expected refusals are values (Hold, Refused), never exceptions.

SeatrialError             somebody can act on the message
└── CoreBug               we broke a promise of our own; the message is for whoever maintains seatrial
"""

from __future__ import annotations

from seatrial.core.text import foreign


class SeatrialError(Exception):
    """Anything seatrial raises on purpose; its text says what, where, why and what to do next."""

    def __init__(self, message: str = "") -> None:
        # Most of them quote somebody: a server, git, a file, a plugin.
        super().__init__(foreign.lines(message))


class CoreBug(SeatrialError):  # noqa: N818  the trade's word for it
    """A promise of the core was broken by the core itself."""
