"""A neighbour that is several programs: they start together, are looked after together, and end together.

Law of this file: whoever owns one ends it, also when its start is interrupted. Tests: tests/gitops
"""

from types import TracebackType
from typing import Final, Self

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane import processes

STOP_GRACE_SECONDS: Final = 5.0


class Programs:
    """The programs of one neighbour, while its context lasts."""

    def __init__(self) -> None:
        self._programs: list[processes.Program] = []

    def stop(self) -> None:
        """End them; what they brought into the cluster stays."""
        processes.end(self._programs, grace_seconds=STOP_GRACE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def check(self) -> None:
        """Say which program ended, if one did, and its last lines."""
        for program in self._programs:
            if not processes.is_alive(program):
                raise errors.ProcessDied(f"{program.name} ended:\n{processes.last_lines(program)}")
