"""A ConfigMap written so that its matrix can be edited in place: as a literal block, and nothing else touched.

    data:                                                     data:
      matrix.yaml: "current:\\n  driver: '565.77'\\n"  # ours  ─▶    matrix.yaml: |  # ours
                                                                  current:
                                                                    driver: '565.77'

Between braces, as in JSON, there are no blocks: the braces around the text are opened, and comments that stood between
them are put above. The result is read again and must say the same, or nothing is changed.

Tests: tests/adapters/files/test_matrix_fmt.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from seatrial.adapters.files import matrix_keys as keys
from seatrial.adapters.files import yaml_tree as tree
from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.matrix_place import LENGTH_MAX
from seatrial.adapters.files.yaml_text import block_lines, text_layer
from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Finding, Verdict

STEP: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the text of a matrix is: the ConfigMap, `data` with its mapping, `matrix.yaml` with its scalar."""

    root: tree.MappingNode
    holder: tree.Pair
    data: tree.MappingNode
    pair: tree.Pair
    scalar: tree.ScalarNode


def formatted(text: str, *, file: str = "") -> str:
    """The same text with the matrix of a ConfigMap as a literal block; one that needs nothing comes back as it is."""
    layer = tree.outer_layer(text)
    place = _place(tree.parse(layer).root) if len(text) <= LENGTH_MAX else None
    if place is None or text_layer(layer, place.pair).is_verbatim:
        return text  # every line of the matrix is a line of the file already
    try:
        result = text[: layer.at(0)] + _rewritten(layer, place, _newline(text))
        if _meaning(result) == _meaning(text):
            return result
    except (yaml.YAMLError, ValueError):
        pass  # what another reader of YAML cannot read is not rewritten
    raise _refused(file, text, layer.at(place.scalar.start))


def _rewritten(layer: tree.Layer, place: _Place, newline: str) -> str:
    if place.root.is_flow:
        start, end = place.root.start, place.root.end
        inner = _opened(layer, start, end, _block(place.root, "", newline), "", newline)
    elif place.data.is_flow:
        outside = " " * tree.column_of(layer.text, place.holder.key.start)
        lines = ["", *_block(place.data, outside + STEP, newline)]
        inner = _opened(layer, place.holder.colon, place.data.end, lines, outside, newline)
    else:
        inner = _spliced(layer, place, newline)
    # At the end of a file a block's last line needs its break, or it counts as without.
    return inner if inner.endswith(("\n", "\r")) else inner + newline


def _place(root: tree.Node | None) -> _Place | None:
    """Where the text is; None where there is no ConfigMap with one."""
    kind, holder = _pair(root, "kind"), _pair(root, "data")
    pair = _pair(holder.value, keys.CONFIGMAP_KEY) if holder is not None else None
    match root, kind, holder, pair:
        case (
            tree.MappingNode(),
            tree.Pair(value=tree.ScalarNode(text="ConfigMap")),
            tree.Pair(value=tree.MappingNode() as data),
            tree.Pair(value=tree.ScalarNode() as scalar),
        ) if scalar.text:
            return _Place(root=root, holder=holder, data=data, pair=pair, scalar=scalar)
        case _:
            return None


def _pair(node: tree.Node | None, name: str) -> tree.Pair | None:
    pairs = node.pairs if isinstance(node, tree.MappingNode) else ()
    return next((pair for pair in pairs if pair.key.text == name), None)


# ── a text between lines ──────────────────────────────────────────────────────────────────────────────────────────────


def _spliced(layer: tree.Layer, place: _Place, newline: str) -> str:
    """The header of a block in place of the scalar, with the comments around that, and the lines below it."""
    pair, scalar, text = place.pair, place.scalar, layer.text
    header = re.compile(r"[|>][-+0-9]*").match(text, scalar.start) if scalar.style in _BLOCKS else None
    written = header.end() if header is not None else scalar.end
    rest = text[written : tree.line_end(text, written)]
    end = tree.line_end(text, written) if header is None else _block_end(layer, pair)
    before = "".join(f"  {comment}" for comment in _COMMENT.findall(text[pair.colon : scalar.start]))
    indent = " " * tree.column_of(text, pair.key.start) + STEP
    return f"{text[: pair.colon]} {_literal(scalar.text, indent, newline, before + rest)}{text[end:]}"


_BLOCKS: Final = (tree.Style.FOLDED, tree.Style.LITERAL)
_COMMENT: Final = re.compile(r"#[^\r\n]*")


def _block_end(layer: tree.Layer, pair: tree.Pair) -> int:
    """Behind the last line of a block that counts; empty lines below it stay where they are."""
    lines, _ = block_lines(layer, pair)
    keeps_all = "+" in layer.text[pair.value.start : pair.value.start + 3]
    last, at = ([piece for piece in lines if keeps_all or piece[0].strip()] or lines)[-1]
    return at + len(last.rstrip("\r\n"))


def _literal(text: str, indent: str, newline: str, behind: str = "") -> str:
    """A text as a literal block, without the last line break of the file."""
    body = tree.BREAK.sub("\n", text)
    ending = "-" if not body.endswith("\n") else "+" if body.endswith("\n\n") or not body.strip("\n") else ""
    width = str(len(STEP)) if body.lstrip("\n")[:1] in (" ", "\t") else ""
    lines = body.removesuffix("\n").split("\n")
    return newline.join([f"|{width}{ending}{behind}", *(f"{indent}{line}" if line else "" for line in lines)])


# ── a text between braces ─────────────────────────────────────────────────────────────────────────────────────────────


def _opened(layer: tree.Layer, start: int, end: int, lines: list[str], indent: str, newline: str) -> str:
    """Lines in place of a range of the text, whose comments are put above the line it begins on."""
    text = layer.text
    above, below = tree.line_start(text, start), tree.line_end(text, end)
    comments = "".join(f"{indent}{comment}{newline}" for comment in _comments(layer, start, below))
    return text[:above] + comments + text[above:start] + newline.join(lines) + text[below:]


def _comments(layer: tree.Layer, start: int, end: int) -> Iterator[str]:
    loader: Any = yaml.SafeLoader(layer.text[:end])
    last = start
    while loader.check_token():
        token = loader.get_token()
        if token.start_mark.index > last:
            yield from _COMMENT.findall(layer.text, last, token.start_mark.index)
        last = max(last, token.end_mark.index)


def _block(node: tree.Node, indent: str, newline: str) -> list[str]:
    """A node as lines, each thing on its own."""
    if isinstance(node, tree.MappingNode):
        return [line for pair in node.pairs for line in _entry(f"{_text(pair.key)}:", pair.value, indent, newline)]
    if isinstance(node, tree.SequenceNode):
        return [line for item in node.items for line in _entry("-", item, indent, newline)]
    return [f"{indent}{_text(node)}"]


def _entry(before: str, node: tree.Node, indent: str, newline: str) -> Iterator[str]:
    match node:
        case tree.MappingNode(pairs=()):
            yield f"{indent}{before} {{}}"
        case tree.SequenceNode(items=()):
            yield f"{indent}{before} []"
        case tree.ScalarNode() if before == f"{keys.CONFIGMAP_KEY}:" or ("\n" in node.text and _is_writable(node.text)):
            yield f"{indent}{before} {_literal(node.text, indent + STEP, newline)}"
        case tree.ScalarNode():
            yield f"{indent}{before} {_text(node)}".rstrip(" ")
        case _:
            yield f"{indent}{before}"
            yield from _block(node, indent + STEP, newline)


def _text(node: tree.ScalarNode) -> str:
    if node.style is tree.Style.PLAIN:
        return node.text
    return tree.quoted(node.text, tree.Style.PLAIN)


def _is_writable(text: str) -> bool:
    """Whether a block can hold it: a line break that is no line feed would be read as one."""
    return "\r" not in text and tree.is_allowed(text)


# ── all ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _newline(text: str) -> str:
    found = tree.BREAK.search(text)
    return found[0] if found else "\n"


def _meaning(text: str) -> object:
    """What the whole document says; line breaks inside texts are all the same to whoever reads them as YAML."""
    return _evened(yaml.load(text, Loader=tree.LOADER))  # noqa: S506  the safe one


def _evened(value: object) -> object:
    match value:
        case dict():
            return {key: _evened(inner) for key, inner in value.items()}
        case list():
            return [_evened(inner) for inner in value]
        case str():
            return tree.BREAK.sub("\n", value)
        case _:
            return value


def _refused(file: str, text: str, at: int) -> EditRefused:
    return EditRefused(
        Finding(
            rule="edit-refused",
            verdict=Verdict.FAIL,
            message=f"`{keys.CONFIGMAP_KEY}` cannot be written as a literal block that says the same.",
            next_step=f"Write `{keys.CONFIGMAP_KEY}: |` and the matrix below it yourself; nothing was changed.",
            spans=(tree.Places(file, text).span(at),),
        )
    )
