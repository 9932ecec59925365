"""A campaign over simulated nodes whose matrix lives on a real Gitea, behind a protected branch.

Nodes, gates and the deployer are World's; Git, the forge and what people do there are real. The controller's own parts
look and write: GitHome with a login for Git and a token for the forge, and the loop around decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.repository import Repository
from seatrial.cli.run import demo_stage
from seatrial.controller.forges import Forges
from seatrial.controller.git_home import GitHome, GitPlaces
from seatrial.core.model.campaign import GitPlace, PublishStep, Via
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.requests import Request, RequestState
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim.world import World
from seatrial_lab.testbed.neighbours.gitea import ADA, CAPTAIN, PASSWORD, ROBOT, Gitea
from tests.adapters.git.remotes import ROBOT as AUTHOR
from tests.adapters.git.remotes import git
from tests.builders import NEW, OLD
from tests.e2e.campaigns import MATRIX, PUBLISHED, matrix_of, published_of
from tests.sim.test_outside import REPOSITORY, Acts, a_world

QUIET_SECONDS = 600.0

Answer = Callable[["Stage", PublishStep, Request], None]
"""What a person does who is asked to merge a step."""


def secret(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    return folder


def merge(stage: Stage, _: PublishStep, request: Request) -> None:
    """They look at it, and merge it."""
    stage.api("POST", f"/pulls/{request.number}/reviews", {"event": "APPROVED"})
    stage.api("POST", f"/pulls/{request.number}/merge", {"Do": "merge"}, who=CAPTAIN)


def decline(stage: Stage, _: PublishStep, request: Request) -> None:
    """They close it."""
    stage.api("PATCH", f"/pulls/{request.number}", {"state": "closed"})


@dataclass(kw_only=True)
class Stage:
    """The outside of one rollout's loop."""

    gitea: Gitea
    name: str
    folder: Path
    world: World = field(init=False)
    answer: Answer | None = None
    """What people do with each request; None lets it wait."""
    acts: Acts = field(default_factory=Acts)
    outside: ByRequest = field(init=False)

    def __post_init__(self) -> None:
        url = self.gitea.repository(self.name)
        self._lay_out(url)
        made = a_world(REPOSITORY, Via.GIT)
        self.world = World(list(made.nodes.values()), made.intent, outside=made.outside)
        self.login: Path = secret(self.folder / "login", username=ROBOT, password=PASSWORD)
        token = secret(self.folder / "forge", token=self.gitea.tokens[ROBOT])
        self.forges = Forges.read([("gitea", f"{self.gitea.url}/{CAPTAIN}", token)], is_loopback_http=True)
        self.place = GitPlace(url=url, branch="main", path=MATRIX)
        self.restart()

    def _lay_out(self, url: str) -> None:
        self.clone = self.folder / "person"
        git(self.folder, "clone", "-q", url.replace("http://", f"http://{CAPTAIN}:{PASSWORD}@"), str(self.clone))
        files = {MATRIX: matrix_of(OLD.version, NEW.version), PUBLISHED: published_of("cluster-policy", OLD.version)}
        for path, text in files.items():
            (self.clone / path).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / path).write_text(text)
        git(self.clone, "add", "-A")
        git(self.clone, "commit", "-q", "-m", "The cluster as it is")
        git(self.clone, "push", "-q", "origin", "HEAD:main")

    def restart(self) -> None:
        """Another controller takes over, with nothing but what is written down."""
        kept = len(list(self.folder.glob("ours-*")))
        remote = Remote(url=self.place.url, credentials=self.login)
        repository = Repository(remote, self.folder / f"ours-{kept}", author=AUTHOR)
        places = GitPlaces(matrix=MATRIX, entry="canary", published=PUBLISHED, is_by_request=True)
        home = GitHome(repository, rollout="spring-1a2b3c4d", places=places, forge=self.forges.of(self.place))
        self.outside = ByRequest(self, repository, home)

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def api(self, method: str, path: str, body: Any = None, *, who: str = ADA) -> Any:
        return self.gitea.call(method, f"/repos/{CAPTAIN}/{self.name}{path}", body, who=who)

    def play(self, until: Callable[[Stage], bool] = lambda _: False) -> None:
        """Let the campaign run until something is so, or nothing can ever change again."""
        asyncio.run(self._play(until))

    async def _play(self, until: Callable[[Stage], bool]) -> None:
        await self.outside.look()
        memory = Memory(self.world.time)
        await run_forever(
            self.outside.ports(self.acts), memory, on_report=lambda _: None, is_over=lambda _: until(self)
        )

    def abort(self, why: str, *, marks_bad: bool = False) -> None:
        campaign = self.world.intent.campaign
        assert campaign is not None
        self.world.intent = replace(self.world.intent, campaign=replace(campaign, abort=why, marks_bad=marks_bad))

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def asked(self, step: str) -> list[dict[str, Any]]:
        """The requests of a step, whatever became of them."""
        found = self.api("GET", "/pulls?state=all&limit=50")
        return [each for each in found if each["head"]["label"].endswith(f"/{step}")]

    def git(self, *arguments: str) -> str:
        """What the remote has, through the person's clone."""
        git(self.clone, "fetch", "-q", "--tags", "origin")
        return git(self.clone, *arguments)

    @property
    def holds(self) -> dict[str, str]:
        """What the rollout says it waits for, by code."""
        summary = self.world.rollout.summary
        return {each.code: each.why for each in summary.told} if summary is not None else {}


class ByRequest(demo_stage.Stage):
    """The loop's outside: the demo's, in which nothing moves before a person does."""

    def __init__(self, stage: Stage, repository: Repository, home: GitHome) -> None:
        super().__init__(stage.world, repository, home, published_at=PUBLISHED)
        self._stage = stage
        self._quiet_at: Instant = 0.0

    async def look(self) -> None:
        await super().look()
        self._quiet_at = self.world.time + QUIET_SECONDS

    async def wait(self, until: Instant | None) -> bool:
        has_errands = bool(self._errands) and await super().wait(until)
        if has_errands or await self._people():
            await self.look()
            return True
        source = self.world.outside.source
        if source is None or not source.proposals:
            return await self.world.wait(until)
        # It may say so, and is not let run into the days of its deadline.
        return self.world.time < self._quiet_at and await self.world.wait(self._quiet_at)

    async def _people(self) -> bool:
        source = self.world.outside.source
        opened = [(step, each) for step, each in source.requests if each.state is RequestState.OPEN] if source else []
        if self._stage.answer is None or not opened:
            return False
        await asyncio.to_thread(self._stage.answer, self._stage, *opened[0])
        return True
