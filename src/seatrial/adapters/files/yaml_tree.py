"""YAML text as a tree that knows where everything is written, down to the character. What it means is not known here.

    Layer   a text as the parser reads it, and where each of its pieces sits in the file
              the file itself ───────────────────────────┐
              the text of a scalar in it (yaml_text.py) ─┴─ the same tree, the same offsets, one layer further in
    Node    ScalarNode | MappingNode | SequenceNode, with offsets into its layer
    Trouble what cannot be accepted, with its offset in the file

PyYAML's C parser supplies events and marks; everything that makes a text depend on more than what is written at one
place (anchors, aliases, merge keys, tags) is refused, because an edit of one place could then change another.

Tests: tests/adapters/files/test_matrix_yaml.py
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import yaml

from seatrial.core.compat.matrix import Span

DEPTH_MAX: Final = 16
"""A matrix needs seven levels. The C parser's time grows with the square of the depth: 100,000 brackets take 40 s."""

BREAK: Final = re.compile(r"\r\n|\n|\r")

# Everything YAML allows, less the three line breaks no editor shows as such (NEL, LS, PS), less U+FEFF inside a text.
_FORBIDDEN: Final = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Style(StrEnum):
    """How a scalar is written."""

    PLAIN = ""
    SINGLE = "'"
    DOUBLE = '"'
    LITERAL = "|"
    FOLDED = ">"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarNode:
    """A text; `start` and `end` enclose it with its quotes."""

    text: str
    style: Style
    start: int
    end: int

    @property
    def kind(self) -> str:
        """What YAML takes this for: `str`, `null`, `bool`, `int`, `float` or `timestamp`."""
        return _kind_of(self.text) if self.style is Style.PLAIN else "str"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A key with its value; `colon` is the offset just behind the colon."""

    key: ScalarNode
    value: Node
    colon: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingNode:
    """Keys with values, in the order of the text."""

    pairs: tuple[Pair, ...]
    is_flow: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    is_flow: bool
    start: int
    end: int


Node = ScalarNode | MappingNode | SequenceNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something about the text that is not accepted; offsets are those of the file."""

    rule: str
    message: str
    next_step: str
    at: int
    also: int | None = None


class Refused(Exception):  # noqa: N818  caught in `parse`, never seen outside of this file
    """The text cannot be read on from here."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A text the parser reads, and where its pieces are in the file."""

    text: str
    starts: tuple[int, ...] = (0,)
    """Where each piece begins in this text: a line, or as much of one as is written in the file as it is here."""
    file_starts: tuple[int, ...] = (0,)
    """Where it begins in the file."""
    indent: str = ""
    """What stands before every line of this layer in the file."""
    is_verbatim: bool = True
    """Whether the file has these characters as they are here, so that they can be edited there."""

    def at(self, offset: int) -> int:
        """The file's offset of an offset of this layer."""
        piece = bisect_right(self.starts, offset) - 1
        return self.file_starts[piece] + offset - self.starts[piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A parsed layer; without a root when the text could not be read."""

    root: Node | None
    troubles: tuple[Trouble, ...] = ()


class Places:
    """Lines and columns of one file's text, counted from 1 as editors count them."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._starts = (0, *(match.end() for match in BREAK.finditer(text)))
        self._bom_length = 1 if text.startswith("\ufeff") else 0

    def span(self, at: int) -> Span:
        line = bisect_right(self._starts, at) - 1
        first = self._bom_length if line == 0 else self._starts[line]
        return Span(file=self.file, line=line + 1, column=max(at - first, 0) + 1)


def outer_layer(text: str) -> Layer:
    """The file's text as a layer; a byte order mark is stepped over."""
    return Layer(text=text[1:], file_starts=(1,)) if text.startswith("\ufeff") else Layer(text=text)


def column_of(text: str, offset: int) -> int:
    """How many characters stand before this one on its line."""
    return offset - line_start(text, offset)


def line_start(text: str, offset: int) -> int:
    """Where the line of this offset begins."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line of this offset ends, before its line break."""
    found = BREAK.search(text, offset)
    return found.start() if found else len(text)


def end_of(layer: Layer, node: Node) -> int:
    """Where the last character of a node is written; the parser's own end of a block runs on to the next token."""
    match node:
        case ScalarNode(style=Style.LITERAL | Style.FOLDED):
            return len(layer.text[: node.end].rstrip())
        case MappingNode(is_flow=False, pairs=[*_, last]):
            return max(end_of(layer, last.value), last.colon)
        case SequenceNode(is_flow=False, items=[*_, last_item]):
            return end_of(layer, last_item)
        case _:
            return node.end


def parse(layer: Layer) -> Tree:
    """Read a layer; whatever is wrong with it is in the troubles."""
    troubles: list[Trouble] = []
    try:
        _refuse_forbidden(layer)
        root = _Composer(layer, troubles).compose()
    except Refused as refused:
        return Tree(root=None, troubles=(*troubles, refused.trouble))
    except yaml.MarkedYAMLError as err:
        return Tree(root=None, troubles=(*troubles, _syntax_trouble(layer, err)))
    except yaml.YAMLError as err:
        trouble = Trouble(rule="yaml-syntax", message=f"YAML cannot be read: {err}.", next_step="", at=layer.at(0))
        return Tree(root=None, troubles=(*troubles, trouble))
    return Tree(root=root, troubles=tuple(troubles))


def is_allowed(text: str) -> bool:
    """Whether a text holds only characters that may be written as they are."""
    return _FORBIDDEN.search(text) is None


def _refuse_forbidden(layer: Layer) -> None:
    found = _FORBIDDEN.search(layer.text)
    if found is not None:
        name = "a NUL byte" if found[0] == "\0" else f"the invisible character U+{ord(found[0]):04X}"
        raise Refused(
            Trouble(
                rule="control-character",
                message=f"The text contains {name}, which YAML does not allow here.",
                next_step="Remove it; the file may have been damaged or saved in another encoding.",
                at=layer.at(found.start()),
            )
        )


@dataclass(slots=True)
class _Composer:
    """Builds the tree from the parser's events."""

    layer: Layer
    troubles: list[Trouble]
    events: Any = field(init=False)

    def __post_init__(self) -> None:
        self.events = LOADER(self.layer.text)

    def compose(self) -> Node | None:
        try:
            self.events.get_event()
            if self.events.check_event(yaml.StreamEndEvent):
                return None
            self.events.get_event()
            root = self._node(self.events.get_event(), 0)
            self.events.get_event()
            if not self.events.check_event(yaml.StreamEndEvent):
                self._trouble(
                    "multiple-documents",
                    "A second YAML document begins here; a matrix is one document.",
                    "Move the other document into a file of its own.",
                    self.events.peek_event().start_mark.index,
                )
            return root
        finally:
            self.events.dispose()

    def _node(self, event: Any, depth: int) -> Node:
        if depth > DEPTH_MAX:
            raise Refused(
                Trouble(
                    rule="too-deep",
                    message=f"This is nested more than {DEPTH_MAX} levels deep; a matrix needs seven.",
                    next_step="Check the brackets and the indentation before it.",
                    at=self.layer.at(event.start_mark.index),
                )
            )
        self._refuse_indirection(event)
        start, end = event.start_mark.index, event.end_mark.index
        match event:
            case yaml.MappingStartEvent():
                return self._mapping(event, depth)
            case yaml.SequenceStartEvent():
                return self._sequence(event, depth)
            case yaml.ScalarEvent(value=value, style=style):
                return ScalarNode(text=value, style=Style(style or ""), start=start, end=end)
            case _:  # an alias, already refused: something to stand in its place
                return ScalarNode(text="", style=Style.PLAIN, start=start, end=end)

    def _mapping(self, event: Any, depth: int) -> MappingNode:
        pairs: list[Pair] = []
        firsts: dict[str, int] = {}
        while not self.events.check_event(yaml.MappingEndEvent):
            key = self._node(self.events.get_event(), depth + 1)
            value = self._node(self.events.get_event(), depth + 1)
            if not isinstance(key, ScalarNode):
                self._trouble("wrong-type", "A key must be a text.", "Write a name before the colon.", key.start)
                continue
            if key.style is Style.PLAIN and key.text == "<<":
                self._trouble(
                    "merge-key",
                    "`<<` merges another mapping in, so that a version is not where it is read.",
                    "Write the values out: a reviewer must see every version in its own line.",
                    key.start,
                )
            if key.text in firsts:
                self._trouble(
                    "duplicate-key",
                    f"`{_shown(key.text)}` is given twice; most tools silently take the last one.",
                    "Keep one of the two.",
                    key.start,
                    firsts[key.text],
                )
            firsts.setdefault(key.text, key.start)
            pairs.append(Pair(key=key, value=value, colon=self._colon(key)))
        end = self.events.get_event().end_mark.index
        return MappingNode(pairs=tuple(pairs), is_flow=bool(event.flow_style), start=event.start_mark.index, end=end)

    def _sequence(self, event: Any, depth: int) -> SequenceNode:
        items: list[Node] = []
        while not self.events.check_event(yaml.SequenceEndEvent):
            items.append(self._node(self.events.get_event(), depth + 1))
        end = self.events.get_event().end_mark.index
        return SequenceNode(items=tuple(items), is_flow=bool(event.flow_style), start=event.start_mark.index, end=end)

    def _colon(self, key: ScalarNode) -> int:
        return self.layer.text.find(":", key.end) + 1 or key.end

    def _refuse_indirection(self, event: Any) -> None:
        start = event.start_mark.index
        if isinstance(event, yaml.AliasEvent):
            self._trouble(
                "yaml-alias",
                f"`*{event.anchor}` takes its value from another place, where an edit would change both.",
                "Write the value out here.",
                start,
            )
        elif event.anchor is not None:
            self._trouble(
                "yaml-anchor",
                f"`&{event.anchor}` names this value for use elsewhere; a matrix says every version in its own place.",
                "Remove the anchor and write the value out where it is used.",
                start,
            )
        elif event.tag is not None:
            self._trouble(
                "yaml-tag",
                f"The tag `{_shown(event.tag)}` changes how this value is read.",
                "Remove it, and quote the value if it must stay a text.",
                start,
            )

    def _trouble(self, rule: str, message: str, next_step: str, at: int, also: int | None = None) -> None:
        self.troubles.append(
            Trouble(
                rule=rule,
                message=message,
                next_step=next_step,
                at=self.layer.at(at),
                also=None if also is None else self.layer.at(also),
            )
        )


def _syntax_trouble(layer: Layer, err: yaml.MarkedYAMLError) -> Trouble:
    at = _index(err.problem_mark, layer)
    tab = re.compile(r" *\t").match(layer.text, line_start(layer.text, at))
    if tab is not None:
        return Trouble(
            rule="tab-indentation",
            message="A tab indents this line; YAML allows only spaces there.",
            next_step="Replace the tab by spaces.",
            at=layer.at(tab.end() - 1),
        )
    last = max(len(layer.text.rstrip()) - 1, 0)
    if at > last:  # something was never closed: point at where it began, or at the last thing written
        at = min(_index(err.context_mark, layer), last)
    context = f" {err.context}" if err.context else ""
    return Trouble(
        rule="yaml-syntax",
        message=f"This is not YAML: {err.problem or 'unreadable'}{context}.",
        next_step=_syntax_advice(err),
        at=layer.at(at),
    )


def _index(mark: Any, layer: Layer) -> int:
    return 0 if mark is None else min(mark.index, len(layer.text))


def _syntax_advice(err: yaml.MarkedYAMLError) -> str:
    problem, context = err.problem or "", err.context or ""
    for part, advice in _SYNTAX_ADVICE.items():
        if part in problem or part in context:
            return advice
    return "Check this line and the one before it: a missing quote, colon or space is the usual cause."


_SYNTAX_ADVICE: Final = {
    "mapping values are not allowed": "Quote the value, or check that the line before is indented as meant.",
    "quoted scalar": "Close the quote.",
    "flow sequence": "Close the bracket, and separate the items by commas.",
    "flow mapping": "Close the brace, and separate the pairs by commas.",
    "flow node": "Close the bracket or brace.",
    "cannot start any token": "Quote the value: it begins with a character that means something to YAML.",
    "expected <block end>": "Check the indentation: this line begins at a column that belongs to no level above.",
    "block mapping": "Check the indentation: this line begins at a column that belongs to no level above.",
    "could not find expected ':'": "Write `key: value`, with a space behind the colon.",
}


def _kind_of(text: str) -> str:
    resolvers = LOADER.yaml_implicit_resolvers
    for tag, pattern in (*resolvers.get(text[:1], ()), *resolvers.get(None, ())):
        kind = str(tag).rpartition(":")[2]
        if kind in _KINDS and pattern.match(text):
            return kind
    return "str"


_KINDS: Final = frozenset({"null", "bool", "int", "float", "timestamp"})
"""`<<` and `=` have kinds of their own where they are values; nobody who writes them there means those."""


def _shown(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def is_plain_text(text: str) -> bool:
    """Whether a text can be written without quotes, anywhere, and be read as that text."""
    return _PLAIN.fullmatch(text) is not None and _kind_of(text) == "str"


_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")


def quoted(text: str, style: Style) -> str:
    """Write a text in a style, on one line; in double quotes where the style cannot hold it."""
    if style is Style.PLAIN and is_plain_text(text):
        return text
    if style is Style.SINGLE and _ONE_LINE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(_escaped(char) for char in text) + '"'


_ONE_LINE: Final = re.compile("[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if _ONE_LINE.fullmatch(char):
        return char
    return f"\\U{ord(char):08X}"
