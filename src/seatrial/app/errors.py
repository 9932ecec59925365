"""What a use case may answer instead of what it was asked for."""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError


class CalledWrongly(SeatrialError):  # noqa: N818  the message says what to do
    """Options that cannot be meant together, or a rollout that cannot be told from others: exit code 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why nothing is started."""

    says: str
    is_unknown: bool = False
    """Nothing fails; nobody knows whether it works, and nobody has accepted that."""


UNKNOWN: Final = Objection(
    says="unknown is not ok. Add facts (`seatrial facts`), accept it in the matrix with a reason, "
    "or start with --accept-unknown.",
    is_unknown=True,
)
