"""The process that works out one expression: a question on its input, an answer on its output, and then it ends.

    {"expression": "…", "variables": {…}}  ─▶  {"answer": true}  or  {"trouble": "why not"}

It is started without an environment, and takes its own limits before it reads anything: seconds of CPU, memory, no file
that it could write. An expression may loop over lists in lists for hours, and holds Python's lock while it does.

Tests: tests/adapters/expressions/test_child.py
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any, Final

from seatrial.adapters.cel_library import library

CPU_SECONDS: Final = 2
MEMORY_BYTES: Final = 1 << 30
"""Of addresses, of which Python and the library take a few hundred megabytes by themselves."""
TROUBLE_MAX: Final = 300


def main() -> None:
    """Answer one question."""
    _take_limits()
    asked = json.load(sys.stdin)
    json.dump(answered(asked["expression"], asked["variables"]), sys.stdout)


def answered(expression: str, variables: dict[str, Any]) -> dict[str, Any]:
    """Whether an expression is true; why nobody can say, where it is neither true nor false."""
    try:
        found = library().compile(expression).execute(library().Context(variables=variables))
    except Exception as err:  # noqa: BLE001  the library raises what it likes; an error is never a pass
        said = f"there is no {err}" if isinstance(err, KeyError) else str(err) or type(err).__name__
        return {"trouble": " ".join(said.split())[:TROUBLE_MAX]}
    if not isinstance(found, bool):
        return {"trouble": f"it gives {found!r}"[:TROUBLE_MAX] + ", neither true nor false"}
    return {"answer": found}


def _take_limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
