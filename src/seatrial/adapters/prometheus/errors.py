"""What a Prometheus can answer besides yes. None of them holds a token; all become `Unmeasured`, and none is a value.

PrometheusError
├── PrometheusUnavailable   nobody answered, not in time, or not whole: nothing is known, ask again later
├── PrometheusRefused       it said no: the token, a right, a query that is wrong; a person must act
├── PrometheusUnclear       it answered in a shape that we do not know, or with less than all: a page, a warning
└── PrometheusTooMuch       it has more than we take at once
"""

from __future__ import annotations

from seatrial.core.errors import SeatrialError


class PrometheusError(SeatrialError):
    """Anything that went wrong between us and a Prometheus."""


class PrometheusUnavailable(PrometheusError):  # noqa: N818 — says what is, like the other errors of the outside world
    """It cannot answer now."""


class PrometheusRefused(PrometheusError):  # noqa: N818
    """It answered, and said no."""


class PrometheusUnclear(PrometheusError):  # noqa: N818
    """It answered something that cannot be read, or that is not the whole answer."""


class PrometheusTooMuch(PrometheusError):  # noqa: N818
    """It has more to say than we listen to."""
