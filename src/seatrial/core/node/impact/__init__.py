"""What a step does to the workloads of a node, told row by row.

    rows.py       one thing that happens, and what users lose by it
    network.py    what the network's steps bring
    telling.py    every component's rows, in the order in which a node meets them

Law of this room: it tells, and decides nothing; what a visit takes is in node/visiting.py, and read off from there.
Tests: tests/core/test_plan_impact.py, tests/core/test_visiting.py
"""
