"""Whether the controller's login may push where the rollout publishes: asked with `git push --dry-run`.

    the login that was bound to the address, where its Secret may be read     ok, or what the server refuses it with
    an address that the controller was not told of                            fails: it would not speak there
    else                                                                      not known; what your own Git is told

Law of this file: the controller's login goes where it was bound to and nowhere else (decision 0021), is in a folder of
ours for the length of one question, and is never shown. What a server tells somebody else says nothing about the
controller, so it is told beside and decides nothing. Tests: tests/app/rollout/checks/test_pushing.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.app.rollout.check import Check, Verdict
from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.adapters.git.addresses import Permit
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.surveying.installed import Controller
    from seatrial.app.rollout.committing import PublishedFile

ABOUT: Final = "push"
LATER: Final = "a rule of the branch or a hook speaks only when something is pushed"
HELD: Final = "the controller holds the login"


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """What would be pushed first."""

    file: PublishedFile
    rollout: str
    is_by_request: bool

    @property
    def where(self) -> str:
        return f"{'a branch for a pull request' if self.is_by_request else self.file.branch} of {self.file.url}"


async def check(client: Client, push: Push, controller: Controller | None, folder: Path) -> Check:
    """Whether the first commit could be pushed by the controller."""
    from seatrial.adapters.git.errors import Barred, GitError

    if controller is None or controller.arguments is None:
        return await _beside(push, folder, HELD)
    try:
        permit = permit_of(controller, push.file.url)
    except Barred as err:
        why = f"the controller does not speak there: {err}. Start it with --git-credentials or --git-allow"
        return Check(about=ABOUT, verdict=Verdict.FAILS, why=why)
    except GitError as err:
        return await _beside(push, folder, f"{HELD}; {err}")
    name = controller.secret_at(str(permit.secret)) if permit.secret is not None else ""
    login = await _login(client, controller, name)
    if login is None:
        return await _beside(push, folder, HELD)
    return await asyncio.to_thread(as_controller, push, login, folder)


def permit_of(controller: Controller, url: str) -> Permit:
    """What the controller was told about an address; a GitError where that is nothing, or cannot be read."""
    from seatrial.adapters.git.addresses import Permit, Permits

    bound = [each.partition("=") for each in controller.said("--git-credentials")]
    is_loopback_http = "--git-loopback-http" in (controller.arguments or ())
    permits = [Permit.read(prefix, Path(path), is_loopback_http=is_loopback_http) for prefix, _, path in bound]
    permits += [Permit.read(each, is_loopback_http=is_loopback_http) for each in controller.said("--git-allow")]
    return Permits.read(permits).of(url)


async def _login(client: Client, controller: Controller, name: str) -> Mapping[str, bytes] | None:
    from seatrial.adapters.kube.surveying import installed

    return await installed.secret_of(client, controller.namespace, name) if name else None


def as_controller(push: Push, login: Mapping[str, bytes], folder: Path) -> Check:
    """Ask with the controller's own login, which is gone afterwards."""
    import tempfile

    from seatrial.adapters.git.errors import GitError, GitRefused

    with tempfile.TemporaryDirectory(prefix="seatrial-") as kept:
        for key, value in login.items():
            file = Path(kept) / Path(key).name
            file.touch(mode=0o600)
            file.write_bytes(value)
        try:
            _try(push, folder, Path(kept))
        except GitRefused as err:
            return Check(about=ABOUT, verdict=Verdict.FAILS, why=f"with the controller's login: {err}")
        except GitError as err:
            return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=f"with the controller's login: {err}")
    return Check(about=ABOUT, verdict=Verdict.OK, why=f"the controller's login may push to {push.where}; {LATER}")


async def _beside(push: Push, folder: Path, why: str) -> Check:
    """Not known; and what the server tells whoever asks here."""
    from seatrial.adapters.git.errors import GitError, GitRefused

    try:
        await asyncio.to_thread(_try, push, folder, None)
        own = f"your own Git may push to {push.where}"
    except GitRefused as err:
        own = f"your own Git may not: {err}"
    except GitError as err:
        own = f"your own Git cannot tell: {err}"
    return Check(about=ABOUT, verdict=Verdict.UNKNOWN, why=f"{why}; {own}")


def _try(push: Push, folder: Path, secret: Path | None) -> None:
    from seatrial.adapters.git.clone import Remote
    from seatrial.adapters.git.repository import Repository
    from seatrial.core.model.campaign import PublishStep

    remote = Remote(url=push.file.url, branch=push.file.branch, credentials=secret)
    repository = Repository(remote, folder)
    repository.try_push(rollout=push.rollout, step=PublishStep.CANARY.value, is_by_request=push.is_by_request)
