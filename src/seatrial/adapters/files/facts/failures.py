"""The failures that are known, from files: the package's own, and what users add.

What a failure must look like is core/survey/doctor/failures.py; here is only where they come from and, for a user's
file that is wrong, which line to look at. Tests: tests/adapters/files/test_failures.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from seatrial.adapters import budget
from seatrial.adapters.files.facts.knowledge import load_user_data, spot_of
from seatrial.core.errors import SeatrialError
from seatrial.core.survey.doctor import failures
from seatrial.core.survey.doctor.failures import Failure

READ_SECONDS: Final = 10.0
"""How long the patterns of a file may take on their own examples: an expression can be written that never ends."""
OWN: Final = Path(__file__).parents[3] / "knowledge" / "failures.yaml"


class FailuresFileInvalid(SeatrialError):  # noqa: N818  like FactsFileInvalid
    """A file of failures that cannot be used; the message has the place."""


def known(user_files: Sequence[str] = ()) -> tuple[Failure, ...]:
    """All failures: a user's come first, and take the place of ours of the same name."""
    found = load(OWN)
    for path in user_files:
        theirs = load(path, found)
        names = {each.name for each in theirs}
        found = (*theirs, *(each for each in found if each.name not in names))
    return found


def load(path: str | Path, beside: Sequence[Failure] = ()) -> tuple[Failure, ...]:
    """The failures of one file."""
    node, data = load_user_data(path)
    slow = f"The patterns of {path} took more than {READ_SECONDS:g} s on their own examples. Take out nested repeats."
    try:
        with budget.within(READ_SECONDS, slow):
            return failures.read(data, beside)
    except failures.FailureInvalid as err:
        raise FailuresFileInvalid(
            f"{spot_of(str(path), node, err.path)}: {err} docs/how-to/doctor.md shows the form."
        ) from None
