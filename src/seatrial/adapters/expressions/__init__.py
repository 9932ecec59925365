"""Expressions in CEL over what gates have said: worked out in a process of its own, with little time and memory.

Law of this folder: whoever holds the cluster's credentials never runs the library. child.py is the process, and knows
nothing of us; measurer.py starts it.
"""
