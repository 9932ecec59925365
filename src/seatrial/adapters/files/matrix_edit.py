"""A text edited to mean another matrix, touching only the characters it must: comments, quotes, order, line ends stay.

    text ── read ──▶ Matrix ── move (core/compat/moves.py) ──▶ Matrix as it should be
      └── splice, character by character ──▶ new text ── read ──▶ the same Matrix, or nothing is changed at all

No text is ever written anew from values. What cannot be done by splicing is refused with a reason: a file rewritten in
another style hides the one line that matters from whoever reviews it.

    EditRefused         the edit was not made; the message says why, where and what to do

Tests: tests/adapters/files/test_edit.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from shlex import quote
from typing import Final

from seatrial.adapters.files import matrix_keys as keys
from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_place import Located, locate
from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.core.compat import moves
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Entry, Matrix, Role, Span, component_of, role_of
from seatrial.core.errors import SeatrialError
from seatrial.core.text import foreign

AMBIGUOUS: Final = frozenset({"duplicate-key"})
"""Findings with which nobody can say which of two lines an edit should change."""

WITH_THE_SET: Final = frozenset({"deployed", "hardware", "accept"})
"""Keys, besides components, that a new entry takes over from the one it is made of."""


class EditRefused(SeatrialError):  # noqa: N818
    """An edit that was not made; `finding` says why and where."""

    def __init__(self, finding: Finding) -> None:
        place = f"{finding.spans[0]}: " if finding.spans and finding.spans[0].file else ""
        super().__init__(f"{place}{finding.message} {finding.next_step}".rstrip())
        self.finding = finding


def set_value(text: str, role: Role, component: Component, new: str, *, file: str = "") -> str:
    """Give one component of one entry another version; a component that is missing gets a line of its own."""
    return _edited(text, file, lambda matrix: moves.set_version(matrix, role, component, new))


def add(text: str, role: Role, source: Role, *, file: str = "") -> str:
    """Write a new entry below the last one, with the set of another."""
    return _edited(text, file, lambda matrix: moves.add(matrix, role, source), like=source)


def promote(text: str, *, deployed: str = "", file: str = "") -> str:
    """Move the canary's set to production, and production's to rollback; `deployed` is the day, if dates are kept."""
    return _edited(text, file, lambda matrix: moves.promote(matrix, deployed))


def mark_bad(text: str, role: Role, why: str, *, file: str = "") -> str:
    """Write into an entry why its set was rejected."""
    said = foreign.lines(why)
    return _edited(text, file, lambda matrix: moves.mark_bad(matrix, role, said))


def unmark(text: str, role: Role, *, file: str = "") -> str:
    """Take the reason why a set was rejected out of an entry."""
    return _edited(text, file, lambda matrix: moves.unmark(matrix, role))


def _edited(text: str, file: str, move: Callable[[Matrix], Matrix | Finding], like: Role = Role.PRODUCTION) -> str:
    reading = read_matrix(text, file)
    for finding in reading.findings:
        if reading.matrix is None or finding.rule in AMBIGUOUS:
            raise EditRefused(finding)
    before = reading.matrix or Matrix(entries={}, file=file)
    after = move(before)
    if isinstance(after, Finding):
        raise EditRefused(after)
    draft = _Draft(text, file)
    draft.refuse_other_writing()
    for role, entry in after.entries.items():
        if role in before.entries:
            draft.bring_in_line(before.entries[role], entry, before)
        else:
            draft.add_entry(entry, like=like)
    found = read_matrix(draft.text, file).matrix
    if found is None or moves.meaning(found) != moves.meaning(after):
        raise draft.refused("the result would not mean what was asked for")
    return draft.text


class _Draft:
    """A text under edit. Each step finds its place anew, because the step before moved everything behind it."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self._original = text
        self._file = file

    def refuse_other_writing(self) -> None:
        """Refuse a matrix inside a quoted or folded text: no line of it is a line of the file."""
        layer = self._located().layer
        if not layer.is_verbatim:
            finding = Finding(
                rule="not-a-literal-block",
                verdict=Verdict.FAIL,
                message=f"`{keys.CONFIGMAP_KEY}` is not written as a literal block, so its lines cannot be edited.",
                next_step=f"Run `seatrial matrix fmt {quote(self._file)}`, which writes it as one; "
                "nothing was changed.",
                spans=(tree.Places(self._file, self._original).span(layer.at(0)),),
            )
            raise EditRefused(finding)

    # ── what to change ────────────────────────────────────────────────────────────────────────────────────────────────

    def bring_in_line(self, old: Entry, new: Entry, before: Matrix) -> None:
        """Make the text of one entry say what `new` says, where `old` does not."""
        wanted = _changed_texts(old, new)
        missing = self._replace_scalars(new.role, wanted)
        for name in missing:
            self._insert(new.role, name, wanted[name])
        for name in [name for name, text in wanted.items() if not text]:
            self._remove(new.role, name)
        if _hardware(old) != _hardware(new):
            alike = [each.role for each in before.entries.values() if _hardware(each) == _hardware(new)]
            self._take_over(new.role, "hardware", alike)
        if _accept(old) != _accept(new):
            self._take_over(new.role, "accept", [e.role for e in before.entries.values() if _accept(e) == _accept(new)])

    def add_entry(self, entry: Entry, like: Role) -> None:
        """Write a new entry below the last one, made of the lines of another."""
        located = self._located()
        container = located.entries
        original = locate(self._original) or located
        layer = original.layer
        model = self._pair_of(original, like)
        if model is None or not isinstance(model.value, tree.MappingNode) or not model.value.pairs:
            raise self.refused(f"there is no {like.value} entry to make {entry.key} of")
        taken = [
            (pair, layer.text[pair.key.start : _pair_end(layer, pair)])
            for pair in model.value.pairs
            if component_of(pair.key.text) or (pair.key.text in WITH_THE_SET and _is_told(entry, pair.key.text))
        ]
        status = f"{_written('status', model.value)}: {tree.quoted(entry.status, _style_in(model.value))}"
        raws = [*(raw for _, raw in taken), status]
        last = container.pairs[-1]
        key = _written(entry.key, container)
        if model.value.is_flow:
            self._insert_pair(located, container, last, f"{key}: {{{', '.join(raws)}}}")
            return
        newline = self._newline(layer, model.key.start)
        indent = " " * tree.column_of(layer.text, model.value.pairs[0].key.start)
        body = "".join(f"{newline}{indent}{raw}" for raw in raws)
        self._insert_pair(located, container, last, f"{key}:{body}", is_set_apart=True)

    # ── changing it ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _replace_scalars(self, role: Role, wanted: dict[str, str]) -> list[str]:
        """Replace all texts that are there; give back the names of those that are not."""
        located = self._located()
        layer = located.layer
        splices: list[tuple[int, int, str]] = []
        missing: list[str] = []
        for name, text in wanted.items():
            pair = self._inner_pair(located, role, name)
            if pair is None and text:
                missing.append(name)
            elif pair is not None and text:
                splices.append(self._scalar_splice(layer, pair, text))
        self._splice(layer, splices)
        return missing

    def _scalar_splice(self, layer: tree.Layer, pair: tree.Pair, text: str) -> tuple[int, int, str]:
        node = pair.value
        at = layer.at(pair.key.start)
        if not isinstance(node, tree.ScalarNode) or node.style in (tree.Style.LITERAL, tree.Style.FOLDED):
            raise self.refused(f"`{pair.key.text}` is not a text on one line", at)
        if node.start == node.end:  # nothing is written behind the colon
            return pair.colon, pair.colon, f" {tree.quoted(text, tree.Style.DOUBLE)}"
        if tree.BREAK.search(layer.text, node.start, node.end):
            raise self.refused(f"`{pair.key.text}` is written over several lines", at)
        return node.start, node.end, tree.quoted(text, node.style)

    def _insert(self, role: Role, name: str, text: str) -> None:
        located = self._located()
        entry = self._pair_of(located, role)
        if entry is None:
            raise self.refused(f"there is no {role.value} entry")
        spelled = self._spelling(located, name)
        if not isinstance(entry.value, tree.MappingNode):
            self._insert_first(located, entry, f"{spelled}: {tree.quoted(text, tree.Style.DOUBLE)}")
            return
        raw = f"{_written(spelled, entry.value)}: {tree.quoted(text, _style_in(entry.value))}"
        self._insert_pair(located, entry.value, _neighbour(entry.value, name), raw)

    def _insert_first(self, located: Located, entry: tree.Pair, raw: str) -> None:
        """Write the first line of an entry that is only a key so far."""
        layer = located.layer
        rest = layer.text[entry.colon : tree.line_end(layer.text, entry.colon)]
        if located.entries.is_flow or not _REST_OF_LINE.fullmatch(rest):
            raise self.refused(f"`{entry.key.text}` is empty", layer.at(entry.key.start))
        outside = tree.column_of(layer.text, entry.key.start)
        inside = next(
            (
                tree.column_of(layer.text, other.value.pairs[0].key.start)
                for other in located.entries.pairs
                if isinstance(other.value, tree.MappingNode) and other.value.pairs and not other.value.is_flow
            ),
            outside + 2,
        )
        at = tree.line_end(layer.text, entry.colon)
        self._splice(layer, [(at, at, f"{self._newline(layer, entry.colon)}{' ' * inside}{raw}")])

    def _insert_pair(
        self,
        located: Located,
        mapping: tree.MappingNode,
        after: tree.Pair | None,
        raw: str,
        *,
        is_set_apart: bool = False,
    ) -> None:
        layer = located.layer
        if mapping.is_flow:
            if tree.BREAK.search(raw):
                raise self.refused("lines cannot be put between braces", layer.at(mapping.start))
            at, comma = (mapping.start + 1, "") if after is None else (_pair_end(layer, after), ", ")
            self._splice(layer, [(at, at, f"{comma}{raw}")])
            return
        if after is None:
            raise self.refused("the entry is empty", layer.at(mapping.start))
        end = _pair_end(layer, after)
        at = tree.line_end(layer.text, end)
        if not _REST_OF_LINE.fullmatch(layer.text, end, at):
            raise self.refused("there is more on the line than this value", layer.at(end))
        newline = self._newline(layer, end)
        gap = newline if is_set_apart and _stands_apart(layer, after) else ""
        indent = " " * tree.column_of(layer.text, mapping.pairs[0].key.start)
        self._splice(layer, [(at, at, f"{gap}{newline}{indent}{raw}")])

    def _remove(self, role: Role, name: str) -> None:
        located = self._located()
        layer = located.layer
        entry = self._pair_of(located, role)
        pair = self._inner_pair(located, role, name)
        if entry is None or pair is None or not isinstance(entry.value, tree.MappingNode):
            return
        if len(entry.value.pairs) == 1 and not entry.value.is_flow:
            raise self.refused(f"`{pair.key.text}` is all there is in {entry.key.text}", layer.at(pair.key.start))
        if entry.value.is_flow:
            self._splice(layer, [(*self._flow_range(layer, entry.value, pair), "")])
        else:
            self._splice(layer, [(*self._line_range(layer, pair), "")])

    def _line_range(self, layer: tree.Layer, pair: tree.Pair) -> tuple[int, int]:
        """From the end of the line before to the end of the pair's last line."""
        start = tree.line_start(layer.text, pair.key.start)
        end = tree.line_end(layer.text, _pair_end(layer, pair))
        if layer.text[start : pair.key.start].strip(" ") or start == 0:
            raise self.refused(f"`{pair.key.text}` shares its line", layer.at(pair.key.start))
        before = start - 2 if layer.text[:start].endswith("\r\n") else start - 1
        return before, end

    def _flow_range(self, layer: tree.Layer, mapping: tree.MappingNode, pair: tree.Pair) -> tuple[int, int]:
        place = mapping.pairs.index(pair)
        end = _pair_end(layer, pair)
        if place > 0:
            before = _pair_end(layer, mapping.pairs[place - 1])
            # A comment between the two belongs to the one before: only the line goes; YAML allows the comma that stays.
            return self._line_range(layer, pair) if "#" in layer.text[before : pair.key.start] else (before, end)
        return pair.key.start, mapping.pairs[1].key.start if len(mapping.pairs) > 1 else end

    def _take_over(self, role: Role, name: str, sources: Sequence[Role]) -> None:
        """Copy what another entry of the original text says under `name`; remove it where that one says nothing."""
        original = locate(self._original)
        source = next((role for role in sources), None)
        if original is None or source is None:
            raise self.refused(f"there is no entry to take `{name}` from")
        model = self._inner_pair(original, source, name)
        if model is None:
            self._remove(role, name)
            return
        located = self._located()
        layer = located.layer
        entry = self._pair_of(located, role)
        if entry is None or not isinstance(entry.value, tree.MappingNode) or not entry.value.pairs:
            raise self.refused(f"{role.value} has no lines to put `{name}` below")
        raw = original.layer.text[model.key.start : _pair_end(original.layer, model)]
        have = tree.column_of(original.layer.text, model.key.start)
        want = tree.column_of(layer.text, entry.value.pairs[0].key.start)
        raw = self._moved(raw, have, want) if not entry.value.is_flow else raw
        pair = self._inner_pair(located, role, name)
        if pair is None:
            self._insert_pair(located, entry.value, entry.value.pairs[-1], raw)
        else:
            self._splice(layer, [(pair.key.start, _pair_end(layer, pair), raw)])

    def _moved(self, raw: str, have: int, want: int) -> str:
        """The lines behind the first, as far to the right or left as the first one moves."""
        if want >= have:
            return tree.BREAK.sub(lambda found: found[0] + " " * (want - have), raw)
        return re.sub(rf"(\r\n|\n|\r) {{{have - want}}}", r"\1", raw)

    def _splice(self, layer: tree.Layer, splices: Sequence[tuple[int, int, str]]) -> None:
        """Replace ranges of a layer in the file's text; new lines get the indentation of the layer."""
        for start, end, new in sorted(splices, reverse=True):
            indented = re.sub(r"(\r\n|\n|\r)(?=[^\r\n])", lambda found: found[0] + layer.indent, new)
            self.text = self.text[: layer.at(start)] + indented + self.text[layer.at(end) :]

    # ── finding places ────────────────────────────────────────────────────────────────────────────────────────────────

    def _located(self) -> Located:
        located = locate(self.text)
        if located is None:
            raise self.refused("a step on the way would make the file unreadable")
        return located

    def _pair_of(self, located: Located, role: Role) -> tree.Pair | None:
        return next((pair for pair in located.entries.pairs if role_of(pair.key.text) is role), None)

    def _inner_pair(self, located: Located, role: Role, name: str) -> tree.Pair | None:
        entry = self._pair_of(located, role)
        if entry is None or not isinstance(entry.value, tree.MappingNode):
            return None
        return next((pair for pair in entry.value.pairs if _name_of(pair) == name), None)

    def _spelling(self, located: Located, name: str) -> str:
        """The key under which the file already knows this component, if it does."""
        for pair in located.entries.pairs:
            for inner in pair.value.pairs if isinstance(pair.value, tree.MappingNode) else ():
                if _name_of(inner) == name:
                    return inner.key.text
        return name

    def _newline(self, layer: tree.Layer, offset: int) -> str:
        """The line break in use: that of this line, or the first of the file."""
        found = tree.BREAK.search(layer.text, offset) or tree.BREAK.search(self.text)
        return found[0] if found else "\n"

    def refused(self, why: str, at: int = 0) -> EditRefused:
        places = tree.Places(self._file, self._original)
        return EditRefused(
            Finding(
                rule="edit-refused",
                verdict=Verdict.FAIL,
                message=f"This edit cannot be made without touching other lines: {why}.",
                next_step="Make it yourself; nothing was changed.",
                spans=(places.span(at) if self.text == self._original else Span(file=self._file, line=1, column=1),),
            )
        )


_REST_OF_LINE: Final = re.compile(r"[ \t]*(#.*)?")


def _changed_texts(old: Entry, new: Entry) -> dict[str, str]:
    """What is to be said under which name; an empty text means that nothing is to be said."""
    changed: dict[str, str] = {}
    for component in Component:
        before, after = old.stack[component], new.stack[component]
        if (before.text if before else "") != (after.text if after else ""):
            changed[component.value] = after.text if after else ""
    for name in keys.TEXTS:
        if getattr(old, name) != getattr(new, name):
            changed[name] = getattr(new, name)
    return changed


def _is_told(entry: Entry, name: str) -> bool:
    if name == "hardware":
        return moves.is_described(entry.stack.hardware)
    return bool(getattr(entry, name))


def _hardware(entry: Entry) -> object:
    hardware = entry.stack.hardware
    return tuple(replace(pool, span=Span()) for pool in hardware.pools)


def _accept(entry: Entry) -> object:
    return tuple(replace(accept, span=Span()) for accept in entry.accept)


def _name_of(pair: tree.Pair) -> str:
    component = component_of(pair.key.text)
    return component.value if component is not None else pair.key.text


def _neighbour(mapping: tree.MappingNode, name: str) -> tree.Pair | None:
    """The pair to write a new one behind: a component after the last component, other things after the status."""
    is_near = (lambda key: component_of(key) is not None) if component_of(name) else (lambda key: key == "status")
    near = [pair for pair in mapping.pairs if is_near(pair.key.text)]
    return near[-1] if near else mapping.pairs[-1] if mapping.pairs else None


def _style_in(mapping: tree.MappingNode) -> tree.Style:
    """The quotes in use among the versions of an entry."""
    for pair in mapping.pairs:
        if component_of(pair.key.text) and isinstance(pair.value, tree.ScalarNode):
            return pair.value.style
    return tree.Style.DOUBLE


def _written(name: str, mapping: tree.MappingNode) -> str:
    """A key in the quotes its neighbours have."""
    return tree.quoted(name, mapping.pairs[0].key.style if mapping.pairs else tree.Style.PLAIN)


def _pair_end(layer: tree.Layer, pair: tree.Pair) -> int:
    node = pair.value
    is_unwritten = isinstance(node, tree.ScalarNode) and node.start == node.end
    return pair.colon if is_unwritten else tree.end_of(layer, node)


def _stands_apart(layer: tree.Layer, pair: tree.Pair) -> bool:
    """Whether there is an empty line above."""
    start = tree.line_start(layer.text, pair.key.start)
    above = layer.text[:start].splitlines()
    return bool(above) and not above[-1].strip()
