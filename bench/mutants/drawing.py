"""A seeded sample of mutants, of which every file has its share.

Each mutant of a file of n gets a place between 0 and 1: the k-th of them, in an order that chance gives, somewhere in
the k-th part of n. The first places of all files together are the sample. So a file has its share, to within one; a
smaller sample is the beginning of a larger one; and a run that was broken off has seen a sample, too.

Law of this file: chance comes from the seed alone. Tests: tests/mutants/test_drawing.py
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping

from bench.mutants.edits import Mutant, is_another, mutants_of


def drawn(texts: Mapping[str, str], seed: int) -> Iterator[Mutant]:
    """The mutants of these files, by path, in the order of their places."""
    placed: list[tuple[float, Mutant]] = []
    for file, text in sorted(texts.items()):
        placed += _placed(mutants_of(file, text), random.Random(f"{seed} {file}"))  # noqa: S311  a sample, no secret
    for _, mutant in sorted(placed, key=lambda each: (each[0], each[1].file, each[1].at, each[1].after)):
        if is_another(mutant, texts[mutant.file]):
            yield mutant


def _placed(mutants: Iterable[Mutant], chance: random.Random) -> list[tuple[float, Mutant]]:
    some = list(mutants)
    chance.shuffle(some)
    return [((index + chance.random()) / len(some), each) for index, each in enumerate(some)]
