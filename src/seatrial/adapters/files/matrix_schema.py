"""The JSON Schema of a matrix file, made from the tables the reader follows, so that an editor knows what it knows.

It says what a file may look like, not which versions go together. docs/reference/matrix.schema.json is made from it.

Tests: tests/adapters/files/test_matrix_schema.py
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any, Final

from seatrial.adapters.files import matrix_keys as keys
from seatrial.core.compat import versions
from seatrial.core.compat.matrix import ALIASES, ROLE_KEYS, SCHEMES, Component, Role, role_of

FILE_NAME: Final = "matrix.schema.json"

_NAMED_GROUP: Final = re.compile(r"\(\?P<[a-z_]+>")

_ROLES: Final = {
    Role.PRODUCTION: "What the fleet runs.",
    Role.CANARY: "What is being tried on the canary.",
    Role.PLANNED: "What comes next.",
    Role.ROLLBACK: "What to go back to.",
}


def matrix_schema() -> dict[str, Any]:
    """The schema of every shape of a matrix file."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "GPU version matrix",
        "description": "What runs, what is tried, what comes next, what to go back to. Read by seatrial.",
        "type": "object",
        "if": {"required": ["kind"]},
        "then": {"$ref": "#/definitions/configmap"},
        "else": {
            "if": {"required": [keys.COVER_KEY]},
            "then": {"$ref": "#/definitions/plain"},
            "else": {"$ref": "#/definitions/matrix"},
        },
        "definitions": {
            "plain": _closed({keys.COVER_KEY: {"$ref": "#/definitions/entries"}, keys.RULES_KEY: _definition("rules")}),
            "configmap": _configmap(),
            "matrix": _matrix({keys.RULES_KEY: _definition("rules")}),
            "entries": _matrix({}),
            "entry": _entry(),
            "pool": _closed({name: _hardware(*told) for name, told in keys.HARDWARE.items()}),
            "hardware": {
                "description": "What the nodes are made of; a list where there are several pools.",
                "if": {"type": "array"},
                "then": {"items": _definition("pool")},
                "else": _definition("pool"),
            },
            "accept": _accept(),
            "rules": _rules(),
            "date": {"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
            **{component.value: _version(component) for component in Component},
        },
    }


def matrix_schema_text() -> str:
    """The schema as the published file holds it."""
    return json.dumps(matrix_schema(), indent=2, ensure_ascii=False) + "\n"


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _configmap() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["kind", "data"],
        "properties": {
            "kind": {"const": "ConfigMap"},
            "data": {
                "type": "object",
                "required": [keys.CONFIGMAP_KEY],
                "properties": {keys.CONFIGMAP_KEY: {"description": "A matrix, as a text.", "type": "string"}},
                "additionalProperties": {"type": "string"},
            },
        },
    }


def _matrix(besides: dict[str, Any]) -> dict[str, Any]:
    of_production = [key for key, role in ROLE_KEYS.items() if role is Role.PRODUCTION]
    return {
        **_closed(
            {
                key: {"description": _ROLES[role], "allOf": [{"$ref": "#/definitions/entry"}]}
                for key, role in ROLE_KEYS.items()
            }
            | besides
        ),
        "anyOf": [{"required": [key]} for key in of_production],
        "allOf": [
            {"not": {"required": [one, other]}}
            for one, other in combinations(ROLE_KEYS, 2)
            if role_of(one) is role_of(other)
        ],
    }


def _entry() -> dict[str, Any]:
    return {
        **_closed(
            {
                **{component.value: _definition(component.value) for component in Component},
                **{alias: _definition(component.value) for alias, component in ALIASES.items()},
                **{
                    name: {"description": told, "allOf": [_definition("date")]}
                    if name in keys.DATES
                    else {"description": told, "type": "string"}
                    for name, told in keys.TEXTS.items()
                },
                "hardware": _definition("hardware"),
                "accept": _definition("accept"),
                keys.EXTRA_KEY: {"description": "What else is kept here; never judged.", "type": "object"},
            }
        ),
        "allOf": [{"not": {"required": [alias, component.value]}} for alias, component in ALIASES.items()],
    }


def _definition(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


def _hardware(told: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    return {"description": told, **({"enum": list(allowed)} if allowed else {"type": "string"})}


def _accept() -> dict[str, Any]:
    texts = {name: {"description": told, "type": "string", "minLength": 1} for name, told in keys.ACCEPT.items()}
    texts["until"] = {"description": keys.ACCEPT["until"], "allOf": [_definition("date")]}
    return {
        "description": "Warnings that somebody decided to live with.",
        "type": "array",
        "items": {**_closed(texts), "required": list(keys.ACCEPT_REQUIRED)},
    }


def _rules() -> dict[str, Any]:
    texts = {name: {"description": told, "type": "string"} for name, told in keys.RULE.items()}
    return {
        "description": "Rules of your own, in words; shown by check, never judged.",
        "type": "array",
        "items": {"if": {"type": "object"}, "then": _closed(texts), "else": {"type": "string"}},
    }


def _version(component: Component) -> dict[str, Any]:
    form = versions.VALUES[SCHEMES[component]].form
    return {
        "description": f"A version of {component.value}: {form.shape}, e.g. {form.example}. {form.advice}",
        "type": "string",
        # A named group is the one thing in these patterns that JavaScript writes differently; editors need no names.
        "pattern": f"^(?:{_NAMED_GROUP.sub('(', form.pattern.pattern)})$",
    }
