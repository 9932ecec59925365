"""The audit log of the API server: exactly which requests a client made.

Tests: tests/testbed/test_control_plane.py.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

# Watches are answered at once and complete much later, so they are counted when their answer begins.
POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}

POD: Final = "authentication.kubernetes.io/pod-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRequest:
    """One request as the API server saw it."""

    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    user: str
    user_agent: str
    at: str
    request_uri: str
    pod: str = ""
    """The pod whose token it came with, where it was a pod's."""


class _ObjectRef(msgspec.Struct, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    subresource: str = ""


class _User(msgspec.Struct):
    username: str = ""
    extra: dict[str, list[str]] = {}


class _Status(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    verb: str
    request_uri: str = msgspec.field(name="requestURI")
    request_received_timestamp: str
    user: _User
    user_agent: str = ""
    object_ref: _ObjectRef | None = None
    response_status: _Status | None = None


def read_requests(log: Path, *, user_agent: str) -> list[AuditedRequest]:
    """Return the requests of the clients whose user agent begins so, each once, in the order of the log."""
    decoder = msgspec.json.Decoder(_Event)
    counted: set[str] = set()
    requests = []
    for line in log.read_bytes().split(b"\n")[:-1]:  # what follows the last line break is still being written
        event = decoder.decode(line)
        if not event.user_agent.startswith(user_agent) or event.audit_id in counted:
            continue
        if event.stage == "ResponseComplete" or (event.stage == "ResponseStarted" and event.verb == "watch"):
            counted.add(event.audit_id)
            requests.append(_request(event))
    return requests


def _request(event: _Event) -> AuditedRequest:
    target = event.object_ref or _ObjectRef()
    return AuditedRequest(
        verb=event.verb,
        group=target.api_group,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
        code=event.response_status.code if event.response_status else 0,
        user=event.user.username,
        user_agent=event.user_agent,
        at=event.request_received_timestamp,
        request_uri=event.request_uri,
        pod=next(iter(event.user.extra.get(POD, ())), ""),
    )
