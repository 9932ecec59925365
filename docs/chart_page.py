"""The page about the values of our charts: which there are and what they may be by their schema, what each means and is
by default by their values.yaml; written by docs/generate.py.

Law of this file: nothing is described here. A value without a comment has none in values.yaml. Tests:
tests/docs/test_generated.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

CHARTS: Final = Path(__file__).resolve().parent.parent / "charts"
NAMES: Final = {
    "seatrial": "the controller: [install it](../how-to/install.md)",
    "gpu-operator-post": "the hook that restarts DRA plugins: [DRA](../how-to/dra.md#after-every-upgrade-by-helm), "
    "[bundles](../how-to/bundles.md)",
}
_KEY: Final = re.compile(r"(?P<space> *)(?P<key>[A-Za-z0-9_.-]+):(?:\s(?P<rest>.*))?$")
_REMARK: Final = re.compile(r"(?:^|\s)#\s?(?P<text>.*)$")
_SILENT: Final = {"global"}
"""Helm's own."""

Field: TypeAlias = tuple[tuple[str, ...], Mapping[str, Any]]


def text() -> str:
    """The whole page."""
    return "\n".join(_lines()).rstrip("\n") + "\n"


def _lines() -> Iterator[str]:
    yield "# Values of the charts"
    yield ""
    yield "Every chart refuses a value that is not listed here, or that cannot be meant."
    for name, said in NAMES.items():
        folder = CHARTS / name
        schema = json.loads((folder / "values.schema.json").read_text(encoding="utf-8"))
        written = (folder / "values.yaml").read_text(encoding="utf-8")
        defaults, remarks = yaml.safe_load(written), remarks_of(written)
        yield ""
        yield f"## {name}"
        yield ""
        yield f"`charts/{name}`: {said}."
        yield ""
        yield "| Value | Type | Default | Meaning |"
        yield "| --- | --- | --- | --- |"
        for path, field in values_of(schema):
            is_map = bool(field.get("properties"))
            if is_map and path not in remarks:
                continue  # its values say what it is
            default = "–" if is_map else _default(path, defaults)
            yield f"| `{'.'.join(path)}` | {_type(field)} | {default} | {_cell(remarks.get(path, ''))} |"


def values_of(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[Field]:
    """Every value that can be set, and the maps they are in, with what the schema says of it."""
    for name, field in schema.get("properties", {}).items():
        if path or name not in _SILENT:
            yield (*path, name), field
            yield from values_of(field, (*path, name))


def remarks_of(written: str) -> dict[tuple[str, ...], str]:
    """What is said of each value: the comment above its line, and the one behind it."""
    found: dict[tuple[str, ...], str] = {}
    path: list[tuple[int, str]] = []
    above: list[str] = []
    for line in written.splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.strip().removeprefix("#").strip())
            continue
        key = _KEY.match(line)
        if key is None:
            above = []
            continue
        path = [(width, name) for width, name in path if width < len(key["space"])]
        path.append((len(key["space"]), key["key"]))
        behind = _REMARK.search(key["rest"] or "")
        said = " ".join([*above, *([behind["text"]] if behind else [])])
        if said:
            found[tuple(name for _, name in path)] = said
        above = []
    return found


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(f"`{each}`" for each in field["enum"])
    kind = field.get("type", "anything")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and most is not None:
        return f"{kind}, {least} to {most}"
    return f"{kind} ≥ {least}" if least is not None else kind


def _default(path: tuple[str, ...], defaults: Any) -> str:
    for name in path:
        if not isinstance(defaults, dict) or name not in defaults:
            return "–"
        defaults = defaults[name]
    return _cell(f"`{json.dumps(defaults, ensure_ascii=False)}`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
