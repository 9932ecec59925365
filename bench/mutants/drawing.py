"""A seeded sample of mutants, of which every file has its share.

Each mutant of a file of n gets a place between 0 and 1: the k-th of them, in an order that chance gives, somewhere in
the k-th part of n. The first places of all files together are the sample. So a file has its share, to within one; a
smaller sample is the beginning of a larger one; and a run that was broken off has seen a sample, too.

Law of this file: chance comes from the seed and from what a mutant is, so a sample stays nearly the same when the code
changes a little. Tests: tests/mutants/test_drawing.py
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bench.mutants.edits import Mutant, is_another, mutants_of


def drawn(texts: Mapping[str, str], seed: int) -> Iterator[Mutant]:
    """The mutants of these files, by path, in the order of their places."""
    placed: list[tuple[float, Mutant]] = []
    for file, text in sorted(texts.items()):
        placed += _placed(mutants_of(file, text), seed)
    for _, mutant in sorted(placed, key=lambda each: (each[0], each[1].file, each[1].at, each[1].after)):
        if is_another(mutant, texts[mutant.file]):
            yield mutant


def _placed(mutants: Iterable[Mutant], seed: int) -> list[tuple[float, Mutant]]:
    alike: Counter[tuple[str, ...]] = Counter()
    drawn: list[tuple[float, float, Mutant]] = []
    for each in mutants:
        what = (each.file, each.within, each.edit, each.before, each.after)
        alike[what] += 1
        digest = hashlib.sha256("\0".join((*what, str(alike[what]), str(seed))).encode()).digest()
        drawn.append((_fraction(digest[:8]), _fraction(digest[8:16]), each))
    drawn.sort(key=lambda each: each[0])
    return [((index + within) / len(drawn), each) for index, (_, within, each) in enumerate(drawn)]


def _fraction(raw: bytes) -> float:
    return int.from_bytes(raw, "big") / (1 << 8 * len(raw))
