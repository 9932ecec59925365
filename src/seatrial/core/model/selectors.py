"""Label selectors as text: reading, matching and joining them exactly as Kubernetes does.

A selector is a list of terms joined by commas; every one of them must hold:

    a=b   a==b   a in (x, y)      the label is there, and its value is one of these
    a!=b         a notin (x, y)   the label is not there, or its value is none of these
    a            !a               the label is there; is not there

The trap is the second line: `team!=red` selects pods without a `team`. Text that cannot be read is refused where it is
written, with a sentence, because the API servers check these fields at use only: a typo would surface in the middle of
a rollout. The numeric terms `a>1` and `a<1` are refused too: nobody needs them to choose pods, and nothing here would
test them.

Tests: tests/core/model/test_selectors.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NoReturn

from seatrial.core.base.values import dataclass

DRAIN_SKIP_KEY: Final = "nvidia.com/gpu-driver-upgrade-drain.skip"
NETWORK_DRAIN_SKIP_KEY: Final = "nvidia.com/ofed-driver-upgrade-drain.skip"
"""The same of a drain for the network driver."""
"""The pod label with which a pod's author keeps it from being drained."""

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_NAME_LENGTH_MAX: Final = 63
_PREFIX_LENGTH_MAX: Final = 253
_TOKEN: Final = re.compile(r"(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+)")
"""A sign or a word; what lies between two of them is white space, by Kubernetes' own narrow idea of it."""


class Operator(StrEnum):
    """How a term looks at a label; the text is Kubernetes' own word for it."""

    EXISTS = "Exists"
    ABSENT = "DoesNotExist"
    IN = "In"
    NOT_IN = "NotIn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    """Sorted and without doubles; an empty text is a value like any other."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels fulfil this term."""
        match self.operator:
            case Operator.EXISTS:
                return self.key in labels
            case Operator.ABSENT:
                return self.key not in labels
            case Operator.IN:
                return self.key in labels and labels[self.key] in self.values
            case Operator.NOT_IN:
                return self.key not in labels or labels[self.key] not in self.values

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.ABSENT:
                return f"!{self.key}"
            case Operator.IN:
                return self._with_values("=", "in")
            case Operator.NOT_IN:
                return self._with_values("!=", "notin")

    def _with_values(self, sign: str, word: str) -> str:
        if len(self.values) == 1:
            return f"{self.key}{sign}{self.values[0]}"
        return f"{self.key} {word} ({','.join(self.values)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Terms that must all hold; without any, everything is selected."""

    terms: tuple[Term, ...] = ()

    @staticmethod
    def parse(text: str) -> Selector:
        """Read a selector; a ValueError says what is wrong with the text, and where."""
        return Selector(terms=tuple(_Reader(text).read()))

    @property
    def is_empty(self) -> bool:
        """Whether this selector selects everything."""
        return not self.terms

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether something with these labels is selected."""
        return all(term.matches(labels) for term in self.terms)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


def a_and(first: Selector, second: Selector) -> Selector:
    """What both select; a term that both have is written once."""
    return Selector(terms=tuple(dict.fromkeys((*first.terms, *second.terms))))


def drain_selector(user_text: str) -> Selector:
    """Which pods a drain may touch: the user's choice, less those that asked to be left alone."""
    skip = Term(key=DRAIN_SKIP_KEY, operator=Operator.NOT_IN, values=("true",))
    return a_and(Selector.parse(user_text), Selector(terms=(skip,)))


@dataclass(frozen=True, slots=True)
class _Token:
    """A word or a sign, and the character it begins at; the end of the text is a sign without text."""

    text: str
    at: int
    is_word: bool = False


class _Reader:
    """Walks over the tokens once, term by term."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_tokens(text), _Token("", len(text))]
        self._next = 0

    def read(self) -> Iterator[Term]:
        if not self._peek().text:
            return
        yield self._term()
        while self._peek().text:
            self._expect(",")
            yield self._term()

    def _term(self) -> Term:
        if self._peek().text == "!":
            self._take()
            return Term(key=self._key(), operator=Operator.ABSENT)
        key = self._key()
        if self._peek().text in ("", ","):
            return Term(key=key, operator=Operator.EXISTS)
        token = self._take()
        if token.text not in _OPERATORS:
            self._miss(f"=, ==, !=, in, notin or a comma after {key}", token)
        values = self._values() if token.is_word else (self._value(),)
        return Term(key=key, operator=_OPERATORS[token.text], values=values)

    def _key(self) -> str:
        token = self._take()
        # Kubernetes reads these two words as operators wherever a key may stand.
        if not token.is_word or token.text in ("in", "notin"):
            self._miss("the key of a label", token)
        fault = _key_fault(token.text)
        if fault:
            self._refuse(f"the key {token.text} {fault}", token)
        return token.text

    def _values(self) -> tuple[str, ...]:
        self._expect("(")
        values = {self._value()}
        while self._peek().text == ",":
            self._take()
            values.add(self._value())
        self._expect(")")
        return tuple(sorted(values))

    def _value(self) -> str:
        """A word, or nothing at all: `a=` asks for the empty value."""
        token = self._peek()
        if not token.is_word:
            return ""
        self._take()
        fault = _name_fault(token.text)
        if fault:
            self._refuse(f"the value {token.text} {fault}", token)
        return token.text

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _expect(self, sign: str) -> None:
        token = self._take()
        if token.is_word or token.text != sign:
            self._miss(_SIGNS[sign], token)

    def _miss(self, wanted: str, token: _Token) -> NoReturn:
        found = repr(token.text) if token.text else "the end of the text"
        self._refuse(f"expected {wanted}, found {found}", token)

    def _refuse(self, what: str, token: _Token) -> NoReturn:
        raise ValueError(f"label selector {self._text!r}, character {token.at + 1}: {what}.")


_SIGNS: Final = {",": "a comma", "(": "an opening bracket", ")": "a closing bracket"}

_OPERATORS: Final = {
    "=": Operator.IN,
    "==": Operator.IN,
    "in": Operator.IN,
    "!=": Operator.NOT_IN,
    "notin": Operator.NOT_IN,
}


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        yield _Token(found[0], found.start(), is_word=found[2] is not None)


def _key_fault(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and not (_PREFIX.fullmatch(prefix) and len(prefix) <= _PREFIX_LENGTH_MAX):
        return f"has a prefix that is not a DNS name of at most {_PREFIX_LENGTH_MAX} characters"
    return _name_fault(name)


def _name_fault(name: str) -> str:
    if len(name) > _NAME_LENGTH_MAX:
        return f"has {len(name)} characters where {_NAME_LENGTH_MAX} are allowed"
    if not _NAME.fullmatch(name):
        return "may hold letters, digits, '-', '_' and '.' only, with a letter or digit at both ends"
    return ""
