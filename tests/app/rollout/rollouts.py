"""GPURollouts as the API server has them."""

from __future__ import annotations

from typing import Any

from seatrial.app.picking import Rollout


def a_rollout(name: str = "spring", phase: str = "Baking", *, ended_at: str = "", **spec: Any) -> Rollout:
    history = [{"phase": phase, "at": ended_at}] if ended_at else []
    campaign = {"phase": phase, "history": history} if phase else {}
    return Rollout(
        raw={
            "metadata": {"name": name, "resourceVersion": "7", "creationTimestamp": "2026-03-01T10:00:00Z"},
            "spec": {"target": {"driver": "580.105.08"}, "canary": {"count": 1}, **spec},
            "status": {"campaign": campaign} if campaign else {},
        }
    )
