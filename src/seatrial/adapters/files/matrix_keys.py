"""The keys of a matrix file besides roles and components, one table: reader, schema and edits follow it.

    { versions: { ROLE: entry, … }, rules: [ … ] }                 a plain file
    { ROLE: entry, …, rules: [ … ] }                               the same without its cover
    { kind: ConfigMap, data: { matrix.yaml: "text of a matrix" } } a ConfigMap

Tests: tests/adapters/files/test_matrix_yaml.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.compat.matrix import ALIASES, ROLE_KEYS, Component

FILE_NAME: Final = "gpu-version-matrix.yaml"
COVER_KEY: Final = "versions"
RULES_KEY: Final = "rules"
RULE: Final[Mapping[str, str]] = {
    "name": "What the rule is called.",
    "rule": "What it asks for.",
    "check": "How a person looks.",
    "rationale": "Why.",
}
"""A team's own rules beside the entries: shown, never judged."""
CONFIGMAP_KEY: Final = "matrix.yaml"
CONFIGMAP_KEYS: Final = ("apiVersion", "kind", "metadata", "data", "binaryData", "immutable")

DATES: Final[Mapping[str, str]] = {
    "deployed": "The day this set went out.",
    "target_date": "The day this set is meant to go out.",
}
TEXTS: Final[Mapping[str, str]] = {
    "status": "A word about where this set stands; for people.",
    **DATES,
    "canary_node": "The node this set is tried on.",
    "notes": "Anything a reader should know.",
    "bad": "Why this set was rejected.",
}
"""Entries' plain texts, by key; each is a field of Entry of the same name."""

HARDWARE: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "pool": ("The pool of nodes this is about, where there are several.", ()),
    "arch": ("The GPU architecture, such as hopper or blackwell; it follows from the product.", ()),
    "product": ("The GPU product, such as H100 or B200.", ()),
    "kernel_module": ("Which kernel modules the driver uses.", ("open", "proprietary", "auto")),
    "rdma": ("How GPU memory reaches the network.", ("dmabuf", "peermem")),
}
"""What may be said about the nodes: what it means, and the values it may have where they are few."""

ACCEPT: Final[Mapping[str, str]] = {
    "rule": "The rule whose warning is accepted.",
    "reason": "Why it may stay as it is.",
    "until": "The last day on which it is accepted.",
}
ACCEPT_REQUIRED: Final = ("rule", "reason")

COMPONENT_KEYS: Final = (*(component.value for component in Component), *ALIASES)
EXTRA_KEY: Final = "extra"
"""What else somebody keeps in an entry: kept, never judged."""
ENTRY_KEYS: Final = (*COMPONENT_KEYS, *TEXTS, "hardware", "accept", EXTRA_KEY)
MATRIX_KEYS: Final = tuple(ROLE_KEYS)
