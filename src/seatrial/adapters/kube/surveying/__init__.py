"""Reads a cluster once, for people who look at it: nothing is watched, and nothing written but a report.

    once.py             kinds along the table of core/survey/sources.py, and what could not be read
    keeping.py          a report into a ConfigMap that somebody made for it
    auditing.py         what an audit looks at
    audit_models.py     the fields of it
    installed.py        the controller that is installed here, its account, and how it was told
    gate_pods.py        the pods of gates that run or failed, and what each said last
    diagnosing.py       what a diagnosis looks at, logs among it
    doctor_models.py    the fields of it

Law of this room: a few texts are kept of each object, foreign ones cleaned; nothing is concluded from them.
"""
