"""Why something cannot be measured. Tests: tests/probes/test_command.py"""

from __future__ import annotations


class Unmeasurable(RuntimeError):  # noqa: N818  the trade's word
    """There is nothing to measure, or nothing to measure with; the message says what is missing and what to do."""
