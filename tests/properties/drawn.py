"""How many examples a property is drawn: `make test` has half an hour for everything, `make explore` takes its time."""

from __future__ import annotations

import os
from typing import Final

FACTOR: Final = float(os.environ.get("SEATRIAL_EXAMPLES", "0.5"))


def drawn(count: int) -> int:
    """SEATRIAL_EXAMPLES times as many: half of them in `make test`, several times as many in `make explore`."""
    return max(1, round(count * FACTOR))
