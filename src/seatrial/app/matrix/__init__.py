"""What is asked of a version matrix.

    judging         what the rules say about it          planning    the way between two of its entries
    plan_document   that way, written and read

Law of this room: a matrix is judged the same wherever it lives, and unknown is never a pass.
"""
