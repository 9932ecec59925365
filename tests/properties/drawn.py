"""How many examples a property is drawn: `make test` has half an hour for everything, `make explore` takes its time."""

from __future__ import annotations

import os
from typing import Final

FACTOR: Final = float(os.environ.get("SEATRIAL_EXAMPLES", "1"))


def drawn(count: int) -> int:
    """So many in `make test`, and SEATRIAL_EXAMPLES times as many where somebody asks for more."""
    return max(1, round(count * FACTOR))
