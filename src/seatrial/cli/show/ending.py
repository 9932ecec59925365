"""The exit code of whatever command was asked how a rollout stands: one table, the same from every command.

Law of this file: how it stands is worked out in app/outcome.py. Tests: tests/app/test_outcome.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from seatrial.app import picture as rollout_picture
from seatrial.app.outcome import Outcome, outcome_of
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.looking import Look
    from seatrial.app.picture import Picture

EXITS: Final = {
    Outcome.WELL: ExitCode.OK,
    Outcome.REVERTED: ExitCode.GATE_FAILED,
    Outcome.REFUSED: ExitCode.ERROR,
    Outcome.LEFT: ExitCode.FINDINGS,
    Outcome.HELD: ExitCode.HELD,
    Outcome.UNSURE: ExitCode.INCONCLUSIVE,
}
"""The exit code of whatever command was asked how a rollout stands."""


def exit_of(found: Look) -> ExitCode:
    """How the rollout stands; an error where something could not be read."""
    return ExitCode.ERROR if found.faults else EXITS[outcome_of(found)]


def exit_code(picture: Picture) -> ExitCode:
    """The same of a picture."""
    return EXITS[picture.outcome]


def as_data(picture: Picture) -> dict[str, Any]:
    """Everything a picture shows, and the exit code that goes with it."""
    return rollout_picture.as_data(picture) | {"exitCode": int(exit_code(picture))}
