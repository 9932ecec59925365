"""Takes nodes up that somebody left half-way: reads what only an adoption looks at, and writes what was announced.

    nodes, and who wrote which of their fields ─▶ Traces ─▶ core/survey/adoption/node.py ─▶ one PATCH per node
                                                                             one GPURollout
                                                                             the version, where that is asked for

Records go first and the rollout last: before it is there nobody moves a node, and once it is there every node has its
record. A PATCH names the version of the node it was decided on; a node that has changed is looked at again, and written
only if the answer is still the one that was announced. So a run that ends anywhere is finished by running it again.

Tests: tests/e2e/test_adopt.py, tests/cli/test_rollout_adopt.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.fleet import FleetObserver
from seatrial.adapters.kube.shapes import keys, kinds, models, publishing, records
from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.errors import SeatrialError
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.survey.adoption.traces import Adoption, Trace, Traces, Write
from seatrial.core.text import foreign

TRIES: Final = 5
"""How often a node that keeps changing is looked at before we give up on it."""
WRITES_MAX: Final = 20
"""So many nodes are written at a time."""

ANNOTATIONS: Final[Mapping[Trace, str]] = {
    Trace.INITIAL_STATE: keys.INITIAL_STATE_ANNOTATION,
    Trace.JOBS_TIMER: keys.JOBS_TIMER_ANNOTATION,
    Trace.VALIDATION_TIMER: keys.VALIDATION_TIMER_ANNOTATION,
    Trace.REQUESTOR: keys.REQUESTOR_MODE_ANNOTATION,
    Trace.SKIP_NOTE: keys.SKIPPED_BY_ANNOTATION,
}
LABELS: Final[Mapping[Trace, str]] = {
    Trace.STATE: keys.NVIDIA_STATE_LABEL,
    Trace.SKIP: keys.SKIP_LABEL,
    Trace.CANARY: keys.CANARY_LABEL,
    Trace.WAKE: keys.SKIP_LABEL,
    Trace.LABEL: keys.STATE_LABEL,
}


class NotAdopted(SeatrialError):  # noqa: N818  the trade's word; the message says what to do
    """A node could not be taken up as announced."""


class TracedNode(kinds.Node, frozen=True):
    """A node with who wrote which of its fields."""

    metadata: models.ManagedMeta = models.ManagedMeta()


class _Schema(msgspec.Struct, frozen=True):
    schema: int = 0


class AdoptionObserver(FleetObserver):
    """Sees all of every node, and the traces that only an adoption asks for."""

    def __init__(self, client: Client, *, namespace: str, on_fault: Callable[[str], None]) -> None:
        super().__init__(client, (*table.FLEET, table.MAINTENANCES), namespace=namespace, on_fault=on_fault)
        self._client = client
        self._traces: dict[str, tuple[str, Traces]] = {}
        """By node: the version they were read at, and the traces."""

    async def read_traces(self) -> None:
        """Read them of every node, at the very version whose facts are seen."""
        for node in (await self._client.list(keys.NODES, TracedNode)).items:
            self._take(node)
        for name in self._outdated():
            await self.look_again(name)

    async def look_again(self, name: str) -> None:
        """Read one node anew: it has changed since."""
        for _ in range(TRIES):
            self._take(await self._client.get(f"{keys.NODES}/{name}", TracedNode))
            if name not in self._outdated():
                return
        raise NotAdopted(f"{name} changes faster than it can be read. Find out who writes it, and run this again.")

    def traces_of(self, name: str) -> Traces:
        """What was found on a node."""
        return self._traces[name][1]

    def _take(self, node: TracedNode) -> None:
        self._traces[node.metadata.name] = (node.metadata.resource_version, traces_of(node))
        self.wrote_node(node)

    def _outdated(self) -> list[str]:
        """Nodes whose facts are younger than their traces."""
        seen = {item.metadata.name: item.metadata.resource_version for item in self.streams[table.NODES].store}
        return [name for name, version in seen.items() if self._traces.get(name, ("",))[0] != version]


def traces_of(node: TracedNode) -> Traces:
    """What of a node only an adoption looks at."""
    notes = node.metadata.annotations
    return Traces(
        cordoned_by=_cordoned_by(node),
        found=frozenset(trace for trace, key in ANNOTATIONS.items() if key in notes),
        is_record_newer=_is_newer(notes.get(keys.RECORD_ANNOTATION, "")),
    )


def _cordoned_by(node: TracedNode) -> str:
    """Who set the cordon: the API server keeps the name of whoever last changed a field."""
    if not node.spec.unschedulable:
        return ""
    writers = [each for each in node.metadata.managed_fields if "f:unschedulable" in each.fields.get("f:spec", {})]
    return foreign.line(max(writers, key=lambda each: each.time).manager) if writers else ""


def _is_newer(record: str) -> bool:
    try:
        return msgspec.json.decode(record, type=_Schema).schema > records.SCHEMA
    except (msgspec.MsgspecError, RecursionError):
        return False  # none, or not even a record


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def node_patch(write: Write, *, mirror: bool) -> dict[str, Any]:
    """The merge patch that takes a node up, and nothing else."""
    patch: dict[str, Any] = {"metadata": {"resourceVersion": write.expect, "labels": {}, "annotations": {}}}
    if write.record is not None:
        patch = records.node_patch(
            WriteNodeRecord(node=write.node, record=write.record, expect=write.expect), mirror=mirror
        )
    labels, annotations = patch["metadata"]["labels"], patch["metadata"]["annotations"]
    labels |= dict(write.labels)
    labels |= {LABELS[trace]: None for trace in write.drops if trace in LABELS}
    annotations |= {ANNOTATIONS[trace]: None for trace in write.drops if trace in ANNOTATIONS}
    if Trace.SKIP in write.drops:
        annotations[keys.SKIPPED_BY_ANNOTATION] = None
    return patch


@dataclass(slots=True)
class Taken:
    """What an adoption has come to."""

    written: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """Nodes that were not as announced any more, and were left alone."""


async def take_up(
    client: Client,
    observer: AdoptionObserver,
    announced: Mapping[str, Adoption],
    classify: Callable[[NodeSeen, Traces], Adoption],
) -> Taken:
    """Write every node as announced; one that has changed is decided anew, and left alone if the answer has too."""
    taken, places = Taken(), asyncio.Semaphore(WRITES_MAX)
    mirror = not observer.is_operator_present()

    async def one(adoption: Adoption) -> None:
        async with places:
            is_written = await _take_up(client, observer, adoption, classify, mirror=mirror)
            (taken.written if is_written else taken.changed).append(adoption.node)

    due = [one(adoption) for adoption in announced.values() if adoption.write is not None]
    answers = await asyncio.gather(*due, return_exceptions=True)  # one that fails keeps no other from being written
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    taken.written.sort()
    taken.changed.sort()
    return taken


async def _take_up(
    client: Client,
    observer: AdoptionObserver,
    announced: Adoption,
    classify: Callable[[NodeSeen, Traces], Adoption],
    *,
    mirror: bool,
) -> bool:
    """Whether the node was written as announced."""
    write, name = announced.write, announced.node
    for _ in range(TRIES):
        if write is None:
            return False
        try:
            body = node_patch(write, mirror=mirror)
            observer.wrote_node(await client.patch(f"{keys.NODES}/{name}", body, TracedNode, kind=PatchKind.MERGE))
        except errors.NotFound:
            return False  # the node left the cluster, and with it what was half-done
        except errors.Conflict:
            await observer.look_again(name)
            seen = observer.all_nodes().get(name)
            now = classify(seen, observer.traces_of(name)) if seen is not None else None
            if now is None or not announced.is_as_announced(now):
                return False
            write = now.write
        else:
            return True
    raise NotAdopted(f"{name} changes faster than it can be written. Find out who writes it, and run this again.")


async def publish(client: Client, resources: tuple[str, ...], version: str) -> None:
    """Have resources that own drivers carry a version; each is compared with what the server says it has stored."""
    for resource in resources:
        target = publishing.target_of(resource)
        if target is None:
            raise NotAdopted(f"{resource} has no driver version that could be set. Publish it yourself.")
        body = target.version_patch(version, expect="", note="")
        stored = publishing.version_of(await client.patch(target.path, body, target.model, kind=PatchKind.MERGE))
        if stored != version:
            raise NotAdopted(f"{resource} should have {version}, but the server stored {stored or 'none'}.")


async def create_rollout(client: Client, body: Mapping[str, Any]) -> bool:
    """Create the GPURollout; False when one of the same name and target is there already."""
    name, target = body["metadata"]["name"], body["spec"]["target"]["driver"]
    try:
        await client.create(keys.ROLLOUTS, body)
    except errors.Conflict as err:
        if not err.is_name_taken:
            raise
        found = await client.get(f"{keys.ROLLOUTS}/{name}", models.Rollout)
        if found.spec.target.get("driver") != target:
            raise NotAdopted(
                f"There is already a GPURollout {name} to {found.spec.target.get('driver')}. "
                "Choose another name with --name."
            ) from err
        return False
    return True
