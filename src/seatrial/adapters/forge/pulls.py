"""Pull requests as Gitea, Forgejo and GitHub write them: nearly the same words, and a few that differ.

What differs: how one is found (GitHub filters by branch; Gitea lists, and we pick), what a review is called, and that
GitHub has check runs beside statuses. Shapes: Gitea 1.26's swagger, GitHub's REST API 2022-11-28.

Tests: tests/adapters/forge/test_contract.py
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from seatrial.adapters.forge.places import Place
from seatrial.adapters.forge.shape import DESCRIPTION_MAX, PAGE, Call, Shape, instant, worst
from seatrial.core.model.seen.requests import Checks, CommitStatus, Request, RequestState, Review, mark_in
from seatrial.core.text import foreign

OPEN_PAGES_MAX: Final = 10
"""Of a forge that cannot be asked for one branch: so many pages of open requests are looked through."""


class _User(msgspec.Struct):
    login: str = ""


class _Repo(msgspec.Struct):
    full_name: str = ""


class _Ref(msgspec.Struct):
    ref: str = ""
    label: str = ""
    sha: str = ""
    repo: _Repo | None = None


class _Pull(msgspec.Struct):
    number: int
    html_url: str
    state: str
    head: _Ref
    base: _Ref
    body: str | None = None
    merged_at: str | None = None
    created_at: str | None = None


class _Review(msgspec.Struct):
    state: str
    user: _User | None = None
    dismissed: bool = False


class _Statuses(msgspec.Struct):
    state: str = ""
    total_count: int = 0


class _Run(msgspec.Struct):
    status: str = ""
    conclusion: str | None = None


class _Runs(msgspec.Struct):
    check_runs: list[_Run] = []


_STATES: Final = {
    "success": Checks.PASSED,
    "skipped": Checks.PASSED,
    "warning": Checks.PASSED,
    "pending": Checks.PENDING,
    "failure": Checks.FAILED,
    "error": Checks.FAILED,
}
_SAID: Final = {Checks.PASSED: "success", Checks.FAILED: "failure", Checks.PENDING: "pending", Checks.NONE: "pending"}
_GOOD_ENDS: Final = frozenset({"success", "neutral", "skipped"})
_JUDGES: Final = {
    "APPROVED": Review.APPROVED,
    "CHANGES_REQUESTED": Review.CHANGES_ASKED,
    "REQUEST_CHANGES": Review.CHANGES_ASKED,
    "DISMISSED": Review.NONE,
}
"""Reviews that count; the last one of each person does. Comments are none."""


class Pulls(Shape):
    """What both families share."""

    def requests(self, body: bytes) -> list[Request]:
        return [_seen(each) for each in msgspec.json.decode(body, type=list[_Pull]) if _is_of_its_own(each)]

    def request(self, body: bytes) -> Request:
        return _seen(msgspec.json.decode(body, type=_Pull))

    def open(self, place: Place, *, base: str, branch: str, title: str, text: str) -> Call:
        body = {"head": branch, "base": base, "title": title, "body": text}
        return Call(method="POST", path=f"/repos/{place.project}/pulls", body=body)

    def edit(self, place: Place, number: int, *, title: str, text: str, closes: bool) -> Call:
        body = {"title": title, "body": text} | ({"state": "closed"} if closes else {})
        return Call(method="PATCH", path=f"/repos/{place.project}/pulls/{number}", body=body)

    def reviews(self, place: Place, number: int) -> Call:
        asked = {"per_page": "100", "limit": str(PAGE)}  # GitHub's word, and Gitea's
        return Call(method="GET", path=f"/repos/{place.project}/pulls/{number}/reviews", query=asked)

    def review(self, body: bytes) -> Review:
        last: dict[str, Review] = {}
        for each in msgspec.json.decode(body, type=list[_Review]):
            said = Review.NONE if each.dismissed else _JUDGES.get(each.state.upper())
            if said is not None and each.user is not None:
                last[each.user.login] = said
        found = set(last.values())
        return next((said for said in (Review.CHANGES_ASKED, Review.APPROVED) if said in found), Review.NONE)

    def checks(self, place: Place, commit: str) -> tuple[Call, ...]:
        return (Call(method="GET", path=f"/repos/{place.project}/commits/{commit}/status"),)

    def checked(self, bodies: Sequence[bytes]) -> Checks:
        found = msgspec.json.decode(bodies[0], type=_Statuses)
        return _STATES.get(found.state, Checks.PENDING) if found.total_count else Checks.NONE

    def status(self, place: Place, commit: str, status: CommitStatus) -> Call:
        body = {"state": _SAID[status.state], "context": status.name}
        body["description"] = foreign.line(status.description, DESCRIPTION_MAX)
        body |= {"target_url": status.url} if status.url else {}
        return Call(method="POST", path=f"/repos/{place.project}/statuses/{commit}", body=body)


class Gitea(Pulls):
    """Gitea, and Forgejo."""

    def headers(self, token: str) -> dict[str, str]:
        return {"Authorization": f"token {token}", "Accept": "application/json"}

    def find(self, place: Place, *, base: str, branches: Collection[str]) -> tuple[Call, ...]:
        # It has a call for one pair of branches, which shows an old request where there are several.
        path, asked = f"/repos/{place.project}/pulls", {"base_branch": base, "limit": str(PAGE)}
        if not branches:
            return ()
        return (
            Call(method="GET", path=path, query=asked | {"state": "open"}, pages_max=OPEN_PAGES_MAX),
            Call(method="GET", path=path, query=asked | {"state": "closed", "sort": "recentclose"}),
        )

    def is_open_already(self, status: int, _: bytes, /) -> bool:
        return status == 409


class Github(Pulls):
    """github.com, and GitHub Enterprise."""

    def headers(self, token: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def find(self, place: Place, *, base: str, branches: Collection[str]) -> tuple[Call, ...]:
        owner, path = place.project.partition("/")[0], f"/repos/{place.project}/pulls"
        asked = {"base": base, "state": "all", "per_page": str(PAGE)}
        return tuple(Call(method="GET", path=path, query=asked | {"head": f"{owner}:{each}"}) for each in branches)

    def is_open_already(self, status: int, body: bytes, /) -> bool:
        return status == 422 and b"already exists" in body

    def checks(self, place: Place, commit: str) -> tuple[Call, ...]:
        runs = Call(method="GET", path=f"/repos/{place.project}/commits/{commit}/check-runs")
        return (*super().checks(place, commit), runs)

    def checked(self, bodies: Sequence[bytes]) -> Checks:
        runs = msgspec.json.decode(bodies[1], type=_Runs).check_runs
        return worst((super().checked(bodies), *map(_ended, runs)))


def _ended(run: _Run) -> Checks:
    if run.status != "completed":
        return Checks.PENDING
    return Checks.PASSED if run.conclusion in _GOOD_ENDS else Checks.FAILED


def _seen(pull: _Pull) -> Request:
    state = RequestState.OPEN if pull.state == "open" else RequestState.CLOSED
    return Request(
        branch=_branch(pull.head),
        number=pull.number,
        url=foreign.line(pull.html_url),
        state=RequestState.MERGED if pull.merged_at else state,
        opened_at=instant(pull.created_at),
        mark=mark_in(pull.body or ""),
        commit=pull.head.sha,
    )


def _branch(head: _Ref) -> str:
    """The branch a request is for: Gitea names one that was deleted in the label alone, GitHub puts the owner there."""
    return head.label if head.ref.startswith("refs/pull/") else head.ref


def _is_of_its_own(pull: _Pull) -> bool:
    """Whether it comes from a branch of the repository itself: a fork may have one of the same name."""
    return pull.head.repo is not None and pull.base.repo is not None and pull.head.repo == pull.base.repo
