"""All that is decided, as functions of values.

Law of this folder: no I/O, no clock, no chance, no logging; time, chance and names are arguments.
"""
