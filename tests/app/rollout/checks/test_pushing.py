"""Whether the controller may push: its own login against a real Git server, and what is said where it is not known."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying.installed import Controller, Mounted
from seatrial.app.rollout import pushing
from seatrial.app.rollout.check import Verdict
from seatrial.app.rollout.committing import PublishedFile
from seatrial.app.rollout.pushing import Push
from seatrial_lab.testbed.neighbours.git_server import GitServer
from tests.adapters.git.remotes import Bare
from tests.adapters.kube import standin

PASSWORD = "tr0ub4dor-and-three"


@pytest.fixture
def git(remote: Bare) -> Iterator[GitServer]:
    with GitServer(root=remote.folder, password=PASSWORD) as served:
        yield served


def a_push(url: str, *, is_by_request: bool = False) -> Push:
    file = PublishedFile(url=url, branch="main", path="matrix.yaml", head="0" * 40, texts=())
    return Push(file=file, rollout="spring", is_by_request=is_by_request)


def a_controller(*arguments: str) -> Controller:
    mounts = (Mounted(path="/secrets/git", secret="seatrial-git"),)
    return Controller(namespace="seatrial", account="robot", arguments=arguments, mounts=mounts)


def bound(server: GitServer) -> Controller:
    return a_controller(f"--git-credentials={server.url}/=/secrets/git", "--git-loopback-http")


def a_secret(password: str = PASSWORD) -> standin.Reply:
    words = {"username": "seatrial", "password": password}
    return standin.gives({"data": {key: b64encode(value.encode()).decode() for key, value in words.items()}})


@pytest.mark.parametrize("is_by_request", [False, True])
async def test_the_controllers_login_is_tried_and_nothing_is_pushed(
    git: GitServer,
    remote: Bare,
    cluster: standin.StandIn,
    client: Client,
    tmp_path: Path,
    *,
    is_by_request: bool,
) -> None:
    cluster.will(a_secret())
    before = remote.git("for-each-ref")
    push = a_push(f"{git.url}/fleet.git", is_by_request=is_by_request)
    found = await pushing.check(client, push, bound(git), tmp_path / "clone")
    assert found.verdict is Verdict.OK, found.why
    where = "a branch for a pull request" if is_by_request else "main"
    assert found.why.startswith(f"the controller's login may push to {where} of {git.url}/fleet.git; ")
    assert cluster.seen[0].path == "/api/v1/namespaces/seatrial/secrets/seatrial-git"
    assert any("git-receive-pack" in each.path for each in git.requests)
    assert not any(each.method == "POST" and "git-receive-pack" in each.path for each in git.requests)
    assert remote.git("for-each-ref") == before


async def test_a_server_that_takes_no_push_is_told_in_its_own_words(
    git: GitServer,
    remote: Bare,
    cluster: standin.StandIn,
    client: Client,
    tmp_path: Path,
) -> None:
    cluster.will(a_secret())
    remote.git("config", "http.receivepack", "false")
    found = await pushing.check(client, a_push(f"{git.url}/fleet.git"), bound(git), tmp_path / "clone")
    assert found.verdict is Verdict.FAILS
    assert "with the controller's login" in found.why
    assert "403" in found.why


async def test_a_wrong_password_is_told_and_never_shown(
    git: GitServer, cluster: standin.StandIn, client: Client, tmp_path: Path
) -> None:
    cluster.will(a_secret("yesterdays-password"))
    found = await pushing.check(client, a_push(f"{git.url}/fleet.git"), bound(git), tmp_path / "clone")
    assert found.verdict is Verdict.FAILS
    assert "Authentication failed" in found.why
    assert "yesterdays" not in found.why


async def test_a_hook_is_not_asked_and_an_ok_says_so(
    git: GitServer,
    remote: Bare,
    cluster: standin.StandIn,
    client: Client,
    tmp_path: Path,
) -> None:
    cluster.will(a_secret())
    remote.hook("pre-receive", "touch asked; exit 1")
    found = await pushing.check(client, a_push(f"{git.url}/fleet.git"), bound(git), tmp_path / "clone")
    assert found.why.endswith("a rule of the branch or a hook speaks only when something is pushed")
    assert not (remote.path / "asked").exists()


async def test_an_address_that_the_controller_was_not_told_of_fails(
    client: Client, remote: Bare, tmp_path: Path
) -> None:
    controller = a_controller("--git-allow=https://git.example.com/gpu")
    found = await pushing.check(client, a_push(str(remote.path)), controller, tmp_path / "clone")
    assert found.verdict is Verdict.FAILS
    assert f"{remote.path} is not behind any address that was named" in found.why


async def refused(_: web.Request) -> web.Response:
    return web.Response(status=403)


@pytest.mark.parametrize("is_seen", [True, False])
async def test_a_login_that_only_the_controller_has_is_not_known_whatever_your_own_git_may(
    remote: Bare,
    cluster: standin.StandIn,
    client: Client,
    tmp_path: Path,
    *,
    is_seen: bool,
) -> None:
    cluster.will(refused)
    controller = a_controller("--git-allow=/") if is_seen else None
    found = await pushing.check(client, a_push(str(remote.path)), controller, tmp_path / "clone")
    assert found.verdict is Verdict.UNKNOWN
    assert found.why == f"the controller holds the login; your own Git may push to main of {remote.path}"


async def test_a_secret_that_may_not_be_read_is_not_known_and_your_own_git_is_told_beside(
    git: GitServer, cluster: standin.StandIn, client: Client, tmp_path: Path
) -> None:
    cluster.will(refused)
    found = await pushing.check(client, a_push(f"{git.url}/fleet.git"), bound(git), tmp_path / "clone")
    assert found.verdict is Verdict.UNKNOWN
    assert found.why.startswith("the controller holds the login; your own Git may not: ")
    assert all(not each.authorization for each in git.requests)
