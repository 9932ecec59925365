"""A virtual cluster with a clock of its own: what a user runs for a forecast, a demo, a dry run or a replay.

Law of this folder: facts, not Kubernetes objects; the same seed gives the same world.
"""
