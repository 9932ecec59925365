"""Reads a cluster once, for people who look at it: nothing is watched, and nothing written.

    once.py             kinds along the table of core/survey/sources.py, and what could not be read
    auditing.py         what an audit looks at
    audit_models.py     the fields of it
    diagnosing.py       what a diagnosis looks at, logs among it
    doctor_models.py    the fields of it

Law of this room: a few texts are kept of each object, foreign ones cleaned; nothing is concluded from them.
"""
