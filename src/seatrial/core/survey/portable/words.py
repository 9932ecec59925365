"""Free text that may leave a cluster: word for word, and only words that are known.

    Failed to pull image "registry.corp/llm:rc1": token hunter2 expired   ─▶   Failed to pull image "…": token … expired

Messages and logs are where secrets end up that nobody planned for, and no list of what secrets look like is complete.
So this is a list of what may stay: words of the trade (what failures are known by, and knowledge/vocabulary.txt), names
that the file holds anyway, and numbers of a few digits. What else there is becomes `…`; its place is kept.

Law of this file: a word that is not known is not told. Tests: tests/core/survey/test_portable_words.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

LEFT_OUT: Final = "…"
DIGITS_MAX: Final = 7
"""A pid, a port, a part of a version. Nobody's account."""
FRACTION_MAX: Final = 20
MIXED_MAX: Final = 12
"""A word with digits in it, such as ubuntu22: longer ones are what tokens look like."""

_WORD: Final = re.compile(r"\w+")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_RELEASE: Final = re.compile(r"v[0-9]{1,3}(?:(?:alpha|beta|rc)[0-9]{1,3})?")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]{1,8}|[0-9a-fA-F]{2}")
"""A register, or a part of a PCI address."""
_ADDRESS: Final = re.compile(r"(?<![\w.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w.])")
_GAPS: Final = re.compile(f"{LEFT_OUT}(?:[^\\w\\s]{{0,3}}{LEFT_OUT})+")


class Words:
    """The words that may be told."""

    def __init__(self, texts: Iterable[str], names: Iterable[str] = ()) -> None:
        """`texts` are of the trade; `names` are those of objects, and may be told as they are."""
        self._known = {part.lower() for text in texts for part in _PART.findall(text) if not part.isdigit()}
        self._whole = {word.lower() for text in texts for word in _WORD.findall(text) if not word.isdigit()}
        self._names = {word.lower() for name in names for word in _WORD.findall(name)}

    def told(self, text: str) -> str:
        """The text without the words that are not known."""
        text = _ADDRESS.sub(LEFT_OUT, text)
        kept = _WORD.sub(lambda found: self._kept(found, text), text)
        return _GAPS.sub(LEFT_OUT, kept)

    def _kept(self, found: re.Match[str], text: str) -> str:
        word = found[0]
        if word.isdigit():
            is_fraction = text[max(0, found.start() - 1) : found.start()] == "."
            return word if len(word) <= (FRACTION_MAX if is_fraction else DIGITS_MAX) else LEFT_OUT
        return word if self._is_known(word) else LEFT_OUT

    def _is_known(self, word: str) -> bool:
        low = word.lower()
        if low in self._whole or low in self._names or _RELEASE.fullmatch(low) or _HEX.fullmatch(word):
            return True
        if not word.isascii():
            return False
        return all(self._is_made_of(piece) for piece in word.split("_") if piece)

    def _is_made_of(self, piece: str) -> bool:
        """Whether a word is known, or put together from words that are: CrashLoopBackOff, ubuntu22."""
        if piece.lower() in self._known:
            return True
        parts = _PART.findall(piece)
        if any(part.isdigit() for part in parts) and len(piece) > MIXED_MAX:
            return False
        return all(
            len(part) <= DIGITS_MAX if part.isdigit() else len(part) > 1 and part.lower() in self._known
            for part in parts
        )
