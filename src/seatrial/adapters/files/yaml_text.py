"""The text of a scalar as a layer of its own, however it is written: a document inside a document, place by place.

    literal   |     line by line, and characters stay as they are: only this one can be edited in place
    folded    >     line by line; the parser puts spaces for line breaks
    quoted    " '   piece by piece; an escape is one character inside and several outside
    plain           like quoted, without escapes

What is worked out here is compared with what the parser read; where the two differ, every place is that of the scalar.

Tests: tests/adapters/files/test_matrix_in_text.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from seatrial.adapters.files.yaml_tree import BREAK, Layer, Pair, ScalarNode, Style, column_of

Piece = tuple[str, int]
"""Characters of the inner text, and where they begin in the layer around it."""


def text_layer(layer: Layer, pair: Pair) -> Layer:
    """The text of a pair's scalar as a layer of its own."""
    value = pair.value
    assert isinstance(value, ScalarNode)  # noqa: S101  the caller has told texts from the rest
    if value.style is Style.LITERAL:
        return _literal(layer, pair, value) or _at_one_place(value.text, layer.at(value.start))
    pieces = list(_folded(layer, pair, value) if value.style is Style.FOLDED else _flowing(layer.text, value))
    if "".join(text for text, _ in pieces) != value.text:
        return _at_one_place(value.text, layer.at(value.start))
    return _of_pieces(layer, pieces, is_verbatim=False)


def block_lines(layer: Layer, pair: Pair) -> tuple[list[Piece], int]:
    """The lines of a block scalar, each with its indentation, and how wide that is."""
    header_end = BREAK.search(layer.text, pair.value.start)
    if header_end is None:
        return [], 0
    lines = list(_lines(layer.text, header_end.end()))
    width = _width(layer, pair, lines)
    inside: list[Piece] = []
    for line, start in lines:
        if _spaces(line) < width and line.strip(" \r\n"):
            break
        inside.append((line, start))
    return inside, width


# ── literal ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _literal(layer: Layer, pair: Pair, value: ScalarNode) -> Layer | None:
    lines, width = block_lines(layer, pair)
    pieces = [(line[(cut := min(_spaces(line), width)) :], start + cut) for line, start in lines]
    if BREAK.sub("\n", "".join(text for text, _ in pieces)).rstrip("\n") != value.text.rstrip("\n"):
        return None
    return _of_pieces(layer, pieces or [("", value.end)], is_verbatim=True, indent=layer.indent + " " * width)


# ── folded ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _folded(layer: Layer, pair: Pair, value: ScalarNode) -> Iterator[Piece]:
    """Lines are in the value as they are; what is between them, the parser put there."""
    lines, width = block_lines(layer, pair)
    done, end = 0, value.start
    for line, start in lines:
        content = line[width:].rstrip("\r\n")
        if not content:
            continue
        found = value.text.find(content, done)
        if found < 0 or value.text[done:found].strip(" \n"):
            return
        yield value.text[done:found], end
        yield content, start + width
        done, end = found + len(content), start + width + len(content)
    yield value.text[done:], end


# ── quoted and plain ──────────────────────────────────────────────────────────────────────────────────────────────────


def _flowing(text: str, value: ScalarNode) -> Iterator[Piece]:
    quote = 0 if value.style is Style.PLAIN else 1
    at, end = value.start + quote, value.end - quote
    while at < end:
        found = _TOKENS[value.style].match(text, at, end)
        if found is None:  # a backslash before the closing quote; the parser read something else
            return
        yield _read(found), at
        at = found.end()
    yield "", end


_FOLD: Final = r"(?P<fold>[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*[ \t]*)"
_TOKENS: Final = {
    Style.PLAIN: re.compile(rf"{_FOLD}|[^ \t\r\n]+|[ \t]+"),
    Style.SINGLE: re.compile(rf"{_FOLD}|(?P<quote>'')|[^ \t\r\n']+|[ \t]+"),
    Style.DOUBLE: re.compile(
        rf"{_FOLD}|(?P<joined>\\(?:\r\n|\n|\r)[ \t]*)"
        r"|\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<short>.))"
        r"|[^ \t\r\n\\]+|[ \t]+"
    ),
}
_SHORT: Final = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def _read(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "fold":
            return "\n" * (len(BREAK.findall(found[0])) - 1) or " "
        case "quote":
            return "'"
        case "joined":
            return ""
        case "x" | "u" | "U" as width:
            code = int(found[width], 16)
            return chr(code) if code <= 0x10FFFF else ""
        case "short":
            return _SHORT.get(found["short"], found["short"])
        case _:
            return found[0]


# ── all ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_pieces(layer: Layer, pieces: Sequence[Piece], *, is_verbatim: bool, indent: str = "") -> Layer:
    starts: dict[int, int] = {}
    length = 0
    for text, start in pieces:
        starts[length] = layer.at(start)  # a piece without characters gives way to the next one
        length += len(text)
    return Layer(
        text="".join(text for text, _ in pieces),
        starts=tuple(starts),
        file_starts=tuple(starts.values()),
        indent=indent,
        is_verbatim=is_verbatim,
    )


def _at_one_place(text: str, at: int) -> Layer:
    offsets = tuple(range(len(text) + 1))
    return Layer(text=text, starts=offsets, file_starts=tuple(at for _ in offsets), is_verbatim=False)


_HEADER: Final = re.compile(r"[|>][+-]?([1-9])?")


def _lines(text: str, start: int) -> Iterator[Piece]:
    while start < len(text):
        found = BREAK.search(text, start)
        end = found.end() if found else len(text)
        yield text[start:end], start
        start = end


def _width(layer: Layer, pair: Pair, lines: Sequence[Piece]) -> int:
    """How far the block is indented: as its header says, or as its first line is, if that is further than the key."""
    header = _HEADER.match(layer.text, pair.value.start)
    outside = column_of(layer.text, pair.key.start)
    if header and header[1]:
        return outside + int(header[1])
    return max(next((_spaces(line) for line, _ in lines if line.strip(" \r\n")), 0), outside + 1)


def _spaces(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
