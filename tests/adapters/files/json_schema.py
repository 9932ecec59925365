"""As much of JSON Schema (draft 7) as the schema of facts uses; an unknown word in a schema is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

KINDS: dict[str, Any] = {
    "object": dict,
    "string": str,
    "array": list,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
SILENT = {"$schema", "title", "description", "definitions"}


def problems(schema: Any, value: Any, whole: Any, path: str = "") -> Iterator[str]:
    """What is wrong, each as `path: word`."""
    if "$ref" in schema:
        yield from problems(whole["definitions"][schema["$ref"].rpartition("/")[2]], value, whole, path)
        return
    for word, told in schema.items():
        if word not in SILENT:
            yield from _problems(word, told, schema, value, whole, path)


def _problems(word: str, told: Any, schema: Any, value: Any, whole: Any, path: str) -> Iterator[str]:
    match word:
        case "type":
            if not isinstance(value, KINDS[told]) or (isinstance(value, bool) and told != "boolean"):
                yield f"{path}: type"
        case "const" | "enum":
            if value not in (told if word == "enum" else [told]):
                yield f"{path}: {word}"
        case "pattern":
            if isinstance(value, str) and re.search(told, value) is None:
                yield f"{path}: pattern"
        case "required":
            yield from (f"{path}.{name}: required" for name in told if isinstance(value, dict) and name not in value)
        case "properties":
            for name, inner in told.items():
                if isinstance(value, dict) and name in value:
                    yield from problems(inner, value[name], whole, f"{path}.{name}")
        case "propertyNames":
            for name in value if isinstance(value, dict) else ():
                yield from problems(told, name, whole, f"{path}.{name}")
        case "additionalProperties":
            for name, inner in value.items() if isinstance(value, dict) else ():
                if name not in schema.get("properties", {}):
                    yield from (
                        [f"{path}.{name}: unknown"] if told is False else problems(told, inner, whole, f"{path}.{name}")
                    )
        case "items":
            for index, item in enumerate(value if isinstance(value, list) else ()):
                yield from problems(told, item, whole, f"{path}.{index}")
        case "anyOf":
            found = [list(problems(inner, value, whole, path)) for inner in told]
            yield from found[0] if all(found) else ()  # the others are only ways to leave it out
        case _:
            raise AssertionError(f"{word} is not checked here")
