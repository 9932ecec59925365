"""The errors of the core: broken promises only. Expected refusals are values (Hold, Refused), never exceptions.

SeatrialError             somebody can act on the message
└── CoreBug               we broke a promise of our own; the message is for whoever maintains seatrial
"""

from __future__ import annotations


class SeatrialError(Exception):
    """Anything seatrial raises on purpose; its text says what, where, why and what to do next."""


class CoreBug(SeatrialError):  # noqa: N818  the trade's word for it
    """A promise of the core was broken by the core itself."""
