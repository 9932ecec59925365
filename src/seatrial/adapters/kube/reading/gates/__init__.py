"""Gates as Jobs: what is asked (probes.py), and what their containers say (reports.py)."""
