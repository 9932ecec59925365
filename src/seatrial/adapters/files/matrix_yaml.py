"""Text → Matrix, every mistake a Finding that knows its line. Edits are in matrix_edit.py, disks in matrix_file.py.

    text ─▶ matrix_place.py: where the entries are ─▶ here: what they say        matrix_findings.py: what is wrong

`read_matrix` never raises on account of the text. It gives a matrix wherever one can be made out, so that all findings
come in one go; it gives none where the text is no YAML, or says things at a distance (anchors, merges).

Tests: tests/adapters/files/test_matrix_yaml.py
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from seatrial.adapters.files import matrix_keys as keys
from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_findings import KINDS, Findings, cut, described, did_you_mean, is_null
from seatrial.adapters.files.matrix_place import Located, Locator
from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat import coherence, versions
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import (
    SCHEMES,
    Accept,
    Component,
    Entry,
    Hardware,
    Matrix,
    Note,
    Role,
    Span,
    Stack,
    Value,
    component_of,
    role_of,
)
from seatrial.core.text import foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says, and what is wrong with it; without a matrix when none can be made out."""

    matrix: Matrix | None
    findings: tuple[Finding, ...] = ()


def read_matrix(text: str, file: str) -> Reading:
    """Read a matrix of either shape."""
    locator = Locator(file=file, text=text)
    located, findings = locator.locate(), locator.findings
    if located is None or locator.is_fatal:
        return Reading(matrix=None, findings=findings.told())
    findings.layer = located.layer
    matrix = _Reader(file=file, findings=findings).matrix(located)
    findings.found.extend(coherence.oddities(matrix))
    return Reading(matrix=matrix, findings=findings.told())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Walks the entries once, and says on the way what is wrong with them."""

    file: str
    findings: Findings

    def matrix(self, located: Located) -> Matrix:
        entries: dict[Role, Entry] = {}
        for pair in located.entries.pairs:
            role = role_of(pair.key.text)
            if role is None:
                self.findings.unknown(pair, "a matrix", keys.MATRIX_KEYS)
            elif role in entries:
                if entries[role].key != pair.key.text:
                    self.findings.twice(pair, f"the {role.value} entry", entries[role].key, entries[role].span)
            else:
                entry = self._entry(role, pair)
                if entry is not None:
                    entries[role] = entry
        return Matrix(entries=entries, notes=self._notes(located.rules), file=self.file)

    def _notes(self, pair: tree.Pair | None) -> tuple[Note, ...]:
        """Rules in words; whoever wrote them reads them, so what is told is what they are."""
        if pair is None or is_null(pair.value):
            return ()
        if not isinstance(pair.value, tree.SequenceNode):
            self.findings.wrong_type(pair, "a list", "Write `- name: …` below it, with `rule`, `check`, `rationale`.")
            return ()
        return tuple(self._note(item) for item in pair.value.items)

    def _note(self, item: tree.Node) -> Note:
        span = self.findings.span(item.start)
        if isinstance(item, tree.ScalarNode):
            return Note(rule=foreign.lines(item.text), span=span)
        told: dict[str, str] = {}
        for inner in item.pairs if isinstance(item, tree.MappingNode) else ():
            if inner.key.text in keys.RULE:
                told.setdefault(inner.key.text, self._text(inner))
            else:
                self.findings.unknown(inner, keys.RULES_KEY, tuple(keys.RULE))
        return Note(**told, span=span)

    def _entry(self, role: Role, pair: tree.Pair) -> Entry | None:
        node = pair.value
        if is_null(node):
            node = tree.MappingNode(pairs=(), is_flow=False, start=pair.key.start, end=pair.colon)
        if not isinstance(node, tree.MappingNode):
            self.findings.wrong_type(pair, "its versions", "Indent them below it, one `component: version` per line.")
            return None
        values: dict[Component, Value] = {}
        texts: dict[str, str] = {}
        hardware = Hardware()
        accept: list[Accept] = []
        extra: dict[str, str] = {}
        seen: set[str] = set()
        for inner in node.pairs:
            name = inner.key.text
            component = component_of(name)
            if name in seen:
                continue  # given twice, and reported as such; the first one counts
            seen.add(name)
            if component is not None:
                if component in values:
                    self.findings.twice(inner, component.value, values[component].text, values[component].span)
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
            elif name == keys.EXTRA_KEY:
                extra = self._extra(inner)
            else:
                self.findings.unknown(inner, f"the entry {pair.key.text}", keys.ENTRY_KEYS)
        return Entry(
            role=role,
            key=pair.key.text,
            stack=Stack(values=values, hardware=hardware),
            accept=tuple(accept),
            extra=extra,
            span=self.findings.span(pair.key.start),
            status=texts.get("status", ""),
            deployed=texts.get("deployed", ""),
            target_date=texts.get("target_date", ""),
            canary_node=texts.get("canary_node", ""),
            notes=texts.get("notes", ""),
            bad=texts.get("bad", ""),
        )

    def _extra(self, pair: tree.Pair) -> dict[str, str]:
        """Whatever is there: texts as they are, of anything else only that it is there."""
        if not isinstance(pair.value, tree.MappingNode):
            self.findings.wrong_type(pair, "a mapping", 'Write `name: "…"` below it; nothing in it is judged.')
            return {}
        return {
            inner.key.text: inner.value.text if isinstance(inner.value, tree.ScalarNode) else "…"
            for inner in pair.value.pairs
        }

    def _value(self, component: Component, pair: tree.Pair) -> Value | None:
        node = pair.value
        if not isinstance(node, tree.ScalarNode):
            self.findings.wrong_type(pair, "a version", f'Write it on one line: `{pair.key.text}: "…"`.')
            return None
        if is_null(node):
            self.findings.add(
                "value-missing",
                Verdict.FAIL,
                f"`{pair.key.text}` has no version.",
                "Write the version, or remove the line.",
                [self.findings.span(pair.key.start)],
            )
            return None
        value = Value.read(component, foreign.line(node.text), self.findings.span(node.start))
        if value.version is None:
            form = versions.VALUES[SCHEMES[component]].form
            self.findings.add(
                "version-unreadable",
                Verdict.FAIL,
                f"{component.value} {cut(node.text)!r} cannot be read as a version: expected {form.shape}, "
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
        self.findings.add(
            "quote-versions",
            Verdict.WARN if is_kept else Verdict.FAIL,
            f"`{pair.key.text}: {cut(node.text)}` is "
            + (
                f"{KINDS[node.kind]} to YAML, not a text."
                if is_kept or not printed
                else f"the number {printed} to YAML."
            ),
            f'Quote it: `{pair.key.text}: "{cut(node.text)}"`.',
            [self.findings.span(node.start)],
        )

    def _text(self, pair: tree.Pair) -> str:
        node = pair.value
        if not isinstance(node, tree.ScalarNode):
            self.findings.wrong_type(pair, "a text", "Write it on one line, in quotes.")
            return ""
        if is_null(node):
            return ""
        if pair.key.text == "bad" and node.kind == "bool":
            self.findings.wrong_type(pair, "the reason why this set was rejected", 'Say why: `bad: "…"`.')
            return ""
        if pair.key.text in keys.DATES and node.text and _date(node.text) is None:
            self.findings.bad_date(pair.key.text, node)
        return foreign.lines(node.text)

    def _hardware(self, pair: tree.Pair) -> Hardware:
        if isinstance(pair.value, tree.SequenceNode):
            pools = [
                self._pool(item, self.findings.span(item.start))
                for item in pair.value.items
                if isinstance(item, tree.MappingNode)
            ]
            if pools and len(pools) == len(pair.value.items):
                return replace(pools[0], others=tuple(pools[1:]))
        if not isinstance(pair.value, tree.MappingNode):
            self.findings.wrong_type(
                pair,
                "a mapping, or a list of them",
                f"Write `{', '.join(keys.HARDWARE)}` below it, as far as known; of several pools, one `- ` each.",
            )
            return Hardware(span=self.findings.span(pair.key.start))
        return self._pool(pair.value, self.findings.span(pair.key.start))

    def _pool(self, node: tree.MappingNode, span: Span) -> Hardware:
        told: dict[str, str] = {}
        for inner in node.pairs:
            name = inner.key.text
            if name not in keys.HARDWARE:
                self.findings.unknown(inner, "hardware", tuple(keys.HARDWARE))
                continue
            allowed = keys.HARDWARE[name][1]
            text = told.setdefault(name, self._text(inner))
            if text and allowed and text not in allowed:
                self.findings.add(
                    "wrong-value",
                    Verdict.FAIL,
                    f"`{name}` is {cut(text)!r}; it may be {' or '.join(allowed)}.",
                    did_you_mean(text, allowed) or f"Write one of them, or remove `{name}`.",
                    [self.findings.span(inner.value.start)],
                )
        return Hardware(
            span=span,
            pool=told.get("pool", ""),
            arch=told.get("arch", ""),
            product=told.get("product", ""),
            kernel_module=told.get("kernel_module", ""),
            rdma=told.get("rdma", ""),
        )

    def _accepts(self, pair: tree.Pair) -> list[Accept]:
        if not isinstance(pair.value, tree.SequenceNode):
            self.findings.wrong_type(pair, "a list", "Write `- rule: …` below it, with a reason.")
            return []
        return [accept for item in pair.value.items if (accept := self._accept(item)) is not None]

    def _accept(self, item: tree.Node) -> Accept | None:
        if not isinstance(item, tree.MappingNode):
            said = item.text if isinstance(item, tree.ScalarNode) else "…"
            self.findings.add(
                "wrong-type",
                Verdict.FAIL,
                f"An accepted rule is {described(item)}; it needs a reason beside it.",
                f"Write `- rule: {cut(said)}` and, below it, `reason: …` and perhaps `until: 2026-12-31`.",
                [self.findings.span(item.start)],
            )
            return None
        told: dict[str, str] = {}
        until: date | None = None
        for inner in item.pairs:
            name = inner.key.text
            if name not in keys.ACCEPT:
                self.findings.unknown(inner, "accept", tuple(keys.ACCEPT))
                continue
            text = self._text(inner)
            if name == "until" and text and isinstance(inner.value, tree.ScalarNode):
                until = _date(text)
                if until is None:
                    self.findings.bad_date(name, inner.value)
                    return None  # accepted for ever is not what somebody who wrote a limit meant
            told.setdefault(name, text)
        missing = [name for name in keys.ACCEPT_REQUIRED if not told.get(name, "").strip()]
        if missing:
            self.findings.add(
                "accept-incomplete",
                Verdict.FAIL,
                f"An accepted rule has no {' and no '.join(missing)}, so later it is unclear why it was accepted.",
                f"Add `{missing[0]}: …`.",
                [self.findings.span(item.start)],
            )
            return None
        return Accept(rule=told["rule"], reason=told["reason"], until=until, span=self.findings.span(item.start))


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
