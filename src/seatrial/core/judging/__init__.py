"""Judging: what measurements say about an upgrade. Values in, verdicts out; unknown is never a pass."""
