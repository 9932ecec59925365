"""A server that answers as a forge does: it keeps requests and statuses, and writes them in that forge's shape.

What the answers look like is in shapes/, with where each shape comes from. Only what the adapter asks is answered; the
rest is a 404, as an unknown address is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import web

from seatrial.adapters.forge.places import API_PATHS, Kind

SHAPES: Final = Path(__file__).parent / "shapes"
TOKEN: Final = "t0ken-of-the-stand"
PROJECT: Final = "gpu/cluster"


@dataclass(slots=True, kw_only=True)
class Kept:
    """A request as the stand keeps it."""

    number: int
    branch: str
    title: str
    text: str
    state: str = "open"
    is_forked: bool = False
    approved: bool = False


@dataclass(slots=True, kw_only=True)
class Stand:
    """One repository on a forge of one kind."""

    kind: Kind
    requests: list[Kept] = field(default_factory=list)
    statuses: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By commit and name, as they were sent."""
    heard: list[tuple[str, str]] = field(default_factory=list)
    remark_count: int = 0
    """How many people have remarked on each request before somebody approves of it."""
    rival: str = ""
    """A branch that somebody else asks to merge just before we are heard asking for anything."""
    answer: Callable[[], web.Response] | None = None
    """What is answered to everything, if anything."""

    def add(self, branch: str, *, title: str = "", text: str = "", is_forked: bool = False) -> Kept:
        number = len(self.requests) + 1
        self.requests.append(Kept(number=number, branch=branch, title=title, text=text, is_forked=is_forked))
        return self.requests[-1]

    def of(self, number: int) -> Kept:
        return self.requests[number - 1]

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def handle(self, request: web.Request) -> web.Response:
        path = request.rel_url.raw_path.removeprefix(API_PATHS[self.kind])
        self.heard.append((request.method, path))
        if self.answer is not None:
            return self.answer()
        if TOKEN not in (request.headers.get("PRIVATE-TOKEN", ""), *request.headers.get("Authorization", "").split()):
            return web.json_response({"message": f"no: {request.headers.get('Authorization')}"}, status=401)
        body = json.loads(await request.read() or b"null")
        project = unquote(path.split("/")[2]) if self.kind is Kind.GITLAB else "/".join(path.split("/")[2:4])
        if project != PROJECT:
            return web.json_response({"message": "404 Not Found"}, status=404)
        rest = path.split("/")[3:] if self.kind is Kind.GITLAB else path.split("/")[4:]
        return self._answer(request, rest, body)

    def _answer(self, request: web.Request, rest: list[str], body: Any) -> web.Response:
        match request.method, rest:
            case "GET", ["pulls" | "merge_requests"]:
                return web.json_response([self._shown(each) for each in self._listed(request.query)])
            case "POST", ["pulls" | "merge_requests"]:
                return self._opened(body)
            case "PATCH" | "PUT", ["pulls" | "merge_requests", number]:
                return self._edited(self.of(int(number)), body)
            case "GET", ["pulls" | "merge_requests", number, "reviews" | "approvals"]:
                return web.json_response(self._reviewed(self.of(int(number)), self._page(request.query)))
            case "POST", ["statuses", commit]:
                name = body.get("context") or body["name"]
                self.statuses.setdefault(commit, {})[name] = body
                return web.json_response({}, status=201)
            case "GET", ["commits", commit, "status"]:
                return web.json_response(self._combined(commit))
            case "GET", ["commits", _, "check-runs"] if self.kind is Kind.GITHUB:
                return web.json_response({"total_count": 0, "check_runs": []})
            case "GET", ["repository", "commits", commit, "statuses"]:
                return web.json_response([self._status(each) for each in self.statuses.get(commit, {}).values()])
        return web.json_response({"message": "404 Not Found"}, status=404)

    def _listed(self, query: Any) -> list[Kept]:
        found = self.requests
        if self.kind is Kind.GITEA:
            return [each for each in found if (each.state == "open") is (query["state"] == "open")]
        wanted = query["source_branch"] if self.kind is Kind.GITLAB else query["head"].removeprefix("gpu:")
        # GitHub's filter knows the owner; GitLab's does not.
        return [each for each in found if each.branch == wanted and (self.kind is Kind.GITLAB or not each.is_forked)]

    def _opened(self, body: Any) -> web.Response:
        branch = body.get("head") or body["source_branch"]
        if self.rival:
            self.add(self.rival, title="by another")
        if any(each.branch == branch and each.state == "open" and not each.is_forked for each in self.requests):
            if self.kind is Kind.GITHUB:
                why = {
                    "message": "Validation Failed",
                    "errors": [{"message": "A pull request already exists for gpu."}],
                }
                return web.json_response(why, status=422)
            return web.json_response({"message": "Another open merge request already exists"}, status=409)
        made = self.add(branch, title=body["title"], text=body.get("body") or body.get("description") or "")
        return web.json_response(self._shown(made), status=201)

    def _edited(self, kept: Kept, body: Any) -> web.Response:
        kept.title = body["title"]
        kept.text = body.get("body") or body.get("description")
        if body.get("state") == "closed" or body.get("state_event") == "close":
            kept.state = "closed"
        return web.json_response(self._shown(kept))

    # ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _shape(self, name: str) -> Any:
        return deepcopy(json.loads((SHAPES / f"{self.kind}.json").read_text(encoding="utf-8"))[name])

    def _shown(self, kept: Kept) -> Any:
        shown = self._shape("pull")
        sha = commit_of(kept.branch)
        if self.kind is Kind.GITLAB:
            state = "opened" if kept.state == "open" else kept.state
            shown |= {"iid": kept.number, "source_branch": kept.branch, "sha": sha, "state": state}
            shown |= {"title": kept.title, "description": kept.text, "web_url": f"https://forge/{kept.number}"}
            return shown | ({"source_project_id": 4} if kept.is_forked else {})
        shown |= {"number": kept.number, "title": kept.title, "body": kept.text}
        shown |= {"state": "open" if kept.state == "open" else "closed", "html_url": f"https://forge/{kept.number}"}
        shown["merged_at"] = "2026-10-02T08:00:00Z" if kept.state == "merged" else None
        label = kept.branch if self.kind is Kind.GITEA else f"gpu:{kept.branch}"
        shown["head"] |= {"ref": kept.branch, "label": label, "sha": sha}
        shown["head"]["repo"]["full_name"] = "ada/cluster" if kept.is_forked else PROJECT
        shown["base"]["repo"]["full_name"] = PROJECT
        return shown

    def _page(self, query: Any) -> int:
        """How many a list shows, by each forge's own word for it; 30 where nobody says."""
        return int(query.get("limit" if self.kind is Kind.GITEA else "per_page", "30"))

    def _reviewed(self, kept: Kept, page: int) -> Any:
        shown = self._shape("review")
        if self.kind is Kind.GITLAB:
            return shown if kept.approved else shown | {"approved": False, "approved_by": [], "approvals_left": 1}
        remarks = [shown | {"state": "COMMENTED" if self.kind is Kind.GITHUB else "COMMENT"}] * self.remark_count
        return [*remarks, *([shown] if kept.approved else [])][:page]

    def _status(self, sent: dict[str, Any]) -> Any:
        return self._shape("status") | {"status": sent["state"], "name": sent["name"]}

    def _combined(self, commit: str) -> Any:
        sent = list(self.statuses.get(commit, {}).values())
        states = {each["state"] for each in sent}
        state = next((each for each in ("failure", "pending", "success") if each in states), "pending")
        return {
            "state": state,
            "sha": commit,
            "total_count": len(sent),
            "statuses": [self._shape("status") for _ in sent],
        }


def commit_of(branch: str) -> str:
    """The commit that a branch of the stand ends in."""
    return hashlib.sha1(branch.encode()).hexdigest()  # noqa: S324  a name for a commit, as Git makes it
