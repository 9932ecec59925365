"""Has a gate measured on a node by a Job; what the Job is, and what its end means, is in reading/probes.py.

Tests: tests/adapters/kube/test_execute_campaign.py, tests/adapters/test_measurers.py
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.gates.companions import companions_of
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.writing.outcomes import done, failed, stale, tried
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import PREPULL
from seatrial.core.text.names import a_few
from seatrial.ports import Outcome


class Rollouts(Protocol):
    """Who knows the rollouts: a probe belongs to one."""

    def stored_rollout(self, name: str) -> models.Rollout | None: ...


class JobMeasurer:
    """Makes Jobs."""

    def __init__(
        self,
        client: Client,
        rollouts: Rollouts,
        *,
        home: str,
        level: Level,
        images: Collection[str],
        limits: Mapping[str, str] = probes.LIMITS,
    ) -> None:
        """`images` are registries, paths or images that gates may run; none lets them run any."""
        self._client = client
        self._rollouts = rollouts
        self._home = home
        self._level = level
        self._images = tuple(images)
        self._limits = dict(limits)

    async def measure(self, act: StartProbe, /) -> Outcome:
        return await tried(act, self._measure(act))

    async def _measure(self, act: StartProbe) -> Outcome:
        if not self._may_run(act):
            return failed(
                act,
                f"gate {act.gate.name} names the image {act.gate.image}, and gates may run {a_few(self._images)} alone"
                "; an administrator allows more (--gate-image-allow)",
            )
        owner = self._rollouts.stored_rollout(act.rollout)
        if owner is None:
            return stale(act, f"GPURollout {act.rollout} is gone")
        uid = owner.metadata.uid
        try:
            # First, since a Job that is seen is not asked for again: cut off in between, all of this is done anew.
            for each in companions_of(act, uid, self._home, probes.owner_of(act.rollout, uid)):
                await self._create(each.path, each.body)
            await self._create(
                keys.jobs_path(self._home), probes.job_of(act, uid, level=self._level, limits=self._limits)
            )
        except errors.NotFound as err:
            return failed(act, str(err))  # the namespace; looking again would not bring it
        return done(act)

    def _may_run(self, act: StartProbe) -> bool:
        """Whether the administrator lets the image be run; the one that is pulled before a driver starts is the
        driver's own, and no gate of a rollout has that name."""
        return not self._images or act.gate.name == PREPULL or act.gate.runs_one_of(self._images)

    async def _create(self, path: str, body: dict[str, Any]) -> None:
        try:
            await self._client.create(path, body)
        except errors.Conflict as err:
            if not err.is_name_taken:  # its name is made of what it is for, so whoever made it asked the same
                raise
