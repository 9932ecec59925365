"""For tests of a real node: it needs root, and what a root in a container may lack. Here and in CI there is both."""

from __future__ import annotations

import pytest

from seatrial_lab.testbed.real_node import able


def needed() -> None:
    """Leave the module out where no real node can be had; the last lines of the run say so, and why."""
    if why := able.why_not():
        pytest.skip(f"Left out. {why}", allow_module_level=True)
