"""Where in a text the entries of a matrix are: at the top, under `versions`, or in a literal block of a ConfigMap.

Tests: tests/adapters/files/test_matrix_yaml.py
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.files import matrix_keys as keys
from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_findings import Findings, close, described, listed
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import role_of

LENGTH_MAX: Final = 256 * 1024
"""A matrix of four entries takes 4 KiB; what is a hundred times larger is another file."""

FATAL: Final = frozenset({"yaml-alias", "yaml-anchor", "yaml-tag", "merge-key", "multiple-documents"})
"""Troubles after which the tree may not mean what it seems to mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The mapping that holds the entries, and the layer its offsets count in."""

    layer: tree.Layer
    entries: tree.MappingNode


def locate(text: str) -> Located | None:
    """Find the mapping that holds the entries; None where `read_matrix` finds no matrix."""
    locator = Locator(file="", text=text)
    located = locator.locate()
    return None if locator.is_fatal else located


@dataclass(slots=True)
class Locator:
    """Looks for the entries in one text."""

    file: str
    text: str
    findings: Findings = field(init=False)
    is_fatal: bool = False
    """Whether the text says things at a distance: what seems to be there may mean something else."""

    def __post_init__(self) -> None:
        places = tree.Places(self.file, self.text[: LENGTH_MAX + 1])
        self.findings = Findings(places=places, layer=tree.outer_layer(self.text))

    def locate(self) -> Located | None:
        """Find the mapping that holds the entries; None where there is none."""
        if len(self.text) > LENGTH_MAX:
            return self._give_up(
                "file-too-large",
                f"The text has {len(self.text):,} characters; a matrix has a few thousand, {LENGTH_MAX:,} at most.",
                "Check that this is the right file.",
            )
        root = self._parse(self.findings.layer)
        if root is None:
            return None
        if not isinstance(root, tree.MappingNode):
            return self._give_up(
                "not-a-matrix",
                "The file is not a mapping, so it has no entries.",
                "Begin with `versions:` and an entry `current:` below it; `seatrial init` writes one.",
                root.start,
            )
        if _pair(root, "kind") is not None or _pair(root, "apiVersion") is not None:
            return self._locate_in_configmap(root)
        return self._uncovered(root)

    def _parse(self, layer: tree.Layer) -> tree.Node | None:
        parsed = tree.parse(layer)
        for trouble in parsed.troubles:
            self.is_fatal |= trouble.rule in FATAL
            offsets = [trouble.at] if trouble.also is None else [trouble.at, trouble.also]
            self.findings.add(
                trouble.rule, Verdict.FAIL, trouble.message, trouble.next_step, map(self.findings.places.span, offsets)
            )
        if parsed.root is None and not parsed.troubles:
            self.findings.layer = layer
            self._give_up(
                "not-a-matrix", "There is nothing here to read.", "Write the matrix; `seatrial init` shows how."
            )
        self.findings.layer = layer
        return parsed.root

    def _locate_in_configmap(self, root: tree.MappingNode) -> Located | None:
        kind = _pair(root, "kind")
        named = kind.value.text if kind is not None and isinstance(kind.value, tree.ScalarNode) else ""
        if named != "ConfigMap":
            return self._give_up(
                "not-a-matrix",
                f"This is a Kubernetes object of kind {named or '(none given)'}; a matrix may be inside a ConfigMap.",
                f"Put the matrix under `data`, key `{keys.CONFIGMAP_KEY}`, of a ConfigMap, or into a file of its own.",
                (kind.value if kind is not None else root).start,
            )
        self.findings.unknown_keys(root, "a ConfigMap", keys.CONFIGMAP_KEYS)
        holder = _pair(root, "data")
        if holder is None or not isinstance(holder.value, tree.MappingNode):
            return self._give_up(
                "configmap-key-missing",
                "The ConfigMap has no `data`, so there is no matrix in it.",
                f"Add `data:` with the key `{keys.CONFIGMAP_KEY}: |` and the matrix below it.",
                (kind.value if kind is not None else root).start if holder is None else holder.key.start,
            )
        pair = _pair(holder.value, keys.CONFIGMAP_KEY)
        if pair is None:
            found = [other.key.text for other in holder.value.pairs]
            near = difflib.get_close_matches(keys.CONFIGMAP_KEY, found, 1)
            return self._give_up(
                "configmap-key-missing",
                f"The ConfigMap has no key `{keys.CONFIGMAP_KEY}`; it has {listed(found)}.",
                f"Rename `{near[0]}` to `{keys.CONFIGMAP_KEY}`." if near else f"Add `{keys.CONFIGMAP_KEY}: |`.",
                holder.key.start,
            )
        return self._locate_in_block(pair)

    def _locate_in_block(self, pair: tree.Pair) -> Located | None:
        if not isinstance(pair.value, tree.ScalarNode):
            return self._give_up(
                "wrong-type",
                f"`{keys.CONFIGMAP_KEY}` is {described(pair.value)}; the values of a ConfigMap are texts.",
                f"Write `{keys.CONFIGMAP_KEY}: |`, and keep the matrix indented below it.",
                pair.value.start,
            )
        inner = tree.block_layer(self.findings.layer, pair)
        if inner is None:
            return self._give_up(
                "not-a-literal-block",
                f"`{keys.CONFIGMAP_KEY}` is not written as a literal block, so its lines have no places of their own.",
                f"Write `{keys.CONFIGMAP_KEY}: |`, and the matrix below it, line by line.",
                pair.value.start,
            )
        root = self._parse(inner)
        if root is None:
            return None
        if not isinstance(root, tree.MappingNode):
            return self._give_up(
                "not-a-matrix", "The text is not a mapping, so it has no entries.", "Begin with an entry.", root.start
            )
        return self._uncovered(root)

    def _uncovered(self, root: tree.MappingNode) -> Located | None:
        cover = _pair(root, keys.COVER_KEY)
        if cover is None:
            if not any(role_of(pair.key.text) for pair in root.pairs):
                return self._no_entries(root)
            return Located(layer=self.findings.layer, entries=root)
        self.findings.unknown_keys(root, "the file", (keys.COVER_KEY,))
        if not isinstance(cover.value, tree.MappingNode):
            return self._give_up(
                "wrong-type",
                f"`{keys.COVER_KEY}` is {described(cover.value)}; it should hold the entries.",
                "Indent `current:` and the other entries below it.",
                cover.value.start,
            )
        return Located(layer=self.findings.layer, entries=cover.value)

    def _no_entries(self, root: tree.MappingNode) -> Located | None:
        found = [pair.key.text for pair in root.pairs]
        near = next(
            ((name, match[0]) for name in found if (match := close(name, (keys.COVER_KEY, *keys.MATRIX_KEYS)))), None
        )
        advice = "Begin with `versions:` and an entry `current:` below it; `seatrial init` writes one."
        return self._give_up(
            "not-a-matrix",
            f"None of the keys is an entry of a matrix; there is {listed(found)}.",
            f"Did you mean `{near[1]}` instead of `{near[0]}`?" if near else advice,
            root.start,
        )

    def _give_up(self, rule: str, message: str, next_step: str, at: int = 0) -> Located | None:
        self.findings.add(rule, Verdict.FAIL, message, next_step, [self.findings.span(at)])
        return None


def _pair(node: tree.MappingNode, name: str) -> tree.Pair | None:
    return next((pair for pair in node.pairs if pair.key.text == name), None)
