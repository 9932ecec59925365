"""The Measurer of gates that are expressions: one process for each try, and what it answered.

Whatever is neither true nor false is unknown, with the reason: an expression that does not compile, one that names a
figure which nobody has, a process that took too long or too much memory. False has failed.

Tests: tests/adapters/expressions/test_measurer.py, tests/adapters/test_measurers.py
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from seatrial.adapters.answered import Answered
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.figures import Given
from seatrial.core.model.gates.gate import GateVerdict, Measurement
from seatrial.core.text import foreign
from seatrial.ports import Outcome

CHILD: Final = "seatrial.adapters.expressions.child"
SECONDS_MAX: Final = 20.0
"""Two of them are for CPU; a busy machine takes its time to start a process."""
SHOWN_MAX: Final = 200


class ExpressionMeasurer:
    """Works out expressions, each in a process of its own."""

    def __init__(self, *, uid_of: Callable[[str], str], seconds_max: float = SECONDS_MAX) -> None:
        self._answered = Answered(uid_of=uid_of)
        self._seconds_max = seconds_max

    async def measure(self, act: StartProbe, /) -> Outcome:
        return await self._answered.measure(act, self._answer)

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout."""
        return self._answered.measurements(uid)

    async def _answer(self, act: StartProbe) -> Measurement:
        said = await asked(act.gate.expression, variables(act.given or Given()), self._seconds_max)
        answer, trouble = said.get("answer"), str(said.get("trouble", ""))
        shown = foreign.line(act.gate.expression, SHOWN_MAX)
        if isinstance(answer, bool):
            verdict = GateVerdict.PASSED if answer else GateVerdict.FAILED
            detail = f"{shown} is {str(answer).lower()}"
        else:
            verdict, detail = GateVerdict.UNKNOWN, foreign.line(f"{shown}: {trouble or 'nobody answered'}")
        return Measurement(
            gate=act.gate.name, node=act.node, round=act.round, attempt=act.attempt, verdict=verdict, detail=detail
        )


def variables(given: Given) -> dict[str, Any]:
    """What an expression sees."""
    figures: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for gate, figure in given.figures:
        told = {"value": figure.value, "unit": figure.unit, "gpu": figure.gpu}
        bounds = {"low": figure.low, "high": figure.high, "spread": figure.spread}
        told |= {name: value for name, value in bounds.items() if value is not None}
        figures[gate][figure.name].append(told)
    return {"figures": figures, "verdicts": dict(given.verdicts), "node": dict(given.facts)}


async def asked(expression: str, about: dict[str, Any], seconds_max: float) -> dict[str, Any]:
    """What the process answers; its end is its only other way to answer."""
    question = json.dumps({"expression": expression, "variables": about}).encode()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", CHILD),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds_max):
            out, _ = await process.communicate(question)
    except TimeoutError:
        return {"trouble": f"it was not worked out within {seconds_max:g} s"}
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        found = json.loads(out)
    except ValueError:
        found = None
    if process.returncode or not isinstance(found, dict):
        return {"trouble": f"it takes more than seatrial gives it, and its process ended with {process.returncode}"}
    return found
