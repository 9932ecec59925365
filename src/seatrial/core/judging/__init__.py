"""What figures and telemetry prove of an upgrade, however often one looks.

Law of this room: values in, values out, by the standard library alone; what is kept between two rounds are sums, of a
size that no further round changes; unknown is never a pass. What a round of gates says by itself is in tries.py and
limits.py. What many rounds say, against before and against controls, is in the rest: who wires it calls `controls_for`
(matching.py), `begun`, `measured` and `watched` (evidence.py), and `judged` (together.py).
"""
