"""Mutants: small edits of a text, each of which changes what it does.

    comparison   a == b       a != b            return     return found     return None
    boundary     a < b        a <= b            statement  self._due.set()  pass
    and-or       a and b      a or b            argument   f(a, b=1)        f(a)
    condition    if a:        if not a:         entry      {"a": 1, "b": 2} {"b": 2}
    not          if not a:    if a:             handler    except OSError:  except ():
    arithmetic   a + b        a - b             number     3                4, and 2
    bound        a[:b]        a[:b + 1]         truth      True             False

What nobody should be asked to test is left alone: left_alone.py says what, and why. Law of this file: it knows texts,
and neither tests nor processes. Tests: tests/mutants/test_edits.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from bench.mutants import left_alone

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_BOUNDARIES: Final[dict[type[ast.cmpop], str]] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_ARITHMETIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "//",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}
_TEXTS: Final = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
"""What `+` joins; to take it away instead is an error that every test of the line would see."""

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit of one file."""

    file: str
    """Its path in the checkout."""
    within: str
    """The function or class it is in; empty at the top of a file."""
    edit: str
    line: int
    run_lines: tuple[int, int]
    """The first and last line of what is run with it: of a statement, or of what stands above its block."""
    is_at_import: bool
    """Whether it is run when the file is imported, and not by whoever calls something in it."""
    at: int
    """Where in the file, in bytes."""
    before: str
    after: str

    @property
    def name(self) -> str:
        """What names it for people, and in the notes of a run."""
        return (
            f"{self.file}:{self.line} {self.edit} @{self.at} {_short(self.before)} → {_short(self.after) or 'nothing'}"
        )

    def applied(self, text: str) -> str:
        """The file with this edit made."""
        raw = text.encode()
        cut = self.before.encode()
        assert raw[self.at : self.at + len(cut)] == cut, f"{self.name}: the file is another one"
        return (raw[: self.at] + self.after.encode() + raw[self.at + len(cut) :]).decode()


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:59]}…"


def mutants_of(file: str, text: str) -> tuple[Mutant, ...]:
    """Every mutant of a file, in the order of its text."""
    if file in left_alone.FILES:
        return ()
    found = {(each.at, each.before, each.after): each for each in _Finder(file, text).all()}
    return tuple(each for _, each in sorted(found.items(), key=lambda item: item[0]))


def is_another(mutant: Mutant, text: str) -> bool:
    """Whether a mutant can be read at all, and not only looks different."""
    try:
        return ast.dump(ast.parse(mutant.applied(text))) != _meaning(text)
    except SyntaxError:
        return False


@lru_cache(maxsize=256)
def _meaning(text: str) -> str:
    return ast.dump(ast.parse(text))


class _Finder:
    """Walks over one file."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._raw = text.encode()
        self._tree = ast.parse(text)
        starts = [0]
        for line in self._raw.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self._within: list[str] = []
        self._is_in_function = False
        self._lines = (1, 1)

    def all(self) -> Iterator[Mutant]:
        yield from self._of_all(self._tree.body)

    def _of_all(self, nodes: list[ast.stmt]) -> Iterator[Mutant]:
        for node in nodes:
            yield from self._of(node)

    # ── where ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _span(self, node: ast.AST) -> Span:
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        begin, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        return self._starts[first - 1] + begin, self._starts[last - 1] + end

    def _text(self, span: Span) -> str:
        return self._raw[span[0] : span[1]].decode()

    def _made(self, edit: str, node: ast.AST, span: Span, after: str) -> Mutant:
        return Mutant(
            file=self._file,
            within=".".join(self._within),
            edit=edit,
            line=getattr(node, "lineno", 1),
            run_lines=self._lines,
            is_at_import=not self._is_in_function,
            at=span[0],
            before=self._text(span),
            after=after,
        )

    def _instead(self, edit: str, node: ast.AST, after: str) -> Mutant:
        return self._made(edit, node, self._span(node), after)

    def _between(self, edit: str, left: ast.AST, right: ast.AST, before: str, after: str) -> Iterator[Mutant]:
        """An operator between two operands, which may stand in brackets or on another line."""
        start, end = self._span(left)[1], self._span(right)[0]
        pattern = rf"(?<![\w]){re.escape(before)}(?![\w=])".replace(r"\ ", r"\s+")
        for found in re.finditer(pattern, self._text((start, end))):
            at = start + len(self._text((start, end))[: found.start()].encode())
            yield self._made(edit, right, (at, at + len(found[0].encode())), after)

    # ── what ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _of(self, node: ast.AST) -> Iterator[Mutant]:
        if left_alone.why(node) is not None:
            return
        before, self._lines = self._lines, _lines_of(node) or self._lines
        yield from self._below(node)
        self._lines = before

    def _below(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._of_function(node)
            case ast.ClassDef():
                self._within.append(node.name)
                yield from self._of_all(node.body)
                self._within.pop()
            case ast.AnnAssign():
                yield from self._of_declared(node)
            case _:
                yield from self._here(node)
                for child in ast.iter_child_nodes(node):
                    yield from self._of(child)

    def _of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mutant]:
        self._within.append(node.name)
        named = [*node.args.posonlyargs, *node.args.args]
        defaults: list[tuple[str, ast.expr | None]] = [
            *((each.arg, value) for each, value in zip(named[::-1], node.args.defaults[::-1], strict=False)),
            *((each.arg, value) for each, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)),
        ]
        for name, value in defaults:
            if value is not None and not left_alone.is_patience(name):
                yield from self._of(value)
        was, self._is_in_function = self._is_in_function, True
        yield from self._of_all(node.body)
        self._is_in_function = was
        self._within.pop()

    def _of_declared(self, node: ast.AnnAssign) -> Iterator[Mutant]:
        if isinstance(node.target, ast.Attribute | ast.Subscript) and node.value is not None:
            yield self._instead("statement", node, "pass")
        if node.value is not None:
            yield from self._of(node.value)

    def _here(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.stmt():
                yield from self._of_statement(node)
            case ast.Compare():
                yield from self._of_comparison(node)
            case ast.BoolOp():
                yield from self._of_bool(node)
            case ast.UnaryOp(op=ast.Not()):
                yield self._instead("not", node, f"({self._text(self._span(node.operand))})")
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC and not self._is_text(node):
                yield from self._between("arithmetic", node.left, node.right, _symbol(op), _ARITHMETIC[type(op)])
            case ast.IfExp(test=test) | ast.comprehension(ifs=[test, *_]) | ast.match_case(guard=ast.expr() as test):
                yield from self._negated(test)
            case ast.Constant(value=value):
                yield from self._of_constant(node, value)
            case ast.Call():
                yield from self._of_call(node)
            case ast.Dict(keys=names, values=values):
                entries = [(name or value, value) for name, value in zip(names, values, strict=True)]
                for index, name in enumerate(names):
                    if name is not None and not left_alone.is_words(name, values[index]):
                        yield self._without("entry", entries, index)
            case ast.ExceptHandler(type=ast.expr() as caught):
                yield from self._of_caught(caught)
            case ast.Slice():
                for bound in (node.lower, node.upper):
                    if bound is not None and not _is_number(bound):
                        yield self._instead("bound", bound, f"({self._text(self._span(bound))}) + 1")
            case _:
                pass

    def _of_statement(self, node: ast.stmt) -> Iterator[Mutant]:
        match node:
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield self._instead("statement", node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) | ast.AugAssign() | ast.Delete():
                yield self._instead("statement", node, "pass")
                if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC and not _joins(node.value):
                    sign, other = f"{_symbol(node.op)}=", f"{_ARITHMETIC[type(node.op)]}="
                    yield from self._between("arithmetic", node.target, node.value, sign, other)
            case ast.Raise() | ast.Continue() | ast.Break():
                yield self._instead("statement", node, "pass")
            case ast.Return(value=ast.expr() as value) if not _is_nothing(value):
                yield self._instead("return", node, "return None")
            case ast.If(test=test) | ast.While(test=test):
                yield from self._negated(test)
            case _:
                pass

    def _negated(self, test: ast.expr) -> Iterator[Mutant]:
        """A condition's opposite, or that of each of its parts; where an edit of its own is, it does the same."""
        match test:
            case ast.BoolOp(values=values):
                for each in values:
                    yield from self._negated(each)
            case ast.Compare() | ast.UnaryOp() | ast.Constant():
                pass
            case _:
                yield self._instead("condition", test, f"(not ({self._text(self._span(test))}))")

    def _of_comparison(self, node: ast.Compare) -> Iterator[Mutant]:
        lefts = [node.left, *node.comparators[:-1]]
        for left, op, right in zip(lefts, node.ops, node.comparators, strict=True):
            if type(op) in _COMPARISONS:
                yield from self._between("comparison", left, right, _symbol(op), _COMPARISONS[type(op)])
            elif type(op) in _BOUNDARIES:
                yield from self._between("boundary", left, right, _symbol(op), _BOUNDARIES[type(op)])

    def _of_bool(self, node: ast.BoolOp) -> Iterator[Mutant]:
        before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._between("and-or", left, right, before, after)

    def _of_constant(self, node: ast.Constant, value: object) -> Iterator[Mutant]:
        if isinstance(value, bool):
            yield self._instead("truth", node, str(not value))
        elif isinstance(value, int | float):
            for other in (value + 1, value - 1):
                yield self._instead("number", node, str(other) if other >= 0 else f"({other})")

    def _of_call(self, node: ast.Call) -> Iterator[Mutant]:
        given = sorted([*node.args, *node.keywords], key=lambda each: self._span(each)[0])
        for index, each in enumerate(given):
            if isinstance(each, ast.keyword) and each.arg is not None and left_alone.why(each) is None:
                yield self._without("argument", [(one, one) for one in given], index)
        if isinstance(node.func, ast.Name) and node.func.id == "suppress":
            for each in node.args:
                yield from self._of_caught(each)

    def _of_caught(self, caught: ast.expr) -> Iterator[Mutant]:
        if isinstance(caught, ast.Tuple) and len(caught.elts) > 1:
            for each in caught.elts:
                yield self._instead("handler", each, "()")
        else:
            yield self._instead("handler", caught, "()")

    def _without(self, edit: str, entries: Sequence[tuple[ast.AST, ast.AST]], index: int) -> Mutant:
        """Everything but one entry of several, with the comma that goes with it."""
        first, last = entries[index]
        begin, end = self._span(first)[0], self._span(last)[1]
        if index + 1 < len(entries):
            end = self._span(entries[index + 1][0])[0]
            while self._raw[end - 2 : end] == b"**" or self._raw[end - 1 : end] in (b"*", b"("):
                end -= 2 if self._raw[end - 2 : end] == b"**" else 1  # the stars of the next one are its own
        elif comma := re.match(rb"\s*,", self._raw[end:]):
            end += comma.end()
        return self._made(edit, first, (begin, end), "")

    def _is_text(self, node: ast.BinOp) -> bool:
        if isinstance(node.op, ast.BitOr | ast.BitAnd):
            return not self._is_in_function or left_alone.is_of_types(node)
        return _joins(node.left) or _joins(node.right)


_SYMBOLS: Final[dict[type[ast.AST], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitOr: "|",
    ast.BitAnd: "&",
}


def _lines_of(node: ast.AST) -> tuple[int, int] | None:
    """The lines that are run as one with a statement, a handler or a case; None for what is a part of them."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, max(node.pattern.lineno, node.body[0].lineno - 1)
    if not isinstance(node, ast.stmt | ast.ExceptHandler):
        return None
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, last)


def _symbol(op: ast.AST) -> str:
    return _SYMBOLS[type(op)]


def _joins(node: ast.expr) -> bool:
    """Whether something is a text or a list, and `+` would join it."""
    return isinstance(node, _TEXTS) and not _is_number(node)


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_number(operand)
        case _:
            return False


def _is_nothing(node: ast.expr) -> bool:
    """Whether to give None instead would be nearly the same, or is done by another edit."""
    if isinstance(node, ast.Constant):
        return not node.value or isinstance(node.value, bool)
    return isinstance(node, ast.Tuple | ast.List | ast.Dict) and not ast.dump(node).count("Constant(")
