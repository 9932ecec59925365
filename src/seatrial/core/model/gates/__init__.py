"""Gates: what is asked (gate.py), what was measured (figures.py), what was watched over time (telemetry.py).

What can be watched is in signals.py. Law of this room: values only. Measuring is an adapter's, judging core/judging's.
"""
