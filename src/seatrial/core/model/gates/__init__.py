"""Gates: what is asked (gate.py), what was measured (figures.py), what was watched over time (telemetry.py).

What somebody said is in attested.py, what an expression is about in given.py, what can be watched in signals.py.

Law of this room: values only. Measuring is an adapter's, judging is core/judging's.
"""
