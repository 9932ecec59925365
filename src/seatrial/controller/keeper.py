"""Keeps an eye on the home of the matrix of the rollout at work, and does there what its campaign decides.

    seen        facts, with the moment of the look in `since` and `seen_at`
    not seen    the facts from before stay, `trouble` says why they are old, `since` says since when

Looks every half minute, and at once after a write of ours. One thing at a time: a look that began before a write never
hides it. Anything that goes wrong in a look or a try is a failure that is shown, since others write what is read here.
If the loop itself ends, that is reported and it starts again, while what was seen grows old.

Tests: tests/controller/test_keeper.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from seatrial import supervision
from seatrial.adapters.git.addresses import NOBODY, Permits
from seatrial.adapters.git.authorities import MACHINES_OWN, Authorities
from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import Barred, NothingToChange, Stale
from seatrial.adapters.git.repository import Author, Repository
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import rollout_intent
from seatrial.adapters.kube.reading.rollout_intent import identity_of, places_kept
from seatrial.adapters.kube.shapes import models
from seatrial.controller.config_map_home import ConfigMapHome
from seatrial.controller.forges import NO_FORGES, Forges
from seatrial.controller.git_home import GitHome, GitPlaces
from seatrial.controller.homes import Apart, Home
from seatrial.core.actions.at_home import HomeAct
from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import NOWHERE, GitPlace, SourceFacts
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign
from seatrial.ports import Forge, Outcome, Result

LOOK_SECONDS: Final = 30.0
AUTHOR: Final = Author(name="seatrial", email="seatrial@localhost")
"""Whose name commits bear where Git was given none."""

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSettings:
    """What the command line says about Git."""

    folder: Path
    """Where private clones are kept; may be lost at any time."""
    permits: Permits = NOBODY
    """Which addresses we may speak to, and as whom; without any, none."""
    authorities: Authorities = MACHINES_OWN
    """Whose certificates count at which server."""
    look_seconds: float = LOOK_SECONDS
    forges: Forges = NO_FORGES
    """Where people are asked to merge by a pull request; elsewhere by a branch and a text."""


class Rollouts(Protocol):
    """Who knows which rollout is at work, and is woken when there is something to see."""

    def current_rollout(self) -> models.Rollout | None: ...

    def poke(self) -> None: ...


class Keeper:
    """Looks at one home at a time: that of the rollout at work."""

    def __init__(
        self,
        client: Client,
        settings: GitSettings,
        *,
        now: Callable[[], Instant],
        is_leader: Callable[[], bool],
        tell: supervision.Tell = lambda _: None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._now = now
        self._is_leader = is_leader
        self._tell = tell
        self._key: Key | None = None
        self._name = ""
        self._home: Home | None = None
        self._facts: SourceFacts | None = None
        self._due = asyncio.Event()
        self._turn = asyncio.Lock()
        self._rollouts: Rollouts | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def watching(self, rollouts: Rollouts) -> AsyncIterator[None]:
        """Look at the home of whatever rollout is at work there; before and afterwards there is nothing to see."""
        self._rollouts, self._loop = rollouts, asyncio.get_running_loop()
        task = asyncio.create_task(supervision.keep("source", self._run, tell=self._tell), name="source")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def facts(self) -> SourceFacts | None:
        """What was last seen of the home of the rollout at work; None where it has none, or before the first look."""
        self._follow(self._current())
        return self._facts

    def look_anew(self) -> None:
        """What was seen counts no more; nothing is said about the home until it was looked at again."""
        if self._home is not None:
            self._facts = None
        self._due.set()

    async def do(self, act: HomeAct) -> Outcome:
        """Try an act once, and look at what came of it."""
        async with self._turn:
            outcome = await self._try(act)
            await self._look()
        return outcome

    async def _try(self, act: HomeAct) -> Outcome:
        self._follow(self._current())
        home = self._home
        if self._name not in (act.rollout, ""):
            return Outcome(action=act, result=Result.STALE, detail=f"{act.rollout} is no longer the active rollout")
        if home is None:
            trouble = self._facts.trouble if self._facts is not None else ""
            detail = trouble or "The rollout names nothing to write to. Set spec.matrix, or spec.publish.git."
            return Outcome(action=act, result=Result.FAILED, detail=detail)
        if not self._is_leader():  # asked again: we may have waited for a look, and a fetch takes its time
            return Outcome(action=act, result=Result.STALE, detail="another controller leads by now")
        try:
            await home.do(act)
        except (Stale, errors.Conflict) as err:
            return Outcome(action=act, result=Result.STALE, detail=str(err))
        except NothingToChange:
            pass  # somebody published it before us; the resource will be seen to carry it
        except MemoryError:
            raise
        except Exception as err:  # noqa: BLE001  others push what is read here
            return Outcome(action=act, result=Result.FAILED, detail=_why(err))
        return Outcome(action=act, result=Result.DONE)

    async def _run(self) -> None:
        while True:
            self._due.clear()
            self._follow(self._current())
            async with self._turn:
                await self._look()
            # Not wait_for: Python 3.11's loses a cancellation that comes together with the event.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.look_seconds):
                    await self._due.wait()

    async def _look(self) -> None:
        home = self._home
        if home is None:
            return
        at = self._now()
        try:
            facts = replace(await home.look(at), seen_at=at, every_seconds=self._settings.look_seconds)
        except MemoryError:
            raise
        except Exception as err:  # noqa: BLE001  as above
            facts = self._troubled(_why(err))
        if home is not self._home:
            return  # the rollout at work is another one by now
        self._take(facts)

    def _not_yet(self, key: Key | None, why: str) -> None:
        """A look has been under way for a while."""
        if key == self._key:
            self._take(self._troubled(why))

    def _troubled(self, why: str) -> SourceFacts:
        before = self._facts or SourceFacts()
        return replace(before, trouble=why, since=before.since if before.trouble else self._now())

    def _take(self, facts: SourceFacts) -> None:
        is_news = self._facts is None or _timeless(facts) != _timeless(self._facts)
        self._facts = facts
        if is_news and self._rollouts is not None:
            self._rollouts.poke()

    # ── whose home ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _current(self) -> models.Rollout | None:
        return self._rollouts.current_rollout() if self._rollouts is not None else None

    def _follow(self, rollout: models.Rollout | None) -> None:
        """Turn to the home of this rollout, if it is another than before."""
        key = _key_of(rollout)
        if key == self._key:
            return
        self._key, self._facts, self._home = key, None, None
        self._name = rollout.metadata.name if rollout is not None else ""
        if rollout is not None and key is not None:
            try:
                self._home = self._make(rollout)
            except (SeatrialError, OSError) as err:
                self._facts = SourceFacts(trouble=str(err), is_barred=isinstance(err, Barred), since=self._now())
        self._due.set()

    def _make(self, rollout: models.Rollout) -> Home | None:
        spec, identity, to = rollout.spec, identity_of(rollout), rollout.spec.publish.git
        known = places_kept(rollout)
        git, place = known.matrix, known.published
        is_by_request = to.pull_requests if to is not None else False
        entry = spec.matrix.entry if spec.matrix is not None else ""
        is_together = git is not None and place is not None and (git.url, git.branch) == (place.url, place.branch)
        matrix: Home | None = None
        if git is not None:
            places = GitPlaces(
                matrix=git.path,
                entry=entry,
                published=place.path if place is not None and is_together else "",
                pinned=_pinned(rollout),
                is_by_request=is_by_request,
            )
            matrix = GitHome(self._repository(git), rollout=identity, places=places, forge=self._forge(git))
        elif spec.matrix is not None and spec.matrix.config_map is not None:
            named = spec.matrix.config_map
            where = {"namespace": named.namespace, "name": named.name, "key": named.key}
            matrix = ConfigMapHome(self._client, rollout=identity, entry=entry, **where)
        if place is None or is_together:
            return matrix
        places = GitPlaces(published=place.path, is_by_request=is_by_request)
        files = GitHome(self._repository(place), rollout=identity, places=places, forge=self._forge(place))
        return Apart(matrix=matrix, files=files) if matrix is not None else files

    def _forge(self, place: GitPlace) -> Forge | None:
        return self._settings.forges.of(place)

    def _repository(self, place: GitPlace) -> Repository:
        permit = self._settings.permits.of(place.url)
        authority = self._settings.authorities.of(place.url)
        remote = Remote(url=place.url, branch=place.branch, credentials=permit.secret, authority=authority)
        folder, key, loop = self._settings.folder / folder_of(place), self._key, self._loop

        def on_progress(how_far: str) -> None:  # called by the thread in which git runs
            why = f"the first clone of its repository is not finished ({how_far})"
            if loop is not None:
                loop.call_soon_threadsafe(self._not_yet, key, why)

        return Repository(remote, folder, author=AUTHOR, on_progress=on_progress)


def _why(err: Exception) -> str:
    """Why a look or a try failed; an unforeseen error is named with its type."""
    return str(err) if isinstance(err, SeatrialError | OSError) else foreign.lines(supervision.told(err))


def _timeless(facts: SourceFacts) -> SourceFacts:
    return replace(facts, since=0.0, seen_at=0.0)


def _pinned(rollout: models.Rollout) -> str:
    """The commit the target was taken from; of another place than the one we work at it says nothing."""
    said = rollout.spec.matrix.git if rollout.spec.matrix is not None else None
    is_here = rollout_intent.places_of(rollout.spec).matrix == places_kept(rollout).matrix
    return said.commit if said is not None and is_here else ""


def folder_of(place: GitPlace) -> str:
    """The folder of a clone: the same for every rollout that names this branch, so that it is cloned once."""
    return hashlib.sha256(f"{place.url} {place.branch}".encode()).hexdigest()[:16]


def _key_of(rollout: models.Rollout | None) -> Key | None:
    if rollout is None:
        return None
    places, matrix, to = places_kept(rollout), rollout.spec.matrix, rollout.spec.publish.git
    config_map = matrix.config_map if matrix is not None else None
    if places == NOWHERE and config_map is None:
        return None
    entry = matrix.entry if matrix is not None else ""
    is_by_request = to.pull_requests if to is not None else False
    return (rollout.metadata.uid, places, config_map, entry, _pinned(rollout), is_by_request)
