"""What is missing from a proof, as a value.

Law of this file: values only; who judges is in readiness.py and fresh.py.
Tests: tests/core/test_readiness.py
"""

from __future__ import annotations

from typing import NamedTuple

from seatrial.core.holds import HoldCode


class Lack(NamedTuple):
    """What is missing from the proof, and with which details."""

    code: HoldCode
    params: dict[str, object]
