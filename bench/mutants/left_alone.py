"""What is not edited, and why: nobody should have to write a test for it.

Law of this file: a rule is about a kind of code and has a reason; one place that changes nothing is an entry of
equivalents.toml. Texts are not edited anywhere: what people read is held by tests/words. Tests:
tests/mutants/test_edits.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Final

FILES: Final = {"src/seatrial/controller/log.py": "all of it is the log"}

_LOG: Final = re.compile(r"_?(log|logger|logging)")
_ARGUMENTS: Final = {
    "encoding": "the machines we run on speak UTF-8 without being told",
    "errors": "how bytes that are no text are shown",
    "strict": "whether two lists that are made together are as long as each other",
    "name": "what a task, a thread or a stream is called in a traceback",
    "user_agent": "what we are called in the server's log",
}
_PATIENCE: Final = re.compile(r"[A-Z_]*SECONDS[A-Z_]*|[a-z_]*_seconds")
_BOUND: Final = re.compile(r"[A-Z_]*(MAX|BYTES|LENGTH)[A-Z_]*")
FAR: Final = 50


def is_patience(name: str) -> bool:
    """Whether a name is that of how long we are patient: one second more or less is nothing a test can state."""
    return _PATIENCE.fullmatch(name) is not None


def why(node: ast.AST) -> str | None:
    """Why something, and all that is in it, is left alone; None where it is not."""
    return next((reason for is_one, reason in _RULES if is_one(node)), None)


def is_words(key: ast.expr, value: ast.expr) -> bool:
    """Whether an entry is a text for people: of a schema, or of a table of sentences."""
    is_named = isinstance(key, ast.Constant) and key.value in ("description", "title")
    return is_named or (isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value)


def is_of_types(node: ast.BinOp) -> bool:
    """Whether `A | B` is a union of classes."""
    return all(isinstance(each, ast.Name) and each.id[:1].isupper() for each in _names(node))


def _names(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [*_names(node.left), *_names(node.right)]
    if isinstance(node, ast.Attribute):
        return [ast.Name(id=node.attr)]
    return [node]


def _is_log(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=func)) | ast.Expr(value=ast.Await(value=ast.Call(func=func))):
            pass
        case ast.Call(func=func):
            pass
        case _:
            return False
    match func:
        case ast.Attribute(value=ast.Name(id=name)) | ast.Attribute(value=ast.Attribute(attr=name)):
            return _LOG.fullmatch(name) is not None
        case _:
            return False


def _is_declared(node: ast.AST) -> bool:
    match node:
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "NewType" | "ParamSpec"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case _:
            return False


def _is_never(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))) | ast.Assert():
            return True
        case _:
            return False


def _is_patience(node: ast.AST) -> bool:
    match node:
        case ast.keyword(arg=str(name), value=ast.Constant()):
            return is_patience(name)
        case _:
            return any(map(is_patience, _declared(node)))


def _is_far(node: ast.AST) -> bool:
    value = getattr(node, "value", None)
    if not isinstance(value, ast.expr) or not any(_BOUND.fullmatch(name) for name in _declared(node)):
        return False
    numbers = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant)]
    return any(isinstance(each, int | float) and each >= FAR for each in numbers)


def _declared(node: ast.AST) -> list[str]:
    """The names that a statement gives to constants."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case ast.Assign(targets=[ast.Tuple(elts=names)]):
            return [each.id for each in names if isinstance(each, ast.Name)]
        case _:
            return []


def _is_named(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg in _ARGUMENTS


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr)


_RULES: Final[tuple[tuple[Callable[[ast.AST], bool], str], ...]] = (
    (_is_text, "a text, and what is put into it, is for people"),
    (_is_log, "the log is for people"),
    (_is_declared, "said to the type checker"),
    (_is_never, "cannot be reached, or nobody would be told"),
    (_is_patience, "how long we are patient"),
    (_is_far, "a bound far beyond what is usual: one more or less is nothing a test can state"),
    (_is_named, "an argument that only names or spells something"),
)
