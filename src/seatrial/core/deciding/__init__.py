"""The parts of decide: why everybody stops, whose turn it is, what is reused, what is written down of the
whole, and the numbers worth watching.

Law of this room: each part answers one question for core/decide.py, and none asks another room to decide again.
measures.py stands above decide: it counts what came of it.
"""
