"""Breaks the code where it meets the world, one small edit at a time, and asks whether a test notices.

    edits.py        what can be edited, and what is left alone and why     a text ─▶ mutants
    drawing.py      a seeded sample, each file with its share              mutants ─▶ some of them
    equivalents.py  edits that change nothing anybody could see, each with its reason (equivalents.toml)
    reach.py        which test runs which line, measured once and kept     tests ─▶ lines
    choosing.py     whom to ask about a mutant, and in which order         a mutant ─▶ tests
    rooms.py        a copy of the checkout, in which one mutant is tried   a mutant, tests ─▶ caught, or not
    serving.py      runs in a room: tests in a forked process              tests ─▶ the first that fails
    by_hand.py      mistakes written by hand, in any file of the code (by_hand.toml)
    counting.py     what came of it                                        verdicts ─▶ the result that is kept

Law of this folder: nothing of the checkout is written but `.mutants/` and the result, so whoever is killed leaves
nothing behind; and no mutant runs where it could reach the checkout, its history or the home of whoever asked.
Tests: tests/mutants/
"""
