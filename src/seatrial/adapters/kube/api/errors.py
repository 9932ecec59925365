"""Everything that can go wrong between us and a cluster, as exceptions that say what to do next.

    ClusterError
    ├── ConfigInvalid          ours to fix: no kubeconfig, a broken one, an unknown context, a failing plugin
    ├── ClusterUnavailable     the way there: refused, timed out, TLS, cut in the middle
    │   └── WatchSilent        an open watch said nothing for too long: it is dead, or nothing happens
    ├── AnswerUnreadable       an answer came, but it is not what this API returns
    ├── TooOld                 an answer came, from a Kubernetes that we do not support
    └── ServerRefused          an answer came, and it was "no"
        ├── Unauthorized       401  who are you
        ├── Forbidden          403  you may not
        ├── NotFound           404  no such object, or no such kind
        ├── Conflict           409  somebody was faster, or it is there already
        ├── Gone               410  the version asked for is compacted: list again
        ├── Invalid            400, 422 and the other 4xx: the request itself is wrong
        ├── TooManyRequests    429  overload, or a PodDisruptionBudget that blocks an eviction
        └── ServerFault        5xx  theirs

Nothing here does I/O, and only the standard library and core are imported, so that the command line may catch these
without paying for the client. The sentences of the API server are read here and nowhere else.
Tests: tests/adapters/kube/test_errors.py.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.core.text import foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One entry of the server's `details.causes`."""

    reason: str
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The server's own account of a refusal: the body of every non-2xx answer."""

    code: int
    reason: str = ""
    message: str = ""
    name: str = ""
    kind: str = ""
    retry_after_seconds: int | None = None
    causes: tuple[Cause, ...] = ()


class ClusterError(SeatrialError):
    """Anything that went wrong on the way to a cluster, at its door, or on the way back."""

    def __init__(self, what: str, next_step: str, *, code: int = 0, reason: str = "", message: str = "") -> None:
        super().__init__(f"{what}; {next_step}")
        self.what = foreign.lines(what)
        self.next_step = foreign.lines(next_step)
        self.code = code
        self.reason = reason
        self.message = message


class ConfigInvalid(ClusterError):  # noqa: N818 — the trade's word is the name; the tree above says it is an error
    """We do not know which cluster to speak to, or as whom."""


class ClusterUnavailable(ClusterError):  # noqa: N818
    """No usable answer came from the server."""


class WatchSilent(ClusterUnavailable):
    """An open watch brought neither an event nor a bookmark for too long."""


class AnswerUnreadable(ClusterError):  # noqa: N818
    """The server answered with success, but the body is not of the expected shape."""


class TooOld(ClusterError):  # noqa: N818
    """The cluster is older than what seatrial supports."""


class ServerRefused(ClusterError):  # noqa: N818
    """The server answered, and it was not a success."""

    def __init__(self, what: str, next_step: str, status: Status) -> None:
        super().__init__(what, next_step, code=status.code, reason=status.reason, message=status.message)
        self.status = status

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The single reasons the server listed, such as one line per wrong field."""
        return self.status.causes


class Unauthorized(ServerRefused):
    """The server does not know us: the credential is missing, wrong or expired."""


class Forbidden(ServerRefused):
    """The server knows us and says no; the parsed parts are empty where its sentence has another shape."""

    def __init__(self, what: str, next_step: str, status: Status, denial: Denial | None = None) -> None:
        super().__init__(what, next_step, status)
        self.denial = denial


class NotFound(ServerRefused):
    """There is no such object, or the server does not know the kind at all."""

    @property
    def is_kind_missing(self) -> bool:
        """Tell "this kind is not installed" from "this object is not there"."""
        return not self.status.name


class Conflict(ServerRefused):
    """The object has changed since it was read, a precondition failed, or the name is taken."""

    @property
    def is_name_taken(self) -> bool:
        """Tell "create found it there already" from "somebody else wrote first"."""
        return self.reason == "AlreadyExists"


class Gone(ServerRefused):
    """The resourceVersion asked for has been compacted away."""


class Invalid(ServerRefused):
    """The request is wrong and would be wrong again."""


class TooManyRequests(ServerRefused):
    """The server asks us to come back later."""

    @property
    def retry_after_seconds(self) -> int | None:
        """How long the server wants us to wait, where it said so."""
        return self.status.retry_after_seconds

    @property
    def is_blocked_by_budget(self) -> bool:
        """Tell a PodDisruptionBudget's no from an overloaded server."""
        return any(cause.reason == "DisruptionBudget" for cause in self.causes)

    def budget_of(self, namespace: str) -> str:
        """Which PodDisruptionBudget said no, by its full name, and what it needs; the server's own words otherwise."""
        told = " ".join(cause.message for cause in self.causes if cause.message) or self.message
        found = _BUDGET.fullmatch(told)
        return f"PodDisruptionBudget {namespace}/{found[1]} {found[2]}" if found is not None else told


class ServerFault(ServerRefused):
    """The server, or something it depends on, failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Who was denied what, read from the server's sentence."""

    user: str
    verb: str
    resource: str
    group: str
    namespace: str

    def rule(self) -> str:
        """Write the RBAC rule that is missing."""
        return f'apiGroups: ["{self.group}"], resources: ["{self.resource}"], verbs: ["{self.verb}"]'

    def place(self) -> str:
        """Say which kind of role must carry the rule."""
        return f"a Role in namespace {self.namespace}" if self.namespace else "a ClusterRole"


# The sentence of the RBAC authorizer, the same since Kubernetes 1.12:
#   nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope
_BUDGET: Final = re.compile(r"The disruption budget (\S+) (needs .*?)\.?")
_DENIAL: Final = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)"'
    r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_TEXT_MAX: Final = 500
"""So much is kept of an answer that is no Status: a proxy's page can be long."""
_CAUSES_MAX: Final = 8


def refusal(status: Status, *, request: str, where: str, renewal: str) -> ServerRefused:
    """Choose the exception for a server's refusal and write its sentence."""
    said = f": {status.message}" if status.message else ""
    what = f"{request} was refused by {where} with {status.code} {status.reason}".rstrip() + said
    match status.code:
        case 401:
            return Unauthorized(
                f"{request} was refused by {where}: the server does not accept our credential", renewal, status
            )
        case 403:
            return _forbidden(what, status)
        case 404:
            next_step = (
                f"check the name and whether somebody deleted {status.kind or 'it'}"
                if status.name
                else "check that the kind is installed in this cluster (kubectl api-resources)"
            )
            return NotFound(what, next_step, status)
        case 409:
            return Conflict(what, "read the object again and decide again", status)
        case 410:
            return Gone(what, "list again and continue from the new version", status)
        case 429:
            return _too_many_requests(what, status)
        case code if code >= 500:
            return ServerFault(what, "try again later and look at the API server's log if it stays", status)
        case code if code < 400:
            return Invalid(what, "check the server address in the kubeconfig: an API server does not redirect", status)
        case _:
            return Invalid(what, "correct the request, or check that this seatrial fits the installed CRDs", status)


def read_status(code: int, body: bytes, retry_after: str = "") -> Status:
    """Read a refusal's body; proxies and old servers answer with plain text, which becomes the message."""
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        content = {"message": foreign.line(body.decode("utf-8", "replace").strip(), _TEXT_MAX)}
    details = content.get("details")
    details = details if isinstance(details, dict) else {}
    return Status(
        code=code,
        reason=_text(content, "reason"),
        message=_text(content, "message"),
        name=_text(details, "name"),
        kind=_text(details, "kind"),
        retry_after_seconds=_seconds(retry_after) or _seconds(str(details.get("retryAfterSeconds", ""))),
        causes=_causes(details.get("causes")),
    )


def status_of_event(raw: bytes) -> Status:
    """Read the Status that a watch sends as the object of an ERROR event."""
    try:
        code = int(json.loads(raw)["code"])
    except (ValueError, KeyError, TypeError):
        code = 500
    return read_status(code, raw)


def _forbidden(what: str, status: Status) -> Forbidden:
    found = _DENIAL.search(status.message)
    if found is None:
        return Forbidden(what, "ask who runs the cluster: an admission policy or a quota refuses it", status)
    parts = {key: value or "" for key, value in found.groupdict().items()}
    denial = Denial(**parts)
    next_step = f"grant {denial.user} the missing rule in {denial.place()} ({denial.rule()})"
    return Forbidden(what, next_step, status, denial)


def _too_many_requests(what: str, status: Status) -> TooManyRequests:
    details = " and ".join(cause.message for cause in status.causes if cause.message)
    if details:
        what = f"{what} ({details})"
    if any(cause.reason == "DisruptionBudget" for cause in status.causes):
        return TooManyRequests(what, "wait until the budget allows it, or relax the PodDisruptionBudget", status)
    after = f" in {status.retry_after_seconds} s" if status.retry_after_seconds else " later"
    return TooManyRequests(what, f"try again{after}", status)


def _causes(content: Any) -> tuple[Cause, ...]:
    if not isinstance(content, list):
        return ()
    return tuple(
        Cause(reason=_text(entry, "reason"), message=_text(entry, "message"), field=_text(entry, "field"))
        for entry in content[:_CAUSES_MAX]
        if isinstance(entry, dict)
    )


def _text(content: dict[str, Any], key: str) -> str:
    value = content.get(key)
    return foreign.line(value) if isinstance(value, str) else ""


def _seconds(text: str) -> int | None:
    # Retry-After may also be a date; API servers send none, and a difference across two clocks would be a guess.
    return int(text) if text.isdecimal() else None
