"""A sample: the same for the same seed, each file with its share; a smaller one is the beginning of a larger one."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from bench.mutants.drawing import drawn

TEXTS = {f"{name}.py": "x = 1\n" * count for name, count in (("large", 60), ("small", 12), ("tiny", 3), ("none", 0))}


def names(seed: int, count: int) -> list[str]:
    return [each.name for each in islice(drawn(TEXTS, seed), count)]


def test_a_seed_gives_one_sample_and_another_seed_another() -> None:
    assert names(1, 50) == names(1, 50)
    assert set(names(1, 50)) != set(names(2, 50))


def test_a_smaller_sample_is_the_beginning_of_a_larger_one() -> None:
    assert names(1, 80)[:20] == names(1, 20)


def test_a_sample_stays_nearly_the_same_when_the_code_changes_a_little() -> None:
    text = "".join(f"def f{number}(a):\n    return a == {number}\n" for number in range(50))
    before, after = (
        {(each.within, each.edit, each.before, each.after) for each in islice(drawn({"f.py": some}, 1), 50)}
        for some in (text, f"import b\n{text}def g(a):\n    return a\n")
    )
    assert len(before & after) >= 48


def test_every_file_has_its_share_to_within_one() -> None:
    for seed in range(20):
        found = Counter(each.file for each in islice(drawn(TEXTS, seed), 50))  # a third of 150
        assert abs(found["large.py"] - 40) <= 1
        assert abs(found["small.py"] - 8) <= 1
        assert abs(found["tiny.py"] - 2) <= 1


def test_all_mutants_are_drawn_in_the_end_and_none_twice() -> None:
    everything = names(1, 10_000)
    assert len(everything) == len(set(everything)) == 150
