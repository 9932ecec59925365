"""Taking up what others left half-way: one node, and a fleet of them.

Law of this room: nothing is guessed; what cannot be told is left as it is, and named.
"""
