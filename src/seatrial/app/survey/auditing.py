"""An audit of a cluster: read once, compared with an entry of a matrix or with itself, judged by what is known.

Law of this file: what is found is a value; only a matrix or facts that cannot be used are errors. Tests:
tests/cli/test_audit.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.adapters.kube.api.client import Client
    from seatrial.adapters.kube.surveying.once import OnRead
    from seatrial.app.connecting import Cluster
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Matrix
    from seatrial.core.survey.audit.auditing import Audit
    from seatrial.core.survey.audit.comparing import Wanted
    from seatrial.core.survey.audit.objects import Objects


class CannotCompare(SeatrialError):  # noqa: N818  the message says what to do
    """The matrix, or the facts beside it, cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What the cluster is compared with, and as of which day."""

    file: str | None = None
    """The matrix, or the folder it is in."""
    entry: str = ""
    """Its entry; production's where a file is named and no entry. Without both there is no matrix."""
    on: date | None = None
    """None for the day on which the cluster was read."""
    facts: tuple[str, ...] = ()
    reads_releases: bool = False
    """Whether Helm's releases may be read where no other object tells an operator's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What was found, and what it was compared with."""

    audit: Audit
    on: date
    known_until: date
    file: str = ""
    entry: str = ""
    """Its key; empty without a matrix."""


async def audit(cluster: Cluster, options: AuditOptions, on_read: OnRead | None = None) -> Audited:
    """Read the cluster once, and say everything there is to say."""
    from seatrial.adapters.kube.surveying import auditing

    facts, wanted = asked_for(options)  # first: what was called wrongly is said before anybody is asked
    async with cluster.client("audit") as client:
        objects = await auditing.read(client, namespace=cluster.namespace, on_read=on_read)
        if options.reads_releases:
            objects = await _with_releases(client, objects)
        on = options.on or datetime.fromtimestamp(client.now()).astimezone().date()
    return audited(objects, on, facts, wanted)


async def _with_releases(client: Client, objects: Objects) -> Objects:
    """Look into Helm's releases for operators whose version no object tells."""
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.surveying import helm_releases
    from seatrial.core.survey.audit import of_operators

    namespaces = of_operators.untold(objects)
    try:
        releases = await helm_releases.read(client, namespaces)
    except errors.ServerRefused as err:
        return replace(objects, unreleased=f"Helm's releases cannot be read: {err.what}")
    return replace(objects, releases=releases, unreleased="no release of Helm there has its chart")


async def keep(cluster: Cluster, namespace: str, name: str, report: Mapping[str, str]) -> None:
    """Write a report into a ConfigMap that is there."""
    from seatrial.adapters.kube.surveying import keeping

    async with cluster.client("audit") as client:
        await keeping.keep(client, namespace, name, report)


async def draft(cluster: Cluster, on: date) -> str:
    """The text of a matrix of what runs."""
    from seatrial.adapters.kube.surveying import auditing
    from seatrial.app.matrix import knowing
    from seatrial.core.survey.audit import drafting
    from seatrial.core.survey.audit.observing import observe

    facts, _ = knowing.known(())
    async with cluster.client("init") as client:
        objects = await auditing.read(client, namespace=cluster.namespace)
    return drafting.draft(observe(objects, facts), on)


def audited(objects: Objects, on: date, facts: Facts, wanted: Wanted | None) -> Audited:
    """What there is to say of objects that were read."""
    from seatrial.core.survey.audit import auditing

    return Audited(
        audit=auditing.audit(objects, facts, on, wanted),
        on=on,
        known_until=facts.known_until,
        file=wanted.file if wanted is not None else "",
        entry=(wanted.entry.key or wanted.entry.role.value) if wanted is not None else "",
    )


def asked_for(options: AuditOptions) -> tuple[Facts, Wanted | None]:
    """What is known, and what the cluster is compared with; None where no matrix is named."""
    from seatrial.adapters.files import matrix_file
    from seatrial.app.matrix import knowing

    if options.file is None and not options.entry:
        facts, broken = knowing.known(options.facts)
        _refuse(broken, "the facts")
        return facts, None
    path = matrix_file.find_matrix(options.file, Path())
    reading = matrix_file.load_matrix(path).reading
    if reading.matrix is None:
        _refuse(reading.findings, str(path))
        raise CannotCompare(f"{path} cannot be read. `seatrial check {quote(str(path))}` says why.")
    facts, broken = knowing.known(options.facts, path.parent)
    _refuse(broken, "the facts")
    return facts, _wanted(reading.matrix, options.entry, str(path))


def _wanted(matrix: Matrix, name: str, path: str) -> Wanted:
    from seatrial.core.compat.matrix import Role, role_of
    from seatrial.core.compat.rules.checking import whole
    from seatrial.core.survey.audit.comparing import Wanted

    entries = {role: replace(entry, stack=whole(entry, matrix)) for role, entry in matrix.entries.items()}
    name = name or Role.PRODUCTION.value
    for role, entry in entries.items():
        if name == entry.key or role_of(name) is role:
            canary = entries.get(Role.CANARY) if role is Role.PRODUCTION else None
            return Wanted(entry=entry, canary=canary, file=path)
    there = ", ".join(entry.key or role.value for role, entry in entries.items()) or "none"
    raise CannotCompare(f"{path} has no entry {name}; it has {there}. Name one with --entry.")


def _refuse(findings: Sequence[Finding], what: str) -> None:
    if findings:
        told = "\n".join(f"  {each.spans[0] if each.spans else ''} {each.message}" for each in findings)
        raise CannotCompare(f"{what} cannot be read:\n{told}")
