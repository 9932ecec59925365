"""Merge requests, as GitLab writes them: a request has two numbers (the project's own counts), and other words.

Shapes: GitLab's REST API v4. Tests: tests/adapters/forge/test_contract.py
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from seatrial.adapters.forge.places import Place
from seatrial.adapters.forge.shape import DESCRIPTION_MAX, PAGE, Call, Shape, instant, worst
from seatrial.core.model.seen.requests import Checks, CommitStatus, Request, RequestState, Review, mark_in
from seatrial.core.text import foreign


class _MergeRequest(msgspec.Struct):
    iid: int
    web_url: str
    state: str
    source_branch: str
    source_project_id: int | None = None
    target_project_id: int | None = None
    description: str | None = None
    created_at: str | None = None
    sha: str | None = None


class _Approvals(msgspec.Struct):
    approved_by: list[object] = []
    approvals_left: int = 0


class _Status(msgspec.Struct):
    status: str
    allow_failure: bool = False


_STATES: Final = {"opened": RequestState.OPEN, "merged": RequestState.MERGED}
"""`closed` and `locked` are closed."""
_CHECKS: Final = {
    "success": Checks.PASSED,
    "skipped": Checks.PASSED,
    "manual": Checks.PASSED,
    "failed": Checks.FAILED,
    "canceled": Checks.FAILED,
}
_SAID: Final = {Checks.PASSED: "success", Checks.FAILED: "failed", Checks.PENDING: "pending", Checks.NONE: "pending"}


class Gitlab(Shape):
    """gitlab.com, and GitLab of one's own."""

    def headers(self, token: str) -> dict[str, str]:
        return {"PRIVATE-TOKEN": token, "Accept": "application/json"}

    def find(self, place: Place, *, base: str, branches: Collection[str]) -> tuple[Call, ...]:
        asked = {"target_branch": base, "state": "all", "per_page": str(PAGE)}
        path = f"{_project(place)}/merge_requests"
        return tuple(Call(method="GET", path=path, query=asked | {"source_branch": each}) for each in branches)

    def requests(self, body: bytes) -> list[Request]:
        found = msgspec.json.decode(body, type=list[_MergeRequest])
        return [_seen(each) for each in found if each.source_project_id == each.target_project_id]

    def request(self, body: bytes) -> Request:
        return _seen(msgspec.json.decode(body, type=_MergeRequest))

    def open(self, place: Place, *, base: str, branch: str, title: str, text: str) -> Call:
        body = {"source_branch": branch, "target_branch": base, "title": title, "description": text}
        return Call(method="POST", path=f"{_project(place)}/merge_requests", body=body)

    def edit(self, place: Place, number: int, *, title: str, text: str, closes: bool) -> Call:
        body = {"title": title, "description": text} | ({"state_event": "close"} if closes else {})
        return Call(method="PUT", path=f"{_project(place)}/merge_requests/{number}", body=body)

    def is_open_already(self, status: int, _: bytes, /) -> bool:
        return status == 409

    def reviews(self, place: Place, number: int) -> Call:
        return Call(method="GET", path=f"{_project(place)}/merge_requests/{number}/approvals")

    def review(self, body: bytes) -> Review:
        # Where no approval is asked for, `approved` is true of a request that nobody has looked at.
        found = msgspec.json.decode(body, type=_Approvals)
        return Review.APPROVED if found.approved_by and not found.approvals_left else Review.NONE

    def checks(self, place: Place, commit: str) -> tuple[Call, ...]:
        asked = {"per_page": "100"}
        return (Call(method="GET", path=f"{_project(place)}/repository/commits/{commit}/statuses", query=asked),)

    def checked(self, bodies: Sequence[bytes]) -> Checks:
        found = msgspec.json.decode(bodies[0], type=list[_Status])
        return worst(_CHECKS.get(each.status, Checks.PENDING) for each in found if not each.allow_failure)

    def status(self, place: Place, commit: str, status: CommitStatus) -> Call:
        body = {"state": _SAID[status.state], "name": status.name}
        body["description"] = foreign.line(status.description, DESCRIPTION_MAX)
        body |= {"target_url": status.url} if status.url else {}
        return Call(method="POST", path=f"{_project(place)}/statuses/{commit}", body=body)


def _project(place: Place) -> str:
    return f"/projects/{quote(place.project, safe='')}"


def _seen(found: _MergeRequest) -> Request:
    return Request(
        branch=found.source_branch,
        number=found.iid,
        url=foreign.line(found.web_url),
        state=_STATES.get(found.state, RequestState.CLOSED),
        opened_at=instant(found.created_at),
        mark=mark_in(found.description or ""),
        commit=found.sha or "",
    )
