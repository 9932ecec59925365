"""Audits the cluster now and then while we lead, and hands what it found to whoever publishes it.

    list, page by page ─▶ compare nodes alike with each other, judge by what is known ─▶ seatrial_audit_… (metrics.py)

It lists what the watches do not hold (DaemonSets, operators, OLM's and OpenShift's objects) with the rights of
manifests/rbac-audit.yaml; a right that is missing is a finding, and no fault. The comparison runs beside the loop: on
thousands of nodes it takes longer than a pass may.

Law of this file: nothing here decides or writes. Tests: tests/controller/test_auditor.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Self

from seatrial import supervision
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import auditing as reading
from seatrial.core.compat.facts import Facts
from seatrial.core.model.instants import Instant
from seatrial.core.survey.audit.auditing import Audit, audit

Take = Callable[[Audit, Instant], None]


class Auditor:
    """Looks again and again; use `async with`."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        facts: Facts,
        every_seconds: float,
        is_leader: Callable[[], bool],
        take: Take,
        tell: supervision.Tell,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._facts = facts
        self._every_seconds = every_seconds
        self._is_leader = is_leader
        self._take = take
        self._tell = tell
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(supervision.keep("audit", self._run, tell=self._tell), name="audit")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            if self._is_leader():
                await self.look()
            await asyncio.sleep(self._every_seconds)

    async def look(self) -> None:
        """Audit once."""
        at = self._client.now()
        objects = await reading.read(self._client, namespace=self._namespace)
        found = await asyncio.to_thread(audit, objects, self._facts, datetime.fromtimestamp(at, UTC).date())
        self._take(found, at)
