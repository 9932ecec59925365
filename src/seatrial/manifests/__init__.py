"""The manifests seatrial needs in a cluster: the files, and what reads and fills them in (texts.py)."""

from __future__ import annotations

from seatrial.manifests.texts import DRA_NAMESPACE, HOME, OPERATOR_NAMESPACE, crd, driver_manager, pace, rbac

__all__ = ["DRA_NAMESPACE", "HOME", "OPERATOR_NAMESPACE", "crd", "driver_manager", "pace", "rbac"]
