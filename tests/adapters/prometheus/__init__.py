"""Prometheus' adapter: against the real server where it matters, against answers of our own where it would be slow."""
