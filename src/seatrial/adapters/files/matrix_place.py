"""Where in a text the entries of a matrix are: at the top, under `versions`, or in a text of a ConfigMap.

The text of a ConfigMap may be written in any way YAML or JSON has; what is found in it points into the file.

Tests: tests/adapters/files/test_matrix_yaml.py, tests/adapters/files/test_matrix_in_text.py
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import Final

from seatrial.adapters.files import matrix_keys as keys
from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_findings import Findings, close, described, is_null, listed
from seatrial.adapters.files.yaml_text import text_layer
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import component_of, role_of

LENGTH_MAX: Final = 1024 * 1024
"""A matrix of four entries takes 4 KiB, and one with all that its people know may fill a ConfigMap; what is larger is
another file."""

FATAL: Final = frozenset({"yaml-alias", "yaml-anchor", "yaml-tag", "merge-key", "multiple-documents"})
"""Troubles after which the tree may not mean what it seems to mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The mapping that holds the entries, and the layer its offsets count in."""

    layer: tree.Layer
    entries: tree.MappingNode
    rules: tree.Pair | None = None
    """The team's own rules beside the entries, which are for people."""


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
        holder = _pair(root, "data")
        lost = _fallen_out(root, holder)
        if lost is not None:
            return self._not_indented(lost, f"`{keys.CONFIGMAP_KEY}: |`")
        self.findings.unknown_keys(root, "a ConfigMap", keys.CONFIGMAP_KEYS)
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
        return self._locate_in_text(pair)

    def _locate_in_text(self, pair: tree.Pair) -> Located | None:
        if not isinstance(pair.value, tree.ScalarNode):
            return self._give_up(
                "wrong-type",
                f"`{keys.CONFIGMAP_KEY}` is {described(pair.value)}; the values of a ConfigMap are texts.",
                f"Write `{keys.CONFIGMAP_KEY}: |`, and keep the matrix indented below it.",
                pair.value.start,
            )
        root = self._parse(text_layer(self.findings.layer, pair))
        if root is None:
            return None
        if not isinstance(root, tree.MappingNode):
            return self._give_up(
                "not-a-matrix", "The text is not a mapping, so it has no entries.", "Begin with an entry.", root.start
            )
        return self._uncovered(root)

    def _uncovered(self, root: tree.MappingNode) -> Located | None:
        cover, rules = _pair(root, keys.COVER_KEY), _pair(root, keys.RULES_KEY)
        lost = _beside_its_own(root) or _beside_its_own(cover.value if cover is not None else root)
        if lost is not None:
            return self._not_indented(lost, f"`{lost.key.text}:`")
        if cover is None:
            if not any(role_of(pair.key.text) for pair in root.pairs):
                return self._no_entries(root)
            entries = replace(root, pairs=tuple(pair for pair in root.pairs if pair is not rules))
            return Located(layer=self.findings.layer, entries=entries, rules=rules)
        self.findings.unknown_keys(root, "the file", (keys.COVER_KEY, keys.RULES_KEY))
        if not isinstance(cover.value, tree.MappingNode):
            return self._give_up(
                "wrong-type",
                f"`{keys.COVER_KEY}` is {described(cover.value)}; it should hold the entries.",
                "Indent `current:` and the other entries below it.",
                cover.value.start,
            )
        return Located(layer=self.findings.layer, entries=cover.value, rules=rules)

    def _not_indented(self, lost: tree.Pair, above: str) -> Located | None:
        """One word for all that is wrong with a text that lost its indentation: the rest only follows from it."""
        self.findings.found.clear()
        return self._give_up(
            "indentation-lost",
            f"What belongs below {above} is not indented, so it is not in there.",
            "Indent the text below `matrix.yaml: |`, entries below `versions:`, versions below their entry, by two "
            "spaces each; text copied from a page often loses this.",
            lost.key.start,
        )

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


def _beside_its_own(node: tree.Node) -> tree.Pair | None:
    """An entry, or the cover, that is empty while what belongs into it stands beside it."""
    pairs = node.pairs if isinstance(node, tree.MappingNode) else ()
    if not any(component_of(pair.key.text) or pair.key.text in keys.ENTRY_KEYS for pair in pairs):
        return None
    return next((pair for pair in pairs if _is_cover(pair) and is_null(pair.value)), None)


def _fallen_out(root: tree.MappingNode, holder: tree.Pair | None) -> tree.Pair | None:
    """A piece of the matrix that stands in the ConfigMap itself, and not in its text."""
    held = holder.value.pairs if holder is not None and isinstance(holder.value, tree.MappingNode) else ()
    text = next((pair.value for pair in held if pair.key.text == keys.CONFIGMAP_KEY), None)
    beside = held if isinstance(text, tree.ScalarNode) and not text.text.strip() else ()
    outside = (pair for pair in root.pairs if pair.key.text == keys.CONFIGMAP_KEY or _is_cover(pair))
    return next(iter((*outside, *(pair for pair in beside if _is_cover(pair)))), None)


def _is_cover(pair: tree.Pair) -> bool:
    return pair.key.text == keys.COVER_KEY or role_of(pair.key.text) is not None
