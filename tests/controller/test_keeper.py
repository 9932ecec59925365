"""The keeper with real repositories: what it shows when a remote goes away, is rewritten, or changes under it."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.git import clone
from seatrial.adapters.git.addresses import NOBODY, Permit, Permits
from seatrial.adapters.git.authorities import MACHINES_OWN, Authorities
from seatrial.adapters.git.clone import Clone
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.rollout_intent import identity_of
from seatrial.adapters.kube.shapes import models
from seatrial.controller.forges import NO_FORGES, Forges
from seatrial.controller.keeper import GitSettings, Keeper, folder_of
from seatrial.core.actions.at_home import CloseRequest
from seatrial.core.model.campaign import GitPlace, PublishStep, SourceFacts
from seatrial.core.model.seen.requests import Request
from seatrial.ports import Forge, Outcome, Result
from seatrial.supervision import Ending
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.certificates import Authority, Pair
from tests.adapters.git.remotes import Bare, Person, git, slow
from tests.adapters.kube import standin
from tests.adapters.kube.versioned import Objects
from tests.builders import NEW
from tests.controller.git_stage import (
    BAD,
    CANARY,
    MATRIX,
    PROMOTE,
    PUBLISHED,
    a_machine_of_its_own,
    a_remote,
    a_revert,
    a_rollout,
    matrix_of,
    policy_of,
)

SECONDS_MAX = 20.0
FOLDERS = Permits.read([Permit.read("/")])
NO_CLUSTER = configs.Config(server="https://127.0.0.1:1", context="", source="")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_machine_of_its_own(tmp_path, monkeypatch)


@pytest.fixture
def stage(tmp_path: Path) -> tuple[Bare, Person]:
    return a_remote(tmp_path / "git")


@dataclass(kw_only=True)
class Watch:
    """A keeper at work, a clock that stands still, and what it was told."""

    keeper: Keeper = field(init=False)
    rollout: models.Rollout | None
    now: float = 1000.0
    changes: int = 0
    is_leading: bool = True
    bug: Exception | None = None
    """What is raised in the middle of the keeper's work, if anything."""
    endings: list[Ending] = field(default_factory=list)

    def current_rollout(self) -> models.Rollout | None:
        if self.bug is not None:
            raise self.bug
        return self.rollout

    def poke(self) -> None:
        self.changes += 1

    async def until(self, is_so: Callable[[SourceFacts], bool]) -> SourceFacts:
        """The first facts of which something is so."""
        async with asyncio.timeout(SECONDS_MAX):
            while (facts := self.keeper.facts()) is None or not is_so(facts):
                await asyncio.sleep(0.01)
        return facts

    async def do(self, act: Any) -> Outcome:
        async with asyncio.timeout(SECONDS_MAX):
            return await self.keeper.do(act)


@asynccontextmanager
async def watching(
    rollout: models.Rollout | None,
    folder: Path,
    *,
    look_seconds: float = 0.05,
    permits: Permits = FOLDERS,
    authorities: Authorities = MACHINES_OWN,
    forges: Forges = NO_FORGES,
) -> AsyncIterator[Watch]:
    watch = Watch(rollout=rollout)
    async with Client(NO_CLUSTER, user_agent="test-keeper") as client:
        watch.keeper = Keeper(
            client,
            GitSettings(
                folder=folder, permits=permits, authorities=authorities, look_seconds=look_seconds, forges=forges
            ),
            now=lambda: watch.now,
            is_leader=lambda: watch.is_leading,
            tell=watch.endings.append,
        )
        async with watch.keeper.watching(watch):
            yield watch


@contextmanager
def no_file_left() -> Iterator[None]:
    """This process may open nothing more; what is open stays so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_without_a_home_there_is_nothing_to_see(tmp_path: Path) -> None:
    async with watching(None, tmp_path / "clones") as watch:
        assert watch.keeper.facts() is None
        watch.rollout = models.Rollout(metadata=models.ObjectMeta(name="spring", uid="u"))
        assert watch.keeper.facts() is None
        outcome = await watch.do(CANARY)
        assert (outcome.result, "spec.matrix" in outcome.detail) == (Result.FAILED, True)


async def test_a_machine_without_a_file_to_spare_is_told_and_looking_goes_on_afterwards(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, person = stage
    async with watching(a_rollout(remote), tmp_path / "clones") as watch:
        seen = await watch.until(lambda facts: facts.driver == NEW.version)
        with no_file_left():
            lost = await watch.until(lambda facts: bool(facts.trouble))
            outcome = await watch.do(CANARY)
        assert "Too many open files" in lost.trouble
        assert (lost.driver, lost.head) == (seen.driver, seen.head)
        assert (outcome.result, "Too many open files" in outcome.detail) == (Result.FAILED, True)

        person.write(MATRIX, matrix_of(canary="560.35.03"))
        later = await watch.until(lambda facts: facts.driver == "560.35.03")
        assert later.trouble == ""


class OddForge:
    """A forge that answers with something nobody has foreseen."""

    async def requests(self, _: Collection[str], /) -> tuple[Request, ...]:
        raise UnicodeDecodeError("utf-8", b"\xf6", 0, 1, "invalid start byte")

    open = write = close = post = requests


class OddForges(Forges):
    def of(self, _: GitPlace, /) -> Forge | None:
        return OddForge()  # type: ignore[return-value]


async def test_a_failure_that_nobody_foresaw_is_shown_like_any_other(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, _ = stage
    rollout = a_rollout(remote, is_by_request=True)
    async with watching(rollout, tmp_path / "clones", forges=OddForges()) as watch:
        lost = await watch.until(lambda facts: bool(facts.trouble))
        outcome = await watch.do(CloseRequest(rollout="spring", step=PublishStep.CANARY))

        assert lost.trouble.startswith("UnicodeDecodeError: ")
        assert (outcome.result, outcome.detail) == (Result.FAILED, lost.trouble)
        assert watch.endings == []


async def test_what_ends_the_looking_is_told_and_it_begins_anew_while_what_was_seen_grows_old(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, _ = stage
    async with watching(a_rollout(remote), tmp_path / "clones") as watch:
        seen = await watch.until(lambda facts: facts.driver == NEW.version)
        assert (seen.seen_at, seen.every_seconds) == (1000.0, 0.05)

        watch.bug = ZeroDivisionError("a bug of ours")
        async with asyncio.timeout(SECONDS_MAX):
            while not watch.endings:
                await asyncio.sleep(0.01)
        watch.bug, watch.now = None, 2000.0
        assert [(each.task, each.why) for each in watch.endings] == [("source", "ZeroDivisionError: a bug of ours")]
        assert watch.keeper.facts() == seen, "nothing was looked at meanwhile, and that can be told by seen_at"
        await watch.until(lambda facts: facts.seen_at == 2000.0)


async def test_a_remote_that_goes_away_leaves_what_was_seen_and_says_since_when(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, _ = stage
    async with watching(a_rollout(remote), tmp_path / "clones") as watch:
        seen = await watch.until(lambda facts: facts.driver == NEW.version)
        assert (seen.trouble, seen.since, seen.head) == ("", 1000.0, remote.head())

        watch.now = 2000.0
        await watch.until(lambda facts: facts.since == 2000.0)
        remote.path.rename(tmp_path / "away")
        gone = await watch.until(lambda facts: bool(facts.trouble))
        assert replace(gone, trouble="") == replace(seen, since=2000.0, seen_at=2000.0)
        assert "cannot be reached" in gone.trouble
        watch.now = 3000.0
        outcome = await watch.do(CANARY)
        assert (outcome.result, "cannot be reached" in outcome.detail) == (Result.FAILED, True)
        still = watch.keeper.facts()
        assert still is not None
        assert (still.since, still.driver) == (2000.0, NEW.version), "since when it could not be looked at"

        (tmp_path / "away").rename(remote.path)
        back = await watch.until(lambda facts: not facts.trouble)
        assert back == replace(seen, since=3000.0, seen_at=3000.0)


async def test_a_first_clone_that_takes_its_time_tells_how_far_it_is(
    stage: tuple[Bare, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone, "PROGRESS_SECONDS", 0.0)
    remote, _ = stage
    config = Path(os.environ["GIT_CONFIG_GLOBAL"])
    slow(tmp_path, config, step_seconds=0.3)
    async with watching(a_rollout(remote), tmp_path / "cache") as watch:
        told = await watch.until(lambda facts: bool(facts.trouble))
        assert told.trouble.startswith("the first clone of its repository is not finished (counting objects, ")
        assert (told.since, told.head) == (watch.now, "")
        seen = await watch.until(lambda facts: not facts.trouble)
        assert seen.head == remote.head()


async def test_what_a_look_finds_counts_for_the_rollout_it_was_begun_for_and_no_other(
    stage: tuple[Bare, Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone, "PROGRESS_SECONDS", 0.0)
    slow(tmp_path, Path(os.environ["GIT_CONFIG_GLOBAL"]), step_seconds=0.3)
    async with watching(a_rollout(stage[0]), tmp_path / "cache", look_seconds=600.0) as watch:
        await watch.until(lambda facts: bool(facts.trouble))  # the clone is under way
        watch.rollout = None
        assert watch.keeper.facts() is None
        await watch.do(BAD)  # one thing at a time: by now the look has ended
        assert watch.keeper.facts() is None


async def test_only_news_wakes_the_controller(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, ada = stage
    async with watching(a_rollout(remote), tmp_path / "clones") as watch:
        await watch.until(lambda facts: facts.head == remote.head())
        for watch.now in (1001.0, 1002.0, 1003.0):
            await watch.until(lambda facts: facts.since == watch.now)
        assert watch.changes == 1, "the same thing seen again is no news"
        ada.write("README.md", "Hello.\n")
        await watch.until(lambda facts: facts.head == remote.head())
        assert watch.changes == 2


async def test_whatever_becomes_of_the_matrix_is_seen(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, ada = stage
    async with watching(a_rollout(remote), tmp_path / "clones") as watch:
        await watch.until(lambda facts: facts.driver == NEW.version)
        ada.write(MATRIX, matrix_of(canary="590.44.01"), "Another one")
        await watch.until(lambda facts: facts.driver == "590.44.01")
        ada.write(MATRIX, matrix_of(more="    bad: the vendor called it back\n"), "Rejected by a person")
        await watch.until(lambda facts: facts.bad == "the vendor called it back")
        ada.write(MATRIX, matrix_of().partition("  canary")[0], "Nothing to try")
        await watch.until(lambda facts: facts.problem == f"{MATRIX} no longer has an entry 'canary'")
        git(ada.clone, "rm", "-q", MATRIX)
        ada_text = "The matrix lives elsewhere now"
        git(ada.clone, "commit", "-q", "-m", ada_text)
        git(ada.clone, "push", "-q", "origin", "HEAD:main")
        await watch.until(lambda facts: facts.problem == f"{MATRIX} is gone")
        ada.write(MATRIX, matrix_of(), "Back again")
        facts = await watch.until(lambda facts: not facts.problem)
        assert (facts.driver, facts.bad) == (NEW.version, "")


async def test_rewritten_history_is_seen_as_such(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, ada = stage
    async with watching(a_rollout(remote, commit=remote.head()), tmp_path / "clones") as watch:
        assert not (await watch.until(lambda facts: bool(facts.head))).is_rewritten
        git(ada.clone, "commit", "-q", "--amend", "-m", "Said otherwise")
        git(ada.clone, "push", "-q", "--force", "origin", "HEAD:main")
        await watch.until(lambda facts: facts.is_rewritten)


# ── whose home ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_another_rollout_is_another_home_at_once(tmp_path: Path) -> None:
    (one, _), (two, bob) = a_remote(tmp_path / "one"), a_remote(tmp_path / "two")
    bob.write(MATRIX, matrix_of(canary="590.44.01"))
    async with watching(a_rollout(one), tmp_path / "clones", look_seconds=600.0) as watch:
        await watch.until(lambda facts: facts.driver == NEW.version)
        watch.rollout = a_rollout(two, "summer", uid="5e6f7a8b-0000")
        assert watch.keeper.facts() is None, "nothing of the other one is shown for it"
        await watch.until(lambda facts: facts.driver == "590.44.01")
        outcome = await watch.do(CANARY)
        assert (outcome.result, outcome.detail) == (Result.STALE, "spring is no longer the active rollout")
        assert two.text(PUBLISHED) == policy_of()
        watch.rollout = None
        assert watch.keeper.facts() is None


async def test_a_rollout_of_the_same_name_made_later_does_not_find_the_steps_of_the_first(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, ada = stage
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        assert (await watch.do(CANARY)).result is Result.DONE
        ada.write(PUBLISHED, policy_of(), "Back by hand")
        watch.rollout = a_rollout(remote, uid="99999999-0000")
        assert (await watch.until(lambda facts: bool(facts.head))).steps == ()
        assert (await watch.do(CANARY)).result is Result.DONE
        assert remote.text(PUBLISHED) == policy_of(NEW.version)


async def test_an_address_that_cannot_be_one_is_told_and_not_tried(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    spoilt = a_rollout(stage[0])
    matrix = models.RolloutMatrix(git=models.RolloutGit(url="https://ada:secret@git.example.com/x", path=MATRIX))
    spoilt = models.Rollout(metadata=spoilt.metadata, spec=models.RolloutSpec(matrix=matrix))
    async with watching(spoilt, tmp_path / "clones") as watch:
        facts = await watch.until(lambda facts: bool(facts.trouble))
        assert "has a password in it" in facts.trouble
        assert "secret@" not in facts.trouble
        assert facts.since == watch.now
        outcome = await watch.do(PROMOTE)
        assert (outcome.result, outcome.detail) == (Result.FAILED, facts.trouble)


def at_a_server(server: GitServer, name: str = "fleet.git") -> models.Rollout:
    """A rollout that names a repository of a server."""
    place = models.RolloutGit(url=f"{server.url}/{name}", path=MATRIX)
    publish = models.RolloutPublish(via="git", git=models.RolloutPublishGit(path=PUBLISHED))
    spec = models.RolloutSpec(matrix=models.RolloutMatrix(git=place), publish=publish)
    return models.Rollout(metadata=models.ObjectMeta(name="spring", uid="1a2b3c4d-0000"), spec=spec)


@pytest.fixture
def server(stage: tuple[Bare, Person]) -> Iterator[GitServer]:
    with GitServer(root=stage[0].folder) as served:
        yield served


@pytest.fixture
def secret(tmp_path: Path, server: GitServer) -> Path:
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "username").write_text(server.username)
    (folder / "password").write_text(server.password)
    return folder


async def test_a_repository_behind_a_named_address_is_read_and_written_with_its_secret(
    stage: tuple[Bare, Person], server: GitServer, secret: Path, tmp_path: Path
) -> None:
    remote, _ = stage
    known = Permits.read([Permit.read(server.url, secret, is_loopback_http=True)])
    rollout = at_a_server(server, remote.path.name)
    async with watching(rollout, tmp_path / "clones", look_seconds=600.0, permits=known) as watch:
        await watch.until(lambda facts: facts.head == remote.head())
        assert (await watch.do(CANARY)).result is Result.DONE
    assert remote.text(PUBLISHED) == policy_of(NEW.version)
    kept = [file.read_bytes() for file in (tmp_path / "clones").rglob("*") if file.is_file()]
    assert not [raw for raw in kept if server.password.encode() in raw], "no secret stays on disk"


@pytest.mark.parametrize("prefixes", [(), ("/named",), ("/fleet", "/fleet.git/x")])
async def test_a_repository_that_nobody_named_is_not_even_asked(
    server: GitServer, secret: Path, tmp_path: Path, prefixes: tuple[str, ...]
) -> None:
    """Whoever writes a rollout would else choose who gets the password."""
    named = (Permit.read(f"{server.url}{prefix}", secret, is_loopback_http=True) for prefix in prefixes)
    async with watching(at_a_server(server), tmp_path / "clones", permits=Permits.read(named)) as watch:
        facts = await watch.until(lambda facts: bool(facts.trouble))
        assert (facts.is_barred, "is not behind any address" in facts.trouble) == (True, True)
        outcome = await watch.do(CANARY)
        assert (outcome.result, outcome.detail) == (Result.FAILED, facts.trouble)
    assert server.requests == []


async def test_a_server_is_trusted_by_the_authority_that_was_named_and_one_that_is_replaced_counts_at_once(
    stage: tuple[Bare, Person], secret: Path, tmp_path: Path
) -> None:
    remote, _ = stage
    ours, file = Authority.make("ours"), tmp_path / "ca.crt"
    pair = Pair(certificate=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    ours.issue(pair, name="git", hosts=("127.0.0.1",))
    file.write_bytes(Authority.make("another").pem)
    with GitServer(root=remote.folder, pair=pair) as server:
        known = Permits.read([Permit.read(server.url, secret)])
        named = Authorities.read([(server.url, file)])
        rollout = at_a_server(server, remote.path.name)
        async with watching(rollout, tmp_path / "clones", permits=known, authorities=named) as watch:
            facts = await watch.until(lambda facts: bool(facts.trouble))
            assert "shows a certificate that is not trusted here" in facts.trouble
            assert (facts.is_barred, server.requests) == (False, [])
            file.write_bytes(ours.pem)
            await watch.until(lambda facts: not facts.trouble and facts.head == remote.head())
            assert (await watch.do(CANARY)).result is Result.DONE
    assert remote.text(PUBLISHED) == policy_of(NEW.version)


async def test_a_folder_of_the_controllers_machine_is_barred_where_nobody_named_it(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    async with watching(a_rollout(stage[0]), tmp_path / "clones", permits=NOBODY) as watch:
        assert (await watch.until(lambda facts: bool(facts.trouble))).is_barred


async def test_a_campaign_goes_back_where_it_began_whatever_its_spec_names_by_then(tmp_path: Path) -> None:
    (one, _), (two, _) = a_remote(tmp_path / "one"), a_remote(tmp_path / "two")
    before = two.count()
    began = a_rollout(one, commit=one.head())
    matrix = {"url": str(one.path), "branch": "main", "path": MATRIX}
    written = {"campaign": {"phase": "Canary", "places": {"matrix": matrix, "published": matrix | {"path": PUBLISHED}}}}
    async with watching(began, tmp_path / "clones", look_seconds=600.0) as watch:
        await watch.until(lambda facts: bool(facts.head))
        assert (await watch.do(CANARY)).result is Result.DONE
        seen = watch.keeper.facts()
        assert seen is not None
        watch.rollout = models.Rollout(metadata=began.metadata, spec=began.spec, status=written)
        assert watch.keeper.facts() is seen, "the places that are written down are those it has"

        watch.rollout = models.Rollout(metadata=began.metadata, spec=a_rollout(two).spec, status=written)
        facts = await watch.until(lambda facts: bool(facts.head))
        assert facts.commit_of(PublishStep.CANARY) == one.head()
        assert (await watch.do(a_revert(facts))).result is Result.DONE
    assert one.text(PUBLISHED) == policy_of()
    assert two.count() == before


async def test_the_file_that_is_published_may_be_on_another_branch(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, ada = stage
    git(ada.clone, "push", "-q", "origin", "HEAD:production")
    rollout = a_rollout(remote)
    to = models.RolloutPublish(via="git", git=models.RolloutPublishGit(path=PUBLISHED, branch="production"))
    rollout = models.Rollout(metadata=rollout.metadata, spec=models.RolloutSpec(matrix=rollout.spec.matrix, publish=to))
    async with watching(rollout, tmp_path / "clones", look_seconds=600.0) as watch:
        assert (await watch.do(CANARY)).result is Result.DONE
        assert (await watch.do(PROMOTE)).result is Result.DONE
        facts = watch.keeper.facts()
        assert facts is not None
        assert facts.steps == (
            (PublishStep.CANARY, remote.git("rev-parse", "production")),
            (PublishStep.PROMOTION, remote.head()),
        )
        assert remote.text(PUBLISHED) == policy_of()
        assert remote.text(PUBLISHED, "production") == policy_of(NEW.version)


def test_a_name_of_any_length_gives_an_identity(stage: tuple[Bare, Person]) -> None:
    assert identity_of(a_rollout(stage[0])) == "spring-1a2b3c4d"
    assert len(identity_of(a_rollout(stage[0], "n" * 253))) == 209


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_write_is_followed_by_a_look(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, _ = stage
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        await watch.until(lambda facts: bool(facts.head))
        assert await watch.do(CANARY) == Outcome(action=CANARY, result=Result.DONE)
        facts = watch.keeper.facts()
        assert facts is not None
        assert facts.steps == ((PublishStep.CANARY, remote.head()),)
        assert watch.changes == 2


async def test_two_controllers_that_write_the_same_step_leave_one_commit(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, _ = stage
    before = remote.count()
    async with (
        watching(a_rollout(remote), tmp_path / "one") as one,
        watching(a_rollout(remote), tmp_path / "two") as two,
    ):
        outcomes = await asyncio.gather(one.do(CANARY), two.do(CANARY))
        assert {each.result for each in outcomes} <= {Result.DONE, Result.STALE}, [each.detail for each in outcomes]
        for watch in (one, two):
            await watch.until(lambda facts: facts.commit_of(PublishStep.CANARY) == remote.head())
    assert remote.count() == before + 1


async def test_who_stopped_leading_while_it_waited_for_its_turn_writes_nothing(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, _ = stage
    before = remote.count()
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        for act in (CANARY, PROMOTE, BAD):
            waiting = asyncio.create_task(watch.do(act))
            watch.is_leading = False
            assert await waiting == Outcome(action=act, result=Result.STALE, detail="another controller leads by now")
        assert (remote.count(), remote.git("tag", "--list")) == (before, "")

        watch.is_leading = True
        assert (await watch.do(CANARY)).result is Result.DONE
        assert remote.count() == before + 1


async def test_what_was_seen_counts_no_more_once_the_cluster_went_back(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, ada = stage
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        await watch.until(lambda facts: facts.driver == NEW.version)
        ada.write(MATRIX, matrix_of(canary="560.35.03"))
        watch.keeper.look_anew()
        assert watch.keeper.facts() is None, "nothing is said about it until it was looked at again"
        await watch.until(lambda facts: facts.driver == "560.35.03")


async def test_a_matrix_in_a_config_map_is_looked_at_where_it_is(tmp_path: Path) -> None:
    there = Objects()
    there.put("/api/v1/namespaces/gpu/configmaps/matrix", {"data": {"m.yaml": matrix_of()}})
    place = models.RolloutConfigMap(namespace="gpu", name="matrix", key="m.yaml")
    rollout = models.Rollout(
        metadata=models.ObjectMeta(name="spring", uid="1a2b3c4d"),
        spec=models.RolloutSpec(matrix=models.RolloutMatrix(config_map=place, entry="canary")),
    )
    async with standin.running() as server, Client(server.config(), user_agent="test-keeper") as client:
        server.will(there.answer)
        watch = Watch(rollout=rollout)
        settings = GitSettings(folder=tmp_path, look_seconds=600.0)
        watch.keeper = Keeper(client, settings, now=lambda: watch.now, is_leader=lambda: True)
        async with watch.keeper.watching(watch):
            seen = await watch.until(lambda facts: bool(facts.head))
            assert (seen.driver, seen.problem) == (NEW.version, "")
            assert (await watch.do(BAD)).result is Result.DONE
            assert "bad:" in there.get("/api/v1/namespaces/gpu/configmaps/matrix")["data"]["m.yaml"]


async def test_what_is_published_already_is_no_failure(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, ada = stage
    ada.write(PUBLISHED, policy_of(NEW.version), "By hand")
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        assert await watch.do(CANARY) == Outcome(action=CANARY, result=Result.DONE)


async def test_a_conflict_is_a_failure_with_what_to_type_and_a_fact(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, ada = stage
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        await watch.do(CANARY)
        ada.write(PUBLISHED, policy_of("590.44.01"), "Another one by hand")
        facts = watch.keeper.facts()
        assert facts is not None
        outcome = await watch.do(a_revert(facts))
        assert (outcome.result, "git revert --no-commit" in outcome.detail) == (Result.FAILED, True)
        facts = watch.keeper.facts()
        assert facts is not None
        assert facts.conflict == outcome.detail


async def test_an_act_of_another_rollout_is_not_done(stage: tuple[Bare, Person], tmp_path: Path) -> None:
    remote, _ = stage
    before = remote.count()
    async with watching(a_rollout(remote), tmp_path / "clones", look_seconds=600.0) as watch:
        assert (await watch.do(replace(BAD, rollout="winter"))).result is Result.STALE
    assert remote.count() == before


async def test_a_clone_in_somebody_else_s_hands_is_trouble_and_passes(
    stage: tuple[Bare, Person], tmp_path: Path
) -> None:
    remote, _ = stage
    rollout = a_rollout(remote)
    place = GitPlace(url=str(remote.path), branch="main", path=MATRIX)
    holder = Clone(remote.remote, tmp_path / "clones" / folder_of(place))
    async with watching(rollout, tmp_path / "clones") as watch:
        await watch.until(lambda facts: bool(facts.head))

        def hold() -> str:
            return (
                asyncio.run_coroutine_threadsafe(
                    watch.until(lambda facts: "Somebody else works" in facts.trouble), loop
                )
                .result(SECONDS_MAX)
                .trouble
            )

        loop = asyncio.get_running_loop()
        assert await asyncio.to_thread(lambda: holder.within(hold, is_fetching=False))
        await watch.until(lambda facts: not facts.trouble)
