"""Keeps an eye on the home of the matrix of the rollout at work, and does there what its campaign decides.

Looks every half minute, and at once after a write of ours. What was seen before a failure stays, with the reason why it
is old beside it: the rollout waits, says so, and loses nothing. Tests: tests/controller/test_keeper.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import NothingToChange, Stale
from seatrial.adapters.git.repository import Author, Repository
from seatrial.adapters.kube import errors, models
from seatrial.adapters.kube.client import Client
from seatrial.controller.homes import ConfigMapHome, GitHome, GitPlaces, Home, Standing
from seatrial.core.actions import HomeAct
from seatrial.core.campaign import SourceFacts
from seatrial.core.errors import SeatrialError
from seatrial.core.snapshot import Instant
from seatrial.ports import Outcome, Result

LOOK_SECONDS: Final = 30.0
AUTHOR: Final = Author(name="seatrial", email="seatrial@localhost")
"""Whose name commits bear where Git was given none."""

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSettings:
    """What the command line says about Git."""

    folder: Path
    """Where private clones are kept; may be lost at any time."""
    credentials: Path | None = None
    look_seconds: float = LOOK_SECONDS


class Keeper:
    """Looks at one home at a time: that of the rollout at work."""

    def __init__(
        self,
        client: Client,
        settings: GitSettings,
        *,
        current: Callable[[], models.Rollout | None],
        standing: Callable[[], Standing | None],
        on_change: Callable[[], None],
        now: Callable[[], Instant],
    ) -> None:
        self._client = client
        self._settings = settings
        self._current = current
        self._standing = standing
        self._on_change = on_change
        self._now = now
        self._key: Key | None = None
        self._home: Home | None = None
        self._facts: SourceFacts | None = None
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Keeper:
        self._task = asyncio.create_task(self._run(), name="keeper")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def facts(self) -> SourceFacts | None:
        """What was last seen of the home of the rollout at work; None where it has none, or before the first look."""
        self._follow(self._current())
        return self._facts

    async def do(self, act: HomeAct) -> Outcome:
        """Try an act once."""
        home, standing = self._home, self._standing()
        if home is None or standing is None:
            return Outcome(action=act, result=Result.FAILED, detail="the rollout names no repository to write to")
        try:
            await home.do(act, standing)
        except (Stale, errors.Conflict) as err:
            outcome = Outcome(action=act, result=Result.STALE, detail=str(err))
        except NothingToChange:
            outcome = Outcome(action=act, result=Result.DONE)  # somebody did it before us; the next look shows it
        except SeatrialError as err:
            outcome = Outcome(action=act, result=Result.FAILED, detail=str(err))
        else:
            outcome = Outcome(action=act, result=Result.DONE)
        await self._look()
        return outcome

    async def _run(self) -> None:
        while True:
            self._due.clear()
            self._follow(self._current())
            await self._look()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._due.wait(), self._settings.look_seconds)

    async def _look(self) -> None:
        home = self._home
        if home is None:
            return
        now = self._now()
        try:
            facts = await home.look(now)
        except SeatrialError as err:
            before = self._facts or SourceFacts()
            since = before.since if before.trouble else now
            facts = replace(before, trouble=str(err), since=since)
        if home is self._home and facts != self._facts:
            is_news = self._facts is None or replace(facts, since=0.0) != replace(self._facts, since=0.0)
            self._facts = facts
            if is_news:
                self._on_change()

    def _follow(self, rollout: models.Rollout | None) -> None:
        """Turn to the home of this rollout, if it is another than before."""
        key = _key_of(rollout)
        if key == self._key:
            return
        self._key, self._facts = key, None
        self._home = None
        if rollout is not None and key is not None:
            try:
                self._home = self._make(rollout)
            except SeatrialError as err:
                self._facts = SourceFacts(trouble=str(err), since=self._now())
        self._due.set()

    def _make(self, rollout: models.Rollout) -> Home | None:
        spec = rollout.spec
        identity = identity_of(rollout)
        if spec.matrix is not None and spec.matrix.config_map is not None:
            named = spec.matrix.config_map
            return ConfigMapHome(
                self._client,
                rollout=identity,
                namespace=named.namespace,
                name=named.name,
                key=named.key,
                entry=spec.matrix.entry,
            )
        git = spec.matrix.git if spec.matrix is not None else None
        to = spec.publish.git
        url, branch = (git.url, git.branch) if git is not None else (to.url, to.branch) if to is not None else ("", "")
        if not url:
            return None
        repository = Repository(
            Remote(url=url, branch=branch or "main", credentials=self._settings.credentials),
            self._settings.folder / identity,
            author=AUTHOR,
        )
        places = GitPlaces(
            matrix=git.path if git is not None else "",
            entry=spec.matrix.entry if spec.matrix is not None else "",
            published=to.path if to is not None else "",
            pinned=git.commit if git is not None else "",
            is_by_request=to.pull_requests if to is not None else False,
        )
        return GitHome(repository, rollout=identity, places=places)


def identity_of(rollout: models.Rollout) -> str:
    """What names a rollout for ever: another one of the same name, made later, is not taken for it."""
    return f"{rollout.metadata.name}-{rollout.metadata.uid[:8]}"


def _key_of(rollout: models.Rollout | None) -> Key | None:
    if rollout is None or (rollout.spec.matrix is None and rollout.spec.publish.git is None):
        return None
    return (rollout.metadata.uid, rollout.spec.matrix, rollout.spec.publish)
