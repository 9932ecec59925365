"""Versions: what they are, which go together, and how one gets from one set to another. Knows no cluster.

    versions ranges matrix findings   values     coherence moves     a matrix as a whole, and what may happen to it
    facts/ rules/                 what vendors published, and what follows from it             plan/    the way there

Law of this room: values in, findings out; nothing here has heard of nodes.
"""
