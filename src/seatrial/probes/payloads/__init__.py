"""What is looked at, one file each: every payload is a function of its options and its notes.

Law of this room: a payload writes down what it saw and what it could not see, GPU by GPU; one sick GPU hides no other.
"""
