"""The demo's stage: a scratch repository that is real, and a cluster that is simulated, side by side.

    remote.git ◀── commits, tag, revert ── GitHome ◀── acts of the campaign that are about the matrix
        │ what its files say                                         │ all the others
        └── brought into the cluster after a while ──▶ World ◀───────┘

Law of this file: nothing is decided here. Tests: tests/cli/test_demo.py
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from seatrial.adapters.files import matrix_keys, published, switched
from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.repository import Author, Repository
from seatrial.controller.git_home import GitHome, GitPlaces
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import HomeAct
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import SourceFacts, Switch
from seatrial.core.model.instants import Instant
from seatrial.core.movers import driver_manager
from seatrial.ports import Journal, Outcome, Ports, Result, Sight
from seatrial.sim.outside import CLUSTER_POLICY
from seatrial.sim.world import World

MATRIX: Final = matrix_keys.FILE_NAME
PUBLISHED: Final = "cluster/cluster-policy.yaml"
BRANCH: Final = "main"
AUTHOR: Final = Author(name="seatrial", email="seatrial@localhost")
PERSON: Final = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "platform team"), ("EMAIL", "platform@localhost"))
}

_POLICY: Final = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata:
  name: cluster-policy
spec:
  driver:
    version: "{driver}"
    upgradePolicy:
      autoUpgrade: false
"""

_ENTRY: Final = """\
  {name}:
    openshift: "4.20.34"
    gpu_operator: "v26.7.0"
    gpu_driver: "{driver}"
    cuda: "13.0"
    mofed: "26.01-1.0.0.0"
    firmware_cx7: "28.48.1000"
    hardware:
      product: "B200"
      kernel_module: open
    status: "{status}"
"""


class GitMissing(SeatrialError):  # noqa: N818
    """The demo makes real commits, and there is nothing to make them with."""


class Workshop:
    """A bare repository with a matrix in it, and a clone in which a person works."""

    def __init__(self, folder: Path, *, production: str) -> None:
        self.folder = folder
        self.remote = folder / "remote.git"
        self.clone = folder / "clone"
        self._git(folder, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(self.remote))
        self._git(folder, "clone", "--quiet", str(self.remote), str(self.clone))
        self._git(self.clone, "checkout", "--quiet", "-B", BRANCH)
        (self.clone / PUBLISHED).parent.mkdir()
        (self.clone / PUBLISHED).write_text(_POLICY.format(driver=production), encoding="utf-8")
        matrix = "versions:\n" + _ENTRY.format(name="current", driver=production, status="production")
        (self.clone / MATRIX).write_text(matrix, encoding="utf-8")
        self._push(f"The fleet runs driver {production}")

    @property
    def matrix(self) -> Path:
        return self.clone / MATRIX

    def propose(self, driver: str) -> None:
        """A person writes another driver into the canary entry, and pushes."""
        self._git(self.clone, "pull", "--quiet", "--ff-only", "origin", BRANCH)
        before, _, _ = self.matrix.read_text(encoding="utf-8").partition("  canary:\n")
        rest = self.matrix.read_text(encoding="utf-8").removeprefix(before).removeprefix("  canary:\n")
        # The entry ends where the next one begins; the others stay as they are.
        lines = rest.splitlines(keepends=True)
        later = next(
            (index for index, line in enumerate(lines) if line.startswith("  ") and line[2] != " "), len(lines)
        )
        entry = _ENTRY.format(name="canary", driver=driver, status="testing")
        self.matrix.write_text(before + entry + "".join(lines[later:]), encoding="utf-8")
        self._push(f"Try driver {driver} on a canary")

    def repository(self) -> Repository:
        """The remote as the controller uses it: through a clone of its own."""
        return Repository(Remote(url=str(self.remote), branch=BRANCH), self.folder / "controller", author=AUTHOR)

    def log(self) -> list[str]:
        """The remote's history, the newest first."""
        return self._git(self.remote, "log", "--oneline", "--decorate", "--topo-order", BRANCH).splitlines()

    def _push(self, subject: str) -> None:
        self._git(self.clone, "add", "--all")
        self._git(self.clone, "commit", "--quiet", "--message", subject)
        self._git(self.clone, "push", "--quiet", "origin", BRANCH)

    def _git(self, where: Path, *words: str) -> str:
        # The user's own settings (signing, hooks, templates) are for their own repositories.
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        plain = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
        try:
            done = subprocess.run(
                ["git", *words],
                cwd=where,
                env=plain | alone | PERSON,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except FileNotFoundError:
            raise GitMissing("git is not installed; the demo makes real commits. Install git, and try again.") from None
        if done.returncode:
            raise GitMissing(f"git {words[0]} failed in {where}: {done.stderr.strip()}")
        return done.stdout


class Stage:
    """A simulated cluster whose matrix lives in a real repository; the outside of one rollout's loop."""

    def __init__(
        self,
        world: World,
        repository: Repository,
        home: GitHome,
        *,
        published_at: str = PUBLISHED,
        on_written: Callable[[Instant, HomeAct, SourceFacts], None] = lambda *_: None,
    ) -> None:
        self.world = world
        self._repository = repository
        self._home = home
        self._published_at = published_at
        self._on_written = on_written
        self._errands: list[HomeAct] = []
        self._outcomes: list[Outcome] = []

    @classmethod
    def of(cls, world: World, workshop: Workshop, on_written: Callable[[Instant, HomeAct, SourceFacts], None]) -> Self:
        """The stage over a workshop's repository."""
        repository = workshop.repository()
        places = GitPlaces(matrix=MATRIX, entry="canary", published=PUBLISHED)
        home = GitHome(repository, rollout=world.intent.rollout, places=places)
        return cls(world, repository, home, on_written=on_written)

    def ports(self, journal: Journal) -> Ports:
        return Ports(observer=self, executor=self, journal=journal, clock=self.world)

    async def look(self) -> None:
        """Take in what the repository shows; what its file says is brought into the cluster in time."""
        source = await self._home.look(self.world.time)
        file = self._published_at
        text = self._repository.text_at(source.head, file) or ""
        version = published.versions_in(text, CLUSTER_POLICY, self.world.intent.target.published, file) or ""
        env = switched.manager_env(text, CLUSTER_POLICY, file)
        switches = tuple(
            Switch(resource=CLUSTER_POLICY, name=name, value=env.get(name)) for name in driver_manager.SWITCHES
        )
        files = ((CLUSTER_POLICY, version),)
        self.world.change_outside(lambda it: replace(it, source=source, files=files, switches=switches))

    # ── the ports ────────────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self) -> Sight:
        return self.world.observe()

    async def wait(self, until: Instant | None) -> bool:
        if not self._errands:
            return await self.world.wait(until)
        errands, self._errands = self._errands, []
        for act in errands:
            self._outcomes.append(await self._write(act))
        return True

    def submit(self, action: Action) -> None:
        if isinstance(action, HomeAct):
            self._errands.append(action)
        else:
            self.world.submit(action)

    def in_flight(self) -> frozenset[str]:
        return frozenset(act.subject for act in self._errands)

    def collect(self) -> tuple[Outcome, ...]:
        outcomes, self._outcomes = self._outcomes, []
        return (*outcomes, *self.world.collect())

    async def _write(self, act: HomeAct) -> Outcome:
        try:
            await self._home.do(act)
        except SeatrialError as err:
            return Outcome(action=act, result=Result.FAILED, detail=str(err))
        await self.look()
        if self.world.outside.source is not None:
            self._on_written(self.world.time, act, self.world.outside.source)
        return Outcome(action=act, result=Result.DONE)
