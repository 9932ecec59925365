"""Writes a report into a ConfigMap that somebody made for it.

Law of this file: the only write of this room, and the ConfigMap has to be there: the right to patch one by its name is
all that it takes. Tests: tests/cli/test_audit_kept.py, tests/adapters/kube/test_auditing_real.py
"""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind, api_path
from seatrial.core.errors import SeatrialError


class NowhereToKeep(SeatrialError):  # noqa: N818  the message says what to do
    """The ConfigMap is not there."""


async def keep(client: Client, namespace: str, name: str, report: Mapping[str, str]) -> None:
    """Put these keys into a ConfigMap; what else is in it stays."""
    path = api_path("v1", "configmaps", namespace=namespace, name=name)
    try:
        await client.patch(path, {"data": dict(report)}, kind=PatchKind.MERGE)
    except errors.NotFound:
        raise NowhereToKeep(
            f"There is no ConfigMap {namespace}/{name} to write the report into. "
            f"`kubectl -n {quote(namespace)} create configmap {quote(name)}` makes it."
        ) from None
