"""Disks that are full, for tests. Who may mount gets one, and a mount that fails then fails the test."""

from __future__ import annotations

import pytest

from seatrial_lab.testbed.disks import ADMIN, fill, may_mount, small_disk

__all__ = ["ADMIN", "MAY_MOUNT", "fill", "needs_mounts", "small_disk"]

MAY_MOUNT = may_mount()
needs_mounts = pytest.mark.skipif(
    not MAY_MOUNT, reason=f"mounts and changes of root need {ADMIN}; run it as root, or under `unshare -Urm`"
)
