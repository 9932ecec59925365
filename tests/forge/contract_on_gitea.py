"""The contract of forges, on the real Gitea: a protected branch, and three people with a token each."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.forge.errors import ForgeRefused
from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.places import Kind, place_of
from seatrial_lab.testbed.neighbours.gitea import ADA, CAPTAIN, ROBOT, Gitea
from tests.adapters.forge.contract import CANARY, Contract, Stage
from tests.adapters.forge.test_contract import a_token


def a_forge(url: str, token: Path, *, base: str = "main") -> HttpForge:
    """Ours, for a repository at an address of this machine."""
    scheme, _, rest = url.partition("://")
    at, *path = rest.split("/")
    host, _, port = at.partition(":")
    return HttpForge(place_of(Kind.GITEA, scheme=scheme, host=host, port=int(port), path=path, secret=token), base=base)


@pytest.fixture
def stage(gitea: Gitea, name: str, tmp_path: Path) -> Stage:
    url, repo = gitea.repository(name), f"/repos/{CAPTAIN}/{name}"
    wrong = a_token(tmp_path / "wrong", "0" * 40)

    async def call(method: str, path: str, body: Any = None, *, who: str = ADA) -> Any:
        return await asyncio.to_thread(gitea.call, method, path, body, who=who)

    def file(branch: str) -> dict[str, str]:
        return {"content": base64.b64encode(branch.encode()).decode(), "branch": "main", "new_branch": branch}

    async def push(branch: str) -> str:
        made = await call("POST", f"{repo}/contents/{branch}.txt", file(branch), who=ROBOT)
        return str(made["commit"]["sha"])

    async def approve(number: int) -> None:
        await call("POST", f"{repo}/pulls/{number}/reviews", {"event": "APPROVED"})

    async def merge(number: int) -> None:
        await call("POST", f"{repo}/pulls/{number}/merge", {"Do": "merge"}, who=CAPTAIN)

    async def decline(number: int) -> None:
        await call("PATCH", f"{repo}/pulls/{number}", {"state": "closed"})

    async def fork(branch: str) -> None:
        await call("POST", f"{repo}/forks", {})
        await call("POST", f"/repos/{ADA}/{name}/contents/theirs.txt", file(branch))
        await call("POST", f"{repo}/pulls", {"head": f"{ADA}:{branch}", "base": "main", "title": "Mine"})

    async def text(number: int) -> str:
        return str((await call("GET", f"{repo}/pulls/{number}"))["body"])

    return Stage(
        forge=a_forge(url, a_token(tmp_path / "token", gitea.tokens[ROBOT])),
        stranger=a_forge(url, wrong),
        push=push,
        approve=approve,
        merge=merge,
        decline=decline,
        fork=fork,
        text=text,
        token=wrong,
    )


class TestContract(Contract):
    """All of it."""

    async def test_a_branch_that_was_deleted_is_still_known_by_its_request(
        self, stage: Stage, gitea: Gitea, name: str
    ) -> None:
        await stage.push(CANARY)
        opened = await stage.forge.open(CANARY, title="Driver 580", text="")
        await stage.decline(opened.number)
        await asyncio.to_thread(gitea.call, "DELETE", f"/repos/{CAPTAIN}/{name}/branches/{CANARY}")
        (found,) = await stage.forge.requests((CANARY,))
        assert found.number == opened.number

    async def test_a_branch_that_is_not_there_cannot_be_asked_for(self, stage: Stage) -> None:
        with pytest.raises(ForgeRefused, match="404"):
            await stage.forge.open("seatrial/nobody/canary", title="Driver 580", text="")
