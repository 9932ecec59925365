"""The process that works out rules of a user's own: a question on each line in, an answer on each line out.

    {"compile": "…"}                                       ─▶  {"answer": true}   or  {"trouble": "why it is no CEL"}
    {"expression": "…", "when": "…", "about": {…}}         ─▶  {"answer": true}   or  {"trouble": "why not"}
                                                               {"answer": null}   where `when` is false

It is started without an environment, and takes its own limits: memory, no file that it could write, and for each
question a few seconds of CPU. An expression may loop over lists in lists for hours, and holds Python's lock while it
does; nothing but the end of the process ends it. Who asks is asking.py, what a rule sees is told in cel_rules.py.

Tests: tests/adapters/files/test_cel_rules.py, tests/adapters/files/test_rule_budget.py
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from seatrial.adapters.cel_library import library
from seatrial.core.compat.matrix import Component, Value, component_of
from seatrial.core.compat.versions import LinedVersion, Version

CPU_SECONDS: Final = 2
"""For one question."""
MEMORY_BYTES: Final = 1 << 30
"""Of addresses, of which Python and the library take a few hundred megabytes by themselves."""
TROUBLE_MAX: Final = 200


def main() -> None:
    """Answer until nobody asks any more."""
    for limit, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (value, value))
    for line in sys.stdin:
        _take_time()
        print(json.dumps(answered(json.loads(line))), flush=True)


def _take_time() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def answered(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one question; why there is none, where there is none."""
    try:
        if "compile" in asked:
            _compiled(asked["compile"])
            return {"answer": True}
        context = _context(asked["about"])
        if asked["when"] and not _true(_compiled(asked["when"]).execute(context)):
            return {"answer": None}
        return {"answer": _true(_compiled(asked["expression"]).execute(context))}
    except Exception as err:  # noqa: BLE001  the library raises what it likes; an error is never a pass
        return {"trouble": _one_line(err)}


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Any:
    return library().compile(text)


def _true(answer: object) -> bool:
    if not isinstance(answer, bool):
        raise TypeError(f"the expression gives {answer!r}, not true or false")
    return answer


def _context(about: Mapping[str, Any]) -> Any:
    stack: Mapping[str, str] = about["stack"]

    def own(name: str) -> Version:
        component = _component(name)
        text = stack.get(component.value)
        if text is None:
            raise LookupError(f"this entry names no {name}")
        return _version(component, text)

    def other(name: str, text: str) -> Version:
        return _version(_component(name), text)

    def line(name: str) -> str:
        version = own(name)
        if not isinstance(version, LinedVersion):
            raise TypeError(f"{name} has no release lines")
        return version.line

    functions = {
        "at_least": lambda name, text: own(name) >= other(name, text),
        "older": lambda name, text: own(name) < other(name, text),
        "same": lambda name, text: own(name) == other(name, text),
        "line": line,
    }
    return library().Context(variables=dict(about), functions=functions)


def _component(name: str) -> Component:
    found = component_of(name)
    if found is None:
        raise LookupError(f"there is no component {name!r}")
    return found


def _version(component: Component, text: str) -> Version:
    value = Value.read(component, text)
    if value.version is None:
        raise ValueError(value.problem)
    return value.version


def _one_line(err: Exception) -> str:
    said = f"there is no {err}" if isinstance(err, KeyError) else str(err) or type(err).__name__
    text = " ".join(said.split()).rstrip(".")
    return text if len(text) <= TROUBLE_MAX else f"{text[:TROUBLE_MAX]}…"


if __name__ == "__main__":
    main()
