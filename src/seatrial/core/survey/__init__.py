"""What is found on a cluster that others have worked on: which versions run where, and what was left half-way.

    adoption/    an upgrade that somebody left half-done, node by node: taken up, or left alone
    audit/       every component of every node, where it was read, and what is wrong

Law of this room: nothing is guessed; what cannot be told is left as it is, and named.
"""
