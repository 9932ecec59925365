"""Text → Matrix, every mistake a Finding that knows its line. Edits are in matrix_edit.py, disks in matrix_file.py.

`read_matrix` never raises on account of the text. It gives a matrix wherever one can be made out, so that all findings
come in one go; it gives none where the text is no YAML, or says things at a distance (anchors, merges).

Tests: tests/adapters/files/test_matrix_yaml.py
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from seatrial.adapters.files import matrix_keys as keys
from seatrial.adapters.files import yaml_tree as tree
from seatrial.core import foreign
from seatrial.core.compat import coherence, versions
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import (
    SCHEMES,
    Accept,
    Component,
    Entry,
    Hardware,
    Matrix,
    Role,
    Span,
    Stack,
    Value,
    component_of,
    role_of,
)

LENGTH_MAX: Final = 256 * 1024
"""A matrix of four entries takes 4 KiB; what is a hundred times larger is another file."""

FINDINGS_MAX: Final = 100

FATAL: Final = frozenset({"yaml-alias", "yaml-anchor", "yaml-tag", "merge-key", "multiple-documents"})
"""Troubles after which the tree may not mean what it seems to mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says, and what is wrong with it; without a matrix when none can be made out."""

    matrix: Matrix | None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The mapping that holds the entries, and the layer its offsets count in."""

    layer: tree.Layer
    entries: tree.MappingNode


def read_matrix(text: str, file: str) -> Reading:
    """Read a matrix of either shape."""
    reader = _Reader(file=file, text=text)
    located = reader.locate()
    if located is None or reader.is_fatal:
        return Reading(matrix=None, findings=reader.told())
    matrix = reader.matrix(located)
    reader.findings.extend(coherence.oddities(matrix))
    return Reading(matrix=matrix, findings=reader.told())


def locate(text: str) -> Located | None:
    """Find the mapping that holds the entries; None where `read_matrix` finds no matrix."""
    reader = _Reader(file="", text=text)
    located = reader.locate()
    return None if reader.is_fatal else located


@dataclass(slots=True)
class _Reader:
    """Walks the tree once, and collects findings on the way."""

    file: str
    text: str
    findings: list[Finding] = field(default_factory=list)
    is_fatal: bool = False
    _places: tree.Places = field(init=False)
    _layer: tree.Layer = field(init=False)

    def __post_init__(self) -> None:
        self._places = tree.Places(self.file, self.text[: LENGTH_MAX + 1])
        self._layer = tree.outer_layer(self.text)

    def told(self) -> tuple[Finding, ...]:
        """The findings in the order of the file, as many as anybody can read."""
        if len(self.findings) <= FINDINGS_MAX:
            return tuple(sorted(self.findings, key=lambda finding: finding.spans[0]))
        more = Finding(
            rule="too-many-findings",
            verdict=Verdict.FAIL,
            message=f"There are more than {FINDINGS_MAX} findings; the rest is left out.",
            next_step="Correct these first, or check that this file is meant to be a matrix.",
            spans=self.findings[FINDINGS_MAX].spans,
        )
        return (*self.findings[:FINDINGS_MAX], more)

    # ── finding the entries ───────────────────────────────────────────────────────────────────────────────────────────

    def locate(self) -> Located | None:
        if len(self.text) > LENGTH_MAX:
            return self._give_up(
                "file-too-large",
                f"The text has {len(self.text):,} characters; a matrix has a few thousand, {LENGTH_MAX:,} at most.",
                "Check that this is the right file.",
            )
        root = self._parse(self._layer)
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
            self._add(trouble.rule, Verdict.FAIL, trouble.message, trouble.next_step, map(self._places.span, offsets))
        if parsed.root is None and not parsed.troubles:
            self._layer = layer
            self._give_up(
                "not-a-matrix", "There is nothing here to read.", "Write the matrix; `seatrial init` shows how."
            )
        self._layer = layer
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
        self._unknown_keys(root, "a ConfigMap", keys.CONFIGMAP_KEYS)
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
                f"The ConfigMap has no key `{keys.CONFIGMAP_KEY}`; it has {_listed(found)}.",
                f"Rename `{near[0]}` to `{keys.CONFIGMAP_KEY}`." if near else f"Add `{keys.CONFIGMAP_KEY}: |`.",
                holder.key.start,
            )
        return self._locate_in_block(pair)

    def _locate_in_block(self, pair: tree.Pair) -> Located | None:
        if not isinstance(pair.value, tree.ScalarNode):
            return self._give_up(
                "wrong-type",
                f"`{keys.CONFIGMAP_KEY}` is {_described(pair.value)}; the values of a ConfigMap are texts.",
                f"Write `{keys.CONFIGMAP_KEY}: |`, and keep the matrix indented below it.",
                pair.value.start,
            )
        inner = tree.block_layer(self._layer, pair)
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
            return Located(layer=self._layer, entries=root)
        self._unknown_keys(root, "the file", (keys.COVER_KEY,))
        if not isinstance(cover.value, tree.MappingNode):
            return self._give_up(
                "wrong-type",
                f"`{keys.COVER_KEY}` is {_described(cover.value)}; it should hold the entries.",
                "Indent `current:` and the other entries below it.",
                cover.value.start,
            )
        return Located(layer=self._layer, entries=cover.value)

    def _no_entries(self, root: tree.MappingNode) -> Located | None:
        found = [pair.key.text for pair in root.pairs]
        near = next(
            ((name, match[0]) for name in found if (match := _close(name, (keys.COVER_KEY, *keys.MATRIX_KEYS)))), None
        )
        advice = "Begin with `versions:` and an entry `current:` below it; `seatrial init` writes one."
        return self._give_up(
            "not-a-matrix",
            f"None of the keys is an entry of a matrix; there is {_listed(found)}.",
            f"Did you mean `{near[1]}` instead of `{near[0]}`?" if near else advice,
            root.start,
        )

    # ── reading the entries ───────────────────────────────────────────────────────────────────────────────────────────

    def matrix(self, located: Located) -> Matrix:
        self._layer = located.layer
        entries: dict[Role, Entry] = {}
        for pair in located.entries.pairs:
            role = role_of(pair.key.text)
            if role is None:
                self._unknown(pair, "a matrix", keys.MATRIX_KEYS)
            elif role in entries:
                if entries[role].key != pair.key.text:
                    self._twice(pair, f"the {role.value} entry", entries[role].key, entries[role].span)
            else:
                entry = self._entry(role, pair)
                if entry is not None:
                    entries[role] = entry
        return Matrix(entries=entries, file=self.file)

    def _entry(self, role: Role, pair: tree.Pair) -> Entry | None:
        node = pair.value
        if _is_null(node):
            node = tree.MappingNode(pairs=(), is_flow=False, start=pair.key.start, end=pair.colon)
        if not isinstance(node, tree.MappingNode):
            self._wrong_type(pair, "its versions", "Indent them below it, one `component: version` per line.")
            return None
        values: dict[Component, Value] = {}
        texts: dict[str, str] = {}
        hardware = Hardware()
        accept: list[Accept] = []
        seen: set[str] = set()
        for inner in node.pairs:
            name = inner.key.text
            component = component_of(name)
            if name in seen:
                continue  # given twice, and reported as such; the first one counts
            seen.add(name)
            if component is not None:
                if component in values:
                    self._twice(inner, component.value, values[component].text, values[component].span)
                    continue
                value = self._value(component, inner)
                if value is not None:
                    values[component] = value
            elif name in keys.TEXTS:
                texts[name] = self._text(inner)
            elif name == "hardware":
                hardware = self._hardware(inner)
            elif name == "accept":
                accept = self._accepts(inner)
            else:
                self._unknown(inner, f"the entry {pair.key.text}", keys.ENTRY_KEYS)
        return Entry(
            role=role,
            key=pair.key.text,
            stack=Stack(values=values, hardware=hardware),
            accept=tuple(accept),
            span=self._span(pair.key.start),
            **texts,
        )

    def _value(self, component: Component, pair: tree.Pair) -> Value | None:
        node = pair.value
        if not isinstance(node, tree.ScalarNode):
            self._wrong_type(pair, "a version", f'Write it on one line: `{pair.key.text}: "…"`.')
            return None
        if _is_null(node):
            self._add(
                "value-missing",
                Verdict.FAIL,
                f"`{pair.key.text}` has no version.",
                "Write the version, or remove the line.",
                [self._span(pair.key.start)],
            )
            return None
        value = Value.read(component, foreign.line(node.text), self._span(node.start))
        if value.version is None:
            form = versions.VALUES[SCHEMES[component]].form
            self._add(
                "version-unreadable",
                Verdict.FAIL,
                f"{component.value} {_cut(node.text)!r} cannot be read as a version: expected {form.shape}, "
                f"e.g. {form.example}.",
                form.advice,
                [value.span],
            )
        if node.kind not in ("str", "null"):
            self._quote(pair, node)
        return value

    def _quote(self, pair: tree.Pair, node: tree.ScalarNode) -> None:
        """An unquoted 24.10 is the number 24.1 to every other reader of the file."""
        printed = _as_number(node)
        is_kept = printed == node.text
        self._add(
            "quote-versions",
            Verdict.WARN if is_kept else Verdict.FAIL,
            f"`{pair.key.text}: {_cut(node.text)}` is "
            + (
                f"{_KINDS[node.kind]} to YAML, not a text."
                if is_kept or not printed
                else f"the number {printed} to YAML."
            ),
            f'Quote it: `{pair.key.text}: "{_cut(node.text)}"`.',
            [self._span(node.start)],
        )

    def _text(self, pair: tree.Pair) -> str:
        node = pair.value
        if not isinstance(node, tree.ScalarNode):
            self._wrong_type(pair, "a text", "Write it on one line, in quotes.")
            return ""
        if _is_null(node):
            return ""
        if pair.key.text == "bad" and node.kind == "bool":
            self._wrong_type(pair, "the reason why this set was rejected", 'Say why: `bad: "…"`.')
            return ""
        if pair.key.text in keys.DATES and node.text and _date(node.text) is None:
            self._bad_date(pair.key.text, node)
        return foreign.lines(node.text)

    def _hardware(self, pair: tree.Pair) -> Hardware:
        if not isinstance(pair.value, tree.MappingNode):
            self._wrong_type(pair, "a mapping", f"Write `{', '.join(keys.HARDWARE)}` below it, as far as known.")
            return Hardware(span=self._span(pair.key.start))
        told: dict[str, str] = {}
        for inner in pair.value.pairs:
            name = inner.key.text
            if name not in keys.HARDWARE:
                self._unknown(inner, "hardware", tuple(keys.HARDWARE))
                continue
            allowed = keys.HARDWARE[name][1]
            text = told.setdefault(name, self._text(inner))
            if text and allowed and text not in allowed:
                self._add(
                    "wrong-value",
                    Verdict.FAIL,
                    f"`{name}` is {_cut(text)!r}; it may be {' or '.join(allowed)}.",
                    _did_you_mean(text, allowed) or f"Write one of them, or remove `{name}`.",
                    [self._span(inner.value.start)],
                )
        return Hardware(span=self._span(pair.key.start), **told)

    def _accepts(self, pair: tree.Pair) -> list[Accept]:
        if not isinstance(pair.value, tree.SequenceNode):
            self._wrong_type(pair, "a list", "Write `- rule: …` below it, with a reason.")
            return []
        return [accept for item in pair.value.items if (accept := self._accept(item)) is not None]

    def _accept(self, item: tree.Node) -> Accept | None:
        if not isinstance(item, tree.MappingNode):
            said = item.text if isinstance(item, tree.ScalarNode) else "…"
            self._add(
                "wrong-type",
                Verdict.FAIL,
                f"An accepted rule is {_described(item)}; it needs a reason beside it.",
                f"Write `- rule: {_cut(said)}` and, below it, `reason: …` and perhaps `until: 2026-12-31`.",
                [self._span(item.start)],
            )
            return None
        told: dict[str, str] = {}
        until: date | None = None
        for inner in item.pairs:
            name = inner.key.text
            if name not in keys.ACCEPT:
                self._unknown(inner, "accept", tuple(keys.ACCEPT))
                continue
            text = self._text(inner)
            if name == "until" and text and isinstance(inner.value, tree.ScalarNode):
                until = _date(text)
                if until is None:
                    self._bad_date(name, inner.value)
                    return None  # accepted for ever is not what somebody who wrote a limit meant
            told.setdefault(name, text)
        missing = [name for name in keys.ACCEPT_REQUIRED if not told.get(name, "").strip()]
        if missing:
            self._add(
                "accept-incomplete",
                Verdict.FAIL,
                f"An accepted rule has no {' and no '.join(missing)}, so nobody can tell later why it was accepted.",
                f"Add `{missing[0]}: …`.",
                [self._span(item.start)],
            )
            return None
        return Accept(rule=told["rule"], reason=told["reason"], until=until, span=self._span(item.start))

    # ── saying what is wrong ──────────────────────────────────────────────────────────────────────────────────────────

    def _give_up(self, rule: str, message: str, next_step: str, at: int = 0) -> Located | None:
        self._add(rule, Verdict.FAIL, message, next_step, [self._span(at)])
        return None

    def _unknown_keys(self, node: tree.MappingNode, place: str, known: Sequence[str]) -> None:
        for pair in node.pairs:
            if pair.key.text not in known:
                self._unknown(pair, place, known)

    def _unknown(self, pair: tree.Pair, place: str, known: Sequence[str]) -> None:
        if len(self.findings) > FINDINGS_MAX:
            return  # looking for a similar name takes its time
        name = pair.key.text
        self._add(
            "unknown-key",
            Verdict.FAIL,
            f"`{_cut(name)}` is no key of {place}.",
            _did_you_mean(name, known) or f"Remove it; there is {_listed(known)}.",
            [self._span(pair.key.start)],
        )

    def _twice(self, pair: tree.Pair, what: str, first: str, also: Span) -> None:
        self._add(
            "duplicate-key",
            Verdict.FAIL,
            f"`{_cut(pair.key.text)}` gives {what} a second time; {_cut(first)} came first, and counts.",
            "Keep one of the two.",
            [self._span(pair.key.start), also],
        )

    def _wrong_type(self, pair: tree.Pair, wanted: str, next_step: str) -> None:
        self._add(
            "wrong-type",
            Verdict.FAIL,
            f"`{_cut(pair.key.text)}` is {_described(pair.value)}; it should be {wanted}.",
            next_step,
            [self._span(pair.value.start)],
        )

    def _bad_date(self, name: str, node: tree.ScalarNode) -> None:
        self._add(
            "date-unreadable",
            Verdict.FAIL,
            f"`{name}` is {_cut(node.text)!r}, which is no day of the calendar.",
            "Write it as YYYY-MM-DD.",
            [self._span(node.start)],
        )

    def _add(self, rule: str, verdict: Verdict, message: str, next_step: str, spans: Iterable[Span]) -> None:
        if len(self.findings) <= FINDINGS_MAX:
            self.findings.append(
                Finding(
                    rule=rule,
                    verdict=verdict,
                    message=foreign.line(message),
                    next_step=foreign.line(next_step),
                    spans=tuple(spans),
                )
            )

    def _span(self, offset: int) -> Span:
        return self._places.span(self._layer.at(offset))


_KINDS: Final = {"int": "a number", "float": "a number", "bool": "true or false", "timestamp": "a date"}


def _pair(node: tree.MappingNode, name: str) -> tree.Pair | None:
    return next((pair for pair in node.pairs if pair.key.text == name), None)


def _is_null(node: tree.Node) -> bool:
    return isinstance(node, tree.ScalarNode) and node.kind == "null"


def _described(node: tree.Node) -> str:
    match node:
        case tree.MappingNode():
            return "a mapping"
        case tree.SequenceNode():
            return "a list"
        case _ if _is_null(node):
            return "empty"
        case _:
            return _KINDS.get(node.kind, "a text")


def _as_number(node: tree.ScalarNode) -> str:
    """How YAML prints the number it takes this for; empty where it is no plain decimal number."""
    if not _DECIMAL.fullmatch(node.text):
        return ""
    return str(int(node.text)) if node.kind == "int" else repr(float(node.text))


_DECIMAL: Final = re.compile(r"(0|[1-9][0-9]{0,16}|[0-9]{1,17}\.[0-9]{1,17})")


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _close(name: str, known: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(name[:40].lower().replace("-", "_"), known, 1, 0.7)


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = _close(name, known)
    return f"Did you mean `{near[0]}`?" if near else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{_cut(name)}`" for name in names[:12]) or "none"
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
