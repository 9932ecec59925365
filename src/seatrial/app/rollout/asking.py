"""Every check before a start, asked at the same time.

Law of this file: nothing is written, and what one of them cannot tell keeps no other from telling. Tests:
tests/app/rollout/checks/test_checks.py, tests/cli/test_rollout_checks.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.app.rollout import fields, images, pushing, rights

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.rollout.check import Check
    from seatrial.app.rollout.outset import Outset


async def checks_of(cluster: Cluster, outset: Outset, folder: Path) -> tuple[Check, ...]:
    """Every answer, in the order in which people read them; `folder` has the clone of the published file."""
    from seatrial.adapters.kube.surveying import installed

    async with cluster.client() as client:
        controller = await installed.controller_of(client)
        taken, granted, pulled = await asyncio.gather(
            fields.check(client, outset),
            rights.check(client, outset, controller, cluster.namespace),
            images.checks(client, outset),
        )
        if outset.file is None:
            return (taken, granted, *pulled)
        git = (outset.resource["spec"].get("publish") or {}).get("git") or {}
        push = pushing.Push(
            file=outset.file, rollout=outset.intent.rollout, is_by_request=bool(git.get("pullRequests"))
        )
        return (taken, granted, *pulled, await pushing.check(client, push, controller, folder))
