"""What we promise, one function each: of a fleet, of a node, of a campaign. core/promises/invariants.py lists them.

Law of this room: a promise reads a decision and what was seen, and never how it was decided. It counts for itself: a
mistake in the rule that it guards has to show here.
"""
