"""Takes our marks off nodes: every label and annotation under our own name, and those for neighbours that we set.

Workloads of Kueue that we switched off are switched on again, whatever their node waits for: nobody would do it later.

    a node ─▶ core/survey/adoption/giving_back.py: do they go? ─▶ one PATCH, of the very version that was looked at
                                        they stay, and say why ─▶ likewise, of the marks for neighbours alone

Law of this file: a node that has changed is looked at again. What is gone already is left out, so a second run writes
nothing.

Tests: tests/e2e/test_uninstall.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.fleet import FleetObserver
from seatrial.adapters.kube.shapes import keys, kinds, records
from seatrial.adapters.kube.writing import workloads
from seatrial.core.decision import neighbours
from seatrial.core.errors import SeatrialError
from seatrial.core.model.seen import marks
from seatrial.core.model.seen.nodes import NodeSeen

TRIES: Final = 5
"""How often a node that keeps changing is looked at before we give up on it."""
WRITES_MAX: Final = 20
"""So many nodes are written at a time."""


class NotGivenBack(SeatrialError):  # noqa: N818
    """Our marks could not be taken off a node."""


@dataclass(slots=True)
class GivenBack:
    """What became of the nodes that carried a mark of ours."""

    cleaned: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    """Nodes that keep them, and why."""
    resumed: list[str] = field(default_factory=list)
    """Workloads of Kueue that we had switched off."""


class MarkedNodes(FleetObserver):
    """Sees every node, and which marks of ours are on it."""

    def __init__(self, client: Client, *, namespace: str, on_fault: Callable[[str], None]) -> None:
        super().__init__(client, table.FLEET, namespace=namespace, on_fault=on_fault)
        self._client = client

    async def give_back(self, why_kept: Callable[[NodeSeen], str], *, is_trial: bool = False) -> GivenBack:
        """Take our marks off every node that may lose them; a trial only says which these are."""
        found, places = GivenBack(), asyncio.Semaphore(WRITES_MAX)

        async def one(node: kinds.Node) -> None:
            async with places:
                await self._one(node, why_kept, found, is_trial=is_trial)

        nodes = (await self._client.list(keys.NODES, kinds.Node)).items
        answers = await asyncio.gather(*(one(node) for node in nodes), return_exceptions=True)
        for answer in answers:  # one that fails keeps no other from being written
            if isinstance(answer, BaseException):
                raise answer
        found.cleaned.sort()
        for each in await workloads.suspended(self._client):
            if is_trial or await workloads.switch_on(self._client, each):
                found.resumed.append(each.full_name)
        return found

    async def _one(
        self, node: kinds.Node, why_kept: Callable[[NodeSeen], str], found: GivenBack, *, is_trial: bool
    ) -> None:
        name = node.metadata.name
        for _ in range(TRIES):
            mirror = not self.is_operator_present()
            body = patch_of(node, mirror=mirror)
            if body is None:
                return
            self.wrote_node(node)  # what is decided is decided on this very version
            seen = self.all_nodes().get(name)
            why = why_kept(seen) if seen is not None else ""
            if why:
                found.kept[name] = why
                body = _unmarking(seen, node, mirror=mirror)
            elif seen is not None:
                _unmark(body, seen)
            try:
                if not is_trial and body is not None:
                    await self._client.patch(f"{keys.NODES}/{name}", body, kinds.Node, kind=PatchKind.MERGE)
            except errors.NotFound:
                found.kept.pop(name, None)
                return
            except errors.Conflict:
                found.kept.pop(name, None)
                node = await self._client.get(f"{keys.NODES}/{name}", kinds.Node)
                continue
            if not why:
                found.cleaned.append(name)
            return
        raise NotGivenBack(f"{name} changes faster than it can be written. Find out who writes it, and run this again.")


def patch_of(node: kinds.Node, *, mirror: bool) -> dict[str, Any] | None:
    """The merge patch that takes our marks off; None where there are none. NVIDIA's label is ours where we mirror."""
    labels = dict.fromkeys(key for key in node.metadata.labels if _is_ours(key))
    if keys.STATE_LABEL in labels and mirror:
        labels |= dict.fromkeys(key for key in node.metadata.labels if key == keys.NVIDIA_STATE_LABEL)
    if keys.NETWORK_STATE_LABEL in labels and mirror:
        labels |= dict.fromkeys(key for key in node.metadata.labels if key == keys.NVIDIA_NETWORK_STATE_LABEL)
    notes = dict.fromkeys(key for key in node.metadata.annotations if _is_ours(key))
    if not labels and not notes:
        return None
    version = node.metadata.resource_version
    return {"metadata": {"resourceVersion": version, "labels": labels, "annotations": notes}}


def _unmark(body: dict[str, Any], seen: NodeSeen) -> None:
    """Have a patch take off what we set for neighbours, too."""
    for mark in marks.ours(seen.facts, seen.record):
        body["metadata"]["labels" if mark.place is marks.Place.LABEL else "annotations"][mark.key] = None


def _unmarking(seen: NodeSeen | None, node: kinds.Node, *, mirror: bool) -> dict[str, Any] | None:
    """The merge patch that takes off what we set for neighbours, and leaves the rest; None where there is nothing."""
    if seen is None or seen.fault is not None or seen.record is None or not seen.record.marks:
        return None
    before = node.metadata.annotations.get(keys.RECORD_ANNOTATION, "")
    return records.node_patch(neighbours.without(seen), mirror=mirror, before=before)


def _is_ours(key: str) -> bool:
    """A driver manager's word for its cordon goes with the cordon: without it nobody would open the node again."""
    return key.startswith(keys.PREFIX) and key != keys.MANAGER_CORDON_ANNOTATION
